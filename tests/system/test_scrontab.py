"""scrontab: jobs that are run again and again."""
import os
import socket
import subprocess
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

EDITOR = """#!/bin/sh
cat > "$1" < {dir}/work/new
"""
ALICE = 41231


class Scrontab(ClusterCase):
    NODES, CPUS = 1, 4
    CONF = "ScronParameters=enable\n"
    FILES = {"editor": EDITOR}

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()

    def tearDown(self):
        self.run_cmd("scrontab", "-r")
        self.wait_no_jobs()

    def install(self, text, *args, **options):
        return self.run_cmd("scrontab", *args, "-", stdin=text, **options)

    def jobs(self):
        return [int(line) for line in self.out("squeue", "-h", "-S", "i", "-o", "%A").split()]

    def test_bounds(self):
        """What a user may keep in the state."""
        refused = "scrontab: error: The crontab cannot be installed: the crontab is too long\n"
        lines = "@yearly :\n" * 1000
        full = lines + "#" * ((64 << 10) - len(lines) - 1) + "\n"
        before = len(self.jobs())
        for text in (lines + "@yearly :\n", full + "#"):
            done = self.install(text, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, refused))
        self.assertEqual(len(self.jobs()), before)
        self.install(full)
        self.assertEqual(len(self.jobs()), before + 1000)
        self.assertEqual(self.out("scrontab", "-l"), full)

    def test_install(self):
        self.fails(1, "no crontab for root\n", "scrontab", "-l")
        text = ("# mine\nWHERE=there\n#SCRON -J often -t 7\n#SCRON --comment=hello\n*/5 * * * * echo $WHERE\n\n@yearly true\n")
        said = self.install(text, "-v").stderr
        often, yearly = self.jobs()
        self.assertEqual(said, f"scrontab: line 5 is job {often}\nscrontab: line 7 is job {yearly}\n")
        self.assertEqual(self.out("scrontab", "-l"), text)
        shown = self.show(often)
        self.assertEqual((shown["JobName"], shown["TimeLimit"], shown["Comment"], shown["CronJob"]), ("often", "00:07:00", "hello", "Yes"))
        self.assertEqual(self.out("squeue", "-h", "-j", often, "-O", "CronJob:5,State:10,Reason").split(), ["Yes", "PENDING", "BeginTime"])
        minute = int(shown["EligibleTime"][14:16])
        self.assertEqual((minute % 5, shown["EligibleTime"][17:]), (0, "00"))
        self.assertEqual(self.show(yearly)["EligibleTime"][4:], "-01-01T00:00:00")
        script = self.out("scontrol", "write", "batch_script", often, "-")
        self.assertEqual(script, "#!/bin/sh\n# This job was submitted through scrontab\necho $WHERE\n")
        # another text replaces the jobs
        path = os.path.join(self.cluster.work, "tab")
        with open(path, "w", encoding="utf-8") as f:
            f.write("@monthly true\n")
        self.run_cmd("scrontab", path)
        self.assertEqual(self.state(often), "CANCELLED")
        self.assertEqual(len(self.jobs()), 1)
        self.run_cmd("scrontab", "-r", stdin="@daily true\n")  # which is not read
        self.assertEqual(self.jobs(), [])
        self.fails(1, "no crontab for root\n", "scrontab", "-l")

    def test_input_that_has_no_name(self):
        """A socket cannot be opened again, and what was read of a file before is not read again."""
        ours, its = socket.socketpair()
        with ours, its:
            ours.sendall(b"@daily true\n")
            ours.shutdown(socket.SHUT_WR)
            done = self.cluster.start("scrontab", stdin=its, stderr=subprocess.PIPE)
            self.assertEqual((done.communicate(timeout=60)[1], done.returncode), ("", 0))
        self.assertEqual(self.out("scrontab", "-l"), "@daily true\n")
        path = os.path.join(self.cluster.work, "half")
        with open(path, "wb", buffering=0) as f:
            f.write(b"to be passed over\n@yearly true\n")
        with open(path, "rb", buffering=0) as f:
            f.seek(len("to be passed over\n"))
            done = self.cluster.start("scrontab", "-", stdin=f, stderr=subprocess.PIPE)
            self.assertEqual((done.communicate(timeout=60)[1], done.returncode), ("", 0))
        self.assertEqual(self.out("scrontab", "-l"), "@yearly true\n")

    def test_errors_name_the_line(self):
        self.install("@daily true\n")
        jobs = self.jobs()
        for text, error in (("true\n", "line 1: a time and a command are wanted"),
                            ("\n61 * * * * true\n", "line 2: Invalid minute: 61"),
                            ("# x\n* * * foo * true\n", "line 2: Invalid month: foo"),
                            ("@never true\n", "line 1: Unknown time: @never"),
                            ("@daily true\n#SCRON -p nowhere\n@daily true\n", "line 3: invalid partition specified: nowhere"),
                            ("#SCRON --array=1-3\n@daily true\n", "line 2: Invalid job array specification"),
                            ("0 0 30 2 * true\n", "line 1: this time never comes")):
            done = self.install(text, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f"scrontab: error: {error}\n"))
        done = self.install("#SCRON --nosuchoption\n@daily true\n", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "scrontab: unrecognized option '--nosuchoption'\nTry \"scrontab --help\" for more information\n"
                         "scrontab: error: line 1: the options are not valid\n")
        for options, error in (("-W", "line 2: --wait is not for crontabs"), ("--wrap x", "line 2: --wrap is not for crontabs")):
            done = self.install(f"#SCRON -t 5\n#SCRON {options}\n@daily true\n", check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f"scrontab: error: {error}\n"))
        self.assertEqual(self.jobs(), jobs)  # as it was
        self.assertEqual(self.out("scrontab", "-l"), "@daily true\n")

    def test_runs_again(self):
        self.install("#SCRON -o ran --open-mode=append\n* * * * * echo ran $SLURM_RESTART_COUNT $HOME\n")
        job, = self.jobs()
        ran = os.path.join(os.path.expanduser("~root"), "ran")
        self.addCleanup(lambda: os.path.exists(ran) and os.remove(ran))
        def lines():
            if not os.path.exists(ran):
                return []
            with open(ran, encoding="utf-8") as f:
                return f.read().splitlines()
        before = self.show(job)["EligibleTime"]
        wait_for(lambda: len(lines()) == 1, "the job has run", 90)
        wait_for(lambda: self.state(job) == "PENDING" and self.show(job)["EligibleTime"] > before, "it waits for its next time")
        self.assertEqual(lines(), ["ran " + os.path.expanduser("~root")])  # a next run is no restart
        # the next run is known after a restart of the controller, too
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("squeue", "-h", check=False).returncode == 0, "the controller answers")
        self.assertEqual(self.state(job), "PENDING")
        self.assertEqual(self.out("scrontab", "-l").count("echo"), 1)

    def test_cancel(self):
        self.install("@daily true\n#SCRON -J two\n@daily true\n")
        first, second = self.jobs()
        self.fails(1, f"Cannot modify scrontab jobs through scontrol for job {first}\n", "scontrol", "update", f"JobId={first}",
                   "TimeLimit=5")
        self.assertIn('CrontabSpec="@daily"', self.out("scontrol", "show", "job", first))
        self.run_cmd("scancel", "--cron", first)
        self.assertEqual(self.state(first), "CANCELLED")
        self.assertEqual(self.out("scrontab", "-l"), "#DISABLED: @daily true\n#SCRON -J two\n@daily true\n")
        self.assertEqual(self.jobs(), [second])
        self.cluster.change_conf(lambda text: text.replace("ScronParameters=enable", "ScronParameters=enable,explicit_scancel"))
        self.run_cmd("scontrol", "reconfigure")
        done = self.run_cmd("scancel", second, check=False)
        self.assertIn("Cannot cancel scrontab jobs without --cron flag.", done.stderr)
        self.assertEqual(self.state(second), "PENDING")
        self.run_cmd("scancel", "-c", second)
        self.assertEqual(self.jobs(), [])
        self.install("@daily true\n")
        self.assertIn("without --cron flag", self.run_cmd("scancel", *self.jobs(), env={"SCANCEL_CRON": "0"}, check=False).stderr)
        self.run_cmd("scancel", *self.jobs(), env={"SCANCEL_CRON": "1"})
        self.assertEqual(self.jobs(), [])
        self.cluster.change_conf(lambda text: text.replace(",explicit_scancel", ""))
        self.run_cmd("scontrol", "reconfigure")

    def test_edit(self):
        new = os.path.join(self.cluster.work, "new")
        env = {"EDITOR": os.path.join(self.cluster.dir, "editor")}
        with open(new, "w", encoding="utf-8") as f:
            f.write("@weekly true\n")
        self.run_cmd("scrontab", "-e", env=env)
        self.assertEqual(self.out("scrontab", "-l"), "@weekly true\n")
        self.assertEqual(self.run_cmd("scrontab", "-e", env=env).stderr, "scrontab: no changes were made\n")
        with open(new, "w", encoding="utf-8") as f:
            f.write("@daily true\n")
        self.run_cmd("scrontab", "-e", env={"VISUAL": env["EDITOR"], "EDITOR": "/bin/false"})  # goes before
        self.assertEqual(self.out("scrontab", "-l"), "@daily true\n")
        with open(new, "w", encoding="utf-8") as f:
            f.write("@weekly true\n")
        self.run_cmd("scrontab", "-e", env={"VISUAL": "", **env})
        with open(new, "w", encoding="utf-8") as f:
            f.write("nonsense\n")
        done = self.run_cmd("scrontab", "-e", env=env, stdin="n\n", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("scrontab: error: line 1: a time and a command are wanted\n", done.stderr)
        self.assertEqual(self.out("scrontab", "-l"), "@weekly true\n")

    def test_users(self):
        user = f"sluicetest{ALICE}"
        self.install("#SCRON -D /tmp\n@daily true\n", "-u", user)
        self.assertEqual(self.out("scrontab", "-u", user, "-l"), "#SCRON -D /tmp\n@daily true\n")
        job, = self.jobs()
        self.assertEqual(self.show(job)["UserId"], f"{user}({ALICE})")
        self.assertEqual(self.out("scrontab", "-l", user=ALICE), "#SCRON -D /tmp\n@daily true\n")
        done = self.run_cmd("scrontab", "-u", "root", "-l", user=ALICE, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "scrontab: fatal: Only root can use the -u option\n"))
        self.run_cmd("scrontab", "-r", user=ALICE)
        self.assertEqual(self.jobs(), [])


class Disabled(ClusterCase):
    NODES, CPUS = 1, 1

    def test_refused(self):
        self.fails(1, "scrontab: fatal: scrontab is disabled on this cluster\n", "scrontab", "-l")


if __name__ == "__main__":
    need_root()
    unittest.main()
