"""A real Slurm's accounting daemon with MariaDB, for scripts that record what it answers and benches that measure it.

Needs root and Debian's slurmdbd, slurm-client, slurm-wlm-mysql-plugin, munge and mariadb-server. Tests do without it.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from databases import NAME, Server, free_port

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench"))
from systems import Peer, start_munge  # noqa: E402,F401

CONF = """DbdHost=localhost
DbdPort={port}
AuthType=auth/munge
TrackWCKey=yes
SlurmUser=root
PidFile={dir}/slurmdbd.pid
LogFile={dir}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={db_port}
StorageLoc={name}
StorageUser=recorder
StoragePass=recorder
"""


class SlurmDbd:
    """`sql`: what its database has when it starts; else it makes its tables itself. Use it in a `with`."""

    def __init__(self, sql=""):
        self.dir = tempfile.mkdtemp(prefix="slurmdbd-")
        self.port, self.process = free_port(), None
        self.server = Server("mariadb", free_port())
        self.server.sql(f"CREATE USER recorder@'127.0.0.1' IDENTIFIED BY 'recorder'; GRANT ALL ON {NAME}.* TO recorder@'127.0.0.1'", "")
        self.server.sql("SET GLOBAL innodb_lock_wait_timeout=900", "")
        if sql:
            self.server.sql("SET autocommit=0;" + sql + "COMMIT;")
        with open(os.path.join(self.dir, "slurmdbd.conf"), "w", encoding="utf-8") as f:
            f.write(CONF.format(port=self.port, dir=self.dir, db_port=self.server.port, name=NAME))
        os.chmod(f.name, 0o600)
        self.conf = os.path.join(self.dir, "slurm.conf")

    def lines(self):
        """Of slurm.conf."""
        return f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\nAccountingStoragePort={self.port}\n"

    def write_conf(self, cluster):
        """Of a cluster without a controller."""
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(f"ClusterName={cluster}\nSlurmctldHost=localhost\nSlurmctldPort={free_port()}\nAuthType=auth/munge\nSlurmUser=root\n"
                    f"NodeName=n[1-10] CPUs=16\nPartitionName=debug Nodes=ALL Default=YES\n" + self.lines())

    def start(self):
        start_munge()
        env = dict(os.environ, SLURM_CONF=self.conf, TZ="UTC")
        self.process = subprocess.Popen(["/usr/sbin/slurmdbd", "-D"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if subprocess.run(["/usr/bin/sacctmgr", "-n", "show", "cluster"], env=env, capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"slurmdbd does not start: see {self.dir}/slurmdbd.log")

    def __enter__(self):
        if not os.path.exists(self.conf):
            self.write_conf("ref")
        self.start()
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def __exit__(self, *_):
        if self.process:
            self.stop()
        self.server.close()
        shutil.rmtree(self.dir, ignore_errors=True)
