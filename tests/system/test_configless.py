"""Nodes and commands without a slurm.conf: they get it from the controller (SlurmctldParameters=enable_configless)."""
import os
import re
import signal
import subprocess
import unittest

from dns import Dns
from harness import ClusterCase, add_users, free_ports, wait_for
from hosts import need_namespaces

ALICE = 61551
KNOWN_HERE = any(os.path.exists(path) for path in ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"))


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


class Configless(ClusterCase):
    """n1 reads the cluster's slurm.conf; the agent of n2 knows nothing but the controller's address and the key, and has a /run of its own."""
    NODES, CPUS = 2, 4
    CONF = "SlurmctldParameters=enable_configless\nGresTypes=gpu\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()
        cls.server = "127.0.0.1:" + re.search(r"^SlurmctldPort=(\d+)", read(cls.cluster.conf), re.M)[1]
        cls.cache = os.path.join(cls.cluster.dir, "spool", "n2", "conf-cache")
        cls.boot = os.path.join(cls.cluster.dir, "log", "n2.boot")
        cls.empty = os.path.join(cls.cluster.dir, "empty")
        os.mkdir(cls.empty)
        cls.cluster.kill_node("n2")
        cls.start_agent()

    @classmethod
    def tearDownClass(cls):
        cls.stop_agent()
        super().tearDownClass()

    @classmethod
    def agent_env(cls, **more):
        env = {key: value for key, value in cls.cluster.env.items() if not key.startswith("SLURM")}
        env["SLURM_SACK_KEY"] = os.path.join(cls.cluster.dir, "slurm.key")
        return dict(env, **more)

    @classmethod
    def begin_agent(cls, prepare="true", asks=None):
        asks = f"--conf-server {cls.server}" if asks is None else asks
        script = f"mount -t tmpfs run /run && {prepare} && exec {cls.cluster.daemon('slurmd')} -D -N n2 {asks}"
        with open(cls.boot, "wb") as log:
            cls.agent = subprocess.Popen(["unshare", "--mount", "bash", "-c", script], env=cls.agent_env(), cwd=cls.empty,
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    @classmethod
    def start_agent(cls):
        cls.begin_agent()
        wait_for(lambda: "registered as n2" in read(cls.boot), "the agent of n2 is registered")

    @classmethod
    def stop_agent(cls):
        cls.agent.terminate()
        cls.agent.wait(60)

    def refused_agent(self, *options, **env):
        """What an agent says that cannot start."""
        done = subprocess.run([self.cluster.daemon("slurmd"), "-D", "-N", "n2", *options], env=self.agent_env(**env), cwd=self.empty,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def cached(self, name="slurm.conf"):
        return read(os.path.join(self.cache, name))

    def runs_on_n2(self, *options, **more):
        job = self.submit("-w", "n2", "-o", "inner.out", *options, "--wrap", "echo $SLURM_CONF; srun echo step", **more)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("inner.out"), f"{self.cache}/slurm.conf\nstep\n")
        os.remove(os.path.join(self.cluster.work, "inner.out"))
        self.wait_no_jobs()

    def test_job(self):
        self.assertEqual(self.cached(), read(self.cluster.conf))
        self.assertEqual(os.stat(os.path.join(self.cache, "slurm.conf")).st_mode & 0o777, 0o644)
        self.runs_on_n2()
        self.runs_on_n2(user=ALICE)  # who cannot read the key

    @unittest.skipIf(KNOWN_HERE, "this host has a slurm.conf")
    def test_commands_on_the_node(self):
        self.assertEqual(os.readlink(f"/proc/{self.agent.pid}/root/run/slurm/conf"), self.cache)
        env = {key: value for key, value in self.cluster.env.items() if not key.startswith("SLURM")}
        done = subprocess.run(["nsenter", "--mount", "--target", str(self.agent.pid), self.cluster.program("sinfo"), "-h", "-N", "-o", "%N"],
                              env=env, capture_output=True, text=True, check=False)
        self.assertEqual((done.stderr, sorted(done.stdout.split())), ("", ["n1", "n2"]))

    @unittest.skipIf(KNOWN_HERE, "this host has a slurm.conf")
    def test_commands(self):
        asks = {"SLURM_CONF": "", "SLURM_CONF_SERVER": self.server}
        for user in (None, ALICE):
            self.assertEqual(self.out("srun", "-N2", "-l", "echo", "here", env=asks, user=user).count("here"), 2)
        self.assertIn("NodeName=n2 ", self.out("scontrol", "show", "node", "n2", env=asks))
        self.fails(1, 'squeue: error: SLURM_CONF_SERVER=a:b: "a:b" is no HOST or HOST:PORT\n', "squeue", env=dict(asks, SLURM_CONF_SERVER="a:b"))
        done = self.run_cmd("squeue", check=False, env={"SLURM_CONF": ""})
        self.assertEqual((done.returncode, done.stderr), (1, "squeue: fatal: Could not establish a configuration source\n"))

    @unittest.skipIf(KNOWN_HERE or os.path.islink("/etc/resolv.conf"), "this host has a slurm.conf, or resolv.conf is a link")
    def test_dns(self):
        service = [(20, 0, int(self.server.split(":")[1]), "ctl.cluster.test"), (10, 0, free_ports(1), "gone.cluster.test")]
        address = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
        dns = Dns(address, {"_slurmctld._tcp.cluster.test": service}, {"ctl.cluster.test": "127.0.0.1", "gone.cluster.test": "127.0.0.1"})
        self.addCleanup(dns.close)
        conf = os.path.join(self.cluster.dir, "resolv.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(f"nameserver {address}\nsearch empty.test cluster.test\n")
        prepare = f"mount --bind {conf} /etc/resolv.conf"
        env = {key: value for key, value in self.cluster.env.items() if not key.startswith("SLURM")}
        done = subprocess.run(["unshare", "--mount", "bash", "-c", f"{prepare} && exec {self.cluster.program('sinfo')} -h -N -o %N"],
                              env=env, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.stderr, sorted(done.stdout.split())), ("", ["n1", "n2"]))
        hosts = [name for name, _ in dns.asked if name.endswith("cluster.test") and not name.startswith("_")]
        self.assertEqual(hosts[0], "gone.cluster.test", "the lowest priority is asked first")
        self.stop_agent()
        self.begin_agent(prepare, "")
        try:
            wait_for(lambda: "registered as n2" in read(self.boot), "the agent of n2 is registered")
            self.runs_on_n2()
        finally:
            self.stop_agent()
            self.start_agent()

    def test_reconfigure(self):
        gres = os.path.join(self.cluster.dir, "gres.conf")
        self.assertIsNone(self.cached("gres.conf"))
        before = self.cluster.change_conf(lambda text: re.sub(r"^(NodeName=n\[1-2\].*)$", r"\1 Gres=gpu:1", text, flags=re.M) +
                                          "PartitionName=more Nodes=n2\n")
        try:
            with open(gres, "w", encoding="utf-8") as f:
                f.write("Name=gpu File=/dev/null\n")
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: self.cached() == read(self.cluster.conf), "the node has the new slurm.conf")
            self.assertEqual(self.cached("gres.conf"), "Name=gpu File=/dev/null\n")
            wait_for(lambda: self.out("sinfo", "-h", "-p", "more", "-o", "%G %T").strip() == "gpu:1 idle", "the node has its device")
            self.runs_on_n2("-p", "more", "--gres=gpu:1")
        finally:
            if os.path.exists(gres):
                os.remove(gres)
            self.cluster.change_conf(lambda _: before)
            self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: self.cached() == before and self.cached("gres.conf") is None, "the node has the old files again")
        self.runs_on_n2()

    def test_include(self):
        part = os.path.join(self.cluster.dir, "part")
        with open(part, "w", encoding="utf-8") as f:
            f.write("PartitionName=included Nodes=n2\n")
        before = self.cluster.change_conf(lambda text: text + "Include part\n")
        try:
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: "PartitionName=included Nodes=n2\n" in self.cached(), "the node has what was included")
            self.assertNotIn("Include", self.cached())
            self.runs_on_n2("-p", "included")
        finally:
            self.cluster.change_conf(lambda _: before)
            self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: self.cached() == before, "the node has the old file again")

    def test_sighup(self):
        with open(os.path.join(self.cache, "slurm.conf"), "w", encoding="utf-8") as f:
            f.write("what somebody did to it\n")
        os.kill(self.agent.pid, signal.SIGHUP)
        wait_for(lambda: self.cached() == read(self.cluster.conf), "the file is fetched again")
        self.runs_on_n2()

    def test_controller_comes_later(self):
        job = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.stop_agent()
        self.cluster.kill_controller()
        self.begin_agent()
        wait_for(lambda: "trying again" in read(self.boot), "the agent has asked in vain")
        self.assertIn(f"slurmd: error: no configuration from {self.server}: ", read(self.boot))
        self.cluster.start_controller()
        wait_for(lambda: "registered as n2" in read(self.boot), "the agent is registered")
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_no_jobs()
        self.runs_on_n2()

    def test_refused(self):
        why = f"slurmd: fatal: no configuration from {self.server}: "
        asks = ("--conf-server", self.server)
        self.assertIn("--conf-server=ctl:x: \"ctl:x\" is no HOST or HOST:PORT", self.refused_agent("--conf-server", "ctl:x"))
        other = os.path.join(self.cluster.dir, "other.key")
        with open(os.open(other, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(64))
        said = self.refused_agent(*asks, SLURM_SACK_KEY="")
        if not os.path.exists("/etc/slurm/slurm.key"):
            self.assertEqual(said, why + "key file /etc/slurm/slurm.key: No such file or directory\n")
        self.assertIn("signature is wrong", self.refused_agent(*asks, SLURM_SACK_KEY=other))
        before = self.cluster.change_conf(lambda text: text.replace("SlurmctldParameters=enable_configless", "SlurmctldParameters=cloud_dns"))
        try:
            self.run_cmd("scontrol", "reconfigure")
            self.assertEqual(self.refused_agent(*asks), why + "the controller does not send its configuration: "
                             "SlurmctldParameters=enable_configless is not set there\n")
            self.runs_on_n2()  # it goes on with what it has
        finally:
            self.cluster.change_conf(lambda _: before)
            self.run_cmd("scontrol", "reconfigure")

    def test_words(self):
        for option in ("-C", "-V"):
            done = subprocess.run([self.cluster.daemon("slurmd"), option, "--conf-server", "nobody.invalid"], env=self.agent_env(),
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^NodeName=|^slurm 25")


if __name__ == "__main__":
    need_namespaces()
    unittest.main(verbosity=2)
