#!/bin/sh
# stated_places.sh ROOT: prints each document under ROOT that names a path of the repository which is not there, and each
# source that says it is private to another folder than its own; exits 1 if there is one.
set -eu
cd "$1"
rooms="files autograd nn models data train cli annexes"

wrong=$(
  find . -name 'build*' -prune -o -name '*.md' -print | sed 's|^\./||' | while read -r document; do
    # The pattern has backquotes of Markdown in it. A path with an asterisk becomes the files that it matches, if any.
    # shellcheck disable=SC2016
    for path in $(grep -oE '`[a-z.]+/[A-Za-z0-9_./*-]*`' "$document" | tr -d '`'); do
      case " $rooms tests examples docs .ci " in *" ${path%%/*} "*) ;; *) continue ;; esac
      [ -e "$path" ] || [ "$path" = data/cache/ ] || echo "$document: names $path, which is not there"
    done
  done
  # shellcheck disable=SC2086
  for room in $rooms; do
    grep -rE '// (.* )?Private to [a-z]+\.' --include='*.hpp' --include='*.cpp' $room || true
  done | sed -E 's/^([^:]*):.*Private to ([a-z]+)\..*/\1 \2/' | while read -r source folder; do
    case /$(dirname "$source")/ in
      */"$folder"/*) ;;
      *) echo "$source: says that it is private to $folder" ;;
    esac
  done
)
[ -z "$wrong" ] || { echo "$wrong" && exit 1; }
