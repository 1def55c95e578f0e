"""What an attacker found who read the code: how a user took nodes away from all, or filled them."""
import os
import subprocess
import tempfile
import unittest

from harness import ClusterCase, NodeCase, add_users, need_root, wait_for

MALLORY = 12093
WORD = 128 << 10  # bytes that the kernel takes of a variable, its name and the NUL at the end included

VICTIM = """
import ctypes, os, time
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2 ** 64 - 1), 0, 0, 0)  # anybody may trace it
with open("victim", "w") as f:
    f.write(str(os.getpid()))
os.rename("victim", "victim.pid")
time.sleep(600)
"""
TRACER = """
import ctypes, os, time
while not os.path.exists("victim.pid"):
    time.sleep(0.05)
seized = ctypes.CDLL(None).ptrace(0x4206, int(open("victim.pid").read()), None, None)
with open("tracer.out", "w") as f:
    f.write(str(seized))
time.sleep(600)
"""


class Drains(NodeCase):
    CONF = "Prolog={dir}/prolog\nKillWait=1\nUnkillableStepTimeout=5\n"
    FILES = {"prolog": "#!/bin/sh\nexit 0\n"}

    @classmethod
    def setUpClass(cls):
        add_users(cls, MALLORY)
        super().setUpClass()

    def setUp(self):
        self.addCleanup(self.run_cmd, "scancel", "-u", MALLORY, check=False)

    def test_a_text_that_no_prolog_runs_with(self):
        """The prolog could not be started with it, and the node was drained."""
        text = "x" * (WORD - len("SLURM_JOB_EXTRA="))
        self.fails(1, "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long\n",
                   "sbatch", "--extra", text, "--wrap", "true", user=MALLORY)
        job = self.submit("--extra", text[:-200], "-o", "/dev/null", "--wrap", "true", user=MALLORY)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.node("n1"), "idle|none")

    def test_a_dead_process_that_a_tracer_keeps(self):
        """The step daemon never heard of its end, and the node was drained: Kill task failed."""
        run = ("-w", "n2", "-n1", "-o", "/dev/null")
        kept = self.submit(*run, "--wrap", f"exec python3 -c '{VICTIM}'", user=MALLORY)
        self.submit(*run, "--wrap", f"exec python3 -c '{TRACER}'", user=MALLORY)
        wait_for(lambda: self.file("tracer.out"), "the tracer's word")
        self.assertEqual(self.file("tracer.out"), "0")
        self.run_cmd("scancel", kept, user=MALLORY)
        wait_for(lambda: not self.out("squeue", "-h", "-j", kept), "the job is gone")
        self.assertEqual(self.node("n2"), "mix|none")


class DeepFolders(ClusterCase):
    """A job's own /tmp stayed on its node for ever, with all that was in it."""
    NODES, CPUS, CONF = 1, 2, "JobContainerType=job_container/tmpfs\n"
    FILES = {"job_container.conf": "AutoBasePath=true\nBasePath={dir}/base/%n\n"}

    @classmethod
    def setUpClass(cls):
        add_users(cls, MALLORY)
        tempfile.tempdir = "/var/tmp"  # the cluster's folder must be seen inside, too
        cls.addClassCleanup(setattr, tempfile, "tempdir", None)
        super().setUpClass()

    def test_more_than_a_process_may_have_open(self):
        deep = ("import os; os.chdir(\"/tmp\"); "
                "[(os.mkdir(\"d\"), os.chdir(\"d\")) for _ in range(1500)]")
        pid = self.cluster.node_pid("n1")
        subprocess.run(["prlimit", "--nofile=256:256", "--pid", str(pid)], check=True)
        job = self.submit("-o", "/dev/null", "--wrap", f"python3 -c '{deep}'", user=MALLORY)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        base = os.path.join(self.cluster.dir, "base", "n1")
        self.addCleanup(subprocess.run, ["rm", "-rf", base], check=False)  # Python's own goes not so deep
        wait_for(lambda: not os.path.exists(os.path.join(base, str(job))), "the job's folders are gone")


if __name__ == "__main__":
    need_root()
    unittest.main()
