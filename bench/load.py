"""The load that bench/compare puts on a running cluster through its commands.

Every figure is a wall-clock time in seconds (`_s`) or a rate (`_per_s`). Work that should run leaves
a line each, and the lines are counted: what did not run is no speed.
"""
import atexit
import concurrent.futures
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

CLIENTS = 16


class LoadError(Exception):
    """The cluster did not do the work."""


class Load:
    def __init__(self, bin_folder, conf, submits, array, queue):
        self.bin = os.path.abspath(bin_folder)
        self.work = tempfile.mkdtemp(prefix="sluice-bench-")
        atexit.register(shutil.rmtree, self.work, ignore_errors=True)
        self.failed = []
        self.submits, self.array, self.queue = submits, array, queue
        drop = re.compile(r"(SBATCH|SALLOC|SQUEUE|SINFO|SLURM_(JOB|STEP|ARRAY|NTASKS|NNODES))")
        self.env = {k: v for k, v in os.environ.items() if not drop.match(k)}
        self.env["SLURM_CONF"] = os.path.abspath(conf)
        self.script("true.sh", "#!/bin/sh\ntrue\n")

    def script(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def sh(self, *command):
        done = subprocess.run([os.path.join(self.bin, command[0]), *command[1:]], env=self.env,
                              cwd=self.work, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LoadError(f"{' '.join(command)} exited {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def median(self, repeat, *command):
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            self.sh(*command)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def drain(self, limit_s=900):
        start = time.monotonic()
        while self.sh("squeue", "-h", "-r", "-t", "PD,R,CG,CF", "-o", "%i"):
            if time.monotonic() - start > limit_s:
                raise LoadError("the queue did not drain")
            time.sleep(0.05)

    def count(self, name, wanted):
        with open(os.path.join(self.work, name), encoding="utf-8") as f:
            got = len(f.readlines())
        if got != wanted:
            raise LoadError(f"{name}: {got} of {wanted} ran")

    def held(self, *more):
        return self.sh("sbatch", "-H", "-o", "/dev/null", *more, "true.sh")

    def clear(self):
        self.sh("scancel", "-u", str(os.getuid()))
        self.drain()

    def commands(self):
        """One command on an idle system: the median of 30."""
        yield "squeue_idle_s", self.median(30, "squeue")
        yield "sinfo_idle_s", self.median(30, "sinfo")

    def launch(self):
        """srun from the prompt, on 8 nodes, and 50 steps one after another in one allocation."""
        yield "srun_true_s", self.median(20, "srun", "true")
        if len(self.sh("srun", "-N8", "-n64", "hostname").split()) != 64:
            raise LoadError("srun -N8 -n64 did not run 64 tasks")
        yield "srun_8x8_s", self.median(10, "srun", "-N8", "-n64", "true")
        self.script("steps.sh", "#!/bin/bash\nset -e\ns=$(date +%s.%N)\nfor i in $(seq 50); do "
                    f"{self.bin}/srun -n1 sh -c 'echo >> {self.work}/steps.ran'; done\n"
                    f"echo $s $(date +%s.%N) > {self.work}/steps.out\n")
        self.sh("sbatch", "-o", "/dev/null", "steps.sh")
        self.drain()
        self.count("steps.ran", 50)
        with open(os.path.join(self.work, "steps.out"), encoding="utf-8") as f:
            start, end = map(float, f.read().split())
        yield "steps_per_s", 50 / (end - start)

    def submit(self):
        """Held jobs submitted by 16 clients at once."""
        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda _: self.held(), range(self.submits)))
        yield "submit_per_s", self.submits / (time.perf_counter() - start)
        self.clear()

    def throughput(self):
        """An array of tasks that write a line each, from submission until the last has ended."""
        self.script("mark.sh", f"#!/bin/sh\necho $SLURM_ARRAY_TASK_ID >> {self.work}/array.ran\n")
        start = time.perf_counter()
        self.sh("sbatch", "-o", "/dev/null", f"--array=1-{self.array}", "mark.sh")
        self.drain()
        yield "array_jobs_per_s", self.array / (time.perf_counter() - start)
        self.count("array.ran", self.array)

    def long_queue(self):
        """squeue -r while `queue` array tasks are pending."""
        left = self.queue
        while left > 0:
            tasks = min(5000, left)
            self.held(f"--array=1-{tasks}")
            left -= tasks
        yield "squeue_r_s", self.median(5, "squeue", "-r", "-h")
        self.clear()

    def large_array(self):
        """sbatch of a held array of 100,001 tasks, all that MaxArraySize=100001 allows."""
        times = []
        for _ in range(5):
            start = time.perf_counter()
            job = self.held("--parsable", "--array=0-100000").strip()
            times.append(time.perf_counter() - start)
            if self.sh("squeue", "-h", "-j", job, "-o", "%i").strip() != f"{job}_[0-100000]":
                raise LoadError("the array is not there")
            self.sh("scancel", job)
            self.drain()
        yield "large_array_s", statistics.median(times)

    def wide(self):
        """srun of 4 tasks on each of 64 nodes, on a cluster of its own."""
        if len(self.sh("srun", "-N64", "-n256", "hostname").split()) != 256:
            raise LoadError("srun -N64 -n256 did not run 256 tasks")
        yield "srun_64x4_s", self.median(5, "srun", "-N64", "-n256", "true")

    PARTS = ("commands", "launch", "submit", "throughput", "long_queue", "large_array")
    WIDE_PARTS = ("wide",)

    def run(self, parts, only):
        figures = {}
        for part in parts:
            if only and part not in only:
                continue
            try:
                figures.update(getattr(self, part)())
            except LoadError as error:  # the other parts' figures are worth having
                self.failed.append(f"{part}: {error}")
        return figures
