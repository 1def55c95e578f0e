"""sluice sim with the jobs that a running controller knows."""
import csv
import os
import unittest

from harness import ClusterCase, need_root


class SimulatedJobs(ClusterCase):
    NODES, CPUS = 1, 2

    def test_jobs_of_a_running_controller(self):
        runs = self.submit("-n2", "-t10", "-J", "runs", "--wrap", "sleep 100")
        self.wait_state(runs, "RUNNING")
        waits = self.submit("-n1", "-t5", "-J", "waits", "-d", f"afterok:{runs}", "--wrap", "true")
        array = self.submit("-n1", "-t5", "-a", "1-2", "--wrap", "true")
        state = self.out("scontrol", "show", "config").split("StateSaveLocation")[1].split()[1]
        lines = os.path.join(self.cluster.dir, "jobs.csv")
        told = self.out("sluice", "sim", "--trace", state, "--csv", lines)
        self.assertIn(f"Trace          {state}: 4 jobs; 4 were not over and run to their time limits\n", told)
        with open(lines, encoding="utf-8") as f:
            jobs = {row["trace_job"]: row for row in csv.DictReader(f)}
        self.assertEqual({id_: (row["run"], row["state"]) for id_, row in jobs.items()},
                         {f"{runs}": ("600", "COMPLETED"), f"{waits}": ("300", "COMPLETED"), f"{array}_1": ("300", "COMPLETED"),
                          f"{array}_2": ("300", "COMPLETED")})
        # they begin when the first is over, on the two CPUs that it leaves
        self.assertEqual({jobs[id_]["start"] for id_ in (f"{waits}", f"{array}_1")}, {"600"})
        self.fails(1, f"sluice sim: error: the journal {self.cluster.dir}/log/journal.db cannot be opened: unable to open database file\n", "sluice", "sim", "--trace", f"{self.cluster.dir}/log")


if __name__ == "__main__":
    need_root()
    unittest.main()
