#!/usr/bin/env bash
# machines.sh PROGRAM PYTHON: trains on two ranks in two network namespaces with 1 Gbit/s and 1 ms between them; the result must have
# the bits of one process. Prints the time of a step beside that of `plan`, which a busy machine makes too short.
set -euo pipefail
program=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

go() { "${@:2}" "$program" train --preset mini --steps 120 --micro 2 --threads 1 --eval-every 1000 --save-every 1000 --quiet --out "$1"; }
status=0
go two "$2" "$here/two_machines.py" --rate 1000 --delay 1 -- || status=$?
if [[ $status != 0 ]]; then exit "$status"; fi
go one env
for file in model.safetensors last/optimizer.safetensors; do cmp "one/$file" "two/$file"; done

taskset -c 0 "$program" plan --preset mini --micro 2 --threads 1 --machines 2 --network 930Mbit,1.15ms --json | grep '"machines":2' |
  sed 's/.*"step_ms":\([0-9.]*\).*/plan: \1 ms a step/'
sed -n 's/.*"step":\(20\|120\),.*"elapsed_s":\([0-9.]*\).*/\2/p' two/metrics.jsonl |
  awk 'NR == 1 { start = $1 } END { printf "measured: %.1f ms a step\n", ($1 - start) * 10 }'
