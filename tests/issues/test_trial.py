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

    def test_an_edited_configuration_is_kept(self):
        """sluice up wrote slurm.conf anew in a folder that had one, and what its user had changed was gone."""
        def sluice(verb, *options):
            done = subprocess.run([os.path.join(BIN, "sluice"), verb, "--dir", self.folder, *options], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, done.stderr

        def names():
            with open(conf, encoding="utf-8") as f:
                return [line for line in f if line.startswith(("NodeName", "KillWait"))]

        conf = os.path.join(self.folder, "slurm.conf")
        self.addCleanup(sluice, "down")
        for nodes in ("1", "2"):  # nothing is edited: it is written anew
            self.assertEqual(sluice("up", "--nodes", nodes)[0], 0)
            self.assertEqual(len([1 for line in names() if f"n[1-{nodes}]" in line or (nodes == "1" and "=n1 " in line)]), 1)
            self.assertEqual(sluice("down")[0], 0)
        more = os.path.join(self.folder, "more.conf")
        with open(more, "w", encoding="utf-8") as f:
            f.write("KillWait=9\n")
        for options in (("--nodes", "2", "--conf", more), ()):  # a plain one is as the last
            self.assertEqual(sluice("up", *options)[0], 0)
            self.assertEqual(len([1 for line in names() if "n[1-2]" in line or line == "KillWait=9\n"]), 2)
            self.assertEqual(sluice("down")[0], 0)
        with open(conf, "a", encoding="utf-8") as f:
            f.write("KillWait=7\n")
        before = names()
        status, out, err = sluice("up", "--nodes", "1")
        self.assertEqual((status, out), (1, ""))
        self.assertIn(f"sluice up: error: {conf} has been edited since sluice up wrote it", err)
        self.assertEqual(names(), before)
        status, out, err = sluice("up")
        self.assertEqual((status, err), (0, f"sluice up: {conf} has been edited and is used as it is; remove it to have it written anew\n"))
        self.assertTrue(out.startswith("2 nodes are idle"))
        self.assertEqual(names(), before)
        self.assertEqual(sluice("down")[0], 0)
        os.remove(conf)
        self.assertEqual(sluice("up", "--nodes", "1"), (0, mock.ANY, ""))
        self.assertNotIn("KillWait=7\n", names())


if __name__ == "__main__":
    unittest.main()
