"""--licenses: counted, waited for, given back."""
import json
import unittest

from harness import ClusterCase, wait_for


class Licenses(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "Licenses=matlab:4,ansys@flex:2,ansys\n"

    def used(self, name):
        line = self.out("scontrol", "-o", "show", "lic", name)
        return int(dict(word.split("=") for word in line.split())["Used"])

    def long_job(self, licenses):
        job = self.submit("-L", licenses, "-o", "/dev/null", "--wrap", "sleep 1000")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.wait_state(job, "RUNNING")
        return job

    def cancel(self, *jobs):
        for job in jobs:
            self.run_cmd("scancel", job)
            self.wait_ended(job)

    def test_jobs_wait_for_licenses(self):
        first = self.long_job("matlab:3")
        self.assertEqual(self.used("matlab"), 3)
        second = self.submit("-L", "matlab:2", "-o", "/dev/null", "--wrap", "sleep 1000")
        array = self.submit("-a", "1-2", "-L", "matlab", "-o", "lic-%a", "--wrap", "echo $SLURM_JOB_LICENSES")
        wait_for(lambda: self.file("lic-1") == self.file("lic-2") == "matlab\n", "smaller ones pass by")
        wait_for(lambda: self.out("squeue", "-h", "-j", second, "-o", "%T %r %W").strip() == "PENDING Licenses matlab:2",
                 "the reason is Licenses")
        said = "It waits for licenses: it asks for 2 of matlab, of which 1 of 4 are free."
        wait_for(lambda: said in self.out("sluice", "explain", second), "the array's tasks have given theirs back")
        self.assertIn("matlab:3", self.out("squeue", "-h", "-L", "matlab", "-o", "%W"))
        self.cancel(first)
        self.wait_state(second, "RUNNING")
        self.assertEqual(self.used("matlab"), 2)
        self.cancel(second)
        self.assertEqual(self.used("matlab"), 0)
        wait_for(lambda: not self.out("squeue", "-h", "-j", array, check=False), "the array has left the queue")

    def test_srun_and_salloc(self):
        job = self.long_job("ansys@flex:2")
        for command in (("srun", "-L", "ansys@flex", "--immediate=1", "true"),
                        ("salloc", "-L", "ansys@flex", "--immediate=1", "true")):
            self.assertEqual(self.run_cmd(*command, check=False).returncode, 1)
        self.assertEqual(self.run_cmd("srun", "-L", "ansys", "true").returncode, 0)
        self.assertEqual(self.run_cmd("salloc", "-Q", "-L", "ansys", "true").returncode, 0)
        self.cancel(job)

    def test_update_moves_them(self):
        first, second = self.long_job("matlab:4"), self.submit("-L", "matlab:4", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.run_cmd("scontrol", "update", f"JobId={first}", "Licenses=ansys")
        self.wait_state(second, "RUNNING")
        self.assertEqual((self.used("matlab"), self.used("ansys")), (4, 1))
        self.fails(1, f"Requested licenses are not available for job {first}\n",
                   "scontrol", "update", f"JobId={first}", "Licenses=matlab:1")
        self.assertEqual((self.used("matlab"), self.used("ansys")), (4, 1))
        self.cancel(first, second)

    def test_licenses_of_tasks(self):
        """They did not follow NumTasks, and SLURM_TRES_PER_TASK showed another text than was given."""
        job = self.submit("-H", "-n2", "--tres-per-task=license/matlab=1", "-o", "tasks", "--wrap", "printenv SLURM_TRES_PER_TASK")
        self.assertEqual(self.show(job)["Licenses"], "matlab:2")
        self.run_cmd("scontrol", "update", f"JobId={job}", "NumTasks=3")
        self.assertEqual((self.show(job)["Licenses"], self.show(job)["TresPerTask"]), ("matlab:3", "license/matlab=1"))
        self.run_cmd("scontrol", "release", job)
        wait_for(lambda: self.file("tasks") == "license/matlab=1\n", "the job tells what it was given")
        self.assertEqual(self.out("salloc", "-Q", "-n2", "--tres-per-task=cpu=1,license/matlab=1", "srun", "printenv", "SLURM_TRES_PER_TASK"),
                         2 * "cpu=1,license/matlab=1\n")

    def test_reserved_licenses(self):
        """A reservation of licenses alone: its jobs use any nodes, other jobs get what it leaves."""
        ask = ("scontrol", "create", "reservation=r", "starttime=now", "duration=60", "users=root")
        for words in (("licenses=nope:1", "flags=any_nodes"), ("licenses=matlab:5", "flags=any_nodes"), ("licenses=matlab:x", "nodes=n1")):
            self.fails(1, "Error creating the reservation: Invalid license specification\n", *ask, *words)
        self.fails(1, "Error creating the reservation: Invalid node name specified\n", *ask, "licenses=matlab:1")
        self.out(*ask, "licenses=matlab:3", "flags=license_only")
        self.addCleanup(self.run_cmd, "scontrol", "delete", "reservation=r", check=False)
        self.fails(1, "Error creating the reservation: Invalid license specification\n", *ask[:2], "reservation=s", *ask[3:],
                   "tres=license/matlab=2", "flags=any_nodes")
        self.fails(1, "scontrol: error: The +=/-= notation is not supported when updating licenses.  No reservation update.\n",
                   "scontrol", "update", "reservation=r", "licenses+=ansys")
        for licenses in ("matlab:5", ""):
            self.fails(1, "Error updating the reservation: Invalid license specification\n"
                          "slurm_update error: Invalid license specification\n", "scontrol", "update", "reservation=r", f"licenses={licenses}")
        self.assertEqual(self.out("scontrol", "update", "reservation=r", "licenses=matlab:3"), "Reservation updated.\n")
        shown = self.out("scontrol", "show", "reservation")
        self.assertIn("   Nodes=(null) NodeCnt=0 CoreCnt=0 Features=(null) PartitionName=(null) Flags=ANY_NODES\n   TRES=(null)\n", shown)
        self.assertIn(" Licenses=matlab:3 State=ACTIVE ", shown)
        self.assertTrue(self.out("sinfo", "-h", "-T").endswith("  (null)\n"))
        self.assertEqual(json.loads(self.out("scontrol", "--json", "show", "reservation"))["reservations"][0]["licenses"], "matlab:3")
        self.assertEqual(self.out("scontrol", "-o", "show", "lic", "matlab"),
                         "LicenseName=matlab Total=4 Used=0 Free=4 Reserved=3 Remote=no\n")
        waits = self.submit("-t5", "-L", "matlab:2", "-o", "/dev/null", "--wrap", "sleep 1000")
        wait_for(lambda: self.out("squeue", "-h", "-j", waits, "-o", "%r") == "Licenses\n", "the reservation keeps three")
        self.assertIn("reservations keep 3", self.out("sluice", "explain", waits))
        outside = self.long_job("matlab:1")
        inside = self.submit("--reservation=r", "-L", "matlab:3", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(inside, "RUNNING")
        self.assertEqual(self.used("matlab"), 4)
        self.cancel(inside, outside)
        self.assertEqual(self.state(waits), "PENDING")
        self.run_cmd("scontrol", "delete", "reservation=r")
        self.wait_state(waits, "RUNNING")
        self.cancel(waits)

    def test_show_all(self):
        self.assertEqual(self.out("scontrol", "show", "lic"),
                         "LicenseName=ansys\n    Total=1 Used=0 Free=1 Reserved=0 Remote=no\n"
                         "LicenseName=ansys@flex\n    Total=2 Used=0 Free=2 Reserved=0 Remote=no\n"
                         "LicenseName=matlab\n    Total=4 Used=0 Free=4 Reserved=0 Remote=no\n")
        self.assertEqual(self.out("scontrol", "show", "lic", "nope"), "")

    def test_json(self):
        job = self.long_job("matlab:3")
        shown = json.loads(self.out("scontrol", "--json", "show", "lic"))
        self.assertEqual([(one["LicenseName"], one["Total"], one["Used"], one["Free"], one["Remote"]) for one in shown["licenses"]],
                         [("ansys", 1, 0, 1, False), ("ansys@flex", 2, 0, 2, False), ("matlab", 4, 3, 1, False)])
        self.assertEqual(shown["meta"]["plugin"]["data_parser"], "data_parser/v0.0.44")
        self.assertTrue(shown["last_update"]["set"])
        one = json.loads(self.out("scontrol", "--json=v0.0.42", "show", "lic", "matlab"))["licenses"]
        self.assertEqual([(one["LicenseName"], one["Used"]) for one in one], [("matlab", 3)])
        self.assertIn("!!str LicenseName: !!str matlab", self.out("scontrol", "--yaml", "show", "lic"))
        self.cancel(job)

    def test_refusals(self):
        for licenses in ("nope", "matlab:9", "matlab:x", ":3", "matlab=2", "matlab|ansys", "matlab:4,matlab:1"):
            self.fails(1, "sbatch: error: Batch job submission failed: Invalid license specification\n",
                       "sbatch", "-L", licenses, "--wrap", "true")
        for licenses in ("matlab:0", "matlab:", "matlab,matlab:2", "matlab:2;ansys"):
            self.cancel(self.submit("-H", "-L", licenses, "--wrap", "true"))


if __name__ == "__main__":
    unittest.main()
