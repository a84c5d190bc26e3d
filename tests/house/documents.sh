#!/bin/sh
# documents.sh ROOT: prints each block of code in the documents that no test runs (see tests/readme/blocks.awk), each link in them
# that leads to no file or heading, each path of the repository that they name and that is not there, and README if it has more than
# 150 lines; exits 1 if there is one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

# headings PAGE: prints the anchors of its headings, as GitHub makes them.
headings() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

# broken_links PAGE: prints the links that lead nowhere, but for those to other sites.
broken_links() {
  # Backticks of Markdown.
  # shellcheck disable=SC2016
  sed '/^```/,/^```/d' "$1" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -v '^https\{0,1\}:' | while read -r link; do
    page=${link%%#*}
    if [ -z "$page" ]; then page=$1; else page=$(dirname "$1")/$page; fi
    if [ ! -e "$page" ]; then
      echo "$1: links to $link, which is not there"
    elif [ "$link" != "${link#*#}" ] && ! headings "$page" | grep -Fx -e "${link#*#}" >/dev/null; then
      echo "$1: links to $link, which is no heading"
    fi
  done
}

# missing_paths PAGE: prints the paths in it that are not there. One with an asterisk is the files that it matches.
missing_paths() {
  # shellcheck disable=SC2013,SC2016
  for path in $(grep -oE '`(files|autograd|nn|models|data|train|cli|annexes|tests|examples|docs|\.ci)/[A-Za-z0-9_./*-]*`' "$1" | tr -d '`'); do
    [ -e "$path" ] || echo "$1: names $path, which is not there"
  done
}

wrong=$(
  for page in README.md CONTRIBUTING.md data/README.md examples/*.md $(find docs -name '*.md' | sort); do
    [ -e "$page" ] || continue
    awk -f "$here/../readme/blocks.awk" "$page" || true
    broken_links "$page"
  done
  find . -name 'build*' -prune -o -name '*.md' -print | while read -r page; do missing_paths "${page#./}"; done
  lines=$(wc -l <README.md)
  [ "$lines" -le 150 ] || echo "README.md: has $lines lines; 150 are allowed"
)
[ -z "$wrong" ] || { echo "$wrong" && exit 1; }
