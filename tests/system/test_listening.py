"""Which addresses daemons and srun listen at: CommunicationParameters=NoCtldInAddrAny,NoInAddrAny, as `sluice up` writes it."""
import glob
import os
import re
import subprocess
import unittest

from harness import Cluster, ClusterCase, wait_for

LOOPBACK, ANY = "0100007F", "00000000"


def listening():
    """The address (the last 4 bytes of it, in hexadecimal) of each listening TCP socket, by inode."""
    found = {}
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    found[words[9]] = words[1].split(":")[0][-8:]
    return found


def addresses(pid):
    """Where the process listens."""
    sockets, found = listening(), set()
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
        except OSError:
            continue
        if match and match[1] in sockets:
            found.add(sockets[match[1]])
    return found


class Listening(ClusterCase):
    NODES, CPUS, WHERE = 1, 2, LOOPBACK

    def test_addresses(self):
        self.assertEqual(addresses(self.cluster.controller_pid()), {self.WHERE})
        self.assertEqual(addresses(self.cluster.node_pid("n1")), {self.WHERE})
        srun = self.cluster.start("srun", "sh", "-c", "echo up > srun.up; exec sleep 1000", stderr=subprocess.PIPE)
        self.addCleanup(srun.kill)
        wait_for(lambda: self.file("srun.up"), "the step runs")
        self.assertEqual(addresses(srun.pid), {self.WHERE})
        self.run_cmd("scancel", self.out("squeue", "-h", "-o", "%i").strip())
        srun.communicate(timeout=60)
        self.wait_no_jobs()
        # from within a job
        job = self.submit("-o", "inner.out", "--wrap", "srun echo inner")
        self.wait_ended(job)
        self.assertEqual(self.file("inner.out"), "inner\n")


class Everywhere(Listening):
    """Without a word of slurm.conf, as in Slurm."""
    CONF, WHERE = "CommunicationParameters=keepalivetime=60\n", ANY


class Up(unittest.TestCase):
    def test_what_it_tells_to_set(self):
        cluster = Cluster(1, 1)
        self.addCleanup(cluster.down)
        subprocess.run([cluster.program("sluice"), "down", "--dir", cluster.dir], check=True, stdout=subprocess.DEVNULL)
        place, name = os.path.split(cluster.dir)
        told = subprocess.run([cluster.program("sluice"), "up", "--nodes", "1", "--dir", name], cwd=place, check=True,
                              capture_output=True, text=True).stdout
        lines = "\n".join(line for line in told.splitlines() if line.startswith("export "))
        out = subprocess.run(["sh", "-c", f"{lines}\ncommand -v sinfo; sinfo -h -o %N"], env={"PATH": "/usr/bin:/bin"}, check=True,
                             capture_output=True, text=True).stdout
        found, nodes = out.splitlines()
        self.assertEqual((os.path.realpath(found), nodes), (os.path.realpath(cluster.program("sinfo")), "n1"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
