"""What enters a job from outside, and the scripts of a node, run in the control group of the job."""
import os
import signal
import subprocess
import unittest

from harness import need_root, wait_for
from test_cgroup import EAT, GroupCase, groups_of, need_groups


class Extern(GroupCase):
    NODES, CPUS = 1, 2
    CONF = GroupCase.PLUGINS + "PrologFlags=Contain\nJobAcctGatherType=jobacct_gather/linux\n"

    def test_what_enters_belongs_to_the_job(self):
        """As pam_slurm_adopt does it: a process of the host is put into the extern step's group."""
        job = self.submit("-o", "/dev/null", "--wrap", "echo > up; sleep 1000")
        of = lambda step: [g for g in groups_of(self.cluster.dir, "n1") if g.endswith(f"/job_{job}/step_{step}/task_0")]
        wait_for(lambda: self.file("up") and len(of("extern")) == len(of("batch")), "the groups of both steps")
        stranger = subprocess.Popen(["python3", "-c", EAT.format(mib=50, seconds=1000)])  # pylint: disable=consider-using-with
        self.addCleanup(stranger.kill)
        for group in of("extern"):
            with open(group + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(stranger.pid))
        listed = self.out("scontrol", "listpids", f"{job}.extern").splitlines()[1:]
        self.assertEqual([row.split()[:3] for row in listed], [[str(stranger.pid), str(job), "extern"]])
        used = lambda: int(self.out("sstat", "-n", "-P", "--noconvert", "-o", "MaxRSS", "-j", f"{job}.extern").strip() or 0)
        wait_for(lambda: used() > 50 << 20, "it is counted")
        self.run_cmd("scancel", job)
        self.assertEqual(stranger.wait(timeout=60), -signal.SIGTERM)
        self.wait_ended(job)
        self.wait_no_groups()


class ScriptsInJob(GroupCase):
    """PrologFlags=RunInJob: Prolog and Epilog are held to their job's CPUs and memory."""
    NODES, CPUS = 1, 4
    CONF = GroupCase.PLUGINS + "Prolog={dir}/script\nEpilog={dir}/script\nPrologFlags=RunInJob\n"
    FILES = {"cgroup.conf": "ConstrainCores=yes\nConstrainRAMSpace=yes\nMinRAMSpace=10\n", "script": f"""#!/bin/sh
out={{dir}}/work/$SLURM_SCRIPT_CONTEXT.$SLURM_JOB_ID
echo begin $$ >> $out
grep Cpus_allowed_list /proc/self/status >> $out
cat /proc/self/cgroup >> $out
while [ -e {{dir}}/work/gate.$SLURM_SCRIPT_CONTEXT ]; do sleep 0.05; done
if [ "$SLURM_JOB_NAME" = eat.$SLURM_SCRIPT_CONTEXT ]; then python3 -c '{EAT.format(mib=200, seconds=0)}' || exit 1; fi
echo end >> $out
"""}

    def lines(self, context, job, *starts):
        return [line for line in self.file(f"{context}_slurmd.{job}").splitlines() if line.startswith(starts)]

    def test_where_they_run(self):
        real = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]
        job = self.submit("-n1", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        for context in ("prolog", "epilog"):
            self.assertIn(f"/job_{job}/scripts", self.file(f"{context}_slurmd.{job}"), context)
            self.assertIn(self.lines(context, job, "Cpus_allowed")[0].split()[-1], real, context)
            self.assertEqual(self.lines(context, job, "end"), ["end"], context)
        self.wait_no_groups()

    def test_memory(self):
        for context, error in (("prolog", "Prolog error"), ("epilog", "Epilog error")):
            job = self.submit("-n1", "--mem=60", "--no-requeue", "-J", f"eat.{context}_slurmd", "-o", "/dev/null", "--wrap", "true")
            self.assertEqual(self.wait_ended(job), "FAILED" if context == "prolog" else "COMPLETED")
            self.assertEqual(self.lines(context, job, "end"), [])
            wait_for(lambda error=error: self.out("sinfo", "-h", "-o", "%T|%E").strip() == f"drained|{error}", "the node is drained")
            self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.wait_no_groups()

    def test_an_epilog_outlives_its_agent(self):  # with the group that it runs in
        gate = os.path.join(self.cluster.work, "gate.epilog_slurmd")
        with open(gate, "w", encoding="ascii"):
            pass
        self.addCleanup(lambda: os.path.exists(gate) and os.remove(gate))
        job = self.submit("-n1", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: f"/job_{job}/scripts" in self.file(f"epilog_slurmd.{job}"), "its epilog runs")
        self.cluster.kill_node("n1")
        before = self.cluster.log("n1").count("registered as n1")
        self.cluster.start_node("n1")
        wait_for(lambda: self.cluster.log("n1").count("registered as n1") > before, "the next agent is known")
        self.assertEqual(len(self.lines("epilog", job, "begin")), 1)
        os.kill(int(self.lines("epilog", job, "begin")[0].split()[1]), 0)  # it runs
        os.remove(gate)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual([line.split()[0] for line in self.lines("epilog", job, "begin", "end")], ["begin", "end"] * 2)
        self.wait_no_groups()


if __name__ == "__main__":
    need_root()
    need_groups()
    unittest.main(verbosity=2)
