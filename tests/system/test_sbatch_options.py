"""Options of sbatch that act on the script: its environment, files, limits, signals, mail, and when it runs."""
import os
import re
import shutil
import tempfile
import unittest

from harness import BIN, ClusterCase, wait_for

MAIL = """#!/bin/sh
test "$1" = -s && echo "$3: $2" >> {dir}/mail
"""


class Sbatch(ClusterCase):
    NODES, CPUS = 3, 4

    @classmethod
    def setUpClass(cls):
        cls.outside = tempfile.mkdtemp(prefix="sluice-mail-")
        os.chmod(cls.outside, 0o777)
        mail = os.path.join(cls.outside, "mail.sh")
        with open(mail, "w", encoding="utf-8") as f:
            f.write(MAIL.format(dir=cls.outside))
        os.chmod(mail, 0o755)
        cls.CONF = f"MailProg={mail}\nPropagateResourceLimits=NONE\nJobRequeue=0\nLicenses=lic:4\n"
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.outside)

    def environment(self, *options, **variables):
        """The variables of a job submitted with these in the caller's environment (None: not there)."""
        caller = {k: v for k, v in self.cluster.env.items() if variables.get(k, "") is not None}
        caller.update({k: v for k, v in variables.items() if v is not None})
        name = f"env-{len(os.listdir(self.cluster.work))}"
        words = [os.path.join(BIN, "sbatch"), "-W", "-o", name, *options, "--wrap", "/usr/bin/env"]
        command = ["env", "-i", *(f"{k}={v}" for k, v in caller.items()), *words]
        self.run_cmd("/usr/bin/env", *command[1:])
        return dict(line.split("=", 1) for line in self.file(name).splitlines() if "=" in line)

    def test_environment(self):
        found = self.environment(ONE="1", TWO="2")
        self.assertEqual((found.get("ONE"), found.get("TWO")), ("1", "2"))
        found = self.environment("--export=NONE", ONE="1", TWO="2")
        self.assertEqual((found.get("ONE"), found.get("SLURM_EXPORT_ENV")), (None, "NONE"))
        found = self.environment("--export=NIL", ONE="1", SLURM_OWN="kept", USER="caller")  # nor what a login shell sets
        self.assertEqual([found.get(k) for k in ("ONE", "USER", "SLURM_OWN", "SLURM_EXPORT_ENV", "SLURM_GET_USER_ENV")],
                         [None, None, "kept", "NIL", None])
        found = self.environment("--export=ONE,THREE=3,FOUR='a,b'", ONE="1", TWO="2")
        self.assertEqual([found.get(k) for k in ("ONE", "TWO", "THREE", "FOUR")], ["1", None, "3", "'a,b'"])
        found = self.environment("--export=ALL,ONE=other", ONE="1", TWO="2")
        self.assertEqual((found.get("ONE"), found.get("TWO")), ("other", "2"))
        with open(os.path.join(self.cluster.work, "variables"), "wb") as f:
            f.write(b"FILED=a\nb\0ONE=file\0")
        found = self.environment("--export-file=variables", ONE="1", TWO="2")
        self.assertEqual((found.get("ONE"), found.get("TWO"), found.get("FILED")), ("file", None, "a"))
        self.assertNotIn("USER", self.environment(USER=None))
        found = self.environment("--get-user-env", USER=None)
        self.assertEqual((found.get("USER"), found.get("SLURM_GET_USER_ENV")), ("root", "1"))

    def test_files(self):
        os.mkdir(os.path.join(self.cluster.work, "sub"))
        for name in ("kept", "lost"):
            with open(os.path.join(self.cluster.work, name), "w", encoding="utf-8") as f:
                f.write("old\n")
        self.run_cmd("sbatch", "-W", "--open-mode=append", "-o", "kept", "--wrap", "echo new")
        self.run_cmd("sbatch", "-W", "--open-mode=truncate", "-o", "lost", "--wrap", "echo new")
        self.run_cmd("sbatch", "-W", "-D", "sub", "-o", "there", "--wrap", "pwd")
        self.assertEqual((self.file("kept"), self.file("lost")), ("old\nnew\n", "new\n"))
        self.assertEqual(self.file("sub/there"), self.cluster.work + "/sub\n")

    def test_standard_input(self):  # -i, with the job's own patterns
        for name in ("in.txt", "in-named"):
            with open(os.path.join(self.cluster.work, name), "w", encoding="utf-8") as f:
                f.write(f"from {name}\n")
        for options in (("-i", "in.txt", "-o", "in.out"), ("--input=in-%x", "-J", "named", "-o", "named.out")):
            self.wait_ended(self.submit(*options, "--wrap", "cat"))
        self.assertEqual((self.file("in.out"), self.file("named.out")), ("from in.txt\n", "from in-named\n"))

    def test_test_only(self):
        self.wait_no_jobs()
        before = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        done = self.run_cmd("sbatch", "--test-only", "-N2", "--wrap", "true")
        self.assertRegex(done.stderr, r"^sbatch: Job \d+ to start at \S+ using 2 processors on nodes n\[1-2\] in partition debug\n$")
        self.assertEqual(done.stdout, "")
        self.fails(1, "allocation failure: Requested node configuration is not available\n", "sbatch", "--test-only", "-N9",
                   "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-o", "%i").split(), [str(before)])
        self.run_cmd("scancel", before)

    def test_what_is_said(self):
        job = self.submit("-H", "--wrap", "true", "-o", "/dev/null")
        done = self.run_cmd("sbatch", "--parsable", "-M", "trial", "-H", "--wrap", "true")
        self.assertEqual(done.stdout, f"{job + 1};trial\n")
        done = self.run_cmd("sbatch", "--cluster", "trial", "-H", "--wrap", "true")
        self.assertEqual(done.stdout, f"Submitted batch job {job + 2} on cluster trial\n")
        done = self.run_cmd("sbatch", "-M", "elsewhere", "-H", "--wrap", "true", check=False)
        self.assertIn("sbatch: error: 'elsewhere' can't be reached now", done.stderr)
        done = self.run_cmd("sbatch", "-Q", "-H", "--wrap", "true")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        done = self.run_cmd("sbatch", "-Q", "-N2", "-n1", "-H", "--wrap", "true")  # srun and salloc warn all the same
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        done = self.run_cmd("sbatch", "-v", "-H", "-n3", "--wrap", "true")
        self.assertRegex(done.stderr, r"sbatch: defined options\n(.*\n)*sbatch: ntasks              : 3\n")
        self.assertEqual(self.out("squeue", "-h", "-t", "PD", "-S", "i", "-o", "%i").split(), [str(job + i) for i in range(6)])
        self.run_cmd("scancel", "-t", "PENDING", "-u", "root")

    def test_foreign_directives(self):
        with open(os.path.join(self.cluster.work, "pbs.sh"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n#PBS -N theirs\ntrue\n")
        taken = self.submit("-H", "pbs.sh")
        passed = self.submit("-H", "--ignore-pbs", "pbs.sh")
        self.assertEqual((self.show(taken)["JobName"], self.show(passed)["JobName"]), ("theirs", "pbs.sh"))
        self.run_cmd("scancel", taken, passed)

    def test_propagated_limits(self):
        for option, expected in (("", False), ("--propagate=NOFILE", True), ("--propagate", True), ("--propagate=CORE", False)):
            self.run_cmd("/bin/sh", "-c", f"ulimit -n 321; sbatch -W -o limits {option} --wrap 'ulimit -n'")
            self.assertEqual(self.file("limits") == "321\n", expected, option)

    def test_signals_before_the_end(self):
        loop = "echo ready; while :; do sleep 0.1; done"
        batch = self.submit("--signal=B:USR1@60", "-t2", "-o", "batch-signal", "--wrap",
                            f"trap 'echo batch; exit 5' USR1; {loop}")
        steps = self.submit("--signal=USR2@60", "-t2", "-o", "step-signal", "--wrap",
                            f"trap 'echo batch' USR2; srun sh -c \"trap 'echo step; exit 6' USR2; {loop}\"; echo $?")
        late = self.submit("--signal=B:USR1@5", "-t2", "-o", "late-signal", "--wrap", f"trap 'echo early' USR1; {loop}")
        for job, name in ((batch, "batch-signal"), (steps, "step-signal"), (late, "late-signal")):
            wait_for(lambda: self.file(name), "the trap is set")  # pylint: disable=cell-var-from-loop
            self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        self.assertEqual(self.wait_ended(batch), "FAILED")
        self.assertEqual(self.file("batch-signal").split(), ["ready", "batch"])
        self.assertEqual(self.wait_ended(steps), "COMPLETED")
        said = self.file("step-signal").split("\n")
        self.assertEqual(("step" in said, "6" in said, "batch" in said), (True, True, False))
        self.assertEqual(self.file("late-signal"), "ready\n")
        self.run_cmd("scancel", late)

    def mail(self, user):
        """The subjects of what was sent to him."""
        if not os.path.exists(self.outside + "/mail"):
            return []
        with open(self.outside + "/mail", encoding="utf-8") as f:
            return [line.split(": ", 1)[1].strip() for line in f if line.startswith(user + ":")]

    def test_mail_of_requeues_and_limits(self):
        def running(types, user, *options):
            job = self.submit(f"--mail-type={types}", f"--mail-user={user}", *options, "-o", "/dev/null", "--wrap", "sleep 1000")
            self.wait_state(job, "RUNNING")
            return job

        again = running("REQUEUE", "again", "--requeue")
        self.run_cmd("scontrol", "requeue", again)
        wait_for(lambda: self.mail("again"), "mail of the requeue")
        self.assertRegex(self.mail("again")[0], rf"^Slurm Job_id={again} Name=wrap Requeued, Run time \d\d:\d\d:\d\d")
        over = running("TIME_LIMIT", "over", "-t", "1")
        self.run_cmd("scontrol", "update", f"JobId={over}", "EndTime=now")
        self.assertEqual(self.wait_ended(over), "TIMEOUT")
        wait_for(lambda: self.mail("over"), "mail of the time limit")
        self.assertRegex(self.mail("over")[0], rf"^Slurm Job_id={over} Name=wrap Reached time limit, Run time \d\d:\d\d:\d\d")
        near = running("TIME_LIMIT_80", "near", "-t", "1")
        self.run_cmd("scontrol", "update", f"JobId={near}", "EndTime=now+6")
        wait_for(lambda: self.mail("near"), "mail before the limit")
        self.assertRegex(self.mail("near")[0], rf"^Slurm Job_id={near} Name=wrap Reached 80% of time limit, Run time \d\d:\d\d:\d\d")
        self.run_cmd("scancel", again, near)
        self.wait_no_jobs()
        self.assertEqual([len(self.mail(user)) for user in ("again", "over", "near")], [1, 1, 1])

    def test_mail(self):
        good = self.submit("--mail-type=ALL", "--mail-user=good", "-J", "post", "-o", "/dev/null", "--wrap", "true")
        bad = self.submit("--mail-type=FAIL", "--mail-user=bad", "-o", "/dev/null", "--wrap", "exit 3")
        end = self.submit("--mail-type=END", "--mail-user=end", "-o", "/dev/null", "--wrap", "exit 3")
        quiet = self.submit("--mail-type=BEGIN,NONE", "--mail-user=quiet", "-o", "/dev/null", "--wrap", "true")
        array = self.submit("--mail-type=BEGIN,END", "--mail-user=array", "--array=0-2", "-o", "/dev/null", "--wrap",
                            "exit $SLURM_ARRAY_TASK_ID")
        tasks = self.submit("--mail-type=END,ARRAY_TASKS", "--mail-user=tasks", "--array=0-1", "-o", "/dev/null",
                            "--wrap", "true")
        never = self.submit("--mail-type=INVALID_DEPEND", "--mail-user=never", "-d", f"afterok:{bad}", "--wrap", "true")
        self.assertEqual(self.show(good)["MailUser"], "good")
        self.assertEqual(self.show(good)["MailType"], "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT")
        for user, count in (("good", 2), ("bad", 1), ("end", 1), ("array", 2), ("tasks", 2), ("never", 1)):
            wait_for(lambda: len(self.mail(user)) >= count, f"mail to {user}")  # pylint: disable=cell-var-from-loop
        began, ended = sorted(self.mail("good"))
        self.assertRegex(began, rf"^Slurm Job_id={good} Name=post Began, Queued time \d\d:\d\d:\d\d$")
        self.assertRegex(ended, rf"^Slurm Job_id={good} Name=post Ended, Run time \d\d:\d\d:\d\d, COMPLETED, ExitCode 0$")
        self.assertRegex(self.mail("bad")[0], rf"^Slurm Job_id={bad} Name=wrap Failed, Run time .*, FAILED, ExitCode 3$")
        self.assertRegex(self.mail("end")[0], rf"^Slurm Job_id={end} Name=wrap Ended, Run time .*, FAILED, ExitCode 3$")
        began, ended = sorted(self.mail("array"))
        self.assertRegex(began, rf"^Slurm Array Summary Job_id={array}_\* \(\d+\) Name=wrap Began$")
        self.assertRegex(ended, rf"^Slurm Array Summary Job_id={array}_\* \(\d+\) Name=wrap Ended, Mixed, ExitCode \[0-2\]$")
        self.assertEqual(sorted(re.search(r"Job_id=(\S+)", m)[1] for m in self.mail("tasks")), [f"{tasks}_0", f"{tasks}_1"])
        self.wait_ended(quiet)
        self.assertEqual((self.mail("quiet"), len(self.mail("array")), len(self.mail("good"))), ([], 2, 2))
        self.run_cmd("scancel", never)

    def test_dependencies(self):
        first = self.submit("-o", "/dev/null", "--wrap", "while [ ! -e go ]; do sleep 0.05; done; exit 1")
        waits = {kind: self.submit("-o", "/dev/null", "-d", f"{kind}:{first}", "--wrap", "true")
                 for kind in ("afternotok", "afterany", "afterok")}
        killed = self.submit("--kill-on-invalid-dep=yes", "-d", f"afterok:{first}", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(first, "RUNNING")
        self.assertEqual(self.out("squeue", "-h", "-t", "PD", "-o", "%r").split(), ["Dependency"] * 4)
        self.assertEqual(self.wait_ended(self.submit("-o", "/dev/null", "-d", f"after:{first}", "--wrap", "true")),
                         "COMPLETED")
        one = self.submit("-J", "alone", "-o", "/dev/null", "--wrap", "while [ ! -e go ]; do sleep 0.05; done")
        two = self.submit("-J", "alone", "-d", "singleton", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(one, "RUNNING")
        self.assertEqual(self.state(two), "PENDING")
        open(os.path.join(self.cluster.work, "go"), "w").close()
        for job in (waits["afternotok"], waits["afterany"], two):
            self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.wait_ended(killed), "CANCELLED")
        wait_for(lambda: self.show(waits["afterok"])["Reason"] == "DependencyNeverSatisfied", "afterok can never start")
        self.run_cmd("scancel", waits["afterok"])

    def test_times(self):
        begin = self.submit("--begin=now+1hour", "--wrap", "true")
        soon = self.submit("--begin=now+2", "-o", "/dev/null", "--wrap", "true")
        dead = self.submit("-d", f"afterany:{begin}", "--deadline=now+2", "--wrap", "true")
        late = self.submit("--begin=now+30minutes", "--deadline=now+1hour", "-t", "30", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={late}", "TimeLimit=61")
        for command in (("sbatch", "--wrap", "true"), ("srun", "true"), ("salloc", "true")):
            self.fails(1, f"{command[0]}: error: Incompatible begin and deadline time specification\n",
                       command[0], "--begin=now+1hour", "--deadline=now+2", *command[1:])
        self.assertEqual(self.out("squeue", "-h", "-j", begin, "-o", "%T %r").strip(), "PENDING BeginTime")
        self.assertEqual(self.wait_ended(soon), "COMPLETED")
        found = self.show(soon)
        self.assertGreater(found["StartTime"], found["SubmitTime"])
        self.wait_state(dead, "DEADLINE")
        self.wait_state(late, "DEADLINE")
        self.run_cmd("scancel", begin)
        then = self.submit("--begin=2037-06-01T10:00", "-t", "10", "--wrap", "true")
        found = self.show(then)
        self.assertEqual((found["StartTime"], found["EndTime"]), ("2037-06-01T10:00:00", "2037-06-01T10:10:00"))
        self.assertEqual(self.out("squeue", "-h", "-j", then, "-o", "%e").strip(), "2037-06-01T10:10:00")
        self.run_cmd("scancel", then)

    def test_requeue(self):
        kept = self.submit("--requeue", "-o", "/dev/null", "--wrap", "sleep 100")
        plain = self.submit("-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(plain, "RUNNING")
        self.wait_state(kept, "RUNNING")
        self.run_cmd("scontrol", "requeue", kept)
        wait_for(lambda: self.show(kept)["Restarts"] == "1", "the job was requeued")
        self.assertEqual(self.run_cmd("scontrol", "requeue", plain, check=False).returncode, 1)
        self.run_cmd("scancel", kept, plain)

    def test_node_failure(self):
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=RESUME", check=False)
        jobs = [self.submit("-N2", "-w", "n[2-3]", *option, "-o", "/dev/null", "--wrap", "sleep 100") for option in ((), ("-k",))]
        for job in jobs:
            self.wait_state(job, "RUNNING")
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=test")
        self.assertEqual(self.wait_ended(jobs[0]), "NODE_FAIL")
        self.assertEqual(self.state(jobs[1]), "RUNNING")
        self.run_cmd("scancel", jobs[1])
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=RESUME")


class BatchHost(ClusterCase):
    NODES, CPUS = 3, 2
    CONF = ("".join(f"NodeName=n{i} NodeAddr=127.0.0.1 Port=@{i} CPUs=2 RealMemory=4000 Feature=f{c}\n" for i, c in ((1, "a"), (2, "b"), (3, "c")))
            + "PartitionName=debug Nodes=ALL Default=YES State=UP\n")
    SUBSET = "sbatch: error: Batch job submission failed: Job --batch option is invalid or not a subset of --constraints\n"

    def test_batch(self):  # --batch
        """The script runs on the first node of the job that has what is asked for, else on the first."""
        for wish, nodes, host in (("fb", "n[1-2]", "n2"), ("fc|fb", "n[1-3]", "n2"), ("fc", "n[1-2]", "n1"), ("fa&fc", "n[1-3]", "n1"),
                                  ("fc", "n[1,3]", "n3")):
            job = self.submit("--batch", wish, "-C", "fa|fb|fc", "-w", nodes, "-N", str(len(self.out("scontrol", "show", "hostnames", nodes).split())),
                              "-o", "batch.out", "--wrap", "echo $SLURMD_NODENAME; srun sh -c 'echo $SLURMD_NODENAME'; scontrol show job $SLURM_JOB_ID")
            self.assertEqual(self.wait_ended(job), "COMPLETED")
            lines = self.file("batch.out").splitlines()
            names = self.out("scontrol", "show", "hostnames", nodes).split()
            self.assertEqual((lines[0], sorted(lines[1:1 + len(names)])), (host, names), wish)
            self.assertIn(f"   BatchFeatures={wish} BatchHost={host}", lines)
        self.fails(1, self.SUBSET, "sbatch", "--batch=fb", "--wrap", "true")
        self.fails(1, self.SUBSET, "sbatch", "--batch=fz", "-C", "fa|fb", "--wrap", "true")


if __name__ == "__main__":
    unittest.main()
