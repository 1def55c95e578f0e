"""What accounting does on MariaDB and PostgreSQL: the tests of history, administration and reports, each on both."""
import collections
import os
import signal
import socket
import subprocess
import tempfile
import unittest

import test_accounting
import test_sacctmgr
import test_sreport
from accounting import AccountedCluster
from databases import KINDS, Server, free_port, programs
from harness import BUILD, need_root, pids_with, wait_for

SERVERS = {}


def setUpModule():
    for kind in KINDS:
        if programs(kind):
            SERVERS[kind] = Server(kind)


def tearDownModule():
    for server in SERVERS.values():
        server.close()


class OnServer:
    """Before a class of tests: the same with a database on the server KIND."""

    KIND = ""

    @classmethod
    def setUpClass(cls):
        if cls.KIND not in SERVERS:
            raise unittest.SkipTest(f"no {cls.KIND}")
        cls.server = SERVERS[cls.KIND]
        super().setUpClass()


def on_both(case, tests=None):
    """Classes of this module: `case` on each server, or those `tests` of it."""
    for kind in KINDS:
        name = f"{case.__name__}On{kind.title()}"
        body = {"KIND": kind, "__module__": __name__}
        if tests:
            body.update({test: None for test in dir(case) if test.startswith("test") and test not in tests})
        globals()[name] = type(name, (OnServer, case), body)


on_both(test_accounting.History, ("test_values_of_a_job_and_its_steps", "test_arrays", "test_requeued_runs", "test_states_and_times",
                                  "test_hostile_texts", "test_script_and_environment"))
on_both(test_accounting.Away)
on_both(test_sacctmgr.Changes, ("test_what_is_added_is_listed_changed_and_deleted", "test_hostile_texts_change_nothing_else", "test_dump_and_load",
                                "test_two_administrators_at_once", "test_what_jobs_use_stays"))
on_both(test_sacctmgr.Archives, ("test_dump_and_load", "test_a_script_takes_the_place_of_it"))
on_both(test_sreport.Reports)


class Refused(unittest.TestCase):
    """What a daemon says that cannot have its database."""

    def begin(self, folder, server, change):
        conf = os.path.join(folder, "slurmdbd.conf")
        lines = dict(line.split("=", 1) for line in server.conf().splitlines())
        lines.update(DbdHost="localhost", DbdPort=str(free_port()), AuthType="auth/slurm", PidFile=folder + "/pid", LogFile=folder + "/log", SlurmUser="root")
        lines.update(change)
        with open(conf, "w", encoding="utf-8") as f:
            f.write("".join(f"{key}={value}\n" for key, value in lines.items()))
        os.chmod(conf, 0o600)
        with open(folder + "/slurm.key", "w", encoding="utf-8") as f:
            f.write("k" * 64)
        os.chmod(f.name, 0o600)
        return subprocess.Popen([os.path.join(BUILD, "sbin", "sluicedbd"), "-D", "-f", conf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def start(self, server, change):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            daemon = self.begin(folder, server, change)
            try:
                said = ""
                def log_says():
                    nonlocal said
                    if os.path.exists(log):
                        with open(log, encoding="utf-8") as f:
                            said = f.read()
                    return "trying again" in said or daemon.poll() is not None
                wait_for(log_says, "the daemon says why")
                ended = daemon.poll() is not None
            finally:
                daemon.kill()
                said += daemon.communicate()[0]
            self.assertNotIn("secret", said)
            return ended, said

    def test_refusals_are_clear(self):
        for kind, server in SERVERS.items():
            maria = kind == "mariadb"
            nobody = "Access denied for user 'slurm'" if maria else 'password authentication failed for user "slurm"'
            # PostgreSQL: the socket is of a folder, and a name that is none is looked up
            for change, says, ends in (
                    ({"StoragePass": "wrong"}, nobody, True),
                    ({"StorageLoc": "nosuch"}, "nosuch", True),
                    ({"StorageUser": "stranger"}, "stranger", True),
                    ({"StorageHost": "127.0.0.1", "StoragePort": str(free_port())}, "127.0.0.1", False),
                    ({"StorageHost": "no.such.host.invalid"}, "no.such.host.invalid", False),
                    ({"StorageParameters": "SSL_CIPHER=x"}, "StorageParameters=SSL_CIPHER=x is not supported", True)):
                with self.subTest(kind=kind, change=change):
                    ended, said = self.start(server, change)
                    self.assertIn(says, said)
                    self.assertEqual(ended, ends, said)

    def test_it_can_be_ended_while_it_waits(self):
        """SIGTERM was looked at when the minute was over."""
        for kind, server in SERVERS.items():
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
                silent.settimeout(60)
                daemon = self.begin(folder, server, {"StorageHost": "127.0.0.1", "StoragePort": str(silent.getsockname()[1])})
                try:
                    with silent.accept()[0]:
                        daemon.send_signal(signal.SIGTERM)
                        self.assertEqual(daemon.wait(timeout=8), 0)  # it waits ten seconds for an answer
                finally:
                    daemon.kill()
                    daemon.communicate()
                with open(folder + "/log", encoding="utf-8") as f:
                    self.assertIn("signal 15: shutting down before it serves", f.read())
                self.assertFalse(os.path.exists(folder + "/pid"))

    def test_tables_of_others_are_left_alone(self):
        for kind, server in SERVERS.items():
            with self.subTest(kind=kind):
                server.empty()
                server.sql("CREATE TABLE acct_table(name VARCHAR(20))")
                ended, said = self.start(server, {})
                self.assertIn("tables of another program", said)
                self.assertTrue(ended)
                server.sql("DROP TABLE acct_table")


class LostServer(test_accounting.AccountedCase):
    def lose(self, how):
        jobs = [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(3)]
        self.server.stop(how)
        jobs += [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(3)]
        for job in jobs:
            self.wait_ended(job)
        wait_for(lambda: "DBD Agent queue size: 0" not in self.out("sdiag"), "records wait")
        refused = self.run_cmd("sacctmgr", "-i", "add", "account", f"lost{how}", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("database slurm_acct_db of user slurm", refused.stdout + refused.stderr)
        self.server.start()
        for job in jobs:
            self.wait_line(job, "COMPLETED")
        rows = collections.Counter(row[0] for row in self.sacct("-D", "-X", "-S", "now-1day", "-o", "jobid"))
        self.assertEqual({job: rows[str(job)] for job in jobs}, {job: 1 for job in jobs})
        wait_for(lambda: "DBD Agent queue size: 0" in self.out("sdiag"), "nothing waits any more")
        self.run_cmd("sacctmgr", "-i", "add", "account", f"lost{how}")
        with open(f"{self.cluster.dir}/log/sluicedbd.log", encoding="utf-8") as f:
            self.assertNotIn("secret", f.read())

    def test_a_server_that_is_restarted(self):
        self.lose(signal.SIGTERM)

    def test_a_server_that_is_killed(self):
        self.lose(signal.SIGKILL)

    def test_connections_that_are_cut(self):
        self.run_cmd("sacctmgr", "-i", "add", "account", "before")
        cut = ("SELECT concat('KILL CONNECTION ', id, ';') FROM information_schema.processlist WHERE user = 'slurm'" if self.server.kind == "mariadb" else
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'slurm'")
        for i in range(3):
            said = self.server.sql(cut)
            if self.server.kind == "mariadb":
                self.server.sql(said)
            self.run_cmd("sacctmgr", "-i", "add", "account", f"after{i}")
            self.assertEqual(self.out("sacctmgr", "-nP", "list", "account", f"after{i}", "format=account").split(), [f"after{i}"])


class TwoDaemons(test_accounting.AccountedCase):
    """DbdBackupHost: a second daemon, at another address, on the same database."""

    CONF = "AccountingStorageBackupHost=127.0.0.2\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.second_conf = os.path.join(cls.cluster.dir, "second.conf")
        with open(cls.cluster.dbd_conf, encoding="utf-8") as f:
            text = f.read()
        text = text.replace("DbdAddr=127.0.0.1", "DbdAddr=127.0.0.2").replace("sluicedbd.pid", "second.pid").replace("sluicedbd.log", "second.log")
        with open(cls.second_conf, "w", encoding="utf-8") as f:
            f.write(text + "DbdBackupHost=other\n")
        os.chmod(cls.second_conf, 0o600)
        cls.start_second()

    @classmethod
    def start_second(cls):
        subprocess.run([cls.cluster.daemon("sluicedbd"), "-f", cls.second_conf], check=True, env=cls.cluster.env)

    @classmethod
    def tearDownClass(cls):
        for pid in pids_with(cls.second_conf, "sluicedbd"):
            os.kill(pid, signal.SIGKILL)
        super().tearDownClass()

    def names(self):
        return self.out("sacctmgr", "-nP", "list", "account", "format=account").split()

    def test_the_second_answers_when_the_first_is_gone(self):
        self.assertRegex(self.out("sacctmgr", "ping"), r"^slurmdbd\(primary\) at \S+ is UP\nslurmdbd\(backup\) at \S+ is UP\n$")
        self.run_cmd("sacctmgr", "-i", "add", "account", "first")
        jobs = [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(3)]
        self.cluster.stop_dbd(signal.SIGKILL)
        self.assertRegex(self.out("sacctmgr", "ping"), r"^slurmdbd\(primary\) at \S+ is DOWN\nslurmdbd\(backup\) at \S+ is UP\n$")
        wait_for(lambda: "first" in self.names(), "the second knows what the first was told")
        jobs += [self.submit("-o", "/dev/null", "--wrap", "true") for _ in range(3)]
        for job in jobs:
            self.wait_line(job, "COMPLETED")
        self.run_cmd("sacctmgr", "-i", "add", "account", "second")
        wait_for(lambda: "second" in self.out("scontrol", "show", "assoc_mgr"), "the controller follows the second")
        self.cluster.start_dbd()
        wait_for(lambda: "primary) at 127.0.0.1 is DOWN" not in self.out("sacctmgr", "ping"), "the first is back")
        self.assertIn("second", self.names())
        rows = collections.Counter(row[0] for row in self.sacct("-D", "-X", "-S", "now-1day", "-o", "jobid"))
        self.assertEqual({job: rows[str(job)] for job in jobs}, {job: 1 for job in jobs})


class Moves(unittest.TestCase):
    """A site goes from a file of SQLite to a server, and back."""

    KIND, server = "", None

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 4, 4000)
        cls.addClassCleanup(cls.cluster.down)
        cls.server.empty()
        with open(cls.cluster.dbd_conf, encoding="utf-8") as f:
            cls.file_conf = f.read()
        cls.on_server = "".join(line + "\n" for line in cls.file_conf.splitlines() if not line.startswith("Storage")) + cls.server.conf()

    def out(self, *command):
        return self.cluster.run(*command).stdout

    def configure(self, text):
        with open(self.cluster.dbd_conf, "w", encoding="utf-8") as f:
            f.write(text)

    def other_conf(self, text):
        path = os.path.join(self.cluster.dir, "old-slurmdbd.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def copy(self, old):
        return subprocess.run([self.cluster.daemon("sluicedbd"), "-f", self.cluster.dbd_conf, "copy", self.other_conf(old)], env=self.cluster.env,
                              capture_output=True, text=True, check=False)

    def all_of_it(self):
        """What commands say of all that there is."""
        return {words: self.out(*words) for words in (
            ("sacct", "-anPD", "-S", "now-1day", "-o", "ALL"), ("sacctmgr", "-nP", "list", "assoc", "format=id,account,user,qos,grptres,share"),
            ("sacctmgr", "-nP", "list", "account", "withcoord"), ("sacctmgr", "-nP", "list", "user"), ("sacctmgr", "-nP", "list", "tres"),
            ("sacctmgr", "-nP", "list", "qos", "format=id,name,priority"), ("sacctmgr", "-nP", "list", "txn"), ("sacctmgr", "-nP", "list", "cluster"),
            ("sacctmgr", "-nP", "list", "event", "all_time", "format=nodename,start,reason"))}

    def submitted(self, *options):
        job = int(self.out("sbatch", "--parsable", *options, "-o", "/dev/null", "--wrap", "hostname"))
        wait_for(lambda: self.cluster.sacct("-X", "-j", job, "-o", "state") == [["COMPLETED"]], f"sacct has job {job} as completed")
        return job

    def move(self, old, new):
        """The daemon goes on with a new database, which has what the old one had."""
        before = self.all_of_it()
        self.cluster.stop_dbd()
        waits = int(self.out("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true"))  # its records wait for the daemon
        self.configure(new)
        done = self.copy(old)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^(warning: \S+/back\.db was not there: a new database is made, .*\n)?$")
        self.assertRegex(done.stdout, r"^1 clusters, \d+ accounts, \d+ users, \d+ associations, \d+ QOS, \d+ transactions\n\d+ jobs, \d+ steps, \d+ events, 0 reservations\n$")
        refused = self.copy(old)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertRegex(refused.stderr, r"^slurmdbd: error: copy: .* is not empty \(table cluster\): copy into a new one, which no daemon was started with\n$")
        self.cluster.start_dbd()
        wait_for(lambda: self.cluster.sacct("-X", "-j", waits, "-o", "state") == [["COMPLETED"]], "the records that waited are there")
        after = self.all_of_it()
        at = self.out("sacct", "-aPD", "-j", str(waits), "-o", "ALL").split("\n", 1)[0].split("|").index("JobID")
        lines = [line for line in after["sacct", "-anPD", "-S", "now-1day", "-o", "ALL"].splitlines() if line.split("|")[at].split(".")[0] != str(waits)]
        after["sacct", "-anPD", "-S", "now-1day", "-o", "ALL"] = "".join(line + "\n" for line in lines)
        for words, text in before.items():
            self.assertEqual(after[words], text, words)
        self.assertNotIn("are not in the database any more", self.cluster.log("sluicedbd"))

    def test_all_of_it_comes_along(self):
        for words in (["add", "qos", "high", "priority=7"], ["add", "account", "physics", "description=it's \\ \"all\"", "grptres=cpu=100"],
                      ["add", "user", "alice,root", "account=physics", "qos+=high"], ["add", "coordinator", "names=alice", "account=physics"],
                      ["add", "account", "gone"], ["delete", "account", "gone"]):
            self.out("sacctmgr", "-i", *words)
        wait_for(lambda: "physics" in self.out("scontrol", "show", "assoc_mgr"), "the controller knows the account")
        first = self.submitted("-A", "physics", "--comment=it's; \\ ü")
        running = self.copy(self.file_conf.replace("accounting.db", "elsewhere.db"))
        self.assertIn("the accounting daemon is not to run meanwhile", running.stderr)
        self.move(self.file_conf, self.on_server)
        self.out("sacctmgr", "-i", "add", "account", "later")  # numbers go on
        second = self.submitted("-A", "physics")
        self.move(self.on_server, self.file_conf.replace("accounting.db", "back.db"))
        third = self.submitted()
        rows = [row[0] for row in self.cluster.sacct("-X", "-S", "now-1day", "-o", "jobid")]
        self.assertEqual([rows.count(str(job)) for job in (first, second, third)], [1, 1, 1])
        self.assertIn("hostname", self.out("sacct", "-B", "-j", first))
        same = self.copy(self.file_conf.replace("accounting.db", "back.db"))
        self.assertIn("that is the database of this daemon itself", same.stderr)


on_both(LostServer)
on_both(TwoDaemons)
on_both(Moves)
del LostServer, TwoDaemons, Moves


if __name__ == "__main__":
    need_root()
    unittest.main()
