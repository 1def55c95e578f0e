"""Each limit of associations and QOS: the reason that a job waits with or the words that refuse it, as a real Slurm says them (tests/golden/limits)."""
import pathlib
import sys
import unittest

from accounting import AccountedCluster
from harness import need_root

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden/limits"
sys.path[:0] = [str(GOLDEN), str(GOLDEN.parent / "shares")]
import limits  # noqa: E402
import live  # noqa: E402


class Reasons(unittest.TestCase):
    maxDiff = None

    def test_reasons_are_those_of_slurm(self):
        cluster = AccountedCluster(live.NODES, live.CPUS, live.MEMORY, conf=limits.CONF)
        self.addCleanup(cluster.down)
        file = live.File(GOLDEN / "reasons.txt")
        live.compare(file, live.answers(file.cases, dict(cluster.env, LC_ALL="C"), cluster.work, limits.SHELL))
        self.assertEqual(file.text(), file.path.read_text())


if __name__ == "__main__":
    need_root()
    unittest.main()
