"""What an administrator's tenth trial found: starts that fail after they began something, or send him the wrong way."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from accounting import AccountedCase  # pylint: disable=wrong-import-position
from harness import Cluster, NodeCase, add_users, is_over, need_root, pids_with, wait_for  # pylint: disable=wrong-import-position
from test_eighth_trial_admin import give  # pylint: disable=wrong-import-position

SLURM = 61581
QUICK = 10  # seconds, of the minute that it took


def controller(cluster, *options):
    return subprocess.run([cluster.daemon("sluicectld"), "-f", cluster.conf, *options], env=cluster.env, capture_output=True, text=True,
                          check=False, timeout=60)


class Accounting(AccountedCase):
    NODES, CPUS = 1, 1

    def test_a_daemon_that_hangs(self):
        """slurmctld ended when its call of a minute had run out."""
        dbd = self.cluster.dbd_pid()
        os.kill(dbd, signal.SIGSTOP)
        try:
            job = self.submit("-o", "/dev/null", "--wrap", "true")
            self.wait_ended(job)
            time.sleep(1)  # it is being told
            pid = self.cluster.controller_pid()
            began = time.monotonic()
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda: is_over(pid), "the controller is gone")
            self.assertLess(time.monotonic() - began, QUICK)
        finally:
            os.kill(dbd, signal.SIGCONT)
        self.cluster.start_controller()
        wait_for(lambda: self.cluster.sacct("-X", "-j", job, "-o", "JobID,State") == [[str(job), "COMPLETED"]], "nothing is lost")

    def test_files_that_are_no_databases(self):
        """slurmdbd -t saw nothing wrong with them."""
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            text = f.read()
        file, conf = os.path.join(self.cluster.dir, "other.db"), os.path.join(self.cluster.dir, "other-dbd.conf")
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^StorageLoc=.*\n", "", text) + f"StorageLoc={file}\n")
        for content, why in (("", "is empty: the database that was in it is lost"), ("g" * 8192, "is damaged, or no database")):
            with open(file, "w", encoding="ascii") as f:
                f.write(content)
            done = subprocess.run([self.cluster.daemon("sluicedbd"), "-t", "-f", conf], env=self.cluster.env, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"{file} {why}", done.stdout)


def binds(listener, port):
    try:
        listener.bind(("0.0.0.0", port))
    except OSError:
        return False
    return True


class PortInUse(NodeCase):
    NODES, CPUS = 1, 1

    def test_no_cluster_is_begun(self):
        """An empty StateSaveLocation had one then, which the accounting daemon knew."""
        cluster = self.cluster
        state = os.path.join(cluster.dir, "state")
        with open(cluster.conf, encoding="utf-8") as f:
            port = int(re.search(r"(?m)^SlurmctldPort=(\d+)", f.read())[1])
        cluster.kill_controller()
        os.rename(state, state + ".away")
        os.mkdir(state, 0o700)
        try:
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                wait_for(lambda: binds(other, port), "the killed controller's port is free")
                other.listen()
                done = controller(cluster, "-D")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout + done.stderr, rf"cannot listen on [\d.]+:{port}: another process listens there")
            self.assertEqual(os.listdir(state), [])
        finally:
            shutil.rmtree(state)
            os.rename(state + ".away", state)
            cluster.start_controller()
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")


class OwnersOfTheState(NodeCase):
    NODES, CPUS = 1, 1
    USER = f"sluicetest{SLURM}"

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, SLURM)

        def prepare(folder):
            for sub in ("state", "log", "run", "spool"):
                os.mkdir(os.path.join(folder, sub))
            os.chown(os.path.join(folder, "log"), SLURM, SLURM)
            with open(os.open(os.path.join(folder, "slurm.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                f.write(os.urandom(64))
            open(os.path.join(folder, "log/sluicectld.log"), "w", encoding="utf-8").close()
            give(folder, SLURM)
        cls.cluster = Cluster(cls.NODES, cls.CPUS, conf=f"SlurmUser={cls.USER}\nAuthInfo=socket={{dir}}/run/sack.socket\n", prepare=prepare)

    def setUp(self):
        self.state = os.path.join(self.cluster.dir, "state")
        self.cluster.kill_controller()
        self.addCleanup(self.put_right)

    def put_right(self):
        if pids_with(self.cluster.conf, "sluicectld"):
            self.cluster.kill_controller()
        give(self.cluster.dir, SLURM)
        os.chmod(os.path.join(self.state, "journal"), 0o700)
        os.chmod(os.path.join(self.state, "credential.key"), 0o600)
        self.cluster.start_controller()

    def refused(self, *options):
        done = controller(self.cluster, *options)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_journal_that_cannot_be_seen(self):
        """It was said to be gone, and slurmctld -c to be the way out."""
        journal = os.path.join(self.state, "journal")
        os.chown(journal, 0, 0)
        os.chmod(journal, 0o700)
        said = self.refused("-D")
        self.assertIn(f"{journal}: Permission denied: it is root's with mode 0700, and slurmctld runs as {self.USER}", said)
        self.assertNotIn("slurmctld -c", said)
        self.assertIn(f"StateSaveLocation: user {self.USER} may not enter {journal}", self.refused("-t"))

    def test_what_the_start_fails_for(self):
        """slurmctld -t saw nothing wrong."""
        for name in ("journal/journal.db", "journal/lock", "credential.key"):
            path = os.path.join(self.state, name)
            os.chown(path, 0, 0)
            os.chmod(path, 0o600)
            self.assertIn(f"StateSaveLocation: user {self.USER} may not read {path}", self.refused("-t"))
            self.assertIn(path, self.refused("-D"))
            give(self.cluster.dir, SLURM)
        self.assertEqual(controller(self.cluster, "-t").returncode, 0)
        os.chmod(path, 0o644)
        why = f"key file {path}: its mode is 0644; only its owner may have access (0600 or 0400)"
        self.assertIn(f"StateSaveLocation: {why}", self.refused("-t"))
        self.assertIn(why, self.refused("-D"))


if __name__ == "__main__":
    unittest.main()
