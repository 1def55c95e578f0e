"""Control groups: CPUs and memory of jobs and steps are held to, nothing of a job outlives it, and what tasks use is measured."""
import glob
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from harness import ClusterCase, need_root, pids_with, wait_for

MOUNT = "/sys/fs/cgroup"
CAP_SYS_RESOURCE = 24
EAT = "import time; x = bytearray({mib} << 20); time.sleep({seconds})"
# leaves its parent, its session and its environment behind
DAEMON = r"""
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execve('/bin/sleep', ['sleep', sys.argv[1]], {})
"""


def need_groups():
    """Skips where this host has no control groups that can be written."""
    probe = next((path for path in (f"{MOUNT}/freezer", MOUNT) if os.path.exists(path + "/cgroup.procs")), None)
    if probe is None:
        print(f"skipped: no control groups are mounted at {MOUNT}")
        sys.exit(77)
    try:
        os.mkdir(f"{probe}/slurm_probe.{os.getpid()}")
        os.rmdir(f"{probe}/slurm_probe.{os.getpid()}")
    except OSError as why:
        print(f"skipped: control groups cannot be made: {why}")
        sys.exit(77)
    if probe == MOUNT:
        with open(MOUNT + "/cgroup.controllers", encoding="utf-8") as f:
            if not {"cpuset", "memory"} <= set(f.read().split()):
                print("skipped: no cpuset and memory controllers")
                sys.exit(77)


def root_of(folder, node):
    """The name of a node's own group: its spool folder makes it the cluster's alone."""
    value = 2166136261
    for byte in f"{folder}/spool/{node}".encode():
        value = (value ^ byte) * 16777619 % 2**32
    return f"slurm_{node}.{value:08x}"


def groups_of(folder, node):
    """Every group below a node's own one, in whatever hierarchy."""
    name = root_of(folder, node)
    roots = glob.glob(f"{MOUNT}/*/{name}") + glob.glob(f"{MOUNT}/{name}")
    return [path for root in roots for path, _, _ in os.walk(root) if "job_" in path]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def running(marker):
    return subprocess.run(["pgrep", "-fx", f"(/.*/)?sleep {marker}"], capture_output=True, text=True, check=False).stdout.split()


class GroupCase(ClusterCase):
    PLUGINS = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup,task/affinity\n"

    @classmethod
    def tearDownClass(cls):
        folder = cls.cluster.dir
        super().tearDownClass()
        left = [name for n in range(1, cls.NODES + 1) for name in glob.glob(f"{MOUNT}/*/{root_of(folder, f'n{n}')}")]
        assert not left, f"groups left: {left}"

    def wait_no_groups(self, node="n1"):
        wait_for(lambda: not groups_of(self.cluster.dir, node), f"no groups of jobs are left on {node}")


class Constrained(GroupCase):
    NODES, CPUS = 2, 4
    CONF = GroupCase.PLUGINS
    FILES = {"cgroup.conf": "ConstrainCores=yes\nConstrainRAMSpace=yes\nMinRAMSpace=10\n"}

    def test_cpus(self):  # those of the job, modulo what this host has
        real = sorted(os.sched_getaffinity(0))
        job = self.submit("-n1", "-w", "n1", "-o", "cpus.out", "--wrap", "grep Cpus_allowed_list /proc/self/status")
        self.wait_ended(job)
        allowed = self.file("cpus.out").split()[-1]
        self.assertIn(allowed, [str(cpu) for cpu in real])
        # a task cannot leave its group's CPUs
        job = self.submit("-n1", "-w", "n1", "-o", "leave.out", "--wrap",
                          f"taskset -c {real[0]}-{real[-1]} grep Cpus_allowed_list /proc/self/status")
        self.wait_ended(job)
        if len(real) > 1:
            self.assertEqual(self.file("leave.out").split()[-1], allowed)

    def test_memory_limit_is_set(self):
        job = self.submit("--mem=70", "-w", "n1", "-o", "/dev/null", "--wrap", "srun --mem=50 sleep 1000")
        groups = wait_for(lambda: [g for g in groups_of(self.cluster.dir, "n1") if g.endswith("step_0") and "memory" in g
                                   or g.endswith("step_0") and os.path.exists(g + "/memory.max")], "the step's group")
        limit = lambda group: next(int(read(f"{group}/{name}")) for name in ("memory.limit_in_bytes", "memory.max")
                                   if os.path.exists(f"{group}/{name}"))
        self.assertIn(f"/job_{job}/", groups[0])
        wait_for(lambda: limit(groups[0]) == 50 << 20, "the step's limit")
        self.assertEqual(limit(os.path.dirname(groups[0])), 70 << 20)
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_groups()

    def test_job_out_of_memory(self):  # also when the script goes on and ends well
        job = self.submit("--mem=60", "-w", "n1", "-o", "oom.out", "--wrap",
                          f"python3 -c '{EAT.format(mib=200, seconds=0)}'; echo after $?; exit 0")
        self.assertEqual(self.wait_ended(job), "OUT_OF_MEMORY")
        text = self.file("oom.out")
        self.assertIn("after 137", text)
        self.assertIn(f"slurmstepd: error: Detected 1 oom_kill event in StepId={job}.batch. "
                      "Some of the step tasks have been OOM Killed.", text)
        self.assertRegex(text, r"slurmstepd: error: out of memory: python3 \(pid \d+, task 0\) was killed")
        shown = self.show(job)
        self.assertEqual((shown["JobState"], shown["Reason"], shown["ExitCode"]), ("OUT_OF_MEMORY", "OutOfMemory", "0:125"))
        self.wait_no_groups()

    def test_step_out_of_memory(self):  # the other task and the script are not touched
        job = self.submit("--mem=300", "-n2", "-N1", "-w", "n1", "-o", "step.out", "--wrap",
                          f"srun --mem=60 -n2 sh -c '[ $SLURM_PROCID = 0 ] || exec python3 -c \"{EAT.format(mib=200, seconds=0)}\"; echo fine'"
                          "; echo srun $?")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        text = self.file("step.out")
        self.assertIn("srun: error: n1: task 1: Out Of Memory\n", text)
        self.assertIn(f"Detected 1 oom_kill event in StepId={job}.0.", text)
        self.assertIn("task 1) was killed", text)
        self.assertIn("fine\n", text)
        self.assertIn("srun 1\n", text)

    def test_srun_out_of_memory(self):  # an allocation of srun's own ends with its step
        done = self.run_cmd("srun", "--mem=60", "-w", "n1", "python3", "-c", EAT.format(mib=200, seconds=0), check=False)
        self.assertEqual(done.returncode, 1)
        job = re.search(r"StepId=(\d+)\.0", done.stderr)[1]
        wait_for(lambda: self.show(job)["JobState"] == "OUT_OF_MEMORY", "the job's state")
        self.assertEqual(self.show(job)["ExitCode"], "0:125")

    def test_limit_of_the_job_holds_for_its_steps(self):  # which have a smaller one at most
        # much more than what the two srun need, which are in the job, too, and are not to be the ones that are killed
        job = self.submit("--mem=400", "-w", "n1", "-o", "both.out", "--wrap",
                          f"srun --mem=400 --overlap python3 -c '{EAT.format(mib=250, seconds=1000)}' & "
                          f"srun --mem=400 --overlap python3 -c '{EAT.format(mib=250, seconds=1000)}' & wait")
        wait_for(lambda: "Out Of Memory" in self.file("both.out"), "one of the two is killed")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_oom_kill_step(self):  # all of it ends, where only one task would
        eat = f"[ $SLURM_PROCID = 0 ] && exec sleep 1000; exec python3 -c \"{EAT.format(mib=200, seconds=0)}\""
        for options, env in ((("--oom-kill-step",), {}), ((), {"SLURM_OOM_KILL_STEP": "1"})):
            done = self.run_cmd("srun", "--mem=60", "-n2", "-N2", *options, "sh", "-c", eat, check=False, env=env)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("task 1: Out Of Memory", done.stderr)
        done = self.run_cmd("salloc", "-Q", "--mem=60", "-n2", "-N2", "--oom-kill-step", "srun", "sh", "-c", eat, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("task 1: Out Of Memory", done.stderr)
        job = self.submit("--mem=60", "-w", "n1", "--oom-kill-step=1", "-o", "oks.out", "--wrap",
                          f"python3 -c '{EAT.format(mib=200, seconds=0)}'; sleep 1000")
        self.assertEqual(self.wait_ended(job), "OUT_OF_MEMORY")
        self.fails(255, "srun: error: Invalid --oom-kill-step specification\n", "srun", "--oom-kill-step=7", "true")

    def test_wait_for_children(self):
        leave = "sh -c 'sleep 1; echo late' & exit 0"
        self.assertEqual(self.out("srun", "-n1", "sh", "-c", leave), "")
        self.assertEqual(self.out("srun", "-n1", "--wait-for-children", "sh", "-c", leave), "late\n")

    def test_enough_memory(self):
        job = self.submit("--mem=200", "-o", "enough.out", "--wrap", f"python3 -c '{EAT.format(mib=50, seconds=0)}'; echo after $?")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("enough.out"), "after 0\n")


class Daemons(GroupCase):
    """What step daemons hold for tasks is memory of the job."""
    NODES, CPUS = 1, 4
    CONF = GroupCase.PLUGINS + "JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=1\n"
    FILES = {"cgroup.conf": "ConstrainRAMSpace=yes\nMinRAMSpace=10\n"}
    # keeps some memory, and has its step daemon keep as many keys as that takes: 16 MiB, twice
    FILL = """
import os, socket, sys, time
held = bytearray(int(sys.argv[1]) << 20)
file = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rw")
def ask(text):
    file.write(text + "\\n")
    file.flush()
    return file.readline()
ask("cmd=init pmi_version=1 pmi_subversion=1")
n = 0
while "rc=0" in ask(f"cmd=put kvsname={os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']} key=k{n} value=" + "x" * 200000):
    n += 1
print("full", n, flush=True)
time.sleep(1000)
"""
    # writes so much once it is told to, and counts it
    WRITE = """
import os, sys, time
def count(done):
    with open("count.new", "w") as f: f.write(str(done))
    os.rename("count.new", "count")
count(0)
while not os.path.exists("go"): time.sleep(0.02)
done = 0
while done < int(sys.argv[1]):
    done += os.write(1, b"x" * min(16384, int(sys.argv[1]) - done))
    count(done)
"""

    @classmethod
    def setUpClass(cls):
        own = next(line.split()[1] for line in read("/proc/self/status").splitlines() if line.startswith("CapEff:"))
        if not int(own, 16) >> CAP_SYS_RESOURCE & 1:
            raise unittest.SkipTest("step daemons cannot be protected here: no CAP_SYS_RESOURCE")
        super().setUpClass()

    def groups(self, below):
        """Groups of n1, where their memory is counted."""
        root = root_of(self.cluster.dir, "n1")
        return glob.glob(f"{MOUNT}/memory/{root}/{below}") + glob.glob(f"{MOUNT}/{root}/{below}")

    def memory_of(self, below):
        group, = self.groups(below)
        return int(read(next(iter(glob.glob(f"{group}/memory.current") + glob.glob(f"{group}/memory.usage_in_bytes")))))

    def daemons(self, below=""):
        """The processes in that group of step daemons."""
        return [int(pid) for group in self.groups(f"{below}daemons") for pid in read(f"{group}/cgroup.procs").split()]

    def only_daemon(self, below=""):  # a task is there, too, until it is in its own group
        return wait_for(lambda: len(found := self.daemons(below)) == 1 and found, "a step daemon is there")[0]

    def test_keys_are_the_jobs_memory(self):
        job = self.submit("--mem=200", "-o", "keys.out", "--wrap", 'srun --mpi=pmi2 python3 -c "$FILL" 0', env={"FILL": self.FILL})
        wait_for(lambda: "full" in self.file("keys.out"), "the daemon has taken what it takes")
        self.assertGreater(self.memory_of(f"uid_*/job_{job}/daemons"), 24 << 20)
        self.assertGreater(self.memory_of(f"uid_*/job_{job}"), 24 << 20)
        self.assertLess(self.memory_of(f"uid_*/job_{job}/step_0"), 24 << 20)
        # and not the tasks'
        used = self.out("sstat", "-n", "-P", "--noconvert", "-j", f"{job}.0", "-o", "MaxRSS").strip()
        self.assertLess(int(used), 24 << 20)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_no_groups()

    def test_out_of_memory(self):  # the task ends for it, the daemon tells
        done = self.run_cmd("srun", "--mem=60", "--mpi=pmi2", "python3", "-c", self.FILL, "35", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("srun: error: n1: task 0: Out Of Memory\n", done.stderr)
        job = re.search(r"Detected 1 oom_kill event in StepId=(\d+)\.0\.", done.stderr)[1]
        wait_for(lambda: self.show(job)["JobState"] == "OUT_OF_MEMORY", "the job's state")
        self.assertNotIn(f"StepId={job}.0: its step daemon died", self.cluster.log("n1"))
        self.wait_no_groups()

    def test_tasks_are_killed_first(self):  # as the kernel thought of the agent it thinks of them
        job = self.submit("-o", "score.out", "--wrap", "cat /proc/self/oom_score_adj; echo 5 > /proc/self/oom_score_adj; sleep 1000")
        daemon = self.only_daemon(f"uid_*/job_{job}/")
        wait_for(lambda: self.file("score.out"), "the script")
        self.assertEqual(read(f"/proc/{daemon}/oom_score_adj"), "-999\n")
        self.assertEqual(self.file("score.out").strip(), str(max(0, int(read(f"/proc/{self.cluster.node_pid('n1')}/oom_score_adj")))))
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_daemon_killed_for_memory(self):  # where it is the last one: the job's doing, not the node's
        job = self.submit("--mem=60", "-o", "/dev/null", "--wrap", "sleep 1000")
        daemon = self.only_daemon(f"uid_*/job_{job}/")
        group, = self.groups(f"uid_*/job_{job}/daemons")
        enter = f"echo $$ > {group}/cgroup.procs && exec python3 -c '{EAT.format(mib=200, seconds=0)}'"
        self.assertEqual(subprocess.run(["sh", "-c", enter], check=False).returncode, -signal.SIGKILL)
        os.kill(daemon, signal.SIGKILL)
        self.assertEqual(self.wait_ended(job), "OUT_OF_MEMORY")
        self.wait_no_groups()

    def write(self, job, size):
        """An srun that is stopped while its task writes."""
        for name in ("go", "count"):
            if os.path.exists(f"{self.cluster.work}/{name}"):
                os.remove(f"{self.cluster.work}/{name}")
        with open(f"{self.cluster.work}/slow.out", "wb") as out:
            srun = self.cluster.start("srun", f"--jobid={job}", "python3", "-c", self.WRITE, str(size), stdout=out)
        self.addCleanup(srun.wait)
        self.addCleanup(srun.kill)
        wait_for(lambda: self.file("count") == "0", "the task waits")
        srun.send_signal(signal.SIGSTOP)
        open(f"{self.cluster.work}/go", "w", encoding="utf-8").close()
        return srun

    def written(self):
        return int(self.file("count") or 0)

    def test_slow_reader(self):  # the job's group goes, and what its daemon has to tell yet is told
        self.run_cmd("salloc", "--no-shell", "-J", "slow")
        job = int(self.out("squeue", "-h", "-n", "slow", "-o", "%i"))
        srun = self.write(job, 1 << 30)
        seen = [-1]

        def stuck():
            seen.append(self.written())
            time.sleep(0.5)
            return 0 < seen[-2] == seen[-1]
        wait_for(stuck, "there is no room for more")
        srun.kill()
        wait_for(lambda: not self.groups(f"uid_*/job_{job}/step_*"), "the step is over")
        size = seen[-1] - (400 << 10)  # less than what the daemon keeps itself
        srun = self.write(job, size)
        wait_for(lambda: self.written() == size and not self.groups(f"uid_*/job_{job}/step_*"), "the next one is over")
        daemon = self.only_daemon()
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_groups()
        self.assertEqual(self.daemons(), [daemon])
        srun.send_signal(signal.SIGCONT)
        srun.wait(timeout=60)
        self.assertEqual(os.path.getsize(f"{self.cluster.work}/slow.out"), size)
        wait_for(lambda: not self.daemons(), "the daemon has ended")


class Swap(GroupCase):
    """ConstrainSwapSpace, AllowedSwapSpace, MemorySwappiness: as the kernel has them for a step."""
    NODES, CPUS = 1, 4
    CONF = GroupCase.PLUGINS
    FILES = {"cgroup.conf": "ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nAllowedSwapSpace=50\nMinRAMSpace=10\n"
                            "MemorySwappiness=20\n"}

    def test_limits(self):
        for mib, swap in ((40, 20), (200, 100)):
            job = self.submit(f"--mem={mib}", "-o", "/dev/null", "--wrap", "srun sleep 1000")
            names = ("memory.memsw.limit_in_bytes", "memory.swap.max")
            groups = lambda: [g for g in groups_of(self.cluster.dir, "n1") if g.endswith(f"job_{job}/step_0")  # pylint: disable=cell-var-from-loop
                              and ("/memory/" in g or os.path.exists(g + "/memory.max"))]
            group, = wait_for(groups, "the step's group")
            wait_for(lambda: self.out("squeue", "-h", "-s", "-j", job, "-o", "%i").count(".0"), "the step runs")  # pylint: disable=cell-var-from-loop
            found = [name for name in names if os.path.exists(f"{group}/{name}")]
            if not found:
                self.run_cmd("scancel", job)
                self.wait_ended(job)
                self.skipTest("the kernel keeps no account of swap")
            limit = (swap + (mib if found[0] == names[0] else 0)) << 20
            wait_for(lambda: int(read(f"{group}/{found[0]}")) == limit, f"{found[0]} is {limit}")  # pylint: disable=cell-var-from-loop
            if os.path.exists(group + "/memory.swappiness"):  # v2 has none
                self.assertEqual(read(group + "/memory.swappiness"), "20\n")
            self.run_cmd("scancel", job)
            self.wait_ended(job)
        self.wait_no_groups()


class Devices(GroupCase):
    """Nobody opens what was not given to him. (Devices 1:5 and 1:7, zero and full, are the two GPUs.)"""
    NODES, CPUS = 1, 4
    MOUNT = ""
    CONF = GroupCase.PLUGINS + "GresTypes=gpu\nNodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=4 RealMemory=4000 Gres=gpu:2\n" \
        "PartitionName=debug Nodes=ALL Default=YES State=UP\n"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sluice-devices-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for i, minor in enumerate((5, 7)):
            os.mknod(f"{cls.folder}/gpu{i}", 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            os.chmod(f"{cls.folder}/gpu{i}", 0o666)
        cls.FILES = {"cgroup.conf": f"ConstrainDevices=yes\n{cls.MOUNT}", "gres.conf": f"Name=gpu File={cls.folder}/gpu[0-1]\n"}
        super().setUpClass()

    def look(self):
        return f"for i in 0 1; do head -c1 {self.folder}/gpu$i >/dev/null 2>&1 && printf $i; done; head -c1 /dev/urandom >/dev/null && echo"

    def test_devices(self):
        for options, seen in ((("--gres=gpu:1",), "0"), (("--gres=gpu:2",), "01"), ((), "")):
            self.assertEqual(self.out("srun", "-n1", *options, "sh", "-c", self.look()).strip(), seen, options)
        job = self.submit("--gres=gpu:2", "-o", "dev.out", "--wrap",
                          f"({self.look()}); srun --gres=gpu:1 -n1 sh -c '{self.look()}'; srun --gres=none -n1 sh -c '{self.look()}'; ({self.look()})")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("dev.out"), "01\n0\n\n01\n")
        self.assertNotIn("lacks the controllers", self.cluster.log("n1"))
        self.wait_no_groups()


class DevicesV2(Devices):
    """The same by eBPF."""
    MOUNT = f"CgroupPlugin=cgroup/v2\nCgroupMountpoint={MOUNT}/unified\n"

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(f"{MOUNT}/unified/cgroup.procs"):
            raise unittest.SkipTest("no second version beside the first")
        super().setUpClass()


class Killed(GroupCase):
    """Nothing of a job outlives it."""
    NODES, CPUS = 2, 4
    CONF = GroupCase.PLUGINS + "KillWait=2\n"

    def daemon(self, marker, hold="", *options):
        return self.submit("-w", "n1", "-o", "/dev/null", *options, "--wrap", f"python3 -c \"$DAEMON\" {marker}; {hold}",
                           env={"DAEMON": DAEMON})

    def test_daemon_of_a_job_that_ends(self):
        job = self.daemon(8801)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(running(8801), [])
        self.wait_no_groups()

    def test_daemon_of_a_job_that_is_cancelled(self):
        job = self.daemon(8802, "sleep 1000")
        wait_for(lambda: running(8802), "the daemon")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(running(8802), [])

    def test_step_daemon_dies(self):  # then nothing but the group tells whose the daemon was
        job = self.daemon(8803, "sleep 1000")
        wait_for(lambda: running(8803), "the daemon")
        stepd = [pid for pid in pids_with(f"{self.cluster.dir}/spool/n1", "sluicestepd")
                 or pids_with(f"{self.cluster.dir}/spool/n1", "slurmstepd")]
        self.assertTrue(stepd)
        for pid in stepd:
            os.kill(pid, signal.SIGKILL)
        self.wait_state(job, "PENDING")
        wait_for(lambda: not running(8803), "the daemon is gone")
        self.run_cmd("scancel", job, check=False)
        self.wait_no_groups()

    def test_agent_and_step_daemon_die(self):  # the next agent finds what they left
        job = self.daemon(8804, "sleep 1000", "-w", "n2")
        wait_for(lambda: running(8804), "the daemon")
        self.cluster.kill_node("n2")
        for pid in pids_with(f"{self.cluster.dir}/spool/n2"):
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(running(8804))
        self.cluster.start_node("n2")
        wait_for(lambda: not running(8804), "the daemon is gone")
        self.wait_state(job, "PENDING", "NODE_FAIL")
        self.run_cmd("scancel", job, check=False)
        self.wait_no_groups("n2")

    def test_steps_outlive_their_agent(self):
        job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 8805")
        wait_for(lambda: running(8805), "the task")
        self.cluster.kill_node("n2")
        self.cluster.start_node("n2")
        wait_for(lambda: "IDLE" not in self.out("sinfo", "-h", "-n", "n2", "-o", "%T").upper(), "the node is known again")
        self.assertTrue(running(8805))
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_groups("n2")


class OwnFile(GroupCase):
    """A cgroup.conf that the node alone has, as at sites whose controller needs none."""
    NODES, CPUS = 1, 4
    CONF = GroupCase.PLUGINS

    def start(self, conf):
        self.cluster.kill_node("n1")
        count = self.cluster.log("n1").count("registered as n1")
        subprocess.run([self.cluster.daemon("sluicenoded"), "-f", conf, "-N", "n1"], check=True, env=self.cluster.env)
        wait_for(lambda: self.cluster.log("n1").count("registered as n1") > count, "n1 has registered")

    def processes(self, most):
        """Runs a job, and looks at how many processes it may have."""
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        files = lambda: [f for g in groups_of(self.cluster.dir, "n1") if g.endswith(f"job_{job}") for f in glob.glob(f"{g}/pids.max")]
        if most is None:
            self.wait_state(job, "RUNNING")
            wait_for(lambda: groups_of(self.cluster.dir, "n1"), "the job's groups")
            self.assertNotIn("77", [read(file).strip() for file in files()])
        else:
            wait_for(lambda: [read(file).strip() for file in files()] == [most], "the job's limit")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_groups()

    def test_limit(self):
        self.processes(None)
        own = os.path.join(self.cluster.dir, "own")
        os.mkdir(own)
        for name in ("slurm.conf", "slurm.key"):
            shutil.copy(os.path.join(self.cluster.dir, name), own)
        with open(os.path.join(own, "cgroup.conf"), "w", encoding="utf-8") as f:
            f.write("MaxPids=77\n")
        conf = os.path.join(own, "slurm.conf")
        self.start(conf)
        try:
            self.processes("77")
            count = self.cluster.log("n1").count("registered as n1")
            self.run_cmd("scontrol", "reconfigure")
            # at once: the next ping has a new agent register, too
            wait_for(lambda: self.cluster.log("n1").count("registered as n1") > count, "n1 has registered again", limit_s=10)
            self.processes("77")
        finally:
            for pid in pids_with(conf, "sluicenoded"):
                os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not pids_with(conf, "sluicenoded"), "it is gone")


class ForkBomb(GroupCase):
    """A job has no more processes and threads on a node than MaxPids."""
    NODES, CPUS, MOST = 1, 4, 60
    CONF = GroupCase.PLUGINS
    FILES = {"cgroup.conf": f"MaxPids={MOST}\n"}
    # every process goes on making others for as long as it is there
    BOMB = "import os,time\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(0.01)\n"

    def group(self, job):
        return next((g for g in groups_of(self.cluster.dir, "n1") if g.endswith(f"job_{job}") and os.path.exists(g + "/pids.max")), None)

    def test_bomb(self):
        job = self.submit("-n1", "-o", "bomb.out", "--wrap", "python3 -c \"$BOMB\" 8841", env={"BOMB": self.BOMB})
        group = wait_for(lambda: self.group(job), "the job's group")
        wait_for(lambda: int(read(f"{group}/pids.current")) == self.MOST, "the limit is reached")
        self.assertEqual(read(f"{group}/pids.max").strip(), str(self.MOST))
        # the node goes on, for others and for the job itself
        self.assertEqual(self.out("srun", "-n1", "echo", "fine"), "fine\n")
        self.assertLessEqual(len(pids_with("8841")), self.MOST)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(pids_with("8841"), [])
        self.assertRegex(self.file("bomb.out"), rf"slurmstepd: error: StepId={job}\.batch: \d+ forks? refused, "
                         rf"the job's limit of {self.MOST} processes and threads on this node was reached\n")
        self.assertEqual(self.out("sinfo", "-h", "-o", "%T").strip(), "idle")
        self.wait_no_groups()

    def test_all_steps_together(self):  # the limit is the job's, not a step's
        hold = f"import threading\nfor i in range({self.MOST // 2}): threading.Thread(target=threading.Event().wait, daemon=True).start()\n" \
            "print('all', flush=True)\nthreading.Event().wait()"
        job = self.submit("-n2", "-o", "steps.out", "--wrap", "srun -n1 --exact python3 -c \"$HOLD\" & "
                          "until grep -q all steps.out; do sleep 0.1; done; srun -n1 --exact python3 -c \"$HOLD\" & wait",
                          env={"HOLD": hold})
        wait_for(lambda: "can't start new thread" in self.file("steps.out"), "the second step finds no room")
        self.assertEqual(self.file("steps.out").count("all\n"), 1)
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_a_job_below_it(self):
        self.assertEqual(self.run_cmd("srun", "-n1", "sh", "-c", "echo some; echo more | cat").stderr, "")


class Measured(GroupCase):
    """Usage by the groups' own account."""
    NODES, CPUS = 1, 4
    CONF = GroupCase.PLUGINS + "JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=0\n"

    def test_sstat(self):  # memory and time of processes that have left their task, too
        code = ("import os,sys,time\nif os.fork(): time.sleep(1000)\nos.setsid()\nx = bytearray(60 << 20)\n"
                "while time.process_time() < 1.1: pass\nopen('measured', 'w').close(); time.sleep(1000)")
        job = self.submit("-o", "measured.out", "--wrap", 'srun python3 -c "$WORK"', env={"WORK": code})
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/measured"), "the process")
        rss, cpu, tasks = self.out("sstat", "-n", "-P", "--noconvert", "-j", job, "-o", "MaxRSS,AveCPU,NTasks").strip().split("|")
        self.assertGreater(int(rss), 60 << 20)
        self.assertLess(int(rss), 120 << 20)
        self.assertRegex(cpu, r"^00:00:0[1-9]$")
        self.assertEqual(tasks, "1")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_groups()


if __name__ == "__main__":
    need_root()
    need_groups()
    unittest.main(verbosity=2)
