"""sbcast and srun --bcast: files reach every node of a job, as its user, whole or not at all."""
import glob
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import ClusterCase, add_users, jobs_of, need_root, pids_with, wait_for

ALICE, BOB = 12041, 12042
NO_JOB = "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.\n"


class Sbcast(ClusterCase):
    NODES, CPUS = 4, 2

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE, BOB)
        super().setUpClass()

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.cluster.work)
        os.chmod(self.folder, 0o1777)
        self.addCleanup(shutil.rmtree, self.folder)
        self.job = self.submit("-N1", "-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(self.job, "RUNNING")
        self.addCleanup(self.run_cmd, "scancel", self.job)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name, data=b"some text\n", mode=0o640):
        with open(self.path(name), "wb") as f:
            f.write(data)
        os.chmod(f.name, mode)
        return f.name

    def read(self, path):
        with open(path, "rb") as f:
            return f.read()

    def send(self, *options, status=0, err="", **more):
        done = self.run_cmd("sbcast", "-j", self.job, *options, check=False, **more)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", err))

    def mode(self, path):
        return stat.S_IMODE(os.lstat(path).st_mode)

    def test_copy(self):
        data = os.urandom(3 << 20)
        source, there = self.make("in", data, 0o754), self.path("out")
        self.send(source, there)
        self.assertEqual((self.read(there), self.mode(there)), (data, 0o754))
        self.send(source, there, status=17, err="sbcast: error: REQUEST_FILE_BCAST(n2): File exists\n")
        os.utime(source, ns=(10**18, 10**18 + 123456789))
        os.chmod(source, 0o2775)
        self.send("-f", source, there)
        self.assertEqual(self.mode(there), 0o755)
        self.send("-fp", source, there)
        self.assertEqual(os.stat(there).st_mtime_ns, 10**18 + 123456789)
        self.assertEqual(self.mode(there), 0o2775)
        self.send("in", "relative", cwd=self.folder)
        self.assertEqual(self.read(self.path("relative")), data)
        self.send(self.make("none", b""), self.path("empty"), err=f"sbcast: error: Warning: file `{self.path('none')}` is empty.\n")
        self.assertEqual(os.path.getsize(self.path("empty")), 0)

    def test_blocks_and_compression(self):
        data = b"compressible " * 100000 + os.urandom(100000)
        source = self.make("in", data)
        for i, options in enumerate((["-s", "1000"], ["-s", "64k", "-F", "1"], ["--compress"], ["-C", "-s", "100k"],
                                     ["--compress=none", "--treewidth=2"], ["-s", "1m", "-t", "20"])):
            self.send(*options, source, self.path(f"out{i}"))
            self.assertEqual(self.read(self.path(f"out{i}")), data, options)
        self.send("--compress=zip", source, self.path("zip"),
                  err="sbcast: error: Compression type 'zip' unknown, disabling compression support.\n")
        self.send("-s", "many", source, self.path("many"), err="size specification is invalid, ignored\n")
        said = self.run_cmd("sbcast", "-v", "-j", self.job, "--compress=lz4", source, self.path("v")).stderr
        for line in ("block_size = 8388608", "compress   = 2", f"source     = {source}", f"size     = {len(data)}",
                     f"jobid      = {self.job}", "node_list  = n2"):
            self.assertIn(f"sbcast: {line}\n", said)
        self.assertRegex(said, rf"sbcast: File compressed from {len(data)} to \d+ \(9\d percent\) in \d+ usec\n")

    def test_numbers(self):  # -s -F --treewidth -t, over those of the environment
        source = self.make("in")
        env = {"SBCAST_SIZE": "1", "SBCAST_FANOUT": "1", "SBCAST_TIMEOUT": "1"}
        for options, line in ((["-s", "1000"], "block_size = 1000"), (["--size=64k"], "block_size = 65536"), (["--size=1m"], "block_size = 1048576"),
                              (["-F", "3"], "fanout     = 3"), (["--fanout=4"], "fanout     = 4"), (["--treewidth=5"], "fanout     = 5"),
                              (["-t", "20"], "timeout    = 20"), (["--timeout=21"], "timeout    = 21")):
            said = self.run_cmd("sbcast", "-fv", "-j", self.job, *options, source, self.path("out"), env=env).stderr
            self.assertIn(f"sbcast: {line}\n", said)

    def test_variables(self):
        source = self.make("in")
        env = {"SLURM_JOB_ID": str(self.job), "SBCAST_FORCE": "1", "SBCAST_PRESERVE": "1", "SBCAST_COMPRESS": "lz4",
               "SBCAST_SIZE": "2", "SBCAST_FANOUT": "2", "SBCAST_TIMEOUT": "30"}
        os.utime(source, (10**9, 10**9))
        for _ in range(2):
            said = self.run_cmd("sbcast", "-v", source, self.path("out"), env=env).stderr
        for line in ("block_size = 2", "compress   = 2", "force      = true", "fanout     = 2", "preserve   = true", "timeout    = 30"):
            self.assertIn(f"sbcast: {line}\n", said)
        self.assertEqual(os.stat(self.path("out")).st_mtime, 10**9)

    def test_what_is_wrong(self):
        source = self.make("in")
        x = self.path("x")
        self.fails(1, "Need two file names, have 1 names\nTry \"sbcast --help\" for more information\n", "sbcast", source)
        self.fails(1, NO_JOB, "sbcast", source, x)
        self.fails(255, "sbcast: error: Slurm job 999999 lookup error: Invalid job id specified\n", "sbcast", "-j999999", source, x)
        self.fails(255, "sbcast: error: Slurm job 0 lookup error: Invalid job id specified\n", "sbcast", "-jabc", source, x)
        self.fails(255, f"sbcast: error: Slurm job {self.job}.7 lookup error: Invalid job id specified\n",
                   "sbcast", f"-j{self.job}.7", source, x)
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.fails(255, f"sbcast: error: Slurm job {held} lookup error: Job is pending execution\n", "sbcast", f"-j{held}", source, x)
        self.run_cmd("scancel", held)
        self.send("/not/there", x, status=255, err="sbcast: error: Can't open `/not/there`: No such file or directory\n")
        self.send("/etc", x, status=255, err="sbcast: error: Can't mmap file `/etc`, No such device.\n")
        self.send(source, "/not/there", status=2, err="sbcast: error: REQUEST_FILE_BCAST(n2): No such file or directory\n")
        self.send(source, self.folder + "/", status=1, err="sbcast: error: Target filename cannot be a directory.\n")
        self.send("-f", source, self.folder, status=21, err="sbcast: error: REQUEST_FILE_BCAST(n2): Is a directory\n")
        self.send("--send-libs=some", source, x, err="sbcast: error: Ignoring unrecognized --send-libs value 'some'\n")
        here = lambda: set(pids_with("--write-file")).intersection(jobs_of(self.cluster.conf))  # other clusters have their own
        wait_for(lambda: not here(), "no writer is left")

    def test_nothing_half_is_left(self):  # the second block does not fit
        source = self.make("in", b"x" * (3 << 20))
        small = self.path("small")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=True)
        try:
            self.send("-s", "512k", source, f"{small}/out", status=28,
                      err="sbcast: error: REQUEST_FILE_BCAST(n2): No space left on device\n")
            wait_for(lambda: not os.listdir(small), "the file is gone")
        finally:
            subprocess.run(["umount", small], check=True)
            os.rmdir(small)

    def test_libraries_too(self):
        self.send("--send-libs", "--exclude=none", "/bin/ls", self.path("ls"))
        self.assertTrue(glob.glob(self.path("ls_libs/libc.so*")))
        self.assertEqual(self.mode(self.path("ls_libs")), 0o700)
        self.send("-f", "/bin/ls", self.path("ls"), env={"SBCAST_SEND_LIBS": "yes", "SBCAST_EXCLUDE": "/nowhere"})
        self.send("--send-libs=no", "/bin/ls", self.path("alone"), env={"SBCAST_SEND_LIBS": "yes"})
        self.assertFalse(os.path.exists(self.path("alone_libs")))

    def test_words(self):
        for options, words in ((["--help"], "Usage: sbcast [OPTIONS] SOURCE DEST\n"), (["--usage"], "Usage: sbcast "), (["-V"], "slurm ")):
            self.assertTrue(self.out("sbcast", *options).startswith(words), options)
        done = self.run_cmd("sbcast", "--some", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "sbcast: unrecognized option '--some'\nTry \"sbcast --help\" for more information\n$")

    def test_step(self):  # its nodes only
        with self.cluster.start("srun", "-N3", "-w", "n[1,3-4]", "-J", "three", "sleep", "1000") as run:
            job = wait_for(lambda: self.out("squeue", "-h", "-n", "three", "-o", "%A").strip(), "the job")
            wait_for(lambda: self.out("squeue", "-h", "-s", "-j", job), "its step")
            said = self.run_cmd("sbcast", "-fv", "-j", f"{job}.0", self.make("in"), self.path("out")).stderr
            self.assertIn("sbcast: node_list  = n[1,3-4]\n", said)
            self.assertIn(f"sbcast: jobid      = {job}.0\n", said)
            self.assertEqual(self.read(self.path("out")), b"some text\n")
            self.run_cmd("scancel", job)
            run.wait()

    def test_it_is_the_user_who_writes(self):
        secret, source = self.make("secret", b"root's", 0o600), self.make("in", mode=0o644)
        job = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        self.wait_state(job, "RUNNING")
        send = lambda *words, user=ALICE: self.run_cmd("sbcast", f"-j{job}", *words, user=user, check=False)
        self.assertEqual(send(source, self.path("hers")).returncode, 0)
        self.assertEqual(os.stat(self.path("hers")).st_uid, ALICE)
        # neither a name in root's folder, nor root's file, nor a link to it is a way to it
        os.mkdir(self.path("closed"), 0o700)
        self.assertEqual(send(source, self.path("closed/x")).returncode, 13)
        self.assertEqual(send("-f", source, secret).returncode, 1)
        os.symlink(secret, self.path("link"))
        os.lchown(self.path("link"), ALICE, ALICE)
        self.assertEqual(send(source, self.path("link")).returncode, 17)
        self.assertEqual(send("-f", source, self.path("link")).returncode, 0)
        self.assertEqual(self.read(secret), b"root's")
        self.assertFalse(os.path.islink(self.path("link")))
        # a link that Bob left for Alice does not take her to her own files, either
        os.symlink(self.path("hers"), self.path("bobs"))
        os.lchown(self.path("bobs"), BOB, BOB)
        self.assertEqual(send("-f", self.make("other", b"new", 0o644), self.path("bobs")).returncode, 1)
        self.assertEqual(self.read(self.path("hers")), b"some text\n")
        # others cannot send, root can, and it is still Alice's
        refused = send(source, self.path("bob"), user=BOB)
        self.assertEqual((refused.returncode, refused.stderr),
                         (255, f"sbcast: error: Slurm job {job} lookup error: Invalid user id\n"))
        self.run_cmd("sbcast", f"-j{job}", source, self.path("root"))
        self.assertEqual(os.stat(self.path("root")).st_uid, ALICE)
        self.run_cmd("scancel", job)


PROGRAM = '#!/bin/sh\necho "$0 $* $LD_LIBRARY_PATH"\n'


class Bcast(ClusterCase):
    NODES, CPUS, FILES = 3, 2, {"prog": PROGRAM}

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.cluster.work)
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = os.path.join(self.cluster.dir, "prog")

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_names(self):
        there = self.folder + "/there"
        self.assertEqual(self.out("srun", "-N1", f"--bcast={there}", self.program, "a", "b"), f"{there} a b \n")
        self.assertEqual(self.names(), ["there"])
        # every node writes its own: all of them did
        out = self.out("srun", "-N3", "-l", f"--bcast={self.folder}/", self.program, "a")
        names = [line.split()[1] for line in sorted(out.splitlines())]
        self.assertEqual([os.path.dirname(n) for n in names], [self.folder] * 3)
        for i, name in enumerate(names):
            self.assertRegex(name, rf"/slurm_bcast_\d+\.0_n{i + 1}$")
        self.assertEqual(self.names(), sorted([os.path.basename(n) for n in names] + ["there"]))
        out = self.out("srun", "-N1", "--bcast", self.program, cwd=self.folder)
        self.assertRegex(out, rf"^{self.folder}/slurm_bcast_\d+\.0_n1 ")
        self.assertEqual(self.out("srun", "-N1", self.program, env={"SLURM_BCAST": there}), f"{there}  \n")

    def test_in_a_job(self):  # only the nodes of the step keep it
        out = self.out("salloc", "-N3", "sh", "-c", f"srun -N1 -w n2 --bcast={self.folder}/ {self.program}; "
                                                    f"srun -N1 -w n3 --bcast={self.folder}/ --compress=lz4 {self.program}")
        self.assertEqual([os.path.basename(line.strip()) for line in out.splitlines()], self.names())
        self.assertRegex(" ".join(self.names()), r"^slurm_bcast_\d+\.0_n2 slurm_bcast_\d+\.1_n3$")

    def test_compression(self):
        said = self.run_cmd("srun", "-v", "-N1", f"--bcast={self.folder}/x", "--compress=lz4", self.program).stderr
        self.assertRegex(said, r"srun: File compressed from \d+ to \d+ ")
        said = self.run_cmd("srun", "-v", "-N1", f"--bcast={self.folder}/y", self.program).stderr
        self.assertNotIn("compressed", said)

    def test_libraries(self):
        out = self.out("srun", "-N2", f"--bcast={self.folder}/", "--send-libs", "--bcast-exclude=none", "/bin/sh", "-c",
                       'echo $SLURM_NODEID $LD_LIBRARY_PATH')
        for line in sorted(out.splitlines()):
            node, folder = line.split()
            self.assertRegex(folder, rf"^{self.folder}/slurm_bcast_\d+\.0_n{int(node) + 1}_libs$")
            self.assertTrue(glob.glob(folder + "/libc.so*"), folder)
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        self.run_cmd("srun", "-N1", f"--bcast={self.folder}/x", "--send-libs", "/bin/sh", "-c", "true")
        self.assertEqual(os.listdir(self.folder + "/x_libs"), [])  # BcastExclude has all of them
        self.fails(255, "srun: error: Invalid --send-libs specification\n", "srun", "--bcast=/x", "--send-libs=some", "true")

    def test_what_is_wrong(self):
        self.fails(1, "srun: error: REQUEST_FILE_BCAST(n1): No such file or directory\n"
                      f"srun: fatal: Failed to broadcast '{self.program}'. Step launch aborted.\n",
                   "srun", "-N1", "--bcast=/not/there", self.program)
        self.fails(1, "srun: fatal: Can not execute not-there\n", "srun", "-N1", f"--bcast={self.folder}/x", "not-there")
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    need_root()
    unittest.main()
