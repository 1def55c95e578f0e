"""Bugs of the controller's own."""
import os
import signal
import unittest

from harness import ClusterCase, wait_for


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


if __name__ == "__main__":
    unittest.main()
