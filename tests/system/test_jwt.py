"""auth/jwt: scontrol token, and commands that come with SLURM_JWT."""
import os
import unittest

from harness import Cluster, ClusterCase, add_users, need_root

ALICE, BOB = 61541, 61542


def make_key(folder):
    path = os.path.join(folder, "jwt.key")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
        f.write(os.urandom(32))


class JwtCase(ClusterCase):
    """A cluster that takes tokens, with users USERS."""
    NODES, CPUS = 1, 2
    CONF = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={dir}/jwt.key,max_token_lifespan=600\n"
    USERS = (ALICE, BOB)

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, *cls.USERS)
        cls.cluster = Cluster(cls.NODES, cls.CPUS, cls.MEMORY, cls.CONF, prepare=make_key)

    def token(self, *words, **options):
        text = self.out("scontrol", "token", *words, **options)
        self.assertRegex(text, r"^SLURM_JWT=[\w-]+\.[\w-]+\.[\w-]+\n$")
        return {"SLURM_JWT": text.strip().split("=", 1)[1]}


class Jwt(JwtCase):
    def test_tokens(self):
        alice = self.token(f"username=sluicetest{ALICE}", "lifespan=60")
        # whoever holds it is that user: nobody's own proof is asked for
        job = self.submit("-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", env=alice, user=BOB)
        self.assertEqual(self.show(job)["UserId"], f"sluicetest{ALICE}({ALICE})")
        bob = self.token("lifespan=infinite", f"username=sluicetest{BOB}")
        self.fails(210, f"scancel: error: Kill job error on job id {job}: Access/permission denied\n", "scancel", job, env=bob)
        self.run_cmd("scancel", job, env=alice)
        self.wait_ended(job)

    def test_privileged_calls(self):
        root = self.token("lifespan=60")
        for command, undo in ((("create", "PartitionName=extra", "Nodes=n1"), ("delete", "PartitionName=extra")),
                              (("update", "NodeName=n1", "Weight=2"), ("update", "NodeName=n1", "Weight=1")),
                              (("setdebug", "debug"), ("setdebug", "info"))):
            with self.subTest(command=command):
                alice = self.token("lifespan=60", f"username=sluicetest{ALICE}")
                self.assertNotEqual(self.run_cmd("scontrol", *command, env=alice, check=False).returncode, 0)
                self.run_cmd("scontrol", *command, env=root, user=BOB)
                self.run_cmd("scontrol", *undo, env=root, user=BOB)
        # as for root without a token: a job is for the user who asks
        job = self.submit("-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", env=root, user=BOB)
        self.assertEqual(self.show(job)["UserId"], f"sluicetest{BOB}({BOB})")
        self.run_cmd("scancel", job)

    def test_who_may_have_one(self):
        self.token("lifespan=60", user=ALICE)
        denied = "scontrol: error: slurm_fetch_token: error with request: Invalid user id\nError fetching token\n"
        self.fails(1, denied, "scontrol", "token", "lifespan=60", "username=root", user=ALICE)
        done = self.run_cmd("scontrol", "token", "lifespan=601", user=ALICE, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.token("lifespan=601")
        self.fails(1, "Invalid option: `foo`\n", "scontrol", "token", "foo")

    def test_bad_tokens(self):
        good = self.token()["SLURM_JWT"]
        head, claims, signature = good.split(".")
        for bad in ("x", good[:-2], f"{head}.{claims}.{signature[::-1]}", good + "A"):
            done = self.run_cmd("squeue", env={"SLURM_JWT": bad}, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), bad)
            self.assertIn("token", done.stderr)
        unknown = self.token("username=nobody-of-this-name")
        self.assertIn("is not known here", self.run_cmd("squeue", env=unknown, check=False).stderr)


class Without(ClusterCase):
    NODES = 1

    def test_off(self):
        self.fails(1, "Error fetching token\n", "scontrol", "token")


if __name__ == "__main__":
    unittest.main()
