"""Bugs of the scheduler, and of what lets jobs start."""
import unittest

from harness import UNDER_ASAN, ClusterCase, need_root, wait_for

NOBODY = 65534
QUIET = ("-o", "/dev/null")


class Case(ClusterCase):
    def said(self, *command, **options):
        return self.out(*command, **options).strip()


class Access(Case):
    """A job of several partitions could start in one that refuses its user, and any job in one that was closed after it came."""
    NODES, CPUS = 1, 2
    CONF = """PartitionName=open Nodes=ALL Default=YES
PartitionName=staff Nodes=ALL AllowGroups=sys PriorityTier=10
PartitionName=roots Nodes=ALL RootOnly=YES PriorityTier=20
"""

    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()

    def submit_as_user(self, *words):
        return int(self.out("sbatch", "--parsable", "-D", "/tmp", *QUIET, *words, user=NOBODY))

    def field(self, job, form):
        return self.said("squeue", "-h", "-j", job, "-o", form)

    def test_of_a_list_only_what_lets_him_in(self):
        for names in ("staff,open", "open,staff", "roots,staff,open"):
            held = self.submit_as_user("-H", "-p", names, "--wrap", "true")
            self.assertEqual(sorted(self.show(held)["Partition"].split(",")), sorted(names.split(",")), "they stay in its list")
            self.run_cmd("scontrol", "release", held)
            self.assertEqual(self.wait_ended(held), "COMPLETED")
            self.assertEqual(self.show(held)["Partition"], "open")
        self.assertEqual(self.said("srun", "-D", "/tmp", "-p", "staff,open", "printenv", "SLURM_JOB_PARTITION", user=NOBODY), "open")
        self.assertEqual(self.said("salloc", "-D", "/tmp", "-Q", "-p", "roots,open", "printenv", "SLURM_JOB_PARTITION", user=NOBODY), "open")
        self.fails(1, "sbatch: error: Batch job submission failed: User's group not permitted to use this partition\n",
                   "sbatch", "-p", "staff", "--wrap", "true", user=NOBODY)

    def test_a_partition_that_is_closed_later(self):
        for close, opened in (("AllowGroups=sys", "AllowGroups=ALL"), ("RootOnly=YES", "RootOnly=NO")):
            job = self.submit_as_user("-H", "-p", "open", "--wrap", "true")
            self.run_cmd("scontrol", "update", "PartitionName=open", close)
            self.run_cmd("scontrol", "release", job)
            wait_for(lambda: self.field(job, "%r") == "PartitionConfig", close)  # pylint: disable=cell-var-from-loop
            self.run_cmd("scontrol", "update", "PartitionName=open", opened)
            self.assertEqual(self.wait_ended(job), "COMPLETED")


class Demands(Case):
    NODES, CPUS = 2, 2

    def test_a_deadline_that_cannot_be_kept(self):
        """It was taken, and ended as DEADLINE."""
        why = "Requested time limit is invalid (missing or exceeds some limit)"
        words = ("--deadline", "now+1hour", "-t120")
        self.fails(1, f"sbatch: error: Batch job submission failed: {why}\n", "sbatch", *words, "--wrap", "true")
        self.fails(1, f"srun: error: Unable to allocate resources: {why}\n", "srun", *words, "true")
        self.fails(1, f"salloc: error: Job submit/allocate failed: {why}\n", "salloc", *words, "true")
        job = self.submit("--deadline", "now+1hour", "-t", "UNLIMITED", *QUIET, "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        self.assertRegex(self.said("squeue", "-h", "-j", job, "-o", "%l"), "^(59:00|1:00:00)$")
        self.run_cmd("scancel", job)

    def test_a_million_nodes(self):
        """It waited for ever."""
        why = "More processors requested than permitted"
        self.fails(1, f"sbatch: error: Batch job submission failed: {why}\n", "sbatch", "-N1000000k", "--wrap", "true")
        self.fails(1, f"srun: error: Unable to allocate resources: {why}\n", "srun", "-N1000000k", "true")
        self.fails(1, f"salloc: error: Job submit/allocate failed: {why}\n", "salloc", "-N1000000k", "true")

    def test_priorities_count_down(self):
        """Without a word on priorities all had the same, and --nice said nothing."""
        first = self.submit("-H", *QUIET, "--wrap", "true")
        shown = self.out("scontrol", "show", "config")
        self.assertRegex(shown, r"PriorityType +=  ?priority/basic")
        self.assertNotIn("PriorityWeightAge", shown)
        blocker = self.submit("-N2", "--exclusive", *QUIET, "--wrap", "sleep 100")
        self.wait_state(blocker, "RUNNING")
        self.assertEqual(self.said("squeue", "-h", "-j", blocker, "-o", "%Q"), str(4294901760 - blocker))
        nice = self.submit("--nice=1000", *QUIET, "--wrap", "sleep 100")
        plain = self.submit(*QUIET, "--wrap", "sleep 100")
        self.run_cmd("scontrol", "release", first)
        wait_for(lambda: self.said("squeue", "-h", "-t", "PD", "-S-Q", "-o", "%i %Q").splitlines() ==
                 [f"{first} {4294901760 - first}", f"{plain} {4294901760 - plain}", f"{nice} {4294901760 - nice - 1000}"], "the order")
        self.run_cmd("scancel", blocker)
        self.wait_state(nice, "RUNNING")
        self.assertEqual(self.said("squeue", "-h", "-j", nice, "-o", "%Q"), str(4294901760 - nice - 1000), "it keeps it while it runs")
        self.run_cmd("scancel", plain, nice)

    def test_switches_that_are_waited_for(self):
        job = self.submit("-H", "--switches=1@60", *QUIET, "--wrap", "true")
        self.assertIn("Switches=1@00:05:00", self.out("scontrol", "show", "job", job))
        self.assertIn('"maximum_switch_wait_time": 300', self.said("squeue", "-j", job, "--json"))
        self.run_cmd("scancel", job)

    def test_cleared_features(self):
        self.run_cmd("scontrol", "update", "NodeName=n1", "AvailableFeatures=a,b", "ActiveFeatures=a")
        self.run_cmd("scontrol", "update", "NodeName=n1", "ActiveFeatures=")
        self.assertIn("ActiveFeatures=(null)", self.out("scontrol", "show", "node", "n1"))
        self.run_cmd("scontrol", "update", "NodeName=n1", "AvailableFeatures=")
        self.assertIn("AvailableFeatures=(null)\n   ActiveFeatures=(null)", self.out("scontrol", "show", "node", "n1"))

    def test_no_kill(self):
        job = self.submit("-N2", "--no-kill", *QUIET, "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        host = self.said("squeue", "-h", "-j", job, "-o", "%B")
        other = "n1" if host == "n2" else "n2"
        self.run_cmd("scontrol", "update", f"NodeName={other}", "State=DOWN", "Reason=test")
        wait_for(lambda: self.said("squeue", "-h", "-j", job, "-o", "%N") == host, "the node is not the job's any more")
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.run_cmd("scontrol", "update", f"NodeName={other}", "State=RESUME")
        self.wait_no_jobs()


class Coalesced(Case):
    """A pass over all that wait was made for each job that was submitted."""
    NODES, CPUS = 1, 2
    CONF = "SchedulerParameters=defer\n"

    def test_passes_are_fewer_than_jobs(self):
        def passes():
            return int(self.out("sdiag").split("Total cycles:")[1].split()[0])
        blocker = self.submit("--exclusive", *QUIET, "--wrap", "sleep 1000")
        self.wait_state(blocker, "RUNNING")
        before = passes()
        jobs = [self.submit(*QUIET, "--wrap", "true") for _ in range(40)]
        wait_for(lambda: self.said("squeue", "-h", "-t", "PD", "-o", "%r").split().count("None") == 0, "all have been looked at")
        most = len(jobs) / 2 if not UNDER_ASAN else len(jobs)  # they come slowly then
        self.assertLess(passes() - before, most)
        self.run_cmd("scancel", "-u", "root")


if __name__ == "__main__":
    unittest.main()
