"""Reservations: what scontrol and sinfo say, and the jobs in them and beside them."""
import json
import unittest

from harness import ClusterCase, add_users, need_root, wait_for

ALICE, BOB = 61531, 61532


class Reservation(ClusterCase):
    NODES, CPUS = 3, 2
    CONF = "ResvProlog={dir}/begins\nResvEpilog={dir}/ends\n"
    FILES = {name: '#!/bin/sh\necho "$(id -un) ${0##*/} $*" >> {dir}/work/turned\n' for name in ("begins", "ends")}

    @classmethod
    def setUpClass(cls):
        need_root()
        add_users(cls, ALICE, BOB)
        super().setUpClass()

    def tearDown(self):
        self.run_cmd("scancel", "--state=PENDING", "-u", "root", check=False)
        self.run_cmd("scancel", "-u", "root", check=False)
        self.run_cmd("scancel", "-u", f"{ALICE},{BOB}", check=False)
        self.wait_no_jobs()
        for name in self.names():
            self.run_cmd("scontrol", "delete", f"reservation={name}")
        super().tearDown()

    def names(self):
        shown = self.out("scontrol", "-o", "show", "reservation")
        return [line.split()[0].partition("=")[2] for line in shown.splitlines() if line.startswith("ReservationName=")]

    def reserve(self, name, *words):
        self.assertEqual(self.out("scontrol", "create", f"reservation={name}", *words), f"Reservation created: {name}\n")

    def facts(self, name):
        words = self.out("scontrol", "-o", "show", "reservation", name).split()
        return dict(word.split("=", 1) for word in words)

    def refused(self, text, *words):
        self.fails(1, f"scontrol: error: {text}  No reservation created.\n", "scontrol", "create", "reservation", *words)

    def test_create_refused(self):
        self.refused("A start time must be given.")
        self.refused("A start time must be given.", "users=root", "nodes=n1", "duration=5")
        self.refused("An end time or duration must be given.", "starttime=now", "users=root", "nodes=n1")
        self.refused("Start time cannot be after end time.", "starttime=now", "endtime=now-1hour", "users=root", "nodes=n1")
        self.refused("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.", "starttime=now", "duration=60",
                     "users=root")
        self.refused("Either Users/Groups and/or Accounts must be specified.", "starttime=now", "duration=60", "nodes=ALL")
        self.refused("Users and Groups are mutually exclusive.  You can have one or the other, but not both.", "starttime=now",
                     "users=root", "groups=root", "nodes=ALL", "duration=10")
        self.refused("Error parsing flags blah.", "starttime=now", "users=root", "nodes=n1", "duration=5", "flags=blah")
        self.refused("Invalid duration duration=abc.", "starttime=now", "users=root", "nodes=n1", "duration=abc")
        self.refused("Unknown parameter bad=1.", "starttime=now", "users=root", "nodes=n1", "bad=1")
        self.refused("PART_NODES flag requires specifying a Partition and ALL nodes.", "starttime=now", "users=root", "nodes=n1",
                     "duration=10", "flags=part_nodes")
        whole = ("starttime=2038-01-18T10:00:00", "duration=10", "users=root", "nodes=n1")
        self.refused("Misformatted parameter 'a', most options have a parameter after '='.", "a", *whole)
        self.fails(1, "scontrol: error: Parameter users=root specified more than once\n", "scontrol", "create", "reservation",
                   *whole, "users=root")
        self.fails(1, "scontrol: error: Invalid node count x\n", "scontrol", "create", "reservation", "nodecnt=x")
        self.refused("StartTime + Duration does not equal EndTime.", *whole, "endtime=2038-01-18T10:30:00")
        self.refused("The +=/-= notation is not supported when updating nodecnt.", *whole, "nodecnt+=1")
        self.refused("Error parsing flags SPEC_NODES.", *whole, "flags=SPEC_NODES")
        self.refused("Error parsing flags MA.", *whole, "flags=MA")
        self.refused("Invalid duration maxstartdelay=x.", *whole, "maxstartdelay=x")
        self.refused("Either Users/Groups and/or Accounts must be specified.", *whole[:2], "nodes=n1", "users=")
        self.refused("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.", *whole[:3], "nodes=")
        self.refused("burstbuffer=2 is not supported.", "starttime=now", "users=root", "burstbuffer=2", "duration=10")
        for key, text in (("corecnt=x", "Invalid core count x"), ("tres=cpu", "invalid TRES 'cpu'"), ("tres=cpu=x", "invalid TRES cpu value 'x'"),
                          ("tres=mem=1", "TRES type 'mem' not supported with reservations")):
            self.fails(1, f"scontrol: error: {text}\n", "scontrol", "create", "reservation", *whole[:3], key)
        self.fails(1, "Invalid time specification (pos=0): xx\n"
                      "scontrol: error: Invalid start time starttime=xx.  No reservation created.\n",
                   "scontrol", "create", "reservation", "starttime=xx", "users=root", "nodes=n1", "duration=5")
        ask = ("scontrol", "create", "reservationname=a", "starttime=now", "duration=5")
        self.fails(1, "Error creating the reservation: Invalid user id\n", *ask, "users=nosuchuser", "nodes=n1")
        self.fails(1, "Error creating the reservation: Invalid group id\n", *ask, "groups=nosuchgroup", "nodes=n1")
        self.fails(1, "Error creating the reservation: Invalid node name specified\n", *ask, "users=root", "nodes=n9")
        self.fails(1, "Error creating the reservation: Invalid node name specified\n", *ask, "users=root", "nodes=n1",
                   "flags=replace")
        self.fails(1, "Error creating the reservation: Requested operation not supported on this system\n", *ask, "users=root",
                   "nodes=n1", "flags=daily,time_float")
        self.fails(1, "Error creating the reservation: Invalid partition name specified\n", *ask, "users=root", "nodecnt=1",
                   "partitionname=nope")
        self.fails(1, "Error creating the reservation: Invalid feature specification\n", *ask, "users=root", "nodecnt=1",
                   "features=f1")
        self.fails(1, "Error creating the reservation: Invalid time specified\n", "scontrol", "create", "reservationname=a",
                   "starttime=now-1hour", "duration=5", "users=root", "nodes=n1")
        self.reserve("a", "starttime=now", "duration=5", "users=root", "nodes=n[1-2]")
        self.fails(1, "Error creating the reservation: Duplicate reservation name\n", *ask, "users=root", "nodes=n3")
        self.fails(1, "Error creating the reservation: Requested reservation overlaps with another reservation\n", "scontrol",
                   "create", "reservation", "starttime=now", "duration=5", "users=root", "nodes=n2")
        self.fails(1, "Error creating the reservation: Requested nodes are busy\n", "scontrol",
                   "create", "reservation", "starttime=now", "duration=5", "users=root", "nodecnt=2",
                   out="Note, unless nodes are directly requested a reservation must exist in a single partition.\n"
                       "If no partition is requested the default partition is assumed.\n")
        self.fails(1, "Error creating the reservation: Invalid user id\n", "scontrol", "create", "reservationname=d1",
                   "starttime=now", f"users={ALICE}", "nodecnt=1", "duration=5", user=ALICE)

    def test_show(self):
        self.assertEqual(self.out("scontrol", "show", "reservation"), "No reservations in the system\n")
        self.assertEqual(self.out("sinfo", "-T"), "No reservations in the system\n")
        self.fails(1, "", "scontrol", "show", "reservation", "nosuch", out="Reservation nosuch not found\n")
        self.reserve("maint", "starttime=2038-01-18T10:00:00", "endtime=2038-01-18T12:00:00", "users=root", "nodes=n2",
                     "flags=maint,ignore_jobs", "comment=new disks")
        self.assertEqual(self.out("scontrol", "show", "reservation"), """\
ReservationName=maint StartTime=2038-01-18T10:00:00 EndTime=2038-01-18T12:00:00 Duration=02:00:00
   Nodes=n2 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES
   TRES=cpu=2
   AllowedPartitions=(null) QOS=(null)
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)
   MaxStartDelay=(null)
   Comment=new disks

""")
        self.assertEqual(self.out("sinfo", "-T"), """\
RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST
maint      INACTIVE  2038-01-18T10:00:00  2038-01-18T12:00:00     02:00:00  n2
""")
        self.assertEqual(self.out("sinfo", "-T", "-h"),
                         "maint      INACTIVE  2038-01-18T10:00:00  2038-01-18T12:00:00     02:00:00  n2\n")
        dated = self.out("sinfo", "-T", "-l").splitlines()
        self.assertRegex(dated[0], r"^\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}$")
        self.assertTrue(dated[1].startswith("RESV_NAME "), dated)
        document = json.loads(self.out("scontrol", "--json", "show", "reservation"))
        record = document["reservations"][0]
        self.assertEqual((record["name"], record["node_list"], record["flags"], record["core_count"]),
                         ("maint", "n2", ["MAINT", "IGNORE_JOBS", "SPEC_NODES"], 2))

    def test_update(self):
        self.reserve("a", "starttime=2038-01-18T10:00:00", "duration=60", "users=root", "nodes=n1")
        change = ("scontrol", "update", "reservation=a")
        self.assertEqual(self.out(*change, "flags+=flex", f"users+={ALICE}", "duration=30"), "Reservation updated.\n")
        facts = self.facts("a")
        self.assertEqual((facts["Flags"], facts["Users"], facts["Duration"]), ("FLEX,SPEC_NODES", f"root,{ALICE}", "00:30:00"))
        self.out(*change, "flags-=flex", f"users-={ALICE}", "nodes=n[2-3]")
        facts = self.facts("a")
        self.assertEqual((facts["Flags"], facts["Users"], facts["Nodes"]), ("SPEC_NODES", "root", "n[2-3]"))
        for change_of, length in (("duration+=10", "00:40:00"), ("duration-=25", "00:15:00"), ("duration=14:30", "00:15:00")):
            self.out(*change, change_of)
            self.assertEqual(self.facts("a")["Duration"], length)
        self.out(*change, "starttime=2038-01-18T11:00:00", "maxstartdelay=5")
        facts = self.facts("a")
        self.assertEqual((facts["EndTime"], facts["MaxStartDelay"]), ("2038-01-18T11:15:00", "00:05:00"))
        self.out(*change, "starttime=2038-01-18T10:00:00")
        for words, why in ((("users=",), "Reservation request lacks users, groups or accounts"),
                           (("groups=root",), "Reservations can't have users and groups specified, only one or the other"),
                           (("duration-=15",), "Invalid time specified"),
                           (("flags=part_nodes",), "Invalid partition name specified"),
                           (("flags=replace_down",), "Requested operation not supported on this system"),
                           (("skip",), "Reservation given is not skipable, try deleting instead")):
            self.fails(1, f"Error updating the reservation: {why}\nslurm_update error: {why}\n", *change, *words)
        self.fails(1, "Error updating the reservation: Requested reservation is invalid\n"
                      "slurm_update error: Requested reservation is invalid\n", "scontrol", "update", "reservation=b", "users=root")
        self.fails(1, "scontrol: error: The +=/-= notation is not supported when updating nodes.  No reservation update.\n", *change, "nodes+=n1")
        self.out(*change, "flags=daily")
        self.out(*change, "skip")
        self.assertEqual(self.facts("a")["StartTime"], "2038-01-19T10:00:00")
        self.fails(1, "delete_reservation reservation=b: Requested reservation is invalid\n", "scontrol", "delete", "reservation=b")
        self.fails(1, "delete_reservation reservation=b: Invalid user id\n", "scontrol", "delete", "reservation=b", user=ALICE)
        self.fails(1, "delete_reservation reservation=a: Invalid user id\n", "scontrol", "delete", "reservation=a", user=ALICE)

    def test_short_names_of_flags(self):
        self.reserve("a", "starttime=2038-01-18T10:00:00", "duration=60", "users=root", "nodes=n1", "flags=main,ignore,week,no_hold,mag")
        self.assertEqual(self.facts("a")["Flags"], "MAINT,IGNORE_JOBS,WEEKDAY,SPEC_NODES,NO_HOLD_JOBS_AFTER_END,MAGNETIC")

    def test_all_of_a_partition(self):
        self.reserve("a", "starttime=2038-01-18T10:00:00", "duration=60", "accounts=physics", "partition=debug")
        facts = self.facts("a")
        self.assertEqual((facts["Nodes"], facts["Flags"], facts["PartitionName"]), ("n[1-3]", "SPEC_NODES,PART_NODES", "debug"))

    def test_jobs(self):  # --reservation, squeue %v -R, scancel -R, SLURM_JOB_RESERVATION
        self.reserve("a", "starttime=now", "duration=60", f"users=root,{ALICE}", "nodes=n1")
        self.fails(1, "sbatch: error: Batch job submission failed: Requested reservation is invalid\n", "sbatch",
                   "--reservation=nosuch", "--wrap", "true")
        self.fails(1, "sbatch: error: Batch job submission failed: Access denied to requested reservation\n", "sbatch",
                   "--reservation=a", "-D", "/tmp", "--wrap", "true", user=BOB)
        self.fails(1, "sbatch: error: Problem using reservation\n"
                      "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", "sbatch",
                   "--reservation=a", "-w", "n2", "--wrap", "true")
        for never in ("-n3", "-xn1"):
            self.fails(1, "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", "sbatch",
                       "--reservation=a", never, "--wrap", "true")
        self.fails(1, "srun: error: Unable to allocate resources: Requested reservation is invalid\n", "srun",
                   "--reservation=nosuch", "true")
        self.assertEqual(self.out("srun", "--reservation=a", "printenv", "SLURMD_NODENAME", "SLURM_JOB_RESERVATION"), "n1\na\n")
        self.assertEqual(self.out("salloc", "-n1", "--reservation=a", "printenv", "SLURM_JOB_NODELIST"), "n1\n")
        inside = self.submit("--reservation=a", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(inside, "RUNNING")
        self.assertEqual(self.show(inside)["Reservation"], "a")
        kept_out = self.submit("-w", "n1", "-t", "5", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "reserved" in self.out("squeue", "-h", "-j", str(kept_out), "-o", "%R"), "kept out by the reservation")
        outside = self.submit("-t", "5", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(outside, "RUNNING")
        self.assertEqual(self.out("squeue", "-h", "-j", str(outside), "-o", "%N"), "n2\n")
        self.assertEqual(self.out("squeue", "-h", "-R", "a", "-o", "%i %v %N"), f"{inside} a n1\n")
        self.fails(1, "delete_reservation reservation=a: Requested reservation is in use\n", "scontrol", "delete", "reservation=a")
        self.run_cmd("scancel", "-R", "a")
        self.assertEqual(self.wait_ended(inside), "CANCELLED")
        held = self.submit("-H", "--reservation=a", "-o", "/dev/null", "--wrap", "true")
        self.run_cmd("scancel", "--reservation=a")
        self.assertEqual((self.state(held), self.state(outside)), ("CANCELLED", "RUNNING"))
        self.run_cmd("scontrol", "delete", "reservation=a")
        self.assertEqual(self.wait_ended(kept_out), "COMPLETED")

    def test_cores(self):  # CoreCnt, TRES=cpu=; CoreIDs; jobs inside and beside
        self.fails(1, "Error creating the reservation: Core count for reservation node list is not consistent!\n", "scontrol", "create",
                   "reservation=a", "starttime=now", "duration=60", "users=root", "nodes=n[1-2]", "corecnt=2")
        for words in (("corecnt=7",), ("corecnt=0",), ("tres=cpu=40",), ("nodes=n1", "corecnt=3"), ("nodecnt=2", "corecnt=5")):
            done = self.run_cmd("scontrol", "create", "reservation=a", "starttime=now", "duration=60", "users=root", *words, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, "Error creating the reservation: Requested nodes are busy\n"), words)
            self.assertIn("Note, unless nodes are directly requested", done.stdout)
        self.fails(1, "Error creating the reservation: Invalid node name specified\n", "scontrol", "create", "reservation=a",
                   "starttime=now", "duration=60", "users=root", "nodes=nix", "corecnt=1")
        self.reserve("a", "starttime=2038-01-18T10:00:00", "duration=60", "users=root", "corecnt=3")
        self.assertEqual(self.out("scontrol", "show", "reservation"), """\
ReservationName=a StartTime=2038-01-18T10:00:00 EndTime=2038-01-18T11:00:00 Duration=01:00:00
   Nodes=n[1-2] NodeCnt=2 CoreCnt=3 Features=(null) PartitionName=debug Flags=
     NodeName=n1 CoreIDs=0-1
     NodeName=n2 CoreIDs=0
   TRES=cpu=3
   AllowedPartitions=(null) QOS=(null)
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)
   MaxStartDelay=(null)

""")
        for change in ("corecnt=1", "nodecnt=2", "nodes=n1", "tres=cpu=1"):
            self.fails(1, "Error updating the reservation: Core-based reservation can not be updated\n"
                          "slurm_update error: Core-based reservation can not be updated\n", "scontrol", "update", "reservation=a", change)
        self.assertEqual(self.out("scontrol", "update", "reservation=a", "duration=30"), "Reservation updated.\n")
        self.assertEqual((self.facts("a")["Duration"], self.facts("a")["CoreCnt"]), ("00:30:00", "3"))
        self.reserve("b", "starttime=now", "duration=60", "users=root", "nodes=n1", "tres=cpu=1")
        record = next(one for one in json.loads(self.out("scontrol", "--json", "show", "reservation"))["reservations"] if one["name"] == "b")
        self.assertEqual(record["core_specializations"], [{"node": "n1", "core": "0"}])
        inside = self.submit("--reservation=b", "-n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(inside, "RUNNING")
        alone = self.submit("-w", "n1", "--exclusive", "-t5", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "May be reserved" in self.out("squeue", "-h", "-j", str(alone), "-o", "%R"), "the node is not its own")
        self.assertIn("kept from it by reservations", self.out("sluice", "explain", str(alone)))
        self.run_cmd("scancel", str(alone))
        second = self.submit("--reservation=b", "-n1", "-o", "/dev/null", "--wrap", "true")
        beside = self.submit("-w", "n1", "-n1", "-t5", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(beside, "RUNNING")
        self.assertEqual(self.out("sinfo", "-h", "-N", "-n", "n2,n3", "-o", "%N %t"), "n2 idle\nn3 idle\n")
        self.assertIn("CPU_IDs=0 ", self.out("scontrol", "-d", "show", "job", str(inside)))
        self.assertIn("CPU_IDs=1 ", self.out("scontrol", "-d", "show", "job", str(beside)))
        self.assertEqual(self.out("squeue", "-h", "-j", str(second), "-o", "%T"), "PENDING\n")
        self.run_cmd("scancel", str(inside))
        self.assertEqual(self.wait_ended(second), "COMPLETED")

    def test_explained(self):
        self.reserve("a", "starttime=now+1hour", "duration=60", "users=root", "nodes=n[1-3]")
        job = self.submit("--reservation=a", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.out("squeue", "-h", "-j", str(job), "-o", "%r") == "Reservation\n", "the reason Reservation")
        self.assertIn("Reservation a that it asks for begins at", self.out("sluice", "explain", str(job)))
        longer = self.submit("-t", "90", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: "May be reserved" in self.out("squeue", "-h", "-j", str(longer), "-o", "%R"), "kept out")
        self.assertIn("kept from it by reservations", self.out("sluice", "explain", str(longer)))
        self.wait_ended(self.submit("-t", "5", "-o", "/dev/null", "--wrap", "true"))

    def test_node_states(self):
        self.reserve("m", "starttime=now", "duration=60", "users=root", "nodes=n1", "flags=maint")
        self.reserve("r", "starttime=now", "duration=60", "users=root", "nodes=n2")
        self.assertEqual(self.out("sinfo", "-h", "-N", "-o", "%N %t %i"), "n1 maint m\nn2 resv r\nn3 idle \n")
        self.assertIn("State=IDLE+MAINTENANCE+RESERVED", self.out("scontrol", "show", "node", "n1"))

    def test_end(self):  # its jobs end with it, those that wait are held
        self.reserve("a", "starttime=now", "endtime=now+8seconds", "users=root", "nodes=n3")
        runs = self.submit("--reservation=a", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_state(runs, "RUNNING")
        waits = self.submit("--reservation=a", "-n2", "-o", "/dev/null", "--wrap", "true")
        self.wait_state(runs, "TIMEOUT")
        wait_for(lambda: self.out("squeue", "-h", "-j", str(waits), "-o", "%T %r") == "RESV_DEL_HOLD Reservation a was deleted\n", "held")
        self.assertEqual(self.names(), [])
        self.run_cmd("scontrol", "release", str(waits))  # it goes on without it
        self.assertEqual(self.wait_ended(waits), "COMPLETED")

    def test_programs(self):  # ResvProlog, ResvEpilog
        turned = lambda name: [line for line in self.file("turned").splitlines() if line.endswith(" " + name)]
        self.reserve("early", "starttime=now+1hour", "duration=60", "users=root", "nodes=n2")
        self.reserve("brief", "starttime=now", "endtime=now+3seconds", "users=root", "nodes=n1")
        self.reserve("gone", "starttime=now", "duration=60", "users=root", "nodes=n3")
        wait_for(lambda: turned("gone"), "it has begun")
        self.run_cmd("scontrol", "delete", "reservation=gone")
        wait_for(lambda: turned("brief") == ["root begins brief", "root ends brief"], "it was over")
        self.assertEqual((turned("gone"), turned("early")), (["root begins gone"], []))
        self.reserve("daily", "starttime=now", "duration=60", "users=root", "nodes=n3", "flags=daily")
        wait_for(lambda: turned("daily"), "it has begun")
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")
        self.out("scontrol", "update", "reservation=daily", "skip")
        wait_for(lambda: len(turned("daily")) > 1, "it was skipped")
        self.assertEqual(turned("daily"), ["root begins daily", "root ends daily"])

    def test_names_are_looked_up_within_bounds(self):
        """Each name costs the name services something, a group a walk through all users, and anybody could send any number of them."""
        make = ("scontrol", "create", "reservation=a", "starttime=now", "duration=5", "nodecnt=1")
        many = ",".join(f"nobody{i}" for i in range(1001))
        refused = "Error creating the reservation: "
        for key in ("users", "groups"):
            self.fails(1, refused + "Pathname of a file, directory or other parameter too long\n", *make, f"{key}={many}")
            self.fails(1, refused + "Invalid user id\n", *make, f"{key}={many}", user=ALICE)
        self.fails(1, refused + "Invalid group id\n", *make, "groups=nobody-is-in-it")
        self.reserve("a", "starttime=now", "duration=5", "nodecnt=1", "users=" + ",".join(["root"] * 1001))
        self.assertEqual(self.facts("a")["Users"], "root")
        self.reserve("b", "starttime=now", "duration=5", "nodecnt=1", "groups=" + ",".join(["root"] * 1001))
        self.assertEqual(self.facts("b")["Groups"], "root")
        self.out("srun", "--reservation=b", "-n1", "true")  # root's first group is root

    def test_survives_the_controller(self):
        self.reserve("a", "starttime=now", "duration=60", "users=root", "nodes=n1", "flags=daily")
        self.reserve("b", "starttime=now", "duration=60", "users=root", "corecnt=3")
        before = self.facts("a"), self.facts("b")
        self.assertEqual((before[1]["Nodes"], before[1]["CoreCnt"]), ("n[2-3]", "3"))
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")
        self.assertEqual((self.facts("a"), self.facts("b")), before)
        self.wait_ended(self.submit("--reservation=b", "-n3", "-o", "/dev/null", "--wrap", "true"))


if __name__ == "__main__":
    unittest.main()
