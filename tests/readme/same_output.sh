#!/usr/bin/env bash
# same_output.sh FILE PROGRAM...: PROGRAM must print the words of FILE; where lines break does not matter. Numbers with a
# decimal point may differ in their last digits, because instruction sets round differently: both sides are compared with
# three significant digits, and in their form, with an exponent or without, of few digits or of many.
set -euo pipefail

rounded() {
  tr -s ' \n' '\n' | awk '{
    if (match($0, /-?[0-9]*\.[0-9]+(e[-+]?[0-9]+)?/)) {
      number = substr($0, RSTART, RLENGTH)
      form = (number ~ /e/ ? "with an exponent" : "plain") (length(number) > 9 ? ", long" : ", short")
      $0 = substr($0, 1, RSTART - 1) sprintf("%.2e (%s)", number, form) substr($0, RSTART + RLENGTH)
    }
    print
  }'
}

scratch=$(mktemp -d)  # for what it writes
trap 'rm -r "$scratch"' EXIT
rounded <"$1" >"$scratch/expected"
shift
mkdir "$scratch/run"
cd "$scratch/run"
"$@" | rounded | diff - ../expected
