"""What an administrator sees: the log, and configurations that ask for what is not there."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import BUILD, Cluster, ClusterCase, wait_for

NOBODY = 65534


class Story(ClusterCase):
    """20,000 jobs left five lines in the controller's log: it told neither of jobs nor of nodes, and nothing of what it denied."""
    NODES, CPUS = 2, 4

    def lines(self, what, log="sluicectld"):
        return [line.split("] ", 1)[1] for line in self.cluster.log(log).splitlines() if re.search(what, line)]

    def wait_line(self, what, log="sluicectld"):
        return wait_for(lambda: self.lines(what, log), f"{log}'s log has {what}")

    def test_a_job_is_followed_by_its_number(self):
        job = self.submit("-o", "/dev/null", "--wrap", "srun true; exit 3")
        self.wait_ended(job)
        self.wait_line(f"_job_complete: JobId={job} done")
        story = "\n".join(self.lines(rf"JobId={job}\b"))
        # slurm.conf has no PriorityType: numbers that count down
        self.assertRegex(story, rf"_slurm_rpc_submit_batch_job: JobId={job} InitPrio={4294901760 - job} usec=[1-9]\d* uid={os.getuid()} Partition=debug")
        times = [line[:24] for line in self.cluster.log().splitlines() if line.startswith("[")]
        self.assertEqual(times, sorted(times), "lines are in the order of their times")
        for line in (                     rf"sched: Allocate JobId={job} NodeList=n1 #CPUs=1 Partition=debug",
                     f"_slurm_rpc_job_step_create: JobId={job} StepId={job}.0 NodeList=n1 Tasks=1",
                     f"JobId={job} StepId={job}.0 COMPLETED WEXITSTATUS 0",
                     f"JobId={job} StepId={job}.batch FAILED WEXITSTATUS 3",
                     f"_job_complete: JobId={job} WEXITSTATUS 3 FAILED"):
            self.assertIn(line, story)
        on_node = "\n".join(self.lines(rf"JobId={job}\b", "n1"))
        for line in (f"Launching batch job JobId={job} StepId={job}.batch for UID {os.getuid()}",
                     f"launch task JobId={job} StepId={job}.0 request from UID:{os.getuid()}",
                     f"JobId={job} StepId={job}.batch done with job, status 0x300"):
            self.assertIn(line, on_node)

    def test_who_did_what_to_a_job(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=5")
        self.run_cmd("scontrol", "release", job)
        self.run_cmd("scontrol", "hold", job, check=False)
        self.run_cmd("scancel", job)
        uid = os.getuid()
        self.wait_line(f"_slurm_rpc_update_job: complete JobId={job} uid={uid}")
        self.wait_line(f"_release_job_rec: release hold on JobId={job} by uid {uid}")
        array = self.submit("--array=1-3", "-H", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scancel", f"{array}_2")
        self.run_cmd("scancel", array)
        self.wait_line(rf"REQUEST_KILL_JOB JobId={array}_\[2\] uid {uid}|REQUEST_KILL_JOB JobId={array}_2\(\d+\) uid {uid}")
        self.wait_line(f"REQUEST_KILL_JOB JobId={array} uid {uid}")

    def test_nodes(self):
        uid = os.getuid()
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=fan is loud")
        self.wait_line("update_node: node n2 reason set to: fan is loud$")
        self.wait_line(rf"update_node: node n2 state set to IDLE\+DRAIN by uid {uid}")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.wait_line(f"update_node: node n2 state set to IDLE by uid {uid}")

    def test_what_is_denied(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        if os.getuid() != 0:
            self.skipTest("needs root to be somebody else")
        self.run_cmd("scancel", job, user=NOBODY, check=False, cwd="/")
        self.run_cmd("scontrol", "reconfigure", user=NOBODY, check=False, cwd="/")
        self.wait_line(rf"error: Security violation, Signal RPC from uid={NOBODY} at 127\.0\.0\.1:\d+: JobId={job}$")
        self.run_cmd("scancel", "-n", "wrap", "-t", "PD", "-u", str(os.getuid()), user=NOBODY, check=False, cwd="/")
        self.wait_line(rf"error: Security violation, CancelJobs RPC from uid={NOBODY} at 127\.0\.0\.1:\d+: JobId={job}$")
        for method, command in (("JobAction", ("scontrol", "hold", job)), ("UpdateJob", ("scontrol", "update", f"JobId={job}", "Nice=5"))):
            self.run_cmd(*command, user=NOBODY, check=False, cwd="/")
            self.wait_line(rf"error: Security violation, {method} RPC from uid={NOBODY} at 127\.0\.0\.1:\d+: JobId={job}")
        self.run_cmd("sbatch", "--uid=4242", "--wrap", "true", check=False)
        self.assertEqual(self.lines(r"Security violation, .* from uid=0 "), [], "nothing is forbidden to root")
        self.wait_line(rf"error: Security violation, Reconfigure RPC from uid={NOBODY}")
        self.run_cmd("scancel", job)

    def test_what_is_refused(self):
        """Requests that changed nothing, as they could not be met, left no line."""
        uid = os.getuid()
        self.run_cmd("sbatch", "-p", "nosuch", "--wrap", "true", check=False)
        self.wait_line(rf"SubmitJob RPC from uid={uid} at \S+ was refused: invalid partition specified: nosuch")
        self.run_cmd("scontrol", "update", "JobId=77777", "Nice=5", check=False)
        self.wait_line(rf"UpdateJob RPC from uid={uid} at \S+ was refused: JobId=77777: Invalid job id specified")
        self.run_cmd("scontrol", "hold", "77777", check=False)
        self.wait_line(rf"JobAction RPC from uid={uid} at \S+ was refused: JobId=77777: Invalid job id specified")
        self.run_cmd("scontrol", "update", "NodeName=nosuch", "State=RESUME", check=False)
        self.wait_line(rf"UpdateNode RPC from uid={uid} at \S+ was refused: .*Invalid node name specified")
        self.run_cmd("scontrol", "show", "job", "77777", check=False)
        self.run_cmd("squeue", "-j", "77777", check=False)
        self.assertEqual(self.lines("QueryJobs RPC .* was refused"), [], "a question changes nothing")

    def test_debug_level(self):
        self.run_cmd("scontrol", "setdebug", "verbose")
        self.wait_line(rf"Set debug level to 'verbose', DebugFlags=.* \(uid {os.getuid()}\)")
        self.run_cmd("scontrol", "setdebug", "error")
        self.wait_line(rf"Set debug level to 'error', DebugFlags=.* \(uid {os.getuid()}\)")
        self.run_cmd("scontrol", "setdebug", "info")

    def test_reconfiguration(self):
        self.run_cmd("scontrol", "reconfigure")
        self.wait_line(f"_slurm_rpc_reconfigure_controller: by uid {os.getuid()}")
        self.wait_line("read_slurm_conf: 2 nodes, 1 partitions")


class Json(ClusterCase):
    NODES, CPUS, CONF = 1, 2, "SluiceParameters=log_format=json\n"

    def test_every_line_is_an_object(self):
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        self.wait_ended(job)
        read = lambda log: [json.loads(line) for line in self.cluster.log(log).splitlines()]
        of_job = lambda log: [line for line in read(log) if line.get("job") == str(job)]
        wait_for(lambda: any("done" in line["message"] for line in of_job("sluicectld")), "the controller tells its end")
        wait_for(lambda: any("done with job" in line["message"] for line in of_job("n1")), "the agent as well")
        first = of_job("sluicectld")[0]
        self.assertEqual((first["level"], first["program"]), ("info", "slurmctld"))
        self.assertRegex(first["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(any(line.get("node") == "n1" for line in of_job("sluicectld")))


class AskedFor(unittest.TestCase):
    """Keys of security and enforcement that nothing came of were named at the level info, among others, and the cluster ran."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sluice-test-")
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir)
        self.conf = os.path.join(self.dir, "slurm.conf")
        with open(os.open(os.path.join(self.dir, "slurm.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(64))

    def write(self, text):
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(f"ClusterName=ask AuthType=auth/slurm AuthInfo=socket={self.dir}/sack.socket\nSlurmctldHost=localhost(127.0.0.1)\nStateSaveLocation={self.dir}/state\n"
                    f"NodeName=n1 NodeAddr=127.0.0.1\nPartitionName=debug Nodes=ALL\n{text}")

    def run_it(self, program, *options, user=None):
        done = subprocess.run([os.path.join(BUILD, program), *options], capture_output=True, text=True, check=False, user=user,
                              group=user, extra_groups=[] if user else None, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_the_start_is_refused(self):
        self.write("MCSPlugin=mcs/user\nAccountingStorageEnforce=limits\n")
        status, _, err = self.run_it("sbin/sluicectld", "-D", "-f", self.conf)
        self.assertEqual(status, 1)
        self.assertIn("AccountingStorageEnforce is set, but there is no accounting here: no account, limit or QOS is checked; "
                      "take it out, or say SluiceParameters=accept_ignored=AccountingStorageEnforce", err)
        self.assertIn("SluiceParameters=accept_ignored=MCSPlugin", err)

    def test_a_whole_configuration_is_looked_at(self):
        self.write("KilWait=3\nKillWait=x\nMCSPlugin=mcs/user\nAcctGatherNodeFreq=30\nProlog=/no/such/program\n")
        user = NOBODY if os.getuid() == 0 else None
        for program, option in (("sbin/slurmctld", "-t"), ("bin/sluice", "check")):
            status, out, err = self.run_it(program, option, "-f", self.conf, user=user)
            self.assertEqual((status, err), (1, ""))
            for line in (f'error: {self.conf}:6: unknown key "KilWait"; did you mean "KillWait"?\n',
                         f'error: {self.conf}:7: KillWait="x" is not valid; ', f"error: {self.conf}:8: MCSPlugin is set, but ",
                         f"warning: {self.conf}: keys without effect: security: MCSPlugin; accounting: AcctGatherNodeFreq\n",
                         "warning: Prolog=/no/such/program is not there\n", f"{self.conf}: 3 errors, 2 warnings\n"):
                self.assertIn(line, out)
        self.write("")
        self.assertEqual(self.run_it("bin/sluice", "check", "-f", self.conf, user=user), (0, f"{self.conf}: 0 errors, 0 warnings\n", ""))

    def test_all_errors_of_a_line(self):
        """The first error of a line hid the others, and a file that is not there hid everything."""
        self.write("KillWait=x WaitTime=y\nInclude no-such.conf\nPartitionName=p Nodes=n7,n8 MaxTime=z\n")
        status, out, _ = self.run_it("sbin/slurmctld", "-t", "-f", self.conf)
        self.assertEqual(status, 1)
        for error in (':6: KillWait="x"', ':6: WaitTime="y"', ":7: ", ':8: MaxTime="z"', ':8: partition "p": unknown nodes "n[7-8]"'):
            self.assertIn(f"error: {self.conf}{error}", out)
        self.assertIn("5 errors", out)

    def test_an_agent_looks_at_its_own_file(self):
        """slurmd started with keys of security that it does not act on where the file is its own."""
        self.write("MCSPlugin=mcs/user\n")
        status, _, err = self.run_it("sbin/slurmd", "-D", "-f", self.conf, "-N", "n1")
        self.assertEqual(status, 1)
        self.assertIn("MCSPlugin is set, but jobs and nodes have no labels that keep users apart; take it out, or say "
                      "SluiceParameters=accept_ignored=MCSPlugin", err)
        cluster = Cluster(1, 1)
        self.addCleanup(cluster.down)
        pid = cluster.node_pid("n1")
        before = cluster.change_conf(lambda text: text + "MCSPlugin=mcs/user\n")
        os.kill(pid, signal.SIGHUP)
        wait_for(lambda: "the configuration cannot be used" in cluster.log("n1"), "the agent refuses it")
        self.assertIn("MCSPlugin is set, but", cluster.log("n1"))
        self.assertEqual(cluster.node_pid("n1"), pid)
        cluster.change_conf(lambda _: before)

    def test_what_is_accepted_is_told_whatever_the_level(self):
        cluster = Cluster(1, 1, conf="SluiceParameters=accept_ignored=MCSPlugin\nMCSPlugin=mcs/user\nAcctGatherNodeFreq=30\nSlurmctldDebug=quiet\n")
        self.addCleanup(cluster.down)
        self.assertEqual(len(re.findall(r"warning: .*keys without effect: security: MCSPlugin; accounting: AcctGatherNodeFreq\n", cluster.log())), 1)
        shown = cluster.run("scontrol", "show", "config").stdout
        self.assertIn("MCSPlugin               = mcs/user  # no effect\n", shown)
        before = cluster.change_conf(lambda text: text.replace("accept_ignored=MCSPlugin", "accept_ignored=PrivateData"))
        done = cluster.run("scontrol", "reconfigure", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("MCSPlugin is set, but", done.stderr)
        cluster.change_conf(lambda _: before)

    def test_partitions_by_scontrol(self):
        cluster = Cluster(1, 1)
        self.addCleanup(cluster.down)
        done = cluster.run("scontrol", "update", "PartitionName=debug", "AllowAccounts=good", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("PartitionName.AllowAccounts is set, but there is no accounting here", done.stderr)
        self.assertIn("AllowAccounts=ALL", cluster.run("scontrol", "show", "partition", "debug").stdout)


if __name__ == "__main__":
    unittest.main()
