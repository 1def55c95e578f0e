"""How daemons start: what a controller keeps over a restart, and the options of both."""
import contextlib
import os
import socket
import sqlite3
import subprocess
import unittest

from harness import LIMIT_S, ClusterCase, jobs_of, wait_for


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

    def daemon(self, *words):
        """Runs a daemon of the cluster by the name that Slurm gives it; it must end by itself."""
        return subprocess.run([self.cluster.daemon(words[0]), *words[1:]], capture_output=True, text=True, env=self.cluster.env,
                              timeout=LIMIT_S, check=False)

    def test_hardware(self):  # slurmd -C
        done = self.daemon("slurmd", "-C")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"^NodeName={socket.gethostname().split('.')[0]} CPUs=\d+ .*RealMemory=\d+\nUpTime=\d+-\d\d:\d\d:\d\d\n$")
        self.assertIn(f" CPUs={os.cpu_count()} ", done.stdout)

    def test_a_bad_key_stops_the_start(self):
        """Both name the file, the line and the key, in front or not; what runs goes on."""
        with open(self.cluster.conf, encoding="utf-8") as f:
            lines = f.read().splitlines()
        path = os.path.join(self.cluster.dir, "bad.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join([*lines, "MaxJobCuont=5", ""]))
        for name in ("slurmctld", "slurmd"):
            for options in ((), ("-D",)):
                done = self.daemon(name, "-f", path, *options)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertTrue(done.stderr.startswith(f'{name}: fatal: {path}:{len(lines) + 1}: unknown key "MaxJobCuont"'), done.stderr)
        self.assertEqual(self.run_cmd("scontrol", "ping").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
