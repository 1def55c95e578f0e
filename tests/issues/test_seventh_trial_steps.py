"""What users found of steps beside Slurm: signals of scripts and tasks, exit statuses, lost nodes, variables."""
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, wait_for  # pylint: disable=wrong-import-position


class Signals(ClusterCase):
    NODES, CPUS = 2, 4

    def scripts(self, text):
        files = [os.path.join(self.cluster.work, f"{self.id()}.{i}") for i in range(8)]
        jobs = [self.submit("-o", file, "--wrap", text) for file in files]
        for job in jobs:
            self.wait_state(job, "RUNNING")
        wait_for(lambda: all(os.path.exists(file) and "begun" in open(file, encoding="utf-8").read() for file in files),
                 "all tasks have begun")
        return jobs, files

    def all_say(self, files, word):
        for file in files:
            with open(file, encoding="utf-8") as f:
                self.assertIn(word, f.read())

    def test_a_signal_reaches_the_script_before_its_tasks(self):
        """The trap of a script in four was lost: its task, srun and the script were over before."""
        jobs, files = self.scripts("trap 'echo trapped' USR1; srun bash -c 'echo begun; sleep 30'; echo rc $?")
        for job in jobs:
            self.run_cmd("scancel", "-f", "-s", "USR1", job)
        for job in jobs:
            self.wait_state(job, "COMPLETED")
        self.all_say(files, "\ntrapped\n")

    def test_a_cancelled_script_runs_its_trap(self):
        """So was that of TERM."""
        jobs, files = self.scripts("trap 'echo trapped' TERM; srun bash -c \"trap 'exit 4' TERM; echo begun; sleep 30 & wait\"")
        self.run_cmd("scancel", *jobs)
        for job in jobs:
            self.wait_state(job, "CANCELLED")
        self.all_say(files, "\ntrapped\n")

    def interrupted(self, task):
        """How srun ends with two Ctrl-C."""
        with subprocess.Popen(["srun", "-n2", "bash", "-c", task], env=self.cluster.env(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as srun:
            for _ in range(2):
                self.assertEqual(srun.stdout.readline(), "begun\n")
            for _ in range(2):
                srun.send_signal(signal.SIGINT)
                time.sleep(0.3)
            return srun.wait(20)

    def test_two_interrupts_end_srun_as_its_tasks_end(self):
        """The exit status was 130 whatever the tasks made of them."""
        for trap, code in (("trap 'exit 9' INT;", 9), ("trap 'exit 0' INT;", 0), ("", 130)):
            self.assertEqual(self.interrupted(f"{trap} echo begun; sleep 20 & wait"), code, trap)


if __name__ == "__main__":
    unittest.main()
