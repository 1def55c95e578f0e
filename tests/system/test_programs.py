"""The site's programs: prologs, epilogs, health checks, records of ended jobs."""
import os
import re
import signal
import subprocess
import unittest

from harness import ClusterCase, need_root, processes, wait_for

# {dir} is the cluster's folder. Each notes that it ran; a file beside it makes it fail or wait.
PROLOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURM_JOB_USER $SLURMD_NODENAME $SLURM_SCRIPT_CONTEXT" >> {dir}/work/prolog.ran
while [ -e {dir}/work/prolog.wait ]; do sleep 0.05; done
[ ! -e {dir}/work/prolog.fail.$SLURMD_NODENAME ] && exit 0
echo "no scratch on $SLURMD_NODENAME"
printf '\\033[1mdisk is full\n' >&2
exit 3
"""
EPILOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURM_JOB_USER $SLURMD_NODENAME $SLURM_SCRIPT_CONTEXT $SLURM_JOB_EXIT_CODE2" >> {dir}/work/epilog.ran
[ ! -e {dir}/work/epilog.fail ]
"""
CONTROLLER_PROLOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURM_JOB_USER $SLURM_JOB_NODELIST $SLURM_WCKEY $SLURM_SCRIPT_CONTEXT" >> {dir}/work/prolog_ctld.ran
[ ! -e {dir}/work/prolog_ctld.fail ] || { echo "no licence" >&2; exit 1; }
"""
CONTROLLER_EPILOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURM_JOB_EXIT_CODE2 $SLURM_JOB_STATE $SLURM_WCKEY $SLURM_SCRIPT_CONTEXT" >> {dir}/work/epilog_ctld.ran
"""
HEALTH = """#!/bin/sh
echo "$SLURMD_NODENAME" >> {dir}/work/health.ran
[ -e {dir}/work/sick.$SLURMD_NODENAME ] || exit 0
%s/scontrol update NodeName=$SLURMD_NODENAME State=DRAIN Reason=unhealthy
"""


class FlagFiles(ClusterCase):
    """Files that make a program wait or fail while they are there."""

    def flag(self, name):
        path = os.path.join(self.cluster.work, name)
        open(path, "w", encoding="utf-8").close()
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        return path


class Programs(FlagFiles):
    NODES, CPUS = 2, 2
    CONF = ("Prolog={dir}/prolog\nEpilog={dir}/epilog\nPrologSlurmctld={dir}/prolog_ctld\nEpilogSlurmctld={dir}/epilog_ctld\n"
            "PrologFlags=Alloc\nMinJobAge=3\nJobCompType=jobcomp/filetxt\nJobCompLoc={dir}/jobs.txt\n")
    FILES = {"prolog": PROLOG, "epilog": EPILOG, "prolog_ctld": CONTROLLER_PROLOG, "epilog_ctld": CONTROLLER_EPILOG}

    def tearDown(self):  # nothing of one test is left to be cleaned in the next
        wait_for(lambda: self.out("squeue", "-h") == "" and "idle|none" == self.node("n1") == self.node("n2"), "all is idle")

    def lines(self, name, job):
        return [line.split()[1:] for line in self.file(name).splitlines() if line.split()[0] == str(job)]

    def node(self, name):
        return self.out("sinfo", "-h", "-n", name, "-o", "%T|%E").strip()

    def test_all_run(self):
        job = self.submit("-N2", "--wckey=key", "-o", "/dev/null", "--wrap", "exit 3")
        self.assertEqual(self.wait_ended(job), "FAILED")
        on = lambda name: sorted(self.lines(name, job))
        self.assertEqual(on("prolog_ctld.ran"), [["root", "n[1-2]", "key", "prolog_slurmctld"]])
        self.assertEqual(on("prolog.ran"), [["root", "n1", "prolog_slurmd"], ["root", "n2", "prolog_slurmd"]])
        self.assertEqual(on("epilog.ran"), [["root", "n1", "epilog_slurmd", "3:0"], ["root", "n2", "epilog_slurmd", "3:0"]])
        wait_for(lambda: on("epilog_ctld.ran") == [["3:0", "FAILED", "key", "epilog_slurmctld"]], "EpilogSlurmctld ran")

    def test_wait_job(self):  # scontrol wait_job: until the prologs are over
        gate = self.flag("prolog.wait")
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%t") == "CF\n", "its prolog runs")
        with self.cluster.start("scontrol", "wait_job", str(job)) as waiting:
            for _ in range(5):
                self.out("squeue")
            self.assertIsNone(waiting.poll())
            os.remove(gate)
            self.assertEqual(waiting.wait(timeout=60), 0)
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        done = self.run_cmd("scontrol", "wait_job", job, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"scontrol: Job {job} no longer running\n"))

    def test_failing_prolog(self):
        fail = self.flag("prolog.fail.n1")
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T %R") == "PENDING (launch failed requeued held)\n",
                 "the job is queued again and held")
        self.assertEqual(self.node("n1"), "drained|Prolog error")
        self.assertEqual(self.show(job)["Priority"], "0")
        prolog = f"error: JobId={job}: {self.cluster.dir}/prolog"
        log = self.cluster.log("n1")
        for text in (" ended with exit status 3", ": no scratch on n1", r": \x1b[1mdisk is full"):
            self.assertIn(f"{prolog}{text}\n", log)
        os.remove(fail)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(len(self.lines("prolog.ran", job)), 2)

    def test_failing_prolog_of_a_job_that_runs_once(self):
        fail = self.flag("prolog.fail.n1")
        job = self.submit("--no-requeue", "-w", "n1", "-o", "/dev/null", "--wrap", "true")
        shown = wait_for(lambda: (now := self.show(job))["JobState"] == "FAILED" and now, "the job is over")
        self.assertEqual((shown["Reason"], shown["ExitCode"], shown["Restarts"]), ("Prolog", "0:53", "0"))
        self.assertEqual(self.node("n1"), "drained|Prolog error")
        os.remove(fail)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")

    def test_failing_controller_prolog(self):
        fail = self.flag("prolog_ctld.fail")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: int(self.show(job)["Restarts"]) >= 1, "the job is queued again")
        self.assertEqual(self.lines("prolog.ran", job), [])
        self.assertIn(f"error: JobId={job}: {self.cluster.dir}/prolog_ctld: no licence\n", self.cluster.log())
        self.assertNotIn("drain", self.node("n1") + self.node("n2"))
        os.remove(fail)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        fail = self.flag("prolog_ctld.fail")
        done = self.run_cmd("srun", "true", check=False)  # cannot be queued again
        self.assertNotEqual(done.returncode, 0)

    def test_failing_epilog(self):
        fail = self.flag("epilog.fail")
        job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.node("n2"), "drained|Epilog error")
        os.remove(fail)
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")

    def test_record_of_an_ended_job(self):
        job = self.submit("-J", "rec", "-t", "7", "-w", "n2", "-o", "/dev/null", "--wrap", "exit 2")
        self.wait_ended(job)
        path = os.path.join(self.cluster.dir, "jobs.txt")

        def read():
            if not os.path.exists(path):
                return []
            with open(path, encoding="utf-8") as f:
                return [line for line in f if line.startswith(f"JobId={job} ")]
        line = wait_for(read, "its line")[0]
        stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
        self.assertRegex(line, rf"^JobId={job} UserId=root\(0\) GroupId=root\(0\) Name=rec JobState=FAILED Partition=debug "
                         rf"TimeLimit=7 StartTime={stamp} EndTime={stamp} NodeList=n2 NodeCnt=1 ProcCnt=1 "
                         rf"WorkDir={re.escape(self.cluster.work)} ReservationName= Tres=cpu=1,mem=100M,node=1,billing=1 Account= "
                         rf"QOS= WcKey= Cluster=trial SubmitTime={stamp} EligibleTime={stamp} DerivedExitCode=0:0 ExitCode=2:0 \n$")

    def test_old_jobs_are_purged(self):
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        wait_for(lambda: self.run_cmd("scontrol", "show", "job", job, check=False).returncode == 1, "MinJobAge is over")
        self.assertEqual(self.out("squeue", "-h", "-t", "all", "-o", "%i").split().count(str(job)), 0)


class Flags(FlagFiles):
    """PrologFlags."""
    NODES, CPUS, CONF = 2, 2, "Prolog={dir}/prolog\nPrologFlags=Alloc\n"
    FILES = {"prolog": """#!/bin/sh
echo $SLURM_JOB_ID $SLURMD_NODENAME >> {dir}/work/began
while [ -e {dir}/work/gate.$SLURMD_NODENAME ]; do sleep 0.05; done
[ ! -e {dir}/work/fail.$SLURMD_NODENAME ]
"""}

    def tearDown(self):
        self.wait_no_jobs()

    def set_flags(self, flags):
        old = self.cluster.change_conf(lambda conf: re.sub("PrologFlags=.*", f"PrologFlags={flags}", conf))
        self.addCleanup(self.run_cmd, "scontrol", "reconfigure")
        self.addCleanup(self.cluster.change_conf, lambda _: old)
        self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: flags in self.out("scontrol", "show", "config"), "the controller has them")

    def gated(self, script, *options):
        """A job of both nodes, the prolog of n1 over, that of n2 not: its number and the file that holds it."""
        gate = self.flag("gate.n2")
        job = self.submit("-N2", *options, "--wrap", script)
        wait_for(lambda: f"{job} n1\n" in self.file("began") and f"{job} n2\n" in self.file("began"), "both prologs run")
        return job, gate

    def test_script_waits_for_its_own_node(self):
        job, gate = self.gated("echo script; srun echo step", "-o", "early.out")
        wait_for(lambda: self.file("early.out") == "script\n", "the script runs")
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        steps = [line for line in self.file("early.out").splitlines() if not line.startswith("srun: ")]
        self.assertEqual(steps, ["script", "step", "step"])

    def test_defer_batch(self):
        self.set_flags("Alloc,DeferBatch")
        job, gate = self.gated("echo script", "-o", "late.out")
        self.wait_ended(self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true"))  # launched after it would have been
        self.assertEqual((self.state(job), self.file("late.out")), ("CONFIGURING", ""))
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("late.out"), "script\n")

    def test_no_hold(self):
        self.set_flags("Alloc,NoHold")
        gate = self.flag("gate.n2")
        self.assertEqual(self.out("salloc", "-Q", "-w", "n2", "sh", "-c", "squeue -h -j $SLURM_JOB_ID -o %T"), "CONFIGURING\n")
        with self.cluster.start("srun", "-w", "n2", "echo", "step", stdout=subprocess.PIPE) as srun:
            wait_for(lambda: self.out("squeue", "-s", "-h"), "its step waits at the node")
            self.assertIsNone(srun.poll())
            os.remove(gate)
            self.assertEqual(srun.communicate(timeout=60)[0], "step\n")

    def test_force_requeue_on_fail(self):
        resume = ("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.addCleanup(self.run_cmd, *resume, check=False)
        fail = self.flag("fail.n1")
        once = ("--no-requeue", "-w", "n1", "-o", "/dev/null", "--wrap", "true")
        job = self.submit(*once)
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertEqual(self.show(job)["Reason"], "Prolog")
        self.run_cmd(*resume)
        self.set_flags("Alloc,ForceRequeueOnFail")
        job = self.submit(*once)
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T %R") == "PENDING (launch failed requeued held)\n",
                 "the job is queued again and held")
        os.remove(fail)
        self.run_cmd("scancel", job)


    def test_failure_after_the_job_was_cancelled(self):
        self.addCleanup(self.run_cmd, "scontrol", "update", "NodeName=n2", "State=RESUME", check=False)
        node = lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T|%E").strip()
        for fails, after in ((False, "idle|none"), (True, "drained|Prolog error")):
            gate = self.flag("gate.n2")
            fail = self.flag("fail.n2") if fails else None
            job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true")
            wait_for(lambda job=job: f"{job} n2\n" in self.file("began"), "its prolog runs")
            self.run_cmd("scancel", job)
            wait_for(lambda job=job: self.show(job)["JobState"] in ("CANCELLED", "COMPLETING"), "it is over")
            os.remove(gate)
            self.assertEqual(self.wait_ended(job), "CANCELLED")
            wait_for(lambda after=after: node() == after, f"the node is {after}")
            if fail:
                os.remove(fail)


class Restarted(FlagFiles):
    """An agent that dies does not see how its prologs end: they run again before their jobs do, and never twice at once."""
    NODES, CPUS, CONF = 1, 2, "Prolog={dir}/prolog\n"
    FILES = {"prolog": """#!/bin/sh
echo begin $$ >> {dir}/work/ran.$SLURM_JOB_ID
while [ -e {dir}/work/gate ]; do sleep 0.05; done
echo end >> {dir}/work/ran.$SLURM_JOB_ID
[ ! -e {dir}/work/fail ]
"""}

    def tearDown(self):
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)
        self.wait_no_jobs()

    def ran(self, job):
        return [line.split()[0] for line in self.file(f"ran.{job}").splitlines()]

    def registered(self):
        return self.cluster.log("n1").count("registered as n1")

    def orphaned(self):
        """A job whose prolog runs without its agent, and the file that holds it."""
        gate = self.flag("gate")
        job = self.submit("-o", "/dev/null", "--wrap", "echo script >> ran.$SLURM_JOB_ID")
        wait_for(lambda: self.ran(job) == ["begin"], "its prolog runs")
        wait_for(lambda: any(entry.startswith(f"{job}.") and not entry.endswith(".new")
                             for entry in os.listdir(f"{self.cluster.dir}/spool/n1/jobs")), "the agent has noted it")
        self.cluster.kill_node("n1")
        return job, gate

    def start_agent(self):
        before = self.registered()
        self.cluster.start_node("n1")
        wait_for(lambda: self.registered() > before, "the next agent is known")

    def test_the_job_waits_for_a_prolog_that_runs_on(self):
        job, gate = self.orphaned()
        self.start_agent()
        self.assertIn(f"a prolog or epilog of JobId={job} runs still", self.cluster.log("n1"))
        self.assertEqual(self.ran(job), ["begin"])
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.ran(job), ["begin", "end", "begin", "end", "script"])

    def test_a_prolog_that_its_agent_has_not_noted_never_begins(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "echo script >> ran.$SLURM_JOB_ID")
        jobs = f"{self.cluster.dir}/spool/n1/jobs"
        os.makedirs(jobs, exist_ok=True)
        note = f"{jobs}/{job}.0.new"
        os.mkfifo(note)  # the agent waits there for a reader
        self.addCleanup(lambda: os.path.exists(note) and os.remove(note))
        begun = lambda: [pid for pid, _, words in processes("cmdline") if f"{self.cluster.dir}/prolog".encode() in words]
        self.run_cmd("scontrol", "release", job)
        wait_for(begun, "its process is there")
        self.cluster.kill_node("n1")
        wait_for(lambda: not begun(), "it went with its agent")
        self.assertEqual(self.ran(job), [])
        os.remove(note)
        self.start_agent()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.ran(job), ["begin", "end", "script"])

    def test_a_prolog_that_is_gone_runs_again(self):
        job, gate = self.orphaned()
        pid = int(self.file(f"ran.{job}").split()[1])
        os.kill(pid, signal.SIGKILL)
        os.remove(gate)
        self.start_agent()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.ran(job), ["begin", "begin", "end", "script"])

    def test_a_failure(self):
        fail = self.flag("fail")
        job, gate = self.orphaned()
        self.start_agent()
        os.remove(gate)
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T %R") == "PENDING (launch failed requeued held)\n",
                 "the job is queued again and held")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n1", "-o", "%T|%E").strip(), "drained|Prolog error")
        self.assertEqual(self.ran(job), ["begin", "end", "begin", "end"])
        os.remove(fail)
        self.run_cmd("scancel", job)

    def test_a_job_that_is_cancelled_meanwhile(self):
        job, gate = self.orphaned()
        self.run_cmd("scancel", job)
        self.start_agent()
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(self.ran(job), ["begin", "end"])
        self.assertEqual(os.listdir(f"{self.cluster.dir}/spool/n1/jobs"), [])


class RestartedAlloc(Restarted):
    CONF = Restarted.CONF + "PrologFlags=Alloc\n"


class RestartedSerial(Restarted):
    CONF = Restarted.CONF + "PrologFlags=Serial\n"


class Timeouts(FlagFiles):
    """Prolog and Epilog that take too long are ended, and have failed."""
    NODES, CPUS = 1, 2
    CONF = "Prolog={dir}/slow_prolog\nEpilog={dir}/slow_epilog\nPrologTimeout=1\nEpilogTimeout=1\nPrologFlags=Alloc\n"
    FILES = {f"slow_{name}": f"#!/bin/sh\n[ ! -e {{dir}}/work/slow.{name} ] || exec sleep 987\n" for name in ("prolog", "epilog")}

    def drained(self, why):
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%T|%E").strip() == f"drained|{why}", f"the node is drained: {why}")
        self.assertEqual([pid for pid, exe, words in processes("cmdline") if exe == "sleep" and b"987" in words], [])
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")

    def test_prolog(self):
        slow = self.flag("slow.prolog")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T %R") == "PENDING (launch failed requeued held)\n", "the job is held")
        self.drained("Prolog error")
        os.remove(slow)
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_epilog(self):
        slow = self.flag("slow.epilog")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.drained("Epilog error")
        os.remove(slow)


class BothTimeouts(Timeouts):
    CONF = Timeouts.CONF.replace("PrologTimeout=1\nEpilogTimeout=1\n", "PrologEpilogTimeout=1\n")


class Serial(ClusterCase):
    """PrologFlags=Serial: each notes when another one runs beside it."""
    NODES, CPUS, CONF = 1, 6, "Prolog={dir}/script\nEpilog={dir}/script\nPrologFlags=Serial\n"
    FILES = {"script": """#!/bin/sh
mkdir {dir}/work/lock || echo $SLURM_JOB_ID >> {dir}/work/beside
sleep 0.1
rmdir {dir}/work/lock
echo $SLURM_SCRIPT_CONTEXT >> {dir}/work/ran
"""}

    def test_one_after_the_other(self):
        jobs = [self.submit("-n1", "-o", "/dev/null", "--wrap", "true") for _ in range(6)]
        for job in jobs:
            self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.wait_no_jobs()
        ran = self.file("ran").split()
        self.assertEqual((ran.count("prolog_slurmd"), ran.count("epilog_slurmd"), self.file("beside")), (6, 6, ""))


class Health(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = ("HealthCheckProgram={dir}/health\nHealthCheckInterval=1\nHealthCheckNodeState=IDLE\n"
            "JobCompType=jobcomp/script\nJobCompLoc={dir}/ended\n")
    FILES = {"health": HEALTH % os.path.join(os.environ.get("SLUICE_BUILD", "build/dev"), "bin"),
             "ended": "#!/bin/sh\necho $JOBID $JOBNAME $JOBSTATE $EXITCODE $NODES $PARTITION $USERNAME >> {dir}/work/ended.ran\n"}

    def test_health_check(self):
        counts = lambda: (self.file("health.ran").split().count("n1"), self.file("health.ran").split().count("n2"))
        self.assertGreaterEqual(min(counts()), 1)  # before it registered
        wait_for(lambda: min(counts()) >= 3, "it runs on both, again and again")
        job = self.submit("-w", "n1", "-n2", "-J", "busy", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        before = counts()
        wait_for(lambda: counts()[1] >= before[1] + 3, "it runs on the idle node")
        self.assertLessEqual(counts()[0], before[0] + 1)  # one may have been on its way
        open(os.path.join(self.cluster.work, "sick.n2"), "w", encoding="utf-8").close()
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T|%E").strip() == "drained|unhealthy", "n2 drains itself")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        wait_for(lambda: self.file("ended.ran") == f"{job} busy CANCELLED 0:0 n1 debug root\n", "the script ran")


class StepPrograms(ClusterCase):
    """What slurm.conf has run around steps, and when it lets them end: options of srun come before it."""
    NODES, CPUS = 1, 4
    CONF = ("TaskProlog={dir}/task_prolog\nTaskEpilog={dir}/task_epilog\nSrunProlog={dir}/srun_prolog\nSrunEpilog={dir}/srun_epilog\n"
            "WaitTime=1\nKillOnBadExit=1\n")
    FILES = {name: f"#!/bin/sh\necho {name} ${{SLURM_PROCID:-none}} >> {{dir}}/work/ran\n"
                   "echo $SLURM_SCRIPT_CONTEXT >> {dir}/work/contexts\n"
                   "echo $SLURM_SCRIPT_CONTEXT $SLURM_RLIMIT_NOFILE >> {dir}/work/limits\n" for name in ("srun_prolog", "srun_epilog", "task_epilog")}
    for name in ("srun_prolog", "srun_epilog"):
        FILES[name] += ("echo $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_STEPID $SLURM_NTASKS $SLURM_NPROCS $SLURM_NNODES $SLURM_NODELIST "
                        "$SLURM_TASKS_PER_NODE $SLURM_MPI_TYPE > {dir}/work/step_of_" + name + "\n")
    FILES["task_prolog"] = FILES["task_epilog"].replace("task_epilog", "task_prolog") + "echo export SITE=yes\necho print site\n"

    def setUp(self):
        self.wait_no_jobs()
        self.run_cmd("/bin/rm", "-f", "ran", "contexts", "limits")

    def test_programs(self):
        task = "echo task $SLURM_PROCID $SITE $SLURM_SCRIPT_CONTEXT >> ran"
        self.assertEqual(self.out("srun", "-n1", "sh", "-c", task), "site\n")
        wait_for(lambda: len(self.file("ran").splitlines()) == 5, "all ran")
        ran = self.file("ran").splitlines()
        self.assertEqual(ran[:4], ["srun_prolog none", "task_prolog 0", "task 0 yes", "task_epilog 0"])
        self.assertEqual(ran[4], "srun_epilog none")
        wait_for(lambda: self.file("contexts").split() == ["prolog_srun", "prolog_task", "epilog_task", "epilog_srun"],
                 "each was told what it is")

    def test_limits_are_told_to_all_but_the_task(self):
        task = "echo ${SLURM_RLIMIT_NOFILE-none} > of_task"
        self.run_cmd("/bin/sh", "-c", f"ulimit -S -n 321; exec srun -n1 sh -c '{task}'")
        told = [f"{name} 321" for name in ("prolog_srun", "prolog_task", "epilog_task", "epilog_srun")]
        wait_for(lambda: self.file("limits").splitlines() == told, "each was told the limit")
        self.assertEqual(self.file("of_task"), "none\n")

    def test_they_are_told_of_the_step(self):
        """The bug: SrunProlog ran before the step had a number."""
        (job,) = set(self.out("srun", "-n3", "sh", "-c", "echo $SLURM_JOB_ID").split()) - {"site"}
        files = ("step_of_srun_prolog", "step_of_srun_epilog")
        self.assertEqual([self.file(name) for name in files], [f"{job}.0 0 3 3 1 n1 3 none\n"] * 2)
        self.out("salloc", "-Q", "-n2", "sh", "-c", "srun true; srun -n1 true")
        for name in files:
            self.assertRegex(self.file(name), r"^[0-9]+\.1 1 1 1 1 n1 1 none\n$")

    def test_options_come_first(self):
        self.out("srun", "-n1", "--prolog=none", "--epilog=none", "true")
        wait_for(lambda: "task_epilog" in self.file("ran"), "the task's programs ran")
        self.assertEqual(self.file("ran").split()[::2], ["task_prolog", "task_epilog"])

    def test_programs_of_batch_scripts(self):
        job = self.submit("-o", "/dev/null", "--wrap", "echo script $SITE >> ran")
        self.wait_ended(job)
        self.assertEqual(self.file("ran").splitlines(), ["task_prolog 0", "script yes", "task_epilog 0"])

    def test_wait_time(self):
        done = self.run_cmd("srun", "-n2", "sh", "-c", "test $SLURM_PROCID = 0 || exec sleep 1000", check=False)
        self.assertEqual(done.returncode, 137)
        self.assertIn("srun: First task exited 1s ago\n", done.stderr)
        self.assertIn("late\n", self.out("srun", "-n2", "-W0", "sh", "-c", "test $SLURM_PROCID = 0 || { sleep 2; echo late; }"))

    def test_kill_on_bad_exit(self):
        fails = ("-W0", "-n2", "sh", "-c", "test $SLURM_PROCID = 0 && exit 4; touch alive; while [ ! -e go ]; do sleep 0.05; done; echo went on")
        done = self.run_cmd("srun", *fails, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"srun: Terminating StepId=\d+\.0")
        self.assertNotIn("went on", done.stdout)
        self.run_cmd("/bin/touch", "go")
        done = self.run_cmd("srun", "--kill-on-bad-exit=0", *fails, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("went on", done.stdout)


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
