"""What daemons and slurmctld -t did not say of files: a slurm.conf of a node that is another, a slurmdbd.conf, a state that anybody may replace."""
import os
import re
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from accounting import AccountedCluster  # pylint: disable=wrong-import-position
from harness import ClusterCase, free_ports, wait_for  # pylint: disable=wrong-import-position


class Files(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 1, 1000)

    def run_dbd(self, *options):
        return subprocess.run([self.cluster.daemon("sluicedbd"), *options], env=self.cluster.env, capture_output=True, text=True,
                              check=False, timeout=60)

    def log(self):
        with open(os.path.join(self.cluster.dir, "log", "sluicectld.log"), encoding="utf-8") as f:
            return f.read()

    def test_a_node_with_another_slurm_conf(self):
        """Nothing told of it."""
        self.assertNotIn("is another than the controller's", self.log())
        before = self.cluster.change_conf(lambda text: text + "KillWait=17\n")
        self.addCleanup(self.cluster.change_conf, lambda _: before)
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        wait_for(lambda: "the slurm.conf of node n1 is another than the controller's" in self.log(), "the controller tells of it")

    def test_a_database_that_is_in_use(self):
        """A second daemon with another port shared it."""
        conf = os.path.join(self.cluster.dir, "second.conf")
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            lines = [line for line in f if not re.match("(DbdPort|PidFile|LogFile)=", line)]
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write("".join(lines) + f"DbdPort={free_ports(1)}\nPidFile={conf}.pid\n")
        done = self.run_dbd("-D", "-f", conf)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"is in use by process {self.cluster.dbd_pid()}; two slurmdbd cannot share", done.stderr)

    def test_slurmdbd_looks_at_its_configuration(self):
        done = self.run_dbd("-t", "-f", self.cluster.dbd_conf)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.cluster.dbd_conf}: 0 errors, 0 warnings\n"))
        bad = os.path.join(self.cluster.dir, "bad.conf")
        with open(self.cluster.dbd_conf, encoding="utf-8") as f, open(bad, "w", encoding="utf-8") as out:
            out.write(f.read() + "MessageTimeout=30\n")
        os.chmod(bad, 0o644)
        done = self.run_dbd("-t", "-f", bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"error: slurmdbd.conf file {bad} should be 600", done.stdout)
        with open(bad, "a", encoding="utf-8") as out:
            out.write("NoSuchKey=1\n")
        done = self.run_dbd("-t", "-f", bad)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"error: .*bad.conf:\d+: .*NoSuchKey")

    def test_modes_of_files(self):
        """Logs of daemons that were started by hand were for all to read."""
        for path, mode in (("log/sluicectld.log", 0o640), ("log/n1.log", 0o640), ("run/sluicectld.pid", 0o644)):
            there = stat.S_IMODE(os.stat(os.path.join(self.cluster.dir, path)).st_mode)
            self.assertEqual(oct(there), oct(mode), path)


if __name__ == "__main__":
    unittest.main()
