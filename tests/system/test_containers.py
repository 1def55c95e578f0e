"""Jobs with folders of their own (job_container/tmpfs): shared by their steps, seen by nobody else, gone with the job."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, Cluster, ClusterCase, add_users, need_root, wait_for

ALICE = 12031
tempfile.tempdir = "/var/tmp"  # the cluster's folder must be seen inside, too
MADE = """AutoBasePath=true
BasePath={dir}/base/%n
InitScript={dir}/init
NodeName=n2 BasePath=none
"""
INIT = """#!/bin/sh
echo "$SLURM_JOB_ID $SLURMD_NODENAME $SLURM_NS $SLURM_JOB_MOUNT_SRC" >> {dir}/work/init.out
while [ -e {dir}/work/slow ]; do sleep 0.05; done
[ ! -e {dir}/work/refuse ]
"""


class Containers(ClusterCase):
    NODES, CPUS, CONF = 2, 4, "JobContainerType=job_container/tmpfs\n"
    FILES = {"job_container.conf": MADE, "init": INIT}

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()

    def base(self, node="n1"):
        return os.path.join(self.cluster.dir, "base", node)

    def wait_gone(self):
        wait_for(lambda: not os.path.isdir(self.base()) or not os.listdir(self.base()), "the folders of jobs are gone")
        with open("/proc/self/mounts", encoding="utf-8") as f:
            self.assertNotIn(self.base(), f.read())

    def test_private_and_shared(self):
        mark = f"mark-{os.getpid()}"
        job = self.submit("-N1", "-w", "n1", "-o", "own.out", "--wrap",
                          f"echo batch > /tmp/{mark}; echo shm > /dev/shm/{mark}; srun --overlap sh -c 'cat /tmp/{mark} /dev/shm/{mark}; echo step >> /tmp/{mark}';"
                          f" cat /tmp/{mark}; ls /tmp; while [ ! -e go ]; do sleep 0.05; done", user=ALICE,
                          cwd=self.cluster.work)
        wait_for(lambda: "step\n" + mark in self.file("own.out"), "the script's last words")
        self.assertEqual(self.file("own.out"), f"batch\nshm\nbatch\nstep\n{mark}\n")
        self.assertFalse(os.path.exists(f"/tmp/{mark}") or os.path.exists(f"/dev/shm/{mark}"))
        # another job of the same user on the same node has its own
        other = self.out("srun", "-w", "n1", "--overlap", "sh", "-c", "ls -A /tmp /dev/shm; stat -c '%a %u' /tmp", user=ALICE)
        self.assertEqual(other, f"/dev/shm:\n\n/tmp:\n700 {ALICE}\n")
        # later steps, also after a restart of the agent, find what is there
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%t").strip() in ("mix", "alloc"), "n1 is back")
        self.assertEqual(self.out("srun", f"--jobid={job}", "--overlap", "cat", f"/tmp/{mark}", user=ALICE), "batch\nstep\n")
        # sbcast goes there
        self.run_cmd("sbcast", f"-j{job}", "/etc/hostname", f"/tmp/{mark}.cast", user=ALICE)
        self.assertFalse(os.path.exists(f"/tmp/{mark}.cast"))
        self.assertEqual(self.out("srun", f"--jobid={job}", "--overlap", "cat", f"/tmp/{mark}.cast", user=ALICE),
                         open("/etc/hostname", encoding="utf-8").read())
        self.assertEqual(os.stat(self.base() + f"/{job}").st_mode & 0o777, 0o700)
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        self.wait_ended(job)
        self.wait_gone()
        self.assertIn(f"{job} n1 {self.base()}/{job}/.ns {self.base()}/{job}/.folders\n", self.file("init.out"))

    def test_output_in_it(self):  # files are opened where the job's processes would find them
        out = self.out("srun", "-w", "n1", "-o", "/tmp/out-%t-%N", "sh", "-c", "echo hello; cp /tmp/out-0-n1 copy")
        self.assertEqual((out, self.file("copy")), ("", "hello\n"))
        self.assertFalse([n for n in os.listdir("/tmp") if n.startswith("out-0-n1")])
        self.wait_gone()

    def begin_slowly(self):
        """A job whose folders are being made as long as the third thing, a file, is there; and who waits for them."""
        slow = os.path.join(self.cluster.work, "slow")
        open(slow, "w", encoding="utf-8").close()
        self.addCleanup(lambda: os.path.exists(slow) and os.remove(slow))
        self.run_cmd("salloc", "--no-shell", "-w", "n1")
        job = int(self.out("squeue", "-h", "-o", "%A"))
        cast = self.cluster.start("sbcast", f"-j{job}", "/etc/hostname", "/tmp/never", stderr=subprocess.DEVNULL)
        wait_for(lambda: f"{job} n1 " in self.file("init.out"), "the folders are made")
        return job, cast, slow

    def test_over_while_it_is_made(self):  # what was made so far goes, and not before its maker is done
        job, cast, slow = self.begin_slowly()
        self.run_cmd("scancel", job)
        self.wait_no_jobs()
        self.assertNotEqual(cast.wait(60), 0)
        self.assertTrue(os.path.isdir(f"{self.base()}/{job}/.folders"))
        os.remove(slow)
        self.wait_gone()

    def test_its_maker_outlives_the_agent(self):  # the next one clears the folder when the maker is done, and not before
        job, cast, slow = self.begin_slowly()
        self.cluster.kill_node("n1")
        self.cluster.start_node("n1")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%t").strip() in ("mix", "alloc"), "n1 is back")
        self.run_cmd("scancel", job)
        self.wait_no_jobs()
        cast.wait(60)
        self.assertTrue(os.path.isdir(f"{self.base()}/{job}/.folders"))
        os.remove(slow)
        self.wait_gone()

    def test_none_here(self):
        path = f"/tmp/sluice-n2-{os.getpid()}"
        self.run_cmd("srun", "-w", "n2", "touch", path)
        os.remove(path)
        self.assertFalse(os.path.exists(self.base("n2")))

    def test_a_script_that_fails(self):
        refuse = os.path.join(self.cluster.work, "refuse")
        open(refuse, "w", encoding="utf-8").close()
        self.addCleanup(os.remove, refuse)
        self.assertNotEqual(self.run_cmd("srun", "-w", "n1", "touch", "ran", check=False).returncode, 0)
        self.assertFalse(os.path.exists(os.path.join(self.cluster.work, "ran")))
        self.assertIn("InitScript failed", self.cluster.log("n1"))
        self.wait_gone()


class MountsOfTheHost(ClusterCase):
    """Shared: what the host mounts while a job runs is seen in its namespace, or not."""
    NODES, CPUS, CONF = 2, 4, "JobContainerType=job_container/tmpfs\n"
    FILES = {"job_container.conf": "AutoBasePath=true\nBasePath={dir}/base/%n\nNodeName=n2 Shared=true\n"}

    def test_a_late_mount(self):
        place = os.path.join(self.cluster.dir, "mounts")
        os.makedirs(place + "/disk")
        for command in (["mount", "--bind", place, place], ["mount", "--make-shared", place]):
            subprocess.run(command, check=True)
            if command[1] == "--bind":
                self.addCleanup(subprocess.run, ["umount", "-R", "-l", place], check=True)
        jobs = [self.submit("-N1", "-w", node, "-o", f"seen-{node}", "--wrap",
                            f"echo ready; while [ ! -e go ]; do sleep 0.05; done; ls {place}/disk") for node in ("n1", "n2")]
        wait_for(lambda: all(self.file(f"seen-{node}") == "ready\n" for node in ("n1", "n2")), "both jobs run")
        subprocess.run(["mount", "-t", "tmpfs", "none", place + "/disk"], check=True)
        for name in (place + "/disk/here", os.path.join(self.cluster.work, "go")):
            open(name, "w", encoding="utf-8").close()
        for job in jobs:
            self.wait_ended(job)
        self.assertEqual([self.file(f"seen-{node}") for node in ("n1", "n2")], ["ready\n", "ready\nhere\n"])


if __name__ == "__main__":
    need_root()
    if BUILD.startswith(("/tmp/", "/dev/shm/")):
        print("skipped: the programs that the jobs call are in a folder that they do not see")
        sys.exit(77)
    unittest.main()
