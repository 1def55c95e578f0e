"""Coordinators and operators of accounting ran programs as the users of others' jobs, and read their scripts."""
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, add_users, need_root, wait_for

OWNER, COORDINATOR, OPERATOR = 61841, 61842, 61843


class Others(ClusterCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, OWNER, COORDINATOR, OPERATOR)
        cls.cluster = AccountedCluster(1)
        for words in (["add", "account", "lab"], ["add", "user", f"sluicetest{OWNER}", f"sluicetest{COORDINATOR}", "account=lab"],
                      ["add", "user", f"sluicetest{OPERATOR}", "account=lab", "adminlevel=operator"],
                      ["add", "coordinator", "account=lab", f"names=sluicetest{COORDINATOR}"]):
            cls.cluster.run("sacctmgr", "-i", *words)

    def denied(self, by, *words, stdin=None):
        done = self.run_cmd(*words, user=by, check=False, cwd="/", stdin=stdin)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stderr, "denied|Invalid job id specified")
        self.assertEqual(done.stdout, "")

    def test_nobody_runs_programs_as_another_user(self):
        job = self.submit("-A", "lab", "-o", "/dev/null", "--wrap", "srun sleep 1000", user=OWNER, cwd="/")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-s", "-h", "-o", "%i"), "its step runs")
        # he may cancel it and change its comment
        wait_for(lambda: self.run_cmd("scontrol", "update", f"jobid={job}", "comment=x", user=COORDINATOR, check=False).returncode == 0, "rights came")
        for by in (COORDINATOR, OPERATOR):
            self.denied(by, "srun", f"--jobid={job}", "--overlap", "id")
            self.denied(by, "sattach", f"{job}.0", stdin="id")
        script = lambda by: self.run_cmd("scontrol", "write", "batch_script", job, "-", user=by, check=False).stdout
        self.assertEqual(script(COORDINATOR), "")
        self.assertIn("srun sleep", script(OPERATOR))
        waiting = self.submit("-H", "-A", "lab", "--wrap", "true", user=OWNER, cwd="/")
        for by in (COORDINATOR, OPERATOR):
            self.denied(by, "scontrol", "update", f"jobid={waiting}", "workdir=/tmp")
            self.denied(by, "scontrol", "update", f"jobid={waiting}", "stdout=/tmp/x")
        self.run_cmd("scancel", job, waiting, user=COORDINATOR)


if __name__ == "__main__":
    unittest.main()
