"""Bugs in reboots of nodes for jobs."""
import os
import signal
import unittest

from harness import SBIN, ClusterCase, is_over, wait_for

REBOOT = """#!/bin/sh
echo "$SLURMD_NODENAME" >> {dir}/work/rebooted
setsid sh -c 'while [ -e {dir}/work/reboot.wait ]; do sleep 0.05; done
pid=$(cat {dir}/run/'$SLURMD_NODENAME'.pid)
kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done
%s -f {dir}/slurm.conf -N '$SLURMD_NODENAME' -b' < /dev/null > /dev/null 2>&1 &
""" % os.path.join(SBIN, "sluicenoded")


class KeptReports(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "ReturnToService=2\nSchedulerParameters=requeue_delay=0\n"

    def test_a_script_that_had_ended_does_not_run_again(self):
        """Its node had kept the report, as no controller took it; when the node had rebooted the job was lost with it all the same."""
        gate = os.path.join(self.cluster.work, "ends")
        job = self.submit("-o", "/dev/null", "--wrap", f"echo run >> runs; while [ ! -e {gate} ]; do sleep 0.05; done")
        wait_for(lambda: self.file("runs").split() == ["run"], "the script runs")
        self.wait_state(job, "RUNNING")
        self.cluster.kill_controller()
        open(gate, "w", encoding="utf-8").close()
        steps = os.path.join(self.cluster.dir, "spool", "n1", "steps")
        wait_for(lambda: any(name.endswith(".end") for name in os.listdir(steps)), "its end is kept")
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1", "-b")
        self.cluster.start_controller()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("runs").split(), ["run"])


class OrderlyReboots(ClusterCase):
    """systemd ends agents first, and then all that is left, with SIGTERM: jobs were FAILED by that signal."""
    NODES, CPUS, CONF = 1, 4, "ReturnToService=2\nSchedulerParameters=requeue_delay=0\n"

    def test_jobs_are_queued_again(self):
        jobs = [self.submit(option, "-o", "/dev/null", "--wrap", f"echo run >> runs{i}; while [ ! -e ends ]; do sleep 0.05; done")
                for i, option in enumerate(("--requeue", "--no-requeue"))]
        for i in range(2):
            wait_for(lambda: self.file(f"runs{i}").split() == ["run"], "the script runs")  # pylint: disable=cell-var-from-loop
        daemons = [self.cluster.step_daemon_pid(f"{job}.batch") for job in jobs]
        self.cluster.kill_node("n1")
        for pid in daemons:
            os.kill(pid, signal.SIGTERM)
        wait_for(lambda: all(is_over(pid) for pid in daemons), "the step daemons are gone")
        with open(os.path.join(self.cluster.work, "ends"), "w", encoding="ascii"):
            pass
        self.cluster.start_node("n1", "-b")
        self.assertEqual(self.wait_ended(jobs[1]), "NODE_FAIL")
        self.assertEqual(self.wait_ended(jobs[0]), "COMPLETED")
        self.assertEqual(self.file("runs0").split(), ["run", "run"])
        self.assertEqual(self.file("runs1").split(), ["run"])
        self.assertEqual(self.show(jobs[0])["Restarts"], "1")


class Reboots(ClusterCase):
    NODES, CPUS, CONF, FILES = 2, 2, "RebootProgram={dir}/reboot\nReturnToService=1\n", {"reboot": REBOOT}

    def node(self, name):
        return self.out("sinfo", "-h", "-n", name, "-o", "%t").strip()

    def test_heterogeneous_job(self):
        """Nodes of a heterogeneous job with --reboot were never told to, and it waited for them until its time limit."""
        job = self.submit("--reboot", "-w", "n1", "-o", "/dev/null", ":", "--reboot", "-w", "n2", "--wrap", "true")
        wait_for(lambda: set(self.state(job).split()) == {"COMPLETED"}, "both components have ended")
        wait_for(lambda: sorted(self.file("rebooted").split()) == ["n1", "n2"], "both nodes were told to reboot")
        wait_for(lambda: {self.node("n1"), self.node("n2")} == {"idle"}, "the nodes are idle")

    def test_reboot_that_is_taken_back(self):
        """A job waited until its time limit for a reboot that scontrol update State=RESUME had put an end to."""
        gate = os.path.join(self.cluster.work, "reboot.wait")
        open(gate, "w", encoding="utf-8").close()
        agent = self.cluster.node_pid("n1")
        job = self.submit("--reboot", "--no-requeue", "-w", "n1", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(job, "CONFIGURING")
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.wait_state(job, "BOOT_FAIL")
        os.remove(gate)
        wait_for(lambda: self.cluster.node_pid("n1") not in (None, agent), "the reboot is over")
        wait_for(lambda: self.node("n1") == "idle", "n1 is idle")


if __name__ == "__main__":
    unittest.main()
