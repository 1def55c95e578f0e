"""Daemons that prove themselves with another key than the rest of the cluster."""
import os
import unittest

from harness import ClusterCase, wait_for


class WrongKey(ClusterCase):
    NODES, CPUS = 1, 2

    def with_key(self, start):
        """Runs start() while slurm.key holds another key."""
        path = os.path.join(self.cluster.dir, "slurm.key")
        with open(path, "rb") as f:
            own = f.read()
        try:
            with open(path, "wb") as f:
                f.write(os.urandom(64))
            start()
        finally:
            with open(path, "wb") as f:
                f.write(own)


class Controller(WrongKey):
    """The launch that it sent again was refused: the job that ran failed within milliseconds."""

    def test_running_jobs_go_on(self):
        once = self.submit("--no-requeue", "--wrap", "touch begun; while [ ! -e go ]; do sleep 0.1; done")
        again = self.submit("--requeue", "--wrap", "touch begun2; while [ ! -e go ]; do sleep 0.1; done")
        for name in ("begun", "begun2"):
            wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, name)), "the job runs")  # pylint: disable=cell-var-from-loop
        self.cluster.kill_controller()
        self.with_key(self.cluster.start_controller)
        for job in (once, again):
            wait_for(lambda: f"launch of JobId={job} StepId={job}.batch is not taken by n1 yet (auth/slurm: the token's signature is wrong"  # pylint: disable=cell-var-from-loop
                     in self.cluster.log(), "the launch waits")
        wait_for(lambda: "node n1 does not respond, it takes nothing of this controller: auth/slurm: the token's signature is wrong"
                 in self.cluster.log(), "the log says it once")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        for job in (once, again):
            self.assertEqual(self.wait_state(job, "RUNNING", "FAILED", "PENDING"), "RUNNING")
        with open(os.path.join(self.cluster.work, "go"), "w", encoding="ascii"):
            pass
        for job in (once, again):
            self.assertEqual(self.wait_ended(job), "COMPLETED")
            self.assertEqual(self.show(job)["Restarts"], "0")
        self.assertEqual(self.cluster.log().count("it takes nothing of this controller"), 1)


class Node(WrongKey):
    """Each job that was given to it failed."""

    def test_jobs_wait_for_it(self):
        self.cluster.kill_node("n1")
        self.with_key(lambda: self.cluster.start_node("n1"))
        job = self.submit("--no-requeue", "--wrap", "true")
        wait_for(lambda: f"launch of JobId={job} StepId={job}.batch is not taken by n1 yet (auth/slurm: the token's signature is wrong" in self.cluster.log(),
                 "the launch waits")
        wait_for(lambda: "*" in self.out("sinfo", "-h", "-o", "%t"), "the node does not respond")
        self.assertEqual(self.state(job), "RUNNING")
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        self.assertEqual(self.wait_ended(job), "COMPLETED")


if __name__ == "__main__":
    unittest.main()
