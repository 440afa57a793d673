#!/bin/bash
# Makes the root file system of an image: the programs, the libraries that they are linked with, certificates, names of users.
# No shell, no package manager, nothing setuid. The Dockerfile copies what this makes into an empty image; with any other tool:
#   make && deploy/rootfs.sh agent /tmp/agent && tar -C /tmp/agent -c . | podman import -c 'ENTRYPOINT ["/usr/bin/drdotnet-agent"]' - drdotnet-agent
# usage: rootfs.sh controller|agent|cli FOLDER [BUILD]     FOLDER is made and must not exist; BUILD: default build/release
# The programs may be of another architecture, whose libraries tests/setup/cross.sh has brought.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
role=${1:?controller, agent or cli} root=${2:?folder} build=$(realpath -m "${3:-$here/build/release}")
case $role in
controller | agent) programs=("drdotnet-$role") ;;
cli) programs=(drdotnet kubectl-drdotnet) ;;
*) echo "rootfs.sh: $role: neither controller, agent nor cli" >&2; exit 2 ;;
esac
for program in "${programs[@]}"; do
	[ -x "$build/$program" ] || { echo "rootfs.sh: $build/$program is not built: run make" >&2; exit 1; }
done
case $(readelf -h "$build/${programs[0]}") in
*X86-64*) gnu=x86_64-linux-gnu arch=amd64 ;;
*AArch64*) gnu=aarch64-linux-gnu arch=arm64 ;;
*) echo "rootfs.sh: $build/${programs[0]}: neither of amd64 nor of arm64" >&2; exit 1 ;;
esac
strip=strip sysroot= query=(dpkg-query)
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	strip=$gnu-strip sysroot=$(realpath -m "$here/build/sysroot-$arch")
	query+=("--admindir=$sysroot/var/lib/dpkg")
fi
umask 022
mkdir -p "${root%/*}"
mkdir "$root"
cd "$root"

# merged /usr, as the libraries' paths expect; folders that volumes are mounted on in a read-only root
mkdir -p usr/bin usr/lib usr/lib64 usr/share/doc/drdotnet etc/ssl/certs etc/drdotnet proc sys dev run tmp var/lib/drdotnet var/lib/dpkg/status.d
ln -s usr/lib lib
ln -s usr/lib64 lib64
ln -s ../run var/run
chmod 1777 tmp

for program in "${programs[@]}"; do
	"$strip" --strip-debug -o "usr/bin/$program" "$build/$program"
done
install -m 644 "$here/LICENSE" usr/share/doc/drdotnet/
if [ "$role" != controller ]; then
	mkdir usr/lib/drdotnet
	install -m 644 "$build/libdrdotnet.so" usr/lib/drdotnet/ # one library for glibc's and musl's processes
fi

# The loader and all libraries, by what the programs and they themselves say; libgcc_s is loaded by glibc itself when a thread ends early.
loader=$(readelf -l "$build/${programs[0]}" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
declare -A seen=()
files=()
library() { # NAME
	local file place name
	[ -z "${seen[$1]:-}" ] || return 0
	seen[$1]=1
	for place in "/usr/lib/$gnu" "/lib/$gnu" "/usr/lib" "/lib" "/lib64"; do
		[ -e "$sysroot$place/$1" ] && file=$(realpath "$sysroot$place/$1") && break
	done
	[ -n "${file:-}" ] || { echo "rootfs.sh: $1 is not installed for $arch" >&2; exit 1; }
	[ "$1" = "${loader##*/}" ] && place=$(dirname "$loader") # that one's path is in the programs
	place=$(realpath "$sysroot$place")
	install -D -m 755 "$file" ".${place#"$sysroot"}/$1"
	file=${file#"$sysroot"}
	files+=("$file" "${file#/usr}") # dpkg knows some by their place before /usr was merged
	for name in $(needed "$sysroot$file"); do library "$name"; done
}
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
plugins=()
[ "$role" != controller ] || plugins+=(libwebsockets-evlib_ev.so) # loaded by name, for the link's event loop
for name in libgcc_s.so.1 "${plugins[@]}" $(for program in "${programs[@]}"; do needed "$build/$program"; done) "${loader##*/}"; do library "$name"; done

# Where the libraries come from, as dpkg says it: scanners of images look faults up by it. And their licenses.
license() { # ROOT PACKAGE COMMAND...
	local name=${2%%:*}
	"${@:3}" -s "$2" > "var/lib/dpkg/status.d/$name"
	install -D -m 644 "$1/usr/share/doc/$name/copyright" "usr/share/doc/$name/copyright"
}
for package in $({ "${query[@]}" -S "${files[@]}" 2> /dev/null || true; } | sed 's/: .*//' | sort -u); do license "$sysroot" "$package" "${query[@]}"; done
[ "$role" != controller ] || license "" tzdata dpkg-query
license "" ca-certificates dpkg-query

install -m 644 /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
if [ "$role" = controller ]; then # time zones of triggers' schedules, without the copies that count leap seconds
	cp -a /usr/share/zoneinfo usr/share/
	rm -rf usr/share/zoneinfo/{posix,right,localtime,posixrules}
fi
printf 'root:x:0:0:root:/:/nonexistent\nnonroot:x:65532:65532:nonroot:/:/nonexistent\n' > etc/passwd
printf 'root:x:0:\nnonroot:x:65532:\n' > etc/group
printf 'hosts: files dns\n' > etc/nsswitch.conf

find . -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-0}" {} + # the same input, the same image
