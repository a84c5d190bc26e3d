#!/usr/bin/env bash
# commands.sh GRADUS ROOT DOCUMENT: runs the lines that begin with `$ ./gradus` in the console blocks of DOCUMENT, in its
# order and in one folder, as a reader would. Every command has to succeed. The program runs at small sizes: two steps
# instead of thousands, the tiniest workload of `bench`. Not run: `test`, `install`, `bench --scaling` and `bench --vs`.
set -euo pipefail
export GRADUS=$1
root=$2 document=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export GRADUS_CACHE=$scratch/cache

# What the documents take as given: texts, a folder of GPT-2, a model of the book without its tokenizer, a table of settings.
cp "$root/README.md" my.txt
cp "$root/CONTRIBUTING.md" more.txt
{ cat "$root/data/README.md" && echo 'a character that no other text has: ☃'; } >other.txt
cp other.txt the-verdict.txt
cp my.txt shakespeare.txt
cp "$root/tests/tools/replay/example.json" case.json
cat >table.toml <<'END'
seeds = [1, 2]
[base]
preset = "tiny"
steps = 2
text = "my.txt"
[try.rate]
lr = [1e-3, 2e-3]
END
cp table.toml three.toml
"$GRADUS" train --preset tiny --steps 1 --text my.txt --tokenizer bpe --vocab 300 --out gpt2 --quiet >/dev/null 2>&1
mkdir my-book-model && cp gpt2/config.json gpt2/model.safetensors my-book-model
mkdir docs out && cp -r gpt2 out/PyTorch-nanoGPT

# The program, at small sizes.
cat >gradus <<'END'
#!/usr/bin/env bash
set -euo pipefail
case $1 in
  train)
    small=()
    while (($#)); do
      case $1 in
        --steps | --save-every | --eval-every) shift ;;
        --minutes) small+=("$1" 0.03) && shift ;;
        *) small+=("$1") ;;
      esac
      shift
    done
    [[ " ${small[*]} " == *" --minutes "* || " ${small[*]} " == *" --resume "* ]] || small+=(--steps 2 --warmup 0)
    exec "$GRADUS" "${small[@]}" --quiet
    ;;
  bench)
    [[ $* == *--scaling* || $* == *--vs* ]] && exit  # takes minutes; takes PyTorch
    exec "$GRADUS" "$@" --workload W0 --steps 2
    ;;
  test | install) ;;  # the launcher's
  *) exec "$GRADUS" "$@" ;;
esac
END
chmod +x gradus

commands=$(awk '/^```console/ { on = 1; next } /^```/ { on = 0 } on && /^\$ .*\.\/gradus / { print substr($0, 3) }' "$root/$document")
count=0
while IFS= read -r command; do
  count=$((count + 1))
  bash -o pipefail -c "$command" </dev/null >said 2>&1 || {
    printf '%s: this command fails when the commands before it have run:\n  %s\n' "$document" "$command"
    cat said
    exit 1
  }
done <<<"$commands"
((count > 3)) || { echo "$document must have commands, found $count" && exit 1; }
echo "$count commands of $document run"
