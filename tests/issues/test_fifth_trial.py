"""What an administrator's trial found: log files that move, starts that are to be refused, stray words."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, wait_for  # pylint: disable=wrong-import-position


class Trial(ClusterCase):
    NODES, CPUS = 1, 2

    def put_back(self, text):
        with open(self.cluster.conf, "w", encoding="utf-8") as f:
            f.write(text)

    def check(self):
        return self.run_cmd(self.cluster.daemon("sluicectld"), "-t", "-f", self.cluster.conf, check=False).stdout

    def refused_start(self, *sentences):
        """Neither -t nor the start takes what is there; no PID file is left."""
        told = self.check()
        conf = self.cluster.conf
        done = self.run_cmd(self.cluster.daemon("sluicectld"), "-D", "-f", conf, check=False)
        self.assertEqual(done.returncode, 1)
        log = self.cluster.log()[-3000:] + done.stderr
        for sentence in sentences:
            self.assertIn(sentence, told)
            self.assertIn(sentence, log)
        with open(conf, encoding="utf-8") as f:
            pid_file = re.search(r"^SlurmctldPidFile=(\S+)", f.read(), re.M)
        if pid_file:
            self.assertFalse(os.path.exists(pid_file[1]))

    def test_log_files_move(self):
        before = self.cluster.change_conf(lambda text: re.sub(r"^(Slurm(?:ctld|d)LogFile=\S+)$", r"\1.moved", text, flags=re.M))
        paths = re.findall(r"^Slurm(?:ctld|d)LogFile=(\S+)$", before, re.M)
        try:
            self.run_cmd("scontrol", "reconfigure")
            for path in paths:
                moved = path.replace("%n", "n1") + ".moved"
                wait_for(lambda m=moved: os.path.exists(m) and os.path.getsize(m), f"the log goes on in {moved}")
        finally:
            self.put_back(before)
            self.run_cmd("scontrol", "reconfigure")

    def test_wrong_starts(self):
        self.cluster.kill_controller()
        before = self.cluster.change_conf(lambda text: re.sub(r"^ClusterName=\S+", "ClusterName=other", text, flags=re.M))
        try:
            self.refused_start("CLUSTER NAME MISMATCH: ClusterName=other in ", "is the state of cluster ")
            self.put_back(before + "JobContainerType=job_container/tmpfs\n")
            self.assertIn("JobContainerType=job_container/tmpfs needs a job_container.conf", self.check())
            self.put_back(before)
            state = re.search(r"^StateSaveLocation=(\S+)", before, re.M)[1]
            os.rename(f"{state}/credential.key", f"{state}/kept.key")
            self.refused_start("credential.key is missing, with which this cluster's launches were signed until now")
            os.rename(f"{state}/kept.key", f"{state}/credential.key")
            os.rename(f"{state}/journal", f"{state}/kept")
            self.assertIn("holds the key of a cluster that was here before, and its journal is empty or gone", self.check())
            os.rename(f"{state}/kept", f"{state}/journal")
        finally:
            self.put_back(before)
            self.cluster.start_controller()

    def test_reconfigure_refuses_a_missing_key(self):
        before = self.cluster.change_conf(lambda text: text + "AuthAltTypes=auth/jwt\n")
        try:
            self.assertNotEqual(self.run_cmd("scontrol", "reconfigure", check=False).returncode, 0)
            self.assertIn("reconfigure refused: ", self.cluster.log())
        finally:
            self.put_back(before)

    def test_full_of_jobs(self):
        before = self.cluster.change_conf(lambda text: re.sub(r"^MaxJobCount=\S+", "MaxJobCount=2", text, flags=re.M))
        self.cluster.kill_controller()
        self.cluster.start_controller()
        try:
            jobs = [self.submit("-H", "--wrap", "true"), self.submit("-H", "--wrap", "true")]
            waits = self.cluster.start("sbatch", "--wrap", "true", stderr=subprocess.PIPE)
            wait_for(lambda: "job_allocate: MaxJobCount limit from slurm.conf reached (2)" in self.cluster.log(), "the log tells it")
            self.assertIsNone(waits.poll())
            waits.kill()
            self.assertEqual(waits.communicate()[1], "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n")
            self.run_cmd("scancel", *map(str, jobs))
        finally:
            self.put_back(before)
            self.cluster.kill_controller()
            self.cluster.start_controller()

    def test_stray_words(self):
        self.fails(1, "strigger: error: Unrecognized argument: n1: did you mean --node=n1?\n",
                   "strigger", "--set", "--drained", "-n", "n1", "-p", "/bin/true")
        self.run_cmd("scontrol", "create", "reservation", "reservationname=course", "users=root", "starttime=now+1hour", "duration=10",
                     "flags=daily", "nodes=n1")
        done = self.run_cmd("scontrol", "update", "reservation=course", "users+=nobody", "skip", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("skip goes with no other change", done.stdout + done.stderr)
        self.run_cmd("scontrol", "update", "reservation=course", "skip")
        self.run_cmd("scontrol", "delete", "reservation=course")


if __name__ == "__main__":
    unittest.main()
