"""MPI programs under srun, and under their own mpirun in an allocation: one world, not many of one rank."""
import contextlib
import os
import re
import shutil
import subprocess
import time
import unittest

from harness import ClusterCase, pids_with, wait_for

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
  printf("rank=%d size=%d sum=%d half=%d node=%s parent=%d\n", rank, size, sum, near, getenv("SLURMD_NODENAME"), getppid());
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(what, "names")) {  /* a name that rank 0 publishes is found by a rank of another node */
    char port[MPI_MAX_PORT_NAME] = "tag=1;here", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) printf("published=%d\n", MPI_Publish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 5) {
      int good = MPI_Lookup_name("ocean", MPI_INFO_NULL, found) == MPI_SUCCESS;
      printf("found=%d %s\n", good, found);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("unpublished=%d\n", MPI_Unpublish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "spawn")) {
    MPI_Comm more;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int status = MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &more, MPI_ERRCODES_IGNORE);
    char why[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (status != MPI_SUCCESS) MPI_Error_string(status, why, &length);
    printf("spawned=%d %s\n", status == MPI_SUCCESS, why);
    MPI_Finalize();
    return 0;
  }
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
PMIX_PROGRAM = r"""
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pmix_proc_t me;
static void must(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  printf("%s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}
static pmix_value_t* get(pmix_rank_t rank, const char* key) {
  pmix_value_t* value;
  pmix_proc_t of = me;
  of.rank = rank;
  must(PMIx_Get(&of, key, NULL, 0, &value), key);
  return value;
}
static void put(const char* key, char* text) {
  pmix_value_t value;
  value.type = PMIX_STRING;
  value.data.string = text;
  must(PMIx_Put(PMIX_GLOBAL, key, &value), key);
  must(PMIx_Commit(), "commit");
}
int main(void) {
  char text[64], *large = malloc(100001);
  pmix_proc_t half[8];
  pmix_info_t collect;
  pmix_app_t app;
  char nspace[PMIX_MAX_NSLEN + 1];
  bool yes = true;
  must(PMIx_Init(&me, NULL, 0), "init");
  unsigned size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)->data.uint32, other = (me.rank + size / 2) % size;
  const char* peers = get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)->data.string;
  sprintf(text, "of%u", me.rank);
  put("asked", text);
  must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
  const char* asked = get(other, "asked")->data.string;  /* nobody was sent it: it is asked for */
  memset(large, 'a' + me.rank % 26, 100000);
  large[100000] = 0;
  put("large", large);
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  must(PMIx_Fence(NULL, 0, &collect, 1), "fence with data");
  const char* got = get(other, "large")->data.string;
  int good = strlen(got) == 100000 && got[99999] == (char)('a' + other % 26);
  for (unsigned i = 0; i < 8; ++i) {
    half[i] = me;
    half[i].rank = i;
  }
  if (me.rank < 8) must(PMIx_Fence(half, 8, NULL, 0), "fence of some");
  if (me.rank == 3) {  /* what is published is found on another node, after a while or at once */
    pmix_info_t name;
    PMIX_INFO_LOAD(&name, "ocean", "port of 3", PMIX_STRING);
    must(PMIx_Publish(&name, 1), "publish");
  }
  if (me.rank == 12) {
    pmix_info_t wait;
    pmix_pdata_t pdata;
    int all = 0;
    memset(&pdata, 0, sizeof pdata);
    strcpy(pdata.key, "ocean");
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    must(PMIx_Lookup(&pdata, 1, &wait, 1), "lookup");
    printf("rank 12 found %s of %u\n", pdata.value.data.string, pdata.proc.rank);
    strcpy(pdata.key, "land");
    if (PMIx_Lookup(&pdata, 1, NULL, 0) != PMIX_ERR_NOT_FOUND) printf("land was found\n");
    char* keys[] = {"ocean", NULL};
    must(PMIx_Unpublish(keys, NULL, 0), "unpublish");
    strcpy(pdata.key, "ocean");
    if (PMIx_Lookup(&pdata, 1, NULL, 0) == PMIX_SUCCESS) printf("ocean was found again\n");
  }
  if (me.rank % 4 == 1) {  /* a group of ranks of all nodes */
    pmix_proc_t members[4];
    pmix_info_t number, *results = NULL;
    size_t count = 0, id = 0;
    for (unsigned i = 0; i < 4; ++i) {
      members[i] = me;
      members[i].rank = 4 * i + 1;
    }
    PMIX_INFO_LOAD(&number, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    must(PMIx_Group_construct("quarter", members, 4, &number, 1, &results, &count), "group");
    for (size_t i = 0; i < count; ++i)
      if (!strcmp(results[i].key, PMIX_GROUP_CONTEXT_ID)) id = results[i].value.data.size;
    printf("group of rank %u has number %zu\n", me.rank, id);
    must(PMIx_Group_destruct("quarter", NULL, 0), "end of the group");
  }
  memset(&app, 0, sizeof app);
  app.cmd = strdup("true");
  app.maxprocs = 1;
  int spawned = PMIx_Spawn(NULL, 0, &app, 1, nspace) == PMIX_SUCCESS;
  printf("rank=%u size=%u peers=%s asked=%s large=%d spawned=%d node=%s\n", me.rank, size, peers, asked, good, spawned,
         get(other, PMIX_HOSTNAME)->data.string);
  must(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
"""
LATE_PROGRAM = r"""
#include <fcntl.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  pmix_proc_t me, other;
  pmix_value_t* value;
  if (atoi(getenv("SLURM_PROCID")) == 1) {  /* never says anything: its data can be waited for without end */
    while (access(argv[1], F_OK) != 0) usleep(20000);
    return 0;
  }
  pmix_status_t status = PMIx_Init(&me, NULL, 0);
  if (status != PMIX_SUCCESS) {
    printf("init: %s\n", PMIx_Error_string(status));
  } else {
    other = me;
    other.rank = 1;
    printf("asked: %s\n", PMIx_Error_string(PMIx_Get(&other, "late", NULL, 0, &value)));
    PMIx_Finalize(NULL, 0);
  }
  close(open(argv[argc - 1], O_CREAT | O_WRONLY, 0600));
  return 0;
}
"""
LINE = re.compile(r"rank=(\d+) size=(\d+) sum=(\d+) half=(\d+) node=(\w+) parent=(\d+)\n")


def pmix_flags():
    return subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], capture_output=True, text=True, check=True).stdout.split()


class MpiCase(ClusterCase):
    """A cluster and the program, compiled with COMPILER."""
    NODES, CPUS, CONF = NODES, 8, "KillWait=1\n"
    COMPILER, FLAGS, TEXT, ENV = "", [], PROGRAM, {}

    @classmethod
    def setUpClass(cls):
        if not cls.COMPILER or not shutil.which(cls.COMPILER):
            raise unittest.SkipTest(f"{cls.COMPILER or 'the compiler'} is not installed")
        super().setUpClass()
        cls.program = os.path.join(cls.cluster.dir, "mpi_program")
        with open(cls.program + ".c", "w", encoding="utf-8") as f:
            f.write(cls.TEXT)
        subprocess.run([cls.COMPILER, cls.program + ".c", "-o", cls.program, *cls.FLAGS], check=True)
        cls.cluster.env.update(cls.ENV)

    def check_world(self, text, tasks=TASKS, nodes=NODES, named=True):
        """Each rank is there once, knows the others, and is where block distribution puts it: the ranks of a node have
        their parent in common. Not `named`: the launcher gives its own SLURMD_NODENAME to all."""
        lines = sorted(LINE.findall(text), key=lambda line: int(line[0]))
        per_node = tasks // nodes
        places = [f"n{rank // per_node + 1}" if named else "n1" for rank in range(tasks)]
        self.assertEqual([(int(rank), int(size), int(total), int(half), node) for rank, size, total, half, node, _ in lines],
                         [(rank, tasks, sum(range(tasks)), tasks // 2, places[rank]) for rank in range(tasks)], text)
        parents = [line[5] for line in lines]
        self.assertEqual([parents.index(parent) for parent in parents],
                         [rank // per_node * per_node for rank in range(tasks)], text)

    def check_gone(self):
        self.assertEqual(pids_with(self.program), [])


    def in_job(self, *command, **options):
        return self.run_cmd("salloc", *PLACE, *command, **options)

    def check_batch(self, command, named=True):
        job = self.submit(*PLACE, "-o", "batch.out", "--wrap", f"{command} {self.program}")
        self.assertEqual(self.wait_ended(job), "COMPLETED", self.file("batch.out"))
        self.check_world(self.file("batch.out"), named=named)


class Mpich(MpiCase):
    COMPILER = "mpicc.mpich"

    def test_srun(self):
        self.check_world(self.out("srun", "--mpi=pmi2", *PLACE, self.program))
        self.check_world(self.out("srun", "-N", "1", "-n", "4", self.program, env={"SLURM_MPI_TYPE": "pmi2"}), 4, 1)

    def test_distribution(self):
        out = self.out("srun", "--mpi=pmi2", *PLACE, "-m", "cyclic", self.program)
        found = {int(rank): node for rank, size, total, half, node, _ in LINE.findall(out) if int(total) == SUM}
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

    def test_names(self):
        out = self.out("srun", "--mpi=pmi2", *PLACE, self.program, "names")
        lines = [line for line in out.splitlines() if not line.startswith("rank=")]
        self.assertEqual(sorted(lines), ["found=1 tag=1;here", "published=1", "unpublished=1"])

    def test_spawn_is_refused(self):  # by Debian's MPICH itself, which is built on UCX; test_mpi_spawn.py is about what srun does
        out = self.out("srun", "--mpi=pmi2", "-n1", self.program, "spawn")
        self.assertRegex(out, r"(?s)spawned=0 .*MPI_Comm_spawn.* failed")

    def test_rank_that_dies(self):
        for how, words in (("exit", "task 5: Exited with exit code 3"), ("kill", "task 5: Killed")):
            done = self.run_cmd("srun", "--mpi=pmi2", "-K", *PLACE, self.program, how, check=False)
            self.assertEqual(done.returncode, 143, done.stderr)
            self.assertIn("srun: error: n2: " + words, done.stderr)
            self.check_gone()

    def test_mpiexec(self):
        self.check_world(self.in_job("mpiexec.mpich", self.program).stdout)
        self.check_batch("mpiexec.mpich", named=False)
        done = self.in_job("mpiexec.mpich", self.program, "abort", check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.check_gone()


class OpenMpi(MpiCase):
    COMPILER, CONF = "mpicc.openmpi", MpiCase.CONF + "MpiDefault=pmix\n"
    # without the last two it does not talk over the loopback, the only network some hosts have
    ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,tcp",
           "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}

    def check_gone(self):
        super().check_gone()
        spool = os.path.join(self.cluster.dir, "spool")
        left = [name for node in os.listdir(spool) for name in os.listdir(os.path.join(spool, node)) if "pmix" in name]
        self.assertEqual(left, [])

    def test_srun(self):
        self.check_world(self.out("srun", "--mpi=pmix", *PLACE, self.program))
        self.check_world(self.out("srun", *PLACE, self.program))  # MpiDefault
        shared_memory = {"OMPI_MCA_btl": "self,vader"}  # works only when ranks know who is on their node
        self.check_world(self.out("srun", "--mpi=pmix_v4", "-N1", "-n4", self.program, env=shared_memory), 4, 1)
        self.check_gone()

    def test_components_that_share_a_node(self):  # a step daemon each, and one world
        part = ("-N1", "-n2", "-w", "n1", self.program)
        out = self.out("srun", "--mpi=pmix", *part, ":", *part)
        self.assertEqual(sorted(line[:5] for line in LINE.findall(out)), [(str(rank), "4", "6", "2", "n1") for rank in range(4)], out)
        self.check_gone()

    def test_another_user(self):
        if os.geteuid() == 0:
            self.check_world(self.out("srun", "--mpi=pmix", *PLACE, self.program, user=65534))

    def test_environment(self):
        show = "echo $SLURM_PROCID $PMIX_RANK $SLURM_MPI_TYPE $PMIX_NAMESPACE slurm.pmix.$SLURM_JOB_ID.$SLURM_STEP_ID"
        lines = [line.split() for line in self.out("srun", *PLACE, "sh", "-c", show).splitlines()]
        self.assertEqual(len(lines), TASKS)
        for rank, pmix_rank, kind, name, expected in lines:
            self.assertEqual((pmix_rank, kind, name), (rank, "pmix", expected))
        inner = "echo $SLURM_MPI_TYPE:$PMIX_RANK:$PMIX_NAMESPACE:$PMIX_SERVER_URI2"
        self.assertEqual(self.out("srun", "-n1", "srun", "--mpi=none", "--overlap", "sh", "-c", inner), ":::\n")

    def test_abort(self):
        done = self.run_cmd("srun", "--mpi=pmix", *PLACE, self.program, "abort", check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("srun: Job step aborted: Waiting up to", done.stderr)
        self.check_world(done.stdout)
        self.check_gone()

    def test_rank_that_dies(self):
        """It takes the others with it: they would wait for it for ever."""
        for how, words in (("exit", "task 5: Exited with exit code 3"), ("kill", "task 5: Killed")):
            done = self.run_cmd("srun", "--mpi=pmix", *PLACE, self.program, how, check=False)
            self.assertEqual(done.returncode, 137, done.stderr)
            self.assertIn("srun: error: n2: " + words, done.stderr)
            self.assertIn("mpi/pmix: task 5 went away without ending MPI", done.stderr)
            self.check_gone()

    def test_mpirun(self):
        self.check_world(self.in_job("mpirun.openmpi", self.program).stdout)
        self.check_batch("mpirun.openmpi")
        done = self.in_job("mpirun.openmpi", self.program, "abort", check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        done = self.in_job("mpirun.openmpi", self.program, "kill", check=False)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.check_gone()


class Pmix(MpiCase):
    """The interface itself: what goes between nodes, and what is refused."""
    COMPILER, TEXT = "gcc", PMIX_PROGRAM
    FILES = {"mpi.conf": "PMIxEnv=PMIX_ANSWER=42;PMIX_OTHER=1\nPMIxCliTmpDirBase={dir}/work\n"}

    @classmethod
    def setUpClass(cls):
        cls.FLAGS = pmix_flags()
        super().setUpClass()

    def test_exchange(self):
        out = self.out("srun", "--mpi=pmix", *PLACE, self.program)
        expected = []
        for rank in range(TASKS):
            other, first = (rank + TASKS // 2) % TASKS, rank // 4 * 4
            expected.append(f"rank={rank} size={TASKS} peers={','.join(str(first + i) for i in range(4))} asked=of{other} "
                            f"large=1 spawned=0 node=n{other // 4 + 1}")
        lines = out.splitlines()
        groups = [line.split() for line in lines if line.startswith("group ")]
        self.assertEqual(sorted(int(words[3]) for words in groups), [1, 5, 9, 13])
        self.assertEqual(len({words[-1] for words in groups}), 1, groups)  # all have the same number
        self.assertNotEqual(groups[0][-1], "0")
        expected.append("rank 12 found port of 3 of 3")
        self.assertEqual(sorted(line for line in lines if not line.startswith("group ")), sorted(expected))

    def test_configuration(self):  # mpi.conf
        out = self.out("srun", "--mpi=pmix", "-n1", "env")
        self.assertIn("PMIX_ANSWER=42\n", out)
        self.assertIn(f"{self.cluster.work}/pmix.n1.", out)  # PMIX_SERVER_TMPDIR and its likes
        self.assertRegex(self.out("scontrol", "show", "config"), r"PMIxEnv *= PMIX_ANSWER=42;PMIX_OTHER=1\n")
        wait_for(lambda: not [name for name in os.listdir(self.cluster.work) if name.startswith("pmix.")], "the folder is gone")


class PmixFolder(ClusterCase):
    """libpmix, as root, makes files in the step's folder and gives them away: the user could put links in their place while it was his."""
    NODES, CPUS = 1, 4

    def test_is_roots_until_the_server_is_up(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        spool = os.path.join(self.cluster.dir, "spool", "n1")

        def look():
            """Whose the step's folder is, and whether anything is there."""
            for name in os.listdir(spool):
                if name.startswith("pmix."):
                    with contextlib.suppress(FileNotFoundError):
                        status = os.stat(os.path.join(spool, name))
                        return status.st_uid, status.st_mode & 0o777, bool(os.listdir(os.path.join(spool, name)))
            return None

        owners = set()
        for number in range(5):
            gate = os.path.join(self.cluster.work, f"over{number}")
            srun = self.cluster.start("srun", "--mpi=pmix", "-n2", "sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done", user=65534,
                                      group=65534, extra_groups=[])
            while (seen := look()) is None or seen[0] == 0:
                owners.update(seen[:1] if seen else ())
                self.assertIsNone(srun.poll())
            open(gate, "w", encoding="utf-8").close()
            self.assertEqual(seen, (65534, 0o700, True), "it was the user's before the server had its files in it")
            self.assertEqual(srun.wait(), 0)
            wait_for(lambda: look() is None, "the folder is gone")
        self.assertEqual(owners, {0})


class PmixKeys(MpiCase):
    """Keys of mpi.conf that other programs would trip over."""
    NODES, CPUS, COMPILER, TEXT = 2, 1, "gcc", LATE_PROGRAM
    FILES = {"mpi.conf": "PMIxTimeout=1\nPMIxDebug=5\n"}

    @classmethod
    def setUpClass(cls):
        cls.FLAGS = pmix_flags()
        super().setUpClass()

    def test_timeout_and_debug(self):  # PMIxTimeout is five minutes otherwise
        began = time.monotonic()
        out = self.out("srun", "--mpi=pmix", "-N2", "-n2", self.program, "over")
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.assertRegex(out, r"^asked: \S+\n$")
        self.assertNotIn("SUCCESS", out)
        wait_for(lambda: re.search(r"StepId=\d+\.0: libpmix: \S", self.cluster.log("n1")), "libpmix's words are in the agent's log")


if __name__ == "__main__":
    unittest.main()
