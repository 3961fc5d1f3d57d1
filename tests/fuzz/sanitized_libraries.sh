#!/bin/sh
# Debian's zlib, libjpeg-turbo and libzip once more, compiled as the harnesses are, so that a mistake inside them shows too, and
# so that fuzzing sees the ways through them. Harnesses that are linked afterwards carry them.
# usage: sanitized_libraries.sh BUILD     the build folder of the preset fuzz
set -eu
out=$(realpath -m "$1")/libraries
mkdir -p "$out/lists/partial" "$out/parts"
cd "$out"
flags="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -ffunction-sections -O1 -g1"
# Undefined by the letter of the standard, meant by their authors, and without consequences.
flags="$flags -fno-sanitize=shift,alignment,pointer-overflow,function"

for listed in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
  [ ! -s $listed ] || sed -e 's/^Types: deb$/Types: deb-src/' -e 's/^deb /deb-src /' $listed > "parts/source.${listed##*.}"
done
from_source="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$out/parts -o Dir::State::lists=$out/lists"
[ -d libzip-*/ ] || { apt-get -q $from_source update && apt-get -q $from_source source zlib libjpeg-turbo libzip; }

build() {
  name=$1 target=$2
  shift 2
  cmake -S "$(echo "$out/$name"-*/)" -B "$out/build-$name" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS="$flags" -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@"
  cmake --build "$out/build-$name" --target "$target"
  find "$out/build-$name" -name "lib*.a" -exec cp {} "$out" \;
}
# Debian's zlib lacks files that its CMakeLists.txt needs.
[ -f libz.a ] || (cd zlib-*/ && clang $flags -fPIC -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1 -c ./*.c && ar rcs "$out/libz.a" ./*.o)
build libjpeg-turbo jpeg-static -DENABLE_SHARED=OFF -DWITH_SIMD=OFF -DWITH_TURBOJPEG=OFF -DWITH_JPEG8=OFF
build libzip zip -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF
