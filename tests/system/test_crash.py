"""Nothing acknowledged is lost, nothing runs twice, and each job ends as its script did, when daemons are killed at random moments.

    test_crash.py [ROUNDS]    (3 in CI; the acceptance run takes 1,000, and 100 of `test_crash.py 100 Accounted`)
"""
import collections
import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for

ROUNDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
if ROUNDS > 10:
    faulthandler.cancel_dump_traceback_later()  # the harness's bound is for ctest
CLIENTS = 8


class Crash(ClusterCase):
    NODES, CPUS = 2, 32
    CONF = "MinJobAge=100000\nMaxJobCount=1000000\n"  # ended jobs stay known until they are checked

    def submit_until(self, stop, acknowledged):
        """One client: submits until told to stop, and notes what it was told is submitted."""
        while not stop.is_set():
            done = self.run_cmd("sbatch", "--parsable", "-o", "/dev/null", "--wrap",
                                "echo $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} >> ran.txt; sleep 0.1; exit $((SLURM_JOB_ID % 3))", check=False)
            if done.returncode == 0:
                acknowledged.append(int(done.stdout.strip()))

    def round(self, kill, restart):
        stop, acknowledged = threading.Event(), []
        clients = [threading.Thread(target=self.submit_until, args=(stop, acknowledged)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            wait_for(lambda: len(acknowledged) >= CLIENTS, "submissions are going on")
            time.sleep(random.uniform(0, 0.5))  # a random moment is what this is about
            kill()
            restart()
            before = len(acknowledged)
            wait_for(lambda: len(acknowledged) >= before + CLIENTS, "submissions go on after the restart")
        finally:
            stop.set()
            for client in clients:
                client.join()
        return acknowledged

    def check(self, acknowledged):
        """Every acknowledged job ran, once for each restart count, and ended as its number says."""
        wait_for(lambda: not self.out("squeue", "-h", check=False).strip(), "all jobs have ended", 120)
        ran = [tuple(map(int, line.split())) for line in self.file("ran.txt").splitlines()]
        self.assertEqual(len(ran), len(set(ran)), "a job ran twice")
        self.assertEqual(set(acknowledged) - {job for job, _ in ran}, set(), "acknowledged jobs are lost")
        ended = [line.split() for line in self.out("squeue", "-h", "-t", "all", "-O", "JobID:.20,State:.20,exit_code:.20").splitlines()]
        self.assertEqual(set(acknowledged) - {int(job) for job, _, _ in ended}, set(), "acknowledged jobs are not known any more")
        wrong = [row for row in ended if row[1:] != ["FAILED" if int(row[0]) % 3 else "COMPLETED", f"{int(row[0]) % 3}:0"]]
        self.assertEqual(wrong, [], "jobs ended otherwise than their scripts")

    def test_controller(self):
        seed = random.randrange(1 << 32)
        random.seed(seed)
        acknowledged = []
        with self.subTest(seed=seed):
            for _ in range(ROUNDS):
                acknowledged += self.round(self.cluster.kill_controller, self.cluster.start_controller)
            self.check(acknowledged)
        print(f"{ROUNDS} rounds, {len(acknowledged)} jobs acknowledged")

    def test_node_agent(self):
        acknowledged = []
        for _ in range(ROUNDS):
            node = random.choice(["n1", "n2"])
            acknowledged += self.round(lambda: self.cluster.kill_node(node), lambda: self.cluster.start_node(node))
        self.check(acknowledged)
        print(f"{ROUNDS} rounds, {len(acknowledged)} jobs acknowledged")

    def test_waiting_srun_goes_on(self):
        srun = self.cluster.start("srun", "-n2", "-o", "srun.out", "bash", "-c",
                                  "echo began; while [ ! -e go ]; do sleep 0.05; done; echo done")
        wait_for(lambda: self.file("srun.out").count("began") == 2, "the step runs")
        self.cluster.kill_controller()
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        wait_for(lambda: self.file("srun.out").count("done") == 2, "both tasks ended without the controller")
        self.cluster.start_controller()
        self.assertEqual(srun.wait(timeout=60), 0)
        wait_for(lambda: not self.out("squeue", "-h", check=False).strip(), "the allocation is given back")


class Accounted(Crash):
    """Accounting has each job once, and its end and its step, whichever of the two daemons was killed, or both."""

    test_node_agent = test_waiting_srun_goes_on = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(cls.NODES, cls.CPUS, cls.MEMORY, conf=cls.CONF)

    def kill_some(self):
        self.killed = random.choice(["dbd", "controller", "both"])
        if self.killed != "controller":
            self.cluster.stop_dbd(signal.SIGKILL)
        if self.killed != "dbd":
            self.cluster.kill_controller()

    def start_some(self):
        starts = [self.cluster.start_dbd] * (self.killed != "controller") + [self.cluster.start_controller] * (self.killed != "dbd")
        random.shuffle(starts)
        for start in starts:
            start()
            time.sleep(random.uniform(0, 0.2))

    def test_controller(self):
        seed = random.randrange(1 << 32)
        random.seed(seed)
        acknowledged = []
        with self.subTest(seed=seed):
            for _ in range(ROUNDS):
                acknowledged += self.round(self.kill_some, self.start_some)
            self.check(acknowledged)
            wait_for(lambda: "DBD Agent queue size: 0" in self.out("sdiag"), "all records are stored", 300)
            self.check_records(acknowledged)
        print(f"{ROUNDS} rounds, {len(acknowledged)} jobs acknowledged")

    def check_records(self, acknowledged):
        rows = self.cluster.sacct("-a", "-D", "-S", "now-2days", "-o", "jobidraw,state,exitcode", limit_s=300)
        found = collections.Counter(job for job, _, _ in rows)
        self.assertEqual([job for job, count in found.items() if count != 1], [], "recorded more than once")
        self.assertEqual([job for job in acknowledged if f"{job}.batch" not in found], [], "a job or its step is not recorded")
        wrong = [row for row in rows if row[1:] != ["FAILED" if (number := int(row[0].split(".")[0]) % 3) else "COMPLETED", f"{number}:0"]]
        self.assertEqual(wrong, [], "recorded otherwise than it ended")


class Clients(ClusterCase):
    """Commands that wait for something are still waiting when the controller is back."""
    NODES, CPUS = 2, 2

    def setUp(self):
        self.started = []
        for name in ("go", "full"):
            if os.path.exists(os.path.join(self.cluster.work, name)):
                os.remove(os.path.join(self.cluster.work, name))

    def tearDown(self):
        for command in self.started:
            if command.poll() is None:
                command.kill()
            command.communicate()
        self.run_cmd("scancel", "-u", "root", check=False)
        wait_for(lambda: not self.out("squeue", "-h", check=False), "no job is left")

    def begin(self, *command):
        self.started.append(self.cluster.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return self.started[-1]

    def touch(self, name):
        open(os.path.join(self.cluster.work, name), "w", encoding="utf-8").close()

    def crash(self, meanwhile=None):
        self.cluster.kill_controller()
        if meanwhile:
            meanwhile()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")

    def ended(self, command, status, out):
        found, errors = command.communicate(timeout=60)
        self.assertEqual((command.returncode, found), (status, out), errors)
        return errors

    def until(self, name):
        return f"while [ ! -e {name} ]; do sleep 0.05; done"

    def test_salloc_with_an_allocation(self):
        salloc = self.begin("salloc", "-N2", "-J", "held", "sh", "-c", f"{self.until('go')}; srun sh -c 'echo $SLURMD_NODENAME' | sort; exit 5")
        job = wait_for(lambda: self.out("squeue", "-h", "-n", "held", "-t", "R", "-o", "%i").strip(), "it has its nodes")
        self.crash(meanwhile=lambda: self.touch("go"))  # its srun may meet no controller
        errors = self.ended(salloc, 5, "n1\nn2\n")
        self.assertIn(f"salloc: Relinquishing job allocation {job}\n", errors)
        self.assertNotIn("revoked", errors)
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertEqual(self.show(job)["ExitCode"], "5:0")

    def test_pending_srun_and_salloc(self):
        first = self.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", self.until("go"))
        self.wait_state(first, "RUNNING")
        srun = self.begin("srun", "-N2", "-J", "waits", "sh", "-c", "echo ran")
        salloc = self.begin("salloc", "-N2", "-J", "waits", "echo", "ran")
        wait_for(lambda: len(self.out("squeue", "-h", "-t", "PD", "-n", "waits").splitlines()) == 2, "both are pending")
        self.crash()
        self.assertEqual((srun.poll(), salloc.poll()), (None, None))
        self.touch("go")
        self.assertIn("has been allocated resources", self.ended(srun, 0, "ran\nran\n"))
        self.assertIn("has been allocated resources", self.ended(salloc, 0, "ran\n"))

    def test_pending_commands_are_cancelled_later(self):
        first = self.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(first, "RUNNING")
        waiting = [self.begin(command, "-N2", "-J", "waits", "true") for command in ("srun", "salloc")]
        wait_for(lambda: len(self.out("squeue", "-h", "-t", "PD", "-n", "waits").splitlines()) == 2, "both are pending")
        self.crash()
        self.run_cmd("scancel", "-n", "waits")
        for command in waiting:
            self.ended(command, 1, "")

    def test_sbatch_that_waits(self):
        running = self.begin("sbatch", "-W", "-o", "/dev/null", "--wrap", f"{self.until('go')}; exit 7")
        wait_for(lambda: self.out("squeue", "-h", "-t", "R"), "its job runs")
        held = self.begin("sbatch", "-W", "-H", "-J", "held", "-o", "/dev/null", "--wrap", "exit 8")
        job = wait_for(lambda: self.out("squeue", "-h", "-n", "held", "-o", "%i").strip(), "the other is held")
        self.crash()
        self.assertEqual((running.poll(), held.poll()), (None, None))
        self.crash(meanwhile=lambda: self.touch("go"))  # it may end while nobody can be told
        self.assertIn("Submitted", running.communicate(timeout=60)[0])
        self.assertEqual(running.returncode, 7)
        self.run_cmd("scontrol", "release", job)
        held.communicate(timeout=60)
        self.assertEqual(held.returncode, 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
