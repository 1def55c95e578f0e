"""The configurations of tests/data/sites start as they are: a controller runs from each and answers, an agent of one of its nodes comes.

Each is put to /etc/slurm in namespaces of its own, where the host has the controller's name and address, and what a site has beside its files
(users, folders, keys, programs) is made as docs/admin-guide.md says. Nothing of the files is replaced but paths that cannot be made there.
"""
import contextlib
import glob
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from harness import BIN, ROOT, SBIN, need_root

SITES = os.path.join(ROOT, "tests/data/sites")
USER = 65534
REPLACED = {"/gpfs/": "/srv/gpfs/"}
ENV = {"PATH": f"{BIN}:{SBIN}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"}


def ran(*words, user=None, check=True, limit_s=60):
    done = subprocess.run(words, env=ENV, cwd="/tmp", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          user=user, group=user, extra_groups=[] if user else None, timeout=limit_s, check=False)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(words)} exited {done.returncode}: {done.stdout}")
    return done.stdout


class Site:
    """A site's files in /etc/slurm, and what they say."""

    def __init__(self, name):
        shutil.copytree(os.path.join(SITES, name), "/etc/slurm")
        for path in glob.glob("/etc/slurm/*"):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for old, new in REPLACED.items():
                text = text.replace(old, new)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            if path.endswith("/slurm.conf"):
                self.text = text

    def values(self, key):
        """Of all lines, in order."""
        return re.findall(rf"^{key}=(\S+)", self.text, re.M)

    def value(self, key, usual=""):
        return (self.values(key) or [usual])[0]

    def nodes(self):
        """Host lists and addresses of the NodeName lines."""
        for line in re.findall(r"^NodeName=(?!DEFAULT).*", self.text, re.M):
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            yield words["NodeName"], words.get("NodeAddr", words["NodeName"])

    def controller(self):
        found = re.match(r"([^(]+)(?:\((.*)\))?$", self.value("SlurmctldHost"))
        return found[1], found[2] or "127.0.0.1"


def hostnames(text):
    return ran("scontrol", "show", "hostnames", text).split()


def name_hosts(site):
    host, address = site.controller()
    ran("hostname", host)
    lines = [f"127.0.0.1 localhost\n{address} {host}\n"]
    if address != "127.0.0.1":
        ran("ip", "address", "add", f"{address}/32", "dev", "lo")
    for names, addresses in site.nodes():
        for number, (name, at) in enumerate(zip(hostnames(names), hostnames(addresses))):
            if at == name:
                lines.append(f"127.{1 + number // 250}.0.{1 + number % 250} {name}\n")
            else:
                ran("ip", "address", "replace", f"{at}/32", "dev", "lo")
    for name in [name.split("(")[0] for name in site.values("SlurmctldHost")[1:]]:
        lines.append(f"127.0.0.2 {name}\n")
    with open("/etc/hosts", "w", encoding="ascii") as f:
        f.writelines(lines)


def prepare(site):
    """What an administrator does before the first start."""
    if not ran("getent", "passwd", "slurm", check=False):
        ran("useradd", "-r", "-M", "slurm")
    for folder, owner in ((site.value("StateSaveLocation"), "slurm"), ("/var/log/slurm", "slurm"), ("/run/slurm", "slurm"), ("/var/spool/slurmd", "root")):
        os.makedirs(folder, exist_ok=True)
        shutil.chown(folder, owner)
    for path in re.findall(r"jwt_key=(\S+)", site.text):
        with open(path, "wb") as f:
            f.write(os.urandom(32))
        os.chmod(path, 0o600)
        shutil.chown(path, "slurm")
    for key in ("ResumeProgram", "SuspendProgram", "ResumeFailProgram", "HealthCheckProgram"):
        for path in site.values(key):
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="ascii") as f:
                    f.write("#!/bin/sh\n")
                os.chmod(path, 0o755)
    for folder in ("/etc/munge", "/run/munge", "/var/lib/munge", "/var/log/munge"):
        os.makedirs(folder, exist_ok=True)
    with open("/etc/munge/munge.key", "wb") as f:
        f.write(os.urandom(128))
    os.chmod("/etc/munge/munge.key", 0o400)
    os.chmod("/etc/munge", 0o700)
    ran("chown", "-R", "munge:munge", "/etc/munge", "/run/munge", "/var/lib/munge", "/var/log/munge")
    ran("runuser", "-u", "munge", "--", "/usr/sbin/munged")


def log_tail():
    for path in ("/var/log/slurm/slurmctld.log", "/var/log/slurm/slurmd.log", "/var/log/slurm/slurmdbd.log"):
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                print(f"--- {path}\n{f.read()[-3000:]}")


def until(condition, what, rest=lambda: ""):
    limit = time.monotonic() + 60
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"not within a minute: {what} {rest()}")
        time.sleep(0.05)


def daemons():
    """In this namespace of processes: their command lines and what they wait for."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(f"{folder}/exe").startswith(SBIN):
                waits = pathlib.Path(folder, "wchan").read_text(encoding="ascii")
                found.append(pathlib.Path(folder, "cmdline").read_text(encoding="utf-8").replace("\0", " ") + waits)
    return found


DBD_CONF = """DbdHost={host}
SlurmUser=slurm
StorageType=accounting_storage/sqlite
StorageLoc=/var/lib/slurmdbd/accounting.db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
"""


def start_accounting(site):
    """Where the file enforces it, with an account for the user."""
    os.makedirs("/var/lib/slurmdbd", exist_ok=True)
    shutil.chown("/var/lib/slurmdbd", "slurm")
    conf = "/etc/slurm/slurmdbd.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write(DBD_CONF.format(host=site.value("AccountingStorageHost")))
    os.chmod(conf, 0o600)
    shutil.chown(conf, "slurm")
    ran("slurmdbd")
    until(lambda: "Adding" in ran("sacctmgr", "-i", "add", "cluster", site.value("ClusterName"), check=False), "the accounting daemon answers")
    ran("sacctmgr", "-i", "add", "account", "guests")
    ran("sacctmgr", "-i", "add", "user", "nobody", "account=guests")


def stop():
    """As a site does it, so that agents take their control groups away."""
    ran("scontrol", "shutdown")
    if os.path.exists("/run/slurm/slurmdbd.pid"):
        ran("pkill", "-F", "/run/slurm/slurmdbd.pid")
    until(lambda: not daemons(), "all daemons have ended", daemons)


def check_answers(site):
    case = unittest.TestCase()
    shown = ran("scontrol", "show", "config")
    case.assertIn(f"ClusterName             = {site.value('ClusterName').lower()}\n", shown)
    case.assertIn("SLURM_CONF              = /etc/slurm/slurm.conf\n", shown)
    partitions = [name for name in site.values("PartitionName") if name != "DEFAULT"]
    case.assertEqual(re.findall(r"^PartitionName=(\S+)", ran("scontrol", "show", "partition"), re.M), partitions)
    listed = re.findall(r"^NodeName=(\S+)", ran("scontrol", "show", "nodes", "-F"), re.M)
    case.assertEqual(sorted(listed), sorted(name for names, _ in site.nodes() for name in hostnames(names)))
    case.assertEqual({line.split()[0].rstrip("*") for line in ran("sinfo", "-h", "-a").splitlines()}, set(partitions))
    told = ran("sbatch", "-o", "/dev/null", "-t", "10", "--mem=100", "--wrap", "true", user=USER)
    case.assertRegex(told, r"^Submitted batch job \d+\n$")
    job = told.split()[-1]
    case.assertRegex(ran("squeue", "-h", "-j", job, "-o", "%T %u"), r"^(PENDING|CONFIGURING|RUNNING) nobody\n$")
    ran("scancel", job, user=USER)


def run_inside(name):
    spec = importlib.util.spec_from_file_location("replay", os.path.join(ROOT, "tests/golden/admin/replay.py"))
    replay = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(replay)
    replay.own_world()
    for folder in ("/opt", "/srv"):
        replay.mount("-t", "tmpfs", "tmpfs", folder)
    site = Site(name)
    name_hosts(site)
    prepare(site)
    try:
        told = ran("slurmctld", "-t")
        assert ": 0 errors, " in told, told
        enforced = site.value("AccountingStorageEnforce")
        if enforced:
            start_accounting(site)
        ran("slurmctld")
        if enforced:
            until(lambda: "nobody" in ran("scontrol", "show", "assoc_mgr", "users=nobody"), "the controller knows the user")
        check_answers(site)
        first = hostnames(next(site.nodes())[0])[0]
        ran("slurmd", "-N", first)
        until(lambda: "Version=" in ran("scontrol", "show", "node", first), f"{first} has registered")
        stop()
    except BaseException:
        log_tail()
        raise


class Sites(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        if subprocess.run(["unshare", "-mnpu", "--fork", "--mount-proc", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("needs namespaces of its own")
        if not os.path.exists("/usr/sbin/munged"):
            raise unittest.SkipTest("needs munged")

    def starts(self, name):
        done = subprocess.run(["unshare", "-mnpu", "--fork", "--mount-proc", sys.executable, __file__, "--inside", name], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_site_is_here(self):
        names = {path.name for path in pathlib.Path(SITES).iterdir() if path.is_dir()}
        self.assertEqual({name[5:] for name in dir(self) if name.startswith("test_") and name[5:] in names}, names)

    def test_cloud(self):
        self.starts("cloud")

    def test_gpu(self):
        self.starts("gpu")

    def test_limits(self):
        self.starts("limits")

    def test_preemption(self):
        self.starts("preemption")

    def test_scheduling(self):
        self.starts("scheduling")

    def test_topology(self):
        self.starts("topology")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        run_inside(sys.argv[2])
    else:
        unittest.main()
