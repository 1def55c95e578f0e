"""Options of srun that act on a step: where its tasks and CPUs are, what they find, how their output comes."""
import contextlib
import glob
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from harness import ClusterCase, pids_with, wait_for

CONF = """SelectTypeParameters=CR_Core_Memory
TaskPlugin=task/affinity
PropagateResourceLimits=NONE
JobFileAppend=1
KillWait=1
NodeName=n1 NodeAddr=127.0.0.1 Port=@1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000
NodeName=n2 NodeAddr=127.0.0.1 Port=@2 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000
NodeName=n3 NodeAddr=127.0.0.1 Port=@3 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
NodeName=n4 NodeAddr=127.0.0.1 Port=@4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES State=UP
"""
LIST = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"
WHERE = 'echo $SLURM_PROCID $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status | cut -f2) $SLURM_CPU_BIND_LIST'


def cpu_list(text):
    out = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        out += range(int(low), int(high or low) + 1)
    return out


class Srun(ClusterCase):
    NODES, CONF = 4, CONF

    def in_job(self, options, script, **more):
        """Standard output of a shell script in an allocation."""
        self.wait_no_jobs()
        return self.out("salloc", *options.split(), "sh", "-c", script, **more)

    def masks(self, *options, shell=WHERE):
        """For each task its node and the mask that Slurm's variable names; the process's own CPUs must agree with it."""
        real = sorted(os.sched_getaffinity(0))
        found = {}
        self.wait_no_jobs()
        lines = sorted(self.out("srun", *options, "sh", "-c", shell).splitlines(), key=lambda l: int(l.split()[0]))
        for line in lines:
            rank, node, cpus, *masks = line.split()
            local = [l.split()[1] for l in lines[:lines.index(line)]].count(node)
            mask = masks[0].split(",")[local] if masks else None
            bits = [i for i in range(32) if mask and int(mask, 16) >> i & 1]
            if "map_cpu" in " ".join(options):
                bits = [int(mask)]
            expected = sorted({real[b % len(real)] for b in bits}) if bits else real
            self.assertEqual(cpu_list(cpus), expected, f"{options}: {line}")
            found[int(rank)] = mask
        return [found[r] for r in sorted(found)]

    def test_cpu_bind(self):
        two = ("-w", "n1", "-n2", "--mincpus=8")  # two sockets of two cores of two threads, all of them
        self.assertEqual(self.masks(*two, "--cpu-bind=none"), [None, None])
        self.assertEqual(self.masks(*two, "--cpu-bind=map_cpu:5,3"), ["5", "3"])
        self.assertEqual(self.masks(*two, "--cpu-bind=mask_cpu:0x6,0x9"), ["6", "9"])
        self.assertEqual(self.masks(*two, "--cpu-bind=threads"), ["0x01", "0x10"])
        self.assertEqual(self.masks(*two, "--cpu-bind=cores"), ["0x03", "0x30"])
        self.assertEqual(self.masks(*two, "--cpu-bind=sockets"), ["0x0F", "0xF0"])
        self.assertEqual(self.masks(*two, "--cpu_bind=threads"), ["0x01", "0x10"])
        self.assertEqual(self.out("srun", *two, "--cpu-bind=rank", "sh", "-c", "echo $SLURM_CPU_BIND"), "quiet,rank\n" * 2)

    def test_cpu_bind_of_nodes(self):  # CpuBind of nodes and partitions, where --cpu-bind does not say how
        one = ("-w", "n1", "-n1")
        masks = {"thread": "0x01", "cores": "0x03", "socket": "0x0F"}
        for word, mask in masks.items():
            self.run_cmd("scontrol", "update", "NodeName=n1", f"CpuBind={word}")
            shown = {"thread": "threads", "cores": "cores", "socket": "sockets"}[word]
            self.assertIn(f" CpuBind={shown} CoresPerSocket=", self.out("scontrol", "show", "node", "n1"))
            whole = ("-w", "n1", "-n1", "--mincpus=8")
            self.assertEqual(self.masks(*whole), [mask], word)
            self.assertEqual(self.masks(*whole, "--cpu-bind=threads"), ["0x01"])
        self.run_cmd("scontrol", "update", "NodeName=n1", "CpuBind=cores")
        self.assertEqual(self.out("srun", *one, "--mincpus=8", "--cpu-bind=q", "sh", "-c", "echo $SLURM_CPU_BIND"), "quiet,mask_cpu:0x03\n")
        self.assertEqual(self.out("sinfo", "-h", "-n", "n1", "-o", "%N"), "n1\n")
        # the partition's counts where the job's nodes do not agree
        self.run_cmd("scontrol", "update", "PartitionName=debug", "CpuBind=threads")
        self.assertIn(" CpuBind=threads", self.out("scontrol", "show", "partition", "debug"))
        two = ("-w", "n1,n2", "-N2", "-n2", "--mincpus=8")
        self.assertEqual(self.masks(*two), ["0x01", "0x01"])
        self.run_cmd("scontrol", "update", "NodeName=n2", "CpuBind=core")
        self.assertEqual(self.masks(*two), ["0x03", "0x03"])
        for node in ("n1", "n2"):
            self.run_cmd("scontrol", "update", f"NodeName={node}", "CpuBind=off")
        self.assertEqual(self.masks(*two), ["0x01", "0x01"])
        self.run_cmd("scontrol", "update", "PartitionName=debug", "CpuBind=off")
        self.assertNotIn("CpuBind", self.out("scontrol", "show", "partition", "debug") + self.out("scontrol", "show", "node", "n1"))
        done = self.run_cmd("scontrol", "update", "NodeName=n1", "CpuBind=rank", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("scontrol: error: Invalid input CpuBind=rank\n", done.stderr)
        done = self.run_cmd("scontrol", "update", "PartitionName=debug", "CpuBind=rank", check=False)
        self.assertEqual(done.returncode, 1)

    def test_refused_binding(self):
        """The exit status is Slurm's number of the error, cut to eight bits."""
        done = self.run_cmd("srun", "-J", "refused", "-w", "n1", "-n1", "--cpu-bind=map_cpu:999", "true", check=False)
        self.assertEqual(done.returncode, 192)
        job = self.out("squeue", "-h", "-t", "all", "-n", "refused", "-o", "%i").strip()
        self.assertEqual(self.wait_ended(job), "FAILED")
        shown = self.show(job)
        self.assertEqual((shown["Reason"], shown["ExitCode"]), ("JobLaunchFailure", "0:64"))
        self.assertRegex(done.stderr, r"srun: error: Task launch for StepId=\d+\.0 failed on node n1: Unable to satisfy cpu bind request\n"
                         r"srun: error: Application launch failed: Unable to satisfy cpu bind request\n")

    def agent_links(self):
        """Pairs of nodes whose agents have a connection: (from, to)."""
        def tcp(path):
            with open(path, encoding="ascii") as f:
                rows = [line.split() for line in f.readlines()[1:]]
            return {row[9]: int(row[2].split(":")[1], 16) for row in rows if row[3] == "01"}
        ports = {int(line.split(":")[2]): line.split(":")[0] for line in self.out("scontrol", "getaddrs", "n[1-4]").splitlines()}
        found = set()
        for node in ports.values():
            pid = self.cluster.node_pid(node)
            remote = tcp(f"/proc/{pid}/net/tcp") | tcp(f"/proc/{pid}/net/tcp6")
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    port = remote.get(target[8:-1]) if target.startswith("socket:[") else None
                    if port in ports:
                        found.add((node, ports[port]))
        return found

    def test_tree_width(self):  # --treewidth: agents pass a launch on to one another
        self.run_cmd("srun", "-N4", "true")
        self.assertEqual(self.agent_links() & {("n1", "n2"), ("n2", "n3"), ("n3", "n4")}, set())
        self.wait_no_jobs()
        self.run_cmd("srun", "-N4", "--treewidth=1", "true")
        self.assertLessEqual({("n1", "n2"), ("n2", "n3"), ("n3", "n4")}, self.agent_links())
        self.fails(1, 'srun: error: Invalid numeric value "x" for --treewidth.\n', "srun", "--treewidth=x", "true")

    def test_hints(self):
        one = ("-w", "n1", "-n1")
        for hint, mask in (("compute_bound", "0x03"), ("memory_bound", "0x03"), ("multithread", "0x01"), ("nomultithread", "0x01"),
                           ("compute_bound,nomultithread", "0x03")):
            self.assertEqual(self.masks(*one, f"--hint={hint}"), [mask], hint)
            self.wait_no_jobs()
            self.assertEqual(self.out("srun", *one, "sh", "-c", "echo $SLURM_CPU_BIND_LIST", env={"SLURM_HINT": hint}).strip(), mask)
        self.assertEqual(self.masks(*one, "--hint=compute_bound", "--cpu-bind=threads"), ["0x01"])
        self.fails(1, 'srun: error: unrecognized --hint argument "fast", see --hint=help\n', "srun", "--hint=fast", "true")
        self.fails(1, 'srun: error: unrecognized --hint argument "fast", see --hint=help\n', "srun", "--hint=multithread,fast", "true")

    def test_help_on_values(self):
        """It is shown, and nothing is run: for all but a few options Slurm has that for a failure."""
        for command, option, status in (("srun", "--hint=help", 1), ("salloc", "--hint=help", 1), ("srun", "--cpu-bind=help", 1),
                                        ("srun", "--cpu-bind=v,help", 1), ("srun", "--mem-bind=help", 255), ("srun", "--gres=help", 0)):
            done = self.run_cmd(command, option, "echo", "ran", check=False)
            self.assertEqual((done.returncode, done.stderr), (status, ""), option)
            self.assertIn(" options", done.stdout.splitlines()[0])
            self.assertNotIn("ran\n", done.stdout)

    def test_label_of_messages(self):  # of the first task on the node that says it
        fails = ("-w", "n1,n2", "-N2", "-n2", "-K", "-l", "sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 3; exec sleep 1000")
        done = self.run_cmd("srun", *fails, check=False)
        self.assertRegex(done.stderr, r"(?m)^0: slurmstepd: error: \*\*\* STEP \d+\.0 ON n1 CANCELLED AT \S+ \*\*\*$")
        self.run_cmd("srun", "-e", "label.%t", *fails, check=False)
        wait_for(lambda: self.file("label.0"), "the node has written it")
        self.assertRegex(self.file("label.0"), r"^0: slurmstepd: error: \*\*\* STEP \d+\.0 ON n1 CANCELLED AT \S+ \*\*\*\n$")

    def test_hints_of_jobs(self):  # the sruns in them follow
        show = "srun -n1 sh -c 'echo $SLURM_HINT $SLURM_THREADS_PER_CORE $SLURM_CPU_BIND_LIST'"
        for hint, said in (("compute_bound", "compute_bound 1 0x03"), ("nomultithread", "nomultithread 1 0x01")):
            self.assertEqual(self.in_job(f"-w n1 -n1 --hint={hint}", show).strip(), said)
            self.wait_no_jobs()
            job = self.submit("-w", "n1", "-n1", f"--hint={hint}", "-o", f"{hint}.out", "--wrap", show)
            self.wait_ended(job)
            self.assertEqual(self.file(f"{hint}.out").strip(), said)

    POLICY = """import ctypes, os
mode, nodes = ctypes.c_int(), ctypes.c_ulong()
ctypes.CDLL(None).syscall(239, ctypes.byref(mode), ctypes.byref(nodes), 65, None, 0)
print(mode.value, nodes.value, *(os.environ.get("SLURM_MEM_BIND" + name, "-") or "-" for name in ("", "_LIST", "_TYPE", "_PREFER", "_SORT", "_VERBOSE")))"""

    def test_memory_binding(self):  # as the kernel has it: 0 default, 1 preferred, 2 bound
        for bind, expected in (("local", "2 1 quiet,local - local - - quiet"), ("none", "0 0 quiet,none - none - - quiet"),
                               ("rank", "2 1 quiet,rank - rank - - quiet"), ("map_mem:0", "2 1 quiet,map_mem:0 0 map_mem: - - quiet"),
                               ("map_mem:0,0,prefer", "1 1 quiet,prefer,map_mem:0,0 0,0 map_mem: prefer - quiet"),
                               ("mask_mem:0x1,sort", "2 1 quiet,mask_mem:1 1 mask_mem: - sort quiet")):
            self.assertEqual(self.out("srun", "-n1", f"--mem-bind={bind}", "python3", "-c", self.POLICY).strip(), expected)
        self.assertEqual(self.out("srun", "-n1", "python3", "-c", self.POLICY).strip(), "0 0 - - - - - -")
        said = self.run_cmd("srun", "-w", "n1", "-n1", "--mem-bind=v,local", "true").stderr
        self.assertRegex(said, r"^mem-bind=LOC - n1, task  0  0 \[\d+\]: mask 0x1 set\n$")
        said = self.run_cmd("srun", "-w", "n1", "-n1", "true", env={"SLURM_MEM_BIND": "verbose,none"}).stderr
        all_of_host = (1 << len(glob.glob("/sys/devices/system/node/node[0-9]*"))) - 1
        self.assertRegex(said, rf"^mem-bind=NONE - n1, task  0  0 \[\d+\]: mask 0x{all_of_host:X}\n$")
        done = self.run_cmd("srun", "-w", "n1", "-n1", "--mem-bind=map_mem:63", "true", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("slurmstepd: error: NUMA node 63 does not exist; cannot bind local task 0 to it (--mem-bind=map_mem)\n"
                      "slurmstepd: error: Failed to invoke task plugins: task_p_pre_launch error\n", done.stderr)
        self.fails(255, 'srun: error: unrecognized --mem-bind argument "some"\n', "srun", "--mem-bind=some", "true")

    def test_memory_binding_of_jobs(self):
        show = "env | grep MEM_BIND | sort"
        for bind, said in (("v,local", "SLURM_MEM_BIND=verbose,local\nSLURM_MEM_BIND_VERBOSE=verbose\n"),
                           ("map_mem:0,0", "SLURM_MEM_BIND=map_mem:0,0\nSLURM_MEM_BIND_VERBOSE=quiet\n"),
                           ("mask_mem:0x1,prefer,sort", "SLURM_MEM_BIND=prefer,sort,mask_mem:1\n"
                                                        "SLURM_MEM_BIND_SORT=sort\nSLURM_MEM_BIND_VERBOSE=quiet\n")):
            self.assertEqual(self.in_job(f"-n1 --mem-bind={bind}", show), said)
        job = self.submit("-n1", "--mem-bind=local", "-o", "bind.out", "--wrap", f"srun python3 -c '{self.POLICY}'")
        self.wait_ended(job)
        self.assertEqual(self.file("bind.out").strip(), "2 1 quiet,local - local - - quiet")
        self.wait_ended(self.submit("-n1", "--mem-bind=v,map_mem:0", "-o", "batch.out", "--wrap", "env | grep SBATCH_MEM_BIND | sort"))
        self.assertEqual(self.file("batch.out"), "SBATCH_MEM_BIND=verbose,map_mem:0\nSBATCH_MEM_BIND_LIST=0\n"
                         "SBATCH_MEM_BIND_TYPE=map_mem:\nSBATCH_MEM_BIND_VERBOSE=verbose\n")

    def test_ignored_signals(self):
        code = "trap 'echo got it' USR1; echo ready; while sleep 0.05; do :; done"
        with self.cluster.start("srun", "-n1", "--ignore-signals=USR1,SIGUSR2", "sh", "-c", code, stdout=-1, stderr=-1) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            for number in (signal.SIGUSR1, signal.SIGUSR2):
                run.send_signal(number)
            run.send_signal(signal.SIGTERM)
            self.assertNotIn("got it", run.communicate()[0])
        self.fails(255, "srun: error: Invalid --ignore-signals specification\n", "srun", "--ignore-signals=some", "true")

    def test_distribution_over_sockets(self):
        for order, expected in (("block:block", ["0x01", "0x02", "0x04"]), ("block:cyclic", ["0x01", "0x10", "0x02"])):
            self.assertEqual(self.masks("-w", "n1", "-n3", "--mincpus=8", "--cpu-bind=threads", "-m", order), expected)
        self.assertEqual(self.masks("-w", "n1", "-n2", "-c4", "--cpu-bind=threads", "-m", "*:fcyclic"),
                         ["0x33", "0xCC"])

    def test_distribution_over_nodes(self):
        tasks = 'echo $SLURM_PROCID:$SLURMD_NODENAME'
        numbered = 'echo $SLURM_PROCID:$SLURM_NODEID:$SLURM_TASKS_PER_NODE'
        for order, expected in (("block", "n1 n1 n2 n2"), ("cyclic", "n1 n2 n1 n2"), ("plane=2", "n1 n1 n2 n2")):
            lines = sorted(self.out("srun", "-w", "n[1-2]", "-n4", "-m", order, "sh", "-c", tasks).split())
            self.assertEqual([l.split(":")[1] for l in lines], expected.split(), order)
        out = self.out("srun", "-n3", "-N2", "-m", "arbitrary", "-w", "n2,n1,n2", "sh", "-c", tasks)
        self.assertEqual(sorted(out.split()), ["0:n2", "1:n1", "2:n2"])
        out = self.out("srun", "-n3", "-N2", "-m", "arbitrary", "-w", "n2,n1,n2", "sh", "-c", numbered)
        self.assertEqual(sorted(out.split()), ["0:1:1,2", "1:0:1,2", "2:1:1,2"])  # nodes in the job's order
        tell = ("printenv", "SLURM_ARBITRARY_NODELIST")
        self.assertEqual(self.out("srun", "-n3", "-N2", "-m", "arbitrary", "-w", "n2,n1,n2", *tell), "n2,n1,n2\n" * 3)
        self.assertEqual(self.run_cmd("srun", "-w", "n1", *tell, check=False).stdout, "")

    def test_steps_of_a_job(self):
        """What a step takes of its job, and on which nodes."""
        meet = "touch {0}; while [ ! -e {1} ]; do sleep 0.05; done; echo met"
        for option, files in (("--exact -n2", "ab"), ("--overlap -n4", "cd"), ("--exclusive -n2", "ef")):
            a, b = files
            out = self.in_job("-w n3 -n4", f"srun {option} sh -c '{meet.format(a, b)}' & srun {option} sh -c "
                              f"'{meet.format(b, a)}'; wait", limit_s=30)
            self.assertEqual(set(out.split()), {"met"}, option)
        cpus = "sh -c 'echo $SLURM_CPUS_ON_NODE $SLURMD_NODENAME'"
        # a step goes where there is room: the one before has to be gone for the controller, too
        gone = 'until [ -z "$(squeue -hs -j $SLURM_JOB_ID)" ]; do sleep 0.05; done'
        steps = [f"srun {options} {cpus}" for options in
                 ("-n1 --exact", "-n1 -c1 --whole", "-n1 -r1", "-n1 -w n4", "-n1 -x n3")]
        out = self.in_job("-w n[3-4] -n8", f"; {gone}; ".join(steps))
        self.assertEqual(out.split("\n"), ["1 n3", "4 n3", "4 n4", "4 n4", "4 n4", ""])

    def test_steps_that_do_not_fit(self):
        def said(options):
            return self.run_cmd("salloc", "-Q", "-w", "n[1-2]", "-n4", "srun", *options.split(), "echo", "ran", check=False)
        for options, errors in (("--gres=gpu:1", ["Invalid generic resource (gres) specification"]),
                                ("-r1 -N2", ["--relative and --nodes option incompatible with count of allocated nodes (1+2>2)"]),
                                ("-x n1", ["Only allocated 1 nodes asked for 2", "Are required nodes explicitly excluded?"])):
            done = said(options)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, "", "".join(f"srun: error: {e}\n" for e in errors)))
        done = said("-b now+1hour")
        self.assertEqual((done.stdout, done.stderr),
                         ("ran\n" * 4, "srun: error: --begin is ignored because nodes are already allocated.\n"))
        done = said("--ntasks-per-node=1")
        self.assertEqual(done.stdout, "ran\n" * 4)
        self.assertIn("srun: Warning: can't honor --ntasks-per-node set to 1 which", done.stderr)

    def test_environment(self):
        def found(*options):
            out = self.out("srun", *options, "/usr/bin/env", env=dict(ONE="1", TWO="2", SLURM_NTASKS="9"))
            return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        self.assertEqual(found("-n1")["ONE"], "1")
        self.assertNotIn("ONE", found("-n1", "--export=NONE"))
        nil = self.out("srun", "-n1", "--export=NIL", "/usr/bin/env", env=dict(ONE="1", SLURM_OWN="kept"))
        self.assertIn("SLURM_OWN=kept\n", nil)
        self.assertNotIn("ONE=", nil)
        for variables in ({"SLURM_EXPORT_ENV": ""}, {"SRUN_EXPORT_ENV": ""}):  # no name at all, so nothing
            nothing = self.out("srun", "-n1", "/usr/bin/env", env=dict(ONE="1", SLURM_OWN="kept", **variables))
            self.assertIn("SLURM_OWN=kept\n", nothing)
            self.assertNotIn("ONE=", nothing)
        self.assertNotIn("ONE=", self.out("srun", "-n1", "--export=", "/usr/bin/env", env=dict(ONE="1")))
        some = found("-n1", "--export=ONE,THREE=3")
        self.assertEqual([some.get(k) for k in ("ONE", "TWO", "THREE")], ["1", None, "3"])
        self.assertEqual(found("-n1")["SLURM_NTASKS"], "1")
        out = self.out("srun", "-n1", "-E", "env", env=dict(SLURM_NTASKS="9"))
        self.assertEqual(out.count("SLURM_NTASKS=9\n"), 1)  # still one task
        limit = "ulimit -n 321; srun {} sh -c 'ulimit -n'"
        self.assertEqual(self.out("/bin/sh", "-c", limit.format("--propagate=NOFILE")), "321\n")
        self.assertNotEqual(self.out("/bin/sh", "-c", limit.format("")), "321\n")

    def test_programs_without_a_path(self):  # one of the folder is found, and what is named with its path
        os.symlink("/usr/bin/env", os.path.join(self.cluster.work, "show"))
        for option in ("--export=NONE", "--export=NIL", "--export=ONE", "--export=ONE=1"):
            done = self.run_cmd("srun", "-n1", option, "env", check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), option)
            self.assertIn("slurmstepd: error: execve(): env: No such file or directory\n", done.stderr)
            for program in ("/usr/bin/env", "./show", "show"):
                self.assertIn("SLURM_PROCID=0\n", self.out("srun", "-n1", option, program), option)
        self.assertIn("SLURM_PROCID=0\n", self.out("srun", "-n1", "--export=PATH", "env"))
        # in a script it is so, too: the srun there exports what sbatch was told to
        self.wait_ended(self.submit("-o", "inner.out", "--export=NONE", "--wrap", f"env; {self.cluster.program('srun')} -n1 env"))
        told = self.file("inner.out")
        self.assertIn("SLURM_EXPORT_ENV=NONE\n", told)
        self.assertIn("slurmstepd: error: execve(): env: No such file or directory\n", told)

    def test_temporary_folder(self):  # tasks find it made; not more than one folder deep, as Slurm has it
        folder = os.path.join(self.cluster.work, "own-tmp")
        show = ("-n1", "sh", "-c", "echo $TMPDIR; stat -c %a $TMPDIR")
        self.assertEqual(self.out("srun", *show, env=dict(TMPDIR=folder)), f"{folder}\n700\n")
        done = self.run_cmd("srun", *show, env=dict(TMPDIR=folder + "/a/b"))
        self.assertTrue(done.stdout.startswith("/tmp\n"), done.stdout)
        self.assertIn(f"error: Unable to create TMPDIR [{folder}/a/b]: No such file or directory\n", done.stderr)
        self.assertIn("error: Setting TMPDIR to /tmp\n", done.stderr)

    def test_output(self):
        for name in ("kept", "kept-0", "lost", "lost-0"):
            with open(os.path.join(self.cluster.work, name), "w", encoding="utf-8") as f:
                f.write("old\n")
        for name in ("kept", "kept-%t"):
            self.run_cmd("srun", "-o", name, "echo", "new")
        for name in ("lost", "lost-%t"):
            self.run_cmd("srun", "-o", name, "--open-mode=truncate", "echo", "new")
        self.assertEqual([self.file(f) for f in ("kept", "kept-0", "lost", "lost-0")], ["old\nnew\n"] * 2 + ["new\n"] * 2)
        srun = self.cluster.start("srun", "-u", "-n2", "sh", "-c",
                                  "printf part; while [ ! -e out-go ]; do sleep 0.05; done; echo", stdout=-1)
        self.assertEqual(srun.stdout.read(8), "partpart")  # before any line was complete
        open(os.path.join(self.cluster.work, "out-go"), "w").close()
        srun.communicate(timeout=30)

    def in_work(self, name):
        return os.path.join(self.cluster.work, name)

    def shell_program(self, name, text):
        path = self.in_work(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
        return path

    def test_programs_around_it(self):
        for name, text in (("before", "echo before $* >> around"), ("after", "echo after $* >> around"),
                           ("task-before", "echo export FROM_PROLOG=yes; echo print said"),
                           ("task-after", "echo task-after $SLURM_PROCID >> task-around")):
            self.shell_program(name, text)
        work = self.cluster.work
        out = self.out("srun", f"--prolog={work}/before", f"--epilog={work}/after", f"--task-prolog={work}/task-before",
                       f"--task-epilog={work}/task-after", "sh", "-c", "echo task $FROM_PROLOG >> around")
        self.assertEqual(out, "said\n")
        self.assertEqual([l.split()[0] for l in self.file("around").splitlines()], ["before", "task", "after"])
        self.assertIn("task yes\n", self.file("around"))
        wait_for(lambda: self.file("task-around") == "task-after 0\n", "the task's epilog ran")
        done = self.run_cmd("srun", "-n1", "--epilog=/bin/false", "true")
        self.assertEqual(done.stderr, "srun: error: srun epilog failed status=1\n")
        done = self.run_cmd("srun", "-n1", "--prolog=/nosuch", "--epilog=/nosuch", "echo", "ran")
        said = "srun: Access denied for /nosuch: No such file or directory\n"
        self.assertEqual((done.stdout, done.stderr), ("ran\n", 2 * said))

    def test_no_task_begins_when_the_prolog_fails(self):
        prolog = self.shell_program("refuses", "echo $SLURM_JOB_ID.$SLURM_STEP_ID > refused; exit 3")
        done = self.run_cmd("srun", "-N2", "-n2", f"--prolog={prolog}", "touch", "began", check=False)
        step = self.file("refused").strip()
        said = done.stderr.splitlines()
        self.assertEqual(said[:3], ["srun: error: srun prolog failed rc = 3. Aborting step.",
                                    f"srun: launch/slurm: launch_p_step_launch: StepId={step} aborted before step completely launched.",
                                    "srun: Job step aborted: Waiting up to 3 seconds for job step to finish."])
        self.assertTrue(step.endswith(".0"), step)
        self.assertNotEqual(done.returncode, 0)
        self.wait_state(step[:-2], "FAILED")
        self.assertFalse(os.path.exists(self.in_work("began")))

    def waiting_prolog(self):
        """An srun whose prolog waits for a file, and its step."""
        prolog = self.shell_program("waits", "echo $SLURM_JOB_ID.$SLURM_STEP_ID > waiting.new; mv waiting.new waiting\n"
                                             "while [ ! -e prolog-go ]; do sleep 0.05; done")
        for name in ("waiting", "prolog-go", "began"):
            if os.path.exists(self.in_work(name)):
                os.remove(self.in_work(name))
        srun = self.cluster.start("srun", "-N2", "-n3", f"--prolog={prolog}", "sh", "-c", "echo $SLURM_PROCID >> began", stdout=-1, stderr=-1)
        wait_for(lambda: os.path.exists(self.in_work("waiting")), "the prolog runs")
        return srun, self.file("waiting").strip()

    def let_prolog_end(self):
        open(self.in_work("prolog-go"), "w", encoding="utf-8").close()

    def test_tasks_wait_for_the_prolog(self):
        srun, step = self.waiting_prolog()
        self.assertEqual(self.out("squeue", "-h", "-s", "-o", "%i"), f"{step}\n")
        self.assertFalse(os.path.exists(self.in_work("began")))
        self.let_prolog_end()
        srun.communicate(timeout=60)
        self.assertEqual((srun.returncode, sorted(self.file("began").split())), (0, ["0", "1", "2"]))

    def test_what_is_cancelled_behind_its_prolog_never_begins(self):
        for signal_option in ([], ["-s", "KILL"]):
            srun, step = self.waiting_prolog()
            self.run_cmd("scancel", *signal_option, step)
            wait_for(lambda: step not in self.out("squeue", "-h", "-s", "-o", "%i").split(), "the step is over")
            self.let_prolog_end()
            self.assertIn("tasks 0-1: Killed", srun.communicate(timeout=60)[1])
            self.assertEqual(srun.returncode, 137)
            self.assertFalse(os.path.exists(self.in_work("began")))

    def test_an_srun_that_is_killed_in_its_prolog_leaves_nothing(self):
        srun, step = self.waiting_prolog()
        srun.kill()
        srun.wait()
        self.wait_ended(step.split(".")[0])
        self.let_prolog_end()
        srun.communicate(timeout=60)  # the program had its streams
        self.assertFalse(os.path.exists(self.in_work("began")))

    def test_task_programs_that_fail(self):
        path = self.shell_program("failing", "echo lost\necho why >&2\nexit 3")
        done = self.run_cmd("srun", "-wn1", f"--task-prolog={path}", "echo", "ran", check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("slurmstepd: error: --task-prolog failed status=3\n", done.stderr)
        self.assertIn("srun: error: n1: task 0: Exited with exit code 3\n", done.stderr)
        done = self.run_cmd("srun", "--task-prolog=/nosuch", "echo", "ran", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("user task_prolog can not be executed (/nosuch) No such file or directory\n", done.stderr)
        done = self.run_cmd("srun", "-l", f"--task-epilog={path}", "echo", "ran")
        self.assertEqual((done.stdout, sorted(done.stderr.splitlines())),
                         ("0: ran\n", ["0: slurmstepd: error: TaskEpilog failed status=768", "0: why"]))
        done = self.run_cmd("srun", "--task-epilog=/nosuch", "true")
        self.assertEqual(done.stderr, "slurmstepd: error: Could not run user task_epilog [/nosuch]: access denied\n"
                         "slurmstepd: error: TaskEpilog failed status=-1\n")

    def test_signals(self):
        def start(*options):
            srun = self.cluster.start("srun", *options, "sh", "-c", "trap 'echo got; exit 3' USR1 INT; echo up; "
                                      "while :; do sleep 0.1; done", stdout=-1, stderr=-1)
            self.assertEqual(srun.stdout.readline(), "up\n")
            return srun
        srun = start("-X")
        srun.send_signal(signal.SIGINT)
        out, err = srun.communicate(timeout=30)
        self.assertEqual((out, srun.returncode), ("got\n", 3), err)
        self.assertNotIn("one more within", err)
        srun = start("--quit-on-interrupt")
        srun.send_signal(signal.SIGINT)
        out, err = srun.communicate(timeout=30)
        self.assertNotIn("one more within", err)
        self.assertNotEqual(srun.returncode, 0)
        srun = start("--signal=USR1@60", "-t2", "-J", "warned")
        job = self.out("squeue", "-h", "-n", "warned", "-o", "%i").strip()
        self.run_cmd("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        out, err = srun.communicate(timeout=30)
        self.assertEqual((out, srun.returncode), ("got\n", 3), err)

    def test_programs_for_a_debugger(self):
        """--debugger-test said nothing, then tasks ran on: a debugger is to find them stopped in their programs."""
        srun = self.cluster.start("srun", "-w", "n1", "-n2", "--debugger-test", "sleep", "0", stderr=subprocess.PIPE)
        pids = []
        for task in range(2):
            told = re.fullmatch(rf"srun: task:{task}, host:n1, pid:(\d+), executable:sleep\n", srun.stderr.readline())
            pids.append(int(told[1]))
        for pid in pids:
            stat = pathlib.Path(f"/proc/{pid}/stat")
            wait_for(lambda: stat.read_text().split()[1:3] == ["(sleep)", "T"], "it is stopped in its program")
            self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{pid}/status").read_text())
            os.kill(pid, signal.SIGCONT)
        out, err = srun.communicate(timeout=30)
        self.assertEqual((srun.returncode, err), (0, ""))
        srun = self.cluster.start("srun", "-w", "n1", "--debugger-test", "sleep", "1000", stderr=subprocess.PIPE)
        self.assertIn("executable:sleep", srun.stderr.readline())
        srun.terminate()
        self.assertIn("n1: task 0: Killed", srun.communicate(timeout=30)[1])

    def test_what_is_said(self):
        done = self.run_cmd("srun", "--begin=now+3", "true")
        self.assertIn("queued and waiting for resources", done.stderr)
        done = self.run_cmd("srun", "-Q", "--begin=now+1", "true")
        self.assertEqual(done.stderr, "")
        done = self.run_cmd("srun", "-v", "-w", "n3", "true")
        self.assertRegex(done.stderr, r"srun: defined options\n(.*\n)*srun: nodelist            : n3\n")
        self.assertRegex(done.stderr, r"srun: jobid \d+: nodes\(1\):`n3', cpu counts: 1\(x1\)\n")
        done = self.run_cmd("srun", "-w", "n1", "-n2", "--mincpus=8", "--cpu-bind=verbose,rank", "true")
        self.assertRegex(done.stderr, r"cpu-bind=RANK - n1, task  1  1 \[\d+\]: mask 0x2 set\n")

    def test_mpi(self):
        self.assertEqual(self.out("srun", "--mpi=list"), LIST)
        self.assertEqual(self.out("srun", "true", env={"SLURM_MPI_TYPE": "list"}), LIST)
        for how in (("--mpi=pmj",), ()):
            done = self.run_cmd("srun", *how, "true", env={"SLURM_MPI_TYPE": "pmj"}, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, "".join(f"srun: error: {line}\n" for line in (
                "Couldn't find the specified plugin name for mpi/pmj looking at all files",
                "cannot find mpi plugin for mpi/pmj", "MPI: Cannot create context for mpi/pmj",
                "MPI: Unable to load any plugin", "Invalid MPI type 'pmj', --mpi=list for acceptable types")))

    def test_message_timeout(self):  # --msg-timeout, where MessageTimeout is ten seconds
        controller = self.cluster.controller_pid()
        os.kill(controller, signal.SIGSTOP)
        self.addCleanup(os.kill, controller, signal.SIGCONT)
        began = time.monotonic()
        self.fails(1, "allocation failure: Socket timed out on send/recv operation\n", "srun", "--test-only", "--msg-timeout=1", "true")
        self.assertLess(time.monotonic() - began, 8)

    def failing_step(self, *options):
        """A step on two nodes whose second part has lost its daemon, and its node is down; the job and its srun."""
        name = f"failing{len(options)}"
        script = f"test $SLURMD_NODENAME = n4 && touch {name}.up && exec sleep 100; while [ ! -e {name} ]; do sleep 0.05; done; echo alive"
        srun = self.cluster.start("srun", "-w", "n[3-4]", *options, "-J", name, "sh", "-c", script, stdout=-1, stderr=-1)
        daemons = wait_for(lambda: pids_with(self.cluster.dir + "/spool/n4", "slurmstepd"), "the step is on n4")
        job = self.out("squeue", "-h", "-n", name, "-o", "%i").strip()
        wait_for(lambda: os.path.exists(os.path.join(self.cluster.work, name + ".up")), "its task runs")
        self.run_cmd("scontrol", "update", "NodeName=n4", "State=DOWN", "Reason=test")
        for pid in daemons:  # the node may have been faster with the orders that its state brings
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return name, job, srun

    def test_node_failure(self):
        """With -k a job and its step go on without a node that went down."""
        name, job, srun = self.failing_step("-k")
        self.assertEqual(self.state(job), "RUNNING")
        open(os.path.join(self.cluster.work, name), "w").close()
        self.assertEqual(srun.communicate(timeout=30)[0], "alive\n")
        self.run_cmd("scontrol", "update", "NodeName=n4", "State=RESUME")
        name, job, srun = self.failing_step()
        self.wait_state(job, "NODE_FAIL")
        self.assertEqual(srun.communicate(timeout=30)[0], "")
        self.assertIn(srun.returncode, (137, 143))  # the worst of what its tasks ended with
        self.run_cmd("scontrol", "update", "NodeName=n4", "State=RESUME")


class ExclusiveAllocation(ClusterCase):
    """LaunchParameters=srun_exclusive_allocation: --exclusive of an srun that makes a job is about its nodes, not about its step."""
    NODES, CPUS = 1, 4

    def test_exclusive(self):
        cpus = ("-n1", "--exclusive", "sh", "-c", "echo $SLURM_CPUS_ON_NODE")
        seen = lambda: (self.out("srun", *cpus), self.out("salloc", "-Q", "-n4", "srun", *cpus))
        self.assertEqual(seen(), ("1\n", "1\n"))
        self.cluster.change_conf(lambda conf: conf.replace("LaunchParameters=", "LaunchParameters=srun_exclusive_allocation,"))
        self.assertEqual(seen(), ("4\n", "1\n"))


if __name__ == "__main__":
    unittest.main()
