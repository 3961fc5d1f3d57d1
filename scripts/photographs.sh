#!/usr/bin/env bash
# From photographs to a table: train a network on the base classes, extract features of its views, choose members on val,
# evaluate on novel.
# usage: photographs.sh PICTURES FOLDER [train] [extract] [views] [table] [heads] [members] [sketches] [join]     the first four if none is named
#   PICTURES  holds base, val and novel, each a folder or a .tar with a folder per class
#   FOLDER    gets the model, its logs, the feature store, pools and results; what is there already is not made again
#   views     the accuracy of vd with each view alone, as views.csv
#   heads     s2m2 and dc on the first view, beside vd
#   members   the ensembles of all members, with times
#   sketches  the same network on the sketches that come with the program
#   join      plda with the members of several networks: that of FOLDER and those of NETWORKS, other folders of this script
# PRESET is cub (the default), mini-imagenet, tiered or cifar-fs: size of the pictures, epochs, views and what goes with them. Each of
# BACKBONE, PROCEDURE, SIZE, FIRST_STRIDE, EPOCHS, WEIGHT_DECAY, AVERAGE, VALIDATE_EVERY, VIEWS, SHOTS, EPISODES, DEVICE, THREADS,
# NETWORKS and DEEPVORO (the program) can be set besides.
set -euo pipefail

fail() {
  echo "photographs.sh: $1" >&2
  exit 2
}

# The sizes given, each upright, plain and mirrored.
upright() {
  local size views=()
  for size in "$@"; do views+=("s${size}_r0_f0" "s${size}_r0_f1"); done
  (IFS=,; echo "${views[*]}")
}

[ $# -ge 2 ] || fail "usage: photographs.sh PICTURES FOLDER [STAGE...]; the first lines of the script tell more"
pictures=$1
folder=$2
shift 2
stages=${*:-train extract views table}

preset=${PRESET:-cub}
first_stride=1
average=0
case $preset in
  cub) size=84 epochs=96 weight_decay=1.2e-3 validate_every=16 views=64 ;;
  mini-imagenet) size=84 epochs=45 weight_decay=8e-4 validate_every=5 views=$(upright 84 78 92 100) ;;
  tiered) size=84 epochs=12 weight_decay=5e-4 validate_every=2 views=$(upright 84 78 92 100) ;;
  cifar-fs) size=32 epochs=90 weight_decay=8e-4 validate_every=10 views=$(upright 32 30 36 40) ;;
  *) fail "there is no preset '$preset'; they are cub, mini-imagenet, tiered and cifar-fs" ;;
esac
backbone=${BACKBONE:-wrn-28-10}
device=${DEVICE:-cuda}
threads=${THREADS:-$(nproc)}
episodes=${EPISODES:-2000}
# The last activation of resnet12 lets negative values through.
signed=()
[ "$backbone" != resnet12 ] || signed=(--signed)
root=$(dirname "$0")/..
deepvoro=${DEEPVORO:-$root/build/bin/deepvoro}
model=$folder/model.safetensors
store=$folder/store
mkdir -p "$folder"

evaluate() {
  "$deepvoro" evaluate "$store" "${signed[@]}" --episodes "$episodes" --threads "$threads" "$@"
}

train() {
  [ -f "$model" ] && [ ! -f "$model.partial" ] && return
  "$deepvoro" train "$pictures" --backbone "$backbone" --procedure "${PROCEDURE:-s2m2}" --classifier cosine \
    --size "${SIZE:-$size}" --first-stride "${FIRST_STRIDE:-$first_stride}" --epochs "${EPOCHS:-$epochs}" --batch 128 --rate 0.1 \
    --weight-decay "${WEIGHT_DECAY:-$weight_decay}" --average "${AVERAGE:-$average}" \
    --validate-every "${VALIDATE_EVERY:-$validate_every}" --device "$device" --threads "$threads" --out "$model"
}

extract() {
  "$deepvoro" extract "$pictures" --model "$model" --views "${VIEWS:-$views}" --device "$device" --batch 256 \
    --threads "$threads" --out "$store"
}

views() {
  local view split
  echo "view,split,shots,accuracy,ci95" > "$folder/views.csv"
  for view in $(grep -o '"s[0-9]*_r[0-9]*_f[01]"' "$store/store.json" | tr -d '"'); do
    for split in val novel; do
      evaluate --method vd --view "$view" --split "$split" --shots 1,5 |
        awk -v view="$view" -v split_name="$split" '$1 == "vd" {print view "," split_name "," $2 "," $4 "," $6}' >> "$folder/views.csv"
    done
  done
}

# METHOD SHOTS NAME: chooses members on val, their number too, and leaves NAME.pool.json and NAME.json.
tune_and_evaluate() {
  [ -f "$folder/$3.pool.json" ] ||
    "$deepvoro" tune "$store" "${signed[@]}" --method "$1" --shots "$2" --episodes "$episodes" --threads "$threads" \
      --out "$folder/$3.pool.json"
  evaluate --method "$1" --shots "$2" --scheme guided --pool "$folder/$3.pool.json" --json "$folder/$3.json"
}

table() {
  local shots method before
  for shots in ${SHOTS:-1 5}; do
    evaluate --method vd --shots "$shots" --json "$folder/vd-$shots.json"
    before=vd
    for method in deepvoro deepvoro++ plda; do
      tune_and_evaluate "$method" "$shots" "$method-$shots"
      "$deepvoro" compare "$folder/$before-$shots.json" "$folder/$method-$shots.json"
      before=$method
    done
  done
}

join() {
  local other shots parts=("$(basename "$folder")=$store")
  [ -n "${NETWORKS:-}" ] || fail "set NETWORKS to other folders of this script, whose networks are to be joined with that of $folder"
  for other in $NETWORKS; do parts+=("$(basename "$other")=$other/store"); done
  store=$folder/joined
  [ -d "$store" ] || "$deepvoro" store join "${parts[@]}" --out "$store"
  for shots in ${SHOTS:-1 5}; do tune_and_evaluate plda "$shots" "joined-plda-$shots"; done
}

heads() {
  local shots
  for shots in ${SHOTS:-1 5}; do evaluate --method vd,s2m2,dc --shots "$shots" --json "$folder/heads-$shots.json"; done
}

members() {
  local shots method
  for shots in ${SHOTS:-1 5}; do
    for method in deepvoro deepvoro++; do time evaluate --method "$method" --shots "$shots"; done
  done
}

sketches() {
  "$deepvoro" extract "$root/data/quickdraw/pictures/novel.tar" --split novel --model "$model" --views "$(upright 84 100)" \
    --device "$device" --batch 256 --threads "$threads" --out "$folder/sketches"
  store=$folder/sketches evaluate --method vd,deepvoro --shots 1,5
}

for stage in $stages; do
  case $stage in
    train | extract | views | table | heads | members | sketches | join) "$stage" ;;
    *) fail "there is no stage '$stage'; they are train, extract, views, table, heads, members, sketches and join" ;;
  esac
done
