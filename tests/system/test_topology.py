"""topology.conf: switches, and jobs that want few of them; preferred features; the features of a step."""
import os
import unittest

from harness import ClusterCase, need_root, wait_for

TREE = """SwitchName=s1 Nodes=n[1-2]
SwitchName=s2 Nodes=n[3-4] LinkSpeed=10
SwitchName=top Switches=s[1-2]
"""


class PlacedJobs(ClusterCase):
    """Jobs that stay where they were placed until the test ends."""
    def tearDown(self):
        self.run_cmd("scancel", "-u", "root")
        self.wait_no_jobs()

    def job(self, *args):
        return self.submit("-o", "/dev/null", *args, "--wrap", "sleep 1000")

    def nodes(self, job):
        self.wait_state(job, "RUNNING")
        return self.out("squeue", "-h", "-j", job, "-o", "%N").strip()


class Topology(PlacedJobs):
    NODES, CPUS = 4, 2
    CONF = "TopologyPlugin=topology/tree\nSchedulerParameters=max_switch_wait=3600,requeue_delay=1\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.cluster.dir, "topology.conf"), "w", encoding="utf-8") as f:
            f.write(TREE)
        cls.cluster.run("scontrol", "reconfigure")

    def test_show_topology(self):
        s1 = "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
        s2 = "SwitchName=s2 Level=0 LinkSpeed=10 Nodes=n[3-4]\n"
        top = "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]\n"
        self.assertEqual(self.out("scontrol", "show", "topology"), s1 + s2 + top)
        self.assertEqual(self.out("scontrol", "show", "topology", "s1"), s1)
        self.assertEqual(self.out("scontrol", "show", "topology", "n3"), s2 + top)
        self.assertEqual(self.out("scontrol", "show", "topology", "n1,n3"), top)
        self.fails(1, "scontrol: error: Topology information contains no switch or node named foo\n", "scontrol", "show", "topology",
                   "foo")

    def test_few_switches(self):
        self.assertEqual(self.nodes(self.job("-N1", "-w", "n1", "--exclusive")), "n1")
        self.assertEqual(self.nodes(self.job("-N2", "--exclusive")), "n[3-4]")  # not n2 and n3

    def test_switches(self):
        first = self.job("-N1", "-w", "n1", "--exclusive", "-t", "60")
        third = self.job("-N1", "-w", "n3", "--exclusive", "-t", "60")
        self.nodes(first), self.nodes(third)
        for command in ("srun", "salloc"):  # n2 and n4 are free
            self.fails(1, f"{command}: error: Unable to allocate resources: Requested nodes are busy\n",
                       command, "-Q", "-I1", "-N2", "--switches=1@60", "true")
            self.run_cmd(command, "-I9", "-N2", "true")
        waits = self.job("-N2", "--switches=1@60")
        any_number = self.job("-N2", "--exclusive", "-t", "5")
        self.assertEqual(self.nodes(any_number), "n[2,4]")
        self.assertEqual(self.state(waits), "PENDING")
        self.assertEqual(self.show(waits)["Switches"], "1@01:00:00")
        self.run_cmd("scancel", any_number)
        self.run_cmd("scancel", first)
        self.assertEqual(self.nodes(waits), "n[1-2]")

    def test_wait_by_variable(self):  # SBATCH_WAIT4SWITCH, and that of srun and salloc
        tell = ("scontrol", "show", "job", "-o")
        self.run_cmd("sbatch", "-W", "-o", "wait.out", "--switches=1", "--wrap", " ".join((*tell, "$SLURM_JOB_ID")),
                     env={"SBATCH_WAIT4SWITCH": "30"})
        self.assertRegex(self.file("wait.out"), r" Switches=1@00:30:00\s")
        for command, prefix in (("srun", "SLURM"), ("salloc", "SALLOC")):
            env = {f"{prefix}_REQ_SWITCH": "1", f"{prefix}_WAIT4SWITCH": "40"}
            self.assertRegex(self.out(command, "sh", "-c", " ".join((*tell, "$SLURM_JOB_ID")), env=env), r" Switches=1@00:40:00\s")

    def test_wait_for_switch(self):
        for node in ("n1", "n3"):
            self.nodes(self.job("-N1", "-w", node, "--exclusive"))
        waits = self.job("-N2", "--switches=1@60")
        wait_for(lambda: self.out("squeue", "-h", "-j", waits, "-o", "%r").strip() == "Resources", "it waits for a switch")
        self.run_cmd("scontrol", "update", f"JobId={waits}", "wait-for-switch=0")
        self.assertEqual(self.nodes(waits), "n[2,4]")


BLOCKS = """BlockName=b1 Nodes=n[1-2]
BlockName=b2 Nodes=n[3-4]
BlockName=b3 Nodes=n[5-6]
BlockName=b4 Nodes=n[7-8]
BlockSizes=2,4
"""


class Blocks(PlacedJobs):
    NODES, CPUS = 8, 2
    CONF = "TopologyPlugin=topology/block\nSchedulerParameters=requeue_delay=1\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.cluster.dir, "topology.conf"), "w", encoding="utf-8") as f:
            f.write(BLOCKS)
        cls.cluster.run("scontrol", "reconfigure")

    def refused(self, *options):
        done = self.run_cmd("sbatch", *options, "--wrap", "true", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""), options)
        return done.stderr

    def test_show_topology(self):
        told = self.out("scontrol", "show", "topology").splitlines()
        self.assertEqual(told[1], "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2")
        self.assertEqual(told[4:], ["AggregatedBlock=b[1-2] BlockIndex=4 Nodes=n[1-4] BlockSize=4",
                                    "AggregatedBlock=b[3-4] BlockIndex=5 Nodes=n[5-8] BlockSize=4"])
        self.assertEqual(self.out("scontrol", "show", "topology", "n3"), told[1] + "\n" + told[4] + "\n")
        self.assertEqual(self.out("scontrol", "show", "topology", "block=b2"), told[1] + "\n")
        self.fails(1, "scontrol: error: Topology information contains no block or node named foo\n", "scontrol", "show", "topology", "foo")

    def test_a_job_is_in_one_block(self):
        self.assertEqual(self.nodes(self.job("-N1", "-w", "n1", "--exclusive")), "n1")
        self.assertEqual(self.nodes(self.job("-N1", "-w", "n3", "--exclusive")), "n3")
        self.assertEqual(self.nodes(self.job("-N1", "--exclusive")), "n2")  # the block that is nearly full
        two = self.job("-N2", "--exclusive")
        self.assertEqual(self.nodes(two), "n[5-6]")
        four = self.job("-N4", "--exclusive")  # n4 and b4 are not in one group of four
        wait_for(lambda: self.out("squeue", "-h", "-j", four, "-o", "%r").strip() == "Resources", "it waits for a group")
        self.run_cmd("scancel", two)
        self.assertEqual(self.nodes(four), "n[5-8]")

    def test_segments(self):
        for options, why in ((["-N3", "--segment=2"], "--segment=2 does not divide the number of nodes, 3"),
                             (["-N8", "--segment=4"], "--segment=4 is more than a block has: 2 nodes")):
            self.assertEqual(self.refused(*options), f"sbatch: error: {why}\nsbatch: error: Batch job submission failed: Requested node configuration is not available\n")
        first = self.job("-N1", "-w", "n1", "--exclusive")
        self.assertEqual(self.nodes(first), "n1")
        job = self.job("-N4", "--segment=2", "--exclusive")
        self.assertEqual(self.nodes(job), "n[3-6]")  # of two groups
        self.assertEqual(self.show(job)["SegmentSize"], "2")
        self.run_cmd("scancel", job)
        wait_for(lambda: self.out("squeue", "-h", "-j", job) == "", "its nodes are free again")
        spread = ("-N2", "--segment=1", "--spread-segments", "--exclusive")
        job = self.job(*spread)
        self.assertEqual(self.nodes(job), "n[3,5]")
        self.run_cmd("scancel", job)
        for command in ("salloc", "srun"):
            wait_for(lambda: self.out("squeue", "-h", "-o", "%i").split() == [str(first)], "all nodes but one are free again")
            self.assertEqual(self.out(command, "-Q", *spread, "printenv", "SLURM_JOB_NODELIST").splitlines()[0], "n[3,5]")
            done = self.run_cmd(command, "-Q", "-N3", "--segment=2", "true", check=False)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (1, f"{command}: error: --segment=2 does not divide the number of nodes, 3"))

    def test_blocks_alone(self):
        first = self.job("-N1", "-n1", "-w", "n1")
        self.assertEqual(self.nodes(first), "n1")
        alone = self.job("-N1", "-n1", "--exclusive=topo")
        self.assertEqual(self.nodes(alone), "n3")
        for want in ("n[5-6]", "n[7-8]"):
            self.assertEqual(self.nodes(self.job("-N2", "--exclusive")), want)
        near = self.job("-N1", "-n1", "-w", "n4", "-t1")  # there is a CPU, but in the block of another
        wait_for(lambda: self.out("squeue", "-h", "-j", near, "-o", "%r").strip() in ("Resources", "Priority"), "it waits for the block")
        last = self.job("-N1", "-n1", "--exclusive=topo", "-w", "n1", "-t1")
        self.run_cmd("scancel", alone)
        self.assertEqual(self.nodes(near), "n4")
        self.assertEqual(self.state(last), "PENDING")


class Features(PlacedJobs):
    CONF = ("AllowSpecResourcesUsage=YES\n"
            "NodeName=n1 NodeHostname=localhost Port=@1 CPUs=2 RealMemory=1000 Features=old\n"
            "NodeName=n2 NodeHostname=localhost Port=@2 CPUs=2 RealMemory=1000 Features=fast,old\n"
            "PartitionName=debug Nodes=ALL Default=YES\n")

    def test_prefer(self):
        self.assertEqual(self.out("srun", "--prefer=fast", "printenv", "SLURMD_NODENAME"), "n2\n")
        self.assertEqual(self.out("salloc", "--prefer=fast", "printenv", "SLURM_JOB_NODELIST"), "n2\n")
        self.wait_no_jobs()
        self.assertEqual(self.nodes(self.job("--exclusive", "--prefer=fast")), "n2")
        self.assertEqual(self.nodes(self.job("--exclusive", "--prefer=fast")), "n1")  # rather there than not at all
        job = self.job("-n2", "-H")
        self.run_cmd("scontrol", "update", f"JobId={job}", "Prefer=fast")
        self.assertEqual(self.show(job)["Prefer"], "fast")
        done = self.run_cmd("sbatch", "--prefer=green", "--wrap", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "sbatch: error: Batch job submission failed: Invalid preferred feature specification\n")

    def test_step_constraint(self):
        job = self.submit("-N2", "-o", "out", "--wrap", "srun -N1 -n1 -C fast sh -c 'echo $SLURMD_NODENAME'; srun -N2 -C fast true")
        self.assertEqual(self.wait_ended(job), "FAILED")
        lines = self.file("out").splitlines()
        self.assertEqual(lines[0], "n2")
        self.assertIn("Requested node configuration is not available", "".join(lines[1:]))

    def test_update_waiting(self):  # sizes that scontrol update changes
        job = self.job("-H", "-n1")
        self.run_cmd("scontrol", "update", f"JobId={job}", "ReqSockets=1", "ReqCores=1", "ReqThreads=1", "TasksPerNode=1", "CoreSpec=0")
        shown = self.show(job)
        self.assertEqual(shown["NtasksPerN:B:S:C"][0], "1")
        self.assertEqual(shown["Socks/Node"], "1")
        running = self.job("-n1", "-t", "30")
        self.nodes(running)
        self.run_cmd("scontrol", "update", f"JobId={running}", "TimeMin=10")
        self.assertEqual(self.show(running)["TimeMin"], "N/A")  # says nothing of a job that runs
        self.run_cmd("scontrol", "update", f"JobId={running}", "DelayBoot=5")
        self.run_cmd("scontrol", "update", f"JobId={running}", "Switches=1@10")


if __name__ == "__main__":
    need_root()
    unittest.main()
