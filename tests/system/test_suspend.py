"""scontrol suspend and resume: real processes stop and go on; CPUs are free meanwhile."""
import os
import signal
import subprocess
import unittest

from harness import ClusterCase, step_daemon, wait_for


def states(pids):
    """Letters of /proc/PID/stat: T is stopped."""
    found = []
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            found.append(f.read().rsplit(")", 1)[1].split()[0])
    return found


COUNT = """import os, sys, time
for i in range(100000):
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(i))
    os.rename(f.name, sys.argv[1])
    time.sleep(0.05)
"""


class Suspend(ClusterCase):
    NODES, CPUS = 2, 4

    def counting_job(self, *options):
        """A job whose script and whose background process both count; their PIDs."""
        for name in ("own", "child", "pids"):  # of another test's job
            if os.path.exists(path := os.path.join(self.cluster.work, name)):
                os.remove(path)
        # one process each: a shell that has begun a child (vfork) would be seen as D, not T
        with open(os.path.join(self.cluster.work, "count.py"), "w", encoding="utf-8") as f:
            f.write(COUNT)
        job = self.submit("-w", "n1", "-c", "4", "-o", "/dev/null", *options, "--wrap",
                          "python3 count.py child & echo $$ $! > pids; exec python3 count.py own")
        wait_for(lambda: self.file("own") and self.file("child") and len(self.file("pids").split()) == 2, "both count")
        return job, self.file("pids").split()

    def wait_stopped(self, pids):
        wait_for(lambda: set(states(pids)) == {"T"}, "all are stopped")

    def test_processes_stop_and_cpus_are_free(self):
        job, pids = self.counting_job()
        self.run_cmd("scontrol", "suspend", job)
        self.wait_stopped(pids)
        shown = self.show(job)
        self.assertEqual(shown["JobState"], "SUSPENDED")
        self.assertEqual(shown["Priority"], "0")
        self.assertNotEqual(shown["SuspendTime"], "None")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%t %N").strip(), "S n1")
        node = self.out("scontrol", "show", "node", "n1")
        self.assertIn("CPUAlloc=0 ", node)
        self.assertIn("State=IDLE", node)
        other = self.submit("-w", "n1", "-c", "4", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(other), "COMPLETED")
        self.assertEqual(states(pids), ["T", "T"], "the other job's end changes nothing")
        before = self.file("own"), self.file("child")
        self.run_cmd("scontrol", "resume", job)
        self.assertEqual(self.show(job)["JobState"], "RUNNING")
        wait_for(lambda: self.file("own") not in ("", before[0]) and self.file("child") not in ("", before[1]),
                 "both go on")
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_no_signal_lets_it_go_on(self):
        job, pids = self.counting_job()
        self.run_cmd("scontrol", "suspend", job)
        self.wait_stopped(pids)
        for options in (["-s", "CONT"], ["-f", "-s", "CONT"], ["-b", "-s", "CONT"], ["-s", "TERM"]):
            refused = self.run_cmd("scancel", *options, job, check=False)
            self.assertEqual((refused.returncode, refused.stderr),
                             (228, f"scancel: error: Kill job error on job id {job}: Job can not be altered now, try again later\n"))
        self.assertEqual(states(pids), ["T", "T"])
        self.run_cmd("scancel", "-b", "-s", "KILL", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_a_job_that_its_user_stops(self):
        """It keeps its CPUs, and is STOPPED until it goes on."""
        job, pids = self.counting_job()
        shown = lambda: self.out("squeue", "-h", "-j", job, "-o", "%t %T").strip()
        self.run_cmd("scancel", "-s", "STOP", "-f", job)
        self.wait_stopped(pids)
        self.assertEqual(shown(), "ST STOPPED")
        self.assertEqual(self.out("squeue", "-h", "-t", "RUNNING", "-j", job), "")
        self.assertEqual(self.out("squeue", "-h", "-t", "STOPPED", "-j", job, "-o", "%i").strip(), str(job))
        self.assertIn("CPUAlloc=4 ", self.out("scontrol", "show", "node", "n1"))
        self.run_cmd("scancel", "-s", "CONT", "-f", job)
        self.assertEqual(shown(), "R RUNNING")
        self.run_cmd("scancel", "-s", "STOP", "-f", job)
        self.run_cmd("scontrol", "suspend", job)
        self.assertEqual(shown(), "S SUSPENDED")
        self.run_cmd("scontrol", "resume", job)
        self.run_cmd("scancel", "-s", "STOP", job)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def test_a_busy_step_daemon_does_not_keep_it_running(self):
        """Its user can keep the daemon busy: then the agent stops what runs below it."""
        job, pids = self.counting_job()
        stepd = step_daemon(self.cluster.dir, f"{job}.batch")
        os.kill(stepd, signal.SIGSTOP)
        try:
            self.run_cmd("scontrol", "suspend", job)
            self.wait_stopped(pids)
            self.run_cmd("scontrol", "resume", job)
            wait_for(lambda: "T" not in states(pids), "they go on")
            self.cluster.kill_node("n1")  # the next agent has heard nothing of it yet
            self.cluster.start_node("n1")
            wait_for(lambda: self.out("sinfo", "-h", "-n", "n1", "-o", "%T").strip() == "allocated", "the node is known again")
            self.run_cmd("scontrol", "suspend", job)
            self.wait_stopped(pids)
        finally:
            os.kill(stepd, signal.SIGCONT)
        self.run_cmd("scontrol", "resume", job)
        wait_for(lambda: "T" not in states(pids), "its daemon has them go on, too")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_a_suspended_job_can_be_cancelled(self):
        job, pids = self.counting_job()
        self.run_cmd("scontrol", "suspend", job)
        self.wait_stopped(pids)
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "its processes are gone")

    def test_it_stays_so_over_restarts(self):
        job, pids = self.counting_job()
        self.run_cmd("scontrol", "suspend", job)
        self.wait_stopped(pids)
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.out("squeue", "-h", "-j", job, "-o", "%T", check=False).strip() == "SUSPENDED",
                 "the controller knows it")
        self.assertEqual(states(pids), ["T", "T"])
        self.run_cmd("scontrol", "resume", job)
        wait_for(lambda: "T" not in states(pids), "it goes on")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_steps_wait_for_the_resume(self):
        job = self.submit("-w", "n1", "-o", "steps.out", "--wrap", "srun sh -c 'echo here; sleep 1000'")
        wait_for(lambda: "here" in self.file("steps.out"), "the step runs")
        self.run_cmd("scontrol", "suspend", job)
        refused = self.run_cmd("srun", f"--jobid={job}", "--overlap", "--immediate", "true", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Requested operation is presently disabled", refused.stderr)
        waiting = self.cluster.start("srun", f"--jobid={job}", "--overlap", "true", stderr=subprocess.PIPE)
        line = waiting.stderr.readline()
        self.assertEqual(line, f"srun: Job {job} step creation temporarily disabled, retrying "
                         "(Requested operation is presently disabled)\n")
        self.run_cmd("scontrol", "resume", job)
        self.assertEqual(waiting.wait(30), 0)
        waiting.stderr.close()
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_refusals(self):
        pending = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        for verb in ("suspend", "resume"):
            self.fails(1, f"Job is pending execution for job {pending}\n", "scontrol", verb, pending)
        self.run_cmd("scancel", pending)
        self.fails(1, f"Job/step already completing or completed for job {pending}\n", "scontrol", "suspend", pending)
        running = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(running, "RUNNING")
        self.fails(1, f"Job is not suspended for job {running}\n", "scontrol", "resume", running)
        for verb in ("suspend", "requeue"):  # a step is not its job
            self.fails(1, f"Invalid job id specified for job {running}.batch\n", "scontrol", verb, f"{running}.batch")
        self.assertEqual(self.state(running), "RUNNING")
        self.run_cmd("scancel", running)
        self.wait_ended(running)


class Top(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PriorityType=priority/multifactor\nPriorityWeightPartition=1000\n"
    USER = 65534

    def queue(self):
        """Ids of pending jobs in the order of their priorities, with their nice values."""
        lines = self.out("squeue", "-h", "-t", "PD", "-S", "-p,i", "-o", "%i %y %Q").splitlines()
        return [tuple(map(int, line.split())) for line in lines]

    def test_order(self):
        blocker = self.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(blocker, "RUNNING")
        jobs = [self.submit("-N2", "--exclusive", "-o", "/dev/null", f"--nice={10 * n}", "--wrap", "true")
                for n in range(1, 5)]
        wait_for(lambda: [job for job, _, priority in self.queue() if priority > 1] == jobs, "all have priorities")
        priorities = [priority for _, _, priority in self.queue()]

        def expect(*order):
            wait_for(lambda: [job for job, _, _ in self.queue()] == [jobs[n - 1] for n in order], f"the order is {order}")
            self.assertEqual([nice for _, nice, _ in self.queue()], [10, 20, 30, 40])
            self.assertEqual([priority for _, _, priority in self.queue()], priorities)

        self.run_cmd("scontrol", "top", jobs[3])
        expect(4, 1, 2, 3)
        self.run_cmd("scontrol", "top", f"{jobs[2]},{jobs[1]}")
        expect(3, 2, 4, 1)
        self.fails(1, f"Job is no longer pending execution for job {blocker}\n", "scontrol", "top", blocker)
        self.fails(1, "too many arguments for keyword:top\n", "scontrol", "top", jobs[0], jobs[1])
        self.run_cmd("scontrol", "hold", jobs[0])
        self.fails(1, f"Job is in held state, pending scheduler release for job {jobs[0]}\n", "scontrol", "top", jobs[0])
        done = self.run_cmd("scontrol", "top", jobs[1], check=False, user=self.USER)
        self.assertEqual((done.returncode, done.stderr), (1, f"Access/permission denied for job {jobs[1]}\n"))
        for job in [*jobs, blocker]:
            self.run_cmd("scancel", job)
        self.wait_ended(blocker)


if __name__ == "__main__":
    unittest.main()
