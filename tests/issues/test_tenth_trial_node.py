"""What a tenth trial by an administrator found on nodes."""
import contextlib
import os
import re
import signal
import subprocess
import unittest

from harness import ClusterCase, free_ports, is_over, pids_with, wait_for


class SecondAgent(ClusterCase):
    """An agent that had a node's name by accident took the node over: its job was killed, or ran twice at once."""
    NODES, CPUS = 1, 2
    CONF = "NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=2 RealMemory=4000\n"

    def start_job(self):
        name = self.id().rsplit(".", 1)[1]
        go = os.path.join(self.cluster.work, f"{name}.go")
        job = self.submit("--no-requeue", "-n1", "-o", "/dev/null", "--wrap", f"echo begin >> {name}; while [ ! -e {go} ]; do sleep 0.05; done")
        self.addCleanup(self.run_cmd, "scancel", job, check=False)
        wait_for(lambda: self.file(name) == "begin\n", "the script runs")
        return job, name, go

    def ends_well(self, job, name, go):
        open(go, "w", encoding="utf-8").close()
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(name), "begin\n")

    def stop_agent(self, conf):
        for pid in pids_with(conf):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: is_over(pid), "the second agent is gone")  # pylint: disable=cell-var-from-loop

    def test_it_is_refused(self):
        job, name, go = self.start_job()
        own = int(re.search(r" Port=(\d+)", self.out("scontrol", "-o", "show", "node", "n1"))[1])
        other = free_ports(1)
        second = os.path.join(self.cluster.dir, "second")
        os.mkdir(second)
        with open(self.cluster.conf, encoding="utf-8") as f:
            text = re.sub(r"(?m)^(NodeName=n1 .*Port=)\d+", rf"\g<1>{other}", f.read())
        for key, value in (("SlurmdSpoolDir", f"{second}/spool"), ("SlurmdPidFile", f"{second}/pid"), ("SlurmdLogFile", f"{second}/log")):
            text = re.sub(rf"(?m)^{key}=.*$", f"{key}={value}", text)
        conf = os.path.join(self.cluster.dir, "second.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text)
        mark = len(self.cluster.log())
        self.addCleanup(self.stop_agent, conf)
        subprocess.run([self.cluster.daemon("sluicenoded"), "-f", conf, "-N", "n1"], check=True, env=dict(self.cluster.env, SLURM_CONF=conf))
        words = rf"node n1 is to listen on port {own} \(slurm\.conf of the controller\), and this agent on {other}: "
        line = rf"error: RegisterNode RPC from uid=\d+ at 127\.0\.0\.1:\d+ was refused: node n1: {words}"
        wait_for(lambda: re.search(line, self.cluster.log()[mark:]), "the controller says it")

        def second_log():
            with open(f"{second}/log", encoding="utf-8") as f:
                return f.read()
        wait_for(lambda: re.search(rf"error: cannot register with the controller: {words}", second_log()), "the agent says it")
        self.run_cmd("srun", "-n1", "true")
        self.assertEqual(self.state(job), "RUNNING")
        self.ends_well(job, name, go)
        self.assertEqual(len(re.findall(line, self.cluster.log()[mark:])), 1)
        self.assertEqual(second_log().count("cannot register"), 1)

    def test_another_controller_asks(self):
        """Its log spoke of a launch of what ran already."""
        job, name, go = self.start_job()
        self.cluster.kill_controller()
        mark = len(self.cluster.log())
        self.cluster.start_controller()
        wait_for(lambda: self.out("sinfo", "-h", "-o", "%t").strip() == "mix" and self.state(job) == "RUNNING", "the node is known")
        self.ends_well(job, name, go)
        self.assertNotRegex(self.cluster.log()[mark:], rf"launch of JobId={job} .* is not taken")


class BusyReservation(ClusterCase):
    """A reservation that was refused as a job ran on its nodes left no line in the controller's log."""
    NODES, CPUS = 1, 2

    def test_it_is_logged(self):
        job = self.submit("-t", "10", "-o", "/dev/null", "--wrap", "sleep 600")
        self.addCleanup(self.run_cmd, "scancel", job)
        self.assertEqual(self.wait_state(job, "RUNNING"), "RUNNING")
        done = self.run_cmd("scontrol", "create", "reservation", "ReservationName=r1", "Users=root", "StartTime=now", "Duration=10", "Nodes=n1",
                            check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Requested nodes are busy", done.stderr)
        line = rf"ChangeReservation RPC from uid={os.geteuid()} at 127\.0\.0\.1:\d+ was refused: Requested nodes are busy\n"
        wait_for(lambda: re.search(line, self.cluster.log()), "the log says it")


if __name__ == "__main__":
    unittest.main()
