#!/bin/bash
# Makes sure of a kubectl that knows components of kustomizations (1.21). Debian 12 has 1.20: there that of Debian 13 is taken, which runs on it too, into
# build/tools/bin, kept in the user's cache.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/setup/progress.sh"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/kubectl
work=$root/build/tools/kubectl-package

minor() {
	"$1" version --client -o json 2> /dev/null | sed -nE 's/.*"minor": *"([0-9]+).*/\1/p' | head -1
}
fetch() {
	mkdir -p "$work/lists/partial"
	cd "$work"
	"$root/tests/setup/debian.sh" deb trixie > sources.list
	local options=(-o Dir::State::Lists="$work/lists" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	apt-get "${options[@]}" download kubectl
	dpkg-deb -x kubectl_*.deb files
	install -D -m 755 files/usr/bin/kubectl "$cache/kubectl"
}
link() {
	mkdir -p "$root/build/tools/bin"
	ln -sf "$cache/kubectl" "$root/build/tools/bin/kubectl"
}

own=$(minor kubectl || true)
[ "${own:-0}" -ge 21 ] && exit 0
if [ ! -x "$cache/kubectl" ]; then
	progress "downloading a kubectl for the tests: that of this machine is ${own:+1.}${own:-missing}" "30 s"
	log=$(mktemp)
	set +e # in a list with || the first failure would not end it
	(set -e; fetch) > "$log" 2>&1
	code=$?
	set -e
	rm -rf "$work"
	[ "$code" = 0 ] || { tail -5 "$log" >&2; rm -f "$log"; echo "the tests need a kubectl 1.21 or newer on PATH" >&2; exit 1; }
	rm -f "$log"
fi
link
