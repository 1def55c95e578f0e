"""What a third trial by an administrator found."""
import os
import re
import subprocess
import time
import unittest
from datetime import datetime

from harness import Cluster, ClusterCase, add_users, free_ports, need_root, pids_with, wait_for

SLURM = 63686


def script(text):
    return "#!/bin/sh\n" + text


class Nodes(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "SlurmdTimeout=4\nReturnToService=1\n"

    def node(self, name):
        return self.out("sinfo", "-h", "-n", name, "-N", "-o", "%T|%E").splitlines()[0].strip()

    def test_a_node_that_never_registers_is_down(self):
        """It stayed UNKNOWN for ever, and nothing said so."""
        port = free_ports(1)
        line = f"NodeName=late NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1\nNodeName=far NodeAddr=no-such-host.invalid CPUs=1\n"
        line += "NodeName=later NodeAddr=127.0.0.1 CPUs=1 State=FUTURE\nPartitionName=more Nodes=late,far,later\n"
        self.cluster.change_conf(lambda text: text + line)
        self.run_cmd("scontrol", "reconfigure")
        for name in ("late", "far"):
            wait_for(lambda: self.node(name) == "down*|Not responding", f"{name} is given up", 60)
        self.assertIn("later", self.out("scontrol", "show", "nodes", "--future", "-o"))
        self.assertIn("State=FUTURE", self.out("scontrol", "show", "node", "later", "-o"))
        wait_for(lambda: re.search("error: node late state set to DOWN.* Reason=Not responding", self.cluster.log()), "the log says so")
        self.cluster.start_node("late")
        wait_for(lambda: self.node("late") == "idle|none", "it is used as soon as it registers")
        self.assertEqual(self.node("n1"), "idle|none")


class Programs(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "PrologSlurmctld={dir}/prolog\nEpilogSlurmctld={dir}/epilog\nPrologTimeout=1\nEpilogTimeout=1\n"
    FILES = {"prolog": script("[ -e {dir}/work/prolog.hangs ] && sleep 1000\nexit 0\n"),
             "epilog": script("[ -e {dir}/work/epilog.hangs ] && sleep 1000\n[ -e {dir}/work/epilog.fails ] && exit 2\nexit 0\n")}

    def flag(self, name):
        path = os.path.join(self.cluster.work, name)
        with open(path, "w", encoding="utf-8"):
            pass
        return path

    def test_1_time_acts_on_programs_of_the_controller(self):
        """No time limit acted on either."""
        path = self.flag("prolog.hangs")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        late = f"{self.cluster.dir}/prolog is killed: it took longer than 1 s"
        wait_for(lambda: late in self.cluster.log(), "the prolog is ended")
        wait_for(lambda: f"JobId={job}: {self.cluster.dir}/prolog was ended by signal 9" in self.cluster.log(), "the log says so")
        os.remove(path)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        path = self.flag("epilog.hangs")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        late = f"JobId={job}: {self.cluster.dir}/epilog was ended by signal 9"
        wait_for(lambda: late in self.cluster.log(), "the epilog is ended")
        os.remove(path)

    def test_2_what_failed_is_told_by_its_exit_status(self):
        """The log had what wait(2) gives: status 512."""
        path = self.flag("epilog.fails")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: f"JobId={job}: {self.cluster.dir}/epilog ended with exit status 2" in self.cluster.log(), "the log says so")
        os.remove(path)

    def test_3_they_end_with_the_controller(self):
        """They outlived the controller's end, and held it up for half a minute."""
        before = self.cluster.change_conf(lambda text: text.replace("PrologTimeout=1", "PrologTimeout=600"))
        self.run_cmd("scontrol", "reconfigure")
        path = self.flag("prolog.hangs")
        job = self.submit("-o", "/dev/null", "--wrap", "true")
        program = os.path.join(self.cluster.dir, "prolog")
        wait_for(lambda: pids_with(program), "the prolog runs")
        begun = time.monotonic()
        os.kill(self.cluster.controller_pid(), 15)
        wait_for(lambda: not pids_with(self.cluster.conf, "sluicectld"), "the controller ends")
        self.assertLess(time.monotonic() - begun, 15)
        self.assertEqual(pids_with(program), [])
        self.assertIn(f"JobId={job}: PrologSlurmctld {program} is killed: the daemon ends", self.cluster.log())
        os.remove(path)
        self.cluster.change_conf(lambda text: before)
        self.cluster.start_controller()
        self.assertEqual(self.wait_ended(job), "COMPLETED")


class PowerSaving(unittest.TestCase):
    def test_slurm_user_reads_its_resume_file(self):
        """It was a file of the controller's, which its own user could not open when root had started it."""
        need_root()
        add_users(type(self), SLURM)

        def prepare(folder):
            for sub in ("state", "log", "run", "spool"):
                os.mkdir(os.path.join(folder, sub))
                if sub != "spool":
                    os.chown(os.path.join(folder, sub), SLURM, SLURM)
            with open(os.path.join(folder, "slurm.key"), "wb") as f:
                f.write(os.urandom(64))
            os.chmod(f.name, 0o600)
            os.chown(f.name, SLURM, SLURM)
        conf = (f"SlurmUser=sluicetest{SLURM}\nAuthInfo=socket={{dir}}/run/sack.socket\nSuspendProgram=/bin/true\nResumeProgram={{dir}}/resume\n"
                "SuspendTimeout=1\nResumeTimeout=600\n")
        cluster = Cluster(nodes=1, cpus=1, conf=conf, prepare=prepare,
                          files={"resume": script("cp $SLURM_RESUME_FILE {dir}/work/told.new && mv {dir}/work/told.new {dir}/work/told\n")})
        try:
            cluster.run("scontrol", "update", "NodeName=n1", "State=POWER_DOWN")
            wait_for(lambda: cluster.run("sinfo", "-h", "-o", "%t").stdout.strip() == "idle~", "it is down")
            cluster.run("scontrol", "update", "NodeName=n1", "State=POWER_UP")
            told = os.path.join(cluster.work, "told")
            wait_for(lambda: os.path.exists(told), "the program has read its file")
            with open(told, encoding="utf-8") as f:
                self.assertEqual(f.read(), '{"jobs":[],"all_nodes":"n1"}')
            wait_for(lambda: not os.listdir(os.path.join(cluster.dir, "state/resume")), "the file goes with the program")
        finally:
            cluster.down()


class Configuration(ClusterCase):
    NODES, CPUS = 2, 2

    def reconfigure(self, more):
        before = self.cluster.change_conf(lambda text: text + more)
        self.addCleanup(lambda: (self.cluster.change_conf(lambda text: before), self.run_cmd("scontrol", "reconfigure")))
        return self.run_cmd("scontrol", "reconfigure", check=False)

    def test_jobs_of_a_reservation_start_with_it(self):
        """They started up to half a minute later."""
        self.run_cmd("scontrol", "create", "reservation", "ReservationName=soon", "StartTime=now+5", "Duration=10", "Users=root", "Nodes=n1")
        job = self.submit("--reservation=soon", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(job, "RUNNING")
        at = lambda text: datetime.fromisoformat(text).timestamp()
        words = dict(word.split("=", 1) for word in self.out("scontrol", "show", "reservation", "-o").split())
        self.assertLess(at(self.show(job)["StartTime"]) - at(words["StartTime"]), 4)
        self.run_cmd("scancel", job)
        self.wait_no_jobs()
        self.run_cmd("scontrol", "delete", "reservation=soon")

    def test_a_log_that_cannot_be_opened_is_refused(self):
        """It was taken silently."""
        done = self.reconfigure("SlurmctldLogFile=/no/such/folder/slurmctld.log\n")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("SlurmctldLogFile=/no/such/folder/slurmctld.log", done.stderr)
        self.assertIn("reconfigure refused: SlurmctldLogFile=/no/such/folder/slurmctld.log", self.cluster.log())

    def test_updates_say_what_they_change(self):
        """A group that nobody has was accepted without a word, and the log had the partition's name alone."""
        self.run_cmd("scontrol", "update", "PartitionName=debug", "AllowGroups=nosuchgroup", "MaxTime=60")
        wait_for(lambda: 'AllowGroups names "nosuchgroup", which is no group of this host' in self.cluster.log(), "a warning")
        wait_for(lambda: "update_part: partition debug State=UP Nodes=" in self.cluster.log(), "the line of the update")
        line = next(line for line in self.cluster.log().splitlines() if "update_part: partition debug" in line)
        self.assertIn("AllowGroups=nosuchgroup", line)
        self.assertIn("MaxTime=01:00:00", line)
        self.assertNotIn("PriorityTier", line)
        self.run_cmd("scontrol", "update", "PartitionName=debug", "AllowGroups=ALL", "MaxTime=UNLIMITED")

    def test_the_check_fails_where_the_start_would(self):
        """slurmctld -t passed what the controller could not be started with."""
        def check(more):
            with open(self.cluster.conf, encoding="utf-8") as f:
                text = f.read()
            path = os.path.join(self.cluster.dir, "other.conf")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text + more)
            return subprocess.run([self.cluster.daemon("sluicectld"), "-t", "-f", path], capture_output=True, text=True, env=self.cluster.env, check=False)
        self.assertEqual(check("").returncode, 0, check("").stdout)
        for more, why in (("SlurmctldPidFile=/no/such/folder/ctld.pid\n", "error: SlurmctldPidFile=/no/such/folder/ctld.pid: the folder is not there\n"),
                          ("SlurmUser=nobody-of-that-name\n", 'SlurmUser="nobody-of-that-name" is not valid'),
                          ("\0KillWait=3\n", "there is a NUL byte, which no text has")):
            done = check(more)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(why, done.stdout)


if __name__ == "__main__":
    unittest.main()
