#!/usr/bin/env bash
# version.sh ROOT BUILD VERSION PROGRAM: PROGRAM, the manual page, pkg-config's file, find_package's file, the packages and the
# changelog's first heading of a version name the same VERSION.
set -euo pipefail
# names WHAT PATTERN FILE: the first line of FILE that matches PATTERN contains VERSION.
version=$3
names() {
  local line
  line=$(grep -m 1 -- "$2" "$3") || line="no line with $2"
  [[ $line =~ (^|[^0-9.])"$version"($|[^0-9.]) ]] || { echo "$1 must name version $version, got: $line" && exit 1; }
}
names "gradus --version" gradus <("$4" --version)
names "the manual page" '^.TH' "$2/generated_docs/gradus.1"
names gradus.pc '^Version:' "$2/gradus.pc"
names gradusConfigVersion.cmake '^set(PACKAGE_VERSION ' "$2/gradusConfigVersion.cmake"
names "the packages" '^set(CPACK_PACKAGE_VERSION ' "$2/CPackConfig.cmake"
names CHANGELOG.md '^## [0-9]' "$1/CHANGELOG.md"
