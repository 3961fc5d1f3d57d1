#!/bin/bash
# One share of an evaluation for each rank, then one result. The program is not linked with MPI: it
# only asks which rank it is. mpirun starts the ranks and waits for them.
#
#   evaluate.sh STORE PIECES RESULT.json RANKS
set -euo pipefail
store=$1 pieces=$2 result=$3 ranks=$4

mpirun -n "$ranks" deepvoro evaluate "$store" --method vd,deepvoro --shots 1,5 --threads 1 --shard auto --out "$pieces"
deepvoro merge "$pieces" --json "$result"
