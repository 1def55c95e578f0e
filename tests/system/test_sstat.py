"""sstat: what running steps use, as measured on their nodes."""
import os
import subprocess
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE, BOB = 12051, 12052
# so much memory, so many bytes written, so much CPU time
WORK = ("import os,time; x=bytearray({mib}<<20); f=open('/dev/null','wb',0); f.write(b'x'*{bytes})\n"
        "while sum(os.times()[:2]) < {cpu}: pass\n"
        "open('ready.{name}.'+os.environ['SLURM_PROCID'],'w').close(); time.sleep(1000)")


class Sstat(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE, BOB)
        super().setUpClass()

    def work(self, name, tasks=1, options=(), mib=50, size=100000, cpu=1, **more):
        """A job with one step of so many tasks that have done their work."""
        code = WORK.format(mib=mib, bytes=size, cpu=cpu, name=name)
        job = self.submit("-n", tasks, *options, "-o", f"{name}.out", "--wrap", 'srun python3 -c "$WORK"', env={"WORK": code}, **more)
        wait_for(lambda: all(self.file_there(f"ready.{name}.{task}") for task in range(tasks)), "the tasks")
        self.addCleanup(self.run_cmd, "scancel", job, check=False)
        return job

    def file_there(self, name):
        return subprocess.run(["test", "-e", f"{self.cluster.work}/{name}"], check=False).returncode == 0

    def fields(self, job, names, *options):
        lines = self.out("sstat", "-n", "-P", "-j", job, "-o", names, *options).splitlines()
        return [dict(zip(names.split(","), line.split("|"))) for line in lines]

    def test_usage(self):
        job = self.work("usage", 2, ["-N2"])
        row, = self.fields(job, "JobID,NTasks,MaxRSS,AveRSS,MaxRSSNode,MaxVMSize,MinCPU,AveCPU,MaxDiskWrite,MaxDiskRead,Nodelist,AllocTRES",
                           "--noconvert")
        self.assertEqual((row["JobID"], row["NTasks"], row["Nodelist"]), (f"{job}.0", "2", "n[1-2]"))
        for name in ("MaxRSS", "AveRSS"):
            self.assertGreater(int(row[name]), 50 << 20)
            self.assertLess(int(row[name]), 150 << 20)
        self.assertGreater(int(row["MaxVMSize"]), int(row["MaxRSS"]))
        self.assertIn(row["MaxRSSNode"], ("n1", "n2"))
        self.assertRegex(row["MinCPU"], r"^00:00:0[1-9]$")
        self.assertRegex(row["AveCPU"], r"^00:00:0[1-9]$")
        self.assertGreaterEqual(int(row["MaxDiskWrite"]), 100000)
        self.assertLess(int(row["MaxDiskWrite"]), 110000)
        self.assertGreater(int(row["MaxDiskRead"]), 1000)
        self.assertRegex(row["AllocTRES"], r"cpu=2,mem=\d+M,node=2")
        short, = self.fields(job, "MaxRSS,TRESUsageInMax,TRESUsageOutTot")
        self.assertRegex(short["MaxRSS"], r"^\d+[KM]$")
        self.assertRegex(short["TRESUsageInMax"], r"^cpu=00:00:0\d,fs/disk=\d+K?,mem=\d+[KM],pages=\d+,vmem=\d+[KM]$")
        self.assertRegex(short["TRESUsageOutTot"], r"^fs/disk=\d+$")

    def test_the_greatest_is_named(self):
        code = ("import os,time; x=bytearray((90 if os.environ['SLURM_PROCID']=='1' else 10)<<20)\n"
                "open('ready.great.'+os.environ['SLURM_PROCID'],'w').close(); time.sleep(1000)")
        job = self.submit("-n2", "-N2", "-o", "great.out", "--wrap", 'srun python3 -c "$WORK"', env={"WORK": code})
        self.addCleanup(self.run_cmd, "scancel", job, check=False)
        wait_for(lambda: self.file_there("ready.great.0") and self.file_there("ready.great.1"), "the tasks")
        row, = self.fields(job, "MaxRSSTask,MaxRSSNode,MaxRSS,AveRSS", "--noconvert")
        self.assertEqual((row["MaxRSSTask"], row["MaxRSSNode"]), ("1", "n2"))
        self.assertGreater(int(row["MaxRSS"]), int(row["AveRSS"]) + (30 << 20))

    def test_how_often(self):  # what is used between two looks is not seen, but at the end
        code = ("import os,time,sys; x=bytearray(90<<20); time.sleep({held}); del x\n"
                "os.execvp('sh', ['sh', '-c', 'touch {name}; exec sleep 1000'])")
        peaks = {}
        for name, options, step in (("often", ["--acctg-freq=1"], "batch"), ("never", ["--acctg-freq=task=0"], "batch"),
                                    ("step", ["--acctg-freq=0"], "0")):
            program = "srun --acctg-freq=energy=9,task=1 python3" if step == "0" else "exec python3"
            job = self.submit(*options, "-o", f"{name}.out", "--wrap", f'{program} -c "$WORK"',
                              env={"WORK": code.format(held=3, name=name)})
            self.addCleanup(self.run_cmd, "scancel", job, check=False)
            peaks[name] = f"{job}.{step}"
        wait_for(lambda: all(self.file_there(name) for name in peaks), "what was held is let go")
        for name, step in peaks.items():
            peak = int(self.fields(step, "MaxRSS", "--noconvert")[0]["MaxRSS"])
            (self.assertLess if name == "never" else self.assertGreater)(peak, 60 << 20, name)

    def test_how_often_in_salloc(self):  # salloc --acctg-freq: steps follow
        code = "import os,time; x=bytearray(90<<20); time.sleep(3); del x\nos.execvp('sh', ['sh', '-c', 'touch {name}; exec sleep 1000'])"
        jobs = {}
        for name, options in (("looks", ["--acctg-freq=task=1"]), ("does.not", ["--acctg-freq=0"])):
            self.cluster.start("salloc", "-J", name, *options, "srun", "python3", "-c", code.format(name=name), stdout=-1, stderr=-1)
            wait_for(lambda: self.file_there(name), "what was held is let go")  # pylint: disable=cell-var-from-loop
            jobs[name] = self.out("squeue", "-h", "-n", name, "-o", "%i").strip()
            self.addCleanup(self.run_cmd, "scancel", jobs[name], check=False)
        peaks = {name: int(self.fields(f"{job}.0", "MaxRSS", "--noconvert")[0]["MaxRSS"]) for name, job in jobs.items()}
        self.assertGreater(peaks["looks"], 60 << 20)
        self.assertLess(peaks["does.not"], 60 << 20)

    def test_verbose(self):  # -vv
        job = self.work("verbose", cpu=0)
        done = self.run_cmd("sstat", "-vv", "-n", "-o", "jobid", f"{job}.0", job)
        self.assertEqual(done.stderr, f"sstat: debug:  Jobs requested:\n\nsstat: debug:  \t: StepId={job}.0\n\n"
                         f"sstat: debug:  \t: All steps for job {job}\n\nsstat: debug:  requesting info for StepId={job}.0\n"
                         f"sstat: debug:  requesting info for StepId={job}\n")
        self.assertEqual(self.run_cmd("sstat", "-v", "-n", "-o", "jobid", f"{job}.0").stderr, "")

    def test_steps(self):
        job = self.work("steps", cpu=0)
        ids = lambda *what: [line.strip() for line in self.out("sstat", "-n", "-o", "jobid", *what).splitlines()]
        self.assertEqual(ids("-j", job), [f"{job}.0"])
        self.assertEqual(ids("-a", "-j", job), [f"{job}.batch", f"{job}.0"])
        self.assertEqual(ids("-j", f"{job}.batch"), [f"{job}.batch"])
        self.assertEqual(ids("-j", f"{job}.batch,{job}.0"), [f"{job}.batch", f"{job}.0"])
        self.assertEqual(ids(job), [f"{job}.0"])
        for what, err in (([f"{job}.7"], f"StepId={job}.7 not found running."), (["99999"], "couldn't get steps for job 99999")):
            done = self.run_cmd("sstat", "-n", "-j", *what, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", f"sstat: error: {err}\n"))
        alone = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.addCleanup(self.run_cmd, "scancel", alone)
        self.wait_state(alone, "RUNNING")
        self.assertIn(f"No steps running for job {alone}", self.run_cmd("sstat", "-j", alone).stderr)

    def test_pids(self):
        job = self.work("pids", cpu=0)
        lines = self.out("sstat", "-i", "-j", job).splitlines()
        self.assertEqual(lines[0].split(), ["JobID", "Nodelist", "Pids"])
        step, nodes, pids = lines[2].split()
        self.assertEqual((step, nodes), (f"{job}.0", "n1"))
        with open(f"/proc/{pids.split(',')[0]}/environ", encoding="utf-8", errors="replace") as f:
            self.assertIn(f"SLURM_JOB_ID={job}\0", f.read())

    def test_formats(self):
        job = self.work("formats", cpu=0)
        self.assertEqual(self.out("sstat", "-j", job, "-o", "jobid,NTasks,MaxRSSNode"),
                         "JobID          NTasks MaxRSSNode \n------------ -------- ---------- \n"
                         f"{f'{job}.0':<12} {1:>8} {'n1':>10} \n")
        self.assertEqual(self.out("sstat", "-n", "-p", "-j", job, "--fields", "jobid,ntasks"), f"{job}.0|1|\n")
        self.assertEqual(self.out("sstat", "-P", "-j", job, "-o", "jobid,ntasks"), f"JobID|NTasks\n{job}.0|1\n")
        self.assertEqual(self.out("sstat", "-n", "-j", job, "-o", "jobid%20,ntasks%-4,tresusageinm%5").split("+")[0],
                         f"{f'{job}.0':>20} {1:<4} cpu=")
        wide = self.out("sstat", "-n", "-j", job, "-o", "jobid%2000000000")  # was more memory than there is
        self.assertEqual(len(wide), (1 << 20) + len(" \n"))
        bad = self.run_cmd("sstat", "-j", job, "-o", "foo", check=False)
        self.assertEqual((bad.returncode, bad.stdout, bad.stderr), (1, "", 'sstat: error: Invalid field requested: "foo"\n'))
        head = self.out("sstat", "-j", job).splitlines()[0]
        self.assertEqual(head.split()[:6], ["JobID", "AllocTRES", "MaxVMSize", "MaxVMSizeNode", "MaxVMSizeTask", "AveVMSize"])
        self.assertEqual(head.split()[-1], "TRESUsageOutTot")

    def test_permissions(self):
        job = self.work("alice", cpu=0, user=ALICE)
        self.assertEqual(len(self.fields(job, "JobID", )), 1)  # root
        self.assertIn(f"{job}.0", self.out("sstat", "-n", "-j", job, "-o", "jobid", user=ALICE))
        refused = self.run_cmd("sstat", "-n", "-j", job, "-o", "jobid", user=BOB, check=False)
        self.assertEqual(refused.stdout, "")
        self.assertIn("Access/permission denied", refused.stderr)

    def test_words(self):
        self.assertIn("-j <job(.stepid)>", self.out("sstat", "--help"))
        self.assertIn("Usage: sstat", self.out("sstat", "--usage"))
        self.assertRegex(self.out("sstat", "-V"), r"^slurm \d")
        names = self.out("sstat", "-e").split()
        self.assertIn("MaxRSSTask", names)
        self.assertEqual(len(names), len(set(names)))
        for command, err in (([], "sstat: error: You didn't give me any jobs to stat.\n"),
                             (["-j", "abc"], "sstat: fatal: Bad job/step specified: abc\n")):
            done = self.run_cmd("sstat", *command, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, err))


class NotShared(ClusterCase):
    """JobAcctGatherParams=NoShared: memory that others may have as well is nobody's."""
    NODES, CPUS = 1, 2
    CONF = Sstat.CONF + "JobAcctGatherParams=NoShared\n"

    def test_memory(self):
        # 80 MiB that are shared, 30 that are not
        code = ("import mmap,time; shared=mmap.mmap(-1, 80<<20); own=bytearray(b'x'*(30<<20))\n"
                "for _ in range(1280): shared.write(b'x'*65536)\n"
                "open('ready','w').close(); time.sleep(1000)")
        job = self.submit("-o", "/dev/null", "--wrap", 'srun python3 -c "$WORK"', env={"WORK": code})
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, "ready")), "the task has its memory")
        used = int(self.out("sstat", "-n", "-P", "--noconvert", "-j", job, "-o", "MaxRSS").strip())
        self.assertGreater(used, 30 << 20)
        self.assertLess(used, 75 << 20)
        self.run_cmd("scancel", job)
        self.wait_ended(job)


class OverMemoryKill(ClusterCase):
    """JobAcctGatherParams=OverMemoryKill: what is seen to use more than it has is ended as a whole."""
    NODES, CPUS = 2, 4
    CONF = Sstat.CONF + "JobAcctGatherParams=OverMemoryKill\n"
    EAT = "python3 -c 'import time; x=bytearray({mib}<<20); time.sleep({seconds})'"

    def said(self, name, step, mib):
        self.assertRegex(name, rf"slurmstepd: error: StepId={step} exceeded memory limit \(\d+ > {mib << 20}\), being killed\n"
                               r"slurmstepd: error: Exceeded job memory limit\n")

    def test_batch_script(self):
        job = self.submit("--mem=50", "-o", "batch.out", "--wrap", self.EAT.format(mib=200, seconds=1000) + "; echo after")
        self.wait_ended(job)
        shown = self.show(job)
        self.assertEqual((shown["JobState"], shown["ExitCode"]), ("FAILED", "0:9"))
        self.said(self.file("batch.out"), f"{job}.batch", 50)
        self.assertNotIn("after", self.file("batch.out"))

    def test_one_step_of_a_job(self):  # on all of its nodes; the script goes on
        eat = '[ $SLURM_PROCID = 0 ] || exec ' + self.EAT.format(mib=200, seconds=1000).replace("'", '"') + "; exec sleep 1000"
        job = self.submit("-N2", "-n2", "--mem=250", "-o", "step.out", "--wrap", f"srun --mem=60 sh -c '{eat}'; echo ended $?; exit 0")
        self.wait_ended(job)
        self.assertEqual(self.state(job), "COMPLETED")
        self.said(self.file("step.out"), f"{job}.0", 60)
        self.assertIn("\nended 137\n", self.file("step.out"))

    def test_srun(self):
        done = self.run_cmd("srun", "--mem=50", "sh", "-c", self.EAT.format(mib=200, seconds=1000), check=False)
        self.assertEqual(done.returncode, 137)
        self.said(done.stderr, r"\d+\.0", 50)

    def test_each_step_has_what_the_job_has(self):  # steps are not added up
        program = self.EAT.format(mib=200, seconds=3)
        job = self.submit("-n2", "-N1", "--mem=300", "-o", "two.out", "--wrap",
                          " & ".join(f"srun --overlap -n1 --mem=0 {program}" for _ in range(2)) + " & wait; echo done")
        self.wait_ended(job)
        self.assertEqual((self.state(job), self.file("two.out")), ("COMPLETED", "done\n"))


class VSizeFactor(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = Sstat.CONF + "JobAcctGatherParams=OverMemoryKill\nVSizeFactor=150\n"

    def test_memory_that_is_only_mapped(self):
        code = "python3 -c 'import mmap,time; x=mmap.mmap(-1, 900<<20); time.sleep(1000)'"
        done = self.run_cmd("srun", "--mem=400", "sh", "-c", code, check=False)
        self.assertEqual(done.returncode, 137)
        self.assertRegex(done.stderr, rf"exceeded virtual memory limit \(\d+ > {600 << 20}\), being killed")


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
