#!/usr/bin/env python3
"""Runs the commands of golden files and compares what they print with what is written there.

    $ sbatch --time=abc job.sh
    sbatch: error: Invalid --time specification
    # exit 255

A command line is run by sh in a folder that holds `job.sh` and the files of setup(); output is stdout and
stderr together; `...` as a line stands for any lines. No cluster is needed: SLURM_CONF names a controller that
is not there. `run.py --write FILE...` writes the answers of the present build into the files.
"""
import fnmatch
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BIN = os.path.join(os.environ.get("SLUICE_BUILD", HERE.parent.parent / "build/dev"), "bin")
SIM_CONF = ("ClusterName=sim\nSlurmctldHost=localhost\nAuthType=auth/slurm\nSelectTypeParameters=CR_Core\n"
            "PriorityType=priority/basic\nNodeName=n[1-2] CPUs=4\nPartitionName=batch Nodes=ALL Default=YES\n")
FILES = {
    "job.sh": "#!/bin/sh\ntrue\n",
    "empty.sh": "",
    "blank.sh": "  \n\n",
    "plain.sh": "hostname\n",
    "dos.sh": "#!/bin/sh\r\ntrue\r\n",
    "nul.sh": "#!/bin/sh\ntr\0ue\n",
    "badopt.sh": "#!/bin/sh\n#SBATCH --nope\ntrue\n",
    "badtime.sh": "#!/bin/sh\n#SBATCH --time=abc\ntrue\n",
    "operand.sh": "#!/bin/sh\n#SBATCH foo --time=1\ntrue\n",
    "quote.sh": "#!/bin/sh\n#SBATCH --comment=\"a\ntrue\n",
    "after.sh": "#!/bin/sh\ntrue\n#SBATCH --nope\n",
    "prog.conf": "0 echo zero\n",
    "bad.conf": "x echo zero\n",
    "sim.conf": SIM_CONF,
    "fifo.conf": SIM_CONF + "SchedulerType=sched/builtin\n",
    "small.swf": "; UnixStartTime: 978307200\n" + "".join(
        f"{n} {40 * n} -1 {run} {cpus} -1 -1 {cpus} {limit} -1 1 {n % 3} 1 -1 0 -1 -1 -1\n" for n, (run, cpus, limit) in
        enumerate([(600, 6, 900), (300, 8, 300), (2000, 2, 2400), (50, 1, 60), (700, 1, 60), (90, 4, 120), (15, 2, 600)], 1)),
    "bad.swf": "; a header\n1 0 -1 10 1 -1\n",
    "sacct.txt": "JobID|User|Submit|Start|ElapsedRaw|Timelimit|ReqCPUS|State\n"
                 "1|ann|2026-11-01T08:00:00|2026-11-01T08:00:00|3600|02:00:00|8|COMPLETED\n"
                 "1.batch||2026-11-01T08:00:00|2026-11-01T08:00:00|3600||8|COMPLETED\n"
                 "2|bob|2026-11-01T08:10:00|2026-11-01T09:00:00|60|00:10:00|2|COMPLETED\n"
                 "3|bob|2026-11-01T08:20:00|Unknown|0|00:10:00|2|CANCELLED\n",
    "bad.txt": "JobID|User\n1|ann\n",
}


def setup(folder):
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode())
    (folder / "slurm.key").write_bytes(bytes(range(64)))
    os.chmod(folder / "slurm.key", 0o600)
    with socket.socket() as s:  # a port that nobody answers on
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (folder / "slurm.conf").write_text(
        f"ClusterName=golden\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={port}\nMessageTimeout=1\n"
        "AuthType=auth/slurm\nNodeName=n1 CPUs=4 RealMemory=1000\nPartitionName=debug Nodes=ALL Default=YES\n")


def answers(command, folder):
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "SLURM_CONF": str(folder / "slurm.conf"), "HOME": str(folder), "LC_ALL": "C"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    text = done.stdout.decode(errors="replace")
    return text.splitlines() + [f"# exit {done.returncode}"]


def cases(path):
    case = None
    for line in path.read_text().splitlines():
        if line.startswith("$ "):
            case = (line[2:], [])
            yield case
        elif case is not None:
            case[1].append(line)


def matches(expected, got):
    if not expected:
        return not got
    if expected[0] == "...":
        return any(matches(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and fnmatch.fnmatchcase(got[0], expected[0].replace("[", "[[]")) and matches(expected[1:], got[1:])


def main():
    args = sys.argv[1:]
    write = args[:1] == ["--write"]
    paths = [pathlib.Path(a) for a in args[write:]] or sorted(HERE.glob("*.txt"))
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix="sluice-golden-") as name:
        folder = pathlib.Path(name)
        setup(folder)
        for path in paths:
            written = []
            for command, expected in list(cases(path)):
                got = answers(command, folder)
                count += 1
                written += [f"$ {command}", *got]
                if not write and not matches(expected, got):
                    failed += 1
                    print(f"{path.name}: $ {command}\n  expected:", *expected, "  got:", *got, sep="\n    ")
            if write:
                path.write_text("\n".join(written) + "\n")
    print(f"{count} commands, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
