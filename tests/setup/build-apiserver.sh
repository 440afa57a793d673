#!/bin/bash
# Builds kube-apiserver from Debian's source package and takes etcd from its package, into build/tools/apiserver/: a
# Kubernetes API server for tests where none is to be had. Takes some minutes, once; kept in the user's cache.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/setup/progress.sh"
out=$root/build/tools/apiserver
cache=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/apiserver
work=$root/build/tools/apiserver-source

fetch() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update
	apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends dpkg-dev golang-1.19-go rsync \
		golang-github-modern-go-reflect2-dev
	"$root/tests/setup/debian.sh" deb-src > "$work/sources.list"
	local options=(-o Dir::State::Lists="$work/lists" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	apt-get "${options[@]}" source --download-only kubernetes
	apt-get "${options[@]}" -o Dir::Etc::SourceParts=/etc/apt/sources.list.d -o Dir::State::Lists=/var/lib/apt/lists download etcd-server
}
unpack() {
	dpkg-deb -x etcd-server_*.deb etcd
	dpkg-source --no-check -x kubernetes_*.dsc source
	# the copy of reflect2 in there does not work with this Go
	rm -rf source/vendor/github.com/modern-go/reflect2
	cp -r /usr/share/gocode/src/github.com/modern-go/reflect2 source/vendor/github.com/modern-go/
}
compile() {
	export PATH=/usr/lib/go-1.19/bin:$PATH GOFLAGS=-mod=vendor GO111MODULE=on GOCACHE=$work/cache
	export KUBE_GIT_TREE_STATE=archive FORCE_HOST_GO=y
	nice -n 19 make -C source WHAT=cmd/kube-apiserver GOLDFLAGS="-s -w"
}
build() {
	cd "$work"
	progress "API server for the tests, step 1 of 3: downloading its source" "1 min"
	fetch
	progress "API server for the tests, step 2 of 3: unpacking" "10 s"
	unpack
	progress "API server for the tests, step 3 of 3: generating code and compiling" "6 min"
	compile
	install -m 755 etcd/usr/bin/etcd "$cache/"
	install -m 755 source/_output/local/bin/linux/*/kube-apiserver "$cache/"
}

if [ ! -x "$cache/kube-apiserver" ]; then
	[ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "needs root on a Debian" >&2; exit 1; }
	log=$root/build/build-apiserver.log
	rm -rf "$work"
	mkdir -p "$work/lists/partial" "$cache"
	echo "building an API server for tests, once: about 7 minutes when the machine is quiet (log: build/build-apiserver.log)"
	set +e # in a list with || the first failure would not end it
	(set -e; trap progress_end EXIT; build) > "$log" 2>&1
	code=$?
	set -e
	[ "$code" = 0 ] || { tail -30 "$log" >&2; exit 1; }
	rm -rf "$work"
fi
mkdir -p "$out"
ln -sf "$cache/kube-apiserver" "$cache/etcd" "$out/"
