#!/usr/bin/env bash
# leave.sh LEAVE MPIRUN: runs leave.cpp, in which a rank leaves while others wait for it. Each run must end, in time.
set -euo pipefail
leave=$1
launch=("$2" -n 3)
export GRADUS_MPI_TIMEOUT=3 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if ! command -v "$2" >/dev/null; then echo "skipped: there is no $2" && exit 77; fi
if [[ $2 == *openmpi ]]; then launch+=(--oversubscribe); fi
error=$(mktemp)
trap 'rm "$error"' EXIT

# check CASE TEXT: the run ends with an error and the text.
check() {
  local status=141
  # MPICH's launcher dies of SIGPIPE now and then if processes end while it starts others: then the run is made again.
  for _ in {1..10}; do
    if [[ $status != 141 ]]; then break; fi
    status=0
    timeout -k 1 15 "${launch[@]}" "$leave" "$1" >"$error" 2>&1 || status=$?
  done
  if [[ $status == 0 || $status == 124 || $status == 137 ]] || ! grep -q "$2" "$error"; then
    echo "$1: the run must end with an error and '$2', got exit code $status and:" && cat "$error" && exit 1
  fi
}
GRADUS_MPI_TIMEOUT=never check leader "GRADUS_MPI_TIMEOUT must be seconds, at least 1, got 'never'"
check leader 'rank 0 on .* must answer, got nothing for 3 s'
check follower 'rank 2 on .* must answer, got nothing for 3 s'
check start 'all ranks must start, got no answer of some for 3 s'
check failure 'a failure with a message open'
