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

    def test_patterns_of_a_task_s_srun(self):
        """%A and %a of an srun in a task of an array were its own job and no index."""
        job = self.submit("--array=3,5", "-n1", "-o", "/dev/null", "--wrap", "srun -o name.%A.%a.%s true; srun -n1 -o each.%A.%a.%t true")
        self.wait_no_jobs()
        found = sorted(name for name in os.listdir(self.cluster.work) if name.startswith(("name.", "each.")))
        self.assertEqual(found, [f"each.{job}.3.0", f"each.{job}.5.0", f"name.{job}.3.0", f"name.{job}.5.0"])

    def test_what_verbose_commands_say(self):
        """-vv was no more than -v, and SRUN_DEBUG nothing."""
        limit = r"(.*\n)*{0}: debug:  propagating RLIMIT_NOFILE=\d+\n(.*\n)*{0}: debug:  propagating UMASK=\d{{4}}\n(.*\n)*"
        done = self.run_cmd("sbatch", "-vv", "-t3", "--wrap", "true")
        self.assertRegex(done.stderr, r"sbatch: time                : 00:03:00\n" + limit.format("sbatch"))
        for words, env in ((("-vv",), {}), ((), {"SRUN_DEBUG": "2"}), ((), {"SLURM_DEBUG": "2"}), (("-v",), {"SRUN_DEBUG": "1"})):
            done = self.run_cmd("srun", *words, "-J", "named", "true", env=env)
            self.assertRegex(done.stderr, r"srun: defined options\n(.*\n)*srun: verbose             : 2\n" + limit.format("srun"))
            self.assertRegex(done.stderr, r"srun: debug:  requesting job \d+, user 0, nodes 1 including \(\(null\)\)\n"
                             r"srun: debug:  cpus 1, tasks 1, name named, relative 65534\n")
            self.assertIn("srun: debug:  task 0 done\n", done.stderr)
        done = self.run_cmd("srun", "-v", "true")
        self.assertNotIn("debug:", done.stderr)
        self.assertEqual(self.run_cmd("srun", "srun", "--overlap", "true").stderr, "", "SRUN_DEBUG of a task is its srun's")
        done = self.run_cmd("salloc", "true", env={"SALLOC_DEBUG": "2"})
        self.assertRegex(done.stderr, r"salloc: verbose             : 2\n(.*\n)*salloc: debug:  laying out the 1 tasks on 1 hosts n1\n")
        done = self.run_cmd("srun", "-v", "--immediate=7", "true")
        self.assertRegex(done.stderr, r"srun: immediate           : 7\n(.*\n)*srun: jobid \d+: nodes\(1\):`n1', cpu counts: 1\(x1\)\n")

    def test_who_waits_for_an_immediate_allocation(self):
        """Nothing was said while it was waited for, and of its end what is said without a time."""
        queued = r"salloc: Job is in held state, pending scheduler release\nsalloc: Pending job allocation (\d+)\n" \
                 r"salloc: job \1 queued and waiting for resources\nsalloc: error: Unable to allocate resources: Connection timed out\n" \
                 r"salloc: Job allocation \1 has been revoked\.\n"
        done = self.run_cmd("salloc", "--immediate=2", "--hold", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"^{queued}$")
        done = self.run_cmd("srun", "--immediate=2", "--hold", "true", check=False)
        self.assertRegex(done.stderr, r"^srun: Job is in held state, pending scheduler release\nsrun: job \d+ queued and waiting for resources\n"
                         r"srun: error: Unable to allocate resources: Requested nodes are busy\n$")
        self.wait_no_jobs()
        self.run_cmd("scontrol", "update", "PartitionName=debug", "State=DOWN")
        done = self.run_cmd("srun", "--immediate=2", "true", check=False)
        self.assertRegex(done.stderr, r"^srun: Partition in DOWN state\nsrun: job \d+ queued")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "State=UP")
        self.wait_no_jobs()

    def test_devices_that_cannot_be_meant_so(self):
        """The binding to a GPU that is none was taken."""
        for value in ("gres/gpu:map_gpu:z", "gres/gpu", "gpu:closest", ""):
            self.assertRegex(self.run_cmd("srun", f"--tres-bind={value}", "true", check=False).stderr,
                             rf"srun: error: Invalid --tres-bind argument: {value}\n$")
        self.fails(255, "srun: error: Invalid --tres-per-task specification\n", "srun", "--tres-per-task=gres/", "true")
        self.fails(255, "srun: error: Invalid --distribution specification\n", "srun", "-m", ",pack", "true")
        for more, why in (("--gpus-per-node=3", r", --gres=gpu/--gpus-per-node not multiple of --gpus-per-task\."),
                          ("--gpus-per-node=8", r"\. Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested number of tasks per "
                                                r"node differ from --ntasks-per-node\.")):
            done = self.run_cmd("srun", "-n4", "--ntasks-per-node=2", "--gpus-per-task=2", more, "true", check=False)
            self.assertRegex(done.stderr, rf"^srun: error: Failed to validate job spec{why}\n"
                             r"srun: error: Invalid generic resource \(gres\) specification\n$")

    def test_devices_that_the_cluster_lacks(self):
        """sbatch and salloc said it in other words than Slurm; CPUs of GPUs were taken where there are none."""
        for command in (("sbatch", "--wrap", "true"), ("salloc", "true"), ("srun", "true")):
            for option in ("--gres=nothing:1", "--cpus-per-gpu=2"):
                self.fails(1, f"{command[0]}: error: Invalid generic resource (gres) specification\n", command[0], option, *command[1:])

    def test_overcommit_has_the_cpus_of_one_task(self):
        told = self.out("srun", "-n2", "-O", "-c2", "sh", "-c", "echo $SLURM_CPUS_ON_NODE $SLURM_JOB_CPUS_PER_NODE")
        self.assertEqual(told, "2 2\n" * 2)
        job = self.submit("-H", "-n6", "-O", "-c2", "--wrap", "true")
        self.assertEqual(self.show(job)["NumCPUs"], "1")
        self.fails(1, "srun: error: CPU count per node can not be satisfied\n"
                      "srun: error: Unable to allocate resources: Requested node configuration is not available\n",
                   "srun", "-n2", "-O", "-c99", "true")
        self.run_cmd("scancel", job)

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
