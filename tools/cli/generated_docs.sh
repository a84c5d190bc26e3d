#!/bin/sh
# generated_docs.sh FOLDER PROGRAM...: writes what the program says of itself into files that an installation puts where shells and
# man look: `gradus` for bash, `_gradus` for zsh, and the manual page.
set -eu
folder=$1
shift
mkdir -p "$folder"

"$@" --completion >"$folder/gradus"
{
  printf '#compdef gradus\nautoload -Uz bashcompinit && bashcompinit\n'
  cat "$folder/gradus"
  printf '_bash_complete -o default -F _gradus_words\n'
} >"$folder/_gradus"

# roff: the lines as they are, for a page of man.
roff() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }
# verbs [PROGRAM...] [VERB]: the verbs that its help lists.
verbs() { "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\{1,\}\)  .*/\1/p'; }
# section PROGRAM... VERB: the help of a verb, without the path of the program.
section() {
  printf '.SH %s\n.nf\n' "$name"
  "$@" --help-all | sed "s|$program|gradus|g" | roff
  printf '.fi\n'
}
for program in "$@"; do :; done # the last argument
{
  printf '.TH GRADUS 1 "" "%s" "User Commands"\n' "$("$@" --version)"
  printf '.SH NAME\ngradus \\- train small language models on a CPU\n.SH SYNOPSIS\n.B gradus\n.I VERB\n[FLAGS]\n.SH DESCRIPTION\n.nf\n'
  "$@" --help | sed "s|$program|gradus|g" | roff
  printf '.fi\n'
  for verb in $(verbs "$@"); do
    name="gradus $verb"
    section "$@" "$verb"
    for inner in $(verbs "$@" "$verb"); do
      name="gradus $verb $inner"
      section "$@" "$verb" "$inner"
    done
  done
  cat <<'END'
.SH ENVIRONMENT
.TP
.B GRADUS_CACHE
The folder of prepared texts; by default, gradus in
.BR XDG_CACHE_HOME ,
or .cache/gradus in the home folder if that is not set.
.TP
.B NO_COLOR
If it is not empty, nothing is coloured.
.TP
.B OPENBLAS_CORETYPE
The kernels of OpenBLAS; by default, those for the processor.
.TP
.B GRADUS_LEVEL
The instruction\-set level of x86\-64, v2, v3 or v4; by default, the highest that the processor supports.
END
} >"$folder/gradus.1"
