"""MPI programs under srun, and under their own mpirun in an allocation: one world, not many of one rank."""
import os
import re
import shutil
import subprocess
import unittest

from harness import ClusterCase, pids_with

NODES, TASKS = 4, 16
PLACE = ("-N", str(NODES), "-n", str(TASKS), "--ntasks-per-node", str(TASKS // NODES))
SUM = sum(range(TASKS))
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, sum, near;
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Comm here;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &here);
  MPI_Comm_size(here, &near);
  printf("rank=%d size=%d sum=%d half=%d node=%s\n", rank, size, sum, near, getenv("SLURMD_NODENAME"));
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (*what && rank == 5) {
    if (!strcmp(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(what, "kill")) raise(SIGKILL);
    _exit(3);
  }
  if (*what) pause();
  MPI_Finalize();
  return 0;
}
"""
LINE = re.compile(r"rank=(\d+) size=(\d+) sum=(\d+) half=(\d+) node=(\w+)\n")


class MpiCase(ClusterCase):
    """A cluster and the program, compiled with COMPILER."""
    NODES, CPUS, CONF = NODES, 8, "KillWait=1\n"
    COMPILER, ENV = "", {}

    @classmethod
    def setUpClass(cls):
        if not cls.COMPILER or not shutil.which(cls.COMPILER):
            raise unittest.SkipTest(f"{cls.COMPILER or 'the compiler'} is not installed")
        super().setUpClass()
        cls.program = os.path.join(cls.cluster.dir, "mpi_program")
        with open(cls.program + ".c", "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        subprocess.run([cls.COMPILER, cls.program + ".c", "-o", cls.program], check=True)
        cls.cluster.env.update(cls.ENV)

    def check_world(self, text, tasks=TASKS, nodes=NODES):
        """Each rank is there once, knows the others, and is where block distribution puts it."""
        found = {int(rank): (int(size), int(total), int(half), node) for rank, size, total, half, node in LINE.findall(text)}
        per_node = tasks // nodes
        self.assertEqual(found, {rank: (tasks, sum(range(tasks)), tasks // 2, f"n{rank // per_node + 1}")
                                 for rank in range(tasks)}, text)
        self.assertEqual(len(LINE.findall(text)), tasks, text)

    def check_gone(self):
        self.assertEqual(pids_with(self.program), [])


class Mpich(MpiCase):
    COMPILER = "mpicc.mpich"

    def test_srun(self):
        self.check_world(self.out("srun", "--mpi=pmi2", *PLACE, self.program))
        self.check_world(self.out("srun", "-N", "1", "-n", "4", self.program, env={"SLURM_MPI_TYPE": "pmi2"}), 4, 1)

    def test_distribution(self):
        out = self.out("srun", "--mpi=pmi2", *PLACE, "-m", "cyclic", self.program)
        found = {int(rank): node for rank, size, total, half, node in LINE.findall(out) if int(total) == SUM}
        self.assertEqual(found, {rank: f"n{rank % NODES + 1}" for rank in range(TASKS)})

    def test_environment(self):
        out = self.out("srun", "--mpi=pmi2", *PLACE, "sh", "-c", "echo $SLURM_PROCID $PMI_RANK $PMI_SIZE $SLURM_MPI_TYPE $PMI_JOBID $SLURM_JOB_ID.$SLURM_STEP_ID")
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(len(lines), TASKS)
        for rank, pmi_rank, size, kind, pmi_job, step in lines:
            self.assertEqual((pmi_rank, size, kind, pmi_job), (rank, str(TASKS), "pmi2", step))

    def test_none(self):
        """Without a server each rank is a world of its own, also inside a task that has one."""
        show = "echo $SLURM_MPI_TYPE:$PMI_FD:$PMI_RANK:$PMI_SIZE"
        self.assertEqual(self.out("srun", "--mpi=none", "sh", "-c", show), ":::\n")
        self.assertEqual(self.out("srun", "--mpi=pmi2", "-n1", "srun", "--mpi=none", "--overlap", "sh", "-c", show), ":::\n")
        self.assertIn("rank=0 size=1 ", self.out("srun", "--mpi=pmi2", "-n1", "srun", "--mpi=none", "--overlap", self.program))

    def test_abort(self):
        done = self.run_cmd("srun", "--mpi=pmi2", *PLACE, self.program, "abort", check=False)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn("srun: Job step aborted: Waiting up to", done.stderr)
        self.assertIn("CANCELLED AT", done.stderr)
        self.check_world(done.stdout)
        self.check_gone()

    def test_rank_that_dies(self):
        for how, words in (("exit", "task 5: Exited with exit code 3"), ("kill", "task 5: Killed")):
            done = self.run_cmd("srun", "--mpi=pmi2", "-K", *PLACE, self.program, how, check=False)
            self.assertEqual(done.returncode, 143 if how == "exit" else done.returncode, done.stderr)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("srun: error: n2: " + words, done.stderr)
            self.check_gone()


if __name__ == "__main__":
    unittest.main()
