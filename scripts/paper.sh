#!/usr/bin/env bash
# All studies of the paper on the built-in sketches, on pairs of digits and on the stores that are named, into one folder, and a
# report of them.
# usage: paper.sh [STORE...]     OUT, EPISODES and THREADS can be set. What is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-build/paper}
deepvoro=build/bin/deepvoro
flags=(--episodes "${EPISODES:-2000}" --threads "${THREADS:-$(nproc)}" --out "$out")

digits=build/digits
scripts/doublemnist/pipeline.sh "$digits"

for study in members ensemble-size ablation joint surrogate-grid outliers embedding time backbones procedures cross-domain; do
  "$deepvoro" study "$study" data/quickdraw "$@" "${flags[@]}"
done
for study in surrogate-pattern diagram; do
  "$deepvoro" study "$study" "$digits/doublemnist" data/quickdraw "$@" "${flags[@]}"
done
"$deepvoro" study shots "$digits/doublemnist-conv4" data/quickdraw "$@" "${flags[@]}"
"$deepvoro" report "$out" --out "$out/report.html" --figures "$out/figures"
