"""MPI_Comm_spawn by PMI: a task asks for more tasks, which run as a step of their own beside it.

Debian's MPICH is built on UCX, and by that cannot open the port that MPI_Comm_spawn needs, whoever started it. So the tasks here
call what MPI_Comm_spawn calls: MPICH's own PMI client, out of its library, and, for PMI-2, a client of a few lines. They
then do what MPI does: the children find their parent's port in their key-value space, and connect to it."""
import os
import re
import shutil
import signal
import subprocess
import unittest

from harness import ClusterCase, pids_with, wait_for

PROGRAM = r"""
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
typedef struct { const char* key; char* val; } pair;
int PMI_Init(int* spawned);
int PMI_Finalize(void);
int PMI_Get_rank(int* rank);
int PMI_Get_size(int* size);
int PMI_Get_appnum(int* number);
int PMI_KVS_Get_my_name(char name[], int length);
int PMI_KVS_Get(const char name[], const char key[], char value[], int length);
int PMI_Barrier(void);
int PMI_Spawn_multiple(int count, const char* commands[], const char** arguments[], const int tasks[], const int infos[],
                       const pair* info[], int pairs, const pair preput[], int errors[]);
static int child(int argc, char** argv) {
  char name[256], port[256];
  int rank, size, number, to = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  PMI_Get_rank(&rank);
  PMI_Get_size(&size);
  PMI_Get_appnum(&number);
  PMI_KVS_Get_my_name(name, sizeof name);
  if (PMI_KVS_Get(name, "PARENT_ROOT_PORT_NAME", port, sizeof port) != 0) return 9;
  PMI_Barrier();
  there.sin_port = htons(atoi(port));
  if (connect(to, (struct sockaddr*)&there, sizeof there) != 0) return 8;
  int value = rank + 1;
  printf("child rank=%d size=%d number=%d words=%d,%s step=%s.%s folder=%s\n", rank, size, number, argc, argc > 2 ? argv[2] : "",
         getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"), getcwd(name, sizeof name));
  fflush(stdout);
  if (write(to, &value, sizeof value) != sizeof value) return 7;
  if (argc > 1 && !strcmp(argv[1], "wait")) pause();
  PMI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
int main(int argc, char** argv) {
  int spawned, from = socket(AF_INET, SOCK_STREAM, 0), sum = 0, errors[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof here;
  alarm(60);
  if (PMI_Init(&spawned) != 0) return 99;
  if (spawned) return child(argc, argv);
  /* PROGRAM TASKS [PROGRAM TASKS] */
  bind(from, (struct sockaddr*)&here, length);
  listen(from, 64);
  getsockname(from, (struct sockaddr*)&here, &length);
  char port[16];
  sprintf(port, "%d", ntohs(here.sin_port));
  const char* commands[2];
  const char* words[] = {getenv("CHILD_DOES"), "two words", NULL};
  const char** arguments[] = {words, words};
  int tasks[2], infos[] = {1, 0}, count = (argc - 1) / 2, all = 0;
  pair folder[] = {{"wdir", "/usr"}};
  const pair* info[] = {folder, NULL};
  pair preput[] = {{"PARENT_ROOT_PORT_NAME", port}};
  for (int i = 0; i < count; ++i) {
    commands[i] = strcmp(argv[2 * i + 1], "self") ? argv[2 * i + 1] : argv[0];
    tasks[i] = atoi(argv[2 * i + 2]);
    all += tasks[i];
  }
  int status = PMI_Spawn_multiple(count, commands, arguments, tasks, infos, info, 1, preput, errors);
  for (int i = 0; status == 0 && i < all; ++i) {
    int value, peer = accept(from, NULL, NULL);
    if (read(peer, &value, sizeof value) != sizeof value) return 6;
    sum += value;
  }
  printf("spawned=%d sum=%d\n", status == 0, sum);
  fflush(stdout);
  if (words[0] && !strcmp(words[0], "wait")) pause();
  PMI_Finalize();
  return 0;
}
"""
PMI2_PROGRAM = r"""
import os, socket, sys
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
file = pmi.makefile("rb")
def say(*words):  # in one piece: others write to the same pipe
    os.write(1, (" ".join(map(str, words)) + "\n").encode())
pmi.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
file.readline()
def ask(text):
    pmi.sendall(b"%6d%s" % (len(text), text.encode()))
    answer = file.read(int(file.read(6))).decode()
    return dict(field.split("=", 1) for field in answer.split(";") if "=" in field)
me = ask(f"cmd=fullinit;pmijobid={os.environ['PMI_JOBID']};pmirank={os.environ['PMI_RANK']};threaded=FALSE;")
if "spawner-jobid" in me:
    ask("cmd=kvs-fence;")  # nobody ends before all are there, as in MPI_Init
    port = ask("cmd=kvs-get;jobid=;srcid=-1;key=PARENT_ROOT_PORT_NAME;")["value"]
    say("child", me["rank"], me["size"], me["appnum"], me["spawner-jobid"], port, sys.argv[1:])
else:
    words = f"argc=2;argv0={sys.argv[0]};argv1=a;;b c;infokeycount=0;"
    got = ask("cmd=spawn;ncmds=2;preputcount=1;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag#0$;"
              f"subcmd={sys.executable};maxprocs=2;{words}subcmd={sys.argv[1]};maxprocs=1;{words}")
    say("spawned", got["rc"], got.get("jobid"), got.get("nerrs"))
ask("cmd=finalize;")
"""
CHILD = re.compile(r"child rank=(\d+) size=(\d+) number=(\d+) words=(\d+),(.*) step=(\d+)\.(\d+) folder=(.*)\n")


def sockets_of(pid):
    folder = f"/proc/{pid}/fd"
    return {link for link in (os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)) if link.startswith("socket:")}


class Spawn(ClusterCase):
    NODES, CPUS, CONF = 2, 4, "KillWait=1\n"
    ALL = ("salloc", "-Q", "-N2", "-n8")

    @classmethod
    def setUpClass(cls):
        if not shutil.which("mpicc.mpich"):
            raise unittest.SkipTest("mpicc.mpich is not installed")
        super().setUpClass()
        cls.program = os.path.join(cls.cluster.dir, "spawn_program")
        with open(cls.program + ".c", "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        libraries = ["-l:libmpich.a", "-lhwloc", "-lucp", "-lucs", "-lm", "-lpthread"]
        subprocess.run(["gcc", cls.program + ".c", "-o", cls.program, *libraries], check=True)

    def spawn(self, *what, before=ALL, does="0", check=True, tasks=1):
        return self.run_cmd(*before, "srun", f"-n{tasks}", "--mpi=pmi2", self.program, *what, check=check, env={"CHILD_DOES": does})

    def test_in_an_allocation(self):
        done = self.spawn("self", "3")
        self.assertIn("spawned=1 sum=6\n", done.stdout)
        children = sorted(CHILD.findall(done.stdout))
        self.assertEqual([child[:5] + child[6:] for child in children],
                         [(str(rank), "3", "0", "3", "two words", "1", "/usr") for rank in range(3)], done.stdout)

    def test_two_programs_are_one_world(self):
        done = self.spawn("self", "2", self.program, "1")
        self.assertIn("spawned=1 sum=6\n", done.stdout)
        self.assertEqual(sorted((rank, size, number) for rank, size, number, *_ in CHILD.findall(done.stdout)),
                         [("0", "3", "0"), ("1", "3", "0"), ("2", "3", "1")], done.stdout)

    def test_on_the_parents_processor(self):  # there is no other one
        done = self.spawn("self", "1", before=())
        self.assertIn("spawned=1 sum=1\n", done.stdout)
        done = self.spawn("self", "4", before=("salloc", "-Q", "-N1", "-n4"), tasks=4)  # each of four spawns four
        self.assertEqual(done.stdout.count("spawned=1 sum=10\n"), 4, done.stdout)
        self.assertEqual(len(CHILD.findall(done.stdout)), 16, done.stdout)

    def test_what_does_not_come_about_is_an_error(self):
        for what, words in ((("/no/such/program", "2"), "No such file or directory"), (("self", "99"), "More processors requested than permitted"),
                            (("true", "2"), ""), (("self", "1", "/no/such/program", "1"), "No such file or directory")):
            done = self.spawn(*what)
            self.assertIn("spawned=0 sum=0\n", done.stdout, what)
            self.assertIn(words, done.stderr)
            self.assertNotIn("child", done.stdout)

    def test_exit_status(self):
        done = self.spawn("self", "2", does="3", check=False)
        self.assertIn("spawned=1 sum=3\n", done.stdout)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_output_goes_where_the_parents_goes(self):
        self.out(*self.ALL, "srun", "-n1", "--mpi=pmi2", "-o", "both.out", self.program, "self", "2", env={"CHILD_DOES": "0"})
        text = self.file("both.out")
        self.assertIn("spawned=1 sum=3\n", text)
        self.assertEqual(len(CHILD.findall(text)), 2, text)

    def start_waiting(self):
        """An srun whose first task has spawned two tasks, and all three wait. Gives it and its job."""
        out = os.path.join(self.cluster.work, "waiting.out")
        self.cluster.env["CHILD_DOES"] = "wait"
        self.addCleanup(self.cluster.env.pop, "CHILD_DOES", None)
        with open(out, "w", encoding="utf-8") as f:
            srun = self.cluster.start("srun", "-N1", "-n4", "--mpi=pmi2", "sh", "-c",
                                      f"[ $SLURM_PROCID -gt 0 ] || exec {self.program} self 2", stdout=f, stderr=subprocess.PIPE)
        self.addCleanup(srun.kill)
        wait_for(lambda: "spawned=1 sum=3\n" in self.file("waiting.out"), "the children are there")
        return srun, CHILD.findall(self.file("waiting.out"))[0][5]

    def check_gone(self, srun):
        _, err = srun.communicate(timeout=60)
        self.assertNotEqual(srun.returncode, 0, err)
        wait_for(lambda: not pids_with("self", "spawn_program") and not pids_with("wait", "spawn_program"), "all tasks are gone")
        self.wait_no_jobs()

    def test_it_ends_with_its_parent(self):
        srun, job = self.start_waiting()
        self.out("scancel", f"{job}.0")
        self.check_gone(srun)

    def test_it_ends_with_srun(self):
        srun, _ = self.start_waiting()
        other, = subprocess.run(["ps", "-o", "pid=", "--ppid", str(srun.pid)], capture_output=True, text=True, check=True).stdout.split()
        self.assertTrue(sockets_of(srun.pid))
        self.assertEqual(sockets_of(srun.pid) & sockets_of(other), set())  # each closes its own
        srun.terminate()
        self.check_gone(srun)

    def test_it_keeps_srun_waiting(self):
        srun, job = self.start_waiting()
        for pid in pids_with("self", "spawn_program"):
            os.kill(pid, signal.SIGTERM)
        steps = lambda: self.out("squeue", "-s", "-h", "-j", job, "-o", "%i").split()
        wait_for(lambda: f"{job}.0" not in steps(), "the parent is over")
        self.assertIn(f"{job}.1", steps())
        self.assertIsNone(srun.poll())
        self.out("scancel", f"{job}.1")
        self.check_gone(srun)

    def test_pmi2(self):
        script = os.path.join(self.cluster.dir, "pmi2.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(PMI2_PROGRAM)
        out = self.out(*self.ALL, "srun", "-n1", "--mpi=pmi2", shutil.which("python3"), script, shutil.which("python3"))
        found = re.search(r"spawned 0 (\d+)\.1 3\n", out)
        self.assertTrue(found, out)
        job = found.group(1)
        self.assertEqual(sorted(line for line in out.splitlines() if line.startswith("child")),
                         [f"child {rank} 3 {number} {job}.0 tag#0$ ['a;b c']" for rank, number in ((0, 0), (1, 0), (2, 1))], out)


if __name__ == "__main__":
    unittest.main()
