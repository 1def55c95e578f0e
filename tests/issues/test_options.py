"""Bugs in what options and variables of the commands do."""
import os
import unittest

from harness import ClusterCase


class Options(ClusterCase):
    NODES, CPUS = 1, 2

    def test_patterns_in_the_name_of_the_input(self):
        """The name was taken as it is, although scontrol showed it expanded: the launch failed, and the job was held."""
        with open(os.path.join(self.cluster.work, "in-named"), "w", encoding="ascii") as f:
            f.write("hello\n")
        self.wait_ended(self.submit("--input=in-%x", "-J", "named", "-o", "pattern.out", "--wrap", "cat"))
        self.assertEqual(self.file("pattern.out"), "hello\n")

    def test_the_wish_to_kill_the_step_reaches_the_steps(self):
        """--oom-kill-step of sbatch and salloc was overwritten in the environment that their steps get it from."""
        tell = "echo $SLURM_OOM_KILL_STEP; srun sh -c 'echo $SLURM_OOM_KILL_STEP'"
        for options, said in (((), "0\n0\n"), (("--oom-kill-step",), "1\n1\n")):
            self.assertEqual(self.out("salloc", "-Q", *options, "sh", "-c", tell), said)
            self.wait_ended(self.submit("-o", "wish.out", *options, "--wrap", tell))
            self.assertEqual(self.file("wish.out"), said)

    def test_fewer_nodes_than_tasks_per_node_need(self):
        """-N2 -n4 --ntasks-per-node=1 was given four nodes, and srun took -n3 for a contradiction that it is not."""
        refused = "Requested node configuration is not available\n"
        options = ("-N1", "-n3", "--ntasks-per-node=2")
        self.fails(1, "sbatch: error: Batch job submission failed: " + refused, "sbatch", *options, "--wrap", "true")
        done = self.run_cmd("salloc", *options, "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("salloc: error: Job submit/allocate failed: " + refused, done.stderr)
        done = self.run_cmd("srun", "-N2", "-n3", "--ntasks-per-node=1", "true", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "srun: error: Unable to allocate resources: " + refused))

    def test_nil_exports_what_is_slurms_and_adds_nothing(self):
        """--export=NIL dropped SLURM_* too, and the variables of a login shell were added as with NONE."""
        env = {"MINE": "1", "SLURM_OWN": "kept"}
        self.wait_ended(self.submit("--export=NIL", "-o", "nil.out", "--wrap", "/usr/bin/env", env=env))
        found = dict(line.split("=", 1) for line in self.file("nil.out").splitlines() if "=" in line)
        self.assertEqual([found.get(name) for name in ("MINE", "LOGNAME", "SLURM_OWN")], [None, None, "kept"])


if __name__ == "__main__":
    unittest.main()
