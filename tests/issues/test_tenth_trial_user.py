"""What a tenth trial by a user found who compared commands with Slurm's."""
import unittest

from harness import ClusterCase

NO_NODES = "Node count specification invalid"


class User(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = """GresTypes=gpu
JobRequeue=0
PropagateResourceLimits=NONE
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=4 RealMemory=4000 Gres=gpu:a100:2
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 RealMemory=4000 Gres=gpu:a100:2
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
"""
    FILES = {"gres.conf": "Name=gpu Type=a100 Count=2\n"}

    def setUp(self):
        self.wait_no_jobs()

    def held(self, *options):
        job = self.submit("-H", "-o", "/dev/null", *options, "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", job)
        return job

    def test_allocated_memory_groups_nodes(self):
        """Nodes of different AllocMem were one line of sinfo."""
        job = self.submit("-n1", "-w", "n1", "--mem=100", "-o", "/dev/null", "--wrap", "sleep 600")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.wait_state(job, "RUNNING")
        lines = self.out("sinfo", "-h", "-O", "AllocMem,NodeList").splitlines()
        self.assertEqual(sorted(line.split() for line in lines), [["0", "n2"], ["100", "n1"]])

    def test_name_from_the_environment(self):
        """srun took no name for its job from SLURM_JOB_NAME."""
        env = {"SLURM_JOB_NAME": "ev"}
        self.assertEqual(self.out("srun", "squeue", "-h", "-o", "%j", env=env), "ev\n")
        self.wait_no_jobs()
        self.assertEqual(self.out("srun", "-J", "own", "squeue", "-h", "-o", "%j", env=env), "own\n")
        self.wait_no_jobs()
        step = "SLURM_JOB_NAME=ev srun squeue -h -s -o %j; squeue -h -o %j"
        self.assertEqual(self.out("salloc", "-Q", "-J", "outer", "sh", "-c", step), "squeue\nouter\n")

    def test_gpus_of_a_task(self):
        """SLURM_GPUS_PER_TASK was not set."""
        job = self.submit("-n1", "--gpus-per-task=2", "-o", "gpus", "--wrap", "printenv SLURM_GPUS_PER_TASK")
        self.wait_ended(job)
        self.assertEqual(self.file("gpus"), "2\n")
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--gpus-per-task=a100:1", "printenv", "SLURM_GPUS_PER_TASK"), "a100:1\n")

    def test_requeue_as_configured(self):
        """It was 1 whatever JobRequeue says."""
        for options, shown in (((), "0"), (("--requeue",), "1"), (("--no-requeue",), "0")):
            self.assertEqual(self.show(self.held(*options))["Requeue"], shown, options)

    def test_scancel_of_nobody(self):
        """A number that is no user's was taken for a user without jobs."""
        self.fails(1, "scancel: error: Invalid user name: 54321\n", "scancel", "-u", "54321")
        self.fails(0, "", "scancel", "-u", "0")

    def test_empty_node_list(self):
        """It was no list at all; Slurm counts none of its nodes."""
        self.fails(1, f"sbatch: error: Batch job submission failed: {NO_NODES}\n", "sbatch", "-w", "", "--wrap", "true")
        self.fails(1, f"srun: error: Unable to allocate resources: {NO_NODES}\n", "srun", "--nodelist=", "true")
        self.fails(1, f"salloc: error: Job submit/allocate failed: {NO_NODES}\n", "salloc", "-w", "", "true")
        self.assertIn(self.show(self.held("-N2", "-w", ""))["NumNodes"], ("2", "2-2"))
        self.assertEqual(self.out("srun", "-w", "", "-N1", "echo", "x"), "x\n")

    def test_priority_0(self):
        """The job was held for ever."""
        self.assertEqual(self.out("srun", "--priority=0", "echo", "x"), "x\n")
        self.assertEqual(self.wait_ended(self.submit("--priority=0", "-o", "/dev/null", "--wrap", "true")), "COMPLETED")
        job = self.submit("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.run_cmd("scontrol", "update", f"jobid={job}", "priority=0")
        self.assertEqual(self.show(job)["Priority"], "0")

    def test_propagate_nothing_is_everything(self):
        """No limit was taken along."""
        for options in ("--propagate=", "--propagate", "--propagate=ALL"):
            script = f"ulimit -Sn 321; srun {options} sh -c 'ulimit -Sn'"
            self.assertEqual(self.out("/bin/sh", "-c", script), "321\n", options)

    def test_empty_host_lists(self):
        """scontrol printed its help."""
        for entity in ("hostlist", "hostlistsorted"):
            self.fails(0, "", "scontrol", "show", entity, "", out="\n")
            self.fails(0, "", "scontrol", "show", f"{entity}=", out="\n")
            self.assertEqual(self.run_cmd("scontrol", "show", entity, check=False).returncode, 1)
        empty = "scontrol: error: host list is empty\n"
        self.fails(0, empty, "scontrol", "show", "hostnames", "", env={"SLURM_JOB_NODELIST": "n1"})
        self.fails(0, "", "scontrol", "show", "hostnames", env={"SLURM_JOB_NODELIST": "n1"}, out="n1\n")

    def flags(self, name):
        text = self.out("scontrol", "show", "reservation", name, "-o")
        return next(word for word in text.split() if word.startswith("Flags="))[6:]

    def reserve(self, name, node, flags):
        self.run_cmd("scontrol", "create", "reservation", f"reservationname={name}", "starttime=2037-01-01T00:00:00",
                     "duration=10", "users=root", f"nodes={node}", f"flags={flags}")
        self.addCleanup(self.run_cmd, "scontrol", "delete", f"reservationname={name}")

    def test_signs_on_flags_of_reservations(self):
        """They were no flags."""
        self.reserve("signs", "n1", "+maint,+daily")
        self.assertEqual(self.flags("signs"), "MAINT,DAILY,SPEC_NODES")
        self.run_cmd("scontrol", "update", "reservationname=signs", "flags=-maint,+overlap")
        self.assertEqual(self.flags("signs"), "OVERLAP,DAILY,SPEC_NODES")
        self.fails(1, "scontrol: error: Error parsing flags +nope.  No reservation update.\n",
                   "scontrol", "update", "reservationname=signs", "flags=+nope")

    def test_reservation_that_recurs_in_two_ways(self):
        """It was refused."""
        self.reserve("ways", "n2", "daily,weekly")
        self.assertEqual(self.flags("ways"), "DAILY,WEEKLY,SPEC_NODES")

    def test_range_of_nodes_of_a_step(self):
        """A step had the least of the range."""
        for tasks, nodes in (("-n2", "n1 n2"), ("-n3", "n1 n1 n2"), ("-n1", "n1")):
            told = self.out("salloc", "-Q", "-N2", "-n8", "srun", "-N1-2", tasks, "printenv", "SLURMD_NODENAME")
            self.assertEqual(" ".join(sorted(told.split())), nodes, tasks)
            self.wait_no_jobs()


if __name__ == "__main__":
    unittest.main()
