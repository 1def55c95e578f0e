"""A step daemon that its user's processes keep busy heard no order to end: its tasks ran on beside a node that was drained for it."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, need_root, processes, wait_for  # pylint: disable=wrong-import-position


class DeafDaemon(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "UnkillableStepTimeout=1\nKillWait=1\n"

    @staticmethod
    def sleepers(marker):
        return [pid for pid, _, words in processes("cmdline") if words[:2] == [b"sleep", marker]]

    def test_it_is_ended_with_its_tasks(self):
        job = self.submit("-o", "/dev/null", "--wrap", "setsid sleep 40071 & sleep 40072")
        wait_for(lambda: self.sleepers(b"40071") and self.sleepers(b"40072"), "the script runs")
        daemon = self.cluster.step_daemon_pid(f"{job}.batch")
        os.kill(daemon, signal.SIGSTOP)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(self.sleepers(b"40071") + self.sleepers(b"40072"), [])
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%t") == "idle\n", "the node is clean, and no job's doing drains it")
        self.assertIn(f"process {daemon}) was told to end it, and does not: it was ended", self.cluster.log("n1"))
        self.assertEqual(self.out("srun", "echo", "ran"), "ran\n")


if __name__ == "__main__":
    need_root()
    unittest.main()
