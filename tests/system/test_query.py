"""squeue, sinfo and scontrol against a running cluster: each test names the options it is the proof of."""
import json
import os
import pwd
import re
import unittest

from harness import ClusterCase, wait_for

NOBODY = 65534  # a user beside root who may submit


class Query(ClusterCase):
    NODES, CPUS = 3, 4
    CONF = "Licenses=drill:2\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("test_squeue_ids")
        cls.running = case.submit("-J", "runs", "-n2", "-t", "30", "-w", "n1", "--comment=note", "-o", "/dev/null",
                                  "--wrap", "sleep 1000")
        cls.held = case.submit("-H", "-J", "held", "-o", "/dev/null", "--wrap", "true")
        cls.array = case.submit("-H", "--array=0-3%2", "-J", "many", "-o", "/dev/null", "--wrap", "true")
        case.wait_state(cls.running, "RUNNING")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.run("scancel", str(cls.running), str(cls.held), str(cls.array))
        super().tearDownClass()

    def rows(self, *args, **options):
        return [line.split() for line in self.out(*args, **options).splitlines()]

    # squeue ---------------------------------------------------------------------------------------

    def test_squeue_ids(self):  # -h -j -o, folded and unknown ids
        self.assertEqual(self.out("squeue", "-h", "-j", f"{self.running},{self.held}", "-S", "i", "-o", "%i %t"),
                         f"{self.running} R\n{self.held} PD\n")
        self.assertEqual(self.out("squeue", "-h", "-j", str(self.array), "-o", "%i"), f"{self.array}_[0-3%2]\n")
        self.assertEqual(self.out("squeue", "-h", "-j", "99998,99999"), "")
        self.fails(1, "slurm_load_jobs error: Invalid job id specified\n", "squeue", "-j", "99999")
        self.fails(1, "squeue: error: Invalid job id: abc\n", "squeue", "-j", "abc")

    def test_squeue_array(self):  # -r and its variable; --array-unique, which changes nothing
        ask = ("squeue", "-h", "-j", str(self.array), "-S", "i", "-o", "%i %K")
        for options, env in ((["-r"], {}), ([], {"SQUEUE_ARRAY": "1"})):
            rows = [line.split() for line in self.out(*ask, *options, env=env).splitlines()]
            self.assertEqual(rows, [[f"{self.array}_{t}", str(t)] for t in range(4)])
        for options, env in (([], {}), (["--array-unique"], {}), ([], {"SQUEUE_ARRAY_UNIQUE": "1"})):
            self.assertEqual(len(self.out(*ask, *options, env=env).splitlines()), 1, options)

    def test_squeue_filters(self):  # -t -n -u --me -p -w -A -q
        ids = lambda *args: self.out("squeue", "-h", "-S", "i", "-o", "%A", *args).split()
        self.assertEqual(ids("-t", "R"), [str(self.running)])
        self.assertEqual(ids("-t", "pending"), [str(self.held), str(self.array)])
        self.assertEqual(ids("-n", "held,runs"), [str(self.running), str(self.held)])
        self.assertEqual(len(ids("-u", str(os.geteuid()))), 3)
        self.assertEqual(len(ids("-U", "nobodys")), 0)  # accounts, as with -A
        self.assertEqual(ids("-U", "12005"), [])
        self.assertEqual(len(ids("--me")), 3)
        self.assertEqual(ids("--notme"), [])
        self.assertEqual(ids("-p", "nope"), [])
        self.assertEqual(len(ids("-p", "debug")), 3)
        self.assertEqual(ids("-w", "n1"), [str(self.running)])
        self.assertEqual(ids("-w", "n2"), [])
        self.assertEqual(ids("-A", "nobody"), [])
        self.assertEqual(ids("-q", "nothing"), [])
        self.fails(1, "squeue: error: Invalid node name nope\n", "squeue", "-w", "nope")
        other = str(self.submit("-H", "-A", "money", "-q", "express", "-L", "drill:1", "-o", "/dev/null", "--wrap", "true"))
        try:
            for options in (["-A", "nobody,money"], ["-U", "money"], ["--accounts=money"], ["--account=money"], ["-q", "express"], ["--qos=express"],
                            ["-L", "drill"], ["--licenses=other,drill"]):
                self.assertEqual(ids(*options), [other], options)
            self.assertEqual(ids("-L", "drill:1"), [])  # it is a name that is asked for
        finally:
            self.run_cmd("scancel", other)
        done = self.run_cmd("squeue", "-t", "foo", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("squeue: error: Invalid job state specified: foo\n"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_squeue_users(self):  # -u --user --users --me --notme
        roots = [str(self.running), str(self.held), str(self.array)]
        others = str(self.submit("-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", user=NOBODY))
        ids = lambda *args, **options: self.out("squeue", "-h", "-S", "i", "-o", "%A", *args, **options).split()
        name = pwd.getpwuid(NOBODY).pw_name
        try:
            self.assertEqual(ids(), [*roots, others])
            for option in (["-u", name], ["-u", str(NOBODY)], [f"--user={name}"], [f"--users={name}"]):
                self.assertEqual(ids(*option), [others], option)
            self.assertEqual(ids("-u", "root"), roots)
            self.assertEqual(ids("-u", f"root,{name}"), [*roots, others])
            self.assertEqual(ids("-u", "root", env={"SQUEUE_USERS": name}), roots)
            self.assertEqual(ids(env={"SQUEUE_USERS": name}), [others])
            self.assertEqual((ids("--me"), ids("--notme")), (roots, [others]))
            self.assertEqual((ids("--me", user=NOBODY), ids("--notme", user=NOBODY)), ([others], roots))
        finally:
            self.run_cmd("scancel", others)

    def test_squeue_layouts(self):  # -o -O -l -s --start --noheader and the environment
        self.assertEqual(self.out("squeue", "-j", str(self.running)).splitlines()[0],
                         "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)")
        self.assertIn("TIME_LIMI", self.out("squeue", "-l"))
        self.assertEqual(self.out("squeue", "-h", "-j", str(self.running), "-O", "JobID:8,Name:.6|,State:|"),
                         f"{self.running:<8}  runs|RUNNING|\n")
        self.assertEqual(self.out("squeue", "-h", "-s", "-o", "%i %j %N"), f"{self.running}.batch batch n1\n")
        self.assertIn("START_TIME", self.out("squeue", "--start"))
        self.assertNotIn(str(self.running) + " ", self.out("squeue", "--start", "-h", "-o", "%A "))
        self.assertEqual(self.out("squeue", "-h", "-j", str(self.held), env={"SQUEUE_FORMAT": "%A|%R"}),
                         f"{self.held}|(JobHeldUser)\n")
        self.assertEqual(self.out("squeue", "-h", "-o", "%A", env={"SQUEUE_STATES": "R"}), f"{self.running}\n")
        done = self.run_cmd("squeue", "-l", "-o", "%i", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("mutually exclusive", done.stderr)

    def test_squeue_steps(self):  # -s with -n -w -j -O
        step = "srun --overlap -N1 -n1 -w {0} -J on-{0} sleep 1000 & "
        job = self.submit("-N2", "-n2", "-w", "n2,n3", "-J", "pair", "-o", "/dev/null", "--wrap", step.format("n2") + step.format("n3") + "wait")
        try:
            names = lambda *args: sorted(self.out("squeue", "-h", "-s", "-j", job, "-o", "%j", *args).split())
            wait_for(lambda: names() == ["batch", "on-n2", "on-n3"], "the steps run")
            self.assertEqual(names("-n", "on-n3"), ["on-n3"])
            self.assertEqual(names("-n", "pair"), ["batch", "on-n2", "on-n3"])  # all of the job
            self.assertEqual(names("-n", "other,on-n2,batch"), ["batch", "on-n2"])
            self.assertEqual(names("-n", "other"), [])
            self.assertEqual(names("-w", "n3"), ["on-n3"])
            self.assertEqual(names("-w", "n[1-2]"), ["batch", "on-n2"])
            self.assertEqual(self.out("squeue", "-s", "-n", "on-n3", "-O", "JobID:10,ArrayJobID:14,ArrayTaskID:14,Nodes:10,Container:10,"
                                      "Network:10,ResvPorts:15,Gres:14").splitlines(),
                             ["JOB_ID    ARRAY_JOB_ID  ARRAY_TASK_ID NODELIST  CONTAINER NETWORK   RESERVED_PORTS TRES_PER_NODE ",
                              f"{job:<10}0             N/A           n3        (null)    (null)    (null)         N/A           "])
        finally:
            self.run_cmd("scancel", job)
            self.wait_ended(job)

    def test_squeue_sort(self):  # -S
        self.assertEqual(self.out("squeue", "-h", "-S", "-i", "-o", "%A").split(),
                         [str(self.array), str(self.held), str(self.running)])
        heading = self.out("squeue", "-S", "i").splitlines()[0] + "\n"
        for order, wrong in (("foo", "o"), ("i,foo", "o"), ("a,i", "a"), ("-k", "k"), ("#P", "#"), ("ak", "k")):
            done = self.run_cmd("squeue", "-S", order, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, heading, f"squeue: error: Invalid sort specification: {wrong}\n"), order)
        for order in ("z", "-z,i", "b", "O"):
            self.assertEqual(self.out("squeue", "-S", order).splitlines()[0] + "\n", heading)

    def test_squeue_json(self):  # --json --yaml
        jobs = {job["job_id"]: job for job in json.loads(self.out("squeue", "--json"))["jobs"]}
        job = jobs[self.running]
        self.assertEqual((job["name"], job["job_state"], job["nodes"], job["comment"]),
                         ("runs", ["RUNNING"], "n1", "note"))
        self.assertEqual(job["time_limit"], {"set": True, "infinite": False, "number": 30})
        self.assertIn("!!str job_state: !!seq\n  - !!str RUNNING\n", self.out("squeue", "--yaml"))

    def test_older_json(self):  # --json=v0.0.42, SLURM_JSON
        for parser, missing in ((42, {"licenses_allocated", "segment_size", "stdin_expanded", "step_id", "submit_line"}),
                                (43, {"step_id", "submit_line"})):
            for command in (("squeue",), ("scontrol", "show", "job", str(self.running))):
                document = json.loads(self.out(*command, f"--json=v0.0.{parser}"))
                self.assertEqual(document["meta"]["plugin"]["data_parser"], f"data_parser/v0.0.{parser}")
                newest = json.loads(self.out(*command, "--json"))["jobs"][0]
                self.assertEqual({key for key in newest if key not in document["jobs"][0]} & missing, missing)
            self.assertIn(f"data_parser: !!str data_parser/v0.0.{parser}", self.out("sdiag", f"--yaml=v0.0.{parser}"))
            for command in ("squeue", "sinfo", "sdiag"):
                self.assertIn(f"data_parser: !!str data_parser/v0.0.{parser}", self.out(command, env={"SLURM_YAML": f"v0.0.{parser}"}))
        old = json.loads(self.out("sinfo", env={"SLURM_JSON": "v0.0.42"}))
        self.assertNotIn("topology", old["sinfo"][0]["partition"])
        self.assertIn("topology", json.loads(self.out("sinfo", "--json=v0.0.43"))["sinfo"][0]["partition"])
        self.fails(1, "sinfo: fatal: Unable to find plugin: data_parser/v0.0.9\n", "sinfo", "--json=v0.0.9")

    def test_split_tasks_are_gathered(self):
        array = self.submit("-H", "--array=1-5", "-o", "/dev/null", "--wrap", "true")
        try:
            self.run_cmd("scontrol", "update", f"JobId={array}_3", "TimeLimit=5")
            self.assertEqual(self.out("squeue", "-h", "-j", str(array), "-o", "%i %R"), f"{array}_[1-5] (JobHeldUser)\n")
            self.assertEqual(len(self.out("squeue", "-h", "-r", "-j", str(array)).splitlines()), 5)
            self.run_cmd("scontrol", "update", f"JobId={array}_2", "JobName=other")
            lines = sorted(self.out("squeue", "-h", "-j", str(array), "-o", "%i %j").splitlines())
            self.assertEqual(lines, [f"{array}_2 other", f"{array}_[1,3-5] wrap"])
        finally:
            self.run_cmd("scancel", str(array))

    def test_squeue_more(self):  # -P --only-job-state --running-over --running-under --noconvert -L -R -M
        self.run_cmd("scontrol", "create", "PartitionName=second", "Nodes=n2")
        job = self.submit("-H", "-p", "debug,second", "--mem=2048", "-o", "/dev/null", "--wrap", "true")
        try:
            self.assertEqual(self.out("squeue", "-h", "-P", "-j", str(job), "-o", "%P"), "debug\nsecond\n")
            self.assertEqual(self.out("squeue", "-h", "-j", str(job), "-o", "%m"), "2G\n")
            self.assertEqual(self.out("squeue", "-h", "--noconvert", "-j", str(job), "-o", "%m"), "2048M\n")
        finally:
            self.run_cmd("scancel", str(job))
            wait_for(lambda: self.run_cmd("scontrol", "delete", "PartitionName=second", check=False).returncode == 0,
                     "the second partition is gone")
        self.assertEqual(self.out("squeue", "--only-job-state").splitlines()[0], "             JOBID ST")
        self.assertEqual(self.out("squeue", "-h", "--running-over", "1-0"), "")
        self.assertEqual(self.out("squeue", "-h", "--running-under", "1-0", "-o", "%A"), f"{self.running}\n")
        self.assertEqual(self.out("squeue", "-h", "-L", "none"), "")
        self.assertEqual(self.out("squeue", "-h", "-R", "none"), "")
        self.assertEqual(self.out("squeue", "-M", "trial").splitlines()[0], "CLUSTER: trial")
        self.assertEqual(self.run_cmd("squeue", "-M", "nope", check=False).returncode, 1)

    def test_hidden_partitions(self):  # -a and --hide of sinfo and scontrol; squeue -a
        self.run_cmd("scontrol", "create", "PartitionName=secret", "Nodes=n2", "Hidden=YES")
        job = self.submit("-H", "-p", "secret", "-o", "/dev/null", "--wrap", "true")
        try:
            self.assertIn("secret", self.out("squeue", "-h", "-a", "-o", "%P"))
            for command, shown in ((("sinfo", "-h", "-o", "%P"), "secret"),
                                   (("scontrol", "show", "partition", "-o"), "PartitionName=secret")):
                self.assertNotIn(shown, self.out(*command, user=NOBODY))
                self.assertIn(shown, self.out(*command, "-a", user=NOBODY))
                self.assertNotIn(shown, self.out(*command, "-a", "--hide", user=NOBODY))
                self.assertIn(shown, self.out(*command))
                self.assertIn(shown, self.out(*command, "--hide"))
        finally:
            self.run_cmd("scancel", str(job))
            wait_for(lambda: self.run_cmd("scontrol", "delete", "PartitionName=secret", check=False).returncode == 0,
                     "the hidden partition is gone")

    def verbose(self, *command):
        """The options that -v lists, and what follows."""
        text = self.run_cmd(*command).stdout
        blocks = text.split("-----------------------------\n")
        options = [line.split("=", 1) for block in blocks[1:-1] for line in block.splitlines() if "=" in line]
        return {name.strip(): value.strip() for name, value in options}, blocks[-1]

    def test_verbose(self):  # -v of squeue and sinfo
        given, rest = self.verbose("squeue", "-v", "-r", "-j", f"{self.running},{self.held}", "-p", "debug", "-t", "R,PD", "-S", "i",
                                   "-o", "%i", "-u", "root", "-w", "n1")
        self.assertEqual([given[name] for name in ("array", "format", "job_flag", "jobs", "names", "nodes", "partitions", "sort",
                                                   "states", "step_flag", "users", "verbose")],
                         ["true", "%i", "1", f"{self.running},{self.held}", "(null)", "n1", "debug", "i", "R,PD", "0", "root", "1"])
        self.assertRegex(rest, rf"^\n\n\w+ \w+ +\d+ [\d:]+ \d+\nlast_update_time=\d+ records=1\nJOBID\n{self.running}\n$")
        given, rest = self.verbose("squeue", "-vv", "-h", "-s", "--me", "-t", "R")
        self.assertEqual([given[name] for name in ("step_flag", "users", "states", "state_list[0]", "user_list[0]")],
                         ["1", "0", "R", "RUNNING", "0"])
        self.assertRegex(rest, r"^\n\nlast_update_time=\d+ records=\d+\n")
        given, rest = self.verbose("sinfo", "-v")
        self.assertEqual([given[name] for name in ("format", "filtering", "nodes", "part_field", "states", "verbose", "state_flag",
                                                   "reason_flag", "all_flag")],
                         ["partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0", "false", "n/a", "true",
                          "(null)", "1", "true", "false", "false"])
        self.assertRegex(rest, r"^\n\w+ \w+ +\d+ [\d:]+ \d+\nPARTITION AVAIL ")
        given, rest = self.verbose("sinfo", "-v", "-h", "-N", "-l", "-n", "n1", "-t", "mix", "-p", "debug")
        self.assertEqual([given[name] for name in ("long", "no_header", "node_field", "nodes", "partition", "states", "filtering",
                                                   "cpus_flag", "weight_flag", "gres_flag", "all_flag")],
                         ["true", "true", "true", "n1", "debug", "mix", "true", "true", "true", "false", "true"])

    def test_iterate(self):  # -i of squeue and sinfo
        for command in ("squeue", "sinfo"):
            with self.cluster.start(command, "-i", "1", stdout=-1) as process:
                lines = [process.stdout.readline() for _ in range(12)]
                process.terminate()
            self.assertGreaterEqual(sum(":" in line and line.split()[-1].startswith("20") for line in lines), 2, lines)

    def test_help(self):  # --help --usage --version --helpformat --helpFormat --helpstate
        for command, field, state in (("squeue", "Account              %a", "PENDING,RUNNING,"), ("sinfo", "Available            %a", "ALLOC,ALLOCATED,")):
            for option, begin in (("--help", f"Usage: {command} [OPTIONS]\n"), ("--usage", f"Usage: {command} [-"), ("--helpformat", field + "\n"),
                                  ("--helpFormat", field + "\n"), ("--helpstate", state)):
                self.assertTrue(self.out(command, option).startswith(begin), option)
        for option in ("--help", "--usage"):
            self.assertIn("Valid <COMMAND> values", self.out("scontrol", option))
        self.assertEqual(self.out("scontrol", "help"), self.out("scontrol", "--help"))
        self.assertEqual(self.out("scontrol", "version"), self.out("scontrol", "--version"))
        for command in ("squeue", "sinfo", "scontrol"):
            self.assertRegex(self.out(command, "--version"), r"^slurm \d+\.\d+\.\d+\n$")

    def test_unreachable(self):
        conf = os.path.join(self.cluster.dir, "other.conf")
        with open(self.cluster.conf, encoding="utf-8") as f, open(conf, "w", encoding="utf-8") as g:
            g.write("".join(line if not line.startswith("SlurmctldPort") else "SlurmctldPort=9\n" for line in f))
        done = self.run_cmd("squeue", env={"SLURM_CONF": conf}, check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"))

    # sinfo ----------------------------------------------------------------------------------------

    def test_filters_without_a_value(self):  # as a script has them whose variable is empty: nothing passes
        none = [["debug*", "up", "infinite", "0", "n/a"]]
        for option, shown in (("-p", []), ("-n", none), ("-t", none)):
            self.assertEqual(self.rows("sinfo", "-h", option, ""), shown, option)
        self.assertEqual(self.out("sinfo", "-h", env={"SINFO_PARTITION": ""}), "")
        self.assertEqual(self.out("sinfo", "-h", "-N", "-t", ""), "")
        self.assertEqual(self.rows("sinfo", "-h", "-t", "all"), self.rows("sinfo", "-h"))

    def test_sinfo_layouts(self):  # -h -N -s -l -o -O -n -p -t -e
        self.assertEqual(self.rows("sinfo", "-h"), [["debug*", "up", "infinite", "1", "mix", "n1"],
                                                   ["debug*", "up", "infinite", "2", "idle", "n[2-3]"]])
        self.assertEqual(self.rows("sinfo", "-h", "-N")[1], ["n2", "1", "debug*", "idle"])
        self.assertEqual(self.rows("sinfo", "-h", "-s")[0][3:], ["1/2/0/3", "n[1-3]"])
        self.assertIn("JOB_SIZE", self.out("sinfo", "-l"))
        self.assertEqual(self.out("sinfo", "-h", "-o", "%F/%C"), "1/2/0/3/2/10/0/12\n")
        self.assertEqual(self.out("sinfo", "-h", "-t", "idle", "-o", "%N"), "n[2-3]\n")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n3", "-o", "%N"), "n3\n")
        self.assertEqual(self.out("sinfo", "-h", "-p", "nope"), "")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n1", "-O", "nodelist:5,statelong:8"), "n1   mixed   \n")
        self.assertEqual(self.out("sinfo", "-O", "all"), self.out("sinfo", "-o", "%all"))
        for command in ("sinfo", "squeue"):
            done = self.run_cmd(command, "-h", "-O", "%all", check=False)
            self.assertEqual((done.stdout.strip(), done.stderr), ("", f"{command}: error: Invalid job format specification: %all\n"))
        done = self.run_cmd("sinfo", "-t", "foo", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith('sinfo: error: Bad state string: "foo"\n'))

    def test_headings(self):
        """The lines above the columns are, blank for blank, those that Slurm 26.05 printed."""
        for command, line, heading in (
            ("squeue -l", 1,
             "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)"),
            ("squeue --start", 0,
             "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)"),
            ("squeue -O JobID,Partition,State,tres-per-node,NumCPUs,TimeLeft", 0,
             "JOBID               PARTITION           STATE               TRES_PER_NODE       CPUS                TIME_LEFT           "),
            ("sinfo", 0,
             "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"),
            ("sinfo -N -l", 1,
             "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              "),
            ("sinfo -s", 0,
             "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST"),
            ("sinfo -R", 0,
             "REASON               USER      TIMESTAMP           NODELIST"),
            ("sinfo -O nodehost,gres,gresused,statelong,features", 0,
             "HOSTNAMES           GRES                GRES_USED           STATE               AVAIL_FEATURES      "),
        ):
            self.assertEqual(self.out(*command.split()).splitlines()[line], heading, command)

    def test_sinfo_reasons(self):  # -R
        self.run_cmd("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=to be mended")
        try:
            self.assertEqual(self.out("sinfo", "-h", "-R", "-o", "%E|%N|%t"), "to be mended|n3|drain\n")
            self.assertIn("State=IDLE+DRAIN", self.out("scontrol", "show", "node", "n3"))
            # beside -N, -R only says which nodes; beside -t, only how they are shown
            whole = self.out("sinfo", "-N").splitlines()
            self.assertEqual(self.out("sinfo", "-N", "-R").splitlines(), [whole[0], whole[3]])
            self.assertEqual(self.out("sinfo", "-h", "-lRN"), self.out("sinfo", "-h", "-lN", "-n", "n3"))
            self.assertEqual(self.out("sinfo", "-R", env={"SINFO_FORMAT": "%N"}), self.out("sinfo", "-R"))
            self.assertEqual(self.out("sinfo", "-h", "-R", "-t", "drain,idle", "-o", "%E|%N").splitlines()[0], "to be mended|n3")
            self.assertIn("none", self.out("sinfo", "-h", "-R", "-t", "drain,idle", "-o", "%E"))
        finally:
            self.run_cmd("scontrol", "update", "NodeName=n3", "State=RESUME")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n3", "-o", "%t"), "idle\n")

    def test_sinfo_more(self):  # -d -r -e -F -S -T -M --yaml
        self.assertEqual(self.rows("sinfo", "-h", "-d"), [["debug*", "up", "infinite", "0", "n/a"]])
        self.assertEqual(self.out("sinfo", "-h", "-r", "-o", "%D"), "3\n")
        self.assertEqual(self.out("sinfo", "-h", "-N", "-S", "-N", "-o", "%N"), "n3\nn2\nn1\n")
        self.assertEqual(self.out("sinfo", "-T"), "No reservations in the system\n")
        self.assertEqual(self.out("sinfo", "-M", "trial").splitlines()[0], "CLUSTER: trial")
        self.assertEqual(self.run_cmd("sinfo", "-M", "nope", check=False).returncode, 1)
        self.assertIn("sinfo:", self.out("sinfo", "--yaml"))

    def test_sinfo_json(self):
        rows = json.loads(self.out("sinfo", "--json"))["sinfo"]
        self.assertEqual(sum(row["nodes"]["total"] for row in rows), 3)

    # scontrol -------------------------------------------------------------------------------------

    def test_scontrol_show(self):  # show job node partition step config hostnames … , -o -d, --json
        job = self.show(self.running)
        self.assertEqual((job["JobName"], job["JobState"], job["TimeLimit"], job["NodeList"]),
                         ("runs", "RUNNING", "00:30:00", "n1"))
        self.assertIn("CPU_IDs=0-1", self.out("scontrol", "-d", "show", "job", str(self.running)))
        self.assertIn(f"StepId={self.running}.batch ", self.out("scontrol", "show", "step"))
        self.assertEqual(len(self.out("scontrol", "show", "nodes", "-o").splitlines()), 3)
        self.assertIn("PartitionName=debug", self.out("scontrol", "sho", "par"))
        self.assertIn("ClusterName             = trial\n", self.out("scontrol", "show", "config"))
        self.assertEqual(self.out("scontrol", "show", "hostnames", "n[1-2],m"), "n1\nn2\nm\n")
        self.assertEqual(self.out("scontrol", "show", "hostlist", "n2,n1"), "n[2,1]\n")
        self.assertEqual(self.out("scontrol", "show", "hostlistsorted", "n2,n1"), "n[1-2]\n")
        self.assertEqual(self.out("scontrol", "show", "hostnames", env={"SLURM_JOB_NODELIST": "a[1-2]"}), "a1\na2\n")
        self.assertRegex(self.out("scontrol", "ping"), r"^Slurmctld\(primary\) at \S+ is UP\n$")
        self.assertEqual(self.out("scontrol", "show", "aliases"), "n1 n2 n3\n")
        nodes = json.loads(self.out("scontrol", "show", "node", "n2", "--json"))["nodes"]
        self.assertEqual([node["name"] for node in nodes], ["n2"])
        pings = json.loads(self.out("scontrol", "--json", "ping"))["pings"]
        self.assertEqual([(one["mode"], one["pinged"], one["responding"], one["primary"]) for one in pings],
                         [("primary", "UP", True, True)])

    def test_ping_without_a_token(self):
        """DOWN was all that was said to who cannot prove who he is."""
        conf = os.path.join(self.cluster.dir, "no_token.conf")
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = re.sub(r"(?m)^AuthInfo=.*$", "AuthInfo=socket=/nosuch/socket", f.read())
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text)
        asks = lambda *words: self.run_cmd("scontrol", *words, user=65534, env={"SLURM_CONF": conf}, check=False)
        done = asks("ping")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"^Slurmctld\(primary\) at \S+ is DOWN\n")
        self.assertIn("scontrol: error: Slurmctld(primary): auth/slurm: no daemon gives tokens at /nosuch/socket: No such file", done.stderr)
        self.assertEqual(asks("-Q", "ping").stderr, "")

    def test_scontrol_text_only(self):  # --json --yaml of what has no records
        for entity in ("config", "topology", "assoc_mgr", "federation", "bbstat", "burstbuffer", "dwstat", "daemons", "aliases",
                       "slurmd", "hostnames", "hostlist", "hostlistsorted"):
            refused = f"scontrol: error: show {entity} gives text only, neither JSON nor YAML\n"
            self.fails(1, refused, "scontrol", "show", entity, "--json")
            self.fails(1, refused, "scontrol", "--yaml=v0.0.42", "show", entity)
        self.fails(1, "", "scontrol", "-Q", "show", "conf", "--json")
        self.assertIn("ClusterName ", self.out("scontrol", "show", "config", env={"SLURM_JSON": "v0.0.44"}))
        self.assertEqual(self.out("scontrol", "show", "hostnames", "n[1-2]", env={"SLURM_YAML": ""}), "n1\nn2\n")

    def test_scontrol_errors(self):
        self.fails(1, "invalid keyword: nosuch\n", "scontrol", "nosuch")
        self.fails(1, "invalid entity:nosuch for keyword:show \n", "scontrol", "show", "nosuch")
        self.fails(1, "too few arguments for keyword:hold\n", "scontrol", "hold")
        self.fails(1, "slurm_load_jobs error: Invalid job id specified\n", "scontrol", "show", "job", "99999")
        self.fails(1, "", "scontrol", "show", "node", "nope", out="Node nope not found\n")
        self.fails(1, "Invalid job id specified for job 99999\nslurm_suspend error:Invalid job id specified\n",
                   "scontrol", "hold", "99999")
        self.fails(1, "No changes specified\n", "scontrol", "update", f"JobId={self.held}")
        self.fails(1, "Update of this parameter is not supported: foo=1\nRequest aborted\n",
                   "scontrol", "update", f"JobId={self.held}", "foo=1")
        self.fails(1, "You must specify a reason when DOWNING or DRAINING a node. Request denied\n",
                   "scontrol", "update", "NodeName=n2", "State=DOWN")

    def test_scontrol_options(self):  # -Q -M --yaml
        self.fails(1, "", "scontrol", "-Q", "hold", "99999")
        self.assertEqual(self.run_cmd("scontrol", "-M", "nope", "ping", check=False).returncode, 1)
        self.assertIn("nodes:", self.out("scontrol", "show", "node", "--yaml"))

    def test_scontrol_update_job(self):
        self.run_cmd("scontrol", "update", f"JobId={self.held}", "TimeLimit=20", "Comment=changed", "Nice=5")
        job = self.show(self.held)
        self.assertEqual((job["TimeLimit"], job["Comment"], job["Nice"]), ("00:20:00", "changed", "5"))
        self.run_cmd("scontrol", "update", "jobid", self.held, "timelimit=+10")
        self.assertEqual(self.show(self.held)["TimeLimit"], "00:30:00")

    def test_scontrol_partitions(self):  # create, update and delete partition
        self.run_cmd("scontrol", "create", "PartitionName=extra", "Nodes=n2")
        self.run_cmd("scontrol", "update", "PartitionName=extra", "State=DOWN", "MaxTime=10")
        self.assertEqual(self.out("sinfo", "-h", "-p", "extra", "-o", "%a %l %N"), "down 10:00 n2\n")
        self.run_cmd("scontrol", "delete", "PartitionName=extra")
        self.fails(1, "", "scontrol", "show", "partition", "extra", out="Partition extra not found\n")

    def test_what_scontrol_refuses(self):
        self.fails(1, "missing argument for keyword:cancel_reboot\n", "scontrol", "cancel_reboot")
        self.fails(1, "\"x\" does not look like a jobid\n", "scontrol", "listpids", "x")
        self.fails(1, "scontrol: error: Invalid input maxtime=x\n", "scontrol", "create", "partitionname=p2", "maxtime=x")
        self.fails(1, "scontrol: error: Invalid Priority value: x\n", "scontrol", "update", "partitionname=debug", "priority=x")
        self.fails(0, "failed to open file `/nosuch/f`: No such file or directory\n",
                   "scontrol", "write", "batch_script", str(self.running), "/nosuch/f")

    def test_scontrol_script_and_processes(self):  # write batch_script, listpids
        self.assertIn("sleep 1000", self.out("scontrol", "write", "batch_script", str(self.running), "-"))
        pids = wait_for(lambda: [row for row in self.rows("scontrol", "listpids", str(self.running))
                                 if row[1] == str(self.running)], "the batch script's processes")
        self.assertEqual(pids[0][2:], ["batch", "0", "0"])

    def test_scontrol_prompt(self):  # the interactive prompt
        done = self.run_cmd("scontrol", stdin="show hostnames n[1-2]\n!!\nfoo\nexit\nversion\n", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "invalid keyword: foo\n"))
        self.assertEqual(done.stdout, "scontrol: show hostnames n[1-2]\nn1\nn2\nscontrol: !!\nn1\nn2\n"
                         "scontrol: foo\nscontrol: exit\n")
        done = self.run_cmd("scontrol", stdin="!!\nexit\n", check=False)  # nothing to repeat
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "scontrol: !!\nscontrol: exit\n", ""))
        done = self.run_cmd("scontrol", stdin="show 'partition' debug\nshow \"part\nexit\n", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, 'invalid entity:"part for keyword:show \n'))
        self.assertIn("PartitionName=debug", done.stdout)

    def test_explain(self):
        self.assertIn("held by its user", self.out("sluice", "explain", str(self.held)))


if __name__ == "__main__":
    unittest.main()
