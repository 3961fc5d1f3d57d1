#!/usr/bin/env bash
# Installs the Debian packages named as arguments that are not there yet.
set -euo pipefail

missing=()
for package in "$@"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "deepvoro needs these packages, and there is no apt-get to install them: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  run=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  run=(sudo)
else
  echo "deepvoro needs packages that only an administrator can install. Ask for:" >&2
  echo "  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "installing: ${missing[*]}" >&2
"${run[@]}" apt-get update -q >&2
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
