"""What was found on November 29: the memory of a CPU under MaxMemPerCPU, variables of jobs, and floods of HTTP/2."""
import contextlib
import os
import pwd
import re
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from accounting import AccountedCluster  # pylint: disable=wrong-import-position
from harness import UNDER_ASAN, ClusterCase, is_over, need_root, wait_for  # pylint: disable=wrong-import-position
from test_hostile import call_headers, frame, memory_mib  # pylint: disable=wrong-import-position


class Users(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PartitionName=debug Nodes=ALL Default=YES\nPartitionName=small Nodes=ALL MaxMemPerCPU=50\n"

    def printed(self, *options, script):
        path = os.path.join(self.cluster.work, "seventh.out")
        self.wait_ended(self.submit("-o", path, *options, "--wrap", script))
        with open(path, encoding="utf-8") as f:
            return f.read()

    def test_steps_of_a_job_that_got_more_cpus_for_its_memory(self):
        """Each step asked for the memory of one CPU for each, and was refused."""
        self.assertEqual("ran\n", self.out("srun", "-p", "small", "-n1", "--mem-per-cpu=100", "echo", "ran"))
        inside = f"echo $SLURM_MEM_PER_CPU; {self.cluster.program('srun')} echo ran"
        self.assertEqual("50\nran\n", self.printed("-p", "small", "-n1", "--mem-per-cpu=100", script=inside))

    def test_tasks_that_the_nodes_take(self):
        """SLURM_NTASKS was not set where `--ntasks-per-node` alone was given."""
        show = "echo $SLURM_NTASKS $SLURM_NPROCS $SLURM_TASKS_PER_NODE"
        self.assertEqual("2 2 2\n", self.printed("--ntasks-per-node=2", script=show))
        self.assertEqual("4 4 2(x2)\n", self.printed("-N1-2", "--ntasks-per-node=2", script=show))
        self.assertEqual("2 2 2\n", self.out("salloc", "-Q", "--ntasks-per-node=2", "sh", "-c", show))

    def test_a_file_that_was_cut_off(self):
        """Without its nodes it was taken, and each running job ended."""
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 300")
        self.wait_state(job, "RUNNING")
        before = self.cluster.change_conf(lambda text: text[:text.index("NodeName=")])
        try:
            done = self.run_cmd("scontrol", "reconfigure", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("it has no NodeName line", done.stderr)
            self.assertEqual("RUNNING", self.state(job))
        finally:
            with open(self.cluster.conf, "w", encoding="utf-8") as f:
                f.write(before)
            self.run_cmd("scancel", job)

    def test_variables_of_a_login(self):
        """MAIL was missing, and SHLVL was 0."""
        user = pwd.getpwuid(os.getuid()).pw_name
        self.assertEqual(f"/var/mail/{user} 1\n", self.printed("--export=NONE", script="echo $MAIL $SHLVL"))


class HttpFlood(threading.Thread):
    """Repeats frames without an end, reads what comes and drops it, and connects again as often as it is thrown out. `settles`:
    it acknowledges the server's settings; from then on gRPC bounds how many calls there are at a time."""
    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)

    def __init__(self, port, service, kind, tls=None):
        super().__init__(daemon=True)
        self.port, self.kind, self.tls, self.over, self.closed = port, kind, tls, False, 0
        self.headers = call_headers(b"Ping", service=service)

    def part(self, stream):
        if self.kind == "pings":
            return frame(6, 0, 0, b"12345678")
        if self.kind == "settings":
            return frame(4, 0, 0, struct.pack(">HI", 3, 100))
        begin = frame(1, 4, stream, self.headers)
        if self.kind == "calls":
            return begin + frame(0, 1, stream, b"\0\0\0\0\0")
        return begin if self.kind == "open" else begin + frame(3, 0, stream, struct.pack(">I", 8))

    def flood(self):
        with socket.create_connection(("127.0.0.1", self.port)) as plain, (
                self.tls.wrap_socket(plain) if self.tls else plain) as sock:
            sock.settimeout(10)
            sock.sendall(self.PREFACE)
            if self.kind == "settled resets":
                sock.recv(1 << 16)
                sock.sendall(frame(4, 1, 0))
            stream = 1
            while not self.over:
                sock.sendall(b"".join(self.part(stream + 2 * i) for i in range(100)))
                stream += 200
                sock.setblocking(False)
                try:
                    while sock.recv(1 << 16):
                        pass
                    return
                except (BlockingIOError, ssl.SSLWantReadError):
                    pass
                sock.settimeout(10)

    def run(self):
        while not self.over:
            with contextlib.suppress(OSError):  # it is thrown out
                self.flood()
            self.closed += 1


def growth_mib(pid, action):
    """The most that it takes meanwhile, beyond what it has now."""
    before = memory_mib(pid, "VmRSS")
    with open(f"/proc/{pid}/clear_refs", "w", encoding="utf-8") as f:
        f.write("5")  # the peak counts anew
    action()
    return memory_mib(pid) - before


class HttpFloods(unittest.TestCase):
    """One connection without a token took gigabytes of each daemon: calls beyond all bounds where nobody acknowledged the bound,
    calls that were cancelled at once (CVE-2023-44487), and pings. The controller needed a minute to stop after it."""
    KINDS = "calls", "open", "resets", "settled resets", "pings", "settings"
    MOST_MIB, SECONDS = 200, 3
    if UNDER_ASAN:
        MOST_MIB += 400

    def attack(self, name, pid, port, kind, honest, **options):
        service = {"controller": b"Controller", "agent": b"NodeAgent", "accounting": b"Accounting"}[name]
        flood = HttpFlood(port, service, kind, **options)

        def under_attack():
            flood.start()
            until = time.monotonic() + self.SECONDS
            while time.monotonic() < until:
                honest()
            flood.over = True
            flood.join()

        with self.subTest(daemon=name, kind=kind):
            self.assertLess(growth_mib(pid, under_attack), self.MOST_MIB)
            self.assertGreater(flood.closed, 1, "it is thrown out")
            honest()

    def start(self, conf=""):
        need_root()
        cluster = AccountedCluster(1, 2, conf=conf)
        self.addCleanup(cluster.down)
        config = cluster.run("scontrol", "show", "config").stdout
        return cluster, int(re.search(r"SlurmctldPort\s*= (\d+)", config)[1])

    def test_daemons_stay_small_and_answer(self):
        cluster, port = self.start()
        node = cluster.run("scontrol", "-o", "show", "node", "n1").stdout
        with open(cluster.dbd_conf, encoding="utf-8") as f:
            dbd_port = int(re.search(r"(?m)^DbdPort=(\d+)", f.read())[1])
        daemons = {"controller": (cluster.controller_pid(), port, ("squeue", "-h")),
                   "agent": (cluster.node_pid("n1"), int(re.search(r" Port=(\d+)", node)[1]), ("srun", "true")),
                   "accounting": (cluster.dbd_pid(), dbd_port, ("sacctmgr", "-nP", "list", "cluster"))}
        for name, (pid, its_port, question) in daemons.items():
            for kind in self.KINDS:
                self.attack(name, pid, its_port, kind, lambda words=question: cluster.run(*words))
        self.assertIn(" was closed: it cancels its calls as soon as they begin", cluster.log())
        self.assertIn(" was closed: it began more calls than a client may have at a time", cluster.log())
        controller = cluster.controller_pid()
        os.kill(controller, signal.SIGTERM)
        wait_for(lambda: is_over(controller), "the controller stops", 20)

    def test_encrypted_ones(self):
        cluster, port = self.start(conf="TLSType=tls/s2n\n")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.set_alpn_protocols(["h2"])
        for kind in self.KINDS:
            self.attack("controller", cluster.controller_pid(), port, kind, lambda: cluster.run("squeue", "-h"), tls=tls)


if __name__ == "__main__":
    unittest.main()
