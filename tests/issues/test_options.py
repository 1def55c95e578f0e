"""Bugs in what options and variables of the commands do."""
import os
import unittest

from harness import ClusterCase, wait_for


class Options(ClusterCase):
    NODES, CPUS = 1, 2

    def test_patterns_in_the_name_of_the_input(self):
        """The name was taken as it is, although scontrol showed it expanded: the launch failed, and the job was held."""
        with open(os.path.join(self.cluster.work, "in-named"), "w", encoding="ascii") as f:
            f.write("hello\n")
        self.wait_ended(self.submit("--input=in-%x", "-J", "named", "-o", "pattern.out", "--wrap", "cat"))
        self.assertEqual(self.file("pattern.out"), "hello\n")

    def test_the_wish_to_kill_the_step_reaches_the_steps(self):
        """--oom-kill-step of sbatch and salloc was overwritten in the environment that their steps get it from."""
        tell = "echo $SLURM_OOM_KILL_STEP; srun sh -c 'echo $SLURM_OOM_KILL_STEP'"
        for options, said in (((), "0\n0\n"), (("--oom-kill-step",), "1\n1\n")):
            self.assertEqual(self.out("salloc", "-Q", *options, "sh", "-c", tell), said)
            self.wait_ended(self.submit("-o", "wish.out", *options, "--wrap", tell))
            self.assertEqual(self.file("wish.out"), said)

    def test_fewer_nodes_than_tasks_per_node_need(self):
        """-N2 -n4 --ntasks-per-node=1 was given four nodes, and srun took -n3 for a contradiction that it is not."""
        refused = "Requested node configuration is not available\n"
        options = ("-N1", "-n3", "--ntasks-per-node=2")
        self.fails(1, "sbatch: error: Batch job submission failed: " + refused, "sbatch", *options, "--wrap", "true")
        done = self.run_cmd("salloc", *options, "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("salloc: error: Job submit/allocate failed: " + refused, done.stderr)
        done = self.run_cmd("srun", "-N2", "-n3", "--ntasks-per-node=1", "true", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "srun: error: Unable to allocate resources: " + refused))

    def test_nil_exports_what_is_slurms_and_adds_nothing(self):
        """--export=NIL dropped SLURM_* too, and the variables of a login shell were added as with NONE."""
        env = {"MINE": "1", "SLURM_OWN": "kept"}
        self.wait_ended(self.submit("--export=NIL", "-o", "nil.out", "--wrap", "/usr/bin/env", env=env))
        found = dict(line.split("=", 1) for line in self.file("nil.out").splitlines() if "=" in line)
        self.assertEqual([found.get(name) for name in ("MINE", "LOGNAME", "SLURM_OWN")], [None, None, "kept"])

    def test_a_held_job_larger_than_the_cluster(self):
        """It was refused as if it were to run at once; what is refused is its release."""
        refused = "Batch job submission failed: Requested node configuration is not available\n"
        done = self.run_cmd("sbatch", "--mincpus=3", "--wrap", "true", check=False)
        self.assertEqual((done.returncode, done.stderr.endswith(refused)), (1, True), done.stderr)
        job = self.submit("-H", "-c3", "--wrap", "true")
        why = "Requested partition configuration not available now"
        self.fails(1, f"{why} for job {job}\nslurm_suspend error:{why}\n", "scontrol", "release", job)
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%t"), "PD\n")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_variables_of_the_caller_and_the_node(self):
        """TMPDIR, SRUN_DEBUG and SLURM_WORKING_CLUSTER were not set."""
        tell = "echo ${TMPDIR-none} ${SRUN_DEBUG-none} ${SLURM_WORKING_CLUSTER-none}"
        cluster = r"trial:127\.0\.0\.1:\d+:9728:109"
        told = self.out("/bin/sh", "-c", f"unset TMPDIR; srun -n1 sh -c '{tell}'; exec srun -Q -n1 sh -c '{tell}'")
        self.assertRegex(told, f"^/tmp 3 {cluster}\n/tmp 2 {cluster}\n$")
        self.run_cmd("/bin/sh", "-c", f"export TMPDIR=/var/tmp; sbatch -W -o told.out --wrap '{tell}'")
        self.assertRegex(self.file("told.out"), f"^/var/tmp none {cluster}\n$")
        shell = self.out("salloc", "-Q", "sh", "-c", "echo ${SLURM_WORKING_CLUSTER-none}")
        self.assertEqual(shell, "none\n")

    def test_no_output_file(self):
        """sbatch --output=none made a file of that name."""
        job = self.submit("-o", "none", "--wrap", "echo lost")
        self.wait_ended(job)
        self.assertEqual(self.show(job)["StdOut"], "/dev/null")
        self.assertFalse(os.path.exists(os.path.join(self.cluster.work, "none")))

    def test_accounts_have_no_capitals(self):
        """AbC and abc were two accounts."""
        job = self.submit("-H", "-A", "AbC", "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-A", "ABC", "-o", "%a"), "abc\n")
        self.run_cmd("scontrol", "update", f"JobId={job}", "Account=XyZ")
        self.assertEqual(self.show(job)["Account"], "xyz")
        self.run_cmd("scancel", "-A", "Xyz")
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_values_that_would_end_a_waiting_job(self):
        """scontrol update took a deadline in the past, which ended the job, and no nodes or tasks at all."""
        job = self.submit("-H", "--wrap", "true")
        for pair, why in (("Deadline=2001-01-01", "Invalid time specified"), ("EndTime=now", "Job is not running"),
                          ("NumNodes=0", "Node count specification invalid"),
                          ("NumTasks=0", "Task count specification invalid")):
            self.fails(1, f"{why} for job {job}\n", "scontrol", "update", f"JobId={job}", pair)
        self.assertEqual(self.state(job), "PENDING")
        self.run_cmd("scancel", "-b", job)  # the script is all that there is of it
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_an_answer_that_is_none(self):
        """scancel -i waited for another answer and did not ask again."""
        job = self.submit("-H", "-J", "asked", "--wrap", "true")
        told = self.out("scancel", "-i", job, stdin="what\ny\n")
        self.assertEqual(told, 2 * f"Cancel job_id={job} name=asked partition=debug [y/n]? ")
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_the_script_of_a_task(self):
        """scontrol write batch_script 12_1 knew no such job, and did not say why a file could not be written."""
        script = "#!/bin/sh\necho $SLURM_ARRAY_TASK_ID\n"
        job = self.submit("-H", "-a", "1-3", stdin=script)
        self.assertEqual(self.out("scontrol", "write", "batch_script", f"{job}_1", "-"), script)
        self.fails(0, "failed to open file `no/such/folder`: No such file or directory\n",
                   "scontrol", "write", "batch_script", job, "no/such/folder")
        self.run_cmd("scancel", job)

    def test_ready_nodes_are_told_of(self):
        """scontrol wait_job said nothing when the nodes were ready."""
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.fails(0, f"scontrol: Nodes are ready for job {job}\n", "scontrol", "wait_job", job)
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_names_of_partitions_can_be_taken_away(self):
        """Alternate= and QOS= were refused, so that nothing but the file could clear them."""
        self.run_cmd("scontrol", "update", "PartitionName=debug", "Alternate=debug")
        self.assertIn("Alternate=debug", self.out("scontrol", "show", "partition", "debug"))
        self.run_cmd("scontrol", "update", "PartitionName=debug", "Alternate=", "QOS=")
        self.assertNotIn("Alternate=", self.out("scontrol", "show", "partition", "debug"))

    def test_lines_that_no_terminal_shows(self):
        """scontrol fed from a pipe printed its prompts, and not the commands behind them."""
        self.assertEqual(self.out("scontrol", stdin="show hostnames n[1-2]\n"),
                         "scontrol: show hostnames n[1-2]\nn1\nn2\nscontrol: \n")

    def test_variables_that_take_words(self):
        """*_EXCLUSIVE and *_NO_KILL took any value for a yes."""
        for command, prefix in ((("sbatch", "-H", "--wrap", "true"), "SBATCH"), (("salloc", "true"), "SALLOC"),
                                (("srun", "true"), "SLURM")):
            for name, option in (("EXCLUSIVE", "exclusive"), ("NO_KILL", "no-kill")):
                done = self.run_cmd(*command, env={f"{prefix}_{name}": "1"}, check=False)
                self.assertNotEqual(done.returncode, 0, (prefix, name))
                self.assertEqual(done.stderr, f"{command[0]}: error: Invalid --{option} specification\n")
        job = self.submit("-H", "--wrap", "true", env={"SBATCH_EXCLUSIVE": "exclusive", "SBATCH_NO_KILL": "off"})
        self.assertEqual(self.show(job)["OverSubscribe"], "NO")
        self.run_cmd("scancel", job)

    def test_variables_without_a_value(self):
        """Variables that are set to nothing were ignored where an option without its value is refused."""
        for name, option in (("SBATCH_TIMELIMIT", "time"), ("SBATCH_MEM_PER_CPU", "mem-per-cpu"),
                             ("SBATCH_MEM_PER_NODE", "mem"), ("SBATCH_SIGNAL", "signal")):
            done = self.run_cmd("sbatch", "-H", "--wrap", "true", env={name: ""}, check=False)
            self.assertNotEqual(done.returncode, 0, name)
            self.assertEqual(done.stderr, f"sbatch: error: Invalid --{option} specification\n")

    def test_more_processors_than_there_are(self):
        """scontrol update took any NumCPUs of a waiting job, which then waited for ever."""
        job = self.submit("-H", "--wrap", "true")
        self.fails(1, f"Requested partition configuration not available now for job {job}\n",
                   "scontrol", "update", f"JobId={job}", "NumCPUs=999")
        self.assertEqual(self.show(job)["NumCPUs"], "1")
        self.run_cmd("scancel", job)

    def test_nodes_that_no_job_has(self):
        """srun -w with a node that is not configured had another answer in a job than one of another job."""
        done = self.run_cmd("salloc", "-Q", "srun", "-w", "n99", "true", check=False)
        self.assertRegex(done.stderr, r"^srun: error: Unable to create step for job \d+: "
                                      r"Requested node configuration is not available\n$")

    def test_sattach_to_what_is_over(self):
        """sattach did not say that the step had ended."""
        job = self.submit("-o", "/dev/null", "--wrap", "srun true")
        self.wait_ended(job)
        for step in ("0", "77"):
            self.fails(1, "sattach: error: Could not get job step info: Job/step already completing or completed\n",
                       "sattach", f"{job}.{step}")

    def test_ids_whose_bracket_stays_open(self):
        """squeue showed all jobs for such an id, and broke off with a fault of memory when there was much in a bracket."""
        self.fails(1, "squeue: error: Invalid job id: 12,7_[1-3\n", "squeue", "-j", "12,7_[1-3")
        for given in ("7_", "7_[]", "7_[1", "7_[1]x", "_1", "7+", "7+x", "7_1_2", "x7", "7]"):
            done = self.run_cmd("squeue", "-j", given, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), given)
            self.assertTrue(done.stderr.startswith("squeue: error: Invalid job id: "), done.stderr)
        job = self.submit("-H", "-a", "1-3", "--wrap", "true")
        many = ",".join(map(str, range(2, 40000, 2)))
        self.assertEqual(self.out("squeue", "-h", "-r", "-j", f"{job}_[{many}]", "-o", "%K"), "2\n")
        self.run_cmd("scancel", job)

    def test_me_after_a_user_who_is_none(self):
        """squeue --me showed nothing when SQUEUE_USERS named nobody."""
        job = self.submit("-H", "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "--me", "-o", "%i", env={"SQUEUE_USERS": "nosuchuser"}), f"{job}\n")
        self.run_cmd("scancel", job)

    def test_several_tasks_of_a_waiting_array(self):
        """With a filter scancel ended the last one of the tasks that were named."""
        job = self.submit("-H", "-a", "1-6", "--wrap", "true")
        self.run_cmd("scancel", "-t", "PENDING", f"{job}_1", f"{job}_[3,5]")
        left = self.out("squeue", "-h", "-r", "-t", "PD", "-j", job, "-o", "%K").split()
        self.assertEqual(sorted(left), ["2", "4", "6"])
        self.run_cmd("scancel", "-t", "PENDING", job)
        self.assertEqual(self.out("squeue", "-h", "-t", "PD", "-j", job), "")

    def test_a_step_of_a_task(self):
        """With a filter scancel ended the whole task of an array where one of its steps was named."""
        job = self.submit("-a", "1", "-o", "/dev/null", "--wrap", "srun sleep 1000; touch went-on")
        wait_for(lambda: f"{job}_1.0" in self.out("squeue", "-h", "-s", "-o", "%i").split(), "the step runs")
        (raw,) = self.out("squeue", "-h", "-j", f"{job}_1", "-o", "%A").split()
        for name in (f"{job}_1.0", f"{raw}.0"):  # the second one was not found
            self.assertIn(f"StepId={job}_1.0 ", self.out("scontrol", "show", "step", name))
        self.run_cmd("scancel", "-t", "RUNNING", f"{job}_1.0")
        self.assertEqual(self.wait_ended(f"{job}_1"), "COMPLETED")
        self.assertTrue(os.path.exists(os.path.join(self.cluster.work, "went-on")))

    def test_a_mask_that_is_none(self):
        """SLURM_UMASK with something else than a mask took all of the mask away."""
        for given, mask in (("", "0022"), ("none", "0022"), ("27x", "0022"), ("7777", "0022"), ("027", "0027")):
            told = self.out("/bin/sh", "-c", f"umask 022; export SLURM_UMASK='{given}'; exec srun sh -c umask")
            self.assertEqual(told, f"{mask}\n", given)

    def test_an_id_of_a_trigger_that_is_none(self):
        """strigger --clear --user=NAME --id=1x cleared all of the user's triggers."""
        self.fails(1, "strigger: error: Invalid id 1x\n", "strigger", "--clear", "--user=root", "--id=1x")


if __name__ == "__main__":
    unittest.main()
