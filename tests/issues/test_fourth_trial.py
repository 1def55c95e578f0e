"""What a user found who compared limits, reservations and licenses with Slurm's."""
import os
import subprocess
import tempfile
import unittest

from accounting import AccountedCluster
from harness import BIN, ClusterCase, free_ports, need_root, wait_for

NOBODY = 65534


class Limits(ClusterCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        cls.cluster = AccountedCluster(2, cpus=4, conf="Licenses=matlab:5\nAccountingStorageTRES=license/matlab\nAccountingStorageEnforce=limits\n")

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()

    def reason(self, job):
        return self.out("squeue", "-h", "-j", job, "-o", "%r").strip()

    def test_a_node_counts_once(self):
        """GrpTRES=node counted a node once for each job on it."""
        self.run_cmd("sacctmgr", "-i", "modify", "account", "root", "set", "grptres=node=1")
        limit = lambda: self.run_cmd("scontrol", "show", "assoc_mgr", "flags=assoc").stdout
        wait_for(lambda: "node=1(0)" in limit(), "the limit is known")
        first = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 100")
        second = self.submit("-o", "/dev/null", "--wrap", "sleep 100")
        wide = self.submit("-N2", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(first, "RUNNING")
        self.wait_state(second, "RUNNING")
        self.assertEqual(self.show(second)["NodeList"], "n2")
        wait_for(lambda: self.reason(wide) == "AssocGrpNodeLimit", "the limit holds it")
        self.assertIn("node=1(1)", limit())
        self.run_cmd("sacctmgr", "-i", "modify", "account", "root", "set", "grptres=node=-1")
        self.wait_state(wide, "RUNNING")

    def test_licenses_are_tres(self):
        """A job's TRES and those of a reservation had no licenses."""
        job = self.submit("-L", "matlab:2", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        shown = self.show(job)
        for key in ("ReqTRES", "AllocTRES"):
            self.assertTrue(shown[key].endswith(",license/matlab=2"), shown[key])
        self.assertEqual(shown["LicensesAlloc"], "matlab:2")
        rows = wait_for(lambda: [row for row in self.cluster.sacct("-X", "-j", job, "-o", "reqtres,alloctres") if row[1]], "its record")
        for tres in rows[0]:
            self.assertIn("license/matlab=2", tres.split(","))
        self.run_cmd("scontrol", "create", "reservation=lic", "licenses=matlab:3", "flags=any_nodes", "users=root", "start=now", "duration=10")
        self.assertIn("TRES=license/matlab=3\n", self.out("scontrol", "show", "reservation", "lic"))
        self.run_cmd("scontrol", "delete", "reservation=lic")

    def test_billing_of_what_was_asked_for(self):
        """ReqTRES of a job that has whole nodes had the billing of these."""
        job = self.submit("--exclusive", "-n1", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        shown = self.show(job)
        self.assertIn("billing=1", shown["ReqTRES"].split(","))
        self.assertIn("billing=4", shown["AllocTRES"].split(","))

    def test_flags_that_are_none(self):
        """What is no flag was passed over, and nothing shown."""
        done = self.run_cmd("scontrol", "show", "assoc_mgr", "flags=nosuch")
        self.assertEqual((done.stdout, done.stderr), ("", "invalid flag 'nosuch', valid options are 'Assoc, QOS, and/or Users'\n"))
        self.assertIn("User Records", self.out("scontrol", "show", "assoc_mgr", "flags=nosuch,users"))


class Updates(ClusterCase):
    NODES, CPUS = 1, 2

    def test_what_a_user_may_not_change(self):
        """He had his job share its CPUs, and was told something else of one that is held."""
        need_root()
        job = int(self.out("sbatch", "--parsable", "-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", user=NOBODY))
        for change, why in (("OverSubscribe=yes", "Access/permission denied"), ("Contiguous=1", "Access/permission denied"),
                            ("Priority=77", "Job is in held state, pending scheduler release")):
            done = self.run_cmd("scontrol", "update", f"jobid={job}", change, user=NOBODY, check=False)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (1, f"{why} for job {job}"), change)
        self.run_cmd("scontrol", "update", f"jobid={job}", "Requeue=5", user=NOBODY)
        self.assertEqual(self.show(job)["Requeue"], "1")
        self.run_cmd("scancel", job)


class TrialClusters(unittest.TestCase):
    def test_nodes_that_cannot_be_used(self):
        """sluice up waited for them, and said nothing."""
        with tempfile.TemporaryDirectory(prefix="sluice-unfit-") as folder:
            conf = os.path.join(folder, "conf")
            with open(conf, "w", encoding="ascii") as f:
                port = free_ports(2)
                f.write(f"GresTypes=gpu\nNodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{port}-{port + 1}] CPUs=2 Gres=gpu:4\n")
            place = os.path.join(folder, "cluster")
            sluice = lambda *words: subprocess.run([os.path.join(BIN, "sluice"), *words, "--dir", place],
                                                   capture_output=True, text=True, check=False)
            done = sluice("up", "--nodes", "2", "--no-accounting", "--conf", conf)
            sluice("down")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("no node can run jobs: n[1-2]: gres/gpu count reported lower than configured (0 < 4)", done.stderr)


if __name__ == "__main__":
    unittest.main()
