"""TLSType=tls/s2n: a cluster whose connections are all encrypted, and what it refuses."""
import base64
import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from accounting import AccountedCluster
from harness import Cluster, ClusterCase, free_ports, need_root, wait_for

LOOPBACK_BUFFER = 64 << 20  # bytes; nothing that passes meanwhile may be lost
SO_RCVBUFFORCE = 33


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True)


def make_signed(folder, name, ca, days):
    """NAME.pem and NAME.key in the folder, for the controller, signed by the files CA.pem and CA.key; a negative number of days has passed."""
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", name + ".key", cwd=folder)
    openssl("req", "-new", "-key", name + ".key", "-subj", "/CN=slurmctld", "-out", name + ".csr", cwd=folder)
    openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial", "-days", str(days),
            "-out", name + ".pem", cwd=folder)


class Sniffer:
    """Whether a text passes over loopback while it is there."""

    def __init__(self, text):
        self.text, self.seen, self.bytes = text.encode(), False, 0
        self.end = "end" + secrets.token_hex(16)  # passes when all that is looked for has
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, LOOPBACK_BUFFER)
        self.socket.bind(("lo", 0))
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        packet = b""
        while self.end.encode() not in packet:
            packet = self.socket.recv(1 << 17)
            self.bytes += len(packet)
            self.seen = self.seen or self.text in packet

    def stop(self):
        while self.thread.is_alive():  # again where its buffer was full
            say_in_plain_text(self.end)
            self.thread.join(1)
        self.socket.close()
        return self.seen


def say_in_plain_text(text):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(text.encode())
        server.accept()[0].close()


class TlsWithAccounting(unittest.TestCase):
    def test_records_and_questions(self):
        cluster = AccountedCluster(1, 4, conf="TLSType=tls/s2n\n")
        self.addCleanup(cluster.down)
        with open(cluster.dbd_conf, encoding="utf-8") as f:
            port = int(re.search(r"^DbdPort=(\d+)", f.read(), re.M)[1])
        word = "word" + secrets.token_hex(16)
        sniffer = Sniffer(word)
        job = cluster.run("sbatch", "--parsable", "-J", word, "-o", "/dev/null", "--wrap", "true").stdout.strip()
        wait_for(lambda: cluster.sacct("-X", "-j", job, "-o", "JobName,State") == [[word, "COMPLETED"]], "sacct knows the job's end")
        cluster.run("sacctmgr", "-i", "add", "account", word)
        self.assertIn(word, cluster.run("sacctmgr", "-nP", "list", "account").stdout)
        self.assertFalse(sniffer.stop(), "what the accounting daemon was told was seen")
        shown = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", os.path.join(cluster.dir, "ca_cert.pem"),
                                "-verify_return_error", "-verify_hostname", "slurmdbd"], input="", capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("Verification: OK", shown.stdout)
        # who does not speak it is refused, and so is one who shows another daemon's certificate
        with open(cluster.conf, encoding="utf-8") as f:
            plain = f.read().replace("TLSType=tls/s2n", "")
        with open(os.path.join(cluster.dir, "plain.conf"), "w", encoding="utf-8") as f:
            f.write(plain)
        done = cluster.run("sacct", check=False, env={"SLURM_CONF": os.path.join(cluster.dir, "plain.conf")})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TLS", done.stderr)
        for kind in ("cert", "cert_key"):
            shutil.copy(os.path.join(cluster.dir, f"slurmd_{kind}.pem"), os.path.join(cluster.dir, f"dbd_{kind}.pem"))
        done = cluster.run("sacct", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the certificate is that of", done.stderr)


class Tls(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "TLSType=tls/s2n\nAuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={dir}/jwt.key\nDebugFlags=TLS\n"

    @classmethod
    def setUpClass(cls):
        def key(folder):
            with open(os.open(os.path.join(folder, "jwt.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                f.write(os.urandom(32))
        cls.cluster = Cluster(cls.NODES, cls.CPUS, cls.MEMORY, cls.CONF, prepare=key)
        with open(cls.cluster.conf, encoding="utf-8") as f:
            cls.port = int(re.search(r"^SlurmctldPort=(\d+)", f.read(), re.M)[1])

    def path(self, name):
        return os.path.join(self.cluster.dir, name)

    def other_conf(self, name, change, *files):
        """A folder with the cluster's slurm.conf, changed, its key and these of its files."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        self.addCleanup(shutil.rmtree, folder)
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(folder, "slurm.conf"), "w", encoding="utf-8") as f:
            f.write(change(text))
        for file in ("slurm.key", *files):
            shutil.copy(self.path(file), folder)
        return {"SLURM_CONF": os.path.join(folder, "slurm.conf")}

    def test_files(self):
        for name, mode in (("ca_cert.pem", 0o644), ("ctld_cert.pem", 0o644), ("slurmd_cert.pem", 0o644), ("ctld_cert_key.pem", 0o600),
                           ("slurmd_cert_key.pem", 0o600), ("state/ca_cert_key.pem", 0o600)):
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, mode, name)

    def test_jobs(self):
        job = self.submit("-N2", "-o", "batch.out", "--wrap", "echo batch; srun -l hostname -s")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(len(self.file("batch.out").splitlines()), 3)
        self.assertEqual(self.out("srun", "-N2", "cat", stdin="input\n"), "input\ninput\n")
        big = self.out("srun", "head", "-c", "3000000", "/dev/zero")
        self.assertEqual(len(big), 3000000)

    def test_sattach_and_sbcast(self):
        job = self.submit("-N2", "-o", "/dev/null", "--wrap", "srun sh -c 'while [ ! -e go ]; do echo attached; sleep 0.1; done'")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-s", "-h", "-o", "%i"), "the step runs")
        attached = self.cluster.start("sattach", f"{job}.0", stdout=subprocess.PIPE)
        self.assertEqual(attached.stdout.readline(), "attached\n")
        open(os.path.join(self.cluster.work, "go"), "w", encoding="utf-8").close()
        attached.communicate(timeout=60)
        self.wait_ended(job)
        with open(os.path.join(self.cluster.work, "file"), "wb") as f:
            f.write(os.urandom(3 << 20))
        done = self.run_cmd("salloc", "-N2", "sh", "-c", f"sbcast -f file {self.cluster.work}/copy && cmp file copy")
        self.assertEqual(done.stdout, "")

    def test_nothing_goes_in_plain_text(self):
        word = "word" + secrets.token_hex(16)
        control = Sniffer(word)
        say_in_plain_text(word)
        self.assertTrue(control.stop(), "what goes in plain text is seen")
        sniffer = Sniffer(word)
        job = self.submit("-N2", "-o", "secret.out", "--comment", word, "--wrap", f"echo {word}; srun -N2 echo {word}", env={"A_VARIABLE": word})
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("secret.out").split(), [word] * 3)
        self.assertEqual(self.out("srun", "-N2", "sh", "-c", f"cat; echo {word}", stdin=word).count(word), 4)
        self.assertIn(word, self.out("scontrol", "show", "job", str(job)))
        self.assertFalse(sniffer.stop(), "what the jobs said was seen")
        self.assertGreater(sniffer.bytes, 10000)

    def test_a_command_without_tls(self):
        env = self.other_conf("plain", lambda text: text.replace("TLSType=tls/s2n", "TLSType=tls/none"))
        done = self.run_cmd("squeue", check=False, env=env)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("speaks TLS alone, and this host none", done.stderr)
        wait_for(lambda: re.search(r"TLS: 127\.0\.0\.1:\d+ was refused: it does not speak TLS", self.cluster.log()), "the controller says whom it refused")

    def test_a_node_without_tls(self):
        """Its log said "Socket closed"."""
        port = free_ports(1)
        os.makedirs(self.path("bare"))
        env = self.other_conf("bare", lambda text: text.replace("TLSType=tls/s2n", "TLSType=tls/none").replace(
            f"{self.cluster.dir}/log", self.path("bare")).replace(f"{self.cluster.dir}/run", self.path("bare")) +
                              f"NodeName=n9 NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} CPUs=1\n")
        agent = subprocess.Popen([self.cluster.daemon("sluicenoded"), "-D", "-f", env["SLURM_CONF"], "-N", "n9"], env=self.cluster.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in agent.stderr:
            if "cannot register with the controller" in line:
                break
        agent.terminate()
        agent.communicate()
        self.assertIn("speaks TLS alone, and this host none: TLSType of its slurm.conf", line)

    def test_another_ca(self):
        env = self.other_conf("other", lambda text: text)
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.key", cwd=self.path("other"))
        openssl("req", "-x509", "-new", "-key", "other.key", "-subj", "/CN=x", "-days", "10", "-out", "ca_cert.pem", cwd=self.path("other"))
        done = self.run_cmd("sbatch", "--wrap", "true", check=False, env=env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the certificate is not of the CA that is trusted here", done.stderr)
        os.remove(self.path("other/ca_cert.pem"))
        done = self.run_cmd("sinfo", check=False, env=env)
        self.assertIn("other/ca_cert.pem: No such file or directory", done.stderr)

    @contextlib.contextmanager
    def false_controller(self, folder, name):
        """Speaks TLS by these files, and closes each connection after that; gives its port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key"))
        server = socket.create_server(("127.0.0.1", 0))
        said = []

        def serve():
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as one:
                    said.append(one.recv(4096))
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], said
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()

    def test_a_certificate_that_has_expired(self):
        folder = self.path("expired")
        os.mkdir(folder)
        shutil.copy(self.path("ca_cert.pem"), os.path.join(folder, "ca.pem"))
        shutil.copy(self.path("state/ca_cert_key.pem"), os.path.join(folder, "ca.key"))
        make_signed(folder, "old", "ca", -1)
        with self.false_controller(folder, "old") as (port, said):
            env = self.other_conf("expired", lambda text: re.sub(r"(?m)^SlurmctldPort=.*", f"SlurmctldPort={port}", text), "ca_cert.pem")
            done = self.run_cmd("scancel", "1", check=False, env=env)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TLS: the certificate has expired", done.stderr)
        self.assertEqual([word for word in said if word], [], "nothing was said to it")

    def served_certificate(self):
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    def test_renewal(self):
        before = self.served_certificate()
        pids = {self.cluster.controller_pid(), self.cluster.node_pid("n1")}
        made = subprocess.run([self.cluster.daemon("slurmctld"), "-f", self.cluster.conf, "--make-certificates"], env=self.cluster.env,
                              check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual([os.path.basename(name) for name in made],
                         ["ctld_cert_key.pem", "ctld_cert.pem", "slurmd_cert_key.pem", "slurmd_cert.pem"])
        wait_for(lambda: self.served_certificate() != before, "the controller shows the new certificate")
        self.assertIn("ctld_cert.pem was renewed", self.cluster.log())
        self.assertEqual(self.out("srun", "-N2", "echo", "renewed"), "renewed\n" * 2)
        self.assertEqual({self.cluster.controller_pid(), self.cluster.node_pid("n1")}, pids)

    def test_tokens_live_an_hour(self):
        token = self.out("scontrol", "token").strip().removeprefix("SLURM_JWT=")
        claims = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        self.assertEqual(claims["exp"] - claims["iat"], 3600)
        self.assertEqual(self.run_cmd("squeue", "-h", env={"SLURM_JWT": token}).stderr, "")

    def refused_daemon(self, name, *options):
        done = subprocess.run([self.cluster.daemon(name), "-D", *options], env=self.cluster.env, capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stdout + done.stderr

    def test_refused_at_the_start(self):
        conf = self.other_conf("unknown", lambda text: text.replace("TLSType=tls/s2n", "TLSType=tls/rot13"))["SLURM_CONF"]
        self.assertIn("TLSType", self.refused_daemon("slurmctld", "-f", conf))
        def elsewhere(text):
            text = re.sub(r"(?m)^SlurmctldLogFile=.*\n", "", text)
            text = re.sub(r"(?m)^SlurmctldPidFile=.*", f"SlurmctldPidFile={self.path('lacking')}/pid", text)
            text = re.sub(r"(?m)^StateSaveLocation=.*", f"StateSaveLocation={self.path('lacking')}/state", text)
            return text + "TLSParameters=ca_cert_file=/nowhere/ca.pem\n"
        conf = self.other_conf("lacking", elsewhere)["SLURM_CONF"]
        os.mkdir(self.path("lacking/state"))
        self.assertIn("/nowhere/ca.pem: No such file or directory", self.refused_daemon("slurmctld", "-f", conf))


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
