#!/bin/bash
# Builds kube-apiserver from Debian's source package and takes etcd from its package, into build/tools/apiserver/: a
# Kubernetes API server for tests where none is to be had. Takes some minutes, once; kept in the user's cache.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/tools/apiserver
cache=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/apiserver
if [ ! -x "$cache/kube-apiserver" ]; then
	[ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "needs root on a Debian" >&2; exit 1; }
	log=$root/build/build-apiserver.log
	work=$root/build/tools/apiserver-source
	rm -rf "$work"
	mkdir -p "$work/lists/partial" "$cache"
	echo "building an API server for tests; this takes some minutes (log: build/build-apiserver.log)"
	{
		export DEBIAN_FRONTEND=noninteractive
		apt-get -o DPkg::Lock::Timeout=300 update
		apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends dpkg-dev golang-1.19-go rsync \
			golang-github-modern-go-reflect2-dev
		# source packages from the mirrors of this machine's own sources, without changing them
		mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2> /dev/null |
			sed 's/#.*//' | grep -oE '[a-z+]+://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)
		codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
		echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $codename main" > "$work/sources.list"
		options=(-o Dir::State::Lists="$work/lists" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
			-o APT::Sandbox::User=root)
		cd "$work"
		apt-get "${options[@]}" update
		apt-get "${options[@]}" source --download-only kubernetes
		dpkg-source --no-check -x kubernetes_*.dsc source
		apt-get "${options[@]}" -o Dir::Etc::SourceParts=/etc/apt/sources.list.d -o Dir::State::Lists=/var/lib/apt/lists download etcd-server
		dpkg-deb -x etcd-server_*.deb etcd

		cd source
		# the copy of reflect2 in there does not work with this Go
		rm -rf vendor/github.com/modern-go/reflect2
		cp -r /usr/share/gocode/src/github.com/modern-go/reflect2 vendor/github.com/modern-go/
		export PATH=/usr/lib/go-1.19/bin:$PATH GOFLAGS=-mod=vendor GO111MODULE=on GOCACHE=$work/cache
		export KUBE_GIT_TREE_STATE=archive FORCE_HOST_GO=y
		nice -n 19 make WHAT=cmd/kube-apiserver GOLDFLAGS="-s -w"
		install -m 755 _output/local/bin/linux/*/kube-apiserver "$cache/"
		install -m 755 ../etcd/usr/bin/etcd "$cache/"
	} > "$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }
	rm -rf "$work"
fi
mkdir -p "$out"
ln -sf "$cache/kube-apiserver" "$cache/etcd" "$out/"
