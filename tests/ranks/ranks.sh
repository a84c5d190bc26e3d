#!/usr/bin/env bash
# ranks.sh PROGRAM MPIRUN: trains on one process and on two and four ranks, and compares files and losses; resumes with another
# number of ranks; runs --minutes, --wire bf16 and --profile on ranks, whose number a config file may give; and checks that a rank
# with another text ends the run with one line.
set -euo pipefail
program=$(readlink -f "$1")
export GRADUS_MPIRUN=$2 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if ! command -v "$2" >/dev/null; then echo "skipped: there is no $2" && exit 77; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for i in $(seq 400); do echo "line $i of a text, and $((i * i % 97)) more"; done >a.txt
sed 's/line 400/line 401/' a.txt >b.txt

# go OUT ARGUMENT...: a run of 20 steps.
go() {
  timeout 60 "$program" train --text a.txt --preset tiny --steps 20 --batch 8 --micro 8 --dropout 0.1 --eval-every 10 --eval-tokens 100 \
    --save-every 10 --quiet --out "$@"
}
loss() { tail -n 1 "$1/metrics.jsonl" | sed 's/.*"val_loss":\([^,]*\).*/\1/'; }  # on all of the validation text
same() {
  for file in model.safetensors last/optimizer.safetensors; do
    cmp "one/$file" "$1/$file" || { echo "$1/$file must be that of one process" && exit 1; }
  done
  [[ $(loss one) == "$(loss "$1")" ]] || { echo "$1 must have the loss of one process" && exit 1; }
}

go one
go two --ranks 2 && same two
go four --ranks 4 --threads 1 && same four
go again --ranks 2 --stop-after 7
timeout 60 "$program" train --out again --resume --ranks 4 --quiet
same again

# What is not the same for every number of ranks ends, and has learned something.
learned() { awk -v loss="$(loss "$1")" -v most="${2:-3}" 'BEGIN { exit !(loss > 0 && loss < most) }' || { echo "$1 must learn" && exit 1; }; }
go wire --ranks 2 --wire bf16 --lr 1e-2 && learned wire
# On a busy machine there are few steps. Before the first one the loss is that of 257 tokens, 5.549.
timeout 60 "$program" train --text a.txt --minutes 0.05 --micro 2 --ranks 2 --quiet --out minutes && learned minutes 5.5
echo 'ranks = 2' >two.toml
go profile --config two.toml --profile trace.json --profile-after 2 --profile-steps 3
grep -q '"to rank 0".*"pid":2' trace.json

cat >rank.sh <<END
#!/bin/sh
text=a.txt
if [ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" = 1 ]; then text=b.txt; fi
exec "$program" train --text \$text --preset tiny --steps 5 --micro 8 --out other --quiet
END
chmod +x rank.sh
status=0
launch=("$2" -n 2)
if [[ $2 == *openmpi ]]; then launch+=(--oversubscribe); fi
timeout 60 "${launch[@]}" ./rank.sh 2>error.txt || status=$?
if [[ $status == 0 ]] || ! grep -q 'rank 1: \[ranks\] all ranks must have the same text' error.txt; then
  echo "a rank with another text must end the run, got exit code $status and:" && cat error.txt && exit 1
fi
[[ ! -e other/last ]]
