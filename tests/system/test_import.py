"""A site moves in: `sluicedbd import` of a real slurmdbd's database (tests/golden/import), compared with what its own commands said of it."""
import os
import pathlib
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from accounting import AccountedCluster
from databases import Server, programs
from harness import ClusterCase, pids_with, wait_for

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
sys.path.insert(0, str(GOLDEN / "priority"))
from replay import File  # noqa: E402


@unittest.skipUnless(programs("mariadb"), "no mariadb")
class Import(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, 1, 1000, conf="ClusterName=ref\n")
        cls.server = Server("mariadb")
        cls.addClassCleanup(cls.server.close)
        cls.dump = (GOLDEN / "import/slurmdbd-22.05.sql").read_text()
        cls.source = os.path.join(cls.cluster.dir, "old-slurmdbd.conf")
        with open(cls.source, "w", encoding="utf-8") as f:
            f.write("DbdHost=localhost\nSlurmUser=root\n" + cls.server.conf())
        os.chmod(cls.source, 0o600)
        with open(cls.cluster.dbd_conf, encoding="utf-8") as f:
            cls.database = next(line[len("StorageLoc="):].strip() for line in f if line.startswith("StorageLoc="))

    def setUp(self):
        self.server.empty()
        self.server.sql(self.dump)

    def stop_dbd(self):
        self.cluster.stop_dbd()
        self.addCleanup(lambda: pids_with(self.cluster.dbd_conf, "sluicedbd") or self.cluster.start_dbd())

    def import_it(self, source=None):
        return subprocess.run([self.cluster.daemon("sluicedbd"), "-f", self.cluster.dbd_conf, "import", source or self.source], env=self.cluster.env,
                              capture_output=True, text=True, check=False)

    def refused(self, text, source=None):
        done = self.import_it(source)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(text, done.stderr)

    def imported(self):
        done = self.import_it()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_an_array_whose_tasks_cannot_be_read_is_left_out(self):
        """The import stopped half-way."""
        self.stop_dbd()
        self.server.sql("UPDATE ref_job_table SET id_array_job = id_job, id_array_task = 4294967294, array_task_str = '0xZZ' "
                        "ORDER BY job_db_inx LIMIT 1")
        said = self.imported()
        self.assertIn("\n34 jobs", said)
        self.assertIn("\n1 jobs left out: their state or their array tasks cannot be read\n", said)

    def test_commands_answer_as_those_of_the_site(self):
        self.refused("the accounting daemon is not to run meanwhile")
        self.stop_dbd()
        before = self.server.sql("CHECKSUM TABLE ref_job_table, ref_step_table, ref_assoc_table, qos_table, user_table, acct_table, ref_event_table")
        said = self.imported()
        self.assertEqual(said, "1 clusters, 3 accounts, 4 users, 8 associations, 3 QOS, 1 wckeys\n35 jobs, 37 steps, 4 events, 1 reservations\n")
        self.assertEqual(before, self.server.sql("CHECKSUM TABLE ref_job_table, ref_step_table, ref_assoc_table, qos_table, user_table, acct_table, ref_event_table"))
        once = self.tables()
        self.assertEqual(self.imported(), said)
        self.assertEqual(self.tables(), once, "a second time changes nothing")
        self.cluster.start_dbd()
        wait_for(lambda: "physics" in self.run_cmd("scontrol", "show", "assoc_mgr", check=False).stdout, "the controller knows the site's accounts")
        wait_for(lambda: "nobody" in self.cluster.run("sreport", "-n", "user", "top", "start=2024-11-26", "end=2024-11-27", check=False,
                                                      env=dict(self.cluster.env, TZ="UTC")).stdout, "usage is summed up")
        self.maxDiff = None
        file = File(GOLDEN / "import/commands.txt")
        for case in file.cases:
            done = subprocess.run(case.command, shell=True, env=dict(self.cluster.env, TZ="UTC", LC_ALL="C"), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            case.answer = done.stdout.splitlines()
            if case.answer == case.theirs:
                case.theirs = None
        if os.environ.get("UPDATE_GOLDEN"):
            file.path.write_text(file.text())
        self.assertEqual(file.text(), file.path.read_text())

    def tables(self):
        with sqlite3.connect(self.database) as db:
            db.text_factory = bytes
            return {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}")))
                    for table in ("job", "step", "association", "qos", "user", "account", "wckey", "tres", "node_event", "cluster_event",
                                  "reservation", "blob", "txn", "entity_version")}

    @unittest.skipIf(os.getuid() != 0, "needs root")
    def test_what_root_imports_is_slurm_users(self):
        """The bug: the daemon could not open the file."""
        folder = tempfile.mkdtemp(prefix="sluice-import-")
        self.addCleanup(shutil.rmtree, folder)
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        conf = os.path.join(folder, "slurmdbd.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(f"DbdHost=localhost\nSlurmUser=nobody\nAuthType=auth/slurm\nStorageType=accounting_storage/sqlite\n"
                    f"StorageLoc={folder}/accounting.db\nPidFile={folder}/slurmdbd.pid\n")
        os.chmod(conf, 0o600)
        os.chown(conf, nobody.pw_uid, nobody.pw_gid)
        done = subprocess.run([self.cluster.daemon("sluicedbd"), "-f", conf, "import", self.source], env=self.cluster.env,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(f"{folder}/accounting.db").st_uid, nobody.pw_uid)

    def test_other_schemas(self):
        self.stop_dbd()
        for change, error in (
                ("ALTER TABLE ref_job_table ADD COLUMN segment_size int", "table ref_job_table has the column segment_size, which Slurm 22.05 does not know"),
                ("ALTER TABLE qos_table DROP COLUMN grace_time", "table qos_table has no column grace_time: it is not of Slurm 22.05"),
                ("INSERT INTO cluster_table SELECT creation_time, mod_time, deleted, 'a:b', control_host, control_port, last_port, rpc_version, "
                 "classification, dimensions, plugin_id_select, flags, federation, features, fed_id, fed_state FROM cluster_table LIMIT 1",
                 'cluster_table: "a:b" is no name of a cluster'),
                ("DROP TABLE ref_event_table", "there is no table ref_event_table: this is no database of slurmdbd")):
            before = self.tables()
            self.server.empty()
            self.server.sql(self.dump + ";" + change)
            self.refused(error)
            self.assertEqual(self.tables(), before)
        self.server.empty()
        self.refused("there is no table tres_table: this is no database of slurmdbd")

    def test_a_number_behind_which_none_is_left(self):
        """The next association that had to be given another number took that of association 1."""
        self.stop_dbd()
        before = self.tables()
        for table, column, what in (("ref_assoc_table", "id_assoc", "association"), ("ref_wckey_table", "id_wckey", "wckey")):
            self.server.empty()
            self.server.sql(self.dump + f";UPDATE {table} SET {column} = 4294967295 ORDER BY {column} DESC LIMIT 1")
            self.refused(f"{what} 4294967295: numbers above 2147483647 are not taken over")
            self.assertEqual(self.tables(), before)

    def test_sources_that_are_none(self):
        self.stop_dbd()
        self.refused("/no/such/file", "/no/such/file")
        self.refused("StorageType is not accounting_storage/mysql", self.cluster.dbd_conf)
        wrong = self.source + ".wrong"
        with open(self.source, encoding="utf-8") as f, open(wrong, "w", encoding="utf-8") as out:
            out.write("".join(line for line in f if not line.startswith("StoragePass")) + "StoragePass=nope\n")
        os.chmod(wrong, 0o600)
        self.refused("MariaDB database slurm_acct_db of user slurm", wrong)


if __name__ == "__main__":
    unittest.main(verbosity=2)
