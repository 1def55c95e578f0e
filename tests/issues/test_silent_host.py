"""A host that was switched off says nothing: srun in an allocation waited for its tasks for hours."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ClusterCase, wait_for  # pylint: disable=wrong-import-position
from hosts import HostCluster, need_namespaces  # pylint: disable=wrong-import-position


class SilentHost(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = HostCluster(2, timeout=600, conf="CommunicationParameters=keepalivetime=1,keepaliveinterval=1,keepaliveprobes=2\n")

    def test_srun_gives_it_up(self):
        step = "echo on; while [ ! -e end ]; do sleep 0.1; done"
        said = open(os.path.join(self.cluster.work, "silent.err"), "w", encoding="utf-8")
        self.addCleanup(said.close)
        salloc = self.cluster.start("salloc", "-Q", "-N2", "--no-kill", "srun", "-l", "--no-kill", "-o", "silent.out", "sh", "-c", step,
                                    stdout=subprocess.DEVNULL, stderr=said)
        wait_for(lambda: sorted(self.file("silent.out").splitlines()) == ["0: on", "1: on"], "the step runs on both hosts")
        host = self.cluster.host("h2")

        def under_way():  # what is not acknowledged is sent again for a quarter of an hour
            lines = subprocess.run(["ss", "-tnH", "dst", host.address], check=True, capture_output=True, text=True).stdout.splitlines()
            return [line for line in lines if line.split()[2] != "0"]
        wait_for(lambda: not under_way(), "all that was sent is taken")
        self.addCleanup(host.mend)
        host.cut()
        wait_for(lambda: "srun: error: Node failure on h2\n" in self.file("silent.err"), "srun gives it up")
        open(os.path.join(self.cluster.work, "end"), "w", encoding="utf-8").close()
        self.assertNotEqual(salloc.wait(timeout=60), 0)


if __name__ == "__main__":
    need_namespaces()
    unittest.main()
