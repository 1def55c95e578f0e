"""What a trial of accounting beside Slurm found."""
import os
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class Wckeys(ClusterCase):
    CONF = "AccountingStorageEnforce=associations,wckeys\nTrackWCKey=yes\n"

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 4, 4000, conf=cls.CONF)
        cls.addClassCleanup(cls.cluster.down)
        run = cls.cluster.run
        wait_for(lambda: run("sacctmgr", "-nP", "list", "cluster").stdout, "the daemon knows the cluster")
        for words in (["add", "account", "physics,chem"], ["add", "user", USER, "account=physics,chem", "defaultaccount=physics", "wckeys=key1,key2"],
                      ["modify", "user", USER, "set", "defaultwckey=key1"]):
            run("sacctmgr", "-i", *words)
        wait_for(lambda: f"UserName={USER}(" in run("scontrol", "show", "assoc_mgr", "flags=users").stdout and
                 "DefWckey=key1" in run("scontrol", "show", "assoc_mgr", "flags=users").stdout, "the controller knows them")

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


class Names(unittest.TestCase):
    def test_names_of_earlier_versions(self):
        cluster = AccountedCluster(1, 2)
        self.addCleanup(cluster.down)
        wait_for(lambda: cluster.run("sacctmgr", "-nP", "list", "cluster").stdout, "the daemon knows the cluster")
        self.assertEqual(cluster.run("sacct", "-P", "-o", "reserved,resvcpu,resvcpuraw").stdout.splitlines()[0], "Reserved|ResvCPU|ResvCPURAW")
        self.assertEqual(cluster.run("sacctmgr", "-nP", "show", "resv").stdout, "")

    def test_a_new_cluster_has_no_qos_that_was_deleted(self):
        cluster = AccountedCluster(1, 2)
        self.addCleanup(cluster.down)
        wait_for(lambda: cluster.run("sacctmgr", "-nP", "list", "cluster").stdout, "the daemon knows the cluster")
        for words in (["modify", "cluster", "set", "qos="], ["delete", "qos", "normal"], ["add", "cluster", "extra"]):
            cluster.run("sacctmgr", "-i", *words)
        self.assertEqual(cluster.run("sacctmgr", "-nP", "list", "cluster", "extra", "format=cluster,qos").stdout, "extra|\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
