"""Every field of squeue and sinfo by its name, with what it says of one job and one node.

Values are those of Slurm 22.05 for the same job where it knows the field."""
import re
import unittest

from harness import ClusterCase

TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d"
SQUEUE = {}
SINFO = {}


class Fields(ClusterCase):
    CONF = """Licenses=drill:2
GresTypes=fan
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=4 RealMemory=4000 TmpDisk=1000 Feature=fast,big Gres=fan:3 Weight=7
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 Sockets=2 CoresPerSocket=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 DefaultTime=20 MaxCPUsPerNode=6 PriorityTier=3 PriorityJobFactor=5 AllowGroups=root State=UP
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("test_squeue")
        cls.job = case.submit("-J", "full", "-N1", "-n2", "-c2", "-w", "n1", "-x", "n2", "-t", "30", "--time-min=10", "--comment=note",
                              "-A", "money", "-q", "express", "-L", "drill:1", "--nice=5", "--wckey=key", "-C", "fast", "--gres=fan:2",
                              "--mem=300", "--tmp=70", "--ntasks-per-node=2", "--ntasks-per-socket=1", "--sockets-per-node=2",
                              "--cores-per-socket=2", "--network=net", "--requeue", "-o", "out.%j", "-e", "err.%j", "-i", "/dev/null",
                              "--wrap", "sleep 1000")
        case.wait_state(cls.job, "RUNNING")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.run("scancel", str(cls.job))
        super().tearDownClass()

    def check(self, command, expected, *options):
        names = [line.split()[0] for line in self.out(command, "--helpformat").splitlines()]
        cells = self.out(command, "-h", *options, "-O", ",".join(f"{name}:\x1f" for name in names)).strip("\n").split("\x1f")
        found = dict(zip(names, cells))
        self.assertEqual(set(expected) ^ set(names), set(), "each field has its value here")
        wrong = {name: found[name] for name, value in expected.items()
                 if not re.fullmatch(value.format(id=self.job, work=self.cluster.work), found[name])}
        self.assertEqual(wrong, {})

    def test_squeue(self):
        self.check("squeue", SQUEUE)

    def test_sinfo(self):
        self.check("sinfo", SINFO, "-n", "n1")


if __name__ == "__main__":
    unittest.main()
