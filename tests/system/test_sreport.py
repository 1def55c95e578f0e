"""Reports of usage: what sreport says of history that was written into the database beforehand."""
import datetime
import grp
import json
import re
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for

NOT_ENDED = (1 << 63) - 1
CPUS = 16
GROUP = 1  # of jobs; each system has it
RUNNING, COMPLETED = 1, 3


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def message(*fields):
    """A record as the wire codec writes it: (number, int, text or bytes)."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value if isinstance(value, bytes) else value.encode()
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def micros(time):
    return int(time.timestamp() * 1_000_000)


def signed(number):
    """As times are written."""
    return number << 1


def tres(**counts):
    return [message((1, name), (2, count)) for name, count in counts.items()]


class Reports(ClusterCase):
    server = None  # of databases.py

    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1, server=cls.server, dbd="TrackWCKey=yes\n")
        with open(cls.cluster.conf, encoding="utf-8") as f:
            cls.name = re.search(r"^ClusterName=(\S+)", f.read(), re.M)[1]
        cls.day = datetime.datetime.combine(datetime.date.today() - datetime.timedelta(days=1), datetime.time())
        for words in (["add", "cluster", cls.name], ["add", "account", "physics"], ["add", "account", "chem", "parent=physics"],
                      ["add", "user", "alice", "account=physics"], ["add", "user", "bob", "account=chem"]):
            cls.cluster.run("sacctmgr", "-i", *words, check=words[1] != "cluster")
        cls.next_job = 1000
        find = f"SELECT id FROM cluster WHERE name = '{cls.name}'"
        if not cls.cluster.sql(find):
            cls.cluster.sql(f"INSERT INTO cluster(name, stream, control_host) VALUES('{cls.name}', '', '')")
        cls.number = cls.cluster.sql(find)[0][0]
        begin = micros(cls.day - datetime.timedelta(days=40))
        record = message((1, signed(begin)), (2, "n1"), *((3, one) for one in tres(cpu=CPUS, node=1)))
        # the controller tells its own some time after its start
        wait_for(lambda: cls.cluster.sql("SELECT start FROM cluster_event"), "the controller's event is in the database")
        cls.cluster.sql("DELETE FROM cluster_event")
        cls.cluster.sql(f"INSERT INTO cluster_event VALUES({cls.number}, {begin}, {NOT_ENDED}, {cls.cluster.sql_bytes(record)})")
        cls.sum_up_from(begin)
        cls.put_job("alice", "physics", 4, cls.at(10), cls.at(12, 30))
        cls.put_job("bob", "chem", 2, cls.at(11), cls.at(12))

    @classmethod
    def at(cls, hour, minute=0, days=0):
        return cls.day + datetime.timedelta(days=days, hours=hour, minutes=minute)

    @classmethod
    def put_job(cls, user, account, cpus, start, end, partition="debug", qos="", wckey="", gid=0, nodes=""):
        cls.next_job += 1
        begin, ended = micros(start), micros(end) if end else NOT_ENDED
        state = COMPLETED if end else RUNNING
        fields = [(1, cls.next_job), (3, signed(begin)), (12, user), (14, "job"), (15, account), (16, partition), (17, qos), (18, wckey), (35, state), (42, signed(begin)), (43, signed(begin))]
        fields += [(44, signed(ended))] if end else []
        fields += [(11, gid)] if gid else []
        fields += [(55, nodes)] if nodes else []
        fields += [(50, cpus)] + [(54, one) for one in tres(cpu=cpus, node=1)] + [(57, cpus)]
        cls.cluster.sql(
            "INSERT INTO job(cluster, job_id, submit, restarts, part, array_job, het_job, uid, gid, account, state, eligible, "
            f"start, ended, record) VALUES({cls.number}, {cls.next_job}, {begin}, 0, 0, 0, 0, 0, 0, '{account}', {state}, {begin}, {begin}, "
            f"{ended}, {cls.cluster.sql_bytes(message(*sorted(fields, key=lambda one: one[0])))})")
        cls.sum_up_from(begin)
        return cls.next_job

    @classmethod
    def sum_up_from(cls, time):
        """As the daemon does when it is told of the past."""
        cls.cluster.sql(f"UPDATE usage_state SET rolled = {time} WHERE cluster = {cls.number} AND rolled > {time}")

    def report(self, *words):
        return self.cluster.run("sreport", "-nP", *words).stdout.splitlines()

    def test_reports(self):
        span = (f"start={self.day:%Y-%m-%d}", f"end={self.at(0, days=1):%Y-%m-%d}")
        total = CPUS * 24 * 60
        self.assertEqual(self.report("cluster", "Utilization", *span), [f"{self.name}|720|0|0|{total - 720}|0|{total}"])
        self.assertEqual(self.report("cluster", "AccountUtilizationByUser", *span), [
            f"{self.name}|root|||720|0", f"{self.name}|physics|||720|0", f"{self.name}|physics|alice||600|0",
            f"{self.name}|chem|||120|0", f"{self.name}|chem|bob||120|0"])
        self.assertEqual(self.report("cluster", "UserUtilizationByAccount", *span),
                         [f"{self.name}|alice||physics|600|0", f"{self.name}|bob||chem|120|0"])
        self.assertEqual(self.report("user", "TopUsage", "topcount=1", *span), [f"{self.name}|alice||physics|600|0"])
        self.assertEqual(self.report("job", "SizesByAccount", "grouping=3,10", "flatview", *span),
                         [f"{self.name}|chem|120|0|0|16.67%", f"{self.name}|physics|0|600|0|83.33%"])
        self.assertEqual(self.report("job", "SizesByAccount", "printjobcount", *span), [f"{self.name}|root|2|0|0|0|0|100.00%"])
        self.assertEqual(self.report("reservation", "Utilization", *span), [])
        # an hour of it, half an hour later as the nearest hours
        hour = (f"start={self.at(11, 10):%Y-%m-%dT%H:%M}", f"end={self.at(12, 20):%Y-%m-%dT%H:%M}")
        self.assertEqual(self.report("cluster", "Utilization", *hour), [f"{self.name}|360|0|0|600|0|960"])

    def test_days_and_months_are_sums_of_hours(self):
        for days in (-35, -34, -20, -3):
            self.put_job("carol", "physics", 1, self.at(23, 30, days), self.at(24, 30, days))
        first = self.at(0, days=-39)
        found = self.report("cluster", "UserUtilizationByAccount", "users=carol", f"start={first:%Y-%m-%d}", f"end={self.at(0):%Y-%m-%d}")
        self.assertEqual(found, [f"{self.name}|carol||physics|240|0"])
        # what came late is summed up as well, in hours that were summed up already
        self.put_job("carol", "physics", 2, self.at(1, 0, -20), self.at(2, 0, -20))
        found = self.report("cluster", "UserUtilizationByAccount", "users=carol", f"start={first:%Y-%m-%d}", f"end={self.at(0):%Y-%m-%d}")
        self.assertEqual(found, [f"{self.name}|carol||physics|360|0"])

    def test_layouts(self):
        span = (f"start={self.day:%Y-%m-%d}", f"end={self.at(0, days=1):%Y-%m-%d}")
        last = self.at(23, 59) + datetime.timedelta(seconds=59)
        shown = f"{self.day:%Y-%m-%dT%H:%M:%S} - {last:%Y-%m-%dT%H:%M:%S}"
        self.assertEqual(self.cluster.run("sreport", "cluster", "utilization", *span, "-t", "hourper", "-T", "cpu").stdout, (
            "-" * 80 + f"\nCluster Utilization {shown}\nUsage reported in TRES Hours/Percentage of Total\n" + "-" * 80 + "\n"
            "  Cluster      TRES Name         Allocated              Down         PLND Down              Idle           Planned          Reported \n"
            "--------- -------------- ----------------- ----------------- ----------------- ----------------- ----------------- ----------------- \n"
            f"{self.name:>9}            cpu         12(3.12%)          0(0.00%)          0(0.00%)       372(96.88%)          0(0.00%)      384(100.00%) \n"))
        for form, words, columns in (
                ("hourper", ("user", "top"), "  Cluster     Login     Proper Name         Account              Used            Energy "),
                ("secper", ("cluster", "WCKeyUtilizationByUser"), "  Cluster           WCKey     Login     Proper Name              Used "),
                ("minper", ("job", "SizesByAccount", "grouping=3"), "  Cluster   Account             0-2 CPUs            >= 3 CPUs % of cluster "),
                ("minutes", ("job", "SizesByAccount", "grouping=individual"), "  Cluster   Account        2 CPUs        4 CPUs % of cluster "),
                ("minutes", ("reservation", "utilization", "format=reservationid,name"), "      Id      Name "),
                ("hourper", ("reservation", "utilization", "format=name,allocated,idle,totaltime"),
                 "     Name                     Allocated                          Idle TotalTime ")):
            self.assertEqual(self.cluster.run("sreport", *words, *span, "-t", form).stdout.splitlines()[4], columns)
        done = self.cluster.run("sreport", "job", "SizesByAccount", *span, "-t", "hourper")
        self.assertEqual(done.stdout.splitlines()[2], "Time reported in Hours/Percentage of Total")
        done = self.cluster.run("sreport", "user", "top", *span)
        self.assertTrue(done.stdout.startswith(
            "-" * 80 + f"\nTop 10 Users {shown} (86400 secs)\nUsage reported in CPU Minutes\n" + "-" * 80 + "\n"
            "  Cluster     Login     Proper Name         Account     Used   Energy \n"
            "--------- --------- --------------- --------------- -------- -------- \n"), done.stdout)
        self.assertEqual(self.cluster.run("sreport", "-p", "-n", "user", "top", *span, "format=login,used%3", "users=bob").stdout, "bob|120|\n")
        self.fails(1, " We need a grouping list to set up the print.\n", "sreport", "job", "SizesByAccount", "grouping=individual",
                   "start=2020-01-01", "end=2020-01-02")
        done = self.cluster.run("sreport", "cluster", "nope", check=False)
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (1, "Not valid report nope"))
        self.assertEqual(self.cluster.run("sreport", "-p", "-n", "-t", "minper", "user", "top", *span, "format=login,energy", "users=bob").stdout,
                         "bob|0(0.00%)|\n")
        self.fails(1, "too few arguments for keyword:cluster\n", "sreport", "cluster")
        done = self.cluster.run("sreport", "-n", "-P", "user", "top", "topcount=x", *span, check=False)
        self.assertEqual(done.stderr, "sreport: error: Invalid value for TopCount (x)\n")

    def test_jobs_by_number_group_and_nodes(self):
        at = lambda hour: self.at(hour, 0, -15)  # noqa: E731
        first = self.put_job("alice", "physics", 4, at(3), at(4), gid=GROUP, nodes="n[1-2]")
        second = self.put_job("bob", "chem", 2, at(6), at(7), nodes="n[2-3]")
        span = (f"start={at(0):%Y-%m-%d}", f"end={self.at(0, 0, -14):%Y-%m-%d}")
        name = grp.getgrgid(GROUP).gr_name
        for words, accounts in ((f"jobs={first},{second}", ["chem", "physics"]), (f"jobs={second}", ["chem"]), ("jobs=99999", []),
                                (f"j={first}.0", ["physics"]), (f"gid={GROUP}", ["physics"]), (f"gid={name}", ["physics"]), ("gid=root", ["chem"]),
                                ("gid=777", []), ("nodes=n1", ["physics"]), ("n=n[2-9]", ["chem", "physics"]), ("nodes=n3,n4", ["chem"]),
                                (f"nodes=n2 jobs={first}", ["physics"]), (f"nodes=n3 gid={name}", [])):
            found = self.report("job", "SizesByAccount", "FlatView", *words.split(), *span)
            self.assertEqual([row.split("|")[1] for row in found], accounts, words)
        for words, told in (("jobs=x", "Bad job/step specified: x"), ("gid=nosuchgroup", "Invalid group id: nosuchgroup"),
                            ("nodes=n[1-", "Invalid node list: n[1-")):
            self.fails(1, f"sreport: error: {told}\n", "sreport", "job", "SizesByAccount", words, *span)
        for words in ("jobs=1", "gid=0", "nodes=n1"):  # of reports of jobs alone
            done = self.run_cmd("sreport", "-n", "cluster", "WCKeyUtilizationByUser", words, *span, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f" Unknown condition: {words}\nUse keyword set to modify value\n"))

    def test_conditions(self):
        self.put_job("alice", "physics", 4, self.at(3, 0, -10), self.at(4, 0, -10), "debug", "normal", "paper")
        self.put_job("alice", "physics", 8, self.at(3, 0, -10), self.at(5, 0, -10), "night", "high", "thesis")
        self.put_job("bob", "chem", 2, self.at(6, 0, -10), self.at(7, 0, -10), "debug", "normal", "paper")
        self.put_job("bob", "chem", 2, self.at(6, 0, -10), self.at(6, 0, -10) + datetime.timedelta(microseconds=9))  # is not counted
        span = (f"start={self.at(0, 0, -10):%Y-%m-%d}", f"end={self.at(0, 0, -9):%Y-%m-%d}")
        idle = CPUS * 24 * 60 - 1320
        used = f"{self.name}|1320|0|0|{idle}|0|{CPUS * 24 * 60}"
        for words, rows in (
                ("cluster AccountUtilizationByUser accounts=chem", ["chem|||120|0", "chem|bob||120|0"]),
                ("cluster AccountUtilizationByUser accounts=physics", ["physics|||1320|0", "physics|alice||1200|0", "chem|||120|0", "chem|bob||120|0"]),
                ("cluster AccountUtilizationByUser accounts=physics users=alice,bob", ["physics|alice||1200|0"]),
                ("cluster AccountUtilizationByUser users=alice", ["physics|alice||1200|0"]),
                ("cluster AccountUtilizationByUser tree users=bob", ["   chem|bob||120|0"]),
                ("cluster AccountUtilizationByQOS", ["chem|normal|120|0", "physics|high|960|0", "physics|normal|240|0"]),
                ("cluster UserUtilizationByAccount accounts=physics", ["alice||physics|1200|0"]),
                ("cluster UserUtilizationByWckey", ["alice||thesis|960", "alice||paper|240", "bob||paper|120"]),
                ("cluster UserUtilizationByWckey wckeys=thesis", ["alice||thesis|960"]),
                ("cluster WCKeyUtilizationByUser users=bob", ["paper|||120", "paper|bob||120"]),
                ("cluster WCKeyUtilizationByUser", ["paper|||360", "paper|alice||240", "paper|bob||120", "thesis|||960", "thesis|alice||960"]),
                ("user TopUsage group", ["alice||physics|1200|0", "bob||chem|120|0"]),
                ("user TopUsage topcount=1", ["alice||physics|1200|0"]),
                ("job SizesByAccount accounts=chem,physics", ["chem|120|0|0|0|0|8.33%", "physics|1320|0|0|0|0|91.67%"]),
                ("job SizesByAccount AcctAsParent", ["physics|1320|0|0|0|0|100.00%"]),
                ("job SizesByAccount FlatView", ["chem|120|0|0|0|0|9.09%", "physics|1200|0|0|0|0|90.91%"]),
                ("job SizesByAccount FlatView accounts=chem", ["chem|120|0|0|0|0|100.00%"]),
                ("job SizesByAccount FlatView partitions=night", ["physics|960|0|0|0|0|100.00%"]),
                ("job SizesByAccount FlatView grouping=5", ["chem|120|0|9.09%", "physics|240|960|90.91%"]),
                ("job SizesByAccount FlatView grouping=individual", ["chem|120|0|0|9.09%", "physics|0|240|960|90.91%"]),
                ("job SizesByAccount grouping=individual PrintJobCount", ["root|1|1|1|100.00%"]),
                ("job SizesByWckey grouping=individual", ["paper|120|240|0|27.27%", "thesis|0|0|960|72.73%"]),
                ("job SizesByAccount FlatView PrintJobCount", ["chem|1|0|0|0|0|33.33%", "physics|2|0|0|0|0|66.67%"]),
                ("job SizesByAccountAndWckey", ["root:paper|360|0|0|0|0|27.27%", "root:thesis|960|0|0|0|0|72.73%"]),
                ("job SizesByWckey", ["paper|360|0|0|0|0|27.27%", "thesis|960|0|0|0|0|72.73%"]),
                ("job SizesByWckey wckeys=paper", ["paper|360|0|0|0|0|100.00%"])):
            self.assertEqual(self.report(*words.split(), *span), [f"{self.name}|{row}" for row in rows], words)
        for words in (["cluster", "Utilization", f"clusters={self.name}"], ["-a", "cluster", "Utilization"],
                      ["-M", self.name, "cluster", "Utilization"]):
            self.assertEqual(self.report(*words, *span), [used], words)
        self.assertEqual(self.report("cluster", "Utilization", "format=cluster,allocated", *span), [f"{self.name}|1320"])
        for words in (["-M", "nowhere", "cluster", "Utilization"], ["cluster", "Utilization", "clusters=nowhere"]):
            self.fails(1, "sreport: error: No cluster 'nowhere' known by database.\n", "sreport", *words)
        self.assertEqual(self.out("sreport", "-V"), self.out("sacctmgr", "-V"))
        self.assertTrue(self.out("sreport", "--help").startswith("sreport [OPTION...] [TYPE REPORT [CONDITION...]]\n"))

    def test_runaway_jobs_get_an_end(self):
        self.put_job("dora", "physics", 1, self.at(3), None)
        runaway = self.next_job
        running = self.submit("-o", "/dev/null", "--wrap", "sleep 60")
        wait_for(lambda: self.cluster.sacct("-j", running, "-o", "state", "-X") == [["RUNNING"]], "the running job is in the database")
        done = self.cluster.run("sacctmgr", "-nP", "show", "runawayjobs", "format=id,state,timesubmit,timestart,timeend", stdin="n\n")
        start = f"{self.at(3):%Y-%m-%dT%H:%M:%S}"
        self.assertIn(f"\n{runaway}|RUNNING|{start}|{start}|Unknown\n", done.stdout)
        self.assertNotIn(f"\n{running}|", done.stdout)
        self.cluster.run("sacctmgr", "-i", "show", "runawayjobs")
        self.assertEqual(self.cluster.run("sacctmgr", "show", "runaway").stdout,
                         f"Runaway Jobs: No runaway jobs found on cluster {self.name}\n")
        self.run_cmd("scancel", running)

    def test_runaway_jobs_get_a_state(self):  # EndState
        self.put_job("dora", "physics", 1, self.at(3), None)
        runaway = self.next_job
        for state in ("running", "nosuch"):
            self.fails(1, f"sacctmgr: error: Invalid value for EndState ({state})\n", "sacctmgr", "show", "runawayjobs", f"endstate={state}")
        done = self.cluster.run("sacctmgr", "-i", "show", "runawayjobs", "EndState=failed", "format=id")
        self.assertIn("or submit times, and set the state to failed.\n", done.stdout)
        self.assertEqual(self.cluster.sacct("-X", "-j", runaway, "-o", "state"), [["FAILED"]])

    def test_events(self):
        self.assertIn(f"{self.name}||Cluster Registered TRES", self.cluster.run(
            "sacctmgr", "-nP", "list", "event", "all_time", "format=cluster,nodename,reason").stdout.splitlines())

        def events(*words):
            return [row.split("|")[1] for row in self.out("sacctmgr", "-nP", "list", "event", *words, "format=event,nodename").splitlines()]
        self.run_cmd("scontrol", "update", "nodename=n1", "state=down", "reason=broken fan")
        wait_for(lambda: "n1" in events("reason=broken"), "the event is in the database")
        told = self.out("sacctmgr", "-nP", "list", "event", "nodes=n1", "format=cluster,clusternodes,nodename,event,state,reason,end,duration")
        self.assertRegex(told, rf"^({self.name})?\|\|n1\|Node\|DOWN\|broken fan\|Unknown\|00:00:\d\d\n$")
        numbers = ("nodes=n1", "format=eventraw,nodecount,cpucount")
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "event", *numbers), "2|1|4\n")
        self.assertEqual(json.loads(self.out("sacctmgr", "--json", "list", "event", *numbers))["events"], [{"eventraw": "2", "nodecount": "1", "cpucount": "4"}])
        for words, found in (
                (["all_time"], ["", "n1"]), (["all_time", "all_clusters"], ["", "n1"]), (["all_time", "clusters=nowhere"], []),
                (["nodes=n2"], []), (["event=node"], ["n1"]), (["event=cluster"], [""]), (["event=cluster,node"], ["", "n1"]),
                (["reason=other"], []), (["states=down"], ["n1"]), (["states=drain"], []), (["condflags=open"], ["", "n1"]),
                (["end=2020-01-01"], []), (["start=now-1hour", "end=now+1hour"], ["", "n1"]),
                (["mincpus=5"], [""]), (["maxcpus=5"], ["n1"]), (["mincpus=5", "maxcpus=6"], [])):
            self.assertEqual(events(*words), found, words)
        self.fails(1, " Unknown event type: 'foo'  Valid events are Cluster and Node.\n", "sacctmgr", "list", "event", "event=foo")
        self.run_cmd("scontrol", "update", "nodename=n1", "state=resume")
        wait_for(lambda: events("nodes=n1", "condflags=open") == [], "the node is back")

    def test_reservations(self):
        def names(*words):
            return self.out("sacctmgr", "-nP", "list", "reservation", *words, "format=name").splitlines()
        self.run_cmd("scontrol", "create", "reservation", "reservationname=mine", "users=root", "nodes=n1", "starttime=now", "duration=60")
        wait_for(lambda: "mine" in names(), "the reservation is in the database")
        self.addCleanup(self.run_cmd, "scontrol", "delete", "reservation", "mine")
        told = self.out("sacctmgr", "-nP", "list", "reservation", "names=mine", "format=cluster,name,nodenames,end,unusedwall")
        self.assertRegex(told, rf"^{self.name}\|mine\|n1\|\d{{4}}-\d\d-\d\dT[\d:]{{8}}\|\d+\.\d{{6}}\n$")
        number = self.out("sacctmgr", "-nP", "list", "reservation", "format=id").strip()
        job = self.submit("--reservation", "mine", "-o", "/dev/null", "--wrap", "true")
        wait_for(lambda: self.cluster.sacct("-X", "-j", job, "-o", "state,reservationid") == [["COMPLETED", number]], "the job has the number of its reservation")
        for words, found in (([f"clusters={self.name}"], ["mine"]), (["clusters=nowhere"], []), ([f"id={number}"], ["mine"]), (["id=99999"], []), (["nodes=n1"], ["mine"]), (["nodes=n2"], []),
                             (["end=2020-01-01"], []), (["end=now+1day"], ["mine"]), (["names=other"], [])):
            self.assertEqual(names(*words), found, words)
        # a report ends with the hour that is nearest to now: in the first half of one that was before the reservation began
        report = ("reservation", "utilization", "start=now-1hour", "end=now+1hour")
        until = self.out("sreport", *report).splitlines()[1].split(" - ")[1]
        begun = self.out("sacctmgr", "-nP", "list", "reservation", "names=mine", "format=start").strip()
        self.assertEqual(self.report(*report, "format=reservationid,name,tresname"), [f"{number}|mine|cpu"] if begun <= until else [])
        whole = self.report(*report, "format=trestime,cputime,totaltime")  # of all of its time
        self.assertEqual(whole, ["04:00:00|04:00:00|01:00:00"] if begun <= until else [])


if __name__ == "__main__":
    unittest.main()
