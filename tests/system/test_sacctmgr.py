"""Administration: sacctmgr changes the accounting database, for those who may."""
import json
import os
import pathlib
import pwd
import re
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, add_users, is_over, need_root, wait_for

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden/sacctmgr"
HOSTILE = ["a'; DROP TABLE account; --", 'a" OR "1"="1', "a b", "a,b;c", "$(id)", "`id`", "%s%n", "a|b", "../a", "é'"]


class Administered(ClusterCase):
    CONF = ""
    server = None  # of databases.py

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, conf=cls.CONF, server=cls.server)
        with open(cls.cluster.conf, encoding="utf-8") as f:
            cls.name = re.search(r"^ClusterName=(\S+)", f.read(), re.M)[1]
        if cls.name not in cls.cluster.run("sacctmgr", "-nP", "list", "cluster", "format=cluster").stdout.split():
            cls.cluster.run("sacctmgr", "-i", "add", "cluster", cls.name, check=False)

    def mgr(self, *words, **more):
        return self.cluster.run("sacctmgr", "-i", *words, **more)

    def rows(self, *words, **more):
        return self.cluster.run("sacctmgr", "-nP", *words, **more).stdout.splitlines()

    def refused(self, *words, **more):
        done = self.mgr(*words, check=False, **more)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout + done.stderr


class Changes(Administered):
    CONF = "GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n"

    def test_what_was_done_is_listed_however_often(self):
        """What did not fit into one message was an error for everybody."""
        if self.server is not None:
            self.skipTest("its rows are made in a file of SQLite")
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            database = re.search(r"^StorageLoc=(\S+)", f.read(), re.M)[1]
        self.mgr("add", "account", "talker")
        words = "x" * 1000
        self.mgr("modify", "account", "talker", "set", f"description={words}", f"organization={words}")
        columns = "time, action, actor, subject, info, record"
        with sqlite3.connect(database, timeout=30) as db:
            last = db.execute("SELECT max(id) FROM txn").fetchone()[0]
            db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 35000) "
                       f"INSERT INTO txn({columns}) SELECT {columns} FROM n, txn WHERE txn.id = {last}")
        try:
            self.assertEqual(len(self.rows("list", "txn", "accounts=talker", "actions=Modify Accounts", "format=timestamp,info")), 35001)
            self.assertEqual(self.cluster.run("sacctmgr", "--json", "list", "txn", "accounts=talker").stdout.count(words), 2 * 35001)
        finally:
            with sqlite3.connect(database, timeout=30) as db:
                db.execute(f"DELETE FROM txn WHERE id > {last}")

    def test_actions_that_are_none(self):
        for words, told in (("action=foo", ["foo"]), ("action=add,Add Users,AddUsers", ["add", "AddUsers"]), ("actions=Modify", ["Modify"])):
            self.assertEqual(self.refused("list", "transactions", words), "".join(f"sacctmgr: error: You gave a bad action '{one}'.\n" for one in told))
        for action in ("Add Users", "remove account coords", "Modify QOS", "Job Start"):
            self.mgr("list", "transactions", f"action={action}")

    def test_what_is_so_already_is_no_transaction(self):
        self.mgr("add", "account", "same", "description=words")
        self.mgr("add", "user", "samuel", "account=same")
        before = self.rows("list", "txn")
        for words, text in ((["user", "samuel", "set", "defaultaccount=same"], " Modified users...\n  samuel\n"),
                            (["account", "same", "set", "description=words"], " Modified accounts...\n  same\n"),
                            (["qos", "normal", "set", "priority=0"], " Modified qos...\n  normal\n")):
            self.assertEqual(self.mgr("modify", *words).stdout, text)
        self.assertEqual(self.rows("list", "txn"), before)

    def test_what_is_added_is_listed_changed_and_deleted(self):
        done = self.mgr("add", "account", "physics", "description=Physics, all of it", "organization=science")
        self.assertEqual(done.stdout, " Adding Account(s)\n  physics\n Settings\n  Description     = physics, all of it\n"
                         "  Organization    = science\n Associations\n"
                         f"  A = physics    C = {self.name:<10}\n Settings\n  Parent        = root\n")
        self.assertIn("physics|physics, all of it|science", self.rows("list", "account"))
        self.mgr("add", "account", "chem", "parent=physics", "grptres=cpu=100,mem=10g", "maxwall=1-0", "fairshare=parent")
        self.mgr("add", "qos", "high", "priority=7", "flags=DenyOnLimit", "maxtrespu=cpu=16")
        self.mgr("add", "user", "alice", "account=chem", "qos+=high", "maxjobs=4")
        self.assertEqual(self.rows("list", "assoc", "where", "user=alice", "format=account,user,maxjobs,maxwall,qos,share"),
                         ["chem|alice|4|1-00:00:00|high,normal|1"])
        self.assertEqual(self.rows("list", "assoc", "where", "account=chem", "user=", "format=user,grptres,share")[0],
                         "|cpu=100,mem=10G|parent")
        self.mgr("modify", "user", "where", "name=alice", "set", "maxjobs=-1", "qos-=high")
        self.assertEqual(self.rows("list", "assoc", "where", "user=alice", "format=maxjobs,qos"), ["|normal"])
        self.assertEqual(self.rows("list", "qos", "high", "format=name,priority,flags,maxtrespu"), ["high|7|DenyOnLimit|cpu=16"])
        self.assertEqual(self.rows("list", "user", "alice", "format=user,defaultaccount"), ["alice|chem"])
        tree = self.rows("list", "assoc", "tree", "format=account,user")
        self.assertIn("   chem|alice", tree)
        self.assertIn("No account nope on cluster", self.refused("add", "user", "dave", "account=nope"))
        self.assertEqual(self.refused("modify", "user", "nobodyhere", "set", "maxjobs=3"), " Nothing modified\n")
        self.assertIn("Deleting users", self.mgr("delete", "user", "alice").stdout)
        self.assertEqual(self.rows("list", "assoc", "where", "user=alice"), [])
        actions = self.rows("list", "transactions", "format=action,actor,where")
        self.assertIn(f"Add QOS|{pwd.getpwuid(os.getuid()).pw_name}|high", actions)
        self.assertIn(f"Remove Users|{pwd.getpwuid(os.getuid()).pw_name}|(name='alice')", actions)

    def test_answers_are_those_of_slurm(self):
        """What a user found to be otherwise."""
        self.mgr("add", "user", "nora", "account=root")
        for words in (["adminlevel=foo"], ["adminlevel=foo", "adminlevel="]):
            self.assertEqual(self.refused("modify", "user", "nora", "set", *words), " Nothing modified\n")
        done = self.mgr("modify", "cluster", "set", "grpjobs=1000")
        self.assertEqual(done.stdout, " Setting\n  Default Limits:\n  GrpJobs       = 1000\n"
                         f" Modified cluster defaults for associations...\n  C = {self.name:<10} A = root\n")
        self.mgr("modify", "cluster", "set", "grpjobs=-1")
        self.assertEqual(self.refused("show", "event", "format=node"), "Unknown field 'node'\n")
        self.mgr("show", "event", "format=noden")

    def test_a_change_is_asked_about(self):
        done = self.cluster.run("sacctmgr", "add", "account", "asked", stdin="n\n")
        self.assertTrue(done.stdout.endswith("Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): \n"
                                             " Changes Discarded\n"), done.stdout)
        self.assertEqual(self.rows("list", "account", "asked"), [])
        self.cluster.run("sacctmgr", "add", "account", "asked", stdin="y\n")
        self.assertEqual(self.rows("list", "account", "asked"), ["asked|asked|asked"])
        done = self.cluster.run("sacctmgr", stdin="delete account asked\ny\nlist account asked format=account\nquit\n")
        self.assertIn(" Deleting accounts...\n  asked\n", done.stdout)
        self.assertEqual(self.rows("list", "account", "asked"), [])
        self.assertEqual(self.cluster.run("sacctmgr", "-r", "-i", "add", "account", "x", check=False).returncode, 1)

    def test_hostile_texts_change_nothing_else(self):
        before = self.rows("list", "account"), self.rows("list", "user"), self.rows("list", "qos")
        for text in HOSTILE:
            for words in (["add", "account", f"name={text}"], ["add", "qos", f"name={text}"],
                          ["add", "user", f"name={text}", "account=root"],
                          ["add", "user", "mallory", f"account={text}"],
                          ["add", "user", "mallory", "account=root", f"partition={text}"],
                          ["add", "cluster", f"name={text}"], ["add", "account", "fine", f"parent={text}"]):
                done = self.mgr(*words, check=False)
                if done.returncode == 0:  # a list of names that are fine
                    self.assertIn(text, ("a,b;c", "$(id)"), done.stdout)
                    for entity in ("user", "account", "qos", "cluster"):
                        for name in (*text.split(","), "mallory"):
                            self.mgr("delete", entity, f"name={name}", check=False)
            for words in (["list", "user", f"name={text}"], ["list", "assoc", f"account={text}"], ["list", "qos", text],
                          ["delete", "user", f"name={text}"], ["delete", "qos", f"name={text}"],
                          ["list", "transactions", f"actor={text}"]):
                self.mgr(*words, check=False)
        self.assertEqual((self.rows("list", "account"), self.rows("list", "user"), self.rows("list", "qos")), before)
        for text in HOSTILE:
            self.mgr("add", "account", "texts", f"description={text}", f"organization={text}")
            self.assertEqual(self.rows("list", "account", "texts"), [f"texts|{text.lower()}|{text.lower()}"])
            self.mgr("delete", "account", "texts")

    def test_dump_and_load(self):
        self.mgr("add", "account", "top", "description=it's \"quoted\" \\ x")
        self.mgr("add", "account", "below", "parent=top", "grptres=cpu=5", "maxwall=90", "qos+=normal")
        self.mgr("add", "user", "erin", "account=below,top", "partition=debug", "maxjobs=3", "defaultaccount=top")
        self.mgr("add", "coordinator", "names=erin", "account=top")
        fields = ("format=account,user,partition,share,grptres,maxwall,maxjobs,qos",)
        before = self.rows("list", "assoc", "tree", *fields), self.rows("list", "account", "withcoord")
        path = os.path.join(self.cluster.work, "dump.cfg")
        done = self.mgr("dump", self.name, f"file={path}")
        self.assertIn(f"sacctmgr: Cluster - '{self.name}':Fairshare=1:QOS='normal'\n", done.stderr)
        self.assertEqual(self.mgr("load", f"file={path}").stdout, f"For cluster {self.name}\n Nothing new added.\n")
        self.mgr("modify", "user", "erin", "set", "maxjobs=9")
        self.mgr("delete", "user", "erin", "account=below")
        self.mgr("load", f"file={path}")
        self.assertEqual((self.rows("list", "assoc", "tree", *fields), self.rows("list", "account", "withcoord")), before)
        self.mgr("add", "account", "extra")
        self.mgr("load", f"file={path}", "clean")
        self.assertEqual((self.rows("list", "assoc", "tree", *fields), self.rows("list", "account", "withcoord")), before)
        with open(path, "a+", encoding="utf-8") as f:
            f.write("User - 'frank:MaxJobs=3\n")
            f.seek(0)
            last = len(f.readlines())
        self.assertIn(f"dump.cfg:{last}: Misformatted line: User - 'frank", self.refused("load", f"file={path}"))
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"Cluster - '{self.name}'\nParent - 'root'\nAccount - 'x':Description='open\n")
        self.assertIn("dump.cfg:3: A quote is not closed", self.refused("load", f"file={path}"))

    def test_two_administrators_at_once(self):
        self.mgr("add", "account", "busy")
        failures = []

        def work(start):
            for i in range(10):
                done = self.mgr("add", "user", f"u{start + i}", "account=busy", check=False)
                if done.returncode:
                    failures.append(done.stderr)
                self.mgr("modify", "account", "busy", "set", *(["grpjobs=5"] if start else ["maxjobs=6"]))
        threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(self.rows("list", "user", "format=user", "where", "account=busy")), 20)
        self.assertEqual(self.rows("list", "assoc", "where", "account=busy", "format=grpjobs,maxjobs")[0], "5|6")

    def test_a_tree_is_no_deeper_than_limits_reach(self):
        path = os.path.join(self.cluster.work, "deep.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Cluster - '{self.name}'\nParent - 'root'\nAccount - 'd1'\n")
            for level in range(2, 100):
                file.write(f"Parent - 'd{level - 1}'\nAccount - 'd{level}'\n")
        self.assertIn(f" Account 'd63' would be more than 62 levels below root on cluster {self.name}: that is the most.",
                      self.refused("load", f"file={path}"))
        self.assertEqual(self.rows("list", "account", "d1"), [])

    def test_what_jobs_use_stays(self):
        me = pwd.getpwuid(os.getuid()).pw_name
        self.mgr("add", "account", "used")
        self.mgr("add", "user", me, "account=used")
        job = self.submit("-A", "used", "--hold", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.cluster.sacct("-j", job, "-o", "state", "-X") == [["PENDING"]], "the job is in the database")
        said = self.refused("delete", "user", me, "account=used")
        self.assertIn(" Error with request: Job(s) active, cancel job(s) before remove\n"
                      f"  JobID = {job:<10} C = {self.name:<10} A = used       U = {me:<9}", said)
        self.run_cmd("scancel", job)
        wait_for(lambda: self.mgr("delete", "user", me, "account=used", check=False).returncode == 0, "nothing uses it any more")

    def test_a_cluster_tells_its_tres(self):
        wait_for(lambda: "node=1" in self.rows("list", "cluster", "format=tres")[0], "the controller's records are there")
        self.assertRegex(self.rows("list", "cluster", "format=cluster,nodecount,tres")[0],
                         rf"^{self.name}\|1\|billing=4,cpu=4,energy=0,fs/disk=0,gres/gpu=0,.*,mem=4000M,node=1,pages=0,vmem=0$")
        self.assertIn("gres|gpu", [row.rsplit("|", 1)[0] for row in self.rows("list", "tres")])
        self.mgr("modify", "account", "root", "set", "grptres=gres/gpu=3")
        self.assertEqual(self.rows("list", "assoc", "where", "account=root", "format=grptres")[0], "gres/gpu=3")
        self.mgr("modify", "account", "root", "set", "grptres=gres/gpu=-1")

    def test_columns_of_the_moment(self):
        self.mgr("add", "account", "noted", "description=of now")
        self.addCleanup(self.mgr, "delete", "account", "noted")
        self.assertRegex(self.rows("list", "txn", "action=Add Accounts", "format=timestamp,where,info")[-1],
                         r"^\d{4}-\d\d-\d\dT[\d:]{8}\|noted\|description='of now', ")
        wait_for(lambda: "node=1" in self.rows("list", "cluster", "format=tres")[0], "the controller's records are there")
        host, port = self.rows("list", "cluster", "format=controlhost,controlport")[0].split("|")
        config = dict(re.findall(r"^(\w+) += (.*)$", self.out("scontrol", "show", "config"), re.M))
        self.assertEqual(port, config["SlurmctldPort"])
        self.assertNotEqual(host, "")

    def test_a_mode_beside_within(self):
        """As Slurm names them: WITHIN first."""
        self.mgr("add", "qos", "both", "preemptmode=within,cancel")
        self.addCleanup(self.mgr, "delete", "qos", "both")
        self.assertRegex(self.rows("list", "txn", "action=Add QOS", "format=where,info")[-1], r"^both\|.*, preempt_mode=16392, ")
        for given, shown in (("requeue,within", "within,requeue"), ("WITHIN", "within"), ("suspend,within", "within,suspend"),
                             ("cluster,within", "within"), ("cancel", "cancel"), ("within,requeue", "within,requeue")):
            self.mgr("modify", "qos", "both", "set", f"preemptmode={given}")
            self.assertEqual(self.rows("list", "qos", "both", "format=preemptmode"), [shown])
        self.assertRegex(self.rows("list", "txn", "action=Modify QOS", "format=info")[-1], r"^preempt_mode=16386$")
        wait_for(lambda: "PreemptMode=WITHIN,REQUEUE" in self.out("scontrol", "show", "assoc_mgr", "qos=both", "flags=qos"), "the controller knows it")
        document = json.loads(self.cluster.run("sacctmgr", "--json", "list", "qos", "both").stdout)
        self.assertEqual(document["qos"][0]["preempt"]["mode"], ["WITHIN", "REQUEUE"])
        for bad in ("gang,within", "foo,within", "cancel,requeue"):
            self.fails(1, f" Bad Preempt Mode given: preemptmode={bad}\n", "sacctmgr", "-i", "modify", "qos", "both", "set", f"preemptmode={bad}")

    def test_documents(self):
        document = json.loads(self.cluster.run("sacctmgr", "--json", "list", "assoc").stdout)
        root = document["associations"][0]
        self.assertEqual((root["account"], root["user"], root["lineage"], root["qos"]), ("root", "", "/", ["normal"]))
        self.assertEqual(root["max"]["jobs"]["active"], {"set": False, "infinite": True, "number": 0})
        document = json.loads(self.cluster.run("sacctmgr", "--json", "list", "qos").stdout)
        self.assertEqual(document["qos"][0]["preempt"]["mode"], ["DISABLED"])


class Transcripts(Administered):
    maxDiff = None

    def replay(self, name):
        """Runs the commands of a file, in their order. WRITE_GOLDEN=1 writes what this build says."""
        path = GOLDEN / name
        wanted = path.read_text(encoding="utf-8")
        said = ""
        for line in wanted.splitlines():
            if not line.startswith("$ "):
                continue
            done = subprocess.run(["sh", "-c", line[2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=self.cluster.env, cwd=self.cluster.work, check=False)
            said += f"{line}\n{done.stdout}# exit {done.returncode}\n"
        if os.environ.get("WRITE_GOLDEN"):
            path.write_text(said, encoding="utf-8")
        self.assertMultiLineEqual(said, wanted)


class Golden(Transcripts):
    """Slurm 22.05 prints the same but where docs/sacctmgr.md says otherwise, and but for the newest version's columns."""

    def test_commands(self):
        self.replay("commands.txt")  # of sacctmgr


class Mistakes(Transcripts):
    """The same of words that are wrong, and of what they are told on which stream."""

    def test_commands(self):
        self.replay("mistakes.txt")


class Settings(Transcripts):
    """The same of settings, conditions and columns that few use."""

    def test_settings(self):
        wait_for(lambda: "node=1" in self.rows("list", "cluster", "format=tres")[0], "the controller's records are there")
        self.replay("settings.txt")


class Later(Transcripts):
    """What Slurm 22.05 has not, and what was deleted, which it forgets where it is new."""

    def test_commands(self):
        self.replay("later.txt")


class Newest(Transcripts):
    """What Slurm 26.05 prints, to the letter."""
    CONF = "ClusterName=demo\n"

    @classmethod
    def setUpClass(cls):
        need_root()  # as the reference was run
        super().setUpClass()

    def test_lists(self):
        self.replay("newest.txt")
        for name, entity in (("assoc", "associations"), ("qos", "qos")):
            document = json.loads(self.cluster.run("sacctmgr", "--json", "show", name).stdout)
            wanted = json.loads((GOLDEN / (name + ".json")).read_text(encoding="utf-8"))
            self.assertEqual(json.dumps(document[entity], indent=1), json.dumps(wanted[entity], indent=1))


class Daemon(Administered):
    def test_what_was_said_survives_a_killed_daemon(self):
        for i in range(5):
            self.mgr("add", "account", f"kept{i}")
            self.cluster.stop_dbd(signal.SIGKILL)
            self.assertIn("Problem talking to the database", self.refused("list", "account"))
            self.cluster.start_dbd()
            wait_for(lambda: self.cluster.run("sacctmgr", "ping", check=False).returncode == 0, "the daemon answers")
            self.assertEqual(self.rows("list", "account", f"kept{i}", "format=account"), [f"kept{i}"])


    def test_the_daemon_tells_of_itself(self):
        self.mgr("clear", "stats")
        self.rows("list", "tres")
        said = self.cluster.run("sacctmgr", "show", "stats").stdout
        self.assertIn("\nRemote Procedure Call statistics by message type\n\t", said)
        self.assertRegex(said, r"\n\tQueryAccounting +count:1 ")
        self.assertRegex(said, r"Internal DBD rollup last ran .*\n\tLast cycle:   \d+\n")
        said = self.cluster.run("sacctmgr", "show", "configuration").stdout
        values = dict(re.findall(r"^(\w+) += (.*)$", said, re.M))
        self.assertEqual(values["DbdPort"], values["AccountingStoragePort"])
        self.assertEqual(values["SLURMDBD_CONF"], self.cluster.dbd_conf)
        self.assertIn("AccountingStorageType  = accounting_storage/slurmdbd\n", said)
        for line in ("TrackWCKey             = No", "PrivateData            = none", "AccountingStorageUser  = N/A",
                     f"SLURM_CONF             = {self.cluster.conf}"):
            self.assertIn(line + "\n", said.split("\nSlurmDBD")[0])
        for key in ("ArchiveDir", "ArchiveJobs", "ArchiveUsage", "PurgeJobAfter", "PurgeUsageAfter", "CommitDelay", "DebugLevel",
                    "MessageTimeout", "PluginDir", "StorageParameters", "TCPTimeout", "TrackSlurmctldDown"):
            self.assertRegex(said.split("\nSlurmDBD")[1], rf"(?m)^{key} +=")
        pid = self.cluster.dbd_pid()
        self.mgr("shutdown")
        wait_for(lambda: is_over(pid), "the daemon is gone")
        self.cluster.start_dbd()


class Archives(Transcripts):
    """History goes into files, and comes back."""

    def setUp(self):
        self.archive = os.path.join(self.cluster.work, "archive")
        os.makedirs(self.archive, exist_ok=True)
        for name in os.listdir(self.archive):
            os.remove(os.path.join(self.archive, name))

    def old_job(self):
        """A job that ended 90 days ago."""
        job = self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true").stdout.strip()
        wait_for(lambda: "COMPLETED" in self.cluster.run("sacct", "-nXP", "-j", job, "-o", "state").stdout, "the job is over")
        wait_for(lambda: "DBD Agent queue size: 0" in self.cluster.run("sdiag").stdout, "its records are stored")
        self.make_old(job)
        return job

    def make_old(self, job):
        old = int((time.time() - 90 * 86400) * 1_000_000)
        self.cluster.sql(f"UPDATE job SET submit = {old}, eligible = {old}, start = {old}, ended = {old + 1} WHERE job_id = {job}")

    def is_there(self, job):
        return bool(self.cluster.sql(f"SELECT id FROM job WHERE job_id = {job}"))

    def configure(self, *lines):
        """Restarts the daemon with further lines of slurmdbd.conf, which the end of the test removes."""
        with open(self.cluster.dbd_conf, encoding="utf-8") as f:
            before = f.read()

        def restart(text):
            self.cluster.stop_dbd()
            with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
                f.write(text)
            self.cluster.start_dbd()
        self.addCleanup(restart, before)
        restart(before + "".join(line + "\n" for line in lines))

    def script(self, text):
        path = os.path.join(self.cluster.work, "archive.sh")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def test_commands(self):
        self.replay("archive.txt")  # Slurm 22.05 prints the same but where docs/sacctmgr.md says otherwise

    def test_dump_and_load(self):
        job, place = self.old_job(), f"directory={self.archive}"
        done = self.cluster.run("sacctmgr", "archive", "dump", "jobs", "purgejobafter=30days", place, stdin="n\n")
        self.assertTrue(done.stdout.endswith("Are you sure you want to continue? (You have 30 seconds to decide)\n(N/y): \n"
                                             " Changes Discarded\n"), done.stdout)
        self.assertTrue(self.is_there(job))
        done = self.mgr("archive", "dump", "jobs", "purgejobafter=30days", place)
        self.assertEqual((done.stdout, done.stderr), ("", "sacctmgr: accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS\n"))
        self.assertFalse(self.is_there(job))
        (name,) = os.listdir(self.archive)
        self.assertRegex(name, f"^{self.name}_job_archive_")
        file = f"file={self.archive}/{name}"
        done = self.cluster.run("sacctmgr", "archive", "load", file, stdin="n\n")
        self.assertTrue(done.stdout.endswith(" Changes Discarded\n"), done.stdout)
        self.assertFalse(self.is_there(job))
        self.cluster.run("sacctmgr", "archive", "load", file, stdin="y\n")
        self.assertTrue(self.is_there(job))
        self.assertEqual(self.cluster.run("sacct", "-nXP", "-j", job, "-o", "jobid,state").stdout, f"{job}|COMPLETED\n")
        # without an archive it goes for good
        self.make_old(job)
        self.mgr("archive", "dump", "purgejobafter=30days")
        self.assertFalse(self.is_there(job))
        self.assertEqual(os.listdir(self.archive), [name])

    def test_scripts_and_environments(self):
        job = self.old_job()
        shown = {option: self.cluster.run("sacct", option, "-j", job).stdout for option in ("-B", "--env-vars")}
        self.assertIn("\ntrue\n", shown["-B"])
        self.assertIn("\nPATH=", shown["--env-vars"])
        old = int((time.time() - 90 * 86400) * 1_000_000)
        self.cluster.sql(f"UPDATE blob_use SET used = {old}")
        self.mgr("archive", "dump", "jobscript", "jobenv", "purgejobscriptafter=30days", "purgejobenvafter=30days",
                 f"directory={self.archive}")
        for option in shown:
            self.assertIn("\nNONE\n", self.cluster.run("sacct", option, "-j", job).stdout)
        self.assertTrue(self.is_there(job))
        names = sorted(os.listdir(self.archive))
        self.assertEqual([name.split("_archive_")[0] for name in names], [f"{self.name}_job_env", f"{self.name}_job_script"])
        for name in names:
            self.mgr("archive", "load", f"file={self.archive}/{name}")
        for option, before in shown.items():
            self.assertEqual(self.cluster.run("sacct", option, "-j", job).stdout, before)

    def test_the_file_says_what_is_not_asked_for(self):
        self.configure("PurgeJobAfter=40days", f"ArchiveDir={self.archive}")
        job = self.old_job()
        self.mgr("archive", "dump", "jobs")
        self.assertFalse(self.is_there(job))
        self.assertEqual(len(os.listdir(self.archive)), 1)

    def test_rights(self):
        need_root()
        uid, name = 61814, "sluicetest61814"
        add_users(type(self), uid)
        self.mgr("add", "user", name, "account=root")
        denied = ("sacctmgr: error: Your user doesn't have privilege to perform this action\n"
                  " Problem {}: Access/permission denied\n")
        self.assertEqual(self.refused("archive", "dump", user=uid), denied.format("dumping archive"))
        self.assertEqual(self.refused("archive", "load", "file=/nowhere", user=uid), denied.format("loading archive file"))
        self.mgr("modify", "user", name, "set", "adminlevel=operator")
        self.assertEqual(self.refused("archive", "dump", user=uid), denied.format("dumping archive"))
        self.mgr("modify", "user", name, "set", "adminlevel=admin")
        self.mgr("archive", "dump", user=uid)
        self.assertIn("Script is for root and SlurmUser alone", self.refused("archive", "dump", "script=/bin/true", user=uid))

    def test_disabled(self):
        self.configure("DisableArchiveCommands=yes")
        for words in (("dump",), ("load", "file=/nowhere")):
            self.assertIn("Archive commands are disabled: DisableArchiveCommands", self.refused("archive", *words))

    def test_a_script_takes_the_place_of_it(self):
        out = os.path.join(self.cluster.work, "script.out")
        path = self.script(f"{{ echo \"$# $(id -u)\"; env | sort; }} > {out}.new; mv {out}.new {out}\n")
        job = self.old_job()
        self.configure(f"ArchiveScript={path}", "ArchiveJobs=yes", "PurgeJobAfter=30days", "PurgeEventAfter=2months")
        wait_for(lambda: os.path.exists(out), "the daemon has run it when it began")
        first, *variables = pathlib.Path(out).read_text(encoding="utf-8").splitlines()
        self.assertEqual(first, f"0 {os.getuid()}")
        variables = dict(line.split("=", 1) for line in variables)
        self.assertTrue(set(variables) - {"PWD", "SHLVL", "_", "OLDPWD"} ==
                        {"PATH", "SLURM_ARCHIVE_CLUSTER", "SLURM_ARCHIVE_JOBS", "SLURM_ARCHIVE_LAST_JOB", "SLURM_ARCHIVE_EVENTS",
                         "SLURM_ARCHIVE_LAST_EVENT"}, variables)
        self.assertEqual((variables["SLURM_ARCHIVE_CLUSTER"], variables["SLURM_ARCHIVE_JOBS"], variables["SLURM_ARCHIVE_EVENTS"]),
                         (self.name, "1", "0"))
        self.assertLess(abs(int(variables["SLURM_ARCHIVE_LAST_JOB"]) - (time.time() - 30 * 86400)), 2 * 86400)
        self.assertTrue(self.is_there(job))
        self.script("exit 7\n")
        def when_the_first_is_over():
            said = self.refused("archive", "dump")
            return "just now" not in said and said
        self.assertEqual(wait_for(when_the_first_is_over, "the daemon's own script is over"),
                         f" Problem dumping archive: {path} ended with status 7\n")
        os.remove(path)
        self.assertIn("cannot be run", self.refused("archive", "dump"))

    def test_a_script_ends_with_the_daemon(self):
        out = os.path.join(self.cluster.work, "began")
        path = self.script(f"echo $$ > {out}.new; mv {out}.new {out}; exec sleep 1000\n")
        self.configure(f"ArchiveScript={path}", "PurgeJobAfter=30days")
        wait_for(lambda: os.path.exists(out), "the script runs")
        pid = int(pathlib.Path(out).read_text(encoding="utf-8"))
        self.assertIn("history is being purged just now", self.refused("archive", "dump"))
        self.cluster.stop_dbd()
        wait_for(lambda: is_over(pid), "the script is over")
        self.cluster.start_dbd()  # the cleanup stops it


class Followed(Administered):
    CONF = "AccountingStorageEnforce=associations,limits,qos\n"

    def test_the_controller_enforces_what_was_changed(self):
        me = pwd.getpwuid(os.getuid()).pw_name

        def submitted(*options):
            return self.cluster.run("sbatch", *options, "--hold", "-o", "/dev/null", "--wrap", "true", check=False).returncode == 0
        self.assertFalse(submitted("-A", "late"))
        self.mgr("add", "account", "late")
        self.mgr("add", "qos", "fast", "maxsubmitjobspu=1")
        self.mgr("add", "user", me, "account=late", "qos+=fast")
        wait_for(lambda: submitted("-A", "late"), "the controller knows the account")
        self.assertTrue(submitted("-A", "late", "-q", "fast"))
        self.assertFalse(submitted("-A", "late", "-q", "fast"))
        self.mgr("modify", "qos", "fast", "set", "maxsubmitjobspu=2")
        wait_for(lambda: submitted("-A", "late", "-q", "fast"), "the controller knows the new limit")
        self.mgr("modify", "user", me, "account=late", "set", "qos-=fast")
        wait_for(lambda: not submitted("-A", "late", "-q", "fast"), "the controller knows that the QOS is gone")
        self.run_cmd("scancel", "-u", me)


if __name__ == "__main__":
    unittest.main()
