"""The step daemon that an agent lets wait for the next step."""
import os
import signal
import subprocess
import unittest

from harness import SPARE, ClusterCase, processes, wait_for


class SpareDaemon(ClusterCase):
    NODES, CPUS = 1, 2

    def spares(self):
        folder = (self.cluster.dir + "/spool/n1").encode()
        return [pid for pid, _, words in processes("cmdline") if words[0].startswith(SPARE) and folder in words]

    def spare(self):
        """The one that waits after a step has ended."""
        self.wait_ended(self.submit("-o", "/dev/null", "--wrap", "true"))
        return wait_for(self.spares, "a daemon waits")[0]

    def name_of(self, pid):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode().split("\0")[0]

    def test_it_becomes_the_next_steps_daemon(self):
        spare = self.spare()
        job = self.submit("-o", "next.out", "--wrap", "echo $PPID; while [ ! -e go ]; do sleep 0.05; done")
        wait_for(lambda: self.file("next.out").split() == [str(spare)], "the script's daemon is the one that waited")
        self.assertEqual(self.name_of(spare), f"slurmstepd: [{job}.batch]")
        self.assertEqual(self.spares(), [], "one at a time, and only after a step")
        # it is known by its new name to an agent that looks for it
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        open(os.path.join(self.cluster.work, "go"), "w").close()
        self.wait_ended(job)
        self.assertIn("ExitCode=0:0", self.out("scontrol", "show", "job", job))

    def test_steps_go_on_without_it(self):
        os.kill(self.spare(), signal.SIGKILL)
        wait_for(lambda: not self.spares(), "it is gone")
        self.assertEqual(self.out("srun", "echo", "ran"), "ran\n")

    def test_one_whose_end_is_not_known_yet(self):
        spare, agent = self.spare(), self.cluster.node_pid("n1")
        os.kill(agent, signal.SIGSTOP)  # both come at once: that it ended, and a step
        try:
            os.kill(spare, signal.SIGKILL)
            srun = self.cluster.start("srun", "echo", "ran", stdout=subprocess.PIPE)
            wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the job is begun")
        finally:
            os.kill(agent, signal.SIGCONT)
        self.assertEqual(srun.communicate(timeout=60)[0], "ran\n")

    def test_a_node_is_not_blamed_for_a_daemon_that_its_agent_ended(self):
        """One that hung before it had begun was ended with its job, and the agent took its own kill for the node's fault: it was drained."""
        spare = self.spare()
        os.kill(spare, signal.SIGSTOP)
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_state(job, "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)  # after the half minute that a daemon has
        self.assertFalse(os.path.exists(f"/proc/{spare}"), "it was ended")
        self.assertEqual(self.out("sinfo", "-h", "-o", "%T").strip(), "idle")

    def test_it_ends_with_its_agent(self):
        spare = self.spare()
        self.cluster.kill_node("n1")
        wait_for(lambda: spare not in self.spares(), "it is gone")
        self.cluster.start_node("n1")
        self.assertEqual(self.out("srun", "echo", "ran"), "ran\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
