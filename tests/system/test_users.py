"""Two users: neither can touch the other's jobs; identity is proved, not believed."""
import glob
import os
import resource
import subprocess
import unittest

from harness import ClusterCase, add_users, change_users, need_root, wait_for

ALICE, BOB = 12001, 12002  # uids need a name to submit; setUpClass gives them one
TEAM = 12009  # a group that Alice is in besides her own


class Users(ClusterCase):
    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE, BOB)
        change_users("groupadd", "-f", "-g", str(TEAM), "sluiceteam")
        cls.addClassCleanup(change_users, "groupdel", "sluiceteam", check=False)
        change_users("usermod", "-a", "-G", "sluiceteam", f"sluicetest{ALICE}")
        super().setUpClass()

    def job_of(self, user):
        job = self.submit("-o", "/dev/null", "--wrap", "sleep 1000", user=user)
        self.wait_state(job, "RUNNING")
        return job

    def test_job_runs_as_its_user(self):
        job = self.submit("-o", f"id-{ALICE}", "--wrap", "id -u; id -g; umask; ls /proc/self/fd | wc -l", user=ALICE)
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        lines = self.file(f"id-{ALICE}").split()
        self.assertEqual(lines[:2], [str(ALICE), str(ALICE)])
        self.assertEqual(os.stat(os.path.join(self.cluster.work, f"id-{ALICE}")).st_uid, ALICE)

    def test_the_spool_is_not_the_users(self):
        """A script that filled the folder it lies in drained the node."""
        script = f"""id -u; stat -c '%u %a' $0 ${{0%/*}}; cat $0 | grep -c 'id -u'; mkdir ${{0%/*}}/full && echo made
                     [ $SLURM_RESTART_COUNT ] || {{ touch asks-$SLURM_JOB_ID; sleep 1000; }}"""
        job = self.submit("--requeue", "--open-mode=append", "-o", "spool.out", "-e", "/dev/null", "--wrap", script, user=ALICE)
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, f"asks-{job}")), "the script runs")
        self.run_cmd("scontrol", "requeue", job)
        self.wait_state(job, "PENDING")
        self.run_cmd("scontrol", "update", f"JobId={job}", "StartTime=now")
        self.assertEqual(self.wait_ended(job), "COMPLETED")
        self.assertEqual(self.file("spool.out"), f"{ALICE}\n{ALICE} 500\n0 711\n1\n" * 2)
        self.assertEqual(glob.glob(f"{self.cluster.dir}/**/job{job:05}", recursive=True), [])

    def test_hard_limits_of_the_node(self):
        """Limits are set with root's rights: what a user asks for is bounded by what the node's daemon has itself."""
        self.cluster.kill_node("n1")
        subprocess.run(["prlimit", "--nofile=500:600", self.cluster.daemon("sluicenoded"), "-f", self.cluster.conf, "-N", "n1"],
                       check=True, env=self.cluster.env)

        def as_before():
            self.cluster.kill_node("n1")
            self.cluster.start_node("n1")
        self.addCleanup(as_before)
        soft, hard = (min(limit, 600) if limit >= 0 else 600 for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
        show = ("sh", "-c", "ulimit -Sn; ulimit -Hn")
        self.assertEqual(self.out("srun", "-n1", "-w", "n1", *show, user=ALICE), f"{soft}\n{hard}\n")
        self.assertEqual(self.out("srun", "-n1", "-w", "n1", "--propagate=NONE", *show, user=ALICE), "500\n600\n")

    def test_groups_and_umask(self):
        """The groups are those that the node knows, whatever the command had; the umask is the command's."""
        tell = "id -G; umask; touch made-$SLURM_JOB_ID; echo $SLURM_JOB_ID"
        groups = f"{ALICE} {TEAM}"

        def check(text):
            found, mask, job = text.split("\n")[:3]
            self.assertEqual((found, mask), (groups, "0027"))
            self.assertEqual(os.stat(os.path.join(self.cluster.work, "made-" + job)).st_mode & 0o777, 0o640)
        masked = ("/bin/sh", "-c", 'umask 027; exec "$@"', "sh")
        self.run_cmd(*masked, "sbatch", "-W", "-o", "groups.out", "--wrap", tell, user=ALICE)
        check(self.file("groups.out"))
        check(self.out(*masked, "srun", "-n1", "sh", "-c", tell, user=ALICE))
        check(self.out(*masked, "salloc", "-Q", "srun", "-n1", "sh", "-c", tell, user=ALICE))

    def test_others_are_refused(self):
        job = self.job_of(ALICE)
        held = self.submit("-H", "-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        held_now = lambda: {**self.show(held), "LastSchedEval": "of any pass"}
        before = held_now()
        commands = [["scancel", job], ["scancel", "-s", "USR1", job], ["scancel", "-b", job], ["scancel", held],
                    ["scontrol", "hold", held], ["scontrol", "uhold", held], ["scontrol", "release", held],
                    ["scontrol", "requeue", job], ["scontrol", "requeuehold", job],
                    ["scontrol", "update", f"JobId={held}", "Comment=x"], ["scontrol", "update", f"JobId={job}", "TimeLimit=1"],
                    ["scontrol", "notify", job, "hello"], ["sattach", f"{job}.batch"],
                    ["srun", f"--jobid={job}", "--overlap", "true"]]
        for command in commands:
            with self.subTest(command=command):
                done = self.run_cmd(*command, user=BOB, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, "Access/permission denied|Invalid user id|Invalid job id specified")  # as Slurm says it
        script = self.run_cmd("scontrol", "write", "batch_script", job, "-", user=BOB, check=False)
        self.assertEqual((script.stdout, script.stderr), ("", "job script retrieval failed: Access/permission denied\n"))
        self.assertIn("sleep 1000", self.out("scontrol", "write", "batch_script", job, "-", user=ALICE))
        self.assertEqual(held_now(), before)
        self.assertEqual(self.state(job), "RUNNING")
        self.run_cmd("scancel", job, held, user=ALICE)
        self.assertEqual(self.wait_ended(job), "CANCELLED")

    def refused(self, job, text, *changes):
        for change in changes:
            with self.subTest(change=change):
                self.fails(1, f"{text} for job {job}\n", "scontrol", "update", f"JobId={job}", change, user=ALICE)

    def test_what_a_user_may_not_change_of_his_own(self):
        denied = "Access/permission denied"
        job = self.submit("-t", "10", "-o", "/dev/null", "--wrap", "sleep 1000", user=ALICE)
        self.wait_state(job, "RUNNING")
        self.refused(job, denied, "TimeLimit=11", "TimeLimit=UNLIMITED", "TimeLimit=+1", "TimeLimit+=1",
                     "EndTime=now+1hour", "Nice=-1", "Priority=4294967290", "AdminComment=x")
        self.assertEqual(self.show(job)["TimeLimit"], "00:10:00")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit-=1", user=ALICE)
        self.run_cmd("scontrol", "update", f"JobId={job}", "Nice=5", user=ALICE)
        self.run_cmd("scontrol", "update", f"JobId={job}", "Nice=9", user=ALICE)
        self.run_cmd("scontrol", "update", f"JobId={job}", "Nice=5", user=ALICE)  # what she took herself
        self.refused(job, denied, "SiteFactor=5", "SiteFactor=-5")
        shown = self.show(job)
        self.assertEqual((shown["TimeLimit"], shown["Nice"]), ("00:09:00", "5"))
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=UNLIMITED")
        self.assertEqual(self.show(job)["TimeLimit"], "UNLIMITED")
        self.run_cmd("scancel", job)
        self.wait_ended(job)
        self.run_cmd("scontrol", "create", "PartitionName=hour", "Nodes=ALL", "MaxTime=60")
        self.addCleanup(self.run_cmd, "scontrol", "delete", "PartitionName=hour")
        job = self.submit("-H", "-t", "10", "-p", "hour", "-o", "/dev/null", "--wrap", "true", user=ALICE)
        self.refused(job, denied, "TimeLimit=61", "TimeLimit=UNLIMITED", "Nice=-1", "Deadline=now+1hour", "SiteFactor=1")
        self.refused(job, "Job is in held state, pending scheduler release", "Priority=4294967290")
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=60", user=ALICE)
        self.run_cmd("scancel", job)

    def test_partitions_are_not_open_to_all(self):
        closed = {"staff": "AllowGroups=sluiceteam", "root": "RootOnly=YES", "users": "DisableRootJobs=YES",
                  "login": "AllocNodes=elsewhere"}
        for name, how in closed.items():
            self.run_cmd("scontrol", "create", f"PartitionName={name}", "Nodes=ALL", how)
            self.addCleanup(self.run_cmd, "scontrol", "delete", f"PartitionName={name}")
        no_access, no_group = "Access/permission denied", "User's group not permitted to use this partition"
        for user, partition, why in ((BOB, "staff", no_group), (ALICE, "root", no_access), (None, "users", no_access),
                                     (ALICE, "login", no_access)):
            with self.subTest(partition=partition):
                self.fails(1, f"sbatch: error: Batch job submission failed: {why}\n",
                           "sbatch", "-p", partition, "-o", "/dev/null", "--wrap", "true", user=user)
        held = {user: self.submit("-H", "-p", "users", "-o", "/dev/null", "--wrap", "true", user=user) for user in (ALICE, BOB)}
        # where a job waits it may be changed by its user and by root, who could not submit there himself
        for user in (ALICE, None):
            self.run_cmd("scontrol", "update", f"JobId={held[ALICE]}", "NumCPUs=2", user=user)
        # it goes where its user may go, or an administrator puts it
        self.fails(1, f"{no_group} for job {held[BOB]}\n",
                   "scontrol", "update", f"JobId={held[BOB]}", "Partition=staff", user=BOB)
        self.run_cmd("scontrol", "update", f"JobId={held[BOB]}", "Partition=staff")
        self.run_cmd("scontrol", "update", f"JobId={held[ALICE]}", "Partition=staff", user=ALICE)
        self.assertEqual([self.show(job)["Partition"] for job in held.values()], ["staff", "staff"])
        self.run_cmd("scontrol", "update", "PartitionName=staff", "State=DRAIN")
        self.run_cmd("scontrol", "update", f"JobId={held[ALICE]}", "NumCPUs=1", user=ALICE)
        self.run_cmd("scancel", *held.values())

    def test_only_root_chooses_the_user(self):
        for command in (["sbatch", "--uid=0", "--wrap", "true"], ["srun", "--gid=0", "true"], ["salloc", f"--uid={BOB}", "true"]):
            done = self.run_cmd(*command, user=ALICE, check=False)
            option = command[1].split("=")[0]
            self.assertEqual((done.returncode, done.stderr), (255, f"{command[0]}: error: {option} only permitted by root user\n"))

    def test_root_runs_jobs_as_others(self):  # --uid, --gid; the group stays root's without --gid
        as_bob, own_group = f"{BOB} {BOB}\n", f"{BOB} 0\n"
        say = "echo $(id -u) $(id -g)"
        for options, said in ((["--uid", f"sluicetest{BOB}", "--gid", str(BOB)], as_bob), ([f"--uid={BOB}"], own_group)):
            with self.subTest(options=options):
                self.assertEqual(self.out("srun", *options, "sh", "-c", say), said)
                self.assertEqual(self.out("salloc", "-Q", *options, "sh", "-c", say + "; srun sh -c '" + say + "'"), said * 2)
                self.assertEqual(self.out("srun", "--gid", str(BOB), "sh", "-c", say), f"0 {BOB}\n")
                job = self.submit("-W", "-D", "/tmp", "-o", f"{self.cluster.work}/as-%j", *options, "--wrap", say)
                self.assertEqual(self.file(f"as-{job}"), said)
        for option in ("--uid", "--gid"):
            done = self.run_cmd("sbatch", option, "nobodyatall", "--wrap", "true", check=False)
            self.assertEqual((done.returncode, done.stderr), (255, f"sbatch: error: Invalid {option} specification\n"))

    def test_only_administrators_change_nodes(self):
        done = self.run_cmd("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=x", user=BOB, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("drain", self.out("sinfo", "-h", "-N", "-o", "%t"))

    def test_a_user_cannot_read_the_key(self):
        self.assertEqual(os.stat(os.path.join(self.cluster.dir, "slurm.key")).st_mode & 0o077, 0)


class SentGroups(ClusterCase):
    """The controller tells nodes a user's groups; with LaunchParameters=disable_send_gids they look them up themselves."""
    NODES, CPUS = 1, 2
    ELSEWHERE = 12010  # a group that Alice is in as far as the node knows

    @classmethod
    def setUpClass(cls):
        add_users(cls, ALICE)
        super().setUpClass()

    def groups(self):
        return [int(word) for word in self.out("srun", "-n1", "id", "-G", user=ALICE).split()]

    def test_whose_word_counts(self):
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
            self.skipTest("no mount namespaces here")
        cluster, path = self.cluster, os.path.join(self.cluster.dir, "etc")
        # all of /etc: a mount on /etc/group alone goes when somebody adds a group outside; and then there are files for a moment
        # which are listed and gone when they are to be copied
        os.mkdir(path)
        wait_for(lambda: not subprocess.run(["cp", "-a", "/etc/.", path], check=False).returncode, "/etc is copied")
        with open(os.path.join(path, "group"), "a", encoding="utf-8") as f:
            f.write(f"sluiceelsewhere:x:{self.ELSEWHERE}:sluicetest{ALICE}\n")
        cluster.kill_node("n1")
        start = 'mount --bind "$1" /etc && exec "$2" -f "$3" -N n1'
        subprocess.run(["unshare", "--mount", "sh", "-c", start, "sh", path, cluster.daemon("sluicenoded"), cluster.conf],
                       check=True, env=cluster.env)
        wait_for(lambda: cluster.node_pid("n1"), "the agent runs")
        self.assertNotIn(self.ELSEWHERE, self.groups())
        cluster.change_conf(lambda conf: conf.replace("LaunchParameters=", "LaunchParameters=disable_send_gids,"))
        self.run_cmd("scontrol", "reconfigure")
        wait_for(lambda: self.ELSEWHERE in self.groups(), "the node's word counts")


class Membership(ClusterCase):
    """AllowGroups: who is a member is looked up again when the configuration is read, and every GroupUpdateTime seconds."""
    NODES, CPUS = 1, 2
    CONF = "GroupUpdateTime=0\nPartitionName=staff Nodes=ALL AllowGroups=sluiceteam\n"
    HIRE, FIRE = "-a", "-d"

    @classmethod
    def setUpClass(cls):
        add_users(cls, BOB)
        change_users("groupadd", "-f", "-g", str(TEAM), "sluiceteam")
        cls.addClassCleanup(change_users, "groupdel", "sluiceteam", check=False)
        super().setUpClass()

    def change(self, how):
        change_users("gpasswd", how, f"sluicetest{BOB}", "sluiceteam")

    def may_submit(self):
        done = self.run_cmd("sbatch", "-H", "-p", "staff", "-o", "/dev/null", "--wrap", "true", user=BOB, check=False)
        if done.returncode:
            self.assertIn("User's group not permitted to use this partition", done.stderr)
        return done.returncode == 0

    def test_members(self):
        self.assertFalse(self.may_submit())
        self.change(self.HIRE)
        self.assertFalse(self.may_submit(), "GroupUpdateTime=0: not by itself")
        self.run_cmd("scontrol", "reconfigure")
        self.assertTrue(self.may_submit())
        for force in (1, 0):  # /etc/group does change
            self.cluster.change_conf(lambda conf, force=force: conf + f"\nGroupUpdateTime=1\nGroupUpdateForce={force}\n")
            self.run_cmd("scontrol", "reconfigure")
            self.assertTrue(self.may_submit())
            self.change(self.FIRE)
            wait_for(lambda: not self.may_submit(), "who has left is known", limit_s=30)
            self.change(self.HIRE)
            wait_for(self.may_submit, "who has come is known", limit_s=30)
        self.run_cmd("scancel", "-u", f"sluicetest{BOB}")


class WaitingMembers(ClusterCase):
    """Whom AllowGroups lets in is asked again every GroupUpdateTime seconds for jobs that wait, without any command."""
    NODES, CPUS = 1, 2
    CONF = "GroupUpdateTime=1\nPartitionName=staff Nodes=ALL AllowGroups=sluiceteam\n"

    @classmethod
    def setUpClass(cls):
        add_users(cls, BOB)
        change_users("groupadd", "-f", "-g", str(TEAM), "sluiceteam")
        cls.addClassCleanup(change_users, "groupdel", "sluiceteam", check=False)
        change_users("gpasswd", "-a", f"sluicetest{BOB}", "sluiceteam")
        super().setUpClass()

    def test_waiting_jobs(self):
        holder = str(self.submit("-p", "staff", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600"))
        self.wait_state(holder, "RUNNING")
        job = str(self.submit("-p", "staff", "-o", "/dev/null", "--wrap", "true", user=BOB))
        change_users("gpasswd", "-d", f"sluicetest{BOB}", "sluiceteam")
        wait_for(lambda: "PartitionConfig" in self.out("squeue", "-h", "-j", job, "-o", "%r"), "who has left waits in vain", limit_s=30)
        self.run_cmd("scancel", holder)
        self.assertEqual(self.state(job), "PENDING")
        change_users("gpasswd", "-a", f"sluicetest{BOB}", "sluiceteam")
        wait_for(lambda: self.state(job) == "COMPLETED", "who is back is let in", limit_s=30)


class Sight(ClusterCase):
    """Users see partitions that are hidden, or closed to their groups, only if they ask for them; root sees all."""
    NODES, CPUS = 2, 8
    CONF = ("PartitionName=debug Nodes=n1 Default=YES\nPartitionName=staff Nodes=n1 AllowGroups=sluiceteam\n"
            "PartitionName=veiled Nodes=n[1-2] Hidden=YES\n")
    ALL = ["debug", "staff", "veiled"]

    @classmethod
    def setUpClass(cls):
        change_users("groupadd", "-f", "-g", str(TEAM), "sluiceteam")
        cls.addClassCleanup(change_users, "groupdel", "sluiceteam", check=False)
        add_users(cls, ALICE, BOB)
        change_users("usermod", "-a", "-G", "sluiceteam", f"sluicetest{ALICE}")
        super().setUpClass()

    def seen(self, expected, *command, env=None):
        """What root, Alice and Bob are shown, in any order."""
        for user, words in zip((None, ALICE, BOB), expected):
            with self.subTest(command=command, env=env, user=user):
                self.assertEqual(sorted(self.out(*command, env=env, user=user).split()), sorted(map(str, words)))

    def test_sinfo(self):
        names = ("sinfo", "-h", "-o", "%R")
        own = (self.ALL, ["debug", "staff"], ["debug"])
        for options in ((), ("--hide",), ("-a", "--hide")):
            self.seen(own, *names, *options)
        self.seen([self.ALL] * 3, *names, "-a")
        self.seen([self.ALL] * 3, *names, env={"SINFO_ALL": "1"})
        for partition in ("staff", "veiled"):
            self.seen([[partition]] * 3, *names, "-p", partition)
            self.seen([[partition]] * 3, *names, "-p", partition, "--hide")
        self.seen((["n1/debug", "n1/staff", "n1/veiled", "n2/veiled"], ["n1/debug", "n1/staff"], ["n1/debug"]),
                  "sinfo", "-h", "-N", "-o", "%N/%R")
        for both in (("-a", "-p", "veiled"), ("-p", "veiled", "-a")):
            self.fails(1, "sinfo: error: Conflicting options, -a and -p, specified. Please choose one or the other.\n", "sinfo", *both)
        self.run_cmd("scontrol", "create", "PartitionName=averylongname", "Nodes=n2", "Hidden=YES")
        self.addCleanup(self.run_cmd, "scontrol", "delete", "PartitionName=averylongname")
        for user, options, wide in ((None, (), True), (None, ("-p", "debug"), False), (BOB, (), False), (BOB, ("-a",), True)):
            self.assertEqual(self.out("sinfo", *options, user=user).startswith("PARTITION     AVAIL"), wide, (user, options))

    def test_scontrol(self):
        def shown(user, *options):
            done = self.run_cmd("scontrol", "-o", *options, user=user, check=False)
            found = [line.split()[0].partition("=")[2] for line in done.stdout.splitlines() if "=" in line]
            return found or (done.returncode, done.stdout)
        for user, names in ((None, self.ALL), (ALICE, ["debug", "staff"]), (BOB, ["debug"])):
            for options, expected in (((), names), (("--hide",), names), (("-a", "--hide"), names), (("-a",), self.ALL)):
                self.assertEqual(sorted(shown(user, *options, "show", "partition")), expected, (user, options))
                for name in ("staff", "veiled"):
                    one = [name] if name in expected else (1, f"Partition {name} not found\n")
                    self.assertEqual(shown(user, *options, "show", "partition", name), one, (user, options))
            nodes = self.out("scontrol", "-o", "show", "node", user=user).splitlines()
            self.assertEqual([line.split()[0] for line in nodes], ["NodeName=n1", "NodeName=n2"][:2 if user is None else 1])
            self.assertIn(f" Partitions={','.join(names)} ", nodes[0])
            self.assertIn(" Partitions=veiled ", self.out("scontrol", "-a", "-o", "show", "node", "n2", user=user))

    def test_jobs(self):
        submit = lambda partition, **how: self.submit("-H", "-p", partition, "-o", "/dev/null", "--wrap", "true", **how)
        debug, staff, veiled, several = (submit(name) for name in ("debug", "staff", "veiled", "staff,veiled"))
        own = submit("veiled", user=BOB)
        self.addCleanup(self.run_cmd, "scancel", debug, staff, veiled, several, own)
        everything = [debug, staff, veiled, several, own]
        usual = (everything, [debug, staff, several], [debug, several])
        ids = ("squeue", "-h", "-o", "%i")
        for options in ((), ("--hide",), ("-a", "--hide")):
            self.seen(usual, *ids, *options)
        self.seen([everything] * 3, *ids, "-a")
        self.seen([everything] * 3, *ids, env={"SQUEUE_ALL": "1"})
        for options in (("-p", "veiled"), ("--hide", "-p", "veiled")):
            self.seen([[veiled, several, own]] * 3, *ids, *options)
        self.seen([[staff, several]] * 3, *ids, "-p", "staff")
        self.seen([[staff, several]] * 3, *ids, env={"SQUEUE_PARTITION": "staff"})
        self.seen(([veiled, several, own], [several], [several]), *ids, "-p", "veiled", "--hide")
        self.seen([[staff, veiled]] * 3, *ids, "-j", f"{staff},{veiled}", "--hide")
        def shown(user, *words):  # of these jobs; others may have ended
            lines = self.out("scontrol", "-o", *words, user=user).splitlines()
            return [job for job in everything if any(line.startswith(f"JobId={job} ") for line in lines)]
        for user, jobs in zip((None, ALICE, BOB), usual):
            self.assertEqual(shown(user, "show", "job"), jobs)
            self.assertEqual(shown(user, "-a", "show", "job"), everything)
            self.assertEqual(shown(user, "show", "job", veiled), [veiled])

    def test_steps(self):
        job = self.submit("-p", "veiled", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.addCleanup(self.run_cmd, "scancel", job)
        step = f"{job}.batch"
        wait_for(lambda: step in self.out("squeue", "-s", "-h", "-o", "%i"), "its step runs")
        for options in ((), ("-j", job)):
            self.seen(([step], [], []), "squeue", "-s", "-h", "-o", "%i", *options)
            self.seen([[step]] * 3, "squeue", "-s", "-h", "-a", "-o", "%i", *options)
        self.seen([[step]] * 3, "squeue", "-s", "-h", "-p", "veiled", "-o", "%i")
        for words in ((), (job,)):
            self.assertNotIn(step, self.run_cmd("scontrol", "show", "step", *words, user=BOB, check=False).stdout)
            self.assertIn(step, self.out("scontrol", "-a", "show", "step", *words, user=BOB))
            self.assertIn(step, self.out("scontrol", "show", "step", *words))


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
