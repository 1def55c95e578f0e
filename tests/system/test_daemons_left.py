"""tools/daemons_left, by which tools/test sees daemons that a test forgot."""
import os
import subprocess
import unittest

from harness import BUILD, ROOT, Cluster, wait_for

TOOL = os.path.join(ROOT, "tools/daemons_left")


@unittest.skipUnless(BUILD.startswith(os.path.join(ROOT, "build/")), "this build is elsewhere")
class DaemonsLeft(unittest.TestCase):
    def pids(self):
        done = subprocess.run([TOOL], capture_output=True, text=True, check=True)
        return {int(line.split()[0]) for line in done.stdout.splitlines() if line}

    def test_it_finds_controller_agent_and_step_daemon(self):
        cluster = Cluster(1, 1)
        try:
            cluster.run("sbatch", "-o", "/dev/null", "--wrap", "sleep 1000")
            wait_for(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%i").stdout, "the job runs")
            ours = {cluster.controller_pid(), cluster.node_pid("n1")}
            self.assertEqual(ours - self.pids(), set())
            listed = subprocess.run([TOOL], capture_output=True, text=True, check=True).stdout
            self.assertIn("slurmstepd", listed)
        finally:
            cluster.down()
        self.assertEqual(ours & self.pids(), set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
