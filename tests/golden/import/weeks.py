#!/usr/bin/env python3
"""Two weeks of a site whose history a slurmdbd of Slurm 22.05 keeps, made from a seed, as rows of its own tables.

    weeks.py sql                prints them; the tables are those of slurmdbd-22.05.sql
    weeks.py record [COMMAND]   a real slurmdbd sums them up, and what its commands answer goes into weeks.txt (needs root,
                                Debian's slurmdbd, slurm-client, slurm-wlm-mysql-plugin and munge)

Eight nodes of 16 CPUs, ten from the second week on, two with GPUs; a tree of accounts, users that are there in every Debian.
Jobs are placed where there is room, in the order of their submission. No job waits or runs at the end, so that what commands
say does not change with the day on which they are asked.
"""
import datetime
import os
import pathlib
import random
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
HOUR, DAY = 3600, 86400
BEGIN = int(datetime.datetime(2024, 12, 2, tzinfo=datetime.timezone.utc).timestamp())
SECOND_WEEK, END = BEGIN + 7 * DAY, BEGIN + 14 * DAY
CPUS, MEMORY, GPUS = 16, 64000, 2
NONE, UNSET = "NULL", 4294967294
COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL, PREEMPTED, OUT_OF_MEMORY = 3, 4, 5, 6, 7, 8, 11
GPU, LICENSE = 1002, 1003

# account, its parent, its users with their uid and shares
TREE = (("root", "", (("root", 0, 1),)),
        ("physics", "root", (("nobody", 65534, 2), ("daemon", 1, 1))),
        ("optics", "physics", (("nobody", 65534, 1), ("bin", 2, 4))),
        ("lasers", "optics", (("games", 5, 1), ("man", 6, 1))),
        ("biology", "root", (("www-data", 33, 1), ("daemon", 1, 3), ("sys", 3, 1))))
QOS = ((1, "normal", 0, 1.0), (2, "high", 100, 2.0), (3, "cheap", 10, 0.5), (4, "free", 1, 0.0))
WCKEYS = ((1, "alpha", "bin"), (2, "beta", "bin"), (3, "alpha", "www-data"))
# node, from, to, state, reason, uid: DOWN is 1, IDLE 2, with DRAIN 0x200
EVENTS = (("n3", 30 * HOUR + 137, 38 * HOUR + 59, 1, "Not responding", 0), ("n5", 55 * HOUR, 79 * HOUR + 1800, 0x202, "disk", 0),
          ("n1", 100 * HOUR + 600, 100 * HOUR + 1500, 1, "power", 1), ("n2", 100 * HOUR + 600, 101 * HOUR + 30, 1, "power", 1),
          ("n8", 180 * HOUR, 228 * HOUR, 0x202, "GPU fell off the bus", 0), ("n10", 200 * HOUR + 1, 290 * HOUR, 1, "new node", 0),
          ("n4", 250 * HOUR + 5, 250 * HOUR + 65, 1, "reboot", 0))
# name, id, flags, nodes, from, to, whose: a part of a node that jobs use, one that none uses, maintenance
RESERVATIONS = (("course", 1, 0x8000, (6,), 80 * HOUR, 88 * HOUR + 1800, "optics"), ("unused", 2, 0x8000, (4,), 130 * HOUR, 136 * HOUR, "biology"),
                ("maint", 3, 0x8001, (1, 2), 156 * HOUR, 162 * HOUR, "root"))


def sql(value):
    if value is None or value == NONE:
        return "NULL"
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def insert(table, rows):
    """Statements that put the rows, each a dictionary, into a table whose other columns keep their default."""
    out = []
    for row in rows:
        names = ",".join(f"`{name}`" for name in row)
        out.append(f"INSERT INTO `{table}` ({names}) VALUES ({','.join(sql(value) for value in row.values())});\n")
    return "".join(out)


class Site:
    def __init__(self, seed=1):
        self.chance = random.Random(seed)
        self.jobs, self.steps, self.suspended = [], [], []
        self.used = {f"n{n}": [] for n in range(1, 11)}  # (from, to, CPUs, memory, GPUs)
        self.next_job = 101
        self.associations = []
        self.make_tree()
        arrivals = sorted(BEGIN + int(self.chance.triangular(0, 13.2 * DAY)) for _ in range(330))
        for when in arrivals:
            self.arrive(when)

    def make_tree(self):
        """Associations with lineage as 22.05 keeps it: an interval that holds those of all below."""
        def walk(account, left):
            parent, users = next((p, u) for a, p, u in TREE if a == account)
            row = {"user": "", "acct": account, "parent_acct": parent, "shares": 1 + len(account) % 4, "uid": 0, "lft": left}
            self.associations.append(row)
            left += 1
            for user, uid, shares in users:
                self.associations.append({"user": user, "acct": account, "parent_acct": "", "shares": shares, "uid": uid, "lft": left, "rgt": left + 1})
                left += 2
            for below, above, _ in TREE:
                if above == account:
                    left = walk(below, left)
            row["rgt"] = left
            return left + 1
        walk("root", 1)
        for number, row in enumerate(self.associations, 1):
            row["id"] = number

    def free(self, node, begin, end, cpus, memory, gpus, reservation):
        """Whether a node has so much room all of the time."""
        number = int(node[1:])
        if number > 8 and begin < SECOND_WEEK or gpus and number not in (7, 8):
            return False
        for name, since, until, *_ in EVENTS:
            if name == node and BEGIN + since <= begin < BEGIN + until:
                return False
        for _, which, _, nodes, since, until, _ in RESERVATIONS:
            if number in nodes and begin < BEGIN + until and end > BEGIN + since and which != reservation:
                return False
        beside = [job for job in self.used[node] if job[0] < end and job[1] > begin]
        for at in [begin] + [job[0] for job in beside if job[0] > begin]:
            now = [job for job in beside if job[0] <= at < job[1]]
            if sum(j[2] for j in now) + cpus > CPUS or sum(j[3] for j in now) + memory > MEMORY or sum(j[4] for j in now) + gpus > GPUS:
                return False
        return True

    def place(self, eligible, length, nodes, cpus, memory, gpus, reservation):
        """When it starts, and on which nodes."""
        ends = sorted({job[1] for jobs in self.used.values() for job in jobs if job[1] > eligible} |
                      {BEGIN + event[2] for event in EVENTS} | {BEGIN + one[5] for one in RESERVATIONS} | {eligible})
        for begin in ends:
            if begin < eligible:
                continue
            found = [node for node in self.used if self.free(node, begin, begin + length, cpus, memory, gpus, reservation)]
            if len(found) >= nodes:
                return begin, found[:nodes]
        raise AssertionError("no room at all")

    def arrive(self, when):
        c = self.chance
        whose = c.choice([a for a in self.associations if a["user"]])
        kind = c.choices(["job", "array", "het", "cancelled", "requeued", "zero"], [75, 6, 4, 7, 5, 3])[0]
        job = {"whose": whose, "submit": when, "eligible": when + (c.randrange(1, 2 * DAY) if c.random() < 0.06 else 0),
               "name": c.choice(["run", "relax", "md 2.0", "fit", "post|proc", "a_rather_long_name_of_a_job", "size=5"]),
               "nodes": c.choices([1, 2, 4], [80, 15, 5])[0], "per_node": c.choice([1, 1, 2, 4, 8, 16]), "memory": c.choice([500, 1000, 2000, 3900]),
               "gpus": 0, "licenses": 2 if c.random() < 0.05 else 0, "partition": "long" if c.random() < 0.2 else "debug",
               "qos": c.choices([1, 2, 3, 4], [70, 12, 12, 6])[0], "reservation": 0, "length": int(c.lognormvariate(8.2, 1.4)) + 5,
               "limit": c.choice([30, 60, 600, 1440, 4294967295]), "per_cpu": c.random() < 0.7, "wckey": 0}
        job["length"] = min(job["length"], 30 * HOUR)
        if c.random() < 0.12:
            job.update(gpus=c.choice([1, 2]), nodes=1, per_node=min(job["per_node"], 8))
        if BEGIN + 70 * HOUR < when < BEGIN + 87 * HOUR and whose["acct"] == "optics":
            job.update(reservation=1, nodes=1, gpus=0, per_node=CPUS, memory=500, length=1200, eligible=max(when, BEGIN + 80 * HOUR))
        keys = [key for key in WCKEYS if key[2] == whose["user"]]
        if keys:
            job["wckey"] = c.choice(keys)[0]
        getattr(self, "make_" + kind)(job)

    def run(self, job, **more):
        """One run of a job, with its row and its steps; when it ended."""
        c = self.chance
        memory = job["memory"] * (job["per_node"] if job["per_cpu"] else 1)
        begin, nodes = self.place(job["eligible"], job["length"], job["nodes"], job["per_node"], memory, job["gpus"], job["reservation"])
        state = c.choices([COMPLETED, FAILED, TIMEOUT, CANCELLED, OUT_OF_MEMORY, PREEMPTED], [72, 10, 5, 8, 3, 2])[0]
        state = more.pop("state", state)
        end = begin + (0 if more.pop("at_once", False) else job["length"])
        for name, since, _, down, *_ in EVENTS:
            if name in nodes and down == 1 and begin < BEGIN + since < end:
                end, state = BEGIN + since, NODE_FAIL
        for node in nodes:
            self.used[node].append((begin, end, job["per_node"], memory, job["gpus"]))
        row = self.row(job, state, begin, end, nodes, **more)
        self.suspend(row)
        self.make_steps(row, nodes)
        return end

    def row(self, job, state, begin, end, nodes, **more):
        c = self.chance
        cpus = job["nodes"] * job["per_node"]
        memory = job["memory"] * (cpus if job["per_cpu"] else job["nodes"])
        tres = f"1={cpus},2={memory},4={job['nodes']},5={cpus + 8 * job['gpus']}"
        tres += f",{GPU}={job['gpus']}" * (job["gpus"] > 0) + f",{LICENSE}={job['licenses']}" * (job["licenses"] > 0)
        code = {FAILED: c.choice([256, 512, 9, 11, 32512]), NODE_FAIL: 0, OUT_OF_MEMORY: 125 << 8}.get(state, 0)
        whose, number = job["whose"], more.pop("number", self.next_job)
        self.next_job = max(self.next_job, number + 1)
        row = {"job_db_inx": len(self.jobs) + 1, "mod_time": max(end, job["submit"]), "account": whose["acct"], "array_task_str": NONE, "cpus_req": cpus,
               "derived_ec": code if c.random() < 0.5 else 0, "derived_es": "a note" if c.random() < 0.05 else NONE, "exit_code": code, "flags": 20 if c.random() < 0.7 else 24,
               "job_name": job["name"], "id_assoc": whose["id"], "id_job": number, "id_qos": job["qos"], "id_resv": job["reservation"],
               "id_wckey": job["wckey"], "id_user": whose["uid"], "id_group": whose["uid"], "het_job_id": 0, "het_job_offset": UNSET,
               "kill_requid": whose["uid"] if state == CANCELLED else NONE, "state_reason_prev": 0,
               "mem_req": job["memory"] | (1 << 63 if job["per_cpu"] else 0), "nodelist": hosts(nodes), "nodes_alloc": len(nodes),
               "node_inx": ",".join(str(int(n[1:]) - 1) for n in nodes), "partition": job["partition"], "priority": c.randrange(1, 20000), "state": state,
               "timelimit": job["limit"], "time_submit": job["submit"], "time_eligible": job["eligible"], "time_start": begin, "time_end": end,
               "wckey": next((key[1] for key in WCKEYS if key[0] == job["wckey"]), ""), "work_dir": "/home/" + whose["user"],
               "submit_line": f"sbatch -N{job['nodes']} -J '{job['name']}' run.sh", "tres_alloc": tres if nodes else "", "tres_req": tres}
        row.update(more)
        self.jobs.append(row)
        return row

    def suspend(self, row):
        """Now and then a job stands still twice."""
        length = row["time_end"] - row["time_start"]
        if length < 4000 or self.chance.random() > 0.08:
            return
        for part in (0.2, 0.6):
            since = row["time_start"] + int(length * part)
            until = since + int(length * self.chance.uniform(0.02, 0.3))
            row["time_suspended"] = row.get("time_suspended", 0) + until - since
            self.suspended.append({"job_db_inx": row["job_db_inx"], "id_assoc": row["id_assoc"], "time_start": since, "time_end": until})

    def make_steps(self, row, nodes):
        c = self.chance
        begin, end = row["time_start"], row["time_end"]
        self.step(row, nodes[:1], -5, "batch", 1, begin, end, min(int(row["cpus_req"] / len(nodes)), CPUS))
        if c.random() < 0.3:
            self.step(row, nodes, -4, "extern", len(nodes), begin, end, row["cpus_req"])
        at = begin
        for number in range(c.choices([0, 1, 2, 4], [30, 45, 15, 10])[0]):
            until = min(end, at + int((end - begin) * c.uniform(0.1, 0.5)))
            self.step(row, nodes, number, c.choice(["solver", "true", "mpi hello"]), c.choice([len(nodes), row["cpus_req"]]), at, until, row["cpus_req"])
            at = until

    def step(self, row, nodes, number, name, tasks, begin, end, cpus):
        c = self.chance
        last = end == row["time_end"]
        state = row["state"] if last and row["state"] in (FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL) and number >= -5 else COMPLETED
        state = CANCELLED if state == TIMEOUT else state
        step = {"job_db_inx": row["job_db_inx"], "id_step": number, "step_name": name, "nodelist": hosts(nodes), "nodes_alloc": len(nodes),
                "node_inx": ",".join(str(int(n[1:]) - 1) for n in nodes), "state": state, "task_cnt": tasks, "task_dist": c.choice([1, 2]) if number >= 0 else 0,
                "exit_code": {FAILED: row["exit_code"], CANCELLED: 15, OUT_OF_MEMORY: 125 << 8}.get(state, 0), "kill_requid": row["kill_requid"] if state == CANCELLED else NONE,
                "time_start": begin, "time_end": end, "user_sec": int((end - begin) * cpus * c.uniform(0.1, 0.9)), "user_usec": c.randrange(1000000),
                "sys_sec": int((end - begin) * c.uniform(0, 0.1)), "sys_usec": c.randrange(1000000), "req_cpufreq": 0 if number < 0 else UNSET,
                "submit_line": f"srun -n{tasks} {name}" if number >= 0 else NONE, "tres_alloc": f"1={cpus},2={1000 * cpus},4={len(nodes)}"}
        if end - begin > 60:
            self.measure(step, len(nodes), tasks)
        self.steps.append(step)

    def measure(self, step, nodes, tasks):
        """What was gathered while it ran: CPU in ms, bytes, and of pages how many."""
        c = self.chance
        most = {3: 0, 1: (step["user_sec"] + step["sys_sec"]) * 1000 // tasks, 2: c.randrange(1 << 20, 60 << 30), 6: c.randrange(1 << 34), 7: c.randrange(1 << 30, 80 << 30), 8: c.randrange(5000)}
        part = {one: c.uniform(0.3, 1) for one in most}
        text = lambda values: ",".join(f"{one}={int(value)}" for one, value in values.items())
        where, task = {one: c.randrange(nodes) for one in most}, {one: c.randrange(tasks) for one in most}
        for way, which in (("in", most), ("out", {3: 0, 6: c.randrange(1 << 33)})):
            least = {one: value * part[one] for one, value in which.items()}
            average = {one: value * (1 + part[one]) / 2 for one, value in which.items()} if tasks > 1 else which
            least = least if tasks > 1 else which
            step.update({f"tres_usage_{way}_max": text(which), f"tres_usage_{way}_min": text(least), f"tres_usage_{way}_ave": text(average),
                         f"tres_usage_{way}_tot": text({one: int(value) * tasks for one, value in average.items()}),
                         f"tres_usage_{way}_max_nodeid": text({one: where[one] for one in which}), f"tres_usage_{way}_max_taskid": text({one: task[one] for one in which}),
                         f"tres_usage_{way}_min_nodeid": text({one: 0 for one in which}), f"tres_usage_{way}_min_taskid": text({one: 0 for one in which})})

    def make_job(self, job):
        self.run(job)

    def make_zero(self, job):
        self.run(job, at_once=True, state=FAILED)

    def make_array(self, job):
        job.update(nodes=1, length=min(job["length"], 3 * HOUR))
        tasks = self.chance.randrange(3, 9)
        first = self.next_job
        for task in range(tasks):  # the last one has the array's own number
            self.run(job, number=first + (task + 1 if task + 1 < tasks else 0), id_array_job=first, id_array_task=task * 2)
        self.next_job = first + tasks

    def make_het(self, job):
        job.update(nodes=1, reservation=0, length=min(job["length"], 4 * HOUR))
        first = self.next_job
        for offset in range(2):
            self.run(job, number=first + offset, het_job_id=first, het_job_offset=offset)

    def make_cancelled(self, job):
        """It never ran."""
        held = self.chance.random() < 0.3
        end = job["submit"] + self.chance.randrange(1, DAY)
        job["eligible"] = 0 if held else job["eligible"]
        self.row(job, CANCELLED, 0 if held else end, end, [], nodelist="None assigned", kill_requid=0, state_reason_prev=16 if held else 0)

    def make_requeued(self, job):
        """Two runs under one number."""
        number, job["reservation"] = self.next_job, 0
        end = self.run(job, number=number, state=PREEMPTED)
        job.update(submit=end, eligible=end + 120)
        self.run(job, number=number)

    def text(self):
        """The statements, beside the tables of slurmdbd-22.05.sql."""
        dump = (HERE / "slurmdbd-22.05.sql").read_text()
        tables = "".join(re.findall(r"^CREATE TABLE .*?;\n", dump, re.M | re.S))
        kept = "".join(re.findall(r"^INSERT INTO `(?:convert_version_table|cluster_table)` VALUES\n.*?;\n", dump, re.M | re.S))
        made = {"creation_time": BEGIN, "mod_time": BEGIN}
        whole = lambda nodes: f"1={nodes * CPUS},2={nodes * MEMORY},3=0,4={nodes},5={nodes * CPUS},6=0,7=0,8=0,{GPU}={2 * GPUS},{LICENSE}=4"
        names = (("cpu", ""), ("mem", ""), ("energy", ""), ("node", ""), ("billing", ""), ("fs", "disk"), ("vmem", ""), ("pages", ""))
        tres = [(number, *name, 0) for number, name in enumerate(names, 1)] + [(1000, "dynamic_offset", "", 1), (GPU, "gres", "gpu", 0), (LICENSE, "license", "matlab", 0)]
        users = sorted({row["user"] for row in self.associations if row["user"]})
        seen = set()
        for row in self.associations:
            row["is_def"] = int(bool(row["user"]) and row["user"] not in seen)
            seen.add(row["user"])
        events = [dict(time_start=BEGIN + since, time_end=BEGIN + until, node_name=node, reason=reason, reason_uid=uid, state=state,
                       tres=f"1={CPUS},2={MEMORY},5={CPUS}" + (f",{GPU}={GPUS}" if node in ("n7", "n8") else "")) for node, since, until, state, reason, uid in EVENTS]
        events += [dict(time_start=BEGIN, time_end=SECOND_WEEK, cluster_nodes="n[1-8]", reason="Cluster Registered TRES", tres=whole(8)),
                   dict(time_start=SECOND_WEEK, time_end=0, cluster_nodes="n[1-10]", reason="Cluster Registered TRES", tres=whole(10))]
        account_of = {row["acct"]: row["id"] for row in self.associations if not row["user"]}
        reservations = [dict(id_resv=number, assoclist=str(account_of[whose]), flags=flags, nodelist=hosts([f"n{n}" for n in nodes]), node_inx=",".join(str(n - 1) for n in nodes),
                             resv_name=name, time_start=BEGIN + since, time_end=BEGIN + until, tres=f"1={CPUS * len(nodes)}") for name, number, flags, nodes, since, until, whose in RESERVATIONS]
        columns = lambda row: {"shares": row["shares"], "is_def": row["is_def"], "id_assoc": row["id"], **{one: row[one] for one in ("user", "acct", "parent_acct", "lft", "rgt")}}
        return tables + kept + "".join((
            insert("tres_table", [dict(creation_time=BEGIN, id=number, type=kind, name=name, deleted=gone) for number, *((kind, name)), gone in flat(tres)]),
            insert("acct_table", [dict(made, name=account, description=account + " people", organization=parent or "root") for account, parent, _ in TREE]),
            insert("user_table", [dict(made, name=user, admin_level=3 if user == "root" else 1) for user in users]),
            insert("qos_table", [dict(made, id=number, name=name, description=name, priority=priority, usage_factor=factor) for number, name, priority, factor in QOS]),
            insert("ref_assoc_table", [dict(made, qos=",1,2,3,4," if row["acct"] == "root" and not row["user"] else "", **columns(row)) for row in self.associations]),
            insert("ref_wckey_table", [dict(made, id_wckey=number, wckey_name=name, user=user) for number, name, user in WCKEYS]),
            insert("ref_event_table", events), insert("ref_resv_table", reservations),
            insert("ref_last_ran_table", [dict(hourly_rollup=BEGIN, daily_rollup=BEGIN, monthly_rollup=BEGIN)]),
            insert("ref_job_table", self.jobs), insert("ref_step_table", self.steps), insert("ref_suspend_table", self.suspended)))


def flat(tres):
    """(number, kind, name, deleted) of each."""
    for row in tres:
        yield (row[0], *row[1], row[2]) if isinstance(row[1], tuple) else row


def hosts(nodes):
    """n1, or n[1-3,7], as Slurm writes them."""
    numbers = sorted(int(node[1:]) for node in nodes)
    if len(numbers) < 2:
        return "".join(f"n{n}" for n in numbers)
    parts = []
    for n in numbers:
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return "n[" + ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts) + "]"


def record(only=""):
    """Asks a real Slurm; only the commands that hold `only`."""
    sys.path[:0] = [str(HERE.parents[1] / "system"), str(HERE.parent / "priority")]
    import reference
    from replay import File
    with reference.SlurmDbd(Site().text()) as slurm:
        while slurm.server.sql("SELECT hourly_rollup FROM ref_last_ran_table").strip() == str(BEGIN):
            time.sleep(1)
        file = File(HERE / "weeks.txt")
        for case in file.cases:
            if only not in case.command:
                continue
            done = subprocess.run(case.command, shell=True, env=dict(os.environ, SLURM_CONF=slurm.conf, TZ="UTC", LC_ALL="C", PATH="/usr/bin:/bin"),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            answer = done.stdout.decode(errors="surrogateescape").splitlines()
            if case.theirs is not None:
                case.theirs = answer
            else:
                case.answer = answer
        file.path.write_text(file.text(), errors="surrogateescape")


if __name__ == "__main__":
    if sys.argv[1:] == ["sql"]:
        print(Site().text(), end="")
    elif sys.argv[1:2] == ["record"] and len(sys.argv) < 4:
        record(*sys.argv[2:])
    else:
        sys.exit(__doc__)
