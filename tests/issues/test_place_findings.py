"""What random jobs beside a real Slurm 22.05 showed to be otherwise."""
import unittest

from harness import ClusterCase, wait_for

NODES = """NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=8000
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
"""
SHOW = "echo $SLURM_JOB_CPUS_PER_NODE $SLURM_CPUS_ON_NODE $SLURM_TASKS_PER_NODE; srun true 2>/dev/null && echo stepped"


class Findings(ClusterCase):
    NODES, CPUS = 2, 8

    def setUp(self):
        self.wait_no_jobs()

    def said(self, *options):
        job = self.submit("-o", "said-%j.out", *options, "--wrap", SHOW)
        self.wait_ended(job)
        return self.file(f"said-{job}.out")

    def held(self, *options):
        job = self.submit("-o", "/dev/null", *options, "--wrap", "sleep 600")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.wait_state(job, "RUNNING")
        shown = self.out("scontrol", "-d", "show", "job", job)
        return [line.strip() for line in shown.splitlines() if " CPU_IDs=" in line]


class ByCore(Findings):
    CONF = "SelectTypeParameters=CR_Core\n" + NODES

    def test_threads_that_are_not_used(self):
        """Both threads of each core were told, and mpirun began twice as many processes."""
        for options, said in ((("-n3", "-w", "n1"), "3 3 3"), (("-N1", "--exclusive", "-w", "n1"), "4 4 1"),
                              (("-n1", "-c2", "-w", "n1"), "2 2 1")):
            self.assertEqual(self.said("--hint=nomultithread", *options), f"{said}\nstepped\n", options)

    def test_nodes_of_other_threads(self):
        """They shared a line, with the CPUs of the first."""
        self.assertEqual(self.held("--exclusive", "-N2"), ["Nodes=n1 CPU_IDs=0-7 Mem=0 GRES=", "Nodes=n2 CPU_IDs=0-3 Mem=0 GRES="])

    def test_memory_that_is_not_given(self):
        """--mem was of no account where jobs take no memory."""
        self.held("--exclusive", "-w", "n1")
        job = self.submit("-o", "/dev/null", "--mem=6000", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", job)
        wait_for(lambda: self.show(job)["Reason"] == "Resources", "it waits for a node of as much memory")
        why = "Requested node configuration is not available"
        self.fails(1, f"sbatch: error: Batch job submission failed: {why}\n", "sbatch", "-N2", "--mem=6000", "--wrap", "true")

    def test_range_of_nodes_and_tasks_of_each(self):
        """It had as many nodes as it may."""
        job = self.submit("-o", "/dev/null", "-N1-2", "--ntasks-per-node=1", "--wrap", "true")
        self.wait_ended(job)
        self.assertEqual(self.show(job)["NumNodes"], "1")


class ByCpu(Findings):
    CONF = "SelectTypeParameters=CR_CPU\n" + NODES

    def test_steps_on_one_thread_of_a_core(self):
        """A step had room for half of the CPUs, and every srun failed."""
        self.assertEqual(self.said("-n3", "--hint=nomultithread", "-w", "n1"), "3 3 3\nstepped\n")
        self.assertEqual(self.said("-n2", "-c2", "--threads-per-core=1", "-w", "n1"), "4 4 2\nstepped\n")


if __name__ == "__main__":
    unittest.main()
