"""scontrol's verbs, and what squeue and sinfo show only when asked: each test is the proof of a row."""
import os
import re
import unittest

from harness import ClusterCase, need_root, wait_for

STRANGER = 12003  # a uid without a name: may look, nothing more
NOBODY = 65534    # a user beside root who may submit


class Scontrol(ClusterCase):
    NODES, CPUS = 3, 4
    CONF = ("Licenses=matlab:3,solver\n"
            "SluiceParameters=accept_ignored=AllowAccounts,AllowQos,DenyAccounts,DenyQos,PartitionName.QOS\n")

    def start_job(self, *args, script="sleep 1000", output="/dev/null"):
        job = self.submit("-o", output, *args, "--wrap", script)
        self.wait_state(job, "RUNNING")
        return job

    def cancel(self, *jobs):
        self.run_cmd("scancel", *jobs)
        for job in jobs:
            self.wait_ended(job)

    def fails(self, err, *command):
        done = self.run_cmd(*command, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", err))

    def test_verbose(self):  # -v, verbose and quiet
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        for words, records, begin in (("nodes", 3, "NodeName="), ("node n1", 3, "NodeName=n1"), ("partitions", 1, "PartitionName="),
                                      (f"job {job}", 1, f"JobId={job} ")):
            first, _, rest = self.out("scontrol", "-v", "show", *words.split()).partition("\n")
            self.assertRegex(first, rf"^last_update_time=\d{{4}}-\d\d-\d\dT[\d:]+, records={records}$")
            self.assertTrue(rest.startswith(begin), rest)
            self.assertNotIn("last_update", self.out("scontrol", "-v", "-Q", "show", *words.split()))
        self.cancel(job)
        done = self.run_cmd("scontrol", check=False, stdin="quiet\nhold 999\nverbose\nshow node n1\nhold 999\nfoo\nquiet\nfoo\nshow node n1\n")
        self.assertEqual(done.stderr, "Invalid job id specified for job 999\nslurm_suspend error:Invalid job id specified\n"
                         "invalid keyword: foo\ninvalid keyword: foo\n")
        self.assertEqual((done.returncode, done.stdout.count("last_update_time="), done.stdout.count("NodeName=n1")), (1, 1, 2))

    def test_words_of_the_prompt(self):  # all and hide, details, oneliner: for what follows them
        def blocks(lines, user=None):
            said = self.out("scontrol", stdin="".join(line + "\n" for line in lines), user=user).split("scontrol: ")
            answers = [text.partition("\n")[2] for text in said]  # behind the line itself, which is shown
            return [text for text in answers if text.strip()]
        self.run_cmd("scontrol", "create", "PartitionName=veiled", "Nodes=n2", "Hidden=YES")
        try:
            shown = blocks(["show partition", "all", "show partition", "hide", "show partition"], user=STRANGER)
            self.assertEqual([text.count("PartitionName=veiled") for text in shown], [0, 1, 0])
        finally:
            self.run_cmd("scontrol", "delete", "PartitionName=veiled")
        job = self.start_job("-w", "n1")
        shown = blocks([f"show job {job}", "details", f"show job {job}"])
        self.assertEqual([text.count("     Nodes=n1 CPU_IDs=") for text in shown], [0, 1])
        shown = blocks([f"show job {job}", "oneliner", f"show job {job}"])
        self.assertGreater(shown[0].strip().count("\n"), 20)
        self.assertEqual(shown[1].strip().count("\n"), 0)
        self.cancel(job)

    def test_listjobs_and_liststeps(self):
        job = self.start_job("-w", "n2", script="srun sleep 1000")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-s", "-h", "-o", "%i"), "its step runs")
        self.assertEqual(self.out("scontrol", "listjobs", "n2"), f"JOBID   \n{job:<8}\n")
        steps = wait_for(lambda: (text := self.out("scontrol", "liststeps", "n2")).count("\n") == 3 and text, "both steps are there")
        self.assertEqual(sorted(steps.splitlines()), [f"{job:<8} 0       ", f"{job:<8} batch   ", "JOBID    STEPID  "])
        for verb, head in (("listjobs", "JOBID   \n"), ("liststeps", "JOBID    STEPID  \n")):
            done = self.run_cmd("scontrol", verb, "n3", check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, head, "No slurmstepd's found on this node\n"))
        self.cancel(job)

    # what is hidden ---------------------------------------------------------------------------------

    def test_squeue_hidden_partitions(self):  # squeue -a and --hide: as a user, root sees all
        self.run_cmd("scontrol", "create", "PartitionName=veiled", "Nodes=n2", "Hidden=YES")
        job = self.submit("-H", "-p", "veiled", "-o", "/dev/null", "--wrap", "true")
        shown = lambda *args: self.out("squeue", "-h", "-o", "%i", *args, user=STRANGER).split()
        try:
            self.assertNotIn(str(job), shown())
            self.assertIn(str(job), shown("-a"))
            self.assertNotIn(str(job), shown("-a", "--hide"))
        finally:
            self.cancel(job)
            wait_for(lambda: self.run_cmd("scontrol", "delete", "PartitionName=veiled", check=False).returncode == 0,
                     "the hidden partition is gone")

    def test_future_nodes(self):  # sinfo -F, scontrol -F
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=FUTURE")
        try:
            self.assertEqual(self.out("sinfo", "-h", "-N", "-o", "%N").split(), ["n1", "n2"])
            self.assertEqual(self.out("sinfo", "-h", "-N", "-F", "-o", "%N").split(), ["n1", "n2", "n3"])
            names = lambda *args: [line.split()[0] for line in self.out("scontrol", "show", "nodes", "-o", *args).splitlines()]
            self.assertEqual(names(), ["NodeName=n1", "NodeName=n2"])
            self.assertEqual(names("-F"), ["NodeName=n1", "NodeName=n2", "NodeName=n3"])
        finally:
            self.cluster.kill_node("n3")
            self.run_cmd("scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=back")
            self.cluster.start_node("n3")
            wait_for(lambda: self.out("sinfo", "-h", "-n", "n3", "-o", "%T").strip() == "idle", "n3 is back")

    def test_sinfo_exact(self):  # sinfo -e
        self.run_cmd("scontrol", "update", "NodeName=n2", "Weight=7")
        try:
            self.assertEqual(self.out("sinfo", "-h", "-o", "%N %w").splitlines(), ["n[1-3] 1+"])
            self.assertEqual(sorted(self.out("sinfo", "-h", "-e", "-o", "%N %w").splitlines()), ["n2 7", "n[1,3] 1"])
        finally:
            self.run_cmd("scontrol", "update", "NodeName=n2", "Weight=1")

    def test_sinfo_responding(self):  # sinfo -r
        def only_others():
            self.run_cmd("scontrol", "update", "NodeName=n2", "State=NoResp")
            return (self.out("sinfo", "-h", "-N", "-o", "%N").split() == ["n1", "n2", "n3"] and
                    self.out("sinfo", "-h", "-N", "-r", "-o", "%N").split() == ["n1", "n3"])
        wait_for(only_others, "sinfo -r leaves out n2")
        self.cluster.kill_node("n2")
        self.cluster.start_node("n2")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%t").strip() == "idle", "n2 answers again")

    # jobs -------------------------------------------------------------------------------------------

    def test_completing(self):
        job = self.start_job("-w", "n2", script="trap '' TERM; touch ready; while [ ! -e go ]; do sleep 0.05; done")
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, "ready")), "the trap is set")
        self.assertEqual(self.out("scontrol", "completing"), "")
        self.run_cmd("scancel", job)
        line = wait_for(lambda: self.out("scontrol", "completing"), "the job is completing")
        self.assertRegex(line, rf"^JobId={job} EndTime=\S+ CompletingTime=00:00:\d\d Nodes\(COMPLETING\)=n2\n$")
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        self.wait_ended(job)

    def test_notify(self):
        job = self.start_job(output="told.out")
        self.run_cmd("scontrol", "notify", job, "disk", "is", "full")
        wait_for(lambda: "disk is full\n" in self.file("told.out"), "the message is in the job's output")
        self.cancel(job)
        self.fails("job notify failure: Job/step already completing or completed\n", "scontrol", "notify", job, "late")

    def test_pidinfo(self):
        job = self.start_job("-t", "10")
        row = wait_for(lambda: [r for r in self.out("scontrol", "listpids", job).splitlines() if f" {job} " in r],
                       "its processes")[0]
        lines = self.out("scontrol", "pidinfo", row.split()[0]).splitlines()
        self.assertTrue(lines[0].startswith(f"Slurm JobId={job} ends at "), lines)
        self.assertTrue(500 < int(lines[1].removeprefix("Job remaining time is ").removesuffix(" seconds")) <= 600, lines)
        self.cancel(job)
        self.fails("Failed to locate job for requested pid\n", "scontrol", "pidinfo", os.getpid())

    def test_requeue(self):
        job = self.start_job(script="echo run ${SLURM_RESTART_COUNT:-0}; sleep 1000", output="again.out")
        wait_for(lambda: "run 0" in self.file("again.out"), "the first run")
        self.run_cmd("scontrol", "requeue", job)
        reason = lambda: self.out("squeue", "-h", "-j", job, "-o", "%r").strip()
        waited = wait_for(lambda: (r := reason()) not in ("None", "Cleaning") and r, "the first run is gone")
        self.assertIn(waited, ("BeginTime", "Resources", "Priority"))
        wait_for(lambda: "run 1" in self.file("again.out"), "the second run")
        self.assertEqual(self.show(job)["Restarts"], "1")
        self.cancel(job)
        self.fails("Job is pending execution for job {}\n".format(held := self.submit("-H", "--wrap", "true")),
                   "scontrol", "requeue", held)
        self.cancel(held)

    def test_requeue_incomplete(self):
        ended, running = self.submit("-o", "/dev/null", "--wrap", "true"), self.start_job()
        self.wait_state(ended, "COMPLETED")
        self.run_cmd("scontrol", "requeuehold", "Incomplete", f"{ended},{running}")
        self.wait_state(running, "PENDING")
        self.assertEqual(self.state(ended), "COMPLETED")
        self.run_cmd("scontrol", "requeuehold", "incomplete", running)  # it waits now: nothing is to be done
        self.fails("Invalid job id specified for job 999\n", "scontrol", "requeue", "Incomplete", "999")
        self.cancel(running)

    def test_requeuehold(self):
        job = self.start_job()
        self.run_cmd("scontrol", "requeuehold", job)
        self.wait_state(job, "PENDING")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%R"), "(job requeued in held state)\n")
        self.assertEqual(self.show(job)["Priority"], "0")
        self.run_cmd("scontrol", "release", job)
        self.wait_state(job, "RUNNING")
        self.run_cmd("scontrol", "requeuehold", "State=SpecialExit", job)
        self.wait_state(job, "SPECIAL_EXIT")
        for state in ("State=Special", "state=", "st=SpecialExit", "states=SpecialExit", "foo=SpecialExit"):  # the bug: nothing was said of it
            self.fails(f"Invalid job id specified for job {state}\nJob is pending execution for job {job}\n",
                       "scontrol", "requeuehold", state, job)
        self.cancel(job)

    def test_uhold(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.run_cmd("scontrol", "release", job)
        self.wait_state(job, "RUNNING")
        self.cancel(job)
        blocked = self.submit("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scontrol", "hold", blocked)
        self.assertEqual(self.show(blocked)["Reason"], "JobHeldAdmin")
        self.run_cmd("scontrol", "uhold", blocked)
        self.assertEqual(self.show(blocked)["Reason"], "JobHeldUser")
        self.run_cmd("scontrol", "release", blocked)
        self.run_cmd("scontrol", "uhold", blocked)
        self.assertEqual(self.show(blocked)["Reason"], "JobHeldUser")
        self.cancel(blocked)

    def test_show_licenses(self):
        job = self.start_job("-L", "matlab:2")
        self.assertEqual(self.out("scontrol", "show", "lic", "-o").splitlines(),
                         ["LicenseName=matlab Total=3 Used=2 Free=1 Reserved=0 Remote=no",
                          "LicenseName=solver Total=1 Used=0 Free=1 Reserved=0 Remote=no"])
        self.assertEqual(self.out("scontrol", "show", "lic", "solver", "-o").count("\n"), 1)
        self.cancel(job)

    # daemons ----------------------------------------------------------------------------------------

    def test_setdebug(self):
        level = lambda: [line for line in self.out("scontrol", "show", "config").splitlines()
                         if line.startswith("SlurmctldDebug ")][0].split("= ")[1]
        self.assertEqual(level(), "info")
        self.run_cmd("scontrol", "setdebug", "debug2")
        self.assertEqual(level(), "debug2")
        self.run_cmd("scontrol", "setdebug", "3")
        self.assertEqual(level(), "info")
        self.fails("invalid debug level: loud\n", "scontrol", "setdebug", "loud")

    def test_setdebugflags(self):
        flags = lambda: [line for line in self.out("scontrol", "show", "config").splitlines()
                         if line.startswith("DebugFlags ")][0].split("= ")[1]
        self.assertEqual(flags(), "(null)")
        self.run_cmd("scontrol", "setdebugflags", "+Steps", "+Backfill")
        self.assertEqual(sorted(flags().split(",")), ["Backfill", "Steps"])
        self.run_cmd("scontrol", "setdebugflags", "-Steps", "-backfill")
        self.assertEqual(flags(), "(null)")
        self.fails("scontrol: error: Invalid DebugFlag: Nonsense\ninvalid debug flag: +Nonsense\n",
                   "scontrol", "setdebugflags", "+Nonsense")

    def lines_of(self, flag, since=0, log="sluicectld"):
        return [line for line in self.cluster.log(log)[since:].splitlines() if f" {flag}: " in line]

    def test_debug_flags_act(self):
        flags = {"Backfill": r"\d+ jobs waited", "Priority": r"JobId=\d+ has priority", "SelectType": r"JobId=\d+ gets cores",
                 "Steps": r"StepCreated JobId=\d+ StepId=\d+\.0 Tasks=1 NodeList=n\d", "TraceJobs": r"JobCompleting JobId=\d+ State=",
                 "Agent": r"LaunchStep goes to 1 nodes"}
        self.run_cmd("scontrol", "setdebug", "verbose")  # what such lines need
        try:
            self.run_cmd("srun", "-n1", "true")
            self.wait_no_jobs()
            self.assertEqual([line for flag in flags for line in self.lines_of(flag.upper())], [])
            self.run_cmd("scontrol", "setdebugflags", *("+" + flag for flag in flags))
            self.run_cmd("srun", "-n1", "true")
            running, waiting = self.start_job("-N3", "--exclusive"), self.submit("-N3", "--exclusive", "-o", "/dev/null", "--wrap", "true")
            for flag, what in flags.items():
                wait_for(lambda flag=flag, what=what: any(re.search(f"{flag.upper()}: {what}", line) for line in self.lines_of(flag.upper())),
                         f"a line of {flag}")
            self.cancel(waiting, running)
            self.wait_no_jobs()
            self.run_cmd("scontrol", "setdebugflags", *("-" + flag for flag in flags))
            length = len(self.cluster.log())
            self.run_cmd("srun", "-n1", "true")
            self.wait_no_jobs()
            self.assertEqual([line for flag in flags for line in self.lines_of(flag.upper(), length)], [])
        finally:
            self.run_cmd("scontrol", "setdebugflags", *("-" + flag for flag in flags))
            self.run_cmd("scontrol", "setdebug", "info")

    def test_debug_of_nodes(self):
        job = lambda: self.run_cmd("srun", "-w", "n2", "-n1", "true")
        try:
            self.run_cmd("scontrol", "setdebug", "verbose", "nodes=n[1-2]")
            self.run_cmd("scontrol", "setdebugflags", "+Steps", "+CPU_Bind", "nodes=n2")
            job()
            wait_for(lambda: any(re.search(r"STEPS: launching step \d+\.0 ", line) for line in self.lines_of("STEPS", log="n2")),
                     "the agent says what it launches")
            wait_for(lambda: self.lines_of("CPU_BIND", log="n2"), "and on what")
            self.wait_no_jobs()
            self.assertEqual(self.lines_of("STEPS", log="n1"), [])
            shown = self.out("scontrol", "show", "config")
            self.assertRegex(shown, r"(?m)^SlurmctldDebug +\S* *= info$")  # the controller's own are as they were
            self.assertRegex(shown, r"(?m)^DebugFlags += \(null\)$")
            self.run_cmd("scontrol", "setdebugflags", "-Steps", "-CPU_Bind", "nodes=n2")
            length = len(self.cluster.log("n2"))
            job()
            self.wait_no_jobs()
            self.assertEqual(self.lines_of("STEPS", length, "n2"), [])
        finally:
            self.run_cmd("scontrol", "setdebugflags", "-Steps", "-CPU_Bind", "nodes=n2")
            self.run_cmd("scontrol", "setdebug", "info", "nodes=n[1-2]")
        self.fails("slurm_set_debug_level error: Invalid node name specified\n", "scontrol", "setdebug", "info", "nodes=n99")
        denied = self.run_cmd("scontrol", "setdebug", "debug", "nodes=n1", user=STRANGER, check=False)
        self.assertEqual(denied.returncode, 1)
        self.assertRegex(denied.stderr, "slurm_set_debug_level error: .*denied")

    def test_show_daemons_and_slurmd(self):
        self.assertEqual(self.out("scontrol", "show", "daemons"), "slurmctld slurmd\n")
        job = self.start_job("-w", "n1")
        told = dict(line.split("= ", 1) for line in self.out("scontrol", "show", "slurmd").splitlines() if "= " in line)
        told = {key.strip(): value for key, value in told.items()}
        self.assertEqual((told["Hostname"], told["Active Steps"]), ("n1", f"{job}.batch"))
        self.assertEqual(told["Slurmd PID"], str(self.cluster.node_pid("n1")))
        other = self.out("scontrol", "show", "slurmd", env={"SLURMD_NODENAME": "n2"})
        self.assertIn("Active Steps             = NONE\n", other)
        self.cancel(job)

    def test_errnumstr(self):
        self.assertEqual(self.out("scontrol", "errnumstr", "2017"), "Invalid job id specified\n")
        self.assertEqual(self.out("scontrol", "errnumstr", "2"), "No such file or directory\n")
        self.assertEqual(self.out("scontrol", "errnumstr", "9999"), "Unknown error 9999\n")
        self.fails("numeric arguments required for keyword:errnumstr\n", "scontrol", "errnumstr", "abc")

    def test_quit(self):
        done = self.run_cmd("scontrol", stdin="show hostnames a1\nquit\nshow hostnames a2\n")
        self.assertEqual(done.stdout, "scontrol: show hostnames a1\na1\nscontrol: quit\n")

    # updates ----------------------------------------------------------------------------------------

    def test_update_waiting_job(self):
        other = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        job = self.submit("-H", "-n2", "-o", "/dev/null", "--wrap", "true")
        for key, value, shown, after in (
                ("JobName", "fresh", "JobName", "fresh"), ("TimeLimit", "1:00:00", "TimeLimit", "01:00:00"),
                ("Account", "proj", "Account", "proj"), ("Comment", "hello", "Comment", "hello"),
                ("Nice", "12", "Nice", "12"), ("NumTasks", "3", "NumTasks", "3"), ("NumCPUs", "3", "NumCPUs", "3"),
                ("NumNodes", "2", "NumNodes", "2"), ("NumNodes", "1-2", "NumNodes", "1-2"), ("NumNodes", "2", "NumNodes", "2-2"),
                ("ReqNodeList", "n[1-2]", "ReqNodeList", "n[1-2]"), ("ExcNodeList", "n3", "ExcNodeList", "n3"),
                ("Requeue", "0", "Requeue", "0"), ("MinMemoryNode", "300", "MinMemoryNode", "300M"),
                ("MailType", "END", "MailType", "END"), ("MailUser", "boss", "MailUser", "boss"), ("Licenses", "solver", "Licenses", "solver"),
                ("MinMemoryCPU", "70", "MinMemoryCPU", "70M"), ("WorkDir", "/usr", "WorkDir", "/usr"),
                ("Dependency", f"afterany:{other}", "Dependency", f"afterany:{other}(unfulfilled)"),
                ("Dependency", "", "Dependency", "(null)"),
                ("EligibleTime", "2038-01-18T10:00:00", "EligibleTime", "2038-01-18T10:00:00"),
                ("Deadline", "2038-01-19T10:00:00", "Deadline", "2038-01-19T10:00:00"), ("Contiguous", "yes", "Contiguous", "1")):
            with self.subTest(key=key, value=value):
                done = self.run_cmd("scontrol", "update", f"JobId={job}", f"{key}={value}", check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.show(job).get(shown), after)
        self.cancel(job, other)

    def test_update_what_acts(self):
        """What is changed counts when the job starts, not only in what is shown."""
        first = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        job = self.submit("-H", "-o", f"{self.cluster.work}/where", "--wrap", "pwd")
        self.run_cmd("scontrol", "update", f"JobId={job}", f"Dependency=afterany:{first}", "WorkDir=/usr")
        self.run_cmd("scontrol", "release", job)
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%r") == "Dependency\n", "it waits for the first")
        self.run_cmd("scancel", first)
        self.assertEqual((self.wait_ended(job), self.file("where")), ("COMPLETED", "/usr\n"))
        late = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={late}", "EligibleTime=now+1hour")
        self.run_cmd("scontrol", "release", late)
        wait_for(lambda: self.out("squeue", "-h", "-j", late, "-o", "%r") == "BeginTime\n", "it waits for its time")
        self.run_cmd("scontrol", "update", f"JobId={late}", "EligibleTime=now")
        self.assertEqual(self.wait_ended(late), "COMPLETED")
        missed = self.submit("-H", "-t", "1", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={missed}", "Deadline=now+2seconds")
        self.run_cmd("scontrol", "release", missed)
        self.wait_state(missed, "DEADLINE")

    def test_update_reservation_of_a_job(self):
        self.run_cmd("scontrol", "create", "reservation=kept", "starttime=now", "duration=60", "users=root", "nodes=n3")
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.run_cmd("scontrol", "update", f"JobId={job}", "ReservationName=kept")
        self.assertEqual(self.show(job)["Reservation"], "kept")
        self.run_cmd("scontrol", "release", job)
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.show(job)["NodeList"], "n3")
        self.cancel(job)
        self.run_cmd("scontrol", "delete", "reservation=kept")

    def named_jobs(self):
        """Waiting jobs that are all called crowd: root's, another user's, and root's array."""
        submit = lambda *args, **options: self.submit("-H", "--begin=now+1hour", "-J", "crowd", "-t", "10", "-D", "/tmp", "-o", "/dev/null",
                                                      *args, "--wrap", "true", **options)
        return submit(), submit(user=NOBODY), submit("--array=1-3")

    def test_update_by_name(self):  # JobName= without JobId: all jobs of that name, with UserID= that user's
        mine, theirs, array = self.named_jobs()
        other = self.submit("-H", "-J", "alone", "-t", "10", "-o", "/dev/null", "--wrap", "true")
        def minutes(*words, **options):
            done = self.run_cmd("scontrol", "update", *words, check=False, **options)
            return done, [int(self.show(job)["TimeLimit"].split(":")[1]) for job in (mine, theirs, array, other)]
        self.assertEqual(minutes("JobName=crowd", "TimeLimit=+5")[1], [15, 15, 15, 10])  # once each
        self.assertEqual(minutes("jobname=crowd", "userid=root", "timelimit=4")[1], [4, 15, 4, 10])
        self.assertEqual(minutes("jobname=crowd", f"UserID={NOBODY}", "timelimit=3")[1], [4, 3, 4, 10])
        done, after = minutes("JobName=crowd", "TimeLimit=2", user=NOBODY)
        self.assertEqual((done.returncode, done.stdout, sorted(done.stderr.splitlines())),
                         (1, "", sorted([f"Access/permission denied for job {mine}", f"{array}_1-3: Access/permission denied"])))
        self.assertEqual(after, [4, 2, 4, 10])
        self.run_cmd("scontrol", "update", f"JobId={mine}", "JobName=renamed")
        self.run_cmd("scontrol", "update", "JobName=renamed", "Comment=found", "JobName=again")
        self.assertEqual((self.show(mine)["JobName"], self.show(mine)["Comment"]), ("again", "found"))
        for words, err in ((("JobName=nobodys", "TimeLimit=5"), "scontrol: error: JobName nobodys not found\n"),
                           (("JobName=crowd",), "No changes specified\n"),
                           (("JobName=crowd", "UserID=no-such-user", "TimeLimit=5"), "Invalid UserID: no-such-user\nRequest aborted\n"),
                           ((f"JobId={mine}", "UserID=root", "TimeLimit=5"),
                            "Update of this parameter is not supported: UserID=root\nRequest aborted\n")):
            self.fails(err, "scontrol", "update", *words)
        self.run_cmd("scancel", mine, theirs, array, other)

    def test_hold_by_name(self):  # hold, uhold, release, suspend, resume and requeuehold take jobname=
        jobs = self.named_jobs()
        reasons = lambda: [self.out("squeue", "-h", "-j", job, "-o", "%r").strip() for job in jobs]
        for verb, held in (("release", []), ("hold", ["JobHeldAdmin"] * 3), ("release", []), ("uhold", ["JobHeldUser"] * 3)):
            self.run_cmd("scontrol", verb, "jobname=crowd")
            self.assertEqual([reason for reason in reasons() if reason.startswith("JobHeld")], held, verb)
        self.run_cmd("scancel", *jobs)
        array = self.submit("--array=1-3%1", "-J", "crowd", "-o", "/dev/null", "--wrap", "sleep 1000")
        wait_for(lambda: self.state(f"{array}_1") == "RUNNING", "a task runs")
        self.run_cmd("scontrol", "hold", "jobname=crowd")  # which leaves it alone
        self.assertEqual(self.out("squeue", "-h", "-j", array, "-o", "%i %r"), f"{array}_[2-3%1] JobHeldAdmin\n{array}_1 None\n")
        self.run_cmd("scancel", array)
        running = self.start_job("-J", "steady")
        self.run_cmd("scontrol", "suspend", "jobname=steady")
        self.wait_state(running, "SUSPENDED")
        self.run_cmd("scontrol", "resume", "jobname=steady")
        self.wait_state(running, "RUNNING")
        self.run_cmd("scontrol", "requeuehold", "jobname=steady")
        self.wait_state(running, "PENDING")
        self.assertEqual(self.show(running)["Restarts"], "1")
        self.cancel(running)

    def test_update_refused(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        named, none = f"JobId={job}", "scontrol: error: No changes specified\n"
        for words, err in (
                ((named, "Priority=5"), f"Job is in held state, pending scheduler release for job {job}\n"),
                ((named, "Partition="), f"Invalid partition name specified for job {job}\n"),
                ((named, "ReservationName=foo"), f"Requested reservation is invalid for job {job}\n"),
                ((named, "Licenses=foo"), f"Invalid license specification for job {job}\n"),
                ((named, "NumCPUs=4-2"), "scontrol: error: Invalid NumCPUs value: 4-2\n"),
                ((named, "NumTasks=foo"), "scontrol: error: Invalid NumTasks value: foo\n"),
                ((named, "TimeLimit=foo"), "scontrol: error: Invalid TimeLimit value\n"),
                ((named, "MailType=foo"), "Invalid MailType: foo\n"),
                (("Node=n1", "ActiveFeatures=nope"), "slurm_update error: Active features not subset of available features\n"),
                (("PartitionName=debug",), none), (("Partition=",), none)):
            with self.subTest(words=words):
                done = self.run_cmd("scontrol", "update", *words, check=False)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (1, err))
        done = self.run_cmd("scontrol", "create", "Partition=", check=False)
        self.assertEqual((done.returncode, done.stderr + done.stdout), (1, "Error creating the partition: Invalid partition name specified\n"))
        self.run_cmd("scontrol", "update", named, "DelayBoot=5", "nice")
        self.assertEqual((self.show(job)["DelayBoot"], self.show(job)["Nice"]), ("00:05:00", "100"))
        self.run_cmd("scontrol", "update", named, "NumCPUs=2-4")
        self.assertEqual(self.show(job)["NumCPUs"], "2-4")
        self.cancel(job)

    def test_update_running_job(self):
        job = self.start_job("-t", "10")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=5")
        self.assertEqual(self.show(job)["TimeLimit"], "00:05:00")
        self.run_cmd("scontrol", "update", f"JobId={job}", "Comment=seen", "JobName=named")
        self.assertEqual((self.show(job)["Comment"], self.show(job)["JobName"]), ("seen", "named"))
        done = self.run_cmd("scontrol", "update", f"JobId={job}", "NumTasks=7", check=False)
        self.assertEqual(done.returncode, 1)
        self.cancel(job)

    def test_update_node(self):
        self.run_cmd("scontrol", "update", "NodeName=n2", "Features=slow")
        self.fails("slurm_update error: Active features not subset of available features\n",
                   "scontrol", "update", "NodeName=n2", "Features=fast,big")
        self.run_cmd("scontrol", "update", "NodeName=n2", "Comment=slow disk", "Extra=rack7", "Weight=9",
                     "AvailableFeatures=fast,big", "ActiveFeatures=fast")
        text = self.out("scontrol", "show", "node", "n2")
        for part in ("Comment=slow disk\n", "Extra=rack7\n", "Weight=9 ", "AvailableFeatures=fast,big\n",
                     "ActiveFeatures=fast\n"):
            self.assertIn(part, text)
        address = re.search(r"NodeAddr=(\S+)", text)[1]
        self.run_cmd("scontrol", "update", "NodeName=n2", "NodeAddr=localhost")
        self.assertIn("NodeAddr=localhost ", self.out("scontrol", "show", "node", "n2"))
        self.assertEqual(self.out("srun", "-w", "n2", "echo", "there"), "there\n")
        self.run_cmd("scontrol", "update", "NodeName=n2", f"NodeAddr={address}")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n2", "-o", "%T %E %u").split(), ["drained", "test", "root"])
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=UNDRAIN")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n2", "-o", "%T %E").split(), ["idle", "none"])
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=gone")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n2", "-o", "%T").split(), ["down"])
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME", "Weight=1", "ActiveFeatures=")
        self.run_cmd("scontrol", "update", "NodeName=n2", "AvailableFeatures=")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T").strip() == "idle", "n2 is idle again")

    def test_resume_after(self):
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=short", "ResumeAfter=1")
        self.assertRegex(self.out("scontrol", "show", "node", "n2"), r"ResumeAfterTime=20\d\d-")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T").strip() == "idle", "n2 comes back by itself")
        self.assertIn("ResumeAfterTime=None", self.out("scontrol", "show", "node", "n2"))

    def test_update_partition(self):
        self.run_cmd("scontrol", "create", "PartitionName=part", "Nodes=n1")
        shown = lambda: dict(w.split("=", 1) for w in self.out("scontrol", "show", "partition", "part", "-o").split() if "=" in w)
        for key, value, after in (
                ("MaxTime", "2:00:00", "02:00:00"), ("DefaultTime", "30", "00:30:00"), ("MaxNodes", "2", "2"),
                ("MinNodes", "1", "1"), ("Nodes", "n[2-3]", "n[2-3]"), ("State", "DRAIN", "DRAIN"),
                ("PriorityTier", "5", "5"), ("AllowGroups", "root", "root"), ("OverSubscribe", "EXCLUSIVE", "EXCLUSIVE"),
                ("Hidden", "YES", "YES"), ("RootOnly", "YES", "YES"), ("DisableRootJobs", "YES", "YES"),
                ("DefMemPerCPU", "50", "50"), ("MaxMemPerNode", "900", "900"), ("LLN", "YES", "YES"),
                ("MaxCPUsPerNode", "2", "2"), ("MaxCPUsPerSocket", "1", "1"), ("GraceTime", "10", "10"), ("OverTimeLimit", "3", "3"),
                ("AllowAccounts", "a,b", "a,b"), ("AllowAccounts", "ALL", "ALL"), ("DenyAccounts", "c,d", "c,d"),
                ("AllowQos", "high", "high"), ("AllowQos", "ALL", "ALL"), ("DenyQos", "low", "low"), ("AllocNodes", "n1,n2", "n1,n2"),
                ("Alternate", "debug", "debug"), ("ReqResv", "YES", "YES"), ("PriorityJobFactor", "7", "7"), ("QoS", "limits", "limits"),
                ("Default", "YES", "YES"), ("Default", "NO", "NO"),
                ("JobDefaults", "DefCpuPerGPU=2,DefMemPerGPU=300", "DefCpuPerGPU=2,DefMemPerGPU=300"),
                ("JobDefaults", "DefMemPerGPU=70", "DefMemPerGPU=70"), ("JobDefaults", "", "(null)")):
            with self.subTest(key=key, value=value):
                self.run_cmd("scontrol", "update", "PartitionName=part", f"{key}={value}")
                self.assertEqual(shown().get(key), after)
        self.assertIn("warning: partition part: PartitionName.QOS has no effect\n", self.cluster.log())
        self.assertNotIn("partition part: GraceTime ", self.cluster.log())
        self.assertNotIn("partition part: MaxTime ", self.cluster.log())
        self.fails("slurm_update error: Invalid JobDefaults specification\n", "scontrol", "update", "PartitionName=part", "JobDefaults=foo=5")
        self.run_cmd("scontrol", "delete", "PartitionName=part")
        for key, value, name, after in (("ExclusiveUser", "YES", "Exclusive", "USER"), ("MaxMemPerCPU", "70", "MaxMemPerCPU", "70"),
                                        ("DefMemPerNode", "300", "DefMemPerNode", "300")):
            with self.subTest(key=key):
                self.run_cmd("scontrol", "create", "PartitionName=part", "Nodes=n1")
                self.run_cmd("scontrol", "update", "PartitionName=part", f"{key}={value}")
                self.assertEqual(shown().get(name), after)
                self.run_cmd("scontrol", "delete", "PartitionName=part")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "Default=YES")

    def test_partitions_as_changed(self):
        """What an update allows and refuses holds for the next job. Of another account or QOS it waits."""
        self.run_cmd("scontrol", "create", "PartitionName=part", "Nodes=n1")
        for change, options, why in (("AllowAccounts=good", ["-A", "bad"], "AccountNotAllowed"), ("DenyAccounts=bad", ["-A", "bad"], "AccountNotAllowed"),
                                     ("AllowQos=good", ["-q", "bad"], "QOSNotAllowed"), ("DenyQos=bad", ["-q", "bad"], "QOSNotAllowed"),
                                     ("AllocNodes=nowhere", [], None), ("ReqResv=YES", [], None)):
            with self.subTest(change=change):
                self.cancel(self.submit("-H", "-p", "part", *options, "--wrap", "true"))
                self.run_cmd("scontrol", "update", "PartitionName=part", change)
                if why is None:
                    self.fails("sbatch: error: Batch job submission failed: Access/permission denied\n", "sbatch", "-p", "part", *options, "--wrap", "true")
                else:
                    job = self.submit("-p", "part", *options, "-o", "/dev/null", "--wrap", "true")
                    reason = lambda: self.out("squeue", "-h", "-j", job, "-o", "%r").strip()  # pylint: disable=cell-var-from-loop
                    wait_for(lambda: reason() == why, "the job waits")  # pylint: disable=cell-var-from-loop
                    self.cancel(job)
                key = change.partition("=")[0]
                self.run_cmd("scontrol", "update", "PartitionName=part", f"{key}=NO" if key == "ReqResv" else f"{key}=")
        self.run_cmd("scontrol", "update", "PartitionName=part", "DefMemPerNode=300", "Default=YES")
        job = self.submit("-H", "--wrap", "true")
        shown = self.show(job)
        self.assertEqual(shown["Partition"], "part")
        self.assertIn(",mem=300M,", shown["ReqTRES"])
        # the memory that it gets there is the partition's, not the cluster's
        memory = lambda: self.out("squeue", "-h", "-j", job, "-o", "%m").strip()
        self.assertEqual((memory(), shown["MinMemoryNode"]), ("300M", "300M"))
        self.run_cmd("scontrol", "update", f"JobId={job}", "Partition=debug")
        self.assertEqual((memory(), self.show(job)["MinMemoryCPU"]), ("100M", "100M"))
        self.cancel(job)
        self.run_cmd("scontrol", "update", "PartitionName=debug", "Default=YES")
        self.run_cmd("scontrol", "delete", "PartitionName=part")


class WaitingJobs(ClusterCase):
    """scontrol update of held jobs, of which each has one thing changed."""
    NODES = 3
    CONF = "".join(f"NodeName=n{i} NodeAddr=127.0.0.1 Port=@{i} CPUs=8 RealMemory=4000 TmpDisk=1000 Feature=f{i}\n" for i in (1, 2, 3))
    CONF += "PartitionName=debug Nodes=ALL Default=YES State=UP\nAllowSpecResourcesUsage=YES\nGresTypes=gpu\n"

    def test_update(self):
        work = self.cluster.work
        for change, shown in (
                ("AdminComment=seen", dict(AdminComment="seen")), ("Nice=", dict(Nice="0")),
                ("TimeLimit=0", dict(TimeLimit="00:01:00")),  # no time, not no limit
                ("CPUsPerTask=2", {"CPUs/Task": "2", "NumCPUs": "4"}),
                ("CpusPerTres=gpu:2", dict(CpusPerTres="gres/gpu:2")),
                ("MemPerTres=gpu:100", dict(MemPerTres="gres/gpu:100")),
                ("TresBind=gres/gpu:closest", dict(TresBind="gres/gpu:closest")),
                ("ClusterFeatures=fast", dict(ClusterFeatures="fast")),
                ("MinCPUsNode=3", dict(MinCPUsNode="3")),
                ("MinTmpDiskNode=70", dict(MinTmpDiskNode="70M")),
                ("Reboot=yes", dict(Reboot="1")),
                ("ReqNodes=2-3", dict(NumNodes="2-3")),
                ("ReqProcs=6", dict(NumTasks="6")),
                ("Shared=yes", dict(OverSubscribe="YES")),
                ("Shared=no", dict(OverSubscribe="NO", Exclusive="NODE")),
                ("StdErr=/tmp/err", dict(StdErr="/tmp/err")),
                ("StdIn=in.%x", dict(StdIn=work + "/in.wrap")),
                ("StdOut=sub/out", dict(StdOut=work + "/sub/out")),
                ("ThreadSpec=1", dict(ThreadSpec="1")),
                ("TresPerTask=cpu=3", {"CPUs/Task": "3", "NumCPUs": "6"}),
                ("WCKey=key", dict(WCKey="key"))):
            with self.subTest(change=change):
                job = self.submit("-H", "-n2", "--wrap", "true")
                self.run_cmd("scontrol", "update", f"JobId={job}", change)
                found = self.show(job)
                self.assertEqual({key: found.get(key) for key in shown}, shown)
                self.run_cmd("scancel", job)

    def test_values_that_no_node_has(self):
        job = self.submit("-H", "-n2", "--wrap", "true")
        before = self.show(job)
        for change in ("CPUsPerTask=9", "MinCPUsNode=9", "ReqNodes=4"):
            with self.subTest(change=change):
                done = self.run_cmd("scontrol", "update", f"JobId={job}", change, check=False)
                self.assertEqual((done.returncode, self.show(job)), (1, before), done.stderr)
        done = self.run_cmd("scontrol", "update", f"JobId={job}", "MinTmpDiskNode=1001")  # as in Slurm
        self.assertEqual(done.stderr, "")
        self.run_cmd("scontrol", "release", job)
        wait_for(lambda: self.show(job)["Reason"] == "BadConstraints", "the job waits for such a node")
        self.run_cmd("scontrol", "update", f"JobId={job}", "Comment=later")
        self.run_cmd("scancel", job)

    def test_accrue_time(self):  # ResetAccrueTime
        first = self.submit("-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(first, "RUNNING")
        waits = self.submit("-o", "/dev/null", "--wrap", "true")
        eligible = self.show(waits)["EligibleTime"]
        self.assertEqual(self.show(waits)["AccrueTime"], eligible)

        def is_later():
            self.run_cmd("scontrol", "update", f"JobId={waits}", "ResetAccrueTime")
            return self.show(waits)["AccrueTime"] > eligible
        wait_for(is_later, "it accrues from a later second on")
        self.assertEqual(self.show(waits)["EligibleTime"], eligible)
        self.run_cmd("scancel", first, waits)


if __name__ == "__main__":
    need_root()
    unittest.main()
