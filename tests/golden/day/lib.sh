# Functions of the day's commands. Each waits for a condition and gives up after DAY_PATIENCE s.

# until_true WORDS...: runs the command until it succeeds
until_true() {
  local end=$((SECONDS + ${DAY_PATIENCE:-15}))
  until eval "$*" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "still not: $*" >&2; return 1; }
    sleep 0.05
  done
}

# sub ARGS...: submits and keeps the id in $job; the last one in $before
sub() {
  before=$job
  job=$(sbatch --parsable "$@") || return
}

# state JOB STATE...: waits until the job has one of the states
state() {
  local id=$1
  shift
  until_true "case \" $* \" in *\" \$(squeue -h -t all -j $id -o %T) \"*) true ;; *) false ;; esac"
}

# reason JOB REASON: waits until the job waits for that reason
reason() {
  until_true "[ \"\$(squeue -h -t all -j $1 -o %r)\" = '$2' ]"
}

# ended JOB: waits until the job is over and its nodes are free
ended() {
  state "$1" COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL OUT_OF_MEMORY
}

# all_free: waits until no job has a node (`-t idle` would count those whose jobs are completing)
all_free() {
  until_true "[ \"\$(sinfo -h -p debug -o '%t %D')\" = 'idle 10' ]"
}

# file NAME: waits until the file is there and not empty
file() {
  until_true "[ -s '$1' ]"
}

terminal() { $DAY terminal "$@"; }
signals() { $DAY signal "$@"; }

# streams COMMAND...: which streams a command writes to, where its words are its own
streams() {
  local said=$(mktemp -d) code
  "$@" >"$said/stdout" 2>"$said/stderr"
  code=$?
  (cd "$said" && find . -type f -size +0 -printf '%f\n' | sort)
  rm -r "$said"
  return $code
}

# other COMMAND...: as another user
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
