"""Records are not lost where the database cannot take them: a full disk, a lock, a lost file."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest

from harness import need_root, wait_for
from test_accounting import AccountedCase


class NotStored(AccountedCase):
    """While the daemon cannot store records sacct says that the newest ones wait, and none is lost."""

    def database(self):
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            return next(line.split("=", 1)[1].strip() for line in f if line.startswith("StorageLoc="))

    def jobs(self):
        """Three jobs that are over."""
        jobs = [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(3)]
        for job in jobs:
            self.wait_ended(job)
        return jobs

    def waiting(self):
        """What sacct says on the standard error, with its exit status."""
        done = self.run_cmd("sacct", "-nXP", "-o", "jobid", check=False)
        return done.returncode, done.stderr

    def wait_told(self, wanted, status=0):
        def told():
            found = self.waiting()
            return found if re.search(wanted, found[1]) else None
        self.assertEqual(wait_for(told, f"sacct says {wanted}")[0], status)

    def wait_stored(self, jobs):
        for job in jobs:
            self.wait_line(job, "COMPLETED")
        wait_for(lambda: self.waiting() == (0, ""), "nothing waits any more")
        rows = collections.Counter(row[0] for row in self.sacct("-D", "-X", "-S", "now-1day", "-o", "jobid"))
        self.assertEqual({job: rows[str(job)] for job in jobs}, {job: 1 for job in jobs})

    def test_a_full_disk(self):
        need_root()
        disk = os.path.join(self.cluster.dir, "disk")
        os.makedirs(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", disk], check=False).returncode:
            self.skipTest("needs mount")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        self.cluster.stop_dbd()
        before = self.database()
        shutil.copy2(before, disk + "/accounting.db")

        def move(path):
            with open(self.cluster.dbd_conf, encoding="utf-8") as f:
                text = f.read().replace(f"StorageLoc={self.database()}", f"StorageLoc={path}")
            with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
                f.write(text)
        move(disk + "/accounting.db")
        self.cluster.start_dbd()
        self.assertEqual(self.waiting(), (0, ""))
        with contextlib.suppress(OSError), open(disk + "/filler", "wb", buffering=0) as f:
            while True:
                f.write(bytes(4096))
        jobs = self.jobs()
        self.wait_told(r"^sacct: warning: \d+ record\(s\) of cluster trial wait in its controller since \S+: No space left on device\n$")
        queue = int(self.out("sdiag").split("DBD Agent queue size:")[1].split()[0])
        self.assertGreater(queue, 3)
        document = json.loads(self.out("sacct", "--json"))
        self.assertTrue(any("wait in its controller" in str(one) for one in document["warnings"]), document["warnings"])
        os.remove(disk + "/filler")
        self.wait_stored(jobs)
        self.cluster.stop_dbd()
        shutil.copy2(disk + "/accounting.db", before)
        move(before)
        self.cluster.start_dbd()
        self.wait_stored(jobs)

    def test_a_database_that_others_lock(self):
        with contextlib.closing(sqlite3.connect(self.database(), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            jobs = self.jobs()
            self.wait_told(r"warning: \d+ record\(s\) of cluster trial wait in its controller since \S+: Resource temporarily unavailable")
            other.execute("ROLLBACK")
        self.wait_stored(jobs)

    def test_a_lost_database(self):
        path = self.database()
        parts = [path + end for end in ("", "-wal", "-shm") if os.path.exists(path + end)]
        for part in parts:
            os.rename(part, part + ".away")
        jobs = self.jobs()
        self.wait_told(r"removed or replaced while slurmdbd runs(.|\n)*warning: \d+ record\(s\) of cluster trial wait in its controller since \S+: Stored data is damaged\n", status=1)
        self.cluster.stop_dbd(signal.SIGKILL)
        for part in parts:
            os.rename(part + ".away", part)
        self.cluster.start_dbd()
        self.wait_stored(jobs)


if __name__ == "__main__":
    need_root()
    unittest.main()
