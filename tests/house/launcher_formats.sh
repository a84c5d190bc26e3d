#!/usr/bin/env bash
# launcher_formats.sh ROOT FIRST: the program FIRST, gradus-first, becomes the launcher again where a verb meets a file that only the whole
# program reads. It passes its arguments on, and has printed and written nothing.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# shellcheck disable=SC2016
printf '#!/usr/bin/env bash\necho "whole=$GRADUS_WHOLE: $*"\n' >"$scratch/launcher"
chmod +x "$scratch/launcher"
checkpoint=$1/tests/nn/golden/checkpoints/nano.pt
echo text >"$scratch/text"
for arguments in "sample $checkpoint --prompt a" "chat $checkpoint" "eval $checkpoint --text $scratch/text" \
  "train --init-from $checkpoint --text $scratch/text --out $scratch/run" \
  "train --tokenizer $1/tests/data/theirs/llama3/tokenizer.json --text $scratch/text --out $scratch/run" \
  "train --text $scratch/text --tensorboard --out $scratch/run"; do
  # shellcheck disable=SC2086
  got=$(GRADUS_LAUNCHER=$scratch/launcher "$2" $arguments 2>&1)
  if [[ $got != "whole=1: $arguments" || -e $scratch/run ]]; then
    printf 'gradus-first %s\n  printed: %s\n' "$arguments" "$got" && exit 1
  fi
done
