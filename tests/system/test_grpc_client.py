"""A program in another language, which knows of Sluice only what proto/ says (tests/clients/grpc_client.py)."""
import glob
import json
import os
import subprocess
import unittest

from harness import ROOT
from test_jwt import JwtCase

ALICE, BOB = 61561, 61562
PYTHON = "/usr/bin/python3"  # which has Debian's python3-grpcio
CLIENT = os.path.join(ROOT, "tests", "clients", "grpc_client.py")


class GrpcClient(JwtCase):
    USERS = (ALICE, BOB)

    @classmethod
    def setUpClass(cls):
        if subprocess.run([PYTHON, "-c", "import grpc, google.protobuf"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("no python3-grpcio")
        super().setUpClass()
        cls.messages = os.path.join(cls.cluster.dir, "messages")
        os.mkdir(cls.messages)
        proto = os.path.join(ROOT, "proto")
        subprocess.run(["protoc", "-I" + proto, "--python_out=" + cls.messages, *glob.glob(proto + "/*.proto")], check=True)
        with open(cls.cluster.conf, encoding="utf-8") as conf:
            cls.address = "127.0.0.1:" + next(line.split("=")[1].strip() for line in conf if line.startswith("SlurmctldPort="))

    def ask(self, uid, *words, status=0):
        done = subprocess.run([PYTHON, CLIENT, self.address, self.messages, *map(str, words)], capture_output=True, text=True,
                              env={**self.token(f"username=sluicetest{uid}"), "PATH": "/usr/bin:/bin"}, cwd=self.cluster.work, check=False)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return json.loads(done.stdout)

    def script(self, text):
        path = os.path.join(self.cluster.work, self.id().rsplit(".", 1)[1] + ".sh")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        return path

    def test_submit_list_and_watch(self):
        job = self.ask(ALICE, "submit", self.script("id -u; exit 3\n"), "debug")
        self.assertEqual(self.ask(ALICE, "watch", job)[-1], "JOB_STATE_FAILED")
        self.assertIn({"id": job, "name": "from-python", "state": "JOB_STATE_FAILED"}, self.ask(BOB, "list"))
        shown = self.show(job)
        self.assertEqual((shown["UserId"], shown["ExitCode"]), (f"sluicetest{ALICE}({ALICE})", "3:0"))
        self.assertEqual(self.file(f"python-{job}.out"), f"{ALICE}\n")

    def test_cancel(self):
        job = self.ask(ALICE, "submit", self.script("sleep 1000\n"), "debug")
        self.assertEqual(self.ask(BOB, "cancel", job), 0)
        self.assertEqual(self.ask(ALICE, "cancel", job), 1)
        self.assertEqual(self.ask(ALICE, "watch", job)[-1], "JOB_STATE_CANCELLED")

    def test_refusals(self):
        refused = self.ask(ALICE, "submit", self.script("true\n"), "nowhere", status=1)
        self.assertEqual(refused, {"code": "FAILED_PRECONDITION", "text": "invalid partition specified: nowhere"})


if __name__ == "__main__":
    unittest.main()
