#!/bin/sh
# level_symbols.sh NM LEVEL OBJECT...: prints each function and object in the objects of a level of kernels that the linker
# may share with the rest of the program as it lies outside of the level's namespace; exits 1 if there is one. The copy it
# picks could be this one, with instructions that the machine lacks.
set -eu
nm=$1
namespace="gradus::kernels::$2::"
shift 2

symbols=$("$nm" -C --defined-only "$@")
if ! printf '%s\n' "$symbols" | grep -q "$namespace"; then
  echo "nothing of $namespace in $*"
  exit 1
fi
# Sanitizers' builds add data without code: a pointer to the exception handler, and a mark for each object.
shared=$(printf '%s\n' "$symbols" | grep -E '^[0-9a-fA-F]+ [WTiVuDBR] ' | grep -vE ' (DW\.ref\.|__odr_asan\.)' || true)
if printf '%s\n' "$shared" | grep -v -e "$namespace" -e '^$'; then
  exit 1
fi
