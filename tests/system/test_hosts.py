"""Four real hosts as far as the kernel is concerned; links are cut in mid-launch and in mid-run."""
import os
import subprocess
import unittest

from harness import ClusterCase, wait_for
from hosts import HostCluster, need_namespaces


class Hosts(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = HostCluster(4)

    def nodes_in(self, state):
        return self.out("sinfo", "-h", "-t", state, "-N", "-o", "%N").split()

    def wait_idle(self):
        wait_for(lambda: len(self.nodes_in("idle")) == 4, "all hosts are idle")

    def test_srun_reaches_every_host(self):
        lines = self.out("srun", "-N4", "--ntasks-per-node=2", "-l", "hostname").splitlines()
        self.assertEqual(sorted(lines), sorted(f"{i}: h{i // 2 + 1}" for i in range(8)))

    def test_hosts_share_nothing(self):
        spools = self.out("srun", "-N4", "--ntasks-per-node=1", "bash", "-c", "ls /run/sluice/steps | grep -c key; cat /proc/1/comm")
        self.assertEqual(sorted(set(spools.split())), ["1", "sluicenoded"])

    def test_link_cut_in_mid_run(self):
        job = self.submit("-N4", "-o", "run.out", "--wrap", "srun -l bash -c 'while [ ! -e go ]; do sleep 0.1; done; hostname'")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-o", "%i"), "the step runs")
        self.cluster.host("h3").cut()
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        wait_for(lambda: len(self.file("run.out").split()) == 6, "the other three have ended")
        self.cluster.host("h3").mend()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(len(self.file("run.out").splitlines()), 4)
        os.unlink(os.path.join(self.cluster.work, "go"))
        self.wait_idle()

    def test_link_cut_in_mid_launch(self):
        self.cluster.host("h2").cut()
        job = self.submit("-N4", "-o", "launch.out", "--wrap", "srun hostname")
        wait_for(lambda: sorted(self.file("launch.out").split()) == ["h1", "h3", "h4"], "all were sent the step, and h2 does not have it")
        self.cluster.host("h2").mend()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(sorted(self.file("launch.out").split()), ["h1", "h2", "h3", "h4"])
        self.wait_idle()

    def test_a_launch_meets_a_head_that_is_dead(self):
        """Nobody knows yet that h3 is gone: what it would have passed on comes to h4 all the same, and the step ends without it."""
        self.out("srun", "-N4", "true")  # there are connections
        wait_for(lambda: not self.out("squeue", "-h"), "and no job")
        self.cluster.host("h3").power_off()
        srun = self.cluster.start("srun", "-N4", "--no-kill", "-o", "head.out", "-J", "head", "sh", "-c",
                                  "hostname; while [ ! -e head ]; do sleep 0.1; done", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: sorted(self.file("head.out").split()) == ["h1", "h2", "h4"], "the others run the step")
        job = self.out("squeue", "-h", "-n", "head", "-o", "%i").strip()
        wait_for(lambda: self.nodes_in("down") == ["h3"], "h3 is down")
        self.assertEqual(self.state(job), "RUNNING")
        open(os.path.join(self.cluster.work, "head"), "w", encoding="utf-8").close()
        errors = srun.communicate(timeout=60)[1]
        self.assertEqual((srun.returncode, errors), (1, f"srun: error: Task launch for StepId={job}.0 failed on node h3: Communication "
                                                    "connection failure\n"))
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.cluster.host("h3").start()
        self.wait_idle()

    def test_dead_host_is_down_and_its_job_requeued(self):
        job = self.submit("-w", "h4", "--requeue", "-o", "dead.out", "--wrap",
                          "echo run ${SLURM_RESTART_COUNT:-0}; [ ${SLURM_RESTART_COUNT:-0} = 1 ] || sleep 1000")
        self.wait_state(job, "RUNNING")
        self.cluster.host("h4").power_off()
        wait_for(lambda: self.nodes_in("down") == ["h4"], "h4 is down")
        wait_for(lambda: self.state(job) == "PENDING", "the job is requeued")
        self.cluster.host("h4").start()
        self.run_cmd("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn("run 1", self.file("dead.out"))
        self.wait_idle()

    def test_a_dead_host_in_the_tree_is_routed_round(self):
        self.cluster.host("h1").power_off()
        wait_for(lambda: self.nodes_in("down") == ["h1"], "h1 is down")
        lines = self.out("srun", "-N3", "hostname").split()
        self.assertEqual(sorted(lines), ["h2", "h3", "h4"])
        self.cluster.host("h1").start()
        self.wait_idle()


if __name__ == "__main__":
    need_namespaces()
    unittest.main(verbosity=2)
