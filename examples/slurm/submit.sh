#!/bin/bash
# Sends an array job (evaluate.sbatch), and a job that merges when all its tasks are done. Where a task fails, nothing is merged: the same
# command again makes what is missing.
#
#   submit.sh STORE PIECES RESULT.json SHARES
set -euo pipefail
if [ $# -ne 4 ]; then
  echo "usage: submit.sh STORE PIECES RESULT.json SHARES" >&2
  exit 2
fi
if ! command -v sbatch >/dev/null; then
  echo "submit.sh: there is no sbatch here; run it where Slurm is installed, or start the shares yourself (docs/SCALE.md)" >&2
  exit 3
fi
store=$1 pieces=$2 result=$3 shares=$4
here=$(dirname "$0")

array=$(STORE=$store PIECES=$pieces SHARES=$shares \
  sbatch --parsable --array="0-$((shares - 1))" "$here/evaluate.sbatch")
sbatch --job-name=deepvoro-merge --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --wrap="$(printf 'deepvoro merge %q --json %q' "$pieces" "$result")"
