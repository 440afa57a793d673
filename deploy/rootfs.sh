#!/bin/bash
# Makes the root file system of an image: the program, the libraries that it is linked with, certificates, names of users.
# No shell, no package manager, nothing setuid. The Dockerfiles copy what this makes into an empty image; with any other tool:
#   make && deploy/rootfs.sh agent /tmp/agent && tar -C /tmp/agent -c . | podman import -c 'ENTRYPOINT ["/usr/bin/drdotnet-agent"]' - drdotnet-agent
# usage: rootfs.sh controller|agent FOLDER [BUILD]     FOLDER is made and must not exist; BUILD: default build/release
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
role=${1:?controller or agent} root=${2:?folder} build=${3:-$here/build/release}
case $role in controller | agent) ;; *) echo "rootfs.sh: $role: neither controller nor agent" >&2; exit 2 ;; esac
program=$build/drdotnet-$role
[ -x "$program" ] || { echo "rootfs.sh: $program is not built: run make" >&2; exit 1; }
umask 022
mkdir "$root"
cd "$root"

# merged /usr, as the libraries' paths expect; folders that volumes are mounted on in a read-only root
mkdir -p usr/bin usr/lib usr/lib64 usr/share/doc/drdotnet etc/ssl/certs etc/drdotnet proc sys dev run tmp var/lib/drdotnet var/lib/dpkg/status.d
ln -s usr/lib lib
ln -s usr/lib64 lib64
ln -s ../run var/run
chmod 1777 tmp

strip --strip-debug -o "usr/bin/drdotnet-$role" "$program"
install -m 644 "$here/LICENSE" usr/share/doc/drdotnet/
if [ "$role" = agent ]; then
	mkdir usr/lib/drdotnet
	install -m 644 "$build/libdrdotnet.so" usr/lib/drdotnet/ # one library for glibc's and musl's processes
fi

# The loader and all libraries. libgcc_s is loaded by glibc itself when a thread ends early.
libraries() {
	ldd "$program" | awk '$2 == "=>" {print $3} $1 ~ /^\// {print $1}'
	gcc -print-file-name=libgcc_s.so.1
}
files=()
for library in $(libraries | sort -u); do
	real=$(realpath "$library")
	place=$(realpath "${library%/*}")/${library##*/}
	install -D -m 755 "$real" ".$place"
	files+=("$real" "${real#/usr}") # dpkg knows some by their place before /usr was merged
done

# Where the libraries come from, as dpkg says it: scanners of images look faults up by it. And their licenses.
packages=$({ dpkg-query -S "${files[@]}" 2> /dev/null || true; echo ca-certificates:; [ "$role" != controller ] || echo tzdata:; } | sed 's/:.*//' | sort -u)
# shellcheck disable=SC2086 # one word a package
dpkg-query -s $packages | awk -v RS= '{ name = $2
	print > ("var/lib/dpkg/status.d/" name) }'
for package in $packages; do
	install -D -m 644 "/usr/share/doc/$package/copyright" "usr/share/doc/$package/copyright"
done

install -m 644 /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
if [ "$role" = controller ]; then # time zones of triggers' schedules, without the copies that count leap seconds
	cp -a /usr/share/zoneinfo usr/share/
	rm -rf usr/share/zoneinfo/{posix,right,localtime,posixrules}
fi
printf 'root:x:0:0:root:/:/nonexistent\nnonroot:x:65532:65532:nonroot:/:/nonexistent\n' > etc/passwd
printf 'root:x:0:\nnonroot:x:65532:\n' > etc/group
printf 'hosts: files dns\n' > etc/nsswitch.conf

find . -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-0}" {} + # the same input, the same image
