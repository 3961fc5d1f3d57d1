#!/usr/bin/env bash
# Fetches a package by npm, checks it and unpacks it as FOLDER/package.
# usage: npm_package.sh NAME VERSION SHA256 FOLDER
set -euo pipefail

name=$1 version=$2 sha256=$3 folder=$4
archive=$name-$version.tgz
mkdir -p "$folder"
cd "$folder"
npm pack --silent "$name@$version" >/dev/null
echo "$sha256  $archive" | sha256sum --check --quiet
tar xzf "$archive"
