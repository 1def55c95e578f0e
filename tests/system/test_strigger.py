"""strigger: programs that are run when something happens to nodes, jobs or the controller."""
import contextlib
import os
import sqlite3
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, need_root, wait_for

PROGRAM = """#!/bin/sh
echo "$(id -un) $*" >> {dir}/work/fired
"""
HEAD = "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n"


class Triggers(ClusterCase):
    NODES, CPUS = 3, 2
    FILES = {"program": PROGRAM}

    def setUp(self):
        self.program = os.path.join(self.cluster.dir, "program")
        self.addCleanup(self.run_cmd, "strigger", "--clear", "--user=root", "-Q", check=False)
        path = os.path.join(self.cluster.work, "fired")
        if os.path.exists(path):
            os.remove(path)

    def fired(self):
        return self.file("fired").splitlines()

    def set(self, *args):
        self.run_cmd("strigger", "--set", "-p", self.program, *args)

    def listed(self, *args):
        return [line.split() for line in self.out("strigger", "--get", "-N", *args).splitlines()]

    def update(self, nodes, state):
        self.run_cmd("scontrol", "update", f"NodeName={nodes}", f"State={state}", *([] if state == "RESUME" else ["Reason=test"]))

    def wait_fired(self, *lines):
        wait_for(lambda: sorted(self.fired()) == sorted(lines), f"fired: {lines}")

    def test_other_cluster(self):  # -M
        for options in (("-M", "elsewhere"), ("--cluster=elsewhere",)):
            done = self.run_cmd("strigger", "--get", *options, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("strigger: error: 'elsewhere' can't be reached now", done.stderr)

    def test_set_get_clear(self):
        self.assertEqual(self.out("strigger", "--get"), "")
        self.set("--down", "--offset=-10", "--flags=perm", "--node=n[1-2]")
        self.set("-r")
        rows = self.listed()
        first, second = int(rows[0][0]), int(rows[1][0])
        self.assertEqual(second, first + 1)
        self.assertEqual(self.out("strigger", "--get"), HEAD +
                         f"{first:7} node       n[1-2] down                                   -10 root     PERM  {self.program}\n"
                         f"{second:7} node            * reconfig                                 0 root           {self.program}\n")
        self.assertEqual([row[0] for row in self.listed("-i", second)], [str(second)])
        self.assertEqual(self.listed("--user=nobody"), [])
        self.assertEqual([row[0] for row in self.listed("--down")], [str(first)])
        self.fails(1, "slurm_set_trigger: Duplicate event trigger\n", "strigger", "--set", "-p", self.program, "-r")
        self.fails(1, "", "strigger", "--set", "-p", self.program, "-r", "-Q")
        self.fails(1, "slurm_clear_trigger: No such process\n", "strigger", "--clear", "--id=9999")
        self.run_cmd("strigger", "--clear", f"--id={first}")
        self.assertEqual([row[0] for row in self.listed("-v")], [str(second)])
        done = self.run_cmd("strigger", "--clear", f"--id={second}", user=65534, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "slurm_clear_trigger: Access/permission denied\n"))
        done = self.run_cmd("strigger", "--set", "--down", "-p", self.program, user=65534, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "slurm_set_trigger: Access/permission denied\n"))

    def test_verbose(self):  # -v --verbose: what was done
        said = lambda *args: self.run_cmd("strigger", *args).stderr
        events = {"-v": "--down", "--verbose": "--up"}
        for option, event in events.items():
            self.assertEqual(said("--set", event, "-p", self.program, option), "strigger: trigger set\n")
            self.assertEqual(said("--get", option), "strigger: Read 1 trigger records\n")
            self.assertEqual(said("--clear", "--user=root", option), "strigger: triggers for user 0 cleared\n")
            for args in (("--set", event, "-p", self.program), ("--get",), ("--clear", "--user=root")):
                self.assertEqual(said(*args), "", args)

    def test_words(self):
        self.fails(1, "strigger: error: You must use exactly one of the following options: --set, --get or --clear\n", "strigger")
        self.fails(1, "strigger: error: You must specify a --program value\n", "strigger", "--set", "--down")
        self.fails(1, "strigger: error: The --program value must start with \"/\"\n", "strigger", "--set", "--down", "-p", "bin/true")
        self.fails(1, "strigger: error: Invalid --program value, file not found\n", "strigger", "--set", "--down", "-p", "/nowhere")
        self.fails(1, "strigger: error: You must specify a --id, --jobid, or --user to clear\n", "strigger", "--clear")
        self.fails(1, "strigger: error: You must specify a --jobid value\n", "strigger", "--get", "-f")
        self.fails(1, "strigger: error: Invalid flags foo\n", "strigger", "--set", "--down", "-p", self.program, "--flags=foo")
        self.fails(1, "strigger: error: Invalid user nosuchuser\n", "strigger", "--get", "--user=nosuchuser")
        self.fails(1, "slurm_set_trigger: Invalid job id specified\n", "strigger", "--set", "-j", "9999", "-f", "-p", self.program)
        self.assertIn("--set", self.out("strigger", "--help"))
        self.assertIn("strigger", self.out("strigger", "--usage"))
        self.assertEqual(self.out("strigger", "-V"), self.out("sinfo", "-V"))

    def test_listing(self):  # events that are kept, and cannot come about here
        for option in "aAbBcCeghHG":
            self.set("-" + option)
        self.set("--burst_buffer")
        self.set("--resume")
        kinds = {(row[1], row[3]) for row in self.listed()}
        self.assertEqual(kinds, {
            ("slurmctld", "primary_slurmctld_failure"), ("slurmctld", "primary_slurmctld_resumed_operation"),
            ("slurmctld", "primary_slurmctld_resumed_control"), ("slurmctld", "backup_slurmctld_failure"),
            ("slurmctld", "backup_slurmctld_resumed_operation"), ("slurmctld", "backup_slurmctld_assumed_control"),
            ("slurmctld", "primary_slurmctld_acct_buffer_full"), ("slurmdbd", "primary_slurmdbd_failure"),
            ("slurmdbd", "primary_slurmdbd_resumed_operation"), ("database", "primary_database_failure"),
            ("database", "primary_database_resumed_operation"), ("other", "burst_buffer"), ("node", "resume")})

    def test_node_events(self):
        job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.set("--drained", "--flags=PERM")
        self.set("--draining")
        self.update("n[1-2]", "DRAIN")
        self.wait_fired("root n1", "root n2")  # n1 is drained, n2 is still draining
        self.assertEqual([row[3] for row in self.listed()], ["drained"])
        self.run_cmd("scancel", job)
        self.wait_fired("root n1", "root n2", "root n2")
        self.run_cmd("strigger", "--clear", "--user=root")
        self.update("n[1-2]", "RESUME")
        self.set("-d", "--node=n3")
        self.set("--fail")
        self.set("-u")
        self.update("n1", "DOWN")
        self.update("n3", "DOWN")
        self.update("n2", "FAIL")
        before = ["root n1", "root n2", "root n2"]
        self.wait_fired(*before, "root n3", "root n2")
        self.update("n[1-3]", "RESUME")
        self.wait_fired(*before, "root n3", "root n2", "root n[1,3]")
        self.assertEqual(self.listed(), [])

    def test_job_events(self):
        job = self.submit("-w", "n1", "-t", "60", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.set("-j", job, "--fini", "--offset=1")
        self.set("-j", job, "--time", "--offset=-59")
        self.assertEqual([row[1:5] for row in self.listed("-j", job)],
                         [["job", str(job), "fini", "1"], ["job", str(job), "time", "-59"]])
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        self.wait_fired(f"root {job}")  # the limit is less than 59 s away
        self.assertEqual([row[3] for row in self.listed("-j", job)], ["fini"])
        self.run_cmd("scancel", job)
        self.wait_fired(f"root {job}", f"root {job}")
        self.fails(1, "slurm_set_trigger: Job/step already completing or completed\n", "strigger", "--set", "-j", job, "-f", "-p",
                   self.program)

    def test_idle(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.set("--idle", "--node=n1", "--flags=PERM")
        self.run_cmd("scancel", job)
        self.wait_fired("root n1")
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        self.wait_fired("root n1", "root n1")

    def test_restart(self):  # triggers are durable; the controller's own events
        self.set("--reconfig")
        self.set("-A", "--flags=PERM")
        self.set("--down", "--node=n3")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.wait_fired("root primary_slurmctld_resumed_operation")
        self.assertEqual([row[3] for row in self.listed()], ["reconfig", "primary_slurmctld_resumed_operation", "down"])
        self.run_cmd("scontrol", "reconfigure")
        self.wait_fired("root primary_slurmctld_resumed_operation", "root reconfig")


class OfAccounting(ClusterCase):
    """Triggers of the accounting daemon and its database."""
    NODES, CPUS = 1, 2
    FILES = {"program": PROGRAM}

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(cls.NODES, cls.CPUS, cls.MEMORY, files=cls.FILES)

    def fired(self, *events):
        return sorted(self.file("fired").splitlines()) == sorted(f"root {event}" for event in events)

    def test_daemon_and_database(self):
        program = os.path.join(self.cluster.dir, "program")
        for option in "gGhHe":
            self.run_cmd("strigger", "--set", "-" + option, "--flags=perm", "-p", program)
        self.cluster.stop_dbd()
        wait_for(lambda: self.fired("primary_slurmdbd_failure"), "the daemon is gone")
        self.cluster.start_dbd()
        told = ["primary_slurmdbd_failure", "primary_slurmdbd_resumed_operation"]
        wait_for(lambda: self.fired(*told), "it is there again")
        with contextlib.closing(sqlite3.connect(self.cluster.dir + "/state/accounting.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            self.submit("-o", "/dev/null", "--wrap", "true")
            wait_for(lambda: self.fired(*told, "primary_database_failure"), "the database takes nothing")
            other.execute("ROLLBACK")
        wait_for(lambda: self.fired(*told, "primary_database_failure", "primary_database_resumed_operation"), "it does again")


if __name__ == "__main__":
    need_root()
    unittest.main()
