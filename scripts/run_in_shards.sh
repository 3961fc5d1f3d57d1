#!/usr/bin/env bash
# Runs a GoogleTest program as N processes side by side, each with its share of the tests; fails if one of them does.
# usage: run_in_shards.sh N PROGRAM [FLAG...]
set -euo pipefail
shards=$1
shift
export GTEST_TOTAL_SHARDS=$shards
running=()
for ((shard = 0; shard < shards; ++shard)); do
  GTEST_SHARD_INDEX=$shard "$@" --gtest_brief=1 &
  running+=($!)
done
status=0
for process in "${running[@]}"; do
  wait "$process" || status=1
done
exit $status
