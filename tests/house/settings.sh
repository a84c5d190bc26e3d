#!/bin/sh
# settings.sh ROOT: prints each row of the table of settings whose key another row has, and each source that spells the key of
# a setting out, but for the table and the code that uses settings (train/plan.cpp, cli/train); exits 1 if there is one. A key of one
# word may mean something else elsewhere: only its flag is looked for, where a verb adds flags.
set -eu
cd "$1"

table=train/settings.cpp
keys=$(grep -oE '^ +row<&[A-Za-z]+::[a-z0-9_]+>\( *"[a-z0-9-]+"' "$table" | sed 's/.*"\(.*\)"/\1/'
  grep -A 1 -E '^ +row<&[A-Za-z]+::[a-z0-9_]+>\($' "$table" | sed -nE 's/^ +"([a-z0-9-]+)".*/\1/p')
[ -n "$keys" ] || { echo "$table: has no rows" && exit 1; }
wrong=$(
  echo "$keys" | sort | uniq -d | sed "s|.*|$table: has two rows with the key &|"
  two_words=$(echo "$keys" | grep -e - | paste -sd '|')
  find train cli annexes models -name '*.cpp' -o -name '*.hpp' | grep -v -e "^$table$" -e '^train/plan.cpp$' -e '^cli/train/' | sort |
    xargs grep -nHE "\"(--)?($two_words)\"" | sed 's|$|: spells the key of a setting out; ask the table|'
  grep -nHE "add_[a-z_]+\([^)]*\"--($(echo "$keys" | paste -sd '|'))[\",]" cli/train/*.cpp |
    sed 's|$|: adds the flag of a setting by hand; the table does it|'
)
[ -z "$wrong" ] || { echo "$wrong" && exit 1; }
