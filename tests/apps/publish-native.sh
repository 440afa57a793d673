#!/bin/sh
# Publishes the sample program that is compiled ahead of time into build/apps/native/Native, unless it is there already.
set -eu
cd "$(dirname "$0")/../.."
. tests/setup/dotnet.sh
sum=$(cat tests/apps/Native/*.cs tests/apps/Native/*.csproj tests/apps/publish-native.sh | sha256sum | cut -c1-16)
out=build/apps/native
mkdir -p build/apps
exec 9> build/apps/.lock-native
flock 9
[ "$(cat "$out/.sources" 2>/dev/null)" = "$sum" ] && [ -x "$out/Native" ] && exit 0
echo "publishing the sample program that is compiled ahead of time"
rm -rf "$out"
log=build/apps/publish-native.log
if ! nice dotnet publish tests/apps/Native/Native.csproj -c Release -r linux-x64 --artifacts-path build/apps/artifacts/native \
	-o "$out" -nodeReuse:false -v quiet -clp:NoSummary > "$log" 2>&1 9>&-; then
	cat "$log" >&2
	echo "the sample program could not be published" >&2
	exit 1
fi
echo "$sum" > "$out/.sources"
