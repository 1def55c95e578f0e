"""Senders that mean no good: what is not proved is not read, and no amount of it ends or stalls the controller."""
import collections
import os
import re
import resource
import socket
import struct
import threading
import time
import unittest

from accounting import AccountedCluster
from harness import Cluster, ClusterCase, add_users, need_root, wait_for

ALICE = 61571


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(key, value):
    return b"\x00" + bytes([len(key)]) + key + bytes([len(value)]) + value


def call_headers(method, bearer=None, service=b"Controller"):
    path = b"/sluice.v1." + service + b"/" + method
    fields = (field(b":method", b"POST") + field(b":scheme", b"http") + field(b":path", path) + field(b":authority", b"x") +
              field(b"content-type", b"application/grpc") + field(b"te", b"trailers"))
    if bearer:
        value = b"Bearer " + bearer.encode()
        assert 127 <= len(value) < 255  # a length of two bytes
        fields += b"\x00\x0dauthorization" + bytes([127, len(value) - 127]) + value
    return fields


class Flood(threading.Thread):
    """A connection that begins many calls of a method and sends on each as much of a long message as the server lets it."""
    def __init__(self, port, method, bearer=None, service=b"Controller", streams=8, mib=8):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.headers, self.streams, self.mib = call_headers(method, bearer, service), streams, mib
        self.changed = threading.Condition()
        self.window, self.first, self.windows, self.over, self.sent = 65535, 65535, {}, set(), 0

    def recv(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise OSError("closed")
            data += more
        return data

    def listen(self):
        try:
            while True:
                head = self.recv(9)
                kind, flags, stream = head[3], head[4], struct.unpack(">I", head[5:])[0]
                body = self.recv(int.from_bytes(head[:3], "big"))
                with self.changed:
                    if kind == 4 and not flags & 1:
                        values = dict(struct.unpack(">HI", body[at:at + 6]) for at in range(0, len(body), 6))
                        grown = values.get(4, self.first) - self.first
                        self.first += grown
                        self.windows = {key: value + grown for key, value in self.windows.items()}
                        self.socket.sendall(frame(4, 1, 0))
                    elif kind == 6 and not flags & 1:
                        self.socket.sendall(frame(6, 1, 0, body))
                    elif kind == 8 and stream == 0:
                        self.window += struct.unpack(">I", body)[0]
                    elif kind == 8:
                        self.windows[stream] = self.windows.get(stream, self.first) + struct.unpack(">I", body)[0]
                    elif kind == 3 or (kind == 1 and flags & 1):
                        self.over.add(stream)
                    self.changed.notify()
        except OSError:
            with self.changed:
                self.over = None
                self.changed.notify()

    def send(self, stream, data):
        """False: the call is over, or nothing more is taken for a while."""
        with self.changed:
            def ready():
                return self.over is None or stream in self.over or min(self.window, self.windows[stream]) >= len(data)
            if not self.changed.wait_for(ready, 2) or self.over is None or stream in self.over:
                return False
            self.window -= len(data)
            self.windows[stream] -= len(data)
            self.socket.sendall(frame(0, 0, stream, data))
            self.sent += len(data)
            return True

    def run(self):
        try:
            self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            threading.Thread(target=self.listen, daemon=True).start()
            streams = [2 * i + 1 for i in range(self.streams)]
            for stream in streams:
                with self.changed:
                    self.windows[stream] = self.first
                    self.socket.sendall(frame(1, 4, stream, self.headers))
                if not self.send(stream, b"\0" + struct.pack(">I", 20 << 20)):
                    continue
                for _ in range(self.mib * 64):
                    if not self.send(stream, b"x" * 16384):
                        break
        except (OSError, TypeError):
            pass  # it is thrown out: all the better

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # listen() sits on it
        except OSError:
            pass
        self.socket.close()


def memory_mib(pid, what="VmHWM"):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what)) // 1024


def hold(pid, mib):
    """Where it asks for more it ends, as under MemoryMax."""
    limit = memory_mib(pid, "VmSize") + mib << 20
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def make_key(folder):
    with open(os.open(os.path.join(folder, "jwt.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
        f.write(os.urandom(32))


class Floods(ClusterCase):
    """Whole messages were taken in before the token was looked at: 64 MB on each of 10,000 streams of each connection."""
    NODES, CPUS = 1, 2
    CONF = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={dir}/jwt.key\n"
    MOST_MIB = 1024  # what MemoryMax=1G allows

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE)
        cls.cluster = Cluster(cls.NODES, cls.CPUS, cls.MEMORY, cls.CONF, prepare=make_key)
        cls.controller, cls.agent = cls.cluster.controller_pid(), cls.cluster.node_pid("n1")
        for daemon in (cls.controller, cls.agent):
            hold(daemon, cls.MOST_MIB)
        cls.port = int(cls.cluster.run("scontrol", "show", "config").stdout.split("SlurmctldPort")[1].split("=")[1].split()[0])

    def flood(self, method, bearer=None, port=None):
        floods = [Flood(port or self.port, method, bearer) for _ in range(24)]  # 1.5 GiB
        for one in floods:
            self.addCleanup(one.close)
            one.start()
        for _ in range(5):
            self.assertEqual(self.out("squeue", "-h"), "")
        for one in floods:
            one.join(120)
        self.assertEqual(self.out("squeue", "-h"), "")
        self.assertEqual((self.cluster.controller_pid(), self.cluster.node_pid("n1")), (self.controller, self.agent))
        self.assertLess(max(memory_mib(self.controller), memory_mib(self.agent)), self.MOST_MIB)
        sent = sum(one.sent for one in floods) >> 20
        for one in floods:
            one.close()
        return sent

    def test_what_is_not_proved_is_not_taken(self):
        for method in (b"SubmitJob", b"Ping", b"Nonsense"):
            with self.subTest(method=method):
                self.assertLess(self.flood(method), 192)  # below 1 MiB on each stream

    def test_agents_take_no_more(self):
        port = int(self.out("scontrol", "-o", "show", "node", "n1").split(" Port=")[1].split()[0])
        for method in (b"LaunchStep", b"SendBlock", b"Fanout"):
            with self.subTest(method=method):
                self.assertLess(self.flood(method, port=port), 192)
        self.run_cmd("srun", "true")

    def test_a_user_has_room_for_some(self):
        text = self.out("scontrol", "token", f"username=sluicetest{ALICE}", "lifespan=600")
        self.assertLess(self.flood(b"SubmitJob", text.strip().split("=", 1)[1]), 1024)
        job = self.submit("-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", user=ALICE)
        self.run_cmd("scancel", job)
        self.wait_no_jobs()

    def test_many_connections_that_say_nothing(self):
        quiet = []
        self.addCleanup(lambda: [one.close() for one in quiet])
        for _ in range(800):
            one = socket.create_connection(("127.0.0.1", self.port))
            one.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            quiet.append(one)
        self.assertEqual(self.out("squeue", "-h"), "")
        self.assertLess(memory_mib(self.controller), self.MOST_MIB)


class AccountingFloods(unittest.TestCase):
    """The same of the accounting daemon, which many clusters may share."""
    MOST_MIB = 1024

    def test_what_is_not_proved_is_not_taken(self):
        need_root()
        cluster = AccountedCluster(1, 2)
        self.addCleanup(cluster.down)
        pid = cluster.dbd_pid()
        hold(pid, self.MOST_MIB)
        with open(cluster.dbd_conf, encoding="utf-8") as f:
            port = int(re.search(r"(?m)^DbdPort=(\d+)", f.read())[1])
        for method in (b"StoreHistory", b"LoadArchive", b"Ping", b"Nonsense"):
            with self.subTest(method=method):
                floods = [Flood(port, method, service=b"Accounting") for _ in range(24)]
                for one in floods:
                    self.addCleanup(one.close)
                    one.start()
                for _ in range(5):
                    self.assertEqual(cluster.run("sacctmgr", "-nP", "list", "cluster", "format=cluster").stdout, "trial\n")
                for one in floods:
                    one.join(120)
                self.assertLess(sum(one.sent for one in floods) >> 20, 192)
                for one in floods:
                    one.close()
        job = cluster.run("sbatch", "--parsable", "-W", "-o", "/dev/null", "--wrap", "true").stdout.strip()
        wait_for(lambda: [job, "COMPLETED"] in cluster.sacct("-X", "-o", "JobID,State"), "the job's record arrives")
        self.assertEqual(cluster.dbd_pid(), pid)
        self.assertLess(memory_mib(pid), self.MOST_MIB)


class Crowd(threading.Thread):
    """As many connections as a host may have and some more, that begin and prove nothing; the oldest is closed for each new one."""
    MOST = 4500

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.over, self.opened = port, False, 0

    def run(self):
        held = collections.deque()
        while not self.over:
            try:
                held.append(socket.create_connection(("127.0.0.1", self.port)))
                self.opened += 1
                held[-1].sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            except OSError:
                pass
            time.sleep(0.001)  # a client has as long to prove itself as a flood takes to fill a host's room
            if len(held) > self.MOST:
                held.popleft().close()
        for one in held:
            one.close()


class Crowded(ClusterCase):
    """Whoever opened 4096 connections without a token, and again, kept all others of his host away from the controller."""
    NODES, CPUS = 1, 2

    def test_a_crowd_keeps_nobody_out(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        port = int(self.out("scontrol", "show", "config").split("SlurmctldPort")[1].split("=")[1].split()[0])
        crowd = Crowd(port)
        self.addCleanup(crowd.join)
        self.addCleanup(lambda: setattr(crowd, "over", True))
        crowd.start()
        for _ in range(5):
            before = crowd.opened
            wait_for(lambda count=before: crowd.opened > count + Crowd.MOST, "the crowd is there")
            self.assertEqual(self.out("squeue", "-h"), "")
            self.run_cmd("srun", "true")


class RateLimit(ClusterCase):
    """rl_enable was accepted and did nothing."""
    NODES, CPUS = 1, 2
    CONF = "SlurmctldParameters=rl_enable,rl_bucket_size=2,rl_refill_rate=1\n"

    def test_a_user_is_told_to_back_off(self):
        need_root()
        add_users(self, ALICE)
        for _ in range(8):
            self.assertEqual(self.out("squeue", "-h", user=ALICE), "")  # later, but well
        wait_for(lambda: "RPC rate limit exceeded by uid 61571 with QueryJobs, telling to back off" in self.cluster.log(), "it is logged")
        for _ in range(12):
            self.out("squeue", "-h")
        self.assertNotIn("exceeded by uid 0", self.cluster.log())


class Texts(ClusterCase):
    """What a user brings with a job stays on the controller's disk: environments had no bound."""
    NODES, CPUS = 1, 2

    def submit_with(self, environment, *options):
        path = os.path.join(self.cluster.work, "variables")
        with open(path, "wb") as f:
            f.write(b"".join(b"V%d=" % i + b"x" * size + b"\0" for i, size in enumerate(environment)))
        return self.run_cmd("sbatch", "--parsable", "-H", "-D", "/tmp", "-o", "/dev/null", f"--export-file={path}", *options, check=False)

    def test_environments(self):
        held = self.submit_with([1 << 20] * 5 + [1000 << 10], "--wrap", "true")
        self.assertEqual((held.returncode, held.stderr), (0, ""))
        error = ("sbatch: error: the environment is longer than 6 MiB, which no program can be started with\n"
                 "sbatch: error: Batch job submission failed: Unexpected message received\n")
        for environment in ([1 << 20] * 6, [100] * (61 << 10), [16 << 20]):
            done = self.submit_with(environment, "--wrap", "true")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", error))
        self.run_cmd("scancel", held.stdout.strip())

    def test_scripts(self):
        """max_script_size is 4 MiB."""
        script = "#!/bin/sh\n"
        fits = script + "#" * ((4 << 20) - len(script) - 1) + "\n"
        self.run_cmd("scancel", self.submit("-H", "-D", "/tmp", "-o", "/dev/null", stdin=fits))
        done = self.run_cmd("sbatch", "-H", "-D", "/tmp", "-o", "/dev/null", stdin=fits + "#", check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, "", "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long\n"))


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
