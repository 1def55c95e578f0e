"""Gang scheduling: jobs that share CPUs take turns of a time slice, and keep their memory meanwhile."""
import json
import re
import time
import unittest

from harness import ClusterCase, need_root, wait_for

COUNT = "while :; do echo x >>{}; sleep 0.1; done"


class Gang(ClusterCase):
    NODES, CPUS, MEMORY = 1, 2, 1000
    CONF = """PreemptMode=GANG
SchedulerTimeSlice=5
PartitionName=turns Nodes=ALL MaxTime=10 OverSubscribe=FORCE:2
"""

    def setUp(self):
        self.wait_no_jobs()

    def start(self, *args, count="/dev/null"):
        job = self.submit("-p", "turns", "-n2", "--mem=10", "-o", "/dev/null", *args, "--wrap", COUNT.format(count))
        self.addCleanup(self.run_cmd, "scancel", job, check=False)
        return job

    def states(self):
        rows = self.out("squeue", "-h", "-t", "R,S", "-o", "%A %t").split("\n")
        return {int(job): state for job, state in (row.split() for row in rows if row)}

    def in_turn(self, job):
        """All the jobs' states, once this one runs and no other one does."""
        return wait_for(lambda: (s := self.states()).get(job) == "R" and list(s.values()).count("R") == 1 and s, f"{job} has its turn")

    def test_turns(self):
        first = self.start(count="first")
        self.in_turn(first)
        second = self.start(count="second")
        wait_for(lambda: self.states() == {first: "R", second: "S"}, "the new one waits")
        self.assertEqual(self.out("squeue", "-h", "-t", "S", "-o", "%A"), f"{second}\n")
        shown = self.show(second)
        self.assertEqual((shown["JobState"], shown["Reason"], shown["NodeList"], shown["RunTime"]), ("SUSPENDED", "None", "n1", "00:00:00"))
        self.assertNotEqual(shown["Priority"], "0")
        self.assertEqual(shown["SecsPreSuspend"], "0")
        self.in_turn(second)
        wait_for(lambda: self.file("second"), "its processes run")
        ran = self.show(first)
        self.assertGreaterEqual(int(ran["SecsPreSuspend"]), 4)
        before = wait_for(lambda: (a := self.file("first"), time.sleep(0.5))[0] == self.file("first") and a,
                          "those of the other one are stopped")
        third = self.start()
        wait_for(lambda: self.show(third)["Reason"] == "Resources", "two jobs a CPU")
        self.in_turn(first)
        wait_for(lambda: len(self.file("first")) > len(before), "it goes on where it was")
        self.run_cmd("scancel", first)
        self.in_turn(second)
        wait_for(lambda: third in self.states(), "there is room for the third")
        nodes = json.loads(self.out("scontrol", "show", "node", "n1", "--json"))["nodes"]
        self.assertEqual(nodes[0]["alloc_cpus"], 2)

    def test_restart_in_the_midst_of_a_slice(self):
        first, second = self.start(), self.start()
        wait_for(lambda: self.states() == {first: "R", second: "S"}, "the second waits")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        self.in_turn(second)
        self.in_turn(first)

    def test_ends(self):
        first, second = self.start(), self.start()
        wait_for(lambda: self.states() == {first: "R", second: "S"}, "the second waits")
        self.run_cmd("scancel", second)
        self.wait_state(second, "CANCELLED")
        again = self.start("--requeue")
        wait_for(lambda: self.states() == {first: "R", again: "S"}, "another one waits")
        self.run_cmd("scontrol", "requeue", again)
        wait_for(lambda: self.show(again)["Restarts"] == "1" and self.states().get(again) == "S", "it comes again")
        self.run_cmd("scontrol", "suspend", again)
        self.in_turn(first)
        time.sleep(6)  # a slice, in which nothing is to happen
        self.assertEqual(self.states(), {first: "R", again: "S"})
        self.run_cmd("scontrol", "resume", again)
        self.in_turn(again)

    def test_memory_is_not_shared(self):
        first = self.submit("-p", "turns", "-n2", "--mem=600", "-o", "/dev/null", "--wrap", "sleep 100")
        second = self.submit("-p", "turns", "-n2", "--mem=600", "-o", "/dev/null", "--wrap", "sleep 100")
        self.addCleanup(self.run_cmd, "scancel", first, second)
        self.wait_state(first, "RUNNING")
        wait_for(lambda: self.show(second)["Reason"] == "Resources", "there is no memory for both")

    def test_tasks_of_an_array(self):
        job = self.start("--array=0-1")
        rows = lambda: sorted(self.out("squeue", "-h", "-t", "R,S", "-r", "-j", job, "-o", "%i %t").split("\n")[:-1])  # noqa: E731
        wait_for(lambda: rows() == [f"{job}_0 R", f"{job}_1 S"], "the first has its turn")
        wait_for(lambda: rows() == [f"{job}_0 S", f"{job}_1 R"], "the second has its turn")

    def test_time_limit(self):  # the time in which it was suspended does not count
        self.run_cmd("scontrol", "update", "PartitionName=turns", "OverTimeLimit=0")
        first, second = self.start("-t", "1"), self.start("-t", "1")
        wait_for(lambda: self.states() == {first: "R", second: "S"}, "the second waits")
        self.in_turn(second)
        ends = [self.show(job)["EndTime"] for job in (first, second)]
        self.assertTrue(all(re.match(r"\d{4}-", end) for end in ends), ends)
        self.in_turn(first)
        self.assertGreater(self.show(first)["EndTime"], ends[0])


if __name__ == "__main__":
    need_root()
    unittest.main()
