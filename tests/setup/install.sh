#!/bin/bash
# Installs the Debian packages that a purpose needs and that are missing; quick when nothing is.
# usage: install.sh [--list] build|test ...     --list: prints them
# Not root: says what to install and fails only when something is missing.
set -euo pipefail
. "$(dirname "$0")/progress.sh"
build=(gcc make pkg-config libc6-dev xxd libcurl4-openssl-dev libyaml-dev libjansson-dev libwebsockets-dev libssl-dev liblua5.4-dev
	zlib1g-dev libprotobuf-c-dev protobuf-c-compiler uthash-dev libglib2.0-dev tzdata libarchive-dev libpcre2-dev libev-dev libwebsockets-evlib-ev)
test=(git libcriterion-dev clang-14 libclang-rt-14-dev musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross python3 openssl curl util-linux iproute2
	procps libcap2-bin ca-certificates python3-swift python3-yaml golang-go golang-github-masterminds-sprig-dev
	golang-github-xeipuuv-gojsonschema-dev golang-github-ghodss-yaml-dev
	golang-github-getkin-kin-openapi-dev chromium python3-jsonschema qemu-user libseccomp-dev prometheus prometheus-alertmanager postgresql
	redis-server zsh fish minisign skopeo docker-registry)

missing() {
	local p
	for p in "$@"; do
		case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in *' installed') ;; *) echo "$p" ;; esac
	done
}

list=
[ "${1:-}" = --list ] && { list=1; shift; }
wanted=()
for purpose in "$@"; do
	case $purpose in
	build) wanted+=("${build[@]}") ;;
	test) wanted+=("${test[@]}") ;;
	*) echo "install.sh: unknown purpose: $purpose" >&2; exit 2 ;;
	esac
done
[ -z "$list" ] || { printf '%s\n' "${wanted[@]}"; exit 0; }
command -v dpkg-query >/dev/null || {
	echo "This is no Debian; install the like of: ${wanted[*]}" >&2
	exit 0
}
mapfile -t packages < <(missing "${wanted[@]}")
[ ${#packages[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
	echo "Missing packages; as root: apt-get install -y --no-install-recommends ${packages[*]}" >&2
	exit 1
fi
echo "installing ${packages[*]}"
progress "installing ${#packages[@]} packages and what they need" "1 to 5 min"
export DEBIAN_FRONTEND=noninteractive
# Some bring services (prometheus, prometheus-alertmanager, postgresql, redis-server, docker-registry), which tests start themselves: none may
# begin to run here, now or at the next boot.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'progress_end; rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' > "$policy"
	chmod 755 "$policy"
fi
quiet() { [ ! -d /run/systemd/system ] || systemctl disable prometheus prometheus-alertmanager postgresql redis-server docker-registry 2> /dev/null || true; }
install() { apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}"; }
log=$(mktemp)
if ! { install || { apt-get -o DPkg::Lock::Timeout=300 update && install; }; } > "$log" 2>&1; then
	tail -20 "$log" >&2
	rm -f "$log"
	echo "could not install: $(missing "${packages[@]}" | tr '\n' ' ')" >&2
	exit 1
fi
case " ${packages[*]} " in *" prometheus"* | *" postgresql "* | *" redis-server "*) quiet ;; esac
rm -f "$log"
