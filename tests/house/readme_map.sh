#!/bin/sh
# readme_map.sh ROOT: requires that the map in docs/how-it-is-built.md is what include_order.sh --map prints.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
expected=$("$here/include_order.sh" --map "$1")
shown=$(sed -n '/^<!-- map: /,/^<!-- end of map -->/p' "$1/docs/how-it-is-built.md" | sed '/^<!--/d; /^```/d; /^$/d')
if [ "$shown" != "$expected" ]; then
  echo "docs/how-it-is-built.md must show this map:" >&2
  echo "$expected" >&2
  exit 1
fi
