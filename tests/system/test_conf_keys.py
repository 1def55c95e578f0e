"""Keys that bound how long somebody waits, and those about syslog."""
import os
import re
import socket
import subprocess
import threading
import time
import unittest

from harness import ClusterCase, jobs_of, wait_for

DEVICES = ("null", "zero", "full", "random", "urandom")
# runs "$@" with the folder $0 as its /dev
PRIVATE_DEV = f"""
for device in {' '.join(DEVICES)}; do mount --bind "/dev/$device" "$0/$device"; done
mount --rbind "$0" /dev
exec "$@"
"""


def has_namespaces():
    probe = ["unshare", "-m", "true"]
    return os.geteuid() == 0 and subprocess.run(probe, capture_output=True, check=False).returncode == 0


class Syslog:
    """What comes to /dev/log of programs that `inside` starts. A thread reads it: a full socket would hold them up."""

    def __init__(self, folder):
        os.mkdir(folder)
        for device in DEVICES:
            open(os.path.join(folder, device), "w", encoding="utf-8").close()
        self.inside = ["unshare", "-m", "sh", "-ec", PRIVATE_DEV, folder]
        self.lines = []
        self.over = threading.Event()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(os.path.join(folder, "log"))
        os.chmod(os.path.join(folder, "log"), 0o666)
        self.socket.settimeout(0.1)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while not self.over.is_set():
            try:
                self.lines.append(self.socket.recv(65536).decode(errors="replace"))
            except TimeoutError:
                pass

    def wait_for(self, pattern):
        wait_for(lambda: [line for line in self.lines if re.search(pattern, line)], f"syslog is told {pattern}")

    def stop(self):
        self.over.set()
        self.reader.join()
        self.socket.close()


class Keys(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = ("HealthCheckProgram={dir}/health\nHealthCheckInterval=1\nHealthCheckTimeout=1\nEioTimeout=1\n"
            "SlurmctldSyslogDebug=info\nSlurmdSyslogDebug=info\nLogTimeFormat=rfc5424\n")
    FILES = {"health": "#!/bin/sh\necho ran >> {dir}/work/health.ran\n[ -e {dir}/work/healthy ] || exec sleep 100\n",
             "epilog": "#!/bin/sh\nexec sleep 45\n"}

    @classmethod
    def heal(cls):
        """From now on checks end; none hangs. An agent that is gone could not end it."""
        path = os.path.join(cls.cluster.work, "healthy")
        open(path, "w", encoding="utf-8").close()
        wait_for(lambda: not jobs_of(cls.cluster.conf), "no health check hangs any more")
        return path

    @classmethod
    def tearDownClass(cls):
        cls.heal()
        super().tearDownClass()

    def start_with(self, log, daemon, *options):
        subprocess.run([*log.inside, self.cluster.daemon(daemon), "-f", self.cluster.conf, *options], check=True,
                       env=self.cluster.env)

    def test_log_time_format(self):
        for log in ("sluicectld", "n1"):
            lines = self.cluster.log(log).splitlines()
            self.assertTrue(lines)
            for line in lines:
                self.assertRegex(line, r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d\] ")

    def test_health_check_timeout(self):  # HealthCheckTimeout is a minute otherwise
        wait_for(lambda: len(self.file("health.ran").split()) >= 3, "checks that hang are ended")

    def test_eio_timeout(self):  # EioTimeout: the epilog of the task keeps its error stream open
        epilog = os.path.join(self.cluster.dir, "epilog")
        done = self.run_cmd("srun", "-n1", f"--task-epilog={epilog}", "echo", "hello")
        self.assertEqual(done.stdout, "hello\n")
        self.assertRegex(done.stderr, r"srun: error: StepId=\d+\.0: the streams of node n1 stay open ")
        self.wait_no_jobs()

    def test_tcp_timeout(self):
        """TCPTimeout, 2 seconds otherwise: for one connection, here to a port that has no room for it."""
        path = os.path.join(self.cluster.dir, "far.conf")
        with socket.socket() as port, socket.socket() as first, socket.socket() as second:
            port.bind(("127.0.0.1", 0))
            port.listen(0)
            for client in (first, second):
                client.setblocking(False)
                client.connect_ex(port.getsockname())
            with open(self.cluster.conf, encoding="utf-8") as f:
                text, count = re.subn(r"(?m)^SlurmctldPort=\d+$", f"SlurmctldPort={port.getsockname()[1]}", f.read())
            self.assertEqual(count, 1)
            self.assertNotRegex(text, "(TCP|Message)Timeout")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text + "\nTCPTimeout=4\nMessageTimeout=6\n")
            began = time.monotonic()
            done = self.run_cmd("sinfo", env={"SLURM_CONF": path}, check=False)
            took = time.monotonic() - began
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Unable to contact slurm controller", done.stderr)
        self.assertGreaterEqual(took, 4)
        self.assertLess(took, 50)

    @unittest.skipUnless(has_namespaces(), "needs a /dev of its own")
    def test_syslog(self):  # SlurmctldSyslogDebug and SlurmdSyslogDebug, beside the files of the log
        self.addCleanup(os.remove, self.heal())
        log = Syslog(os.path.join(self.cluster.dir, "dev"))
        self.addCleanup(log.stop)
        self.cluster.kill_controller()
        self.start_with(log, "sluicectld")
        log.wait_for(r"slurmctld\[\d+\]: slurmctld version \S+ started")
        self.cluster.kill_node("n1")
        self.start_with(log, "sluicenoded", "-N", "n1")
        log.wait_for(r"slurmd\[\d+\]: slurmd version \S+ started as node n1")


if __name__ == "__main__":
    unittest.main()
