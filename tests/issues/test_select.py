"""What commands act on, what they show of it, and what they do while the controller is away."""
import json
import os
import re
import subprocess
import time
import unittest

from harness import ClusterCase, wait_for


class Cancel(ClusterCase):
    """scancel with filters ended a whole array where only its waiting tasks passed them."""
    NODES, CPUS = 2, 4
    CONF = "PartitionName=debug Nodes=ALL Default=YES State=UP\nPartitionName=other Nodes=ALL State=UP\n"

    def half_started(self, *options):
        """An array of which task 1 and 2 run, 3 to 6 wait."""
        array = self.submit("-a", "1-6%2", "-o", "/dev/null", *options, "--wrap", "sleep 1000")
        self.wait_state(f"{array}_1", "RUNNING")
        self.wait_state(f"{array}_2", "RUNNING")
        return array

    def tasks(self, array, state):
        return self.out("squeue", "-h", "-r", "-t", state, "-j", array, "-o", "%K").split()

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()
        super().tearDown()

    def test_states_of_arrays(self):
        """Each filter beside -t PENDING and -t RUNNING."""
        marks = {"-n": "-J", "-p": "-p", "-A": "-A", "-q": "-q", "--wckey": "--wckey"}
        for option, mark in marks.items():
            value = "other"
            array = self.half_started(mark, value)
            bystander = self.submit("-H", "--wrap", "true")
            self.assertEqual(self.run_cmd("scancel", "-v", "-t", "PENDING", option, value).stderr,
                             f"scancel: Terminating job {array}_[3-6%2]\n")
            self.assertEqual((sorted(self.tasks(array, "R")), self.tasks(array, "PD")), (["1", "2"], []), option)
            self.run_cmd("scancel", "-t", "RUNNING", option, value)
            wait_for(lambda: not self.tasks(array, "R,CG"), "its tasks are over")  # pylint: disable=cell-var-from-loop
            self.assertEqual(self.state(bystander), "PENDING", option)
            self.run_cmd("scancel", bystander)
        for options in (("-u", "root", "-t", "PENDING"), ("-t", "PD", "--me")):
            array = self.half_started()
            self.run_cmd("scancel", *options)
            self.assertEqual((sorted(self.tasks(array, "R")), self.tasks(array, "PD")), (["1", "2"], []), options)
            self.run_cmd("scancel", array)

    def test_named_tasks(self):
        array = self.half_started()
        self.run_cmd("scancel", "-t", "PENDING", f"{array}_[1-4]")
        self.assertEqual((sorted(self.tasks(array, "R")), self.tasks(array, "PD")), (["1", "2"], ["5", "6"]))
        self.run_cmd("scancel", "-t", "RUNNING", f"{array}_[2-5]")
        self.wait_state(f"{array}_2", "CANCELLED")
        self.assertEqual(self.state(f"{array}_1"), "RUNNING")
        self.run_cmd("scancel", "-w", "n1,n2", "-n", "wrap", f"{array}_1")
        self.wait_state(f"{array}_1", "CANCELLED")

    def test_the_question_names_what_is_cancelled(self):
        array = self.half_started("-J", "asked")
        asked = lambda *targets: [f"Cancel job_id={target} name=asked partition=debug [y/n]? " for target in targets]
        done = self.run_cmd("scancel", "-i", "-t", "PENDING", "--me", stdin="n\n")
        self.assertEqual(done.stdout, "".join(asked(f"{array}_[3-6%2]")))
        done = self.run_cmd("scancel", "-i", f"{array}_[1,3-4]", stdin="n\ny\n")
        self.assertEqual(sorted(done.stdout.replace("? ", "? \n").splitlines()), sorted(asked(f"{array}_[3-4%2]", f"{array}_1")))
        done = self.run_cmd("scancel", "-i", "-t", "PENDING", array, stdin="y\n")
        self.assertIn("[", done.stdout)
        self.assertEqual(self.tasks(array, "PD"), [])
        self.assertIn("2", self.tasks(array, "R"))

    def test_batch_and_full(self):
        """Both together signalled the script alone."""
        trap = "trap 'echo script >> said' USR1; srun sh -c \"trap 'echo step >> said' USR1; touch up; while [ ! -e go ]; do sleep 0.05; done\" & " \
               "while [ ! -e go ]; do sleep 0.05; done; wait"
        job = self.submit("-o", "/dev/null", "--wrap", trap)
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/up"), "the step runs")
        self.run_cmd("scancel", "--batch", "--full", "-s", "USR1", job)
        # the step twice where its srun, which is of the script, passes the signal on in time
        wait_for(lambda: set(self.file("said").split()) == {"script", "step"}, "both got it")
        open(f"{self.cluster.work}/go", "w", encoding="utf-8").close()
        self.wait_ended(job)


class Away(ClusterCase):
    """Queries gave up at once while the controller restarted: a loop on squeue took its job for finished."""
    NODES, CPUS = 1, 4
    CONF = "MessageTimeout=60\n"

    def test_queries_wait_for_the_controller(self):
        job = self.submit("-H", "-J", "kept", "--wrap", "true")
        gone = self.submit("-H", "-J", "gone", "--wrap", "true")
        lists = [("squeue", "-h", "-j", job, "-o", "%j"), ("scontrol", "show", "job", job), ("sinfo", "-h", "-o", "%P"),
                 ("scontrol", "show", "nodes"), ("sdiag",), ("scontrol", "show", "config"), ("squeue", "--json")]
        changes = [("scancel", "-n", "gone"), ("scancel", gone), ("scontrol", "update", f"JobId={job}", "Comment=changed")]
        self.cluster.kill_controller()
        running = [self.cluster.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for command in lists + changes]
        done = self.run_cmd("scontrol", "ping", check=False)  # which asks whether it is there
        self.assertEqual((done.returncode, done.stdout.split("\n", 1)[0].endswith("is DOWN")), (1, True))
        self.fails(1, "slurm_shutdown error: Unable to contact slurm controller (connect failure)\n", "scontrol", "shutdown")
        self.assertEqual([process.poll() for process in running], [None] * len(running))
        self.cluster.start_controller()
        for command, process in zip(lists + changes, running):
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, ""), command)
            self.assertTrue(out or command in changes, command)
        self.assertEqual((self.state(gone), self.show(job)["Comment"]), ("CANCELLED", "changed"))

    def test_it_gives_up_in_the_end(self):
        conf = os.path.join(self.cluster.dir, "short.conf")
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = re.sub(r"(?m)^SlurmctldPort=\d+$", "SlurmctldPort=9", f.read()).replace("MessageTimeout=60", "MessageTimeout=3")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text)
        error = "Unable to contact slurm controller (connect failure)\n"
        for status, said, command in ((1, f"slurm_load_jobs error: {error}", ("squeue",)),
                                      (8, f"scancel: error: Kill job error on job id 5: {error}", ("scancel", "5")),
                                      (1, f"slurm_load_jobs error: {error}", ("scancel", "-u", "root"))):
            began = time.monotonic()
            self.fails(status, said, *command, env={"SLURM_CONF": conf})
            self.assertGreaterEqual(time.monotonic() - began, 2, command)  # as Slurm: a second less than MessageTimeout


class Shown(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = ("MailDomain=example.org\n"
            "PartitionName=debug Nodes=ALL Default=YES State=UP\nPartitionName=high Nodes=ALL State=UP PriorityTier=10\n")

    def test_partitions_by_tier(self):
        """Of a waiting job the partition of the highest tier is tried first, and was shown last."""
        job = self.submit("-H", "-p", "debug,high", "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%P").strip(), "high,debug")
        self.assertEqual(self.show(job)["Partition"], "high,debug")
        self.assertEqual(json.loads(self.out("squeue", "--json", "-j", job))["jobs"][0]["partition"], "high,debug")

    def test_mail_domain(self):
        """MailDomain was in the mail and not in what is shown of the job."""
        for options, user in (((), "root@example.org"), (("--mail-user=ann",), "ann")):
            job = self.submit("-H", "--mail-type=END", *options, "--wrap", "true")
            self.assertEqual(self.show(job)["MailUser"], user)

    def test_states_with_marks(self):
        """sinfo shows idle~ and did not take it."""
        self.assertEqual(self.out("sinfo", "-h", "-t", "idle", "-p", "debug", "-o", "%N").strip(), "n[1-2]")
        for state in ("idle~", "idle!", "alloc+", "idle*", "idle+cloud", "mix-"):
            self.assertEqual(self.out("sinfo", "-h", "-t", state, "-p", "debug", "-o", "%N").strip(), "", state)
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
        self.assertEqual(self.out("sinfo", "-h", "-t", "idle+drain", "-p", "debug", "-o", "%N").strip(), "n2")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.assertEqual(self.run_cmd("sinfo", "-t", "idle?", check=False).returncode, 1)

    def test_components_once(self):
        job = self.submit("-H", "-n1", "--wrap", "true", ":", "-n1")
        for ids in (f"{job}", f"{job},{job}+1", f"{job},{job + 1}", f"{job}+0,{job}+1", f"{job},{job}"):
            self.assertEqual(sorted(self.out("squeue", "-h", "-j", ids, "-o", "%i").split()), [f"{job}+0", f"{job}+1"], ids)

    def test_steps_of_task_lists(self):
        """--only-job-state listed evenly spaced tasks one by one."""
        array = self.submit("-H", "-a", "1-97:4", "--wrap", "true")
        for options in ((), ("--only-job-state",)):
            self.assertEqual(self.out("squeue", "-h", *options, "-j", array).split()[:2][0], f"{array}_[1-97:4]", options)

    def test_words_of_update(self):
        self.fails(1, "No changes specified\n", "scontrol", "update", "JobId=")
        self.assertEqual(self.out("scontrol", "update", "JobId=", "TimeLimit=5"), "")
        self.fails(1, "Update of this parameter is not supported: Foo=5\nRequest aborted\n", "scontrol", "update", "JobId=", "Foo=5")
        self.fails(1, "scontrol: error: JobName nobodys not found\n", "scontrol", "update", "JobName=nobodys", "UserID=root", "TimeLimit=5")
        self.fails(1, "Invalid UserID: no-such-user\nRequest aborted\n", "scontrol", "update", "JobName=x", "UserID=no-such-user", "TimeLimit=5")
        self.fails(1, "scontrol: error: No topology information available\n", "scontrol", "show", "topology", "switch=s1")

    def test_beginnings_of_options(self):
        """As getopt takes them: one that begins only one option."""
        for command in ("squeue", "sinfo", "scontrol", "sbatch", "srun", "salloc", "scancel", "strigger", "sattach", "sbcast"):
            self.assertEqual(self.out(command, "--hel"), self.out(command, "--help"), command)
        for command, option in (("sacct", "--hel"), ("sshare", "--hel"), ("sstat", "--hel"), ("squeue", "--us"), ("sinfo", "--no"), ("scancel", "--us"), ("sbatch", "--tim=5")):
            self.assertIn(f"option '{option}' is ambiguous", self.run_cmd(command, option, check=False).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
