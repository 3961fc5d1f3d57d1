#!/bin/bash
# Sends an array job, and a job that merges when all its tasks are done.
#
#   submit.sh STORE PIECES RESULT.json TASKS
set -euo pipefail
store=$1 pieces=$2 result=$3 tasks=$4
here=$(dirname "$0")

array=$(STORE=$store PIECES=$pieces sbatch --parsable --array="0-$((tasks - 1))" "$here/evaluate.sbatch")
sbatch --job-name=deepvoro-merge --dependency="afterok:$array" \
  --wrap="$(printf 'deepvoro merge %q --json %q' "$pieces" "$result")"
