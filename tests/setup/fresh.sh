#!/bin/bash
# What somebody sees who tries this tree for the first time: `make demo` and a short `make test` of a clone of HEAD in a Debian that has make and what
# the .NET SDK asks for, and nothing else: no cache of the user, nothing beside the clone. As root on a Debian; takes an hour and 6 GB, which go at the end.
# From this machine it takes what its owner has set up to reach the network (mirrors, registries, certificates) and the SDK, read-only.
# usage: fresh.sh [--keep] [TEXT...]     which tests: those whose names contain a TEXT     --keep: leaves the Debian in build/fresh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
root=$tree/build/fresh

# inside: the clone's owner at work
if [ "${1:-}" = --inside ]; then
	shift
	cd /srv/drdotnet
	for goal in demo "${@/#/test ONLY=}"; do
		echo "\$ make $goal"
		began=$SECONDS
		# shellcheck disable=SC2086  # a goal may be two words
		make $goal
		echo "make $goal took $((SECONDS - began)) s"
	done
	exit 0
fi
# in a mount namespace: the new Debian becomes the whole of what is there
if [ "${1:-}" = --enter ]; then
	shift
	mount --bind "$root" "$root"
	cd "$root"
	sdk=$(dirname "$(readlink -f "$(command -v dotnet)")")
	mkdir -p ".$sdk"
	mount --bind -o ro "$sdk" ".$sdk"
	ln -sf "$sdk/dotnet" usr/bin/dotnet
	mount -t proc proc proc
	mount --rbind /dev dev
	mount --rbind /sys sys
	pivot_root . .
	umount -l .
	cd /
	mapfile -t network < <(env | grep -E '^([A-Za-z_]*(proxy|PROXY)|SSL_CERT_[A-Z]+|NODE_EXTRA_CA_CERTS|NUGET_[A-Z_]+)=')
	exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${network[@]}" \
		bash /srv/drdotnet/tests/setup/fresh.sh --inside "$@"
fi

keep=
[ "${1:-}" = --keep ] && { keep=yes; shift; }
[ $# -gt 0 ] || set -- tests.system.crd e2e.test_cluster.Cluster.test_the_sample
[ "$(id -u)" = 0 ] && command -v apt-get dotnet > /dev/null || { echo "fresh.sh: needs root on a Debian with the .NET SDK" >&2; exit 1; }
command -v mmdebstrap > /dev/null || apt-get install -y --no-install-recommends mmdebstrap > /dev/null
rm -rf --one-file-system "$root"
mkdir -p "$root"
[ -n "$keep" ] || trap 'rm -rf --one-file-system "$root"' EXIT

echo "making a fresh Debian in build/fresh"
sources=$(mktemp)
options=$(mktemp)
"$here/debian.sh" deb > "$sources"
apt-config dump Acquire | grep -v '^Acquire::IndexTargets' > "$options"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --mode=root --variant=minbase --quiet --aptopt="$options" --include=make,ca-certificates,libicu72,libssl3,libstdc++6,zlib1g,tzdata \
	"$codename" "$root" "$sources"
rm -f "$sources" "$options"
# the way to the network
for path in /etc/resolv.conf /etc/hosts /etc/npmrc /usr/etc/npmrc ~/.npmrc ~/.nuget/NuGet /usr/local/share/ca-certificates; do
	[ ! -e "$path" ] || { mkdir -p "$root${path%/*}" && cp -rTL "$path" "$root$path"; }
done
chroot "$root" update-ca-certificates > /dev/null 2>&1
git clone --quiet "$tree" "$root/srv/drdotnet"
echo "of $(git -C "$tree" log -1 --format='%h %s'):"
unshare --mount --pid --fork --kill-child "$0" --enter "$@"
