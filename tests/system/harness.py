"""What system tests share: a cluster of their own, its commands, and waiting for conditions.

    class Batch(ClusterCase):
        NODES, CPUS = 2, 4
        def test_output(self):
            job = self.submit("--wrap", "echo hello")
            self.wait_ended(job)

Nothing here waits for a time: wait_for() asks until a condition holds, and fails with what it last saw.
"""
import contextlib
import faulthandler
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("SLUICE_BUILD", os.path.join(ROOT, "build/dev")))
BIN, SBIN = os.path.join(BUILD, "bin"), os.path.join(BUILD, "sbin")
faulthandler.dump_traceback_later(540, exit=True)  # before ctest gives up: tells where it hangs
UNDER_ASAN = "ASAN_OPTIONS" in os.environ  # of tools/test --sanitize: all is slower, and what was freed is kept
LIMIT_S = 60  # of any condition; far more than any should need
SPARE = b"slurmstepd: [spare]"  # a daemon that waits for a step


def tell_skip(result, test, reason, add=unittest.TestResult.addSkip):
    print(f"skipped: {test.id()}: {reason}", flush=True)  # for tools/skips.py
    add(result, test, reason)


unittest.TestResult.addSkip = tell_skip


def is_over(pid):
    """Its files are closed: one that is killed has no command line before that."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition, what, limit_s=LIMIT_S):
    """Returns the first true value of condition()."""
    end, value = time.monotonic() + limit_s, None
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"after {limit_s} s still not: {what} (last: {value!r})")


def processes(about):
    """Each process as (pid, name of its program, words of its file `about` in /proc)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/{about}", "rb") as f:
                words = f.read().split(b"\0")
            exe = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            continue
        yield int(pid), exe, words


def pids_with(text, name=None):
    """Processes whose command line holds `text` (and whose program is called `name`); not daemons that wait for a step."""
    return [pid for pid, exe, words in processes("cmdline")
            if pid != os.getpid() and not words[0].startswith(SPARE) and any(text.encode() in w for w in words[1:]) and name in (None, exe)]


def step_daemon(folder, step):
    """The daemon of a step ("5.batch") of the cluster in this folder."""
    (pid,) = [pid for pid, _, words in processes("cmdline")
              if words[0] == f"slurmstepd: [{step}]".encode() and words[1].startswith(folder.encode() + b"/")]
    return pid


def with_preload(env, library):
    """The environment with a library before the program's own; a sanitizer's run time need not be the first then."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return dict(env, LD_PRELOAD=library, ASAN_OPTIONS=f"{options}:verify_asan_link_order=0".lstrip(":"))


CLAIMED_PORTS = []  # abstract Unix sockets, which go with this process


def free_ports(count):
    """The first of so many free ports in a row, from a range that `sluice up` leaves alone; no other test takes them."""
    for first in random.sample(range(32001, 32767 - count), 600 - count):
        claims = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        try:
            for port, claim in enumerate(claims, first):
                claim.bind(f"\0sluice-test-port-{port}")
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
        except OSError:
            for claim in claims:
                claim.close()
            continue
        CLAIMED_PORTS.extend(claims)
        return first
    raise AssertionError("no free ports")


def jobs_of(conf):
    """Step daemons and tasks of the cluster with this configuration; not the daemons that wait for a step."""
    spares = {pid for pid, _, words in processes("cmdline") if words[0].startswith(SPARE)}
    return [pid for pid, exe, words in processes("environ")
            if pid not in spares and b"SLURM_CONF=" + conf.encode() in words and
            (exe.endswith("stepd") or any(word.startswith(b"SLURMD_NODENAME=") for word in words))]


class Cluster:
    """One cluster in a folder below /tmp, started with `sluice up`.

    `conf` replaces lines of its slurm.conf, with {dir} for the folder; with NodeName lines of its own, `Port=@1` is a free
    port, `@2` the next. `files`: programs to put into the folder, by name.
    `prepare(folder)` is called before it starts; `prefix` is where its programs are.
    Requeued jobs are eligible again after a second instead of Slurm's two minutes.
    """

    programs = BUILD
    ACCOUNTING = False

    def __init__(self, nodes=2, cpus=4, memory=4000, conf="", files=None, prepare=None, prefix=BUILD):
        self.dir = tempfile.mkdtemp(prefix="sluice-test-")
        os.chmod(self.dir, 0o755)
        self.conf = os.path.join(self.dir, "slurm.conf")
        self.work = os.path.join(self.dir, "work")
        self.programs = prefix
        os.mkdir(self.work)
        os.chmod(self.work, 0o1777)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE"))}
        self.env.update(SLURM_CONF=self.conf, PATH=self.program("") + ":" + os.environ["PATH"])
        if prepare:
            prepare(self.dir)
        command = [self.program("sluice"), "up", "--nodes", str(nodes), "--cpus", str(cpus),
                   "--memory", str(memory), "--dir", self.dir]
        if not self.ACCOUNTING:
            command.append("--no-accounting")
        for name, text in (files or {}).items():
            with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
                f.write(text.replace("{dir}", self.dir))
            os.chmod(f.name, 0o755)
        if "SchedulerParameters" not in conf:
            conf += "\nSchedulerParameters=requeue_delay=1\n"
        if conf:
            if numbers := [int(n) for n in re.findall(r"Port=@(\d+)", conf)]:
                first = free_ports(max(numbers) + 1)
                conf = re.sub(r"Port=@(\d+)", lambda found: f"Port={first + int(found[1])}", conf)
            extra = os.path.join(self.dir, "extra.conf")
            with open(extra, "w", encoding="utf-8") as f:
                f.write(conf.replace("{dir}", self.dir))
            command += ["--conf", extra]
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, check=False)
        if done.returncode:
            shutil.rmtree(self.dir, ignore_errors=True)
            raise AssertionError(f"sluice up: {done.stdout}{done.stderr}")
        self.said = done.stdout

    def program(self, name):
        return os.path.join(self.programs, "bin", name)

    def daemon(self, name):
        return os.path.join(self.programs, "sbin", name)

    def run(self, *command, check=True, stdin=None, user=None, env=None, cwd=None, limit_s=LIMIT_S):
        """Runs a command of the cluster; with `user` (a uid) as that user."""
        done = subprocess.run([self.program(command[0]), *map(str, command[1:])], input=stdin, text=True,
                              capture_output=True, env=dict(self.env, **(env or {})), cwd=cwd or self.work,
                              timeout=limit_s, user=user, group=user, extra_groups=[] if user else None, check=False)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(map(str, command))} exited {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def start(self, *command, **options):
        """The same without waiting: a Popen."""
        return subprocess.Popen([self.program(command[0]), *map(str, command[1:])], text=True,
                                env=self.env, cwd=self.work, **options)

    def controller_pid(self):
        return pids_with(self.conf, "sluicectld")[0]

    def kill_controller(self):
        pid = self.controller_pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: is_over(pid) and not pids_with(self.conf, "sluicectld"), "the controller is gone")

    def start_controller(self, *options):
        subprocess.run([self.daemon("sluicectld"), "-f", self.conf, *options], check=True, env=self.env)

    def node_pid(self, node):
        """Of the agent, not of a child that has just been forked and looks like it until it runs its program."""
        found = []
        for pid in pids_with(self.conf, "sluicenoded"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    is_node = node.encode() in f.read().split(b"\0")
                with open(f"/proc/{pid}/stat", "rb") as f:
                    parent = int(f.read().rsplit(b")", 1)[1].split()[1])
                if is_node:
                    found.append((pid, parent))
        pids = {pid for pid, _ in found}
        return next((pid for pid, parent in found if parent not in pids), None)

    def kill_node(self, node):
        os.kill(self.node_pid(node), signal.SIGKILL)
        wait_for(lambda: self.node_pid(node) is None, f"{node}'s agent is gone")

    def start_node(self, node, *options):
        subprocess.run([self.daemon("sluicenoded"), "-f", self.conf, "-N", node, *options], check=True, env=self.env)

    def step_daemon_pid(self, step):
        """Of a step by its name, 5.0; the one of the first node found."""
        title, folder = f"slurmstepd: [{step}]".encode(), self.dir.encode()
        return next(pid for pid, _, words in processes("cmdline") if words[0] == title and folder in words[1])

    def change_conf(self, change):
        """Rewrites slurm.conf: `change` gets the text and returns the new one."""
        with open(self.conf, encoding="utf-8") as f:
            text = f.read()
        changed = change(text)
        assert changed != text, "slurm.conf stays as it was"
        with open(self.conf + ".new", "w", encoding="utf-8") as f:
            f.write(changed)
        os.rename(self.conf + ".new", self.conf)
        return text

    def log(self, name="sluicectld"):
        with open(os.path.join(self.dir, "log", name + ".log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def down(self):
        """Stops everything; fails when something is left."""
        subprocess.run([self.program("sluice"), "down", "--dir", self.dir], check=True, env=self.env,
                       stdout=subprocess.DEVNULL)
        left = pids_with(self.dir) + jobs_of(self.conf)
        if left:
            listing = subprocess.run(["ps", "-o", "pid,ppid,stat,args", "-p", ",".join(map(str, left))],
                                     capture_output=True, text=True, check=False).stdout
            raise AssertionError(f"processes left:\n{listing}")
        shutil.rmtree(self.dir, ignore_errors=True)


def change_users(*command, check=True):
    """Runs useradd, gpasswd and their like. They fail while another of them, of a test beside this one, holds the lock."""
    def unless_locked():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return None if done.returncode and "lock" in done.stderr else done
    done = wait_for(unless_locked, f"{command[0]} gets the lock")
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}, {done.stderr}")


def add_users(case, *uids):
    """Users of the host, sluicetestUID, until the test class is done. Needs root. No other test may have these."""
    for uid in uids:
        name = f"sluicetest{uid}"
        if subprocess.run(["id", name], capture_output=True, check=False).returncode:  # else a test was killed
            change_users("useradd", "-M", "-u", str(uid), "-s", "/bin/sh", name)
        case.addClassCleanup(change_users, "userdel", name, check=False)


class ClusterCase(unittest.TestCase):
    """A test class with one cluster for all of its tests."""
    NODES, CPUS, MEMORY, CONF, FILES = 2, 4, 4000, "", {}

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.NODES, cls.CPUS, cls.MEMORY, cls.CONF, cls.FILES)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.down()

    def run_cmd(self, *command, **options):
        return self.cluster.run(*command, **options)

    def out(self, *command, **options):
        return self.cluster.run(*command, **options).stdout

    def fails(self, status, err, *command, out="", **options):
        done = self.run_cmd(*command, check=False, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, out, err))

    def submit(self, *args, **options):
        return int(self.out("sbatch", "--parsable", *args, **options).strip().split(";")[0])

    def state(self, job):
        return self.out("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def wait_state(self, job, *states):
        return wait_for(lambda: (s := self.state(job)) in states and s, f"job {job} is {' or '.join(states)}")

    def wait_ended(self, job):
        return self.wait_state(job, "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")

    def wait_no_jobs(self):
        """A command may return before its job's CPUs are given back; the next job would get other ones."""
        wait_for(lambda: not self.out("squeue", "-h"), "no job is left")

    def show(self, job):
        """scontrol show job as a dictionary."""
        text = self.out("scontrol", "show", "job", str(job), "-o")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def file(self, name):
        path = os.path.join(self.cluster.work, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as f:
            return f.read()


def need_root():
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)


class NodeCase(ClusterCase):
    """Looks at nodes, and tells scripts that stand for their hosts what to do."""

    def node(self, name, form="%t|%E"):
        return self.out("sinfo", "-h", "-n", name, "-o", form).strip()

    def shown(self, name):
        text = self.out("scontrol", "show", "node", name, "-o")
        return dict(re.findall(r"(\w+)=(.*?)(?= \w+=|$)", text))

    def flag(self, name):
        path = os.path.join(self.cluster.work, name)
        open(path, "w", encoding="utf-8").close()
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        return path
