#!/usr/bin/env bash
# same_output.sh PROGRAM FILE: PROGRAM must print the lines of FILE. Numbers with a decimal point may differ in their
# last digits, because instruction sets round differently: both sides are compared with three significant digits.
set -euo pipefail

rounded() {
  awk '{
    line = ""
    for (i = 1; i <= NF; ++i) line = line (i > 1 ? " " : "") ($i ~ /^-?[0-9]*\.[0-9]+(e-?[0-9]+)?$/ ? sprintf("%.2e", $i) : $i)
    print line
  }'
}

diff <("$1" | rounded) <(rounded <"$2")
