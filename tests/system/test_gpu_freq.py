"""--gpu-freq, TresFreq and GpuFreqDef, with tests/fake_nvml in place of NVIDIA's library: this module runs in a mount namespace of
its own, where the loader finds that one. The clocks that are set lie in a folder beside it."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, Cluster, ClusterCase, need_root, wait_for

INSIDE = "SLUICE_TEST_GPU_FREQ"
LIBRARY = os.path.join(BUILD, "tests/fake_nvml/libnvidia-ml.so.1")
CACHE = "/etc/ld.so.cache"
PLACE = {}  # "clocks": the folder
NODES = """GresTypes=gpu
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=8 RealMemory=4000 Gres=gpu:4
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=8 RealMemory=4000 Gres=gpu:2
PartitionName=debug Nodes=n1 Default=YES State=UP
PartitionName=plain Nodes=n2 State=UP
"""
GRES = "NodeName=n1 AutoDetect=nvml\nNodeName=n2 Name=gpu File={dir}/dev/nvidia[0-1]\n"
DISABLED = "GpuFreq=control_disabled\n"
INVALID = "Invalid Trackable RESource (TRES) specification for job {}\n"


def replace_library():
    """For this process and all that it starts."""
    folder = tempfile.mkdtemp(prefix="sluice-test-nvml-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, True)
    shutil.copy(LIBRARY, folder)
    PLACE["clocks"] = os.path.join(folder, "clocks")
    os.mkdir(PLACE["clocks"])
    conf, cache = os.path.join(folder, "conf"), os.path.join(folder, "cache")
    with open(conf, "w", encoding="utf-8") as f:
        f.write(f"{folder}\ninclude /etc/ld.so.conf\n")
    subprocess.run(["/sbin/ldconfig", "-X", "-C", cache, "-f", conf], check=True)
    subprocess.run(["mount", "--bind", cache, CACHE], check=True)


def make_devices(folder):
    os.mkdir(os.path.join(folder, "dev"))
    for number in range(2):
        with open(os.path.join(folder, "dev", f"nvidia{number}"), "w", encoding="utf-8"):
            pass


def clocks():
    """How the GPUs run whose clocks are set, "MEMORY GRAPHICS" in MHz."""
    return sorted(read(name) for name in os.listdir(PLACE["clocks"]))


def read(name):
    try:
        with open(os.path.join(PLACE["clocks"], name), encoding="utf-8") as f:
            return f.read().strip()
    except FileNotFoundError:  # reset meanwhile
        return ""


class Gpus(ClusterCase):
    CONF = ""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(2, 8, 4000, NODES + cls.CONF, {"gres.conf": GRES}, make_devices)

    def setUp(self):
        self.wait_no_jobs()
        self.look = f"cat {PLACE['clocks']}/* 2>/dev/null || echo usual"

    def as_before(self):
        wait_for(lambda: not clocks(), "the clocks are reset")

    def found(self, *options, gpus=1):
        """What one task of srun finds."""
        return self.out("srun", "-Q", "-n1", f"--gres=gpu:{gpus}", *options, "sh", "-c", self.look).strip()

    def start_step(self, *options):
        """A step that runs until it is stopped."""
        srun = self.cluster.start("srun", "-Q", "-n1", *options, "sleep", "1000", stderr=subprocess.DEVNULL)
        self.addCleanup(srun.wait, 60)
        self.addCleanup(srun.terminate)


class Clocks(Gpus):
    def test_what_is_set(self):
        for request, wanted in {"low": "1215 210", "medium": "1215 810", "highm1": "1215 1110", "high": "1215 1410", "511": "1215 810",
                                "99999999999": "1215 1410", "memory=low": "405 210", "memory=highm1,low": "810 210",
                                "510,memory=500,": "810 510"}.items():
            self.assertEqual(self.found(f"--gpu-freq={request}"), wanted, request)
            self.as_before()  # the step is over
        self.assertEqual(self.found("--gpu-freq=low", gpus=3), "\n".join(["1215 210"] * 3))
        self.as_before()
        self.assertEqual(self.found(), "usual")

    def test_variables(self):
        said = self.out("srun", "-Q", "-n1", "--gres=gpu:1", "sh", "-c", f"echo $SLURMD_TRES_FREQ; {self.look}",
                        env={"SLURM_GPU_FREQ": "medium"})
        self.assertEqual(said, "gpu:medium\n1215 810\n")

    def test_verbose(self):
        done = self.run_cmd("srun", "-Q", "-n1", "--gres=gpu:2", "--gpu-freq=memory=low,verbose", "true")
        self.assertEqual(done.stderr, "GpuFreq=memory_freq:405,graphics_freq:210\n" * 2)
        self.assertEqual(self.run_cmd("srun", "-Q", "-n1", "--gres=gpu:2", "--gpu-freq=memory=low", "true").stderr, "")

    def test_what_is_refused(self):
        for request in ("foo", "LOW", "low,foo", "graphics=low", "memory=", "80x", ""):
            for command, program in (("srun", ["true"]), ("salloc", ["true"]), ("sbatch", ["--wrap", "true"])):
                self.fails(255, f"{command}: error: Invalid --gpu-freq argument: gpu:{request}\n",
                           command, f"--gpu-freq={request}", *program)

    def test_scripts(self):
        """The script's GPUs run as they do, those of its steps as it was submitted."""
        with open(os.path.join(self.cluster.work, "job.sh"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n#SBATCH --gres=gpu:1\necho $SLURM_GPU_FREQ; {self.look}\n"
                    f"srun -Q sh -c '{self.look}'; srun -Q --gpu-freq=high sh -c '{self.look}'\n")
        for options, env in ((["--gpu-freq=memory=low,low"], {}), ([], {"SBATCH_GPU_FREQ": "memory=low,low"})):
            self.wait_ended(self.submit("-n1", "-o", "script.out", *options, "job.sh", env=env))
            self.assertEqual(self.file("script.out"), "memory=low,low\nusual\n405 210\n1215 1410\n")
            self.as_before()

    def test_shells(self):
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--gres=gpu:1", "--gpu-freq=low", "sh", "-c",
                                  f"echo $SLURM_GPU_FREQ; srun -Q sh -c '{self.look}'"), "low\n1215 210\n")
        self.wait_no_jobs()
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--gres=gpu:1", "srun", "-Q", "sh", "-c", self.look,
                                  env={"SALLOC_GPU_FREQ": "medium"}), "1215 810\n")

    def test_who_shows_it(self):
        self.start_step("--gres=gpu:1", "--gpu-freq=low,verbose", "-J", "shown")
        job = wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-n", "shown", "-o", "%A").strip(), "the job runs")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-j", job), "the step runs")
        for what, number in (("job", job), ("step", f"{job}.0")):
            self.assertIn("\n   TresFreq=gpu:low,verbose\n   TresPer", self.out("scontrol", "show", what, number))
        for options in ((), ("-s",)):
            self.assertEqual(self.out("squeue", "-h", *options, "-j", job, "-O", "tres-freq:40").strip(), "gpu:low,verbose")
        self.assertEqual(json.loads(self.out("scontrol", "show", "job", job, "--json"))["jobs"][0]["tres_freq"], "gpu:low,verbose")
        step = json.loads(self.out("scontrol", "show", "step", f"{job}.0", "--json"))["steps"][0]
        self.assertEqual(step["tres"]["frequency"], "gpu:low,verbose")
        wait_for(lambda: clocks() == ["1215 210"], "one GPU is slow")
        self.run_cmd("scancel", job)
        self.as_before()

    def test_update(self):
        job = self.submit("-H", "-n1", "--gres=gpu:1", "--gpu-freq=low", "-o", "update.out", "--wrap", f"srun -Q sh -c '{self.look}'")
        for value in ("gpu:high", "gpu:memory=low,high", "gpu:low,verbose", ""):
            self.run_cmd("scontrol", "update", f"JobId={job}", f"TresFreq={value}")
            self.assertEqual(self.show(job).get("TresFreq", ""), value)
        for value in ("high", "foo", "gpu:foo", "gpu", "gpu:", "gpu:Low"):
            self.fails(1, INVALID.format(job), "scontrol", "update", f"JobId={job}", f"TresFreq={value}")
        self.assertNotIn("TresFreq", self.show(job))
        self.run_cmd("scontrol", "update", f"JobId={job}", "TresFreq=gpu:memory=810,medium")
        self.run_cmd("scontrol", "release", str(job))
        self.wait_ended(job)
        self.assertEqual(self.file("update.out"), "810 510\n")

    def test_two_steps_on_a_gpu(self):
        """Each ends first once: the GPU runs as before when both are over."""
        for last in (0, 1):
            job = self.submit("-n1", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "sleep 1000")
            self.wait_state(job, "RUNNING")
            ways = (("low", "1215 210"), ("medium", "1215 810"))
            for request, wanted in ways:
                self.start_step("--jobid", job, "--overlap", "--gres=gpu:1", f"--gpu-freq={request}")
                wait_for(lambda wanted=wanted: clocks() == [wanted], f"the GPU runs at {wanted}")
            self.run_cmd("scancel", f"{job}.{1 - last}")
            wait_for(lambda job=job, last=last: f"{job}.{1 - last}" not in self.out("squeue", "-h", "-s", "-j", job), "one is over")
            wait_for(lambda last=last, ways=ways: clocks() == [ways[last][1]], "the GPU runs as the other one wants")
            self.run_cmd("scancel", f"{job}.{last}")
            self.as_before()
            self.run_cmd("scancel", job)
            self.wait_no_jobs()

    def test_killed_step_daemons(self):
        """Its agent resets the clocks, be it there or started later."""
        for agent_too in (False, True):
            begun = os.path.join(self.cluster.work, f"begun.{agent_too}")  # a daemon that dies before its task runs drains the node
            job = self.submit("-n1", "--gres=gpu:1", "-o", "/dev/null", "--wrap",
                              f"srun --gpu-freq=low sh -c 'mkdir {begun}; exec sleep 1000'")
            wait_for(lambda: os.path.exists(begun), "the task runs")
            self.assertEqual(clocks(), ["1215 210"])
            daemon = self.cluster.step_daemon_pid(f"{job}.0")
            if agent_too:
                self.cluster.kill_node("n1")
            os.kill(daemon, signal.SIGKILL)
            if agent_too:
                self.cluster.start_node("n1")
            self.as_before()
            self.run_cmd("scancel", job, check=False)
            self.wait_no_jobs()

    def test_nodes_without_nvml(self):
        """The step runs all the same, and says as Slurm does that nothing is set."""
        done = self.run_cmd("srun", "-Q", "-n1", "-p", "plain", "--gres=gpu:1", "--gpu-freq=low", "sh", "-c", self.look)
        self.assertEqual((done.stdout, done.stderr), ("usual\n", DISABLED))
        wait_for(lambda: "--gpu-freq=low: this node's GPUs are not found by AutoDetect=nvml: nothing is set" in self.cluster.log("n2"),
                 "the node's log says it")
        self.assertEqual(self.run_cmd("srun", "-Q", "-n1", "-p", "plain", "--gpu-freq=low", "true").stderr, "")  # it has no GPU


class Default(Gpus):
    CONF = "GpuFreqDef=memory=810,low\n"

    def test_steps_that_ask_for_nothing(self):
        self.assertEqual(self.found(), "810 210")
        self.as_before()
        self.assertEqual(self.found("--gpu-freq=high"), "1215 1410")
        self.as_before()
        said = self.out("srun", "-Q", "-n1", "--gres=gpu:1", "sh", "-c", "echo ${SLURMD_TRES_FREQ:-none}; scontrol show job $SLURM_JOB_ID")
        self.assertTrue(said.startswith("none\n"), said)
        self.assertNotIn("TresFreq", said)
        self.assertEqual(self.run_cmd("srun", "-Q", "-n1", "-p", "plain", "--gres=gpu:1", "true").stderr, "")


if __name__ == "__main__":
    need_root()
    if INSIDE not in os.environ:
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode or not os.path.exists(LIBRARY):
            print("skipped: no mount namespaces here, or no library that stands for NVIDIA's")
            sys.exit(77)
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "1"}))
    replace_library()
    unittest.main(verbosity=2)
