"""What a tenth trial found of scheduling, and of programs on top of the commands."""
import re
import unittest

from accounting import AccountedCase
from harness import ClusterCase, wait_for

NOT_AVAILABLE = "Requested node configuration is not available"


class Bounds(ClusterCase):
    """What a partition allows is not passed by asking for whole nodes, or for all memory."""
    NODES, CPUS, MEMORY = 2, 4, 1000
    CONF = ("EnforcePartLimits=ALL\nDefMemPerCPU=10\nPartitionName=debug Nodes=ALL Default=YES\nPartitionName=few Nodes=ALL MaxCPUsPerNode=2\nPartitionName=small Nodes=ALL MaxMemPerCPU=200\n"
            "PartitionName=enough Nodes=ALL MaxMemPerCPU=250\nPartitionName=one Nodes=n1 MaxNodes=1\n")

    def refused(self, *options):
        done = self.run_cmd("srun", *options, "true", check=False)
        self.assertEqual(done.returncode, 1, options)
        return done.stderr

    def test_cpus_of_a_node(self):
        self.assertIn(NOT_AVAILABLE, self.refused("-p", "few", "--exclusive"))
        self.assertEqual(self.out("srun", "-p", "few", "-n2", "sh", "-c", "echo $SLURM_CPUS_ON_NODE"), "2\n2\n")

    def test_memory_of_a_cpu(self):
        for more in ((), ("--exclusive",)):
            self.assertIn(NOT_AVAILABLE, self.refused("-p", "small", "--mem=0", *more))
        self.assertEqual(self.out("srun", "-p", "enough", "--mem=0", "sh", "-c", "echo $SLURM_CPUS_ON_NODE"), "4\n")

    def test_nodes_that_a_partition_lacks(self):
        self.assertIn("Requested nodes not in this partition", self.refused("-p", "debug,one", "-w", "n2"))


class Changes(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"

    def reserve(self, name, node, start="now"):
        self.run_cmd("scontrol", "create", f"reservation={name}", f"starttime={start}", "duration=60", f"nodes={node}", "users=root")
        self.addCleanup(self.run_cmd, "scontrol", "delete", f"reservation={name}")

    def test_nodes_of_one_of_several_reservations(self):
        self.reserve("r1", "n1")
        self.reserve("r2", "n2")
        for node in ("n1", "n2"):
            self.assertEqual(self.out("srun", "--reservation=r1,r2", "-w", node, "sh", "-c", "echo $SLURMD_NODENAME"), node + "\n")
        done = self.run_cmd("srun", "--reservation=r1", "-w", "n2", "true", check=False)
        self.assertIn("Problem using reservation", done.stderr)

    def test_a_reservation_is_not_moved_over_jobs(self):
        job = self.submit("-w", "n1", "-t", "20", "-o", "/dev/null", "--wrap", "sleep 600")
        self.wait_state(job, "RUNNING")
        self.reserve("later", "n1", "now+3days")
        done = self.run_cmd("scontrol", "update", "reservation=later", "starttime=now", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Requested nodes are busy", done.stderr + done.stdout)
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.run_cmd("scontrol", "update", "reservation=later", "starttime=now")

    def test_release_gives_a_set_priority_up(self):
        first = self.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
        self.wait_state(first, "RUNNING")
        job = self.submit("--priority=500000", "-o", "/dev/null", "--wrap", "true")
        priority = lambda: self.out("squeue", "-h", "-j", job, "-o", "%Q").strip()
        self.assertEqual(priority(), "500000")
        self.run_cmd("scontrol", "release", job)
        wait_for(lambda: priority() not in ("500000", ""), "its priority is computed")
        self.run_cmd("scancel", first, job)

    def test_the_last_task_of_an_array(self):
        array = self.submit("-o", "/dev/null", "-N2", "--exclusive", "-a", "1-2%1", "--wrap", "sleep 600")
        wait_for(lambda: self.out("squeue", "-h", "-t", "PD", "-o", "%i").strip() == f"{array}_2", "the second waits")
        self.assertIn("ArrayTaskId=2 ", self.out("scontrol", "show", "job", f"{array}_2"))
        self.run_cmd("scancel", array)

    def test_a_begin_beside_a_dependency(self):
        first = self.submit("-H", "--wrap", "true")
        job = self.submit("-d", f"afterany:{first}", "-b", "2040-01-01T00:00:00", "--wrap", "true")
        self.assertEqual(self.show(job)["EligibleTime"], "2040-01-01T00:00:00")
        self.run_cmd("scancel", first, job)


class Programs(AccountedCase):
    """Columns and times that programs on top of the commands look at."""
    NODES, CPUS = 1, 2

    def test_a_field_that_is_unknown_keeps_its_place(self):
        job = self.submit("-H", "-J", "named", "--wrap", "true")
        done = self.run_cmd("squeue", "-O", "JobID:|,Bogus:|,Name:|")
        self.assertEqual(done.stdout, f"JOBID||NAME|\n{job}||named|\n")
        self.assertEqual(self.out("sinfo", "-h", "-O", "NodeList:|,Bogus:9|,CPUs:|"), "n1||2|\n")
        self.run_cmd("scancel", job)

    def test_waiting_for_a_job_is_no_work(self):
        self.run_cmd("sdiag", "-r")
        self.run_cmd("sbatch", "-W", "-o", "/dev/null", "--wrap", "sleep 1")
        found = re.search(r"REQUEST_JOB_READY +\( 4019\) count:1 +ave_time:(\d+)", self.out("sdiag"))
        self.assertIsNotNone(found)
        self.assertLess(int(found.group(1)), 1_000_000)

    def test_seff(self):
        job = self.submit("-n2", "-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        shown = wait_for(lambda: (out := self.run_cmd("seff", str(job), check=False).stdout) and "COMPLETED" in out and out, "seff knows it")
        self.assertIn("\nNodes: 1\nCores per node: 2\n", shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
