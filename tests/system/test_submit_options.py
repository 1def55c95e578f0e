"""What sbatch, srun and salloc have in common: each option is given to all three, and seen in what the job gets."""
import concurrent.futures
import datetime
import itertools
import os
import unittest

from harness import ClusterCase, wait_for

NODES = """SelectTypeParameters=CR_Core_Memory
Licenses=lic:4
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000 Feature=a,x TmpDisk=1000
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000 Feature=a,y TmpDisk=1000
NodeName=n3 NodeAddr=127.0.0.1 Port=@3 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000 Feature=b
NodeName=n4 NodeAddr=127.0.0.1 Port=@4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000 Feature=b
NodeName=n5 NodeAddr=127.0.0.1 Port=@5 Sockets=4 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Feature=b,c TmpDisk=5000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=5 State=UP
PartitionName=two Nodes=n[3-4] State=UP
"""
FACTS = "if [ ${SLURM_PROCID:-0} = 0 ]; then scontrol show job -o $SLURM_JOB_ID; env; fi"
COMMANDS = ("sbatch", "srun", "salloc")


class Everywhere(ClusterCase):
    """Runs a job with each command and returns what it says of itself."""
    numbers = itertools.count()

    def facts(self, command, *options):
        if command == "sbatch":
            name = f"facts-{next(self.numbers)}"
            self.run_cmd("sbatch", "-W", "-o", f"{self.cluster.work}/{name}", *options, "--wrap", FACTS)
            text = self.file(name)
        else:
            text = self.out(command, *options, "sh", "-c", FACTS)
        first, *rest = text.split("\n")
        found = dict(word.split("=", 1) for word in first.split() if "=" in word)
        found.update(line.split("=", 1) for line in rest if "=" in line)
        return found

    def facts_of_all(self, options):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return dict(zip(COMMANDS, pool.map(lambda c: self.facts(c, *options.split()), COMMANDS)))

    def check(self, cases, commands=COMMANDS):
        """Each case is options and what is found; all run at the same time."""
        wrong = []

        def one(command, options, expected):
            found = self.facts(command, *options.split())
            for key, value in expected.items():
                if found.get(key) != value:
                    wrong.append(f"{command} {options}: {key} is {found.get(key)}, not {value}")

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            jobs = [pool.submit(one, command, *case) for case in cases for command in commands]
            for job in concurrent.futures.as_completed(jobs):
                if job.exception():
                    wrong.append(str(job.exception()))
        self.assertEqual("\n".join(wrong), "")


class Placement(Everywhere):
    NODES, CONF = 5, NODES

    def test_which_nodes(self):
        self.check([
            ("-w n4", dict(NodeList="n4")),
            ("-N2 -w n5 -x n[1-3]", dict(NodeList="n[4-5]", NumNodes="2")),
            ("-p two -x n3", dict(Partition="two", NodeList="n4")),
            ("-C c", dict(NodeList="n5")),
            ("-C a&y", dict(NodeList="n2", SLURM_JOB_NODELIST="n2")),
            ("-N2 -C b -w n5 --contiguous", dict(NodeList="n[4-5]")),
            ("-F nodes.txt", dict(NodeList="n[2,4]")),
            ("-N3 -x ./nodes.txt", dict(NodeList="n[1,3,5]")),
            ("--mincpus=9", dict(NodeList="n5")),
            ("--tmp=3000", dict(NodeList="n5", MinTmpDiskNode="3000M")),
            ("--sockets-per-node=3", dict(NodeList="n5")),
            ("--cores-per-socket=4 -x n[3-4]", dict(NodeList="n5")),
            ("--threads-per-core=2 -x n1", dict(NodeList="n2")),
            ("-B 3:4", dict(NodeList="n5")),
            ("--mem=5000", dict(NodeList="n5", MinMemoryNode="5000M")),
            ("--mem-per-cpu=4001", dict(NodeList="n5", MinMemoryCPU="4001M")),
        ])

    def test_nodes_of_another_shape(self):
        """The node that is asked for would do without the option."""
        for command in COMMANDS:
            for option, node in (("--cores-per-socket=4", "n1"), ("--threads-per-core=2", "n3"), ("--sockets-per-node=2", "n3")):
                words = ("--wrap", "true") if command == "sbatch" else ("true",)
                done = self.run_cmd(command, "-w", node, option, *words, check=False)
                self.assertEqual(done.returncode, 1, (command, option))
                self.assertIn("Requested node configuration is not available", done.stderr)

    def test_node_lists_are_cut(self):
        self.check([("-n1 -w n3,n2", dict(NodeList="n2", ReqNodeList="n2")), ("-n2 -N3 -w n[2-4]", dict(NodeList="n[2-3]"))])
        self.check([("-N1 -n2 -w n4,n3", dict(NodeList="n4", ReqNodeList="n4"))], ["srun"])

    def test_node_lists_leave_room(self):
        """Nodes that are named are had in any case, others are added where those are not enough."""
        both = ["sbatch", "salloc"]
        self.check([("-w n3 -n6 -C b -x n5", dict(NodeList="n[3-4]", NumTasks="6", ReqNodeList="n3"))])
        self.check([("-w n3 -n2 --ntasks-per-node=1 -C b -x n5", dict(NodeList="n[3-4]"))], both)
        self.wait_no_jobs()
        self.check([("--contiguous -w n2,n4", dict(NodeList="n[2-4]", NumNodes="3"))], both)
        for command, options in (("srun", "-w n3 -N1 -n6"), ("sbatch", "-w n3 -N1 -n6"), ("sbatch", "-w n2,n4 -N2 --contiguous")):
            words = ("--wrap", "true") if command == "sbatch" else ("true",)
            done = self.run_cmd(command, *options.split(), *words, check=False)
            self.assertEqual(done.returncode, 1, (command, options))
            self.assertIn("Requested node configuration is not available", done.stderr)

    def test_the_later_word_counts(self):
        self.check([("-F nodes.txt -w n3", dict(NodeList="n3")), ("-w n3 -F nodes.txt", dict(NodeList="n[2,4]")),
                    ("-w ./nodes.txt -w n3", dict(NodeList="n3")),
                    ("-w n3 -s --exclusive", dict(NumCPUs="4", OverSubscribe="NO")),
                    ("-w n3 --exclusive -s", dict(NumCPUs="1", OverSubscribe="YES"))])

    def test_no_node_has_the_disk(self):
        for command, failed in (("sbatch", "Batch job submission failed"), ("srun", "Unable to allocate resources"),
                                ("salloc", "Job submit/allocate failed")):
            words = ("--wrap", "true") if command == "sbatch" else ("true",)
            self.fails(1, f"{command}: error: Temporary disk specification can not be satisfied\n"
                       f"{command}: error: {failed}: Requested node configuration is not available\n", command, "--tmp=6000", *words)

    def test_shape_of_nodes_counts_tasks(self):
        self.check([("-B 1:4 -C b", dict(NumTasks="4", SLURM_NTASKS="4")), ("-B 1:4 -n1", dict(NumTasks="1")),
                    ("-N2 -B 1:2 -w n3,n4", dict(NumTasks="4", NodeList="n[3-4]"))], ["sbatch", "salloc"])
        self.check([("-B 1:4 -C b", dict(NumTasks="1"))], ["srun"])

    def test_host_file(self):
        path = os.path.join(self.cluster.work, "hosts")
        with open(path, "w", encoding="utf-8") as f:
            f.write("n2\nn1  # the head\nn2,n9\n")
        where, expected = ("srun", "-l", "printenv", "SLURMD_NODENAME"), ["0: n2", "1: n1", "2: n2"]
        env = dict(SLURM_HOSTFILE=path)
        self.run_cmd("sbatch", "-W", "-n3", "-o", "hosts.out", "--wrap", " ".join(where), env=env)
        self.assertEqual(sorted(self.file("hosts.out").splitlines()), expected)
        self.assertEqual(sorted(self.out("salloc", "-n3", *where, env=env).splitlines()), expected)
        self.assertEqual(sorted(self.out(where[0], "-n3", "-m", "block", *where[1:], env=env).splitlines()), expected)
        self.assertEqual(self.out("srun", "-w", "n3", *where[1:], env=env), "0: n3\n")
        for command in (["sbatch", "--wrap", "true"], ["srun", "true"], ["salloc", "true"]):
            why = "slurm_allocate_resources error opening file /nosuch, No such file or directory"
            self.fails_with([why, "Failure getting NodeNames from hostfile"], command, SLURM_HOSTFILE="/nosuch")
        self.fails_with(["Too few NodeNames in Slurm Hostfile", "Failure getting NodeNames from hostfile"],
                        ["srun", "-n5", "true"], SLURM_HOSTFILE=path)
        with open(path, "a", encoding="utf-8") as f:
            f.write(" n3\n")
        self.fails_with([f"Invalid hostfile {path} contents on line 4", "Failure getting NodeNames from hostfile"],
                        ["srun", "true"], SLURM_HOSTFILE=path)

    def fails_with(self, errors, command, **env):
        done = self.run_cmd(*command, env=env, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "".join(f"{command[0]}: error: {e}\n" for e in errors)))

    def test_how_much(self):
        self.check([
            ("-n4 --ntasks-per-node=2", dict(NumNodes="2", SLURM_TASKS_PER_NODE="2(x2)")),
            ("-n4 --tasks-per-node=2", dict(NumNodes="2", SLURM_TASKS_PER_NODE="2(x2)")),
            ("-n3 -c2 --ntasks-per-node=2", dict(NumNodes="2", NumCPUs="8")),
            ("-n4 --ntasks-per-socket=1 -C a", dict(NumNodes="2")),
            ("-N1 -n4 --ntasks-per-core=1 -C a", dict(NumCPUs="8")),
            ("-n2 -c3 -C b", dict(NumCPUs="6", SLURM_CPUS_PER_TASK="3")),
            ("-n20 -O -w n3", dict(NodeList="n3", NumCPUs="1", SLURM_OVERCOMMIT="1")),
            ("-m cyclic -C b", dict(SLURM_DISTRIBUTION="cyclic")),
            ("-w n3 --exclusive", dict(NumCPUs="4", OverSubscribe="NO")),
            ("-w n3 -s", dict(NumCPUs="1", OverSubscribe="YES")),
            ("--tres-per-task=cpu=3 -n2 -C b", dict(NumCPUs="6", SLURM_CPUS_PER_TASK="3")),
        ])
        for command in COMMANDS:  # alone: how many nodes there are depends on what is free
            self.wait_no_jobs()
            self.check([("-N1-3 --use-min-nodes", dict(NumNodes="1")), ("-n3 --spread-job", dict(NumNodes="3")),
                        ("-N1,2", dict(NumNodes="2")), ("-m plane=2 -n2", dict(SLURM_DISTRIBUTION="plane", SLURM_DIST_PLANESIZE="2"))],
                       [command])

    def test_how_much_by_variables(self):
        """SLURM_NTASKS_PER_SOCKET, which sbatch does not look at: a script's own sruns have it from there."""
        nodes = "if [ $SLURM_PROCID = 0 ]; then echo $SLURM_JOB_NUM_NODES; fi"
        for env, expected in (({}, "1\n"), ({"SLURM_NTASKS_PER_SOCKET": "1"}, "2\n")):
            self.assertEqual(self.out("srun", "-n4", "-C", "a", "sh", "-c", nodes, env=env), expected)
            self.wait_no_jobs()

    def test_what_is_kept(self):
        work = self.cluster.work
        os.mkdir(work + "/sub")
        self.check([
            ("-A money", dict(Account="money", SLURM_JOB_ACCOUNT="money")),
            ("--comment=remark", dict(Comment="remark")),
            ("--extra=free", dict(Extra="free")),
            ("--wckey=key", dict(WCKey="key")),
            ("-q normal", dict(QOS="normal", SLURM_JOB_QOS="normal")),
            ("-J named", dict(JobName="named")),
            ("--nice=7", dict(Nice="7")),
            ("--nice", dict(Nice="100")),
            ("--priority=77", dict(Priority="77")),
            ("--mail-type=END --mail-user=me", dict(MailType="END", MailUser="me")),
            ("-t 7", dict(TimeLimit="00:07:00")),
            ("-L lic:2", dict(Licenses="lic:2", SLURM_JOB_LICENSES="lic:2")),
            ("-p short -t 10 --time-min=3", dict(TimeMin="00:03:00", TimeLimit="00:05:00")),
            (f"-D {work}/sub", dict(WorkDir=f"{work}/sub", PWD=f"{work}/sub")),
            ("--network=devtype", dict(Network="devtype")),
            ("-M trial", dict(SLURM_CLUSTER_NAME="trial")),
        ])

    def test_no_requeue(self):
        job = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        done = self.run_cmd("scontrol", "requeue", job, check=False)
        self.assertEqual((done.returncode, self.state(job)), (1, "RUNNING"), done.stderr)
        self.run_cmd("scancel", job)

    def test_times(self):
        """Held back by --begin and --deadline, whatever command asks."""
        found = self.facts_of_all("--begin=now+2 --deadline=now+1hour -t5")
        for command, facts in found.items():
            begin, submit = (datetime.datetime.fromisoformat(facts[k]) for k in ("EligibleTime", "SubmitTime"))
            self.assertIn((begin - submit).seconds, (1, 2), command)
            self.assertGreaterEqual(facts["StartTime"], facts["EligibleTime"], command)
            deadline = datetime.datetime.fromisoformat(facts["Deadline"])
            self.assertIn((deadline - submit).seconds, (3599, 3600), command)

    def start_all(self, *options):
        """The three commands with the same options, one of them waiting for its job as usual."""
        started = [self.cluster.start(c, *options, "true", stdout=-1, stderr=-1) for c in ("srun", "salloc")]
        self.run_cmd("sbatch", *options, "-o", "/dev/null", "--wrap", "true")
        return started

    def test_dependency(self):
        first = self.submit("-o", "/dev/null", "--wrap", "while [ ! -e dep-go ]; do sleep 0.05; done")
        self.wait_state(first, "RUNNING")
        waiting = self.start_all("-d", f"afterany:{first}")
        wait_for(lambda: self.out("squeue", "-h", "-t", "PD", "-o", "%r").split() == ["Dependency"] * 3, "three wait")
        open(self.cluster.work + "/dep-go", "w").close()
        for command in waiting:
            command.communicate(timeout=30)
            self.assertEqual(command.returncode, 0)

    def test_hold(self):
        waiting = self.start_all("-H", "-J", "held")
        jobs = wait_for(lambda: len(found := self.out("squeue", "-h", "-n", "held", "-o", "%i %r").split()) == 6 and found, "three are held")
        self.assertEqual(jobs[1::2], ["JobHeldUser"] * 3)
        self.run_cmd("scontrol", "release", *jobs[::2])
        for command in waiting:
            command.communicate(timeout=30)
            self.assertEqual(command.returncode, 0)

    def test_unknown_cluster(self):
        for command, words in (("sbatch", ("--wrap", "true")), ("srun", ("true",)), ("salloc", ("true",))):
            for option in ("-M", "--cluster"):
                done = self.run_cmd(command, option, "elsewhere", *words, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"{command}: error: 'elsewhere' can't be reached now", done.stderr)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.cluster.work + "/nodes.txt", "w", encoding="utf-8") as f:
            f.write("n2\nn4 # two\n")


if __name__ == "__main__":
    unittest.main()
