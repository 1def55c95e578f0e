"""Bugs in sluice up and sluice down."""
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from harness import BIN, Cluster


class Folders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-folders-")
        self.addCleanup(shutil.rmtree, self.folder)

    def refused(self, verb, folder, why):
        done = subprocess.run([os.path.join(BIN, "sluice"), verb, "--dir", folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"sluice {verb}: error: {folder}{why}\n"))

    def test_names_that_slurm_conf_cannot_hold(self):
        """What is behind a # was cut off: the state was kept in another folder. Others failed, and did not say why."""
        for name in ("a b", "a#b", "a%nb", "a,b", "a\"b"):
            folder = os.path.join(self.folder, name)
            self.refused("up", folder, ": blanks, quotes and any of # % , \\ cannot be in the folder's name")
            self.assertFalse(os.path.exists(folder))
        folder = os.path.join(self.folder, "long" * 25)
        self.refused("up", folder, ": the name is too long for a socket in the folder")

    def test_a_configuration_of_somebody_else(self):
        """It was overwritten, and sluice down ended the daemons that run from it."""
        path = os.path.join(self.folder, "slurm.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("ClusterName=other\nStateSaveLocation=/var/spool/other\n")
        for verb in ("up", "down"):
            self.refused(verb, self.folder, " is not the folder of a cluster that sluice up has started")
        with open(path, encoding="ascii") as f:
            self.assertIn("ClusterName=other\n", f.read())

    def test_the_folder_above_that_of_a_cluster(self):
        """sluice down ended all clusters in folders below the one that it was given."""
        with mock.patch("tempfile.tempdir", self.folder):
            cluster = Cluster(nodes=1, cpus=2)
        try:
            self.refused("down", self.folder, " is not the folder of a cluster that sluice up has started")
            self.assertEqual(cluster.run("sinfo", "-h", "-o", "%T").stdout, "idle\n")
        finally:
            cluster.down()

    def test_a_folder_without_a_cluster(self):
        done = subprocess.run([os.path.join(BIN, "sluice"), "down", "--dir", self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0 processes stopped\n", ""))


if __name__ == "__main__":
    unittest.main()
