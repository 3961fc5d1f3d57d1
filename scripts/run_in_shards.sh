#!/usr/bin/env bash
# Runs a GoogleTest program, N processes at a time, each with a share of the tests; fails if one of them does.
# usage: run_in_shards.sh N PROGRAM [FLAG...]
set -euo pipefail
at_a_time=$1
shift
# More shares than processes, so that a share of slow tests does not keep everybody waiting.
export GTEST_TOTAL_SHARDS=$((8 * at_a_time))
seq 0 $((GTEST_TOTAL_SHARDS - 1)) |
  xargs -P "$at_a_time" -I{} env GTEST_SHARD_INDEX={} "$@" --gtest_brief=1
