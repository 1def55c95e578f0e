"""Features that helpers.conf manages: what nodes report of them, and jobs for which nodes get others."""
import os
import re
import unittest

from harness import SBIN, NodeCase, wait_for

# Stands for a setting of the firmware: what is asked for is active after the next boot.
NPS = """#!/bin/sh
file={dir}/work/nps.$SLURMD_NODENAME
[ $# = 0 ] && { cat $file 2> /dev/null || echo nps1; exit 0; }
echo "$SLURMD_NODENAME $1" >> {dir}/work/asked
echo $1 > $file.next
"""
# Stands for one that holds at once.
MIG = """#!/bin/sh
file={dir}/work/mig.$SLURMD_NODENAME
[ $# = 0 ] && { cat $file 2> /dev/null || echo whole; exit 0; }
while [ -e {dir}/work/mig.wait ]; do sleep 0.05; done
[ -e {dir}/work/mig.fails ] && exit 1
echo $1 > $file
"""
# Stands for the reboot of a host: ends the agent and starts it again as if the host had just come up.
REBOOT = """#!/bin/sh
echo "$SLURMD_NODENAME $*" >> {dir}/work/rebooted
setsid sh -c 'while [ -e {dir}/work/reboot.wait ]; do sleep 0.05; done
mv {dir}/work/nps.'$SLURMD_NODENAME'.next {dir}/work/nps.'$SLURMD_NODENAME'
pid=$(cat {dir}/run/'$SLURMD_NODENAME'.pid)
kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done
%s -f {dir}/slurm.conf -N '$SLURMD_NODENAME' -b' < /dev/null > /dev/null 2>&1 &
""" % os.path.join(SBIN, "sluicenoded")
HELPERS = """BootTime=60
ExecTime=30
MutuallyExclusive=nps1,nps4
Feature=nps1,nps4 Helper={dir}/nps
Feature=whole,mig Helper={dir}/mig Flags=rebootless
"""
PLUGIN = "NodeFeaturesPlugins=node_features/helpers\n"
FILES = {"nps": NPS, "mig": MIG, "reboot": REBOOT, "helpers.conf": HELPERS}


class Case(NodeCase):
    def active(self, name):
        return self.out("sinfo", "-h", "-n", name, "-o", "%b").strip()


class NodeFeatures(Case):
    NODES = 4
    CONF = "RebootProgram={dir}/reboot\nSlurmdTimeout=30\nReturnToService=1\n" + PLUGIN + "".join(
        f"NodeName=n{n} NodeAddr=127.0.0.1 Port=@{n} CPUs=2 RealMemory=4000 Feature=fast\n" for n in range(1, 5)
    ) + "PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    FILES = FILES

    def test_what_nodes_report(self):
        shown = self.shown("n3")
        self.assertEqual(shown["AvailableFeatures"], "fast,nps1,nps4,whole,mig")
        self.assertEqual(shown["ActiveFeatures"], "fast,nps1,whole")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n3", "-o", "%f %b").strip(),
                         "fast,nps1,nps4,whole,mig fast,nps1,whole")

    def test_without_reboot(self):
        gate = self.flag("mig.wait")
        job = self.submit("-w", "n1", "-C", "mig&fast", "-o", "changed", "--wrap", "cat mig.n1")
        self.wait_state(job, "CONFIGURING")
        self.assertIn("REBOOT_ISSUED", self.shown("n1")["State"])
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("changed"), "mig\n")
        wait_for(lambda: self.node("n1") == "idle|none", "n1 is idle")
        self.assertEqual(self.active("n1"), "fast,nps1,mig")
        self.assertNotIn("n1", self.file("rebooted"))
        job = self.submit("-C", "mig", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.show(job)["NodeList"], "n1", "where it is active already")

    def test_with_a_reboot(self):
        gate = self.flag("reboot.wait")
        job = self.submit("-w", "n2", "-C", "nps4", "-o", "booted", "--wrap", "cat nps.n2")
        wait_for(lambda: "n2" in self.file("rebooted"), "n2 is told to reboot")
        self.assertEqual(self.state(job), "CONFIGURING")
        other = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true")
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.wait_ended(other), "COMPLETED")
        self.assertEqual(self.file("booted"), "nps4\n")
        self.assertEqual([line for line in self.file("rebooted").splitlines() if "n2" in line], ["n2 nps4"])
        wait_for(lambda: self.node("n2") == "idle|none", "n2 is idle")
        self.assertEqual(self.active("n2"), "fast,nps4,whole")

    def test_helper_that_fails(self):
        self.flag("mig.fails")
        job = self.submit("-w", "n3", "-C", "mig", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(job, "BOOT_FAIL")
        self.assertEqual(self.node("n3"), "down|boot failed: not active: mig")
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=RESUME")
        wait_for(lambda: self.node("n3") == "idle|none", "n3 is idle")
        self.assertEqual(self.active("n3"), "fast,nps1,whole")

    def test_delay_boot(self):
        for command in (["sbatch", "-o", "/dev/null", "--wrap", "true"], ["srun", "true"], ["salloc", "srun", "true"]):  # a command of salloc begins at once, a step waits
            path = os.path.join(self.cluster.work, "mig.n4")
            if os.path.exists(path):  # as if somebody had changed it by hand
                os.remove(path)
                self.cluster.kill_node("n4")
                self.cluster.start_node("n4")
            wait_for(lambda: self.node("n4", "%t %b") == "idle fast,nps1,whole", "n4 has not the feature")
            process = self.cluster.start(command[0], "-J", "patient", "-w", "n4", "-C", "mig", "--delay-boot=60", *command[1:],
                                         stdout=-1, stderr=-1)
            with self.subTest(command[0]):
                wait_for(lambda: self.out("squeue", "-h", "-n", "patient", "-o", "%T %r").strip() == "PENDING Resources", "it waits")
                self.assertEqual(self.active("n4"), "fast,nps1,whole")
                job = self.out("squeue", "-h", "-n", "patient", "-o", "%A").strip()
                self.run_cmd("scontrol", "update", f"JobId={job}", "DelayBoot=0")
                self.assertEqual(self.wait_ended(job), "COMPLETED")
                process.communicate(timeout=60)
                self.assertEqual(self.active("n4"), "fast,nps1,mig")

    def test_wishes_that_no_node_can_have(self):
        for wish in ("nps1&nps4", "[nps4*1]"):
            self.fails(1, "sbatch: error: Batch job submission failed: Invalid feature specification\n",
                       "sbatch", "-C", wish, "--wrap", "true")


class PatientByDefault(Case):
    """SchedulerParameters=delay_boot is for jobs that do not say --delay-boot."""
    NODES = 1
    CONF = "SchedulerParameters=requeue_delay=1,delay_boot=60\n"

    def test_delay_boot(self):
        for options, shown in ((), "01:00:00"), (("--delay-boot=5",), "00:05:00"), (("--delay-boot=0",), "00:00:00"):
            job = self.submit("-H", *options, "--wrap", "true")
            self.assertEqual(self.show(job)["DelayBoot"], shown)
            self.run_cmd("scancel", job)


class BootFail(Case):
    """Nodes that do not come back."""
    NODES, CPUS = 3, 2
    CONF = "RebootProgram=/bin/true\nResumeTimeout=1\nReturnToService=0\n" + PLUGIN
    FILES = dict(FILES, **{"helpers.conf": HELPERS.replace("BootTime=60", "BootTime=1")})

    def test_jobs_of_nodes_that_do_not_come_back(self):
        once = self.submit("-w", "n1", "-C", "nps4", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
        again = self.submit("-w", "n2", "-C", "nps4", "--requeue", "-o", "/dev/null", "--wrap", "true")
        rebooted = self.submit("-w", "n3", "--reboot", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
        for job in (once, rebooted):
            self.wait_state(job, "BOOT_FAIL")
        self.assertEqual(self.out("squeue", "-h", "-t", "all", "-j", once, "-o", "%t").strip(), "BF")
        wait_for(lambda: self.show(again)["Restarts"] == "1" and self.state(again) == "PENDING", "it is queued again")
        for name in ("n1", "n2", "n3"):
            self.assertEqual(self.node(name), "down|reboot timed out")
        self.run_cmd("scancel", again)


if __name__ == "__main__":
    unittest.main()
