#!/usr/bin/env bash
# Installs a package of `make deb` in a bare Debian bookworm and uses it as somebody would who has nothing else: fit and predict on
# pictures, a program in C++ by find_package, a script in Python. As root; debootstrap makes the bare system, which is kept in
# DEBIAN_BASE (default: below the temporary folder) for the next time.
#
# usage: test_deb.sh PACKAGE.deb
set -euo pipefail
[ $# = 1 ] && [ -f "$1" ] || { echo "usage: test_deb.sh PACKAGE.deb" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "test_deb.sh needs root: it makes a Debian system and works inside of it" >&2; exit 2; }
package=$(realpath "$1")
repository=$(cd "$(dirname "$0")/../.." && pwd)
base=${DEBIAN_BASE:-${TMPDIR:-/tmp}/deepvoro-bookworm}

if [ ! -e "$base/etc/debian_version" ]; then
  command -v debootstrap >/dev/null || { echo "test_deb.sh needs debootstrap: apt-get install debootstrap" >&2; exit 2; }
  debootstrap --variant=minbase --include=ca-certificates bookworm "$base" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/deepvoro-deb.XXXX")
root=$work/root
leave() {
  umount "$root/proc" 2>/dev/null || true
  if grep -q " $work/" /proc/self/mounts; then
    echo "$work is still mounted, left in place" >&2
  else
    rm -rf --one-file-system "$work"
  fi
}
trap leave EXIT
cp -a --reflink=auto "$base" "$root"
mount -t proc proc "$root/proc"
for file in /etc/resolv.conf /etc/hosts; do
  if [ -f "$file" ]; then cp -L "$file" "$root$file"; fi
done
inside() {
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} bash -euc "$1"
}
mkdir -p "$root/try"
cp "$package" "$root/try/deepvoro.deb"
mkdir "$root/try/sketches" "$root/try/store"
tar xf "$repository/data/quickdraw/pictures/novel.tar" -C "$root/try/sketches"
cp -r "$repository"/data/quickdraw/{store.json,base,val,novel} "$root/try/store"

echo "--- without what is suggested: all but training, CUDA and TorchScript modules" >&2
inside 'apt-get update -q && apt-get install -y -q --no-install-recommends /try/deepvoro.deb' >"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" >&2; exit 1; }
inside 'cd /try && deepvoro --version && deepvoro evaluate store --method vd --episodes 50 >/dev/null'
inside 'cd /try
  deepvoro fit sketches --views 1 --out sketches.dv
  deepvoro predict sketches.dv sketches/angel/007.png | tail -1 | grep -q "^sketches/angel/007.png,angel,"'
status=0
inside 'cd /try && mkdir -p few/base && cp -r sketches/angel sketches/axe few/base && deepvoro train few --out model.safetensors' \
  2>"$work/without" || status=$?
if [ "$status" != 3 ] || [ "$(wc -l <"$work/without")" != 1 ] || ! grep -q 'apt-get install libtorch[0-9.]*' "$work/without"; then
  echo "without LibTorch, train must end with 3 and one line that names its package, not with $status and:" >&2
  cat "$work/without" >&2
  exit 1
fi

echo "--- with compilers" >&2
inside 'apt-get install -y -q --no-install-recommends g++ make cmake man-db' \
  >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" >&2; exit 1; }
inside 'cd /try
  man -w deepvoro deepvoro-fit >/dev/null
  test -s /usr/share/doc/deepvoro/copyright -a -s /usr/share/bash-completion/completions/deepvoro'
inside 'cd /try && mkdir program && cp /usr/share/doc/deepvoro/examples/photographs.cpp program
  printf "%s\n" "cmake_minimum_required(VERSION 3.25)" "project(program LANGUAGES CXX)" "find_package(deepvoro REQUIRED)" \
    "add_executable(program photographs.cpp)" "target_link_libraries(program PRIVATE deepvoro::deepvoro)" >program/CMakeLists.txt
  cmake -S program -B program/build >/dev/null && cmake --build program/build >/dev/null
  program/build/program few/base sketches/angel/007.png | tee /dev/stderr | grep -q "^007.png: angel, probably$"'
inside 'cd /try && python3 -c "
import deepvoro
answer = deepvoro.Classifier.load(\"sketches.dv\").predict([\"sketches/angel/007.png\"])[0]
print(answer)
assert answer.label == \"angel\"
print(deepvoro.evaluate(\"store\", [\"vd\", \"deepvoro\"], shots=5, episodes=100))"'
inside 'apt-get remove -y -q deepvoro >/dev/null && ! test -e /usr/bin/deepvoro -o -e /usr/lib/python3/dist-packages/deepvoro'
echo "the package works" >&2
