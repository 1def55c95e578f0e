"""scontrol shutdown ends the daemons and leaves running jobs alone; they go on under the next ones."""
import os
import unittest

from harness import Cluster, ClusterCase, pids_with, wait_for


class Shutdown(ClusterCase):
    NODES, CPUS = 2, 2

    def test_daemons_end_and_jobs_go_on(self):
        job = self.submit("-o", "kept.out", "--wrap", "while [ ! -e go ]; do sleep 0.05; done; echo done")
        self.wait_state(job, "RUNNING")
        self.run_cmd("scontrol", "update", "nodename=n2", "state=down", "reason=its agent runs all the same")
        self.run_cmd("scontrol", "shutdown")
        for program in ("sluicectld", "sluicenoded"):
            wait_for(lambda: not pids_with(self.cluster.conf, program), f"{program} has ended", 15)
        self.cluster.start_controller()
        for node in ("n1", "n2"):
            self.cluster.start_node(node)
        self.assertEqual(wait_for(lambda: self.cluster.run("squeue", "-h", "-o", "%T", check=False).stdout.strip(),
                                  "the controller answers"), "RUNNING")
        open(f"{self.cluster.work}/go", "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("kept.out"), "done\n")

    def test_of_the_controller_alone(self):  # scontrol shutdown slurmctld
        job = self.submit("-o", "alone.out", "--wrap", "while [ ! -e alone ]; do sleep 0.05; done; echo done")
        self.wait_state(job, "RUNNING")
        agents = [self.cluster.node_pid(node) for node in ("n1", "n2")]
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        wait_for(lambda: not pids_with(self.cluster.conf, "sluicectld"), "the controller has ended", 15)
        open(f"{self.cluster.work}/alone", "w", encoding="utf-8").close()
        wait_for(lambda: self.file("alone.out") == "done\n", "the job goes on without it")
        self.assertEqual([self.cluster.node_pid(node) for node in ("n1", "n2")], agents)
        self.cluster.start_controller()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual([self.cluster.node_pid(node) for node in ("n1", "n2")], agents)

    def test_down_ends_what_runs(self):
        cluster = Cluster(1, 2)
        try:
            cluster.run("sbatch", "-o", "/dev/null", "--wrap", "echo up > up; sleep 1000")
            wait_for(lambda: os.path.exists(f"{cluster.work}/up"), "the job runs")
        finally:
            cluster.down()  # fails when a process of it is left


if __name__ == "__main__":
    unittest.main(verbosity=2)
