"""What a trial of accounting beside Slurm found."""
import os
import unittest

from accounting import AccountedCase
from harness import wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class NinthTrial(AccountedCase):
    SET_UP = ()

    def list(self, *words):
        return self.out("sacctmgr", "-P", "list", *words)


class Wckeys(NinthTrial):
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

    def test_who_has_none_needs_none(self):
        """The first key that a user gets is the default one, wherever it is added."""
        self.run_cmd("sacctmgr", "-i", "delete", "user", USER, "wckey=key1,key2")
        known = lambda key: wait_for(lambda: f"UserName={USER}({os.getuid()}) DefAccount=physics DefWckey={key} " in
                                     self.out("scontrol", "show", "assoc_mgr", "flags=users"), f"the default key is {key}")
        known("")
        job = self.held()
        self.assertEqual(self.wckey(job), "(null)")
        self.assertIn("Invalid wckey specification", self.run_cmd("sbatch", "--wckey=*", "--wrap", "true", check=False).stderr)
        cluster = self.list("cluster", "format=cluster").split()[1]
        rows = "".join(f"  U = {USER:<9} W = {key:<10} C = {cluster:<10}\n" for key in ("key1", "key2"))
        self.assertEqual(self.out("sacctmgr", "-i", "add", "user", USER, "wckey=key1,key2"), " WCKeys =\n" + rows)
        known("key1")
        done = self.run_cmd("sacctmgr", "-i", "modify", "user", USER, "set", "defaultwckey=key9", check=False)
        self.assertEqual(done.stdout, " Can't modify because these users aren't associated with new default wckey 'key9'...\n"
                         f"  U = {USER} C = {cluster}\n")
        self.run_cmd("scancel", job)


class Names(NinthTrial):
    CPUS = 2

    def test_columns_of_earlier_versions(self):
        self.run_cmd("sacctmgr", "-i", "add", "qos", "old", "maxcpusperuser=4", "maxnodesperuser=3", "mincpus=2", "grpcpus=10",
                     "grptres=node=9,billing=7,mem=0")
        self.assertEqual(self.list("qos", "old", "format=maxcpusperuser,maxnodespu,mincpus,grpcpu,maxcpurunmins,grptres"),
                         "MaxCPUsPU|MaxNodesPU|MinCPUs|GrpCPUs|MaxCPURunMinsPU|GrpTRES\n4|3|2|10||billing=7,cpu=10,mem=0,node=9\n")

    def test_associations_without_limits(self):
        self.run_cmd("sacctmgr", "-i", "modify", "account", "root", "set", "maxjobs=7")
        self.assertEqual(self.list("assoc", "user=", "wopl").splitlines()[0], "Cluster|Account|User|Partition")
        self.assertEqual(self.list("assoc", "cluster=trial", "user=root", "wopi", "format=user,maxjobs"), "User|MaxJobs\nroot|\n")
        self.assertEqual(self.list("assoc", "cluster=trial", "user=root", "format=user,maxjobs"), "User|MaxJobs\nroot|7\n")

    def test_tres_of_a_cluster(self):
        """Those that are counted and that it has none of, too."""
        shown = lambda: self.list("cluster", "trial", "format=tres").splitlines()[1]
        wait_for(lambda: "vmem" in shown(), "the cluster is registered")
        self.assertRegex(shown(), r"^billing=2,cpu=2,energy=0,fs/disk=0,mem=\d+M?G?,node=1,pages=0,vmem=0$")

    def test_names_of_earlier_versions(self):
        self.assertEqual(self.out("sacct", "-P", "-o", "reserved,resvcpu,resvcpuraw").splitlines()[0], "Reserved|ResvCPU|ResvCPURAW")
        self.assertEqual(self.out("sacctmgr", "-nP", "show", "resv"), "")

    def test_a_new_cluster_has_no_qos_that_was_deleted(self):
        for words in (["modify", "cluster", "set", "qos="], ["delete", "qos", "normal"], ["add", "cluster", "extra"]):
            self.run_cmd("sacctmgr", "-i", *words)
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "cluster", "extra", "format=cluster,qos"), "extra|\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
