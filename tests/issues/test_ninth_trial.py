"""What a trial of accounting beside Slurm found."""
import os
import unittest

from accounting import AccountedCase
from harness import wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class Wckeys(AccountedCase):
    CONF = "AccountingStorageEnforce=associations,wckeys\nTrackWCKey=yes\n"
    SET_UP = (["add", "account", "physics,chem"], ["add", "user", USER, "account=physics,chem", "defaultaccount=physics", "wckeys=key1,key2"],
              ["modify", "user", USER, "set", "defaultwckey=key1"])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wait_for(lambda: f"UserName={USER}({os.getuid()}) DefAccount=physics DefWckey=key1 " in
                 cls.cluster.run("scontrol", "show", "assoc_mgr", "flags=users").stdout, "the controller knows them")

    def held(self, *options):
        return self.submit("-H", "-o", "/dev/null", *options, "--wrap", "true")

    def wckey(self, job):
        return self.out("squeue", "-h", "-j", job, "-o", "%w").strip()

    def test_scancel_finds_the_default_one_by_its_name(self):
        own, other = self.held(), self.held("--wckey=key2")
        self.assertEqual(self.wckey(own), "*key1")
        self.run_cmd("scancel", "--wckey=key1")
        self.wait_ended(own)
        self.assertEqual(self.out("squeue", "-h", "-o", "%i").split(), [str(other)])
        self.run_cmd("scancel", other)

    def test_capitals_do_not_count(self):
        job = self.held("--wckey=KEY2")
        self.assertEqual(self.wckey(job), "key2")
        self.run_cmd("scontrol", "update", f"jobid={job}", "wckey=Key1")
        self.assertEqual(self.wckey(job), "key1")
        self.run_cmd("scancel", job)

    def test_no_name_is_not_the_default_one(self):
        """A script whose variable was not set charged another account than before, without a word."""
        job = self.held("-A", "chem", "--wckey=key2")
        for what, text in (("account=", "Invalid account or account/partition combination specified"), ("wckey=", "Invalid wckey specification")):
            done = self.run_cmd("scontrol", "update", f"jobid={job}", what, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        shown = self.show(job)
        self.assertEqual((shown["Account"], self.wckey(job)), ("chem", "key2"))
        self.run_cmd("scancel", job)


class Names(AccountedCase):
    CPUS = 2

    def test_names_of_earlier_versions(self):
        self.assertEqual(self.out("sacct", "-P", "-o", "reserved,resvcpu,resvcpuraw").splitlines()[0], "Reserved|ResvCPU|ResvCPURAW")
        self.assertEqual(self.out("sacctmgr", "-nP", "show", "resv"), "")

    def test_a_new_cluster_has_no_qos_that_was_deleted(self):
        for words in (["modify", "cluster", "set", "qos="], ["delete", "qos", "normal"], ["add", "cluster", "extra"]):
            self.run_cmd("sacctmgr", "-i", *words)
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "cluster", "extra", "format=cluster,qos"), "extra|\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
