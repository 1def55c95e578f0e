"""Heterogeneous jobs: components that are submitted, started and ended as one, and steps over several of them."""
import re
import unittest

from harness import ClusterCase, wait_for

WHO = ('echo P=$SLURM_PROCID L=$SLURM_LOCALID N=$SLURM_NODEID J=$SLURM_JOB_ID NT=$SLURM_NTASKS NN=$SLURM_NNODES '
       'NL=$SLURM_STEP_NODELIST TPN=$SLURM_TASKS_PER_NODE JNL=$SLURM_JOB_NODELIST GT=$SLURM_GTIDS on=$SLURMD_NODENAME')
SCRIPT = """#!/bin/sh
#SBATCH -n2 --mem=100 -J first -w n3 -o out.%j
#SBATCH hetjob
#SBATCH -n3 --mem=50 -N2 -w n1,n2
"""


class Het(ClusterCase):
    NODES, CPUS = 4, 4

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root", check=False)
        self.wait_no_jobs()

    def script(self, body, *options, head=SCRIPT):
        return self.submit(*options, stdin=head + body)

    def queue(self, what, *options):
        return sorted(self.out("squeue", "-h", "-t", "all", *options, "-o", what).splitlines())

    def output(self, job):
        self.wait_ended(f"{job}+0")
        return self.file(f"out.{job}")

    def test_submission_is_of_all_or_none(self):
        job = self.submit("-H", "-n1", ":", "-n2", ":", "-n1", "-p", "debug", "--wrap", "true")
        self.assertEqual(self.queue("%i %A %C", "-j", job), [f"{job}+0 {job} 1", f"{job}+1 {job + 1} 2", f"{job}+2 {job + 2} 1"])
        before = self.out("squeue", "-h", "-t", "all")
        self.fails(1, "sbatch: error: invalid partition specified: none\n"
                   "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
                   "sbatch", "-n1", ":", "-p", "none", "--wrap", "true")
        for arrays in (("-a1-2", ":", "-n1"), ("-n1", ":", "-a1-2")):
            self.fails(1, "sbatch: error: Batch job submission failed: Invalid job array specification\n",
                       "sbatch", *arrays, "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-t", "all"), before)
        self.assertEqual(self.submit("-H", "--wrap", "true"), job + 3)

    def test_names_and_fields(self):
        job = self.submit("-H", "-n1", ":", "-n2", "--wrap", "true")
        fields = "HetJobId,HetJobOffset,HetJobIdSet,JobId,JobArrayId"
        rows = [line.split() for line in self.out("squeue", "-h", "-j", job, "-O", fields).splitlines()]
        ids = f"{job}-{job + 1}"
        self.assertEqual(sorted(rows), [[str(job), "0", ids, str(job), f"{job}+0"], [str(job), "1", ids, str(job + 1), f"{job}+1"]])
        self.assertEqual(self.queue("%i", "-j", f"{job}+1"), [f"{job}+1"])
        self.assertEqual(self.queue("%i", "-j", job + 1), [f"{job}+1"])
        shown = self.out("scontrol", "show", "job", str(job))
        self.assertEqual(re.findall(r"JobId=\d+ HetJobId=\d+ HetJobOffset=\d+ JobName=wrap\n   HetJobIdSet=\S+", shown),
                         [f"JobId={job + i} HetJobId={job} HetJobOffset={i} JobName=wrap\n   HetJobIdSet={ids}" for i in (0, 1)])
        self.assertIn(f"JobId={job + 1} HetJobId={job} HetJobOffset=1 ", self.out("scontrol", "show", "job", f"{job}+1"))
        self.assertNotIn("HetJobOffset=0", self.out("scontrol", "show", "job", f"{job}+1"))
        self.assertEqual(self.run_cmd("scontrol", "show", "job", f"{job}+7", check=False).returncode, 1)
        text = self.out("squeue", "--json", "-j", f"{job}+1")
        self.assertIn(f'"het_job_id_set": "{ids}"', text)

    def test_variables_of_the_script(self):
        job = self.script("env\n")
        env = dict(line.split("=", 1) for line in self.output(job).splitlines() if "=" in line)
        wanted = {"SLURM_HET_SIZE": "2", "SLURM_PACK_SIZE": "2", "SLURM_JOB_ID": str(job), "SLURM_NTASKS": "2",
                  "SLURM_JOB_NODELIST": "n3", "SLURM_MEM_PER_NODE": "100"}
        for name, values in {"JOB_ID": (job, job + 1), "JOB_NODELIST": ("n3", "n[1-2]"), "JOB_NUM_NODES": (1, 2),
                             "NTASKS": (2, 3), "NPROCS": (2, 3), "MEM_PER_NODE": (100, 50), "JOB_PARTITION": ("debug", "debug"),
                             "JOB_CPUS_PER_NODE": (2, "2,1"), "TASKS_PER_NODE": (2, "2,1"), "JOB_NAME": ("first", "first")}.items():
            for group, value in enumerate(values):
                wanted[f"SLURM_{name}_HET_GROUP_{group}"] = wanted[f"SLURM_{name}_PACK_GROUP_{group}"] = str(value)
        self.assertEqual({name: env.get(name) for name in wanted}, wanted)

    def test_options_of_components(self):
        head = """#!/bin/sh
#SBATCH -n2 -J first -t 5 --comment=all -H
#SBATCH packjob
#SBATCH -n3
#SBATCH hetjob
#SBATCH -J third
"""
        done = self.run_cmd("sbatch", "--parsable", "-t", "7", ":", "-n4", stdin=head + "true\n")
        self.assertEqual(done.stderr, 'sbatch: Warning: the "packjob" component separator is being deprecated. '
                                      'Please, use "hetjob" instead.\n')
        job = int(done.stdout)
        # what the command line's last part says counts for the script's further ones
        self.assertEqual(self.queue("%i %j %l %C %k", "-j", job), [f"{job}+0 first 7:00 2 all", f"{job}+1 first 7:00 4 all",
                                                                  f"{job}+2 third 7:00 4 all"])
        other = self.submit("-H", "-n1", ":", "-t3", "--wrap", "true")
        self.assertEqual(self.queue("%i %l", "-j", other), [f"{other}+0 3:00", f"{other}+1 3:00"])

    def test_what_any_component_says(self):
        """What sbatch itself is to do is said once, in whichever component."""
        job = int(self.out("sbatch", "-H", "-n1", "-o", "/dev/null", ":", "--parsable", "-n1", "--wrap", "true"))
        self.assertEqual(self.run_cmd("sbatch", "-H", "-n1", ":", "-Q", "-n1", "--wrap", "true").stdout, "")
        for command, rest in (("sbatch", ("--wrap", "true")), ("srun", ("true",))):
            done = self.run_cmd(command, "-n1", *rest[2:], ":", "--test-only", "-n1", *rest)
            self.assertIn(f"{command}: Job ", done.stderr)
            self.assertIn(" to start at ", done.stderr)
        self.assertEqual(sorted(self.out("squeue", "-h", "-t", "PD", "-o", "%i").split()),
                         sorted(f"{job + i}+{k}" for i in (0, 2) for k in (0, 1)))
        self.run_cmd("scancel", "-u", "root")
        done = self.run_cmd("sbatch", "-n1", "-o", "/dev/null", ":", "-W", "-n1", "--wrap", "exit 3", check=False)
        self.assertEqual(done.returncode, 3)

    def test_lists_of_nodes(self):
        job = self.submit("-H", "-w", "n1", "-n5", "-o", "/dev/null", ":", "-w", "n3", "-n5", "--wrap", "sleep 1000")
        self.run_cmd("scontrol", "release", job)
        self.wait_state(f"{job}+1", "RUNNING")
        for component, node in ((0, "n1"), (1, "n3")):  # four CPUs each: a second node beside the one that is named
            shown = self.show(f"{job}+{component}")
            self.assertEqual((shown["NumNodes"], shown["NumCPUs"], shown["ReqNodeList"]), ("2", "5", node))

    def test_groups_in_another_job(self):
        for group, why in (("0", "No directives to start application on any available hetjob components"),
                           ("1", "Requested het-group offset exceeds highest hetjob index (1 > 0)")):
            done = self.run_cmd("salloc", "-Q", "-n1", "srun", f"--het-group={group}", "true", check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f"srun: error: {why}\n"))

    def test_script_of_a_component(self):
        job = self.submit("-H", "-n1", ":", "-n1", "--wrap", "echo body")
        for name in (job, f"{job}+0", f"{job}+1"):
            self.assertIn("echo body\n", self.out("scontrol", "write", "batch_script", name, "-"))

    def test_all_start_or_none(self):
        busy = self.submit("-w", "n2", "--exclusive", "--wrap", "sleep 1000")
        self.wait_state(busy, "RUNNING")
        job = self.submit("-n1", ":", "-n1", "-w", "n2", "--wrap", "sleep 1000")
        wait_for(lambda: self.queue("%i %T %r", "-j", job) == [f"{job}+{i} PENDING Resources" for i in (0, 1)], "it waits")
        self.run_cmd("scancel", busy)
        wait_for(lambda: self.queue("%i %T", "-j", job) == [f"{job}+{i} RUNNING" for i in (0, 1)], "both run")
        starts = {self.show(f"{job}+{i}")["StartTime"] for i in (0, 1)}
        self.assertEqual(len(starts), 1)
        batch = [line for line in self.out("squeue", "-s", "-h", "-o", "%i").split() if line.endswith(".batch")]
        self.assertEqual(batch, [f"{job}.batch"])

    def test_more_components_than_nodes(self):
        job = self.submit("-n1", "-o", "many", ":", "-n1", ":", "-n1", ":", "-n1", ":", "-n1", "--wrap",
                          "srun --het-group=0-4 sh -c 'echo $SLURM_PROCID $SLURM_NTASKS'")
        self.wait_ended(f"{job}+0")
        self.assertEqual(sorted(self.file("many").split("\n")), [""] + [f"{i} 5" for i in range(5)])

    def test_ends(self):
        job = self.submit("-n1", ":", "-n1", "--wrap", "exit 3")
        self.wait_ended(f"{job}+1")
        self.assertEqual(self.queue("%i %T %r", "-j", job), [f"{job}+{i} FAILED NonZeroExitCode" for i in (0, 1)])
        self.assertEqual(self.show(f"{job}+1")["ExitCode"], "3:0")
        self.assertEqual(self.run_cmd("sbatch", "-W", "-n1", ":", "-n1", "--wrap", "exit 7", check=False).returncode, 7)
        after = self.submit("-d", f"afternotok:{job}+1", "--wrap", "true")
        never = self.submit("-d", f"afterok:{job}+1", "--wrap", "true")
        self.wait_state(after, "COMPLETED")
        self.assertEqual(self.queue("%E", "-j", never), [f"afterok:{job}+1(failed)"])

    def test_cancel(self):
        one = "Operation not permitted on individual component of heterogeneous job"
        job = self.submit("-H", "-n1", ":", "-n1", "--wrap", "true")
        for target in (f"{job}+1", str(job + 1)):
            self.fails(60, f"scancel: error: Kill job error on job id {target}: {one}\n", "scancel", target)
        self.run_cmd("scancel", job)
        self.assertEqual(self.queue("%T", "-j", job), ["CANCELLED", "CANCELLED"])
        job = self.submit("-n1", ":", "-n1", ":", "-n1", "--wrap", "sleep 1000")
        self.wait_state(f"{job}+2", "RUNNING")
        self.run_cmd("scancel", f"{job}+1")
        self.wait_ended(f"{job}+1")
        self.assertEqual(self.queue("%i %T", "-j", job), [f"{job}+0 RUNNING", f"{job}+1 CANCELLED", f"{job}+2 RUNNING"])
        self.assertEqual(self.run_cmd("scancel", "-u", "root").stderr, "")
        self.wait_ended(f"{job}+2")

    def test_hold_update_suspend_requeue(self):
        job = self.submit("-H", "-n1", ":", "-n1", "--wrap", "sleep 1000")
        self.run_cmd("scontrol", "release", f"{job}+1")
        self.assertEqual(self.queue("%i %r", "-j", f"{job}+0"), [f"{job}+0 JobHeldUser"])
        self.run_cmd("scontrol", "update", f"jobid={job}", "name=both")
        self.run_cmd("scontrol", "update", f"jobid={job}+1", "name=one")
        self.assertEqual(self.queue("%i %j", "-j", job), [f"{job}+0 both", f"{job}+1 one"])
        self.run_cmd("scontrol", "release", job)
        self.wait_state(f"{job}+1", "RUNNING")
        one = "Operation not permitted on individual component of heterogeneous job"
        self.fails(1, f"{one} for job {job}+1\n", "scontrol", "suspend", f"{job}+1")
        self.run_cmd("scontrol", "suspend", job)
        self.assertEqual(self.queue("%T", "-j", job), ["SUSPENDED", "SUSPENDED"])
        self.run_cmd("scontrol", "resume", job)
        self.fails(1, f"Job not heterogeneous job leader for job {job + 1}\n", "scontrol", "requeue", job + 1)
        self.run_cmd("scontrol", "requeue", job)
        wait_for(lambda: {self.show(f"{job}+{i}")["Restarts"] for i in (0, 1)} == {"1"}, "both wait again")
        wait_for(lambda: self.queue("%T", "-j", job) == ["RUNNING", "RUNNING"], "both run again")

    def test_steps_over_components(self):
        job = self.script(f"srun -l --het-group=0,1 sh -c '{WHO}' | sort\n"
                          "srun --pack-group=1 sh -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_ID $SLURM_JOB_NODELIST' | sort\n"
                          "srun sh -c 'echo $SLURM_PROCID $SLURM_NTASKS' | sort\n"
                          "srun -n1 sh -c 'echo A $SLURM_PROCID' : -n2 -N1 sh -c 'echo B $SLURM_PROCID' | sort\n"
                          "srun --het-group=1 -n1 -N1 sh -c 'echo C $SLURM_PROCID' : --het-group=0 sh -c 'echo D $SLURM_PROCID' | sort\n"
                          "srun --het-group=0-1 sh -c 'exit $SLURM_PROCID' 2>/dev/null; echo $?\n")
        row = "{0}: P={0} L={1} N={2} J=%d NT=5 NN=3 NL=n[1-3] TPN=2,1,2 JNL=n[1-3] GT={3} on={4}" % job
        self.assertEqual(self.output(job).splitlines(), [
            row.format(0, 0, 0, "0,1", "n3"), row.format(1, 1, 0, "0,1", "n3"), row.format(2, 0, 1, "2,3", "n1"),
            row.format(3, 1, 1, "2,3", "n1"), row.format(4, 0, 2, "4", "n2"),
            *(f"{i} 3 {job} n[1-2]" for i in range(3)), "0 2", "1 2", "A 0", "B 1", "B 2", "C 2", "D 0", "D 1", "4"])

    def test_parts_in_a_plain_job(self):
        """Was refused with "Invalid request": nodes of one job among the parts of a step, as documented since 20.11."""
        who = ('echo $0 $SLURM_PROCID $SLURM_NTASKS $SLURM_STEP_ID $SLURM_NODEID $SLURM_STEP_NODELIST $SLURM_NNODES '
               '$SLURM_TASKS_PER_NODE $SLURM_JOB_NODELIST $SLURM_JOB_CPUS_PER_NODE $SLURM_HET_SIZE on $SLURMD_NODENAME')
        job = self.submit("-N3", "--exclusive", "-w", "n[1-3]", "-o", "out.%j", "-e", "err", "--open-mode=append", stdin=(
            "#!/bin/sh\n"
            f"srun -n1 sh -c '{who}' a : -n2 sh -c '{who}' b | sort\n"
            "srun -N3 true : -N1 true; srun -n1 -w n2 true : -n1 -w n2 true\n"
            "srun -n1 -o part.%s.%t true : -n1 -o part.%s.%t true\n"
            "srun --het-group=1 sh -c 'echo A $SLURM_PROCID' : --het-group=0 sh -c 'echo B $SLURM_PROCID' | sort\n"
            "srun sh -c 'exit 3' : sh -c 'exit 4' 2>/dev/null; echo $?\n"
            "srun -n1 sleep 600 : -n2 sleep 600 2>cancelled &\n"
            "until squeue -h -s | grep -q 4+1; do sleep 0.1; done; squeue -h --steps=$SLURM_JOB_ID.4 -o %i | sort; "
            "scontrol show step $SLURM_JOB_ID.4 | grep -c StepId; scancel $SLURM_JOB_ID.4; wait; "
            "while squeue -h -s | grep -q +; do sleep 0.1; done\n"))
        self.wait_ended(job)
        whole = "3 0 {} n[1-2] 2 1,2 n[1-3] 4(x3) on {}"
        self.assertEqual(self.file(f"out.{job}").splitlines(), [
            "a 0 " + whole.format(0, "n1"), "b 1 " + whole.format(1, "n2"), "b 2 " + whole.format(1, "n2"),
            "A 1", "B 0", "4", f"{job}.4+0", f"{job}.4+1", "2"])
        self.assertEqual(self.file("err").splitlines(), [
            "srun: error: Allocation failure of 1 nodes: job size of 3, already allocated 3 nodes to previous components.",
            "srun: error: Requested nodelist n2 overlaps with excluded n2.", "srun: error: Job not submitted."])
        self.assertIn(f"STEP {job}.4+1", self.file("cancelled"))

    def test_a_job_of_components_inside_another(self):
        """salloc's command found the sizes and the components of the job around it."""
        tell = ("echo ${SLURM_HET_SIZE-none} ${SLURM_JOB_NODELIST-none} ${SLURM_JOB_NODELIST_HET_GROUP_1-none} ${SLURM_NNODES-none}; "
                "srun --het-group=0,1 sh -c 'echo $SLURMD_NODENAME' | sort")
        self.assertEqual(self.out("salloc", "-Q", "-N2", "-w", "n1,n2", "salloc", "-Q", "-w", "n3", ":", "-w", "n4", "sh", "-c", tell),
                         "2 none n4 none\nn3\nn4\n")
        self.assertEqual(self.out("salloc", "-Q", "-w", "n1", ":", "-w", "n2", "salloc", "-Q", "-w", "n3", "sh", "-c",
                                  "echo ${SLURM_HET_SIZE-none} $SLURM_JOB_NODELIST ${SLURM_JOB_NODELIST_HET_GROUP_1-none}; srun sh -c 'echo $SLURMD_NODENAME'"),
                         "none n3 none\nn3\n")

    def test_refusals_of_groups(self):
        job = self.script("srun --het-group=2 true; srun --het-group=x true; srun true : true : true\n"
                          "srun --het-group=0 true : --het-group=0 true; srun true :\n", "-e", "err")
        self.output(job)
        self.assertEqual(self.file("err").splitlines(), [
            "srun: error: Requested het-group offset exceeds highest hetjob index (2 > 1)",
            "srun: error: Invalid --het-group value: x",
            "srun: error: Attempt to run a job step with het group value of 2, but the job allocation has maximum value of 1",
            "srun: fatal: Duplicate het groups in single srun not supported",
            "srun: fatal: No command given to execute."])

    def test_srun_makes_the_job(self):
        done = self.run_cmd("srun", "-n1", "sh", "-c", "echo A $SLURM_PROCID $SLURM_NTASKS $SLURM_HET_SIZE", ":", "-n2", "sh", "-c",
                            "echo B $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_ID; exit 2", check=False)
        self.assertEqual(done.returncode, 2)
        ids = re.findall(r"B 1 3 (\d+)", done.stdout)
        self.assertEqual(sorted(done.stdout.splitlines()), ["A 0 3 2", f"B 1 3 {ids[0]}", f"B 2 3 {ids[0]}"])
        self.wait_ended(f"{ids[0]}+1")
        self.assertEqual(sorted(self.out("srun", "-l", "-n1", ":", "-n2", "echo", "x").splitlines()), ["0: x", "1: x", "2: x"])
        # the first component says whose the input is; a task that another one names has an end to read, too
        self.assertEqual(self.out("srun", "-l", "-n1", "-i", "0", "cat", ":", "-n2", "-i", "1", "cat", stdin="in\n"), "0: in\n")

    def test_salloc(self):
        done = self.run_cmd("salloc", "-n1", "-w", "n4", ":", "-n2", "-w", "n2", "sh", "-c",
                            "env | grep SLURM_; srun -l --het-group=0,1 sh -c 'echo $SLURMD_NODENAME $SLURM_NTASKS' | sort; "
                            "srun -l sh -c 'echo $SLURM_NTASKS'; exit 3", check=False)
        self.assertEqual(done.returncode, 3)
        lines = done.stdout.splitlines()
        job = next(line.split("=")[1] for line in lines if line.startswith("SLURM_JOB_ID="))
        for wanted in ("SLURM_HET_SIZE=2", "SLURM_NTASKS=3", "SLURM_NTASKS_HET_GROUP_1=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n4",
                       "SLURM_JOB_NODELIST_HET_GROUP_1=n2", f"SLURM_JOB_ID_HET_GROUP_1={int(job) + 1}", "SLURM_NNODES_HET_GROUP_0=1"):
            self.assertIn(wanted, lines)
        self.assertFalse([line for line in lines if line.startswith("SLURM_JOB_NODELIST=")])
        self.assertEqual(lines[-4:], ["0: n4 3", "1: n2 3", "2: n2 3", "0: 1"])
        self.assertIn(f"salloc: Granted job allocation {job}\n", done.stderr)
        wait_for(lambda: not self.out("squeue", "-h", "-j", job), "all of it is given back")

    def test_signals_and_ends_of_steps(self):
        job = self.script("srun --het-group=0,1 -K1 sh -c '[ $SLURM_PROCID = 4 ] && exit 9; sleep 1000' ; echo $?\n"
                          "srun --het-group=0,1 sleep 1000 & echo $! > pid; wait $!; echo $?\n", "-e", "err")
        wait_for(lambda: self.file(f"out.{job}").strip().isdigit() and self.file("pid"), "the first step ended for a bad exit")
        steps = wait_for(lambda: len(s := self.out("squeue", "-s", "-h", "-o", "%i").split()) == 3 and s, "two parts of the step")
        self.assertEqual(sorted(steps), sorted([f"{job}.batch", f"{job}.1", f"{job + 1}.1"]))
        self.run_cmd("scancel", f"{job}.1")
        self.run_cmd("scancel", f"{job}+1.1")
        self.assertEqual(len(self.output(job).split()), 2)

    def test_controller_killed(self):
        job = self.submit("-o", "out.%j", "-n1", ":", "-n2", "--wrap",
                          "while [ ! -e go ]; do sleep 0.1; done; srun --het-group=0,1 -l echo x | sort")
        held = self.submit("-H", "-n1", ":", "-n1", "--wrap", "true")
        self.wait_state(f"{job}+0", "RUNNING")
        before = self.queue("%i %T %N %C")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.assertEqual(self.queue("%i %T %N %C"), before)
        with open(self.cluster.work + "/go", "w", encoding="utf-8"):
            pass
        self.assertEqual(sorted(self.output(job).splitlines()), ["0: x", "1: x", "2: x"])
        self.run_cmd("scontrol", "release", held)
        self.wait_state(f"{held}+1", "COMPLETED")


class Mpi(ClusterCase):
    NODES, CPUS = 3, 4

    def test_one_world(self):
        """PMI's simple protocol by hand: the world's size and a rank from each component."""
        ask = ("import os,socket; s=socket.socket(fileno=int(os.environ['PMI_FD'])); "
               "print(os.environ['PMI_RANK'], os.environ['PMI_SIZE'], os.environ['PMI_JOBID'])")
        done = self.run_cmd("srun", "--mpi=pmi2", "-n2", "python3", "-c", ask, ":", "-n3", "python3", "-c", ask)
        rows = sorted(line.split() for line in done.stdout.splitlines())
        self.assertEqual([row[:2] for row in rows], [[str(i), "5"] for i in range(5)])
        self.assertEqual(len({row[2] for row in rows}), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
