#!/usr/bin/env bash
# launcher_verbs.sh GRADUS PROGRAM CORE: the launcher GRADUS knows each verb of PROGRAM, and which of them CORE has.
set -euo pipefail
launcher=$1

verbs_of() { "$1" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' | sort; }
listed_as() { sed -n "s/^$1=\"\(.*\)\"\$/\1/p" "$launcher" | tr ' ' '\n'; }

# same WHAT ONES OTHERS
same() { [[ $2 == "$3" ]] || { printf '%s: the program has\n%s\nand the launcher\n%s\n' "$@" && exit 1; }; }
same "$3" "$(verbs_of "$3")" "$(listed_as core_verbs | sort)"
same "$2" "$(verbs_of "$2")" "$({ listed_as core_verbs; listed_as other_verbs; } | sort)"
