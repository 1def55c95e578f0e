"""The filters and signals of scancel, and what sattach shows and gives of a step."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest

from harness import BIN, ClusterCase, wait_for

NOBODY = 65534
TRAP = ("trap 'echo batch >> {0}' USR1; srun sh -c \"trap 'echo step >> {0}' USR1; touch {0}.up; "
        "while [ ! -e {0}.go ]; do sleep 0.05; done\" & while [ ! -e {0}.go ]; do sleep 0.05; done; wait")


class Scancel(ClusterCase):
    NODES, CPUS = 2, 4
    CONF = "PartitionName=debug Nodes=ALL Default=YES State=UP\nPartitionName=other Nodes=ALL State=UP\n"

    def test_other_cluster(self):  # -M
        job = self.submit("-H", "--wrap", "true")
        for options in (("-M", "elsewhere"), ("--cluster=elsewhere",), ("--clusters", "elsewhere")):
            done = self.run_cmd("scancel", *options, job, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, "scancel: error: 'elsewhere' can't be reached now, or it is an invalid "
                             "entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.\n"))
        self.assertEqual(self.state(job), "PENDING")
        name = self.out("scontrol", "show", "config").split("ClusterName             = ")[1].split()[0]
        self.run_cmd("scancel", "-M", name, job)
        self.assertEqual(self.state(job), "CANCELLED")

    def test_filters(self):
        """Each option cancels the one job that it names, and none of the others."""
        cases = [("-A", "money"), ("--account", "gold"), ("-n", "name1"), ("--name", "name2"), ("--jobname", "name3"),
                 ("-p", "other"), ("--partition", "other"), ("-q", "high"), ("--qos", "low"), ("--wckey", "key")]
        submits = dict(A="-A", account="-A", n="-J", name="-J", jobname="-J", p="-p", partition="-p", q="-q", qos="-q",
                       wckey="--wckey")
        bystander = self.submit("-H", "--wrap", "true")
        for option, value in cases:
            job = self.submit("-H", submits[option.strip("-")], value, "--wrap", "true")
            self.run_cmd("scancel", option, value)
            self.assertEqual((self.state(job), self.state(bystander)), ("CANCELLED", "PENDING"), option)
        for variable, value in (("SCANCEL_NAME", "name4"), ("SCANCEL_ACCOUNT", "silver")):
            job = self.submit("-H", "-J" if variable.endswith("NAME") else "-A", value, "--wrap", "true")
            self.run_cmd("scancel", env={variable: value})
            self.assertEqual((self.state(job), self.state(bystander)), ("CANCELLED", "PENDING"), variable)
        for filters in (("-R", "none"), ("-n", "none"), ("-t", "RUNNING"), ("-p", "other", "-t", "PENDING")):
            self.fails(0, "", "scancel", *filters, bystander)  # it is there, but not meant
        self.assertEqual(self.state(bystander), "PENDING")
        self.run_cmd("scancel", bystander)

    def test_filters_and_names_of_what_is_not_there(self):
        def missing(*names):
            return "".join(f"scancel: error: Kill job error on job id {name}: Invalid job id specified\n" for name in names)

        array, job = self.submit("-H", "-a", "1-4", "--wrap", "true"), self.submit("-H", "--wrap", "true")
        self.fails(0, "", "scancel", "-t", "RUNNING", job, array, f"{array}_2", f"{array}_[3-9]")
        self.fails(1, missing(99999, f"{array}_7"), "scancel", "-t", "PENDING", 99999, job, f"{array}_7", f"{array}_[1,3]")
        self.assertEqual(self.state(job), "CANCELLED")
        self.assertEqual(self.out("squeue", "-h", "-r", "-o", "%K", "-j", array).split(), ["2", "4"])
        self.fails(1, missing(job), "scancel", "-t", "PENDING", job)  # over
        self.run_cmd("scancel", array)

    def test_users_states_and_nodes(self):
        theirs = int(self.out("sbatch", "--parsable", "-H", "--wrap", "true", user=NOBODY))
        mine = self.submit("-H", "--wrap", "true")
        first = self.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 100")
        second = self.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 100")
        self.wait_state(first, "RUNNING")
        self.wait_state(second, "RUNNING")
        self.run_cmd("scancel", "-w", "n2")
        self.assertEqual((self.wait_ended(second), self.state(first)), ("CANCELLED", "RUNNING"))
        for name in ("CD", "completed", "CG", "CONFIGURING"):  # nothing to cancel, which was an error
            self.assertEqual(self.run_cmd("scancel", "-t", name, "--me").stderr, "")
            self.assertEqual([self.state(j) for j in (mine, first)], ["PENDING", "RUNNING"])
        self.fails(0, "scancel: error: No active jobs match ALL job filters, including: state=FAILED \n", "scancel", "-v", "-t", "F")
        self.run_cmd("scancel", "--state=PENDING", "--me")
        self.assertEqual([self.state(j) for j in (mine, first, theirs)], ["CANCELLED", "RUNNING", "PENDING"])
        self.run_cmd("scancel", "-u", "nobody")
        self.assertEqual([self.state(j) for j in (first, theirs)], ["RUNNING", "CANCELLED"])
        self.run_cmd("scancel", "-t", "RUNNING", "--me")
        self.assertEqual(self.wait_ended(first), "CANCELLED")

    def test_signals(self):
        cases = {"steps": ((), ["step"]), "script": (("-b",), ["batch"]), "all": (("--full",), ["batch", "step"])}
        jobs = {name: self.submit("-o", "/dev/null", "--wrap", TRAP.format(name)) for name in cases}
        for name, (options, expected) in cases.items():
            wait_for(lambda: os.path.exists(f"{self.cluster.work}/{name}.up"), "the step runs")  # pylint: disable=cell-var-from-loop
            self.run_cmd("scancel", "-s", "USR1", *options, jobs[name])
            wait_for(lambda: len(self.file(name).split()) >= len(expected), f"{name} got it")  # pylint: disable=cell-var-from-loop
        for name in cases:
            open(f"{self.cluster.work}/{name}.go", "w").close()
            self.wait_ended(jobs[name])
            self.assertEqual(sorted(set(self.file(name).split())), cases[name][1], name)

    def shown_on_terminal(self, *command, stdin=""):
        """What a command writes when its standard output is a terminal."""
        terminal, end = pty.openpty()
        subprocess.run([os.path.join(BIN, command[0]), *map(str, command[1:])], input=stdin, text=True, check=True, timeout=60,
                       stdout=end, stderr=subprocess.PIPE, env=self.cluster.env, cwd=self.cluster.work)
        os.close(end)
        text = b""
        while True:
            try:
                text += os.read(terminal, 4096)
            except OSError:  # all of it
                break
        os.close(terminal)
        return text.decode()

    def test_names_do_not_move_the_cursor(self):
        """A job's name could erase the line that scancel asks with, and what sluice explain says."""
        name = "a\x1b[2K\rb"
        job = self.submit("-H", "-J", name, "--comment", name, "--wrap", "printf '\\t\x1b[2K'")
        blocks = self.submit("--dependency", f"singleton,afterok:{job}", "-J", name, "--wrap", "true")
        commands = [("scancel", "-i", "-n", name), ("sluice", "explain", job), ("sluice", "explain", blocks),
                    ("scontrol", "show", "job", job), ("scontrol", "write", "batch_script", job, "-"), ("squeue", "-j", job)]
        for command in commands:
            text = self.shown_on_terminal(*command, stdin="n\n" * 3)
            self.assertNotIn("\x1b", text, command)
            self.assertNotIn("\r", text.replace("\r\n", "\n"), command)
        self.assertIn("name=a?[2K?b partition", self.shown_on_terminal(*commands[0], stdin="n\n" * 3))
        self.assertIn("name=" + name.replace("\r", "\n") + " ", self.out(*commands[0], stdin="n\n" * 3))  # a file gets it as it is
        self.run_cmd("scancel", job, blocks)

    def test_what_is_said(self):
        job = self.submit("-H", "-J", "asked", "--wrap", "true")
        self.assertEqual(self.run_cmd("scancel", "-i", "-n", "asked", stdin="n\n").stdout,
                         f"Cancel job_id={job} name=asked partition=debug [y/n]? ")
        for target in (job, "999999"):
            self.fails(1, "Unknown job signal: 0\n", "scancel", "-s", "0", target)
        self.assertEqual(self.state(job), "PENDING")
        self.assertEqual(self.run_cmd("scancel", "-v", job).stderr, f"scancel: Terminating job {job}\n")
        array = self.submit("-a", "1-4%1", "-o", "/dev/null", "--wrap", "[ $SLURM_ARRAY_TASK_ID = 1 ] || sleep 100")
        self.wait_state(f"{array}_2", "RUNNING")
        self.assertEqual(self.run_cmd("scancel", array).stderr, "")  # its first task is over, which nobody minds

    def test_what_is_over(self):
        """It is nothing to end, but unknown to a signal."""
        over, array = self.submit("-H", "--wrap", "true"), self.submit("-H", "-a", "1-4", "--wrap", "true")
        self.run_cmd("scancel", over, array)
        for name in (array, f"{array}_2", f"{array}_[1-3]"):
            self.fails(0, "", "scancel", name)
            self.fails(1, f"scancel: error: Kill job error on job id {name}: Invalid job id specified\n", "scancel", "-s", "USR1", name)
        for job, why in ((over, "Job/step already completing or completed"), (99999, "Invalid job id specified")):
            for options in ((), ("-f",), ("-Q",), ("-Q", "-v"), ("-v", "-Q")):
                self.fails(0, "", "scancel", *options, job)
            self.fails(0, f"scancel: Terminating job {job}\nscancel: error: Kill job error on job id {job}: {why}\n", "scancel", "-v", job)
            missing = f"scancel: error: Kill job error on job id {job}: Invalid job id specified\n"
            for options in (("-s", "USR1"), ("-v", "-s", "USR1"), ("-s", "KILL"), ("-b",), ("-f", "-s", "TERM"), ("-Q", "-v", "-s", "USR1")):
                self.fails(1, missing, "scancel", *options, job)
            self.fails(1, "", "scancel", "-Q", "-s", "USR1", job)
            for options in ((), ("-v",), ("-s", "TERM")):
                self.fails(1, missing.replace(f"job id {job}", f"job step id {job}.0"), "scancel", *options, f"{job}.0")
            self.fails(1, "", "scancel", "-Q", f"{job}.0")

    def test_steps_that_are_not_there(self):
        """Those of a running job; one that waits has no steps, which is no error."""
        job, waits = self.submit("-o", "/dev/null", "--wrap", "sleep 100"), self.submit("-H", "--wrap", "true")
        self.wait_state(job, "RUNNING")
        error = f"scancel: error: Kill job error on job step id {job}.9: Invalid job id specified\n"
        for options in ((), ("-Q",), ("-b",), ("-f",), ("-t", "R")):
            self.fails(225, error, "scancel", *options, f"{job}.9")
        self.fails(225, f"scancel: Terminating step {job}.9\n{error}", "scancel", "-v", f"{job}.9")
        for name, said in (("TERM", "Signal 15 to"), ("USR1", "Signal 10 to"), ("KILL", "Terminating")):
            self.fails(0, "", "scancel", "-s", name, f"{job}.9")
            self.fails(0, f"scancel: {said} step {job}.9\n", "scancel", "-v", "-s", name, f"{job}.9")
        for options in ((), ("-v",), ("-v", "-s", "TERM")):
            self.fails(0, "", "scancel", *options, f"{waits}.0")
        self.assertEqual([self.state(j) for j in (job, waits)], ["RUNNING", "PENDING"])
        self.fails(0, f"scancel: Signal 9 to job {job}\n", "scancel", "-v", "-s", "KILL", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        for options, kind in (("-f",), "full"), (("-b",), "batch"):
            self.fails(0, f"scancel: Terminating {kind} job {waits}\n", "scancel", "-v", *options, waits)
            self.assertEqual(self.state(waits), "CANCELLED")
            waits = self.submit("-H", "--wrap", "true")
        self.run_cmd("scancel", waits)

    def test_no_script_to_signal(self):
        srun = self.cluster.start("srun", "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 100", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        job = srun.stdout.readline().strip()
        for options in (("-b",), ("-b", "-s", "TERM")):
            self.fails(217, f"scancel: error: Kill job error on job id {job}: Job script not specified\n", "scancel", *options, job)
        self.run_cmd("scancel", job)
        srun.communicate(timeout=60)
        self.assertEqual(srun.returncode, 143)

    def test_one_question(self):
        """Filters cost one request for all, and no look at the jobs before it."""
        def questions(*command):
            self.run_cmd("sdiag", "-r")
            self.run_cmd("scancel", *command)
            lines = [line for line in self.out("sdiag").split("statistics by user")[0].splitlines() if "count:" in line]
            return {line.split()[0]: int(line.split("count:")[1].split()[0]) for line in lines
                    if line.split()[0] in ("REQUEST_JOB_INFO", "REQUEST_KILL_JOB", "REQUEST_KILL_JOBS")}

        jobs = [self.submit("-H", "--wrap", "true") for _ in range(3)]
        self.assertEqual(questions("-t", "RUNNING", *jobs), {"REQUEST_KILL_JOBS": 1})
        self.assertEqual(questions("-t", "PENDING", *jobs[:2]), {"REQUEST_KILL_JOBS": 1})
        self.assertEqual(questions("-s", "KILL", jobs[2]), {"REQUEST_KILL_JOB": 1})
        self.assertEqual([self.state(job) for job in jobs], ["CANCELLED"] * 3)
        more = [self.submit("-H", "--wrap", "true") for _ in range(20)]
        self.assertEqual(questions(*more), {"REQUEST_KILL_JOBS": 1})
        self.assertEqual({self.state(job) for job in more}, {"CANCELLED"})

    def test_lines_of_a_cancellation(self):
        """TERM leaves one, and KILL that is sent to a script, even where it is caught; a further one does not."""
        line = "slurmstepd: error: *** {} ON n1 CANCELLED AT * ***"
        loop = "trap 'echo got' TERM USR1; touch {0}.up; until [ -e {0}.go ]; do sleep 0.05; done; true"  # the sleep may have ended by the signal

        def run(name, *ways, step=False):
            script = loop.format(name)
            wrap = f"srun bash -c \"{script}\"; echo srun $?" if step else script
            job = self.submit("-w", "n1", "-o", f"{name}.out", "--wrap", wrap)
            wait_for(lambda: os.path.exists(f"{self.cluster.work}/{name}.up"), "it runs")
            for count, (*options, target) in enumerate(ways, 1):
                self.run_cmd("scancel", *options, target.format(job))
                if "KILL" not in options:
                    wait_for(lambda: self.file(f"{name}.out").count("got") == count, "the signal is there")  # pylint: disable=cell-var-from-loop
            open(f"{self.cluster.work}/{name}.go", "w").close()
            self.wait_ended(job)
            said = [text for text in self.file(f"{name}.out").splitlines() if "***" in text]
            return [re.sub(r"AT \S+", "AT *", text) for text in said], job

        lines, job = run("term", ("-b", "-s", "USR1", "{}"), ("-b", "-s", "TERM", "{}"), ("-f", "-s", "TERM", "{}"))
        self.assertEqual(lines, [line.format(f"JOB {job}")])
        lines, job = run("killed", ("-b", "-s", "KILL", "{}"))
        self.assertEqual(lines, [line.format(f"JOB {job}")])
        self.assertEqual(run("other", ("-b", "-s", "USR1", "{}"))[0], [])
        lines, job = run("step", ("-s", "USR1", "{}"), ("-s", "TERM", "{}.0"), ("-s", "TERM", "{}"), step=True)
        self.assertEqual(lines, [line.format(f"STEP {job}.0")])
        self.assertNotIn("aborted", self.file("step.out"))  # it goes on
        self.assertIn("srun 0\n", self.file("step.out"))
        self.assertEqual(run("ended", ("-s", "KILL", "{}.0"), step=True)[0], [])
        self.assertRegex(self.file("ended.out"), r"(?s)task 0: Killed\n.*Force Terminated StepId=\d+\.0\nsrun 137\n")

    def test_sattach_and_signals(self):
        """It ends by them, and the step hears nothing."""
        job = self.submit("-o", "heard", "--wrap", "srun sh -c \"trap 'echo heard' USR1 INT TERM; until [ -e quiet ]; do echo t >&2; sleep 0.05; done\"")
        wait_for(lambda: self.file("heard"), "the step runs")
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            attached = self.cluster.start("sattach", f"{job}.0", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=-1)
            self.assertEqual(attached.stderr.readline(), "t\n")
            attached.send_signal(number)
            attached.communicate(timeout=30)
            self.assertEqual(attached.returncode, 128 + number)
        open(f"{self.cluster.work}/quiet", "w").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertNotIn("heard", self.file("heard"))

    def test_sattach(self):
        def line(client):  # the next one that is no tick
            return next(text for text in iter(client.stdout.readline, "") if "tick" not in text)

        job = self.submit("-n2", "-o", "/dev/null", "--wrap", "sleep 100 | srun -n2 sh -c 'touch up$SLURM_PROCID; "
                          "while [ ! -e go ]; do echo tick; sleep 0.05; done; read x; echo out "
                          "$SLURM_PROCID $x; echo err $SLURM_PROCID >&2; while [ ! -e end ]; do sleep 0.05; done'")
        wait_for(lambda: all(os.path.exists(f"{self.cluster.work}/up{i}") for i in (0, 1)), "the step runs")
        layout = self.out("sattach", "--layout", f"{job}.0")
        self.assertEqual(layout, "Job step layout:\n\t2 tasks, 1 nodes (n1)\n\n\tNode 0 (n1), 2 task(s): 0 1 \n")
        some = self.cluster.start("sattach", "-l", "--output-filter=1", "--error-filter=0", f"{job}.0", stdin=-1, stdout=-1, stderr=-1)
        give = self.cluster.start("sattach", "--input-filter=1", f"{job}.0", stdin=-1, stdout=-1, stderr=-1)
        self.assertEqual((some.stdout.readline(), give.stdout.readline()), ("1: tick\n", "tick\n"))  # both are attached
        open(os.path.join(self.cluster.work, "go"), "w").close()
        give.stdin.write("hello\n")
        give.stdin.flush()
        self.assertEqual(line(give), "out 1 hello\n")  # task 0 still waits for its line
        self.assertEqual(line(some), "1: out 1 hello\n")
        all_in = self.cluster.start("sattach", f"{job}.0", stdin=-1, stdout=-1, stderr=-1)
        all_in.stdin.write("more\n")
        all_in.stdin.flush()
        self.assertEqual(line(give), "out 0 more\n")
        open(os.path.join(self.cluster.work, "end"), "w").close()
        out, err = some.communicate(timeout=30)
        self.assertEqual(out, "")
        self.assertIn("0: err 0\n", err)
        self.assertNotIn("1: err", err)
        give.communicate(timeout=30)
        all_in.communicate(timeout=30)
        self.run_cmd("scancel", job)

    def test_sattach_shows_the_last_output(self):
        """What each task wrote last is sent again to who attaches, as often as somebody does."""
        job = self.submit("-n2", "-N1", "-o", "/dev/null", "--wrap",
                          "srun -n2 sh -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2; touch said$SLURM_PROCID; "
                          "while [ ! -e over ]; do sleep 0.05; done'")
        wait_for(lambda: all(os.path.exists(f"{self.cluster.work}/said{i}") for i in (0, 1)), "the tasks have said what they had to")
        for options, lines in (("-l",), {"0: out 0\n", "1: out 1\n"}), (("--output-filter=1",), {"out 1\n"}):
            attached = self.cluster.start("sattach", *options, f"{job}.0", stdin=subprocess.DEVNULL, stdout=-1, stderr=-1)
            self.assertEqual({attached.stdout.readline() for _ in lines}, lines)
            attached.send_signal(signal.SIGTERM)
            attached.communicate(timeout=30)
        attached = self.cluster.start("sattach", f"{job}.0", stdin=subprocess.DEVNULL, stdout=-1, stderr=-1)
        self.assertEqual({attached.stderr.readline() for _ in range(2)}, {"err 0\n", "err 1\n"})
        open(os.path.join(self.cluster.work, "over"), "w").close()
        self.assertEqual(attached.communicate(timeout=30)[1], "")
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_sattach_words(self):
        self.assertEqual(self.out("sattach", "-V"), self.out("sinfo", "-V"))
        done = self.run_cmd("sattach", "--input-filter=x", "1.0", check=False)
        self.assertEqual((done.returncode, done.stderr), (1, 'sattach: error: Invalid numeric value "x" for input-filter.\n'))
        said = []
        for options in ((), ("-v",)):
            name = "words" + "".join(options)
            job = self.submit("-o", "/dev/null", "--wrap",
                              f"srun sh -c 'touch {name}.up; while [ ! -e {name}.go ]; do echo tick; sleep 0.05; done'")
            wait_for(lambda: os.path.exists(f"{self.cluster.work}/{name}.up"), "the step runs")
            attached = self.cluster.start("sattach", *options, f"{job}.0", stdin=subprocess.DEVNULL, stdout=-1, stderr=-1)
            self.assertEqual(attached.stdout.readline(), "tick\n")
            open(f"{self.cluster.work}/{name}.go", "w").close()
            said.append(attached.communicate(timeout=30)[1])
            self.wait_ended(job)
        self.assertEqual(said[0], "")
        self.assertRegex(said[1], r"^sattach: launching StepId=.* on host n1, 1 tasks: 0\nsattach: Node n1, 1 tasks started\n")

    def test_sattach_terminal(self):
        """--pty gives the step the size of the terminal that attaches."""
        shell = "stty size > size.0; trap 'stty size > size' WINCH; touch tty.up; while [ ! -e tty.go ]; do sleep 0.05; done"
        job = self.submit("-o", "/dev/null", "--wrap", f"script -qc \"srun --pty sh -c \\\"{shell}\\\"\" /dev/null")
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/tty.up"), "the step runs")
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(os.path.join(BIN, "sattach"), ["sattach", "--pty", f"{job}.0"], self.cluster.env)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 77, 0, 0))
        wait_for(lambda: os.path.exists(f"{self.cluster.work}/size") and self.file("size") == "31 77\n", "its size has come")
        open(os.path.join(self.cluster.work, "tty.go"), "w").close()
        self.wait_ended(job)
        os.close(terminal)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    unittest.main()
