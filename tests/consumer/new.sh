#!/bin/sh
# new.sh CXX CMAKE BUILD: installs BUILD into a fresh prefix, and requires that the project which `gradus new` writes there builds
# against it, passes its tests and trains.
set -eu
export CXX="$1" GRADUS_NO_INSTALL=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$2" --install "$3" --prefix "$scratch/a prefix" >/dev/null
cd "$scratch"
"a prefix/bin/gradus" new "a model"
"a model/run" >log 2>&1 || { cat log && exit 1; }
grep -q '100% tests passed' log || { cat log && exit 1; }
