#!/usr/bin/env bash
# bits.sh PROGRAM MPIRUN: requires that 50 steps of three architectures, in two precisions, with 1, 8 and 24 micro-batches, on 1, 2, 3, 4
# and 8 ranks with 1 and 2 threads leave the same bits, and that a run of two ranks that was stopped after any of 20 steps ends with
# the same bits on three.
set -euo pipefail
program=$(readlink -f "$1")
export GRADUS_MPIRUN=$2
if ! command -v "$2" >/dev/null; then echo "skipped: there is no $2" && exit 77; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for i in $(seq 400); do echo "line $i of a text, and $((i * i % 97)) more"; done >a.txt

# go OUT ARGUMENT...: a run.
go() {
  timeout 300 "$program" train --text a.txt --batch 24 --block 16 --dropout 0.1 --eval-every 1000 --save-every 1000 --quiet --out "$@"
}
# same A B: the parameters and the optimizer's state of both have the same bits.
same() { cmp "$1/last/model.safetensors" "$2/last/model.safetensors" && cmp "$1/last/optimizer.safetensors" "$2/last/optimizer.safetensors"; }

count=0
for preset in nano mini gru; do
  for precision in float32 bf16; do
    for micro in 1 8 24; do
      setting=(--preset "$preset" --precision "$precision" --micro "$micro" --steps 50)
      rm -rf one
      go one "${setting[@]}" --threads 1
      for ranks in 1 2 3 4 8; do
        for threads in 1 2; do
          rm -rf other
          go other "${setting[@]}" --threads "$threads" --ranks "$ranks"
          same one other || { echo "got other bits: ${setting[*]}, $ranks ranks, $threads threads" && exit 1; }
          count=$((count + 1))
        done
      done
    done
  done
done

setting=(--preset nano --micro 12 --steps 20)
go whole "${setting[@]}"
for stop in $(seq 19); do
  rm -rf part
  go part "${setting[@]}" --ranks 2 --threads 1 --stop-after "$stop"
  timeout 300 "$program" train --out part --resume --ranks 3 --threads 1 --quiet
  same whole part || { echo "got other bits after a stop at step $stop" && exit 1; }
done
echo "$count runs have the bits of one process, and 19 stopped runs those of one that was not"
