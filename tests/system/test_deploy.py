"""The cluster as sites run it: under a SlurmUser, with munge, from an installed tree; and its end."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, Cluster, SBIN, add_users, jobs_of, need_root, pids_with, processes, wait_for

SLURM, ALICE = 12021, 12022


def uid_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return [int(line.split()[1]) for line in f if line.startswith("Uid:")][0]


class Deploy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        add_users(cls, SLURM, ALICE)

    def runs_a_job(self, cluster, user=None):
        job = cluster.run("sbatch", "--parsable", "-N2", "-o", "who.out", "--wrap", "srun id -u", user=user).stdout.strip()
        ended = lambda: cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip()
        wait_for(lambda: ended() in ("COMPLETED", "FAILED"), "the job has ended")
        with open(os.path.join(cluster.work, "who.out"), encoding="utf-8") as f:
            self.assertEqual((ended(), f.read()), ("COMPLETED", f"{user or 0}\n" * 2))
        os.remove(os.path.join(cluster.work, "who.out"))

    def test_slurm_user(self):
        def prepare(folder):
            for sub in ("state", "log", "run", "spool"):
                os.mkdir(os.path.join(folder, sub))
                if sub != "spool":
                    os.chown(os.path.join(folder, sub), SLURM, SLURM)
            with open(os.path.join(folder, "slurm.key"), "wb") as f:
                f.write(os.urandom(64))
            os.chmod(f.name, 0o600)
            os.chown(f.name, SLURM, SLURM)
        conf = f"SlurmUser=sluicetest{SLURM}\nAuthInfo=socket={{dir}}/run/sack.socket\n"
        cluster = Cluster(nodes=2, cpus=2, conf=conf, prepare=prepare)
        try:
            self.assertEqual(uid_of(cluster.controller_pid()), SLURM)
            self.assertEqual(uid_of(cluster.node_pid("n1")), 0)
            self.runs_a_job(cluster, ALICE)
            self.runs_a_job(cluster)
            self.assertIn(f"= sluicetest{SLURM}({SLURM})\n", cluster.run("scontrol", "show", "config").stdout)
            cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=x", user=SLURM)
            told = cluster.run("sinfo", "-h", "-n", "n1", "-o", "%T %u").stdout
            self.assertEqual(told, f"drained sluicetest{SLURM}\n")
            refused = cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME", user=ALICE, check=False)
            self.assertEqual(refused.returncode, 1)
            cluster.run("scontrol", "reconfigure", user=SLURM)
            cluster.kill_controller()  # and again, with a state folder and a log of its own
            cluster.start_controller()
            wait_for(lambda: cluster.run("sinfo", "-h", "-n", "n1", "-o", "%T", check=False).stdout == "drained\n", "it goes on")
        finally:
            cluster.down()

    def test_munge(self):
        folder = tempfile.mkdtemp(prefix="sluice-munge-")
        os.chmod(folder, 0o755)
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "key"), "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f.name, 0o600)
        at = lambda name: os.path.join(folder, name)
        munged = subprocess.Popen(["munged", "--foreground", "--force", "--key-file=" + at("key"), "--socket=" + at("socket"),
                                   "--pid-file=" + at("pid"), "--log-file=" + at("log"), "--seed-file=" + at("seed")])
        try:
            wait_for(lambda: os.path.exists(at("socket")), "munged serves")
            cluster = Cluster(nodes=2, cpus=2, conf=f"AuthType=auth/munge\nAuthInfo=socket={at('socket')}\n")
            try:
                self.assertFalse(os.path.exists(os.path.join(cluster.dir, "sack.socket")))
                self.runs_a_job(cluster, ALICE)
                job = cluster.run("sbatch", "-H", "--parsable", "--wrap", "true").stdout.strip()
                refused = cluster.run("scancel", job, user=ALICE, check=False)
                self.assertIn("Access/permission denied", refused.stderr)
                cluster.run("scancel", job)
            finally:
                cluster.down()
        finally:
            munged.terminate()
            munged.wait()

    def test_installed(self):
        root = tempfile.mkdtemp(prefix="sluice-root-")
        self.addCleanup(shutil.rmtree, root)
        os.chmod(root, 0o755)
        for prefix, destination in (("/opt/sluice", root), (os.path.join(root, "direct"), "")):
            with self.subTest(prefix=prefix):
                subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True,
                               env=dict(os.environ, DESTDIR=destination))
                place = destination + prefix
                self.assertFalse(os.path.exists("/opt/sluice"))
                for name in ("bin/sluice", "bin/sbatch", "bin/scontrol", "sbin/sluicectld", "sbin/slurmctld", "sbin/slurmd", "sbin/slurmstepd"):
                    self.assertTrue(os.access(os.path.join(place, name), os.X_OK), name)
                for unit in ("slurmctld", "slurmd"):
                    with open(os.path.join(place, "lib/systemd/system", unit + ".service"), encoding="utf-8") as f:
                        self.assertRegex(f.read(), rf"(?m)^ExecStart={prefix}/sbin/{unit} -")
                with open(os.path.join(place, "share/doc/sluice/slurm.conf.example"), encoding="utf-8") as f:
                    self.assertIn("\nClusterName=", f.read())
                cluster = Cluster(nodes=2, cpus=2, prefix=place)
                try:
                    self.runs_a_job(cluster)
                    dumped = subprocess.run([os.path.join(place, "libexec/sluice/journal_dump"), os.path.join(cluster.dir, "state/journal")],
                                            capture_output=True, text=True, check=True).stdout
                    self.assertTrue(all(json.loads(line) for line in dumped.splitlines()))
                    self.assertIn('"event":"JobEnded"', dumped)
                    self.assertTrue(os.readlink(f"/proc/{cluster.controller_pid()}/exe").startswith(place))
                finally:
                    cluster.down()


class OrdinaryUser(unittest.TestCase):
    """sluice up and down by somebody who is nobody in particular: everything is his, and the jobs are."""

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)

    def as_alice(self, folder, *command, check=True):
        env = {"PATH": os.path.join(BUILD, "bin") + ":/usr/bin:/bin", "HOME": folder, "LC_ALL": "C",
               "SLURM_CONF": os.path.join(folder, "cluster", "slurm.conf")}
        done = subprocess.run(["setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", "--no-new-privs", *command],
                              capture_output=True, text=True, env=env, cwd=folder, check=False)
        if check and done.returncode:
            raise AssertionError(f"{command} exited {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_up_and_down(self):
        folder = tempfile.mkdtemp(prefix="sluice-alice-")
        self.addCleanup(shutil.rmtree, folder)
        os.chown(folder, ALICE, ALICE)
        with open(os.path.join(folder, "more"), "w", encoding="utf-8") as f:
            f.write("ProctrackType=proctrack/cgroup\n")
        self.as_alice(folder, "sluice", "up", "--nodes", "2", "--cpus", "2", "--memory", "2000", "--dir", "cluster", "--conf", "more")
        try:
            daemons = [pid for name in ("sluicectld", "sluicenoded") for pid in pids_with(folder, name)]
            self.assertEqual([uid_of(pid) for pid in daemons], [ALICE] * 3)
            self.assertEqual(self.as_alice(folder, "srun", "-N2", "id", "-u"), f"{ALICE}\n" * 2)
            self.as_alice(folder, "sbatch", "-W", "-o", "who", "--wrap", "srun -N1 id -u; id -G")
            with open(os.path.join(folder, "who"), encoding="utf-8") as f:
                self.assertEqual(f.read(), f"{ALICE}\n{ALICE}\n")
            self.assertEqual(os.stat(f.name).st_uid, ALICE)
            self.as_alice(folder, "scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=mine")  # he is SlurmUser
            done = subprocess.run([os.path.join(BUILD, "bin", "sbatch"), "--wrap", "true"], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, SLURM_CONF=os.path.join(folder, "cluster", "slurm.conf")), cwd="/")
            self.assertEqual(done.returncode, 1)  # his agents could not start it
            self.assertRegex(done.stderr, r"^sbatch: error: The nodes of this cluster run jobs of the user \S+ \(SlurmdUser\) only\n"
                                          r"sbatch: error: Batch job submission failed: Access/permission denied\n$")
            for node in ("n1", "n2"):
                with open(os.path.join(folder, "cluster", "log", node + ".log"), encoding="utf-8") as f:
                    errors = [line for line in f if " error: " in line]
                self.assertEqual(len(errors), 1, errors)
                self.assertRegex(errors[0], "error: no control groups: .*; processes are found as descendants of their step daemon, and no "
                                            "limit on CPUs or memory is enforced$")
            self.as_alice(folder, "sbatch", "-o", "/dev/null", "--wrap", "setsid sleep 1000 & sleep 1000")
            wait_for(lambda: len(jobs_of(os.path.join(folder, "cluster", "slurm.conf"))) >= 3, "a job is left running")
        finally:
            said = self.as_alice(folder, "sluice", "down", "--dir", "cluster")
        self.assertRegex(said, r"^[56] processes stopped\n$")  # the daemons, accounting's among them, the job's, and one that may wait for a step
        self.assertEqual([pid for pid, _, words in processes("environ") if f"HOME={folder}".encode() in words], [])


class Down(unittest.TestCase):
    def start(self, **options):
        cluster = Cluster(nodes=1, cpus=2, **options)
        self.addCleanup(shutil.rmtree, cluster.dir, ignore_errors=True)
        job = cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "setsid sleep 1000 & sleep 1000").stdout.strip()
        wait_for(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.strip() == job and len(jobs_of(cluster.conf)) >= 3,
                 "its job runs")
        return cluster

    def stop(self, cluster):
        done = subprocess.run([cluster.program("sluice"), "down", "--dir", cluster.dir], capture_output=True, text=True,
                              check=False, cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(pids_with(cluster.dir) + jobs_of(cluster.conf), [])
        return done.stdout

    def test_of_another_user(self):  # it stopped nothing, and said so as if all were well
        cluster = self.start()
        os.chmod(cluster.dir, 0o755)
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", cluster.program("sluice"), "down",
                               "--dir", cluster.dir], capture_output=True, text=True, check=False, cwd="/")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", f"sluice down: error: the cluster of {cluster.dir} is another user's\n"))
        self.assertEqual(cluster.run("sinfo", "-h", "-o", "%D").stdout, "1\n")
        self.stop(cluster)

    def test_two_clusters(self):
        one = self.start()
        two = self.start()
        self.assertEqual(self.stop(one), "3 processes stopped\n")
        self.assertEqual(two.run("squeue", "-h", "-o", "%T").stdout, "RUNNING\n")
        self.assertEqual(self.stop(two), "3 processes stopped\n")
        self.assertEqual(self.stop(two), "0 processes stopped\n")

    def test_folder_is_gone(self):
        cluster = self.start()
        shutil.rmtree(cluster.dir)
        self.assertEqual(self.stop(cluster), "3 processes stopped\n")

    def test_controller_restarted_by_hand(self):
        cluster = self.start()
        cluster.kill_controller()
        others = set(pids_with("slurm.conf", "slurmctld"))  # of other clusters
        subprocess.run([os.path.join(SBIN, "slurmctld"), "-f", "slurm.conf"], check=True, cwd=cluster.dir, env=cluster.env)
        wait_for(lambda: cluster.run("squeue", "-h", "-o", "%T", check=False).stdout == "RUNNING\n", "the new one answers")
        self.assertEqual(self.stop(cluster), "3 processes stopped\n")
        wait_for(lambda: others.issuperset(pids_with("slurm.conf", "slurmctld")), "the new one has ended")

    def test_daemons_were_killed(self):
        cluster = self.start()
        cluster.kill_controller()
        cluster.kill_node("n1")
        self.stop(cluster)


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
