#!/bin/sh
# self_test.sh: plants one fault at a time in an otherwise good tree and requires that the check sees it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/examples" "$tree/files" "$tree/autograd/kernels" "$tree/autograd/tensor" "$tree/autograd/ops" \
  "$tree/nn" "$tree/models" "$tree/data" "$tree/train" "$tree/tools/cli" "$tree/tests" "$tree/docs"

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

# circle MEMBERS FILE...: with these includes in it, each written "FILE>INCLUDED", include_order names the circle.
circle() {
  members=$1
  shift
  for arrow; do
    mkdir -p "$(dirname "$tree/${arrow%%>*}")"
    printf '#include "gradus/%s"\n' "${arrow##*>}" >>"$tree/${arrow%%>*}"
  done
  if report=$("$here/include_order.sh" "$tree"); then
    echo "include_order: let pass the circle $members" >&2
    exit 1
  fi
  case $report in
    *"that include each other: $members"*) ;;
    *) echo "include_order: did not name the circle $members but said: $report" >&2; exit 1 ;;
  esac
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
printf '#include <CLI/CLI.hpp>\n' >"$tree/tools/cli/options.hpp"
lines 400 >"$tree/tests/long.cpp"
printf '// ./gradus train --json prints it.\nconst char* dashes = " -- ";\nint i = *"a" - --n;\n' >"$tree/train/words.cpp"
printf 'fail("--out must be new");\n' >"$tree/tools/cli/words.cpp"
printf '  .name = "gpt2",\n' >"$tree/models/gpt2.cpp"
printf '  .name = "llama",\n' >"$tree/models/llama.cpp"
printf 'if (name == "gpt2") return "the shape of GPT-2";\n' >"$tree/train/preset.cpp"
printf '      row<&C::lr>("lr", run),\n      row<&C::min_lr>(\n          "min-lr", run),\n' >"$tree/train/settings.cpp"
printf 'const double lr = json.at("lr");\n' >"$tree/train/metrics.cpp"
mkdir -p "$tree/tools/cli/train"
printf 'if (is_given("min-lr")) add_count(verb, "--threads");\n' >"$tree/tools/cli/train/flags.cpp"
yes '#include "gradus/nn/linear.hpp"' | head -n 70 >"$tree/gradus.hpp"
for i in $(seq 24); do touch "$tree/nn/unit$i.hpp" "$tree/nn/unit$i.cpp"; done
good architectures
good include_order
good sizes
good settings
good library_words

bad include_order autograd/kernels/a.cpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order autograd/tensor/a.hpp '#pragma once\n#include "gradus/autograd/ops/ops.hpp"\n'
bad include_order autograd/ops/a.hpp '#include "gradus/nn/linear.hpp"\n'
bad include_order autograd/a.hpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order files/a.cpp '#include "gradus/autograd/tensor/tensor.hpp"\n'
bad include_order autograd/tensor/a.cpp '#include "gradus/files/file.hpp"\n'
bad include_order nn/a.cpp '#include <gradus/models/decoder.hpp>\n'
bad include_order models/a.cpp '#  include "gradus/data/corpus.hpp"\n'
bad include_order data/a.cpp '#include "gradus/nn/linear.hpp"\n'
bad include_order models/a.hpp '#include "../train/trainer.hpp"\n'
bad include_order autograd/tensor/a.cpp '#include <cblas.h>\n'
bad include_order autograd/kernels/a.hpp '#include <cblas.h>\n'
bad include_order nn/a.hpp '#include <nlohmann/json.hpp>\n'
bad include_order train/a.cpp '#include <CLI/CLI.hpp>\n'
bad include_order train/a.cpp '#include "gradus/tools/cases/replay.hpp"\n'
bad include_order train/trainer.cpp '#include "gradus/models/decoder.hpp"\n'
bad include_order tools/a.cpp '#include <CLI/CLI.hpp>\n'
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
"$here/readme_map.sh" "$tree" 2>/dev/null && { echo "readme_map: let pass a map of other includes" >&2; exit 1; }
rm "$tree/models/a.cpp"

# A block of code in a document is run, or says why not.
cat >"$tree/docs/good.md" <<'END'
# A good page, in C++
[itself](#a-good-page-in-c), [another](how-it-is-built.md), [a site](https://example.org/#there)

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
lines 200 >"$tree/README.md"
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
  bad documents README.md "$(lines 201)\n"
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
bad architectures train/a.cpp 'if (config.arch == "gpt2") return;\n'
bad architectures tools/cli/a.cpp 'config.arch = "llama";\n'
bad architectures data/a.cpp 'case Arch::llama: return 1;\n'
bad library_words train/a.cpp 'fail("train", "--out must be a folder, got ", path);\n'
bad library_words data/a.cpp '  fail(kOp, "Hint: use --tokenizer byte.");\n'
bad architectures train/a.cpp 'if (config.arch == "gpt2") return;\n'
bad architectures tools/cli/a.cpp 'config.arch = "llama";\n'
bad architectures data/a.cpp 'case Arch::llama: return 1;\n'
bad library_words train/a.cpp '  fail(op, "must be from 0 to --lr (", lr, ").");\n'
bad sizes data/a.cpp "$(lines 401)\n"
bad sizes tests/a.hpp "$(lines 401)\n"
bad sizes examples/a.cpp "$(lines 120)\n"
touch "$tree/nn/unit25.hpp"
case $("$here/sizes.sh" "$tree") in
  "nn: has 26 units"*) ;;
  *) echo "sizes: let pass a folder of 26 units" >&2; exit 1 ;;
esac
rm "$tree/nn/unit25.hpp"
cp "$tree/gradus.hpp" "$tree/gradus.hpp.good"
echo '#include "gradus/nn/unit1.hpp"' >>"$tree/gradus.hpp"
case $("$here/sizes.sh" "$tree") in
  "gradus.hpp: has 71 public headers"*) ;;
  *) echo "sizes: let pass 71 public headers" >&2; exit 1 ;;
esac
mv "$tree/gradus.hpp.good" "$tree/gradus.hpp"
bad settings train/a.cpp 'json["min-lr"] = 1;\n'
bad settings tools/cli/a.cpp 'add(verb, "--min-lr");\n'
bad settings tools/cli/train/a.cpp '  add_count(verb, "--lr", lr);\n'
printf '      row<&C::rate>("lr", run),\n' >>"$tree/train/settings.cpp"
case $("$here/settings.sh" "$tree") in
  "train/settings.cpp: has two rows with the key lr"*) ;;
  *) echo "settings: let pass two rows with one key" >&2; exit 1 ;;
esac
sed -i '$d' "$tree/train/settings.cpp"
# shellcheck disable=SC2016
bad stated_places docs/page.md 'In `nn/gone.hpp`.\n'
# shellcheck disable=SC2016
bad stated_places README.md 'In `nn/gone.hpp`.\n'
bad stated_places nn/a.hpp '// Parts of b. Private to models.\n'
# shellcheck disable=SC2016
printf 'In `nn/linear.hpp`, `autograd/*/tensor.hpp` and `another/folder.hpp`.\n' >"$tree/README.md"
printf '// Private to nn.\n' >"$tree/nn/a.hpp"
good stated_places
rm "$tree/nn/a.hpp"
good include_order
good sizes
good library_words

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
