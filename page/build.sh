#!/bin/sh
# Bundles the page: FOLDER/index.html and FOLDER/assets with hashed names.
# usage: build.sh ESBUILD FOLDER
set -eu

esbuild=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder/assets"
"$esbuild" "$here/source/main.ts" --bundle --minify --target=chrome105,firefox110,safari16 --charset=utf8 --log-level=warning \
  --outdir="$folder/assets" --entry-names='[name]-[hash]'
script=$(basename "$folder"/assets/main-*.js)
style=$(basename "$folder"/assets/main-*.css)
icon=icon-$(sha256sum "$here/icon.svg" | cut -c 1-8).svg
cp "$here/icon.svg" "$folder/assets/$icon"
sed -e "s/@script@/$script/" -e "s/@style@/$style/" -e "s/@icon@/$icon/" "$here/index.html" > "$folder/index.html"
