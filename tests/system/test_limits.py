"""What an administrator hides or bounds: PrivateData, InactiveLimit, UnkillableStepTimeout."""
import os
import re
import signal
import subprocess
import unittest

from harness import UNDER_ASAN, ClusterCase, add_users, jobs_of, need_root, wait_for

ALICE, BOB = 12011, 12012


def sleepers(cluster, marker):
    """Processes of the cluster's jobs: another run of this test on the host has its own."""
    found = subprocess.run(["pgrep", "-fx", f"(/.*/)?sleep {marker}"], capture_output=True, text=True, check=False).stdout.split()
    return sorted(set(map(int, found)) & set(jobs_of(cluster.conf)))


class Private(ClusterCase):
    CONF = "PrivateData=jobs,nodes,partitions\nLicenses=solver:4\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE, BOB)
        super().setUpClass()

    def test_jobs(self):
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true", user=ALICE)
        seen = lambda user: self.out("squeue", "-h", "-o", "%i", user=user).split()
        self.assertEqual((seen(ALICE), seen(BOB), seen(None)), ([str(job)], [], [str(job)]))
        for command in (("scontrol", "show", "job", str(job)), ("sluice", "explain", str(job)),
                        ("scontrol", "write", "batch_script", str(job), "-")):
            refused = self.run_cmd(*command, user=BOB, check=False)
            self.assertNotIn("JobName", refused.stdout)
            self.assertNotIn("#!", refused.stdout)
            self.assertNotIn("held", refused.stdout)
            self.assertTrue(refused.stderr, command)
            self.assertTrue(self.out(*command, user=ALICE), command)
        self.run_cmd("scancel", job)

    def test_licenses_in_use_are_nobodys_secret(self):
        """Only the jobs that the asker may see were counted."""
        job = self.submit("-L", "solver:3", "-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        self.wait_state(job, "RUNNING")
        self.assertEqual(self.out("scontrol", "-o", "show", "lic", user=BOB),
                         "LicenseName=solver Total=4 Used=3 Free=1 Reserved=0 Remote=no\n")
        self.run_cmd("scancel", job)
        self.wait_ended(job)

    def test_nodes_and_partitions(self):
        for command, err in ((("sinfo",), "slurm_load_partitions: Access/permission denied\n"),
                             (("scontrol", "show", "nodes"), "slurm_load_node error: Access/permission denied\n"),
                             (("scontrol", "show", "partitions"), "slurm_load_partitions error: Access/permission denied\n")):
            refused = self.run_cmd(*command, user=BOB, check=False)
            self.assertEqual((refused.returncode, refused.stdout, refused.stderr), (1, "", err))
            self.assertIn("debug" if "nodes" not in command else "NodeName=n1", self.out(*command))

    def test_one_of_them(self):
        before = self.cluster.change_conf(lambda text: text.replace("PrivateData=jobs,nodes,partitions", "PrivateData=nodes"))
        self.run_cmd("scontrol", "reconfigure")
        self.assertIn("PartitionName=debug", self.out("scontrol", "show", "partitions", user=BOB))
        self.assertEqual(self.run_cmd("sinfo", user=BOB, check=False).stderr, "slurm_load_node: Access/permission denied\n")
        self.cluster.change_conf(lambda _: before)
        self.run_cmd("scontrol", "reconfigure")

    def test_reservations(self):
        for user in (ALICE, BOB):
            self.run_cmd("scontrol", "create", f"reservation=of{user}", "starttime=now+1hour", "duration=5", f"users={user}",
                         f"nodes=n{1 + (user == BOB)}")

        def seen(user):
            shown = self.out("scontrol", "-o", "show", "reservation", user=user)
            return sorted(re.findall(r"ReservationName=of(\d+)", shown))
        everybody = [str(ALICE), str(BOB)]
        before = self.cluster.change_conf(lambda text: text.replace("PrivateData=jobs,nodes,partitions", "PrivateData=reservations"))
        try:
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: seen(BOB) == [str(BOB)], "another's is hidden")
            self.assertEqual((seen(ALICE), seen(None)), ([str(ALICE)], everybody))
            self.assertNotIn(f"of{ALICE}", self.out("sinfo", "-T", user=BOB))
            done = self.run_cmd("scontrol", "show", "reservation", f"of{ALICE}", user=BOB, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, f"Reservation of{ALICE} not found\n"))
        finally:
            self.cluster.change_conf(lambda _: before)
            self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: seen(BOB) == everybody, "they are for all to see again")
        for user in (ALICE, BOB):
            self.run_cmd("scontrol", "delete", f"reservation=of{user}")

    def test_jobs_still_run(self):  # srun and salloc need no leave to see nodes
        self.assertEqual(self.out("srun", "-N2", "id", "-u", user=BOB), f"{BOB}\n{BOB}\n")


def children(process):
    return subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout


class Inactive(ClusterCase):
    CONF = "InactiveLimit=4\n"

    def test_silent_salloc(self):
        salloc = self.cluster.start("salloc", "-Q", "-K", "sleep", "1000")
        job = wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the allocation")
        wait_for(lambda: children(salloc), "its command runs")
        salloc.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.wait_ended(job), "TIMEOUT")
            self.assertEqual(self.show(job)["Reason"], "InactiveLimit")
        finally:
            salloc.send_signal(signal.SIGCONT)
            salloc.wait(timeout=60)

    def test_a_busy_client_stays(self):  # one that answers outlives the limit, and so does a job that needs none
        self.run_cmd("salloc", "-Q", "--no-shell", "-J", "alone")
        done = self.run_cmd("salloc", "-Q", "sleep", "6")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.out("squeue", "-h", "-n", "alone", "-o", "%T"), "RUNNING\n")
        self.run_cmd("scancel", "-n", "alone")


class Patient(ClusterCase):
    """Without a limit a client may be silent as long as it likes."""

    def test_killed_salloc(self):
        salloc = self.cluster.start("salloc", "-Q", "sleep", "1000")
        job = wait_for(lambda: self.out("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the allocation")
        child = wait_for(lambda: children(salloc), "its command runs")
        salloc.kill()
        salloc.wait(timeout=60)
        os.kill(int(child), signal.SIGKILL)
        self.assertEqual(self.wait_ended(job), "CANCELLED")


class Niceness(ClusterCase):
    """PropagatePrioProcess: tasks are as nice as the command that submitted them."""
    NODES, CPUS, CONF = 1, 2, "PropagatePrioProcess=1\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()

    def nice(self, script, **options):
        return int(self.out("/bin/sh", "-c", script, **options))

    def test_what_tasks_get(self):
        own = os.nice(0)
        more = lambda by: min(own + by, 19)
        self.assertEqual(self.nice("nice -n 3 srun -n1 nice", user=ALICE), more(3))
        self.run_cmd("/bin/sh", "-c", "nice -n 4 sbatch -W -o nice.out --wrap 'nice; srun nice'", user=ALICE)
        self.assertEqual(self.file("nice.out"), f"{more(4)}\n{more(4)}\n")
        as_alice = f"setpriv --reuid {ALICE} --regid {ALICE} --clear-groups"
        self.assertEqual(self.nice(f"nice -n -5 {as_alice} srun -n1 nice"), own)  # not before the daemon
        for rule, (first, second) in (("2", (more(1), more(3))), ("0", (own, own))):
            self.cluster.change_conf(lambda text: re.sub("PropagatePrioProcess=.", f"PropagatePrioProcess={rule}", text))  # pylint: disable=cell-var-from-loop
            self.run_cmd("scontrol", "reconfigure")
            wait_for(lambda: self.nice("srun -n1 nice", user=ALICE) == first, "the new rule")  # pylint: disable=cell-var-from-loop
            self.assertEqual(self.nice("nice -n 3 srun -n1 nice", user=ALICE), second)


class LockedMemory(ClusterCase):
    """LaunchParameters=slurmstepd_memlock: of the step daemon, not of its tasks."""
    NODES, CPUS = 1, 2
    MAY_LOCK = 1 << 14  # CAP_IPC_LOCK

    @staticmethod
    def status(pid, key):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            return next((line.split()[1] for line in f if line.startswith(key + ":")), "0")

    def locked(self):
        """KiB of a step daemon and of its task."""
        job = self.submit("-o", "/dev/null", "--wrap", "exec sleep 4003")
        self.wait_state(job, "RUNNING")
        find = lambda: sleepers(self.cluster, 4003)
        task = wait_for(find, "the task")[0]
        amounts = [int(self.status(pid, "VmLck")) for pid in (self.status(task, "PPid"), task)]
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        wait_for(lambda: not find(), "the task is gone")
        return amounts

    def test_the_step_daemon(self):
        if not int(self.status("self", "CapEff"), 16) & self.MAY_LOCK:
            self.skipTest("memory may not be locked here")
        if UNDER_ASAN:
            self.skipTest("AddressSanitizer has mlockall do nothing")
        self.assertEqual(self.locked(), [0, 0])
        before = self.cluster.change_conf(lambda text: text.replace("LaunchParameters=", "LaunchParameters=slurmstepd_memlock_all,"))
        self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: [amount > 0 for amount in self.locked()] == [True, False], "it is locked")
        self.cluster.change_conf(lambda _: before)


class Unkillable(ClusterCase):
    NODES, CPUS = 1, 2
    CONF = "UnkillableStepTimeout=2\nKillWait=1\nUnkillableStepProgram={dir}/told\n"
    FILES = {"told": "#!/bin/sh\necho $SLURM_JOB_ID $SLURM_STEP_ID >> {dir}/work/told.ran\n"}

    def hold(self, marker):
        """Makes the process with this argument, the first one of a PID namespace, impossible to kill: it
        cannot end before another process of the namespace has been waited for, whose parent is stopped."""
        pid = wait_for(lambda: sleepers(self.cluster, marker), "the process")[0]
        keeper = subprocess.Popen(["nsenter", "-t", str(pid), "-p", "sleep", "5000"])
        companion = wait_for(lambda: subprocess.run(["pgrep", "-P", str(keeper.pid)], capture_output=True, text=True,
                                                    check=False).stdout.split(), "its companion")[0]
        keeper.send_signal(signal.SIGSTOP)
        self.addCleanup(keeper.wait, 60)
        self.addCleanup(keeper.send_signal, signal.SIGCONT)
        wait_for(lambda: self.status(keeper.pid)["State"].startswith("T"), "its companion's parent is stopped")
        self.assertEqual(len({os.readlink(f"/proc/{process}/ns/pid") for process in (pid, companion)}), 1)
        self.held = {"held": pid, "companion": companion, "keeper": keeper.pid}
        return keeper

    @staticmethod
    def status(pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:
            return {"State": "gone"}

    def wait_drains(self, form, shown):
        """Fails with all that says whether the process was held, and what its step daemon and its agent did."""
        try:
            wait_for(lambda: shown in self.out("sinfo", "-h", "-o", form), "the node drains")
        except AssertionError as why:
            seen = {name: {key: self.status(pid).get(key) for key in ("State", "PPid", "NSpid", "SigPnd", "ShdPnd")}
                    for name, pid in self.held.items()}
            raise AssertionError(f"{why}\n{seen}\n{self.out('squeue', '-s')}\n{self.cluster.log('n1')[-4000:]}") from why

    def drained(self):
        self.wait_drains("%T|%E", "drained|Kill task failed")

    def resume(self, keeper, marker):
        keeper.send_signal(signal.SIGCONT)
        keeper.wait(timeout=60)
        wait_for(lambda: not os.path.exists(f"/proc/{self.held['held']}"), "the process has ended")
        self.run_cmd("scontrol", "update", "NodeName=n1", "State=RESUME")

    def test_job(self):
        job = self.submit("-o", "/dev/null", "--wrap", "unshare -p -f sleep 4001")
        keeper = self.hold(4001)
        self.run_cmd("scancel", job)
        self.drained()
        self.assertEqual(self.wait_ended(job), "CANCELLED")
        wait_for(lambda: self.file("told.ran").startswith(f"{job} "), "UnkillableStepProgram ran")
        self.resume(keeper, 4001)

    def test_step(self):  # the step ends, its allocation goes on
        srun = self.cluster.start("salloc", "-Q", "srun", "unshare", "-p", "-f", "sleep", "4002")
        keeper = self.hold(4002)
        step = wait_for(lambda: re.findall(r"^\d+\.0", self.out("squeue", "-h", "-s", "-o", "%i"), re.M), "the step")[0]
        self.run_cmd("scancel", step)
        self.wait_drains("%E", "Kill task failed")
        self.assertNotEqual(srun.wait(timeout=60), 0)
        wait_for(lambda: f"{step.split('.')[0]} 0\n" in self.file("told.ran"), "UnkillableStepProgram ran")
        self.resume(keeper, 4002)


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
