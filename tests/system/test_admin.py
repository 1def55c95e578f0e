"""What administrators do with nodes, steps and the controller's values: reboots, write config, update step."""
import os
import re
import signal
import unittest

from harness import ClusterCase, NodeCase, need_root, pids_with, wait_for

# Stands for the reboot of a host: ends the agent and starts it again as if the host had just come up.
REBOOT = """#!/bin/sh
echo "$SLURMD_NODENAME" >> {dir}/work/rebooted
[ -e {dir}/work/no_reboot ] && exit 0
[ -e {dir}/work/reboot.fail ] && { echo "no controller board" >&2; exit 3; }
setsid sh -c 'while [ -e {dir}/work/reboot.wait ] || [ -e {dir}/work/reboot.wait.'$SLURMD_NODENAME' ]; do sleep 0.05; done
pid=$(cat {dir}/run/'$SLURMD_NODENAME'.pid)
kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done
%s -f {dir}/slurm.conf -N '$SLURMD_NODENAME' -b' < /dev/null > /dev/null 2>&1 &
"""


class Admin(NodeCase):
    NODES, CPUS = 3, 2
    CONF = "RebootProgram={dir}/reboot\nResumeTimeout=60\nSlurmdTimeout=30\nReturnToService=1\n"

    @classmethod
    def setUpClass(cls):
        from harness import SBIN
        cls.FILES = {"reboot": REBOOT % os.path.join(SBIN, "sluicenoded")}
        super().setUpClass()

    def rebooted(self):
        return self.file("rebooted").split()

    def test_reboot(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        before = self.rebooted()
        self.run_cmd("scontrol", "reboot", "ASAP", "nextstate=DOWN", "reason=new kernel", "n1")
        self.assertEqual(self.node("n1", "%T|%E"), "draining@|new kernel")
        shown = self.shown("n1")
        self.assertIn("REBOOT_REQUESTED", shown["State"])
        self.assertEqual(shown["NextState"], "DOWN")
        self.run_cmd("scontrol", "cancel_reboot", "n1")
        self.assertEqual(self.node("n1", "%T|%E"), "mixed|none")
        self.fails(1, "slurm_update error: Invalid node state specified\n", "scontrol", "cancel_reboot", "n1")
        self.assertEqual(self.rebooted(), before)
        gate = self.flag("reboot.wait")
        self.run_cmd("scontrol", "reboot", "ASAP", "n1")
        self.run_cmd("scancel", job)
        wait_for(lambda: self.node("n1") == "boot^|Reboot ASAP : reboot issued", "the reboot is issued once the job is gone")
        self.assertIn("DOWN+DRAIN+REBOOT_ISSUED", self.shown("n1")["State"])
        os.remove(gate)
        wait_for(lambda: self.node("n1") == "idle|none", "the node is back in service")
        self.assertEqual(self.rebooted(), before + ["n1"])

    def test_reboot_program_that_fails(self):
        failed = self.flag("reboot.fail")
        self.run_cmd("scontrol", "reboot", "n1")
        wait_for(lambda: self.node("n1") == "down|RebootProgram ended with exit status 3", "which is told long before ResumeTimeout")
        self.assertIn(f"error: {self.cluster.dir}/reboot: no controller board\n", self.cluster.log("n1"))
        self.assertIn(f"error: RebootProgram {self.cluster.dir}/reboot ended with exit status 3: this node may not reboot\n",
                      self.cluster.log("n1"))
        os.remove(failed)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        wait_for(lambda: self.node("n1") == "idle|none", "n1 is idle")

    def test_reboot_by_force(self):
        """Jobs do not hold a node back: one is queued again, one may not be."""
        before = self.rebooted()
        again = self.submit("-w", "n1", "--requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        once = self.submit("-w", "n1", "--no-requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(again, "RUNNING")
        self.wait_state(once, "RUNNING")
        self.run_cmd("scontrol", "reboot", "ASAP", "FORCE", "reason=stuck", "n1")
        self.assertEqual(self.wait_ended(once), "NODE_FAIL")
        wait_for(lambda: self.rebooted() == before + ["n1"], "the node is rebooted")
        self.wait_state(again, "RUNNING")  # on the same node, which is back
        self.assertEqual(self.out("squeue", "-h", "-j", again, "-O", "restartcnt").strip(), "1")
        self.run_cmd("scancel", again)
        wait_for(lambda: self.node("n1") == "idle|none", "n1 is idle")

    def test_reboot_to_down(self):
        self.run_cmd("scontrol", "reboot", "nextstate=DOWN", "n2")
        wait_for(lambda: self.node("n2") == "down|reboot requested : reboot issued : reboot complete", "n2 is down after its reboot")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        wait_for(lambda: self.node("n2") == "idle|none", "n2 is idle")

    def test_wait_all_nodes(self):  # of sbatch and salloc
        """What a job runs begins when its first node has booted, or when all have."""
        script = "[ -e reboot.wait.n2 ] && echo early || echo late; rm -f reboot.wait.n2; srun -N2 sh -c 'echo $SLURMD_NODENAME'"
        def begins(*options, holds=False):
            gate = self.flag("reboot.wait.n2")
            if options[0] == "sbatch":
                job = self.submit("--reboot", "-N2", "-w", "n[1-2]", "-o", "begins.out", *options[1:], "--wrap", script)
            else:
                salloc = self.cluster.start("salloc", "--reboot", "-N2", "-w", "n[1-2]", *options[1:], "sh", "-c", script,
                                            stdout=-1, stderr=-1)
            if holds:
                wait_for(lambda: "REBOOT" in self.shown("n2")["State"] and "REBOOT" not in self.shown("n1")["State"], "n1 has booted")
                os.remove(gate)
            if options[0] == "sbatch":
                self.assertEqual(self.wait_ended(job), "COMPLETED")
                text = self.file("begins.out")
            else:
                text = salloc.communicate(timeout=60)[0]
            wait_for(lambda: self.out("sinfo", "-h", "-n", "n[1-2]", "-o", "%t").split() == ["idle"], "the nodes are idle")
            lines = [line for line in text.splitlines() if not line.startswith("srun:")]
            self.assertEqual(sorted(lines[1:]), ["n1", "n2"])
            return lines[0]
        for command in ("sbatch", "salloc"):
            self.assertEqual(begins(command), "early")
            self.assertEqual(begins(command, "--wait-all-nodes=1", holds=True), "late")
        waits = ",sbatch_wait_nodes,salloc_wait_nodes"
        self.cluster.change_conf(lambda conf: conf.replace("requeue_delay=1", "requeue_delay=1" + waits))
        self.addCleanup(self.cluster.change_conf, lambda conf: conf.replace(waits, ""))
        for command in ("sbatch", "salloc"):
            self.assertEqual(begins(command, holds=True), "late")
        self.assertEqual(begins("sbatch", "--wait-all-nodes=0"), "early")

    def test_reboot_errors(self):
        self.fails(1, "Missing node list. Specify ALL|<NodeList>\n", "scontrol", "reboot", "ASAP")
        self.fails(1, "Invalid state: up\nValid states: DOWN, RESUME\n", "scontrol", "reboot", "nextstate=up", "n1")
        self.fails(1, "scontrol_reboot_nodes error: Invalid node name specified\n", "scontrol", "reboot", "zz")
        done = self.run_cmd("scontrol", "reboot", "n1", user=65534, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "scontrol_reboot_nodes error: Permission denied\n"))

    def test_reboot_for_a_job(self):  # --reboot
        before = self.rebooted()
        job = self.submit("--reboot", "-w", "n3", "-o", "after", "--wrap", "echo ran")
        wait_for(lambda: self.state(job) == "COMPLETED", "the job has run after the reboot")
        self.assertEqual(self.rebooted(), before + ["n3"])
        self.assertEqual(self.file("after"), "ran\n")
        wait_for(lambda: self.node("n3") == "idle|none", "n3 is idle")
        for command in ("srun", "salloc"):
            self.assertEqual(self.out(command, "--reboot", "-w", "n3", "echo", "ran"), "ran\n")
            before.append("n3")
            wait_for(lambda: self.rebooted() == before + ["n3"], f"n3 boots for {command}")
            wait_for(lambda: self.node("n3") == "idle|none", "n3 is idle")
        before = self.rebooted()[:-1]
        self.fails(1, "sbatch: error: rebooting of nodes is only allowed for admins\n"
                      "sbatch: error: Batch job submission failed: Access/permission denied\n",
                   "sbatch", "--reboot", "-w", "n3", "-o", "/dev/null", "-D", "/tmp", "--wrap", "true", user=65534)
        self.assertEqual(self.rebooted(), before + ["n3"])

    def test_write_config(self):
        path = os.path.join(self.cluster.work, "copy")
        done = self.run_cmd("scontrol", "write", "config", path)
        name = re.fullmatch(r"Slurm config saved to (\S+)\n", done.stdout)[1]
        self.assertTrue(name.startswith(path + ".2"))
        with open(name, encoding="utf-8") as f:
            text = f.read()
        self.assertIn(f"\nRebootProgram={self.cluster.dir}/reboot\n", text)
        self.assertIn("\nNodeName=n1 ", text)
        self.assertIn("\nPartitionName=debug ", text)
        beside = self.run_cmd("scontrol", "write", "config").stdout
        self.assertTrue(beside.startswith(f"Slurm config saved to {self.cluster.conf}."))
        there = self.run_cmd("scontrol", "write", "config", env={"SLURM_CONF_OUT": path + "-there"}).stdout
        self.assertTrue(there.startswith(f"Slurm config saved to {path}-there."))
        named = self.run_cmd("scontrol", "write", "config", path, env={"SLURM_CONF_OUT": path + "-there"}).stdout
        self.assertTrue(named.startswith(f"Slurm config saved to {path}."))
        # it is a configuration that gives the same again
        again = self.out("scontrol", "show", "config", env={"SLURM_CONF": name})
        self.assertIn(f"RebootProgram           = {self.cluster.dir}/reboot", again)

    def test_update_step(self):
        job = self.submit("-w", "n2", "-t", "60", "-o", "/dev/null", "--wrap", "srun sleep 1000")
        self.wait_state(job, "RUNNING")
        step = f"{job}.0"
        wait_for(lambda: step in self.out("squeue", "-s", "-h", "-o", "%i"), "the step runs")
        self.run_cmd("scontrol", "update", f"StepId={step}", "TimeLimit=5")
        self.assertIn("TimeLimit=00:05:00", self.out("scontrol", "show", "step", step))
        self.run_cmd("scontrol", "update", f"StepId={job}", "TimeLimit=7")
        self.assertIn("TimeLimit=00:07:00", self.out("scontrol", "show", "step", step))
        self.fails(1, "scontrol: error: Invalid TimeLimit value\n", "scontrol", "update", f"StepId={step}", "TimeLimit=x")
        self.fails(1, "No changes specified\n", "scontrol", "update", f"StepId={step}")
        self.fails(1, "Update of this parameter is not supported: foo=5\nRequest aborted\n", "scontrol", "update", f"StepId={step}",
                   "foo=5")
        self.fails(1, "Invalid StepID parameter: StepId=abc\nRequest aborted\n", "scontrol", "update", "StepId=abc")
        self.fails(1, "slurm_update error: Invalid job id specified\n", "scontrol", "update", "StepId=9999.0", "TimeLimit=5")
        done = self.run_cmd("scontrol", "update", f"StepId={step}", "TimeLimit=2", user=65534, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "slurm_update error: Invalid user id\n"))
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_runtime_values(self):
        show = lambda: self.out("scontrol", "show", "config")
        self.run_cmd("scontrol", "fsdampeningfactor", "5")
        self.assertRegex(show(), r"FairShareDampeningFactor *= 5\n")
        self.run_cmd("scontrol", "reconfigure")
        self.assertRegex(show(), r"FairShareDampeningFactor *= 1\n")
        self.fails(0, "invalid dampening factor: 0\n", "scontrol", "fsdampeningfactor", "0")
        self.fails(1, "slurm_set_schedlog_level error: Requested operation is presently disabled\n", "scontrol", "schedloglevel", "1")
        self.fails(1, "invalid schedlog level: 2\n", "scontrol", "schedloglevel", "2")
        self.fails(1, "scontrol: error: there is no backup controller: slurm.conf has one SlurmctldHost\n"
                   "slurm_takeover error: Unable to contact slurm controller (connect failure)\n", "scontrol", "takeover")
        self.fails(1, "takeover: invalid backup controller index (3)\n", "scontrol", "takeover", "3")
        self.run_cmd("scontrol", "cluster")
        done = self.run_cmd("scontrol", "cluster", "nowhere", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("'nowhere' can't be reached now, or it is an invalid entry for --cluster.", done.stderr)

    def test_addresses(self):
        lines = self.out("scontrol", "getaddrs", "n[1-2]").splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["n1", "n2"])
        self.assertRegex(lines[0], r"^n1: 127\.0\.0\.1:\d+$")
        self.fails(1, "scontrol: error: Node zz not found\n", "scontrol", "getaddrs", "zz")


class RebootTimeout(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "RebootProgram=/bin/true\nResumeTimeout=1\nReturnToService=0\n"

    def test_node_that_does_not_come_back(self):
        self.run_cmd("scontrol", "reboot", "n1")
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%t|%E").strip() == "down|reboot timed out", "the node is given up")


class ScheduleLog(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "SlurmSchedLogFile={dir}/sched.log\nSlurmSchedLogLevel=1\n"

    def lines(self):
        with open(os.path.join(self.cluster.dir, "sched.log"), encoding="utf-8") as file:
            return [re.sub(r"^\[[0-9T:.-]+\] ", "", line) for line in file.read().splitlines()]

    def test_schedule_log(self):
        job = self.submit("-n2", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        waits = self.submit("-n2", "-o", "/dev/null", "--wrap", "true")
        start = f"Start JobId={job} NodeList=n1 NumCPUs=2 Partition=debug"
        wait_for(lambda: start in self.lines(), "the start is in the log")
        wait_for(lambda: any(line.startswith(f"Wait JobId={waits} Reason=Resources ") and line.endswith(" PlannedNodes=n1")
                             for line in self.lines()), "the job that waits is in the log")
        self.assertRegex(self.lines()[0], r"^Pass=\d+ Pending=1 Tried=1 Started=1 .* Microseconds=\d+$")
        # after rotation
        path = os.path.join(self.cluster.dir, "sched.log")
        os.rename(path, path + ".1")
        os.kill(pids_with(self.cluster.conf, "sluicectld")[0], signal.SIGUSR2)
        wait_for(lambda: os.path.exists(path), "a new file is there")
        # nothing at level 0, until the configuration is read again
        self.run_cmd("scontrol", "schedloglevel", "0")
        self.cancel_and_wait(waits)
        before = len(self.lines())
        self.cancel_and_wait(self.submit("-n2", "-o", "/dev/null", "--wrap", "true"))
        self.assertEqual(len(self.lines()), before)
        self.run_cmd("scontrol", "reconfigure")
        self.cancel_and_wait(job)
        last = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_ended(last)
        wait_for(lambda: any(line.startswith(f"Start JobId={last} ") for line in self.lines()), "it goes on in the new file")

    def cancel_and_wait(self, job):
        self.run_cmd("scancel", str(job))
        self.wait_ended(job)


class ShutdownOnReboot(NodeCase):
    """SlurmdParameters=shutdown_on_reboot: the agent ends by itself when it has started RebootProgram."""
    NODES, CPUS = 1, 2
    CONF = "RebootProgram=\"{dir}/reboot -r 'at once'\"\nResumeTimeout=60\nSlurmdParameters=config_overrides,shutdown_on_reboot\n"
    FILES = {"reboot": "#!/bin/sh\nprintf '<%s>' \"$@\" >> {dir}/work/asked\n"}

    def test_the_agent_ends(self):
        self.run_cmd("scontrol", "reboot", "n1")
        wait_for(lambda: self.cluster.node_pid("n1") is None, "the agent has ended")
        wait_for(lambda: self.file("asked") == "<-r><at once>", "RebootProgram runs, by a shell")
        self.cluster.start_node("n1", "-b")
        wait_for(lambda: self.node("n1") == "idle|none", "the node is back in service")
        self.assertEqual(self.file("asked"), "<-r><at once>")


class RebootFromController(NodeCase):
    """SlurmctldParameters=reboot_from_controller: RebootProgram is run there, once for all nodes that are named."""
    NODES, CPUS = 3, 2
    CONF = "RebootProgram={dir}/reboot\nResumeTimeout=60\nSlurmctldParameters=reboot_from_controller\n"
    FILES = {"reboot": "#!/bin/sh\necho \"$@${SLURMD_NODENAME+ at $SLURMD_NODENAME}\" >> {dir}/work/asked\n[ ! -e {dir}/work/fails ] || exit 4\n"}

    def test_the_program_gets_the_nodes(self):
        self.run_cmd("scontrol", "reboot", "n[1-2]")
        wait_for(lambda: self.file("asked") == "n1,n2\n", "RebootProgram runs")
        self.cluster.kill_controller()
        self.cluster.start_controller()  # which finds the nodes under way
        for node in ("n1", "n2"):
            self.cluster.kill_node(node)
            self.cluster.start_node(node, "-b")
        for node in ("n1", "n2"):
            wait_for(lambda node=node: self.node(node) == "idle|none", f"{node} is back in service")
        self.assertEqual(self.file("asked"), "n1,n2\n")

    def test_the_program_fails(self):
        self.flag("fails")
        self.run_cmd("scontrol", "reboot", "n3")
        wait_for(lambda: self.node("n3") == "boot^|RebootProgram ended with exit status 4", "the reason tells of it")
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=RESUME")
        os.remove(os.path.join(self.cluster.work, "asked"))


if __name__ == "__main__":
    need_root()
    unittest.main()
