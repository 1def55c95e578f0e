"""Four real hosts as far as the kernel is concerned; links are cut in mid-launch and in mid-run."""
import os
import subprocess
import unittest

from harness import BIN, ClusterCase, wait_for
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

    def test_a_token_in_plain_text_on_a_network(self):
        there = self.run_cmd("srun", "-N1", "-w", "h2", "env", "SLURM_JWT=a.b.c", os.path.join(BIN, "squeue"), check=False).stderr
        self.assertEqual(there.count("squeue: warning: SLURM_JWT goes to "), 1, there)
        there = self.run_cmd("srun", "-N1", "-w", "h2", os.path.join(BIN, "scontrol"), "token", check=False).stderr
        self.assertEqual(there.count("scontrol: warning: SLURM_JWT comes from "), 1, there)
        here = self.run_cmd("squeue", check=False, env={"SLURM_JWT": "a.b.c"}).stderr
        self.assertNotIn("plain text", here)

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
        self.assertEqual((srun.returncode, sorted(errors.splitlines())),
                         (1, ["srun: error: Node failure on h3",
                              f"srun: error: Task launch for StepId={job}.0 failed on node h3: Communication connection failure"]))
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

    def test_a_launch_that_is_late_for_its_job(self):
        """The launch waits in the connection until the controller has given the host up: it starts nothing when the link is back.
        Whether it comes at all then is up to the kernel."""
        self.out("srun", "-w", "h2", "true")  # there is a connection
        self.wait_no_jobs()
        host = self.cluster.host("h2")
        self.addCleanup(host.mend)
        host.cut()
        job = self.submit("-w", "h2", "--requeue", "-o", "late.out", "--open-mode=append", "--wrap",
                          "echo run ${SLURM_RESTART_COUNT:-0}; while [ ! -e late.end ]; do sleep 0.1; done")
        wait_for(lambda: self.nodes_in("down") == ["h2"], "h2 is down")
        wait_for(lambda: self.state(job) == "PENDING", "the job is requeued")
        self.run_cmd("scontrol", "hold", job)
        host.mend()
        self.wait_idle()
        open(os.path.join(self.cluster.work, "late.end"), "w", encoding="utf-8").close()
        self.run_cmd("scontrol", "release", job)
        self.run_cmd("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("late.out"), "run 1\n")  # the job's first run would have written here, too

    def test_a_dead_host_in_the_tree_is_routed_round(self):
        self.cluster.host("h1").power_off()
        wait_for(lambda: self.nodes_in("down") == ["h1"], "h1 is down")
        lines = self.out("srun", "-N3", "hostname").split()
        self.assertEqual(sorted(lines), ["h2", "h3", "h4"])
        self.cluster.host("h1").start()
        self.wait_idle()


PROLOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURMD_NODENAME" >> {dir}/work/prolog.ran
while [ -e {dir}/work/prolog.wait.$SLURMD_NODENAME ]; do sleep 0.05; done
"""


class CutInMidLaunch(ClusterCase):
    """The link of h2 breaks when a launch is under way, which a Prolog holds up, and comes back before the node counts as lost."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = HostCluster(4, timeout=60, conf="Prolog={dir}/prolog\nMessageTimeout=4\n", files={"prolog": PROLOG})

    def setUp(self):
        self.host = self.cluster.host("h2")
        self.addCleanup(self.host.mend)
        self.out("srun", "-N4", "true")  # there are connections, in which what is sent waits for the link
        self.wait_no_jobs()

    def hold(self, node):
        """Prologs wait on this node until the result is called."""
        gate = os.path.join(self.cluster.work, f"prolog.wait.{node}")
        open(gate, "w", encoding="utf-8").close()
        release = lambda: os.path.exists(gate) and os.remove(gate)
        self.addCleanup(release)
        return release

    def submit_step(self):
        """A job with a step on all hosts, each task of which writes a line."""
        return self.submit("-N4", "-o", "/dev/null", "--wrap", "srun sh -c 'hostname >> started.$SLURM_JOB_ID'")

    def prologs(self, job):
        return sorted(node for number, node in map(str.split, self.file("prolog.ran").splitlines()) if number == str(job))

    def started(self, job):
        return sorted(self.file(f"started.{job}").split())

    def expect_one_run(self, job):
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.started(job), ["h1", "h2", "h3", "h4"])
        self.assertEqual(self.prologs(job), ["h1", "h2", "h3", "h4"])
        self.assertEqual(self.show(job)["Restarts"], "0")
        wait_for(lambda: self.out("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "4", "all hosts are idle")
        self.assertEqual(self.started(job), ["h1", "h2", "h3", "h4"])

    def test_before_the_step_is_sent(self):
        """The script is launched and waits for its Prolog; the launch of its step is lost on the way to h2, or comes late and twice."""
        release = self.hold("h1")
        job = self.submit_step()
        wait_for(lambda: self.prologs(job) == ["h1"], "the launch of the script is under way")
        self.host.cut()
        release()
        wait_for(lambda: self.started(job) == ["h1", "h3", "h4"], "the others run the step")
        wait_for(lambda: f"launch of JobId={job} StepId={job}.0 did not reach h2" in self.cluster.log(), "the launch is lost")
        self.assertEqual(self.state(job), "RUNNING")
        self.host.mend()
        self.expect_one_run(job)

    def test_while_the_step_begins(self):
        """h2 has the launch and waits for its Prolog when it loses the link: what it was to do it does when that is over."""
        release = self.hold("h2")
        job = self.submit_step()
        wait_for(lambda: self.started(job) == ["h1", "h3", "h4"] and "h2" in self.prologs(job), "h2 alone is not done")
        self.host.cut()
        release()
        wait_for(lambda: "h2" in self.started(job), "the task runs, whoever knows of it")
        self.host.mend()
        self.expect_one_run(job)


if __name__ == "__main__":
    need_namespaces()
    unittest.main(verbosity=2)
