"""What an agent costs that has nothing to do (bench/idle measures it)."""
import glob
import time
import unittest

from harness import ClusterCase


def sleeps(pid):
    """How often the threads of a process went to sleep."""
    count = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="ascii") as f:
            count += sum(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches:"))
    return count


class Idle(ClusterCase):
    NODES, CPUS = 2, 1
    # gRPC's threads woke up eight times a second in each. Who waits to hand out tokens (token_server.hpp) looks twice a second.
    LOOKS_S, MOST = 3, 3 * 3

    def quiet(self, pid):
        """Is there a time in which it hardly wakes? What follows its registration is over soon."""
        for _ in range(10):
            before = sleeps(pid)
            time.sleep(self.LOOKS_S)
            if sleeps(pid) - before <= self.MOST:
                return True
        return False

    def test_an_idle_agent_sleeps(self):
        pids = [self.cluster.node_pid(node) for node in ("n1", "n2")]
        for pid in pids:
            self.assertTrue(self.quiet(pid))
        # nor does it after a job
        self.run_cmd("srun", "-N2", "true")
        for pid in pids:
            self.assertTrue(self.quiet(pid))


if __name__ == "__main__":
    unittest.main(verbosity=2)
