#!/usr/bin/env bash
# README's first picture, which is the paper's first figure: pairs of digits in the plane.
# usage: first_figure.sh FILE.svg
set -euo pipefail
file=$(realpath "$1")
cd "$(dirname "$0")/../.."

scripts/doublemnist/pipeline.sh build/digits
for study in surrogate-pattern diagram; do
  build/bin/deepvoro study "$study" build/digits/doublemnist --out build/first-figure
done
build/bin/deepvoro report build/first-figure --figures build/first-figure
cp build/first-figure/first-figure.svg "$file"
