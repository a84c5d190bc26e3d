#!/bin/sh
# project.sh CMAKE CXX BUILD FILE: installs BUILD into a fresh prefix, builds the project FILE.cmake with FILE.cpp as its main.cpp
# by find_package, and requires that the program prints FILE.txt.
set -eu
cmake=$1 cxx=$2 build=$3 file=$4
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" >/dev/null
mkdir "$scratch/source"
cp "$file.cmake" "$scratch/source/CMakeLists.txt"
cp "$file.cpp" "$scratch/source/main.cpp"
"$cmake" -S "$scratch/source" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
"$cmake" --build "$scratch/build" >/dev/null
"$here/same_output.sh" "$file.txt" "$scratch/build/my_program"
