"""The extern step of each job (PrologFlags=Contain): there from the start to the end, shown, and in nobody's way."""
import unittest

from harness import ClusterCase, processes, wait_for


class Extern(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = "PrologFlags=Contain\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root", check=False)
        self.wait_no_jobs()
        wait_for(lambda: not self.daemons(), "their extern steps are gone")

    def daemons(self, job=None):
        """The step daemons of extern steps: one a node of the job."""
        spool = f"{self.cluster.dir}/spool/".encode()
        return [pid for pid, _, words in processes("cmdline") if len(words) > 1 and words[1].startswith(spool)
                and words[0].endswith(f"[{job}.extern]".encode() if job else b".extern]")]

    def start_job(self, *options, script="sleep 1000"):
        job = self.submit("-o", "/dev/null", *options, "--wrap", script)
        wait_for(lambda: self.state(job) == "RUNNING" and self.daemons(job), "the job runs")
        return job

    def steps(self, job):
        return sorted(self.out("squeue", "-s", "-h", "-j", job, "-o", "%i %j %N").splitlines())

    def test_it_is_shown(self):
        job = self.start_job("-N2")
        self.assertEqual(self.steps(job), [f"{job}.batch batch n1", f"{job}.extern extern n[1-2]"])
        wait_for(lambda: len(self.daemons(job)) == 2, "it is on both nodes")
        text = self.out("scontrol", "show", "step", f"{job}.extern")
        self.assertTrue(text.startswith(f"StepId={job}.extern UserId=0 "), text)
        self.assertIn("State=RUNNING Partition=debug NodeList=n[1-2]\n   Nodes=2 CPUs=0 Tasks=2 Name=extern ", text)
        self.assertEqual(self.out("sstat", "-n", "-P", "-o", "JobID,NTasks,Nodelist", "-j", f"{job}.extern"), f"{job}.extern|2|n[1-2]\n")
        listed = self.out("sstat", "-a", "-n", "-P", "-o", "JobID", "-j", job).split()
        self.assertEqual(sorted(listed), [f"{job}.batch", f"{job}.extern"])
        self.assertEqual(self.run_cmd("scontrol", "listpids", f"{job}.extern", check=False).stdout.count(f" {job} "), 0)

    def test_nothing_waits_for_it(self):
        job = self.submit("-N2", "-n4", "-o", "steps.out", "--wrap", "srun -n4 true; squeue -s -h -j $SLURM_JOB_ID -o %i; srun sh -c 'exit 3'")
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertIn(f"{job}.extern\n", self.file("steps.out"))
        self.assertIn("DerivedExitCode=3:0\n", self.out("scontrol", "-d", "show", "job", job))
        self.assertEqual(self.run_cmd("srun", "-N2", "true").returncode, 0)
        self.assertIn(".extern\n", self.out("salloc", "-Q", "sh", "-c", "squeue -s -h -j $SLURM_JOB_ID -o %i"))

    def test_an_array(self):
        array = self.submit("-a", "1-20", "-o", "/dev/null", "--wrap", "true")
        self.wait_no_jobs()
        states = self.out("squeue", "-h", "-t", "all", "-j", array, "-r", "-o", "%T").split()
        self.assertEqual(states, ["COMPLETED"] * 20)

    def test_signals(self):
        job = self.start_job(script="trap 'echo got >> got' USR1; echo > ready; while :; do sleep 0.05; done")
        wait_for(lambda: self.file("ready"), "its trap is set")
        self.run_cmd("scancel", "-s", "USR1", "--full", job)
        wait_for(lambda: self.file("got"), "the script got it")
        self.assertEqual(len(self.daemons(job)), 1)
        self.run_cmd("scontrol", "suspend", job)
        self.run_cmd("scontrol", "resume", job)
        self.assertEqual(self.state(job), "RUNNING")

    def test_it_outlives_daemons(self):
        job = self.start_job()
        self.cluster.kill_node("n1")
        self.cluster.kill_controller()
        self.assertEqual(len(self.daemons(job)), 1)
        self.cluster.start_controller()
        self.cluster.start_node("n1")
        wait_for(lambda: self.out("sstat", "-n", "-P", "-o", "JobID", "-j", f"{job}.extern", check=False) == f"{job}.extern\n",
                 "its agent answers for it")
        self.assertEqual(len(self.daemons(job)), 1)
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_each_run_has_one(self):
        job = self.start_job("-w", "n2")
        self.run_cmd("scontrol", "requeue", job)
        wait_for(lambda: self.show(job)["Restarts"] == "1" and self.state(job) == "RUNNING", "the second run")
        self.assertEqual(self.steps(job), [f"{job}.batch batch n2", f"{job}.extern extern n2"])
        wait_for(lambda: len(self.daemons(job)) == 1, "it has one")

    def test_a_job_that_shrinks(self):
        job = self.start_job("-N2")
        wait_for(lambda: len(self.daemons(job)) == 2, "it is on both nodes")
        self.run_cmd("scontrol", "update", f"JobId={job}", "NumNodes=1")
        wait_for(lambda: len(self.daemons(job)) == 1, "it left the other node")
        self.assertEqual(self.state(job), "RUNNING")


class X11Flag(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "PrologFlags=X11\n"

    def test_it_implies_contain(self):
        self.assertIn(".extern\n", self.out("salloc", "-Q", "sh", "-c", "squeue -s -h -j $SLURM_JOB_ID -o %i"))
        self.wait_no_jobs()


if __name__ == "__main__":
    unittest.main(verbosity=2)
