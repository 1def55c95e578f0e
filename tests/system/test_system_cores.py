"""Cores that are kept for the system: CoreSpecCount and CPUSpecList of nodes, --core-spec and --thread-spec of jobs."""
import unittest

from harness import ClusterCase

NODES = """NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000 CoreSpecCount=1
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 RealMemory=4000 CPUSpecList=0 MemSpecLimit=1000
PartitionName=debug Nodes=ALL Default=YES State=UP
"""
NOT_AVAILABLE = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
IGNORED = "sbatch: error: Ignoring {} since it's not allowed by configuration (AllowSpecResourcesUsage = No)\n"


class Nodes(ClusterCase):
    CONF = NODES

    def test_what_is_shown(self):
        first, second = (self.out("scontrol", "show", "node", name) for name in ("n1", "n2"))
        self.assertIn("CPUAlloc=0 CPUEfctv=6 CPUTot=8 ", first)
        self.assertIn("\n   CoreSpecCount=1 CPUSpecList=6-7\n", first)
        self.assertIn("\n   CfgTRES=cpu=6,mem=4000M,billing=6\n", first)
        self.assertIn("CPUAlloc=0 CPUEfctv=3 CPUTot=4 ", second)
        self.assertIn("\n   CoreSpecCount=1 CPUSpecList=0 MemSpecLimit=1000\n", second)
        self.assertEqual(self.out("sinfo", "-h", "-N", "-o", "%N %c %C"), "n1 8 0/6/0/6\nn2 4 0/3/0/3\n")

    def test_jobs_do_not_get_them(self):
        self.fails(1, NOT_AVAILABLE, "sbatch", "-w", "n1", "-N1", "-n7", "--wrap", "true")
        self.fails(1, "sbatch: error: CPU count per node can not be satisfied\n" + NOT_AVAILABLE,
                   "sbatch", "-c7", "--wrap", "true")
        for node, cpus, numbers in (("n1", 6, "0-5"), ("n2", 3, "1-3")):
            for options in (("--exclusive",), (f"-n{cpus}",)):
                with self.subTest(node=node, options=options):
                    job = self.submit("-w", node, *options, "-o", "/dev/null", "--wrap", "sleep 1000")
                    self.wait_state(job, "RUNNING")
                    self.assertIn(f" Nodes={node} CPU_IDs={numbers} ", self.out("scontrol", "-d", "show", "job", job))
                    self.assertEqual(self.show(job)["NumCPUs"], str(cpus))
                    self.assertEqual(self.out("sinfo", "-h", "-n", node, "-o", "%T %C").strip(), f"allocated {cpus}/0/0/{cpus}")
                    self.run_cmd("scancel", job)
                    self.wait_no_jobs()

    def test_jobs_have_no_say(self):
        """Without AllowSpecResourcesUsage."""
        sharing = lambda job: [self.show(job).get(key) for key in ("OverSubscribe", "Exclusive")]
        plain = self.submit("-H", "--wrap", "true")
        for option, name in (("--core-spec=1", "-S"), ("--thread-spec=1", "--thread-spec")):
            done = self.run_cmd("sbatch", "--parsable", "-H", option, "--wrap", "true")
            self.assertEqual(done.stderr, IGNORED.format(name))
            shown = self.show(int(done.stdout))
            self.assertEqual((shown["CoreSpec"], sharing(int(done.stdout))), ("*", sharing(plain)))
            for change in ("CoreSpec=1", "ThreadSpec=1"):
                refused = self.run_cmd("scontrol", "update", f"JobId={done.stdout.strip()}", change, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("Access/permission denied", refused.stderr)
            self.run_cmd("scancel", done.stdout.strip())
        self.run_cmd("scancel", plain)


class Jobs(ClusterCase):
    CONF = "AllowSpecResourcesUsage=YES\n" + NODES

    def tearDown(self):
        if jobs := self.out("squeue", "-h", "-o", "%A").split():
            self.run_cmd("scancel", *jobs)
        self.wait_no_jobs()

    def shown_by(self, command, *options):
        """What scontrol says of the job of this command, from inside."""
        tell = ("scontrol", "-d", "show", "job")
        if command != "sbatch":
            return self.out(command, *options, "sh", "-c", " ".join((*tell, "$SLURM_JOB_ID")))
        self.run_cmd("sbatch", "-W", "-o", "shown.out", *options, "--wrap", " ".join((*tell, "$SLURM_JOB_ID")))
        return self.file("shown.out")

    def test_jobs_that_say_what_they_leave(self):
        for command in ("sbatch", "srun", "salloc"):
            for option, node, numbers, said in (("-S0", "n1", "0-7", "CoreSpec=0"), ("-S2", "n1", "0-1,4-5", "CoreSpec=2"),
                                                ("--thread-spec=3", "n1", "0-1,4-5", "ThreadSpec=3"),
                                                ("--core-spec=0", "n2", "0-3", "CoreSpec=0"),
                                                ("-S2", "n2", "1-2", "CoreSpec=2")):
                with self.subTest(command=command, option=option, node=node):
                    shown = self.shown_by(command, "-w", node, option)
                    self.assertIn(f" Nodes={node} CPU_IDs={numbers} ", shown)
                    self.assertIn(f" {said}\n", shown)
                    self.assertIn(" OverSubscribe=NO ", shown)
                    self.wait_no_jobs()

    def test_sizes(self):
        job = self.submit("-w", "n1", "-n8", "-S0", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n1", "-o", "%C").strip(), "8/0/0/8")
        self.fails(1, NOT_AVAILABLE, "sbatch", "-w", "n1", "-N1", "-n8", "-S1", "--wrap", "true")
        self.fails(1, "sbatch: fatal: -S/--core-spec and --thread-spec options are mutually exclusive\n",
                   "sbatch", "-S1", "--thread-spec=1", "--wrap", "true")

    def test_other_ways_to_say_it(self):
        job = self.submit("-H", "--wrap", "true", env={"SBATCH_CORE_SPEC": "1"})
        self.assertEqual(self.show(job)["CoreSpec"], "1")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%X").strip(), "1")
        job = self.submit("-H", "--wrap", "true")
        self.run_cmd("scontrol", "update", f"JobId={job}", "CoreSpec=1")
        shown = self.show(job)
        self.assertEqual((shown["CoreSpec"], shown["OverSubscribe"]), ("1", "NO"))
        self.run_cmd("scontrol", "update", f"JobId={job}", "ThreadSpec=2")
        shown = self.show(job)
        self.assertEqual((shown["ThreadSpec"], shown.get("CoreSpec")), ("2", None))


if __name__ == "__main__":
    unittest.main()
