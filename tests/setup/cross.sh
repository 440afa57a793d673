#!/bin/bash
# Brings what builds the programs for an architecture, on Debian: the compiler, installed (as root), and the libraries of that architecture, unpacked
# below build/sysroot-ARCH with a list of their packages as dpkg keeps it. They are never installed: the development packages of two architectures exclude
# each other, and an emulator would find libraries of the other one in this machine's own folders.
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
tools=("gcc-$gnu" binutils make) libraries=()
list=$("$here/install.sh" --list build)
for package in $list; do
	case $package in
	gcc | make) ;;
	uthash-dev | lib* | zlib1g-dev) libraries+=("$package") ;;
	*) tools+=("$package") ;;
	esac
done
missing=()
for package in "${tools[@]}"; do
	[[ $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) = *' installed' ]] || missing+=("$package")
done
install() { apt-get install -y --no-install-recommends "${missing[@]}"; }
[ ${#missing[@]} -eq 0 ] || install || { apt-get update && install; }

build=$here/../../build
mkdir -p "$build"
sysroot=$(cd "$build" && pwd)/sysroot-$arch
work=$(mktemp -d "$sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
new=$work/new database=$work/new/var/lib/dpkg
# An apt of that architecture alone, on whose machine nothing is installed yet; its sources and keys are this machine's.
mkdir -p "$work"/{lists,cache/archives,debs} "$new"/usr/{lib,lib64,bin,sbin} "$database/info"
: > "$work/nothing"
apt() {
	(cd "$work/debs" && apt-get -q -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o APT::Sandbox::User= \
		-o Dir::State::status="$work/nothing" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Debug::NoLocking=true "$@")
}
apt update
mapfile -t all < <(apt install --simulate --no-install-recommends "${libraries[@]}" | sed -n 's/^Inst \([^: ]*\).*/\1/p')
wanted=()
for package in "${all[@]}"; do # no programs: perl and python, for the scripts of some
	case $package in libperl* | libpython* | *-bin | *-perl) ;; gcc-*-base | lib* | linux-libc-dev | zlib1g* | uthash-dev) wanted+=("$package") ;; esac
done
[ ${#wanted[@]} -gt 0 ] || { echo "cross.sh: apt finds no packages for $arch" >&2; exit 1; }
apt download "${wanted[@]}"

for folder in lib lib64 bin sbin; do ln -s "usr/$folder" "$new/$folder"; done
echo 1 > "$database/info/format"
for file in "$work"/debs/*.deb; do
	dpkg-deb --fsys-tarfile "$file" | tar -x --no-same-owner --keep-directory-symlink -C "$new"
	name=$(dpkg-deb -f "$file" Package)
	[ "$(dpkg-deb -f "$file" Multi-Arch)" != same ] || name+=:$(dpkg-deb -f "$file" Architecture)
	dpkg-deb --fsys-tarfile "$file" | tar -t | sed 's|^\.||; s|/$||; s|^$|/.|' > "$database/info/$name.list"
	{ dpkg-deb -f "$file" | sed '1a Status: install ok installed' && echo; } >> "$database/status"
done
find "$new" -type l -lname '/*' -printf '%P\t%l\n' | while IFS=$'\t' read -r link to; do ln -sfrn "$new$to" "$new/$link"; done
rm -rf "$sysroot"
mv "$new" "$sysroot"
echo "cross.sh: make ARCH=$arch finds ${#wanted[@]} packages of $arch in $sysroot"
