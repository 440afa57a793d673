#!/bin/sh
# Prints sources of Debian itself, of the mirrors that this machine's own configuration names, in the form of sources.list(5).
# usage: debian.sh deb|deb-src [RELEASE]     RELEASE: the main archive of this one alone, such as trixie
set -eu
targets() {
	apt-get indextargets --format '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u
}
[ -n "$(targets)" ] || apt-get -o DPkg::Lock::Timeout=300 update > /dev/null # which mirror is whose stands in what that brings
if [ -n "${2:-}" ]; then
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	targets | sed -n "s/ $codename main$/ $2 main/p"
else
	targets
fi | sed "s/^/$1 /"
