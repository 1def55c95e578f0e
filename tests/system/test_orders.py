"""Orders of the controller that a broken link keeps from a host: they arrive when it is back, and no registration helps."""
import subprocess
import unittest

from harness import ClusterCase, wait_for
from hosts import HostCluster, need_namespaces

PROLOG = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURMD_NODENAME" >> {dir}/work/prolog.ran
"""
REBOOT = """#!/bin/sh
echo "$SLURMD_NODENAME" >> {dir}/work/rebooted
"""
CONF = "Prolog={dir}/prolog\nPrologFlags=Alloc\nRebootProgram={dir}/reboot\nMessageTimeout=4\n"


def sleeping(marker):
    return subprocess.run(["pgrep", "-fx", f"(/.*/)?sleep {marker}"], capture_output=True, text=True, check=False).stdout.split()


class Orders(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = HostCluster(2, timeout=60, conf=CONF, files={"prolog": PROLOG, "reboot": REBOOT})

    def setUp(self):
        self.host = self.cluster.host("h2")
        self.addCleanup(self.host.give_back)
        # when it came up, and when the controller asked for the first time whether it is there; no more while it is up
        wait_for(lambda: self.registrations() >= 2, "the agent has registered for good")
        self.registered = self.registrations()

    def registrations(self):
        return self.cluster.log("h2").count("registered as h2")

    def wait_lost(self, order):
        wait_for(lambda: f"{order} did not reach h2" in self.cluster.log(), f"the {order} is lost")

    def wait_idle(self):
        wait_for(lambda: self.out("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "2", "both hosts are idle")

    def test_prolog(self):
        self.host.take_away()
        job = self.submit("-N2", "-o", "prolog.out", "-e", "/dev/null", "--wrap", "srun hostname")
        self.wait_lost(f"prolog of JobId={job}")
        self.assertEqual(self.state(job), "CONFIGURING")
        self.host.give_back()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(sorted(self.file("prolog.out").split()), ["h1", "h2"])
        ran = [line for line in self.file("prolog.ran").splitlines() if line.split()[0] == str(job)]
        self.assertEqual(sorted(ran), [f"{job} h1", f"{job} h2"])
        self.assertEqual(self.registrations(), self.registered)
        self.wait_idle()

    def test_end_of_a_step(self):
        job = self.submit("-N2", "-o", "/dev/null", "--wrap", "srun -N2 sleep 9401; exec sleep 9402")
        wait_for(lambda: len(sleeping(9401)) == 2, "the step runs on both hosts")
        self.host.take_away()
        self.run_cmd("scancel", f"{job}.0")
        self.wait_lost(f"end of JobId={job} StepId={job}.0")
        wait_for(lambda: len(sleeping(9401)) == 1, "it has ended on the other host")
        self.host.give_back()
        wait_for(lambda: not sleeping(9401), "it has ended on both")
        wait_for(lambda: sleeping(9402), "the script goes on")
        self.assertEqual(self.state(job), "RUNNING")
        self.assertEqual(self.registrations(), self.registered)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_idle()

    def test_end_of_a_job(self):
        job = self.submit("-w", "h2", "-o", "/dev/null", "--wrap", "exec sleep 9403")
        wait_for(lambda: sleeping(9403), "the job runs")
        self.host.take_away()
        self.run_cmd("scancel", job)
        self.wait_lost(f"end of JobId={job}")
        self.assertEqual(len(sleeping(9403)), 1)
        self.host.give_back()
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.assertEqual(sleeping(9403), [])
        self.assertEqual(self.registrations(), self.registered)
        self.wait_idle()

    def test_reboot(self):
        self.host.take_away()
        self.run_cmd("scontrol", "reboot", "h2")
        self.wait_lost("reboot")
        self.assertEqual(self.file("rebooted"), "")
        self.host.give_back()
        wait_for(lambda: self.file("rebooted") == "h2\n", "RebootProgram has run")
        self.run_cmd("scontrol", "update", "NodeName=h2", "State=RESUME")
        self.wait_idle()

    def test_the_configuration(self):  # the last one: it has the hosts register again
        received = lambda: self.cluster.log("h2").count("the controller has another configuration")
        before = received()
        self.host.take_away()
        self.cluster.change_conf(lambda text: text + "KillWait=7\n")
        self.run_cmd("scontrol", "reconfigure")
        self.wait_lost("configuration")
        self.assertEqual(received(), before)
        self.host.give_back()
        wait_for(lambda: received() > before, "it arrives")
        wait_for(lambda: self.registrations() > self.registered, "the agent registers with it")
        self.wait_idle()


if __name__ == "__main__":
    need_namespaces()
    unittest.main(verbosity=2)
