#!/bin/sh
# Publishes the sample application, self-contained, into build/apps/<framework>/Checkout, unless the same sources are
# there already. usage: publish.sh [net8.0 net9.0 net10.0]
set -eu
cd "$(dirname "$0")/../.."
. tests/setup/dotnet.sh
sum=$(find tests/apps/Checkout tests/apps/publish.sh -type f \( -name '*.cs' -o -name '*.csproj' -o -name '*.sh' \) |
	LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16)
mkdir -p build/apps
exec 9> build/apps/.lock
flock 9
for tf in "${@:-net10.0}"; do
	out=build/apps/$tf
	[ "$(cat "$out/.sources" 2>/dev/null)" = "$sum" ] && [ -x "$out/Checkout" ] && continue
	echo "publishing the sample application for $tf"
	rm -rf "$out"
	log=build/apps/publish-$tf.log
	if ! nice dotnet publish tests/apps/Checkout/Checkout.csproj -c Release -r linux-x64 --self-contained "-p:TF=$tf" \
		--artifacts-path "build/apps/artifacts/$tf" -o "$out" -nodeReuse:false -v quiet -clp:NoSummary > "$log" 2>&1 9>&-; then
		cat "$log" >&2
		echo "the sample application could not be published for $tf" >&2
		exit 1
	fi
	echo "$sum" > "$out/.sources"
done
