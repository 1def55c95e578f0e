"""Another database in place of the one that was there: with other numbers, or an older copy."""
import glob
import os
import re
import shutil
import unittest

from accounting import AccountedCase
from harness import wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class Administered(AccountedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.cluster.conf, encoding="utf-8") as f:
            cls.name = re.search(r"^ClusterName=(\S+)", f.read(), re.M)[1]

    def mgr(self, *words):
        return self.out("sacctmgr", "-i", *words)


class OtherNumbers(Administered):
    CONF = """
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=license/matlab,gres/gpu
GresTypes=gpu
Licenses=matlab:4
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
PriorityDecayHalfLife=0
"""

    def numbers(self):
        """Of associations, QOS and TRES by their names."""
        def table(what, fields):
            rows = self.out("sacctmgr", "-nP", "list", *what, f"format={fields}").splitlines()
            return {name: int(number) for number, _, name in (row.partition("|") for row in rows)}
        return {**table(["assoc", f"cluster={self.name}"], "id,account,user"), **table(["qos"], "id,name"), **table(["tres"], "id,type,name")}

    def shares(self):
        """RawUsage by account and user, of each QOS, and what counts for limits on licenses."""
        lines = self.out("sshare", "-anP", "-o", "Account,User,RawUsage").splitlines()
        out = {tuple(word.strip() for word in line.split("|")[:2]): int(line.split("|")[2]) for line in lines}
        shown = self.out("scontrol", "show", "assoc_mgr", "flags=assoc,qos", "-o")
        out.update({qos: float(used) for qos, used in re.findall(r"QOS=(\w+)\(\d+\) +UsageRaw=([\d.]+)", shown)})
        # GrpTRESMins=N(USED): the minutes of it
        out["matlab"] = re.findall(r"Account=physics UserName=root\S* .*?GrpTRESMins=\S*?license/matlab=N\((\d+)\)", shown)
        return out

    def accounts_of(self, job):
        return self.out("squeue", "-h", "-j", job, "-o", "%T|%a|%q").strip()

    def associations_in_use(self):
        """Jobs that count for each association, by account and user."""
        shown = self.out("scontrol", "show", "assoc_mgr", "flags=assoc", "-o")
        found = re.findall(r"Account=(\w+) UserName=(\w*)(?:\(\d+\))? .*?GrpJobs=N\((\d+)\) .*?GrpSubmitJobs=N\((\d+)\)", shown)
        return {(account, user): (int(runs), int(there)) for account, user, runs, there in found}

    def lose_database(self):
        self.cluster.stop_dbd()
        for path in glob.glob(self.cluster.dir + "/state/accounting.db*"):
            os.rename(path, path.replace("accounting.db", "lost.db"))
        self.cluster.start_dbd()

    def test_usage_and_jobs_follow_the_names(self):
        for words in (["add", "qos", "high", "priority=100"], ["add", "qos", "low"], ["add", "account", "physics"],
                      ["add", "account", "lasers", "parent=physics", "grptresmins=license/matlab=10000"], ["add", "account", "chem", "maxjobs=7"],
                      ["add", "user", USER, "account=lasers,chem", "defaultaccount=lasers", "qos+=high,low"],
                      ["add", "user", "alice", "account=chem"]):
            self.mgr(*words)
        wait_for(lambda: ("chem", "alice") in self.associations_in_use(), "the controller knows the accounts")
        wait_for(lambda: "license|matlab" in self.numbers(), "the daemon knows what is counted")
        for options in (["-A", "lasers", "-n2", "-q", "high", "-L", "matlab:2"], ["-A", "chem", "-q", "low"]):
            self.wait_ended(self.submit(*options, "-o", "/dev/null", "--wrap", "sleep 2"))
        sleeps = self.submit("-A", "chem", "-q", "high", "-o", "/dev/null", "--wrap", f"while ! test -e {self.cluster.work}/go; do sleep 0.1; done")
        self.wait_state(sleeps, "RUNNING")
        waits = self.submit("-A", "lasers", "-q", "low", "-n4", "-o", "/dev/null", "--wrap", "true")
        held = self.submit("-A", "chem", "-q", "high", "--hold", "-o", "/dev/null", "--wrap", "true")
        jobs = {job: self.accounts_of(job) for job in (sleeps, waits, held)}
        self.assertEqual(list(jobs.values()), ["RUNNING|chem|high", "PENDING|lasers|low", "PENDING|chem|high"])
        counted, numbers, before = self.associations_in_use(), self.numbers(), self.shares()
        self.assertGreater(min(before["lasers", USER], before["low"]), 0)
        path = os.path.join(self.cluster.work, "dump.cfg")
        self.mgr("dump", self.name, f"file={path}")

        self.lose_database()
        # the controller stays with what it knows until somebody says that this database is to be its own
        wait_for(lambda: "does not know cluster" in self.cluster.log("sluicectld"), "the controller says that its database is gone")
        for words in (["add", "cluster", "other"], ["add", "qos", "low"], ["add", "qos", "high", "priority=100"],
                      ["add", "account", "chem,lasers", "cluster=other"], ["add", "user", "alice", "account=chem", "cluster=other"]):
            self.mgr(*words)
        refused = self.run_cmd("sacctmgr", "-i", "load", f"file={path}", check=False)
        self.assertIn("no TRES known by type license/matlab", refused.stderr)
        self.assertIn(f"the cluster (sacctmgr add cluster {self.name}), whose controller then tells its TRES, and load again", refused.stderr)
        self.mgr("add", "cluster", self.name)
        wait_for(lambda: "license|matlab" in self.numbers(), "the controller tells what is counted")
        for job, state in ((sleeps, "RUNNING"), (waits, "PENDING"), (held, "PENDING")):
            wait_for(lambda job=job, state=state: self.cluster.sacct("-X", "-j", job, "-o", "state") == [[state]], f"job {job} is in the new database")
        self.mgr("load", f"file={path}")
        now = self.numbers()
        self.assertEqual(sorted(now), sorted(numbers))
        for name in ("high", "low", "physics|", f"lasers|{USER}", f"chem|{USER}", "chem|alice"):
            self.assertNotEqual(now[name], numbers[name], name)
        wait_for(lambda: f"QOS=high({now['high']})" in self.out("scontrol", "show", "assoc_mgr"), "the controller has the new numbers")

        after = self.shares()
        runs = {("chem", USER), ("chem", ""), ("root", ""), "high"}  # what a running job uses grows
        self.assertEqual({name: used for name, used in after.items() if name not in runs}, {name: used for name, used in before.items() if name not in runs})
        for name in runs:
            self.assertGreaterEqual(after[name], before[name], name)
        self.assertEqual({job: self.accounts_of(job) for job in jobs}, jobs)
        self.assertEqual(self.associations_in_use(), counted)

        # what a crash brings back is the same
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is there")
        self.assertEqual(self.shares()["lasers", USER], before["lasers", USER])
        self.assertEqual(self.associations_in_use(), counted)
        with open(f"{self.cluster.work}/go", "w", encoding="utf-8"):
            pass
        self.run_cmd("scontrol", "release", held)
        for job, account in jobs.items():
            self.assertEqual(self.wait_ended(job), "COMPLETED")
            told = f"COMPLETED|{'|'.join(account.split('|')[1:])}"
            wait_for(lambda job=job, told=told: self.out("sacct", "-nXP", "-j", job, "-o", "state,account,qos").strip() == told,
                     f"the new database has job {job}")
        later = self.shares()
        self.assertGreater(later["chem", USER], before["chem", USER])
        self.assertGreaterEqual(later["high"], after["high"])
        self.assertEqual(later["chem", "alice"], 0)
        self.assertTrue(all(jobs_there == (0, 0) for jobs_there in self.associations_in_use().values()))


class OlderCopy(Administered):
    """A copy of the database that is older than what the controller has told since."""

    def run_of(self, job, fields="state,exitcode,start,end,nodelist,alloccpus"):
        return self.cluster.sacct("-XD", "-j", job, "-o", fields)

    def script(self, name, status=0):
        """A job that runs until a file is there."""
        path = os.path.join(self.cluster.work, name)
        return self.submit("-J", name, "-o", "/dev/null", "--wrap", f"while ! test -e {path}; do sleep 0.1; done; exit {status}")

    def test_jobs_that_are_over_get_their_true_end(self):
        failed, goes_on, again = (self.script(name, 3) for name in ("failed", "on", "again"))
        held = self.submit("-J", "held", "--hold", "-o", "/dev/null", "--wrap", "true")
        for job in (failed, goes_on, again):
            wait_for(lambda job=job: self.run_of(job, "state") == [["RUNNING"]], f"job {job} is in the database")
        wait_for(lambda: self.run_of(held, "state") == [["PENDING"]], "the held job is in the database")
        database = self.cluster.dir + "/state/accounting.db"
        self.cluster.stop_dbd()
        shutil.copy2(database, database + ".copy")
        self.cluster.start_dbd()
        self.run_cmd("scontrol", "release", held)
        self.file_made("failed")
        self.run_cmd("scontrol", "requeue", again)
        wait_for(lambda: len(self.run_of(again)) == 2, "both runs are in the database")
        wait_for(lambda: self.run_of(failed, "state") == [["FAILED"]] and self.run_of(held, "state") == [["COMPLETED"]], "their ends are in the database")
        before = {job: self.run_of(job) for job in (failed, held)}
        self.assertEqual([before[failed][0][:2], before[held][0][:2]], [["FAILED", "3:0"], ["COMPLETED", "0:0"]])
        wait_for(lambda: "DBD Agent queue size: 0" in self.out("sdiag"), "nothing waits")

        self.cluster.stop_dbd()
        for path in glob.glob(database + "-*"):
            os.remove(path)
        os.rename(database + ".copy", database)
        self.cluster.start_dbd()
        self.assertEqual((self.run_of(failed, "state"), self.run_of(held, "state")), ([["RUNNING"]], [["PENDING"]]))
        done = self.run_cmd("sacctmgr", "-nP", "show", "runawayjobs", "format=id,name,state,timeend", stdin="n\n")
        self.assertEqual(done.stderr, "")
        told = done.stdout.split("database\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(told, [f"{failed}|failed|RUNNING|{before[failed][0][3]}", f"{again}|again|RUNNING|Unknown",
                                f"{held}|held|PENDING|{before[held][0][3]}"])
        self.assertIn("Jobs with a TimeEnd get the end and the state that the controller knows.\n", done.stdout)
        self.mgr("show", "runawayjobs")
        self.assertEqual({job: self.run_of(job) for job in before}, before)
        self.assertEqual(self.cluster.sacct("-j", failed, "-o", "jobid,state")[1:], [[f"{failed}.batch", "CANCELLED"]])
        self.assertEqual(self.run_of(goes_on, "state"), [["RUNNING"]])
        self.assertEqual(self.out("sacctmgr", "show", "runaway"), "Runaway Jobs: No runaway jobs found on cluster trial\n")
        self.file_made("on")
        self.file_made("again")
        for job in (goes_on, again):
            wait_for(lambda job=job: ["FAILED"] in self.run_of(job, "state"), f"the end of job {job} is in the database")

    def file_made(self, name):
        with open(os.path.join(self.cluster.work, name), "w", encoding="utf-8"):
            pass


if __name__ == "__main__":
    unittest.main()
