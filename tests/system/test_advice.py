"""What commands of a cluster with accounting tell a user: advice at submission, defaults, clusters."""
import contextlib
import os
import pty
import re
import signal
import subprocess
import time
import unittest

from accounting import AccountedCase
from harness import wait_for

USER = "root" if os.getuid() == 0 else os.environ.get("USER", "")


class Advice(AccountedCase):
    CONF = "AccountingStorageEnforce=associations,limits,qos\n"
    SET_UP = (["add", "account", "physics"], ["add", "user", USER, "account=physics", "defaultaccount=physics"])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.cluster.conf, encoding="utf-8") as f:
            cls.name = re.search(r"^ClusterName=(\S+)", f.read(), re.M)[1]
        wait_for(lambda: f"Account=physics UserName={USER}" in cls.cluster.run("scontrol", "show", "assoc_mgr").stdout, "the controller knows the account")

    def tearDown(self):
        self.run_cmd("scancel", "-u", USER)
        self.wait_no_jobs()

    def at_terminal(self, *words, **env):
        """What a command prints on a terminal, stdout and stderr together."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([self.cluster.program(words[0]), *words[1:]], stdin=theirs, stdout=theirs, stderr=theirs,
                              env={**self.cluster.env, **env}, cwd=self.cluster.work) as command:
            os.close(theirs)
            said = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while part := os.read(ours, 4096):
                    said += part
            os.close(ours)
        return said.decode().replace("\r\n", "\n")

    def test_advice_at_submission(self):
        train = ["sbatch", "-J", "train", "--mem=3000", "-t", "2:00:00", "-o", "/dev/null", "--wrap", "true"]
        self.assertNotIn("runs", self.at_terminal(*train))
        jobs = [self.submit(*train[1:]) for _ in range(3)]
        for job in jobs:
            wait_for(lambda j=job: self.cluster.sacct("-X", "-j", str(j), "-o", "state") == [["COMPLETED"]], "sacct has the job")
        said = wait_for(lambda: (told := self.at_terminal(*train)).count("\n") == 3 and told, "advice is given within its time")
        self.assertRegex(said, r"^Submitted batch job \d+\n"
                               r"sbatch: your last \d+ runs used at most \d+ MB of 3 GB \(--mem\)\n"
                               r"sbatch: your last \d+ runs took at most 00:00:0\d of 02:00:00 \(--time\)\n$")
        for words, env in ((["--parsable"], {}), (["-Q"], {}), ([], {"SLUICE_ADVICE": "no"}), (["-J", "other"], {})):
            self.assertNotIn("runs", self.at_terminal(*train[:1], *words, *train[1:] if words != ["-J", "other"] else train[3:], **env))
        self.assertEqual(self.run_cmd(*train).stderr, "", "only at a terminal")
        # of --wrap without a name, only the same command line
        self.assertNotIn("runs", self.at_terminal("sbatch", "--mem=3000", "--wrap", "true", "-o", "/dev/null"))
        with self.subTest("the daemon hangs"):
            pid = self.cluster.dbd_pid()
            os.kill(pid, signal.SIGSTOP)
            try:
                begin = time.monotonic()
                self.assertRegex(self.at_terminal(*train), r"^Submitted batch job \d+\n$")
                self.assertLess(time.monotonic() - begin, 5)
            finally:
                os.kill(pid, signal.SIGCONT)

    def test_defaults_of_the_controller_in_variables(self):
        told = 'echo $SLURM_JOB_ACCOUNT $SLURM_JOB_QOS'
        self.assertEqual(self.out("salloc", "-Q", "-n1", "sh", "-c", told), "physics normal\n")
        self.assertEqual(self.out("srun", "-Q", "-n1", "sh", "-c", told), "physics normal\n")

    def test_unknown_clusters(self):
        unknown = "{0}: error: No cluster 'nosuch' known by database.\n"
        unreached = ("{0}: error: '{1}' can't be reached now, or it is an invalid entry for --cluster.  "
                     "Use 'sacctmgr list clusters' to see available clusters.\n")
        for command in (["squeue"], ["sinfo"], ["scontrol", "show", "node"], ["sprio"], ["sdiag"]):
            name = command[0]
            self.fails(1, (unknown + unreached).format(name, "nosuch"), name, "-M", "nosuch", *command[1:])
        done = self.run_cmd("squeue", "-h", "-M", f"nosuch,{self.name}")
        self.assertEqual(done.stderr, unknown.format("squeue"))
        for command in (["sbatch", "--wrap", "true"], ["srun", "true"], ["salloc", "true"]):
            name = command[0]
            self.fails(1, (unknown + unreached).format(name, "nosuch"), name, "-M", "nosuch", *command[1:])
            self.fails(1, (unknown + unreached).format(name, "nosuch"), *command, env={"SLURM_CLUSTERS": "nosuch"})
        done = self.run_cmd("sbatch", "-M", f"nosuch,{self.name}", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(done.stderr, unknown.format("sbatch"))
        self.assertRegex(done.stdout, rf"^Submitted batch job \d+ on cluster {self.name}\n$")
        self.run_cmd("sacctmgr", "-i", "add", "cluster", "far")
        self.fails(1, unreached.format("squeue", "far"), "squeue", "-M", "far")


if __name__ == "__main__":
    unittest.main()
