#!/bin/sh
# architectures.sh ROOT: prints each source outside models/ that names an architecture, which only the registry and the
# files of the architectures do; exits 1 if there is one. A preset may have such a name, and so has llama.cpp's tokenizer.
set -eu
cd "$1"

names=$(sed -nE 's/^ *\.name = "([a-z0-9]+)",$/\1/p' models/*.cpp | paste -sd '|')
[ -n "$names" ] || { echo "models: has no row of an architecture" && exit 1; }
find files autograd nn data train cli annexes -type f \( -name '*.hpp' -o -name '*.cpp' \) -exec awk -v names="\"($names)\"" '
  /[^a-z]name == "|"tokenizer\./ { next }
  $0 ~ names || /Arch::|arch (==|!=) "/ {
    printf "%s:%d: %s: names an architecture; ask its row or the decoder\n", FILENAME, FNR, $0
    bad = 1
  }
  END { exit bad }
' {} +
