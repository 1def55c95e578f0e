"""--x11: programs on the nodes reach the display of srun, with its cookie, and nobody else does."""
import os
import pwd
import shutil
import socket
import subprocess
import sys
import threading
import unittest

from harness import ClusterCase, add_users, wait_for

COOKIE = bytes(range(16))
NAME = b"MIT-MAGIC-COOKIE-1"

# connects to $DISPLAY with the cookie of $XAUTHORITY (or the one that is given) and prints what the display answers
CLIENT = r"""#!/usr/bin/python3
import os, socket, struct, sys
display = os.environ["DISPLAY"]
with open(os.environ["XAUTHORITY"], "rb") as f:
    data = f.read()
cookie = data[-16:] if len(sys.argv) < 2 else bytes.fromhex(sys.argv[1])
name = b"MIT-MAGIC-COOKIE-1"
s = socket.create_connection(("127.0.0.1", 6000 + int(display.split(":")[1].split(".")[0])))
s.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), 16) + name + b"\0\0" + cookie + b"more")
s.shutdown(socket.SHUT_WR) if len(sys.argv) > 2 else None
got = b""
while True:
    part = s.recv(65536)
    if not part: break
    got += part
mode = oct(os.stat(os.environ["XAUTHORITY"]).st_mode)[-3:]
line = f"{os.environ['SLURMD_NODENAME']} {display.split(':')[0]} {mode} {len(got)} {got[-5:].decode()}\n"
os.write(1, line.encode())  # at once: several may write to one pipe
"""


class Display:
    """Answers each client with whether its cookie was right, and a lot of bytes."""

    def __init__(self):
        self.seen, number = [], 60
        while True:
            self.server = socket.socket()
            try:
                self.server.bind(("127.0.0.1", 6000 + number))
                break
            except OSError:
                number += 1
        self.server.listen()
        self.name = f"localhost:{number}.0"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            data = b""
            while len(data) < 12 + 20 + 16 + 4:
                data += client.recv(65536) or b"?" * 64
            self.seen.append(data)
            client.sendall(b"x" * 3000000 + (b"right" if data[12:30] == NAME and data[32:48] == COOKIE and data[48:] == b"more" else b"wrong"))
            client.close()

    def stop(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


class DisplayCase(ClusterCase):
    FILES = {"client": CLIENT}

    def setUp(self):
        self.display = Display()
        self.addCleanup(self.display.stop)
        self.auth = os.path.join(self.cluster.dir, "Xauthority")
        subprocess.run(["xauth", "-f", self.auth, "add", self.display.name, ".", COOKIE.hex()], check=True, capture_output=True)
        self.env = {"DISPLAY": self.display.name, "XAUTHORITY": self.auth}
        self.client = os.path.join(self.cluster.dir, "client")


class X11(DisplayCase):
    NODES, CPUS = 3, 2

    def lines(self, *command):
        return sorted(self.out(*command, env=self.env).splitlines())

    def test_nodes(self):
        good = lambda node: f"{node} localhost 600 3000005 right"
        self.assertEqual(self.lines("srun", "-N3", "--x11", self.client), [good("n1"), good("n2"), good("n3")])
        show = ("sh", "-c", f"[ $DISPLAY = {self.display.name} ] && echo $SLURMD_NODENAME not || {self.client}")
        for nodes, expected in (("all", "n1 n2 n3"), ("first", "n1"), ("last", "n3"), ("batch", "n1")):
            lines = self.lines("srun", "-N3", f"--x11={nodes}", *show)
            self.assertEqual([l for l in lines if "not" not in l], [good(n) for n in expected.split()], nodes)
        self.assertEqual(self.lines("salloc", "-N2", "--x11", "srun", *show)[-2:], [good("n1"), good("n2")])
        # several connections at a time
        self.assertEqual(self.lines("srun", "-n1", "--x11", "sh", "-c", f"for i in 1 2 3 4; do {self.client} & done; wait"), [good("n1")] * 4)

    def test_cookie(self):  # the display's own one stays here, and who has none gets nothing
        before = len(self.display.seen)
        out = self.out("srun", "-n1", "--x11", "sh", "-c", f"{self.client} {'00' * 16}; {self.client} {COOKIE.hex()}", env=self.env)
        self.assertEqual(out, "n1 localhost 600 0 \n" * 2)
        self.assertEqual(len(self.display.seen), before)

    def test_the_file_goes(self):
        path = self.out("srun", "-n1", "--x11", "sh", "-c", "echo $XAUTHORITY", env=self.env).strip()
        self.assertRegex(path, r"^/tmp/\.Xauthority-\d+\.0-")
        wait_for(lambda: not os.path.exists(path), "the cookie's file is gone")

    def test_what_is_wrong(self):
        for command in ("srun", "salloc"):
            for env, words in (({"DISPLAY": ""}, "No DISPLAY variable set, cannot setup x11 forwarding."),
                               ({"DISPLAY": ":9999"}, "Cannot stat() local X11 socket `/tmp/.X11-unix/X9999`"),
                               ({"XAUTHORITY": "/not/there"}, "x11_get_xauth: Could not retrieve magic cookie. Cannot use X11 forwarding.")):
                done = self.run_cmd(command, "--x11", "true", env=dict(self.env, **env), check=False)
                self.assertEqual((done.returncode, done.stderr), (255, f"{command}: error: {words}\n"))

    @unittest.skipUnless(shutil.which("Xvfb") and shutil.which("xdpyinfo"), "no Xvfb")
    def test_a_real_display(self):
        reads, writes = os.pipe()
        auth = os.path.join(self.cluster.dir, "real")
        subprocess.run(["xauth", "-f", auth, "add", ":0", ".", COOKIE.hex()], check=True, capture_output=True)
        with open(auth, "rb") as f:
            wild = b"\xff\xff\0\0\0\0" + f.read()[-(2 + 18 + 2 + 16):]
        with open(auth, "wb") as f:
            f.write(wild)
        with subprocess.Popen(["Xvfb", "-displayfd", str(writes), "-auth", auth, "-nolisten", "tcp"],
                              pass_fds=[writes], stderr=subprocess.DEVNULL) as server:
            os.close(writes)
            with os.fdopen(reads, encoding="utf-8") as f:
                number = f.readline().strip()
            subprocess.run(["xauth", "-f", auth, "add", f":{number}", ".", COOKIE.hex()], check=True, capture_output=True)
            env = {"DISPLAY": f":{number}", "XAUTHORITY": auth}
            out = self.out("srun", "-w", "n2", "-n1", "--x11", "xdpyinfo", env=env)
            server.terminate()
        self.assertIn("vendor string:", out)
        self.assertIn("name of display:    localhost:", out)


# the cookie of $DISPLAY, as xauth lists it for this host
LISTED = 'n=${DISPLAY#*:}; n=${n%.*}; xauth list | sed -n "s,^[^ ]*/unix:$n  *MIT-MAGIC-COOKIE-1  *,,p"'


@unittest.skipIf(os.geteuid(), "needs root")
class HomeXauthority(DisplayCase):
    NODES, CPUS, USER = 1, 2, 12071
    CONF = "X11Parameters=home_xauthority\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, cls.USER)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.env["XAUTHORITY"] = shutil.copy(self.auth, self.cluster.work)  # a folder where users may lock it
        os.chown(self.env["XAUTHORITY"], self.USER, self.USER)
        home = pwd.getpwuid(self.USER).pw_dir
        os.makedirs(home)
        self.addCleanup(shutil.rmtree, home)
        os.chown(home, self.USER, self.USER)
        self.path = os.path.join(home, ".Xauthority")

    def test_the_users_own_file(self):
        """The cookie stands beside those for other displays, and goes with the step."""
        subprocess.run(["xauth", "-f", self.path, "add", ":5", ".", "ab" * 16],
                       check=True, capture_output=True)
        os.chown(self.path, self.USER, self.USER)
        with open(self.path, "rb") as f:
            before = f.read()
        script = f"echo $XAUTHORITY; {self.client} $({LISTED})"
        out = self.out("srun", "-n1", "--x11", "sh", "-c", script, env=self.env, user=self.USER)
        self.assertEqual(out, f"{self.path}\nn1 localhost 600 3000005 right\n")
        self.wait_no_jobs()
        with open(self.path, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [".Xauthority"])

    def test_no_file_yet(self):
        script = f'{self.client} $({LISTED}); ls -a /tmp | grep -c "^.Xauthority-$SLURM_JOB_ID"'
        out = self.run_cmd("srun", "-n1", "--x11", "sh", "-c", script, env=self.env, user=self.USER, check=False).stdout
        self.assertEqual(out, "n1 localhost 600 3000005 right\n0\n")

    def test_a_file_that_is_locked(self):
        open(self.path + "-c", "w", encoding="utf-8").close()
        done = self.run_cmd("srun", "-n1", "--x11", "true", env=self.env, user=self.USER, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"cannot lock {self.path}: File exists", done.stderr)


if __name__ == "__main__":
    if not shutil.which("xauth"):
        print("skipped: no xauth")
        sys.exit(77)
    unittest.main()
