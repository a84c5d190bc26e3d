#!/bin/sh
# library_words.sh ROOT: prints each text in the libraries under ROOT that speaks of a flag of the command line, which
# they know nothing of; exits 1 if there is one. They name the field as an Option, and cli says which flag that is. The
# table of settings has the help of the flags.
set -eu
cd "$1"

find files autograd nn models data train -type f \( -name '*.hpp' -o -name '*.cpp' \) ! -path train/settings.cpp -exec awk '
  { sub(/^[ \t]*\/\/.*/, "") }
  /"([^"]*[^-"a-zA-Z])?--[a-z]+[^"]*"/ { printf "%s:%d: %s: a library names fields, not flags\n", FILENAME, FNR, $0; bad = 1 }
  END { exit bad }
' {} +
