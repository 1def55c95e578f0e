"""JobSubmitPlugins=lua: a site's script decides on jobs of all commands; what it says is read as Slurm prints it."""
import os
import subprocess
import unittest

from harness import ClusterCase, wait_for

SCRIPT = """
local calls = 0
function slurm_job_submit(job_desc, part_list, uid)
  calls = calls + 1
  if job_desc.name == "bad" then
    slurm.log_user("no %s", "way")
    slurm.user_msg("two\\nthree")
    return slurm.ERROR
  end
  if job_desc.name == "late" then
    slurm.log_user("too long")
    return slurm.ESLURM_INVALID_TIME_LIMIT
  end
  if job_desc.name == "broken" then error("oops") end
  if job_desc.time_limit == slurm.NO_VAL then
    job_desc.time_limit = 7
    slurm.log_user("time limit is 7 minutes")
  end
  if part_list["gpu"] ~= nil and job_desc.name == "gpu" then job_desc.partition = "gpu" end
  job_desc.admin_comment = "uid" .. uid
  job_desc.environment["FROM_SITE"] = "yes"
  slurm.log_info("%s of %s", job_desc.name, job_desc.user_name)
  return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, uid)
  if job_desc.comment == "no" or job_desc.priority == 0 then return slurm.ERROR end
  if job_desc.comment == "denied" then return slurm.ESLURM_ACCESS_DENIED end
  if job_desc.comment ~= nil then job_desc.comment = job_rec.name .. ":" .. job_desc.comment end
  return slurm.SUCCESS
end
"""


class JobSubmitLua(ClusterCase):
    NODES, CPUS = 2, 2
    CONF = ("JobSubmitPlugins=lua\nPartitionName=debug Nodes=ALL Default=YES State=UP\n"
            "PartitionName=gpu Nodes=n2 State=UP\n")
    FILES = {"job_submit.lua": SCRIPT}

    def said(self, *words):
        done = self.run_cmd(*words, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_refused(self):
        lines = "{0}: error: no way\n{0}: error: two\n{0}: error: three\n"
        self.assertEqual(self.said("sbatch", "-J", "bad", "--wrap", "true"),
                         (1, lines.format("sbatch") + "sbatch: error: Batch job submission failed: Unspecified error\n"))
        self.assertEqual(self.said("salloc", "-J", "bad", "true"),
                         (1, lines.format("salloc") + "salloc: error: Job submit/allocate failed: Unspecified error\n"))
        self.assertEqual(self.said("srun", "-J", "bad", "true"),
                         (1, lines.format("srun") + "srun: error: Unable to allocate resources: Unspecified error\n"))
        self.assertEqual(self.said("sbatch", "--test-only", "-J", "bad", "--wrap", "true"),
                         (1, lines.format("sbatch") + "allocation failure: Unspecified error\n"))
        self.assertEqual(self.said("sbatch", "-J", "late", "--wrap", "true"),
                         (1, "sbatch: error: too long\nsbatch: error: Batch job submission failed: "
                             "Requested time limit is invalid (missing or exceeds some limit)\n"))

    def test_a_script_that_fails_refuses(self):
        self.assertEqual(self.said("sbatch", "-J", "broken", "--wrap", "true"),
                         (1, "sbatch: error: Batch job submission failed: Unspecified error\n"))
        wait_for(lambda: "error: job_submit/lua: " in self.cluster.log() and ": oops\n" in self.cluster.log(), "the log says where")

    def test_changed(self):
        code, text = self.said("sbatch", "-J", "gpu", "-o", "out", "--wrap", "echo from site: $FROM_SITE")
        self.assertEqual((code, text.splitlines()[-1]), (0, "sbatch: time limit is 7 minutes"), text)
        job = text.splitlines()[0].split()[-1]
        shown = self.show(job)
        self.assertEqual((shown["TimeLimit"], shown["Partition"], shown["AdminComment"]), ("00:07:00", "gpu", f"uid{os.getuid()}"))
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("out"), "from site: yes\n")
        wait_for(lambda: "lua: gpu of " in self.cluster.log(), "the log has its line")
        self.assertEqual(self.said("srun", "-Q", "-t1", "true")[0], 0)

    def test_components(self):
        code, text = self.said("sbatch", "-H", "-o", "/dev/null", "-J", "a", ":", "-J", "b", "--wrap", "true")
        self.assertEqual(code, 0, text)
        self.assertIn("sbatch: 0: time limit is 7 minutes\nsbatch: 1: time limit is 7 minutes\n", text)

    def test_updates(self):
        job = self.submit("-H", "-t1", "-J", "held", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.said("scontrol", "update", f"JobId={job}", "Comment=no"), (1, f"Unspecified error for job {job}\n"))
        self.assertEqual(self.said("scontrol", "update", f"JobId={job}", "Comment=denied"), (1, f"Access/permission denied for job {job}\n"))
        self.run_cmd("scontrol", "update", f"JobId={job}", "Comment=yes")
        self.assertEqual(self.show(job)["Comment"], "held:yes")
        self.assertEqual(self.said("scontrol", "hold", job), (1, f"Unspecified error for job {job}\nslurm_suspend error:Unspecified error\n"))
        self.run_cmd("scontrol", "release", job)
        self.assertEqual(self.wait_ended(job), "COMPLETED")

    def test_reconfigure_and_start_want_a_script(self):
        script = os.path.join(self.cluster.dir, "job_submit.lua")
        try:
            os.rename(script, script + ".away")
            self.assertEqual(self.said("scontrol", "reconfigure")[0], 1)
            self.assertIn("job_submit.lua", self.said("scontrol", "reconfigure")[1])
            checked = subprocess.run([self.cluster.daemon("slurmctld"), "-t", "-f", self.cluster.conf], env=self.cluster.env,
                                     capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 1)
            self.assertIn("JobSubmitPlugins=lua: ", checked.stdout)
            self.assertEqual(self.said("sbatch", "-H", "-t1", "--wrap", "true")[0], 0, "the one that was read goes on")
        finally:
            os.rename(script + ".away", script)
        self.run_cmd("scontrol", "reconfigure")


if __name__ == "__main__":
    unittest.main(verbosity=2)
