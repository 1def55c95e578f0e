"""History: what happens to jobs reaches the accounting daemon, once each, and sacct shows it."""
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from accounting import AccountedCluster
from harness import Cluster, ClusterCase, need_root, wait_for

ENDED = {"COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "REQUEUED"}
HOSTILE = "x'; DROP TABLE job; --\"$(id)`id`\\ %s ü"


class AccountedCase(ClusterCase):
    CONF, DBD = "", ""
    server = None  # of databases.py

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(cls.NODES, cls.CPUS, cls.MEMORY, conf=cls.CONF, dbd=cls.DBD, server=cls.server)

    def sacct(self, *options, **more):
        return self.cluster.sacct(*options, **more)

    def wait_line(self, job, *states, fields="jobid,state", options=("-X",)):
        """The line of a job that is in one of the states."""
        def line():
            found = [row for row in self.sacct("-j", str(job), "-o", fields + ",state", *options) if row[-1].split()[0] in states]
            return found and found[0][:-1]
        return wait_for(line, f"sacct has job {job} as {states}")


class History(AccountedCase):
    def test_job_is_there_within_a_second_of_its_end(self):
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        end = time.monotonic()
        self.wait_line(job, "COMPLETED")
        self.assertLess(time.monotonic() - end, 1)

    def test_default_columns_are_slurms(self):
        job = self.submit("-J", "seventeen-letters", "-n", "2", "-o", "/dev/null", "--wrap", "srun -n 2 true; exit 3")
        self.wait_line(job, "FAILED")
        wait_for(lambda: len(self.sacct("-j", str(job))) == 3, "all steps are there")
        lines = self.out("sacct", "-j", job).splitlines()
        self.assertEqual(lines, [
            "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
            "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
            f"{job:<12} seventeen+      debug       root          2     FAILED      3:0 ",
            f"{f'{job}.batch':<12}      batch                  root          2     FAILED      3:0 ",
            f"{f'{job}.0':<12}       true                  root          2  COMPLETED      0:0 "])

    def test_running_and_waiting_jobs_are_there(self):
        running = self.submit("-o", "/dev/null", "--wrap", "sleep 60")
        waiting = self.submit("--hold", "-o", "/dev/null", "--wrap", "true")
        self.wait_line(running, "RUNNING")
        self.assertEqual(self.wait_line(waiting, "PENDING", fields="jobid,nodelist,start,alloccpus"),
                         [str(waiting), "None assigned", "Unknown", "1"])
        self.run_cmd("scancel", str(waiting), str(running))
        self.assertEqual(self.wait_line(waiting, "CANCELLED", fields="state,start,alloccpus"),
                         [f"CANCELLED by {os.getuid()}", "None", "1"])
        self.wait_line(running, "CANCELLED")

    def test_values_of_a_job_and_its_steps(self):
        job = self.submit("-N", "2", "-n", "4", "--mem-per-cpu", "50", "-t", "1:30:00", "--comment", "a comment",
                          "-o", "out-%j.txt", "--wrap", "srun -n 4 sleep 1")
        self.wait_line(job, "COMPLETED")
        fields = "jobname,nnodes,nodelist,ntasks,reqmem,reqtres,alloctres,timelimit,comment,stdout,qos,user"
        lines = wait_for(lambda: len(r := self.sacct("-j", str(job), "-o", fields)) == 3 and r, "all steps are there")
        tres = "billing=4,cpu=4,mem=200M,node=2"
        self.assertEqual(lines[0], ["wrap", "2", "n[1-2]", "", "200M", tres, tres, "01:30:00", "a comment", "out-%j.txt", "normal", "root"])
        self.assertEqual(lines[2][:7], ["sleep", "2", "n[1-2]", "4", "", "", "cpu=4,mem=200M,node=2"])
        elapsed = self.sacct("-j", f"{job}.0", "-o", "jobid,elapsedraw,cputimeraw")
        self.assertEqual(elapsed[0][0], f"{job}.0")
        self.assertIn(int(elapsed[0][1]), (1, 2))
        self.assertEqual(int(elapsed[0][2]), 4 * int(elapsed[0][1]))

    def test_usage_says_which_task_and_where(self):
        job = self.submit("-N", "2", "-n", "4", "-o", "/dev/null", "--wrap",
                          "srun python3 -c 'import os, time; b = bytearray(int(os.environ[\"SLURM_PROCID\"]) * 20_000_000 + 1); time.sleep(1)'")
        self.wait_line(job, "COMPLETED")
        wait_for(lambda: len(self.sacct("-j", str(job))) == 3, "all steps are there")
        most, node, task, average, tasks = self.sacct("-j", f"{job}.0", "--noconvert", "-o", "maxrss,maxrssnode,maxrsstask,averss,ntasks")[0]
        self.assertEqual((node, task, tasks), ("n2", "3", "4"))
        self.assertGreater(int(most), 60_000_000)
        self.assertLess(int(average), int(most) - 20_000_000)

    def test_arrays(self):
        array = self.submit("-a", "1-3,7%2", "-o", "/dev/null", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 7))")
        def ended():
            rows = dict(self.sacct("-j", str(array), "-X", "-o", "jobid,state"))
            return len(rows) == 4 and set(rows.values()) <= {"COMPLETED", "FAILED"} and rows
        self.assertEqual(wait_for(ended, "all tasks ended"), {f"{array}_1": "COMPLETED", f"{array}_2": "COMPLETED",
                                                              f"{array}_3": "COMPLETED", f"{array}_7": "FAILED"})
        self.assertEqual(self.sacct("-j", f"{array}_7", "-X", "-o", "exitcode"), [["1:0"]])
        held = self.submit("--hold", "-a", "1-5", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_line(held, "PENDING"), [f"{held}_[1-5]", "PENDING"])
        self.assertEqual(len(self.sacct("-j", str(held), "-X", "--array")), 5)
        self.run_cmd("scancel", f"{held}_2")
        wait_for(lambda: sorted(self.sacct("-j", str(held), "-X", "-o", "jobid,state")) ==
                 [[f"{held}_2", f"CANCELLED by {os.getuid()}"], [f"{held}_[1,3-5]", "PENDING"]], "one task is cancelled")
        self.run_cmd("scancel", str(held))
        wait_for(lambda: all(r[1].startswith("CANCELLED") for r in self.sacct("-j", str(held), "-X", "-o", "jobid,state")), "all are")

    def test_more_tasks_than_any_array_has_are_refused(self):
        """They were gone through one by one."""
        for word in ("1_[0-4000000000]", "1_0-100000", "1_[0-60000],1_[0-60000]"):
            done = self.cluster.run("sacct", "-j", word, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "sacct: fatal: Bad job array element specified: 1\n"))

    def test_het_job(self):
        job = self.submit("-n1", "-o", "/dev/null", ":", "-n2", "--wrap", "true")
        rows = wait_for(lambda: len(r := self.sacct("-j", str(job), "-X", "-s", "CD", "-S", "now-1hour", "-E", "now", "-o", "jobid,alloccpus")) == 2 and r,
                        "both components ended")
        self.assertEqual(rows, [[f"{job}+0", "1"], [f"{job}+1", "2"]])

    def test_requeued_runs(self):
        flag, looked = (os.path.join(self.cluster.work, name) for name in ("again", "looked"))
        job = self.submit("--requeue", "-o", "/dev/null", "--wrap", f"test -e {flag} || {{ touch {looked}; sleep 100; }}")
        self.wait_line(job, "RUNNING")
        wait_for(lambda: os.path.exists(looked), "the first run waits")
        open(flag, "w", encoding="utf-8").close()
        self.run_cmd("scontrol", "requeue", str(job))
        self.wait_line(job, "COMPLETED")
        self.assertEqual(len(self.sacct("-j", str(job), "-X")), 1)
        runs = self.sacct("-D", "-j", str(job), "-X", "-o", "state,restarts,exitcode")
        self.assertEqual(sorted(runs), [["COMPLETED", "1", "0:0"], ["REQUEUED", "0", "0:0"]])
        span = ("-X", "-j", str(job), "-S", "now-1hour", "-E", "now", "-o", "state")
        self.assertEqual((self.sacct("-s", "CA,F", *span), self.sacct("-s", "RQ", *span)), ([], [["REQUEUED"]]))

    def test_reasons_are_what_jobs_waited_for(self):
        """Reason was None of nearly every job."""
        array = self.submit("-a", "1-3%1", "-o", "/dev/null", "--wrap", "true")
        later = self.submit("--begin=now+5", "-o", "/dev/null", "--wrap", "true")
        never = self.submit("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        for job in (later, never):
            wait_for(lambda job=job: self.out("squeue", "-h", "-j", str(job), "-o", "%r") == "BeginTime\n", "the scheduler has looked at it")
        self.run_cmd("scancel", str(never))
        def reasons(job):
            rows = self.sacct("-j", str(job), "-X", "-o", "jobid,state,reason", "-S", "now-1hour")
            return rows and not any(row[1] in ("PENDING", "RUNNING") for row in rows) and [row[2] for row in sorted(rows)]
        self.assertEqual(wait_for(lambda: reasons(never), "it is cancelled"), ["BeginTime"])
        self.assertEqual(wait_for(lambda: reasons(later), "it ended"), ["BeginTime"])
        self.assertEqual(wait_for(lambda: len(r := reasons(array) or []) == 3 and r, "all ended"), ["None", *["JobArrayTaskLimit"] * 2])

    def test_states_and_times(self):
        job = self.submit("-o", "/dev/null", "--wrap", "false")
        self.wait_line(job, "FAILED")
        has = lambda *options: [str(job)] in self.sacct("-X", "-o", "jobid", *options)  # noqa: E731
        self.assertTrue(has("-S", "now-1hour", "-E", "now", "-s", "F"))
        self.assertFalse(has("-S", "now-1hour", "-E", "now", "-s", "CD"))
        self.assertFalse(has("-S", "now-2hours", "-E", "now-1hour", "-s", "FAILED"))
        self.assertFalse(has("-S", "now-2hours", "-E", "now-1hour"))
        self.assertTrue(has("-S", "now-1hour", "-E", "now", "-s", "RUNNING"))  # it ran then
        self.assertFalse(has("-s", "F"))  # nobody fails right now
        self.assertTrue(has("-r", "debug") and has("--name", "wrap") and has("-u", "root") and has("-N", "n[1-2]", "-S", "now-1hour"))
        self.assertFalse(has("-r", "other") or has("--name", "nobody") or has("-u", "daemon") or has("-A", "none"))

    def test_default_time_window(self):
        """As the page of sacct says: with -s and -S, -E is the same time; with -j it begins in 1970."""
        job = self.submit("-o", "/dev/null", "--wrap", "false")
        held = self.submit("--hold", "-o", "/dev/null", "--wrap", "true")
        self.wait_line(job, "FAILED")
        has = lambda one, *options: [str(one)] in self.sacct("-X", "-o", "jobid", *options)  # noqa: E731
        self.assertFalse(has(job, "-S", "now-1hour", "-s", "F"))
        self.assertTrue(has(job, "-j", str(job), "-s", "F"))
        self.assertFalse(has(job, "-j", str(job), "-s", "F", "-S", "now-1hour"))
        self.assertFalse(has(held), "never eligible")
        self.assertTrue(has(held, "-j", str(held)) and has(held, "-s", "PD"))
        self.assertRegex(self.run_cmd("sacct", "-S", "2099-01-01", check=False).stderr,
                         r"^sacct: error: Start time \(.*\) requested is after end time \(.*\)\.\n$")
        self.run_cmd("scancel", str(held))

    def test_the_window_is_told(self):  # -v
        moment = r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}"
        def told(*options):
            return self.run_cmd("sacct", "-v", *options).stderr
        self.assertRegex(told(), rf"^sacct: Jobs Eligible in the time window from \w+ \w+ \d\d 00:00:00 \d+ to {moment}\n$")
        self.assertRegex(told("-s", "R,PD"), rf"^sacct: Jobs PENDING,RUNNING in the time window from {moment} to {moment}\n$")
        self.assertRegex(told("-j", "1"), rf"^sacct: Jobs Eligible in the time window from Epoch 0 to {moment}\n$")
        self.assertEqual(told("-S", "2026-01-02", "-E", "2026-01-03T04:05:06", "-s", "F"),
                         "sacct: Jobs FAILED in the time window from Fri Jan 02 00:00:00 2026 to Sat Jan 03 04:05:06 2026\n")
        self.assertEqual(self.run_cmd("sacct").stderr, "")

    def test_priorities_of_jobs_that_wait(self):
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        waits = self.submit("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", held, waits)
        shown = lambda: self.sacct("-X", "-j", f"{held},{waits}", "-o", "jobid,priority")  # noqa: E731
        asked = lambda: self.out("squeue", "-h", "-j", waits, "-o", "%Q").strip()  # noqa: E731
        wait_for(lambda: shown() == [[str(held), "0"], [str(waits), asked()]], "sacct shows the priority of a job that waits")
        self.assertNotEqual(asked(), "0")

    def test_how_stopped_jobs_ended(self):
        """What ended by a signal is CANCELLED as a step; the job's own code is that of before it was stopped."""
        signalled = self.submit("-o", "/dev/null", "--wrap", "kill -9 $$")
        cancelled = self.submit("-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_line(signalled, "FAILED")
        self.wait_line(cancelled, "RUNNING")
        self.run_cmd("scancel", str(cancelled))
        self.wait_line(cancelled, "CANCELLED")
        fields = ("-o", "jobid,state,exitcode,derivedexitcode,reason,submitline")
        steps = lambda job: wait_for(lambda: "RUNNING" not in str(r := self.sacct("-j", str(job), *fields)) and r, "it is over")  # noqa: E731
        job, batch = steps(signalled)
        self.assertEqual((job[1:5], batch), (["FAILED", "0:9", "0:0", "None"], [f"{signalled}.batch", "CANCELLED", "0:9", "", "", ""]))
        job, batch = steps(cancelled)
        self.assertEqual((job[1:4], batch[1:3]), ([f"CANCELLED by {os.getuid()}", "0:0", "0:0"], ["CANCELLED", "0:15"]))

    def test_components_and_tasks(self):
        array = self.submit("-a", "1-4%2", "-o", "/dev/null", "--wrap", "true")
        het = self.submit("-n1", "-o", "/dev/null", ":", "-n2", "--wrap", "srun --het-group=1 -n2 true")
        self.wait_line(het, "COMPLETED", options=("-X", "--whole-hetjob=no"))
        ids = lambda *options: [row[0] for row in self.sacct("-X", "-o", "jobid", *options)]  # noqa: E731
        both = [f"{het}+0", f"{het}+1"]
        self.assertEqual(ids("-j", str(het)), both)
        self.assertEqual(ids("-j", str(het), "--whole-hetjob=no"), both[:1])
        self.assertEqual(ids("-j", str(het + 1)), both[1:])
        self.assertEqual(ids("-j", str(het + 1), "--whole-hetjob"), both)
        self.fails(1, 'sacct: error: Invalid --whole-hetjob value "x". Valid values: [yes|no].\n', "sacct", "--whole-hetjob=x")
        self.assertEqual(wait_for(lambda: len(r := self.sacct("-j", f"{het}+1.0", "-o", "jobid,layout")) == 1 and r, "its step"),
                         [[f"{het}+1.0", "Block"]])
        self.assertEqual(wait_for(lambda: len(r := ids("-j", str(array), "-s", "CD")) == 4 and r, "all tasks ended"),
                         [f"{array}_{task}" for task in range(1, 5)])  # though the last one has the array's number

    def test_hostile_texts(self):
        before = len(self.sacct("-X", "-a", "-S", "now-1day"))
        job = self.submit("-J", HOSTILE, "--comment", HOSTILE, "--extra", HOSTILE, "--wckey", HOSTILE, "-o", "/dev/null", "--wrap", "true")
        self.wait_line(job, "COMPLETED")
        row = self.sacct("-X", "-j", str(job), "--delimiter", "\x01", "-o", "jobname,comment,extra,wckey")[0][0].split("\x01")
        self.assertEqual(row, [HOSTILE] * 3 + [HOSTILE.lower()])  # wckeys are names of accounting
        for option in ("--name", "-A", "-r", "-q", "-W", "-R", "-C", "-M"):
            self.run_cmd("sacct", option, HOSTILE, check=False)
        self.assertGreater(len(self.sacct("-X", "-a", "-S", "now-1day")), before)

    def test_script_and_environment(self):
        job = self.submit("-o", "/dev/null", "--export", "ALL,KEPT=yes", stdin="#!/bin/sh\ntrue # of mine\n")
        self.wait_line(job, "COMPLETED")
        self.assertEqual(self.out("sacct", "-B", "-j", job), f"Batch Script for {job}\n{'-' * 80}\n#!/bin/sh\ntrue # of mine\n\n")
        self.assertIn("\nKEPT=yes\n", self.out("sacct", "--env-vars", "-j", job))

    def test_json(self):
        job = self.submit("-o", "/dev/null", "--wrap", "srun true")
        self.wait_line(job, "COMPLETED")
        wait_for(lambda: len(self.sacct("-j", str(job))) == 3, "all steps are there")
        told = json.loads(self.out("sacct", "-j", job, "--json"))
        self.assertEqual([j["job_id"] for j in told["jobs"]], [job])
        self.assertEqual(told["jobs"][0]["state"]["current"], ["COMPLETED"])
        self.assertEqual([s["step"]["name"] for s in told["jobs"][0]["steps"]], ["batch", "true"])

    def test_what_a_job_asked_for(self):
        self.run_cmd("scontrol", "create", "reservation", "reservationname=mine", "users=root", "nodes=n1", "starttime=now", "duration=60")
        self.addCleanup(self.run_cmd, "scontrol", "delete", "reservation", "mine", check=False)
        fields = "exclusive,oversubscribe,segmentsize,reservation,reqreservation"
        for wanted, *options in (
                (["NODE", "NO", "0", "mine", "mine"], "--exclusive", "--reservation=mine"),
                (["NO", "YES", "0", "", ""], "--oversubscribe"), (["USER", "USER", "0", "", ""], "--exclusive=user"),
                (["NO", "NO", "0", "", ""], "--mem-per-cpu=20", "-n", "2"), (["NO", "NO", "0", "", ""], "--mem=30")):
            job = self.submit("-o", "/dev/null", *options, "--wrap", "true")
            self.assertEqual(self.wait_line(job, "COMPLETED", fields=fields), wanted, options)
            told = json.loads(self.out("sacct", "-j", job, "--json"))["jobs"][0]
            reserved = wanted[3]
            number = self.sacct("-X", "-j", str(job), "-o", "reservationid")[0][0]
            self.assertEqual((told["reservation"]["name"], told["reservation"]["requested"]), (reserved, reserved))
            self.assertEqual((number != "", told["reservation"]["id"]), (reserved != "", int(number or 0)), options)
            if "--mem" in options[0]:
                per_cpu = "cpu" in options[0]
                key, other = ("memory_per_cpu", "memory_per_node") if per_cpu else ("memory_per_node", "memory_per_cpu")
                self.assertEqual(told["required"][key], {"set": True, "infinite": False, "number": 20 if per_cpu else 30})
                self.assertEqual(told["required"][other], {"set": False, "infinite": False, "number": 0})

    def test_layouts(self):
        job = self.submit("-n", "2", "--mem", "1500", "-t", "10", "-o", "%x-%j.out", "--wrap", "srun true")
        self.wait_line(job, "COMPLETED")
        self.assertEqual(self.out("sacct", "-j", job, "-X", "-b"),
                         f"JobID             State ExitCode \n------------ ---------- -------- \n{job:<12}  COMPLETED      0:0 \n")
        self.assertEqual(self.out("sacct", "-j", job, "-X", "-n", "-p", "-o", "jobid%5,State%-3"), f"{job}|COMPLETED|\n")
        self.assertEqual(self.out("sacct", "-j", job, "-X", "-n", "-o", "State%4,JobID%-5"), f"COM+ {job:<5} \n")
        self.assertEqual(self.sacct("-j", str(job), "-X", "--fields", "reqmem"), [["1500M"]])
        self.assertEqual(self.sacct("-j", str(job), "-X", "--noconvert", "-o", "reqmem"), [["1500M"]])
        self.assertEqual(self.sacct("-j", str(job), "-X", "--units", "G", "-o", "reqmem"), [["1.46G"]])
        self.assertEqual(self.sacct("-j", str(job), "-X", "--expand-patterns", "-o", "stdout"), [[f"{self.cluster.work}/wrap-{job}.out"]])
        done = self.run_cmd("sacct", "-j", job, "-X", "-c", check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "Slurm job completion is disabled\n"))
        self.assertEqual(len(self.out("sacct", "-l", "-P").splitlines()[0].split("|")), 54)
        cut = self.sacct("-j", str(job), "-X", "-T", "-S", "now-1day", "-E", "now+1day", "-o", "start,elapsedraw")[0]
        self.assertRegex(cut[0], r"^\d{4}-\d\d-\d\dT")
        names = self.out("sacct", "--helpformat").split()
        self.assertEqual(names, self.out("sacct", "-e").split())
        self.assertEqual(len(self.out("sacct", "-o", "ALL", "-P").splitlines()[0].split("|")), len(names))
        self.assertIn("COMPLETED", self.out("sacct", "--helpstate"))
        self.assertIn("Resources", self.out("sacct", "--helpreason"))
        self.assertIn("--starttime", self.out("sacct", "-h"))
        self.assertIn("Usage: sacct", self.out("sacct", "-U"))
        self.assertIn("slurm ", self.out("sacct", "-V"))
        self.assertEqual(self.sacct("-j", str(job), "-X", env={"SACCT_FORMAT": "jobname"}), [["wrap"]])

    def test_filters(self):
        job = self.submit("-N", "2", "-t", "77", "--wckey", "mine", "-o", "/dev/null", "--wrap", "true")
        self.wait_line(job, "COMPLETED")
        has = lambda *options: [str(job)] in self.sacct("-X", "-o", "jobid", *options)  # noqa: E731
        association, qos, out = self.sacct("-X", "-j", str(job), "-o", "associd,qosraw,stdout")[0]
        self.assertEqual((qos, out), ("1", "/dev/null"))
        self.assertEqual([[association]], [line.split("|") for line in self.out(
            "sacctmgr", "-nP", "list", "assoc", "user=root", "account=root", "format=id").splitlines()])
        for options in (["-i", "2"], ["-i", "1-3"], ["-I", "2"], ["-k", "77"], ["-k", "60", "-K", "80"], ["-W", "mine"], ["-g", "root"],
                        ["-R", "None"], ["-L"], ["-x", association], [f"--associations=999,{association}"]):
            self.assertTrue(has(*options), options)
        for options in (["-i", "1"], ["-I", "3-9"], ["-k", "76"], ["-k", "10", "-K", "60"], ["-W", "other"], ["-g", "daemon"],
                        ["-R", "Resources"], ["-C", "fast"], ["-M", "nowhere"], ["-x", "999"]):
            self.assertFalse(has(*options), options)

    def test_seff(self):
        job = self.submit("-N", "2", "--mem", "100", "-o", "/dev/null", "--wrap", "sleep 1; exit 2")
        self.wait_line(job, "FAILED")
        wait_for(lambda: len(self.sacct("-j", str(job))) == 2, "the batch step is there")
        lines = dict(line.split(": ", 1) for line in self.out("seff", job).splitlines())
        self.assertEqual((lines["Job ID"], lines["State"], lines["Nodes"], lines["Cores per node"]), (str(job), "FAILED (exit code 2)", "2", "1"))
        self.assertRegex(lines["CPU Efficiency"], r"^0\.00% of 00:00:0[2-4] core-walltime$")
        self.assertRegex(lines["Memory Efficiency"], r"^\d+\.\d\d% of 200\.00 MB$")
        self.assertEqual(self.run_cmd("seff", "999999", check=False).returncode, 1)

    def test_refusals(self):
        self.fails(1, 'sacct: error: Invalid field requested: "nothing"\n', "sacct", "-o", "nothing")
        for error, *options in (
                ("fatal: Bad job/step specified: x", "-j", "x"), ("fatal: Bad step specified: 1", "-j", "1.x"),
                ("fatal: Bad job array element specified: 1", "-j", "1_x"), ("fatal: Bad hetjob offset specified: 1", "-j", "1+x"),
                ("fatal: unrecognized job state value 'x'", "-s", "x"), ("fatal: Invalid time limit specification", "-k", "x"),
                ('error: Invalid numeric value "x" for requested node range.', "-i", "x"),
                ('error: Invalid numeric value "1-x" for requested cpu range.', "-I", "1-x"),
                ("error: Invalid unit type 'X'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type", "--units=X"),
                ("fatal: unrecognized job reason value 'x'", "--reason=Priority,x"),
                ("fatal: When requesting job scripts you must also request specific jobs with the '-j' option.", "-B"),
                ("fatal: When requesting job environment you must also request specific jobs with the '-j' option.", "--env-vars"),
                ("error: You gave a bad qos 'none'. Valid QOS's are normal\nsacct: fatal: problem processing qos list", "-q", "NORMAL,none"),
                ("error: Invalid association id: root", "-x", "root"), ("error: Invalid association id: 0", "-x", "0"),
                ("error: Unknown arguments:\nsacct: error:  x", "x")):
            self.fails(1, f"sacct: {error}\n", "sacct", *options)
        self.fails(1, "Invalid time specification (pos=0): x\n", "sacct", "-S", "x")
        self.assertEqual(self.run_cmd("sacct", "-S", "2030-01-01", "-E", "2029-01-01", check=False).returncode, 1)


class Daemon(AccountedCase):
    def dbd_port(self):
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            return next(line.split("=")[1].strip() for line in f if line.startswith("DbdPort="))

    def start(self, text):
        """What a daemon with these lines of slurmdbd.conf says that does not start."""
        path = os.path.join(self.cluster.dir, "other.conf")
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            lines = [line for line in f if line.split("=")[0] not in [new.split("=")[0] for new in text.splitlines()]]
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(lines) + text)
        os.chmod(path, 0o600)
        done = subprocess.run([self.cluster.daemon("sluicedbd"), "-D", "-f", path], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done)
        return done.stderr

    def test_what_it_refuses_to_start_with(self):
        others = "PidFile={0}/other.pid\nLogFile=\n".format(self.cluster.dir)
        file = os.path.join(self.cluster.dir, "a_file")
        with open(file, "w", encoding="utf-8"):
            pass
        for text, said in (("StorageType=accounting_storage/mysql\n", "with accounting_storage/mysql it is the name of a database"),
                           ("DbdBackupHost=other\n", "DbdBackupHost needs a database that both hosts reach"),
                           ("StorageLoc=relative\n", 'StorageLoc="relative" is not valid'),
                           ("DbdPort=many\n", 'DbdPort="many" is not valid'),
                           ("Storagetyp=x\n", 'unknown key "Storagetyp"; did you mean "StorageType"?'),
                           ("TLSType=tls/rot13\n", 'other.conf:%d: TLSType="tls/rot13" is not valid'),
                           (others + "TLSType=tls/s2n\n", "/ca_cert.pem: No such file or directory"),
                           ("PurgeJobAfter=soon\n", 'other.conf:%d: PurgeJobAfter="soon" is not valid'),
                           (others + "ArchiveDir=/nosuch/dir\n", 'other.conf:%d: ArchiveDir="/nosuch/dir": No such file or directory'),
                           (others + f"ArchiveDir={file}\n", f'other.conf:%d: ArchiveDir="{file}": Not a directory'),
                           (others + "StorageLoc=/nosuch/dir/x.db\n", "cannot make /nosuch/dir/x.db: there is no folder /nosuch/dir"),
                           (others + "StorageLoc=/\n", "/ is no file"),
                           (others, "is in use by process"),
                           (others + f"StorageLoc={self.cluster.dir}/second.db\n", self.dbd_port())):
            told = self.start(text)
            with open(os.path.join(self.cluster.dir, "other.conf"), encoding="utf-8") as f:
                last = len(f.readlines())
            self.assertIn(said.replace("%d", str(last)), told)

    def test_a_damaged_database_is_told_of(self):
        bad = os.path.join(self.cluster.dir, "bad.db")
        with open(bad, "w", encoding="utf-8") as f:
            f.write("no database" * 1000)
        said = self.start(f"StorageLoc={bad}\nPidFile={self.cluster.dir}/bad.pid\nLogFile={self.cluster.dir}/bad.log\n")
        with open(f"{self.cluster.dir}/bad.log", encoding="utf-8") as f:
            said += f.read()
        self.assertIn(f"{bad} is damaged, or no database", said)

    def test_old_jobs_are_archived_and_purged(self):
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_line(job, "COMPLETED")
        old = int((time.time() - 90 * 86400) * 1_000_000)
        self.cluster.sql(f"UPDATE job SET submit = {old}, eligible = {old}, start = {old}, ended = {old + 1} WHERE job_id = {job}")
        archive = os.path.join(self.cluster.dir, "archive")
        os.makedirs(archive, exist_ok=True)
        self.cluster.stop_dbd()
        with open(self.cluster.dbd_conf, "a", encoding="utf-8") as f:
            f.write(f"PurgeJobAfter=30days\nArchiveJobs=yes\nArchiveDir={archive}\n")
        self.cluster.start_dbd()
        wait_for(lambda: not self.cluster.sql(f"SELECT id FROM job WHERE job_id = {job}"), "the job is purged")
        self.assertEqual([name.split("_archive_")[0] for name in os.listdir(archive)], ["trial_job"])
        self.assertIn("PurgeJobAfter=\"soon\" is not valid", self.start("PurgeJobAfter=soon\n"))

    def log_since(self, at):
        with open(f"{self.cluster.dir}/log/sluicedbd.log", encoding="utf-8") as f:
            f.seek(at)
            return f.read()

    def values(self):
        said = self.cluster.run("sacctmgr", "show", "configuration").stdout.split("\nSlurmDBD")[1]
        return dict(re.findall(r"^(\w+) += (.*)$", said, re.M))

    def test_the_file_is_read_again(self):  # sacctmgr reconfigure, SIGHUP
        pid, first = self.cluster.dbd_pid(), self.values()
        port = first["DbdPort"]
        log = f"{self.cluster.dir}/log/sluicedbd.log"
        archive = f"{self.cluster.dir}/archive"
        os.makedirs(archive, exist_ok=True)
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            before = f.read()

        def put_back():
            with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
                f.write(before)
            self.cluster.run("sacctmgr", "reconfigure")
        self.addCleanup(put_back)
        at = os.path.getsize(log)
        with open(self.cluster.dbd_conf, "a", encoding="utf-8") as f:
            f.write(f"PrivateData=jobs\nPurgeJobAfter=12months\nArchiveDir={archive}\nDebugLevel=debug\nDebugLevelSyslog=error\n"
                    "MaxQueryTimeRange=1-0\nCommitDelay=1\n")
        done = self.cluster.run("sacctmgr", "reconfigure")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        values = self.values()
        for key, value in (("PrivateData", "jobs"), ("PurgeJobAfter", "12months"), ("ArchiveDir", archive), ("DebugLevel", "debug"),
                           ("MaxQueryTimeRange", "1-00:00:00"), ("DebugLevelSyslog", "(null)")):
            self.assertEqual(values[key], value, key)
        log_text = self.log_since(at)
        self.assertIn("DebugLevelSyslog has changed and waits for a restart", log_text)
        self.assertIn("keys without effect: CommitDelay", log_text)
        self.assertIn(f"configuration read again from {self.cluster.dbd_conf}", log_text)
        self.assertEqual(self.cluster.run("sacctmgr", "reconfigure", "now", check=False).returncode, 1)

        at = os.path.getsize(log)
        with open(self.cluster.dbd_conf, "a", encoding="utf-8") as f:
            f.write("PrivateData=users\nNoSuchKey=1\n")
        done = self.cluster.run("sacctmgr", "reconfigure", check=False)  # Slurm's daemon dies of it
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown key \"NoSuchKey\"", done.stderr)
        self.assertEqual(self.values()["PrivateData"], "jobs")
        self.assertIn("slurmdbd.conf is not read again", self.log_since(at))

        at = os.path.getsize(log)
        with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^DbdPort=.*$", "DbdPort=1", before))
        os.kill(pid, signal.SIGHUP)
        wait_for(lambda: "configuration read again" in self.log_since(at), "it is read again")
        values = self.values()
        for key in ("PrivateData", "PurgeJobAfter", "DebugLevel"):
            self.assertEqual(values[key], first[key], key)
        self.assertEqual((values["DbdPort"], self.cluster.dbd_pid()), (port, pid))
        self.assertIn("DbdPort has changed and waits for a restart", self.log_since(at))

    def test_keys_without_effect_are_told_of(self):
        self.cluster.stop_dbd()
        with open(self.cluster.dbd_conf, "a", encoding="utf-8") as f:
            f.write("CommitDelay=1\n")
        self.cluster.start_dbd()
        with open(f"{self.cluster.dir}/log/sluicedbd.log", encoding="utf-8") as f:
            self.assertIn("keys without effect: CommitDelay", f.read())


class PrivateHistory(AccountedCase):
    DBD = "PrivateData=jobs\nMaxQueryTimeRange=2-0\n"

    def test_coordinators_see_their_accounts(self):
        for words in (["account", "lab"], ["account", "team", "parent=lab"], ["user", "root", "account=team"],
                      ["user", "bin", "account=root"], ["coordinator", "account=lab", "names=bin"]):
            self.run_cmd("sacctmgr", "-i", "add", *words)
        wait_for(lambda: "Account=team" in self.out("scontrol", "show", "assoc_mgr"), "the controller knows the account")
        jobs = [self.submit("-A", account, "-o", "/dev/null", "--wrap", "true") for account in ("team", "root")]
        for job in jobs:
            self.wait_line(job, "COMPLETED")
        seen = [row[0] for row in self.sacct("-a", "-X", "-o", "jobid", user=2)]
        self.assertIn(str(jobs[0]), seen)
        self.assertNotIn(str(jobs[1]), seen)

    def test_long_times_are_of_operators(self):
        done = self.run_cmd("sacct", "-a", "-S", "now-3days", user=65534, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Too wide of a date range in query", done.stderr)
        self.run_cmd("sacct", "-a", "-S", "now-1day", user=65534)
        self.run_cmd("sacct", "-a", "-S", "now-3days")

    def test_others_jobs_are_hidden(self):
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_line(job, "COMPLETED")
        self.assertEqual(self.sacct("-a", "-X", user=65534), [])
        self.assertEqual(self.sacct("-j", str(job), user=65534), [])
        own = int(self.out("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true", user=65534))
        self.wait_line(own, "COMPLETED")
        self.assertEqual(self.sacct("-a", "-X", "-o", "jobid", user=65534), [[str(own)]])
        denied = self.run_cmd("sacct", "-B", "-j", str(job), check=False, user=65534)
        absent = self.run_cmd("sacct", "-B", "-j", "999999", check=False, user=65534)
        for done in (denied, absent):  # nothing tells that there is such a job
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

        def modify(number, words, **more):
            return self.run_cmd("sacctmgr", "-i", "modify", "job", "where", f"jobid={number}", "set", words, check=False, **more)
        hidden = modify(job, "comment=mine", user=65534)
        self.assertEqual((hidden.returncode, hidden.stdout, hidden.stderr), (1, " Nothing modified\n", ""))
        self.assertEqual(modify(own, "comment=mine", user=65534).returncode, 0)
        self.assertEqual(modify(job, "comment=secret").returncode, 0)
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "txn", "action=Modify Job", "format=info", user=65534), "comment='mine'\n")


class TwoClusters(AccountedCase):
    def test_one_daemon_for_both(self):
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            port = next(line.split("=")[1].strip() for line in f if line.startswith("DbdPort="))
        conf = ("ClusterName=second\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
                f"AccountingStoragePort={port}\n")
        key = os.path.join(self.cluster.dir, "slurm.key")
        second = Cluster(1, 2, conf=conf, prepare=lambda folder: shutil.copy2(key, os.path.join(folder, "slurm.key")))
        self.addCleanup(second.down)
        first_job = self.submit("-J", "of-first", "-o", "/dev/null", "--wrap", "true")
        second.run("sbatch", "-J", "of-second", "-o", "/dev/null", "--wait", "--wrap", "true")
        self.wait_line(first_job, "COMPLETED")
        names = lambda *options: sorted(self.sacct("-X", "-o", "cluster,jobname", *options))  # noqa: E731
        wait_for(lambda: names("-L") == [["second", "of-second"], ["trial", "of-first"]], "both clusters have their jobs")
        self.assertEqual(names(), [["trial", "of-first"]])
        self.assertEqual(names("-M", "second"), [["second", "of-second"]])
        done = second.run("sacct", "-nP", "-X", "-o", "jobname")
        self.assertEqual(done.stdout, "of-second\n")


class Away(AccountedCase):
    def test_records_wait_for_the_daemon(self):
        self.cluster.stop_dbd()
        jobs = [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(5)]
        for job in jobs:
            self.wait_ended(job)
        waiting = self.out("sdiag").split("DBD Agent queue size:")[1].split()[0]
        self.assertGreater(int(waiting), 5)
        shown = self.run_cmd("sacct", "-X", "-n", "-P", "-o", "jobid,state", check=False)
        self.assertEqual(shown.returncode, 1)
        self.assertIn("Problem talking to the database: Connection refused", shown.stderr)
        self.assertIn("History is missing", shown.stderr)
        self.assertRegex(shown.stderr, r"sacct: warning: \d+ record\(s\) of cluster trial wait in its controller since \S+\n")
        for job in jobs:
            self.assertIn(f"{job}|COMPLETED", shown.stdout.splitlines())
        association = next(word[3:] for line in self.out("scontrol", "-o", "show", "assoc_mgr").splitlines() if " UserName=root(0)" in line
                           for word in line.split() if word.startswith("ID="))
        for number, is_there in ((association, True), ("999", False)):
            shown = self.run_cmd("sacct", "-X", "-n", "-P", "-o", "jobid", "-x", number, check=False)
            self.assertEqual(str(jobs[0]) in shown.stdout.splitlines(), is_there, number)
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.cluster.start_dbd()
        for job in jobs:
            self.wait_line(job, "COMPLETED")
        wait_for(lambda: "DBD Agent queue size: 0" in self.out("sdiag"), "nothing waits any more")

    def test_every_job_once_however_the_daemons_die(self):
        jobs = []
        chance = random.Random(int(os.environ.get("SLUICE_SEED", "20")))
        for round_ in range(int(os.environ.get("SLUICE_KILLS", "8"))):
            jobs += [self.submit("-J", f"round{round_}", "-o", "/dev/null", "--wrap", "true") for _ in range(3)]
            time.sleep(chance.random() * 0.3)
            if chance.random() < 0.7:
                self.cluster.stop_dbd(signal.SIGKILL)
                self.cluster.start_dbd()
            if chance.random() < 0.5:
                self.cluster.kill_controller()
                self.cluster.start_controller()
        for job in jobs:
            self.wait_line(job, *ENDED)
        rows = collections.Counter(row[0] for row in self.sacct("-D", "-X", "-S", "now-1day", "-o", "jobid"))
        self.assertEqual({job: rows[str(job)] for job in jobs}, {job: 1 for job in jobs})


if __name__ == "__main__":
    need_root()
    unittest.main()
