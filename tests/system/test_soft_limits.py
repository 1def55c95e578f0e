"""SluiceParameters=soft_limit_qos: a job over a limit runs in a QOS that others preempt."""
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, need_root, wait_for

CONF = """
AccountingStorageEnforce=associations,limits,qos
SluiceParameters=soft_limit_qos=scavenge
PreemptType=preempt/qos
PreemptMode=REQUEUE
SchedulerParameters=requeue_delay=1
KillWait=2
PriorityDecayHalfLife=0
"""


class SoftLimits(ClusterCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        cls.cluster = AccountedCluster(2, 2, 2000, conf=CONF)
        cls.addClassCleanup(cls.cluster.down)
        run = cls.cluster.run
        missing = "SluiceParameters=soft_limit_qos=scavenge: the accounting database has no such QOS: jobs over a limit wait"
        wait_for(lambda: missing in cls.cluster.log(), "the log tells of the QOS that is missing")
        for words in (["add", "account", "physics"], ["add", "account", "chem"],
                      ["add", "user", "root", "account=physics,chem", "defaultaccount=physics"],
                      ["add", "qos", "scavenge", "preemptmode=requeue", "usagefactor=0.5"],
                      ["modify", "qos", "normal", "set", "preempt=scavenge"],
                      ["modify", "user", "root", "where", "account=physics", "set", "maxjobs=1"]):
            run("sacctmgr", "-i", *words)

        def is_known():
            shown = run("scontrol", "show", "assoc_mgr").stdout
            return "QOS=scavenge" in shown and "MaxJobs=1(" in shown
        wait_for(is_known, "the controller knows the accounts")

    @classmethod
    def tearDownClass(cls):
        """The cleanup of the class does it, after a set-up that failed, too."""

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()

    def qos(self, job):
        return self.out("squeue", "-h", "-j", str(job), "-o", "%q").strip()

    def whole_node(self, *options, script="sleep 100"):
        return self.submit("-N1", "--exclusive", "-o", "/dev/null", *options, "--wrap", script)

    def test_runs_until_another_needs_the_node(self):
        first = self.whole_node()
        self.wait_state(first, "RUNNING")
        second = self.submit("-N1", "--exclusive", "-o", "soft.out", "--open-mode=append", "--wrap",
                             "echo in $SLURM_JOB_QOS; [ -n \"$SLURM_RESTART_COUNT\" ] || sleep 100")
        self.wait_state(second, "RUNNING")
        self.assertEqual((self.qos(first), self.qos(second)), ("normal", "scavenge"))
        self.assertEqual(self.show(second)["QOS"], "scavenge")
        self.assertEqual(self.out("squeue", "-h", "-q", "scavenge", "-o", "%i").split(), [str(second)])
        self.assertIn("it runs in QOS scavenge until others need its nodes", self.out("sluice", "explain", str(second)))
        wait_for(lambda: self.cluster.sacct("-j", str(second), "-X", "-o", "QOS,QOSREQ") == [["scavenge", "normal"]], "sacct has both QOS")
        other = self.whole_node("-A", "chem", script="sleep 3")
        self.wait_state(other, "RUNNING")
        self.wait_state(second, "PENDING")
        shown = self.show(second)
        self.assertEqual((shown["QOS"], shown["Restarts"]), ("normal", "1"))
        self.run_cmd("scancel", str(first))
        self.assertEqual(self.wait_ended(second), "COMPLETED")
        said = [line for line in self.file("soft.out").splitlines() if line.startswith("in ")]
        self.assertEqual(said, ["in scavenge", "in normal"])
        wait_for(lambda: sorted(self.cluster.sacct("-j", str(second), "-X", "-D", "-o", "State,QOS"))
                 == [["COMPLETED", "normal"], ["PREEMPTED", "scavenge"]], "each run is recorded with its QOS")

    def test_what_cannot_be_queued_again_waits(self):
        first = self.whole_node()
        self.wait_state(first, "RUNNING")
        second = self.whole_node("--no-requeue")
        wait_for(lambda: self.out("squeue", "-h", "-j", str(second), "-o", "%r").strip() == "AssocMaxJobsLimit", "the limit is told")
        self.assertIn("It does not run in QOS scavenge meanwhile, since it cannot be queued again.", self.out("sluice", "explain", str(second)))

    def test_a_restart_of_the_controller_keeps_it(self):
        first = self.whole_node()
        self.wait_state(first, "RUNNING")
        second = self.whole_node()
        self.wait_state(second, "RUNNING")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.assertEqual((self.qos(second), self.show(second)["JobState"]), ("scavenge", "RUNNING"))
        self.assertIn("MaxJobs=1(1)", self.out("scontrol", "show", "assoc_mgr", "users=root", "accounts=physics"))
        other = self.whole_node("-A", "chem", script="true")
        self.assertEqual(self.wait_ended(other), "COMPLETED")


if __name__ == "__main__":
    unittest.main()
