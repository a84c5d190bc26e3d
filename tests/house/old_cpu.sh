#!/bin/sh
# old_cpu.sh PROGRAM: the program runs on an emulated processor without AVX, Intel's of 2008, and trains there to the bytes
# that this machine's give when they are asked for that processor's instructions. Exits 77, skipped,
# without qemu-user.
set -eu
program=$1
if ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: there is no qemu-x86_64 (Debian: apt-get install qemu-user)"
  exit 77
fi
unset GRADUS_LEVEL OPENBLAS_CORETYPE

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for i in 1 2 3 4 5 6 7 8 9; do
  echo "Verse $i. In the beginning was the word, and it was counted $((i * i)) times; then came the next one."
done >"$out/text"

train() {  # train FOLDER COMMAND...: three steps
  folder=$1
  shift
  "$@" train --text "$out/text" --preset tiny --steps 3 --out "$out/$folder" >/dev/null 2>"$out/log" || {
    cat "$out/log"
    exit 1
  }
}
train emulated qemu-x86_64 -cpu Nehalem "$program"
train asked env GRADUS_LEVEL=v2 OPENBLAS_CORETYPE=Nehalem "$program"
cmp "$out/emulated/model.safetensors" "$out/asked/model.safetensors"
