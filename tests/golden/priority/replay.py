#!/usr/bin/env python3
"""Priorities of waiting jobs, recorded from a real Slurm 22.05: what is configured, who submits what, and the answers.

    | PriorityWeightJobSize=1000
    $ sub a -n8 -N1
    $ sprio -h -S -Y -o '%r %Y'
    debug 312

Lines with `| ` are for slurm.conf, beside those of CONF. Commands of a file run in one shell; `sub NAME OPTION...` submits a
job of this name, whose id is in the variable NAME from then on. No job starts: nodes do not answer there, and drain here.
Both outputs stand as they are, ids of jobs as J and the name in as many letters; `# exit N` where a command fails. `# differs: …` behind a command tells why ours answers
otherwise, as it does below it; the answer of the real one stands before, with `~ ` before each line.

    replay.py record FILE...    writes the answers of the Slurm of SLURM_CONF into the files (`~` lines where we differ)
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

CONF = """FirstJobId=20001
PriorityType=priority/multifactor
PriorityMaxAge=1-0
GresTypes=fpga
Licenses=mat:10
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
"""
NODES = {"CPUs": 8, "RealMemory": 10000, "Gres": "fpga:4"}  # of n1 to n4
PARTITIONS = """PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityJobFactor=10
PartitionName=half Nodes=n[1-2] MaxTime=INFINITE State=UP PriorityJobFactor=5
PartitionName=zero Nodes=ALL MaxTime=60 State=UP PriorityJobFactor=0
"""
SHELL = r"""
sub() {
    name=$1; shift
    id=$(sbatch --parsable -J "$name" -o /dev/null "$@" --wrap true)
    [ $? = 141 ] && id=$(sbatch --parsable -J "$name" -o /dev/null "$@" --wrap true)  # as the real one at times dies
    [ -n "$id" ] && eval "$name=$id" && echo "$name $id" >&3
}
"""


class Case:
    """A command with its answer, and the real Slurm's where that is another."""

    def __init__(self, command):
        self.command, self.answer, self.theirs, self.why = command, [], None, ""

    def lines(self):
        out = ["$ " + self.command]
        if self.theirs is not None:
            out += ["~ " + line for line in self.theirs] + [f"# differs: {self.why}"]
        return out + self.answer


class File:
    def __init__(self, path):
        self.path, self.head, self.conf, self.cases = pathlib.Path(path), [], [], []
        for line in self.path.read_text().splitlines():
            if line.startswith("| "):
                self.conf.append(line[2:])
            elif line.startswith("$ "):
                self.cases.append(Case(line[2:]))
            elif not self.cases:
                self.head.append(line)
            elif line.startswith("# differs: "):
                case = self.cases[-1]
                case.why, case.theirs, case.answer = line[11:], [one[2:] for one in case.answer], []
            else:
                self.cases[-1].answer.append(line)

    def text(self):
        lines = self.head + ["| " + line for line in self.conf]
        for case in self.cases:
            lines += case.lines()
        return "\n".join(lines) + "\n"


def answers(cases, env, cwd, pause=0):
    """What the commands print, one list of lines a command. `pause`: seconds after the last of several submissions, since the
    real Slurm knows the priority of an array only a moment later."""
    mark, script, submitted = "=====next=====", SHELL, False
    for case in cases:
        submits = case.command.startswith("sub ")
        script += f"sleep {pause}\n" if submitted and not submits else ""
        script += f"{case.command}\nstatus=$?; [ $status = 0 ] || echo \"# exit $status\"; echo {mark}\n"
        submitted = submits
    with tempfile.NamedTemporaryFile("r") as ids:
        done = subprocess.run(["sh", "-c", f"exec 2>&1 3>{ids.name}\n" + script], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=300, check=False)
        text = done.stdout.decode(errors="replace")
        for name, job in (line.split() for line in ids):
            text = re.sub(rf"(?<!\d){job}(?!\d)", f"J{name:_<4}", text)
    return [part.splitlines() for part in text.split(mark + "\n")[:len(cases)]]


def record(path):
    file = File(path)
    conf = pathlib.Path(os.environ["SLURM_CONF"])
    text = re.sub(r"# of the case\n.*# end of the case\n", "", conf.read_text(), flags=re.S)
    conf.write_text(text + "# of the case\n" + "".join(line + "\n" for line in file.conf) + "# end of the case\n")
    subprocess.run(["scontrol", "reconfigure"], check=True)
    time.sleep(1)
    for case, answer in zip(file.cases, answers(file.cases, dict(os.environ, LC_ALL="C"), "/tmp", 5)):
        if case.theirs is not None:
            case.theirs = answer
        else:
            case.answer = answer
    file.path.write_text(file.text())
    subprocess.run("squeue -h -o %A | xargs -r scancel", shell=True, check=True)
    time.sleep(1)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "record":
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        record(name)
