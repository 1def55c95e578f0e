"""Which CPUs tasks may run on, command by command beside what Slurm does (tests/system/guest/affinity-22.05.txt says how to read it).

On a machine that is not like the node, the CPUs of the node stand for those that there are, and lines about memory are passed over.
"""
import faulthandler
import os
import re
import unittest

from harness import ROOT, ClusterCase, wait_for

CONF = """SelectTypeParameters=CR_Core_Memory
TaskPlugin=task/affinity
DefMemPerCPU=10
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
if "SLUICE_GUEST" in os.environ:
    faulthandler.dump_traceback_later(2400, exit=True)  # emulated
TASK = """sh -c 'echo $SLURM_PROCID $(grep Cpus_allowed_list /proc/self/status | cut -f2) $SLURM_CPU_BIND'"""
ALIKE = len(os.sched_getaffinity(0)) == 8 and os.path.exists("/sys/devices/system/node/node1")
PASSED_OVER = re.compile(r"salloc: |srun: Job step aborted|srun: got SIGCONT|srun: forcing job termination|"
                         r"srun: job \d+ (queued and waiting for|has been allocated) resources")


def cpu_list(text):
    ranges = [[int(n) for n in part.split("-")] for part in text.split(",")]
    return {cpu for r in ranges for cpu in range(r[0], r[-1] + 1)}


def on_this_machine(line):
    """A task's line with the CPUs that those of the node stand for; others as they are."""
    task = re.fullmatch(r"(\d+) ([\d,-]+)( \S+)", line)
    if not task or ALIKE:
        return line
    real = sorted(os.sched_getaffinity(0))
    return f"{task[1]} {sorted({real[cpu % len(real)] for cpu in cpu_list(task[2])})}{task[3]}"


def as_found(line):
    """The same of a line that was printed."""
    task = re.fullmatch(r"(\d+) ([\d,-]+)( \S+)", line)
    return f"{task[1]} {sorted(cpu_list(task[2]))}{task[3]}" if task and not ALIKE else line


def blocks():
    """(command, expected lines) of the file, with ours where it says that they differ; None: not compared."""
    found = []
    with open(os.path.join(ROOT, "tests/system/guest/affinity-22.05.txt"), encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("$ "):
                found.append((line[2:], [], [], []))
            elif found and line.startswith("  > "):
                found[-1][2].append(line[4:])
            elif found and line.startswith("  differs: "):
                found[-1][3].append(line)
            elif found and line.startswith("  "):
                found[-1][1].append(line[2:])
    return [(command, ours if differs else theirs) for command, theirs, ours, differs in found if ours or not differs]


class Affinity(ClusterCase):
    NODES, CONF = 1, CONF

    def compare(self, command, expected):
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%T") == "idle\n", "the node is free")
        done = self.run_cmd("/bin/bash", "-c", command.replace("TASK", TASK), check=False)
        text = re.sub(r"(StepId=|for job )\d+", r"\1N", re.sub(r"\[\d+\]", "[pid]", done.stdout + done.stderr))
        printed = [as_found(line) for line in text.splitlines() if not PASSED_OVER.match(line)]
        lines = [on_this_machine(line.replace("guest", "n1")) for line in expected if not PASSED_OVER.match(line)]
        with self.subTest(command):
            self.assertEqual(sorted(printed), sorted(lines))

    def test_beside_slurm(self):
        commands = blocks()
        self.assertGreater(len(commands), 100)
        for command, expected in commands:
            if ALIKE or "_allowed_list" not in command:
                self.compare(command, expected)

    def test_steps_side_by_side(self):
        """Each has CPUs of its own."""
        meet = "while [ ! -e {0} ]; do sleep 0.05; done"
        script = (f"srun -n1 --exact -c2 sh -c 'touch first; {meet.format('second')}; echo $SLURM_CPU_BIND_LIST' & {meet.format('first')}; "
                  "srun -n2 --exact sh -c 'echo $SLURM_CPU_BIND_LIST'; touch second; wait")
        out = self.out("salloc", "-Q", "--exclusive", "sh", "-c", script)
        self.assertEqual(out.split(), ["0x04,0x08", "0x04,0x08", "0x03"])

    def test_memory_of_used_threads(self):
        """Memory by CPU is for the threads that are used, so a step of such a job asks for no more than the job has."""
        show = "srun -n1 sh -c 'scontrol show step $SLURM_JOB_ID.0 | grep -o mem=[0-9]*M; echo $SLURM_CPU_BIND_LIST'"
        for options, memory in ((("-n2",), 20), (("-n2", "--mem-per-cpu=100"), 200), (("-n4",), 40)):
            job = self.submit("--threads-per-core=1", *options, "-o", "threads-%j.out", "--wrap", show)
            self.wait_ended(job)
            self.assertEqual(self.file(f"threads-{job}.out"), f"mem={memory}M\n0x01\n", options)


if __name__ == "__main__":
    unittest.main()
