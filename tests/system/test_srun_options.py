"""Options of srun that act on a step: where its tasks and CPUs are, what they find, how their output comes."""
import os
import re

import unittest

from harness import BIN, ClusterCase, wait_for

CONF = """SelectTypeParameters=CR_Core_Memory
TaskPlugin=task/affinity
PropagateResourceLimits=NONE
JobFileAppend=1
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000
NodeName=n3 NodeAddr=127.0.0.1 Port=@3 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
NodeName=n4 NodeAddr=127.0.0.1 Port=@4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES State=UP
"""
WHERE = 'echo $SLURM_PROCID $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status | cut -f2) $SLURM_CPU_BIND_LIST'


def cpu_list(text):
    out = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        out += range(int(low), int(high or low) + 1)
    return out


class Srun(ClusterCase):
    NODES, CONF = 4, CONF

    def in_job(self, options, script, **more):
        """Standard output of a shell script in an allocation."""
        return self.out("salloc", *options.split(), "sh", "-c", script, **more)

    def masks(self, *options, shell=WHERE):
        """For each task its node and the mask that Slurm's variable names; the process's own CPUs must agree with it."""
        real = sorted(os.sched_getaffinity(0))
        found = {}
        lines = sorted(self.out("srun", *options, "sh", "-c", shell).splitlines(), key=lambda l: int(l.split()[0]))
        for line in lines:
            rank, node, cpus, *masks = line.split()
            local = [l.split()[1] for l in lines[:lines.index(line)]].count(node)
            mask = masks[0].split(",")[local] if masks else None
            bits = [i for i in range(32) if mask and int(mask, 16) >> i & 1]
            expected = sorted({real[b % len(real)] for b in bits}) if bits else real
            self.assertEqual(cpu_list(cpus), expected, f"{options}: {line}")
            found[int(rank)] = mask
        return [found[r] for r in sorted(found)]

    def test_cpu_bind(self):
        two = ("-w", "n1", "-n2", "--mincpus=8")  # two sockets of two cores of two threads, all of them
        self.assertEqual(self.masks(*two, "--cpu-bind=none"), [None, None])
        self.assertEqual(self.masks(*two, "--cpu-bind=rank"), ["0x1", "0x2"])
        self.assertEqual(self.masks(*two, "--cpu-bind=map_cpu:5,3"), ["0x20", "0x8"])
        self.assertEqual(self.masks(*two, "--cpu-bind=mask_cpu:0x6,0x9"), ["0x6", "0x9"])
        self.assertEqual(self.masks(*two, "--cpu-bind=threads"), ["0x1", "0x10"])
        self.assertEqual(self.masks(*two, "--cpu-bind=cores"), ["0x3", "0x30"])
        self.assertEqual(self.masks(*two, "--cpu_bind=sockets"), ["0xF", "0xF0"])

    def test_distribution_over_sockets(self):
        for order, expected in (("block:block", ["0x1", "0x2", "0x4"]), ("block:cyclic", ["0x1", "0x10", "0x4"])):
            self.assertEqual(self.masks("-w", "n1", "-n3", "--mincpus=8", "--cpu-bind=threads", "-m", order), expected)
        self.assertEqual(self.masks("-w", "n1", "-n2", "-c4", "--cpu-bind=threads", "-m", "*:fcyclic"),
                         ["0x33", "0xCC"])


if __name__ == "__main__":
    unittest.main()
