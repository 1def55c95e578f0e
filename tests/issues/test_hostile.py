"""Senders that mean no good: what is not proved is not read, and no amount of it ends or stalls the controller."""
import os
import resource
import socket
import struct
import threading
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE = 61571


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(key, value):
    return b"\x00" + bytes([len(key)]) + key + bytes([len(value)]) + value


def call_headers(method, token=None):
    fields = (field(b":method", b"POST") + field(b":scheme", b"http") + field(b":path", b"/sluice/" + method) + field(b":authority", b"x") +
              field(b"content-type", b"application/grpc") + field(b"te", b"trailers"))
    return fields + (field(b"sluice-token-bin", token) if token else b"")


class Flood(threading.Thread):
    """A connection that begins many calls of a method and sends the beginning of a long message on each."""
    def __init__(self, port, method, streams, body):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(20)
        self.method, self.streams, self.body = method, streams, body

    def run(self):
        try:
            self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            for i in range(self.streams):
                stream = 2 * i + 1
                self.socket.sendall(frame(1, 4, stream, call_headers(self.method)))
                data = b"\0" + struct.pack(">I", 60 << 20) + b"x" * self.body
                for at in range(0, len(data), 16384):
                    self.socket.sendall(frame(0, 0, stream, data[at:at + 16384]))
        except OSError:
            pass  # it is thrown out: all the better

    def close(self):
        self.socket.close()


def memory_mib(pid, what="VmHWM"):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what)) // 1024


class Unknown(ClusterCase):
    """Whole messages were taken in before the token was looked at: 64 MB on each of 10,000 streams of each connection."""
    NODES, CPUS = 1, 2
    MOST_MIB = 1024  # what MemoryMax=1G allows

    def setUp(self):
        need_root()
        self.controller = self.cluster.controller_pid()
        # held here: where more is asked for the controller ends, as under MemoryMax=1G
        limit = (memory_mib(self.controller, "VmSize") + self.MOST_MIB) << 20
        resource.prlimit(self.controller, resource.RLIMIT_AS, (limit, limit))
        self.port = int(self.out("scontrol", "show", "config").split("SlurmctldPort")[1].split("=")[1].split()[0])

    def flood(self, method):
        floods = [Flood(self.port, method, streams=200, body=300 << 10) for _ in range(24)]
        for one in floods:
            self.addCleanup(one.close)
            one.start()
        for _ in range(10):
            self.assertEqual(self.out("squeue", "-h"), "")
        for one in floods:
            one.join(30)
        self.assertEqual(self.out("squeue", "-h"), "")
        self.assertEqual(self.cluster.controller_pid(), self.controller)
        self.assertLess(memory_mib(self.controller), self.MOST_MIB)
        for one in floods:
            one.close()

    def test_without_a_token(self):
        self.flood(b"SubmitJob")

    def test_what_anybody_may_ask(self):
        self.flood(b"Ping")

    def test_no_such_method(self):
        self.flood(b"Nonsense")

    def test_many_connections_that_say_nothing(self):
        quiet = []
        self.addCleanup(lambda: [one.close() for one in quiet])
        for _ in range(800):
            one = socket.create_connection(("127.0.0.1", self.port))
            one.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            quiet.append(one)
        self.assertEqual(self.out("squeue", "-h"), "")
        self.assertLess(memory_mib(self.controller), self.MOST_MIB)


class RateLimit(ClusterCase):
    """rl_enable was accepted and did nothing."""
    NODES, CPUS = 1, 2
    CONF = "SlurmctldParameters=rl_enable,rl_bucket_size=4,rl_refill_rate=4\n"

    def test_a_user_is_told_to_back_off(self):
        need_root()
        add_users(self, ALICE)
        for _ in range(12):
            self.assertEqual(self.out("squeue", "-h", user=ALICE), "")  # later, but well
        wait_for(lambda: "RPC rate limit exceeded by uid 61571 with QueryJobs, telling to back off" in self.cluster.log(), "it is logged")
        for _ in range(12):
            self.out("squeue", "-h")
        self.assertNotIn("exceeded by uid 0", self.cluster.log())


class Targets(ClusterCase):
    """`scancel 1_0-8388608:2,1-8388609:2` held the engine for minutes, whoever's job 1 was."""
    NODES, CPUS = 1, 2

    def test_nobody_waits_for_a_hostile_target(self):
        job = self.submit("-H", "-D", "/tmp", "-o", "/dev/null", "--array=0-3", "--wrap", "true")
        for text in (f"{job}_0-8388608:2,1-8388609:2", f"{job}_[" + "0-1000:2," * 9000 + "1]"):
            done = self.run_cmd("scontrol", "hold", text, check=False, limit_s=20)
            self.assertNotEqual(done.returncode, 0)
        done = self.run_cmd("sbatch", "-H", "-D", "/tmp", "--prefer=" + "a&" * 40000 + "a", "--wrap", "true", check=False, limit_s=20)
        self.assertNotEqual(done.returncode, 0)
        done = self.run_cmd("sbatch", "-H", "-D", "/tmp", "-w", "x" * 100000 + "[0-65535]", "--wrap", "true", check=False, limit_s=20)
        self.assertNotEqual(done.returncode, 0)
        self.run_cmd("scancel", job)
        self.wait_no_jobs()


if __name__ == "__main__":
    unittest.main()
