#!/bin/sh
# run_paths.sh READELF FOLDER: no program or plug-in below FOLDER looks for its libraries in a folder that depends on where it is
# started: each entry of RPATH and RUNPATH begins with / or $ORIGIN. An empty entry is the current folder.
set -eu
readelf=$1 folder=$2
command -v "$readelf" >/dev/null || { echo "skipped: there is no readelf"; exit 77; }
files=$(find "$folder" -type f \( -perm -u+x -o -name '*.so*' \))
[ "$files" ] || { echo "$folder: must have programs, got none"; exit 1; }
# shellcheck disable=SC2016
bad=$(echo "$files" | while read -r file; do
  "$readelf" -d "$file" 2>/dev/null | sed -n 's/.*(R\(UN\)\{0,1\}PATH).*\[\(.*\)\]$/\2/p' | tr ':' '\n' |
    grep -v -e '^/' -e '^\$ORIGIN' | sed "s|.*|${file#"$folder"/}: looks for libraries in '&', which must begin with / or \$ORIGIN|"
done)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
