#!/bin/sh
# self_test.sh: plants one fault at a time in an otherwise good tree and requires that the check sees it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/files" "$tree/autograd/kernels" "$tree/nn" "$tree/models" "$tree/data" "$tree/train" "$tree/tools/cli" "$tree/tests"

# good CHECK: the tree passes.
good() {
  "$here/$1.sh" "$tree" || { echo "$1: refused a good tree" >&2; exit 1; }
}

# bad CHECK FILE CONTENT: the check fails because of FILE, and names it.
bad() {
  printf '%b' "$3" >"$tree/$2"
  if report=$("$here/$1.sh" "$tree"); then
    echo "$1: let pass $2: $3" >&2
    exit 1
  fi
  case $report in
    "$2":*) ;;
    *) echo "$1: did not name $2 but said: $report" >&2; exit 1 ;;
  esac
  rm "$tree/$2"
}

lines() { yes '// line' | head -n "$1"; }

printf '#include <cblas.h>\n#include "gradus/files/error.hpp"\n' >"$tree/autograd/kernels/gemm.cpp"
printf '#include "gradus/autograd/tensor.hpp"\n' >"$tree/nn/linear.hpp"
printf '#include <nlohmann/json.hpp>\n#include "gradus/data/corpus.hpp"\n' >"$tree/train/trainer.cpp"
printf '#include <CLI/CLI.hpp>\n' >"$tree/tools/cli/options.hpp"
lines 400 >"$tree/tests/long.cpp"
good include_order
good file_length

bad include_order autograd/kernels/a.cpp '#include "gradus/autograd/tensor.hpp"\n'
bad include_order autograd/a.hpp '#pragma once\n#include "gradus/nn/linear.hpp"\n'
bad include_order files/a.cpp '#include "gradus/autograd/tensor.hpp"\n'
bad include_order autograd/a.cpp '#include "gradus/files/file.hpp"\n'
bad include_order nn/a.cpp '#include <gradus/models/gpt.hpp>\n'
bad include_order models/a.cpp '#  include "gradus/data/corpus.hpp"\n'
bad include_order data/a.cpp '#include "gradus/nn/linear.hpp"\n'
bad include_order models/a.hpp '#include "../train/trainer.hpp"\n'
bad include_order autograd/a.cpp '#include <cblas.h>\n'
bad include_order autograd/kernels/a.hpp '#include <cblas.h>\n'
bad include_order nn/a.hpp '#include <nlohmann/json.hpp>\n'
bad include_order train/a.cpp '#include <CLI/CLI.hpp>\n'
bad include_order train/a.cpp '#include "gradus/tools/replay.hpp"\n'
bad include_order tools/a.cpp '#include <CLI/CLI.hpp>\n'
bad include_order nn/a.cpp '#include <catch2/catch.hpp>\n'
bad file_length nn/a.cpp "$(lines 401)\n"
good include_order
good file_length

# level_symbols reads what nm prints, so a listing may take the place of objects.
printf '#!/bin/sh\nshift 2\ncat "$@"\n' >"$tree/nm"
chmod +x "$tree/nm"

# symbols LINE: level_symbols on a listing with this line beside a good one.
symbols() {
  printf '%s\n' '0000 T gradus::kernels::v3::table()' "$1" >"$tree/listing"
  "$here/level_symbols.sh" "$tree/nm" v3 "$tree/listing" >/dev/null
}

symbols '0001 t local()' || { echo "level_symbols: refused a local symbol" >&2; exit 1; }
for type in T W V u i; do
  if symbols "0001 $type std::max(float, float)"; then
    echo "level_symbols: let pass a shared symbol of type $type" >&2
    exit 1
  fi
done
