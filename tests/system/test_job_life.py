"""What happens to jobs by configuration and by the clock: exits that requeue, limits that are overrun, deadlines, chains of
dependencies, and jobs that give nodes back."""
import os
import unittest

from harness import ClusterCase, wait_for

GO = "while [ ! -e {} ]; do sleep 0.05; done"


class Life(ClusterCase):
    NODES, CPUS = 4, 4
    CONF = "PriorityType=priority/multifactor\nRequeueExit=6,10-12\nRequeueExitHold=5\nOverTimeLimit=10\nSchedulerParameters=requeue_delay=1\n"

    def tearDown(self):
        if jobs := self.out("squeue", "-h", "-o", "%A").split():
            self.run_cmd("scancel", *jobs)
        self.wait_no_jobs()

    def start(self, script, *options, output="/dev/null"):
        job = self.submit("-o", output, *options, "--wrap", script)
        self.wait_state(job, "RUNNING")
        return job

    def go(self, name):
        open(f"{self.cluster.work}/{name}", "w", encoding="utf-8").close()

    def row(self, job, form):
        return self.out("squeue", "-h", "-t", "all", "-j", job, "-o", form).strip()

    def cancel(self, *jobs):
        self.run_cmd("scancel", *jobs)
        for job in jobs:
            self.wait_ended(job)

    # exits ------------------------------------------------------------------------------------------

    def test_requeue_exit(self):
        job = self.submit("-o", "requeued.out", "--wrap", "echo run ${SLURM_RESTART_COUNT:-none}; "
                          "[ ${SLURM_RESTART_COUNT:-0} -ge 2 ] || exit $((10 + ${SLURM_RESTART_COUNT:-0}))")
        self.assertEqual(self.wait_state(job, "COMPLETED"), "COMPLETED")
        self.assertEqual(self.file("requeued.out").split("\n")[-2], "run 2")
        self.assertEqual(self.show(job)["Restarts"], "2")
        other = self.submit("-o", "/dev/null", "--wrap", "exit 7")
        self.assertEqual(self.wait_ended(other), "FAILED")
        # as in Slurm, --no-requeue does not matter here
        again = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", "[ -n \"$SLURM_RESTART_COUNT\" ] || exit 6")
        self.assertEqual(self.wait_state(again, "COMPLETED"), "COMPLETED")
        shown = self.show(again)
        self.assertEqual((shown["Requeue"], shown["Restarts"]), ("0", "1"))
        held = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", "exit 5")  # of RequeueExitHold
        self.wait_state(held, "SPECIAL_EXIT")
        self.cancel(held)

    def test_requeue_exit_hold(self):
        job = self.submit("-o", "/dev/null", "--wrap", "[ -n \"$SLURM_RESTART_COUNT\" ] || exit 5")
        self.wait_state(job, "SPECIAL_EXIT")
        self.assertEqual(self.row(job, "%t %r %Q %R"), "SE JobHeldUser 0 (JobHeldUser)")
        self.assertEqual(self.out("squeue", "-h", "-t", "SE", "-o", "%i"), f"{job}\n")
        self.assertEqual(self.show(job)["JobState"], "SPECIAL_EXIT")
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_special_exit_by_hand(self):
        job = self.start("sleep 1000")
        self.run_cmd("scontrol", "requeuehold", "State=SpecialExit", job)
        self.wait_state(job, "SPECIAL_EXIT")
        self.assertEqual(self.row(job, "%t %R"), "SE (job requeued in held state)")
        self.run_cmd("scontrol", "release", job)
        self.wait_state(job, "PENDING", "RUNNING")
        self.cancel(job)

    def test_derived_exit_code(self):
        job = self.submit("-o", "/dev/null", "--wrap", "srun sh -c 'exit 7'; srun sh -c 'exit 3'; exit 2")
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertEqual(self.show(job)["ExitCode"], "2:0")
        detailed = self.out("scontrol", "-d", "show", "job", job)
        self.assertIn("DerivedExitCode=7:0", detailed)

    def test_requeued_job_shows_its_last_exit(self):  # until it runs again; what steps derived stays even then
        job = self.submit("-o", "/dev/null", "--wrap", "[ -n \"$SLURM_RESTART_COUNT\" ] && exec sleep 1000; srun sh -c 'exit 7'; exit 3")
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.run_cmd("scontrol", "requeuehold", job)
        self.wait_state(job, "PENDING")
        self.assertEqual(self.show(job)["ExitCode"], "3:0")
        self.assertIn("DerivedExitCode=7:0", self.out("scontrol", "-d", "show", "job", job))
        self.run_cmd("scontrol", "release", job)
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.show(job)["ExitCode"], "0:0")
        self.assertIn("DerivedExitCode=7:0", self.out("scontrol", "-d", "show", "job", job))
        self.cancel(job)

    def test_requeue_leaves_no_exit_code_and_a_delay(self):
        job = self.start("sleep 1000")
        self.run_cmd("scontrol", "requeuehold", job)
        self.wait_state(job, "PENDING")
        self.assertEqual(self.show(job)["ExitCode"], "0:0")
        self.run_cmd("scontrol", "update", f"JobId={job}", "EligibleTime=now+1hour")
        begin = self.show(job)["EligibleTime"]
        self.assertNotEqual(begin, "Unknown")
        for verb in ("release", "hold", "release"):
            self.run_cmd("scontrol", verb, job)
            shown = self.show(job)
            self.assertEqual((shown["EligibleTime"], shown["StartTime"]), (begin, begin), verb)
        self.cancel(job)

    def test_site_factor(self):
        job = self.submit("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        for factor, priority in (("500", "500"), ("+20", "20"), ("-7", "1"), ("", "1")):
            self.run_cmd("scontrol", "update", f"JobId={job}", f"SiteFactor={factor}")
            wait_for(lambda priority=priority: self.show(job)["Priority"] == priority, f"its priority is {priority}")
        self.cancel(job)

    # limits -----------------------------------------------------------------------------------------

    def test_over_time_limit(self):
        job = self.start("sleep 1000", "-t", "5")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "OverTimeLimit=10")
        self.run_cmd("scontrol", "update", f"JobId={job}", "EndTime=now")
        other = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_ended(other)  # the controller has looked at limits since
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "OverTimeLimit=0")
        self.wait_state(job, "TIMEOUT")

    def test_deadline(self):
        self.fails(1, "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)\n",
                   "sbatch", "--deadline=2000-01-01", "--wrap", "true")
        held = self.submit("-H", "-t", "10", "--deadline=now+20minutes", "--wrap", "true")
        waits = ("--begin=now+10minutes", "--deadline=now+20minutes", "--wrap", "true")
        alive = self.submit("-t", "30", "--time-min=10", *waits)
        dead = self.submit("-t", "10", *waits)
        for job in (held, dead):  # too late, but for the hold of one of them
            self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=30")
        self.wait_state(dead, "DEADLINE")  # the controller has looked
        self.assertEqual(self.row(dead, "%t %r"), "DL DeadLine")
        self.assertEqual([self.row(job, "%t %r") for job in (held, alive)], ["PD JobHeldUser", "PD BeginTime"])
        self.run_cmd("scontrol", "update", f"JobId={alive}", "Deadline=now+2")
        self.wait_state(alive, "DEADLINE")
        self.run_cmd("scontrol", "release", held)
        self.wait_state(held, "DEADLINE")

    def test_deadline_of_a_running_job_stays(self):
        job = self.start("sleep 1000", "-t", "5", "--deadline=now+1hour")
        before = self.show(job)["Deadline"]
        self.run_cmd("scontrol", "update", f"JobId={job}", "Deadline=now+2hours")
        self.assertEqual(self.show(job)["Deadline"], before)
        self.cancel(job)

    def test_no_time_left(self):
        job = self.start("sleep 1000", "-t", "5")
        self.fails(1, f"Invalid time specified for job {job}\n", "scontrol", "update", f"JobId={job}", "EndTime=now-1minute")
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "OverTimeLimit=0")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=0")
        self.wait_state(job, "TIMEOUT")

    def test_what_cannot_end_before_its_deadline_does_not_start(self):
        """The bug: such a job started when it was submitted, and ran past its deadline."""
        self.fails(1, "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)\n",
                   "sbatch", "-t", "5", "--deadline=now+1minute", "-o", "/dev/null", "--wrap", "sleep 1000")
        unlimited = self.start("sleep 1000", "--deadline=now+355")
        self.assertEqual([self.show(unlimited)[key] for key in ("TimeLimit", "TimeMin")], ["00:05:00", "00:01:00"])
        self.cancel(unlimited)
        self.run_cmd("scontrol", "update", "PartitionName=debug", "DefaultTime=5")
        self.addCleanup(self.run_cmd, "scontrol", "update", "PartitionName=debug", "DefaultTime=UNLIMITED", check=False)
        late = self.submit("--deadline=now+1minute", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(late, "DEADLINE")
        cut = self.start("sleep 1000", "-t", "20", "--time-min=2", "--deadline=now+355")
        self.assertEqual(self.show(cut)["TimeLimit"], "00:05:00")
        self.cancel(cut)
        self.fails(1, "sbatch: error: Batch job submission failed: Invalid time-min specification (exceeds job's time or other "
                      "limits)\n", "sbatch", "-t", "10", "--time-min=2", "--deadline=now+90", "--wrap", "true")

    def test_time_min(self):
        """A job behind one that waits is cut to what is left before that one's start."""
        self.fails(1, "sbatch: error: Batch job submission failed: Invalid time-min specification (exceeds job's time or other "
                      "limits)\n", "sbatch", "-t", "10", "--time-min=20", "--wrap", "true")
        first = self.start("sleep 1000", "-N3", "-n12", "-t", "30")
        blocked = self.submit("-N4", "-n16", "-t", "10", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.row(blocked, "%r") == "Resources", "it waits")
        longer = self.submit("-n1", "-t", "100", "-o", "/dev/null", "--wrap", "sleep 1000")
        cut = self.start("sleep 1000", "-n1", "-t", "100", "--time-min=5")
        limit = self.show(cut)["TimeLimit"]
        self.assertIn(limit, ("00:29:00", "00:30:00"))
        self.assertEqual(self.state(longer), "PENDING")
        self.cancel(first, blocked, longer, cut)

    # dependencies -----------------------------------------------------------------------------------

    def test_dependency_texts(self):
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        array = self.submit("-H", "-a", "1-3", "-o", "/dev/null", "--wrap", "true")
        shown = {f"afterok:{held},afterany:{held}": f"afterok:{held}(unfulfilled),afterany:{held}(unfulfilled)",
                 f"afterok:{held}?afternotok:{held}": f"afterok:{held}(unfulfilled)?afternotok:{held}(unfulfilled)",
                 f"after:{held}+5": f"after:{held}+5(unfulfilled)", f"{held}": f"afterany:{held}(unfulfilled)",
                 f"afterok:{array}": f"afterok:{array}_*(unfulfilled)", f"afterok:{array}_1": f"afterok:{array}_1(unfulfilled)",
                 f"afterok:{array}_[1-2]": f"afterok:{array}_1(unfulfilled),afterok:{array}_2(unfulfilled)",
                 f"aftercorr:{array}": f"aftercorr:{array}_*(unfulfilled)"}
        jobs = []
        for given, text in shown.items():
            jobs.append(self.submit("-d", given, "-o", "/dev/null", "--wrap", "true"))
            self.assertEqual(self.row(jobs[-1], "%E"), text, given)
            self.assertEqual(self.show(jobs[-1])["Dependency"], text)
        for bad in ("nonsense:1", "afterok:", "afterok", f"after:{held}+x", f"afterok:{held},,afterok:{held}"):
            self.fails(1, "sbatch: error: Batch job submission failed: Job dependency problem\n", "sbatch", "-d", bad, "--wrap", "true")
        self.fails(1, "sbatch: error: Batch job submission failed: Requested operation not supported on this system\n",
                   "sbatch", "-d", f"expand:{held}", "--wrap", "true")
        gone = self.submit("-d", "afterok:999999", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(gone), "COMPLETED")
        self.cancel(*jobs, held)
        self.run_cmd("scancel", array)

    def test_circles(self):
        one = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        two = self.submit("-d", f"afterok:{one}", "-o", "/dev/null", "--wrap", "true")
        three = self.submit("-d", f"afterany:{two}", "-o", "/dev/null", "--wrap", "true")
        self.fails(1, f"Circular job dependency for job {one}\n", "scontrol", "update", f"JobId={one}", f"Dependency=afterok:{three}")
        self.fails(1, f"Job dependency problem for job {one}\n", "scontrol", "update", f"JobId={one}", f"Dependency=afterok:{one}")
        self.run_cmd("scontrol", "update", f"JobId={two}", "Dependency=")
        self.assertEqual(self.wait_ended(two), "COMPLETED")
        self.assertEqual(self.wait_ended(three), "COMPLETED")
        self.cancel(one)

    def test_tasks_and_their_partners(self):
        first = self.submit("-a", "0-2", "-o", "/dev/null", "--wrap", GO.format(f"{self.cluster.work}/corr-$SLURM_ARRAY_TASK_ID") +
                            "; exit $((SLURM_ARRAY_TASK_ID == 1))")
        then = self.submit("-a", "0-2", "-d", f"aftercorr:{first}", "-o", "/dev/null", "--wrap", "true")
        either = self.submit("-d", f"afterok:{first}_1?afterok:{first}_2", "-o", "/dev/null", "--wrap", "true")
        killed = self.submit("--kill-on-invalid-dep=yes", "-d", f"afterok:{first}", "-o", "/dev/null", "--wrap", "true")
        states = lambda job: self.out("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %T %r").splitlines()
        self.go("corr-2")
        wait_for(lambda: "2 COMPLETED None" in states(then), "the partner of task 2 ran")
        self.assertEqual(self.wait_ended(either), "COMPLETED")
        self.assertIn("0 PENDING Dependency", states(then))
        self.go("corr-1")
        wait_for(lambda: "1 PENDING DependencyNeverSatisfied" in states(then), "task 1 never will")
        self.assertEqual(self.row(killed, "%T %r"), "PENDING Dependency")  # the array is not over
        self.go("corr-0")
        wait_for(lambda: "0 COMPLETED None" in states(then), "task 0 ran")
        self.assertEqual(self.wait_ended(killed), "CANCELLED")
        self.assertEqual(self.show(killed)["Reason"], "DependencyNeverSatisfied")
        self.run_cmd("scancel", then)

    def test_cancelled_tasks_are_not_good(self):
        """The bug: a task that was cancelled before it had a record was forgotten, and what had to wait for it ran."""
        first = self.submit("-H", "-a", "1-3", "-o", "/dev/null", "--wrap", "true")
        good, bad = (self.submit("-d", f"{kind}:{first}", "-o", "/dev/null", "--wrap", "true") for kind in ("afterok", "afternotok"))
        then = self.submit("-a", "1-3", "-d", f"aftercorr:{first}", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scancel", f"{first}_3")
        self.run_cmd("scontrol", "release", first)
        self.assertEqual(self.wait_ended(bad), "COMPLETED")
        states = lambda job: sorted(self.out("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %T %r").splitlines())
        wait_for(lambda: states(then) == ["1 COMPLETED None", "2 COMPLETED None", "3 PENDING DependencyNeverSatisfied"],
                 "the partner of the cancelled task never runs")
        self.assertEqual(self.row(good, "%T %r %E"), f"PENDING DependencyNeverSatisfied afterok:{first}_*(failed)")
        self.cancel(good)
        self.run_cmd("scancel", then)

    # size -------------------------------------------------------------------------------------------

    def test_shrink(self):
        script = ("srun -l sh -c 'echo $SLURMD_NODENAME; sleep 1000' & " + GO.format("shrink-go") +
                  "; scontrol update JobId=$SLURM_JOB_ID NumNodes=2; echo status $?; wait; "
                  ". ./slurm_job_${SLURM_JOB_ID}_resize.sh; env | grep -E '^SLURM_(NNODES|JOB_NUM_NODES|JOB_NODELIST|NTASKS)='; "
                  "cat slurm_job_${SLURM_JOB_ID}_resize.csh; srun sh -c 'echo $SLURMD_NODENAME'")
        job = self.start(script, "-N4", "-n4", output="shrink.out")
        wait_for(lambda: len(self.file("shrink.out").splitlines()) == 4, "four tasks run")
        self.go("shrink-go")
        self.fails(1, f"Requested operation not supported on this system for job {job}\n", "scontrol", "update", f"JobId={job}", "NumNodes=9")
        for change in ("NumNodes=1-2", "Account=other", "WCKey=other"):  # the bugs: it shrank to one, and was another account's
            self.fails(1, f"Job is no longer pending execution for job {job}\n", "scontrol", "update", f"JobId={job}", change)
        wait_for(lambda: self.show(job)["NodeList"] == "n[1-2]", "two nodes are left")
        self.assertEqual(self.row(job, "%D %C"), "2 2")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n[3-4]", "-t", "idle", "-o", "%D").strip() == "2", "the others are free")
        self.run_cmd("scancel", f"{job}.0", check=False)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        text = self.file("shrink.out")
        self.assertIn(f"To reset Slurm environment variables, execute\n  For bash or sh shells:  . ./slurm_job_{job}_resize.sh\n"
                      f"  For csh shells:         source ./slurm_job_{job}_resize.csh\n", text)
        tail = text[text.index("status 0"):].splitlines()
        for line in ("SLURM_NNODES=2", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=n[1-2]", "unsetenv SLURM_NTASKS",
                     'setenv SLURM_JOB_CPUS_PER_NODE "1(x2)"'):
            self.assertIn(line, tail)
        self.assertNotIn("SLURM_NTASKS=4", tail)
        self.assertEqual(sorted(tail[-2:]), ["n1", "n2"])
        self.assertEqual(os.stat(f"{self.cluster.work}/slurm_job_{job}_resize.sh").st_mode & 0o777, 0o700)

    def test_shrink_by_name(self):
        job = self.start("sleep 1000", "-N4", "-n4")
        self.fails(1, f"Invalid node name specified for job {job}\n", "scontrol", "update", f"JobId={job}", "NodeList=n9")
        self.run_cmd("scontrol", "update", f"JobId={job}", "NodeList=n1,n3")
        self.assertEqual(self.show(job)["NodeList"], "n[1,3]")
        self.cancel(job)
        wait_for(lambda: self.out("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "4", "all nodes are free")


if __name__ == "__main__":
    unittest.main()
