#!/usr/bin/env bash
# generated_docs.sh FOLDER PROGRAM [EMULATOR...]: writes what the program says of itself into files that an installation puts where
# shells and man look: `gradus` for bash, `_gradus` for zsh, and the manual page.
set -euo pipefail
folder=$1 program=$2 emulator=("${@:3}")
mkdir -p "$folder"

# gradus ARGS: the program, which is to call itself gradus.
gradus() {
  if ((${#emulator[@]})); then
    "${emulator[@]}" -0 gradus "$program" "$@"
  else
    (exec -a gradus "$program" "$@")
  fi
}

gradus --completion >"$folder/gradus"
{
  printf '#compdef gradus\nautoload -Uz bashcompinit && bashcompinit\n'
  cat "$folder/gradus"
  printf '_bash_complete -o default -F _gradus_words\n'
} >"$folder/_gradus"

# verbatim: the lines as they are, for a page of man.
verbatim() {
  printf '.nf\n'
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
  printf '.fi\n'
}
# verbs [VERB]: the verbs that its help lists.
verbs() { gradus "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\{1,\}\)  .*/\1/p'; }
# section VERB...: the help of a verb.
section() {
  printf '.SH gradus %s\n' "$*"
  gradus "$@" --help-all | verbatim
}
{
  printf '.TH GRADUS 1 "" "%s" "User Commands"\n' "$(gradus --version)"
  printf '.SH NAME\ngradus \\- train small language models on a CPU\n.SH SYNOPSIS\n.B gradus\n.I VERB\n[FLAGS]\n.SH DESCRIPTION\n'
  gradus --help | verbatim
  for verb in $(verbs); do
    section "$verb"
    for inner in $(verbs "$verb"); do section "$verb" "$inner"; done
  done
  cat <<'END'
.SH ENVIRONMENT
.TP
.B NO_COLOR
If it is not empty, nothing is coloured.
.TP
.B OPENBLAS_CORETYPE
The kernels of OpenBLAS; by default, those for the processor.
.TP
.B GRADUS_LEVEL
The instruction\-set level of x86\-64, v2, v3 or v4; by default, the highest that the processor supports.
Or reference: operations are computed by their definitions in plain loops, slowly.
END
} >"$folder/gradus.1"
