#!/bin/sh
# Publishes the application of the names, self-contained, into build/apps-names/<framework>/names, unless it is there already.
# usage: publish.sh net8.0|net9.0|net10.0...
set -eu
cd "$(dirname "$0")/../../.."
. tests/setup/dotnet.sh
sum=$(cat tests/profiler/app/Program.cs tests/profiler/app/names.csproj tests/profiler/app/publish.sh | sha256sum | cut -c1-16)
mkdir -p build/apps-names
exec 9> build/apps-names/.lock
flock 9
for tf in "$@"; do
	out=build/apps-names/$tf
	[ "$(cat "$out/.sources" 2>/dev/null)" = "$sum" ] && [ -x "$out/names" ] && continue
	rm -rf "$out"
	log=build/apps-names/publish-$tf.log
	if ! nice dotnet publish tests/profiler/app/names.csproj -c Release -r linux-x64 --self-contained "-p:TF=$tf" \
		--artifacts-path "build/apps-names/artifacts/$tf" -o "$out" -nodeReuse:false -v quiet -clp:NoSummary > "$log" 2>&1 9>&-; then
		cat "$log" >&2
		exit 1
	fi
	echo "$sum" > "$out/.sources"
done
