#!/bin/sh
# lines.sh ROOT: prints the lines of C++ in each folder, and exits 1 if a ring has more than its limit: the main house, the annexes,
# both with the examples, the Python package's C++, or the tests (with their scripts, but without those of the Python package). As
# advice only, it names sources of more than 400 lines, folders of more than 25 units (a header and its source are one) and examples
# of more than 119 lines. Limits are lowered when something goes; a change that needs a higher one says what it is worth.
set -eu
cd "$1"
main_limit=45540 annexes_limit=13386 all_limit=59724 python_limit=2953

lines() { find "$@" -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.def' -o -name '*.cpp.in' \) -exec cat {} + 2>/dev/null | wc -l; }
main=0 annexes=0 tests=0
row() { printf '%-28s %6d\n' "$1" "$2"; }
for folder in files autograd/* nn models data train cli; do
  [ -d "$folder" ] || continue
  count=$(lines "$folder")
  row "$folder" "$count"
  main=$((main + count))
done
row "main house (limit $main_limit)" "$main"
for folder in annexes/*/; do
  [ -d "$folder" ] || continue
  count=$(lines "$folder")
  row "${folder%/}" "$count"
  annexes=$((annexes + count))
done
row "annexes (limit $annexes_limit)" "$annexes"
examples=0
[ ! -d examples ] || examples=$(lines examples)
row examples "$examples"
all=$((main + annexes + examples))
row "all (limit $all_limit)" "$all"
python=$(lines python)
row "python (limit $python_limit)" "$python"
[ ! -d tests ] || tests=$(find tests -type f \( -name '*.[ch]pp' -o -name '*.py' -o -name '*.sh' -o -name '*.awk' -o -name '*.txt' -o -name '*.cmake' \) \
  ! -name planted.txt ! -name equivalent.txt ! -name slowest.txt ! -path '*/fuzz/corpus/*' ! -path '*/golden/*' ! -path '*/theirs/*' ! -path 'tests/python/*' -exec cat {} + | wc -l)
tests_limit=40440
row "tests (limit $tests_limit)" "$tests"

sources() { find files autograd nn models data train cli annexes python "$@" -type f \( -name '*.hpp' -o -name '*.cpp' \) 2>/dev/null; }
sources tests | xargs wc -l | awk '$1 > 400 && $2 != "total" { print "advice: " $2 " has " $1 " lines; split it by concept" }'
sources | sed 's/\.[a-z]*$//' | sort -u | sed 's|/[^/]*$||' | uniq -c | while read -r units folder; do
  [ "$units" -le 25 ] || echo "advice: $folder has $units units; make folders by concern"
done
find examples -name '*.cpp' 2>/dev/null | while read -r file; do
  [ "$(wc -l <"$file")" -lt 120 ] || echo "advice: $file has $(wc -l <"$file") lines; an example has at most 119"
done

wrong=0
over() { [ "$2" -le "$3" ] || { echo "$1: has $2 lines; $3 are allowed. Take something away" && wrong=1; }; }
over "main house" "$main" "$main_limit"
over annexes "$annexes" "$annexes_limit"
over all "$all" "$all_limit"
over python "$python" "$python_limit"
over tests "$tests" "$tests_limit"
exit $wrong
