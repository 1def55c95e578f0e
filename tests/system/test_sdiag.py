"""sdiag: what the controller has counted."""
import json
import re
import unittest

from harness import ClusterCase, need_root, wait_for


class Sdiag(ClusterCase):
    NODES, CPUS = 1, 2

    def number(self, name, text=None):
        return int(re.search(rf"{re.escape(name)}: *(\d+)", text or self.out("sdiag"))[1])

    def calls(self, *args):
        return re.findall(r"\t(\w+) +\( *(\d+)\) count:(\d+) +ave_time:(\d+) +total_time:(\d+)",
                          self.out("sdiag", *args).split("statistics by user")[0])

    def test_counts(self):
        self.run_cmd("sdiag", "--reset")
        self.assertEqual(self.number("Jobs submitted"), 0)
        good = self.submit("-o", "/dev/null", "--wrap", "true")
        long = self.submit("-o", "/dev/null", "-n2", "--wrap", "sleep 1000")
        waits = self.submit("-o", "/dev/null", "-n2", "--wrap", "true")
        self.wait_ended(good)
        self.wait_state(long, "RUNNING")
        text = self.out("sdiag")
        self.assertEqual([self.number("Jobs " + what, text) for what in ("submitted", "started", "completed", "canceled", "failed")],
                         [3, 2, 1, 0, 0])
        self.assertEqual([self.number("Jobs " + what, text) for what in ("pending", "running")], [1, 1])
        self.assertGreater(self.number("Total cycles", text), 0)
        self.assertIn("Main schedule statistics (microseconds):\n\tLast cycle:", text)
        self.assertIn("\nBackfilling stats\n\tTotal backfilled jobs (since last slurm start): 0\n", text)
        for job in (waits, long):  # in this order: without the long one the other begins
            self.run_cmd("scancel", job)
        self.wait_ended(long)
        wait_for(lambda: self.number("Jobs canceled") == 2, "both are counted")
        by_name = {row[0]: int(row[2]) for row in self.calls()}
        self.assertEqual(by_name["REQUEST_SUBMIT_BATCH_JOB"], 3)
        self.assertEqual(by_name["REQUEST_KILL_JOB"], 2)
        self.assertRegex(self.out("sdiag"), r"Remote Procedure Call statistics by user\n\troot +\( +0\) count:\d+")
        self.assertEqual(self.out("sdiag", "-r"), "Reset scheduling statistics\n")
        text = self.out("sdiag")
        self.assertEqual([self.number("Jobs " + what, text) for what in ("submitted", "canceled")], [0, 0])
        done = self.run_cmd("sdiag", "-r", user=65534, check=False)
        self.assertEqual((done.returncode, done.stderr), (255, "slurm_reset_statistics: Access/permission denied\n"))

    def test_all(self):  # -a takes --reset back
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", held)
        before = self.number("Jobs submitted")
        self.assertGreater(before, 0)
        self.assertEqual(self.number("Jobs submitted", self.out("sdiag", "-r", "-a")), before)

    def test_other_cluster(self):  # -M
        for options in (("-M", "elsewhere"), ("--cluster=elsewhere",)):
            done = self.run_cmd("sdiag", *options, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("sdiag: error: 'elsewhere' can't be reached now", done.stderr)

    def test_orders(self):
        self.out("sinfo")
        self.out("squeue")
        ids = [int(row[1]) for row in self.calls("-i")]
        self.assertEqual(ids, sorted(ids))
        counts = [int(row[2]) for row in self.calls("--all")]
        self.assertEqual(counts, sorted(counts, reverse=True))
        totals = [int(row[4]) for row in self.calls("-t")]
        self.assertEqual(totals, sorted(totals, reverse=True))
        averages = [int(row[3]) for row in self.calls("-T")]
        self.assertEqual(averages, sorted(averages, reverse=True))

    def test_stages(self):  # beside Slurm's figures: passes that plan anew and those that repair, by stage
        long = self.submit("-o", "/dev/null", "-n2", "--wrap", "sleep 1000")
        waits = self.submit("-o", "/dev/null", "-n2", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", waits, long)
        self.wait_state(long, "RUNNING")
        wait_for(lambda: "N/A" not in self.out("squeue", "-h", "--start", "-j", waits), "it is planned for")
        self.run_cmd("sdiag", "-r")
        more = self.submit("-o", "/dev/null", "-n2", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", more)
        statistics = wait_for(lambda: self.passes("incremental")["plans_kept"] > 0 and self.passes("incremental"),
                              "the plan of the first one is kept")
        names = ["prepare", "eligible", "prioritise", "place", "backfill", "preempt", "explain"]
        self.assertEqual([stage["name"] for stage in statistics["stages"]], names)
        self.assertEqual({stage["name"] for stage in self.passes("full")["stages"]}, set(names))
        self.assertLessEqual(sum(stage["sum"] for stage in statistics["stages"]), statistics["sum"])
        text = self.out("sdiag")
        self.assertRegex(text, r"Scheduling stages \(microseconds\)\n\tfull passes: \d+, jobs planned: \d+, plans kept: 0\n"
                               r"\t\tprepare +last:\d+ +max:\d+ +ave:\d+ +sum:\d+\n\t\teligible ")
        self.assertRegex(text, r"\tincremental passes: [1-9]")

    def passes(self, kind):
        document = json.loads(self.out("sdiag", "--json"))
        return next(one for one in document["statistics"]["scheduler_passes"] if one["kind"] == kind)

    def test_orders_that_wait(self):  # what does not reach a node is an outgoing message that is kept
        self.assertIn("\nPending RPC statistics\n\tNo pending RPCs\n", self.out("sdiag"))
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        self.cluster.kill_node("n1")
        self.run_cmd("scancel", job)
        text = wait_for(lambda: (lambda out: "REQUEST_TERMINATE_JOB" in out.split("Pending RPC statistics")[1] and out)(self.out("sdiag")),
                        "its end waits")
        self.assertGreater(self.number("Agent queue size", text), 0)
        self.cluster.start_node("n1")
        wait_for(lambda: self.number("Agent queue size") == 0, "it has arrived")

    def test_json(self):
        for parser in ("", "=v0.0.42", "=v0.0.43", "=v0.0.44"):
            document = json.loads(self.out("sdiag", "--json" + parser))
            counts = document["statistics"]
            self.assertEqual(set(counts["bf_exit"]), {"end_job_queue", "bf_max_job_start", "bf_max_job_test", "bf_max_time",
                                                      "bf_node_space_size", "state_changed"})
            self.assertIn({"set", "infinite", "number"}, [set(counts["req_time"])])
        self.assertIn("\n!!str statistics: !!map\n", self.out("sdiag", "--yaml"))
        done = self.run_cmd("sdiag", "--json=list", check=False)
        self.assertIn("data_parser/v0.0.44", done.stderr)

    def test_words(self):
        self.assertIn("--sort-by-id", self.out("sdiag", "--help"))
        self.assertTrue(self.out("sdiag", "--usage").startswith("Usage: sdiag "))
        self.assertEqual(self.out("sdiag", "-V"), self.out("sinfo", "-V"))


if __name__ == "__main__":
    need_root()
    unittest.main()
