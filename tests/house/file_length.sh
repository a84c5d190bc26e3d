#!/bin/sh
# file_length.sh ROOT: prints each source file under ROOT of more than 400 lines; exits 1 if there is one.
set -eu
cd "$1"

find files autograd nn models data train tools tests -type f \( -name '*.hpp' -o -name '*.cpp' \) -exec awk '
  FNR == 401 { printf "%s: more than 400 lines; split it by concept\n", FILENAME; bad = 1 }
  END { exit bad }
' {} +
