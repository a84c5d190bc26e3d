#!/usr/bin/env bash
# launcher.sh GRADUS: tries the launcher in a scratch repository, with stubs in place of the compiler,
# cmake, apt-get and the program, so that what it does on other machines can be seen on this one.
# The conditions are expanded where they are tried.
# shellcheck disable=SC2016
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
repo="$scratch/a repository"
mkdir -p "$scratch/tools" "$repo"/{files,autograd,nn,models,data,train/cli,tests}
cp "$1" "$repo/gradus"
touch -d '1 hour ago' "$repo/CMakeLists.txt" "$repo"/*/

for tool in awk bash cat chmod cp dirname env find flock grep head mkdir mv nproc readlink rm sed sort \
  tail touch; do
  ln -s "$(command -v "$tool")" "$scratch/tools/"
done

stub() { { echo '#!/usr/bin/env bash'; cat; } >"$scratch/tools/$1" && chmod +x "$scratch/tools/$1"; }
stub c++ <<'END'
read -r line
case $line in
  __clang_major__*) echo "__clang_major__ 12" ;;
  *CLI*) test ! -e "$STUBS/no-cli11" ;;
esac
END
stub cmake <<'END'
echo "cmake $*" >>"$STUBS/calls"
case $1 in
  --version) echo 'cmake version 3.25.1' ;;
  --build)
    if [[ -e $STUBS/broken ]]; then echo 'main.cpp:1:1: error: planted'; exit 1; fi
    mkdir -p "$2/bin"
    printf '#!/usr/bin/env bash\necho "program in $PWD: $*"\nexit "${2:-0}"\n' >"$2/bin/gradus"
    chmod +x "$2/bin/gradus"
    ;;
esac
END
stub apt-get <<'END'
echo "apt-get $*" >>"$STUBS/calls"
if [[ $* == *install*libcli11-dev* ]]; then rm -f "$STUBS/no-cli11"; fi
if [[ $* == *install*bible* ]]; then exit 100; fi
END
stub ctest <<<'echo "ctest $*"; exit 8'
stub sudo <<<'exec "$@"'
for tool in make pkg-config; do stub $tool <<<'exit 0'; done

# run COMMAND...: sets `status`, `out`, `err` and `calls`, the stubs that were called.
run() {
  : >"$scratch/calls"
  status=0
  (
    cd "$scratch"
    env -u CXX -u GRADUS_CACHE -u GRADUS_NO_INSTALL PATH="$scratch/tools" STUBS="$scratch" "$@"
  ) >"$scratch/out" 2>"$scratch/err" || status=$?
  out=$(<"$scratch/out") err=$(<"$scratch/err") calls=$(<"$scratch/calls")
}

# expect WHAT CONDITION...: ends the test unless the condition, an argument list of [[ ]], holds.
expect() {
  local what=$1
  shift
  if ! eval "[[ $* ]]"; then
    printf 'launcher: %s\n  not so: %s\n  status: %s\n  out: %s\n  err: %s\n  calls: %s\n' \
      "$what" "$*" "$status" "$out" "$err" "$calls" >&2
    exit 1
  fi
}

launcher="$repo/gradus"

run "$launcher" --help
expect 'help neither installs nor builds' '$status == 0 && -z $calls && $out == *"./gradus test"*'

touch "$scratch/no-cli11"
run env GRADUS_NO_INSTALL=1 "$launcher" train
expect 'says what to run' '$status == 2 && $err == *"apt-get install -y libcli11-dev"* && -z $out'
expect 'installs nothing when told not to' '$calls != *apt-get*'

mv "$scratch/tools/apt-get" "$scratch/apt-get"
run "$launcher" train
expect 'names the libraries where there is no apt' '$status == 2 && $err == *CLI11*libcli11-dev* && -z $out'
mv "$scratch/apt-get" "$scratch/tools/apt-get"

touch "$scratch/broken"
run "$launcher" train
expect 'installs what is missing' '$calls == *"apt-get "*"install "*libcli11-dev*'
expect 'goes on without the default text' '$err == *"note: "*bible-kjv*'
expect 'shows the error and the log of a failed build' \
  '$status == 1 && $err == *"error: planted"*"build/build.log"* && -z $out'
rm "$scratch/broken"

run "$launcher" train 7
expect 'builds the program alone, then becomes it' \
  '$status == 7 && $out == "program in $scratch: train 7" && $calls == *"--target gradus_cli"*'

run "$launcher" train
expect 'starts warm without a look at anything' '$status == 0 && -z $calls && -z $err'

ln -s "$launcher" "$scratch/link"
run "$scratch/link" sample
expect 'works through a symlink' '$out == "program in $scratch: sample" && -z $calls'

mkdir -p "$repo/data/cache" && touch "$repo/data/cache/text"
run "$launcher" train
expect 'does not take its cache for a source' '-z $calls'

touch "$repo/autograd/new.cpp"
run "$launcher" train
expect 'builds what has changed' '$calls == *--build* && $out == "program in "*'

touch "$repo/autograd/new.cpp"
run "$launcher" test -R softmax
expect 'builds and runs the tests, with their exit status' \
  '$status == 8 && $calls == *"--target all"* && $out == "ctest "*"-R softmax"'

run "$launcher" train
expect 'has built the program with the tests' '-z $calls'
