#!/bin/sh
# usage: check_tidy.sh REPOSITORY BUILD
set -eu
repository=$1
build=$2
jobs=$(nproc)

if ! command -v clang-tidy >/dev/null; then
  echo "skipped: clang-tidy is missing; apt-get install clang-tidy"
  exit 77
fi
# The compile database may hold warning flags that only GCC knows.
# Clang refuses the headers of Debian's LibTorch as C++20; what includes them is left to GCC's warnings.
find "$repository/src" -name '*.cpp' -not -path '*/backbone/torch/*' -print0 |
  xargs -0 -n 1 -P "$jobs" clang-tidy -p "$build" --quiet --use-color=false \
    --extra-arg=-Wno-unknown-warning-option
