"""What an administrator found on nodes and beside them on November 29: step daemons, spool folders, tokens, a second controller."""
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import test_failover  # pylint: disable=wrong-import-position
from accounting import AccountedCluster  # pylint: disable=wrong-import-position
from hosts import need_namespaces  # pylint: disable=wrong-import-position
from harness import Cluster, ClusterCase, NodeCase, need_root, wait_for  # pylint: disable=wrong-import-position

NOBODY = 65534


class Agents(NodeCase):
    NODES, CPUS = 2, 2

    def setUp(self):
        self.tools = os.path.join(self.cluster.dir, "sbin")
        shutil.rmtree(self.tools, ignore_errors=True)
        os.mkdir(self.tools)
        self.stepd = os.path.join(self.tools, "slurmstepd")
        self.spool = os.path.join(self.cluster.dir, "spool", "n1")

    def stop_agent(self):
        self.cluster.kill_node("n1")
        self.addCleanup(self.well_again)

    def well_again(self):
        if self.cluster.node_pid("n1"):
            self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        wait_for(lambda: self.node("n1", "%t") in ("idle", "drain", "down", "drng"), "n1 is there")
        self.run_cmd("scancel", "-u", "root", check=False)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")

    def agent(self, *options, before=""):
        """Starts it in a shell that runs `before` first, in a space of mounts of its own where that mounts something."""
        words = [self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, "-N", "n1", *options]
        command = ["unshare", "-m", "sh", "-ec", before + '\nexec "$@"', "sh", *words] if before else words
        return subprocess.run(command, env=self.cluster.env, capture_output=True, text=True, check=False, timeout=60)

    def test_no_agent_without_a_step_daemon(self):
        """It registered, and each job that came was requeued and held."""
        self.stop_agent()
        refused = self.agent("-d", self.stepd)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"cannot run {self.stepd}: No such file or directory", refused.stderr)
        with open(self.stepd, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        refused = self.agent("-d", self.stepd)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"cannot run {self.stepd}: Permission denied", refused.stderr)

    def drains(self, cause):
        """The first job that comes is enough."""
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.node("n1") == f"drain|{cause}", f"n1 is drained: {cause}")
        self.assertEqual(self.show(job)["JobState"], "PENDING")
        wait_for(lambda: cause in self.cluster.log(), "the controller's log names the cause")
        self.run_cmd("scancel", job)

    def test_a_step_daemon_that_goes_drains_its_node(self):
        self.stop_agent()
        os.symlink(os.path.realpath(os.path.join(os.path.dirname(self.cluster.daemon("sluicenoded")), "slurmstepd")), self.stepd)
        self.assertEqual(self.agent("-d", self.stepd).returncode, 0)
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")
        os.unlink(self.stepd)
        self.drains(f"cannot run {self.stepd}: No such file or directory")

    def test_a_step_daemon_that_dies_at_once_drains_its_node(self):
        self.stop_agent()
        with open(self.stepd, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 7\n")
        os.chmod(self.stepd, 0o755)
        self.assertEqual(self.agent("-d", self.stepd).returncode, 0)
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")
        self.drains("its step daemon died before it began (status 0x700)")

    def test_no_agent_on_a_spool_folder_that_is_read_only(self):
        """It started, and failed the first job."""
        need_root()
        self.stop_agent()
        refused = self.agent(before=f"mount --bind {self.spool} {self.spool}\nmount -o remount,bind,ro {self.spool}")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"cannot write into the spool folder {self.spool}: Read-only file system", refused.stderr)

    def test_a_spool_folder_that_was_made_anew(self):
        """Its folder `steps` was missing, and the next job was held again."""
        self.addCleanup(self.well_again)
        shutil.rmtree(self.spool)
        os.mkdir(self.spool, 0o755)
        self.assertEqual(self.out("srun", "-w", "n1", "echo", "ran"), "ran\n")
        self.assertTrue(os.path.exists(os.path.join(self.spool, "last_job")), "the highest job is kept in the new one")
        self.run_cmd("scontrol", "reconfigure")
        files = [os.path.join(self.spool, name) for name in ("cluster_id", "credential_key")]
        wait_for(lambda: all(os.path.exists(file) for file in files), "what tells it of its cluster is kept, too")

    def test_a_damaged_cluster_id(self):
        """Nothing said which file it was."""
        self.stop_agent()
        file = os.path.join(self.spool, "cluster_id")
        with open(file, "r+", encoding="utf-8") as f:
            known = f.read()
            f.seek(0)
            f.write("x" + known[1:])
        self.addCleanup(lambda: os.path.exists(file) and os.unlink(file))
        self.cluster.start_node("n1")
        wait_for(lambda: f"where the file is damaged, remove {file} and start slurmd again" in self.cluster.log("n1"), "the file is named")
        self.cluster.kill_node("n1")
        os.unlink(file)

    def test_a_step_daemon_that_is_killed(self):
        """The log said that the node had failed."""
        job = self.submit("-w", "n2", "--no-requeue", "-o", "killed.out", "--wrap", "echo on; sleep 100")
        wait_for(lambda: self.file("killed.out") == "on\n", "its script runs")
        os.kill(self.cluster.step_daemon_pid(f"{job}.batch"), signal.SIGKILL)
        self.assertEqual(self.wait_ended(job), "NODE_FAIL")
        wait_for(lambda: f"error: Killing JobId={job} on node n2: its step daemon died (status 0x9)" in self.cluster.log(), "the log names the cause")
        self.assertNotIn("on failed node", self.cluster.log())


class Backups(ClusterCase):
    NODES, CPUS = 1, 1

    def test_a_backup_into_a_file_system(self):
        """Its folder was to be replaced, which is busy."""
        need_root()
        folder = os.path.join(self.cluster.work, "mounted")
        os.mkdir(folder)
        script = 'mount -t tmpfs none "$1"\n"$2" backup "$1"\nls -A "$1"\nstat -c %a "$1"'
        done = subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", folder, self.cluster.program("sluice")], env=self.cluster.env,
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-3:], ["credential.key", "journal", "700"])


class AccountingDaemon(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 1, 1000)

    def test_no_accounting_daemon_without_the_key(self):
        """It started without a word, and refused every request."""
        key = os.path.join(self.cluster.dir, "slurm.key")
        self.cluster.stop_dbd()
        self.addCleanup(self.cluster.start_dbd)
        os.rename(key, key + ".away")
        self.addCleanup(os.rename, key + ".away", key)
        done = subprocess.run([self.cluster.daemon("sluicedbd"), "-f", self.cluster.dbd_conf], env=self.cluster.env, capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(key, done.stderr)


class Tokens(ClusterCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        cls.cluster = Cluster(2, 2, conf="AuthInfo=socket={dir}/run/sack.socket\n", prepare=lambda folder: os.mkdir(os.path.join(folder, "run")))
        cls.folder = os.path.join(cls.cluster.dir, "run")
        cls.socket = os.path.join(cls.folder, "sack.socket")

    def setUp(self):
        wait_for(self.is_served, "tokens are handed out")

    def is_served(self):
        return self.run_cmd("squeue", user=NOBODY, check=False).returncode == 0

    def holder(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            try:
                s.connect(self.socket)
            except OSError:
                return None
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def logged(self, text):
        total = 0
        for path in glob.glob(os.path.join(self.cluster.dir, "log", "*.log")):
            with open(path, encoding="utf-8", errors="replace") as f:
                total += f.read().count(text)
        return total

    def test_a_socket_that_is_removed_is_made_again(self):
        """Nobody but root could ask anything any more."""
        os.unlink(self.socket)
        wait_for(self.is_served, "tokens are handed out again")
        self.assertGreaterEqual(self.logged(f"token socket {self.socket}: it was removed or replaced"), 1)

    def test_a_folder_that_is_missing(self):
        """Each waiting daemon logged it twice a second; srun tried for minutes, and no signal ended it."""
        os.rename(self.folder, self.folder + ".away")
        try:
            wait_for(lambda: self.logged("token socket") > 0, "a daemon says that it is missing")
            began = time.monotonic()
            done = self.run_cmd("srun", "-n1", "true", user=NOBODY, check=False)
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"auth/slurm: no daemon gives tokens at {self.socket}: No such file or directory", done.stderr)
            for number in (signal.SIGTERM, signal.SIGINT):
                command = self.cluster.start("srun", "-n1", "true", user=NOBODY, group=NOBODY, extra_groups=[], stderr=subprocess.PIPE)
                time.sleep(1)  # it tries by now
                command.send_signal(number)
                command.communicate(timeout=3)
                self.assertNotEqual(command.returncode, 0)
            self.assertLessEqual(self.logged(f"token socket {self.socket}: lock: No such file"), 3)
        finally:
            os.rename(self.folder + ".away", self.folder)

    def test_a_folder_that_is_made_anew(self):
        os.rename(self.folder, self.folder + ".old")
        os.mkdir(self.folder, 0o755)
        wait_for(self.is_served, "tokens are handed out again")
        shutil.rmtree(self.folder + ".old")

    def test_who_does_not_answer_is_replaced(self):
        """Commands of users waited for it, again and again."""
        agents = [self.cluster.node_pid(node) for node in ("n1", "n2")]
        self.cluster.kill_controller()
        silent = wait_for(lambda: (pid := self.holder()) in agents and pid, "an agent hands out tokens")
        self.cluster.start_controller()
        wait_for(self.is_served, "users are answered")
        os.kill(silent, signal.SIGSTOP)
        try:
            began = time.monotonic()
            done = self.run_cmd("squeue", user=NOBODY, check=False)
            self.assertLess(time.monotonic() - began, 30)
            if done.returncode:
                self.assertIn(f"process {silent} does not answer", done.stderr)
            wait_for(self.is_served, "another hands out tokens")
            self.assertGreaterEqual(self.logged(f"process {silent}, which serves it, does not answer, and is replaced"), 1)
        finally:
            os.kill(silent, signal.SIGCONT)
        wait_for(self.holder, "one of them serves")
        wait_for(self.is_served, "tokens are handed out")

    def test_a_signal_ends_who_waits_for_a_token(self):
        """While a daemon that stood still was asked, srun took no signal."""
        daemons = [self.cluster.controller_pid()] + [self.cluster.node_pid(node) for node in ("n1", "n2")]
        for pid in daemons:
            os.kill(pid, signal.SIGSTOP)
        try:
            for words in (["srun", "-n1", "true"], ["salloc", "true"]):
                command = self.cluster.start(*words, user=NOBODY, group=NOBODY, extra_groups=[], stderr=subprocess.PIPE)
                time.sleep(1)  # it asks by now
                began = time.monotonic()
                command.terminate()
                command.communicate(timeout=30)
                self.assertLess(time.monotonic() - began, 2)
                self.assertNotEqual(command.returncode, 0)
        finally:
            for pid in daemons:
                os.kill(pid, signal.SIGCONT)


class SecondController(NodeCase):
    NODES, CPUS = 1, 1

    def test_agents_follow_the_hosts_of_the_controller(self):
        """They asked those of their own start for ever."""
        port = next(line.split("=")[1] for line in self.out("scontrol", "show", "config").replace(" ", "").splitlines()
                    if line.startswith("SlurmctldPort="))
        agent = self.cluster.node_pid("n1")
        self.cluster.change_conf(lambda text: text + "SlurmctldHost=other(127.0.0.9)\n")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: f"the controller is asked at 127.0.0.1:{port}, 127.0.0.9:{port} from now on" in self.cluster.log("n1"),
                 "the agent knows of the second host")
        self.assertEqual(self.cluster.node_pid("n1"), agent)
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")
        self.run_cmd("srun", "true")


class OneController(test_failover.TwoControllers):
    CONTROLLERS = "SlurmctldHost=ctl101({prefix}.101)\nSlurmctldPidFile=/run/slurmctld.pid"


class AddedController(NodeCase):
    @classmethod
    def setUpClass(cls):
        need_namespaces()
        cls.cluster = OneController(2, timeout=60, conf="TCPTimeout=1\n")

    def test_one_that_was_added_takes_over(self):
        """Agents did not find it."""
        first, second = self.cluster.controllers
        line = f"SlurmctldHost=ctl101({self.cluster.prefix}.101)\n"
        self.cluster.change_conf(lambda text: text.replace(line, line + f"SlurmctldHost=ctl102({self.cluster.prefix}.102)\n"))
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        self.assertEqual(first.ends(), 0)
        first.start()
        wait_for(lambda: all("from now on" in self.cluster.log(node) for node in ("h1", "h2")), "the agents know of the second host")
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        self.assertEqual(first.ends(), 0)
        second.start()
        wait_for(lambda: self.run_cmd("srun", "-N2", "hostname", check=False).stdout.count("h") == 2, "both nodes serve the second one")
        self.assertEqual(self.wait_ended(self.submit("-o", "/dev/null", "--wrap", "true")), "COMPLETED")


if __name__ == "__main__":
    unittest.main()
