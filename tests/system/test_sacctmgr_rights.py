"""Who may change what with sacctmgr: users, coordinators, operators and administrators."""
import unittest

from harness import add_users, need_root, wait_for
from test_sacctmgr import Administered


class Rights(Administered):
    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()
        cls.users = {name: uid for name, uid in (("plain", 61811), ("coordinator", 61812), ("operator", 61813))}
        add_users(cls, *cls.users.values())

        def run(*words):
            cls.cluster.run("sacctmgr", "-i", *words)
        run("add", "account", "mine,theirs")
        run("add", "account", "below", "parent=mine")
        for uid in cls.users.values():
            run("add", "user", f"sluicetest{uid}", "account=mine")
        run("add", "coordinator", f"names=sluicetest{cls.users['coordinator']}", "account=mine")
        run("modify", "user", f"sluicetest{cls.users['operator']}", "set", "adminlevel=operator")

    def test_plain_users_change_nothing(self):
        user = self.users["plain"]
        for words in (["add", "account", "hack"], ["add", "user", "x", "account=mine"], ["add", "qos", "x"],
                      ["modify", "account", "mine", "set", "grpjobs=1"], ["delete", "account", "theirs"],
                      ["modify", "user", f"sluicetest{user}", "set", "maxjobs=100"],
                      ["modify", "user", f"sluicetest{user}", "set", "adminlevel=admin"],
                      ["add", "coordinator", f"names=sluicetest{user}", "account=mine"], ["delete", "qos", "normal"]):
            self.assertIn("Access/permission denied", self.refused(*words, user=user))
        no_privilege = "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
        for words, text in ((["shutdown"], " Problem shutting down server: Access/permission denied\n"),
                            (["clear", "stats"], no_privilege), (["reconfigure"], no_privilege), (["show", "stats"], no_privilege),
                            (["show", "runaway"], "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs\n"),
                            (["add", "coordinator", f"names=sluicetest{user}", "account=mine"],
                             " Problem adding coordinator: Access/permission denied\n"),
                            (["modify", "user", f"sluicetest{user}", "set", "adminlevel=admin"],
                             "sacctmgr: error: You can only change your own default account, default wckey nothing else\n"
                             " Error with request: Access/permission denied\n")):
            self.assertEqual(self.refused(*words, user=user), text)
        self.mgr("modify", "user", f"sluicetest{user}", "set", "defaultaccount=mine", user=user)

    def test_problems_are_operators(self):
        for name in ("plain", "coordinator"):
            done = self.cluster.run("sacctmgr", "-nP", "list", "problems", user=self.users[name], check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, "", "sacctmgr: error: Access/permission denied\n Error with request: Access/permission denied\n"))
        self.assertIn(f"{self.name}|theirs||Account has no users", self.rows("list", "problems", user=self.users["operator"]))

    def test_wckeys_are_operators(self):
        for name in ("plain", "coordinator"):
            self.assertIn("Access/permission denied", self.refused("list", "wckey", user=self.users[name]))
        self.assertEqual(self.rows("list", "wckey", user=self.users["operator"]), self.rows("list", "wckey"))

    def job_of(self, user):
        """A job of his that accounting has as completed."""
        job = self.submit("-D", "/tmp", "-o", "/dev/null", "--wrap", "true", user=user)
        wait_for(lambda: self.cluster.sacct("-X", "-j", str(job), "-o", "state") == [["COMPLETED"]], f"sacct has job {job} as completed")
        return job

    def test_jobs_are_changed_by_whom_they_are_of(self):
        plain, operator = self.users["plain"], self.users["operator"]
        job = self.job_of(plain)
        where = ["modify", "job", "where", f"jobid={job}", "set"]
        fields = lambda: self.cluster.sacct("-X", "-j", str(job), "-o", "comment,admincomment,systemcomment,derivedexitcode,extra")[0]  # noqa: E731
        self.assertRegex(self.mgr(*where, "comment=mine", "DerivedExitCode=3", "extra=e", user=plain).stdout,
                         rf"^ Modified jobs\.\.\.\n  {job} submitted at \d{{4}}-\d\d-\d\dT[\d:]+\n$")
        self.assertEqual(fields(), ["mine", "", "", "0:3", "e"])
        told = self.rows("list", "txn")
        self.assertIn(f"  {job} submitted at ", self.mgr(*where, "comment=mine", "DerivedExitCode=3", user=plain).stdout)
        self.assertEqual(self.rows("list", "txn"), told, "nothing of it was new")
        for words, user in ((["comment=x", "admincomment=x"], plain), (["systemcomment=x"], plain),
                            (["comment=x"], self.users["coordinator"])):
            self.assertIn("Access/permission denied", self.refused(*where, *words, user=user))
        self.assertEqual(fields(), ["mine", "", "", "0:3", "e"])
        self.mgr(*where, "admincomment=a b", "systemcomment=s", "comment=", user=operator)
        self.assertEqual(fields(), ["", "a b", "s", "0:3", "e"])
        self.assertIn(f"Modify Job|sluicetest{operator}|comment='', admin_comment='a b', system_comment='s'",
                      self.rows("list", "txn", f"user=sluicetest{plain}", "format=action,actor,info"))
        self.mgr("add", "user", f"sluicetest{plain}", "account=mine", "wckeys=paper")
        self.mgr(*where, "newwckey=paper", user=plain)
        self.assertEqual(self.cluster.sacct("-X", "-j", str(job), "-o", "wckey"), [["paper"]])
        self.assertEqual(self.refused(*where, "newwckey=theirs", user=plain), " Nothing modified\n")

    def test_jobs_are_changed_when_that_is_said(self):
        job = self.job_of(0)
        where = ["modify", "job", "where", f"jobid={job}"]
        comment = lambda: self.cluster.sacct("-X", "-j", str(job), "-o", "comment")[0][0]  # noqa: E731
        asked = self.cluster.run("sacctmgr", *where, "set", "comment=later", stdin="n\n").stdout
        self.assertTrue(asked.endswith("(N/y): \n Changes Discarded\n"), asked)
        self.assertEqual(comment(), "")
        self.cluster.run("sacctmgr", *where, "set", "comment=later", stdin="y\n")
        self.assertEqual(comment(), "later")
        for words, text in (
                (["set", "wckey=k"], " Unknown option: wckey=k\n Use keyword 'where' to modify condition\n"),
                (["nosuch=1", "set", "comment=x"], " Unknown condition: nosuch=1\n Use keyword 'set' to modify value\n"),
                (["set"], " You didn't give me anything to set\n"), (["set", "newwckey=none"], " Nothing modified\n"),
                (["cluster=elsewhere", "set", "comment=x"], " Nothing modified\n"),
                (["set", "derivedexitcode=x"], "sacctmgr: error: Invalid value for DerivedExitCode (x)\n You didn't give me anything to set\n")):
            self.assertEqual(self.refused(*where, *words), text)
        self.assertEqual(self.refused("modify", "job", "where", "jobid=99999", "set", "comment=x"), " Nothing modified\n")
        for words, text in ((["jobid=x"], "sacctmgr: fatal: Bad job/step specified: x"), (["user=no-such-user"], "Invalid user id: no-such-user"),
                            (["start=x"], "Invalid time specification: x")):
            self.assertIn(text, self.refused("modify", "job", "where", *words, "set", "comment=x"))
        self.mgr(*where, "user=root", "start=2020-01-01", "end=now+1hour", f"cluster={self.name}", "set", "comment=all")
        self.assertEqual(comment(), "all")
        self.assertEqual(self.cluster.run("sacctmgr", "modify", "job", "set", "comment=x", stdin="n\n").stdout.splitlines()[-1], "Aborted")

    def test_coordinators_change_what_is_theirs(self):
        user = self.users["coordinator"]
        self.mgr("add", "user", "newbie", "account=below", user=user)
        self.mgr("add", "account", "deeper", "parent=below", user=user)
        self.mgr("modify", "user", "newbie", "set", "maxjobs=2", user=user)
        self.mgr("add", "user", "passing", "account=below", user=user)
        self.assertIn(" Deleting users (No Associations)...\n  passing\n", self.mgr("delete", "user", "passing", "account=below", user=user).stdout)
        self.assertEqual(self.rows("list", "user", "passing", "format=user"), [])
        for words in (["add", "user", "newbie", "account=theirs"], ["add", "account", "hack"], ["add", "qos", "x"],
                      ["modify", "user", "newbie", "set", "adminlevel=operator"],
                      ["modify", "account", "theirs", "set", "grpjobs=1"]):
            self.assertIn("Access/permission denied", self.refused(*words, user=user))

    def test_operators_make_no_administrators(self):
        user = self.users["operator"]
        self.mgr("add", "account", "byoperator", user=user)
        self.mgr("modify", "cluster", self.name, "set", "grpjobs=1000", user=user)
        for words in (["modify", "user", f"sluicetest{user}", "set", "adminlevel=admin"],
                      ["modify", "user", "root", "set", "adminlevel=none"], ["add", "cluster", "other"], ["add", "qos", "byoperator"]):
            self.assertIn("Access/permission denied", self.refused(*words, user=user))
        self.assertIn("Access/permission denied", self.refused("modify", "account", "mine", "set", "rawusage=0", user=user))
        self.assertIn(f"Add Accounts|sluicetest{user}|byoperator", self.rows("list", "txn", "format=action,actor,where"))


if __name__ == "__main__":
    unittest.main()
