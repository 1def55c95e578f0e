"""Job arrays on a running cluster: names of tasks in every command, limits, files and variables of tasks."""
import os
import unittest

from harness import ClusterCase, wait_for

ENVIRONMENT = ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
               "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP")
LOOP = "while [ ! -e go-$SLURM_ARRAY_JOB_ID ]; do sleep 0.05; done"


class Arrays(ClusterCase):
    NODES, CPUS = 2, 4

    def array(self, tasks, *options, script=LOOP):
        return self.submit("--array", tasks, "-o", "/dev/null", *options, "--wrap", script)

    def tasks(self, array):
        """{task: (state, reason)} of all that is known, waiting tasks one by one."""
        rows = self.out("squeue", "-h", "-r", "-t", "all", "-j", array, "-o", "%K|%T|%r").split()
        return {int(task): (state, reason) for task, state, reason in (row.split("|") for row in rows)}

    def states(self, array):
        return {task: state for task, (state, _) in self.tasks(array).items()}

    def wait_states(self, array, **expected):
        """Counts of states, as RUNNING=2."""
        def counts():
            found = list(self.states(array).values())
            return {s: found.count(s) for s in set(found)} == expected
        wait_for(counts, f"array {array} is {expected} ({self.states(array)})")

    def let_go(self, array):
        open(f"{self.cluster.work}/go-{array}", "w", encoding="utf-8").close()

    def refused(self, lines, *command):
        done = self.run_cmd(*command, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "".join(line + "\n" for line in lines)))

    def cancel(self, *jobs):
        self.run_cmd("scancel", *jobs)
        for job in jobs:
            wait_for(lambda: not self.out("squeue", "-h", "-j", job, check=False), "it left the queue")  # pylint: disable=cell-var-from-loop

    def test_files_and_variables(self):
        script = "env | grep ^SLURM_ARRAY | sort; echo job $SLURM_JOB_ID"
        array = self.submit("--array=2-10:4", "-J", "named", "-o", "%x-%A_%a.out", "-e", "%A-%4a.err", "--wrap",
                            script + "; echo err $SLURM_ARRAY_TASK_ID >&2")
        self.wait_states(array, COMPLETED=3)
        jobs = set()
        for task in (2, 6, 10):
            *lines, job = self.file(f"named-{array}_{task}.out").splitlines()
            self.assertEqual(dict(line.split("=", 1) for line in lines),
                             dict(zip(ENVIRONMENT, map(str, (array, task, 3, 2, 10, 4)))))
            self.assertEqual(self.file(f"{array}-{task:04}.err"), f"err {task}\n")
            jobs.add(int(job.split()[1]))
        self.assertEqual(len(jobs), 3)
        self.assertIn(array, jobs)
        self.run_cmd("sbatch", "-W", "--array=3", "-o", "slurm.default", "--wrap", "true")
        one = self.submit("--array=5", "--wrap", "echo said")
        self.wait_states(one, COMPLETED=1)
        self.assertEqual(self.file(f"slurm-{one}_5.out"), "said\n")

    def test_spellings(self):
        shown = {"0-3": "0-3", "0-15:4": "0,4,8,12", "1,3,5,7": "1,3,5,7", "1-3,5-7%2": "1-3,5-7%2", "5%0": "5", "1%": "1",
                 "1,,2": "1-2", "[1-3]": "1-3", "1%2%3": "1%2", "01-03": "1-3", "0-7:2%2": "0,2,4,6%2", "100000": "100000"}
        for given, text in shown.items():
            array = self.submit("-H", "--array", given, "-o", "/dev/null", "--wrap", "true")
            self.assertEqual(self.out("squeue", "-h", "-j", array, "-o", "%i|%K").strip(), f"{array}_[{text}]|{text}", given)
            self.run_cmd("scancel", array)
        error = "sbatch: error: Batch job submission failed: Invalid job array specification\n"
        for given in ("3-1", "a", "-1", "1-", "100001", "0-100001", "0-3:0", "1-3:", "1-2-3", "0x3", "1 2", "4294967296"):
            self.fails(1, error, "sbatch", "--array", given, "--wrap", "true")

    def test_ended_tasks_stay_to_be_seen(self):
        script = "[ $SLURM_ARRAY_TASK_ID -ne 1 ] || exit 3"
        array = self.submit("--array=0-3%3", "-o", "/dev/null", "--comment=remark", "--wrap", script)
        wait_for(lambda: sorted(self.states(array).values()) == ["COMPLETED"] * 3 + ["FAILED"], "all have ended")
        before = {task: self.show(f"{array}_{task}") for task in range(4)}
        wait_for(lambda: "ArrayTasksFolded" in self.journal(), "their records are folded")
        for task in range(4):
            self.assertEqual(self.show(f"{array}_{task}"), before[task])
            self.fails(1, "sattach: error: Could not get job step info: Job/step already completing or completed\n",
                       "sattach", f"{array}_{task}.batch")
        self.assertEqual((before[1]["ExitCode"], before[1]["JobState"], before[1]["ArrayTaskId"]), ("3:0", "FAILED", "1"))
        self.assertEqual(self.out("squeue", "-h", "-t", "FAILED", "-j", array, "-o", "%i"), f"{array}_1\n")
        self.assertEqual(self.out("squeue", "-h", "-j", f"{array}_1", check=False), "")
        self.assertEqual(len(self.out("scontrol", "show", "job", array, "-o").splitlines()), 4)
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")
        self.assertEqual(self.show(f"{array}_1"), before[1])
        self.refused([f"{array}_2: Job has already finished"], "scontrol", "hold", f"{array}_2")
        self.run_cmd("scontrol", "requeue", f"{array}_2")
        self.assertEqual(self.show(f"{array}_2")["Restarts"], "1")
        wait_for(lambda: self.states(array)[2] == "COMPLETED", "it ran again")
        self.assertEqual(self.show(f"{array}_2")["JobId"], before[2]["JobId"])

    def journal(self):
        return self.out(f"{self.cluster.programs}/tools/journal_dump", f"{self.cluster.dir}/state/journal")

    def test_names_of_tasks(self):
        array = self.array("0-9", "-H")
        self.run_cmd("scontrol", "update", f"JobId={array}_[2,4-5]", "Comment=mine")
        self.assertEqual([self.show(f"{array}_{task}").get("Comment") for task in (2, 3, 5)], ["mine", None, "mine"])
        self.run_cmd("scontrol", "release", f"{array}_[0-1],{array}_3")
        self.wait_states(array, PENDING=7, RUNNING=3)
        self.assertEqual(self.states(array)[3], "RUNNING")
        self.run_cmd("scontrol", "hold", f"{array}_3")
        self.run_cmd("scontrol", "suspend", f"{array}_[0-1]")
        self.wait_states(array, PENDING=7, RUNNING=1, SUSPENDED=2)
        self.run_cmd("scontrol", "resume", f"{array}_0", f"{array}_1")
        self.run_cmd("scancel", f"{array}_[1,6-8]")
        wait_for(lambda: self.states(array).get(1) == "CANCELLED", "a running one is cancelled")
        self.assertFalse({6, 7, 8} & set(self.states(array)), "waiting ones are gone")
        rows = self.out("squeue", "-h", "-j", f"{array}_0,{array}_[2-3]", "-o", "%i").split()
        self.assertEqual(sorted(rows), [f"{array}_0", f"{array}_2", f"{array}_3"])
        self.refused([f"{array}_77: Invalid job id specified"], "scontrol", "hold", f"{array}_77")
        self.refused([f"{array}_77-78: Invalid job id specified"], "scontrol", "hold", f"{array}_[77,78]")
        self.refused([f"{array}_2: No error", f"{array}_77: Invalid job id specified"], "scontrol", "hold", f"{array}_[2,77]")
        self.refused([f"{array}_77: Invalid job id specified"], "scontrol", "update", f"JobId={array}_77", "Name=x")
        self.assertEqual(self.run_cmd("scancel", f"{array}_77").stderr, "")
        self.refused([f"{array}_2: Job is pending execution"], "scontrol", "requeue", f"{array}_2")
        self.cancel(array)

    def test_whole_array(self):
        array = self.array("0-5%3", script=f"[ $SLURM_ARRAY_TASK_ID -gt 0 ] || exit 0; {LOOP}")
        self.wait_states(array, COMPLETED=1, RUNNING=3, PENDING=2)
        done, rest = f"{array}_0: Job has already finished", f"{array}_1-5: No error"
        self.refused([done, rest], "scontrol", "hold", array)
        self.assertEqual({reason for state, reason in self.tasks(array).values() if state == "PENDING"}, {"JobHeldAdmin"})
        self.refused([done, rest], "scontrol", "release", array)
        self.refused([f"{array}_0: Job/step already completing or completed", f"{array}_1-3: No error",
                      f"{array}_4-5: Job is pending execution"], "scontrol", "suspend", array)
        self.run_cmd("scontrol", "resume", f"{array}_[1-3]")
        self.refused([f"{array}_0-3: No error", f"{array}_4-5: Job is pending execution"], "scontrol", "requeue", array)
        wait_for(lambda: all(self.show(f"{array}_{task}")["Restarts"] == "1" for task in range(4)), "four are requeued")
        self.let_go(array)
        self.wait_states(array, COMPLETED=6)

    def test_throttle(self):
        array = self.array("0-7%2")
        self.wait_states(array, RUNNING=2, PENDING=6)
        self.assertEqual(self.tasks(array)[5], ("PENDING", "JobArrayTaskLimit"))
        self.assertEqual(self.show(f"{array}_0")["ArrayTaskThrottle"], "2")
        self.run_cmd("scontrol", "update", f"JobId={array}", "ArrayTaskThrottle=5")
        self.wait_states(array, RUNNING=5, PENDING=3)
        self.run_cmd("scontrol", "update", f"JobId={array}_7", "Comment=alone")  # a record of its own
        self.run_cmd("scontrol", "update", f"JobId={array}", "ArrayTaskThrottle=1")
        self.run_cmd("scancel", f"{array}_[0-3]")
        self.wait_states(array, RUNNING=1, PENDING=3, CANCELLED=4)
        wait_for(lambda: self.tasks(array)[7] == ("PENDING", "JobArrayTaskLimit"), "the lone record is held back, too")
        self.run_cmd("scontrol", "update", f"JobId={array}", "ArrayTaskThrottle=0", check=False)
        self.wait_states(array, RUNNING=4, CANCELLED=4)
        self.let_go(array)
        self.wait_states(array, COMPLETED=4, CANCELLED=4)

    def test_restart_count(self):
        array = self.submit("--array=1-2", "-o", "restart-%a.out", "--wrap", "echo run ${SLURM_RESTART_COUNT:-none}; "
                            f"[ $SLURM_ARRAY_TASK_ID = 2 ] || {LOOP}")
        wait_for(lambda: self.file("restart-1.out"), "it runs")
        self.run_cmd("scontrol", "requeue", f"{array}_1")
        wait_for(lambda: "run 1" in self.file("restart-1.out"), "it runs again")
        self.assertEqual(self.file("restart-2.out"), "run none\n")
        self.let_go(array)
        self.wait_states(array, COMPLETED=2)

    def test_a_large_array_is_one_record(self):
        array = self.array("0-100000", "-H")
        self.assertEqual(self.out("squeue", "-h", "-j", array, "-o", "%i").strip(), f"{array}_[0-100000]")
        self.assertEqual(self.out("squeue", "-h", "-r", "-j", array, "-o", "%K").count("\n"), 100001)
        self.run_cmd("scancel", f"{array}_[1-99999]")
        self.assertEqual(self.out("squeue", "-h", "-j", array, "-o", "%i").strip(), f"{array}_[0,100000]")
        self.cancel(array)

    def test_wait(self):
        """sbatch -W ends with the last task, with the highest exit code."""
        done = self.run_cmd("sbatch", "-W", "--array=1-3", "-o", "/dev/null", "--wrap", "exit $SLURM_ARRAY_TASK_ID", check=False)
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    unittest.main()
