"""Jobs with long arguments were more than a message: squeue showed nothing to anybody, and two commands of their user ended the controller."""
import os
import unittest

from harness import ClusterCase

WORD = "x" * 120_000  # the most that the kernel takes is 128 KiB each


class LongArguments(ClusterCase):
    NODES, CPUS = 1, 2

    def test_the_queue_and_the_controller_bear_them(self):
        script = os.path.join(self.cluster.work, "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ntrue\n")
        jobs = [self.submit("-H", "-o", "/dev/null", script, *[WORD] * 14) for _ in range(20)]
        array = self.submit("-H", "-a", "0-99", "-o", "/dev/null", script, *[WORD] * 14)
        self.assertEqual(self.out("squeue", "-h", "-o", "%i", "-S", "i").split(), [*map(str, jobs), f"{array}_[0-99]"])
        self.assertIn("JobId=", self.out("scontrol", "-o", "show", "jobs"))
        self.out("scontrol", "update", f"JobId={array}_[0-79]", "Comment=new")
        self.assertEqual(self.show(f"{array}_7")["Comment"], "new")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.assertEqual(self.show(f"{array}_79")["Comment"], "new")
        self.assertEqual(len(self.out("squeue", "-h", "-r").splitlines()), 120)
        refused = self.run_cmd("sbatch", "-H", script, *["y"] * 20_000, check=False)
        self.assertIn("error", refused.stderr)
        self.out("scancel", "-u", "root")


if __name__ == "__main__":
    unittest.main()
