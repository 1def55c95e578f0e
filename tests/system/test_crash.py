"""Nothing acknowledged is lost, and nothing runs twice, when daemons are killed at random moments.

    test_crash.py [ROUNDS]    (3 in CI; the acceptance run takes 100)
"""
import os
import random
import sys
import threading
import time
import unittest

from harness import ClusterCase, wait_for

ROUNDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
CLIENTS = 8


class Crash(ClusterCase):
    NODES, CPUS = 2, 32

    def submit_until(self, stop, acknowledged):
        """One client: submits until told to stop, and notes what it was told is submitted."""
        while not stop.is_set():
            done = self.run_cmd("sbatch", "--parsable", "-o", "/dev/null", "--wrap",
                                "echo $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} >> ran.txt; sleep 0.1", check=False)
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
        """Every acknowledged job ran, once for each restart count."""
        wait_for(lambda: not self.out("squeue", "-h", check=False).strip(), "all jobs have ended", 120)
        ran = [tuple(map(int, line.split())) for line in self.file("ran.txt").splitlines()]
        self.assertEqual(len(ran), len(set(ran)), "a job ran twice")
        self.assertEqual(set(acknowledged) - {job for job, _ in ran}, set(), "acknowledged jobs are lost")

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
        srun = self.cluster.start("srun", "-n2", "-o", "srun.out", "bash", "-c", "while [ ! -e go ]; do sleep 0.05; done; echo done")
        wait_for(lambda: "RUNNING" in self.out("squeue", "-h", "-o", "%T", check=False), "the step runs")
        self.cluster.kill_controller()
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        wait_for(lambda: self.file("srun.out").count("done") == 2, "both tasks ended without the controller")
        self.cluster.start_controller()
        self.assertEqual(srun.wait(timeout=60), 0)
        wait_for(lambda: not self.out("squeue", "-h", check=False).strip(), "the allocation is given back")


if __name__ == "__main__":
    unittest.main(verbosity=2)
