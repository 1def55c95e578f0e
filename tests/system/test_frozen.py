"""Control groups of suspended jobs are frozen: no signal of their user lets them go on, and what ends a job ends what is frozen."""
import glob
import os
import signal
import time
import unittest

from harness import need_root, pids_with, step_daemon, wait_for
from test_cgroup import GroupCase, MOUNT, groups_of, need_groups, read, root_of
from test_suspend import COUNT

USER = 65534


class FrozenCase(GroupCase):
    NODES, CPUS = 2, 4
    CONF = GroupCase.PLUGINS + "KillWait=2\n"

    def counting_job(self, node="n1"):
        """Its id, and the PID of its process."""
        count = os.path.join(self.cluster.work, "count.py")
        with open(count, "w", encoding="utf-8") as f:
            f.write(COUNT)
        name = f"number.{time.monotonic_ns()}"
        job = self.submit("-w", node, "-o", "/dev/null", "--wrap", f"echo $$ > {name}.pid; exec python3 count.py {name}", user=USER)
        wait_for(lambda: self.file(name), "it counts")
        return job, name, int(self.file(name + ".pid"))

    def is_frozen(self, job, node="n1"):
        """As the kernel says of the group of the job's script."""
        for group in groups_of(self.cluster.dir, node):
            if not group.endswith(f"/job_{job}/step_batch"):
                continue
            if os.path.exists(group + "/freezer.state"):
                return read(group + "/freezer.state").strip() == "FROZEN"
            if not glob.glob(f"{MOUNT}/freezer") and os.path.exists(group + "/cgroup.events"):
                return "frozen 1" in read(group + "/cgroup.events")
        return False

    def suspended_job(self, node="n1"):
        job, name, pid = self.counting_job(node)
        self.run_cmd("scontrol", "suspend", job)
        wait_for(lambda: self.is_frozen(job, node), "it is frozen")
        return job, name, pid

    def wait_gone(self, pid):
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "its process is gone")


class Frozen(FrozenCase):
    def test_its_user_does_not_wake_it(self):
        job, name, pid = self.suspended_job()
        before = self.file(name)
        waker = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"kill -CONT {pid} && sleep 0.5", user=USER)
        self.assertEqual(self.wait_ended(waker), "COMPLETED", "the signal was sent")
        self.assertEqual(self.file(name), before, "and nothing was counted since")
        self.assertTrue(self.is_frozen(job))
        self.run_cmd("scontrol", "resume", job)
        wait_for(lambda: self.file(name) not in ("", before), "it goes on")
        self.assertFalse(self.is_frozen(job))
        self.run_cmd("scontrol", "suspend", job)
        wait_for(lambda: self.is_frozen(job), "it is frozen again")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_gone(pid)
        self.wait_no_groups()

    def test_kill_ends_it(self):
        for options in (["-b", "-s", "KILL"], ["-s", "KILL"], ["-f", "-s", "KILL"]):
            with self.subTest(options=options):
                job, _, pid = self.suspended_job()
                self.run_cmd("scancel", *options, job)
                self.wait_gone(pid)
                self.wait_ended(job)
        self.wait_no_groups()

    def test_its_step_daemon_dies(self):
        job, _, pid = self.suspended_job()
        folder = f"{self.cluster.dir}/spool/n1"
        for stepd in pids_with(folder, "sluicestepd") or pids_with(folder, "slurmstepd"):
            os.kill(stepd, signal.SIGKILL)
        self.wait_gone(pid)
        self.run_cmd("scancel", job, check=False)
        self.wait_ended(job)
        self.wait_no_groups()

    def test_its_step_daemon_does_not_come_to_it(self):
        """Then its agent does it; what the daemon does later leaves it as it was told last."""
        job, name, pid = self.counting_job()
        stepd = step_daemon(self.cluster.dir, f"{job}.batch")
        os.kill(stepd, signal.SIGSTOP)
        try:
            self.run_cmd("scontrol", "suspend", job)
            wait_for(lambda: self.is_frozen(job), "it is frozen all the same")
            before = self.file(name)
            self.run_cmd("scontrol", "resume", job)
            wait_for(lambda: self.file(name) not in ("", before), "it goes on")
        finally:
            os.kill(stepd, signal.SIGCONT)
        self.run_cmd("scancel", job)
        self.wait_gone(pid)
        self.wait_ended(job)
        self.wait_no_groups()

    def test_its_agent_dies_too(self):  # the next one ends what it finds
        job, _, pid = self.suspended_job("n2")
        self.cluster.kill_node("n2")
        for stepd in pids_with(f"{self.cluster.dir}/spool/n2"):
            os.kill(stepd, signal.SIGKILL)
        self.cluster.start_node("n2")
        self.wait_gone(pid)
        self.run_cmd("scancel", job, check=False)
        self.wait_ended(job)
        self.wait_no_groups("n2")

    def test_it_stays_so_over_its_agents_restart(self):
        job, name, pid = self.suspended_job("n2")
        before = self.file(name)
        self.cluster.kill_node("n2")
        self.cluster.start_node("n2")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T").strip() == "idle", "the node is known again")
        self.assertTrue(self.is_frozen(job, "n2"))
        self.assertEqual(self.file(name), before)
        self.run_cmd("scontrol", "resume", job)
        wait_for(lambda: self.file(name) not in ("", before), "it goes on")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.wait_gone(pid)
        self.wait_no_groups("n2")


class LeftFrozen(FrozenCase):
    @classmethod
    def tearDownClass(cls):
        folder = cls.cluster.dir
        super(GroupCase, cls).tearDownClass()  # groups of a node that went in mid-job stay, for its next agent
        wait_for(lambda: not os.path.exists(f"/proc/{cls.pid}"), "sluice down ends what is frozen")
        for top in glob.glob(f"{MOUNT}/*/{root_of(folder, 'n1')}") + glob.glob(f"{MOUNT}/{root_of(folder, 'n1')}"):
            for path, _, _ in os.walk(top, topdown=False):
                os.rmdir(path)

    def test_it_ends_with_its_cluster(self):
        _, _, type(self).pid = self.suspended_job()


if __name__ == "__main__":
    need_root()
    need_groups()
    unittest.main(verbosity=2)
