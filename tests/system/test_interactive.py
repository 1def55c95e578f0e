"""srun, salloc, sattach and scancel against a running cluster, as a user sees them."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from harness import BIN, ClusterCase, wait_for


def set_size(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def kill_if_there(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def in_terminal(cluster, *command, say=(), limit_s=30):
    """Runs a command on a terminal of 30 rows and 100 columns; `say` is typed once a prompt `$` is there."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cluster.work)
        os.execve(os.path.join(BIN, command[0]), [command[0], *command[1:]], dict(cluster.env, TERM="xterm", PS1="$ "))
    set_size(fd, 30, 100)
    text, lines, end = b"", list(say), time.monotonic() + limit_s
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                got = os.read(fd, 4096)
            except OSError:
                break
            if not got:
                break
            text += got
        if lines and text.rstrip(b" ").endswith((b"$", b"#")):
            os.write(fd, lines.pop(0).encode() + b"\n")
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode(errors="replace").replace("\r\n", "\n")


class Srun(ClusterCase):
    NODES, CPUS = 4, 4

    def lines(self, *command, **options):
        return sorted(self.out(*command, **options).splitlines())

    def test_tasks_over_nodes_with_labels(self):
        self.wait_no_jobs()
        self.assertEqual(self.lines("srun", "-N2", "-n3", "-l", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"),
                         ["0: 0 n1", "1: 1 n1", "2: 2 n2"])

    def test_labels_are_padded(self):
        out = self.lines("srun", "-n11", "-l", "true")
        self.assertEqual(out, [])
        out = self.lines("srun", "-n11", "-l", "echo", "x")
        self.assertEqual(out[0], " 0: x")
        self.assertEqual(out[-1], "10: x")

    def test_folder_that_was_deleted(self):
        def told(*command, more=""):
            script = f"mkdir gone; cd gone; rmdir ../gone; {more} exec \"$@\""
            done = self.run_cmd("/bin/sh", "-c", script, "sh", *command, check=False)
            return done.returncode, done.stdout, done.stderr
        text = "{}: error: getcwd failed: No such file or directory\n".format
        for command in (("srun", "true"), ("srun", "-D", "/tmp", "true"), ("srun", "--version"), ("srun", "--test-only", "true"),
                        ("sbatch", "--wrap", "true"), ("sbatch", "-D", "/tmp", "--wrap", "true"), ("sbatch", "/nosuch")):
            self.assertEqual(told(*command), (255, "", text(command[0])), command)
            self.assertEqual(told(*command, more="PWD=/tmp"), (255, "", text(command[0])), command)
        status, out, err = told("salloc", "sh", "-c", "scontrol show job $SLURM_JOB_ID; srun true; echo $?; cd /tmp; srun pwd")
        self.assertRegex(out, r"(?s)\n   WorkDir=\n.*\n255\n/tmp\n$")
        self.assertEqual(status, 0)
        self.assertRegex(err, f"^{text('salloc')}salloc: Granted job allocation [0-9]+\n(?s:.*){text('srun')}")

    def test_exit_codes(self):
        done = self.run_cmd("srun", "-n4", "-N2", "sh", "-c", "exit $SLURM_PROCID", check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("task 3: Exited with exit code 3", done.stderr)
        done = self.run_cmd("srun", "-n3", "-N1", "sh", "-c", "kill -9 $$", check=False)
        self.assertEqual(done.returncode, 137)
        self.assertRegex(done.stderr, r"srun: error: n\d: tasks 0-2: Killed")
        done = self.run_cmd("srun", "nosuchprogram", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("execve(): nosuchprogram: No such file or directory", done.stderr)

    def test_standard_input(self):
        self.assertEqual(self.lines("srun", "-n2", "-l", "cat", stdin="hello\n"), ["0: hello", "1: hello"])
        self.assertEqual(self.lines("srun", "-n2", "-l", "-i", "1", "cat", stdin="hello\n"), ["1: hello"])
        self.assertEqual(self.lines("srun", "-n2", "-i", "none", "cat", stdin="hello\n"), [])
        done = self.run_cmd("srun", "-n2", "-i", "5", "cat", check=False)  # no task's number: a file's name
        self.assertEqual((done.returncode, done.stderr),
                         (1, "srun: error: Could not open stdin file: No such file or directory\n"))
        text = "x" * 99 + "\n"
        self.assertEqual(len(self.out("srun", "-n1", "cat", stdin=text * 50000)), 5000000)
        path = os.path.join(self.cluster.work, "in.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("from file\n")
        self.assertEqual(self.lines("srun", "-n2", "-i", "in.txt", "cat"), ["from file"] * 2)

    def test_output_files(self):
        self.run_cmd("srun", "-N2", "-n2", "-o", "node.%N", "sh", "-c", "echo $SLURMD_NODENAME > here.$SLURM_PROCID; echo $SLURMD_NODENAME")
        for node in (self.file(f"here.{task}").strip() for task in range(2)):
            self.assertEqual(self.file(f"node.{node}"), node + "\n")
        self.run_cmd("srun", "-n2", "-o", "task.%t.txt", "sh", "-c", "echo $SLURM_PROCID")
        self.assertEqual(self.file("task.1.txt"), "1\n")
        self.assertEqual(self.out("srun", "-n2", "-o", "2", "echo", "there"), "")
        self.assertEqual(self.file("2"), "there\nthere\n")
        self.run_cmd("srun", "-n2", "-o", "both.txt", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(self.file("both.txt").split()), ["err", "err", "out", "out"])
        self.run_cmd("srun", "-n2", "-o", "out.txt", "-e", "err.%t", "sh", "-c", "echo out; echo err $SLURM_PROCID >&2")
        self.assertEqual([self.file(name) for name in ("out.txt", "err.0", "err.1")], ["out\nout\n", "err 0\n", "err 1\n"])
        done = self.run_cmd("srun", "-n2", "-e", "1", "sh", "-c", "echo out; echo err $SLURM_PROCID >&2")  # of one task
        self.assertEqual((done.stdout, done.stderr), ("out\nout\n", "err 1\n"))
        done = self.run_cmd("srun", "-o", "/nope/x", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("srun: error: Could not open stdout file: No such file or directory", done.stderr)

    def test_multi_prog(self):
        with open(os.path.join(self.cluster.work, "m.conf"), "w", encoding="utf-8") as f:
            f.write("0 echo zero %t %o\n1-2 echo more %t %o\n* echo rest\n")
        self.assertEqual(self.lines("srun", "-n4", "-l", "--multi-prog", "m.conf"),
                         ["0: zero 0 0", "1: more 1 0", "2: more 2 1", "3: rest"])
        with open(os.path.join(self.cluster.work, "m.conf"), "a", encoding="utf-8") as f:
            f.write("3 echo late\n")
        done = self.run_cmd("srun", "-n4", "--multi-prog", "m.conf", check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "srun: error: Task range specification with asterisk must be last\n"
                          "srun: error: Line 4 of configuration file m.conf invalid\n"))
        with open(os.path.join(self.cluster.work, "m.conf"), "w", encoding="utf-8") as f:
            f.write("0-2 echo %t\n")
        self.assertEqual(self.lines("srun", "-l", "--multi-prog", "m.conf"), ["0: 0", "1: 1", "2: 2"])

    def test_bad_exit_ends_the_step(self):
        began = time.monotonic()
        done = self.run_cmd("srun", "-n2", "-N2", "-K", "sh", "-c", "test $SLURM_PROCID = 1 && exit 4; sleep 100",
                            check=False)
        self.assertLess(time.monotonic() - began, 50)
        self.assertIn("task 1: Exited with exit code 4", done.stderr)
        self.assertRegex(done.stderr, r"srun: Terminating StepId=\d+\.0")

    def test_wait_after_the_first_end(self):  # --wait
        done = self.run_cmd("srun", "-n2", "-W1", "sh", "-c", "test $SLURM_PROCID = 0 || exec sleep 1000", check=False)
        self.assertEqual(done.returncode, 137)
        self.assertRegex(done.stderr, r"^srun: First task exited 1s ago\nsrun: StepId=(\d+\.0) task 1: running\n"
                                      r"srun: StepId=\1 task 0: exited\nsrun: Terminating StepId=\1\n")
        self.assertEqual(self.out("srun", "-n2", "-W0", "sh", "-c", "test $SLURM_PROCID = 0 || { sleep 1; echo late; }"), "late\n")

    def test_interrupt_shows_the_state_then_ends(self):
        srun = self.cluster.start("srun", "-n3", "-N1", "sh", "-c", "echo up; exec sleep 100", stderr=-1, stdout=-1)
        self.assertEqual([srun.stdout.readline() for _ in range(3)], ["up\n"] * 3)
        srun.send_signal(signal.SIGINT)
        self.assertEqual(srun.stderr.readline(), "srun: interrupt (one more within 1 sec to abort)\n")
        self.assertRegex(srun.stderr.readline(), r"srun: StepId=\d+\.0 tasks 0-2: running\n")
        srun.send_signal(signal.SIGINT)
        rest = srun.communicate(timeout=60)[1]
        self.assertRegex(rest, r"srun: sending Ctrl-C to StepId=\d+\.0\n")
        self.assertEqual(srun.returncode, 130)
        self.wait_no_jobs()

    def test_signals_to_srun(self):
        """Some end the step, some are the tasks', some nobody's."""
        aborts = (r"srun: forcing job termination\nsrun: Job step aborted: Waiting up to \d+ seconds for job step to finish\.\n"
                  r"slurmstepd: error: \*\*\* STEP \d+\.0 ON n1 CANCELLED AT \S+ \*\*\*\nsrun: error: n1: task 0: Killed\n")
        waits = "trap 'echo got USR1' USR1; echo up; until [ -e over ]; do sleep 0.05; done; true"

        def start(*options, script="echo up; exec sleep 1000"):
            srun = self.cluster.start("srun", "-w", "n1", *options, "bash", "-c", script, stdout=-1, stderr=-1)
            self.addCleanup(srun.kill)
            self.assertEqual(srun.stdout.readline(), "up\n")
            return srun

        for number, options, said in ((signal.SIGQUIT, (), "srun: Quit\n" + aborts), (signal.SIGHUP, (), aborts), (signal.SIGTERM, (), aborts),
                                      (signal.SIGQUIT, ("-Q",), r"slurmstepd: [^\n]*\nsrun: error: n1: task 0: Killed\n")):
            srun = start(*options)
            srun.send_signal(number)
            self.assertRegex(srun.communicate(timeout=60)[1], f"^{said}$")
            self.assertEqual(srun.returncode, 137)
        srun, silent = start(script=waits), start("-Q", script=waits)
        for number in (signal.SIGALRM, signal.SIGCONT, signal.SIGINT, signal.SIGUSR1):
            srun.send_signal(number)
            silent.send_signal(number)
            if number == signal.SIGCONT:
                self.assertEqual(srun.stderr.readline(), "srun: got SIGCONT\n")
            elif number == signal.SIGINT:
                self.assertEqual(srun.stderr.readline(), "srun: interrupt (one more within 1 sec to abort)\n")
                self.assertRegex(srun.stderr.readline(), r"^srun: StepId=\d+\.0 task 0: running\n$")
        self.assertEqual([process.stdout.readline() for process in (srun, silent)], ["got USR1\n"] * 2)
        with open(f"{self.cluster.work}/over", "w", encoding="ascii"):
            pass
        for process in (srun, silent):
            self.assertNotIn("srun", process.communicate(timeout=60)[1])
            self.assertEqual(process.returncode, 0)
        self.wait_no_jobs()

    def test_terminal(self):
        status, text = in_terminal(self.cluster, "srun", "--pty", "sh", "-c", "sleep 0.3; stty size; exit 5")
        self.assertIn("30 100", text)
        self.assertEqual(status, 5)

    def test_terminal_with_labels(self):
        status, text = in_terminal(self.cluster, "srun", "--pty", "-l", "sh", "-c", "test -t 1 && echo one; echo two")
        self.assertEqual((status, text), (0, "0: one\n0: two\n"))

    def test_help_on_binding_where_nothing_binds(self):  # as tests/system/test_srun_options.py where something does
        text = "CPU bind options not supported with current configuration\n"
        self.fails(1, "", "srun", "--cpu-bind=help", "true", out=text)
        self.fails(1, "", "srun", "--cpu-bind=verbose,help", "true", out=text)
        self.fails(1, "", "srun", "true", out=text, env={"SLURM_CPU_BIND": "help"})

    def test_binding_is_told_where_nothing_binds(self):
        show = ("sh", "-c", "echo $SLURM_CPU_BIND $SLURM_CPU_BIND_VERBOSE $SLURM_CPU_BIND_TYPE:$SLURM_CPU_BIND_LIST")
        for option, told in (("none", "quiet,none quiet none:"), ("v,none", "verbose,none verbose none:"), ("quiet", ":"),
                             ("map_cpu:0", "quiet,map_cpu:0 quiet map_cpu::0")):
            self.fails(0, "srun: cluster configuration lacks support for cpu binding\n", "srun", f"--cpu-bind={option}", *show,
                       out=told + "\n")
        self.assertEqual(self.out("srun", *show), ":\n")

    def test_terminal_of_the_output(self):
        '''It is standard output that has to be one; input that comes from elsewhere ends there, too.'''
        def shell(script):
            return in_terminal(self.cluster, "/bin/sh", "-c", script.replace("srun", f"{BIN}/srun"))
        self.assertEqual(shell("srun --pty sh -c 'test -t 0' </dev/null")[0], 0)
        self.assertEqual(shell("srun --pty cat </dev/null")[0], 0)
        status, text = shell("srun --pty sh -c 'test -t 0 || echo none' | cat")
        self.assertEqual(status, 0)
        self.assertIn("srun: error: Not using a pseudo-terminal, disregarding --pty option\n", text)
        self.assertIn("none\n", text)

    def test_terminal_and_files(self):
        for option in ("-o", "-e", "-i"):
            done = self.run_cmd("srun", "--pty", option, "somewhere", "true", check=False)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "srun: error: --error/--input/--output are incompatible with --pty\n"))

    def test_terminal_that_is_resized(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.cluster.work)
            loop = "stty -echo; while read line; do stty size; done; echo bye"
            os.execve(os.path.join(BIN, "srun"), ["srun", "--pty", "sh", "-c", loop], self.cluster.env)
        self.addCleanup(os.close, fd)
        text = b""

        def shows(size):
            nonlocal text
            os.write(fd, b"\n")
            while select.select([fd], [], [], 0.1)[0]:
                text += os.read(fd, 4096)
            return text.rstrip().endswith(size)
        for rows, columns in ((40, 120), (24, 80)):
            set_size(fd, rows, columns)
            wait_for(lambda: shows(b"%d %d" % (rows, columns)), f"{rows} rows of {columns}")  # pylint: disable=cell-var-from-loop
        os.write(fd, b"\x04")  # the end of the input
        wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, "srun has ended")
        self.wait_no_jobs()

    def test_terminal_in_a_running_job(self):  # srun --jobid --overlap --pty
        job = self.submit("-w", "n3", "-n4", "--exclusive", "-o", "/dev/null", "--wrap", "srun sleep 1000")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-o", "%i"), "its step has all CPUs")
        status, text = in_terminal(self.cluster, "srun", "--jobid", str(job), "--overlap", "--pty", "sh",
                                   say=["stty size; tty; echo $SLURMD_NODENAME-$SLURM_STEP_ID", "exit 6"])
        self.assertIn("30 100", text)
        self.assertRegex(text, r"/dev/pts/\d")
        self.assertIn("n3-1", text)
        self.assertEqual(status, 6)
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_steps_in_an_allocation(self):
        out = self.out("salloc", "-N2", "-n4", "sh", "-c",
                       "srun sh -c 'echo $SLURM_STEP_ID:$SLURM_NTASKS'; srun -n1 -N1 sh -c 'echo $SLURM_STEP_ID:$SLURM_NTASKS'")
        self.assertEqual(out.split(), ["0:4"] * 4 + ["1:1"])

    def test_busy_resources_are_waited_for(self):
        done = self.run_cmd("salloc", "-N1", "-n1", "sh", "-c", "srun sleep 1 & sleep 0.3; srun echo second; wait")
        self.assertIn("second", done.stdout)
        self.assertRegex(done.stderr, r"srun: Job \d+ step creation temporarily disabled, retrying")
        done = self.run_cmd("salloc", "-N1", "-n1", "sh", "-c", "srun sleep 2 & sleep 0.3; srun -I echo second; wait")
        self.assertIn("Requested nodes are busy", done.stderr)
        self.assertNotIn("second", done.stdout)

    def test_signals_while_resources_are_waited_for(self):
        """The bug: USR1 and USR2 killed srun; of each other signal it said that it was an interrupt."""
        job = self.submit("-w", "n1", "-n1", "-o", "/dev/null", "--wrap", "srun sleep 1000")
        self.wait_state(job, "RUNNING")
        wait_for(lambda: f"{job}.0" in self.out("squeue", "-h", "-s", "-o", "%i"), "its step has all CPUs")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            srun = self.cluster.start("srun", "--jobid", str(job), "-n1", "true", stdout=-1, stderr=-1)
            self.addCleanup(srun.kill)
            self.assertIn("step creation temporarily disabled, retrying", srun.stderr.readline())
            srun.send_signal(number)
            self.assertEqual((srun.communicate(timeout=60)[1], srun.returncode),
                             (f"srun: Cancelled pending job step with signal {int(number)}\n"
                              f"srun: error: Unable to create step for job {job}: Job/step already completing or completed\n", 1))
        srun = self.cluster.start("srun", "--jobid", str(job), "-n1", "true", stdout=-1, stderr=-1)
        self.addCleanup(srun.kill)
        self.assertIn("step creation temporarily disabled, retrying", srun.stderr.readline())
        self.run_cmd("scancel", job)
        self.assertIn(f"srun: error: Unable to create step for job {job}: Job/step already completing or completed\n",
                      srun.communicate(timeout=60)[1])
        self.wait_ended(job)

    def test_now_or_never(self):
        failed = "srun: error: Unable to allocate resources: "
        for options, why in ((("-N4", "-n17"), "Requested partition configuration not available now"),
                             (("--begin=now+1hour",), "Job dependency problem"), (("-H",), "Job dependency problem")):
            self.fails(1, f"{failed}{why}\n", "srun", "-I1", *options, "true", env={"SLURM_EXIT_IMMEDIATE": "9"})
        holder = self.submit("-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(holder, "RUNNING")
        # SLURM_IMMEDIATE stands for the option, SLURM_EXIT_IMMEDIATE is the status then
        for env, status in (({"SLURM_IMMEDIATE": "1"}, 1), ({"SLURM_IMMEDIATE": "1", "SLURM_EXIT_IMMEDIATE": "9"}, 9)):
            self.fails(status, f"{failed}Requested nodes are busy\n", "srun", "-N4", "true", env=env)
        self.run_cmd("scancel", holder)
        self.wait_ended(holder)
        self.assertEqual(self.out("srun", "-n1", "echo", "ran", env={"SLURM_IMMEDIATE": "5"}), "ran\n")

    def test_a_waiting_srun_outlives_the_controller(self):
        srun = self.cluster.start("srun", "-n2", "sh", "-c", "sleep 3; echo done; exit 2", stdout=-1, stderr=-1)
        wait_for(lambda: self.out("squeue", "-h", "-t", "R"), "the job runs")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        out, _ = srun.communicate(timeout=60)
        self.assertEqual((srun.returncode, out), (2, "done\ndone\n"))

    def test_steps_in_a_running_job(self):
        job = self.submit("-n2", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.out("srun", "--overlap", "--jobid", str(job), "sh", "-c", "echo $SLURM_JOB_ID").split(),
                         [str(job)])
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_unknown_job(self):
        done = self.run_cmd("srun", "--jobid=99999", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "srun: error: Unable to confirm allocation for job 99999: Invalid job id "
                         "specified\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n")

    def test_only_what_runs_is_left(self):
        self.run_cmd("srun", "true")
        self.wait_no_jobs()

    def test_a_job_of_its_own_completes(self):
        job = self.out("srun", "sh", "-c", "echo $SLURM_JOB_ID").strip()
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_test_only(self):
        done = self.run_cmd("srun", "--test-only", "-N2", "true")
        self.assertRegex(done.stderr, r"^srun: Job \d+ to start at \S+ using 2 processors on nodes \S+ in partition debug\n$")


class HostsOfFiles(ClusterCase):
    """%N is the host's name; with several nodes on one host, where each has files of its own, the node's."""
    NODES, CPUS = 1, 2

    def test_the_only_node_of_its_host(self):
        host = socket.gethostname().split(".")[0]
        self.run_cmd("srun", "-o", "step-%N-%n", "echo", "here")
        self.wait_ended(self.submit("-o", "script-%N-%n", "--wrap", "echo here"))
        self.assertEqual([self.file(f"{kind}-{host}-0") for kind in ("step", "script")], ["here\n"] * 2)


class Salloc(ClusterCase):
    NODES, CPUS = 2, 2

    def test_messages_and_status(self):
        done = self.run_cmd("salloc", "-N2", "sh", "-c", "echo $SLURM_JOB_NODELIST $SLURM_NNODES; exit 7", check=False)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "n[1-2] 2\n")
        self.assertRegex(done.stderr, r"^salloc: Granted job allocation (\d+)\nsalloc: Nodes n\[1-2\] are ready for job\n"
                                      r"salloc: Relinquishing job allocation \1\n$")

    def test_status_of_signals(self):
        for name, status in (("HUP", 0), ("INT", 0), ("KILL", 0), ("TERM", 1)):
            done = self.run_cmd("salloc", "sh", "-c", f"kill -{name} $$", check=False)
            self.assertEqual(done.returncode, status, name)

    def test_queue(self):
        first = self.cluster.start("salloc", "-N2", "--exclusive", "sleep", "2", stderr=-1)
        wait_for(lambda: self.out("squeue", "-h", "-t", "R"), "the first has the nodes")
        done = self.run_cmd("salloc", "-N2", "true")
        self.assertRegex(done.stderr, r"^salloc: Pending job allocation (\d+)\nsalloc: job \1 queued and waiting for "
                                      r"resources\nsalloc: job \1 has been allocated resources\n"
                                      r"salloc: Granted job allocation \1\n")
        first.communicate()

    def test_revoked(self):
        """The command and all that it started get the signal."""
        done = self.run_cmd("salloc", "-K", "sh", "-c", "sleep 1050 & echo $!; scancel $SLURM_JOB_ID; sleep 1051", check=False)
        self.assertRegex(done.stderr, r"salloc: Job allocation \d+ has been revoked\.\n")
        wait_for(lambda: not os.path.exists(f"/proc/{done.stdout.strip()}"), "what it started is gone")

    def test_cancelled_by_its_own_signal(self):
        '''The job ends then and there, and the command goes on without it.'''
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            script = f"echo $SLURM_JOB_ID; until [ -e over{number} ]; do sleep 0.05; done; exit 3"
            salloc = self.cluster.start("salloc", "sh", "-c", script, stdout=-1, stderr=-1)
            self.addCleanup(salloc.kill)
            job = salloc.stdout.readline().strip()
            salloc.send_signal(number)
            self.assertEqual(self.wait_ended(job), "CANCELLED")
            with open(f"{self.cluster.work}/over{number}", "w", encoding="ascii"):
                pass
            self.assertIn(f"salloc: Job allocation {job} has been revoked.\n", salloc.communicate(timeout=60)[1])
            self.assertEqual(salloc.returncode, 3)

    def test_hangup(self):
        """The command gets it, too, and is not waited for; the job has ended well."""
        for options, said in (((), r"^salloc: Granted job allocation (\d+)\nsalloc: Nodes n1 are ready for job\n"
                               r"salloc: Relinquishing job allocation \1\n$"), (("-Q",), "^$")):
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{self.cluster.work}/hup")
            script = "trap 'touch hup' HUP; echo $SLURM_JOB_ID $$; until [ -e over ]; do sleep 0.05; done; echo never"
            salloc = self.cluster.start("salloc", "-w", "n1", *options, "sh", "-c", f"exec 2>&-; {script}", stdout=-1, stderr=-1)
            self.addCleanup(salloc.kill)
            job, pid = salloc.stdout.readline().split()
            self.addCleanup(kill_if_there, int(pid))
            salloc.send_signal(signal.SIGHUP)
            self.assertEqual(salloc.wait(timeout=60), 1)
            self.assertRegex(salloc.stderr.read(), said)
            wait_for(lambda: os.path.exists(f"{self.cluster.work}/hup"), "the command has it")
            self.assertEqual((self.wait_ended(job), self.show(job)["ExitCode"]), ("COMPLETED", "0:0"))
            self.assertTrue(os.path.exists(f"/proc/{pid}"))
            salloc.stdout.close()
            salloc.stderr.close()
        salloc = self.cluster.start("salloc", "-K", "sh", "-c", "trap '' HUP; echo $$; exec sleep 1000", stdout=-1, stderr=subprocess.DEVNULL)
        pid = salloc.stdout.readline().strip()
        self.addCleanup(kill_if_there, int(pid))
        salloc.send_signal(signal.SIGHUP)
        self.assertEqual(salloc.wait(timeout=60), 1)
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "-K ends the command")
        salloc.stdout.close()

    def test_cancelled_quietly(self):  # -Q
        salloc = self.cluster.start("salloc", "-Q", "sh", "-c", "echo $SLURM_JOB_ID; until [ -e gone ]; do sleep 0.05; done", stdout=-1,
                                    stderr=-1)
        job = salloc.stdout.readline().strip()
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        with open(f"{self.cluster.work}/gone", "w", encoding="ascii"):
            pass
        self.assertEqual((salloc.communicate(timeout=60)[1], salloc.returncode), ("", 0))

    def test_failed_with_a_step(self):
        """What still runs when the command has failed is told why it ends."""
        done = self.run_cmd("salloc", "-w", "n1", "sh", "-c", "srun sh -c 'touch failing; exec sleep 1000' >/dev/null 2>failed & echo $!; "
                            "until [ -e failing ]; do sleep 0.05; done; exit 3", check=False)
        self.assertEqual(done.returncode, 3)
        wait_for(lambda: not os.path.exists(f"/proc/{done.stdout.strip()}"), "srun has ended")
        self.assertRegex(self.file("failed"), r"slurmstepd: error: \*\*\* STEP \d+\.0 ON n1 FAILED \(non-zero exit code or other failure "
                         r"mode\) \*\*\*\n(.*\n)*srun: error: n1: task 0: Terminated\n")

    def test_no_shell(self):
        done = self.run_cmd("salloc", "--no-shell")
        job = re.search(r"Granted job allocation (\d+)", done.stderr)[1]
        self.assertEqual(self.state(job), "RUNNING")
        self.assertEqual(self.out("srun", "--jobid", job, "echo", "in"), "in\n")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_interactive_step(self):  # what salloc's shell is
        out = self.out("salloc", "-N1", "-n1", "srun", "--interactive", "sh", "-c", "echo $SLURM_JOB_ID; squeue -s -h -o %i")
        job, step = out.split()
        self.assertEqual(step, f"{job}.interactive")

    def test_interactive_shell_runs_on_the_node(self):
        status, text = in_terminal(self.cluster, "salloc", "-N1", say=["echo node=$SLURMD_NODENAME", "exit 4"])
        self.assertRegex(text, r"node=n\d")
        self.assertEqual(status, 4)


class InteractiveOptions(ClusterCase):
    """LaunchParameters=use_interactive_step: the srun that salloc without a command is has the options of the site."""
    NODES, CPUS = 2, 2
    FILES = {"greet": "#!/bin/sh\necho greets $(squeue -h -s -j $SLURM_JOB_ID -o %i) $1\n"}
    CONF = 'LaunchParameters=use_interactive_step\nInteractiveStepOptions="--interactive {dir}/greet user"\n'

    def test_options_of_the_site(self):
        status, text = in_terminal(self.cluster, "salloc", "-N1")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"(?m)^greets \d+\.interactive user$")


class Cancel(ClusterCase):
    NODES, CPUS = 2, 2

    def test_texts_and_statuses(self):
        done = self.run_cmd("scancel", "99999")
        self.assertEqual(done.stderr, "")
        done = self.run_cmd("scancel", "-v", "99999")
        self.assertEqual(done.stderr, "scancel: Terminating job 99999\n"
                         "scancel: error: Kill job error on job id 99999: Invalid job id specified\n")
        done = self.run_cmd("scancel", "99999.0", check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "scancel: error: Kill job error on job step id 99999.0: Invalid job id specified\n"))

        # blanks were taken for commas
        held = [self.submit("-H", "--wrap", "true") for _ in range(2)]
        for word in (f"{held[0]} {held[1]}", f"{held[0]} ", f"{held[0]} ,{held[1]}"):
            self.fails(1, f"scancel: error: Invalid job id {word}\n", "scancel", word)
        self.assertEqual([self.state(job) for job in held], ["PENDING", "PENDING"])
        self.run_cmd("scancel", f" {held[0]}, {held[1]}")
        self.assertEqual([self.state(job) for job in held], ["CANCELLED", "CANCELLED"])

    def test_filters(self):
        jobs = [self.submit("-H", "-J", name, "--wrap", "true") for name in ("one", "two", "two")]
        self.run_cmd("scancel", "-n", "two")
        self.assertEqual([self.state(job) for job in jobs], ["PENDING", "CANCELLED", "CANCELLED"])
        self.run_cmd("scancel", "-t", "RUNNING", "-u", str(os.getuid()))
        self.assertEqual(self.state(jobs[0]), "PENDING")
        done = self.run_cmd("scancel", "-i", str(jobs[0]), stdin="n\n")
        self.assertEqual(done.stdout, f"Cancel job_id={jobs[0]} name=one partition=debug [y/n]? ")
        self.assertEqual(self.state(jobs[0]), "PENDING")
        self.run_cmd("scancel", "-i", str(jobs[0]), stdin="y\n")
        self.assertEqual(self.state(jobs[0]), "CANCELLED")

    def test_array_tasks(self):
        job = self.submit("-H", "--array=0-3", "--wrap", "true")
        self.run_cmd("scancel", f"{job}_1", f"{job}_[0,2]")
        self.assertEqual(self.out("squeue", "-h", "-j", job, "-o", "%i").strip(), f"{job}_[3]")
        self.run_cmd("scancel", job)

    def test_signal_a_step(self):
        job = self.submit("-o", "sig.out", "--wrap", "srun sh -c 'trap \"echo got; exit 0\" USR1; echo ready; "
                          "while :; do sleep 0.1; done'")
        wait_for(lambda: "ready" in self.file("sig.out"), "the step runs")
        self.run_cmd("scancel", "-s", "USR1", f"{job}.0")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertIn("got", self.file("sig.out"))

    def test_attach(self):
        job = self.submit("-n2", "-o", "/dev/null", "--wrap",
                          "srun -n2 sh -c 'while [ ! -e go ]; do echo waits; sleep 0.1; done; echo from $SLURM_PROCID; exit 3'")
        wait_for(lambda: self.run_cmd("sattach", "--layout", f"{job}.0", check=False).returncode == 0, "the step is there")
        attached = self.cluster.start("sattach", "-l", f"{job}.0", stdout=-1, stderr=-1, stdin=-3)
        seen = set()
        while seen != {"0: waits\n", "1: waits\n"}:  # it is attached to both tasks
            seen.add(attached.stdout.readline())
        open(os.path.join(self.cluster.work, "go"), "w").close()
        out, _ = attached.communicate(timeout=30)
        self.assertEqual(sorted(set(out.splitlines()) - {"0: waits", "1: waits"}), ["0: from 0", "1: from 1"])
        self.assertEqual(attached.returncode, 3)


if __name__ == "__main__":
    unittest.main()
