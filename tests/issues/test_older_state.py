"""A controller whose state is older than what nodes and accounting know: it was put back by copying, or its journal was damaged."""
import os
import shutil
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for


class OlderState(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, conf="AccountingStorageEnforce=limits\n")

    def accounted(self, name, state="COMPLETED"):
        job = self.submit("-J", name, "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: [str(job), state] in self.cluster.sacct("-X", "-n", "--name", name, "-o", "jobid,state"), f"{name} is accounted")
        return job

    def test_new_jobs_are_accounted(self):
        """Their records had numbers that were given before, and the accounting daemon took them for repeats."""
        journal = os.path.join(self.cluster.dir, "state", "journal")
        self.accounted("first")
        runs = self.submit("-J", "runs", "--no-requeue", "-o", "/dev/null", "--wrap", "while [ ! -e go ]; do sleep 0.1; done")
        self.wait_state(runs, "RUNNING")
        wait_for(lambda: self.cluster.sacct("-X", "--name", "runs", "-o", "state") == [["RUNNING"]], "it is accounted")
        self.cluster.kill_controller()
        shutil.copytree(journal, journal + ".old")
        self.cluster.start_controller()
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(runs), "COMPLETED")
        wait_for(lambda: self.cluster.sacct("-X", "--name", "runs", "-o", "state") == [["COMPLETED"]], "its end is accounted")
        ended = self.cluster.sacct("-X", "--name", "runs", "-o", "end,elapsed")
        lost = self.accounted("lost")
        self.cluster.kill_controller()
        shutil.rmtree(journal)
        shutil.move(journal + ".old", journal)
        self.cluster.start_controller()
        for name in ("after", "again"):
            self.assertGreater(self.accounted(name), lost)
        log = self.cluster.log()
        for text in ("which this state did not send: it is an older one that was put back", "the accounting daemon knows job ids up to "):
            self.assertEqual(log.count(text), 1, log)
        self.assertIn("its controller begins a new stream of records", self.cluster.log("sluicedbd"))
        wait_for(lambda: self.state(runs) in ("FAILED", ""), "the job that had ended is over")
        self.assertEqual(self.cluster.sacct("-X", "--name", "runs", "-o", "state"), [["COMPLETED"]])
        self.assertEqual(self.cluster.sacct("-X", "--name", "runs", "-o", "end,elapsed"), ended)

    def test_a_qos_that_a_partition_lacks(self):
        """It was accepted, and no limit acted."""
        self.fails(1, "slurm_update error: Invalid qos specification\n", "scontrol", "update", "PartitionName=debug", "QOS=nosuch")


if __name__ == "__main__":
    unittest.main()
