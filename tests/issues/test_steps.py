"""Bugs in how steps run and end."""
import os
import signal
import subprocess
import unittest

from harness import ClusterCase, processes, wait_for


class LaterRun(ClusterCase):
    NODES, CPUS, CONF = 2, 2, "SlurmdTimeout=4\n"

    def node(self):
        return self.out("sinfo", "-h", "-n", "n2", "-o", "%T").strip()

    def test_it_waits_for_the_end_of_the_run_before(self):
        """A job that was requeued while its node was silent began there while its first run was still being taken down,
        and lost its script with that run's folder."""
        job = self.submit("-w", "n2", "-o", "runs.out", "--open-mode=append", "--wrap",
                          "echo ${SLURM_RESTART_COUNT:-0}; sleep 1000")
        wait_for(lambda: self.file("runs.out").split() == ["0"], "the first run runs")
        agent = self.cluster.node_pid("n2")
        (first,) = [pid for pid, exe, words in processes("environ")
                    if exe.endswith("stepd") and b"SLURM_CONF=" + self.cluster.conf.encode() in words]
        for pid in (agent, first):
            os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: self.node() == "down*", "n2 is down")
        os.kill(agent, signal.SIGCONT)
        self.wait_state(job, "RUNNING")
        self.wait_ended(self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true"))  # launched after it
        self.assertEqual(self.file("runs.out").split(), ["0"], "the second run has to wait")
        os.kill(first, signal.SIGCONT)
        wait_for(lambda: self.file("runs.out").split() == ["0", "1"], "the second run runs")
        self.run_cmd("scancel", job)
        self.wait_ended(job)


class EarlyOrder(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "Prolog={dir}/prolog\n"
    FILES = {"prolog": "#!/bin/sh\necho > {dir}/work/begun\nwhile [ ! -e {dir}/work/go ]; do sleep 0.05; done\n"}

    def test_a_step_that_is_cancelled_before_its_launch_ends(self):
        """The node did not know the step yet, so that nothing was told when it came: it ran on, and could not be cancelled again."""
        srun = self.cluster.start("srun", "sleep", "1000", stderr=subprocess.PIPE)
        self.addCleanup(srun.kill)
        wait_for(lambda: self.file("begun"), "the launch waits for the prolog")
        step = wait_for(lambda: self.out("squeue", "-s", "-h", "-o", "%i").strip(), "the step is there")
        self.run_cmd("scancel", step)
        with open(os.path.join(self.cluster.work, "go"), "w", encoding="ascii"):
            pass
        srun.communicate(timeout=60)
        self.assertNotEqual(srun.returncode, 0)
        self.wait_no_jobs()


class OwnJob(ClusterCase):
    NODES, CPUS, CONF = 2, 4, "InactiveLimit=3600\n"  # so long is a client waited for whose connection broke

    def test_a_job_ends_with_its_srun(self):
        """srun killed with -9: its step ended, and the job was there until its client was given up."""
        srun = self.cluster.start("srun", "-N2", "sh", "-c", "trap '' TERM HUP; echo here $SLURM_JOB_ID; sleep 1000",
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = {srun.stdout.readline() for _ in range(2)}
        (job,) = {line.split()[1] for line in said}
        self.assertIn(" Dist=Block\n", self.out("scontrol", "show", "step", f"{job}.0"))
        srun.kill()
        srun.communicate()
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_no_jobs()

    def test_a_job_of_salloc_does_not_end_with_an_srun(self):
        salloc = self.cluster.start("salloc", "-Q", "-N2", "sh", "-c", "srun sh -c 'echo here; sleep 1000' & srun=$!; read line; "
                                    "scontrol show step $SLURM_JOB_ID.0; kill -9 $srun; wait $srun; srun --overlap echo still; exit 3",
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(salloc.kill)
        self.assertEqual([salloc.stdout.readline() for _ in range(2)], 2 * ["here\n"])
        out, _ = salloc.communicate("go\n", timeout=60)
        self.assertIn(" Dist=Cyclic\n", out)
        self.assertEqual((out.count("still\n"), salloc.returncode), (2, 3))


class InAJob(ClusterCase):
    NODES, CPUS = 2, 4

    def test_a_step_ends_with_its_srun(self):
        """srun killed with -9: its step went on, and held what the job's other steps waited for."""
        job = self.submit("-N2", "-n2", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        srun = self.cluster.start("srun", f"--jobid={job}", "-N2", "sh", "-c", "trap '' TERM HUP; echo here; sleep 1000",
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual([srun.stdout.readline() for _ in range(2)], 2 * ["here\n"])
        srun.kill()
        srun.communicate()
        wait_for(lambda: f"{job}.0" not in self.out("squeue", "-s", "-h", "-j", job, "-o", "%i").split(), "its step is over")
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_cpus_of_a_task_in_a_job_with_others(self):
        """SLURM_TRES_PER_TASK of the job was taken for more than what srun itself was told."""
        for more, script in (((), "srun -n1 -c1"), (("-n2",), "srun -n4 -c1"), ((), "SRUN_CPUS_PER_TASK=1 srun -n1")):
            told = self.out("salloc", "-Q", "-N1", *more, "-c2", "sh", "-c", f"{script} printenv SLURM_CPUS_PER_TASK")
            self.assertEqual(set(told.split()), {"1"}, script)
        self.assertEqual(self.out("salloc", "-Q", "-n1", "-c2", "srun", "printenv", "SLURM_CPUS_PER_TASK"), "2\n")

    def test_tasks_of_a_host_file(self):
        """There were as many as the job has nodes."""
        with open(os.path.join(self.cluster.work, "hosts"), "w", encoding="ascii") as f:
            f.write("n2\nn1\nn2\n")
        told = self.out("salloc", "-Q", "-N2", "sh", "-c", "SLURM_HOSTFILE=hosts srun -O -l -m arbitrary printenv SLURMD_NODENAME")
        self.assertEqual(sorted(told.splitlines()), ["0: n2", "1: n1", "2: n2"])


class Impatient(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "KillWait=1\n"

    def test_who_goes_on_pressing(self):
        """Every further Ctrl-C put off the end of a step, and then what lets srun give up: it waited for ever."""
        srun = self.cluster.start("srun", "sh", "-c", "echo here; exec sleep 1000", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(srun.kill)
        self.assertEqual(srun.stdout.readline(), "here\n")
        daemons = [pid for pid, exe, words in processes("environ")
                   if exe.endswith("stepd") and b"SLURM_CONF=" + self.cluster.conf.encode() in words]
        for pid in daemons:
            os.kill(pid, signal.SIGSTOP)
        try:
            wait_for(lambda: srun.send_signal(signal.SIGINT) or srun.poll() is not None, "srun gives up")
        finally:
            for pid in daemons:
                os.kill(pid, signal.SIGCONT)
        self.assertIn("srun: error: Timed out waiting for job step to complete\n", srun.communicate(timeout=60)[1])
        self.assertNotEqual(srun.returncode, 0)
        self.wait_no_jobs()


class Steps(ClusterCase):
    def test_what_a_cancelled_script_started_may_end_by_itself(self):
        """The rest of a cancelled batch script was killed as soon as its shell was gone: an srun in it often could not
        tell what became of its step."""
        script = "\n".join(("#!/bin/bash", "(trap 'sleep 0.3; echo said goodbye; exit' TERM; echo ready",
                            "while :; do sleep 0.05; done) &", "exec sleep 300", ""))
        job = self.submit("-o", "goodbye.out", stdin=script)
        wait_for(lambda: self.file("goodbye.out"), "the background process runs")
        self.run_cmd("scancel", str(job))
        wait_for(lambda: "said goodbye" in self.file("goodbye.out"), "it ended by itself")
        self.wait_ended(job)

    def test_a_job_that_is_cancelled_as_it_starts_ends_by_term(self):
        """A TERM that met the task before its exec went to the step daemon instead, which killed the step at once."""
        steps = os.path.join(self.cluster.dir, "spool", "n1", "steps")
        for _ in range(25):
            job = self.submit("-o", "/dev/null", "--wrap", "sleep 300")
            # its key file: the node has begun to launch it
            wait_for(lambda job=job: any(name.startswith(f"{job}.") for name in os.listdir(steps)), "it is being launched")
            self.run_cmd("scancel", job)
            wait_for(lambda job=job: self.show(job)["JobState"] == "CANCELLED", "it is over")
            self.assertEqual(self.show(job)["ExitCode"], "0:15")

    def test_what_ignores_term_does_not_hold_the_job(self):
        job = self.submit("-o", "deaf.out", stdin="#!/bin/bash\n(trap '' TERM; echo $BASHPID; exec sleep 300) &\nexec sleep 300\n")
        pid = wait_for(lambda: self.file("deaf.out"), "the background process runs").strip()
        self.run_cmd("scancel", str(job))
        wait_for(lambda: not self.alive(pid), "it is killed long before KillWait is over")
        self.wait_ended(job)

    def test_sruns_of_a_script_see_its_oom_kill_step(self):
        """SLURM_OOM_KILL_STEP was set from the job and then to 0, which the sruns of the script took for a choice."""
        job = self.submit("--oom-kill-step=1", "-o", "oom.out", "--wrap", "srun printenv SLURM_OOM_KILL_STEP")
        self.wait_ended(job)
        self.assertEqual(self.file("oom.out"), "1\n")
        told = self.out("salloc", "-Q", "--oom-kill-step=1", "srun", "printenv", "SLURM_OOM_KILL_STEP")
        self.assertEqual(told, "1\n")

    def test_more_input_than_is_read(self):
        """The step daemon closed its connection before it had read all of the input: srun lost the end of the task, and
        told of a node failure."""
        for _ in range(5):
            done = self.run_cmd("srun", "head", "-n1", stdin="y\n" * 2_000_000, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "y\n", ""))

    def test_a_task_that_left_its_input(self):
        """Input stopped for all tasks when one of them ended with more of it waiting than is kept."""
        script = ("if [ $SLURM_PROCID = 0 ]; then until [ -e took ]; do sleep 0.05; done; exit 0; fi; "
                  "dd bs=1 count=1 of=took 2>/dev/null; wc -c")
        text = "y\n" * 2_000_000
        told = self.out("srun", "-n2", "-l", "sh", "-c", script, stdin=text)
        self.assertEqual(told, f"1: {len(text) - 1}\n")

    def test_too_many_variables_for_many_tasks(self):
        """Each task's list of them was made before the step daemon was charged to its job."""
        many = dict(os.environ, **self.cluster.env, **{f"V{number}": "" for number in range(9000)})
        done = self.run_cmd("srun", "-O", "-n512", "true", env=many, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"9\d{3} variables and arguments are too many for 512 tasks of a node \(at most 4194304 together\)")
        self.run_cmd("srun", "-n1", "true", env=many)

    def test_programs_in_this_folder(self):
        """A program was looked for on the path alone, and a script that was named from here found no whole path in $0."""
        folder = os.path.join(self.cluster.work, "programs")
        os.mkdir(folder)
        path = os.path.join(folder, "nowhere-else")
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho $0 $1\n")
        os.chmod(path, 0o755)
        self.assertEqual(self.out("srun", "nowhere-else", "1", cwd=folder), "nowhere-else 1\n")
        self.assertEqual(self.out("srun", "./nowhere-else", "2", cwd=folder), f"{folder}/./nowhere-else 2\n")
        self.assertEqual(self.out("srun", "programs/nowhere-else", "3"), "programs/nowhere-else 3\n")
        for name, number, why in (("", 2, "No such file or directory"), ("programs", 13, "Permission denied")):
            done = self.run_cmd("srun", name, check=False)
            self.assertEqual(done.returncode, number)
            self.assertIn(f"slurmstepd: error: execve(): {name}: {why}\n", done.stderr)

    @staticmethod
    def alive(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"sleep" in f.read()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
