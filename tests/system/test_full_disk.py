"""A full disk under the journal: new work is refused, what runs goes on, and nothing is lost."""
import os
import signal
import subprocess
import tempfile
import unittest

from harness import Cluster, ClusterCase, need_root, wait_for

SIZE = "48m"  # the ballast takes 16 MiB of it


class FullDisk(ClusterCase):
    NODES, CPUS = 2, 8

    @classmethod
    def setUpClass(cls):
        cls.disk = tempfile.mkdtemp(prefix="sluice-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", cls.disk], check=True)
        cls.cluster = Cluster(cls.NODES, cls.CPUS, cls.MEMORY, f"StateSaveLocation={cls.disk}/state\n")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.down()
        subprocess.run(["umount", cls.disk], check=True)
        os.rmdir(cls.disk)

    def fill(self, name):
        """Takes all the room there is."""
        with open(os.path.join(self.disk, name), "wb", buffering=0) as f:
            block = b"x" * 65536
            while block:
                try:
                    f.write(block)
                except OSError:
                    block = block[:len(block) // 2]

    def free(self):
        for name in ("first", "second"):
            path = os.path.join(self.disk, name)
            if os.path.exists(path):
                os.unlink(path)

    def waiting_job(self, go, *options):
        job = self.submit("-o", f"{go}.out", *options, "--wrap", f"while [ ! -e {go} ]; do sleep 0.05; done; echo over")
        self.wait_state(job, "RUNNING")
        return job

    def go(self, name):
        open(os.path.join(self.cluster.work, name), "w", encoding="utf-8").close()

    def try_submit(self):
        # a script of its own for each, so that each takes room
        script = "#!/bin/sh\n# " + os.urandom(150_000).hex() + "\n:\n"
        return self.run_cmd("sbatch", "--parsable", "-H", "-o", "/dev/null", stdin=script, check=False)

    def test_refused_held_and_going_on(self):
        first, second = self.waiting_job("go1"), self.waiting_job("go2")
        third = self.submit("-o", "/dev/null", "-d", f"afterany:{first}", "--wrap", "true")
        acknowledged = [first, second, third]
        self.fill("first")

        def refused():
            done = self.try_submit()
            if done.returncode == 0:
                acknowledged.append(int(done.stdout))
            return done.returncode != 0 and done.stderr
        error = wait_for(refused, "submissions are refused")
        self.assertEqual(error, "sbatch: error: Batch job submission failed: No space left on device\n")

        # how much room it wants is in the log
        self.assertIn(f"new work is refused until 32 MiB are free in {self.disk}/state", self.cluster.log())

        # whose was refused is, too
        self.assertIn("a submission of uid 0 was refused: the journal's disk is full (1 so far)", self.cluster.log())

        # the ballast has room for what goes on
        self.go("go1")
        self.wait_state(first, "COMPLETED")
        self.assertTrue(self.try_submit().returncode, "still refused")
        # it showed Priority
        wait_for(lambda: self.out("squeue", "-h", "-j", third, "-o", "%r").strip() == "SystemFailure", "why it does not start is shown")

        # not even that: the end is held until there is room
        self.fill("second")
        self.go("go2")
        wait_for(lambda: self.file("go2.out") == "over\n", "the second job ends")
        self.assertTrue(self.out("squeue", "-h"), "queries are answered all the while")
        self.assertEqual(self.try_submit().stderr, error, "and so are refusals")
        self.free()
        self.wait_state(second, "COMPLETED")
        self.wait_state(third, "COMPLETED")
        done = wait_for(lambda: (d := self.try_submit()).returncode == 0 and d, "submissions are accepted again")
        acknowledged.append(int(done.stdout))

        self.cluster.kill_controller()
        self.cluster.start_controller()
        known = set(self.out("squeue", "-h", "-t", "all", "-o", "%i").split())
        self.assertEqual(set(map(str, acknowledged)) - known, set(), "acknowledged jobs are lost")
        self.run_cmd("scancel", *[job for job in acknowledged if job not in (first, second, third)])

    def test_started_while_full(self):
        """Neither that it is full was in the log, nor whose submissions were refused for it."""
        self.addCleanup(self.free)
        self.cluster.kill_controller()
        os.truncate(os.path.join(self.disk, "state", "journal", "ballast"), 0)
        with open(os.path.join(self.disk, "first"), "wb") as f:
            room = os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_bsize
            f.write(b"x" * (room - (8 << 20)))
        before = len(self.cluster.log())
        self.cluster.start_controller()
        self.assertIn("the disk of the journal has no room for its reserve; new work is refused", self.cluster.log()[before:])
        self.assertNotEqual(self.try_submit().returncode, 0)
        self.assertIn("a submission of uid 0 was refused", self.cluster.log()[before:])

    def test_ended_while_full(self):
        """The bug: the controller aborted, as several changes waited for room, one behind the other."""
        self.addCleanup(self.free)
        held = [self.submit("-H", "-o", "/dev/null", "--wrap", ":") for _ in range(3)]
        jobs = [self.waiting_job(f"last{i}", "-w", f"n{i + 1}") for i in range(2)]
        self.fill("first")
        wait_for(lambda: self.try_submit().returncode, "submissions are refused")
        self.fill("second")
        for i in range(len(jobs)):
            self.go(f"last{i}")
            wait_for(lambda i=i: self.file(f"last{i}.out") == "over\n", "a job ends")
        cancels = [self.cluster.start("scancel", job, stderr=subprocess.DEVNULL) for job in held]
        for cancel in cancels:
            self.addCleanup(cancel.wait, 60)
            self.assertTrue(self.try_submit().returncode, "still refused")
        controller = self.cluster.controller_pid()
        before = len(self.cluster.log())
        os.kill(controller, signal.SIGTERM)
        wait_for(lambda: not os.path.exists(f"/proc/{controller}"), "the controller ends")
        self.assertNotIn("cannot follow frame", self.cluster.log()[before:], "what waits behind a gap is not tried")
        self.free()
        self.cluster.start_controller()
        for job in jobs:
            self.wait_state(job, "COMPLETED")
        self.run_cmd("scancel", "-u", "root", "-t", "PENDING")


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
