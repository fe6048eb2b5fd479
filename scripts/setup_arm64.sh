#!/usr/bin/env bash
# Puts a Python and a NumPy for arm64 into .build/arm64, and installs the emulator that runs them (Debian's, as root), for the one
# test that judges labs 00, 01, 02 and 04 there. Nothing else needs it: run it by hand, then ARGS="--all --every-lab -k elsewhere".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v qemu-aarch64-static >/dev/null; then
  apt-get update >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends qemu-user-static
fi
place=.build/arm64
rm -rf "$place"
mkdir -p "$place/packages" "$place/root" "$place/site"
dpkg --add-architecture arm64
apt-get update >/dev/null
version=$(.venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
(cd "$place/packages" && apt-get download -q "$version"-minimal:arm64 "lib$version"-minimal:arm64 "lib$version"-stdlib:arm64 \
  libc6:arm64 libexpat1:arm64 zlib1g:arm64 libssl3:arm64 libffi8:arm64 liblzma5:arm64 libbz2-1.0:arm64 libstdc++6:arm64 libgcc-s1:arm64)
for package in "$place"/packages/*.deb; do dpkg -x "$package" "$place/root"; done
.venv/bin/python -m pip install --quiet --no-deps --target "$place/site" --only-binary :all: \
  --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 "$(grep -i '^numpy==' requirements.txt)"
dpkg --remove-architecture arm64 2>/dev/null || true
echo "Ready: $("qemu-aarch64-static" -L "$place/root" "$place/root/usr/bin/$version" -c 'import platform; print(platform.machine())')"
