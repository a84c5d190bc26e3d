#!/bin/sh
# subdirectory.sh CMAKE CXX SOURCE GRADUS: requires that a project which adds gradus as a subdirectory
# configures, gets no tests or install rules of gradus, keeps its own build type and flags; that gradus is
# optimised there unless the project says how; and that gradus/gradus.hpp gives all that it should.
set -eu
cmake=$1 cxx=$2 source=$3 gradus=$4
unset CMAKE_BUILD_TYPE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

configure() {  # configure OPTION...
  "$cmake" -S "$source" -B "$scratch" -DCMAKE_CXX_COMPILER="$cxx" -DGRADUS_SOURCE_DIR="$gradus" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >/dev/null
}
configure

require() {
  "$@" || { echo "not so: $*" >&2; exit 1; }
}
require grep -q '^CMAKE_BUILD_TYPE:STRING=$' "$scratch/CMakeCache.txt"
require test -d "$scratch/gradus/include/gradus/autograd"
require test ! -e "$scratch/gradus/gradusConfig.cmake"
require test ! -e "$scratch/gradus/tests"
targets=$("$cmake" --build "$scratch" --target help)
case $targets in
  *gradus_cli* | *gradus_pages* | *gradus_tests*) echo "targets that nobody asked for: $targets" >&2; exit 1 ;;
esac

# The headers of all of gradus are there before anything is built.
"$cxx" -std=c++20 -E -I "$scratch/gradus/include" "$source/all.cpp" >/dev/null

# optimised FILE: how the last -O in the command that compiles FILE says.
optimised() {
  grep '"command":' "$scratch/compile_commands.json" | grep -E -- "-c [^ ]*/$1\"" | grep -oE -- ' -O[^ ]*' | tail -n 1
}
require test "$(optimised main.cpp)" = ""
require test "$(optimised nn/layers.cpp)" = " -O3"
require test "$(optimised autograd/ops/products/matmul.cpp)" = " -O3"
require test "$(optimised autograd/kernels/blas/gemm.cpp)" = " -O3"
require test "$(optimised "gradus_kernels_[^/]*/Unity/unity_0_cxx.cxx")" = " -O3"
configure -DCMAKE_BUILD_TYPE=Debug
require test "$(optimised nn/layers.cpp)" = ""
configure -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-O1
require test "$(optimised nn/layers.cpp)" = " -O1"
