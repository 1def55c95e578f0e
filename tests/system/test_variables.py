"""Variables that stand for options of squeue, sinfo, scontrol and scancel."""
import unittest

from harness import ClusterCase, need_root, wait_for

STRANGER = 12003  # root sees hidden partitions and their jobs without asking


class Variables(ClusterCase):
    NODES, CPUS = 3, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.run("scontrol", "create", "PartitionName=veiled", "Nodes=n2", "Hidden=YES")

    def jobs(self):
        """Ids of one, two and three: held, held in a hidden partition, running."""
        one = self.submit("-H", "-J", "one", "-A", "physics", "-q", "fast", "--wckey=key", "--wrap", "true")
        two = self.submit("-H", "-J", "two", "-A", "biology", "-p", "veiled", "--wrap", "true")
        three = self.submit("-J", "three", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(three, "RUNNING")
        return one, two, three

    def end(self, *jobs):
        self.run_cmd("scancel", *jobs)
        self.wait_no_jobs()

    def test_squeue(self):
        jobs = dict(zip(("one", "two", "three"), self.jobs()))
        shown = lambda user=None, **env: self.out("squeue", "-h", "-o", "%j", env=env, user=user).split()
        self.assertEqual(sorted(shown()), ["one", "three", "two"])
        for name, value, expected in (("SQUEUE_ACCOUNT", "physics", ["one"]), ("SQUEUE_NAMES", "two", ["two"]),
                                      ("SQUEUE_PARTITION", "veiled", ["two"]), ("SQUEUE_QOS", "fast", ["one"]),
                                      ("SQUEUE_STATES", "R", ["three"]), ("SQUEUE_USERS", "nobody", []),
                                      ("SQUEUE_LICENSES", "matlab", []), ("SQUEUE_SORT", "-i", ["three", "two", "one"])):
            self.assertEqual(shown(**{name: value}), expected, name)
        self.assertNotIn("two", shown(user=STRANGER))
        self.assertEqual(shown(user=STRANGER, SQUEUE_PARTITION="veiled"), ["two"])
        self.assertIn("two", shown(user=STRANGER, SQUEUE_ALL="1"))
        both = self.submit("-H", "-p", "debug,veiled", "--wrap", "true")
        lines = lambda **env: self.out("squeue", "-h", "-j", both, "-o", "%P", env=env).split()
        self.assertEqual(lines(), ["debug,veiled"])
        self.assertEqual(sorted(lines(SQUEUE_PRIORITY="1")), ["debug", "veiled"])
        tasks = self.submit("-H", "-a", "1,3,7,20-30", "--wrap", "true")
        shown = lambda **env: self.out("squeue", "-h", "-j", tasks, "-o", "%i", env=env).strip()
        self.assertEqual(shown(SLURM_BITSTR_LEN="0"), f"{tasks}_[1,3,7,20-30]")
        self.assertEqual(shown(SLURM_BITSTR_LEN="7"), f"{tasks}_[1,3...]")
        self.end(*jobs.values(), both, tasks)

    def test_sinfo_and_scontrol(self):
        partitions = lambda *args, **env: self.out("sinfo", "-h", "-o", "%R", *args, env=env, user=STRANGER).split()
        self.assertEqual(partitions(), ["debug"])
        self.assertEqual(partitions("--hide", SINFO_ALL="1"), ["debug"])
        self.assertEqual(partitions(SINFO_PARTITION="veiled"), ["veiled"])
        self.assertEqual(sorted(partitions("-a", SINFO_PARTITION="veiled")), ["debug", "veiled"])
        self.assertEqual(sorted(partitions(SINFO_ALL="1")), ["debug", "veiled"])
        self.assertEqual(partitions(SINFO_ALL="1", SINFO_SORT="R"), ["debug", "veiled"])
        self.assertEqual(partitions(SINFO_ALL="1", SINFO_SORT="-R"), ["veiled", "debug"])
        self.assertNotIn("veiled", self.out("scontrol", "show", "partition", user=STRANGER))
        self.assertIn("PartitionName=veiled", self.out("scontrol", "show", "partition", env={"SCONTROL_ALL": "1"}, user=STRANGER))
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=FUTURE")
        try:
            nodes = lambda **env: self.out("sinfo", "-h", "-N", "-p", "debug", "-o", "%N", env=env).split()
            self.assertEqual((nodes(), nodes(SINFO_FUTURE="1")), (["n1", "n2"], ["n1", "n2", "n3"]))
            shown = lambda **env: self.out("scontrol", "show", "nodes", "-o", env=env).count("NodeName=")
            self.assertEqual((shown(), shown(SCONTROL_FUTURE="1")), (2, 3))
        finally:
            self.cluster.kill_node("n3")
            self.run_cmd("scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=back")
            self.cluster.start_node("n3")
            wait_for(lambda: self.out("sinfo", "-h", "-n", "n3", "-o", "%T").strip() == "idle", "n3 is back")

    def test_scancel(self):
        for name, value, hit in (("SCANCEL_ACCOUNT", "biology", "two"), ("SCANCEL_NAME", "one", "one"),
                                 ("SCANCEL_PARTITION", "veiled", "two"), ("SCANCEL_QOS", "fast", "one"),
                                 ("SCANCEL_STATE", "RUNNING", "three"), ("SCANCEL_WCKEY", "key", "one")):
            jobs = self.jobs()
            self.run_cmd("scancel", *jobs, env={name: value})
            wait_for(lambda: hit not in self.out("squeue", "-h", "-o", "%j").split(), f"{name} cancels {hit}")  # pylint: disable=cell-var-from-loop
            left = [job for job, kept in zip(jobs, ("one", "two", "three")) if kept != hit]
            self.assertEqual(len(self.out("squeue", "-h", "-o", "%i").split()), 2, name)
            self.end(*left)
        job = self.submit("-H", "--wrap", "true")
        self.run_cmd("scancel", job, env={"SCANCEL_USER": "nobody"}, check=False)
        self.assertEqual(self.state(job), "PENDING")
        self.run_cmd("scancel", job, env={"SCANCEL_INTERACTIVE": "1"}, stdin="n\n", check=False)
        self.assertEqual(self.state(job), "PENDING")
        self.end(job)

    def test_scancel_of_processes(self):  # SCANCEL_BATCH, SCANCEL_FULL: whom a signal reaches
        trap = "trap 'echo {0}' USR1; echo ready; while [ ! -e go ]; do sleep 0.05; done"
        script = f"srun -n1 sh -c \"{trap.format('step')}\" & {trap.format('script')}; wait"
        for variable, told in (("SCANCEL_BATCH", ["script"]), ("SCANCEL_FULL", ["script", "step"])):
            job = self.submit("-o", f"told-{variable}", "--wrap", script)
            words = lambda: self.file(f"told-{variable}").split()  # pylint: disable=cell-var-from-loop
            wait_for(lambda: words().count("ready") == 2, "both traps are set")  # pylint: disable=cell-var-from-loop
            self.run_cmd("scancel", "-s", "USR1", job, env={variable: "1"})
            wait_for(lambda: set(told) <= set(words()), f"{variable}: who is meant was told")  # pylint: disable=cell-var-from-loop
            self.run_cmd("/bin/touch", "go")
            self.wait_ended(job)
            self.assertEqual({"script", "step"} & set(words()), set(told))  # shells tell of their children's ends, too
            self.run_cmd("/bin/rm", "go")


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
