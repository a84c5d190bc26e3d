#!/bin/sh
# self_test.sh: plants one fault at a time in an otherwise good tree and requires that the check sees it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/examples" "$tree/files" "$tree/autograd/kernels" "$tree/autograd/tensor" "$tree/autograd/ops" \
  "$tree/nn" "$tree/models" "$tree/data" "$tree/train" "$tree/cli" "$tree/annexes/layers" "$tree/python" "$tree/tests" "$tree/docs"

# passes COMMAND..., fails PATTERN COMMAND...: the command succeeds, or fails and says what the pattern matches. `fault` is what
# was planted, for the message.
fault=
passes() {
  said=$("$@" 2>&1) || { printf '%s: refused what is right%s\n%s\n' "$*" "$fault" "$said"; exit 1; } >&2
}
fails() {
  pattern=$1
  shift
  if said=$("$@" 2>&1); then
    printf '%s: let pass a fault%s\n' "$*" "$fault" >&2
    exit 1
  fi
  # shellcheck disable=SC2254  # It is a pattern.
  case $said in
    $pattern) ;;
    *) printf '%s: must say %s%s, said:\n%s\n' "$*" "$pattern" "$fault" "$said" >&2 && exit 1 ;;
  esac
}

# good CHECK: the tree passes.
good() { passes "$here/$1.sh" "$tree"; }

# bad CHECK FILE CONTENT: the check fails because of FILE, and names it.
bad() {
  printf '%b' "$3" >"$tree/$2"
  fault=": $3"
  fails "$2:*" "$here/$1.sh" "$tree"
  fault=
  rm "$tree/$2"
}

# circle MEMBERS FILE...: with these includes in it, each written "FILE>INCLUDED", include_order names the circle.
circle() {
  members=$1
  shift
  for arrow; do
    mkdir -p "$(dirname "$tree/${arrow%%>*}")"
    printf '#include "gradus/%s"\n' "${arrow##*>}" >>"$tree/${arrow%%>*}"
  done
  fails "*that include each other: $members*" "$here/include_order.sh" "$tree"
  for arrow; do rm -f "$tree/${arrow%%>*}"; done
}

lines() { yes '// line' | head -n "$1"; }

printf '#pragma once\n' >"$tree/files/error.hpp"
printf '#include <cblas.h>\n#include "gradus/files/error.hpp"\n' >"$tree/autograd/kernels/gemm.cpp"
printf '#pragma once\n' >"$tree/autograd/tensor/tensor.hpp"
printf '#include "gradus/autograd/tensor/tensor.hpp"\n' >"$tree/autograd/ops/sum.cpp"
printf '#include "gradus/autograd/tensor/tensor.hpp"\n' >"$tree/nn/linear.hpp"
printf '#include <nlohmann/json.hpp>\n#include "gradus/data/corpus.hpp"\n' >"$tree/train/recipe.cpp"
printf '#include "gradus/models/decoder.hpp"\n' >"$tree/train/decoder.cpp"
printf '#include <CLI/CLI.hpp>\n' >"$tree/cli/options.hpp"
printf '#include "gradus/nn/linear.hpp"\n' >"$tree/gradus.hpp"
lines 4000 >"$tree/nn/long.cpp"
good include_order
good lines

# to_read FILE...: the page of the core names these.
# shellcheck disable=SC2016  # Backticks of Markdown.
to_read() { printf '| 1 | `%s` | what |\n' "$@" >"$tree/docs/core.md"; }
to_read nn/linear.hpp files/error.hpp
good reading_order
to_read nn/linear.hpp nn/gone.hpp
fails '*nn/gone.hpp, which is not there*' "$here/reading_order.sh" "$tree"
to_read nn/long.cpp
fails '*4000 lines*' "$here/reading_order.sh" "$tree"
to_read nn/a.cpp
bad reading_order nn/a.cpp '#include <immintrin.h>\n'
bad reading_order nn/a.cpp '#include "gradus/autograd/kernels/isa/isa.hpp"\n'
rm "$tree/docs/core.md"

bad include_order autograd/kernels/a.cpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order autograd/tensor/a.hpp '#pragma once\n#include "gradus/autograd/ops/ops.hpp"\n'
bad include_order autograd/a.hpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order files/a.cpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order autograd/tensor/a.cpp '#include "gradus/files/file.hpp"\n'
bad include_order nn/a.cpp '#include <gradus/models/decoder.hpp>\n'
bad include_order data/a.cpp '#include "gradus/nn/linear.hpp"\n'
bad include_order models/a.hpp '#include "../train/trainer.hpp"\n'
bad include_order autograd/kernels/a.hpp '#include <cblas.h>\n'
bad include_order nn/a.hpp '#include <nlohmann/json.hpp>\n'
bad include_order train/a.cpp '#include <CLI/CLI.hpp>\n'
printf 'file(READ annexes/pages/frame.html page)\n' >"$tree/nn/CMakeLists.txt"
fails '*the main house is built without annexes*' "$here/include_order.sh" "$tree"
rm "$tree/nn/CMakeLists.txt"
bad include_order train/a.cpp '#include "gradus/annexes/bench/measure.hpp"\n'
bad include_order nn/a.cpp '#include "gradus/annexes/layers/convolution.hpp"\n'
bad include_order nn/a.cpp '#include <pybind11/pybind11.h>\n'
bad include_order train/a.cpp '#include "gradus/python/object.hpp"\n'
bad include_order annexes/layers/a.cpp '#include "gradus/annexes/bench/measure.hpp"\n'
bad include_order train/trainer.cpp '#include "gradus/models/decoder.hpp"\n'
bad include_order nn/a.cpp '#include <catch2/catch.hpp>\n'
circle "nn/a nn/b" 'nn/a.cpp>nn/b.hpp' 'nn/b.hpp>nn/a.hpp' 'nn/a.hpp>nn/a.hpp'
circle "nn/a nn/b nn/c nn/d" 'nn/a.hpp>nn/b.hpp' 'nn/b.hpp>nn/c.hpp' 'nn/c.hpp>nn/d.hpp' 'nn/d.cpp>nn/a.hpp' \
  'nn/d.hpp>nn/d.hpp'
circle "train train/cli" 'train/a.cpp>train/cli/b.hpp' 'train/cli/b.hpp>train/c.hpp' 'train/c.hpp>train/c.hpp'
circle "nn/a nn/b nn/c" 'nn/a.hpp>nn/b.hpp' 'nn/b.hpp>nn/c.hpp' 'nn/c.hpp>nn/a.hpp'
map=$("$here/include_order.sh" --map "$tree")
case $map in
  *"autograd/ops                     -> autograd/tensor"*"nn                               -> autograd/tensor"*) ;;
  *) echo "include_order: drew another map: $map" >&2; exit 1 ;;
esac
# shellcheck disable=SC2016  # Backticks of Markdown.
printf '<!-- map: -->\n\n```text\n%s\n```\n\n<!-- end of map -->\n' "$map" >"$tree/docs/how-it-is-built.md"
good readme_map
printf '#include "gradus/nn/linear.hpp"\n' >"$tree/models/a.cpp"
fails '*must show this map*' "$here/readme_map.sh" "$tree"
rm "$tree/models/a.cpp"

# A block of code in a document is run, or says why not.
cat >"$tree/docs/good.md" <<'END'
# A good page, in C++
[itself](#a-good-page-in-c), [another](how-it-is-built.md), [a site](https://example.org/#there), `nn/linear.hpp`, `nn/*.hpp`, `our/own.hpp`

```console
$ ./gradus train
```
```cmake
project(it)
```
```cpp
int main() {}
```

It prints

```text
```
<!-- not run: a part of a program -->

```cpp
int x;
```
END
lines 150 >"$tree/README.md"
mkdir "$tree/docs/book"
good documents
# shellcheck disable=SC2016  # Backticks of Markdown.
{
  bad documents docs/a.md '```cpp\nint x;\n```\n'
  bad documents docs/a.md '```cpp\nint x;\n```\n<!-- not run: too long -->\n```text\n1\n```\n'
  bad documents docs/a.md '```cpp\nint x;\n```\n```console\n$ ls\n```\n```text\n1\n```\n'
  bad documents docs/a.md '```cmake\nproject(it)\n```\n```console\n$ ls\n```\n'
  bad documents docs/a.md '```text\n1\n```\n'
  bad documents docs/a.md '```\n1\n```\n'
  bad documents docs/a.md ' ```console\n$ ls\n ```\n'
  bad documents docs/a.md '<!-- not run: why -->\nA sentence.\n```js\n1\n```\n'
  bad documents docs/a.md '```console\n$ ls\n'
  bad documents CONTRIBUTING.md '```python\n1\n```\n'
  bad documents docs/a.md '# A\n[b](b.md)\n'
  bad documents docs/a.md '# A\n[b](#b)\n'
  bad documents docs/book/a.md '# A\n[b](good.md)\n'
  bad documents docs/a.md '# A\n[b](good.md#a)\n'
  bad documents docs/a.md 'In `nn/gone.hpp`.\n'
  bad documents README.md "$(lines 151)\n"
}
printf '#pragma once\nclass Linear;  // not Bilinear\n' >"$tree/nn/linear.hpp"
# shellcheck disable=SC2016
{
  for name in '`Bilinear`' '`train::Linear`' '`Linear`, `nn::Bilinear(2, 3)`'; do
    bad pytorch_names docs/coming-from-pytorch.md "| a | $name |\n"
  done
  printf '| `Bilinear` | `nn::Linear(2, g)`, `x < "some"` | `another` |\n' >"$tree/docs/coming-from-pytorch.md"
}
good pytorch_names
# too_long FILE LINES WHAT: with so many lines in FILE, lines.sh says that WHAT has too many.
too_long() {
  mkdir -p "$(dirname "$tree/$1")"
  lines "$2" >"$tree/$1"
  fails "*$3: has * lines; * are allowed*" "$here/lines.sh" "$tree"
  rm "$tree/$1"
}
too_long nn/a.cpp 60000 'main house'
too_long annexes/pages/a.cpp 20000 annexes
too_long python/a.cpp 20000 python
too_long tests/a.cpp 60000 tests
lines 401 >"$tree/nn/a.cpp"
good lines
case $said in *'advice: nn/a.cpp has 401 lines'*) ;; *) echo "lines.sh: gave no advice" >&2 && exit 1 ;; esac
rm "$tree/nn/a.cpp"
# run_paths reads programs: a real one, if there is a compiler, and listings in the place of readelf's.
mkdir "$tree/bin"
# shellcheck disable=SC2016
printf '#!/bin/sh\ncat "$2"\n' >"$tree/readelf"
chmod +x "$tree/readelf"
run_path() {
  printf ' 0x01 (NEEDED) Shared library: [libz.so.1]\n 0x1d (%s)  Library %s: [%s]\n' "$1" "$1" "$2" >"$tree/bin/a.so"
  "$here/run_paths.sh" "$tree/readelf" "$tree/bin"
}
# shellcheck disable=SC2016
for path in /usr/lib '/a:$ORIGIN/../lib'; do passes run_path RUNPATH "$path"; done
for path in '' /a: :/a /a::/b . lib ../lib:/a; do
  for kind in RPATH RUNPATH; do fails 'a.so:*' run_path "$kind" "$path"; done
done
if command -v cc >/dev/null && command -v readelf >/dev/null; then
  cc -shared -nostdlib -x c /dev/null -Wl,-rpath,/a: -o "$tree/bin/a.so"
  fails 'a.so:*' "$here/run_paths.sh" readelf "$tree/bin"
fi
rm -r "${tree:?}/bin"

# headers compiles: beside others, a header that does without the one that it uses.
mkdir -p "$tree/include/gradus/autograd/tensor" "$tree/include/gradus/nn"
cd "$tree/include/gradus"
printf '#pragma once\nstruct A {};\n' >nn/a.hpp
printf '#pragma once\n#include "gradus/nn/a.hpp"\nstruct Tensor { A a; };\n' >autograd/tensor/tensor.hpp
printf '#pragma once\n#include "gradus/autograd/tensor/tensor.hpp"\nstruct B { Tensor t; };\n' >nn/b.hpp
printf '#pragma once\n#include "gradus/nn/b.hpp"\nstruct C { Tensor t; B b; };\n' >nn/c.hpp
printf '#include "gradus/%s.hpp"\n' nn/a autograd/tensor/tensor nn/b nn/c >gradus.hpp
headers() { "$here/headers.sh" "$tree/include" "$tree/known" "${CXX:-c++}"; }
if command -v "${CXX:-c++}" >/dev/null; then
  passes headers
  for header in nn/b.hpp autograd/tensor/tensor.hpp; do
    cp $header kept
    sed -i 2d $header
    fails "*must compile on their own:*$header*" headers
    mv kept $header
  done
  passes headers
fi
cd "$here"

# level_symbols reads what nm prints, so a listing may take the place of objects.
printf '#!/bin/sh\nshift 2\ncat "$@"\n' >"$tree/nm"
chmod +x "$tree/nm"

# symbols LINE: level_symbols on a listing with this line beside a good one.
symbols() {
  printf '%s\n' '0000 T gradus::kernels::v3::table()' "$1" >"$tree/listing"
  "$here/level_symbols.sh" "$tree/nm" v3 "$tree/listing"
}

passes symbols '0001 t local()'
for type in T W V u i; do fails '*max*' symbols "0001 $type std::max(float, float)"; done
printf '0001 T other()\n' >"$tree/listing"
fails 'nothing of*' "$here/level_symbols.sh" "$tree/nm" v3 "$tree/listing"

# script FILE: a program of the lines on the standard input.
script() {
  mkdir -p "$(dirname "$tree/$1")"
  { echo '#!/bin/sh' && cat; } >"$tree/$1"
  chmod +x "$tree/$1"
}

root=$here/../..
mkdir -p "$tree/launcher/cli/program"
cp "$root/gradus" "$tree/launcher/"
printf 'GRADUS_VERB(first, train, "Train")\nGRADUS_VERB(full, look, "Look at it")\n' >"$tree/launcher/cli/program/verbs.def"
help() { printf 'cat <<"END"\nSubcommands:\n  train  Train\n%s\n\nEND\n' "$1"; }
verbs() { "$here/launcher_verbs.sh" "$tree/launcher/gradus" "$tree/whole" "$tree/core"; }
help '' | script core
help '  look   Look at it' | script whole
passes verbs
help '  look   Look' | script whole
fails '*the launcher*' verbs
help '' | script whole
fails '*the launcher*' verbs
help '  look   Look at it' | tee "$tree/kept" | script whole
script core <"$tree/kept"
fails '*the launcher*' verbs

cp "$root/cli/program/verbs.def" "$tree/launcher/cli/program/"
# The launcher of another behaviour: its test ends at the first thing that is not so.
for fault in '/^set -e/s/$/; cmake --version/' 's/missing+=(libcli11-dev)/:/'; do
  sed "$fault" "$root/gradus" >"$tree/launcher/gradus"
  fails 'launcher: *not so:*' "$here/launcher.sh" "$tree/launcher/gradus"
done
fault=

mkdir -p "$tree/build/generated_docs"
version() { "$here/version.sh" "$tree" "$tree/build" 1.2.3 "$tree/program"; }
echo 'echo gradus 1.2.3' | script program
echo '.TH gradus 1 "" "gradus 1.2.3"' >"$tree/build/generated_docs/gradus.1"
echo 'Version: 1.2.3' >"$tree/build/gradus.pc"
echo 'set(PACKAGE_VERSION "1.2.3")' >"$tree/build/gradusConfigVersion.cmake"
echo 'set(CPACK_PACKAGE_VERSION "1.2.3")' >"$tree/build/CPackConfig.cmake"
printf '# Changelog\n## 1.2.3 - a day\n## 1.2.2\n' >"$tree/CHANGELOG.md"
passes version
for file in program build/generated_docs/gradus.1 build/gradus.pc build/gradusConfigVersion.cmake build/CPackConfig.cmake CHANGELOG.md; do
  cp "$tree/$file" "$tree/kept"
  sed -i 's/1\.2\.3/1.2.4/' "$tree/$file"
  fails '*must name version 1.2.3*' version
  cp "$tree/kept" "$tree/$file"
done
for other in 11.2.3 1.2.3.4; do
  echo "echo gradus $other" | script program
  fails '*must name version 1.2.3*' version
done

# An emulator that only says that it is one.
script tools/qemu-x86_64 <<'END'
shift 2
EMULATED=1 exec "$@"
END
old_cpu() { PATH=$tree/tools:$PATH "$here/old_cpu.sh" "$tree/program"; }
# shellcheck disable=SC2016
written() { printf 'while [ "$1" != --out ]; do shift; done\nmkdir "$2"\n%s >"$2/model.safetensors"\n' "$1"; }
written 'echo bits' | script program
passes old_cpu
# shellcheck disable=SC2016
written 'echo "${EMULATED:-other} bits"' | script program
fails '*differ*' old_cpu
# shellcheck disable=SC2016
{ echo '[ ! "${EMULATED:-}" ] || exit 132' && written 'echo bits'; } | script program
fails '*' old_cpu

# What a program prints, and what a page says that it prints.
readme=$here/../readme
same() { "$readme/same_output.sh" "$tree/printed" printf "$1"; }
printf 'loss 0.123456 of\n 7 1.5e-05\n' >"$tree/printed"
for text in 'loss 0.123456 of 7 1.5e-05' 'loss 0.123461\nof 7  1.503e-05\n'; do passes same "$text"; done
for text in 'loss 0.124456 of 7 1.5e-05' 'loss 0.123456 of 8 1.5e-05' 'loss 0.123456 of 7 0.000015' 'loss 0.123456 of 7' \
  'loss 0.1234567891 of 7 1.5e-05' 'loss 0.123456 of 7 1.5e-05 more' 'loss -0.123456 of 7 1.5e-05'; do
  fails '*' same "$text"
done
fails '*' "$readme/same_output.sh" "$tree/printed" sh -c 'printf "loss 0.123456 of 7 1.5e-05"; exit 1'

# A project that is built from a page: by a cmake that writes the program.
script tools/cmake <<'END'
case $1 in
  --build) printf '#!/bin/sh\necho 2.5\n' >"$2/my_program" && chmod +x "$2/my_program" ;;
  -S) [ -e "$2/main.cpp" ] && [ -e "$2/CMakeLists.txt" ] && mkdir "$4" ;;
esac
END
touch "$tree/page_1.cpp" "$tree/page_1.cmake"
project() { "$readme/project.sh" "$tree/tools/cmake" c++ "$tree/build" "$tree/page_1"; }
echo 2.5 >"$tree/page_1.txt" && passes project
echo 2.6 >"$tree/page_1.txt" && fails '*2.6*' project
rm "$tree/page_1.cpp" && fails '*' project

# The commands of a page.
mkdir -p "$tree/data" "$tree/tests/annexes/cases/replay"
touch "$tree/README.md" "$tree/CONTRIBUTING.md" "$tree/data/README.md" "$tree/tests/annexes/cases/replay/example.json"
ln -s "$readme" "$tree/tests/readme"
script program <<'END'
[ "$1" != broken ] || exit 1
mkdir -p gpt2 && touch gpt2/config.json gpt2/model.safetensors
END
# page LINE...: the commands of a page with these lines in a block.
page() {
  { echo '```console' && printf '%s\n' "$@" && echo '```'; } >"$tree/docs/page.md"
  "$readme/commands.sh" "$tree/program" "$tree" docs/page.md
}
passes page '$ ./gradus train' '$ ls out/my'
fails '*this command fails*' page '$ ./gradus train' '$ ./gradus broken'
fails '*this command fails*' page '$ ./gradus broken | cat'
fails '*must have commands*' page 'out'
