"""A cluster with an accounting daemon, for system tests."""
import os
import signal
import subprocess

from harness import Cluster, is_over, pids_with, wait_for

CONF = "AccountingStoreFlags=job_comment,job_script,job_env,job_extra\n"


class AccountedCluster(Cluster):
    """As Cluster, with the accounting daemon of `sluice up`. `dbd`: further lines of slurmdbd.conf.

    When it is there the controller knows what the daemon has: jobs get root's default account.
    """

    ACCOUNTING = True

    def __init__(self, *args, conf="", dbd="", **options):
        super().__init__(*args, conf=CONF + conf, **options)
        self.dbd_conf = os.path.join(self.dir, "slurmdbd.conf")
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
