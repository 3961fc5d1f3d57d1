#!/bin/bash
# Several processes make the pieces of an evaluation together, then they are put into one result. If a process dies, the
# same command goes on from what is there.
#
#   evaluate.sh STORE PIECES RESULT.json PROCESSES
set -euo pipefail
store=$1 pieces=$2 result=$3 processes=$4

mpirun -n "$processes" deepvoro evaluate "$store" --method vd,deepvoro --shots 1,5 --threads 1 --shard mpi --out "$pieces"
deepvoro merge "$pieces" --json "$result"
