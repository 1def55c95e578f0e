"""priority/multifactor and sprio against a running cluster, with the answers of a real Slurm (tests/golden/priority)."""
import os
import pathlib
import re
import sys
import unittest

from harness import ClusterCase

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden/priority"
sys.path.insert(0, str(GOLDEN))
import replay  # noqa: E402


# Where ours is not 22.05's line: 26.05 shows the account and the QOS' name with -l, prefixes that several options have are
# listed in another order and with all names, -vv does not name plugins, and squeue -P goes by tier.
DIFFERENT = re.compile(r"sprio -l$|sprio -wl$|sprio -vv|sprio --lo |sprio --u |squeue -h -P")


class Priorities(ClusterCase):
    NODES = 4
    CONF = replay.CONF + "NodeName=DEFAULT " + " ".join(f"{key}={value}" for key, value in replay.NODES.items()) + "\n" + \
        "".join(f"NodeName=n{n} Port=@{n} NodeHostname=localhost NodeAddr=127.0.0.1\n" for n in range(1, 5)) + replay.PARTITIONS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.run("scontrol", "update", "NodeName=n[1-4]", "State=DRAIN", "Reason=test")

    def configure(self, lines):
        def change(text):
            text = re.sub(r"# of the case\n.*# end of the case\n", "", text, flags=re.S)
            return text + "# of the case\n" + "".join(line + "\n" for line in lines) + "# end of the case\n"
        self.cluster.change_conf(change)
        self.run_cmd("scontrol", "reconfigure")

    def tearDown(self):
        self.run_cmd("scancel", "-u", str(os.geteuid()))
        self.run_cmd("scancel", "-u", "nobody")
        self.wait_no_jobs()

    def replay(self, *names):
        for name in names:
            with self.subTest(name):
                file = replay.File(GOLDEN / f"{name}.txt")
                self.configure(file.conf)
                for case, answer in zip(file.cases, replay.answers(file.cases, self.cluster.env, self.cluster.work)):
                    with self.subTest(case.command):
                        if DIFFERENT.search(case.command):
                            continue
                        self.assertEqual(answer, case.answer)
            self.tearDown()

    def test_sizes(self):
        self.replay("job_size", "favor_small", "relative_to_time", "relative_to_time_small")

    def test_partitions(self):
        self.replay("partition", "partition_raw")

    def test_tres(self):
        self.replay("tres", "tres_raw", "tres_negative", "max_tres")

    def test_all_weights(self):
        self.replay("all", "no_normal_all", "fair_tree")

    def test_layouts(self):  # -o -l -n -w -h, and what else stands in that file
        self.assertEqual(self.out("sprio", "-h"), "")
        self.replay("layouts")

    def rows(self, *args):
        return [line.split() for line in self.out("sprio", "-h", *args).splitlines()]

    def test_filters(self):  # -j -u -p
        self.configure(["PriorityWeightJobSize=1000"])
        one = str(self.submit("-o", "/dev/null", "--wrap", "true"))
        two = str(self.submit("-o", "/dev/null", "-p", "half,zero", "--wrap", "true"))
        other = str(self.submit("-o", "/dev/null", "--uid=nobody", "--wrap", "true"))
        ask = ("-o", "%i %r")
        self.assertEqual(self.rows("-j", f"{one},{other}", *ask), [[one, "debug"], [other, "debug"]])
        self.assertEqual(self.rows(f"--jobs={two}", "-S", "r", *ask), [[two, "half"], [two, "zero"]])
        for option in ("-u", "--user", "--users"):
            self.assertEqual(self.rows(option, "nobody", *ask), [[other, "debug"]])
        for option in ("-p", "--partition"):
            self.assertEqual(self.rows(option, "zero", *ask), [[two, "zero"]])

    def test_sort(self):  # -S
        self.configure(["PriorityWeightJobSize=1000"])
        jobs = [str(self.submit("-o", "/dev/null", "-n", n, "--wrap", "true")) for n in ("4", "16", "8")]
        small, large, middle = jobs
        ids = lambda *args: [row[0] for row in self.rows("-o", "%i", *args)]
        self.assertEqual(ids(), jobs)
        self.assertEqual(ids("-S", "-Y"), [large, middle, small])
        self.assertEqual(ids("--sort=+J"), [small, middle, large])
        self.assertEqual(ids("-S", "u,-i"), jobs[::-1])

    def test_help(self):  # --help --usage --helpformat -V
        self.assertTrue(self.out("sprio", "--help").startswith("Usage: sprio [OPTIONS]\n"))
        self.assertEqual(self.out("sprio", "--usage"),
                         "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
                         "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n")
        self.assertIn("%Y PRIORITY\n", self.out("sprio", "--helpformat"))
        for option in ("-V", "--version"):
            self.assertTrue(self.out("sprio", option).startswith("slurm "))

    def test_verbose(self):  # -v
        self.assertIn("verbose    = 1\n", self.out("sprio", "-v", "-w"))
        self.assertIn("verbose    = 2\n", self.out("sprio", "--verbose", "-vw"))

    def test_cluster(self):  # -M
        self.assertEqual(self.out("sprio", "-w", "-M", "trial"), self.out("sprio", "-w"))
        for option in ("-M", "--cluster", "--clusters"):
            self.assertEqual(self.run_cmd("sprio", option, "nosuch", check=False).returncode, 1)

    def test_order(self):  # jobs start as their priorities say
        self.configure(["PriorityWeightJobSize=1000"])
        jobs = [str(self.submit("-o", "/dev/null", "-N4", "-n", n, "--wrap", "true")) for n in ("4", "16", "32")]
        self.run_cmd("scontrol", "update", "NodeName=n[1-4]", "State=RESUME")
        try:
            for job in jobs:
                self.wait_ended(job)
            starts = [self.show(job)["StartTime"] for job in jobs]
            self.assertEqual(starts, sorted(starts, reverse=True))
        finally:
            self.run_cmd("scontrol", "update", "NodeName=n[1-4]", "State=DRAIN", "Reason=test")

    def test_running_jobs(self):  # PriorityFlags=CALCULATE_RUNNING
        self.configure(["PriorityWeightPartition=1000"])
        job = str(self.submit("-o", "/dev/null", "-p", "half", "--wrap", "sleep 1000"))
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        try:
            self.wait_state(job, "RUNNING")
            priority = lambda: self.out("squeue", "-h", "-j", job, "-o", "%Q").strip()
            self.assertEqual((priority(), self.rows()), ("500", []))
            self.configure(["PriorityWeightPartition=3000"])
            self.assertEqual((priority(), self.rows()), ("500", []), "it keeps the one that it started with")
            self.configure(["PriorityWeightPartition=3000", "PriorityFlags=CALCULATE_RUNNING"])
            self.assertEqual((priority(), self.rows("-o", "%i %Y")), ("1500", [[job, "1500"]]))
        finally:
            self.run_cmd("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")


class Basic(ClusterCase):
    """Without priority/multifactor."""
    NODES, CONF = 1, "PriorityType=priority/basic\n"

    def test_sprio_has_nothing_to_show(self):
        self.fails(1, "You are not running a supported priority plugin\n(priority/basic).\n"
                   "Only 'priority/multifactor' is supported.\n", "sprio")


if __name__ == "__main__":
    unittest.main(verbosity=2)
