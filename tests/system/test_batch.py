"""Batch jobs from submission to their output, as a user sees them."""
import os
import subprocess
import unittest

from harness import ClusterCase, wait_for


class Batch(ClusterCase):
    NODES, CPUS = 4, 4

    def test_output_and_environment(self):
        with open(os.path.join(self.cluster.work, "job.sh"), "w", encoding="utf-8") as f:
            f.write("#!/bin/bash\n#SBATCH --job-name=hello -N2 -n4\n"
                    "echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_JOB_NUM_NODES $SLURM_NTASKS $SLURM_JOB_NODELIST\n"
                    "echo args: $1 $2\npwd\necho oops >&2\nexit 3\n")
        job = self.submit("-w", "n[1-2]", "job.sh", "a b", "c")
        self.assertEqual(self.wait_ended(job), "FAILED")
        lines = self.file(f"slurm-{job}.out").splitlines()
        self.assertEqual(lines, [f"{job} hello 2 4 n[1-2]", "args: a b c", self.cluster.work, "oops"])
        self.assertEqual(self.show(job)["ExitCode"], "3:0")

    def test_streams_go_where_they_were_sent(self):
        job = self.submit("-o", "deep/out-%j", "-e", "err-%x", "-J", "named", "--wrap", "echo one; echo two >&2")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(f"deep/out-{job}"), "one\n")
        self.assertEqual(self.file("err-named"), "two\n")

    def test_array_tasks_run_each_once(self):
        job = self.submit("--array=1-9:2%2", "-o", "/dev/null", "--wrap", "echo $SLURM_ARRAY_TASK_ID >> array.txt")
        wait_for(lambda: len(self.file("array.txt").split()) == 5, "five tasks ran")
        self.assertEqual(sorted(map(int, self.file("array.txt").split())), [1, 3, 5, 7, 9])
        wait_for(lambda: not self.out("squeue", "-h", "-j", job, check=False), "the array has left the queue")

    def test_wait_gives_the_exit_code(self):
        done = self.run_cmd("sbatch", "-W", "-o", "/dev/null", "--wrap", "exit 7", check=False)
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stdout, r"^Submitted batch job \d+\n$")

    def test_wait_for_what_never_ran(self):
        """The bug: it ended with 1; nothing failed."""
        waits = self.cluster.start("sbatch", "-W", "-H", "-J", "never", "-o", "/dev/null", "--wrap", "true", stdout=subprocess.PIPE)
        job = waits.stdout.readline().split()[-1]
        self.run_cmd("scancel", job)
        self.assertEqual((waits.communicate()[0], waits.returncode), ("", 0))

    def test_cancel(self):
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_hold_and_release(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%T %r").strip(), "PENDING JobHeldUser")
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_no_memory_for_each_cpu_is_all_of_it(self):
        job = self.submit("-w", "n1", "-n2", "--mem-per-cpu=0", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        shown = self.out("scontrol", "show", "job", str(job))
        self.assertIn("MinMemoryNode=0", shown)
        self.assertIn("mem=4000M", shown)
        self.assertIn(" AllocMem=4000 ", self.out("scontrol", "show", "node", "n1"))
        beside = self.submit("-w", "n1", "-n1", "--mem=10", "-H", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={beside}", "MinMemoryCPU=0")
        self.assertIn("MinMemoryNode=0", self.out("scontrol", "show", "job", str(beside)))
        self.run_cmd("scancel", str(job), str(beside))

    def test_too_large_is_refused(self):
        done = self.run_cmd("sbatch", "-N1", "-c5", "--wrap", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "sbatch: error: CPU count per node can not be satisfied\n"
                         "sbatch: error: Batch job submission failed: "
                         "Requested node configuration is not available\n")

    def test_time_limit(self):
        job = self.submit("-t", "1", "-o", "limit.out", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.run_cmd("scontrol", "update", f"JobId={job}", "EndTime=now")
        self.assertEqual(self.wait_ended(job), "TIMEOUT")
        self.assertIn("DUE TO TIME LIMIT", self.file("limit.out"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
