"""sluice usage: a user's usage, target, shares, limits and last jobs, of real daemons."""
import json
import os
import unittest

from accounting import AccountedCase
from harness import Cluster, wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class Usage(AccountedCase):
    CONF = """
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
"""

    SET_UP = (["add", "account", "physics", "grptres=cpu=3"],
              ["add", "user", USER, "account=physics", "defaultaccount=physics", "maxjobs=4"],
              ["modify", "user", USER, "where", "account=physics", "set", "maxjobs=4"])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wait_for(lambda: "MaxJobs=4" in cls.cluster.run("scontrol", "show", "assoc_mgr").stdout, "the controller knows the limits")

    def tearDown(self):
        self.run_cmd("scancel", "-u", USER)
        self.wait_no_jobs()

    def of_physics(self):
        report = json.loads(self.out("sluice", "usage", "--json"))
        return report, next(one for one in report["associations"] if one["account"] == "physics")

    def limit(self, report, owner, name):
        return next((one["used"], one["at_most"]) for one in report["limits"] if (one["of"], one["limit"]) == (owner, name))

    def test_usage_limits_and_jobs(self):
        job = self.submit("-J", "counted", "-n2", "-o", "/dev/null", "--wrap", "sleep 2")
        self.wait_ended(job)
        wait_for(lambda: any(one["job_id"] == str(job) for one in self.of_physics()[0]["jobs"]), "the job is among the last ones")
        report, physics = self.of_physics()
        self.assertGreater(physics["used"]["cpu_hours"], 2 / 3600)
        self.assertGreater(physics["target"]["core_years"], 0)
        self.assertGreater(physics["target"]["average_cores"], 0)
        self.assertTrue(report["lowers_priority"])
        self.assertEqual(self.limit(report, "account physics", "GrpTRES cpu"), (0, 3))
        runs = self.submit("-n2", "-A", "physics", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(runs, "RUNNING")
        report, _ = self.of_physics()
        self.assertEqual(self.limit(report, "account physics", "GrpTRES cpu"), (2, 3))
        self.assertEqual(self.limit(report, "you in physics", "MaxJobs"), (1, 4))
        text = self.out("sluice", "usage")
        self.assertIn(f"Usage of {USER} on cluster ", text)
        self.assertIn("no job is refused for it", text)
        self.assertRegex(text, rf"\n  {job} +counted +COMPLETED ")
        self.assertRegex(text, r"\n  account physics +GrpTRES cpu +2 +3 +67%\n")

    def test_the_accounting_daemon_is_away(self):
        self.cluster.stop_dbd()
        try:
            done = self.run_cmd("sluice", "usage", check=False)
        finally:
            self.cluster.start_dbd()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"The accounting daemon at \S+ does not answer: jobs of the past are missing")
        self.assertRegex(done.stdout, r"\n  account physics +GrpTRES cpu ")


class NoAccounting(unittest.TestCase):
    def test_it_says_so(self):
        cluster = Cluster(1, 1, 1000)
        self.addCleanup(cluster.down)
        done = cluster.run("sluice", "usage", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "sluice: error: this cluster has no accounting, so usage is not kept: "
                                      "AccountingStorageType=accounting_storage/none\n")


if __name__ == "__main__":
    unittest.main()
