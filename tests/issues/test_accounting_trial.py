"""What a trial of accounting found: databases that are lost, controllers that are others, words that nobody reads."""
import glob
import os
import re
import shutil
import subprocess
import unittest

from accounting import AccountedCluster
from harness import Cluster, ClusterCase, wait_for


class Commands(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1)

    def refused(self, *words):
        done = self.run_cmd(*words, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_words_that_are_wrong_are_refused_once(self):
        """They were passed over, or a second message misled; sacct, sreport and sacctmgr answered with nothing."""
        self.assertEqual(self.refused("sacctmgr", "shutdown", "zz", "extra"), "too many arguments for shutdown keyword\n")
        self.assertEqual(self.refused("sacctmgr", "ping", "zz"), "too many arguments for ping keyword\n")
        self.assertRegex(self.refused("sacct", "-S", "tomorrow"), r"^sacct: error: Start time \(\S+\) requested is after end time \(\S+\)\.\n$")
        self.assertEqual(self.refused("sacct", "-F", "OOPS"), "sacct: error: str_2_job_flags: Invalid job flag OOPS\n")
        self.assertEqual(self.refused("sreport", "-T", "nope", "cluster", "utilization"), "sreport: fatal: No valid TRES given\n")
        self.assertIn("'zz'", self.refused("sreport", "-M", "zz", "cluster", "utilization"))
        self.assertIn("Unknown field 'bogus'", self.refused("sreport", "cluster", "utilization", "format=bogus"))
        for words in (["qos", "normal", "set", "priority=abc"], ["user", "root", "set", "maxwall=foo"], ["user", "root", "set", "fairshare=-5"],
                      ["user", "root", "set", "grptres=cpx=3"], ["user", "root", "set", "qos+=nope"]):
            self.assertEqual(len(self.refused("sacctmgr", "-i", "modify", *words).splitlines()), 1, words)

    def test_sacct_filters_by_flags(self):
        """--flags was ignored."""
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        shown = wait_for(lambda: [row[1] for row in self.cluster.sacct("-X", "-j", job, "-o", "jobid,flags") if row[1]], "its flags")[0]
        self.assertEqual(len(self.cluster.sacct("-X", "-j", job, "-F", "StartReceived")), 1)
        other = "SchedMain" if "Backfill" in shown else "SchedBackfill"
        self.assertEqual(self.cluster.sacct("-X", "-j", job, "-F", other), [])


class Trial(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, conf="TrackWCKey=yes\n")

    def test_both_daemons_track_wckeys(self):
        """sluice up --conf told the controller alone."""
        said = self.out("sacctmgr", "show", "config")
        self.assertEqual(re.findall(r"(?m)^TrackWCKey += (\w+)$", said), ["Yes", "Yes"])


class Databases(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1)
        with open(cls.cluster.dbd_conf, encoding="utf-8") as f:
            cls.dbd_text = f.read()

    def start_is_refused(self):
        done = subprocess.run([self.cluster.daemon("sluicedbd"), "-f", self.cluster.dbd_conf], capture_output=True, text=True, env=self.cluster.env, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr + self.cluster.log("sluicedbd")

    def cluster_row(self):
        return self.out("sacctmgr", "-nP", "list", "cluster", "format=cluster,controlhost,controlport").strip()

    def test_a_second_controller_of_the_name_is_refused(self):
        """Both registered, and their history became one; the refused one had a line in the log every two seconds."""
        before = self.cluster_row()
        self.assertRegex(before, r"^trial\|\S+\|[1-9]\d+$")  # although no record was sent yet
        port = re.search(r"DbdPort=(\d+)", self.dbd_text)[1]
        conf = f"ClusterName=trial\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}\n"
        key = os.path.join(self.cluster.dir, "slurm.key")
        second = Cluster(1, 2, conf=conf, prepare=lambda folder: shutil.copy2(key, os.path.join(folder, "slurm.key")))
        self.addCleanup(second.down)
        wait_for(lambda: "sacctmgr delete cluster trial" in second.log(), "the second one is told")
        second.run("sbatch", "-J", "of-second", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "gets no records, which wait: cluster trial is that of the controller on" in second.log(), "its records wait")
        self.assertEqual(self.cluster.log("sluicedbd").count("cluster trial is that of the controller on"), 1)
        self.assertEqual(self.cluster_row(), before)
        self.assertEqual(self.cluster.sacct("-X", "--name=of-second"), [])
        self.assertNotIn("DBD Agent queue size: 0", second.run("sdiag").stdout)

    def test_z_a_lost_database_is_noticed(self):
        """It was answered from the file that was gone; a new one, empty, took all associations from the controller."""
        self.run_cmd("sacctmgr", "-i", "add", "account", "physics")
        wait_for(lambda: "physics" in self.out("scontrol", "show", "assoc_mgr"), "the controller knows it")
        path = os.path.join(self.cluster.dir, "state/accounting.db")
        kept = os.path.join(self.cluster.dir, "kept")
        os.mkdir(kept)
        for one in glob.glob(path + "*"):
            shutil.move(one, kept)
        self.assertIn("was removed or replaced", self.run_cmd("sacct", check=False).stderr)
        self.assertIn("was removed or replaced", self.cluster.log("sluicedbd"))
        self.cluster.stop_dbd()
        with open(path, "w", encoding="utf-8"):
            pass
        self.assertIn("is empty: the database that was in it is lost", self.start_is_refused())
        os.remove(path)
        self.cluster.start_dbd()
        self.assertIn("a new database is made", self.cluster.log("sluicedbd"))
        wait_for(lambda: "does not know cluster trial" in self.cluster.log(), "the controller says so")
        self.assertIn("physics", self.out("scontrol", "show", "assoc_mgr"))
        self.assertIn("does not know cluster trial", self.cluster.log("sluicedbd"))
        self.run_cmd("sacctmgr", "-i", "add", "cluster", "trial")  # the way to go on with it
        wait_for(lambda: "physics" not in self.out("scontrol", "show", "assoc_mgr"), "the controller follows the new one")

    def test_zz_what_others_may_read_is_refused(self):
        """Passwords could be read by all, and any host's daemon started anywhere."""
        self.cluster.stop_dbd()
        os.chmod(self.cluster.dbd_conf, 0o666)
        self.assertIn("should be 600 is 666 accessible for group or others", self.start_is_refused())
        os.chmod(self.cluster.dbd_conf, 0o600)
        with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
            f.write(re.sub(r"DbdHost=\S+", "DbdHost=elsewhere", self.dbd_text))
        self.assertIn("This host not configured to run SlurmDBD", self.start_is_refused())
        for command in (["sacctmgr", "list", "account"], ["sreport", "cluster", "utilization"], ["seff", "1"]):
            done = self.run_cmd(*command, check=False)
            self.assertIn(f"{command[0]}: error: Problem talking to the database: Connection refused", done.stderr)
            self.assertIn("failed to open persistent connection to host:", done.stderr)


if __name__ == "__main__":
    unittest.main()
