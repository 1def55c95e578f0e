"""Debian's Slurm and Sluice as clusters on loopback, for the benches that compare them."""
import os
import shutil
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PEER_CONF = """ClusterName=peer
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
MaxJobCount=600000
MaxArraySize=100001
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[26900-{last_port}] CPUs={cpus} RealMemory=1000000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
{extra}"""


def peer_version():
    return subprocess.run(["/usr/sbin/slurmctld", "-V"], capture_output=True, text=True, check=False).stdout.strip()


def start_munge():
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode:
        os.makedirs("/run/munge", exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        subprocess.run(["su", "munge", "-s", "/bin/sh", "-c", "munged"], check=True)


class Peer:
    """Debian's Slurm on loopback."""
    bin = "/usr/bin"
    SCHEDULERS = ("bckfl", "sched")  # threads that plan, by their names

    def __init__(self, folder, nodes, cpus, auth="munge", extra=""):
        del auth  # it has no other
        self.dir, self.nodes, self.cpus = folder, nodes, cpus
        self.extra = extra if "AccountingStorageType=" in extra else extra + "AccountingStorageType=accounting_storage/none\n"
        self.conf = os.path.join(folder, "slurm.conf")

    def start(self):
        start_munge()
        os.makedirs(os.path.join(self.dir, "state"))
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(PEER_CONF.format(host=socket.gethostname().split(".")[0], dir=self.dir, nodes=self.nodes,
                                     cpus=self.cpus, last_port=26899 + self.nodes, extra=self.extra))
        env = dict(os.environ, SLURM_CONF=self.conf)
        subprocess.run(["/usr/sbin/slurmctld", "-i"], env=env, check=True)
        for i in range(1, self.nodes + 1):
            os.makedirs(os.path.join(self.dir, f"spool-n{i}"))
            subprocess.run(["/usr/sbin/slurmd", "-N", f"n{i}"], env=env, check=True)
        for _ in range(300):
            idle = subprocess.run(["/usr/bin/sinfo", "-h", "-t", "idle", "-o", "%D"], env=env,
                                  capture_output=True, text=True, check=False).stdout.strip()
            if idle == str(self.nodes):
                return
            time.sleep(0.1)
        sys.exit("bench: the peer's nodes did not become idle")

    def stop(self):
        for name in os.listdir(self.dir):
            if name.endswith(".pid"):
                with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                    subprocess.run(["kill", f.read().strip()], check=False)


class Ours:
    """Sluice as `sluice up` starts it."""
    ACCOUNTING = False
    build = os.path.join(ROOT, "build/release")
    SCHEDULERS = ("sched", "sched_whole")

    def __init__(self, folder, nodes, cpus, auth="munge", extra=""):
        self.dir, self.nodes, self.cpus, self.auth, self.extra = folder, nodes, cpus, auth, extra
        self.bin = os.path.join(self.build, "bin")
        self.conf = os.path.join(folder, "slurm.conf")

    def start(self):
        extra = os.path.join(self.dir, "extra.conf")
        with open(extra, "w", encoding="utf-8") as f:
            f.write(self.extra)
            if self.auth == "munge":
                start_munge()
                f.write("AuthType=auth/munge\nAuthInfo=socket=/run/munge/munge.socket.2\n")
        up = [f"{self.bin}/sluice", "up"]
        options = subprocess.run([*up, "--help"], check=True, capture_output=True, text=True).stdout
        without = [] if self.ACCOUNTING or "--no-accounting" not in options else ["--no-accounting"]  # builds before November 2026 have none
        subprocess.run([*up, "--nodes", str(self.nodes), "--cpus", str(self.cpus), "--memory", "1000000", *without,
                        "--dir", self.dir, "--conf", extra], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        subprocess.run([f"{self.bin}/sluice", "down", "--dir", self.dir], check=True, stdout=subprocess.DEVNULL)
