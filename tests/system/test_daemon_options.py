"""Options of the daemons themselves: where they log and how much, what they read, whether they stay in front."""
import os
import re
import subprocess
import unittest

from harness import ClusterCase, wait_for


class DaemonOptions(ClusterCase):
    NODES, CPUS = 1, 2

    def daemon(self, name, *options, **more):
        return subprocess.run([self.cluster.daemon(name), *options], env=self.cluster.env, capture_output=True, text=True,
                              check=False, timeout=60, **more)

    def restart_node(self, *options):
        if self.cluster.node_pid("n1"):
            self.cluster.kill_node("n1")
        done = self.daemon("sluicenoded", "-f", self.cluster.conf, "-N", "n1", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def wait_idle(self):
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%t").strip() == "idle", "the node is idle")

    def test_help_and_version(self):
        for name in ("sluicectld", "sluicenoded"):
            for option in ("-V", "--version"):
                done = self.daemon(name, option)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "slurm 25.11.0\n", ""))
            done = self.daemon(name, "-h")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for option in ("-D", "-f", "-L", "-v"):
                self.assertRegex(done.stdout, rf"(?m)^ +{option}\b")

    def test_configuration_and_log(self):  # -f, -L, -v and -N
        done = self.daemon("sluicectld", "-f", os.path.join(self.cluster.dir, "nowhere.conf"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere.conf", done.stderr)
        logs = [os.path.join(self.cluster.dir, f"other-{name}.log") for name in ("controller", "agent")]
        self.cluster.kill_controller()
        self.cluster.start_controller("-L", logs[0], "-v")
        self.assertRegex(self.out("scontrol", "show", "config"), r"(?m)^SlurmctldDebug +\S* *= verbose$")
        self.restart_node("-L", logs[1], "-v", "-v")
        self.wait_idle()
        self.run_cmd("srun", "true")
        self.wait_no_jobs()
        for log, line in zip(logs, ("slurmctld version 25.11.0 started", "debug:  methods: ")):
            with open(log, encoding="utf-8") as f:
                self.assertIn(line, f.read())

    def start_in_front(self, name, *options):
        """With -D: it says on standard error what it logs. Gives it once it has said something."""
        front = self.cluster.start(self.cluster.daemon(name), "-D", "-f", self.cluster.conf, *options, stderr=subprocess.PIPE)
        self.addCleanup(front.stderr.close)
        self.addCleanup(front.wait)
        self.addCleanup(front.kill)  # the first of them
        self.assertRegex(front.stderr.readline(), "^slurmctld: " if name == "sluicectld" else "^slurmd: ")
        return front

    def end(self, front):
        self.assertIsNone(front.poll())
        front.terminate()
        front.communicate(timeout=60)
        self.assertEqual(front.returncode, 0)

    def test_in_front(self):
        self.cluster.kill_controller()
        front = self.start_in_front("sluicectld")
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller answers")
        self.end(front)
        self.cluster.start_controller()
        self.cluster.kill_node("n1")
        self.end(self.start_in_front("sluicenoded", "-N", "n1"))
        self.cluster.start_node("n1")
        self.wait_idle()

    def works_in(self, pid, folder):
        wait_for(lambda: os.readlink(f"/proc/{pid()}/cwd") == folder, f"a daemon works in {folder}")

    def test_working_folder(self):  # -s
        logs = os.path.join(self.cluster.dir, "log")
        self.cluster.kill_controller()
        self.cluster.start_controller("-s")
        self.works_in(self.cluster.controller_pid, logs)
        self.restart_node("-s")
        self.works_in(lambda: self.cluster.node_pid("n1"), logs)
        self.cluster.kill_controller()
        self.cluster.kill_node("n1")
        before = self.cluster.change_conf(lambda text: re.sub(r"^Slurm(ctl)?dLogFile=.*\n", "", text, flags=re.M))
        try:
            self.cluster.start_controller("-s")
            state = re.search("^StateSaveLocation=(.*)$", before, re.M)[1]
            self.works_in(self.cluster.controller_pid, state)
            self.restart_node("-s")
            spool = re.search("^SlurmdSpoolDir=(.*)$", before, re.M)[1].replace("%n", "n1")
            self.works_in(lambda: self.cluster.node_pid("n1"), spool)
        finally:
            self.cluster.change_conf(lambda _: before)
            self.cluster.kill_controller()
            self.cluster.start_controller()
            self.restart_node()
        self.wait_idle()


if __name__ == "__main__":
    unittest.main()
