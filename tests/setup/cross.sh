#!/bin/bash
# Installs what builds the programs for an architecture, on Debian as root: the compiler and the libraries of that architecture.
# usage: cross.sh amd64|arm64       the machine's own: the same as `install.sh build`
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
arch=${1:-$(dpkg --print-architecture)}
[ "$arch" = "$(dpkg --print-architecture)" ] && exec "$here/install.sh" build
case $arch in
amd64) gnu=x86-64-linux-gnu ;;
arm64) gnu=aarch64-linux-gnu ;;
*) echo "cross.sh: $arch: neither amd64 nor arm64" >&2; exit 2 ;;
esac
dpkg --add-architecture "$arch"
apt-get update
mapfile -t build < <("$here/install.sh" --list build)
packages=("gcc-$gnu" binutils make)
for package in "${build[@]}"; do
	case $package in
	gcc | make) ;;
	uthash-dev | lib*-dev | lib*-evlib-* | zlib1g-dev) packages+=("$package:$arch") ;;
	*) packages+=("$package") ;;
	esac
done
apt-get install -y --no-install-recommends "${packages[@]/uthash-dev:$arch/uthash-dev}"
