#!/bin/sh
# reading_order.sh ROOT: the files that docs/core.md names for one sitting, a row of its table each, are there, at most 25 with at
# most 3,000 lines, and none of them includes intrinsics or the choice of an instruction set; exits 1 otherwise, saying which.
set -eu
cd "$1"
# Backticks of Markdown.
# shellcheck disable=SC2016
files=$(sed -n 's/^| *[0-9][0-9]* | `\([^`]*\)` |.*/\1/p' docs/core.md)
wrong=0
complain() { echo "$1" && wrong=1; }
count=0 lines=0
for file in $files; do
  [ -e "$file" ] || { complain "docs/core.md: names $file, which is not there" && continue; }
  count=$((count + 1))
  lines=$((lines + $(wc -l <"$file")))
  ! grep -qE '#include.*(intrin\.h|arm_neon|kernels/isa/)' "$file" || complain "$file: has an instruction set in it"
done
{ [ "$count" -gt 0 ] && [ "$count" -le 25 ]; } || complain "docs/core.md: names $count files to read; it is to be 1 to 25"
[ "$lines" -le 3000 ] || complain "docs/core.md: names files of $lines lines; 3,000 can be read in one sitting"
exit $wrong
