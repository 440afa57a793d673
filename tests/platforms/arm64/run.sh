#!/bin/bash
# The twelve profilers, once each, on applications whose truth is known, in an emulated machine of arm64: prints what came of each, and writes it to
# tests/platforms/results/arm64.json. As root on Debian, where tools are missing; some ten minutes of one processor.
# usage: run.sh [SECONDS [NAME...]]      of the emulated part, at most: 660; NAME: of these cases alone
set -euo pipefail
cd "$(dirname "$0")/../../.."
seconds=${1:-660}
names=("${@:2}")
missing=()
command -v qemu-system-aarch64 > /dev/null || missing+=(qemu-system-arm)
command -v cpio > /dev/null || missing+=(cpio)
[ ${#missing[@]} -eq 0 ] || apt-get install -y -q --no-install-recommends "${missing[@]}"
[ -d build/sysroot-arm64 ] || tests/setup/cross.sh arm64
tests/platforms/arm64/machine.sh
tests/platforms/arm64/publish.sh CorpusApp
make --no-print-directory -j2 ARCH=arm64 build/release-aarch64-linux-gnu/drdotnet build/release-aarch64-linux-gnu/libdrdotnet.so
work=build/platforms/arm64/run
mkdir -p "$work"
aarch64-linux-gnu-strip -o "$work/drdotnet" build/release-aarch64-linux-gnu/drdotnet
{ cat tests/platforms/arm64/guest.sh && python3 -m tests.platforms.arm64.judge script "${names[@]}"; } > "$work/script"
echo "emulating arm64, for $seconds seconds at most"
tests/platforms/arm64/boot.sh "$work/script" "$seconds" "$work/drdotnet=/product/drdotnet" \
	build/release-aarch64-linux-gnu/libdrdotnet.so=/product/libdrdotnet.so build/platforms/arm64/apps/CorpusApp=/apps/CorpusApp > "$work/console" ||
	echo "the emulated machine did not end by itself"
python3 -m tests.platforms.arm64.judge verdict "$work/console" tests/platforms/results/arm64.json "${names[@]}"
