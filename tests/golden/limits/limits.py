#!/usr/bin/env python3
"""Each limit of associations and QOS on a real Slurm 22.05 and here: why a job waits, or what refuses it.

    limits.py record FILE...     a real Slurm is asked, and its answers go into the files (needs root and what reference.py does)

`try ENTITY LIMIT [OPTION...]` sets a limit of an entity, submits a job, tells its reason, and takes both away again.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "shares"))
import live  # noqa: E402

CONF = """FirstJobId=20001
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
AccountingStorageEnforce=associations,limits,qos,safe
AccountingStorageTRES=license/mat
Licenses=mat:10
"""
SHELL = r"""
add() { sacctmgr -i add "$@" >/dev/null; }
add account physics; add account chem; add user root account=physics defaultaccount=physics
sacctmgr -i modify user root set defaultaccount=physics >/dev/null
mark=1000
settled() {  # limits reach the controller in their order
    mark=$((mark + 1))
    sacctmgr -i modify account chem set grpjobs=$mark >/dev/null
    for i in $(seq 200); do scontrol show assoc_mgr | grep -q "GrpJobs=$mark(" && return; sleep 0.1; done
    echo "the controller does not know the limit"
}
unset_of() {
    case $1 in
        *=*=*) echo "${1%=*}=-1" ;;
        *) echo "${1%%=*}=-1" ;;
    esac
}
try() {
    entity=$1; limit=$2; shift 2
    sacctmgr -i modify $entity set "$limit" >/dev/null || return
    settled
    job=$(sbatch --parsable -n2 -t 30 -L mat:2 "$@" -o /dev/null --wrap "sleep 60")
    if [ -n "$job" ]; then
        for i in $(seq 40); do
            said=$(squeue -h -j "$job" -o "%t %r" | head -1)
            case $said in "PD None"|"PD Priority"|"CF "*) sleep 0.1 ;; *) break ;; esac
        done
        echo "$said"
        scancel "$job"
        for i in $(seq 100); do [ -z "$(squeue -h)" ] && break; sleep 0.1; done
    fi
    sacctmgr -i modify $entity set "$(unset_of "$limit")" >/dev/null
}
settled
"""

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "record":
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        live.record(name, CONF, SHELL)
