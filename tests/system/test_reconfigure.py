"""The configuration's life: nodes and partitions come and go without a restart, while jobs run."""
import os
import re
import signal
import subprocess
import unittest

from harness import ClusterCase, pids_with, wait_for


def without_n3(conf):
    return re.sub(r"NodeName=n\[1-3\](.*)Port=\[(\d+)-(\d+)\]",
                  lambda m: f"NodeName=n[1-2]{m[1]}Port=[{m[2]}-{int(m[3]) - 1}]", conf)


class Reconfigure(ClusterCase):
    NODES, CPUS = 3, 2

    def nodes(self):
        return sorted(set(self.out("sinfo", "-h", "-N", "-o", "%N").split()))  # a line for each partition

    def tell(self, how):
        """Tells the controller to read slurm.conf again, and waits until it has."""
        if how == "restart":
            self.cluster.kill_controller()
            return self.cluster.start_controller()
        count = self.cluster.log().count("configuration read again")
        if how == "scontrol":
            self.run_cmd("scontrol", "reconfigure")
        else:
            os.kill(self.cluster.controller_pid(), signal.SIGHUP)
        return wait_for(lambda: self.cluster.log().count("configuration read again") > count, f"it is read after {how}")

    def node_comes_and_goes(self, how):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        refusals = lambda: self.cluster.log("n3").count("cannot register with the controller")
        refused = refusals()
        before = self.cluster.change_conf(lambda text: without_n3(text) +
            "PartitionName=short Nodes=n2 MaxTime=5\n")
        try:
            self.tell(how)
            self.assertEqual(self.nodes(), ["n1", "n2"])
            self.assertEqual(self.out("sinfo", "-h", "-p", "short", "-o", "%N %l"), "n2 5:00\n")
            self.assertIn("not found", self.run_cmd("scontrol", "show", "node", "n3", check=False).stdout)
            other = self.submit("-p", "short", "-o", "/dev/null", "--wrap", "true")
            self.assertEqual(self.wait_ended(other), "COMPLETED")
            self.assertEqual(self.state(job), "RUNNING")
            wait_for(lambda: refusals() == refused + 1, "the agent of n3 says once that it is not wanted")
            self.assertIn("cannot register with the controller: it does not have node n3 any more\n", self.cluster.log("n3"))
        finally:
            self.cluster.change_conf(lambda _: before)
            self.tell(how)
        wait_for(lambda: self.nodes() == ["n1", "n2", "n3"] and
                 self.out("sinfo", "-h", "-o", "%T", "-n", "n3").strip() == "idle", "n3 is back and idle")
        self.assertEqual(self.out("sinfo", "-h", "-o", "%R"), "debug\n" * self.out("sinfo", "-h", "-o", "%R").count("\n"))
        again = self.submit("-w", "n3", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(again), "COMPLETED")
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_scontrol_reconfigure(self):
        self.node_comes_and_goes("scontrol")

    def test_sighup(self):
        self.node_comes_and_goes("SIGHUP")

    def jobs_lose_their_node(self, how):
        """What ran on n3 ends there: the requeued job would run twice, the other one for nobody."""
        stays, again, never = (f"{how}-{name}.out" for name in ("stays", "again", "never"))
        wrap = ("--open-mode=append", "--wrap", "echo $$; exec sleep 1000")
        other = self.submit("-w", "n1", "-o", stays, *wrap)
        job = self.submit("-w", "n3", "-o", again, *wrap)
        failed = self.submit("-w", "n3", "--no-requeue", "-o", never, *wrap)
        wait_for(lambda: all(self.file(name) for name in (stays, again, never)), "all run")
        alive = lambda name: os.path.exists(f"/proc/{self.file(name).split()[0]}")
        self.assertTrue(alive(again) and alive(never))
        before = self.cluster.change_conf(without_n3)
        try:
            self.tell(how)
            self.wait_state(job, "PENDING")
            self.wait_state(failed, "NODE_FAIL")
            wait_for(lambda: not alive(again) and not alive(never), "their processes on n3 are ended")
            self.assertEqual((self.state(job), self.state(other)), ("PENDING", "RUNNING"))  # n3 alone may run it
            self.assertTrue(alive(stays))
        finally:
            self.cluster.change_conf(lambda _: before)
            self.tell(how)
        wait_for(lambda: len(re.findall(r"^\d+$", self.file(again), re.M)) == 2, "it runs once more when n3 is back")
        self.assertEqual(self.show(job)["Restarts"], "1")
        self.run_cmd("scancel", job, other)
        self.wait_no_jobs()

    def test_jobs_on_a_node_that_goes(self):
        self.jobs_lose_their_node("scontrol")

    def test_jobs_on_a_node_that_goes_with_a_restart(self):
        self.jobs_lose_their_node("restart")

    def test_jobs_on_a_node_that_hears_of_it_late(self):
        job = self.submit("-w", "n3", "-o", "late.out", "--no-requeue", "--wrap", "echo $$; exec sleep 1000")
        pid = wait_for(lambda: self.file("late.out").strip(), "it runs")
        self.cluster.kill_node("n3")
        before = self.cluster.change_conf(without_n3)
        old = os.path.join(self.cluster.dir, "old.conf")  # as its host has it still
        with open(old, "w", encoding="utf-8") as f:
            f.write(before)
        agent = lambda: pids_with(old, "sluicenoded")
        try:
            self.tell("scontrol")
            self.wait_state(job, "NODE_FAIL")
            self.assertTrue(os.path.exists(f"/proc/{pid}"), "nobody has told its host")
            subprocess.run([self.cluster.daemon("sluicenoded"), "-f", old, "-N", "n3"], check=True, env=self.cluster.env)
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "its agent ends it")
        finally:
            self.cluster.change_conf(lambda _: before)
            self.tell("scontrol")
            for one in agent():
                os.kill(one, signal.SIGTERM)
            wait_for(lambda: not agent(), "it is gone")
            self.cluster.start_node("n3")
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%T", "-n", "n3").strip() == "idle", "n3 is back and idle")

    def test_down_nodes(self):
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "echo $$ > first; exec sleep 1000")
        first = wait_for(lambda: self.file("first").endswith("\n") and self.file("first").strip(), "the job runs")
        is_drained = lambda: self.out("sinfo", "-h", "-n", "n2", "-o", "%T %E").strip() == "drained fan"
        before = self.cluster.change_conf(lambda text: text + "DownNodes=n2 State=DRAIN Reason=fan\n"
                                          "DownNodes=n1 State=DOWN Reason=disk\n")
        try:
            self.tell("scontrol")
            wait_for(is_drained, "n2 is drained")
            wait_for(lambda: self.show(job)["Restarts"] == "1", "the job is queued again")
            wait_for(lambda: not os.path.exists(f"/proc/{first}"), "what ran on n1 is ended")
            self.run_cmd("scancel", job)
            self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
            self.assertFalse(is_drained())
            self.cluster.kill_controller()
            self.cluster.start_controller()
            wait_for(is_drained, "n2 is drained by the restart, too")
        finally:
            self.cluster.change_conf(lambda _: before)
            self.tell("scontrol")
        self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)  # its registration may have done it
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%D %T").strip() == "3 idle", "all nodes are back")

    def test_values_act_at_once(self):
        value = lambda key: re.search(rf"^{key} +=(.*)$", self.out("scontrol", "show", "config"), re.M)[1].strip()
        self.assertEqual((value("DefMemPerCPU"), value("SlurmctldDebug"), value("DebugFlags")), ("100", "info", "(null)"))
        before = self.cluster.change_conf(lambda text: text.replace("DefMemPerCPU=100", "DefMemPerCPU=150") +
                                          "SlurmctldDebug=debug\nDebugFlags=Steps\nMaxJobCount=100\n")
        self.tell("scontrol")
        self.assertEqual((value("DefMemPerCPU"), value("SlurmctldDebug"), value("DebugFlags")), ("150", "debug", "Steps"))
        self.assertEqual(value("MaxJobCount"), "200000")  # waits for a restart, and the log says so
        self.assertIn("MaxJobCount has changed and waits for a restart", self.cluster.log())
        job = self.submit("-H", "--wrap", "true")
        self.assertIn("MinMemoryCPU=150M", self.out("scontrol", "show", "job", job))
        self.cluster.change_conf(lambda _: before)
        self.tell("scontrol")
        self.assertEqual(value("SlurmctldDebug"), "info")
        self.run_cmd("scancel", job)

    def test_partitions_stay_as_scontrol_left_them(self):  # ReconfigFlags
        shown = lambda: self.out("sinfo", "-h", "-p", "debug", "-o", "%a %l").split("\n")[0]
        self.assertEqual(shown(), "up infinite")
        first = self.cluster.change_conf(lambda text: text + "ReconfigFlags=KeepPartInfo\n")
        self.tell("scontrol")
        self.run_cmd("scontrol", "update", "PartitionName=debug", "State=DOWN", "MaxTime=7")
        self.tell("scontrol")
        self.assertEqual(shown(), "down 7:00")
        self.cluster.change_conf(lambda text: text.replace("KeepPartInfo", "KeepPartState"))
        self.tell("scontrol")
        self.assertEqual(shown(), "down infinite")
        self.cluster.change_conf(lambda _: first)
        self.tell("scontrol")
        self.assertEqual(shown(), "up infinite")

    def test_size_of_scripts(self):  # SchedulerParameters=max_script_size, 4 MiB otherwise
        script = lambda size: "#!/bin/sh\n" + "#" * (size - 11) + "\n"
        refused = "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long\n"
        submit = ("sbatch", "-H", "-o", "/dev/null")
        self.fails(1, refused, *submit, stdin=script((4 << 20) + 1))
        known = "SchedulerParameters=requeue_delay=1"
        before = self.cluster.change_conf(lambda text: text.replace(known, known + ",max_script_size=1000"))
        self.tell("scontrol")
        self.fails(1, refused, *submit, stdin=script(1001))
        self.run_cmd(*submit, stdin=script(1000))
        self.cluster.change_conf(lambda _: before.replace(known, known + f",max_script_size={6 << 20}"))
        self.tell("scontrol")
        self.run_cmd(*submit, stdin=script(5 << 20))
        self.cluster.change_conf(lambda _: before)
        self.tell("scontrol")
        self.run_cmd("scancel", "-u", str(os.geteuid()))
        self.wait_no_jobs()

    def test_what_has_no_effect_is_named_once(self):
        known = "SchedulerParameters=requeue_delay=1"
        before = self.cluster.change_conf(lambda text: text.replace(known, known + ",bf_busy_nodes") + "AcctGatherNodeFreq=30\n")
        for _ in range(2):
            self.tell("scontrol")
        self.cluster.change_conf(lambda _: before)
        self.tell("scontrol")
        for key in ("SchedulerParameters=bf_busy_nodes", "AcctGatherNodeFreq"):
            self.assertEqual(len(re.findall(f"keys without effect:.*{key}", self.cluster.log())), 1, key)
        self.assertNotIn("requeue_delay", self.cluster.log())

    def test_bad_configuration_is_refused(self):
        for bad, key in (("NoSuchKey=1\n", "NoSuchKey"), ("SlurmctldDebug=loud\n", "SlurmctldDebug"),
                         ("PartitionName=x Nodes=nope\n", "nope")):
            with self.subTest(bad=bad):
                before = self.cluster.change_conf(lambda text: text + bad)
                line = str(before.count("\n") + 1)
                good = os.path.join(self.cluster.dir, "good.conf")  # commands want one that can be read
                with open(good, "w", encoding="utf-8") as f:
                    f.write(before)
                try:
                    done = self.run_cmd("scontrol", "reconfigure", check=False, env={"SLURM_CONF": good})
                    self.assertEqual(done.returncode, 1)
                    self.assertTrue(done.stderr.startswith("slurm_reconfigure error: "), done.stderr)
                    self.assertIn(key, done.stderr)
                    self.assertIn(f"{self.cluster.conf}:{line}", done.stderr)
                    os.kill(self.cluster.controller_pid(), signal.SIGHUP)
                    wait_for(lambda: self.cluster.log().count(key) >= 2, "the log says what SIGHUP met")
                finally:
                    self.cluster.change_conf(lambda _: before)
                self.assertEqual(self.nodes(), ["n1", "n2", "n3"])
                job = self.submit("-o", "/dev/null", "--wrap", "true")
                self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_sigusr2_reopens_the_log(self):
        for name, pid in (("sluicectld", self.cluster.controller_pid()), ("n2", self.cluster.node_pid("n2"))):
            path = os.path.join(self.cluster.dir, "log", name + ".log")
            os.rename(path, path + ".1")
            os.kill(pid, signal.SIGUSR2)
            wait_for(lambda: os.path.exists(path), f"{name} has a new log")
            before = self.cluster.change_conf(lambda text: text + "KillWait=31\n")
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: "configuration" in self.cluster.log(name), f"{name} writes into it")
            self.cluster.change_conf(lambda _: before)
            self.run_cmd("scontrol", "reconfigure")


if __name__ == "__main__":
    unittest.main(verbosity=2)
