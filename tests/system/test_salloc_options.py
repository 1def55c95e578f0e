"""Options of salloc itself: what it says, rings and signals."""
import os
import pty
import select
import unittest

from harness import BIN, ClusterCase, pids_with, wait_for


def on_terminal(cluster, *command):
    """What a command writes to a terminal that is its standard output."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cluster.work)
        os.execve(os.path.join(BIN, command[0]), list(command), cluster.env)
    text = b""
    while select.select([fd], [], [], 60)[0]:
        try:
            got = os.read(fd, 4096)
        except OSError:
            break
        text += got
    os.close(fd)
    os.waitpid(pid, 0)
    return text.decode()


class Salloc(ClusterCase):
    NODES, CPUS = 2, 4

    def test_what_is_said(self):
        done = self.run_cmd("salloc", "-Q", "echo", "in")
        self.assertEqual((done.stdout, done.stderr), ("in\n", ""))
        done = self.run_cmd("salloc", "-v", "-n3", "true")
        self.assertRegex(done.stderr, r"salloc: defined options\n(.*\n)*salloc: ntasks              : 3\n")

    def test_bell(self):
        self.assertIn("\a", on_terminal(self.cluster, "salloc", "--bell", "true"))
        self.assertNotIn("\a", on_terminal(self.cluster, "salloc", "true"))
        self.assertNotIn("\a", on_terminal(self.cluster, "salloc", "--bell", "--no-bell", "true"))

    def test_immediate(self):
        """-I gives up at once when nothing is free, -Iseconds when that time is over, and no job is left behind."""
        busy = r"^salloc: error: Unable to allocate resources: Requested nodes are busy\nsalloc: Job allocation \d+ has been revoked\.\n$"
        for option in ("-I", "-I1", "--immediate=1"):
            done = self.run_cmd("salloc", "-Q", "-N2", "-n8", "salloc", option, "echo", "ran", check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), option)
            self.assertRegex(done.stderr, busy)
        for variables, status in ((["SALLOC_IMMEDIATE=1"], 1), (["SALLOC_IMMEDIATE=1", "SLURM_EXIT_IMMEDIATE=7"], 7)):
            done = self.run_cmd("salloc", "-Q", "-N2", "-n8", "env", *variables, "salloc", "echo", "ran", check=False)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertRegex(done.stderr, busy)
        self.assertEqual(self.out("salloc", "-I", "echo", "ran"), "ran\n")
        self.wait_no_jobs()

    def test_signal(self):
        """The steps are warned before the end, the command is not."""
        out = self.run_cmd("salloc", "--signal=USR1@60", "-t2", "sh", "-c", "trap 'echo command' USR1; srun sh -c \"trap 'echo "
                           "step; exit 3' USR1; scontrol update JobId=$SLURM_JOB_ID TimeLimit=1; while :; do sleep 0.1; "
                           "done\"; echo $?").stdout
        self.assertEqual([line for line in out.split() if line in ("step", "command", "3")], ["step", "3"])

    def test_node_failure(self):
        """With -k the job and its command go on without a node that went down."""
        for options, state in ((("-k",), "COMPLETED"), ((), "NODE_FAIL")):
            name = "fails" + "".join(options)
            salloc = self.cluster.start("salloc", "-N2", "-J", name, *options, "sh", "-c",
                                        f"touch {name}.up; while [ ! -e {name} ]; do sleep 0.05; done", stdout=-1, stderr=-1)
            wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, name + ".up")), "the command runs")
            job = self.out("squeue", "-h", "-n", name, "-o", "%i").strip()
            self.run_cmd("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
            if options:
                self.assertEqual(self.state(job), "RUNNING")
            else:
                self.wait_state(job, "NODE_FAIL")
            open(os.path.join(self.cluster.work, name), "w").close()  # the command goes on either way
            salloc.communicate(timeout=30)
            self.assertEqual(self.wait_ended(job), state)
            self.run_cmd("scontrol", "update", "NodeName=n2", "State=RESUME")

    def test_user_environment(self):  # --get-user-env
        show = ("salloc", "-Q", "--get-user-env", "sh", "-c", "echo $HOME; echo $LOGNAME; echo $OWN; echo $SLURM_JOB_ID")
        home, name, own, job = self.run_cmd(*show, env={"HOME": "/nowhere", "LOGNAME": "nobody", "OWN": "kept"}).stdout.splitlines()
        self.assertEqual((home, name, own), (os.path.expanduser("~root"), "root", "kept"))
        self.assertTrue(job.isdigit())
        self.fails(255, "salloc: error: Invalid --get-user-env specification\n", "salloc", "--get-user-env=x", "true")
        self.fails(1, "salloc: error: Failed to get current user environment variables\n", "salloc", "--uid=nobody",
                   "--get-user-env", "true")

    def test_stop_and_go_on(self):
        """Ctrl-Z stops the command and salloc, so that the shell has its terminal back; fg lets both go on."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.cluster.work)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], dict(self.cluster.env, PS1="$ "))
        self.addCleanup(os.close, fd)
        said = b""

        def until(text):
            nonlocal said
            while text not in said:
                self.assertTrue(select.select([fd], [], [], 60)[0], said)
                said += os.read(fd, 4096)
            said = said[said.index(text) + len(text):]
        os.write(fd, b"salloc -Q sh -c 'echo be''gun; sleep 1060; echo o''ver'\n")
        until(b"begun")
        wait_for(lambda: pids_with("1060", "sleep"), "the command sleeps")
        os.write(fd, b"\x1a")
        until(b"Stopped")
        os.write(fd, b"echo shell''lives; fg\n")
        until(b"shelllives")
        until(b"salloc")
        wait_for(lambda: " (sleep) S " in open(f"/proc/{pids_with('1060', 'sleep')[0]}/stat", encoding="ascii").read(), "it goes on")
        os.write(fd, b"\x03")
        wait_for(lambda: not pids_with("1060", "sleep"), "Ctrl-C reaches the command")
        os.write(fd, b"echo en''ded; exit\n")
        until(b"ended")
        os.waitpid(pid, 0)
        self.wait_no_jobs()

    def test_exit_code_is_the_commands(self):
        self.assertEqual(self.run_cmd("salloc", "sh", "-c", "exit 9", check=False).returncode, 9)
        done = self.run_cmd("salloc", "nosuchcommand", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('Unable to find command "nosuchcommand"', done.stderr)


if __name__ == "__main__":
    unittest.main()
