"""What an administrator's eighth trial found: what goes wrong when a cluster's configuration, user or keys change."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from datetime import datetime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from harness import Cluster, NodeCase, add_users, need_root, pids_with, wait_for  # pylint: disable=wrong-import-position
from test_jwt import make_key  # pylint: disable=wrong-import-position

ALICE, SLURM, OTHER = 61551, 61552, 61553


class Tokens(NodeCase):
    NODES, CPUS = 1, 1
    JWT = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={dir}/jwt.key\n"

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE)
        super().setUpClass()
        make_key(cls.cluster.dir)

    def test_they_come_and_go_with_the_configuration(self):
        """Taken out by scontrol reconfigure they were taken still: a user with one of root's drained a node."""
        self.cluster.change_conf(lambda text: text + self.JWT.replace("{dir}", self.cluster.dir))
        self.run_cmd("scontrol", "reconfigure")
        text = self.out("scontrol", "token", "lifespan=300").strip()
        token = dict([text.split("=", 1)])
        drain = ("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=tried")
        self.run_cmd(*drain, env=token, user=ALICE)
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.cluster.change_conf(lambda text: "".join(line for line in text.splitlines(True) if not line.startswith("AuthAlt")))
        self.run_cmd("scontrol", "reconfigure")
        refused = self.run_cmd(*drain, env=token, user=ALICE, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("AuthAltTypes has no auth/jwt here", refused.stderr)
        self.assertEqual(self.node("n1", "%t"), "idle")


if __name__ == "__main__":
    unittest.main()
