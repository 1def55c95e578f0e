"""Tasks of an srun in a batch script that save their work when their job ends."""
import os
import signal
import unittest

from harness import ClusterCase, wait_for

# Three seconds are longer than what is left of a script had to end by itself.
SAVES = """#!/bin/bash
trap 'echo app got TERM; sleep 3; echo app saved; exit 0' TERM
echo app start; while true; do sleep 0.1; done
"""


class KillWait(ClusterCase):
    """The srun in the script got the job's TERM, too, and had its tasks killed at once."""
    NODES, CPUS, CONF = 2, 4, "KillWait=20\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.app = os.path.join(cls.cluster.work, "saves.sh")
        with open(cls.app, "w", encoding="ascii") as f:
            f.write(SAVES)
        os.chmod(cls.app, 0o755)

    def start(self, name, script, *options, tasks=1):
        job = self.submit("-o", name, *options, "--wrap", script)
        wait_for(lambda: self.file(name).count("app start") == tasks, f"{name} begins")
        return job

    def saved(self, name, tasks=1, srun=True):
        said = wait_for(lambda: (text := self.file(name)).count("app saved") == tasks and text, f"{name} is saved")
        self.assertEqual(said.count("app got TERM"), tasks, said)
        for line in ("srun: forcing job termination\n", "srun: Job step aborted: Waiting up to 22 seconds for job step to finish.\n"):
            self.assertEqual(said.count(line), int(srun), said)
        self.assertNotIn("Killed", said)

    def test_cancelled(self):
        scripts = {"plain": ("srun ./saves.sh",), "exec": ("exec srun ./saves.sh",), "setsid": ("setsid srun ./saves.sh",),
                   "two": ("srun ./saves.sh", "-N2", "-n2"), "full": ("srun ./saves.sh",),
                   "waits": ("trap 'echo script got TERM' TERM; srun ./saves.sh & wait; wait; echo status $?",)}
        tasks = {"two": 2}
        jobs = {name: self.start(name, *how, "--mem=10", tasks=tasks.get(name, 1)) for name, how in scripts.items()}
        full = jobs.pop("full")
        self.run_cmd("scancel", *jobs.values())
        self.run_cmd("scancel", "--full", full)
        for name, job in {**jobs, "full": full}.items():
            self.saved(name, tasks.get(name, 1))
            self.assertEqual(self.wait_ended(job), "CANCELLED")
        shown = {name: self.show(job)["ExitCode"] for name, job in jobs.items()}
        self.assertEqual(shown, {"plain": "0:15", "exec": "0:0", "setsid": "0:15", "two": "0:15", "waits": "0:0"})
        self.assertIn("script got TERM\n", self.file("waits"))
        self.assertIn("status 0\n", self.file("waits"))

    def test_without_srun(self):
        """Two seconds after its script had ended, what it had started was killed."""
        job = self.start("bare", "./saves.sh & wait")
        self.run_cmd("scancel", job)
        self.saved("bare", srun=False)

    def test_requeued(self):
        job = self.start("again", "srun ./saves.sh", "--requeue")
        self.run_cmd("scontrol", "requeue", job)
        self.saved("again")
        self.run_cmd("scancel", job)

    def test_time_limit(self):
        job = self.start("late", "srun ./saves.sh", "-t", "1")
        self.run_cmd("scontrol", "update", f"JobId={job}", "EndTime=now")
        self.saved("late")
        self.assertEqual(self.wait_ended(job), "TIMEOUT")

    def test_srun_is_killed_meanwhile(self):
        job = self.submit("-o", "lost", "--wrap", 'srun sh -c "exec ./saves.sh > lost.app" & echo $! > lost.pid; wait')
        wait_for(lambda: "app start" in self.file("lost.app"), "it begins")
        self.run_cmd("scancel", job)
        wait_for(lambda: "srun: forcing job termination\n" in self.file("lost"), "its srun has TERM")
        os.kill(int(self.file("lost.pid")), signal.SIGKILL)
        wait_for(lambda: "app saved" in self.file("lost.app"), "it is saved")

    def test_its_script_kills_srun(self):
        """The step, which is told of the end after the script, was killed at once."""
        job = self.submit("-o", "killer", "--wrap",
                          'srun sh -c "exec ./saves.sh > killer.app" & trap "kill -KILL $!" TERM; wait; wait; sleep 10')
        wait_for(lambda: "app start" in self.file("killer.app"), "it begins")
        self.run_cmd("scancel", job)
        wait_for(lambda: "app saved" in self.file("killer.app"), "it is saved")

    def test_nobody_ends_a_step_of_a_job_that_ends(self):
        """As in Slurm: but who sends a signal means it."""
        job = self.start("twice", "srun ./saves.sh")
        self.run_cmd("scancel", job)
        wait_for(lambda: "app got TERM" in self.file("twice"), "it has TERM")
        self.fails(1, f"scancel: error: Kill job error on job step id {job}.0: Invalid job id specified\n", "scancel", f"{job}.0")
        self.run_cmd("scancel", job)
        self.saved("twice")

    def test_what_was_killed_is_killed(self):
        """A step that is cancelled alone, or by its srun, has no time to end."""
        job = self.start("alone", "srun ./saves.sh; echo status $?")
        self.run_cmd("scancel", f"{job}.0")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        job = self.start("bysrun", "srun ./saves.sh & echo $! > srun.pid; wait $!; echo status $?")
        os.kill(int(self.file("srun.pid")), signal.SIGTERM)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        for name in ("alone", "bysrun"):
            self.assertIn("srun: error: n1: task 0: Killed\nstatus 137\n", self.file(name))
            self.assertNotIn("app saved", self.file(name))


if __name__ == "__main__":
    unittest.main()
