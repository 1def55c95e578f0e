"""--cpu-freq, CpuFreqDef and CpuFreqGovernors, with files in place of the kernel's: this module runs in a mount namespace of its own,
where /sys/devices/system/cpu is a copy whose CPUs have a cpufreq folder."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import ClusterCase, need_root, wait_for

CPU = "/sys/devices/system/cpu"
INSIDE = "SLUICE_TEST_CPU_FREQ"
USUAL = {"scaling_governor": "schedutil", "scaling_min_freq": "1000000", "scaling_max_freq": "3000000", "scaling_setspeed": "1250000",
         "cpuinfo_min_freq": "1000000", "cpuinfo_max_freq": "3000000",
         "scaling_available_frequencies": "3000000 2500000 2000000 1500000 1000000",
         "scaling_available_governors": "ondemand userspace powersave performance schedutil"}
SET = ("scaling_governor", "scaling_min_freq", "scaling_max_freq", "scaling_setspeed")
RANGE = " ".join(USUAL[name] for name in SET[1:3])
BEFORE = f"schedutil {RANGE}"
# what a task finds: SLURM_CPU_FREQ_REQ, and how its CPU runs
FREQ = f"""#!/bin/sh
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)
cd {CPU}/cpu${{cpu%%[,-]*}}/cpufreq && echo ${{SLURM_CPU_FREQ_REQ:-none}} {' '.join(f"$(cat {name})" for name in SET)}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")


def replace_cpus():
    """For this process and all that it starts."""
    folder = tempfile.mkdtemp(prefix="sluice-test-cpus-")
    subprocess.run(["mount", "-t", "tmpfs", "cpus", folder], check=True)
    subprocess.run(["cp", "-a", CPU + "/.", folder], check=False, capture_output=True)  # a few of its files cannot be read
    for cpu in os.sched_getaffinity(0):
        own = f"{folder}/cpu{cpu}/cpufreq"
        if os.path.islink(own):
            os.remove(own)
        shutil.rmtree(own, ignore_errors=True)
        os.makedirs(own)
        for name, text in USUAL.items():
            write(f"{own}/{name}", text)
    subprocess.run(["mount", "--bind", folder, CPU], check=True)
    subprocess.run(["umount", folder], check=True)
    os.rmdir(folder)


def how_cpus_run():
    """The different ways in which CPUs run now, without the speed."""
    ways = set()
    for cpu in os.sched_getaffinity(0):
        words = []
        for name in SET[:3]:
            with open(f"{CPU}/cpu{cpu}/cpufreq/{name}", encoding="utf-8") as f:
                words.append(f.read().strip())
        ways.add(" ".join(words))
    return ways


class Frequencies(ClusterCase):
    NODES, CPUS = 1, 2
    FILES = {"freq": FREQ}

    def setUp(self):
        self.wait_no_jobs()
        self.freq = os.path.join(self.cluster.dir, "freq")

    def as_before(self):
        wait_for(lambda: how_cpus_run() == {BEFORE}, "the CPUs run as before")

    def runs_by(self, governor):
        wait_for(lambda: f"{governor} {RANGE}" in how_cpus_run(), f"a CPU runs by {governor}")

    def found(self, *options):
        """What one task of srun finds."""
        return self.out("srun", "-Q", "-n1", *options, self.freq).strip()

    def start_step(self, *options):
        """A step that runs until it is stopped."""
        srun = self.cluster.start("srun", "-Q", "-n1", *options, "sleep", "1000", stderr=subprocess.DEVNULL)
        self.addCleanup(srun.wait, 60)
        self.addCleanup(srun.terminate)


class Steps(Frequencies):
    CONF = "TaskPlugin=task/affinity\nCpuFreqGovernors=Conservative,OnDemand,Performance,UserSpace\n"

    def test_what_is_set(self):
        for request, wanted in {
                "low": "Low userspace 1000000 3000000 1000000",
                "MEDIUM": "Medium userspace 1000000 3000000 2000000",
                "highm1": "Highm1 userspace 1000000 3000000 2500000",
                "high": "High userspace 1000000 3000000 3000000",
                "1800000": "1800000 userspace 1000000 3000000 2000000",
                "9000000": "9000000 userspace 1000000 3000000 3000000",
                "performance": "Performance performance 1000000 3000000",
                "medium-highm1": "Medium-Highm1 schedutil 2000000 2500000",
                "1200000-2000000:ondemand": "1200000-2000000:OnDemand ondemand 1500000 2000000",
                "1500000-2500000:UserSpace": "1500000-2500000:UserSpace userspace 1500000 3000000 2500000"}.items():
            found = self.found("--cpu-freq", request)
            self.assertEqual(found if len(wanted.split()) == 5 else found.rsplit(" ", 1)[0], wanted, request)
            self.as_before()  # the step is over
        found = self.out("srun", "-Q", "-n1", self.freq, env={"SLURM_CPU_FREQ_REQ": "high"})
        self.assertEqual(found.split()[:2], ["High", "userspace"])
        self.assertTrue(self.found().startswith("none " + BEFORE))

    def test_what_is_refused(self):
        for request, why in {
                "x": 'unrecognized --cpu-freq argument "x"',
                "high-low": "min cpu-frec (high) must be < max cpu-freq (low)",
                "low:OnDemand": "gov on cpu-frec (OnDemand) illegal without max",
                "low-high:foo": "illegal governor: foo on --cpu-freq",
                "powersave": "governor of powersave is not allowed in slurm.conf",
                "low-high:SchedUtil": "governor of low-high:SchedUtil is not allowed in slurm.conf"}.items():
            for command in ("srun", "salloc"):
                self.fails(255, f"{command}: error: {why}\n{command}: error: Invalid --cpu-freq argument\n",
                           command, f"--cpu-freq={request}", "true")
            self.fails(255, f"sbatch: error: {why}\nsbatch: error: Invalid --cpu-freq argument\n",
                       "sbatch", f"--cpu-freq={request}", "--wrap", "true")

    def test_what_the_host_does_not_have(self):
        self.assertTrue(self.found("--cpu-freq=Conservative").startswith("Conservative " + BEFORE))
        wait_for(lambda: "--cpu-freq=Conservative: this host does not have the governor Conservative" in self.cluster.log("n1"),
                 "the node's log says it")

    def test_who_shows_it(self):
        self.start_step("--cpu-freq=low-1500000:ondemand", "-J", "shown")
        job = wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-n", "shown", "-o", "%A").strip(), "the job runs")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-j", job), "the step runs")
        self.assertIn("\n   CPU_min_freq=Low CPU_max_freq=1500000 Governor=OnDemand Dist=",
                      self.out("scontrol", "show", "step", f"{job}.0"))
        self.assertEqual(self.out("squeue", "-h", "-s", "-j", job, "-O", "CPUFreq:40").strip(), "Low-1.50G:OnDemand")
        self.assertEqual(self.out("sstat", "-n", "-P", "-j", f"{job}.0", "-o", "ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov").strip(),
                         "Low|1.50G|OnDemand")
        number = lambda value: {"set": True, "infinite": False, "number": value}
        step = json.loads(self.out("scontrol", "show", "step", f"{job}.0", "--json"))["steps"][0]
        self.assertEqual(step["cpu"]["frequency"],
                         {"min": number(0x80000001), "max": number(1500000), "governor": number(0x84000000)})
        shown = json.loads(self.out("scontrol", "show", "job", job, "--json"))["jobs"][0]
        self.assertEqual([shown["cpu_frequency_" + part] for part in ("minimum", "maximum", "governor")],
                         [number(0x80000001), number(1500000), number(0x84000000)])
        self.run_cmd("scancel", job)
        self.as_before()

    def test_a_script_hands_it_on(self):
        job = self.submit("-n1", "--cpu-freq=high", "-o", "script.out", "--wrap",
                          f"{self.freq}; srun -Q {self.freq}; srun -Q --cpu-freq=low {self.freq}")
        self.wait_ended(job)
        script, first, second = self.file("script.out").splitlines()
        self.assertTrue(script.startswith("High " + BEFORE), script)
        self.assertEqual(first, "High userspace 1000000 3000000 3000000")
        self.assertEqual(second, "Low userspace 1000000 3000000 1000000")

    def test_two_steps_on_a_cpu(self):
        """Each ends first once: the CPU runs as before when both are over."""
        for last in (0, 1):
            job = self.submit("-n1", "-o", "/dev/null", "--wrap", "sleep 1000")
            self.wait_state(job, "RUNNING")
            for governor in ("ondemand", "performance"):
                self.start_step("--jobid", job, "--overlap", f"--cpu-freq={governor}")
                self.runs_by(governor)
            self.run_cmd("scancel", f"{job}.{1 - last}")
            wait_for(lambda job=job, last=last: f"{job}.{1 - last}" not in self.out("squeue", "-h", "-s", "-j", job), "one is over")
            self.runs_by(("ondemand", "performance")[last])
            self.run_cmd("scancel", f"{job}.{last}")
            self.as_before()
            self.run_cmd("scancel", job)
            self.wait_no_jobs()

    def test_killed_step_daemons(self):
        """Its agent gives the values back, be it there or started later."""
        for agent_too in (False, True):
            began = os.path.join(self.cluster.work, f"began-{agent_too}")
            job = self.submit("-n1", "-o", "/dev/null", "--wrap", f"srun --cpu-freq=ondemand sh -c 'echo > {began}; exec sleep 1000'")
            wait_for(lambda path=began: os.path.exists(path), "the step runs")  # a daemon that dies before it has begun drains its node
            self.runs_by("ondemand")
            daemon = self.cluster.step_daemon_pid(f"{job}.0")
            if agent_too:
                self.cluster.kill_node("n1")
            os.kill(daemon, signal.SIGKILL)
            if agent_too:
                self.cluster.start_node("n1")
            self.as_before()
            self.run_cmd("scancel", job, check=False)
            self.wait_no_jobs()


class Scripts(Frequencies):
    """Scripts and shells whose CPUs are set, too, and what is set when nothing is asked for."""
    CONF = ("TaskPlugin=task/affinity\nCpuFreqDef=PowerSave\n"
            "LaunchParameters=use_interactive_step,batch_step_set_cpu_freq,interactive_step_set_cpu_freq\n")

    def test_scripts(self):
        for options, wanted in ((["--cpu-freq=high"], "High userspace 1000000 3000000 3000000"),
                                ([], f"none powersave {RANGE}")):
            self.wait_ended(self.submit("-n1", "-o", "batch.out", *options, "--wrap", self.freq))
            self.assertTrue(self.file("batch.out").startswith(wanted), self.file("batch.out"))
            self.as_before()
        self.assertEqual(self.out("sbatch", "-W", "-n1", "-o", "batch.out", "--wrap", self.freq,
                                  env={"SBATCH_CPU_FREQ_REQ": "medium"}).split()[0], "Submitted")
        self.assertEqual(self.file("batch.out"), "Medium userspace 1000000 3000000 2000000\n")

    def test_shells(self):
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--cpu-freq=high", "srun", "-Q", self.freq),
                         "High userspace 1000000 3000000 3000000\n")
        self.wait_no_jobs()
        self.assertEqual(self.out("salloc", "-Q", "-n1", "sh", "-c", "echo $SLURM_CPU_FREQ_REQ", env={"SALLOC_CPU_FREQ_REQ": "LOW"}),
                         "Low\n")
        self.wait_no_jobs()
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--cpu-freq=high", "srun", "-Q", "--interactive", self.freq),
                         "High userspace 1000000 3000000 3000000\n")
        self.as_before()

    def test_steps_that_ask_for_nothing(self):
        self.assertTrue(self.found().startswith(f"none powersave {RANGE}"))
        self.assertTrue(self.found("--cpu-freq=ondemand").startswith(f"OnDemand ondemand {RANGE}"))
        self.as_before()


class WhereTasksMayRunAnywhere(Frequencies):
    CONF = "TaskPlugin=task/none\nProctrackType=proctrack/linuxproc\n"

    def test_nothing_is_set(self):
        self.assertTrue(self.found("--cpu-freq=low").startswith("Low " + BEFORE))


if __name__ == "__main__":
    need_root()
    if INSIDE not in os.environ:
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
            print("skipped: no mount namespaces here")
            sys.exit(77)
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "1"}))
    replace_cpus()
    unittest.main(verbosity=2)
