#!/usr/bin/env bash
# launcher.sh GRADUS: tries the launcher in a scratch repository, with stubs in place of the compiler,
# cmake, apt-get and the program, so that what it does on other machines can be seen on this one.
# The conditions are expanded where they are tried.
# shellcheck disable=SC2016
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
repo="$scratch/a repository"
mkdir -p "$scratch/tools" "$repo"/{files,autograd,nn,models,data,train,cli/program,python,tests,examples,docs}
cp "$1" "$repo/gradus"
cp "${1%/*}/cli/program/verbs.def" "$repo/cli/program/"
touch -d '1 hour ago' "$repo"/{CMakeLists.txt,README.md,CONTRIBUTING.md} "$repo"/*/ "$repo"/cli{,/program{,/verbs.def}}

for tool in awk bash cat chmod cp dirname env find flock grep head mkdir mv nproc readlink rm sed sort \
  tail touch; do
  ln -s "$(command -v "$tool")" "$scratch/tools/"
done

stub() { { echo '#!/usr/bin/env bash'; cat; } >"$scratch/tools/$1" && chmod +x "$scratch/tools/$1"; }
stub c++ <<'END'
line=$(cat)  # all of it: who writes on after the end of its reader fails
case $line in
  __clang_major__*) echo "__clang_major__ 12" ;;
  *CLI*) test ! -e "$STUBS/no-cli11" ;;
esac
END
stub cmake <<'END'
echo "cmake $*" >>"$STUBS/calls"
case $1 in
  --version) echo 'cmake version 3.25.1' ;;
  --install) [[ ! -e $STUBS/unwritable ]] || exit 1 ;;
  --build)
    echo "$CMAKE_BUILD_PARALLEL_LEVEL" >"$STUBS/parallel"
    if [[ -e $STUBS/broken ]]; then echo 'main.cpp:1:1: error: planted'; exit 1; fi
    printf '[%3d%%] Building\n' 4 7 26 50 55 100
    mkdir -p "$2/bin" "$2/python/gradus"
    if [[ $4 == gradus_python ]]; then touch "$2/python/gradus/_core.so" && chmod +x "$2/python/gradus/_core.so"; fi
    for name in $([[ $4 == gradus_cli ]] || echo gradus-first) $([[ $4 == gradus_first ]] || echo gradus); do
      printf '#!/usr/bin/env bash\necho "${0##*/} in $PWD: $*"\n[[ ${2:-0} == -* ]] || exit "${2:-0}"\n' >"$2/bin/$name"
      chmod +x "$2/bin/$name"
    done
    ;;
esac
END
stub apt-get <<'END'
echo "apt-get $*" >>"$STUBS/calls"
if [[ $* == *install*libcli11-dev* ]]; then
  rm -f "$STUBS/no-cli11"
  echo '0 upgraded, 2 newly installed, 0 to remove and 3 not upgraded.'
  echo 'Need to get 1,234 kB of archives.'
  echo 'After this operation, 5,678 kB of additional disk space will be used.'
  printf '%s\n' 'Get:1 http://somewhere a' 'Get:2 http://somewhere b' 'Unpacking a' 'Unpacking b' 'Setting up a' 'Setting up b'
fi
if [[ $* == *install*bible* ]]; then exit 100; fi
END
stub ctest <<'END'
if [[ $* == *' -N'* ]]; then printf '  Test #%d: %s\n' 1 a.zsh 2 b 3 c && exit; fi
echo "ctest $*" >>"$STUBS/calls"
echo '    Start 1: a.zsh'
echo '1/3 Test #1: a.zsh ...............   Passed    0.01 sec'
echo '2/3 Test #2: b ...................***Failed    0.02 sec'
echo 'what b said'
echo '    Start 3: c'
echo '3/3 Test #3: c ...................***Skipped   0.01 sec'
echo '67% tests passed, 1 tests failed out of 3'
log=$2/Testing/Temporary/LastTest.log
mkdir -p "${log%/*}"
printf '%s\n' '1/3 Testing: a.zsh' '1/3 Test: a.zsh' '  skipped: there is no zsh' '2/3 Test: b' 'ok' >>"$log"
if [[ $* != *softmax* ]]; then printf '%s\n' '3/3 Test: c' 'skipped: there is no PyTorch' 'skipped: there is no PyTorch' >>"$log"; fi
exit 8
END
stub sudo <<<'exec "$@"'
for tool in make pkg-config; do stub $tool <<<'exit 0'; done

# run COMMAND...: sets `status`, `out`, `err` and `calls`, the stubs that were called.
run() {
  : >"$scratch/calls"
  status=0
  (
    cd "$scratch"
    env -u CXX -u GRADUS_NO_INSTALL PATH="$scratch/tools" STUBS="$scratch" "$@"
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

run "$launcher" trian
expect 'builds nothing for a word that is no verb' \
  '$status == 2 && -z $calls && $err == *"a verb"*"trian"*"--help"* && -z $out'

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
expect 'says how much is installed' \
  '$err == *"2 packages: 1,234 kB"*"on disk: 5,678 kB"*'
expect 'goes on without the default text' '$err == *"note: "*bible-kjv*'
expect 'shows the error and the log of a failed build' \
  '$status == 1 && $err == *"error: planted"*"build/build.log"* && -z $out'
rm "$scratch/broken"

run "$launcher" train 7
expect 'builds what trains, then becomes it' \
  '$status == 7 && $out == "gradus-first in $scratch: train 7" && $calls == *"--target gradus_first"*'
expect 'says what is built' '$err == *"building what trains"*"built in "*'

run "$launcher" train
expect 'starts warm without a look at anything' '$status == 0 && -z $calls && -z $err'

run "$launcher" help train
expect 'help on a verb is the verb'"'"'s own' '$status == 0 && $out == "gradus-first in $scratch: train --help"'

ln -s "$launcher" "$scratch/link"
run "$scratch/link" sample
expect 'works through a symlink' '$out == "gradus-first in $scratch: sample" && -z $calls'

if [[ -e $(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h ]]; then
  run "$launcher" python -c 'import os; print(os.environ["PYTHONPATH"])' more
  expect 'builds the Python package and runs Python with it' \
    '$status == 0 && $calls == *"-DGRADUS_PYTHON=ON"*"--target gradus_python"* && $out == "$repo/build/python"'
  run "$launcher" python -c 'print(7)'
  expect 'runs Python without a build when nothing has changed' '$status == 0 && -z $calls && $out == 7'
fi

touch "$repo/autograd/new.cpp"
run "$launcher" train
expect 'builds what has changed' '$calls == *--build*gradus_first* && $out == "gradus-first in "*'

touch -d '1 hour' "$repo/autograd/future.cpp"
run "$launcher" train
expect 'builds a source dated in the future' '$calls == *--build*'
run "$launcher" train
expect 'builds it once' '$status == 0 && -z $calls'
echo >"$repo/autograd/future.cpp" && touch -d '1 hour' "$repo/autograd/future.cpp"
run "$launcher" train
expect 'builds it when it has changed' '$calls == *--build*'

for name in 'a"b' 'a;b' $'a\nb' $'a\n'; do
  mkdir "$scratch/$name" && cp "$launcher" "$scratch/$name/"
  run "$scratch/$name/gradus" train
  expect 'refuses a path that CMake cannot have' \
    '$status == 2 && -z $calls && $err == *"path of this folder must be without"* && $(wc -l <"$scratch/err") == 1'
done

run env GRADUS_WHOLE=1 GRADUS_LAUNCHER="$launcher" "$launcher" train 3
expect 'builds the whole program and becomes it when the first one asks for it' \
  '$status == 3 && $calls == *"--target gradus_cli"* && $out == "gradus in $scratch: train 3"'
rm "$repo/build/bin/gradus" "$repo"/build/.built-gradus_cli

run "$launcher" bench
expect 'builds the whole program for another verb' '$calls == *"--target gradus_cli"* && $out == "gradus in $scratch: bench"'
expect 'announces what is left to compute once what trains is there' '$err == *"the whole program; about 3 minutes of computing"*'

rm "$repo/build/bin/gradus-first"
run "$launcher" train
expect 'trains with the whole program where that is there' '-z $calls && $out == "gradus in $scratch: train"'

run "$launcher" install --help
expect 'help on what the launcher does builds nothing' '$status == 0 && -z $calls && $out == *"./gradus install"*'
run "$launcher" install --prefix "$scratch/prefix"
expect 'builds what is installed in parallel, without tests, and installs it' \
  '$status == 0 && $calls == *"--target gradus_installed"*"cmake --install "*"build --prefix $scratch/prefix"*'
expect 'announces all of it where nothing is built' '$err == *"the program and the library; about 6 minutes of computing"*'
expect 'compiles as many files at a time as there are cores' '$(<"$scratch/parallel") -ge 1'
run "$launcher" install
expect 'installs without a build when nothing has changed' '$calls == "cmake --install "*'
touch "$scratch/unwritable"
run "$launcher" install
expect 'says how to install without root' '$status == 1 && $err == *"--prefix DIR"*'
rm "$scratch/unwritable"

touch "$repo/autograd/new.cpp"
run "$launcher" test -R softmax
expect 'builds and runs the tests, with their exit status' '$status == 8 && $calls == *"--target all"*"ctest "*"-R softmax"'
expect 'prints what fails, and the end' '$out == "2/3 Test #2: b "*"what b said"*"67% tests passed"* && $out != *"a.zsh"* && $out != *Skipped*'
expect 'says how long it took' '$err == *"gradus: failed; build "*", tests "*" s"*'

expect 'says what was skipped, and why' '$err == *"skipped, in whole or in part:"*"  a.zsh: there is no zsh"*'

run "$launcher" train
expect 'has built the program with the tests' '-z $calls'

for document in README.md docs/page.md; do
  touch "$repo/$document"
  run "$launcher" train
  expect "does not build the program for words in $document" '-z $calls'
  run "$launcher" test
  expect "builds the examples of $document" '$calls == *"--target all"*'
done
run "$launcher" test
expect 'starts the tests warm' '$calls == "ctest "*'
expect 'says once what was skipped, of this run alone' \
  '$(grep -c "^  " <<<"$err") == 2 && $err == *"gradus: skipped,"*"  a.zsh: there is no zsh"*"  c: there is no PyTorch"*'

mkdir "$repo/tests/nn"
run "$launcher" test nn -j 1
expect 'builds and runs the tests of a folder' '$calls == *"--target gradus_room_nn"*"ctest "*"-R ^nn[.] -j 1"*'
run "$launcher" test tests/cli
expect 'names the folders that there are' '$status == 2 && -z $calls && $err == *"got '"'"'tests/cli'"'"'"*"nn/"*'
