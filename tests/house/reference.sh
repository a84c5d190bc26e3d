#!/bin/sh
# reference.sh DOXYGEN DOXYFILE: the reference can be made without a warning: every public name is documented, every link
# leads somewhere, every header stands on the page of its room or floor. Then plants a header and a page with what is missing
# most easily, and requires that each is named. Prints "skipped: ..." where there is no Doxygen.
set -eu
doxygen=$1 doxyfile=$2
if [ ! -x "$doxygen" ]; then
  echo "skipped: there is no doxygen (Debian: apt-get install doxygen)"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# without_page DOXYFILE: the groups that headers are put in and that no page describes, which Doxygen passes over.
without_page() {
  sed -n 's/.*"\([^"]*\.dox\)".*/\1/p' "$1" | xargs -d '\n' cat | awk '
    match($0, /[\\]ingroup [a-z_]+/) { asked[substr($0, RSTART + 9, RLENGTH - 9)] }
    match($0, /[\\]defgroup [a-z_]+/) { described[substr($0, RSTART + 10, RLENGTH - 10)] }
    END { for (group in asked) if (!(group in described)) print "no \\defgroup describes " group }'
}

# warnings_of DOXYFILE: what Doxygen has to say, one warning a line, and what it should.
warnings_of() {
  without_page "$1"
  { cat "$1"; echo "OUTPUT_DIRECTORY = $scratch"; } >"$scratch/Doxyfile"
  "$doxygen" "$scratch/Doxyfile" 2>&1
}

if ! warnings=$(warnings_of "$doxyfile") || [ -n "$warnings" ]; then
  printf '%s\n' "$warnings"
  exit 1
fi
[ -s "$scratch/html/index.html" ] || { echo "nothing was written"; exit 1; }

mkdir -p "$scratch/gradus/nn"
cat >"$scratch/gradus/nn/planted.hpp" <<'END'
// Planted: a header with gaps.
#pragma once

namespace gradus::nn {

class Bare {
 public:
  int method();
};

/// Has an undocumented method, and members.
class Planted {
 public:
  /// Documented.
  void first();
  void second();
  int one, other;
  int known, too;  ///< two in a line
};

/// Documented; so is its overload.
void overloaded(int x);
void overloaded(double x);
void lonely(int x);

}  // namespace gradus::nn
END
cat >"$scratch/planted.dox" <<'END'
/** \page planted Planted
\ref nowhere, \nonsense */
/** \file gradus/nn/planted.hpp
\ingroup homeless */
END
{
  cat "$doxyfile"
  echo "INPUT += \"$scratch/gradus/nn/planted.hpp\""
  echo "INPUT += \"$scratch/planted.dox\""
} >"$scratch/planted.doxyfile"
warnings=$(warnings_of "$scratch/planted.doxyfile") || true

for gap in "Compound gradus::nn::Bare" "Member second" "Member one" "Member other" "Member lonely" nowhere nonsense homeless; do
  case $warnings in
    *"$gap"*) ;;
    *) printf 'not named: %s, only: %s\n' "$gap" "$warnings"; exit 1 ;;
  esac
done
case $warnings in
  *"Member first"* | *"Member known"* | *"Member too"* | *"Member overloaded"*)
    printf 'named without reason: %s\n' "$warnings"
    exit 1
    ;;
esac
