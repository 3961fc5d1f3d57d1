#!/usr/bin/env bash
# Unpacks Debian packages of aarch64, with all that they need, into FOLDER: to compile and to run the tests for that processor
# on another one. Changes nothing outside of FOLDER.
# usage: aarch64_sysroot.sh FOLDER PACKAGE...
set -euo pipefail

folder=$1
shift
[ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder"/{apt/lists/partial,apt/cache/archives/partial,root}
folder=$(cd "$folder" && pwd)
touch "$folder/apt/status"
apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$folder/apt" -o Dir::State::status="$folder/apt/status" \
    -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User=root "$@"
}
echo "fetching packages of aarch64 ..." >&2
apt update >"$folder/log"
apt install -y --no-install-recommends --download-only "$@" >>"$folder/log"
for package in "$folder"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
# Links from the root of a file system lead elsewhere from here.
find "$folder/root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do ln -sfn "$folder/root$target" "$link"; done
rm -rf "$folder/apt"
echo "$*" >"$folder/packages"
