"""What a user found who compared commands with Slurm's."""
import json
import os
import socket
import subprocess
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE = 63642
UNKNOWN = "slurm_load_jobs error: Invalid job id specified"


class Cli(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "MessageTimeout=2\n"

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE)
        super().setUpClass()

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()

    def held(self, *options):
        return self.submit("-H", "-D", "/tmp", "-o", "/dev/null", *options, "--wrap", "true")

    def running(self, *options):
        job = self.submit("-D", "/tmp", "-o", "/dev/null", *options, "--wrap", "srun sleep 600")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-j", job, "-o", "%i").split(), "its step runs")
        return job

    def ids(self, *options):
        return self.out("squeue", "-h", "-S", "i", "-o", "%i", *options).split()

    def test_options_of_a_later_component(self):
        """They were that component's alone."""
        for words, shown in ((("-n1", ":", "-n1", "-J", "x2", "-H"), ["x2 JobHeldUser", "x2 JobHeldUser"]),
                             (("-n1", "-J", "x1", ":", "-n1", "-J", "x2", "-t", "5", "-H"), ["x1 JobHeldUser", "x2 JobHeldUser"]),
                             (("-H", ":", "-J", "b", ":", "-J", "c"), ["c JobHeldUser", "b JobHeldUser", "c JobHeldUser"])):
            job = self.submit("-o", "/dev/null", *words, "--wrap", "true")
            self.assertEqual(self.out("squeue", "-h", "-S", "i", "-j", job, "-o", "%j %r").splitlines(), shown)
        self.run_cmd("scancel", "-u", "root")
        self.run_cmd("sbatch", "-o", "/dev/null", "-n1", ":", "-n99", "-J", "hb", "-Q", "--wrap", "true")
        self.fails(0, "", "scancel", "-n", "hb")
        self.assertEqual(self.ids(), [])
        self.fails(0, "", "salloc", "-n1", ":", "-n1", "-Q", "true")

    def test_this_host(self):
        """It was no node's name for squeue -w."""
        job = self.running("-N2")
        self.assertEqual(self.ids("-w", "localhost"), [str(job)])
        self.assertEqual(self.ids("-w", socket.gethostname()), [str(job)])
        self.fails(1, "squeue: error: Invalid node name nope\n", "squeue", "-w", "nope")

    def test_documents_of_errors(self):
        """stdout was empty, or no JSON."""
        for command, key, error, number in ((("scontrol", "show", "job", "99999"), "jobs", UNKNOWN, 2017),
                                            (("scontrol", "show", "step", "99999.0"), "steps", "slurm_get_job_steps error: Invalid job id specified", 2017),
                                            (("scontrol", "show", "node", "nope"), "nodes", "Node nope not found", 0xffffffff),
                                            (("squeue", "-j", "99999"), "jobs", UNKNOWN, 2017)):
            done = self.run_cmd(*command, "--json", check=False)
            self.assertEqual((done.returncode, done.stderr), (1, error + "\n"), command)
            document = json.loads(done.stdout)
            self.assertEqual((document[key], document["meta"]["command"][1:]), ([], [*command[1:], "--json"]))
            self.assertEqual([(e["description"], e["error_number"]) for e in document["errors"]], [(error, number)], command)
        done = self.run_cmd("scontrol", "show", "node", "n1,nope", "--json", check=False)
        document = json.loads(done.stdout)
        self.assertEqual(([node["name"] for node in document["nodes"]], len(document["errors"]), done.returncode), (["n1"], 1, 1))
        self.assertEqual(json.loads(self.out("squeue", "--json"))["errors"], [])

    def test_while_the_controller_is_down(self):
        """wait_job gave up; sdiag ended with 1; ping said nothing of what is to be done."""
        job = self.submit("-D", "/tmp", "-o", "/dev/null", "-N1", "--exclusive", "--wrap", "sleep 600")
        self.wait_state(job, "RUNNING")
        down = "Unable to contact slurm controller (connect failure)"
        self.cluster.kill_controller()
        waiting = self.cluster.start("scontrol", "wait_job", job, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.fails(255, f"slurm_get_statistics: {down}\n", "sdiag")
        stars = "*" * 41
        self.fails(1, "", "scontrol", "ping", out=f"Slurmctld(primary) at {socket.gethostname()} is DOWN\n"
                   f"{stars}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{stars}\n")
        for command, status in (("sinfo", 1), ("squeue", 1), ("sdiag", 255)):
            done = self.run_cmd(command, "--json", check=False)
            self.assertEqual(done.returncode, status)
            error, = json.loads(done.stdout)["errors"]
            self.assertEqual(error["error"], down)
        self.assertEqual(waiting.poll(), None)
        self.cluster.start_controller()
        _, err = waiting.communicate(timeout=60)
        self.assertEqual((waiting.returncode, err), (0, f"scontrol: Nodes are ready for job {job}\n"))
        self.fails(255, "slurm_reset_statistics: Access/permission denied\n", "sdiag", "-r", user=ALICE)

    def test_jobs_as_scontrol_takes_them(self):
        """job=ID was no job; the last line came only when the last of them failed."""
        job = self.held("--begin=now+1hour")
        for verb in ("release", "hold", "uhold"):
            self.fails(0, "", "scontrol", verb, f"job={job}")
        self.assertEqual(self.show(job)["Reason"], "JobHeldUser")
        for verb in ("requeue", "suspend"):
            self.fails(1, f"Job is pending execution for job {job}\n", "scontrol", verb, f"Job={job}")
        unknown = "Invalid job id specified"
        self.fails(1, f"{unknown} for job 99999\nslurm_suspend error:{unknown}\n{unknown} for job abc\nslurm_suspend error:{unknown}\n",
                   "scontrol", "hold", "99999", "abc")
        self.fails(1, f"{unknown} for job xx=1\nslurm_suspend error:{unknown}\n", "scontrol", "hold", "xx=1")

    def test_jobs_as_squeue_takes_them(self):
        """Such ids were refused."""
        job = self.held()
        for given in (f"{job}.0", f"{job}+0", f"{job} 81", f" {job}", f"{job}.batch,{job}"):
            self.assertEqual(self.ids("-j", given), [str(job)], given)
        for given in ("x", "0", f"{job},x"):
            self.assertEqual(self.run_cmd("squeue", "-j", given, check=False).returncode, 1, given)
        pair = self.submit("-H", "-o", "/dev/null", "-n1", ":", "-n1", "--wrap", "true")
        for given, shown in ((f"{pair}+1", ["+1"]), (f"{pair}+0,{job}", ["+0"]), (f"{pair}+1,{pair}", ["+0", "+1"])):
            self.assertEqual([i[-2:] for i in self.ids("-j", given) if "+" in i], shown, given)

    def test_expected_starts_of_jobs_that_run(self):
        """--start left them out whatever -t said."""
        job, held = self.running(), self.held()
        self.assertEqual(self.ids("--start"), [str(held)])
        self.assertEqual(self.ids("--start", "-t", "R"), [str(job)])
        self.assertEqual(self.ids("--start", "-t", "PD,R"), [str(job), str(held)])

    def test_no_date_without_a_heading(self):
        """squeue -i -h and sinfo -i -h printed one."""
        job = self.held()
        for command, first in ((("squeue", "-o", "%i"), f"{job}\n"), (("sinfo", "-o", "%P"), "debug*\n")):
            process = self.cluster.start(*command, "-h", "-i", "1", stdout=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), first)
            process.terminate()
            process.communicate()

    def test_states_that_are_none(self):
        """The message named all of the list."""
        for given in ("idle,bogus", "bogus,idle", "idle&bogus"):
            done = self.run_cmd("sinfo", "-t", given, check=False)
            self.assertEqual((done.returncode, done.stderr.split("\n")[0]), (1, 'sinfo: error: Bad state string: "bogus"'))

    def test_no_topology(self):
        """A node that was asked for was a failure."""
        self.fails(0, "scontrol: error: Topology information contains no switch or node named n1\n", "scontrol", "show", "topology", "n1")

    def test_variables_of_srun(self):
        """SLURM_NNODES made it two nodes; SRUN_DEBUG reached tasks that were to have nothing."""
        self.assertEqual(self.out("srun", "-l", "echo", "x", env={"SLURM_NNODES": "2"}), "0: x\n")
        self.assertEqual(self.out("srun", "-l", "echo", "x", env={"SLURM_JOB_NUM_NODES": "2"}).count("x"), 2)
        self.assertNotIn("SRUN_DEBUG", self.out("srun", "--export=NONE", "/usr/bin/env"))
        self.assertIn("SRUN_DEBUG=3\n", self.out("srun", "/usr/bin/env"))

    def test_messages(self):
        job, other = self.held(), self.running()
        for words, user, why in (((job, "hi"), None, "job notify failure: Requested operation is presently disabled"),
                                 ((other, "hi"), ALICE, "job notify failure: Invalid user id"), (("abc", "hi"), None, "Invalid job_id abc")):
            self.fails(1, why + "\n", "scontrol", "notify", *words, user=user)
        self.fails(1, "sattach: error: Could not get job step info: Invalid job id specified\n", "sattach", f"{other}.0", user=ALICE)
        nowhere = "{}: error: 'foo' can't be reached now, or it is an invalid entry for {}.  Use 'sacctmgr list clusters' to see available clusters.\n"
        for command in (("squeue",), ("sinfo",), ("scontrol", "show", "node"), ("sdiag",)):
            self.fails(1, nowhere.format(command[0], "SLURM_CLUSTERS"), *command, env={"SLURM_CLUSTERS": "foo"})
            self.fails(1, nowhere.format(command[0], "--cluster"), command[0], "-M", "foo", *command[1:])
        self.fails(1, "squeue: fatal: Unable to process configuration file /nonexist: No such file or directory\n", "squeue",
                   env={"SLURM_CONF": "/nonexist"})
        self.fails(255, "Invalid time specification (pos=0): elevenses\nsbatch: error: Invalid --begin specification\n",
                   "sbatch", "-b", "elevenses", "--wrap", "true")

    def test_scripts_of_a_list(self):
        """There was none."""
        job = self.held()
        script = self.out("scontrol", "write", "batch_script", job, "-")
        self.assertIn("true", script)
        self.assertEqual(self.out("scontrol", "write", "batch_script", f"{job},99999", "-"), script)
        self.run_cmd("scontrol", "write", "batch_script", f"{job},", cwd=self.cluster.work)
        self.assertTrue(os.path.exists(os.path.join(self.cluster.work, f"slurm-{job}.sh")))


if __name__ == "__main__":
    unittest.main()
