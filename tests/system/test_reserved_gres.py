"""Reservations of generic resources: scontrol, and the jobs in them and beside them. Files stand for GPUs."""
import json
import os
import unittest

from harness import Cluster, ClusterCase, need_root, wait_for

CONF = """GresTypes=gpu,net
SelectTypeParameters=CR_Core
AccountingStorageTRES=gres/gpu,gres/gpu:a100
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 CPUs=4 RealMemory=4000 Gres=gpu:a100:2,gpu:t4:2,net:10
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 CPUs=4 RealMemory=4000 Gres=gpu:a100:2,gpu:t4:2,net:10
PartitionName=debug Nodes=n[1-2] Default=YES State=UP
"""
GRES_CONF = """NodeName=n[1-2] Name=gpu Type=a100 File={dir}/dev/nvidia[0-1]
NodeName=n[1-2] Name=gpu Type=t4 File={dir}/dev/nvidia[2-3]
NodeName=n[1-2] Name=net Count=10
"""
SOON = ("starttime=now", "duration=60", "users=root")
LATER = ("starttime=2038-01-18T10:00:00", "duration=60", "users=root")


def make_devices(folder):
    os.mkdir(os.path.join(folder, "dev"))
    for number in range(4):
        with open(os.path.join(folder, "dev", f"nvidia{number}"), "w", encoding="utf-8"):
            pass


class ReservedGres(ClusterCase):
    @classmethod
    def setUpClass(cls):
        need_root()
        cls.cluster = Cluster(2, 4, 4000, CONF, {"gres.conf": GRES_CONF}, make_devices)

    def tearDown(self):
        self.run_cmd("scancel", "-u", "root", check=False)
        self.wait_no_jobs()
        for name in ("a", "b"):
            self.run_cmd("scontrol", "delete", f"reservation={name}", check=False)

    def reserve(self, name, *words):
        self.assertEqual(self.out("scontrol", "create", f"reservation={name}", *words), f"Reservation created: {name}\n")

    def tres(self, name):
        words = self.out("scontrol", "-o", "show", "reservation", name).split()
        return dict(word.split("=", 1) for word in words)["TRES"]

    def devices(self, job):
        """Those that it has, as scontrol tells them."""
        shown = self.out("scontrol", "-d", "show", "job", str(job))
        return next((word[5:] for word in shown.split() if word.startswith("GRES=")), "")

    def job(self, *options):
        return self.submit("-o", "/dev/null", "-t5", *options, "--wrap", "sleep 1000")

    def test_refused(self):
        for words, text in ((("tres=gres/gpu=x",), "invalid TRES 'gres/gpu=x'"),
                            (("tres=gres/shard=1",), "TRES type 'gres/shard' not supported with reservations"),
                            (("trespernode=cpu=1",), "TRES type 'cpu' not supported with reservations")):
            self.fails(1, f"scontrol: error: {text}\n", "scontrol", "create", "reservation=a", *SOON, *words)
        for words, text in ((("tres=gres/gpu=9",), "Requested nodes are busy"),
                            (("nodes=n1", "trespernode=gres/gpu=5"), "Requested nodes are busy"),
                            (("tres=gres/nope=1",), "Invalid generic resource (gres) specification")):
            done = self.run_cmd("scontrol", "create", "reservation=a", *SOON, *words, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f"Error creating the reservation: {text}\n"), words)

    def test_show_and_update(self):
        self.reserve("a", *LATER, "tres=gres/gpu=3,cpu=2,node=1")
        self.assertEqual(self.out("scontrol", "show", "reservation"), """\
ReservationName=a StartTime=2038-01-18T10:00:00 EndTime=2038-01-18T11:00:00 Duration=01:00:00
   Nodes=n1 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=debug Flags=
     NodeName=n1 CoreIDs=0-1
   TRES=cpu=2,gres/gpu=3,gres/gpu:a100=2
   AllowedPartitions=(null) QOS=(null)
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)
   MaxStartDelay=(null)

""")
        self.reserve("b", *LATER, "nodecnt=2", "trespernode=gres/gpu:t4:1,gres/net=4")
        self.assertEqual(self.tres("b"), "gres/gpu=2,gres/net=8")
        self.assertEqual(self.out("scontrol", "update", "reservation=b", "tres=gres/gpu:t4=1"), "Reservation updated.\n")
        record = next(one for one in json.loads(self.out("scontrol", "--json", "show", "reservation"))["reservations"]
                      if one["name"] == "b")
        self.assertEqual((record["tres"], record["node_count"], record["core_count"]), ("gres/gpu=1", 1, 0))
        self.cluster.kill_controller()
        self.cluster.start_controller()
        wait_for(lambda: self.run_cmd("scontrol", "ping", check=False).returncode == 0, "the controller is back")
        self.assertEqual(self.tres("b"), "gres/gpu=1")

    def test_jobs(self):
        self.reserve("a", *SOON, "nodes=n1", "tres=gres/gpu=3")
        waits = self.job("-w", "n1", "--gres=gpu:2")
        outside = self.job("-w", "n1", "--gres=gpu:1")
        inside = self.job("--reservation=a", "--gres=gpu:2")
        second = self.job("--reservation=a", "--gres=gpu:2")
        for job, devices in ((outside, "gpu:t4:1(IDX:3)"), (inside, "gpu:a100:2(IDX:0-1)")):
            self.wait_state(job, "RUNNING")
            self.assertEqual(self.devices(job), devices)
        wait_for(lambda: self.out("squeue", "-h", "-j", str(second), "--start", "-o", "%S") != "N/A\n", "it is planned")
        self.assertEqual(self.out("squeue", "-h", "-j", f"{waits},{second}", "-o", "%T"), "PENDING\nPENDING\n")
        self.run_cmd("scancel", str(inside))
        self.wait_state(second, "RUNNING")
        self.run_cmd("scancel", str(second))
        self.wait_ended(second)
        self.run_cmd("scontrol", "delete", "reservation=a")
        self.wait_state(waits, "RUNNING")

    def test_counts(self):
        self.reserve("a", *SOON, "nodes=n1", "tres=gres/net=6")
        outside = self.job("-w", "n1", "--gres=net:3")
        waits = self.job("-w", "n1", "--gres=net:2")
        inside = self.job("--reservation=a", "--gres=net:6")
        self.wait_state(outside, "RUNNING")
        self.wait_state(inside, "RUNNING")
        self.assertEqual(self.out("squeue", "-h", "-j", str(waits), "-o", "%T"), "PENDING\n")


if __name__ == "__main__":
    unittest.main()
