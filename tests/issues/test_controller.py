"""Bugs of the controller's own."""
import os
import shutil
import signal
import unittest

from harness import ClusterCase, wait_for

NOBODY = 65534


class StoodStill(ClusterCase):
    """A controller that had been stopped, or whose machine had been, took all nodes for silent when it went on, and ended their jobs."""
    NODES, CPUS, CONF = 1, 2, "SlurmdTimeout=3\n"

    def test_nodes_are_asked_again_first(self):
        begun, passed, gate = (os.path.join(self.cluster.work, name) for name in ("begun", "passed", "gate"))
        script = f"touch {begun}; sleep 8; touch {passed}; while [ ! -e {gate} ]; do sleep 0.05; done"  # longer than SlurmdTimeout
        job = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", script)
        wait_for(lambda: os.path.exists(begun), "the script runs")
        self.wait_state(job, "RUNNING")
        controller = self.cluster.controller_pid()
        os.kill(controller, signal.SIGSTOP)
        try:
            wait_for(lambda: os.path.exists(passed), "the time has passed")
        finally:
            os.kill(controller, signal.SIGCONT)
        self.assertEqual(self.state(job), "RUNNING")
        open(gate, "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")


class AnotherState(ClusterCase):
    """sbatch -W asked for ever once a controller that had lost its state answered that the job of this number is another user's."""
    NODES, CPUS = 1, 2

    def test_wait_for_what_may_not_be_seen(self):
        waits = self.cluster.start("sbatch", "-W", "-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", user=NOBODY,
                                   stdout=-1, stderr=-1)
        self.addCleanup(waits.kill)
        job = int(wait_for(lambda: self.out("squeue", "-h", "-o", "%i"), "the job is there"))
        os.kill(waits.pid, signal.SIGSTOP)
        self.cluster.kill_controller()
        shutil.rmtree(os.path.join(self.cluster.dir, "state"))
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("squeue", check=False).returncode == 0, "the controller answers")
        self.assertEqual(self.submit("-H", "-o", "/dev/null", "--wrap", "true"), job)
        os.kill(waits.pid, signal.SIGCONT)
        _, err = waits.communicate(timeout=60)
        self.assertEqual((waits.returncode, err), (1, f"sbatch: error: Unable to wait for job {job}: Access/permission denied\n"))
        self.run_cmd("scancel", job)


if __name__ == "__main__":
    unittest.main()
