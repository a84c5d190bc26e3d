#!/bin/sh
# pytorch_names.sh ROOT: requires that each name in the gradus column of the tables in docs/coming-from-pytorch.md is in the
# code of a public header, one in the folder of its namespace: nn::Linear in nn/. Prints those that are not, and exits 1 if
# there is one. Names of one letter, and those of the standard library, are not looked for.
set -eu
cd "$1"
page=docs/coming-from-pytorch.md

# Headers are split into words; a word is known with its folder and without.
# shellcheck disable=SC2046  # Paths have no spaces.
awk -v page="$page" -v FS='[^A-Za-z0-9_]+' '
  FILENAME != page {
    sub(/\/\/.*/, "")
    folder = FILENAME
    sub(/^annexes\/layers\//, "nn/", folder)
    sub(/\/.*/, "", folder)
    for (i = 1; i <= NF; ++i) known[$i] = known[folder "::" $i] = 1
    next
  }
  /^\| / {
    gsub(/\\\|/, "")
    split($0, cells, " *\\| *")
    count = split(cells[3], parts, "`")
    for (i = 2; i <= count; i += 2) {
      code = parts[i]
      gsub(/"[^"]*"|std::[a-z_]*/, "", code)
      while (match(code, /[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*/)) {
        name = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        ++names
        room = name
        sub(/::.*/, "", room)
        last = name
        sub(/.*::/, "", last)
        if (room ~ /^(nn|train|data|models)$/) room = room "::" last
        if (length(name) > 1 && !(room in known && last in known)) {
          printf "%s:%d: names %s, which no public header declares\n", page, FNR, name
          bad = 1
        }
      }
    }
  }
  END {
    if (!names) print page ": has no table of names"
    exit bad || !names
  }
' $(sed -n 's|^#include "gradus/\(.*\)"|\1|p' gradus.hpp) "$page"
