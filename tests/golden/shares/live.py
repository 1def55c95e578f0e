#!/usr/bin/env python3
"""Shares and priorities after the same jobs on a real Slurm 22.05 and here: what is configured, who runs what, and the answers.

    live.py record FILE...     a real Slurm runs them, and its answers go into the files (needs root and what reference.py does)

A file is as tests/golden/priority/replay.py reads it; its commands run in one shell. `run USER ACCOUNT CPUS [OPTION...]` submits a job
of SECONDS, `sub NAME OPTION...` one that waits, whose id is shown as J and its name; `settled AMOUNT` waits until the root's usage is
so large, and a PriorityCalcPeriod longer. Of numbers that hang on clocks one in TOLERANCE is not looked at: usage decays meanwhile, and jobs end a second later.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "priority"))
from replay import File  # noqa: E402

NODES, CPUS, MEMORY, SECONDS = 2, 32, 1000000, 30
TOLERANCE = 10
CONF = """FirstJobId=20001
PriorityType=priority/multifactor
PriorityDecayHalfLife=00:30:00
PriorityCalcPeriod=1
PriorityWeightFairshare=100000
PriorityWeightQOS=1000
PriorityWeightAssoc=500
PriorityWeightJobSize=1000
PriorityWeightPartition=100
AccountingStorageEnforce=associations,limits,qos
"""
SHELL = r"""
add() { sacctmgr -i add "$@" >/dev/null; }
run() {
    user=$1; account=$2; cpus=$3; shift 3
    sbatch --parsable --uid="$user" -A "$account" -n "$cpus" -o /dev/null "$@" --wrap "sleep SECONDS" >/dev/null
}
sub() {
    name=$1; shift
    id=$(sbatch --parsable -J "$name" -o /dev/null "$@" --wrap true)
    [ -n "$id" ] && echo "$name $id" >&3
}
settled() {
    for i in $(seq 300); do
        usage=$(sshare -hP -A root -o RawUsage | head -1)
        [ -z "$(squeue -h)" ] && [ "${usage:-0}" -ge "$1" ] && sleep 61 && return  # all of it is in the factors
        sleep 0.5
    done
    echo "usage is $usage"
}
known() {
    for i in $(seq 100); do sshare -ahP -o User | grep -q "$1" && return; sleep 0.2; done
    echo "$1 is not known"
}
"""


def answers(cases, env, cwd, shell=SHELL):
    mark, script = "=====next=====", shell.replace("SECONDS", str(SECONDS))
    for case in cases:
        script += f"{case.command}\nstatus=$?; [ $status = 0 ] || echo \"# exit $status\"; echo {mark}\n"
    with tempfile.NamedTemporaryFile("r") as ids:
        done = subprocess.run(["sh", "-c", f"exec 2>&1 3>{ids.name}\n" + script], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              timeout=1500, check=False)
        text = done.stdout.decode(errors="replace")
        for name, job in (line.split() for line in ids):
            text = re.sub(rf"(?<!\d){job}(?!\d)", f"J{name:_<4}", text)
    return [part.splitlines() for part in text.split(mark + "\n")[:len(cases)]]


def is_like(line, recorded):
    """Whether two lines differ in numbers alone, each by less than one in TOLERANCE."""
    parts, wanted = re.split(r"([ |]+)", line), re.split(r"([ |]+)", recorded)
    if len(parts) != len(wanted):
        return False
    for one, other in zip(parts, wanted):
        if one == other or not (one.strip(" |") or other.strip(" |")):
            continue
        try:
            a, b = float(one), float(other)
        except ValueError:
            return False
        if abs(a - b) > max(abs(a), abs(b)) / TOLERANCE:
            return False
    return True


def settle(answer, recorded):
    """The recorded lines in place of those that are like them."""
    if len(answer) != len(recorded):
        return answer
    return [theirs if is_like(line, theirs) else line for line, theirs in zip(answer, recorded)]


def compare(file, answers):
    """Puts our answers into the file, and with UPDATE_GOLDEN in the environment writes it."""
    for case, answer in zip(file.cases, answers):
        if case.theirs is not None and settle(answer, case.theirs) == case.theirs:
            case.theirs, case.answer = None, case.theirs
        answer = settle(answer, case.answer)
        if os.environ.get("UPDATE_GOLDEN") and case.theirs is None and answer != case.answer:
            case.theirs, case.why = case.answer, "?"
        case.answer = answer
    if os.environ.get("UPDATE_GOLDEN"):
        file.path.write_text(file.text())


def record(path, conf=CONF, shell=SHELL):
    sys.path.insert(0, str(HERE.parents[1] / "system"))
    import reference
    file = File(path)
    with reference.SlurmDbd() as dbd:
        folder = tempfile.mkdtemp(prefix="shares-")
        os.chmod(folder, 0o755)
        slurm = reference.Peer(folder, NODES, CPUS, extra=dbd.lines() + conf + "".join(line + "\n" for line in file.conf))
        env = dict(os.environ, SLURM_CONF=slurm.conf, LC_ALL="C", PATH="/usr/bin:/bin:/usr/sbin")
        subprocess.run(["sacctmgr", "-i", "add", "cluster", "peer"], env=dict(env, SLURM_CONF=dbd.conf), check=True, stdout=subprocess.DEVNULL)
        slurm.start()
        try:
            for case, answer in zip(file.cases, answers(file.cases, env, "/tmp", shell)):
                if case.theirs is not None:
                    case.theirs = answer
                else:
                    case.answer = answer
        finally:
            slurm.stop()
    file.path.write_text(file.text())


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "record":
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        record(name)
