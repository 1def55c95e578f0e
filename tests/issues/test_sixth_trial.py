"""What users, administrators and an attacker found of November 28: texts, refusals, and what a log line lacked."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from accounting import AccountedCluster  # pylint: disable=wrong-import-position
from harness import ClusterCase, add_users, need_root, wait_for  # pylint: disable=wrong-import-position


class Users(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "RebootProgram=/bin/true\n"

    def test_two_formats(self):
        """One of them was applied."""
        self.fails(1, "squeue: error: -O (--Format) is incompatible with -o (--format)\n", "squeue", "-h", "-o", "%i", "-O", "jobid")

    def test_the_limit_of_a_batch_script(self):
        """It was said to be changed."""
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        self.fails(1, "slurm_update error: Invalid job id specified\n", "scontrol", "update", f"StepId={job}.batch", "TimeLimit=1")
        self.run_cmd("scancel", job)

    def test_reboot_is_for_administrators(self):
        """It was left out without a word."""
        need_root()
        self.fails(1, "sbatch: error: rebooting of nodes is only allowed for admins\n"
                      "sbatch: error: Batch job submission failed: Access/permission denied\n",
                   "sbatch", "--reboot", "-D", "/", "-o", "/dev/null", "--wrap", "true", user=65534)

    def test_a_prolog_of_the_controller_names_its_job(self):
        """What it printed stood without a job in the log."""
        script = os.path.join(self.cluster.work, "prolog.sh")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho the scratch disk is broken\nexit 1\n")
        os.chmod(script, 0o755)
        before = self.cluster.change_conf(lambda text: text + f"PrologSlurmctld={script}\n")
        try:
            self.run_cmd("scontrol", "reconfigure")
            job = self.submit("-o", "/dev/null", "--wrap", "true")
            wait_for(lambda: f"JobId={job}: {script}: the scratch disk is broken" in self.cluster.log(), "the line names the job")
        finally:
            with open(self.cluster.conf, "w", encoding="utf-8") as f:
                f.write(before)
            self.run_cmd("scontrol", "reconfigure")
            self.run_cmd("scancel", job)


class Accounts(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 2, 1000)

    def mgr(self, *words, **more):
        return self.cluster.run("sacctmgr", "-i", *words, **more)

    def wckeys(self):
        return self.cluster.run("sacctmgr", "-nP", "show", "wckey", "user=wanda", "format=wckey").stdout.split()

    def test_a_dump_has_wckeys(self):
        """A dump of Slurm's with WCKeys= was not loaded, and ours had none."""
        self.mgr("add", "account", "lab")
        self.mgr("add", "user", "wanda", "account=lab", "wckey=w1,w2", "adminlevel=operator")
        name = self.cluster.run("scontrol", "show", "config").stdout.split("ClusterName", 1)[1].split("=")[1].split()[0]
        file = os.path.join(self.cluster.work, "dump.cfg")
        self.mgr("dump", name, f"file={file}")
        with open(file, encoding="utf-8") as f:
            text = f.read()
        self.assertIn(":WCKeys='w1,w2'", text)
        self.mgr("delete", "user", "wanda", "wckey=w1")
        self.assertEqual(self.wckeys(), ["w2"])
        self.mgr("load", f"file={file}")
        self.assertEqual(self.wckeys(), ["w1", "w2"])
        self.mgr("load", "clean", f"file={file}")
        self.assertEqual(self.wckeys(), ["w1", "w2"])
        self.assertEqual(self.cluster.run("sacctmgr", "-nP", "show", "user", "wanda", "format=user,defaultaccount,admin").stdout,
                         "wanda|lab|Operator\n")

    def test_an_operator_resets_statistics(self):
        need_root()
        uid, name = 61821, "sluicetest61821"
        add_users(type(self), uid)
        self.mgr("add", "account", "ops")
        self.mgr("add", "user", name, "account=ops")
        refused = self.cluster.run("sdiag", "-r", user=uid, check=False)
        self.assertIn("Access/permission denied", refused.stderr)
        self.mgr("modify", "user", name, "set", "adminlevel=operator")
        wait_for(lambda: self.cluster.run("sdiag", "-r", user=uid, check=False).returncode == 0, "the controller knows that he is an operator")


if __name__ == "__main__":
    unittest.main()
