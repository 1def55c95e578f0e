"""sluice backup and sluice restore: an old state that is put back gives no job number again and ends nothing that it knows."""
import os
import pty
import shutil
import subprocess
import threading
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for


class Backup(ClusterCase):
    NODES, CPUS, CONF = 2, 8, "MinJobAge=2\n"

    def folder(self, name):
        path = os.path.join(self.cluster.dir, name)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def answers(self):
        wait_for(lambda: self.run_cmd("sinfo", check=False).returncode == 0, "the controller answers")

    def gated(self, gate):
        job = self.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.05; done")
        self.wait_state(job, "RUNNING")
        return job

    def test_an_old_backup_under_load(self):
        gate = os.path.join(self.cluster.work, "gate")
        runs = self.gated(gate)
        state, copy = os.path.join(self.cluster.dir, "state"), self.folder("copy")
        over, numbers = threading.Event(), []

        def load():
            while not over.is_set():
                done = self.run_cmd("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true", check=False)
                if done.returncode == 0:
                    numbers.append(int(done.stdout))
        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: len(numbers) > 10, "there is some load")
            said = self.out("sluice", "backup", copy)
            self.assertRegex(said, rf"^{copy}: cluster [0-9a-f-]{{36}}, \d+ jobs, next job id \d+\n$")
            at_backup = len(numbers)
            wait_for(lambda: len(numbers) > at_backup + 20, "the load goes on")
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(os.listdir(copy)), ["credential.key", "journal"])
        self.assertEqual(os.listdir(os.path.join(copy, "journal")), ["journal.db"])
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o700)
        again = self.run_cmd("sluice", "backup", copy, check=False)
        self.assertIn("a backup goes into a new or empty folder", again.stderr)
        busy = self.run_cmd("sluice", "restore", copy, check=False)
        self.assertRegex(busy.stderr, r"^sluice restore: error: the journal in .* is in use by process \d+")

        # all jobs of the load are over and forgotten, on the nodes, too
        wait_for(lambda: self.out("squeue", "-h", "-t", "all", "-o", "%i").split() == [str(runs)], "the load is over")
        last = max(numbers)
        self.cluster.kill_controller()
        for node in ("n1", "n2"):  # and of them not what they remember, but what they keep
            self.cluster.kill_node(node)
            self.cluster.start_node(node)
        shutil.rmtree(state)  # so that only the nodes know
        said = self.out("sluice", "restore", copy)
        self.assertRegex(said, rf"^{state}: cluster ")
        self.cluster.start_controller()
        job = self.submit("-o", "fresh.out", "--wrap", "echo fresh")
        self.assertEqual(job, last + 1)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn(f"ids go on with {last + 1}", self.cluster.log())
        self.assertEqual(self.state(runs), "RUNNING")
        open(gate, "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(runs), "COMPLETED")

    def test_numbers_of_the_replaced_journal(self):
        copy = self.folder("copy2")
        self.run_cmd("sluice", "backup", copy)
        held = self.submit("-H", "--wrap", "true")  # no node ever hears of it
        self.cluster.kill_controller()
        said = self.out("sluice", "restore", copy)
        self.assertRegex(said, rf", next job id {held + 1}\nthe journal that was there is .*/journal.db.replaced-\d+ now\n$")
        self.cluster.start_controller()
        self.assertEqual(self.submit("-H", "--wrap", "true"), held + 1)
        self.run_cmd("scancel", held + 1)
        self.run_cmd("sinfo")

    def test_jobs_that_ended_after_the_backup(self):
        """One that the backup had as running or waiting began again."""
        self.wait_no_jobs()
        gate, copy = os.path.join(self.cluster.work, "gate4"), self.folder("copy4")
        script = f"echo run >> runs4; while [ ! -e {gate} ]; do sleep 0.05; done"
        jobs = [self.submit("-n8", "-w", "n1", "-o", "/dev/null", "--wrap", script) for _ in range(2)]
        wait_for(lambda: self.file("runs4") == "run\n", "the first one runs")
        self.run_cmd("sluice", "backup", copy)
        open(gate, "w", encoding="utf-8").close()
        wait_for(lambda: not self.out("squeue", "-h", "-j", ",".join(map(str, jobs)), check=False), "both are over")
        held = self.submit("-H", "--wrap", "true")
        self.cluster.kill_controller()
        self.assertIn("2 jobs of the backup have ended since, and do not run again\n", self.out("sluice", "restore", copy))
        self.cluster.start_controller()
        job = self.submit("-n8", "-w", "n1", "-o", "/dev/null", "--wrap", "echo after >> runs4")
        self.assertEqual(job, held + 1)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("runs4").split(), ["run", "run", "after"])

    def test_jobs_that_will_end_are_told_before(self):
        """They ended without a word."""
        self.wait_no_jobs()
        gate, copy = os.path.join(self.cluster.work, "gate5"), self.folder("copy5")
        known = self.gated(gate)
        self.run_cmd("sluice", "backup", copy)
        unknown = self.gated(gate)
        self.cluster.kill_controller()
        told = f"jobs that run and that the backup does not have as running, which end: {unknown}\n"
        for answer in (b"n", b"y"):
            ours, its = pty.openpty()
            os.write(ours, answer + b"\n")
            done = subprocess.run([self.cluster.program("sluice"), "restore", copy], stdin=its, capture_output=True, text=True,
                                  env=self.cluster.env, timeout=60, check=False)
            os.close(ours)
            os.close(its)
            self.assertTrue(done.stdout.startswith(told + "Put the backup back all the same? (y/N): "), done)
            self.assertEqual((done.returncode, done.stderr),
                             (0, "") if answer == b"y" else (1, "sluice restore: error: nothing was changed\n"))
        self.cluster.start_controller()
        wait_for(lambda: not self.run_cmd("squeue", "-h", "-j", unknown, check=False).stdout, "the later job is not known")
        self.assertEqual(self.state(known), "RUNNING")
        open(gate, "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(known), "COMPLETED")

    def test_after_a_start_without_a_journal(self):
        """A start that was refused left an empty journal, and the backup was refused as another cluster's."""
        copy = self.folder("copy3")
        held = self.submit("-H", "--wrap", "true")
        self.run_cmd("sluice", "backup", copy)
        self.cluster.kill_controller()
        state = os.path.join(self.cluster.dir, "state")
        shutil.rmtree(os.path.join(state, "journal"))
        with self.assertRaises(Exception):
            self.cluster.start_controller()
        self.assertIn("put a backup back", self.cluster.log())
        self.assertFalse(os.path.exists(os.path.join(state, "journal", "journal.db")), "nothing was made")
        self.assertIn(f"next job id {held + 1}", self.out("sluice", "restore", copy))
        self.cluster.start_controller()
        self.assertEqual(self.state(held), "PENDING")
        self.run_cmd("scancel", held)

    def test_first_job_id(self):
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        wait_for(lambda: self.run_cmd("sinfo", check=False).returncode, "the controller has ended")
        log_before = len(self.cluster.log())
        with self.assertRaises(Exception):
            self.cluster.start_controller("--first-job-id", "1")
        self.assertIn("were given already", self.cluster.log()[log_before:])
        self.cluster.start_controller("--first-job-id", "70000")
        job = self.submit("--wrap", "true", "-o", "/dev/null")
        self.assertEqual(job, 70000)
        self.wait_ended(job)


class Key(ClusterCase):
    """A credential.key that is lost or another one was taken without a word, and what ran ended."""
    NODES, CPUS = 1, 2

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8") as f:
            return f.read()

    def test_a_lost_key(self):
        gate = os.path.join(self.cluster.work, "gate")
        job = self.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.05; done")
        self.wait_state(job, "RUNNING")
        key = os.path.join(self.cluster.dir, "state/credential.key")
        known = os.path.join(self.cluster.dir, "spool/n1/credential_key")
        wait_for(lambda: os.path.exists(known), "the node knows the key")
        self.cluster.kill_controller()
        os.rename(key, key + ".lost")
        refused = lambda *options: self.assertRaises(Exception, self.cluster.start_controller, *options)
        refused()
        self.assertIn("credential.key is missing, with which this cluster's launches were signed until now", self.cluster.log())
        self.assertFalse(os.path.exists(key), "no other one is made")
        with open(key, "wb") as f:
            f.write(os.urandom(32))
        os.chmod(key, 0o600)
        refused()
        self.assertIn("credential.key is not the one", self.cluster.log())
        os.remove(key)
        before = self.text(known)
        self.cluster.start_controller("--new-credential-key")
        wait_for(lambda: self.text(known) != before, "the node has taken the new key over")
        self.assertEqual(self.state(job), "RUNNING")
        open(gate, "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.wait_ended(self.submit("-o", "/dev/null", "--wrap", "true")), "COMPLETED")


class BackupBesideAccounting(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 1, 1000)

    def test_ids_go_on_behind_what_accounting_knows(self):
        """Jobs that never ran are known to no node."""
        cluster = self.cluster
        copy = os.path.join(cluster.dir, "copy")
        cluster.run("sbatch", "-H", "--wrap", "true")
        cluster.run("sluice", "backup", copy)
        held = [int(cluster.run("sbatch", "--parsable", "-H", "--wrap", "true").stdout) for _ in range(3)]
        wait_for(lambda: cluster.sql(f"SELECT id FROM job WHERE job_id = {held[-1]}"), "accounting knows the last one")
        cluster.kill_controller()
        shutil.rmtree(os.path.join(cluster.dir, "state", "journal"))  # the database is beside it
        cluster.run("sluice", "restore", "-i", copy)
        cluster.start_controller()
        wait_for(lambda: cluster.run("sinfo", check=False).returncode == 0, "the controller answers")
        self.assertEqual(int(cluster.run("sbatch", "--parsable", "-H", "--wrap", "true").stdout), held[-1] + 1)
        self.assertIn(f"the accounting daemon knows job ids up to {held[-1]}", cluster.log())


if __name__ == "__main__":
    unittest.main()
