#!/usr/bin/env bash
# headers.sh INCLUDE KNOWN COMPILER [FLAG...]: each header that INCLUDE/gradus/gradus.hpp includes compiles on its own. Prints the
# errors of those that do not; exits 1 if there is one. The file KNOWN remembers what passed, so that only what has changed is
# compiled again.
#
# All includes of a header come before its code, so its code sees the same whether it is compiled alone or after some of the headers
# that its own includes lead to. Hence headers of which each leads to the one before are compiled together, a chain, and after a
# precompiled header (most of the time goes by in the standard library) to which the first of them leads.
set -euo pipefail
include=$1 known=$2
shift 2
compiler=("$@" -std=c++20 -O0 -I "$include")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
touch "$known"

# check BASE HEADER...: compiles the headers as one unit, after the precompiled BASE unless that is "-".
check() {
  local -a first=()
  if [[ $1 != - ]]; then
    first=(-include "$scratch/${1//\//_}")
    if [[ ! -e ${first[1]} ]]; then
      echo "#include \"gradus/$1\"" >"${first[1]}"
      "${compiler[@]}" -x c++-header "${first[1]}" -o "${first[1]}.gch" 2>/dev/null || true  # it has a chain of its own
    fi
  fi
  printf '#include "gradus/%s"\n' "${@:2}" | "${compiler[@]}" "${first[@]}" -fsyntax-only -x c++ -
}

cd "$include/gradus"
version=$("$1" --version)
status=0
while IFS='|' read -r base chain files; do
  # shellcheck disable=SC2086  # Paths have no spaces.
  line="$chain $({ echo "$version ${compiler[*]}" && cat $chain $files; } | cksum)"
  if grep -qxF -- "$line" "$known"; then continue; fi
  # shellcheck disable=SC2086
  if check "$base" $chain 2>"$scratch/errors"; then
    echo "$line" >>"$known"
  else
    echo "these must compile on their own: $chain"
    head -n 20 "$scratch/errors"
    status=1
  fi
done < <(awk -v common=autograd/tensor/tensor.hpp '
  function read_includes(file, line) {
    if (file in includes) return
    includes[file] = ""
    while ((getline line < file) > 0)
      if (line ~ /^[ \t]*#[ \t]*include[ \t]*"gradus\//) {
        gsub(/^[^"]*"gradus\/|".*/, "", line)
        includes[file] = includes[file] " " line
      }
    close(file)
  }
  # leads[from, x], size[from] and all[from]: each x that `from` leads to, their number, and a list of them.
  function reach(from, file, parts, n, i) {
    read_includes(file)
    n = split(includes[file], parts, " ")
    for (i = 1; i <= n; ++i)
      if (!((from, parts[i]) in leads)) {
        leads[from, parts[i]] = 1
        ++size[from]
        all[from] = all[from] " " parts[i]
        reach(from, parts[i])
      }
  }
  BEGIN {
    read_includes("gradus.hpp")
    count = split("gradus.hpp" includes["gradus.hpp"], headers, " ")
    for (h = 1; h <= count; ++h) {
      reach(headers[h], headers[h])
      base[headers[h]] = (headers[h], common) in leads ? common : "-"
    }
    # Those that lead to few headers first; each joins the chain of its base whose last leads to most.
    for (wanted = 0; wanted <= count; ++wanted)
      for (h = 1; h <= count; ++h) {
        if (size[headers[h]] + 0 != wanted) continue
        best = 0
        for (c = 1; c <= chains; ++c)
          if ((headers[h], last[c]) in leads && base[headers[h]] == base[last[c]] && (!best || size[last[c]] > size[last[best]])) best = c
        if (!best) best = ++chains
        chain[best] = chain[best] " " (last[best] = headers[h])
      }
    for (c = 1; c <= chains; ++c) print base[last[c]] "|" substr(chain[c], 2) "|" all[last[c]]
  }')
exit $status
