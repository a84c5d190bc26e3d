#!/usr/bin/env bash
# page.sh GRADUS NODE: whether the scripts of exported pages write what `gradus sample` does. Skips (77) where Node is too old.
set -euo pipefail
gradus=$1 node=$2
if "$node" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 1 : 0)'; then
  echo "skipped: Node is older than 18"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# train NAME FLAG...
train() {
  "$gradus" train --text README.md --out "$folder/$1" --preset tiny --block 90 --batch 4 --steps 20 --optimizer muon --lr 1e-2 \
    --quiet "${@:2}"
}
train gpt2-char --tokenizer char
train gpt2-bpe --no-bias --tokenizer bpe --vocab 300
train llama-byte --arch llama --heads 4 --kv-heads 2 --tokenizer byte
train qwen3-bpe --arch llama --qk-norm --untied --tokenizer bpe --vocab 300
# The letters of a special token are its own, not those that stand for bytes.
"$node" -e '
  const [from, to] = process.argv.slice(1), fs = require("fs"), json = JSON.parse(fs.readFileSync(from));
  json.added_tokens.push({ ...json.added_tokens[0], id: 300, content: "<end of text é｜>" });
  fs.writeFileSync(to, JSON.stringify(json));' "$folder/gpt2-bpe/tokenizer.json" "$folder/special.json"
train gpt2-untied --untied --tokenizer "$folder/special.json"
"$node" tests/clients/web.mjs "$gradus" "$folder" "$folder"/{gpt2-char,gpt2-bpe,llama-byte,qwen3-bpe,gpt2-untied}
