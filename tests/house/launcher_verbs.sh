#!/usr/bin/env bash
# launcher_verbs.sh GRADUS PROGRAM FIRST: the launcher GRADUS, before anything is built, lists the verbs of PROGRAM with their help,
# and takes the verbs of FIRST for those that gradus-first has.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/cli/program"
cp "$1" "$scratch/gradus"
cp "${1%/*}/cli/program/verbs.def" "$scratch/cli/program"

verbs_of() { "$1" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\)  *\(.*\)/\1 \2/p'; }
listed=$("$scratch/gradus" --help | sed -n 's/^  .\/gradus \([a-z]\+\)  *\(.*\)/\1 \2/p' | grep -v '\[ARGS\]')
first=$(sed -n 's/^GRADUS_VERB(first, \([a-z]*\),.*/\1/p' "$scratch/cli/program/verbs.def")

# same WHAT ONES OTHERS
same() { [[ $2 == "$3" ]] || { printf '%s: the program has\n%s\nand the launcher\n%s\n' "$@" && exit 1; }; }
same "$2" "$(verbs_of "$2")" "$listed"
same "$3" "$(verbs_of "$3" | sed 's/ .*//')" "$first"
