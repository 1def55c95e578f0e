"""Faults of a job's life: a stopped srun, killed step daemons, tasks that do not end, agents that restart, files without room.
Nothing is lost, the job and its steps end with a state that says what was, no process is left, and the node is used again."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import unittest

from harness import UNDER_ASAN, ClusterCase, need_root, pids_with, wait_for

# lines as fast as they are taken: far more than 10,000 a second
WRITER = r"""
import os, sys
rank, lines = os.environ["SLURM_PROCID"], int(sys.argv[1])
for first in range(0, lines, 1000):
    sys.stdout.write("".join(f"{rank} {number:07} {'x' * 90}\n" for number in range(first, min(first + 1000, lines))))
"""


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def resident_kib(pid):
    found = re.search(r"^VmRSS:\s+(\d+) kB", read(f"/proc/{pid}/status"), re.M)
    return int(found[1]) if found else 0


def sleeping(marker):
    return subprocess.run(["pgrep", "-fx", f"(/.*/)?sleep {marker}"], capture_output=True, text=True, check=False).stdout.split()


class FaultCase(ClusterCase):
    def step_daemons(self, step, node=""):
        """Those of "[12.0]", "[12.batch]", "[12." on a node, or on all; their arguments say it."""
        return [pid for pid in pids_with(f"{self.cluster.dir}/spool/{node}") if step in read(f"/proc/{pid}/cmdline")]

    def kill_daemon(self, step, node="n1"):
        pids = wait_for(lambda: self.step_daemons(step, node), f"the daemon of {step}")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def usable(self, node="n1"):
        wait_for(lambda: self.out("sinfo", "-h", "-n", node, "-o", "%T").strip() == "idle", f"{node} is idle")
        self.assertEqual(self.out("srun", "-w", node, "echo", "fine"), "fine\n")


class StoppedSrun(FaultCase):
    """A stopped srun blocks the tasks: nothing of their output is dropped, and none of it piles up in the step daemons."""
    NODES, CPUS, LINES = 2, 2, 400_000  # 100 bytes each: 40 MB a task
    FILES = {"writer": WRITER}
    CONF = "KillWait=1\n"
    MOST_KIB = 40_000  # a megabyte for the congested srun, buffers, and the program itself

    def blocked(self, pids):
        """All of them sit in write(2) to standard output."""
        return all(re.match(r"(1|64) 0x1 ", read(f"/proc/{pid}/syscall")) for pid in pids)

    def test_stopped_and_continued(self):
        with open(f"{self.cluster.work}/stopped.out", "wb") as out:
            srun = self.cluster.start("srun", "-n2", "-N2", "python3", f"{self.cluster.dir}/writer", self.LINES, stdout=out)
        wait_for(lambda: os.path.getsize(f"{self.cluster.work}/stopped.out") > 1_000_000, "lines come")
        srun.send_signal(signal.SIGSTOP)
        self.addCleanup(lambda: srun.poll() is None and srun.kill())
        writers = wait_for(lambda: len(pids := pids_with(f"{self.cluster.dir}/writer", self.python())) == 2 and pids, "the two tasks")
        # the kernel's buffers fill up, too; then both stay where they are
        wait_for(lambda: all(self.blocked(writers) for _ in range(500)), "the tasks are blocked")
        daemons = self.step_daemons(".0]")
        self.assertEqual(len(daemons), 2)
        for daemon in daemons if not UNDER_ASAN else []:
            self.assertLess(resident_kib(daemon), self.MOST_KIB)
        self.assertLess(os.path.getsize(f"{self.cluster.work}/stopped.out"), 2 * 100 * self.LINES)
        # the node goes on beside it
        self.assertEqual(self.out("srun", "-n1", "-N1", "echo", "fine"), "fine\n")
        srun.send_signal(signal.SIGCONT)
        self.assertEqual(srun.wait(timeout=120), 0)
        next_of = [0, 0]
        with open(f"{self.cluster.work}/stopped.out", encoding="ascii") as out:
            for line in out:
                rank, number, rest = line.split(" ")
                self.assertEqual(int(number), next_of[int(rank)], "a line is missing, or not in its place")
                self.assertEqual(rest, "x" * 90 + "\n")
                next_of[int(rank)] += 1
        self.assertEqual(next_of, [self.LINES, self.LINES])

    def test_stopped_and_cancelled(self):  # who does not take the output does not hold the job
        srun = self.cluster.start("srun", "-n2", "-N2", "python3", f"{self.cluster.dir}/writer", 10 * self.LINES, stdout=subprocess.DEVNULL)
        self.addCleanup(srun.wait, 60)
        self.addCleanup(srun.kill)
        writers = wait_for(lambda: len(pids := pids_with(f"{self.cluster.dir}/writer", self.python())) == 2 and pids, "the two tasks")
        srun.send_signal(signal.SIGSTOP)
        wait_for(lambda: all(self.blocked(writers) for _ in range(500)), "the tasks are blocked")
        job = self.out("squeue", "-h", "-o", "%A").strip()
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(int(job)), "CANCELLED")
        wait_for(lambda: not pids_with(f"{self.cluster.dir}/writer", self.python()), "the tasks are gone")
        wait_for(lambda: not self.step_daemons(f"[{job}.0]"), "their daemons are gone")
        self.usable()

    @staticmethod
    def python():
        return os.path.basename(os.path.realpath("/usr/bin/python3"))


class KilledDaemons(FaultCase):
    """kill -9 of a step daemon: what it ran is gone, the step or job says so, and the node is used again."""
    NODES, CPUS = 2, 4
    CONF = "LaunchParameters=use_interactive_step\nSchedulerParameters=requeue_delay=1\n"
    FILES = {"wait": "#!/bin/sh\nexec sleep 9106\n"}

    def test_batch(self):  # as when its node is lost: it runs again, with what the last run ended with
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 9101")
        wait_for(lambda: sleeping(9101), "the script runs")
        self.kill_daemon(f"[{job}.batch]")
        wait_for(lambda: not sleeping(9101), "its process is gone")
        self.assertEqual(self.wait_state(job, "COMPLETED"), "COMPLETED")
        self.assertEqual(self.show(job)["Restarts"], "1")
        self.usable()

    def test_batch_that_is_not_requeued(self):
        job = self.submit("--no-requeue", "-w", "n1", "-o", "/dev/null", "--wrap", "srun sleep 9102")
        wait_for(lambda: sleeping(9102), "the step runs")
        self.kill_daemon(f"[{job}.batch]")
        self.assertEqual(self.wait_ended(job), "NODE_FAIL")
        shown = self.show(job)
        self.assertEqual((shown["Reason"], shown["ExitCode"]), ("its_step_daemon_died_(status_0x9)", "0:9"))
        wait_for(lambda: not sleeping(9102), "the step's process is gone")
        wait_for(lambda: not self.step_daemons(f"[{job}."), "no daemon is left")
        self.usable()

    def test_numbered_step(self):  # the step ends, on the other node, too; the job goes on
        job = self.submit("-N2", "-n2", "-o", "step.out", "--wrap", "srun sleep 9103; echo srun $?; srun echo next")
        wait_for(lambda: len(sleeping(9103)) == 2, "the tasks")
        self.kill_daemon(f"[{job}.0]", "n2")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        text = self.file("step.out")
        self.assertIn("srun: error: Node failure on n2\n", text)
        self.assertIn("srun: error: n2: task 1: Killed\n", text)
        self.assertIn("srun 137\nnext\nnext\n", text)
        self.assertEqual(sleeping(9103), [])
        self.usable("n1")
        self.usable("n2")

    def test_interactive_step(self):  # its shell is gone, and with it the allocation
        salloc = self.cluster.start("salloc", "-w", "n1", "-J", "shell", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        salloc.stdin.write("sleep 9104\n")
        salloc.stdin.flush()
        wait_for(lambda: sleeping(9104), "the shell works")
        job = self.out("squeue", "-h", "-n", "shell", "-o", "%A").strip()
        self.kill_daemon(f"[{job}.interactive]")
        out, err = salloc.communicate(timeout=60)
        self.assertNotEqual(salloc.returncode, 0, (out, err))
        self.assertIn(f"salloc: Relinquishing job allocation {job}", err)
        wait_for(lambda: self.state(job) not in ("RUNNING", "COMPLETING"), "the allocation is over")
        self.assertEqual(sleeping(9104), [])
        self.usable()

    def test_before_the_launch_is_over(self):  # while its tasks wait for the user's prolog
        job = self.submit("-w", "n1", "-o", "early.out", "--wrap",
                          f"srun --task-prolog={self.cluster.dir}/wait sleep 9105; echo srun $?")
        wait_for(lambda: sleeping(9106), "the prolog runs")  # a daemon that dies before it has begun drains its node
        pids = self.step_daemons(f"[{job}.0]", "n1")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # a child between its fork and its end
                os.kill(pid, signal.SIGKILL)
        self.wait_ended(job)
        self.assertRegex(self.file("early.out"), r"srun (137|1)\n")
        wait_for(lambda: not sleeping(9105) + sleeping(9106), "nothing is left of it")
        self.usable()


class Stubborn(FaultCase):
    """Tasks that do not listen to TERM end with KILL once KillWait is over."""
    NODES, CPUS = 1, 4
    CONF = "KillWait=2\nOverTimeLimit=0\n"

    def stubborn(self, marker, *options):
        job = self.submit("-o", f"{marker}.out", *options, "--wrap",
                          f"trap 'echo term' TERM; echo ready; sh -c 'trap \"\" TERM; sleep {marker} & wait; wait' & "
                          "while :; do wait; sleep 0.1; done")
        wait_for(lambda: "ready" in self.file(f"{marker}.out") and sleeping(marker), "the script")
        return job

    def test_cancelled(self):
        job = self.stubborn(9201)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(sleeping(9201), [])
        self.assertIn("CANCELLED AT", self.file("9201.out"))
        self.usable()

    def test_step(self):  # scancel of the step alone: the script goes on
        job = self.submit("-o", "stubborn.out", "--wrap", "srun sh -c 'trap \"\" TERM; while :; do sleep 9202; done'; echo srun $?")
        wait_for(lambda: sleeping(9202), "the step")
        self.run_cmd("scancel", f"{job}.0")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn("srun 137\n", self.file("stubborn.out"))
        self.assertEqual(sleeping(9202), [])


class RestartedAgent(FaultCase):
    """An agent that goes away and comes back finds its steps, with their output, their ends and their orders."""
    NODES, CPUS = 2, 4

    def restart(self, node="n1"):
        self.cluster.kill_node(node)
        self.cluster.start_node(node)

    def test_in_the_middle_of_a_step(self):
        job = self.submit("-N2", "-n2", "-o", "middle.out", "--wrap",
                          "srun sh -c 'echo before; while [ ! -e go ]; do sleep 0.05; done; echo after; exit $((3 + SLURM_PROCID))'; echo srun $?")
        wait_for(lambda: self.file("middle.out").count("before") == 2, "the tasks run")
        self.restart("n1")
        self.restart("n2")
        open(f"{self.cluster.work}/go", "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("middle.out").count("after\n"), 2)
        self.assertIn("srun 4\n", self.file("middle.out"))
        self.assertEqual(self.show(job)["ExitCode"], "0:0")
        self.assertIn("DerivedExitCode=4:0", self.out("scontrol", "-d", "show", "job", job))

    def test_step_that_ends_meanwhile(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "while [ ! -e end ]; do sleep 0.05; done; exit 5")
        self.wait_state(job, "RUNNING")
        self.cluster.kill_node("n1")
        open(f"{self.cluster.work}/end", "w", encoding="utf-8").close()
        wait_for(lambda: not self.step_daemons(f"[{job}.batch]", "n1"), "the script is over")
        self.assertEqual(self.state(job), "RUNNING")
        self.cluster.start_node("n1")
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertEqual(self.show(job)["ExitCode"], "5:0")

    def test_orders_after_the_restart(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "srun sleep 9301")
        wait_for(lambda: sleeping(9301), "the step")
        self.restart()
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(sleeping(9301), [])
        self.usable()


class Unopenable(FaultCase):
    """A file of a batch job that cannot be opened: the job failed, says which file and why, and nobody else has to do with it."""
    NODES, CPUS = 1, 4

    def failed(self, why, *options):
        job = self.submit(*options, "--wrap", "true")
        self.assertEqual(self.wait_ended(job), "FAILED")
        shown = self.show(job)
        self.assertEqual((shown["Reason"], shown["ExitCode"], shown["Restarts"]), (why.replace(" ", "_"), "0:53", "0"))
        self.assertEqual(self.out("squeue", "-h", "-t", "all", "-j", job, "-o", "%r"), f"{why}\n")
        self.assertIn(f"it is FAILED: {why}.\n", self.out("sluice", "explain", job))
        self.usable()

    def test_output(self):
        missing = "No such file or directory"
        self.failed(f"Could not open stdout file /proc/nope/out: {missing}", "-o", "/proc/nope/out")
        self.failed(f"Could not open stdout file /proc/nope/out: {missing}", "--no-requeue", "-o", "/proc/nope/out")
        self.failed(f"Could not open stderr file /proc/nope/err: {missing}", "--requeue", "-o", "/dev/null", "-e", "/proc/nope/err")
        self.failed("Could not open stdout file /proc: Is a directory", "-o", "/proc")

    def test_input(self):
        self.failed("Could not open stdin file /proc/nope/in: No such file or directory", "-o", "/dev/null", "-i", "/proc/nope/in")

    def test_no_room(self):
        disk = tempfile.mkdtemp(prefix="sluice-output-")
        self.addCleanup(os.rmdir, disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.failed(f"Could not open stdout file {disk}/out: No space left on device", "-o", f"{disk}/out")

    def test_others_folder(self):  # sbatch -W tells it, too
        path = os.path.join(self.cluster.dir, "locked")
        os.mkdir(path, 0o700)
        waited = self.run_cmd("sbatch", "-W", "--parsable", "--uid=65534", "-D", "/tmp", "-o", f"{path}/out", "--wrap", "true", check=False)
        self.assertEqual(waited.returncode, 1)
        self.assertEqual(self.show(waited.stdout.strip())["Reason"], f"Could_not_open_stdout_file_{path}/out:_Permission_denied")
        self.usable()

    def test_work_dir(self):  # no reason to fail: as in Slurm the script runs in /tmp, and its output says so
        job = self.submit("-D", "/proc/nope", "-o", f"{self.cluster.work}/chdir.out", "--wrap", "pwd")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("chdir.out"), "slurmstepd: error: couldn't chdir to `/proc/nope': No such file or directory: "
                                                 "going to /tmp instead\n/tmp\n")


class FullSpool(FaultCase):
    """Without room in SlurmdSpoolDir nothing can begin: such a node stayed idle, and each job that waited was launched there, failed and was held."""
    NODES, CPUS = 2, 2

    def refused(self, reason):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.out("sinfo", "-h", "-R", "-o", "%E|%N").strip() == f"{reason}|n1", "n1 is drained")
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T|%r").strip() == "PENDING|launch failed requeued held", "it is held")
        self.assertEqual(self.wait_ended(self.submit("-o", "/dev/null", "--wrap", "true")), "COMPLETED")  # elsewhere
        return job

    def resume(self, job):
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_no_room(self):
        spool = os.path.join(self.cluster.dir, "spool", "n1")
        steps = os.path.join(spool, "steps")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", steps], check=True)
        try:
            with open(os.path.join(steps, "fill"), "wb") as fill:
                fill.write(bytes(4096))
            job = self.refused("SlurmdSpoolDir is full")
        finally:
            subprocess.run(["umount", steps], check=True)
        self.resume(job)

    def test_what_cannot_be_written_to(self):
        spool = os.path.join(self.cluster.dir, "spool", "n1")
        steps = os.path.join(spool, "steps")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", steps], check=True)
        try:
            job = self.refused(f"its step daemon cannot write to {spool}")
        finally:
            subprocess.run(["umount", steps], check=True)
        self.resume(job)


class FullOutput(FaultCase):
    """No room for a job's output: its programs learn of it, the reason is told where it can be, the node goes on."""
    NODES, CPUS = 1, 4

    @classmethod
    def setUpClass(cls):
        cls.disk = tempfile.mkdtemp(prefix="sluice-output-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "tmpfs", cls.disk], check=True)
        cls.addClassCleanup(os.rmdir, cls.disk)
        cls.addClassCleanup(subprocess.run, ["umount", cls.disk], check=True)
        super().setUpClass()

    def test_batch_script(self):  # it writes to the file itself: the kernel tells it
        job = self.submit("-o", f"{self.disk}/batch.out", "-e", "batch.err", "--wrap", "head -c 3000000 /dev/zero || exit 9")
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertEqual(self.show(job)["ExitCode"], "9:0")
        self.assertIn("No space left on device", self.file("batch.err"))
        os.unlink(f"{self.disk}/batch.out")
        self.usable()

    def test_a_file_for_each_task(self):  # they write themselves
        done = self.run_cmd("srun", "-n2", "-o", f"{self.disk}/task-%t.out", "-e", "task-%t.err", "head", "-c", "3000000", "/dev/zero", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", self.file("task-0.err"))
        for task in range(2):
            os.unlink(f"{self.disk}/task-{task}.out")
        self.usable()

    LOSS = "srun: error: Cannot write the tasks' output: No space left on device. The rest of it is lost.\n"

    def test_output_of_srun(self):  # Slurm's is lost without a word
        for options in (("-o", f"{self.disk}/one.out"), ("-o", f"{self.disk}/one.out", "-l", "-n2")):
            done = self.run_cmd("srun", *options, "sh", "-c", "yes | head -c 3000000", check=False)
            self.assertEqual((done.returncode, done.stderr), (1, self.LOSS))
            os.unlink(f"{self.disk}/one.out")
        with open(f"{self.disk}/srun.out", "wb") as out:
            done = subprocess.run([self.cluster.program("srun"), "head", "-c", "3000000", "/dev/zero"], env=self.cluster.env,
                                  cwd=self.cluster.work, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, self.LOSS))
        os.unlink(f"{self.disk}/srun.out")
        # the step daemon puts labels before what goes to a file for each task
        done = self.run_cmd("srun", "-l", "-o", f"{self.disk}/each-%t.out", "sh", "-c", "yes | head -c 3000000", check=False)
        self.assertEqual(done.stderr, "0: slurmstepd: error: Cannot write the tasks' output on n1: No space left on device. Some of it is lost.\n")
        os.unlink(f"{self.disk}/each-0.out")
        # who has read enough is not a full disk
        done = subprocess.run(f"{self.cluster.program('srun')} sh -c 'yes | head -c 3000000' | head -n1", shell=True, env=self.cluster.env,
                              cwd=self.cluster.work, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("y\n", ""))
        self.usable()


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
