"""UsePAM: a session of the job's user is open on a node while a step runs there, and its limits hold.

The tests run in a mount namespace of their own, where /etc/pam.d is a copy with a service "slurm".
"""
import glob
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import ClusterCase, add_users, need_root, pids_with, processes, wait_for

ALICE, BOB, CAROL, DAVE = 12061, 12062, 12063, 12064
INSIDE = "SLUICE_TEST_PAM_INSIDE"
MAY_RAISE_LIMITS = 1 << 24  # CAP_SYS_RESOURCE

SERVICE = """auth required pam_permit.so
account required pam_permit.so
session required pam_limits.so conf={dir}/limits.conf
session required pam_exec.so {dir}/told
"""
LIMITS = f"""sluicetest{ALICE} soft nofile 250
sluicetest{ALICE} hard nofile 300
"""
# a session of Bob's cannot be opened; Carol's hangs when it is opened, Dave's when it is closed
TOLD = f"""#!/bin/sh
echo "$PAM_TYPE $PAM_USER $PAM_SERVICE" >> {{dir}}/sessions
echo "$PAM_RUSER@$PAM_RHOST" > {{dir}}/from
case $PAM_TYPE,$PAM_USER in
*,*{BOB}) exit 1;;
open_session,*{CAROL}|close_session,*{DAVE}) exec sleep 4711;;
esac
"""


class Folder:
    path = ""
    told = 0  # so many lines of the file `sessions` were looked at


def setUpModule():
    Folder.path = folder = tempfile.mkdtemp(prefix="sluice-pam-")
    unittest.addModuleCleanup(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    pam = os.path.join(folder, "pam.d")
    shutil.copytree("/etc/pam.d", pam)
    for path, text in ((os.path.join(pam, "slurm"), SERVICE), (os.path.join(folder, "limits.conf"), LIMITS),
                       (os.path.join(folder, "told"), TOLD)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("{dir}", folder))
    os.chmod(os.path.join(folder, "told"), 0o755)
    subprocess.run(["mount", "--bind", pam, "/etc/pam.d"], check=True)
    unittest.addModuleCleanup(subprocess.run, ["umount", "/etc/pam.d"], check=True)


class PamCase(ClusterCase):
    NODES, CPUS = 1, 2

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE, BOB, CAROL, DAVE)
        super().setUpClass()

    def setUp(self):
        self.wait_no_jobs()
        with open(os.path.join(Folder.path, "sessions"), "w", encoding="utf-8"):
            Folder.told = 0

    def sessions(self):
        """What was told of sessions since the last call."""
        with open(os.path.join(Folder.path, "sessions"), encoding="utf-8") as f:
            lines = [line.rstrip("\n") for line in f if line.endswith("\n")][Folder.told:]  # the last one may be half written
        Folder.told += len(lines)
        return lines

    def whole(self, uid):
        return [f"open_session sluicetest{uid} slurm", f"close_session sluicetest{uid} slurm"]


class UsePam(PamCase):
    CONF = "UsePAM=1\n"

    def test_a_step_has_a_session(self):
        out = self.out("srun", "-n2", "cat", os.path.join(Folder.path, "sessions"), user=ALICE)
        self.assertEqual(out, f"open_session sluicetest{ALICE} slurm\n" * 2)
        self.wait_no_jobs()
        self.assertEqual(self.sessions(), self.whole(ALICE))

    def test_from_where(self):
        """PAM_RHOST was what the client said: rules of pam_access for a host that was never there."""
        own = socket.gethostname().split(".")[0]
        lie = ("--uts", "sh", "-c", 'hostname elsewhere; cd "$0"; "$@"', self.cluster.work)
        script = f"[ $(hostname) = elsewhere ] || exit 7; exec setpriv --reuid {ALICE} --regid {ALICE} --clear-groups "
        for words in (("srun", "-n1", "true"), ("sbatch", "-W", "-o", "/dev/null", "--wrap", "true")):
            with self.subTest(command=words[0]):
                done = subprocess.run(["unshare", *lie, "sh", "-c", script + '"$@"', "sh", *words], env=self.cluster.env, capture_output=True,
                                      text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.wait_no_jobs()
                with open(os.path.join(Folder.path, "from"), encoding="utf-8") as f:
                    self.assertEqual(f.read(), f"sluicetest{ALICE}@{own}\n")

    def test_limits(self):
        """The session's hard limits bound what users bring; what they do not bring is the session's."""
        show = ("sh", "-c", "ulimit -Sn; ulimit -Hn")
        self.assertEqual(self.out("srun", "-n1", "--propagate=NONE", *show, user=ALICE), "250\n300\n")
        soft = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 300)
        self.assertEqual(self.out("srun", "-n1", *show, user=ALICE), f"{soft}\n300\n")
        # within the bounds, a user's own ones are kept
        lowered = "ulimit -Sn 200; srun -n1 sh -c 'ulimit -Sn; ulimit -Hn'"
        self.assertEqual(self.out("/bin/sh", "-c", lowered, user=ALICE), "200\n300\n")

    def test_batch_scripts(self):
        job = self.submit("-o", "batch-%j", "--propagate=NONE", "--wrap", "ulimit -Sn; ulimit -Hn", user=ALICE)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(f"batch-{job}"), "250\n300\n")
        self.wait_no_jobs()
        self.assertEqual(self.sessions(), self.whole(ALICE))

    def test_the_step_daemon_keeps_its_own_limits(self):
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        wait_for(lambda: f"open_session sluicetest{ALICE} slurm" in self.sessions(), "the session")
        self.wait_state(job, "RUNNING")
        daemon = (pids_with(self.cluster.dir, "slurmstepd") or pids_with(self.cluster.dir, "sluicestepd"))[0]
        with open(f"/proc/{daemon}/status", encoding="ascii") as f:
            rights = int(next(line for line in f if line.startswith("CapEff:")).split()[1], 16)
        if rights & MAY_RAISE_LIMITS:
            files = resource.RLIMIT_NOFILE
            self.assertEqual(resource.prlimit(daemon, files), resource.getrlimit(files))
        self.run_cmd("scancel", job)
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        self.wait_no_jobs()
        self.assertEqual(self.sessions(), self.whole(ALICE)[1:])

    def test_without_a_session_nothing_runs(self):
        done = self.run_cmd("srun", "-n1", "echo", "ran", user=BOB, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("cannot open the PAM session (service slurm): pam_open_session: ", done.stderr)
        self.wait_no_jobs()
        self.assertEqual(self.sessions(), self.whole(BOB)[:1], "what was not opened is not closed")


class HangingPam(PamCase):
    """A module that does not come back holds up its step for UnkillableStepTimeout, no longer."""
    CONF = "UsePAM=1\nUnkillableStepTimeout=2\n"

    def nothing_is_left(self, job):
        self.wait_no_jobs()
        hanging = lambda: [pid for pid, exe, words in processes("cmdline") if exe == "sleep" and b"4711" in words]
        wait_for(lambda: not hanging(), "the module's program is gone")
        title, folder = f"slurmstepd: [{job}.".encode(), self.cluster.dir.encode()
        daemons = lambda: [pid for pid, _, words in processes("cmdline") if words[0].startswith(title) and folder in words[1]]
        wait_for(lambda: not daemons(), "its step daemon, too")
        self.assertEqual(self.out("srun", "-n1", "echo", "ran", user=ALICE), "ran\n")

    def test_opening(self):
        job = self.submit("--no-requeue", "-o", "/dev/null", "--wrap", "true", user=CAROL)
        self.assertEqual(self.wait_ended(job), "FAILED")
        why = "cannot open the PAM session (service slurm): a module took longer than UnkillableStepTimeout"
        self.assertIn(why, self.cluster.log("n1"))
        self.nothing_is_left(job)

    def test_closing(self):
        job = self.submit("-o", "closing-%j", "--wrap", "echo ran", user=DAVE)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file(f"closing-{job}"), "ran\n")
        self.nothing_is_left(job)


class NoPam(PamCase):
    def test_no_session(self):
        self.assertNotEqual(self.out("srun", "-n1", "--propagate=NONE", "sh", "-c", "ulimit -Hn", user=ALICE), "300\n")
        self.assertEqual(self.out("srun", "-n1", "echo", "ran", user=BOB), "ran\n")
        self.wait_no_jobs()
        self.assertEqual(self.sessions(), [])


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


if __name__ == "__main__":
    need_root()
    if not all(glob.glob(f"/lib*/**/security/pam_{name}.so") for name in ("limits", "exec", "permit")):
        skip("no modules of PAM")
    if INSIDE not in os.environ:
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
            skip("no mount namespaces here")
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "1"}))
    unittest.main(verbosity=2)
