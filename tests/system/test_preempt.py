"""Jobs that make room for others of a higher tier, or for a reservation whose nodes they use."""
import json
import os
import re
import subprocess
import time
import unittest

from harness import ClusterCase, need_root, wait_for

# $1: the name of its files
SPEAKS = """#!/bin/bash
trap "echo batch TERM >> $1.said" TERM
srun bash -c 'trap "echo step TERM >> $1.said" TERM; touch $1.begun; while :; do sleep 0.1; done' sh $1
"""


class Preempt(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = """PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=2
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=cancel Nodes=ALL PriorityTier=1 PreemptMode=CANCEL
PartitionName=grace Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=6
PartitionName=off Nodes=ALL PriorityTier=1 PreemptMode=OFF
PartitionName=high Nodes=ALL PriorityTier=10
"""
    FILES = {"speaks": SPEAKS}

    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root", check=False)
        self.wait_no_jobs()
        super().tearDown()

    def both_nodes(self, partition, *words):
        """A job on all CPUs, that runs."""
        job = self.submit("-p", partition, "-N2", "--exclusive", *words)
        self.wait_state(job, "RUNNING")
        return job

    def test_a_test_says_who_would_be(self):
        """As Slurm 22.05 says it: jobs that wait have their turn before it, and a job of a higher tier names whom it would preempt."""
        low = self.both_nodes("low", "-t30", "--wrap", "sleep 1000")
        waits = self.submit("-p", "low", "-N2", "--exclusive", "-t20", "--wrap", "true")
        self.wait_reason(waits, "Resources")
        start = lambda *words: self.run_cmd(*words).stderr.splitlines()
        behind = start("sbatch", "--test-only", "-p", "low", "-n2", "-t10", "--wrap", "true")
        ends = time.strptime(re.fullmatch(r"sbatch: Job \d+ to start at (\S+) using 2 processors on nodes n1 in partition low", behind[0])[1], "%Y-%m-%dT%H:%M:%S")
        self.assertAlmostEqual(time.mktime(ends) - time.time(), 50 * 60, delta=60)
        for command in (("sbatch", "--wrap", "true"), ("srun", "true")):
            said = start(command[0], "--test-only", "-p", "high", "-N2", "--exclusive", "-t10", *command[1:])
            self.assertRegex(said[0], rf"^{command[0]}: Job \d+ to start at \S+ using 4 processors on nodes n\[1-2\] in partition high$")
            self.assertEqual(said[1:], [f"{command[0]}:   Preempts: {low}"])
        self.wait_state(low, "RUNNING")

    def speaks(self, name):
        """A script, for sbatch, whose step is running when there is a file NAME.begun."""
        return f"{self.cluster.dir}/speaks", name

    def wait_begun(self, name):
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, name + ".begun")), "the step began")

    def seconds(self, shown):
        return int(time.mktime(time.strptime(shown, "%Y-%m-%dT%H:%M:%S")))

    def wait_reason(self, job, reason):
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%r").strip() == reason, f"job {job} waits for {reason}")

    def high(self):
        return self.submit("-p", "high", "-N1", "-n1", "-o", "/dev/null", "--wrap", "true")

    def test_cancelled(self):
        job = self.both_nodes("cancel", "-o", "c.out", "--wrap", "sleep 1000")
        shown = self.show(job)
        self.assertEqual((shown["PreemptEligibleTime"], shown["PreemptTime"]), (shown["StartTime"], "None"))
        self.assertEqual(self.out("squeue", "-h", "-O", "PreemptTime", "-j", job).strip(), "N/A")
        after = self.submit("-p", "high", "-d", f"afternotok:{job}", "-o", "/dev/null", "--wrap", "true")
        high = self.high()
        self.assertEqual(self.wait_ended(high), "COMPLETED")
        self.assertEqual(self.wait_ended(after), "COMPLETED")
        self.wait_state(job, "PREEMPTED")
        shown = self.show(job)
        self.assertEqual((shown["Reason"], shown["Restarts"], shown["PreemptTime"]), ("None", "0", shown["EndTime"]))
        self.assertEqual(shown["ExitCode"], "0:15")
        self.assertEqual(self.out("squeue", "-h", "-t", "PR", "-O", "PreemptTime:25", "-j", job).strip(), shown["PreemptTime"])
        self.assertEqual(self.out("squeue", "-h", "-t", "PREEMPTED", "-o", "%t", "-j", job).strip(), "PR")
        record = json.loads(self.out("squeue", "--json", "-t", "all", "-j", job))["jobs"][0]
        self.assertEqual(record["job_state"], ["PREEMPTED"])
        self.assertGreaterEqual(record["preempt_time"]["number"], record["preemptable_time"]["number"])
        self.assertRegex(self.file("c.out"), rf"error: \*\*\* JOB {job} ON n1 CANCELLED AT \S+ DUE TO PREEMPTION \*\*\*")

    def test_requeued(self):
        job = self.both_nodes("low", "--open-mode=append", "-o", "r.out", "--wrap",
                              "echo run $SLURM_RESTART_COUNT; test -n \"$SLURM_RESTART_COUNT\" || sleep 1000")
        wait_for(lambda: self.file("r.out"), "it began")
        self.assertEqual(self.wait_ended(self.high()), "COMPLETED")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.show(job)["Restarts"], "1")
        said = self.file("r.out")
        self.assertRegex(said, r"^run\s+slurmstepd-?\w*: error: \*\*\* JOB \d+ ON n1 CANCELLED AT \S+ DUE TO PREEMPTION \*\*\*\n")
        self.assertTrue(said.endswith("run 1\n"), said)

    def test_not_requeued_where_it_may_not_be(self):
        job = self.both_nodes("low", "--no-requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.assertEqual(self.wait_ended(self.high()), "COMPLETED")
        self.wait_state(job, "PREEMPTED")

    def test_grace(self):
        job = self.both_nodes("grace", "-t", "60", "-o", "/dev/null", *self.speaks("grace"))
        self.wait_begun("grace")
        high = self.high()
        wait_for(lambda: self.file("grace.said"), "the step is told")
        shown = self.show(job)
        self.assertEqual(shown["JobState"], "RUNNING")
        preempted, end = self.seconds(shown["PreemptTime"]), self.seconds(shown["EndTime"])
        self.assertEqual(end - preempted, 6)
        self.assertEqual(set(self.file("grace.said").splitlines()), {"step TERM"})
        self.assertEqual(self.out("squeue", "-h", "-j", high, "-o", "%T %r").strip(), "PENDING Resources")
        self.assertEqual(self.wait_ended(high), "COMPLETED")
        self.wait_state(job, "PREEMPTED")
        self.assertGreaterEqual(self.seconds(self.show(job)["EndTime"]), end)
        said = self.file("grace.said").splitlines()
        self.assertEqual(said[:4], 4 * ["step TERM"], "on both nodes, then once more with KillWait; the script waits for its srun")
        self.assertIn(said[4:], ([], ["batch TERM"]), "it comes to it where its srun is killed a moment earlier; so it is in 22.05")

    def test_off(self):
        job = self.both_nodes("off", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.assertNotIn("PreemptTime", self.show(job))
        high = self.high()
        self.wait_reason(high, "Resources")
        self.assertEqual(self.state(job), "RUNNING")

    def test_srun_says_why(self):
        srun = self.cluster.start("srun", "-p", "cancel", "-N2", "--exclusive", "sleep", "1000",
                                  stderr=subprocess.PIPE)
        wait_for(lambda: self.out("squeue", "-hs", "-o", "%i"), "its step runs")
        self.assertEqual(self.wait_ended(self.high()), "COMPLETED")
        _, err = srun.communicate()
        self.assertEqual(srun.returncode, 143)
        self.assertRegex(err, r"error: \*\*\* STEP \d+\.0 ON n1 CANCELLED AT \S+ DUE TO PREEMPTION \*\*\*\n")
        self.assertIn("srun: error: n1: task 0: Terminated\n", err)

    def test_salloc_is_told(self):
        salloc = self.cluster.start("salloc", "-p", "cancel", "-N2", "--exclusive", "-K", "sleep", "1000",
                                  stderr=subprocess.PIPE)
        wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-o", "%i"), "the allocation")
        self.assertEqual(self.wait_ended(self.high()), "COMPLETED")
        _, err = salloc.communicate()
        self.assertRegex(err, r"salloc: Job allocation \d+ has been revoked\.\n")

    def test_guest_of_a_reservation(self):
        self.run_cmd("scontrol", "create", "reservation", "reservationname=r", "starttime=now+1hour", "duration=60", "nodes=n1",
                     "users=root", "maxstartdelay=2")
        slow = self.submit("-p", "low", "-w", "n1", "-t", "300", "--signal=R:USR1@180", "-o", "/dev/null", "--wrap", "true")
        guest = self.submit("-p", "cancel", "-w", "n1", "-n2", "-t", "90", "--signal=R:USR1@5", "-o", "/dev/null",
                            *self.speaks("guest"))
        self.wait_state(guest, "RUNNING")
        self.wait_begun("guest")
        self.assertRegex(self.out("squeue", "-h", "-j", slow, "-o", "%T %r").strip(), "^PENDING (ReqNodeNotAvail|None|Resources)")
        self.run_cmd("scontrol", "update", "reservationname=r", "starttime=now")
        own = self.submit("-p", "low", "--reservation=r", "-n2", "-t", "5", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "step TERM" in self.file("guest.said"), "the guest's step is told")
        shown = self.show(guest)
        self.assertEqual(self.seconds(shown["EndTime"]) - self.seconds(shown["PreemptTime"]), 5)
        self.assertEqual(self.wait_ended(own), "COMPLETED")
        self.wait_state(guest, "PREEMPTED")
        self.run_cmd("scancel", slow)
        self.run_cmd("scontrol", "delete", "reservation=r")

    def test_every_key_acts(self):
        self.assertIn("PreemptMode             = REQUEUE", self.out("scontrol", "show", "config"))
        self.assertNotIn("Preempt", "".join(re.findall(r".*without effect.*", self.cluster.log())))


if __name__ == "__main__":
    unittest.main()
