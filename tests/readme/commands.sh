#!/usr/bin/env bash
# commands.sh GRADUS ROOT DOCUMENT: runs the commands in the console blocks of DOCUMENT, the lines that begin with `$ `, in
# their order and in one folder, as a reader would. Every command has to succeed. The program runs at small sizes: two steps
# instead of thousands, the tiniest preset and workload, few tokens. `is_run` names the commands that are not run, and why.
set -euo pipefail
export GRADUS=$1
root=$2 document=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

is_run() {
  case $1 in
    './gradus test'* | './gradus install'*) return 1 ;;         # build for minutes; tests/house/launcher.sh tries them
    'cmake '*) return 1 ;;                                      # builds for minutes; .ci/package does this
    'xdg-open '*) return 1 ;;                                   # opens a browser
    'man gradus'*) return 1 ;;                                  # takes an installed program; tests/consumer has one
    *'python3 my_op.py'* | './gradus sweep '*) command -v python3 >/dev/null || return 1 ;;
    './gradus conform '* | './gradus replay '*) compgen -G "${GRADUS%/bin/*}/python/gradus/_core*.so" >/dev/null || return 1 ;;  # take the package
    *compare.py*) return 1 ;;     # takes PyTorch and minutes
  esac
}

# What the documents take as given: texts, a folder of GPT-2, a model of the book without its tokenizer, a table of settings.
cp "$root/README.md" my.txt
cp "$root/CONTRIBUTING.md" more.txt
{ cat "$root/data/README.md" && echo 'a character that no other text has: ☃'; } >other.txt
cp other.txt the-verdict.txt
cp my.txt shakespeare.txt
cp "$root/tests/annexes/cases/replay/example.json" case.json
mkdir docs out
"$GRADUS" train --preset tiny --steps 1 --text my.txt --tokenizer bpe --vocab 300 --out gpt2 --quiet >/dev/null 2>&1
mkdir my-book-model && cp gpt2/config.json gpt2/model.safetensors my-book-model
cat >table.toml <<'END'
seeds = [1, 2]
[base]
preset = "tiny"
steps = 2
text = "my.txt"
[try.rate]
lr = [1e-3, 2e-3]
END

# The program, at small sizes.
cat >gradus <<'END'
#!/usr/bin/env bash
set -euo pipefail
case $1 in
  train)
    small=()
    while (($#)); do
      case $1 in
        --steps | --save-every | --eval-every | --batch) shift ;;
        --minutes) small+=("$1" 0.01) && shift ;;
        *) small+=("$1") ;;
      esac
      shift
    done
    [[ " ${small[*]} " == *" --minutes "* || " ${small[*]} " == *" --resume "* ]] || small+=(--steps 2 --warmup 0)
    [[ " ${small[*]} " == *" --"@(text|resume|config|val)* ]] || small+=(--val-fraction 0.02)
    if [[ " ${small[*]} " == *" --"@(preset|heads)" "* ]]; then
      small+=(--layers 1 --block 16 --batch 2)
    elif [[ " ${small[*]} " != *" --"@(resume|init-from|config|minutes)* ]]; then
      small+=(--preset tiny)
    fi
    exec "$GRADUS" "${small[@]}" --quiet
    ;;
  bench)
    small=() workload=W0
    while (($#)); do
      if [[ $1 != --workload ]]; then
        small+=("$1")
      elif shift && [[ $1 == *' '* ]]; then
        workload='train gpt2 1 2 16 8 4 32 0 float32'
      fi
      shift
    done
    exec "$GRADUS" "${small[@]}" --workload "$workload" --steps 2
    ;;
  sample)
    [[ " $* " == *" --tokens "* ]] || set -- "$@" --tokens 20
    exec "$GRADUS" "$@"
    ;;
  *) exec "$GRADUS" "$@" ;;
esac
END
chmod +x gradus
export PATH=$scratch:$PATH

# begin_with_runs COMMAND: makes the run folders that COMMAND reads and that no command before it has made.
begin_with_runs() {
  local folder
  for folder in $(grep -oE '(^|[ =])out/[A-Za-z0-9_-]+' <<<"$1" | tr -d ' =' || true); do
    [[ -e $folder ]] || [[ $1 == *"--out $folder"* && $1 != *--resume* ]] || cp -r gpt2 "$folder"
  done
}

# small_table: a table of settings whose runs take two steps.
small_table() {
  sed -E '/^(minutes|steps) = /d; s/^preset = .*/preset = "tiny"/; s/^seeds = .*/seeds = [1, 2]/
    s/^(\[base\])$/\1\nsteps = 2\nwarmup = 0\nval-fraction = 0.02/'
}

mapfile -t lines < <(awk -v commands=1 -f "$root/tests/readme/blocks.awk" "$root/$document")
count=0
for ((i = 0; i < ${#lines[@]}; ++i)); do
  [[ ${lines[i]} == '$ '* ]] || continue
  command=${lines[i]#'$ '}
  is_run "$command" || continue
  if [[ $command =~ ^cat\ ([a-z_]+\.(toml|py))$ ]]; then  # The lines below it are the file.
    file=${BASH_REMATCH[1]}
    for ((; i + 1 < ${#lines[@]}; ++i)); do
      [[ ${lines[i + 1]} != '$ '* ]] || break
      printf '%s\n' "${lines[i + 1]}"
    done | if [[ $file == *.toml ]]; then small_table; else cat; fi >"$file"
    continue
  fi
  begin_with_runs "$command"
  count=$((count + 1))
  bash -o pipefail -c "$command" </dev/null >printed 2>&1 || {
    printf '%s: this command fails when the commands before it have run:\n  %s\n' "$document" "$command"
    cat printed
    exit 1
  }
done
((count > 0)) || { echo "$document must have commands that are run, found none" && exit 1; }
echo "$count commands of $document run"
