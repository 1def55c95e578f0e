"""Generic resources: found on the nodes, given to jobs and steps, told to tasks, shown. Files stand for GPUs.

What is expected is what a real Slurm 22.05 gave for the same nodes and files."""
import itertools
import os
import re
import shutil
import signal
import subprocess
import unittest

from harness import Cluster, ClusterCase, pids_with, wait_for

CONF = """GresTypes=gpu,fan,shard
SelectTypeParameters=CR_Core_Memory
AccountingStorageTRES=gres/gpu
Prolog={dir}/tell
Epilog={dir}/tell
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=4 RealMemory=4000 Gres=gpu:a100:4,fan:3
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 Sockets=2 CoresPerSocket=4 RealMemory=4000 Gres=gpu:a100:4,fan:3
NodeName=n3 NodeAddr=127.0.0.1 Port=@3 Sockets=2 CoresPerSocket=4 RealMemory=4000 Gres=gpu:t4:2,shard:8
NodeName=n4 NodeAddr=127.0.0.1 Port=@4 Sockets=2 CoresPerSocket=4 RealMemory=4000
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
PartitionName=other Nodes=n[3-4] State=UP
"""
GRES_CONF = """NodeName=n[1-2] Name=gpu Type=a100 File={dir}/dev/nvidia[4-5] Cores=0-3
NodeName=n[1-2] Name=gpu Type=a100 File={dir}/dev/nvidia[6-7] Cores=4-7
NodeName=n3 Name=gpu Type=t4 File={dir}/dev/nvidia[0-1] Flags=nvidia_gpu_env
"""
SCRIPT = """#!/bin/sh
echo $SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURMD_NODENAME $SLURM_JOB_GPUS $CUDA_VISIBLE_DEVICES >> {dir}/told
"""
COMMANDS = ("sbatch", "srun", "salloc")
SHOW = "scontrol -d show job -o $SLURM_JOB_ID"
TELL = "echo $SLURM_PROCID $SLURM_STEP_GPUS $CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE"


def make_devices(folder):
    os.mkdir(os.path.join(folder, "dev"))
    for number in range(8):
        with open(os.path.join(folder, "dev", f"nvidia{number}"), "w", encoding="utf-8"):
            pass


class Gres(ClusterCase):
    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(4, 8, 4000, CONF, {"gres.conf": GRES_CONF, "tell": SCRIPT}, make_devices)

    def setUp(self):
        self.kept = set()

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root", check=False)
        self.wait_no_jobs()

    def say(self, command, options, shell):
        """What a job of this command writes, once those before it have given their units back."""
        wait_for(lambda: set(self.out("squeue", "-h", "-o", "%A").split()) <= self.kept, "what ended is gone")
        words = options.split()
        if command != "sbatch":
            return self.out(command, *words, "sh", "-c", shell)
        name = f"said-{next(self.numbers)}"
        self.run_cmd("sbatch", "-W", "-o", f"{self.cluster.work}/{name}", *words, "--wrap", shell)
        return self.file(name)

    def gres(self, options, command="sbatch"):
        """The GRES= of each node, and other words of the job."""
        text = self.say(command, options, f"if [ ${{SLURM_PROCID:-0}} = 0 ]; then {SHOW}; fi")
        return re.findall(r" GRES=(\S*)", text), dict(w.split("=", 1) for w in text.split() if "=" in w)

    def refused(self, options, *lines, command="sbatch"):
        done = self.run_cmd(command, *options.split(), "--wrap=true" if command == "sbatch" else "true", check=False)
        self.assertNotEqual(done.returncode, 0, options)
        told = [line.split("error: ")[-1] for line in done.stderr.splitlines()]
        self.assertEqual(told, list(lines), options)

    def held(self, *options):
        job = self.submit("-o", "/dev/null", *options, "--wrap", "sleep 300")
        self.wait_state(job, "RUNNING")
        self.kept.add(str(job))
        return job

    def test_what_nodes_have(self):
        shown = self.out("scontrol", "-d", "show", "node", "n1")
        for line in ("   Gres=gpu:a100:4(S:0-1),fan:3\n", "   GresDrain=N/A\n", "   GresUsed=gpu:a100:0(IDX:N/A),fan:0\n",
                     "   CfgTRES=cpu=8,mem=4000M,billing=8,gres/gpu=4\n", "   AllocTRES=\n"):
            self.assertIn(line, shown)
        self.assertIn("   Gres=(null)\n", self.out("scontrol", "show", "node", "n4"))
        self.assertEqual(self.out("sinfo", "-h", "-p", "debug", "-o", "%G").strip(), "gpu:a100:4(S:0-1),fan:3")
        self.held("-w", "n1", "--gres=gpu:1,fan:2")
        shown = self.out("scontrol", "-d", "show", "node", "n1")
        self.assertIn("   GresUsed=gpu:a100:1(IDX:0),fan:2\n", shown)
        self.assertIn("gres/gpu=1\n", shown.split("AllocTRES=")[1][:40])
        used = self.out("sinfo", "-h", "-N", "-n", "n1", "-O", "gres:40,gresused:40").split()
        self.assertEqual(used, ["gpu:a100:4(S:0-1),fan:3", "gpu:a100:1(IDX:0),fan:2"])

    def test_environment_of_each_command(self):
        names = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK")
        for command, option in itertools.product(COMMANDS, ("--gres=gpu:2", "--gres=gpu:a100:2", "--gpus-per-node=2")):
            with self.subTest(command=command, option=option):
                shell = "env" if command != "salloc" else "srun env"
                env = dict(line.split("=", 1) for line in self.say(command, option, shell).splitlines() if "=" in line)
                for name in names:
                    self.assertEqual(env.get(name), "0,1", name)
                self.assertEqual(env["SLURM_GPUS_ON_NODE"], "2")
                self.assertEqual(env["SLURM_JOB_GPUS"], "0,1")
                self.assertEqual(env.get("SLURM_STEP_GPUS"), None if command == "sbatch" else "0,1")
                if command == "sbatch":
                    self.assertEqual(env.get("SLURM_GPUS_PER_NODE"), "2" if "per-node" in option else None)
        told = self.say("srun", "-p other -w n3 --gres=gpu:1", "env")
        self.assertIn("CUDA_VISIBLE_DEVICES=0\n", told)
        self.assertNotIn("ROCR_VISIBLE_DEVICES", told)  # Flags=nvidia_gpu_env
        self.assertNotIn("CUDA_VISIBLE_DEVICES", self.say("srun", "-p other -w n4", "env"))
        self.assertEqual(self.gres("--gres=gpu:1,fan:2")[0], ["gpu:a100:1(IDX:0),fan(CNT:2)"])

    def test_what_a_job_shows(self):
        gres, words = self.gres("--gres=gpu:2,fan:1 -t 5")
        self.assertEqual(gres, ["gpu:a100:2(IDX:0-1),fan(CNT:1)"])
        self.assertEqual(words["JOB_GRES"], "gpu:a100:2,fan:1")
        self.assertEqual(words["TresPerNode"], "gres/gpu:2,gres/fan:1")
        self.assertTrue(words["AllocTRES"].endswith(",gres/gpu=2"), words["AllocTRES"])
        self.assertTrue(words["ReqTRES"].endswith(",gres/gpu=2"), words["ReqTRES"])
        job = self.held("--gres=gpu:1", "-G", "1")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%b").strip(), "gres/gpu:1")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-O", "tres-per-node:20,tres-per-job:20").split(),
                         ["gres/gpu:1", "gres/gpu:1"])

    def test_units_are_held_by_one_job_at_a_time(self):
        first = self.held("-w", "n1", "--gres=gpu:3")
        self.held("-w", "n1", "--gres=gpu:1")
        self.assertIn("GRES=gpu:a100:3(IDX:0-2)", self.out("scontrol", "-d", "show", "job", first))
        second = self.submit("-w", "n1", "-o", "/dev/null", "--gres=gpu:2", "--wrap", "sleep 300")
        wait_for(lambda: self.out("squeue", "-h", "-j", second, "-o", "%T %r").strip() == "PENDING Resources",
                 "the second job waits for resources")
        told = self.out("sluice", "explain", second)
        self.assertRegex(told, r"1 has too few free generic resources now: it wants 2 of gpu \(n1\)")
        self.run_cmd("scontrol", "update", f"JobId={second}", "TresPerNode=gres/fan:1")
        self.wait_state(second, "RUNNING")
        third = self.submit("-w", "n1", "-o", "/dev/null", "--gres=gpu:2", "--wrap", "sleep 300")
        self.run_cmd("scancel", first)
        self.wait_state(third, "RUNNING")
        self.assertIn("GRES=gpu:a100:2(IDX:0-1)", self.out("scontrol", "-d", "show", "job", third))

    def test_gpus_of_the_job(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(self.gres("-G6", command)[0], ["gpu:a100:4(IDX:0-3)", "gpu:a100:2(IDX:0-1)"])
        self.assertEqual(self.gres("-N2 --gpus=5")[0], ["gpu:a100:3(IDX:0-2)", "gpu:a100:2(IDX:0-1)"])
        self.assertEqual(self.gres("-G4 --gpus-per-node=2")[0], ["gpu:a100:2(IDX:0-1)"])  # one line for nodes alike
        self.assertIn("SLURM_GPUS=3\n", self.say("sbatch", "-G3", "env"))

    def test_gpus_of_tasks(self):
        for command, option in itertools.product(COMMANDS, ("--gpus-per-task=1", "--tres-per-task=gres/gpu:1")):
            with self.subTest(command=command, option=option):
                shell = TELL if command == "srun" else f"srun sh -c '{TELL}'"
                told = sorted(self.say(command, f"-n2 {option}", shell).splitlines())
                self.assertEqual(told, ["0 0 0 2", "1 1 1 2"])
        for command in COMMANDS:
            gres, words = self.gres("--ntasks-per-gpu=2 -G2", command)
            self.assertEqual((gres, words["NumTasks"]), (["gpu:a100:2(IDX:0-1)"], "4"))
            for option in ("--ntasks-per-gpu=2", "--ntasks-per-tres=2"):
                self.assertEqual(self.gres(f"{option} -n4", command)[0], ["gpu:a100:2(IDX:0-1)"])
            gres, words = self.gres("-N1 --ntasks-per-gpu=2", command)  # a GPU of each node
            self.assertEqual((gres, words["NumTasks"]), (["gpu:a100:1(IDX:0)"], "2"))
            why = "srun: error: Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu.\n"
            self.fails(1, why + "srun: error: Invalid generic resource (gres) specification\n", "srun", "-n3", "--ntasks-per-gpu=2", "true")
            why = ("srun: error: gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask "
                   "specification\nsrun: error: Invalid generic resource (gres) specification\n")
            for nodes in ((), ("-N1-2",)):
                self.fails(1, why, "srun", *nodes, "--ntasks-per-gpu=1", "true")
        for options in ("-n4 --ntasks-per-gpu=2", "-G2 --ntasks-per-gpu=2"):
            told = sorted(self.say("srun", options, TELL).splitlines())
            self.assertEqual(told, ["0 0 0 2", "1 0 0 2", "2 1 1 2", "3 1 1 2"])

    def test_update_waiting_job(self):  # with or without gres/
        for change, shown in (("TresPerJob=gpu:2", "TresPerJob=gres/gpu:2"), ("TresPerSocket=gres/gpu:1", "TresPerSocket=gres/gpu:1"),
                              ("TresPerTask=gpu:1", "TresPerTask=gres/gpu:1"), ("TresPerTask=gres/gpu=1", "TresPerTask=gres/gpu:1"),
                              ("TresPerNode=fan", "TresPerNode=gres/fan:1"), ("Gres=gpu:a100:1", "TresPerNode=gres/gpu:a100:1")):
            with self.subTest(change=change):
                job = self.submit("-H", "-n2", "--wrap", "true")
                self.run_cmd("scontrol", "update", f"JobId={job}", change)
                self.assertIn(f"   {shown}\n", self.out("scontrol", "show", "job", job))
        job = self.submit("-H", "-n2", "--gpus-per-task=1", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TresPerTask=cpu=2")  # the new value is all there is
        shown = self.show(job)
        self.assertEqual((shown["CPUs/Task"], shown["TresPerTask"]), ("2", "cpu=2"))
        for change in ("TresPerJob=gpu:99", "TresPerSocket=gpu:5", "TresPerTask=nosuch:1"):
            job = self.submit("-H", "-n2", "--wrap", "true")
            self.assertEqual(self.run_cmd("scontrol", "update", f"JobId={job}", change, check=False).returncode, 1, change)

    def test_sizes_that_follow_from_gpus(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                _, words = self.gres("--cpus-per-gpu=2 -G2", command)
                self.assertEqual((words["NumCPUs"], words["CpusPerTres"]), ("4", "gres/gpu:2"))
                _, words = self.gres("--mem-per-gpu=100 -G2", command)
                self.assertEqual((words["Mem"], words["MemPerTres"]), ("200", "gres/gpu:100"))
                gres, words = self.gres("--gpus-per-socket=1 --sockets-per-node=2", command)
                self.assertEqual((gres, words["TresPerSocket"]), (["gpu:a100:2(IDX:0,2)"], "gres/gpu:1"))
                shell = TELL if command == "srun" else f"srun sh -c '{TELL}'"
                told = sorted(self.say(command, "-n2 --gpus-per-socket=1 --sockets-per-node=2", shell).splitlines())
                self.assertEqual(told, ["0 0,2 0,2 2", "1 0,2 0,2 2"])  # each task sees what the sockets gave
        done = self.run_cmd("salloc", "--gpus-per-socket=1", "--sockets-per-node=2", "srun", "--gpus-per-socket=2", "true", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Step requested gres_per_socket=gpu:2 is more than the job's gres_per_socket=gpu:1\n", done.stderr)

    def test_one_gpu_of_a_type(self):
        for command, option in itertools.product(COMMANDS, ("-G a100", "--gpus-per-node=a100", "--gpus-per-task=a100 -n1",
                                                            "--gpus-per-socket=a100 --sockets-per-node=1")):
            with self.subTest(command=command, option=option):
                self.assertEqual(self.gres(option, command)[0], ["gpu:a100:1(IDX:0)"])
        self.assertIn("SLURM_GPUS=a100\n", self.say("sbatch", "-G a100", "env"))
        with open(os.path.join(self.cluster.work, "typed.sh"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n#SBATCH -G a100\necho $CUDA_VISIBLE_DEVICES\n")
        self.run_cmd("sbatch", "-W", "-o", "typed.out", "typed.sh")
        self.assertEqual(self.file("typed.out"), "0\n")

    def test_cores_near_the_gpus(self):
        self.held("-w", "n1", "--gres=gpu:2")
        self.assertIn("CPU_IDs=4-5 ", self.say("sbatch", "-w n1 -c2 --gres=gpu:1", SHOW))
        self.assertEqual(self.gres("-w n1 -c6 --gres=gpu:1")[0], ["gpu:a100:1(IDX:2)"])  # a preference
        for command in COMMANDS:
            said = self.say(command, "-w n1 -c2 --gres=gpu:1 --gres-flags=disable-binding", SHOW)
            self.assertRegex(said, r"CPU_IDs=1-2 .*GRES=gpu:a100:1\(IDX:2\)", command)
        for command in COMMANDS:
            self.refused("-w n1 -c8 --gres=gpu:2 --gres-flags=enforce-binding",
                         *(["Unable to allocate resources: Requested node configuration is not available"]
                           if command == "srun" else
                           ["Job submit/allocate failed: Requested node configuration is not available"]
                           if command == "salloc" else
                           ["Batch job submission failed: Requested node configuration is not available"]), command=command)

    def test_binding(self):
        for command, bind, told in (("srun", "single:2", "0 0 1 1"), ("srun", "map_gpu:3,2,1,0", "3 2 1 0"),
                                    ("srun", "mask_gpu:3,1,0xc,1", "0,1 0 2,3 0"), ("sbatch", "single:1", "0 1 2 3"),
                                    ("salloc", "single:1", "0 1 2 3")):
            with self.subTest(command=command, bind=bind):
                shell = "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES"
                if command != "srun":
                    shell = f"srun sh -c '{shell}'"
                for option in (f"--gpu-bind={bind}", f"--tres-bind=gres/gpu:{bind}"):
                    said = self.say(command, f"-n4 --gres=gpu:4 {option}", shell)
                    self.assertEqual([line.split()[1] for line in sorted(said.splitlines())], told.split())
        said = self.say("srun", "-n2 --gres=gpu:4 --gpu-bind=per_task:2", TELL)
        self.assertEqual(sorted(said.splitlines()), ["0 0,1 0,1 4", "1 2,3 2,3 4"])
        done = self.run_cmd("srun", "--gres=gpu:1", "--gpu-bind=map_gpu:3", "sh", "-c", TELL)
        self.assertEqual(done.stdout.strip(), "0 0 0 1")
        self.assertNotIn("gpu-bind:", done.stderr)
        told = self.run_cmd("srun", "-l", "-n2", "--gres=gpu:4", "--gpu-bind=verbose,per_task:2", "true").stderr.splitlines()
        self.assertEqual(sorted(line for line in told if "gpu-bind" in line),
                         ["0: gpu-bind: usable_gres=0x3; bit_alloc=0xF; local_inx=0; global_list=0,1; local_list=0,1",
                          "1: gpu-bind: usable_gres=0xC; bit_alloc=0xF; local_inx=0; global_list=2,3; local_list=2,3"])
        self.assertIn("does not specify any devices within the allocation for task 0. Binding to the first", done.stderr)

    def test_near_gpus(self):
        """--accel-bind=g asks for --gpu-bind=closest, unless something more exact is said."""
        for options, bind in (("--gpu-bind=closest", "closest"), ("--accel-bind=g", "closest"), ("--accel-bind=gv", "verbose,closest"),
                              ("--accel-bind=g --gpu-bind=map_gpu:3", "map_gpu:3"), ("--gpu-bind=map_gpu:3 --accel-bind=g", "map_gpu:3")):
            said = self.say("srun", f"-n1 --gres=gpu:4 {options}", "scontrol show job $SLURM_JOB_ID | grep '^   TresBind'")
            self.assertEqual(said.strip(), f"TresBind=gres/gpu:{bind}", options)
        # a task with the four cores of one socket has the GPUs that are there
        for option, told in (("--gpu-bind=closest", "0,1"), ("--accel-bind=g", "0,1"), ("", "0,1,2,3")):
            said = self.say("srun", f"-n1 -c4 -w n1 --gres=gpu:4 {option}", TELL)
            self.assertEqual(said.strip(), f"0 {told} {told} 4", option)
        said = self.say("srun", "-n1 --gres=gpu:4 --accel-bind=n", "scontrol show job $SLURM_JOB_ID | grep -c '^   TresBind' || true")
        self.assertEqual(said.strip(), "0")
        self.fails(255, "srun: error: Invalid --accel-bind specification\n", "srun", "--accel-bind=x", "true")

    def test_parts_of_steps(self):
        shell = f"""
            t() {{ echo "== $*"; srun "$@" sh -c '{TELL}' 2>&1; }}
            t -n1; t -n1 --gres=gpu:1; t -n1 --gres=fan:1; t -n1 --gres=none; t -n1 --gpus=2; t -n2 --gpus-per-task=1
            t -n1 --gres=gpu:5; t -n1 --gres=gpu:h100:1
            export SLURM_STEP_GRES=gpu:1; t -n1 --mem=0; t -n1 --mem=0 --gres=gpu:2; unset SLURM_STEP_GRES; echo ==
            mkfifo {self.cluster.work}/go
            srun -n1 --exact --gres=gpu:2 sh -c 'echo first $CUDA_VISIBLE_DEVICES; read x < {self.cluster.work}/go' &
            until scontrol show step -o | grep -q TresPerNode=gres/gpu:2; do sleep 0.05; done
            scontrol show step -o $SLURM_JOB_ID | grep -c gres/gpu=2
            t -n1 --exact --gres=gpu:2
            t -n1 --exact --gres=gpu:3 --immediate
            echo > {self.cluster.work}/go; wait"""
        said = self.say("sbatch", "-n4 --gres=gpu:4,fan:1", shell)
        parts = dict(re.findall(r"== (.*)\n((?:(?!==).*\n)*)", said))
        expected = {"-n1": "0 0,1,2,3 0,1,2,3 4\n", "-n1 --gres=gpu:1": "0 0 0 1\n", "-n1 --gres=fan:1": "0\n",
                    "-n1 --gres=none": "0\n", "-n1 --gpus=2": "0 0,1 0,1 2\n",
                    "-n1 --mem=0": "0 0 0 1\n", "-n1 --mem=0 --gres=gpu:2": "0 0,1 0,1 2\n"}
        for options, told in expected.items():
            self.assertEqual(parts[options], told, options)
        self.assertEqual(sorted(parts["-n2 --gpus-per-task=1"].splitlines()), ["0 0 0 2", "1 1 1 2"])
        self.assertIn("Step requested gres_per_node=gpu:5 is more than the job's gres_per_node=gpu:4\n",
                      parts["-n1 --gres=gpu:5"])
        self.assertIn("Invalid generic resource (gres) specification\n", parts["-n1 --gres=gpu:5"])
        self.assertIn("Step requested GRES (gpu:h100) not found in the job\n", parts["-n1 --gres=gpu:h100:1"])
        self.assertIn("first 0,1\n", said)
        self.assertIn("0 2,3 2,3 2\n", parts["-n1 --exact --gres=gpu:2"])
        self.assertIn("Requested nodes are busy", parts["-n1 --exact --gres=gpu:3 --immediate"])

    def test_types_are_listed(self):  # the bug: the line that is followed by them was all
        for value in ("help", "list"):
            for command in ("sbatch", "salloc", "srun"):
                told = self.run_cmd(command, f"--gres={value}", "true").stdout.splitlines()
                self.assertEqual(told, ["Valid gres options are:"] + [f"{name}[[:type]:count]" for name in ("gpu", "fan", "shard")], (command, value))

    def test_refusals(self):
        failed = "Batch job submission failed: "
        invalid = "Invalid generic resource (gres) specification"
        self.refused("--gres=gpu:5", failed + "Requested node configuration is not available")
        self.refused("--gres=gpu:h100:1", failed + "Requested node configuration is not available")
        self.refused("-G20", failed + "Requested node configuration is not available")
        self.refused("--gres=nope:1", invalid)
        self.refused("--gres=gpu:x:y", invalid)
        self.refused("--gres=gpu:1,gpu:a100:1", failed + "Invalid GRES specification (with and without type identification)")
        self.refused("-N1 -G2 --gpus-per-node=4",
                     "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket", invalid)
        lacks = "--gpus-per-socket option requires --sockets-per-node specification"
        self.refused("--gpus-per-socket=1", lacks, invalid)
        self.refused("--gpus-per-socket=1 -n1 true : -n1", lacks, invalid, command="srun")
        for command in ("srun", "salloc"):  # those of an allocation of their own
            self.refused("--gpus-per-socket=1", lacks, invalid, command=command)
            self.refused("-G3 --gpus-per-node=2", "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node",
                         invalid, command=command)
        job = self.submit("-n1", "--gpus-per-node=2", "-o", "inside.out", "--wrap", "srun -G1 --gpus-per-node=2 true; echo $?")
        self.wait_ended(job)
        self.assertEqual(self.file("inside.out"), "0\n")
        for command in COMMANDS:  # as many tasks as nodes
            self.assertEqual(self.gres("-N2 --gpus-per-task=1", command)[1]["NumNodes"], "2")

    def test_shards(self):
        gres, _ = self.gres("-p other --gres=shard:3")
        self.assertEqual(gres, ["shard:3(IDX:0(3))"])
        said = self.say("srun", "-p other --gres=shard:2", "env")
        self.assertIn("CUDA_VISIBLE_DEVICES=0\n", said)
        self.assertIn("SLURM_SHARDS_ON_NODE=2\n", said)
        self.held("-p", "other", "--gres=shard:1")
        self.assertEqual(self.gres("-p other --gres=gpu:1")[0], ["gpu:t4:1(IDX:1)"])  # the other GPU is in parts
        waits = self.submit("-p", "other", "-o", "/dev/null", "--gres=gpu:2", "--wrap", "true")
        wait_for(lambda: "Resources" in self.out("squeue", "-h", "-j", waits, "-o", "%r"), "two whole GPUs are not there")

    def test_prolog_and_epilog_are_told(self):
        self.held("-w", "n1", "--gres=gpu:1")
        job = self.submit("-N2", "-o", "/dev/null", "--gres=gpu:2", "--wrap", "srun true")
        self.wait_ended(job)

        def told():
            with open(os.path.join(self.cluster.dir, "told"), encoding="utf-8") as f:
                return sorted(line.strip() for line in f if f" {job} " in line)
        wait_for(lambda: told() == [f"{context} {job} {node}" for context in ("epilog_slurmd", "prolog_slurmd")
                                    for node in ("n1 2,3 2,3", "n2 0,1 0,1")], "each script names its node's GPUs")

    def test_a_missing_device_drains(self):
        device = os.path.join(self.cluster.dir, "dev", "nvidia1")
        os.remove(device)
        self.cluster.kill_node("n3")
        self.cluster.start_node("n3")
        shown = wait_for(lambda: "INVALID_REG" in (text := self.out("scontrol", "show", "node", "n3")) and text, "n3 drains")
        self.assertIn("DRAIN", shown)
        self.assertIn("Reason=gres/gpu count reported lower than configured (1 < 2) [root@", shown)
        with open(device, "w", encoding="utf-8"):
            pass
        self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: self.out("sinfo", "-h", "-N", "-n", "n3", "-o", "%t").strip() == "idle", "n3 is back")

    def test_a_restarted_controller_knows_who_holds_what(self):
        self.held("-w", "n1", "--gres=gpu:2,fan:1")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: "GresUsed=gpu:a100:2(IDX:0-1),fan:1\n" in
                 self.run_cmd("scontrol", "-d", "show", "node", "n1", check=False).stdout, "n1's GPUs are held")
        wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%t").strip() == "mix", "n1 is back")
        self.assertEqual(self.gres("-w n1 --gres=gpu:1")[0], ["gpu:a100:1(IDX:2)"])


class Mps(ClusterCase):
    """Parts of GPUs for MPS: 200 of the one, 50 of the other."""
    CONF = """GresTypes=gpu,mps
SelectTypeParameters=CR_Core_Memory
Prolog={dir}/prolog
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=8 RealMemory=4000 Gres=gpu:a100:2,mps:250
PartitionName=debug Nodes=n1 Default=YES State=UP
"""
    GRES = """Name=gpu Type=a100 File={dir}/dev/nvidia[0-1]
Name=mps Count=200 File={dir}/dev/nvidia0
Name=mps Count=50 File={dir}/dev/nvidia1
"""
    PROLOG = """#!/bin/sh
echo $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE >> {dir}/told
"""
    TELL = "echo $CUDA_VISIBLE_DEVICES $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(1, 8, 4000, cls.CONF, {"gres.conf": cls.GRES, "prolog": cls.PROLOG}, make_devices)

    def test_percentage(self):
        # the GPU with the least left that has enough
        for wish, told in (("mps:40", "1 80\n"), ("mps:100", "0 50\n"), ("gpu:1", "0\n")):
            self.assertEqual(self.out("srun", f"--gres={wish}", "sh", "-c", self.TELL), told)
            self.wait_no_jobs()
        # a step has its part of the job's
        job = self.submit("--gres=mps:100", "-o", f"{self.cluster.work}/steps", "--wrap",
                          f"{self.TELL}; srun --gres=mps:30 sh -c '{self.TELL}'")
        self.wait_ended(job)
        self.assertEqual(self.file("steps"), "0 50\n0 15\n")
        with open(os.path.join(self.cluster.dir, "told"), encoding="utf-8") as f:
            self.assertIn(f"{job} 0 50\n", f.readlines())
        # parts of one GPU only: no two of them make up 220
        done = self.run_cmd("sbatch", "--gres=mps:220", "--wrap", "true", check=False)
        self.assertIn("Requested node configuration is not available", done.stderr)

    def test_listed_by_the_agent(self):  # slurmd -G, on the standard error as in Slurm
        done = subprocess.run([self.cluster.daemon("sluicenoded"), "-G", "-f", self.cluster.conf, "-N", "n1"], env=self.cluster.env,
                              capture_output=True, text=True, check=False, timeout=60)
        wanted = ""
        for index, parts in ((0, 200), (1, 50)):
            for name, count, number in (("gpu", 1, 7696487), ("mps", parts, 7565421)):
                wanted += (f"slurmd: Gres Name={name} Type=a100 Count={count} Index={index} ID={number} "
                           f"File={self.cluster.dir}/dev/nvidia{index}\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", wanted))

    def test_shown(self):
        job = self.submit("--gres=mps:50", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        shown = self.out("scontrol", "-d", "show", "job", str(job))
        for line in ("   JOB_GRES=mps:50\n", " GRES=mps:50(IDX:1(50))\n", "   TresPerNode=gres/mps:50\n"):
            self.assertIn(line, shown)
        node = self.out("scontrol", "-d", "show", "node", "n1")
        for line in ("   Gres=gpu:a100:2,mps:250\n", "   GresDrain=N/A\n", "   GresUsed=gpu:a100:0(IDX:N/A),mps:50(IDX:1(50))\n"):
            self.assertIn(line, node)
        self.assertEqual(self.out("sinfo", "-h", "-N", "-O", "gres:30,gresused:50").split(),
                         ["gpu:a100:2,mps:250", "gpu:a100:0(IDX:N/A),mps:50(IDX:1(50))"])
        self.assertEqual(self.out("squeue", "-h", "-O", "tres-per-node:20,tres-per-job:20,tres-per-task:20,tres-per-socket:20").split(),
                         ["gres/mps:50", "N/A", "N/A", "N/A"])
        self.run_cmd("scancel", str(job))
        self.wait_ended(job)


class ComeLater(ClusterCase):
    """A cluster gets its first GPUs while it runs."""
    NODES, CPUS = 1, 2

    def registered(self, act):
        count = self.cluster.log("n1").count("registered as n1")
        act()
        wait_for(lambda: self.cluster.log("n1").count("registered as n1") > count, "n1 has registered")

    def has_two(self):
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%t %G").strip() == "idle gpu:2", "n1 has its GPUs")
        self.assertEqual(self.out("srun", "--gres=gpu:2", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"), "0,1\n")
        self.wait_no_jobs()

    def test_a_reconfigure(self):
        make_devices(self.cluster.dir)
        lines = f"Name=gpu File={self.cluster.dir}/dev/nvidia[0-1]\n"
        file = os.path.join(self.cluster.dir, "gres.conf")
        with open(file, "w", encoding="utf-8") as f:
            f.write(lines)
        self.cluster.change_conf(lambda text: re.sub("^NodeName=.*", r"\g<0> Gres=gpu:2", text, flags=re.M) + "GresTypes=gpu\n")
        self.registered(lambda: self.run_cmd("scontrol", "reconfigure"))
        self.has_two()
        # as at sites whose controller has no gres.conf
        own = os.path.join(self.cluster.dir, "own")
        os.mkdir(own)
        for name in ("slurm.conf", "slurm.key"):
            shutil.copy(os.path.join(self.cluster.dir, name), own)
        os.rename(file, os.path.join(own, "gres.conf"))
        self.cluster.kill_node("n1")
        self.run_cmd("scontrol", "reconfigure")
        conf = os.path.join(own, "slurm.conf")
        self.registered(lambda: subprocess.run([self.cluster.daemon("sluicenoded"), "-f", conf, "-N", "n1"], check=True,
                                               env=self.cluster.env))
        try:
            self.has_two()
            self.registered(lambda: self.run_cmd("scontrol", "reconfigure"))
            self.has_two()
        finally:
            for pid in pids_with(conf, "sluicenoded"):
                os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not pids_with(conf, "sluicenoded"), "it is gone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
