"""A cluster that proves identities with munge: a host whose munged has another key, and one whose clock differs."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from accounting import AccountedCluster
from harness import ROOT, NodeCase, need_root, processes, wait_for, with_preload

OTHER_KEY = "auth/munge: the credential is invalid: it was forged, or made with another key"
AHEAD = "auth/munge: the credential is not valid yet, its time is in this host's future; check the clocks of both hosts"
BEHIND = "auth/munge: the credential has expired; check the clocks of both hosts"
SKEW = 600  # seconds; credentials count for five minutes
DIFFERENCE = r" \(clock difference (59[89]|60\d) s\)"  # of SKEW; the two clocks are read one after the other


class Munged:
    """A daemon of its own in a folder, where `socket` is; `skew` shifts its clock."""

    def __init__(self, folder, key, skew=0):
        os.makedirs(folder)
        self.folder, self.socket = folder, os.path.join(folder, "socket")
        with open(os.open(os.path.join(folder, "key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(key * 64)
        env = dict(os.environ)
        if skew:
            shim = os.path.join(folder, "clock.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, os.path.join(ROOT, "tests/skewed_clock.c")], check=True)
            with open(os.path.join(folder, "skew"), "w", encoding="utf-8") as f:
                f.write(str(skew))
            env = dict(with_preload(env, shim), SKEW_FILE=f.name)
        options = [f"--{name}-file={os.path.join(folder, name)}" for name in ("key", "pid", "log", "seed")]
        with open(os.path.join(folder, "said"), "wb") as said:
            self.process = subprocess.Popen(["munged", "--foreground", "--force", f"--socket={self.socket}", *options], env=env, stdout=said, stderr=said)
        wait_for(lambda: os.path.exists(self.socket) or self.process.poll() is not None, "munged serves")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Munge(NodeCase):
    NODES, CPUS = 1, 2

    @classmethod
    def setUpClass(cls):
        if not shutil.which("munged"):
            raise unittest.SkipTest("needs munged")
        cls.hosts = tempfile.mkdtemp(prefix="sluice-munge-")
        cls.addClassCleanup(shutil.rmtree, cls.hosts)
        os.chmod(cls.hosts, 0o755)
        cls.munged = Munged(os.path.join(cls.hosts, "one"), b"a")
        cls.addClassCleanup(cls.munged.stop)
        cls.CONF = f"AuthType=auth/munge\nAuthInfo=socket={cls.munged.socket}\nSlurmdTimeout=10\n"
        super().setUpClass()

    def test_accounting_takes_its_credentials_too(self):
        """The accounting daemon of `sluice up` asked for tokens of auth/slurm, whatever further lines said."""
        cluster = AccountedCluster(1, 2, conf=self.CONF)
        self.addCleanup(cluster.down)
        self.assertEqual(cluster.run("sacctmgr", "-nP", "list", "cluster", "format=cluster").stdout, "trial\n")

    def other_host(self, name, key=b"a", skew=0):
        """The slurm.conf of a host whose munged is another one."""
        if skew and not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        folder = os.path.join(self.hosts, name)
        munged = Munged(folder, key, skew)
        self.addCleanup(munged.stop)
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = f.read()
        conf = os.path.join(folder, "slurm.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text.replace(self.munged.socket, munged.socket))
        return conf

    def is_refused(self, conf, why):
        """Commands and the agent of a host say why, and so does the controller's log."""
        begin, begin_of_node = len(self.cluster.log()), len(self.cluster.log("n1"))
        for command in (("sinfo",), ("sbatch", "--wrap", "true"), ("scancel", "1")):
            done = self.run_cmd(*command, check=False, env={"SLURM_CONF": conf})
            self.assertNotEqual(done.returncode, 0, command)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, why)
        wait_for(lambda: re.search(why, self.cluster.log()[begin:]), "the controller's log says it")
        self.cluster.kill_node("n1")
        subprocess.run([self.cluster.daemon("sluicenoded"), "-f", conf, "-N", "n1"], check=True, env=self.cluster.env)
        wait_for(lambda: re.search(why, self.cluster.log("n1")[begin_of_node:]), "the agent's log says it")
        self.assertIn("cannot register with the controller", self.cluster.log("n1")[begin_of_node:])
        wait_for(lambda: self.node("n1", "%t").endswith("*"), "it does not respond")
        os.kill(self.agent_of(conf), 9)
        wait_for(lambda: self.agent_of(conf) is None, "that agent is gone")
        self.cluster.start_node("n1")
        wait_for(lambda: self.node("n1", "%t") == "idle", "the node serves again")

    def agent_of(self, conf):
        return next((pid for pid, exe, words in processes("cmdline") if exe == "sluicenoded" and conf.encode() in words), None)

    def test_a_job(self):
        self.assertEqual(self.out("srun", "echo", "ran"), "ran\n")

    def test_one_that_answers_is_looked_for(self):  # sluice check, slurmctld -t
        def warnings(conf):
            told = [line for line in self.out("sluice", "check", "-f", conf).splitlines() if "munged" in line]
            checked = subprocess.run([self.cluster.daemon("sluicectld"), "-t", "-f", conf], capture_output=True, text=True, env=self.cluster.env,
                                     check=False)
            self.assertEqual([line for line in (checked.stdout + checked.stderr).splitlines() if "munged" in line], told)
            return told
        self.assertEqual(warnings(self.cluster.conf), [])
        other = self.other_host("hangs")
        munged = os.path.join(self.hosts, "hangs")
        with open(os.path.join(munged, "pid"), encoding="utf-8") as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertRegex("\n".join(warnings(other)), f"^warning: AuthType=auth/munge: munged at {munged}/socket does not answer: .*$")
        finally:
            os.kill(pid, signal.SIGCONT)
        with open(other, encoding="utf-8") as f:
            text = f.read()
        with open(other, "w", encoding="utf-8") as f:
            f.write(text.replace(f"{munged}/socket", f"{munged}/nobody"))
        self.assertEqual(warnings(other), [f"warning: AuthType=auth/munge: munged does not listen at {munged}/nobody: No such file or directory"])

    def test_another_key(self):
        self.is_refused(self.other_host("key", key=b"b"), re.escape(OTHER_KEY))

    def test_a_clock_that_is_ahead(self):
        self.is_refused(self.other_host("ahead", skew=SKEW), re.escape(AHEAD) + DIFFERENCE)

    def test_a_clock_that_is_behind(self):
        self.is_refused(self.other_host("behind", skew=-SKEW), re.escape(BEHIND) + DIFFERENCE)


if __name__ == "__main__":
    need_root()
    unittest.main()
