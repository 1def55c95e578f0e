"""What a comparison of accounting's commands with Slurm's found."""
import datetime
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for


class Deviations(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(2)
        cls.name = cls.cluster.run("sacctmgr", "-nP", "list", "cluster", "format=cluster").stdout.strip()
        cls.number = cls.cluster.sql(f"SELECT id FROM cluster WHERE name = '{cls.name}'")[0][0]

    def told(self, job, fields):
        return wait_for(lambda: [row[1:] for row in self.cluster.sacct("-X", "-j", str(job), "-o", f"state,{fields}")
                                 if row[0].startswith("CANCELLED")], f"sacct has job {job} as cancelled")

    def waiting(self, *options):
        """A job that the scheduler has seen, and its priority."""
        job = self.submit("-N2", "--exclusive", "-o", "/dev/null", *options, "--wrap", "true")
        shown = wait_for(lambda: (seen := self.out("squeue", "-h", "-j", str(job), "-o", "%r %Q").split())[:1] == ["Resources"] and seen,
                         "a pass has found no room for it")
        return job, shown[1]

    def test_priority_of_what_never_ran(self):
        """It was 0."""
        blocker = self.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
        self.addCleanup(self.run_cmd, "scancel", str(blocker))
        self.wait_state(blocker, "RUNNING")
        job, priority = self.waiting()
        self.assertNotEqual(priority, "0")
        self.run_cmd("scancel", str(job))
        self.assertEqual(self.told(job, "priority"), [[priority]])
        array, priority = self.waiting("-a", "1-3")
        self.run_cmd("scancel", f"{array}_2")
        self.run_cmd("scancel", str(array))
        shown = wait_for(lambda: len(rows := self.told(array, "priority")) == 2 and rows, "both records")
        self.assertEqual(shown, [[priority], [priority]])
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scancel", str(held))
        self.assertEqual(self.told(held, "priority"), [["0"]])

    def hour_ago(self, days):
        """Of a day long before the cluster was there."""
        begin = datetime.datetime.combine(datetime.date.today() - datetime.timedelta(days=days), datetime.time(10))
        return begin, int(begin.timestamp() * 1_000_000)

    def report(self, begin, hours, *words):
        span = (f"start={begin:%Y-%m-%dT%H:%M}", f"end={begin + datetime.timedelta(hours=hours):%Y-%m-%dT%H:%M}")
        return self.cluster.run("sreport", "-nP", *words, *span).stdout.splitlines()

    def test_wckeys_that_are_not_tracked(self):
        """sreport counted them although TrackWCKey=no."""
        begin, time = self.hour_ago(20)
        self.cluster.sql("INSERT INTO job_usage(cluster, period, time, account, \"user\", wckey, qos, tres, used) "
                         f"VALUES({self.number}, 0, {time}, 'root', 'root', 'paper', 'normal', 'cpu', 600)")
        for report in ("WCKeyUtilizationByUser", "UserUtilizationByWckey"):
            self.assertEqual(self.report(begin, 1, "cluster", report), [])
        self.assertEqual(len(self.report(begin, 1, "cluster", "AccountUtilizationByUser")), 2)

    def test_what_is_reported_is_of_the_time_that_was_asked_for(self):
        """It was 100 % whatever the database knows."""
        begin, time = self.hour_ago(30)
        self.cluster.sql("INSERT INTO cluster_usage(cluster, period, time, tres, count, allocated, down, planned_down, idle, planned, \"over\") "
                         f"VALUES({self.number}, 0, {time}, 'cpu', 16, 14400, 0, 0, 43200, 0, 0)")
        for hours, shown in ((1, "16|25.00%|75.00%|100.00%"), (4, "16|25.00%|75.00%|25.00%")):
            self.assertEqual(self.report(begin, hours, "-t", "percent", "cluster", "Utilization", "format=trescount,allocated,idle,reported"), [shown])

    def test_frequencies_are_of_steps(self):
        """A batch job had those that its steps were to have, ReqCPUFreq was the least, and whole numbers had 00 behind them."""
        job = self.submit("--cpu-freq=1000-2000", "-n1", "-o", "/dev/null", "--wrap", "srun -n1 true")
        self.wait_ended(job)
        shown = wait_for(lambda: {row[0]: row[1:] for row in self.cluster.sacct(
            "-j", str(job), "-o", "jobid,state,reqcpufreqmin,reqcpufreqmax,reqcpufreq,wckeyid") if row[1] == "COMPLETED"}, "sacct has it")
        shown = wait_for(lambda: len(rows := {row[0]: row[1:] for row in self.cluster.sacct(
            "-j", str(job), "-o", "jobid,reqcpufreqmin,reqcpufreqmax,reqcpufreq,wckeyid")}) >= 3 and rows, "all rows")
        self.assertEqual(shown[str(job)], ["Unknown", "Unknown", "Unknown", "0"])
        self.assertEqual(shown[f"{job}.0"], ["1M", "2M", "2M", ""])

    def test_mistakes(self):
        """Some were no mistakes, others told in other words."""
        for words, told in (
                (["sacct", "-g", "54321"], "sacct: error: Invalid group id: 54321\n"),
                (["sacct", "-u", ""], "sacct: error: Invalid user id: \n"),
                (["sacctmgr", "-i", "add", "coordinator"], " You need to specify conditions to to add the coordinator.\n"),
                (["sacctmgr", "-i", "add", "coordinator", "account=root"], " You need to specify a user list here.\n"),
                (["sacctmgr", "-i", "add", "coordinator", "names=root"], " You need to specify an account list here.\n"),
                (["sacctmgr", "-i", "delete", "coordinator"], " You need to specify a user list or account list here.\n"),
                (["sacctmgr", "-i", "delete", "coordinator", "account=nosuch"], " You specified a non-existent account 'nosuch'.\n"),
                (["sacctmgr", "-i", "delete", "coordinator", "names=nosuch"], " You specified a non-existent user 'nosuch'.\n"),
                (["sacctmgr", "dump", "nosuch"], " Cluster nosuch doesn't exist.\n"),
                (["sacctmgr", "show", "event", "start=nosuch"], "Invalid time specification (pos=0): nosuch\n")):
            self.fails(1, told, *words)

    def test_no_state_is_any_state(self):
        """Nothing was found."""
        job = self.submit("-n1", "-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        wait_for(lambda: [str(job)] in self.cluster.sacct("-X", "-s", "", "-o", "jobid"), "sacct has it")

    def test_all_of_a_kind_without_a_question(self):
        """With -i it was told that no conditions were set."""
        done = self.cluster.run("sacctmgr", "-i", "modify", "account", "set", "fairshare=3")
        self.assertTrue(done.stdout.startswith(" Modified account associations...\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()
