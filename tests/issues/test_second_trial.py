"""What a second trial by a user and an administrator found."""
import grp
import os
import pwd
import subprocess
import threading
import time
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE = 63641


class User(ClusterCase):
    NODES, CPUS = 1, 4

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE)
        super().setUpClass()

    def held(self, *options):
        return self.submit("-H", "-D", "/tmp", "-o", "/dev/null", *options, "--wrap", "true")

    def names(self, *jobs):
        return self.out("squeue", "-h", "-j", ",".join(map(str, jobs)), "-S", "i", "-o", "%j").split()

    def test_the_last_job_id_of_an_update_counts(self):
        """The first of the two was changed."""
        one, two = self.held("-J", "one"), self.held("-J", "two")
        self.run_cmd("scontrol", "update", f"jobid={one}", f"jobid={two}", "name=y")
        self.assertEqual(self.names(one, two), ["one", "y"])
        refused = self.run_cmd("scontrol", "update", f"jobid={one}", "jobid=77777", "name=z", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(self.names(one, two), ["one", "y"])
        self.run_cmd("scancel", one, two)

    def test_scancel_takes_lists(self):
        """Such a list was refused, and nothing was cancelled."""
        jobs = [self.held() for _ in range(3)]
        array = self.held("-a", "1-8")
        self.run_cmd("scancel", f"{jobs[0]},99999,{jobs[1]}")
        self.run_cmd("scancel", f"{array}_2,{array}_[5,7]")
        self.assertEqual(self.out("squeue", "-h", "-S", "i", "-o", "%i").split(), [str(jobs[2]), f"{array}_[1,3-4,6,8]"])
        self.fails(1, f"scancel: error: Invalid job id {jobs[2]},x\n", "scancel", f"{jobs[2]},x")
        self.assertEqual(self.state(jobs[2]), "PENDING")
        self.run_cmd("scancel", "-u", "root")

    def test_a_user_keeps_his_own_group(self):
        """A job that root submits for a user without --gid had root's group alone."""
        user = pwd.getpwuid(ALICE)
        job = self.submit("-D", "/tmp", f"--uid={user.pw_name}", "-o", os.path.join("/tmp", f"sluice-groups-{os.getpid()}"), "--wrap", "id -G")
        self.wait_ended(job)
        path = os.path.join("/tmp", f"sluice-groups-{os.getpid()}")
        self.addCleanup(os.remove, path)
        with open(path, encoding="utf-8") as f:
            self.assertIn(str(user.pw_gid), f.read().split(), grp.getgrgid(user.pw_gid).gr_name)


class Administrator(ClusterCase):
    NODES, CPUS = 2, 2

    def test_a_journal_that_is_gone_is_no_new_cluster(self):
        """An empty journal.db, or none, beside the key of the cluster began a new one without a word."""
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        journal = os.path.join(self.cluster.dir, "state/journal/journal.db")
        for empty in (True, False):
            self.cluster.kill_controller()
            kept = {end: open(journal + end, "rb").read() for end in ("", "-wal", "-shm") if os.path.exists(journal + end)}
            for end in kept:
                os.remove(journal + end)
            if empty:
                open(journal, "wb").close()
            before = len(self.cluster.log())
            for _ in range(2):  # nor when it is tried again
                with self.assertRaises(Exception):
                    self.cluster.start_controller()
            self.assertIn("its journal is empty or gone: put a backup back (sluice restore FOLDER), or start once with slurmctld -c", self.cluster.log()[before:])
            for name in os.listdir(os.path.dirname(journal)):
                if name.startswith("journal.db"):
                    os.remove(os.path.join(os.path.dirname(journal), name))
            for end, content in kept.items():
                with open(journal + end, "wb") as f:
                    f.write(content)
            self.cluster.start_controller()
            self.assertEqual(self.state(job), "PENDING")
        self.run_cmd("scancel", job)

    def test_commands_wait_while_the_token_socket_changes_hands(self):
        """A command failed that came between the end of one daemon and the next one that gives tokens."""
        answers, failed, over = [], [], threading.Event()

        def ask():
            while not over.is_set():
                done = self.run_cmd("sinfo", "-h", check=False)
                answers.append(done.returncode)
                if done.returncode:
                    failed.append(done.stderr)
        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for _ in range(3):
                self.cluster.kill_controller()
                self.cluster.start_controller()
                before = len(answers)
                wait_for(lambda: len(answers) > before + 2, "it is asked again")
        finally:
            over.set()
            thread.join()
        self.assertEqual(failed, [])

    def test_commands_wait_for_a_daemon_that_gives_tokens(self):
        """Others than srun and sbatch failed at once while no daemon of their host gave tokens."""
        nodes = self.out("sinfo", "-h", "-N", "-o", "%N").split()
        self.cluster.kill_controller()
        for node in nodes:
            self.cluster.kill_node(node)
        asking = [self.cluster.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                  for command in (("sinfo", "-h"), ("squeue", "-h"), ("scontrol", "show", "nodes"))]
        time.sleep(3)  # longer than a socket takes to change hands
        self.cluster.start_controller()
        for one in asking:
            self.addCleanup(one.kill)
            self.assertEqual((one.wait(60), one.stderr.read()), (0, ""))
        for node in nodes:
            self.cluster.start_node(node)
        wait_for(lambda: "idle" in self.out("sinfo", "-h", "-o", "%t"), "the nodes are back")

    def test_nodes_that_cannot_be_resolved_are_named(self):
        before = self.cluster.change_conf(lambda text: text + "NodeName=far NodeHostname=no-such-host.invalid CPUs=1\n")
        self.addCleanup(lambda: (self.cluster.change_conf(lambda text: before), self.run_cmd("scontrol", "reconfigure")))
        self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: 'node far cannot be reached: ' in self.cluster.log(), "the log names it", 120)

    def test_a_node_is_idle_since_it_is_there(self):
        self.assertNotIn("LastBusyTime=Unknown", self.out("scontrol", "show", "node", "n1"))

    def test_own_parameters_are_shown(self):
        self.assertNotIn("SluiceParameters", self.out("scontrol", "show", "config"))
        before = self.cluster.change_conf(lambda text: text + "SluiceParameters=log_format=text\n")
        self.run_cmd("scontrol", "reconfigure")
        self.assertRegex(self.out("scontrol", "show", "config"), r"(?m)^SluiceParameters +=.*log_format=text")
        self.cluster.change_conf(lambda text: before)
        self.run_cmd("scontrol", "reconfigure")

    def test_explain_says_that_a_launch_failed(self):
        prolog = os.path.join(self.cluster.dir, "prolog")
        with open(prolog, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 1\n")
        os.chmod(prolog, 0o755)
        before = self.cluster.change_conf(lambda text: text + f"Prolog={prolog}\n")
        self.run_cmd("scontrol", "reconfigure")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "launch failed" in self.out("squeue", "-h", "-j", job, "-o", "%r"), "it is held")
        said = self.out("sluice", "explain", job)
        self.assertIn("It was held, and not by anybody's request:", said)
        self.run_cmd("scancel", job)
        self.cluster.change_conf(lambda text: before)
        self.run_cmd("scontrol", "reconfigure")


if __name__ == "__main__":
    unittest.main()
