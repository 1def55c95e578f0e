"""What a trial of accounting found: controllers that are others."""
import os
import re
import shutil
import unittest

from accounting import AccountedCluster
from harness import Cluster, ClusterCase, wait_for


class Databases(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1)
        with open(cls.cluster.dbd_conf, encoding="utf-8") as f:
            cls.dbd_text = f.read()

    def cluster_row(self):
        return self.out("sacctmgr", "-nP", "list", "cluster", "format=cluster,controlhost,controlport").strip()

    def test_a_second_controller_of_the_name_is_refused(self):
        """Both registered, and their history became one."""
        before = self.cluster_row()
        self.assertRegex(before, r"^trial\|\S+\|[1-9]\d+$")  # although no record was sent yet
        port = re.search(r"DbdPort=(\d+)", self.dbd_text)[1]
        conf = f"ClusterName=trial\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}\n"
        key = os.path.join(self.cluster.dir, "slurm.key")
        second = Cluster(1, 2, conf=conf, prepare=lambda folder: shutil.copy2(key, os.path.join(folder, "slurm.key")))
        self.addCleanup(second.down)
        wait_for(lambda: "sacctmgr delete cluster trial" in second.log(), "the second one is told")
        second.run("sbatch", "-J", "of-second", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "gets no records, which wait: cluster trial is that of the controller on" in second.log(), "its records wait")
        self.assertIn("cluster trial is that of the controller on", self.cluster.log("sluicedbd"))
        self.assertEqual(self.cluster_row(), before)
        self.assertEqual(self.cluster.sacct("-X", "--name=of-second"), [])
        self.assertNotIn("DBD Agent queue size: 0", second.run("sdiag").stdout)


if __name__ == "__main__":
    unittest.main()
