"""What a third trial by an administrator found on nodes."""
import os
import shutil
import signal
import subprocess
import unittest

from harness import ClusterCase, NodeCase, need_root, wait_for, with_preload

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def is_alive(pid):
    """One that ended may wait for init to see it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class LostSpool(ClusterCase):
    """The script was started a second time beside itself, as the agent did not know of the first one."""
    NODES, CPUS, CONF = 2, 2, "BatchStartTimeout=90\n"

    def start_job(self, node):
        """Its name is that of its files; it says who it is and waits until it may end."""
        name = f"{node}.{self.id().rsplit('.', 1)[1]}"
        job = self.submit("--no-requeue", "-w", node, "-o", "/dev/null", "--wrap",
                          f"echo begin $$ >> {name}; while [ ! -e {name}.go ]; do sleep 0.05; done; echo end $$ >> {name}")
        self.addCleanup(self.run_cmd, "scancel", job, check=False)
        wait_for(lambda: self.file(name).endswith("\n"), "the script runs")
        return job, name

    def runs_again(self, name):
        """The first script is gone when the second one begins; which is the only one then."""
        first = self.file(name).split()[1]
        lines = wait_for(lambda: (found := self.file(name).splitlines())[1:] and found, "the script is started again")
        self.assertFalse(is_alive(first), "the first one runs beside it")
        open(os.path.join(self.cluster.work, f"{name}.go"), "w", encoding="utf-8").close()
        return lines[1].split()[1]

    def test_what_runs_is_ended_before_it_is_started_again(self):
        job, name = self.start_job("n1")
        other, other_name = self.start_job("n2")
        kept = self.cluster.step_daemon_pid(f"{other}.batch")
        daemon = self.cluster.step_daemon_pid(f"{job}.batch")
        self.cluster.kill_node("n1")
        shutil.rmtree(os.path.join(self.cluster.dir, "spool", "n1"))
        self.cluster.start_node("n1")
        second = self.runs_again(name)
        self.assertIn(f"JobId={job} StepId={job}.batch: its step daemon (process {daemon}) ran on", self.cluster.log("n1"))
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(name).splitlines()[1:], [f"begin {second}", f"end {second}"])
        self.assertEqual(self.cluster.step_daemon_pid(f"{other}.batch"), kept, "another node of this host")
        open(os.path.join(self.cluster.work, f"{other_name}.go"), "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(other), "COMPLETED")

    def test_steps_that_are_known_go_on(self):
        job, name = self.start_job("n1")
        daemon = self.cluster.step_daemon_pid(f"{job}.batch")
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%t").strip() == "mix", "n1 is back")
        self.assertEqual(self.cluster.step_daemon_pid(f"{job}.batch"), daemon)
        open(os.path.join(self.cluster.work, f"{name}.go"), "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(len(self.file(name).splitlines()), 2)

    def test_another_folder(self):
        """An agent ignored the new SlurmdSpoolDir without a word, and the next one knew nothing of what ran."""
        job, name = self.start_job("n1")
        folder = os.path.join(self.cluster.dir, "other-spool", "%n")
        before = self.cluster.change_conf(lambda text: "".join(f"SlurmdSpoolDir={folder}\n" if line.startswith("SlurmdSpoolDir=") else line
                                                      for line in text.splitlines(True)))
        os.kill(self.cluster.node_pid("n1"), signal.SIGHUP)
        wait_for(lambda: f"SlurmdSpoolDir={folder} waits for a restart of this agent" in self.cluster.log("n1"), "the agent says it")
        mark = len(self.cluster.log())
        self.run_cmd("scontrol", "reconfigure")
        self.assertIn("SlurmdSpoolDir has changed and waits for a restart", self.cluster.log()[mark:])
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        self.runs_again(name)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.cluster.kill_node("n1")
        self.cluster.change_conf(lambda text: before)
        self.run_cmd("scontrol", "reconfigure")
        self.cluster.start_node("n1")


class FullSpool(NodeCase):
    """Where the folder was full before its first job, launches were refused and repeated, and their jobs hung."""
    NODES, CPUS = 1, 2

    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()

    def test_it_drains_the_node(self):
        spool = os.path.join(self.cluster.dir, "spool", "n1")
        self.cluster.kill_node("n1")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "tmpfs", spool], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", spool], check=True)
        self.cluster.start_node("n1")
        wait_for(lambda: os.path.exists(f"{spool}/cluster_id") and self.node("n1", "%t") == "idle", "n1 registers")
        with open(f"{spool}/fill", "wb", buffering=0) as fill:
            try:
                while True:
                    fill.write(bytes(4096))
            except OSError:
                pass
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.out("sinfo", "-h", "-R", "-o", "%E|%N").strip() == "SlurmdSpoolDir is full|n1", "n1 is drained")
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T|%r").strip() == "PENDING|launch failed requeued held", "it is held")
        os.remove(f"{spool}/fill")
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.cluster.kill_node("n1")


class Clocks(NodeCase):
    """A node whose clock is ahead refused launches for as long after its start; one that is behind all, and it stayed IDLE."""
    NODES, CPUS = 1, 2

    @classmethod
    def setUpClass(cls):
        if not shutil.which("cc"):
            raise unittest.SkipTest("there is no C compiler")
        super().setUpClass()
        cls.shim, cls.skew = (os.path.join(cls.cluster.dir, name) for name in ("clock.so", "skew"))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.shim, os.path.join(SOURCE, "tests/skewed_clock.c")], check=True)

    def start_skewed(self, seconds):
        self.cluster.kill_node("n1")
        with open(self.skew, "w", encoding="utf-8") as f:
            f.write(str(seconds))
        subprocess.run([self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, "-N", "n1"], check=True,
                       env=dict(with_preload(self.cluster.env, self.shim), SKEW_FILE=self.skew))

    def test_ahead(self):
        begin = len(self.cluster.log("n1"))
        self.start_skewed(25)
        wait_for(lambda: "the clock of n1 is 25 s ahead of the controller's" in self.cluster.log(), "the controller says it")
        wait_for(lambda: "the clock of this node is 25 s ahead of the controller's" in self.cluster.log("n1")[begin:], "the node says it")
        self.run_cmd("srun", "-w", "n1", "true")
        self.assertNotIn("refused", self.cluster.log("n1")[begin:])

    def test_behind(self):
        self.start_skewed(-39)  # its tokens count once the controller has run for as long
        wait_for(lambda: self.node("n1").startswith("inval|Clock 39 s behind the controller"), "n1 is drained", 120)
        self.start_skewed(0)
        wait_for(lambda: self.node("n1") == "idle|none", "n1 serves again")
        self.run_cmd("srun", "-w", "n1", "true")


class FailedProlog(ClusterCase):
    """srun said that its step was aborted, and not why."""
    NODES, CPUS, CONF = 1, 2, "Prolog={dir}/prolog\n"
    FILES = {"prolog": "#!/bin/sh\nexit 1\n"}

    def test_srun_says_it(self):
        told = self.run_cmd("srun", "-w", "n1", "true", check=False)
        self.assertNotEqual(told.returncode, 0)
        self.assertRegex(told.stderr, r"srun: error: Task launch for StepId=\d+\.0 failed: the prolog failed on n1\n")


if __name__ == "__main__":
    unittest.main()
