"""What was found beside Slurm on November 29: the memory of a CPU under MaxMemPerCPU, and variables of jobs."""
import os
import pwd
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase  # pylint: disable=wrong-import-position


class Users(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PartitionName=debug Nodes=ALL Default=YES\nPartitionName=small Nodes=ALL MaxMemPerCPU=50\n"

    def printed(self, *options, script):
        path = os.path.join(self.cluster.work, "seventh.out")
        self.wait_ended(self.submit("-o", path, *options, "--wrap", script))
        with open(path, encoding="utf-8") as f:
            return f.read()

    def test_steps_of_a_job_that_got_more_cpus_for_its_memory(self):
        """Each step asked for the memory of one CPU for each, and was refused."""
        self.assertEqual("ran\n", self.out("srun", "-p", "small", "-n1", "--mem-per-cpu=100", "echo", "ran"))
        inside = f"echo $SLURM_MEM_PER_CPU; {self.cluster.program('srun')} echo ran"
        self.assertEqual("50\nran\n", self.printed("-p", "small", "-n1", "--mem-per-cpu=100", script=inside))

    def test_tasks_that_the_nodes_take(self):
        """SLURM_NTASKS was not set where `--ntasks-per-node` alone was given."""
        show = "echo $SLURM_NTASKS $SLURM_NPROCS $SLURM_TASKS_PER_NODE"
        self.assertEqual("2 2 2\n", self.printed("--ntasks-per-node=2", script=show))
        self.assertEqual("4 4 2(x2)\n", self.printed("-N1-2", "--ntasks-per-node=2", script=show))
        self.assertEqual("2 2 2\n", self.out("salloc", "-Q", "--ntasks-per-node=2", "sh", "-c", show))

    def test_variables_of_a_login(self):
        """MAIL was missing, and SHLVL was 0."""
        user = pwd.getpwuid(os.getuid()).pw_name
        self.assertEqual(f"/var/mail/{user} 1\n", self.printed("--export=NONE", script="echo $MAIL $SHLVL"))


if __name__ == "__main__":
    unittest.main()
