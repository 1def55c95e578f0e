"""What an administrator's eighth trial found: what goes wrong when a cluster's configuration, user or keys change."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from datetime import datetime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from harness import Cluster, NodeCase, add_users, need_root, pids_with, wait_for  # pylint: disable=wrong-import-position
from test_jwt import make_key  # pylint: disable=wrong-import-position

ALICE, SLURM, OTHER = 61551, 61552, 61553


class Tokens(NodeCase):
    NODES, CPUS = 1, 1
    JWT = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={dir}/jwt.key\n"

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE)
        super().setUpClass()
        make_key(cls.cluster.dir)

    def test_they_come_and_go_with_the_configuration(self):
        """Taken out by scontrol reconfigure they were taken still: a user with one of root's drained a node."""
        self.cluster.change_conf(lambda text: text + self.JWT.replace("{dir}", self.cluster.dir))
        self.run_cmd("scontrol", "reconfigure")
        text = self.out("scontrol", "token", "lifespan=300").strip()
        token = dict([text.split("=", 1)])
        drain = ("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=tried")
        self.run_cmd(*drain, env=token, user=ALICE)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.cluster.change_conf(lambda text: "".join(line for line in text.splitlines(True) if not line.startswith("AuthAlt")))
        self.run_cmd("scontrol", "reconfigure")
        refused = self.run_cmd(*drain, env=token, user=ALICE, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("AuthAltTypes has no auth/jwt here", refused.stderr)
        self.assertEqual(self.node("n1", "%t"), "idle")


def give(folder, uid):
    """What slurmctld writes and reads there becomes this user's."""
    for name in ("state", "log/sluicectld.log", "run", "slurm.key"):
        top = os.path.join(folder, name)
        for path in [top] + [os.path.join(at, one) for at, folders, files in os.walk(top) for one in folders + files]:
            os.chown(path, uid, uid)


class AnotherUser(NodeCase):
    NODES, CPUS = 2, 2

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, SLURM, OTHER)

        def prepare(folder):
            for sub in ("state", "log", "run", "spool"):
                os.mkdir(os.path.join(folder, sub))
            os.chown(os.path.join(folder, "log"), SLURM, SLURM)
            with open(os.open(os.path.join(folder, "slurm.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                f.write(os.urandom(64))
            open(os.path.join(folder, "log/sluicectld.log"), "w", encoding="utf-8").close()
            give(folder, SLURM)
        conf = f"SlurmUser=sluicetest{SLURM}\nAuthInfo=socket={{dir}}/run/sack.socket\n"
        cls.cluster = Cluster(cls.NODES, cls.CPUS, conf=conf, prepare=prepare)

    def test_agents_that_run_on(self):
        """Their refusals counted as failed launches: jobs failed or were held, and one that had run ran again."""
        gate = os.path.join(self.cluster.work, "gate")
        script = f"echo ran >> out-$SLURM_JOB_ID; while [ ! -e {gate} ]; do sleep 0.05; done"
        jobs = [self.submit("-w", "n1", "-o", "/dev/null", "--wrap", script), self.submit("-w", "n1", "--no-requeue", "-o", "/dev/null", "--wrap", script)]
        for job in jobs:
            wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, f"out-{job}")), "it runs")  # pylint: disable=cell-var-from-loop
        self.cluster.kill_controller()
        self.cluster.change_conf(lambda text: text.replace(f"SlurmUser=sluicetest{SLURM}", f"SlurmUser=sluicetest{OTHER}"))
        os.chown(os.path.join(self.cluster.dir, "log"), OTHER, OTHER)
        give(self.cluster.dir, OTHER)
        self.cluster.start_controller()
        why = f"the agent expects SlurmUser uid {SLURM} and was asked by uid {OTHER}: where SlurmUser has changed, restart slurmd there"
        wait_for(lambda: f"node n1 does not respond, it takes nothing of this controller: {why}" in self.cluster.log(), "the log names the remedy")
        waits = self.submit("-w", "n2", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
        for job in jobs:
            self.assertEqual(self.state(job), "RUNNING")
        for node in ("n1", "n2"):
            self.cluster.kill_node(node)
            self.cluster.start_node(node)
        open(gate, "w", encoding="utf-8").close()
        for job in [*jobs, waits]:
            self.assertEqual(self.wait_ended(job), "COMPLETED")
            self.assertEqual(self.show(job)["Restarts"], "0")
        for job in jobs:
            with open(os.path.join(self.cluster.work, f"out-{job}"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "ran\n")
        self.assertNotIn("was refused by", self.cluster.log())


class Warnings(NodeCase):
    NODES, CPUS = 1, 1

    def test_the_log_has_what_the_check_tells(self):
        """slurmctld -t told of it alone."""
        lines = ("Prolog=/no/such/prolog\nPriorityWeightTRES=CPU=1000,Foo=5\nTopologyPlugin=topology/tree\n"
                 "PartitionName=closed Nodes=n1 AllowGroups=no-such-group\n")
        before = self.cluster.change_conf(lambda text: text + lines)
        self.addCleanup(lambda: (self.cluster.change_conf(lambda text: before), self.run_cmd("scontrol", "reconfigure")))
        told = ["Prolog=/no/such/prolog is not there", 'PriorityWeightTRES: there is no TRES "foo"',
                "TopologyPlugin=topology/tree: topology.conf is not there, or has no switch",
                'PartitionName=closed: AllowGroups names "no-such-group", which is no group of this host']
        check = subprocess.run([self.cluster.daemon("sluicectld"), "-t", "-f", self.cluster.conf], env=self.cluster.env, capture_output=True,
                               text=True, check=False).stdout
        for text in told:
            self.assertIn(f"warning: {text}", check)
        self.run_cmd("scontrol", "reconfigure")
        for number in (1, 2):
            for text in told:
                if number == 1 and text.startswith("TopologyPlugin"):
                    continue  # it acts at the start alone
                times = 1 if text.startswith("TopologyPlugin") else number
                wait_for(lambda: self.cluster.log().count(f"warning: {text}") >= times, text)  # pylint: disable=cell-var-from-loop
            if number == 1:
                self.cluster.kill_controller()
                self.cluster.start_controller()


class LostState(NodeCase):
    NODES, CPUS = 1, 1

    def setUp(self):
        self.state = os.path.join(self.cluster.dir, "state")
        self.cluster.kill_controller()
        os.rename(self.state, self.state + ".away")
        self.addCleanup(self.put_back)
        os.mkdir(self.state, 0o700)

    def put_back(self):
        if pids_with(self.cluster.conf, "sluicectld"):
            self.cluster.kill_controller()
        shutil.rmtree(self.state)
        os.rename(self.state + ".away", self.state)
        self.cluster.start_controller()
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")

    def controller(self, *options):
        return subprocess.run([self.cluster.daemon("sluicectld"), "-f", self.cluster.conf, *options], env=self.cluster.env, capture_output=True,
                              text=True, check=False, timeout=60)

    def test_nothing_is_begun_beside_a_key(self):
        """A refused start left a journal there, with which slurmctld -t saw nothing wrong any more."""
        shutil.copy2(os.path.join(self.state + ".away", "credential.key"), self.state)
        for options in (["-t"], ["-D"], ["-t"]):
            done = self.controller(*options)
            self.assertEqual(done.returncode, 1)
            self.assertIn("its journal is empty or gone", done.stdout + done.stderr)
        self.assertEqual(os.listdir(self.state), ["credential.key"])

    def test_an_empty_folder_is_told_of(self):
        """Logs had administrators remove what was right, where a file system was not mounted."""
        check = self.controller("-t")
        self.assertEqual(check.returncode, 0, check.stdout)
        self.assertIn(f"warning: StateSaveLocation={self.state} holds no state: the first start begins a new cluster there", check.stdout)
        self.cluster.start_controller()
        wait_for(lambda: "see first that the controller's StateSaveLocation is the right folder, and mounted" in self.cluster.log("n1"), "the node says it")


class EndTimes(NodeCase):
    NODES, CPUS = 1, 1

    def test_a_controller_that_stands_still(self):
        """Jobs that ended meanwhile ended when it went on."""
        gate = os.path.join(self.cluster.work, "gate")
        job = self.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.05; done")
        self.wait_state(job, "RUNNING")
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.dir, "spool/n1/cluster_id")), "n1 is registered")
        pid = self.cluster.controller_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            ended = time.time()
            open(gate, "w", encoding="utf-8").close()
            time.sleep(8)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertLess(datetime.fromisoformat(self.show(job)["EndTime"]).timestamp() - ended, 4)


class CredentialKey(NodeCase):
    NODES, CPUS = 1, 1

    def test_an_older_backup_and_its_key(self):
        """Every node refused the controller, and --new-credential-key changed nothing where the key was there."""
        copy = os.path.join(self.cluster.work, "copy")
        key = os.path.join(self.cluster.dir, "state", "credential.key")
        wait_for(lambda: self.node("n1", "%t") == "idle", "n1 is idle")
        self.run_cmd("sluice", "backup", copy)
        self.cluster.kill_controller()
        os.unlink(key)
        self.cluster.start_controller("--new-credential-key")
        wait_for(lambda: "the cluster has another credential.key now" in self.cluster.log("n1"), "the node takes the new key over")
        self.cluster.kill_controller()
        said = self.out("sluice", "restore", copy)
        self.assertIn(f"the credential.key that was there is another one, and is {key}.replaced-1 now", said)
        self.cluster.start_controller("--new-credential-key")
        self.assertIn(f"--new-credential-key: nodes that know another key take that of {key} over", self.cluster.log())
        self.assertEqual(self.wait_ended(self.submit("-o", "/dev/null", "--wrap", "true")), "COMPLETED")


if __name__ == "__main__":
    unittest.main()
