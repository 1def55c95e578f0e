"""What an administrator was not told: why a daemon does not start, and which host does not answer."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from harness import BIN, ROOT, SBIN, Cluster, ClusterCase, wait_for, with_preload

HOST = socket.gethostname().split(".")[0]


class Operations(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "SuspendProgram=/bin/true\nResumeProgram=/opt/nowhere/resume\nSuspendTime=UNLIMITED\n"

    def conf(self, **keys):
        """A configuration like the cluster's, of a controller with files of its own."""
        folder = tempfile.mkdtemp(prefix="sluice-ops-")
        self.addCleanup(shutil.rmtree, folder)
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = f.read()
        shutil.copy(os.path.join(self.cluster.dir, "slurm.key"), folder)
        own = {"StateSaveLocation": folder + "/state", "SlurmctldPidFile": folder + "/pid", "SlurmctldLogFile": folder + "/log",
               "AuthInfo": f"socket={folder}/sack.socket"}
        for key, value in {**own, **keys}.items():
            lines = value if isinstance(value, list) else [value]
            text = re.sub(rf"(?m)^{key}=.*\n", "", text) + "".join(f"{key}={line}\n" for line in lines)
        path = os.path.join(folder, "slurm.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def refused(self, **keys):
        done = subprocess.run([os.path.join(SBIN, "sluicectld"), "-D", "-f", self.conf(**keys)], capture_output=True, text=True,
                              timeout=60, env=self.cluster.env, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_why_it_cannot_listen(self):
        with open(self.cluster.conf, encoding="utf-8") as f:
            port = re.search(r"(?m)^SlurmctldPort=(\d+)", f.read())[1]
        self.assertIn(f"cannot listen on 127.0.0.1:{port}: another process listens there", self.refused())
        foreign = self.refused(SlurmctldHost=f"{HOST}(192.0.2.1)")
        self.assertIn(f"cannot listen on 192.0.2.1:{port}: it is no address of this host", foreign)

    def test_no_host_of_a_controller(self):
        self.assertIn(f"This host ({HOST}/{socket.gethostname()}) not a valid controller: it is no SlurmctldHost",
                      self.refused(SlurmctldHost="elsewhere(192.0.2.1)"))

    def test_several_hosts(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        conf = self.conf(SlurmctldHost=[f"{HOST}(127.0.0.1)", "spare(127.0.0.1)"], SlurmctldPort=str(port))
        subprocess.run([os.path.join(SBIN, "sluicectld"), "-f", conf], check=True, env=self.cluster.env)
        env = dict(self.cluster.env, SLURM_CONF=conf)
        run = lambda *words: subprocess.run([os.path.join(BIN, words[0]), *words[1:]], env=env, capture_output=True, text=True, check=False)
        try:
            with open(os.path.join(os.path.dirname(conf), "log"), encoding="utf-8") as f:
                self.assertIn(f"SlurmctldHost: {HOST} is in charge; no other takes over by itself: start slurmctld on one of them (spare)", f.read())
            told = run("scontrol", "takeover")
            self.assertEqual(told.returncode, 1)
            self.assertIn("no controller waits on spare to take over", told.stderr)
        finally:
            self.assertEqual(run("scontrol", "shutdown", "slurmctld").returncode, 0)
            wait_for(lambda: not os.path.exists(os.path.join(os.path.dirname(conf), "pid")), "it has ended")

    def test_programs_that_are_missing(self):
        self.assertIn("ResumeProgram: power_save program /opt/nowhere/resume not found", self.cluster.log())
        self.assertNotIn("SuspendProgram", self.cluster.log())

    def test_a_name_that_nobody_knows(self):
        env = {"SLURM_CONF": self.conf(SlurmctldHost="nowhere.invalid", MessageTimeout="3")}
        done = self.run_cmd("squeue", env=env, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'^squeue: error: Unable to resolve "nowhere.invalid": .+\n')
        self.assertEqual(done.stderr.count("Unable to resolve"), 1, "however often it was tried")
        self.assertIn("Unable to contact slurm controller (connect failure)", done.stderr)

    def test_readiness(self):
        """Type=notify of systemd's units: READY=1 when requests are served, STOPPING=1 at the end."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        conf = self.conf(SlurmctldPort=str(port))
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(told.close)
        place = os.path.join(os.path.dirname(conf), "notify")
        told.bind(place)
        told.settimeout(60)
        daemon = subprocess.Popen([os.path.join(SBIN, "sluicectld"), "--systemd", "-f", conf], stderr=subprocess.DEVNULL,
                                  env=dict(self.cluster.env, NOTIFY_SOCKET=place))
        try:
            self.assertEqual(told.recv(100), b"READY=1\n")
            answered = subprocess.run([os.path.join(BIN, "scontrol"), "ping"], env=dict(self.cluster.env, SLURM_CONF=conf), check=False,
                                      capture_output=True)
            self.assertEqual(answered.returncode, 0)
        finally:
            daemon.terminate()
            daemon.wait()
        self.assertEqual(told.recv(100), b"STOPPING=1\n")


class Reboot(ClusterCase):
    """A node that was told to reboot and could not did not say why."""
    NODES, CPUS, CONF = 1, 2, "RebootProgram=/opt/nowhere/reboot\n"

    def test_a_program_that_is_missing(self):
        self.run_cmd("scontrol", "reboot", "n1")
        wait_for(lambda: "told to reboot: Cannot run RebootProgram [/opt/nowhere/reboot]: No such file or directory"
                 in self.cluster.log("n1"), "the node's log says it")


class Clocks(ClusterCase):
    """srun said "Communication connection failure" where the clock of its node was wrong; the controller's log alone knew better."""
    NODES, CPUS, CONF = 2, 2, "SlurmdTimeout=20\n"  # the next ping finds a node that its clock kept away

    def test_srun_says_it(self):
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        shim, skew = (os.path.join(self.cluster.dir, name) for name in ("clock.so", "skew"))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, os.path.join(ROOT, "tests/skewed_clock.c")], check=True)

        def shift(seconds):
            with open(skew, "w", encoding="utf-8") as f:
                f.write(str(seconds))
        shift(0)
        self.cluster.kill_node("n1")
        subprocess.run([os.path.join(SBIN, "sluicenoded"), "-f", self.cluster.conf, "-N", "n1"], check=True,
                       env=dict(with_preload(self.cluster.env, shim), SKEW_FILE=skew))
        works = lambda: self.run_cmd("srun", "-w", "n1", "true", check=False).returncode == 0
        wait_for(works, "the node serves")
        shift(200)
        told = self.run_cmd("srun", "-w", "n1", "true", check=False)
        self.assertEqual(told.returncode, 1)
        self.assertRegex(told.stderr, r"srun: error: Task launch for StepId=\S+ failed on node n1: .*check the clocks of .* \(clock difference up to 2\d\d s\)")
        shift(0)
        wait_for(works, "the node serves again")


class Delegated(unittest.TestCase):
    """Groups of jobs were made at the top of the tree, which is systemd's, whatever its unit left to the agent."""

    def test_jobs_are_below_the_group_that_is_left_to_the_agent(self):
        with open("/proc/mounts", encoding="utf-8") as f:
            mounts = [words[1] for words in map(str.split, f) if words[2] == "cgroup2"]
        if not mounts or os.geteuid() != 0:
            self.skipTest("needs root and control groups v2")
        top = tempfile.mkdtemp(prefix="sluice-test-", dir=mounts[0])
        os.environ["SLUICE_DELEGATED_CGROUP"] = "/" + os.path.basename(top)
        files = {"cgroup.conf": f"CgroupPlugin=cgroup/v2\nCgroupMountpoint={mounts[0]}\n"}
        try:
            cluster = Cluster(1, 2, conf="ProctrackType=proctrack/cgroup\n", files=files)
        finally:
            del os.environ["SLUICE_DELEGATED_CGROUP"]
        try:
            told = cluster.run("srun", "cat", "/proc/self/cgroup").stdout
            self.assertRegex(told, rf"(?m)^0::/{os.path.basename(top)}/slurm_n1\.\w+/uid_0/job_1/step_0/task_0$")
        finally:
            cluster.down()
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)


class Units(unittest.TestCase):
    """What `cmake --install` brings for the system."""

    def test_units(self):
        root = tempfile.mkdtemp(prefix="sluice-units-")
        self.addCleanup(shutil.rmtree, root)
        subprocess.run(["cmake", "--install", os.path.dirname(BIN), "--prefix", "/usr/local"], check=True, capture_output=True,
                       env=dict(os.environ, DESTDIR=root))
        place = os.path.join(root, "usr/local")
        for name in ("lib/sysusers.d/sluice.conf", "lib/tmpfiles.d/sluice.conf", "etc/logrotate.d/sluice"):
            self.assertTrue(os.path.exists(os.path.join(place, name)), name)
        for name in sorted(os.listdir(os.path.join(ROOT, "etc"))):
            if name.endswith(".example"):
                self.assertTrue(os.path.exists(os.path.join(place, "share/doc/sluice", name)), name)
        for name in ("bin/sluice", "sbin/sluicectld", "sbin/sluicenoded", "sbin/sluicestepd"):
            told = subprocess.run(["readelf", "-S", os.path.join(place, name)], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(".symtab", told, name)
        units = os.path.join(place, "lib/systemd/system")
        self.assertEqual(sorted(os.listdir(units)), ["slurm-jobs.service", "slurmctld.service", "slurmd.service", "slurmdbd.service"])
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        for name in os.listdir(units):  # it looks for the programs, too
            path = os.path.join(units, name)
            with open(path, encoding="utf-8") as f:
                text = f.read().replace("=/usr/local/", f"={place}/")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(os.path.join(units, name) for name in sorted(os.listdir(units)))],
                              capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if "slurm" in line]
        self.assertEqual((done.returncode, ours), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
