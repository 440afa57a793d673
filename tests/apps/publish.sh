#!/bin/sh
# Publishes a sample application, self-contained, unless the same sources are there already: Checkout into
# build/apps/<framework>/, another one into build/apps/<application>/<framework>/.
# usage: publish.sh [--app Checkout] [net8.0 net9.0 net10.0]
set -eu
cd "$(dirname "$0")/../.."
. tests/setup/dotnet.sh
app=Checkout
if [ "${1:-}" = --app ]; then
	app=$2
	shift 2
fi
apps=build/apps
[ "$app" = Checkout ] || apps=build/apps/$app
sum=$(find "tests/apps/$app" tests/apps/Checkout/Progress.cs tests/apps/publish.sh -type f \( -name '*.cs' -o -name '*.csproj' -o -name '*.sh' \) |
	LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16)
mkdir -p "$apps"
exec 9> "$apps/.lock"
flock 9
for tf in "${@:-net10.0}"; do
	out=$apps/$tf
	[ "$(cat "$out/.sources" 2>/dev/null)" = "$sum" ] && [ -x "$out/$app" ] && continue
	echo "publishing $app for $tf"
	rm -rf "$out"
	log=$apps/publish-$tf.log
	if ! nice dotnet publish "tests/apps/$app/$app.csproj" -c Release -r linux-x64 --self-contained "-p:TF=$tf" \
		--artifacts-path "$apps/artifacts/$tf" -o "$out" -nodeReuse:false -v quiet -clp:NoSummary > "$log" 2>&1 9>&-; then
		cat "$log" >&2
		echo "$app could not be published for $tf" >&2
		exit 1
	fi
	echo "$sum" > "$out/.sources"
done
