"""A step that is asked for while the controller is started again: srun gave up after MessageTimeout, and its running job failed."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, wait_for  # pylint: disable=wrong-import-position


class AwayController(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "MessageTimeout=2\nSlurmctldTimeout=300\n"

    def test_a_step_waits_for_it(self):
        path = os.path.join(self.cluster.work, "away.out")
        go = os.path.join(self.cluster.work, "away.go")
        job = self.submit("-o", path, "--wrap", f"echo on; while [ ! -e {go} ]; do sleep 0.1; done; srun echo ran")
        wait_for(lambda: self.file("away.out") == "on\n", "the script runs")
        self.cluster.kill_controller()
        with open(go, "w", encoding="utf-8"):
            pass
        wait_for(lambda: f"srun: Job {job} step creation waits for the controller, retrying" in self.file("away.out"), "srun waits")
        self.cluster.start_controller()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn("ran\n", self.file("away.out"))


if __name__ == "__main__":
    unittest.main()
