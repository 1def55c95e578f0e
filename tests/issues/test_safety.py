"""What users could see of one another, or do to daemons that are not theirs."""
import os
import pty
import re
import select
import signal
import socket
import subprocess
import threading
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE, BOB = 12071, 12072
SECRET = "a-password-of-the-accounting"


class Recorder(threading.Thread):
    """Passes connections on to a port and keeps what comes back."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to, self.kept = port, bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    if one is server:
                        self.kept += data
                    (client if one is server else server).sendall(data)


def on_terminal(cluster, *command):
    """What the command shows on a terminal."""
    main, other = pty.openpty()
    with subprocess.Popen([cluster.program(command[0]), *command[1:]], stdout=other, stdin=subprocess.DEVNULL, env=cluster.env,
                          cwd=cluster.work) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:
                break
            shown += data
        process.wait()
    os.close(main)
    return shown.decode(errors="replace").replace("\r\n", "\n")


class Leaks(ClusterCase):
    NODES, CPUS = 1, 4
    CONF = (f"PrivateData=jobs\nJobCompPass={SECRET}\nSlurmctldParameters=allow_user_triggers\n"
            "PartitionName=near Nodes=ALL Default=YES\nPartitionName=far Nodes=ALL AllocNodes=login1\n")

    @classmethod
    def setUpClass(cls):
        need_root()
        super().setUpClass()
        add_users(cls, ALICE, BOB)

    def test_the_configuration_is_told_without_its_password(self):
        """QueryConfig, which any user may ask, brought JobCompPass along."""
        with open(self.cluster.conf, encoding="utf-8") as f:
            conf = f.read()
        port = int(re.search(r"SlurmctldPort=(\d+)", conf)[1])
        recorder = Recorder(port)
        self.addCleanup(recorder.listener.close)
        path = os.path.join(self.cluster.dir, "through.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(conf.replace(f"SlurmctldPort={port}", f"SlurmctldPort={recorder.port}").replace(SECRET, "another"))
        os.chmod(path, 0o644)
        shown = self.out("scontrol", "show", "config", env={"SLURM_CONF": path}, user=ALICE)
        self.assertRegex(shown, r"JobCompPass\s+= \(hidden\)")
        self.assertIn(b"ClusterName", bytes(recorder.kept), "the answer was seen")
        self.assertNotIn(SECRET.encode(), bytes(recorder.kept))

    def test_agents_tell_of_ones_own_steps(self):
        """`scontrol show slurmd` listed everybody's steps in spite of PrivateData=jobs."""
        jobs = {user: self.submit("-o", "/dev/null", "--wrap", "sleep 1000", user=user) for user in (ALICE, BOB)}
        for user, job in jobs.items():
            wait_for(lambda u=user, j=job: self.out("squeue", "-h", "-j", j, "-o", "%T", user=u).strip() == "RUNNING", "it runs")
        shown = {user: re.search(r"Active Steps *= (.*)", self.out("scontrol", "show", "slurmd", user=user))[1]
                 for user in (ALICE, BOB, None)}
        self.assertEqual(shown[ALICE], f"{jobs[ALICE]}.batch")
        self.assertEqual(shown[BOB], f"{jobs[BOB]}.batch")
        self.assertEqual(shown[None], f"{jobs[ALICE]}.batch,{jobs[BOB]}.batch")
        for job in jobs.values():
            self.run_cmd("scancel", job)

    def test_who_asks_how_often_is_private(self):
        """`sdiag` told every user what all others had asked."""
        for user in (ALICE, BOB):
            self.out("squeue", user=user)
        def users_of(asker):
            text = self.out("sdiag", user=asker)
            return re.findall(r"sluicetest(\d+)", text[text.index("by user"):])
        self.assertEqual(users_of(ALICE), [str(ALICE)])
        self.assertLessEqual({str(ALICE), str(BOB)}, set(users_of(None)))

    def test_triggers_are_private(self):
        """`strigger --get` listed everybody's programs."""
        for user, program in ((ALICE, "/bin/true"), (BOB, "/bin/false")):
            self.run_cmd("strigger", "--set", "--down", f"--program={program}", user=user)
        self.assertIn("/bin/false", self.out("strigger", "--get", user=BOB))
        self.assertNotIn("/bin/false", self.out("strigger", "--get", user=ALICE))
        both = self.out("strigger", "--get")
        self.assertTrue("/bin/true" in both and "/bin/false" in both, both)
        self.run_cmd("strigger", "--clear", f"--user={ALICE}")
        self.run_cmd("strigger", "--clear", f"--user={BOB}")

    def test_a_job_comes_from_where_it_comes(self):
        """AllocNodes believed the name that the command gave its own host."""
        if subprocess.run(["unshare", "--uts", "true"], check=False).returncode:
            self.skipTest("no namespaces here")
        as_alice = f'hostname login1; exec setpriv --reuid={ALICE} --regid={ALICE} --clear-groups "$@"'  # root has the key
        done = subprocess.run(["unshare", "--uts", "sh", "-c", as_alice, "sh", self.cluster.program("sbatch"),
                               "-p", "far", "-o", "/dev/null", "--wrap", "true"], env=self.cluster.env, cwd=self.cluster.work,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "sbatch: error: Batch job submission failed: Access/permission denied\n"))
        job = self.submit("-H", "-p", "near", "-o", "/dev/null", "--wrap", "true", user=ALICE)
        self.assertEqual(self.show(job)["AllocNode:Sid"].split(":")[0], socket.gethostname().split(".")[0])
        self.run_cmd("scancel", job)

    def test_names_do_not_reach_terminals_as_orders(self):
        """A job's name could clear the screens of others, or forge lines in the controller's log."""
        name = "x\x1b[2Jy\nz"
        job = str(self.submit("-H", "-J", name, "-o", "/dev/null", "--wrap", "true"))
        self.assertIn("x?[2Jy?z", on_terminal(self.cluster, "squeue", "-h", "-j", job, "-o", "%j"))
        self.assertNotIn("\x1b", on_terminal(self.cluster, "scontrol", "show", "job", job))
        self.assertIn(name, self.out("squeue", "-h", "-j", job, "-o", "%j"), "for programs it is as it is")
        self.run_cmd("scancel", job)

    def test_texts_are_bounded(self):
        """What `scontrol notify` says is kept until every node has it, however long it was."""
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        done = self.run_cmd("scontrol", "notify", job, "x" * 5000, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("longer than 4096 bytes", done.stderr)
        self.run_cmd("scancel", job)
        done = self.run_cmd("sbatch", "--mail-user=|sh", "-o", "/dev/null", "--wrap", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--mail-user takes addresses", done.stderr)


class SlowMailer(ClusterCase):
    NODES, CPUS = 1, 8
    CONF = "MailProg={dir}/mailer\nPrologSlurmctld={dir}/prolog\n"
    FILES = {"mailer": '#!/bin/sh\nwhile [ -d {dir}/work ] && [ ! -e {dir}/work/go ]; do sleep 0.05; done\necho "$2" >> {dir}/work/mails\n',
             "prolog": "#!/bin/sh\ntrue\n"}

    def test_mails_hold_nothing_up_and_come_in_order(self):
        """Four mailers that hung kept every PrologSlurmctld from running; and a job's Began could come after its Ended."""
        jobs = [self.submit("--mail-type=BEGIN,END", "-o", "/dev/null", "--wrap", "true") for _ in range(8)]
        for job in jobs:
            self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("mails"), "", "the mailers still wait")
        with open(os.path.join(self.cluster.work, "go"), "w", encoding="ascii"):
            pass
        wait_for(lambda: len(self.file("mails").splitlines()) == 16, "all mails are sent")
        for job in jobs:
            kinds = re.findall(rf"Job_id={job} Name=\S+ (\w+)", self.file("mails"))
            self.assertEqual(kinds, ["Began", "Ended"])


class Steps(ClusterCase):
    NODES, CPUS = 1, 4

    def test_argv0_is_the_path_that_was_found(self):
        self.assertEqual(self.out("srun", "sh", "-c", "echo $0"), subprocess.run(
            ["sh", "-c", "command -v sh"], env=self.cluster.env, capture_output=True, text=True, check=True).stdout)

    def test_a_vanished_folder_is_not_made_again(self):
        """A job whose folder was gone made it anew, for its output."""
        folder = os.path.join(self.cluster.work, "gone")
        os.mkdir(folder)
        job = self.submit("-H", "-o", "below/%j", "--wrap", "true", cwd=folder)
        os.rmdir(folder)
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "FAILED")
        self.assertFalse(os.path.exists(folder))
        job = self.submit("-o", "below/%j", "--wrap", "echo here")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(f"below/{job}"), "here\n", "folders below it are made")

    def test_a_task_epilog_that_is_killed_is_reported(self):
        path = os.path.join(self.cluster.work, "epilog")
        for text in ("kill -9 $$", "exec sleep 1000"):  # it has five seconds
            with open(path, "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
            done = self.run_cmd("srun", f"--task-epilog={path}", "echo", "ran")
            self.assertEqual((done.stdout, done.stderr), ("ran\n", "slurmstepd: error: TaskEpilog failed status=9\n"), text)

    def test_two_interrupts_cancel_the_job_of_an_srun(self):
        """It counted as FAILED."""
        srun = self.cluster.start("srun", "-J", "interrupted", "sh", "-c", "echo up; exec sleep 1000", stdout=-1, stderr=-1)
        self.addCleanup(srun.kill)
        self.assertEqual(srun.stdout.readline(), "up\n")
        job = self.out("squeue", "-h", "-n", "interrupted", "-o", "%i").strip()
        srun.send_signal(signal.SIGINT)
        self.assertEqual(srun.stderr.readline(), "srun: interrupt (one more within 1 sec to abort)\n")
        srun.send_signal(signal.SIGINT)
        srun.communicate(timeout=60)
        self.assertEqual(srun.returncode, 130)
        self.assertEqual(self.wait_ended(job), "CANCELLED")


class NamespaceFile(unittest.TestCase):
    def test_it_is_not_ignored(self):
        """namespace.yaml beside NamespaceType=namespace/linux was passed over without a word."""
        from harness import Cluster  # a cluster that does not start
        with self.assertRaises(AssertionError) as refused:
            Cluster(nodes=1, conf="NamespaceType=namespace/linux\n", files={"namespace.yaml": "defaults:\n  base_path: /tmp\n"}).down()
        self.assertIn("namespace.yaml: it is not read here", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
