"""What steps and their tasks did otherwise than Slurm's."""
import os
import resource
import unittest

from harness import ClusterCase


class Steps(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = """GresTypes=gpu
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=4 RealMemory=4000 Gres=gpu:a100:2
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 RealMemory=4000 Gres=gpu:a100:2
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
"""
    FILES = {"gres.conf": "Name=gpu Type=a100 Count=2\n"}

    def setUp(self):
        self.wait_no_jobs()

    def touch(self, name):
        with open(os.path.join(self.cluster.work, name), "w", encoding="utf-8"):
            pass

    def test_gpus_of_a_step(self):
        """What the job asked for each task won over the step's own option, and over --gres=none."""
        show = "sh -c 'echo ${SLURM_GPUS_ON_NODE:-none}'"
        steps = f"srun {show}; srun --gpus-per-task=1 {show}; srun --gres=none {show}"
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--gpus-per-task=2", "/bin/sh", "-c", steps), "2\n1\nnone\n")

    def test_sattach_to_tasks_that_are_killed(self):
        """sattach told of them, and ended with 137."""
        job = self.submit("-n2", "-o", "/dev/null", "--wrap", "srun -n2 sh -c 'while [ ! -e attached ]; do echo waits; sleep 0.05; done; "
                          "[ $SLURM_PROCID = 1 ] || kill -KILL $$; exit 3'")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.wait_state(job, "RUNNING")

        def attach():
            started = self.cluster.start("sattach", f"{job}.0", stdin=-3, stdout=-1, stderr=-1)
            if started.stdout.readline() == "waits\n":
                return started
            started.communicate(timeout=30)
            return None
        attached = attach()
        while attached is None:  # the step is not there yet
            attached = attach()
        self.touch("attached")
        _, err = attached.communicate(timeout=30)
        self.assertEqual((attached.returncode, err), (3, "sattach: error: task 1 exited with exit code 3\n"))

    def test_resident_memory(self):
        """Its limit was that of who submits."""
        show = ("/bin/sh", "-c", "ulimit -Sm; ulimit -Hm")
        self.assertEqual(self.out("srun", "-n1", *show), "102400\n102400\n")
        self.assertEqual(self.out("srun", "-n1", "--mem=300", *show), "307200\n307200\n")
        self.assertEqual(self.out("salloc", "-Q", "-n1", "--mem=300", "srun", "--mem=150", *show), "153600\n153600\n")
        self.wait_ended(self.submit("-n1", "--mem=200", "-o", "resident", "--wrap", show[-1]))
        self.assertEqual(self.file("resident"), "204800\n204800\n")

    def test_hard_limits_stay_the_nodes(self):
        """A lower hard limit of who submits became the task's."""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        script = "ulimit -n 321; srun -n1 sh -c 'ulimit -Sn; ulimit -Hn'"
        self.assertEqual(self.out("/bin/sh", "-c", script), f"321\n{hard}\n")

    def test_core_files_without_propagation(self):
        """Their soft limit was that with which the node's agent had been started."""
        soft, hard = self.out("srun", "-n1", "--propagate=NONE", "/bin/sh", "-c", "ulimit -Sc; ulimit -Hc").split()
        self.assertEqual(soft, hard)

    def test_unbuffered_labels(self):
        """srun -u -l held what was written until its line ended."""
        srun = self.cluster.start("srun", "-u", "-l", "-n1", "sh", "-c",
                                  "printf part; while [ ! -e label-go ]; do sleep 0.05; done; echo end", stdout=-1)
        self.assertEqual(srun.stdout.readline(), "0: part\n")
        self.touch("label-go")
        self.assertEqual(srun.communicate(timeout=30)[0], "0: end\n")

    def test_errors_of_a_task_prolog(self):
        """They came among the task's."""
        prolog = os.path.join(self.cluster.work, "task-before")
        with open(prolog, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho why >&2\necho print said\necho export PROLOG=ran\n")
        os.chmod(prolog, 0o755)
        done = self.run_cmd("srun", "-n1", f"--task-prolog={prolog}", "sh", "-c", "echo $PROLOG; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("said\nran\n", "err\n"))

    def test_spread_job_without_a_number_of_tasks(self):
        """It had all nodes."""
        self.assertEqual(self.out("srun", "--spread-job", "printenv", "SLURM_NNODES"), "1\n")
        self.wait_no_jobs()
        self.assertEqual(self.out("srun", "-n2", "--spread-job", "printenv", "SLURM_NNODES"), "2\n2\n")


if __name__ == "__main__":
    unittest.main()
