#!/bin/sh
# installed.sh CMAKE CXX SOURCE BUILD GRADUS: a build of GRADUS that is not complete must install nothing. Installs BUILD into a
# fresh prefix, moves that, and requires that a consumer builds and runs by find_package and by pkg-config, by the latter with
# every installed header, without warnings; and that the program comes without the library, with what shells and man know of it,
# and works in any folder.
set -eu
cmake=$1 cxx=$2 source=$3 build=$4 gradus=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" -S "$gradus" -B "$scratch/unbuilt" -DCMAKE_CXX_COMPILER="$cxx" -DGRADUS_BUILD_TESTS=OFF >/dev/null
for component in "" "--component program"; do
  # Two words, or none.
  # shellcheck disable=SC2086
  if "$cmake" --install "$scratch/unbuilt" --prefix "$scratch/nothing" $component >"$scratch/refusal" 2>&1; then
    echo "installed what is not built" >&2
    exit 1
  fi
  if ! grep -q 'gradus_installed' "$scratch/refusal" || [ -e "$scratch/nothing" ]; then
    cat "$scratch/refusal" >&2
    exit 1
  fi
done

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
prefix=$scratch/moved

none() {  # none WHAT FOUND: FOUND must be empty.
  [ -z "$2" ] || { echo "$1: $2" >&2; exit 1; }
}
mv "$scratch/first" "$prefix"
none "installed, but only the program's" "$(find "$prefix" -path '*/gradus/cli*' -o -path '*/annexes/*' ! -path '*/annexes/layers*' ! -path '*/annexes/pages' ! -path '*/graph_html.hpp' -o -name 'libgradus_pages*')"

"$cmake" -S "$source" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$scratch/build" >/dev/null
"$scratch/build/consumer"
# It needs neither models nor texts.
none "carried along without being called" \
  "$(nm -C "$scratch/build/consumer" | grep -E 'gradus::(models|data|cases|train::RunFolder)::')"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name gradus.pc)")
export PKG_CONFIG_PATH
{
  (cd "$prefix/include" && find gradus -name '*.hpp' | sed 's/.*/#include "&"/')
  cat "$source/all.cpp"
} >"$scratch/all.cpp"
# The flags are words to split.
# shellcheck disable=SC2046
"$cxx" -Wall -Wextra -Werror "$scratch/all.cpp" -o "$scratch/all" $(pkg-config --cflags --libs --static gradus)
"$scratch/all"

"$cmake" --install "$build" --prefix "$scratch/program" --component program >/dev/null
[ -x "$scratch/program/bin/gradus" ] || exit 0  # built without it
"$gradus/tests/house/run_paths.sh" readelf "$scratch/program"
none "installed with the program" "$(find "$scratch/program" -name '*.hpp' -o -name '*.a' -o -name '*.cmake' -o -name '*.pc')"
for said in bash-completion/completions/gradus zsh/site-functions/_gradus man/man1/gradus.1; do
  [ -s "$scratch/program/share/$said" ] || { echo "not installed: $said" >&2; exit 1; }
done
mkdir "$scratch/work"
cd "$scratch/work"
PATH=$scratch/program/bin:$PATH
gradus train --preset tiny --corpus stories --steps 2 --quiet
gradus sample out/stories-tiny --tokens 5 --prompt "" >/dev/null
