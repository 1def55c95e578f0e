"""The two clusters of systems.py with accounting and limits: each with its daemon, an account, its users and the same limits.

Slurm's has slurmdbd with MariaDB, ours sluicedbd with SQLite, as each comes without further set-up.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/system"))
from reference import SlurmDbd  # noqa: E402
from systems import Ours, Peer  # noqa: E402

ENFORCE = "AccountingStorageEnforce=associations,limits,qos\n"
# what every job is held against; none of it holds a job of the load back
SET_UP = (("add", "account", "site", "GrpTRES=cpu=1000000", "GrpSubmitJobs=5000000"),
          ("add", "account", "bench", "parent=site", "GrpTRES=cpu=1000000,mem=1000000000", "GrpJobs=1000000"),
          ("add", "user", "root", "account=bench", "MaxJobs=900000", "MaxSubmitJobs=4000000", "MaxTRESPerJob=cpu=100000"),
          ("modify", "user", "root", "set", "DefaultAccount=bench"),
          ("modify", "qos", "normal", "set", "MaxTRESPerUser=cpu=900000", "MaxJobsPerUser=900000", "MaxSubmitJobsPerUser=4000000"))


def administer(folder_of_commands, conf, *command):
    done = subprocess.run([os.path.join(folder_of_commands, "sacctmgr"), "-i", *command], env=dict(os.environ, SLURM_CONF=conf),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: sacctmgr {' '.join(command)} exited {done.returncode}: {done.stdout}{done.stderr}")


class AccountedPeer(Peer):
    def __init__(self, folder, nodes, cpus, auth="munge"):
        super().__init__(folder, nodes, cpus, auth)
        self.daemon = SlurmDbd()

    def start(self):
        self.daemon.__enter__()
        self.extra = self.daemon.lines() + ENFORCE
        administer(self.bin, self.daemon.conf, "add", "cluster", "peer")
        for command in SET_UP:
            administer(self.bin, self.daemon.conf, *command)
        super().start()

    def stop(self):
        super().stop()
        self.daemon.__exit__()


class AccountedOurs(Ours):
    ACCOUNTING = True

    def __init__(self, folder, nodes, cpus, auth="munge"):
        super().__init__(folder, nodes, cpus, auth, ENFORCE)

    def start(self):
        super().start()
        for command in SET_UP:
            administer(self.bin, self.conf, *command)
