"""What users found of steps beside Slurm: signals of scripts and tasks, exit statuses, lost nodes, variables."""
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, need_root, wait_for  # pylint: disable=wrong-import-position


class Signals(ClusterCase):
    NODES, CPUS = 2, 4

    def scripts(self, text):
        files = [os.path.join(self.cluster.work, f"{self.id()}.{i}") for i in range(8)]
        jobs = [self.submit("-o", file, "--wrap", text) for file in files]
        for job in jobs:
            self.wait_state(job, "RUNNING")
        wait_for(lambda: all("begun" in self.text(file) for file in files), "all tasks have begun")
        return jobs, files

    def text(self, file):
        if not os.path.exists(file):
            return ""
        with open(file, encoding="utf-8") as f:
            return f.read()

    def all_say(self, files, word):
        for file in files:
            wait_for(lambda: word in self.text(file), f"{word} in {file}")

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
        with self.cluster.start("srun", "-n2", "bash", "-c", task, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as srun:
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


class Nodes(ClusterCase):
    NODES, CPUS = 2, 4

    def put_down(self, command):
        """What a command prints when n2, on which it runs, is set down."""
        mark = os.path.join(self.cluster.work, f"{self.id()}.began")
        with self.cluster.start(*[word.replace("MARK", mark) for word in command], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE) as program:
            wait_for(lambda: os.path.exists(mark), "it runs")
            try:
                self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=broken")
                return program.communicate(timeout=30)[1]
            finally:
                os.remove(mark)
                self.wait_no_jobs()
                self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME", check=False)  # its registration may have done it

    def test_srun_tells_of_a_node_that_is_set_down(self):
        """It ended without a word of the node."""
        for options in (), ("--no-kill",):
            text = self.put_down(["srun", "-N2", *options, "bash", "-c", "sleep 1; touch MARK; sleep 3"])
            self.assertEqual(text.count("srun: error: Node failure on n2\n"), 1, text)

    def test_salloc_tells_of_a_node_that_is_set_down(self):
        """So did salloc."""
        for options in (), ("--no-kill",):
            text = self.put_down(["salloc", "-N2", *options, "bash", "-c", "touch MARK; sleep 3"])
            self.assertEqual(text.count("salloc: error: Node failure on n2\n"), 1, text)

    def test_a_step_elsewhere_does_not_tell_of_it(self):
        """What the job loses is salloc's to say."""
        text = self.put_down(["salloc", "-N2", "-k", "srun", "-N1", "-wn1", "bash", "-c", "touch MARK; sleep 3"])
        self.assertIn("salloc: error: Node failure on n2\n", text)
        self.assertNotIn("srun: error: Node failure", text)


class Small(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PartitionName=debug Nodes=ALL Default=YES\nPartitionName=lim Nodes=ALL MaxMemPerCPU=500\n"

    def test_errors_follow_the_output_of_one_task(self):
        """They went to srun's standard error."""
        script = "echo err >&2; echo out"
        done = self.run_cmd("srun", "-n2", "-o", "0", "bash", "-c", script)
        self.assertEqual((sorted(done.stdout.split()), done.stderr), (["err", "out"], ""))
        done = self.run_cmd("srun", "-n2", "-o", "0", "-e", "1", "bash", "-c", script)
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_cpus_of_a_script_in_a_partition_with_little_memory(self):
        """SLURM_CPUS_PER_TASK and SLURM_TASKS_PER_NODE were of what was asked for."""
        file = os.path.join(self.cluster.work, "lim.out")
        names = ("CPUS_PER_TASK", "TASKS_PER_NODE", "MEM_PER_CPU")
        text = "; ".join(f"echo ${{SLURM_{name}-none}}" for name in names)
        for options, values in (("-c2",), ["4", "1", "350"]), (("-n2", "-c1"), ["2", "2", "350"]), (("-n2",), ["none", "2", "350"]):
            self.run_cmd("sbatch", "-W", "-p", "lim", *options, "--mem-per-cpu=700", "-o", file, "--wrap", text)
            with open(file, encoding="utf-8") as f:
                self.assertEqual(f.read().split(), values, options)

    def test_an_unmatched_quote_names_the_file_alone(self):
        """It named its folder, too."""
        script = os.path.join(self.cluster.work, "unterm.sh")
        with open(script, "w", encoding="utf-8") as f:
            f.write('#!/bin/bash\n#\n#SBATCH --comment="abc\ntrue\n')
        self.fails(1, 'sbatch: fatal: unterm.sh: line 3: Unmatched `"` in [--comment="abc]\n', "sbatch", script)

    def test_a_word_is_no_level(self):
        """SLURM_DEBUG=foo had srun say what it does."""
        self.assertEqual(self.run_cmd("srun", "true", env={"SLURM_DEBUG": "foo"}).stderr, "")
        self.assertEqual(self.run_cmd("sbatch", "-o", "/dev/null", "--wrap", "true", env={"SBATCH_DEBUG": "foo"}).stderr, "")
        self.assertNotEqual(self.run_cmd("srun", "true", env={"SLURM_DEBUG": "1"}).stderr, "")

    def test_a_job_that_reboots_has_the_whole_node(self):
        """Where no RebootProgram is configured, it shared the node."""
        need_root()
        job = self.submit("--reboot", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%C").strip(), "4")
        self.run_cmd("scancel", job)


if __name__ == "__main__":
    unittest.main()
