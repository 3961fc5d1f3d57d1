#!/usr/bin/env bash
# All studies of the paper on the built-in sketches and on the stores that are named, into one folder, and a report of them.
# usage: paper.sh [STORE...]     OUT, EPISODES and THREADS can be set. What is there already is not made again.
# Features in the plane, for the paper's first figure, come from make pipeline-doublemnist, where that has been run.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-build/paper}
deepvoro=build/bin/deepvoro
flags=(--episodes "${EPISODES:-2000}" --threads "${THREADS:-$(nproc)}" --out "$out")

planes=()
if [ -d build/pipeline-doublemnist/store ]; then
  ln -sfn pipeline-doublemnist/store build/doublemnist
  planes=(build/doublemnist)
fi

for study in members ensemble-size ablation joint surrogate-grid shots outliers embedding time backbones procedures cross-domain; do
  "$deepvoro" study "$study" data/quickdraw "$@" "${flags[@]}"
done
for study in surrogate-pattern diagram; do
  "$deepvoro" study "$study" "${planes[@]}" data/quickdraw "$@" "${flags[@]}"
done
if "$deepvoro" report --help >/dev/null 2>&1; then
  "$deepvoro" report "$out" --out "$out/report.html"
fi
