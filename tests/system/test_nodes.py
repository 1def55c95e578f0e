"""Nodes that are not as configured, go silent, or come back; a controller that knows nothing of them."""
import os
import shutil
import signal
import unittest

from harness import Cluster, ClusterCase, jobs_of, need_root, wait_for


def memory_mib():
    with open("/proc/meminfo", encoding="utf-8") as f:
        return int(f.readline().split()[1]) // 1024


class Checked(ClusterCase):
    """Without config_overrides the agents tell what they find, and it is held against slurm.conf."""
    NODES, CPUS, MEMORY = 2, 1, 100
    CONF = "TmpFS=/proc\n"  # which has no room

    def change(self, before, after):
        text = self.cluster.change_conf(lambda text: text.replace(before, after))
        self.run_cmd("scontrol", "reconfigure")
        return text

    def node(self, name="n1"):
        words = {}
        for word in self.out("scontrol", "show", "node", name, "-o").split(" "):
            key, _, value = word.partition("=")
            words.setdefault(key, value)
        return words

    def drains(self, line, reason):
        overrides = "SlurmdParameters=config_overrides\n"
        original = self.change(overrides, "")
        try:
            self.change(*line)
            told = wait_for(lambda: "DRAIN" in self.node()["State"] and self.out("scontrol", "show", "node", "n1"), "n1 drains")
            self.assertIn(reason, told)
            self.assertRegex(told, r"Reason=[^\n]* \[root@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\]")
            self.assertIn("INVALID_REG", self.node()["State"])
            self.change("ClusterName", overrides + "ClusterName")  # now the file is believed
            wait_for(lambda: self.node()["State"] == "IDLE", "config_overrides takes the drain away")
        finally:
            self.cluster.change_conf(lambda _: original)
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: self.node()["State"] == "IDLE", "n1 is idle again")

    def test_it_is_taken_away(self):
        """The agents were believed until they or the configuration changed again."""
        have = memory_mib()
        original = self.change("RealMemory=100", f"RealMemory={have + 5000}")
        try:
            wait_for(lambda: self.node()["RealMemory"] == str(have + 5000), "the file is believed")
            self.change("SlurmdParameters=config_overrides\n", "")
            wait_for(lambda: "DRAIN" in self.node()["State"] and "INVALID_REG" in self.node()["State"], "n1 drains")
        finally:
            self.cluster.change_conf(lambda _: original)
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: self.node()["State"] == "IDLE", "n1 is idle again")

    def test_low_memory(self):
        have = memory_mib()
        self.drains(("RealMemory=100", f"RealMemory={have + 5000}"),
                    f"Low RealMemory (reported:{have} < 100.00% of configured:{have + 5000})")

    def test_low_cpus(self):
        self.drains(("CPUs=1", "CPUs=4000"), "Low CPUs")

    def test_low_tmp_disk(self):
        self.drains(("RealMemory=100", "RealMemory=100 TmpDisk=1"), "Low TmpDisk")


class Silent(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = "SlurmdTimeout=4\n"

    def setUp(self):
        self.before = None

    def tearDown(self):
        if self.before is not None:
            self.cluster.change_conf(lambda _: self.before)
            self.run_cmd("scontrol", "reconfigure")

    def return_to_service(self, value):
        self.before = self.cluster.change_conf(lambda text: text.replace("ReturnToService=2", f"ReturnToService={value}"))
        self.run_cmd("scontrol", "reconfigure")

    def node(self, field="%T"):
        return self.out("sinfo", "-h", "-n", "n2", "-o", field).strip()

    def silence(self):
        """n2's agent is stopped until the controller holds it for down."""
        pid = self.cluster.node_pid("n2")
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: self.node() == "down*", "n2 is down")
        return pid

    def test_jobs_of_a_silent_node(self):
        again = self.submit("-w", "n2", "-o", "again.out", "--open-mode=append", "--wrap", "echo ${SLURM_RESTART_COUNT:-0}; sleep 1000")
        never = self.submit("-w", "n2", "--no-requeue", "-o", "/dev/null", "--wrap", "sleep 1000")
        for job in (again, never):
            self.wait_state(job, "RUNNING")
        wait_for(lambda: self.file("again.out").split() == ["0"], "it runs")
        pid = self.silence()
        self.assertEqual(self.node("%E"), "Not responding")
        self.assertEqual(self.state(never), "NODE_FAIL")
        self.assertEqual(self.state(again), "PENDING")
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: self.node() in ("idle", "mixed"), "n2 is back without a restart")
        wait_for(lambda: self.file("again.out").split() == ["0", "1"], "the job runs once more")
        self.run_cmd("scancel", again)
        self.wait_ended(again)
        wait_for(lambda: self.node() == "idle", "n2 is clean")

    def test_return_to_service_1(self):
        self.return_to_service(1)
        os.kill(self.silence(), signal.SIGCONT)
        wait_for(lambda: self.node() == "idle", "a node that was silent comes back")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=broken")
        self.cluster.kill_node("n2")
        self.cluster.start_node("n2")
        count = self.cluster.log("n2").count("registered as n2")
        wait_for(lambda: self.cluster.log("n2").count("registered as n2") > count, "it has registered again")
        self.assertEqual((self.node(), self.node("%E")), ("down", "broken"))
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        wait_for(lambda: self.node() == "idle", "an administrator brings it back")

    def test_return_to_service_0(self):
        self.return_to_service(0)
        os.kill(self.silence(), signal.SIGCONT)
        count = self.cluster.log("n2").count("registered as n2")
        wait_for(lambda: self.cluster.log("n2").count("registered as n2") > count, "it has registered again")
        wait_for(lambda: self.node() == "down", "it answers, and stays down")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        wait_for(lambda: self.node() == "idle", "an administrator brings it back")

    def test_return_to_service_2(self):
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=broken")
        wait_for(lambda: self.node() == "idle", "it comes back from any reason")


class EmptyState(unittest.TestCase):
    def test_a_controller_that_knows_nothing_kills_nothing(self):
        cluster = Cluster(nodes=1, cpus=2)
        try:
            job = cluster.run("sbatch", "--parsable", "-o", "kept.out", "--wrap",
                              "echo up; while [ ! -e go ]; do sleep 0.05; done; echo done").stdout.strip()
            out = os.path.join(cluster.work, "kept.out")

            def read():
                if not os.path.exists(out):
                    return ""
                with open(out, encoding="utf-8") as f:
                    return f.read()
            wait_for(lambda: read() == "up\n", "the job runs")
            cluster.kill_controller()
            state, kept = os.path.join(cluster.dir, "state"), os.path.join(cluster.dir, "kept")
            os.rename(state, kept)
            os.mkdir(state)
            cluster.start_controller()
            wait_for(lambda: "belongs to cluster" in cluster.log("n1") or "belongs to cluster" in cluster.log(),
                     "the node and the new controller do not know each other")
            self.assertEqual(cluster.run("squeue", "-h").stdout, "")
            cluster.kill_controller()  # the right state again: the job has been running all the time
            shutil.rmtree(state)
            os.rename(kept, state)
            cluster.start_controller()
            wait_for(lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%T", check=False).stdout == "RUNNING\n", "the job is known")
            open(os.path.join(cluster.work, "go"), "w", encoding="utf-8").close()
            wait_for(lambda: read() == "up\ndone\n", "it ends by itself")
            wait_for(lambda: cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout == "COMPLETED\n", "and is recorded")
        finally:
            cluster.down()


class LostSpool(ClusterCase):
    """A node that has lost its spool folder does not run a script again that it has begun."""
    NODES, CPUS, CONF = 1, 2, "BatchStartTimeout=1\n"

    def test_the_job_is_missing(self):
        job = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", "echo began >> spool.ran; sleep 1000")
        wait_for(lambda: self.file("spool.ran"), "the script runs")
        wait_for(lambda: self.show(job)["RunTime"] >= "00:00:02", "BatchStartTimeout is over")
        self.cluster.kill_node("n1")
        for pid in jobs_of(self.cluster.conf):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not jobs_of(self.cluster.conf), "its processes are gone")
        spool = os.path.join(self.cluster.dir, "spool", "n1")
        shutil.rmtree(spool)
        os.mkdir(spool)
        self.cluster.start_node("n1")
        self.assertEqual(self.wait_ended(job), "NODE_FAIL")
        self.assertIn(f"Batch JobId={job} missing from batch node n1", self.cluster.log())
        self.assertEqual(self.file("spool.ran"), "began\n")


class Changed(ClusterCase):
    """scontrol update NodeName=…"""
    NODES, CPUS = 2, 2

    def features(self):
        return self.out("sinfo", "-h", "-n", "n2", "-o", "%f|%b").strip("\n")

    def update(self, *words):
        self.run_cmd("scontrol", "update", "NodeName=n2", *words)

    def test_features(self):
        self.update("AvailableFeatures=fast,big", "ActiveFeatures=fast")
        self.update("ActiveFeatures=")
        self.assertIn("AvailableFeatures=fast,big\n   ActiveFeatures=(null)\n", self.out("scontrol", "show", "node", "n2"))
        self.assertEqual(self.features(), "fast,big|(null)")
        self.update("AvailableFeatures=big,fast")
        self.assertEqual(self.features(), "big,fast|big,fast")
        self.run_cmd("scontrol", "reconfigure")  # what slurm.conf says counts again
        wait_for(lambda: self.features() == "(null)|(null)", "n2 is as configured")

    def test_words(self):
        for given, why in (("x", "not a valid number"), ("-1", "less than zero"), ("4294967281", "greater than 4294967280")):
            self.fails(1, f"scontrol: error: Weight value ({given}) is {why}\nNo changes specified\n",
                       "scontrol", "update", "NodeName=n2", f"Weight={given}")
        for word in ("Weight+=1", "Comment-=slow"):
            self.fails(1, f"Update of this parameter is not supported: {word}\nRequest aborted\n",
                       "scontrol", "update", "NodeName=n2", word)
        self.fails(1, "slurm_update error: Invalid node state specified\n", "scontrol", "update", "NodeName=n2", "State=ALLOC")
        self.fails(1, "slurm_update error: Invalid user id\n", "scontrol", "update", "NodeName=n2", "Comment=x", user=65534)
        self.update("Weight=", "CpuBind=")
        self.update("Reason=none needed")
        shown = self.out("scontrol", "show", "node", "n2")
        self.assertIn(" Weight=0 ", shown)
        self.assertNotIn("Reason=", shown)
        self.update("State=dra", "Reason=disk")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n2", "-o", "%T|%E"), "drained|disk\n")
        self.update("State=RESUME")


class KeptDown(ClusterCase):
    """DownNodes lines."""
    NODES, CPUS = 4, 2
    CONF = 'ReturnToService=1\nDownNodes=n2 State=DOWN Reason="disk broken"\nDownNodes=n[3-4] State=DRAIN Reason=fan\n'

    def states(self):
        return self.out("sinfo", "-h", "-N", "-o", "%N %T %E").splitlines()

    def test_up_says_what_it_saw(self):
        self.assertTrue(self.cluster.said.startswith("1 nodes are idle, 3 are kept down by DownNodes. To use the cluster:\n"), self.cluster.said)

    def test_down_nodes(self):
        kept = ["n2 down disk broken", "n3 drained fan", "n4 drained fan"]
        for node in ("n2", "n3"):  # registering again changes nothing
            self.cluster.kill_node(node)
            self.cluster.start_node(node)
            wait_for(lambda: self.cluster.log(node).count("registered as") == 2, f"{node} has registered")  # pylint: disable=cell-var-from-loop
        self.assertEqual(self.states(), ["n1 idle none", *kept])
        self.assertEqual(self.out("srun", "-n1", "printenv", "SLURMD_NODENAME"), "n1\n")
        wait_for(lambda: self.states()[0] == "n1 idle none", "n1 has finished with the job")
        self.fails(1, "slurm_update error: Invalid node state specified\n",  # n1 needs none; the others are resumed
                   "scontrol", "update", "NodeName=n[1-3]", "State=RESUME")
        self.assertEqual(self.states(), ["n1 idle none", "n2 idle none", "n3 idle none", "n4 drained fan"])
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")
        self.assertEqual(self.states(), ["n1 idle none", *kept])  # each start and reconfigure goes by the file


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
