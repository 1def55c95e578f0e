"""After a kill -9 of the controller squeue tells the same as before. (How soon: bench/restart.)"""
import datetime
import os
import unittest

from harness import ClusterCase, wait_for

FORMAT = "%i|%F|%K|%P|%j|%u|%t|%D|%C|%l|%Q|%V|%S|%r|%N|%k|%E|%c|%m|%Z"


class Restart(ClusterCase):
    NODES, CPUS = 2, 4

    def queue(self):
        return sorted(self.out("squeue", "-a", "-h", "-r", "-o", FORMAT).splitlines())

    def test_queue_is_the_same(self):
        running = self.submit("-n8", "-N2", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(running, "RUNNING")
        held = self.submit("-H", "-o", "/dev/null", "--comment=keep this", "--wrap", "true")
        self.submit("-o", "/dev/null", f"--dependency=afterok:{held}", "--wrap", "true")
        self.submit("-o", "/dev/null", "--begin=now+1hour", "--wrap", "true")
        self.submit("-o", "/dev/null", "-a", "0-49%3", "-J", "many", "--wrap", "true")
        for number in range(100):
            self.submit("-o", "/dev/null", "-J", f"job{number}", f"-n{1 + number % 4}", f"-t{10 + number}",
                        f"--nice={number}", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={held + 10}", "TimeLimit=7")
        ended = self.submit("-o", "/dev/null", "-n8", "-d", f"afterany:{held}", "--wrap", "true")
        self.run_cmd("scancel", ended)
        wait_for(lambda: all("|None|" not in line for line in self.queue() if "|PD|" in line), "all reasons are there")
        before = self.queue()
        self.assertEqual(len(before), 1 + 3 + 50 + 100)
        self.cluster.kill_controller()
        self.cluster.start_controller()
        # jobs and states at once; reasons and expected starts when the scheduler has had a look
        self.assertEqual([line.split("|")[:12] for line in self.queue()], [line.split("|")[:12] for line in before])
        wait_for(lambda: self.queue() == before, "reasons and expected starts are as before")


class Unseen(ClusterCase):
    NODES, CPUS = 1, 2

    def test_an_end_that_nobody_saw(self):
        """It was dated by when controller and agent came back."""
        job = self.submit("-o", "/dev/null", "--wrap", "touch begun; until [ -e go ]; do sleep 0.05; done")
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, "begun")), "the job runs")
        self.cluster.kill_controller()
        self.cluster.kill_node("n1")
        with open(os.path.join(self.cluster.work, "go"), "w", encoding="ascii"):
            pass
        spool = os.path.join(self.cluster.dir, "spool/n1")

        def ends():
            found = [os.path.join(folder, name) for folder, _, names in os.walk(spool) for name in names if name.endswith("end")]
            return [datetime.datetime.fromtimestamp(os.path.getmtime(path)) for path in found]
        ended = wait_for(ends, "the step daemon has kept its report")[0]
        wait_for(lambda: datetime.datetime.now() > ended + datetime.timedelta(seconds=4), "time passes")
        self.cluster.start_controller()
        self.cluster.start_node("n1")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        end = datetime.datetime.fromisoformat(self.show(job)["EndTime"])
        self.assertLessEqual(end, ended + datetime.timedelta(milliseconds=20))  # times of files are those of the kernel's last tick
        self.assertGreater(end, ended - datetime.timedelta(seconds=3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
