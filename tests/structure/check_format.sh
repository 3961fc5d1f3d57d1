#!/bin/sh
# usage: check_format.sh REPOSITORY
set -eu
cd "$1"

if ! command -v clang-format >/dev/null; then
  echo "skipped: clang-format is missing; apt-get install clang-format"
  exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "skipped: not a git checkout, so the files of the project cannot be told from others"
  exit 77
fi
git ls-files -z -- '*.cpp' '*.hpp' | xargs -0 -r clang-format --dry-run -Werror
