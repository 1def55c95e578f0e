"""Where options of sbatch, updates and what is shown were taken otherwise than in Slurm."""
import os
import unittest

from harness import ClusterCase


class Submission(ClusterCase):
    NODES, CPUS = 1, 4

    def held(self, *options):
        job = self.submit("-H", "-o", "/dev/null", *options, "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", job)
        return job

    def script(self, folder, name, job_name):
        os.makedirs(os.path.join(self.cluster.work, folder), exist_ok=True)
        with open(os.path.join(self.cluster.work, folder, name), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n#SBATCH -J {job_name}\ntrue\n")

    def name_of(self, *options):
        job = self.submit("-H", "-o", "/dev/null", *options)
        self.addCleanup(self.run_cmd, "scancel", job)
        return self.show(job)["JobName"]

    def test_the_script_is_looked_for_in_the_folder_of_chdir(self):
        """It was looked for here alone: "Unable to open file", or another script of that name ran."""
        self.script("there", "only.sh", "only")
        self.script("there", "both.sh", "there")
        self.script(".", "both.sh", "here")
        self.assertEqual(self.name_of("-D", "there", "only.sh"), "only")
        self.assertEqual(self.name_of("-D", os.path.join(self.cluster.work, "there"), "only.sh"), "only")
        self.assertEqual(self.name_of("-D", "there", "both.sh"), "there")
        self.assertEqual(self.name_of("-D", "there", "there/both.sh"), "there")
        self.assertEqual(self.name_of("-D", "there", "./both.sh"), "here")
        self.fails(1, "sbatch: error: Unable to open file ./only.sh\n", "sbatch", "-D", "there", "./only.sh")

    def test_parsable_and_quiet(self):
        """The id was not printed."""
        job = self.out("sbatch", "-Q", "--parsable", "-H", "--wrap", "true").strip()
        self.addCleanup(self.run_cmd, "scancel", job)
        self.assertRegex(job, r"^\d+$")

    def test_updates_relative_to_what_takes_none(self):
        """The sign became a part of the value: comment+=x made the comment "+x", nice+=5 a nice value of 5."""
        job = self.held("-t", "30", "--comment=kept")
        for change in ("comment+=x", "Nice+=5", "name-=x"):
            self.fails(1, f"scontrol: error: Option {change} does not accept [+|-]= syntax\n",
                       "scontrol", "update", f"jobid={job}", change)
        self.run_cmd("scontrol", "update", f"jobid={job}", "TimeLimit+=5")
        shown = self.show(job)
        self.assertEqual((shown["Comment"], shown["Nice"], shown["JobName"], shown["TimeLimit"]),
                         ("kept", "0", "wrap", "00:35:00"))
        error = "scontrol: error: Update of this parameter is not supported: AllowGroups+=x\n"
        self.fails(1, error + "scontrol: error: Request aborted\n",
                   "scontrol", "update", "partitionname=debug", "AllowGroups+=x")
        self.assertIn(" AllowGroups=ALL ", self.out("scontrol", "-o", "show", "partition", "debug"))

    def test_what_is_shown_of_a_job(self):
        """Sockets of a node stood where those of a board belong, and endless waits were 136 years."""
        shown = self.show(self.held("-B", "2:1", "--delay-boot=INFINITE"))
        self.assertEqual((shown["ReqB:S:C:T"], shown["Socks/Node"]), ("0:0:1:*", "2"))
        self.assertEqual(shown["DelayBoot"], "UNLIMITED")

    def test_beginnings_of_an_option_with_several_names(self):
        """squeue --nod said that it could not tell --node from --nodes and --nodelist."""
        job = self.held()
        for words in (("--par=debug",), ("--part", "debug"), ("--use", "0")):
            self.assertIn(str(job), self.out("squeue", "-h", *words))
        self.assertEqual(self.out("squeue", "-h", "--nod", "n1"), "")
        self.assertIn("is ambiguous", self.run_cmd("squeue", "--no", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
