#!/bin/sh
# site.sh DOXYGEN DOXYFILE SPHINX SITE SOURCE: the target docs makes its pages without a warning, with the settings in the
# folder SITE from the pages in the folder SOURCE. Prints "skipped: ..." where a tool is not installed.
set -eu
doxygen=$1 doxyfile=$2 sphinx=$3 site=$4 source=$5
if [ ! -x "$doxygen" ] || [ ! -x "$sphinx" ]; then
  echo "skipped: there is no doxygen or no sphinx (Debian: apt-get install doxygen python3-breathe python3-myst-parser furo)"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{ cat "$doxyfile"; echo "OUTPUT_DIRECTORY = $scratch"; echo "GENERATE_HTML = NO"; } >"$scratch/Doxyfile"
"$doxygen" "$scratch/Doxyfile" >/dev/null 2>&1
cp -r "$source" "$scratch/source"
if ! said=$("$sphinx" -q -W --keep-going -c "$site" -D "breathe_projects.gradus=$scratch/xml" \
  "$scratch/source" "$scratch/html" 2>&1); then
  case $said in
    *"Could not import extension"* | *"no theme named"*) echo "skipped: $said" && exit 0 ;;
  esac
  printf '%s\n' "$said"
  exit 1
fi
[ -s "$scratch/html/reference/nn/layers.html" ] || { echo "the reference was not written"; exit 1; }
