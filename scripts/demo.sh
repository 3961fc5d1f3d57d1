#!/usr/bin/env bash
# Four methods and some of the paper's studies on the built-in sketches, a report of them, and what to try next.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/demo
build/bin/deepvoro evaluate data/quickdraw --method vd,deepvoro,deepvoro++,plda --shots 1,5 \
  --json build/demo/results.json
# A hundred episodes are enough to see what the studies are about.
for study in members shots diagram embedding; do
  build/bin/deepvoro study $study data/quickdraw --episodes 100 --out build/demo/studies >/dev/null
done
build/bin/deepvoro report build/demo build/demo/studies --out build/demo/report.html --pictures data/quickdraw/pictures/novel.tar
cat <<'EOF'

Each row is the mean accuracy over 2000 five-way episodes on classes that the network behind the features never saw.
The last column is the gain over the nearest prototype (vd) on the very same episodes.
The report, with figures, studies of 100 episodes, mistakes and the hardest drawings, opens in any browser: build/demo/report.html
Results, episode by episode: build/demo/results.json

Next:
  make build && build/bin/deepvoro fit my-pictures --out my.dv                   classify pictures: a folder for each class
  build/bin/deepvoro evaluate data/quickdraw --method deepvoro --scheme guided   members chosen on validation classes
  make pipeline-quickdraw                                                        train that network yourself, in minutes
  build/bin/deepvoro store create my-store --novel features.npz                  bring your own features
  build/bin/deepvoro evaluate my-store --method vd,deepvoro --shots 1,5          and compare methods on them
  build/bin/deepvoro report build/demo --tables latex                            tables for a paper
  build/bin/deepvoro --help                                                      everything else
EOF
