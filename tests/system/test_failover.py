"""Two hosts that may run the controller, by hand as docs/admin-guide.md says: one at a time, and the state goes from one to the other."""
import os
import unittest

from harness import ClusterCase, wait_for
from hosts import Host, HostCluster, need_namespaces


class ControllerHost(Host):
    NAME, DAEMON = "ctl{number}", "sluicectld"

    def said(self):
        with open(os.path.join(self.cluster.dir, "log", self.name + ".boot"), encoding="utf-8") as f:
            return f.read()

    def ends(self):
        """Its exit status."""
        wait_for(lambda: self.agent.poll() is not None, f"the controller on {self.name} has ended")
        return self.agent.returncode


class TwoControllers(HostCluster):
    CONTROLLERS = "SlurmctldHost=ctl101({prefix}.101)\nSlurmctldHost=ctl102({prefix}.102)\nSlurmctldPidFile=/run/slurmctld.pid"

    def start_controller(self, *options):
        self.controllers = [ControllerHost(self, number) for number in (101, 102)]
        self.controllers[0].start()

    def down(self):
        for host in self.hosts:
            host.power_off()
        for host in self.controllers:
            host.remove()
        super().down()


class Failover(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = TwoControllers(2, timeout=60, conf="TCPTimeout=1\n")
        cls.first, cls.second = cls.cluster.controllers

    def pinged(self):
        return self.run_cmd("scontrol", "ping", check=False).stdout.splitlines()

    def wait_in_charge(self, host):
        other = self.second if host is self.first else self.first
        wait_for(lambda: [line.split(" at ")[1] for line in self.pinged() if line.startswith("Slurmctld")] == [
            f"{one.name} is {'UP' if one is host else 'DOWN'}" for one in (self.first, self.second)], f"{host.name} answers, {other.name} does not")

    def moves(self, old, new):
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        self.assertEqual(old.ends(), 0)
        new.start()
        self.wait_in_charge(new)

    def refused(self, host, why):
        """A controller that is started there ends and says why."""
        host.start()
        self.assertEqual(host.ends(), 1)
        self.assertIn(why, host.said().splitlines()[-1])

    def waits_for(self, name):
        return f"while [ ! -e {name} ]; do sleep 0.1; done; echo $SLURM_JOB_ID over"

    def go(self, name):
        open(os.path.join(self.cluster.work, name), "w", encoding="utf-8").close()

    def test_one_after_the_other(self):
        self.wait_in_charge(self.first)
        self.assertIn("SlurmctldHost: ctl101 is in charge; no other takes over by itself: start slurmctld on one of them (ctl102)",
                      self.cluster.log())
        told = self.run_cmd("scontrol", "takeover", check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn("no controller waits on ctl102 to take over", told.stderr)

        running = self.submit("-o", "run.out", "--wrap", f"srun sh -c '{self.waits_for('go')}'")
        ends_meanwhile = self.submit("-o", "ends.out", "--wrap", self.waits_for("end"))
        waits = self.submit("-o", "held.out", "-H", "--wrap", "echo held")
        wait_for(lambda: f"{running}.0" in self.out("squeue", "-h", "-s", "-o", "%i"), "the step runs")
        self.wait_state(ends_meanwhile, "RUNNING")

        # while the first one answers no other starts
        why = "the controller on ctl101 answers: only one runs at a time. End it there (scontrol shutdown slurmctld) before this one is started"
        self.refused(self.second, why)
        self.wait_in_charge(self.first)

        # a job ends while nobody is in charge
        self.run_cmd("scontrol", "shutdown", "slurmctld")
        self.assertEqual(self.first.ends(), 0)
        self.go("end")
        wait_for(lambda: self.file("ends.out") == f"{ends_meanwhile} over\n", "a job ends meanwhile")
        self.second.start()
        self.wait_in_charge(self.second)
        self.assertIn("SlurmctldHost: ctl102 is in charge", self.cluster.log())
        self.assertEqual((self.state(running), self.state(waits)), ("RUNNING", "PENDING"))
        self.assertEqual(self.wait_ended(ends_meanwhile), "COMPLETED")
        self.assertEqual(self.out("srun", "--overlap", "--jobid", running, "echo", "found"), "found\n")
        self.go("go")
        self.assertEqual(self.wait_ended(running), "COMPLETED")
        self.assertEqual(self.file("run.out"), f"{running} over\n")
        self.run_cmd("scontrol", "release", waits)
        self.assertEqual(self.wait_ended(waits), "COMPLETED")
        self.assertEqual(self.submit("-o", "/dev/null", "--wrap", "true"), waits + 1)
        self.assertEqual(sorted(self.out("srun", "-N2", "hostname").split()), ["h1", "h2"])

        # and back, whoever is the first of slurm.conf
        self.refused(self.first, why.replace("ctl101", "ctl102"))
        self.moves(self.second, self.first)
        self.assertEqual(self.state(running), "COMPLETED")

    def test_a_host_that_is_lost(self):
        self.wait_in_charge(self.first)
        job = self.submit("-o", "lost.out", "--wrap", self.waits_for("lost"))
        self.wait_state(job, "RUNNING")
        # its link is cut: it answers nobody, but has the state still
        self.first.cut()
        self.refused(self.second, "the journal in ")
        self.assertIn("two controllers cannot share it", self.second.said().splitlines()[-1])
        self.first.power_off()
        self.second.start()
        self.addCleanup(self.first.mend)
        wait_for(lambda: self.state(job) == "RUNNING", "the other one has the job")
        self.go("lost")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.first.mend()
        self.moves(self.second, self.first)
        self.assertEqual(self.state(job), "COMPLETED")


if __name__ == "__main__":
    need_namespaces()
    unittest.main(verbosity=2)
