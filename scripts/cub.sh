#!/usr/bin/env bash
# From the photographs of CUB to a table: train a network on the base classes, extract features of all views, choose members on
# val, evaluate on novel.
# usage: cub.sh PICTURES FOLDER [train] [extract] [table] [members] [sketches]     the first three if none is named
#   PICTURES  holds base.tar, val.tar and novel.tar (or folders), a folder per class
#   FOLDER    gets the model, its logs, the feature store, pools and results; what is there already is not made again
#   members   the ensembles of all members, with times
#   sketches  the network that knows birds, on the sketches that come with the program
# BACKBONE, PROCEDURE, EPOCHS, WEIGHT_DECAY, VALIDATE_EVERY, VIEWS, SHOTS, DEVICE, THREADS and DEEPVORO (the program) can be set.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: cub.sh PICTURES FOLDER [STAGE...]; the first lines of the script tell more" >&2
  exit 2
fi

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
root=$(dirname "$0")/..
deepvoro=${DEEPVORO:-$root/build/bin/deepvoro}
model=$folder/model.safetensors
store=$folder/store
mkdir -p "$folder"

train() {
  [ -f "$model" ] && [ ! -f "$model.partial" ] && return
  "$deepvoro" train "$pictures" --backbone "$backbone" --procedure "$procedure" --classifier cosine --epochs "${EPOCHS:-96}" \
    --batch 128 --rate 0.1 --weight-decay "${WEIGHT_DECAY:-1.2e-3}" --validate-every "${VALIDATE_EVERY:-16}" --device "$device" --threads "$threads" --out "$model"
}

extract() {
  "$deepvoro" extract "$pictures" --model "$model" --views "${VIEWS:-64}" --device "$device" --batch 256 \
    --threads "$threads" --out "$store"
}

table() {
  local shots method
  for shots in ${SHOTS:-1 5}; do
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

members() {
  local shots method
  for shots in ${SHOTS:-1 5}; do
    for method in deepvoro deepvoro++; do
      time "$deepvoro" evaluate "$store" "${signed[@]}" --method "$method" --shots "$shots" --threads "$threads"
    done
  done
}

sketches() {
  "$deepvoro" extract "$root/data/quickdraw/pictures/novel.tar" --split novel --model "$model" \
    --views s84_r0_f0,s84_r0_f1,s100_r0_f0,s100_r0_f1 \
    --device "$device" --batch 256 --threads "$threads" --out "$folder/sketches"
  "$deepvoro" evaluate "$folder/sketches" "${signed[@]}" --method vd,deepvoro --shots 1,5 --threads "$threads"
}

for stage in $stages; do
  case $stage in
    train | extract | table | members | sketches) "$stage" ;;
    *)
      echo "cub.sh: there is no stage '$stage'; they are train, extract, table, members and sketches" >&2
      exit 2
      ;;
  esac
done
