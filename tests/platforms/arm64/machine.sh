#!/bin/bash
# Brings Debian's kernel for arm64, with a shell and what its .NET needs beside build/sysroot-arm64, into build/platforms/arm64: vmlinuz and system/.
# Packages are downloaded and unpacked, never installed, by an apt of its own.
set -euo pipefail
cd "$(dirname "$0")/../../.."
out=$PWD/build/platforms/arm64
[ ! -s "$out/vmlinuz" ] || [ ! -x "$out/system/bin/busybox" ] || exit 0
mkdir -p build/platforms
work=$(mktemp -d build/platforms/arm64.XXXXXX)
work=$PWD/$work
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,cache/archives,debs,kernel,system}
: > "$work/nothing"
apt() {
	(cd "$work/debs" && apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
		-o Dir::State::status="$work/nothing" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Debug::NoLocking=true "$@")
}
apt update
kernel=$(apt install --simulate --no-install-recommends linux-image-arm64 | sed -n 's/^Inst \(linux-image-[0-9][^ ]*\).*/\1/p' | head -1)
[ -n "$kernel" ] || { echo "machine.sh: apt finds no kernel for arm64" >&2; exit 1; }
apt download "$kernel" busybox-static libstdc++6 libgcc-s1
for deb in "$work"/debs/*.deb; do
	case $deb in
	*/linux-image*) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/kernel" ./boot ;;
	*) dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner -C "$work/system" ;;
	esac
done
mkdir -p "$out"
rm -rf "$out/system"
mv "$work/system" "$out/system"
cp "$work"/kernel/boot/vmlinuz-* "$out/vmlinuz"
