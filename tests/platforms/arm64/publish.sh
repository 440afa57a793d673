#!/bin/bash
# publish.sh APP...: sample applications for linux-arm64, self-contained, into build/platforms/arm64/apps/APP, those whose sources have changed since.
set -euo pipefail
cd "$(dirname "$0")/../../.."
out=$PWD/build/platforms/arm64
. tests/setup/dotnet.sh
for app; do
	sum=$(find "tests/apps/$app" tests/apps/Checkout/Progress.cs -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16)
	[ "$(cat "$out/apps/$app/.sources" 2> /dev/null)" != "$sum" ] || continue
	rm -rf "$out/apps/$app"
	nice dotnet publish "tests/apps/$app/$app.csproj" -c Release -r linux-arm64 --self-contained -p:TF=net10.0 -p:RunAnalyzers=false \
		-p:UseSharedCompilation=false -p:ArtifactsPath="$out/artifacts/$app" -o "$out/apps/$app" -v quiet -nodeReuse:false --nologo
	echo "$sum" > "$out/apps/$app/.sources"
done
