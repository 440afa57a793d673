#!/bin/bash
# boot.sh SCRIPT SECONDS [FROM=TO]...: runs SCRIPT in Debian's kernel for arm64 under qemu-system-aarch64 (2 CPUs, 4 GB), with the libraries of
# build/sysroot-arm64, busybox, and files or folders copied to their places; its output is the console's. Ends with the script, or after SECONDS.
set -euo pipefail
script=$(realpath "$1") seconds=$2
shift 2
cd "$(dirname "$0")/../../.."
machine=build/platforms/arm64
image=$(mktemp -d "$machine/image.XXXXXX")
trap 'rm -rf "$image" "$image.cpio"' EXIT
lib=lib/aarch64-linux-gnu
mkdir -p "$image"/{bin,proc,sys,dev,tmp,etc,$lib}
cp -a build/sysroot-arm64/usr/$lib/*.so* "$image/$lib/"
cp -a "$machine"/system/lib/. "$machine"/system/usr/lib/. "$image/lib/"
cp -a build/sysroot-arm64/usr/lib/ld-linux-aarch64.so.1 "$image/lib/"
cp "$machine/system/bin/busybox" "$image/bin/"
for name in awk base64 cat date env grep gzip head ip kill ls mkdir mount poweroff ps rm sed seq sh sleep tail tar timeout uname wc; do
	ln -s busybox "$image/bin/$name"
done
for pair; do
	mkdir -p "$image$(dirname "${pair#*=}")"
	cp -aL "${pair%%=*}" "$image${pair#*=}"
done
cp "$script" "$image/script"
cat > "$image/init" << 'I'
#!/bin/sh
export PATH=/bin LD_LIBRARY_PATH=/lib/aarch64-linux-gnu DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 TMPDIR=/tmp HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; ip link set lo up
sh /script 2>&1
poweroff -f
I
chmod +x "$image/init"
(cd "$image" && find . | cpio -o -H newc --quiet) > "$image.cpio"
# The machine's time is counted in instructions, 4 ns each, and passes at once while nothing runs: how busy this one is does not matter to what runs there.
# CPU (neoverse-n1) may name another processor that qemu knows, as "max,pauth-impdef=on" with all there is.
timeout "$seconds" qemu-system-aarch64 -M virt -cpu "${CPU:-neoverse-n1}" -icount shift=2,sleep=off -smp 2 -m 4G -nographic -no-reboot \
	-kernel "$machine/vmlinuz" -initrd "$image.cpio" -append 'console=ttyAMA0 quiet panic=1' < /dev/null
