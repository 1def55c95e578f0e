"""What a controller keeps over a restart: slurmctld, slurmctld -R, slurmctld -c."""
import contextlib
import os
import sqlite3
import subprocess
import unittest

from harness import ClusterCase, jobs_of, wait_for


class StartOptions(ClusterCase):
    NODES, CPUS = 2, 2

    def restart(self, *options):
        self.cluster.kill_controller()
        self.cluster.start_controller(*options)

    def node_state(self, node):
        return self.out("sinfo", "-h", "-p", "debug", "-n", node, "-o", "%T|%E").strip()

    def wait_idle(self):
        wait_for(lambda: all(self.node_state(node).startswith("idle|") for node in ("n1", "n2")), "both nodes are idle")

    def running_job(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        return job

    def test_clean(self):
        running, waiting = self.running_job(), self.submit("-H", "--wrap", "true")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=disk")
        self.restart("-c")
        self.assertEqual(self.out("squeue", "-h", "-t", "all"), "")
        self.wait_idle()
        wait_for(lambda: not jobs_of(self.cluster.conf), f"job {running} is taken down")
        after = self.submit("-N2", "-o", "/dev/null", "--wrap", "srun true")
        self.assertEqual(after, waiting + 1, "an id is given once")
        self.assertEqual(self.wait_ended(after), "COMPLETED")

    def test_clean_with_a_damaged_journal(self):
        running, waiting = self.running_job(), self.submit("-H", "--wrap", "true")
        self.cluster.kill_controller()
        journal = os.path.join(self.cluster.dir, "state", "journal", "journal.db")
        with contextlib.closing(sqlite3.connect(journal)) as database:
            changed = database.execute("UPDATE frame SET bytes = x'00' WHERE sequence = (SELECT max(sequence) FROM frame)")
            self.assertEqual(changed.rowcount, 1)
            database.commit()
        with self.assertRaises(subprocess.CalledProcessError):
            self.cluster.start_controller()
        self.cluster.start_controller("-c")
        self.assertIn(f"It is {journal}.damaged-1 now, and a new journal is begun for the same cluster", self.cluster.log())
        self.assertTrue(os.path.exists(journal + ".damaged-1"))
        self.assertEqual(self.out("squeue", "-h", "-t", "all"), "")
        self.wait_idle()
        wait_for(lambda: not jobs_of(self.cluster.conf), f"job {running} is taken down")
        after = self.submit("-N2", "-o", "/dev/null", "--wrap", "srun true")
        self.assertGreater(after, waiting, "an id is given once, also one that cannot be read any more")
        self.assertEqual(self.wait_ended(after), "COMPLETED")

    def test_what_scontrol_changed(self):
        running = self.running_job()
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=disk")
        self.run_cmd("scontrol", "create", "PartitionName=extra", "Nodes=n2")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "MaxTime=7")
        partitions = lambda: self.out("sinfo", "-h", "-o", "%P %l").split("\n")[:-1]
        both = ["debug* 7:00", "extra infinite"]
        self.assertEqual(sorted(set(partitions())), both)
        self.restart("-R")
        self.assertEqual(sorted(set(partitions())), both)
        self.restart()
        self.assertEqual(set(partitions()), {"debug* infinite"})
        self.assertEqual(self.node_state("n2"), "drained|disk")
        self.assertEqual(self.state(running), "RUNNING")
        self.run_cmd("scancel", running)
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.wait_no_jobs()
        self.wait_idle()


if __name__ == "__main__":
    unittest.main(verbosity=2)
