#!/bin/sh
# include_order.sh ROOT: prints each include of the rooms under ROOT that points up, or that brings a
# third-party library where it does not belong; exits 1 if there is one.
#
#   kernels <- autograd <- nn <- models <- train      autograd <- data <- train <- tools      files <- data, nn, train
set -eu
cd "$1"

find files autograd nn models data train tools -type f \( -name '*.hpp' -o -name '*.cpp' \) -exec awk '
  BEGIN {
    sees["files"] = " files "
    sees["kernels"] = " kernels "
    sees["autograd"] = " kernels autograd "
    sees["nn"] = " files kernels autograd nn "
    sees["models"] = " files kernels autograd nn models "
    sees["data"] = " files kernels autograd data "
    sees["train"] = " files kernels autograd nn models data train "
    sees["tools"] = " files kernels autograd nn models data train tools "
  }
  function room_of(path, part) {
    if (path ~ /^autograd\/kernels\//) return "kernels"
    split(path, part, "/")
    return part[1]
  }
  function complain(why) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, why
    bad = 1
  }
  !/^[ \t]*#[ \t]*include/ { next }
  {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    room = room_of(FILENAME)
    is_header = FILENAME ~ /\.hpp$/
  }
  name ~ /\.\.\// { complain("an include is written gradus/<room>/<file>, without ..") }
  name ~ /^gradus\// {
    path = substr(name, 8)
    if ((room == "kernels" || room == "autograd") && path == "files/error.hpp") next
    if (!index(sees[room], " " room_of(path) " ")) complain(room " may include only:" sees[room])
  }
  name ~ /^(cblas|openblas_config)\.h$/ && !(room == "kernels" && !is_header) {
    complain("BLAS belongs in autograd/kernels/*.cpp")
  }
  name ~ /^nlohmann\// && is_header { complain("nlohmann-json belongs in .cpp files") }
  name ~ /^CLI\// && FILENAME !~ /^tools\/cli\// { complain("CLI11 belongs in tools/cli") }
  name ~ /^catch/ { complain("Catch2 belongs in tests") }
  END { exit bad }
' {} +
