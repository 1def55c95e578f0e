"""Several hosts on one machine: own network, mount, UTS and PID namespaces, joined by veth pairs to a bridge.

The controller and the commands run in the test's own namespaces, at the bridge's address.
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import BIN, SBIN, Cluster, need_root, wait_for

CONF = """ClusterName=hosts
{controllers}
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/slurm
AuthInfo=socket={dir}/sack.socket
StateSaveLocation={dir}/state
SlurmdSpoolDir=/run/sluice
SlurmdPort={node_port}
SlurmdPidFile=/run/sluice/agent.pid
SlurmctldLogFile={dir}/log/sluicectld.log
SlurmdLogFile={dir}/log/%n.log
SlurmdTimeout={timeout}
ReturnToService=2
TreeWidth=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
SlurmdParameters=config_overrides
SchedulerParameters=requeue_delay=1
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def sh(*command):
    subprocess.run(command, check=True)


def need_namespaces():
    need_root()
    if subprocess.run(["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "true"], check=False).returncode:
        print("skipped: no namespaces here")
        raise SystemExit(77)


class Host:
    """One host: a network namespace whose agent runs as PID 1 of a PID namespace of its own."""
    NAME, DAEMON = "h{number}", "sluicenoded"

    def __init__(self, cluster, number):
        self.cluster, self.name = cluster, self.NAME.format(number=number)
        self.address = f"{cluster.prefix}.{number}"
        self.ns = f"{cluster.tag}{number}"
        self.link = f"{cluster.tag}v{number}"
        self.agent = None
        sh("ip", "netns", "add", self.ns)
        sh("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.ns)
        sh("ip", "link", "set", self.link, "master", cluster.bridge, "up")
        sh("ip", "-n", self.ns, "address", "add", f"{self.address}/24", "dev", "eth0")
        sh("ip", "-n", self.ns, "link", "set", "eth0", "up")
        sh("ip", "-n", self.ns, "link", "set", "lo", "up")

    def start(self):
        """Boots the host: a fresh /run, its own name, the daemon in front."""
        script = (f"hostname {self.name}; mount -t tmpfs run /run; mkdir -p /run/sluice; "
                  f"exec {SBIN}/{self.DAEMON} -D -f {self.cluster.conf}")
        with open(os.path.join(self.cluster.dir, "log", self.name + ".boot"), "ab") as log:
            self.agent = subprocess.Popen(
                ["ip", "netns", "exec", self.ns, "unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc",
                 "--kill-child", "bash", "-c", script], env=self.cluster.env, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True)

    def power_off(self):
        """Everything on the host is gone at once."""
        if self.agent and self.agent.poll() is None:
            os.killpg(self.agent.pid, signal.SIGKILL)
            self.agent.wait()

    def cut(self):
        sh("ip", "link", "set", self.link, "down")

    def mend(self):
        sh("ip", "link", "set", self.link, "up")

    def take_away(self):
        """Cuts the link so that what is on its way is lost: nobody is at the host's address, which says so at once."""
        self.cut()
        sh("ip", "address", "add", f"{self.address}/32", "dev", self.cluster.bridge)

    def give_back(self):
        subprocess.run(["ip", "address", "del", f"{self.address}/32", "dev", self.cluster.bridge], check=False,
                       capture_output=True)
        self.mend()

    def remove(self):
        self.power_off()
        subprocess.run(["ip", "netns", "del", self.ns], check=False)
        subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True)


class HostCluster(Cluster):
    """Controller here, one agent on each of `count` hosts; `conf` and `files` as those of Cluster."""
    CONTROLLERS = "SlurmctldHost=ctl({prefix}.254)\nSlurmctldPidFile={dir}/sluicectld.pid"

    def __init__(self, count=4, cpus=4, timeout=8, conf="", files=None):
        number = os.getpid() % 200 + 20
        self.tag, self.prefix = f"slu{number}x", f"10.231.{number}"
        self.bridge = f"slubr{number}"
        self.dir = tempfile.mkdtemp(prefix="sluice-hosts-")
        os.chmod(self.dir, 0o755)
        for sub in ("state", "log", "work"):
            os.mkdir(os.path.join(self.dir, sub))
        self.conf, self.work = os.path.join(self.dir, "slurm.conf"), os.path.join(self.dir, "work")
        os.chmod(self.work, 0o1777)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE"))}
        self.env.update(SLURM_CONF=self.conf, PATH=BIN + ":" + os.environ["PATH"])
        sh("ip", "link", "add", self.bridge, "type", "bridge")
        sh("ip", "address", "add", f"{self.prefix}.254/24", "dev", self.bridge)
        sh("ip", "link", "set", self.bridge, "up")
        self.hosts = []
        try:
            self._write(count, cpus, timeout, conf)
            for name, text in (files or {}).items():
                with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
                    f.write(text.replace("{dir}", self.dir))
                os.chmod(f.name, 0o755)
            self.start_controller()
            self.hosts = [Host(self, i) for i in range(1, count + 1)]
            for host in self.hosts:
                host.start()
            wait_for(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).stdout.strip() == str(count),
                     "all hosts are idle")
        except BaseException:
            self.down()
            raise

    def _write(self, count, cpus, timeout, conf):
        def free():
            with socket.socket() as s:
                s.bind(("0.0.0.0", 0))
                return s.getsockname()[1]
        nodes = "\n".join(f"NodeName=h{i} NodeAddr={self.prefix}.{i} CPUs={cpus} RealMemory=1000 State=UNKNOWN"
                          for i in range(1, count + 1))
        with open(os.path.join(self.dir, "slurm.key"), "wb") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(os.urandom(64))
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(CONF.format(controllers=self.CONTROLLERS.format(prefix=self.prefix, dir=self.dir), port=free(), node_port=free(), dir=self.dir,
                                timeout=timeout, nodes=nodes) + conf.replace("{dir}", self.dir))

    def host(self, name):
        return next(h for h in self.hosts if h.name == name)

    def down(self):
        for host in self.hosts:
            host.remove()
        subprocess.run([os.path.join(BIN, "sluice"), "down", "--dir", self.dir], check=False, env=self.env,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.bridge], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)
