#!/bin/sh
# subdirectory.sh CMAKE CXX SOURCE GRADUS: requires that a project which adds gradus as a subdirectory
# configures, gets no tests or install rules of gradus, and keeps its own build type and flags.
set -eu
cmake=$1 cxx=$2 source=$3 gradus=$4
unset CMAKE_BUILD_TYPE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" -S "$source" -B "$scratch" -DCMAKE_CXX_COMPILER="$cxx" -DGRADUS_SOURCE_DIR="$gradus" >/dev/null

require() {
  "$@" || { echo "not so: $*" >&2; exit 1; }
}
require grep -q '^CMAKE_BUILD_TYPE:STRING=$' "$scratch/CMakeCache.txt"
require test -d "$scratch/gradus/include/gradus/autograd"
require test ! -e "$scratch/gradus/gradusConfig.cmake"
require test ! -e "$scratch/gradus/tests"
targets=$("$cmake" --build "$scratch" --target help)
case $targets in
  *gradus_cli* | *gradus_tests*) echo "targets that nobody asked for: $targets" >&2; exit 1 ;;
esac
