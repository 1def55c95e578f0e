"""Jobs where control groups are off or cannot be used."""
import re
import unittest

from harness import ClusterCase, need_root
from test_cgroup import DAEMON, EAT, groups_of, need_groups, running


class Off(ClusterCase):
    """Without the plugins the processes are followed, and the file changes nothing."""
    NODES, CPUS = 1, 4
    CONF = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
    FILES = {"cgroup.conf": "ConstrainRAMSpace=yes\nConstrainCores=yes\n"}

    def test_no_groups(self):
        job = self.submit("--mem=60", "-o", "off.out", "--wrap",
                          f"python3 -c '{EAT.format(mib=100, seconds=0)}'; echo after $?; cat /proc/self/cgroup")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn("after 0", self.file("off.out"))
        self.assertNotIn("slurm_n1", self.file("off.out"))
        self.assertEqual(groups_of(self.cluster.dir, "n1"), [])

    def test_binding_is_not_to_be_had(self):
        said = "srun: cluster configuration lacks support for cpu binding\n"
        for option in ("--cpu-bind=cores", "--cpu-bind=none", "--threads-per-core=1"):
            self.fails(0, said, "srun", option, "true")
        self.fails(0, said, "srun", "true", env={"SLURM_CPU_BIND": "cores"})
        self.fails(0, "", "srun", "--hint=nomultithread", "true")
        self.fails(0, "", "srun", "-B", "*:*:1", "true")

    def test_daemon(self):
        job = self.submit("-o", "/dev/null", "--wrap", "python3 -c \"$DAEMON\" 8811", env={"DAEMON": DAEMON})
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(running(8811), [])


class Unusable(ClusterCase):
    """What is not there is said once, and everything goes on without it."""
    NODES, CPUS = 1, 4
    CONF = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
    FILES = {"cgroup.conf": "CgroupMountpoint={dir}/none\nConstrainRAMSpace=yes\n"}

    def test_jobs_run(self):
        for _ in range(2):
            job = self.submit("-o", "/dev/null", "--wrap", "python3 -c \"$DAEMON\" 8821", env={"DAEMON": DAEMON})
            self.assertEqual(self.wait_ended(job), "COMPLETED")
            self.assertEqual(running(8821), [])
        said = re.findall(r"no control groups: .*", self.cluster.log("n1"))
        self.assertEqual(len(said), 1, said)
        self.assertIn("no limit on CPUs or memory is enforced", said[0])


if __name__ == "__main__":
    need_root()
    need_groups()
    unittest.main(verbosity=2)
