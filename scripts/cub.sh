#!/usr/bin/env bash
# From the photographs of CUB to a table: train a network on the base classes, extract features of all views, choose members on
# val, evaluate on novel.
# usage: cub.sh PICTURES FOLDER [train] [extract] [table]     all three if none is named
#   PICTURES  holds base.tar, val.tar and novel.tar (or folders), a folder per class
#   FOLDER    gets the model, its logs, the feature store, pools and results; what is there already is not made again
# BACKBONE, PROCEDURE, EPOCHS, VIEWS, DEVICE, THREADS and DEEPVORO (the program) can be set.
set -euo pipefail

pictures=$1
folder=$2
shift 2
stages=${*:-train extract table}
backbone=${BACKBONE:-wrn-28-10}
procedure=${PROCEDURE:-s2m2}
device=${DEVICE:-cuda}
threads=${THREADS:-$(nproc)}
# The last activation of resnet12 lets negative values through.
signed=()
[ "$backbone" != resnet12 ] || signed=(--signed)
deepvoro=${DEEPVORO:-$(dirname "$0")/../build/bin/deepvoro}
model=$folder/model.safetensors
store=$folder/store
mkdir -p "$folder"

train() {
  [ -f "$model" ] && [ ! -f "$model.partial" ] && return
  "$deepvoro" train "$pictures" --backbone "$backbone" --procedure "$procedure" --classifier cosine --epochs "${EPOCHS:-130}" \
    --batch 128 --rate 0.1 --validate-every 5 --device "$device" --threads "$threads" --out "$model"
}

extract() {
  "$deepvoro" extract "$pictures" --model "$model" --views "${VIEWS:-64}" --device "$device" --batch 256 \
    --threads "$threads" --out "$store"
}

table() {
  local shots method
  for shots in 1 5; do
    "$deepvoro" evaluate "$store" "${signed[@]}" --method vd --shots "$shots" --threads "$threads" --json "$folder/vd-$shots.json"
    for method in deepvoro deepvoro++; do
      [ -f "$folder/$method-$shots.pool.json" ] ||
        "$deepvoro" tune "$store" "${signed[@]}" --method "$method" --shots "$shots" --threads "$threads" \
          --out "$folder/$method-$shots.pool.json"
      "$deepvoro" evaluate "$store" "${signed[@]}" --method "$method" --shots "$shots" --scheme guided \
        --pool "$folder/$method-$shots.pool.json" --threads "$threads" --json "$folder/$method-$shots.json"
    done
    "$deepvoro" compare "$folder/vd-$shots.json" "$folder/deepvoro-$shots.json"
    "$deepvoro" compare "$folder/deepvoro-$shots.json" "$folder/deepvoro++-$shots.json"
  done
}

for stage in $stages; do
  case $stage in
    train | extract | table) "$stage" ;;
    *)
      echo "cub.sh: there is no stage '$stage'; they are train, extract and table" >&2
      exit 2
      ;;
  esac
done
