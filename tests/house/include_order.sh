#!/bin/sh
# include_order.sh ROOT: reads the includes of the project under ROOT. Prints each that points up, that goes round in a
# circle, or that brings a third-party library where it does not belong; exits 1 if there is one.
# include_order.sh --map ROOT: prints who includes whom, folder by folder, the lowest first, as docs/how-it-is-built.md shows it.
#
# The order of the folders is at the head of include_order.awk. The files that `gradus new` writes belong to other projects.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
map=0
if [ "$1" = --map ]; then
  map=1
  shift
fi
cd "$1"

# Nor does CMake build the main house from annexes.
if find files autograd nn models data train cli -name CMakeLists.txt ! -path '*/templates/*' -exec cat {} + | grep -E 'annexes/[a-z_]+/'; then
  echo "the main house is built without annexes"
  exit 1
fi
find files autograd nn models data train cli annexes python -path '*/templates/*' -prune -o -type f \( -name '*.hpp' -o -name '*.cpp' \) -print 2>/dev/null | LC_ALL=C sort |
  awk -v map="$map" -f "$here/include_order.awk"
