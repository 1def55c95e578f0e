"""Where jobs came to lie otherwise than in Slurm, or were shown otherwise."""
import unittest

from harness import ClusterCase


class Placement(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = """NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=4 RealMemory=4000 Feature=a
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 RealMemory=4000 Feature=b
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
PartitionName=force Nodes=n[1-2] OverSubscribe=FORCE:2 State=UP
PartitionName=alone Nodes=n[1-2] OverSubscribe=EXCLUSIVE State=UP
PartitionName=short Nodes=n[1-2] MaxTime=10 State=UP
"""

    def setUp(self):
        self.wait_no_jobs()

    def started(self, *options):
        job = self.submit("-o", "/dev/null", *options, "--wrap", "sleep 600")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.wait_state(job, "RUNNING")
        return self.show(job)

    def test_preferred_in_place_of_the_constraint(self):
        """It was looked for among the nodes of the constraint alone."""
        self.assertEqual(self.started("-C", "a", "--prefer=b", "--exclusive")["NodeList"], "n2")
        self.assertEqual(self.started("-C", "a", "--prefer=b", "--exclusive")["NodeList"], "n1")

    def test_exclusive_where_sharing_is_forced(self):
        """The job had the CPUs of its tasks alone."""
        first = self.started("-p", "force", "--exclusive", "-w", "n1", "--mem-per-cpu=100")
        self.assertEqual(first["NumCPUs"], "4")
        self.assertEqual(first["OverSubscribe"], "YES")
        self.assertEqual(self.started("-p", "force", "-n1", "-w", "n1", "--mem-per-cpu=100")["NumCPUs"], "1")

    def test_oversubscribe_where_jobs_are_alone(self):
        """OverSubscribe=YES was shown."""
        self.assertEqual(self.started("-p", "alone", "-s")["OverSubscribe"], "NO")
        self.assertEqual(self.started("-p", "debug", "-s")["OverSubscribe"], "YES")

    def test_least_time_above_the_limit(self):
        """The job was queued, and never ran."""
        why = "Invalid time-min specification (exceeds job's time or other limits)"
        self.fails(1, f"sbatch: error: Batch job submission failed: {why}\n",
                   "sbatch", "-p", "short", "-t", "30", "--time-min=20", "--wrap", "true")
        self.fails(1, f"srun: error: Unable to allocate resources: {why}\n",
                   "srun", "-p", "short", "-t", "30", "--time-min=20", "true")


if __name__ == "__main__":
    unittest.main()
