"""Power saving: SuspendProgram ends the agents of nodes, ResumeProgram starts them again as if their hosts had just come up."""
import os
import re
import signal
import unittest

from harness import BIN, SBIN, NodeCase, need_root, pids_with, wait_for

# Each is told of all its nodes at once. One that is run again for a node that is up already leaves it.
SUSPEND = """#!/bin/sh
echo "$* $SLURM_CONF" >> {dir}/work/suspended
for node in $(%s show hostnames "$1"); do
  pid=$(cat {dir}/run/$node.pid)
  touch {dir}/work/going.$node
  kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done
  rmdir {dir}/work/up.$node 2> /dev/null
  rm {dir}/work/going.$node
done
""" % os.path.join(BIN, "scontrol")
RESUME = """#!/bin/sh
echo "$* $(cat $SLURM_RESUME_FILE)" >> {dir}/work/resumed
[ -e {dir}/work/resume.fails ] && exit 0
for node in $(%s show hostnames "$1"); do
  while [ -e {dir}/work/going.$node ] || [ -e {dir}/work/resume.wait ]; do sleep 0.05; done
  mkdir {dir}/work/up.$node 2> /dev/null || continue
  %s -f {dir}/slurm.conf -N $node -b < /dev/null > /dev/null 2>&1
done
""" % (os.path.join(BIN, "scontrol"), os.path.join(SBIN, "sluicenoded"))
FILES = {"suspend": SUSPEND, "resume": RESUME, "resume_fail": "#!/bin/sh\necho \"$*\" >> {dir}/work/failed\n",
         "fired": "#!/bin/sh\necho \"$*\" >> {dir}/work/fired\n"}
CONF = "SuspendProgram={dir}/suspend\nResumeProgram={dir}/resume\nResumeFailProgram={dir}/resume_fail\nSuspendTimeout=1\n"


class Case(NodeCase):
    FILES = FILES

    @classmethod
    def tearDownClass(cls):
        """A node counts as down after SuspendTimeout, whatever its program does meanwhile; nobody waits for that."""
        programs = [os.path.join(cls.cluster.dir, name) for name in ("suspend", "resume")]
        wait_for(lambda: not any(pids_with(program) for program in programs), "the site's programs have ended")
        super().tearDownClass()

    def power(self, nodes, state):
        self.run_cmd("scontrol", "update", f"NodeName={nodes}", f"State={state}")

    def wait_node(self, name, state):
        wait_for(lambda: self.node(name, "%t") == state, f"{name} is {state}")

    def put_down(self, *names):
        for name in names:
            self.power(name, "POWER_DOWN")
            self.wait_node(name, "idle~")
            self.assertIn(name, self.out("sinfo", "-h", "-N", "-t", "idle~", "-o", "%N").split())

    def wake(self, *names):
        for name in names:
            self.power(name, "POWER_UP")
            self.wait_node(name, "idle")


class Power(Case):
    NODES, CPUS = 3, 2
    CONF = CONF + "ResumeTimeout=60\n"

    def test_by_hand(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.power("n1", "POWER_DOWN")
        self.assertEqual(self.node("n1", "%t|%T"), "mix!|mixed!")
        self.power("n1", "POWER_UP")  # once it is down
        self.assertEqual(self.shown("n1")["State"], "MIXED+POWER_DOWN+POWER_UP")
        self.power("n1", "POWER_DOWN_ASAP")
        self.assertEqual(self.node("n1", "%t|%E"), "drng!|POWER_DOWN_ASAP")
        self.run_cmd("scancel", job)
        self.wait_node("n1", "idle~")
        self.assertEqual(self.file("suspended").splitlines()[-1], f"n1 {self.cluster.conf}")
        self.assertEqual(self.shown("n1")["State"], "IDLE+POWERED_DOWN")
        self.assertEqual(self.shown("n1")["LastBusyTime"], "Unknown")
        self.wake("n1")
        self.assertEqual(self.file("resumed").splitlines()[-1], 'n1 {"jobs":[],"all_nodes":"n1"}')
        self.assertEqual(self.node("n1"), "idle|none")
        self.fails(1, "slurm_update error: Invalid node state specified\n", "scontrol", "update", "NodeName=n1", "State=RESUME")

    def test_power_verb(self):
        self.run_cmd("scontrol", "power", "down", "asap", "n1", "Reason=quiet")
        self.wait_node("n1", "idle~")
        self.run_cmd("scontrol", "power", "up", "n1")
        self.wait_node("n1", "idle")
        job = self.submit("-w", "n1", "--requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.run_cmd("scontrol", "power", "down", "n1")
        self.assertEqual(self.node("n1", "%t"), "mix!")
        self.run_cmd("scancel", job)
        self.wait_node("n1", "idle~")
        self.wake("n1")
        before = len(self.file("resumed").splitlines())
        self.run_cmd("scontrol", "power", "down", "force", "n1")
        self.run_cmd("scontrol", "power", "up", "n1")  # once it is down
        self.wait_node("n1", "idle")
        self.assertEqual(len(self.file("resumed").splitlines()), before + 1)
        error = "scontrol: error: power: "
        self.fails(1, f'{error}"sideways" is neither up nor down\n', "scontrol", "power", "sideways", "n1")
        self.fails(1, f"{error}force goes with down alone\n", "scontrol", "power", "up", "force", "n1")
        self.fails(1, f"{error}Action is not known\n", "scontrol", "power", "up", "n1", "Action=x")
        self.fails(1, f"{error}n2: nodes are named already\n", "scontrol", "power", "up", "n1", "n2")
        self.fails(1, "scontrol_power_nodes error: Invalid node name specified\n", "scontrol", "power", "up", "nosuch")

    def test_by_force(self):
        job = self.submit("-w", "n2", "--requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.power("n2", "POWER_DOWN_FORCE")
        self.wait_state(job, "PENDING", "CONFIGURING")
        self.wait_state(job, "RUNNING")  # it wakes its node
        self.run_cmd("scancel", job)
        self.wait_node("n2", "idle")

    def test_job(self):
        """What is awake is used first; what is woken is waited for."""
        self.put_down("n2", "n3")
        gate = self.flag("resume.wait")
        job = self.submit("-N2", "-o", "ran.out", "--wrap", "srun -N2 sh -c 'echo $SLURMD_NODENAME'")
        self.wait_node("n2", "mix#")
        self.assertEqual(self.state(job), "CONFIGURING")
        self.assertEqual((self.node("n1", "%t"), self.node("n3", "%t")), ("mix", "idle~"))
        wait_for(lambda: self.file("resumed").endswith(f'n2 {{"jobs":[{{"job_id":{job},"nodes":"n2"}}],"all_nodes":"n2"}}\n'),
                 "ResumeProgram runs for n2")
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        wait_for(lambda: sorted(line for line in self.file("ran.out").splitlines() if line[:1] == "n") == ["n1", "n2"],
                 "both nodes have run a task")
        self.wake("n3")
        self.wait_node("n2", "idle")

    def test_cancelled_job(self):
        """It does not wait for the node that it has woken."""
        self.put_down("n2")
        gate = self.flag("resume.wait")
        job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true")
        self.wait_node("n2", "mix#")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_node("n2", "idle#")
        os.remove(gate)
        self.wait_node("n2", "idle")

    def test_restart(self):
        """A controller that is started goes on with what was under way."""
        self.put_down("n3")
        gate = self.flag("resume.wait")
        self.power("n3", "POWER_UP")
        self.wait_node("n3", "idle#")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.wait_node("n3", "idle#")
        os.remove(gate)
        self.wait_node("n3", "idle")

    def test_trigger(self):
        self.put_down("n1")
        self.run_cmd("strigger", "--set", "--resume", "--node=n1", f"--program={self.cluster.dir}/fired")
        self.wake("n1")
        wait_for(lambda: self.file("fired") == "n1\n", "the trigger has fired")


class Failure(Case):
    NODES, CPUS = 2, 2
    CONF = CONF + "ResumeTimeout=1\nReturnToService=0\n"

    def test_node_that_does_not_come_up(self):
        self.put_down("n1")
        fails = self.flag("resume.fails")
        job = self.submit("-w", "n1", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(job, "BOOT_FAIL")
        wait_for(lambda: self.node("n1") == "down~|ResumeTimeout reached", "the node is given up")
        wait_for(lambda: self.file("failed") == "n1\n", "ResumeFailProgram runs")
        self.assertEqual(self.shown("n1")["State"], "DOWN+POWERED_DOWN+NOT_RESPONDING")
        os.remove(fails)
        self.power("n1", "RESUME")
        self.assertEqual(self.node("n1"), "idle~|none")


class Patience(Case):
    NODES, CPUS = 5, 1
    CONF = CONF + "ResumeTimeout=600\n"

    def test_programs_that_take_long_keep_nobody_waiting(self):
        names = [f"n{i}" for i in range(1, 6)]
        self.put_down(*names)
        gate = self.flag("resume.wait")
        for name in names:
            self.power(name, "POWER_UP")
            self.wait_node(name, "idle#")
        wait_for(lambda: [line.split()[0] for line in self.file("resumed").splitlines()] == names, "all of them run")
        os.kill(self.cluster.controller_pid(), signal.SIGTERM)
        wait_for(lambda: not pids_with(self.cluster.conf, "sluicectld"), "the controller ends while they run")
        self.cluster.start_controller()
        os.remove(gate)
        for name in names:
            self.wait_node(name, "idle")


class Idle(Case):
    NODES, CPUS = 2, 2
    CONF = CONF + "ResumeTimeout=60\nSuspendTime=INFINITE\nSuspendExcNodes=n1\n"

    def test_nodes_go_down_by_themselves(self):
        self.cluster.change_conf(lambda conf: conf.replace("SuspendTime=INFINITE", "SuspendTime=1"))
        self.run_cmd("scontrol", "reconfigure")
        self.wait_node("n2", "idle~")
        self.assertEqual(self.out("srun", "-w", "n2", "echo", "ran"), "ran\n")
        self.wait_node("n2", "idle~")
        self.assertEqual(self.node("n1", "%t"), "idle")

class TakenOut(Case):
    """Nodes that were asleep stayed so, and nothing said why jobs did not get them."""
    NODES, CPUS = 2, 2
    CONF = CONF + "ResumeTimeout=60\n"

    def test_power_saving_is_taken_out(self):
        self.put_down("n1")
        self.cluster.change_conf(lambda conf: "".join(line for line in conf.splitlines(True)
                                                      if not line.startswith(("SuspendProgram", "ResumeProgram", "ResumeFailProgram"))))
        self.run_cmd("scontrol", "reconfigure")
        reason = "Powered down, and power saving was taken out of slurm.conf: start it by hand"
        self.wait_node("n1", "down*")
        self.assertEqual(self.node("n1", "%E"), reason)
        wait_for(lambda: re.search(f"(?m)error: node n1 state set to DOWN.* Reason={reason}$", self.cluster.log()), "the log says it")
        self.assertEqual(self.node("n2"), "idle|none")
        self.cluster.start_node("n1", "-b")
        self.wait_node("n1", "idle")
        self.assertEqual(self.node("n1"), "idle|none")
        self.assertEqual(self.out("srun", "-w", "n1", "echo", "ran"), "ran\n")


if __name__ == "__main__":
    need_root()
    unittest.main()
