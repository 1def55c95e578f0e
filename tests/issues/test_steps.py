"""Bugs in how steps run and end."""
import unittest

from harness import ClusterCase, wait_for


class Steps(ClusterCase):
    def test_what_a_cancelled_script_started_may_end_by_itself(self):
        """The rest of a cancelled batch script was killed as soon as its shell was gone: an srun in it often could not
        tell what became of its step."""
        script = "\n".join(("#!/bin/bash", "(trap 'sleep 0.3; echo said goodbye; exit' TERM; echo ready",
                            "while :; do sleep 0.05; done) &", "exec sleep 300", ""))
        job = self.submit("-o", "goodbye.out", stdin=script)
        wait_for(lambda: self.file("goodbye.out"), "the background process runs")
        self.run_cmd("scancel", str(job))
        wait_for(lambda: "said goodbye" in self.file("goodbye.out"), "it ended by itself")
        self.wait_ended(job)

    def test_what_ignores_term_does_not_hold_the_job(self):
        job = self.submit("-o", "deaf.out", stdin="#!/bin/bash\n(trap '' TERM; echo $BASHPID; exec sleep 300) &\nexec sleep 300\n")
        pid = wait_for(lambda: self.file("deaf.out"), "the background process runs").strip()
        self.run_cmd("scancel", str(job))
        wait_for(lambda: not self.alive(pid), "it is killed long before KillWait is over")
        self.wait_ended(job)

    @staticmethod
    def alive(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"sleep" in f.read()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
