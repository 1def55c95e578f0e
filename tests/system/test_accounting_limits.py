"""Limits and fair share: what sacctmgr says reaches the controller, which enforces it."""
import json
import os
import re
import signal
import unittest

from accounting import AccountedCase
from harness import add_users, need_root, wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")
POLICY = "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


class Limited(AccountedCase):
    CONF = """
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
PriorityWeightQOS=500
PriorityDecayHalfLife=0
"""

    SET_UP = (["add", "account", "physics"], ["add", "account", "chem"],
              ["add", "user", USER, "account=physics,chem", "defaultaccount=physics"],
              ["add", "qos", "high", "priority=100"])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()

        def is_known():
            shown = cls.cluster.run("scontrol", "show", "assoc_mgr").stdout
            return f"Account=chem UserName={USER}" in shown and "QOS=high" in shown
        wait_for(is_known, "the controller knows the accounts")

    def tearDown(self):
        self.run_cmd("scancel", "-u", USER)
        self.wait_no_jobs()

    def modify(self, *words, seen):
        """Changes something, and waits until the controller shows it."""
        self.run_cmd("sacctmgr", "-i", "modify", *words)
        wait_for(lambda: seen in self.out("scontrol", "show", "assoc_mgr"), f"the controller knows {seen}")

    def reason(self, job):
        return self.out("squeue", "-h", "-j", str(job), "-o", "%r").strip()

    def sleeper(self, *options):
        return self.submit("-o", "/dev/null", *options, "--wrap", "sleep 100")


class Limits(Limited):
    def test_accounts_and_qos(self):
        job = self.sleeper()
        shown = self.show(job)
        self.assertEqual((shown["Account"], shown["QOS"]), ("physics", "normal"))
        self.fails(1, "sbatch: error: Batch job submission failed: "
                      "Invalid account or account/partition combination specified\n", "sbatch", "-A", "nope", "--wrap", "true")
        self.fails(1, "sbatch: error: Batch job submission failed: Invalid qos specification\n",
                   "sbatch", "-q", "high", "--wrap", "true")
        self.modify("user", USER, "where", "account=chem", "set", "qos+=high", seen="QOS=high")
        job = wait_for(lambda: (done := self.run_cmd("sbatch", "--parsable", "-A", "chem", "-q", "high", "-o", "/dev/null",
                                                     "--wrap", "sleep 100", check=False)).returncode == 0
                       and int(done.stdout), "the QOS may be used")
        shown = self.show(job)
        self.assertEqual((shown["Account"], shown["QOS"]), ("chem", "high"))

    def test_a_group_limit_holds_a_job_back_until_it_is_larger(self):
        self.modify("account", "physics", "set", "grptres=cpu=2", seen="GrpTRES=cpu=2(")
        first, second = self.sleeper("-n2"), self.sleeper("-n1")
        self.wait_state(first, "RUNNING")
        wait_for(lambda: self.reason(second) == "AssocGrpCpuLimit", "the limit is told")
        said = self.out("sluice", "explain", str(second))
        self.assertIn("A limit holds it back: GrpTRES=cpu=2 of account physics.\n"
                      "  Jobs of account physics use cpu=2 now, and this job asks for cpu=1.\n", said)
        self.assertNotIn("may start from", said, "the first has no time limit")
        self.run_cmd("scontrol", "update", f"JobId={first}", "TimeLimit=20")
        end = self.show(first)["EndTime"]
        self.assertIn(f"  By the time limits of jobs that go before, it may start from {end} on.\n",
                      self.out("sluice", "explain", str(second)))
        other = self.sleeper("-A", "chem")
        self.wait_state(other, "RUNNING")
        self.run_cmd("sacctmgr", "-i", "modify", "account", "physics", "set", "grptres=cpu=-1")
        self.wait_state(second, "RUNNING")

    def test_max_jobs_of_a_user_in_a_qos(self):
        first = self.sleeper()
        self.wait_state(first, "RUNNING")
        self.modify("qos", "normal", "set", "maxjobsperuser=1", seen="MaxJobsPU=1(1)")
        second = self.sleeper()
        wait_for(lambda: self.reason(second) == "QOSMaxJobsPerUserLimit", "the limit is told")
        self.run_cmd("scancel", str(first))
        self.wait_state(second, "RUNNING")
        self.run_cmd("sacctmgr", "-i", "modify", "qos", "normal", "set", "maxjobsperuser=-1")

    def test_submit_limit(self):
        self.modify("user", USER, "where", "account=physics", "set", "maxsubmitjobs=1", seen="MaxSubmitJobs=1(")
        self.sleeper()
        self.fails(1, f"sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: {POLICY}\n", "sbatch", "--wrap", "true")
        self.run_cmd("sacctmgr", "-i", "modify", "user", USER, "where", "account=physics", "set", "maxsubmitjobs=-1")

    MARKS = iter(range(1000, 9999))

    def settle(self):
        """The controller knows all that was changed before: it gets changes in their order."""
        mark = next(self.MARKS)
        self.modify("account", "chem", "set", f"grpjobs={mark}", seen=f"GrpJobs={mark}(")

    def check_limits(self, entity, table):
        """Each limit holds a job of 2 CPUs and 30 minutes back, or refuses it, as it did on Slurm."""
        for limit, expected, refused in table:
            with self.subTest(entity=entity, limit=limit):
                self.run_cmd("sacctmgr", "-i", "modify", *entity, "set", limit)
                self.settle()
                if refused:
                    self.fails(1, f"sbatch: error: {expected}\nsbatch: error: {POLICY}\n", "sbatch", "-n2", "-t", "30", "--wrap", "true")
                else:
                    job = self.sleeper("-n2", "-t", "30")
                    wait_for(lambda j=job, e=expected: self.reason(j) == e, f"{limit} gives {expected}")
                    self.run_cmd("scancel", str(job))
                key, _, value = limit.partition("=")
                none = f"{key}={value.split('=')[0]}=-1" if "=" in value else f"{key}=-1"
                self.run_cmd("sacctmgr", "-i", "modify", *entity, "set", none)

    def test_reasons_of_limits_of_accounts(self):
        self.check_limits(("account", "physics"), [
            ("grptres=cpu=1", "AssocGrpCpuLimit", False), ("grptres=node=0", "AssocGrpNodeLimit", False),
            ("grpjobs=0", "AssocGrpJobsLimit", False), ("grpsubmitjobs=0", "AssocGrpSubmitJobsLimit", True),
            ("grptresrunmins=cpu=10", "AssocGrpCPURunMinutesLimit", False), ("maxtresperjob=cpu=1", "AssocMaxCpuPerJobLimit", False),
            ("maxtrespernode=cpu=1", "AssocMaxCpuPerNode", False), ("maxtresminsperjob=cpu=10", "AssocMaxCpuMinutesPerJobLimit", False),
            ("maxjobs=0", "AssocMaxJobsLimit", False), ("maxsubmitjobs=0", "AssocMaxSubmitJobLimit", True),
            ("maxwall=5", "AssocMaxWallDurationPerJobLimit", False), ("grpwall=0", "AssocGrpWallLimit", False)])

    def test_reasons_of_limits_of_a_qos(self):
        self.check_limits(("qos", "normal"), [
            ("grptres=cpu=1", "QOSGrpCpuLimit", False), ("grpjobs=0", "QOSGrpJobsLimit", False),
            ("grpsubmitjobs=0", "QOSGrpSubmitJobsLimit", True), ("grptresrunmins=cpu=10", "QOSGrpCPURunMinutesLimit", False),
            ("maxtresperjob=cpu=1", "QOSMaxCpuPerJobLimit", False), ("maxtresminsperjob=cpu=10", "QOSMaxCpuMinutesPerJobLimit", False),
            ("maxtresperuser=cpu=1", "QOSMaxCpuPerUserLimit", False), ("maxtresperaccount=cpu=1", "MaxCpuPerAccount", False),
            ("maxjobsperuser=0", "QOSMaxJobsPerUserLimit", False), ("maxjobsperaccount=0", "MaxJobsPerAccount", False),
            ("maxsubmitjobsperuser=0", "QOSMaxSubmitJobPerUserLimit", True),
            ("maxsubmitjobsperaccount=0", "MaxSubmitJobsPerAccount", True), ("maxwall=5", "QOSMaxWallDurationPerJobLimit", False),
            ("grpwall=0", "QOSGrpWallLimit", False), ("mintresperjob=cpu=3", "QOSMinCpuNotSatisfied", False)])

    def test_usage_fair_share_and_a_controller_that_is_killed(self):
        job = self.submit("-n2", "-o", "/dev/null", "--wrap", "sleep 2")
        self.wait_ended(job)

        def shares():
            lines = self.out("sshare", "-aP", "-o", "Account,User,RawUsage,NormShares").splitlines()[1:]
            return {tuple(word.strip() for word in line.split("|")[:2]): line.split("|")[2:] for line in lines}
        used = int(shares()["physics", USER][0])
        self.assertGreaterEqual(used, 4)
        self.assertEqual(shares()["physics", ""], [str(used), shares()["chem", ""][1]])
        self.assertGreaterEqual(int(shares()["root", ""][0]), used)
        self.cluster.stop_dbd(signal.SIGKILL)
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is there")
        self.assertEqual(int(shares()["physics", USER][0]), used)
        self.wait_state(self.sleeper(), "RUNNING")  # with the daemon away it knows what it knew
        self.fails(1, "sbatch: error: Batch job submission failed: "
                      "Invalid account or account/partition combination specified\n", "sbatch", "-A", "nope", "--wrap", "true")
        self.cluster.start_dbd()

    def test_a_clean_start_forgets_no_usage(self):
        """slurmctld -c forgot it with the jobs; Slurm keeps it."""
        def usage():
            shown = self.out("sshare", "-anP", "-A", "chem", "-o", "Account,User,RawUsage").splitlines()
            return dict((line.split("|")[1], int(line.split("|")[2])) for line in shown)
        self.wait_ended(self.submit("-A", "chem", "-n4", "-o", "/dev/null", "--wrap", "sleep 1"))
        used = wait_for(lambda: (now := usage())[USER] > 0 and now, "it is charged")
        runs = self.sleeper("-A", "chem")
        self.wait_state(runs, "RUNNING")
        self.cluster.kill_controller()
        self.cluster.start_controller("-c")
        wait_for(lambda: self.run_cmd("sinfo", check=False).returncode == 0, "the controller answers")
        self.assertEqual(self.out("squeue", "-h"), "")
        self.assertGreaterEqual(usage()[USER], used[USER])
        self.assertGreaterEqual(usage()[""], used[""])
        after = self.submit("-A", "chem", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual((after, self.wait_ended(after)), (runs + 1, "COMPLETED"))

    def test_usage_is_reset(self):
        for account in ("physics", "chem"):
            self.wait_ended(self.submit("-A", account, "-n2", "-o", "/dev/null", "--wrap", "sleep 1"))

        def used(account, user=USER):
            lines = self.out("sshare", "-anP", "-A", account, "-o", "Account,User,RawUsage").splitlines()
            return next(int(line.rsplit("|", 1)[1]) for line in lines if line.strip().startswith(f"{account}|{user}|"))

        def of_qos():
            return float(re.search(r"QOS=normal\(1\)\s+UsageRaw=([\d.]+)", self.out("scontrol", "show", "assoc_mgr", "flags=qos"))[1])
        physics, chem, root, qos = used("physics"), used("chem"), used("root", ""), of_qos()
        self.assertGreater(min(physics, chem, qos), 0)
        reset = ["modify", "user", USER, "account=physics", "set", "rawusage=0"]
        said = self.run_cmd("sacctmgr", *reset, stdin="n\n").stdout
        self.assertTrue(said.endswith("(N/y): \n Changes Discarded\n"), said)
        self.assertEqual(used("physics"), physics)
        self.run_cmd("sacctmgr", "-i", *reset)
        self.assertEqual((used("physics"), used("physics", ""), used("chem")), (0, 0, chem))
        self.assertAlmostEqual(used("root", ""), root - physics, delta=1)
        self.assertEqual(of_qos(), qos)
        self.run_cmd("sacctmgr", "-i", "modify", "qos", "normal", "set", "rawusage=0")
        self.run_cmd("sacctmgr", "-i", "modify", "account", "chem", "set", "rawusage=0", "fairshare=7")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is there")
        self.assertEqual((used("physics"), used("chem"), used("chem", ""), of_qos()), (0, 0, 0, 0))
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "assoc", "account=chem", "user=", "format=share").splitlines()[0], "7")
        self.run_cmd("sacctmgr", "-i", "modify", "account", "chem", "set", "fairshare=1")
        self.fails(1, "sacctmgr: error: The usage of cluster other is kept by its own controller: reset it there\n",
                   "sacctmgr", "-i", "modify", "account", "chem", "cluster=other", "set", "rawusage=0")
        self.fails(1, "sacctmgr: error: Usage is reset by names of accounts, users, QOS and clusters alone\n",
                   "sacctmgr", "-i", "modify", "user", USER, "account=chem", "partition=debug", "set", "rawusage=0")

    def test_sshare(self):
        usual = self.out("sshare").splitlines()
        self.assertEqual(usual[0], "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare ")
        self.assertEqual(usual[1], "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- ")
        self.assertTrue(usual[2].startswith("root "), usual[2])
        self.assertEqual(self.out("sshare", "-n").splitlines(), usual[2:])
        self.assertEqual(self.out("sshare", "-h").splitlines(), usual[2:])
        self.assertEqual(self.out("sshare", "-u", USER), self.out("sshare"))
        users = self.out("sshare", "-UP", "-A", "physics", "-o", "User,Account%30").splitlines()
        self.assertEqual([line.split("|")[0] for line in users], ["User", USER])
        self.assertEqual(users[1].split("|")[1].strip(), "physics")
        self.assertIn("|Partition|", self.out("sshare", "-amp").splitlines()[0])
        self.assertIn("LevelFS", self.out("sshare", "-al").splitlines()[0])
        self.assertIn("FairShare", self.out("sshare", "-e"))
        document = json.loads(self.out("sshare", "-a", "--json"))
        rows = self.out("sshare", "-anP", "-o", "Account,User,RawShares").splitlines()
        self.assertEqual([f"{one['name'] if 'USER' not in one['type'] else one['parent']}|{one['name'] if 'USER' in one['type'] else ''}"
                          for one in document["shares"]["shares"]], [row.strip().rsplit("|", 1)[0].strip() for row in rows])
        self.assertEqual(document["meta"]["command"][0].rsplit("/", 1)[-1], "sshare")
        self.assertIn("!!str total_shares: !!int ", self.out("sshare", "--yaml"))
        self.fails(1, 'sshare: error: Invalid field requested: "Nothing"\n', "sshare", "-o", "Nothing")
        self.assertEqual(self.out("sshare", "-V").split()[0], "slurm")
        name = self.show_config("ClusterName")
        self.assertEqual(self.out("sshare", "-M", name), f"CLUSTER: {name}\n" + self.out("sshare"))
        self.assertEqual(self.out("sshare", "-u", "nobody", "-a"), self.out("sshare", "-a"))
        self.assertEqual(self.out("sshare", "-a", "-u", "nobody"), self.out("sshare", "-u", "nobody"))
        for option in ("--help", "--usage"):
            self.assertTrue(self.out("sshare", option).startswith("Usage: sshare"))
        self.assertIn("Users requested", self.run_cmd("sshare", "-v").stderr)

    def show_config(self, key):
        lines = self.out("scontrol", "show", "config").splitlines()
        return next(line.split("=", 1)[1].strip() for line in lines if line.split("=")[0].strip() == key)

    def test_priority_of_a_qos_and_fair_share(self):
        self.run_cmd("sacctmgr", "-i", "modify", "user", USER, "where", "account=physics", "set", "qos+=high")
        filler = self.sleeper("-n4")
        self.wait_state(filler, "RUNNING")
        plain = self.sleeper("-n4")
        high = wait_for(lambda: (done := self.run_cmd("sbatch", "--parsable", "-n4", "-q", "high", "-o", "/dev/null", "--wrap",
                                                      "sleep 100", check=False)).returncode == 0 and int(done.stdout),
                        "the QOS may be used")

        def factors():
            lines = self.out("sprio", "-h", "-o", "%i %Q %F").splitlines()
            return {int(line.split()[0]): [int(word) for word in line.split()[1:]] for line in lines}
        found = wait_for(lambda: {plain, high} <= set(factors()) and factors(), "both jobs wait")
        self.assertEqual(found[high][0], 500)
        self.assertEqual(found[plain][0], 0)
        self.assertGreater(found[plain][1], 0)


class Updates(Limited):
    """scontrol update of a user's jobs, as it was on Slurm."""
    ALICE = 12001
    REFUSED = POLICY.split(": ", 1)[1]

    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()
        add_users(cls, cls.ALICE)
        cls.name = f"sluicetest{cls.ALICE}"
        run = cls.cluster.run
        run("sacctmgr", "-i", "add", "user", cls.name, "account=physics,chem", "defaultaccount=physics")
        wait_for(lambda: f"Account=chem UserName={cls.name}" in run("scontrol", "show", "assoc_mgr").stdout, "the controller knows her")

    def tearDown(self):
        self.run_cmd("scancel", "-u", self.name)
        super().tearDown()

    def alices(self, *options):
        return self.submit("-o", "/dev/null", *options, "--wrap", "sleep 100", user=self.ALICE)

    def update(self, job, *what, user=None):
        self.run_cmd("scontrol", "update", f"JobId={job}", *what, user=user)

    def test_another_account_asks_its_submit_limits(self):
        self.modify("user", self.name, "where", "account=chem", "set", "maxsubmitjobs=1", seen="MaxSubmitJobs=1(")
        self.alices("-H", "-A", "chem")
        job = self.alices("-H")
        self.fails(1, f"{self.REFUSED} for job {job}\n", "scontrol", "update", f"JobId={job}", "Account=chem", user=self.ALICE)
        self.assertEqual(self.show(job)["Account"], "physics")
        array = self.alices("-H", "-a", "1-2")
        self.fails(1, f"{array}_1-2: {self.REFUSED}\n", "scontrol", "update", f"JobId={array}", "Account=chem", user=self.ALICE)
        self.update(job, "Account=chem")  # an operator may
        self.assertEqual(self.show(job)["Account"], "chem")

    def test_what_an_operator_sets_no_limit_holds(self):
        self.modify("qos", "normal", "set", "maxwall=20", "maxtresperjob=cpu=1", seen="MaxWallPJ=20")
        self.addCleanup(self.run_cmd, "sacctmgr", "-i", "modify", "qos", "normal", "set", "maxwall=-1", "maxtresperjob=cpu=-1")
        job = self.alices("-H", "-t", "10")
        self.update(job, "TimeLimit=30", "NumTasks=2", user=self.ALICE)
        self.run_cmd("scontrol", "release", str(job), user=self.ALICE)
        wait_for(lambda: self.reason(job) == "QOSMaxWallDurationPerJobLimit", "her time is over the limit")
        self.update(job, "TimeLimit=30")
        wait_for(lambda: self.reason(job) == "QOSMaxCpuPerJobLimit", "her CPUs are")
        self.update(job, "NumTasks=2")
        self.wait_state(job, "RUNNING")
        self.fails(1, f"Job is no longer pending execution for job {job}\n", "scontrol", "update", f"JobId={job}", "QOS=high")

    def test_age_of_as_many_jobs_as_the_limit_lets(self):
        self.modify("account", "physics", "set", "grpjobs=0", "grpjobsaccrue=1", seen="GrpJobsAccrue=1(")
        self.addCleanup(self.run_cmd, "sacctmgr", "-i", "modify", "account", "physics", "set", "grpjobs=-1", "grpjobsaccrue=-1")
        first, second = self.alices(), self.alices()
        self.assertEqual([self.show(job)["AccrueTime"] == "Unknown" for job in (first, second)], [False, True])
        self.assertNotEqual(self.show(second)["EligibleTime"], "Unknown")
        self.run_cmd("scancel", str(first))
        wait_for(lambda: self.show(second)["AccrueTime"] != "Unknown", "there is room for its age")


if __name__ == "__main__":
    unittest.main()
