"""Two weeks of a site (tests/golden/import/weeks.py), taken over by `sluicedbd import`: sacct and sreport beside what a real Slurm said of them."""
import os
import pathlib
import subprocess
import sys
import unittest

from accounting import AccountedCluster
from databases import Server, programs
from harness import ClusterCase, wait_for

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
sys.path[:0] = [str(GOLDEN / "priority"), str(GOLDEN / "import")]
import weeks  # noqa: E402
from replay import File  # noqa: E402


@unittest.skipUnless(programs("mariadb"), "no mariadb")
class Weeks(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.site = weeks.Site()
        with Server("mariadb") as server:
            server.sql("SET autocommit=0;" + cls.site.text() + "COMMIT;")
            cls.cluster = AccountedCluster(1, 1, 1000, conf="ClusterName=ref\n", dbd="TrackWCKey=yes\n")
            source = os.path.join(cls.cluster.dir, "old-slurmdbd.conf")
            with open(source, "w", encoding="utf-8") as f:
                f.write("DbdHost=localhost\nSlurmUser=root\n" + server.conf())
            os.chmod(source, 0o600)
            cls.cluster.kill_controller()  # what it tells of its own cluster would stand beside the weeks
            cls.cluster.stop_dbd()
            cls.said = subprocess.run([cls.cluster.daemon("sluicedbd"), "-f", cls.cluster.dbd_conf, "import", source], env=dict(cls.cluster.env, TZ="UTC"),
                                      capture_output=True, text=True, check=False)
        cls.cluster.env["TZ"] = "UTC"
        cls.cluster.start_dbd()

    def test_answers_are_those_of_the_site(self):
        self.assertEqual((self.said.returncode, self.said.stderr), (0, ""))
        self.assertIn(f"\n{len(self.site.jobs)} jobs, {len(self.site.steps)} steps, ", self.said.stdout)
        wait_for(lambda: self.cluster.sql("SELECT count(*) FROM cluster_usage WHERE period = 2")[0][0] > 20, "usage is summed up", 120)
        self.maxDiff = None
        file = File(GOLDEN / "import/weeks.txt")
        for case in file.cases:
            done = subprocess.run(case.command, shell=True, env=dict(self.cluster.env, LC_ALL="C"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            answer = done.stdout.decode(errors="surrogateescape").splitlines()
            if os.environ.get("UPDATE_GOLDEN") and case.theirs is None and answer != case.answer:
                case.theirs, case.why = case.answer, "?"
            case.answer = answer
            if case.answer == case.theirs:
                case.theirs = None
        text = file.text().encode(errors="surrogateescape")
        if os.environ.get("UPDATE_GOLDEN"):
            file.path.write_bytes(text)
        self.assertEqual(text.decode(), file.path.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
