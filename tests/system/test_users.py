"""Two users: neither can touch the other's jobs; identity is proved, not believed."""
import os
import subprocess
import unittest

from harness import ClusterCase, need_root, wait_for

ALICE, BOB = 12001, 12002  # uids need a name to submit; setUpClass gives them one
TEAM = 12009  # a group that Alice is in besides her own


def add_user(uid):
    name = f"sluicetest{uid}"
    if subprocess.run(["id", name], capture_output=True, check=False).returncode:
        subprocess.run(["useradd", "-M", "-u", str(uid), "-s", "/bin/sh", name], check=True)
    return name


class Users(ClusterCase):
    @classmethod
    def setUpClass(cls):
        for uid in (ALICE, BOB):
            add_user(uid)
        subprocess.run(["groupadd", "-f", "-g", str(TEAM), "sluiceteam"], check=True)
        subprocess.run(["usermod", "-a", "-G", "sluiceteam", f"sluicetest{ALICE}"], check=True)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        for uid in (ALICE, BOB):
            subprocess.run(["userdel", f"sluicetest{uid}"], check=False, capture_output=True)
        subprocess.run(["groupdel", "sluiceteam"], check=False, capture_output=True)

    def job_of(self, user):
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000", user=user)
        self.wait_state(job, "RUNNING")
        return job

    def test_job_runs_as_its_user(self):
        job = self.submit("-o", f"id-{ALICE}", "--wrap", "id -u; id -g; umask; ls /proc/self/fd | wc -l", user=ALICE)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        lines = self.file(f"id-{ALICE}").split()
        self.assertEqual(lines[:2], [str(ALICE), str(ALICE)])
        self.assertEqual(os.stat(os.path.join(self.cluster.work, f"id-{ALICE}")).st_uid, ALICE)

    def test_groups_and_umask(self):
        """The groups are those that the node knows, whatever the command had; the umask is the command's."""
        tell = "id -G; umask; touch made-$SLURM_JOB_ID; echo $SLURM_JOB_ID"
        groups = f"{ALICE} {TEAM}"

        def check(text):
            found, mask, job = text.split("\n")[:3]
            self.assertEqual((found, mask), (groups, "0027"))
            self.assertEqual(os.stat(os.path.join(self.cluster.work, "made-" + job)).st_mode & 0o777, 0o640)
        masked = ("/bin/sh", "-c", 'umask 027; exec "$@"', "sh")
        self.run_cmd(*masked, "sbatch", "-W", "-o", "groups.out", "--wrap", tell, user=ALICE)
        check(self.file("groups.out"))
        check(self.out(*masked, "srun", "-n1", "sh", "-c", tell, user=ALICE))
        check(self.out(*masked, "salloc", "-Q", "srun", "-n1", "sh", "-c", tell, user=ALICE))

    def test_others_are_refused(self):
        job = self.job_of(ALICE)
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        before = self.out("scontrol", "show", "job", held)
        commands = [["scancel", job], ["scancel", "-s", "USR1", job], ["scancel", "-b", job], ["scancel", held],
                    ["scontrol", "hold", held], ["scontrol", "uhold", held], ["scontrol", "release", held],
                    ["scontrol", "requeue", job], ["scontrol", "requeuehold", job],
                    ["scontrol", "update", f"JobId={held}", "Comment=x"], ["scontrol", "update", f"JobId={job}", "TimeLimit=1"],
                    ["scontrol", "notify", job, "hello"], ["sattach", f"{job}.batch"],
                    ["srun", f"--jobid={job}", "--overlap", "true"]]
        for command in commands:
            with self.subTest(command=command):
                done = self.run_cmd(*command, user=BOB, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("Access/permission denied", done.stderr)
        script = self.run_cmd("scontrol", "write", "batch_script", job, "-", user=BOB, check=False)
        self.assertEqual((script.stdout, script.stderr), ("", "job script retrieval failed: Access/permission denied\n"))
        self.assertIn("sleep 1000", self.out("scontrol", "write", "batch_script", job, "-", user=ALICE))
        self.assertEqual(self.out("scontrol", "show", "job", held), before)
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job, held, user=ALICE)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_only_root_chooses_the_user(self):
        for command in (["sbatch", "--uid=0", "--wrap", "true"], ["srun", "--gid=0", "true"], ["salloc", f"--uid={BOB}", "true"]):
            done = self.run_cmd(*command, user=ALICE, check=False)
            option = command[1].split("=")[0]
            self.assertEqual((done.returncode, done.stderr), (255, f"{command[0]}: error: {option} only permitted by root user\n"))

    def test_root_runs_jobs_as_others(self):  # --uid, --gid; the group stays root's without --gid
        as_bob, own_group = f"{BOB} {BOB}\n", f"{BOB} 0\n"
        say = "echo $(id -u) $(id -g)"
        for options, said in ((["--uid", f"sluicetest{BOB}", "--gid", str(BOB)], as_bob), ([f"--uid={BOB}"], own_group)):
            with self.subTest(options=options):
                self.assertEqual(self.out("srun", *options, "sh", "-c", say), said)
                self.assertEqual(self.out("salloc", "-Q", *options, "sh", "-c", say + "; srun sh -c '" + say + "'"), said * 2)
                self.assertEqual(self.out("srun", "--gid", str(BOB), "sh", "-c", say), f"0 {BOB}\n")
                job = self.submit("-W", "-D", "/tmp", "-o", f"{self.cluster.work}/as-%j", *options, "--wrap", say)
                self.assertEqual(self.file(f"as-{job}"), said)
        for option in ("--uid", "--gid"):
            done = self.run_cmd("sbatch", option, "nobodyatall", "--wrap", "true", check=False)
            self.assertEqual((done.returncode, done.stderr), (255, f"sbatch: error: Invalid {option} specification\n"))

    def test_only_administrators_change_nodes(self):
        done = self.run_cmd("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=x", user=BOB, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("drain", self.out("sinfo", "-h", "-N", "-o", "%t"))

    def test_a_user_cannot_read_the_key(self):
        self.assertEqual(os.stat(os.path.join(self.cluster.dir, "slurm.key")).st_mode & 0o077, 0)


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
