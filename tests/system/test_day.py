"""A user's day on a cluster of 10 nodes: several hundred commands whose texts and exit codes are kept in
tests/golden/day. Where they differ from a real Slurm 22.05 the file says so and why."""
import pathlib
import sys
import unittest

from harness import BIN, ROOT, ClusterCase, need_root

DAY = pathlib.Path(ROOT) / "tests/golden/day"
sys.path.insert(0, str(DAY))
import day  # noqa: E402


class Day(ClusterCase):
    NODES, CPUS, MEMORY, CONF = 10, 8, 16000, day.CONF
    maxDiff = None

    def follow(self, name):
        different = day.check(DAY / name, self.cluster.conf, BIN)
        if different:
            self.fail(f"{len(different)} commands of {name} differ\n" + "\n".join(different))


def test_of(name):
    return lambda self: self.follow(name)


for path in sorted(DAY.glob("*.txt")):
    setattr(Day, "test_" + path.stem, test_of(path.name))


class Files(unittest.TestCase):
    def test_a_day_is_long_enough(self):
        self.assertGreaterEqual(sum(len(day.cases(path)) for path in DAY.glob("*.txt")), 150)


if __name__ == "__main__":
    need_root()  # the commands' answers name the user
    unittest.main()
