#!/bin/bash
# Several processes make the pieces of an evaluation together, then they are put into one result. If a process dies, the
# same command goes on from what is there. For other methods, shots or episodes, change the line with
# 'deepvoro evaluate'. What follows the number of processes is given to mpirun:
#
#   evaluate.sh STORE PIECES RESULT.json PROCESSES [FLAG OF MPIRUN]...
#   evaluate.sh data/quickdraw pieces result.json 8 --host node1:4,node2:4
#   evaluate.sh data/quickdraw pieces result.json 4 --oversubscribe --allow-run-as-root
set -euo pipefail
if [ $# -lt 4 ]; then
  echo "usage: evaluate.sh STORE PIECES RESULT.json PROCESSES [FLAG OF MPIRUN]..." >&2
  exit 2
fi
store=$1 pieces=$2 result=$3 processes=$4

mpirun -n "$processes" "${@:5}" \
  deepvoro evaluate "$store" --method vd,deepvoro --shots 1,5 --threads 1 --shard mpi --out "$pieces"
deepvoro merge "$pieces" --json "$result"
