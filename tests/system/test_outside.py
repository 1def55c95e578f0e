"""srun -Z and sbcast -Z: tasks and files on nodes without a job, for root and SlurmUser."""
import os
import shutil
import signal
import tempfile
import unittest

from harness import ClusterCase, add_users, need_root, pids_with, wait_for

ALICE = 12081
SAID = "srun: do not allocate resources\n"


class Outside(ClusterCase):
    NODES, CPUS = 3, 2
    CONF = "Prolog={dir}/prolog\nEpilog={dir}/epilog\n"
    FILES = {"prolog": "#!/bin/sh\necho \"$SLURMD_NODENAME\" >> {dir}/work/prologs\n",
             "epilog": "#!/bin/sh\necho \"$SLURMD_NODENAME\" >> {dir}/work/epilogs\n"}

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()

    def lines(self, *options, **more):
        done = self.run_cmd("srun", "-Z", *options, **more)
        self.assertEqual(done.stderr, SAID)
        return sorted(done.stdout.splitlines())

    def test_tasks(self):
        self.assertEqual(self.lines("-w", "n1,n3", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"), ["0 n1", "1 n3"])
        # more tasks than CPUs: nobody counts what runs there
        self.assertEqual(self.lines("-w", "n2", "-n5", "-l", "sh", "-c", "echo $SLURM_TASKS_PER_NODE"),
                         [f"{task}: 5" for task in range(5)])
        self.assertEqual(self.lines("-w", "n1", "-D", "/tmp", "pwd"), ["/tmp"])
        found = dict(line.split("=", 1) for line in self.lines("-w", "n1", "env") if line.startswith("SLURM"))
        self.assertEqual((found.get("SLURM_JOB_ID"), found["SLURM_JOB_NODELIST"], found["SLURM_NTASKS"]), (None, "n1", "1"))
        self.assertIn("SLURM_STEP_ID", found)
        done = self.run_cmd("srun", "-Z", "-w", "n1", "sh", "-c", "exit 3", check=False)
        self.assertEqual((done.returncode, done.stderr), (3, SAID + "srun: error: n1: task 0: Exited with exit code 3\n"))
        self.assertEqual(self.run_cmd("srun", "-Z", "-w", "n1", "cat", stdin="input\n").stdout, "input\n")

    def test_no_job(self):
        """No job, and room for one on nodes that are in use this way; prolog and epilog run as for a job."""
        srun = self.cluster.start("srun", "-Z", "-w", "n1", "sh", "-c", "touch outside.up; exec sleep 1717", stdout=-1, stderr=-1)
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/outside.up"), "the task runs")
        self.assertEqual(self.out("squeue", "-h") + self.out("squeue", "-h", "-s"), "")
        self.assertEqual(self.out("srun", "-w", "n1", "-n2", "echo", "in"), "in\nin\n")
        before = self.file("epilogs").split().count("n1")
        srun.send_signal(signal.SIGTERM)
        srun.communicate(timeout=30)
        wait_for(lambda: not pids_with("1717", "sleep"), "the task is gone")
        wait_for(lambda: self.file("epilogs").split().count("n1") > before, "the epilog has run")
        self.assertIn("n1", self.file("prologs").split())

    def test_restarts(self):
        """It outlives its agent and the controller, and its end is cleaned up after."""
        srun = self.cluster.start("srun", "-Z", "-w", "n2", "sh", "-c", "touch lives.up; while [ ! -e lives.go ]; do sleep 0.05; done; "
                                  "echo lived", stdout=-1, stderr=-1)
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/lives.up"), "the task runs")
        self.cluster.kill_node("n2")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.cluster.start_node("n2")
        wait_for(lambda: self.out("srun", "-w", "n2", "echo", "in") == "in\n", "the node is back")
        before = self.file("epilogs").split().count("n2")
        open(f"{self.cluster.work}/lives.go", "w", encoding="utf-8").close()
        out, _ = srun.communicate(timeout=30)
        self.assertEqual((out, srun.returncode), ("lived\n", 0))
        wait_for(lambda: self.file("epilogs").split().count("n2") > before, "the epilog has run")

    def test_refusals(self):
        self.fails(1, "srun: error: must specify a node list with -Z, --no-allocate.\n", "srun", "-Z", "true")
        self.fails(1, SAID + "srun: error: Only allocated 2 nodes asked for 3\nsrun: error: Job creation failure.\n",
                   "srun", "-Z", "-N3", "-w", "n1,n2", "true")
        for options, node, status, why in ((("-w", "n99"), "n99", 244, "Can't find an address, check slurm.conf"),
                                           (("-w", "n1"), "n1", 210, "Access/permission denied")):
            done = self.run_cmd("srun", "-Z", "-D/tmp", *options, "true", check=False, user=ALICE if status == 210 else None)
            self.assertEqual(done.returncode, status)
            self.assertRegex(done.stderr, rf"^{SAID}srun: error: Task launch for StepId=429\d+\.\d+ failed on node {node}: {why}\n"
                             rf"srun: error: Application launch failed: {why}\nsrun: Job step aborted\n$")

    def test_files(self):
        folder = tempfile.mkdtemp(dir=self.cluster.work)
        self.addCleanup(shutil.rmtree, folder)
        source, there = f"{folder}/in", f"{folder}/out"
        with open(source, "w", encoding="utf-8") as f:
            f.write("to all nodes\n")
        done = self.run_cmd("sbcast", "-f", "-v", "-Z", "-w", "n[1,3]", source, there)
        self.assertIn("sbcast: node_list  = n[1,3]\n", done.stderr)
        with open(there, encoding="utf-8") as f:
            self.assertEqual(f.read(), "to all nodes\n")
        os.remove(there)
        self.run_cmd("sbcast", "--no-allocation", "--nodelist=n2", source, there, env={"SLURM_JOB_ID": "77"})
        self.assertTrue(os.path.exists(there))
        self.fails(17, "sbcast: error: REQUEST_FILE_BCAST(n2): File exists\n", "sbcast", "-Z", "-w", "n2", source, there)
        for status, text, options, user in (
                (255, "REQUEST_FILE_BCAST(n2): Access/permission denied", ("-Z", "-w", "n2"), ALICE),
                (255, "REQUEST_FILE_BCAST(zz): Invalid node name specified", ("-Z", "-w", "zz"), None),
                (1, "must specify a node list with -Z, --no-allocation.", ("-Z",), None),
                (1, "--nodelist is for use with --no-allocation.", ("-w", "n2"), None)):
            done = self.run_cmd("sbcast", *options, "/etc/hostname", f"{folder}/none", check=False, user=user, cwd="/tmp")
            self.assertEqual((done.returncode, done.stderr), (status, f"sbcast: error: {text}\n"))
        self.assertFalse(os.path.exists(f"{folder}/none"))


if __name__ == "__main__":
    need_root()
    unittest.main()
