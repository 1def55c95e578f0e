"""Who shares what: --oversubscribe against the partition's OverSubscribe, --exclusive=user, and features of nodes by
alternatives and counts."""
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ANN, BOB = 12101, 12102

CONF = """NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=2 RealMemory=4000 Feature=rack1,ib
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=2 RealMemory=4000 Feature=rack1
NodeName=n3 NodeAddr=127.0.0.1 Port=@3 CPUs=2 RealMemory=4000 Feature=rack2,ib
NodeName=n4 NodeAddr=127.0.0.1 Port=@4 CPUs=2 RealMemory=4000 Feature=rack2,gpu
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=yes Nodes=n1 OverSubscribe=YES:2 State=UP
PartitionName=force Nodes=n1 OverSubscribe=FORCE:2 State=UP
PartitionName=no Nodes=n1 OverSubscribe=NO State=UP
PartitionName=all Nodes=n1 OverSubscribe=EXCLUSIVE State=UP
"""


class Sharing(ClusterCase):
    NODES, CONF = 4, CONF

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        add_users(cls, ANN, BOB)

    def start(self, *options, user=None):
        return self.submit("-o", "/dev/null", *options, "--wrap", "sleep 1000", user=user)

    def waits_for_resources(self, job):
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T %r").strip() == "PENDING Resources", f"{job} waits")

    def tearDown(self):
        self.cancel()

    def cancel(self):
        if jobs := self.out("squeue", "-h", "-o", "%A").split():
            self.run_cmd("scancel", *jobs)
        self.wait_no_jobs()

    def check_shared(self, partition, *options):
        """Two such jobs have the node's CPUs, a third waits."""
        jobs = [self.start("-p", partition, "-n2", *options) for _ in range(3)]
        for job in jobs[:2]:
            self.wait_state(job, "RUNNING")
        self.waits_for_resources(jobs[2])
        return jobs

    def test_oversubscribe(self):
        jobs = self.check_shared("yes", "-s")
        self.assertEqual(self.show(jobs[0])["OverSubscribe"], "YES")
        self.assertEqual(self.out("squeue", "-h", "-j", jobs[0], "-o", "%h").strip(), "YES")
        self.run_cmd("scancel", jobs[0])
        self.wait_state(jobs[2], "RUNNING")
        self.cancel()

        alone = self.start("-p", "yes", "-n2")
        self.wait_state(alone, "RUNNING")
        sharing = self.start("-p", "yes", "-n2", "--oversubscribe")
        self.waits_for_resources(sharing)  # both have to agree
        self.run_cmd("scancel", alone)
        self.wait_state(sharing, "RUNNING")
        alone = self.start("-p", "yes", "-n2")
        self.waits_for_resources(alone)
        self.cancel()

        self.check_shared("force")
        self.cancel()

        for partition, option in (("no", "-s"), ("all", "-s")):
            jobs = [self.start("-p", partition, "-n1", "--mem=10", option) for _ in range(3)]
            room = 2 if partition == "no" else 1
            for job in jobs[:room]:
                self.wait_state(job, "RUNNING")
            self.waits_for_resources(jobs[room])
            self.cancel()

    def test_oversubscribe_of_srun_and_salloc(self):
        first = self.start("-p", "yes", "-n2", "-s")
        self.wait_state(first, "RUNNING")
        self.assertEqual(self.out("srun", "-p", "yes", "-s", "-n2", "echo", "ran"), "ran\nran\n")
        self.assertEqual(self.out("salloc", "-p", "yes", "-s", "-n2", "echo", "ran"), "ran\n")
        self.cancel()

    def test_exclusive_user(self):
        first = self.start("-w", "n1", "-n1", "-t", "60", "--exclusive=user", user=ANN)
        self.wait_state(first, "RUNNING")
        self.assertEqual(self.show(first)["OverSubscribe"], "USER")
        other = self.start("-w", "n1", "-n1", user=BOB)
        self.waits_for_resources(other)
        same = self.start("-w", "n1", "-n1", "-t", "5", user=ANN)  # gone before the other's turn comes
        self.wait_state(same, "RUNNING")
        self.run_cmd("scancel", first, same)
        self.wait_state(other, "RUNNING")

    def test_features(self):
        cases = {"rack1&ib": ("-N1", "n1"), "rack2": ("-N2", "n[3-4]"), "gpu|rack1": ("-N3", "n[1-2,4]"),
                 "[rack1|rack2]": ("-N2", ("n[1-2]", "n[3-4]")), "rack1*1&gpu*1": ("-N2", ("n[1,4]", "n[2,4]")),
                 "[rack1*2&rack2*1]": ("-N3", ("n[1-3]", "n[1-2,4]")), "ib&rack2": ("-N1", "n3"),
                 "(gpu|ib)&rack2": ("-N2", "n[3-4]")}
        for constraint, (nodes, expected) in cases.items():
            job = self.submit("-W", "-o", "/dev/null", nodes, "-C", constraint, "--wrap", "true")
            self.assertIn(self.show(job)["NodeList"], (expected,) if isinstance(expected, str) else expected, constraint)
            self.assertEqual(self.show(job)["Features"], constraint)
        for bad in ("nosuch", "rack1&&ib", "[rack1", "rack1*0", "rack1&!ib", "(rack1&ib)*0", "[rack1&ib]", "[rack1*1&ib]",
                    "[[rack1|rack2]]"):
            self.fails(1, "sbatch: error: Batch job submission failed: Invalid feature specification\n",
                       "sbatch", "-C", bad, "--wrap", "true")
        self.fails(1, "sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
                   "sbatch", "-N3", "-C", "ib", "--wrap", "true")


if __name__ == "__main__":
    need_root()
    unittest.main()
