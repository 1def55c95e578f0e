"""What slurm.conf says for all jobs where an option says nothing."""
import os
import unittest

from harness import ClusterCase, need_root

FIRST_PORT, LAST_PORT = 31200, 31299


class SiteDefaults(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = (f"SrunPortRange={FIRST_PORT}-{LAST_PORT}\nPropagateResourceLimitsExcept=NOFILE\n"
            "BcastParameters=DestDir={dir}/there,Compression=lz4,send_libs\n")

    def test_ports_of_srun(self):
        out = self.out("srun", "-n1", "sh", "-c", "echo $SLURM_SRUN_COMM_PORT $SLURM_STEP_LAUNCHER_PORT")
        for port in map(int, out.split()):
            self.assertTrue(FIRST_PORT <= port <= LAST_PORT, out)

    def test_limits_that_do_not_follow(self):
        own = "ulimit -n 321; ulimit -s 4321; "
        shown = "'ulimit -n; ulimit -s'"
        files, stack = self.out("/bin/sh", "-c", f"{own} srun -n1 sh -c {shown}").split()
        self.assertNotEqual(files, "321")
        self.assertEqual(stack, "4321")
        self.run_cmd("/bin/sh", "-c", f"{own} sbatch -W -o limits.out --wrap {shown}")
        self.assertEqual(self.file("limits.out").split(), [files, "4321"])
        self.assertEqual(self.out("/bin/sh", "-c", f"{own} srun -n1 --propagate=NOFILE sh -c {shown}").split()[0], "321",
                         "an option goes before")

    def test_where_programs_are_copied_to(self):
        there = os.path.join(self.cluster.dir, "there")
        os.mkdir(there)
        self.assertEqual(self.out("srun", "-N2", "--bcast", "/bin/echo", "hello"), "hello\nhello\n")
        names = [name for name in os.listdir(there) if os.path.isfile(os.path.join(there, name))]
        self.assertEqual(len(names), 2, names)
        libraries = [name for name in os.listdir(there) if name.endswith("_libs")]
        self.assertEqual(len(libraries), 2, os.listdir(there))
        script = "sbcast -v /bin/echo echo.copy"
        job = self.submit("-o", "sbcast.out", "--wrap", script)
        self.assertEqual(self.wait_ended(job), "COMPLETED", self.file("sbcast.out"))
        self.assertRegex(self.file("sbcast.out"), r"compress   = 2\n(.*\n)*sbcast: File compressed from ")  # 2: lz4


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
