"""A cluster with an accounting daemon, for system tests."""
import os
import signal
import subprocess

from harness import Cluster, free_ports, is_over, pids_with, wait_for

CONF = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoreFlags=job_comment,job_script,job_env,job_extra
"""
DBD_CONF = """
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
AuthType={auth}
AuthInfo=socket={dir}/run/sack.socket
SlurmUser={user}
PidFile={dir}/slurmdbd.pid
LogFile={dir}/slurmdbd.log
StorageLoc={dir}/accounting.db
"""


class AccountedCluster(Cluster):
    """As Cluster; its accounting daemon is started with it, unless `daemon` is off. `dbd`: further lines of slurmdbd.conf."""

    def __init__(self, *args, conf="", dbd="", daemon=True, **options):
        self.dbd_port = free_ports(1)
        super().__init__(*args, conf=CONF.format(port=self.dbd_port) + conf, **options)
        self.dbd_conf = os.path.join(self.dir, "slurmdbd.conf")
        with open(self.conf, encoding="utf-8") as f:
            keys = dict(line.strip().split("=", 1) for line in f if "=" in line and not line.startswith("#"))
        text = DBD_CONF.format(port=self.dbd_port, dir=self.dir, auth=keys["AuthType"], user=keys["SlurmUser"]) + dbd
        with open(self.dbd_conf, "w", encoding="utf-8") as f:
            f.write(text)
        if daemon:
            self.start_dbd()

    def start_dbd(self):
        subprocess.run([self.daemon("sluicedbd"), "-f", self.dbd_conf], check=True, env=self.env)

    def dbd_pid(self):
        return pids_with(self.dbd_conf, "sluicedbd")[0]

    def stop_dbd(self, how=signal.SIGTERM):
        pid = self.dbd_pid()
        os.kill(pid, how)
        wait_for(lambda: is_over(pid), "the accounting daemon is gone")

    def down(self):
        try:
            for pid in pids_with(self.dbd_conf, "sluicedbd"):
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda pid=pid: is_over(pid), "the accounting daemon is gone")
        finally:
            super().down()

    def sacct(self, *options, check=True, **more):
        """Lines of sacct -nP, split into fields."""
        done = self.run("sacct", "-nP", *options, check=check, **more)
        return [line.split("|") for line in done.stdout.splitlines()]
