#!/usr/bin/env python3
"""A user's day on a cluster: runs the commands of the files beside it and compares what they print.

    $ sbatch -p nope --wrap true
    ! sbatch: error: invalid partition specified: nope
    ! sbatch: error: Batch job submission failed: Invalid partition name specified
    # exit 1

The commands of one file run one after the other in one shell (lib.sh is read first), in a folder with the files
of FILES. Standard output stands as it is, then standard error with `! ` before each line; `# exit N` ends a case.
`# differs: …` below a command tells how a real Slurm 22.05 answers and why ours is another. Job ids, times,
host names, process ids and ports are replaced by placeholders of the same width.

    day.py check FILE...            against the cluster of SLURM_CONF: prints what is not as written
    day.py write FOLDER FILE...     writes the answers as FOLDER/FILE (`.`: into the files themselves)
    day.py terminal COMMAND LINE... runs a command on a terminal of 30 x 100, types the lines at its prompts
    day.py signal 'INT queued=TERM' COMMAND    runs a command and sends it signals as it prints

The cluster has 10 nodes of 8 CPUs and 16000 MB and the partitions of CONF.
"""
import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CONF = """FirstJobId=70000
PriorityType=priority/multifactor
JobAcctGatherType=jobacct_gather/linux
ScronParameters=enable
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=n[1-4] MaxTime=10 DefaultTime=5 MaxNodes=2 State=UP
PartitionName=closed Nodes=n[5-6] State=DOWN
PartitionName=drained Nodes=n[5-6] State=DRAIN
PartitionName=inactive Nodes=n[5-6] State=INACTIVE
PartitionName=members Nodes=n[5-6] AllowGroups=nogroup State=UP
PartitionName=first Nodes=n[9-10] PriorityTier=10 OverSubscribe=EXCLUSIVE State=UP
"""
FEATURES = {"n[1-4]": "fast", "n[5-8]": "slow,big"}
FILES = {
    "job.sh": "#!/bin/sh\necho hello from $SLURM_JOB_ID\n",
    "opts.sh": "#!/bin/bash\n#SBATCH --job-name=opts\n#SBATCH -N2 -n 4\n#SBATCH --time=5\n# a comment\n"
               "##SBATCH --nope\n#SBATCH --output=opts-%j.out # why\necho $SLURM_JOB_NAME $SLURM_NTASKS\n",
    "empty.sh": "",
    "plain.sh": "hostname\n",
    "dos.sh": "#!/bin/sh\r\ntrue\r\n",
    "badopt.sh": "#!/bin/sh\n#SBATCH --nope\ntrue\n",
    "badtime.sh": "#!/bin/sh\n#SBATCH --time=abc\ntrue\n",
    "late.sh": "#!/bin/sh\ntrue\n#SBATCH --time=abc\n",
    "notsh.sh": "#!/no/such/shell\ntrue\n",
    "prog.conf": "0 echo zero\n1-2 echo task:%t offset:%o\n* sh -c 'exit 4'\n",
    "in.txt": "one\ntwo\n",
    "in.0": "zero\n",
    "in.1": "one\n",
    "notexec": "#!/bin/sh\ntrue\n",
}
LIMIT_S = float(os.environ.get('DAY_LIMIT', 20))  # of one command


def descendants(pid):
    """The processes below one, the youngest generation first."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return [found for child in children for found in (*descendants(child), child)]


class Shell:
    """A shell that runs commands one by one and gives back both outputs and the exit status."""

    def __init__(self, conf, programs):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="day-"))
        os.chmod(self.dir, 0o755)
        self.work = self.dir / "work"
        self.work.mkdir()
        for name, text in FILES.items():
            (self.work / name).write_bytes(text.encode())
        reader, writer = os.pipe()
        self.reader = reader
        env = {k: v for k, v in os.environ.items() if k in ("SLUICE_BUILD", "DAY_PATIENCE")}
        env.update(PATH=f"{programs}:/usr/local/bin:/usr/bin:/bin", SLURM_CONF=conf, LC_ALL="C", TZ="UTC",
                   HOME=str(self.work), SHELL="/bin/bash", TERM="dumb", USER="root",
                   DAY=f"{sys.executable} {HERE / 'day.py'}")
        self.shell = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=self.work, env=env, text=True,
                                      stdin=subprocess.PIPE, pass_fds=(writer,), start_new_session=True)
        os.close(writer)
        self.status = writer
        self.run(f". {HERE / 'lib.sh'}")
        for nodes, features in FEATURES.items():
            self.run(f"scontrol update NodeName={nodes} AvailableFeatures={features} ActiveFeatures={features}")

    def run(self, command):
        out, err = self.dir / "out", self.dir / "err"
        fd = self.status
        self.shell.stdin.write(f"{{ {command}\n}} >{out} 2>{err} </dev/null {fd}>&-; echo $? >&{fd}\n")
        self.shell.stdin.flush()
        note = ""
        while not select.select([self.reader], [], [], LIMIT_S)[0]:
            note = f"no end after {LIMIT_S} s\n"
            for pid in descendants(self.shell.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        code = int(os.read(self.reader, 100))
        return out.read_text(errors="replace"), err.read_text(errors="replace") + note, code

    def close(self):
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.stdin.close()
        self.shell.wait()
        os.close(self.reader)
        shutil.rmtree(self.dir, ignore_errors=True)


class Normal:
    """Replaces what differs from run to run; job ids are numbered as they are met in a file."""

    def __init__(self, work, conf):
        self.work, self.conf, self.jobs = str(work), conf, {}

    def job(self, found):
        return self.jobs.setdefault(found.group(), f"J{len(self.jobs) + 1:04d}")

    def __call__(self, text):
        host = re.escape(socket.gethostname().split(".")[0])
        text = text.replace(self.work, "<folder>")
        text = text.replace(self.conf, "/etc/slurm.conf")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "YYYY-MM-DDTHH:MM:SS", text)
        text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}\b", "HH:MM:SS.mmm", text)
        text = re.sub(rf"(?<![\w.-]){host}(?![\w-])", "<host>", text)
        text = re.sub(r"(Sid=<host>:)\d+", r"\1<sid>", text)
        text = re.sub(r"(?<!ExitCode=)\b0:\d\d\b(?!:)", "0:0x", text)
        text = re.sub(r"\b00:00:\d\d\b", "00:00:0x", text)
        text = re.sub(r"((?:PORT|PORT_\w+|TASK_PID|TTY_\w+|_TIME|SLUID)=)[\w:,-]+", r"\1<n>", text)
        text = re.sub(r"(SLURM_WORKING_CLUSTER=\w+:[\d.]+:)\d+", r"\1<n>", text)
        text = re.sub(r"(?<!\d)(?<!\d\.)7\d{4}(?!\d)", self.job, text)
        # nodes whose tasks end at about the same time may be told of in any order
        return re.sub(r"(?m)(?:^srun: error: n\d+: tasks? .*\n)+", lambda ends: "".join(sorted(ends.group().splitlines(True))), text)


def cases(path):
    """(command, notes, expected lines, comment lines before it) of a file; one that was not answered yet has
    commands and notes alone."""
    lines = path.read_text().splitlines()
    answered = any(line.startswith("# exit ") for line in lines)
    head, case, found = [], None, []
    for line in lines:
        if line.startswith("$ ") and not (case and answered):
            case = [line[2:], [], [], head]
            found.append(case)
            head = []
        elif line.startswith("# differs:") and found:
            found[-1][1].append(line)
        elif case and answered:
            case[2].append(line)
            if line.startswith("# exit "):
                case = None
        else:
            head.append(line)
    return found


def answers(path, conf, programs):
    """The cases of a file, each with what the cluster answers now."""
    shell = Shell(conf, programs)
    normal = Normal(shell.work, conf)
    try:
        for command, notes, expected, head in cases(path):
            out, err, code = shell.run(command)
            got = out.splitlines() + ["! " + line for line in err.splitlines()] + [f"# exit {code}"]
            yield command, notes, expected, head, normal("\n".join(got)).splitlines()
        shell.run("scancel -u $USER; all_free")
    finally:
        shell.close()


def check(path, conf, programs):
    """The differences of one file, as text."""
    different = []
    for command, _, expected, _, got in answers(path, conf, programs):
        if got != expected:
            different.append("\n    ".join([f"$ {command}\n  expected:", *expected, "  got:", *got]))
    return different


def write(folder, path, conf, programs):
    lines = []
    for command, notes, _, head, got in answers(path, conf, programs):
        lines += [*head, f"$ {command}", *notes, *got]
    target = path if folder == "." else pathlib.Path(folder) / path.name
    target.write_text("\n".join(lines) + "\n")


def terminal(command, lines):
    """Types each line once a prompt `$ ` or `# ` or `> ` is there."""
    import fcntl
    import struct
    import termios
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "-c", "stty rows 30 cols 100; export PS1='$ '; exec " + command])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    text, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                got = os.read(fd, 4096)
            except OSError:
                break
            text += got
            if lines and text.rstrip(b" ").endswith((b"$", b"#", b">", b"scontrol:")):
                os.write(fd, lines.pop(0).encode() + b"\n")
                text += b"\0"
    else:
        os.kill(pid, signal.SIGKILL)
    sys.stdout.write(text.replace(b"\0", b"").decode(errors="replace").replace("\r\n", "\n"))
    sys.stdout.flush()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def send_signals(names, command):
    """Each word is a signal, sent after further output, or TEXT&TEXT=SIGNAL, sent once each text was printed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL)
    text = ""
    while got := os.read(child.stdout.fileno(), 65536):
        text += got.decode(errors="replace")
        sys.stdout.write(got.decode(errors="replace"))
        sys.stdout.flush()
        awaited, _, name = names[0].rpartition("=") if names else ("", "", "")
        if name and all(part in text for part in awaited.split("&")):
            child.send_signal(getattr(signal, "SIG" + name))
            names.pop(0)
    code = child.wait()
    return code if code >= 0 else 128 - code


def main():
    verb, *args = sys.argv[1:]
    if verb == "terminal":
        return terminal(args[0], args[1:])
    if verb == "signal":
        return send_signals(args[0].split(), args[1])
    conf, programs = os.environ["SLURM_CONF"], os.path.dirname(shutil.which("sbatch"))
    if verb == "write":
        for name in args[1:]:
            write(args[0], pathlib.Path(name), conf, programs)
        return 0
    different = [text for name in args for text in check(pathlib.Path(name), conf, programs)]
    print("\n".join(different))
    print(f"{len(different)} commands differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
