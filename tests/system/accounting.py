"""A cluster with an accounting daemon, for system tests."""
import contextlib
import os
import signal
import sqlite3
import subprocess

from harness import Cluster, ClusterCase, is_over, pids_with, wait_for

CONF = "AccountingStoreFlags=job_comment,job_script,job_env,job_extra\n"


class AccountedCluster(Cluster):
    """As Cluster, with the accounting daemon of `sluice up`. `dbd`: further lines of slurmdbd.conf. `server`: of databases.py,
    for a database in place of a file of SQLite.

    When it is there the controller knows what the daemon has: jobs get root's default account.
    """

    ACCOUNTING = True

    def __init__(self, *args, conf="", dbd="", server=None, **options):
        super().__init__(*args, conf=CONF + conf, **options)
        self.dbd_conf = os.path.join(self.dir, "slurmdbd.conf")
        self.server = server
        if server:
            server.empty()
            with open(self.dbd_conf, encoding="utf-8") as f:
                lines = [line for line in f if not line.startswith("Storage")]
            with open(self.dbd_conf, "w", encoding="utf-8") as f:
                f.write("".join(lines) + server.conf())
            self.stop_dbd()
            self.start_dbd()
            self.kill_controller()  # one that starts tells what its cluster has
            self.run("sacctmgr", "-i", "add", "cluster", "trial")  # a database that lost a cluster takes no controller's records
            self.start_controller()
        if dbd:
            with open(self.dbd_conf, "a", encoding="utf-8") as f:
                f.write(dbd)
            self.stop_dbd()
            self.start_dbd()
        wait_for(lambda: "root" in self.run("scontrol", "show", "assoc_mgr", check=False).stdout, "the controller knows root's account")

    def start_dbd(self):
        subprocess.run([self.daemon("sluicedbd"), "-f", self.dbd_conf], check=True, env=self.env)

    def dbd_pid(self):
        return pids_with(self.dbd_conf, "sluicedbd")[0]

    def stop_dbd(self, how=signal.SIGTERM):
        pid = self.dbd_pid()
        os.kill(pid, how)
        wait_for(lambda: is_over(pid), "the accounting daemon is gone")

    def sacct(self, *options, check=True, **more):
        """Lines of sacct -nP, split into fields."""
        done = self.run("sacct", "-nP", *options, check=check, **more)
        return [line.split("|") for line in done.stdout.splitlines()]

    def sql(self, statement):
        """A statement on the accounting daemon's database, beside the daemon; its rows."""
        if self.server:
            return [tuple(line.split(self.server.separator)) for line in self.server.sql(statement).splitlines()]
        with contextlib.closing(sqlite3.connect(self.dir + "/state/accounting.db", timeout=30)) as database, database:
            return database.execute(statement).fetchall()

    def sql_bytes(self, value):
        return f"'\\x{value.hex()}'" if self.server and self.server.kind == "postgresql" else f"x'{value.hex()}'"


class AccountedCase(ClusterCase):
    """As ClusterCase, with such a cluster. SET_UP: what sacctmgr is told first."""
    NODES, SET_UP = 1, ()

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(cls.NODES, cls.CPUS, cls.MEMORY, conf=cls.CONF)
        cls.addClassCleanup(cls.cluster.down)
        for words in cls.SET_UP:
            cls.cluster.run("sacctmgr", "-i", *words)

    @classmethod
    def tearDownClass(cls):
        """The cleanup of the class does it, after a set-up that failed, too."""
