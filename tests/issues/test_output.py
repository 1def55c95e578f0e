"""Bugs in what commands show."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import unittest

from harness import ClusterCase, wait_for

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "json"
sys.path.insert(0, str(GOLDEN))
import distill  # noqa: E402  (it is beside its results)


class Structured(ClusterCase):
    NODES, CPUS = 1, 4

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.process = cls.cluster.start("srun", "-n2", "sleep", "1000", stderr=subprocess.DEVNULL)
        case = cls("test_paths_and_types")
        cls.step = wait_for(lambda: case.out("squeue", "-s", "-h", "-o", "%i").strip(), "the step runs")
        cls.waiting = case.submit("-n4", "-o", "/dev/null", "--wrap", "true")
        case.run_cmd("scontrol", "create", "reservation", "ReservationName=later", "StartTime=now+2hours", "Duration=60",
                     "Users=root", "Nodes=n1", "Flags=MAINT,IGNORE_JOBS")

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.wait()
        super().tearDownClass()

    def command_of(self, recorded):
        """What prints the like of a recorded file: "scontrol-job-v0.0.44.json" is from scontrol show job."""
        command, parser = re.fullmatch(r"(.+)-(v[\d.]+)\.json", recorded).groups()
        name, _, entity = command.partition("-")
        return (name, *(("show", entity) if entity else ()), f"--json={parser}")

    def test_listpids_of_no_step(self):
        """A step that is none was taken for step 0, whose processes were listed."""
        job = self.step.split(".")[0]
        done = self.run_cmd("scontrol", "listpids", f"{job}.foo", check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"\"{job}.foo\" does not look like a stepid\n"))

    def test_paths_and_types(self):
        """Of the structure that programs read, only the keys of jobs were compared with Slurm's."""
        # passes by their stages are Sluice's own
        unknown = {"jobs[].mail_type[]"}
        own = "statistics.scheduler_passes"
        recorded = sorted(GOLDEN.glob("*.json.txt"))
        self.assertGreater(len(recorded), 12)
        for path in recorded:
            known = dict(line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
            printed = self.out(*self.command_of(path.stem))
            for line in distill.lines_of_json(printed):
                where, types = line.split("\t")
                if where not in unknown and not where.startswith(own):
                    self.assertLessEqual(set(types.split("|")), set(known.get(where, "").split("|")), f"{path.stem}: {where}")

    def test_states_before_and_after(self):
        """squeue --json showed all jobs when --states stood before it."""
        for words in (("-t", "CANCELLED", "--json"), ("--json", "-t", "CANCELLED")):
            states = {state for job in json.loads(self.out("squeue", *words))["jobs"] for state in job["job_state"]}
            self.assertLessEqual(states, {"CANCELLED"}, words)

    def test_resources_of_a_job(self):
        """All cores were said to be of the first socket, those of others were left out, and each CPU counted as used."""
        jobs = {job["job_id"]: job for job in json.loads(self.out("squeue", "--json"))["jobs"]}
        node, = jobs[int(self.step.split(".")[0])]["job_resources"]["nodes"]["allocation"]
        states = [core["status"] for place in node["sockets"] for core in place["cores"]]
        self.assertEqual(sorted(states), 2 * [["ALLOCATED"]] + 2 * [["UNALLOCATED"]])
        self.assertEqual([place["index"] for place in node["sockets"]], list(range(len(node["sockets"]))))
        self.assertEqual(node["cpus"], {"count": 2, "used": 2})

    def test_the_srun_of_a_step(self):
        """Its address was shown for its host, and no process."""
        host = socket.gethostname().split(".")[0]
        self.assertIn(f"SrunHost:Pid={host}:{self.process.pid}\n", self.out("scontrol", "show", "step", self.step))
        (step,) = json.loads(self.out("scontrol", "show", "step", self.step, "--json"))["steps"]
        self.assertEqual(step["srun"], {"host": host, "pid": self.process.pid})


class Tables(ClusterCase):
    NODES, CPUS = 1, 2

    def test_what_is_cut(self):
        """10 days were shown as 10-00:00: in a column of 9, and the default partition lost its mark."""
        job = self.submit("-H", "-t", "10-0", "--switches=2@4", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%.9l|%9l|"), "10-00:00:00|10-00:00:|\n")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-O", "timelimit:.5,reqswitch:2,wait4switch:.6"), "10-00:00:002   4:00\n")
        self.assertEqual(self.show(job)["Switches"], "2@00:04:00")
        self.assertEqual(self.out("sinfo", "-h", "-o", "%5P|%.0P"), "debu*|debug*\n")
        self.run_cmd("scancel", job)

    def test_formats_that_are_none(self):
        """%% and a width of 0 were taken for fields, and a field that is none was printed without its width."""
        self.assertEqual(self.out("sinfo", "-h", "-o", "%%D %0D%%"), "1 1\n")
        done = self.run_cmd("squeue", "-s", "-o", "%.8a|%i")
        self.assertEqual((done.stdout, done.stderr), ("%.8a|STEPID\n", "squeue: error: Invalid job step format specification: a\n"))

    def test_no_header_no_date(self):
        """--long printed the date although --noheader was given."""
        self.assertEqual(self.out("squeue", "-h", "-l", "-n", "nobodys"), "")
        self.assertTrue(self.out("sinfo", "-h", "-l").startswith("debug*"))

    def test_a_full_disk(self):
        """Commands whose output found no room ended as if all were well."""
        why = "error: Cannot write to standard output: (No space left on device|some of it is lost)\n"
        for command in (("squeue",), ("squeue", "-i", "1"), ("sinfo", "-T"), ("scontrol", "version"),
                        ("sbatch", "--help"), ("sbatch", "-H", "--wrap", "true")):
            with open("/dev/full", "w", encoding="ascii") as full:
                process = self.cluster.start(*command, stdout=full, stderr=subprocess.PIPE)
            said = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 1, command)
            self.assertRegex(said, f"^{command[0]}: {why}$")
        self.run_cmd("scancel", "--me")
        path = self.cluster.work + "/full"
        if not os.path.lexists(path):
            os.symlink("/dev/full", path)
        job = self.submit("-H", stdin="#!/bin/sh\n" + "# long\n" * 4000)
        self.fails(1, f"failed to write file `{path}`\n", "scontrol", "write", "batch_script", job, path)
        self.run_cmd("scancel", job)


if __name__ == "__main__":
    unittest.main()
