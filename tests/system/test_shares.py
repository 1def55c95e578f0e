"""Fair share after the same jobs as on a real Slurm (tests/golden/shares): sshare and sprio beside its answers."""
import concurrent.futures
import pathlib
import sys
import unittest

from accounting import AccountedCluster
from harness import need_root

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden/shares"
sys.path.insert(0, str(GOLDEN))
import live  # noqa: E402


class Shares(unittest.TestCase):
    maxDiff = None

    def answers(self, file):
        cluster = AccountedCluster(live.NODES, live.CPUS, live.MEMORY, conf=live.CONF + "".join(line + "\n" for line in file.conf))
        try:
            return live.answers(file.cases, dict(cluster.env, LC_ALL="C"), cluster.work)
        finally:
            cluster.down()

    def test_answers_are_those_of_slurm(self):
        files = [live.File(GOLDEN / f"{name}.txt") for name in ("fair_tree", "classic")]
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for most of its time
            for file, answers in zip(files, pool.map(self.answers, files)):
                live.compare(file, answers)
                self.assertEqual(file.text(), file.path.read_text())


if __name__ == "__main__":
    need_root()  # jobs of several users
    unittest.main()
