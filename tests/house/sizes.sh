#!/bin/sh
# sizes.sh ROOT: prints each source of more than 400 lines, each folder of more than 25 units (a header and its source are
# one), each example of more than 119 lines, and gradus.hpp if it includes more than 70 public headers; exits 1 if there is one.
set -eu
cd "$1"

sources() { find files autograd nn models data train tools "$@" -type f \( -name '*.hpp' -o -name '*.cpp' \); }

wrong=$(
  sources tests | xargs wc -l | awk '$1 > 400 && $2 != "total" { print $2 ": has " $1 " lines; 400 are allowed. Split it by concept" }'
  sources | sed 's/\.[a-z]*$//' | sort -u | sed 's|/[^/]*$||' | uniq -c | while read -r units folder; do
    [ "$units" -le 25 ] || echo "$folder: has $units units; 25 are allowed. Make folders by concern"
  done
  find examples -name '*.cpp' 2>/dev/null | while read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -lt 120 ] || echo "$file: has $lines lines; 119 are allowed"
  done
  headers=$(grep -c '^#include' gradus.hpp)
  [ "$headers" -le 70 ] || echo "gradus.hpp: has $headers public headers; 70 are allowed. Merge some or make them private"
)
[ -z "$wrong" ] || { echo "$wrong" && exit 1; }
