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

# Each with its part of the work, in hundredths: what studies have in common is done by the first that needs it.
studies=(members:5 ensemble-size:14 ablation:1 joint:36 surrogate-grid:1 outliers:2 embedding:1 backbones:2 procedures:0 cross-domain:0
         surrogate-pattern:0 diagram:1 shots:2 time:35)

stores_of() {
  case $1 in
    surrogate-pattern | diagram) echo "$digits/doublemnist" ;;
    shots) echo "$digits/doublemnist-conv4" ;;
  esac
  echo data/quickdraw
}

minutes() { printf '%d:%02d min' $(($1 / 60)) $(($1 % 60)); }

scripts/doublemnist/pipeline.sh "$digits"

# What was there already says nothing about the time that is left.
number=0 parts_to_do=100 parts_done=0 busy=0
for entry in "${studies[@]}"; do
  study=${entry%:*} part=${entry#*:}
  left=$([ "$parts_done" -gt 0 ] && echo ", about $(minutes $((busy * parts_to_do / parts_done))) left" || true)
  echo "study $((++number)) of ${#studies[@]}: $study$left" >&2
  mapfile -t stores < <(stores_of "$study")
  start=$SECONDS
  "$deepvoro" study "$study" "${stores[@]}" "$@" "${flags[@]}" >/dev/null
  parts_to_do=$((parts_to_do - part))
  if [ $((SECONDS - start)) -gt 1 ]; then
    busy=$((busy + SECONDS - start)) parts_done=$((parts_done + part))
  fi
done
"$deepvoro" report "$out" --out "$out/report.html" --figures "$out/figures"
echo "$(minutes $SECONDS) in all" >&2
