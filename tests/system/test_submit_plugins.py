"""JobSubmitPlugins: what the controller fills in, refuses and logs when jobs are submitted and changed."""
import os
import unittest

from harness import ClusterCase, wait_for

MISSING = "Time limit specification required, but not provided"


class SubmitPlugins(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = ("SluiceParameters=accept_ignored=JobSubmitPlugins\nJobSubmitPlugins=all_partitions,require_timelimit,logging,throttle\n"
            "PartitionName=debug Nodes=ALL Default=YES State=UP MaxTime=60\nPartitionName=large Nodes=n1 State=UP\n"
            "PartitionName=closed Nodes=n1 State=INACTIVE\n")

    def submit_held(self, *args):
        return self.submit("-H", "-o", "/dev/null", *args, "--wrap", "true")

    def test_all_partitions(self):
        job, named = self.submit_held("-t", "5"), self.submit_held("-t", "5", "-p", "large")
        self.assertEqual((self.show(job)["Partition"], self.show(named)["Partition"]), ("debug,large", "large"))
        self.run_cmd("scancel", job, named)

    def test_require_timelimit(self):
        self.fails(1, f"sbatch: error: Batch job submission failed: {MISSING}\n", "sbatch", "--wrap", "true")
        self.fails(1, f"srun: error: Unable to allocate resources: {MISSING}\n", "srun", "true")
        job = self.submit_held("-t", "5")
        for limit in ("0", "UNLIMITED"):
            self.fails(1, f"{MISSING} for job {job}\n", "scontrol", "update", f"JobId={job}", f"TimeLimit={limit}")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=7")
        self.assertEqual(self.show(job)["TimeLimit"], "00:07:00")
        self.run_cmd("scancel", job)

    def test_partition(self):
        before = self.cluster.change_conf(lambda text: text.replace("JobSubmitPlugins=all_partitions,", "JobSubmitPlugins=partition,"))
        self.run_cmd("scontrol", "reconfigure")
        short, long = self.submit_held("-t", "5"), self.submit_held("-t", "61")
        self.cluster.change_conf(lambda _: before)
        self.run_cmd("scontrol", "reconfigure")
        self.assertEqual((self.show(short)["Partition"], self.show(long)["Partition"]), ("debug", "large"))
        self.run_cmd("scancel", short, long)

    def test_log(self):
        self.assertRegex(self.cluster.log(), "warning: .*keys without effect: enforcement: JobSubmitPlugins=throttle")
        job = self.submit_held("-t", "5", "-J", "noticed")
        self.run_cmd("scontrol", "update", f"JobId={job}", "Comment=seen")
        wait_for(lambda: f'JobSubmitPlugins=logging: uid {os.getuid()} submits "noticed"' in self.cluster.log(), "the submission is in the log")
        wait_for(lambda: f"JobSubmitPlugins=logging: uid {os.getuid()} changes job {job}" in self.cluster.log(), "and so is the change")
        self.run_cmd("scancel", job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
