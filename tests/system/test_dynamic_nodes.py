"""Nodes that slurm.conf does not name: scontrol create and delete NodeName=…, and agents that register themselves (-Z)."""
import os
import signal
import socket
import subprocess
import unittest

from harness import ClusterCase, free_ports, need_root, pids_with, wait_for

HOST = socket.gethostname().split(".")[0]


class DynamicCase(ClusterCase):
    NODES, CPUS = 1, 4
    CONF = ("MaxNodeCount=6\nNodeSet=swift Feature=swift\n"
            "PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\nPartitionName=swift Nodes=swift MaxTime=INFINITE\n")

    def create(self, name, state, *more):
        self.port = free_ports(1)
        self.run_cmd("scontrol", "create", f"NodeName={name}", "CPUs=4", "RealMemory=1000", f"State={state}", "NodeAddr=127.0.0.1",
                     f"NodeHostname={HOST}", f"Port={self.port}", *more)
        self.addCleanup(self.remove, name)

    def agent(self, name, *options):
        return subprocess.run([self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, "-N", name, *options],
                              env=self.cluster.env, capture_output=True, text=True, check=False, timeout=60)

    def start_agent(self, name, *options):
        done = self.agent(name, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def stop_agent(self, name):
        if pid := self.cluster.node_pid(name):
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda: self.cluster.node_pid(name) is None, f"{name}'s agent is gone")

    def wait_told(self, name):
        """That its agent ends, since the node was deleted."""
        wait_for(lambda: self.cluster.node_pid(name) is None, f"{name}'s agent ends by itself")
        self.assertIn("the controller orders a shutdown: the node was deleted", self.cluster.log(name))

    def remove(self, name):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()
        self.stop_agent(name)
        self.run_cmd("scontrol", "delete", f"NodeName={name}", check=False)

    def node_state(self, name):
        lines = dict(line.split() for line in self.out("sinfo", "-h", "-N", "-o", "%N %T", "-p", "debug").splitlines())
        return lines.get(name)

    def wait_idle(self, name):
        wait_for(lambda: self.node_state(name) == "idle", f"{name} is idle")

    def show_node(self, name, *options):
        text = self.out("scontrol", *options, "show", "node", name, "-o")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def show_partition(self, name):
        text = self.out("scontrol", "show", "partition", name, "-o")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def restart_controller(self):
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller answers")


class Created(DynamicCase):
    def test_life(self):
        self.create("d1", "CLOUD", "Feature=swift,new", "Weight=7")
        # a cloud's node that is powered down is not shown, and is of its partitions all the same
        self.assertIsNone(self.node_state("d1"))
        self.fails(1, "", "scontrol", "show", "node", "d1", out="Node d1 not found\n")
        self.assertEqual(self.show_partition("debug")["Nodes"], "n1,d1")
        self.assertEqual(self.show_partition("swift")["Nodes"], "d1")
        self.start_agent("d1")
        self.wait_idle("d1")
        shown = self.show_node("d1")
        self.assertEqual({k: shown[k] for k in ("State", "NodeAddr", "NodeHostName", "Port", "CPUTot", "RealMemory", "Weight",
                                                "AvailableFeatures", "Partitions")},
                         {"State": "IDLE+CLOUD+DYNAMIC_NORM", "NodeAddr": "127.0.0.1", "NodeHostName": HOST, "Port": str(self.port),
                          "CPUTot": "4", "RealMemory": "1000", "Weight": "7", "AvailableFeatures": "swift,new",
                          "Partitions": "debug,swift"})
        self.assertEqual(self.out("srun", "-p", "swift", "sh", "-c", "echo $SLURMD_NODENAME"), "d1\n")
        # agents that have never heard of each other launch together
        both = self.out("srun", "-N2", "-n2", "-l", "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual(sorted(line.split()[1] for line in both.splitlines()), ["d1", "n1"])
        self.assertRegex(self.out("scontrol", "getaddrs", "d1"), rf"d1: 127\.0\.0\.1:{self.port}\n")

        job = self.submit("-w", "d1", "-o", "/dev/null", "--wrap", "sleep 8855")
        self.wait_state(job, "RUNNING")
        wait_for(lambda: pids_with("8855", "sleep"), "its task")
        self.assertEqual(self.out("squeue", "-h", "-w", "d1", "-o", "%i").strip(), str(job))
        busy = "scontrol: error: failed to delete nodes d1\ndelete_node NodeName=d1: Requested nodes are busy\n"
        self.fails(1, busy, "scontrol", "delete", "NodeName=d1")
        self.restart_controller()
        self.run_cmd("scontrol", "reconfigure")
        self.assertEqual(self.state(job), "RUNNING")
        self.assertEqual(self.show_partition("swift")["Nodes"], "d1")
        self.fails(1, busy, "scontrol", "delete", "NodeName=d1")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_idle("d1")

        self.run_cmd("scontrol", "delete", "NodeName=d1")
        self.assertIsNone(self.node_state("d1"))
        self.wait_told("d1")
        self.assertEqual(self.show_partition("debug")["Nodes"], "n1")
        self.fails(1, "srun: error: Unable to allocate resources: Invalid node name specified\n", "srun", "-w", "d1", "true")
        self.restart_controller()
        self.assertIsNone(self.node_state("d1"))
        done = self.agent("d1")
        self.assertEqual((done.returncode, done.stderr), (1, "slurmd: fatal: node d1 is not in the configuration\n"))

    def test_a_future_node(self):
        self.create("f1", "FUTURE")
        self.assertIsNone(self.node_state("f1"))
        self.assertEqual(self.show_node("f1", "-F")["State"], "FUTURE+DYNAMIC_NORM")
        self.start_agent("f1")
        self.run_cmd("scontrol", "update", "NodeName=f1", "State=RESUME")
        self.wait_idle("f1")
        self.assertEqual(self.show_node("f1")["State"], "IDLE+DYNAMIC_NORM")
        self.assertEqual(self.out("srun", "-w", "f1", "sh", "-c", "echo $SLURMD_NODENAME"), "f1\n")
        self.wait_no_jobs()
        self.run_cmd("scontrol", "delete", "node", "f1")
        self.wait_told("f1")
        self.fails(1, "", "scontrol", "-F", "show", "node", "f1", out="Node f1 not found\n")

    def test_powered_down_nodes_on_request(self):
        self.create("c1", "CLOUD")
        before = self.cluster.change_conf(lambda text: text + "PrivateData=cloud\n")
        self.run_cmd("scontrol", "reconfigure")
        self.assertEqual(self.node_state("c1"), "idle~")
        self.assertEqual(self.show_node("c1")["State"], "IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN")
        self.cluster.change_conf(lambda text: before)
        self.run_cmd("scontrol", "reconfigure")
        self.assertIsNone(self.node_state("c1"))
        self.assertNotIn("NodeName=c1 ", self.out("scontrol", "show", "nodes"))
        self.assertIn("NodeName=c1 ", self.out("scontrol", "show", "nodes", "-F"))

    def test_an_agent_waits_for_the_controller(self):
        self.create("d2", "CLOUD")
        self.cluster.kill_controller()
        with subprocess.Popen([self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, "-N", "d2"], env=self.cluster.env) as agent:
            wait_for(lambda: self.cluster.node_pid("d2"), "it has begun")
            self.cluster.start_controller()
            self.assertEqual(agent.wait(60), 0)
        self.wait_idle("d2")

    def test_errors(self):
        def refused(what, *words, user=None):
            done = self.run_cmd("scontrol", "create", *words, check=False, user=user)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", what))
        only = ("scontrol: error: Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol\n"
                "Error creating the node(s): Invalid node state specified\n")
        refused(only, "NodeName=d9")
        refused(only, "NodeName=d9", "CPUs=4", "State=IDLE")
        refused(only, "NodeName=d9", "State=bogus")
        refused("scontrol: error: Node n1 exists already\nError creating the node(s): Invalid node name specified\n",
                "NodeName=n1", "State=CLOUD")
        refused("scontrol: error: There can be no more nodes than MaxNodeCount=6\n"
                "Error creating the node(s): Node count specification invalid\n", "NodeName=d[1-6]", "State=CLOUD")
        refused("Error creating the node(s): Invalid user id\n", "NodeName=d9", "State=CLOUD", user=65534)

        def unreadable(why, *words):
            refused(f"scontrol: error: Failed to parse nodeline '{' '.join(words)}': {why}\n"
                    "Error creating the node(s): Unspecified error\n", *words)
        unreadable('unknown key "Bogus" in a NodeName line', "NodeName=d9", "CPUs=4", "State=CLOUD", "Bogus=3")
        unreadable('CPUs="abc" is not valid; allowed: a number from 1 to 65533', "NodeName=d9", "CPUs=abc", "State=CLOUD")
        unreadable('"RealMemory" has no value', "NodeName=d9", "RealMemory", "State=CLOUD")
        unreadable("NodeName= does not come first", "node", "d9", "State=CLOUD")
        unreadable("NodeName= does not come first", "State=CLOUD", "NodeName=d9")
        unreadable('Gres="gpu:1" names "gpu", which is not in GresTypes', "NodeName=d9", "State=CLOUD", "Gres=gpu:1")
        self.fails(1, "scontrol: error: Invalid creation entity: bogus=1\n", "scontrol", "create", "bogus=1")
        self.assertEqual(self.show_partition("debug")["Nodes"], "n1")

    def test_errors_of_delete(self):
        def refused(what, *words):
            self.fails(1, what, "scontrol", "delete", *words)
        refused("scontrol: error: failed to delete nodes d9\ndelete_node NodeName=d9: Invalid node name specified\n", "NodeName=d9")
        refused("scontrol: error: failed to delete nodes d9\ndelete_node node: Invalid node name specified\n", "node", "d9")
        refused("delete_node NodeName=: Invalid node name specified\n", "NodeName=")
        refused("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'\n", "node")
        refused("Invalid deletion entity: nodes=d9\n", "nodes=d9")
        # of slurm.conf
        refused("scontrol: error: failed to delete nodes n1\ndelete_node NodeName=n1: Invalid node state specified\n", "NodeName=n1")
        # the others go
        self.create("d3", "CLOUD")
        refused("scontrol: error: failed to delete nodes d9\ndelete_node nod=d3,d9: Invalid node name specified\n", "nod=d3,d9")
        self.assertEqual(self.show_partition("debug")["Nodes"], "n1")
        self.create("d3", "CLOUD")
        done = self.run_cmd("scontrol", "delete", "NodeName=d3", check=False, user=65534)
        self.assertEqual((done.returncode, done.stderr), (1, "delete_node NodeName=d3: Invalid user id\n"))


class Registered(DynamicCase):
    def test_life(self):
        options = ["-Z", "--conf", f"Feature=swift RealMemory=500 CPUs=2 NodeAddr=127.0.0.1 Port={free_ports(1)}"]
        self.addCleanup(self.remove, "z1")
        self.start_agent("z1", *options)
        self.wait_idle("z1")
        shown = self.show_node("z1")
        self.assertEqual({k: shown[k] for k in ("State", "NodeAddr", "CPUTot", "RealMemory", "ActiveFeatures", "Partitions")},
                         {"State": "IDLE+DYNAMIC_NORM", "NodeAddr": "127.0.0.1", "CPUTot": "2", "RealMemory": "500",
                          "ActiveFeatures": "swift", "Partitions": "debug,swift"})
        self.assertEqual(self.out("srun", "-p", "swift", "sh", "-c", "echo $SLURMD_NODENAME"), "z1\n")
        # its agent and the controller start again: the node is the same
        job = self.submit("-w", "z1", "-o", "/dev/null", "--wrap", "sleep 8866")
        wait_for(lambda: pids_with("8866", "sleep"), "its task")
        self.cluster.kill_node("z1")
        self.restart_controller()
        self.start_agent("z1", *options)
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_idle("z1")
        self.run_cmd("scontrol", "delete", "NodeName=z1")
        self.assertIsNone(self.node_state("z1"))
        self.wait_told("z1")
        # started anew, it is there anew
        self.start_agent("z1", *options)
        self.wait_idle("z1")

    def test_refused(self):
        done = self.agent("n1", "-Z")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "slurmd: fatal: node n1 is in the configuration already: -Z is for others\n"))
        done = self.agent("z2", "-Z", "--conf", "NodeName=z3")
        self.assertEqual((done.returncode, done.stderr), (1, "slurmd: fatal: option 'NodeName=' not allowed in --conf\n"))
        done = self.agent("z2", "--conf", "Feature=a")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-Z", done.stderr)


class Future(DynamicCase):
    """slurmd -F: hosts that become FUTURE nodes which are as they are."""

    def start(self, *options):
        return subprocess.run([self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, *options], env=self.cluster.env,
                              capture_output=True, text=True, check=False, timeout=60)

    def agents(self):
        return [pid for pid in pids_with(self.cluster.conf, "sluicenoded") if pid != self.cluster.node_pid("n1")]

    def stop(self):
        for pid in self.agents():
            os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not self.agents(), "the agent is gone")

    def future(self, name, *shape):
        self.run_cmd("scontrol", "create", f"NodeName={name}", *shape, "RealMemory=1000", "State=FUTURE", f"Port={free_ports(1)}")
        self.addCleanup(self.run_cmd, "scontrol", "delete", f"NodeName={name}", check=False)

    def test_life(self):
        line = self.start("-C").stdout.splitlines()[0].split()
        shape = [word for word in line if word.split("=")[0] in ("CPUs", "Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")]
        self.future("f0", "CPUs=63", "SocketsPerBoard=1", "CoresPerSocket=63", "ThreadsPerCore=1")
        self.future("f1", *shape)
        self.future("f2", *shape, "Feature=spot")
        self.addCleanup(self.stop)
        done = self.start("-Fbogus")
        self.assertEqual((done.returncode, done.stderr), (1, "slurmd: fatal: no FUTURE node is as this host\n"))
        self.assertEqual(self.start("-F", "-Z").returncode, 1)
        done = self.start("-Fspot")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.wait_idle("f2")
        shown = self.show_node("f2")
        self.assertEqual((shown["State"], shown["NodeHostName"]), ("IDLE+DYNAMIC_FUTURE+DYNAMIC_NORM", HOST))
        self.assertEqual(self.out("srun", "-w", "f2", "sh", "-c", "echo $SLURMD_NODENAME"), "f2\n")
        self.wait_no_jobs()

        # it stays that node, and all know where it is
        self.stop()
        self.restart_controller()
        before = self.cluster.log("f2").count("registered as f2")
        self.assertEqual(self.start("-F").returncode, 0)
        wait_for(lambda: self.cluster.log("f2").count("registered as f2") > before, "the agent is known again")
        self.wait_idle("f2")
        self.assertIsNone(self.node_state("f1"))
        self.assertEqual(self.out("srun", "-w", "f2", "sh", "-c", "echo $SLURMD_NODENAME"), "f2\n")
        self.wait_no_jobs()

        # until the node is given back
        self.stop()
        self.run_cmd("scontrol", "update", "NodeName=f2", "State=FUTURE")
        self.assertIsNone(self.node_state("f2"))
        self.assertEqual(self.show_node("f2", "-F")["State"], "FUTURE+DYNAMIC_NORM")
        self.assertEqual(self.start("-F").returncode, 0)
        self.wait_idle("f1")
        self.assertIsNone(self.node_state("f2"))


if __name__ == "__main__":
    need_root()
    unittest.main()
