#!/bin/sh
# Publishes sample applications, self-contained, those whose sources have changed since: Checkout into build/apps/<framework>/, another one
# into build/apps/<application>/<framework>/, names (of tests/system/profiler/app) into build/apps-names/<framework>/, and Native, which is compiled
# ahead of time for one framework, into build/apps/native/. Those whose name ends in Runtime are for .NET 11 alone. All in one run of MSBuild: most of
# what a run takes is its beginning. What is for Alpine starts here with the help of tests/lib/platforms.py.
# usage: publish.sh [--app Checkout]... [net8.0 net9.0 net10.0 net11.0 net10.0-musl net11.0-musl]     --app all: every one
set -eu
cd "$(dirname "$0")/../.."
apps=
while [ "${1:-}" = --app ]; do
	apps="$apps $2"
	shift 2
done
lone= old= # of all, those that the suite runs on .NET 10 only; on 9, too
case $apps in
'') apps=Checkout ;;
' all') apps="Native names Checkout MemoryApp PauseApp AllocApp ThrowApp LockApp AsyncApp AsyncRuntime WaitApp ThreadApp StackApp StackReady CorpusApp"
	apps="$apps CheckoutRuntime RequestRuntime RequestApp LineApp LineReady LineSingle"
	if [ -z "${DRDOTNET_EVERY_RUNTIME:-}" ]; then
		lone=" CorpusApp LineApp LineReady LineSingle "
		old=" LockApp AsyncApp WaitApp ThreadApp RequestApp "
	fi ;;
esac

folder_of() {
	case $1 in
	names) echo tests/system/profiler/app ;;
	StackReady) echo tests/apps/StackApp ;;
	LineReady | LineSingle) echo tests/apps/LineApp ;;
	AsyncRuntime) echo tests/apps/AsyncApp ;;
	CheckoutRuntime) echo tests/apps/Checkout ;;
	RequestRuntime) echo tests/apps/RequestApp ;;
	*) echo "tests/apps/$1" ;;
	esac
}
# place_of APP FRAMEWORK
place_of() {
	case $1 in
	Checkout) echo "build/apps/$2" ;;
	Native) echo build/apps/native ;;
	names) echo "build/apps-names/$2" ;;
	*) echo "build/apps/$1/$2" ;;
	esac
}
sum_of() {
	find "$(folder_of "$1")" tests/apps/Checkout/Progress.cs tests/apps/publish.sh -type f \
		\( -name '*.cs' -o -name '*.csproj' -o -name '*.proto' -o -name '*.sh' \) |
		LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16
}
# project APP FRAMEWORK: a line of the list for MSBuild. The newest runtime is newer than what the SDK compiles for.
project() {
	place=$(place_of "$1" "$2")
	properties="PublishDir=$PWD/$place/;ArtifactsPath=$PWD/build/apps/artifacts/$1-$2"
	case $1,$2 in
	Native,*) ;;
	*Runtime,*) # it has a compiler of its own
		properties="$properties;TF=net10.0;RuntimeFrameworkVersion=11.0.0;SelfContained=true;UseSharedCompilation=false" ;;
	*,net11.0*) properties="$properties;TF=net10.0;RuntimeFrameworkVersion=11.0.0;SelfContained=true" ;;
	*) properties="$properties;TF=${2%-musl};SelfContained=true" ;;
	esac
	case $2 in
	*-musl) properties="$properties;RuntimeIdentifier=linux-musl-x64" ;;
	*) properties="$properties;RuntimeIdentifier=linux-x64" ;;
	esac
	echo "<Sample Include=\"$PWD/$(folder_of "$1")/$1.csproj\" AdditionalProperties=\"$properties\" />"
}

mkdir -p build/apps
exec 9> build/apps/.lock
flock 9
list=$(mktemp build/apps/publish-XXXXXX.proj)
log=build/apps/publish.log
trap 'rm -f "$list"' EXIT
wanted=
for app in $apps; do
	sum=$(sum_of "$app")
	frameworks=${*:-net10.0}
	[ "$app" = Native ] && frameworks=net10.0
	[ "$lone" = "${lone#* $app }" ] || frameworks=net10.0
	case $app in *Runtime) case " $frameworks " in *" net11.0 "*) frameworks=net11.0 ;; *) frameworks= ;; esac ;; esac
	for tf in $frameworks; do
		[ "$tf" != net9.0 ] || [ -z "$old" ] || [ "$old" != "${old#* $app }" ] || continue
		out=$(place_of "$app" "$tf")
		[ "$(cat "$out/.sources" 2>/dev/null)" = "$sum" ] && [ -x "$out/$app" ] && continue
		rm -rf "$out"
		rm -f "build/apps/artifacts/$app-$tf/obj/$app/"*.nuget.g.* # of other packages: the run would read them once, and keep to them
		wanted="$wanted $app:$tf:$sum"
	done
done
[ -n "$wanted" ] || exit 0
. tests/setup/dotnet.sh
echo "publishing$(echo "$wanted" | sed -E 's/ ([^:]*):([^:]*):[0-9a-f]*/, \1 for \2/g; s/^,//')"
# One compiler server for all applications, for this run only: the environment may have turned off the one that stays for ten minutes.
server=drdotnet-publish-$$
end_server() {
	for file in $(grep -las "[p]ipename:$server" /proc/[0-9]*/cmdline); do
		pid=${file#/proc/}
		kill "${pid%%/*}" 2>/dev/null || true
	done
}
trap 'end_server; rm -f "$list"' EXIT
trap 'exit 1' INT TERM
# Files are linked where that can be done (two copies of a runtime for each application are 7 GB), and analyzers of style are left out.
sparing="UseSharedCompilation=true;SharedCompilationId=$server;RunAnalyzers=false;ProduceReferenceAssembly=false"
for files in CopyFilesToOutputDirectory CopyLocal PublishFiles; do
	sparing="$sparing;CreateHardLinksFor${files}IfPossible=true"
done
{
	echo '<Project DefaultTargets="Publish"><ItemGroup>'
	for one in $wanted; do
		tf=${one#*:}
		project "${one%%:*}" "${tf%:*}"
	done
	echo '</ItemGroup><Target Name="Publish">'
	for target in Restore Publish; do # each evaluates the projects anew: the second one with what the first one has written
		echo "<MSBuild Projects=\"@(Sample)\" Targets=\"$target\" BuildInParallel=\"true\"" \
			"Properties=\"Configuration=Release;_IsPublishing=true;$sparing;MSBuildRestoreSessionId=$target\" />"
	done
	echo '</Target></Project>'
} > "$list"
# processes that live for a minute at most: few collections, and no code that counts for a second compilation
export DOTNET_TieredPGO=0 DOTNET_gcConcurrent=0 DOTNET_GCgen0size=0x4000000
if ! nice dotnet msbuild "$list" -maxCpuCount -nodeReuse:false -v:quiet -clp:NoSummary > "$log" 2>&1 9>&-; then
	cat "$log" >&2
	echo "these could not be published:$wanted" >&2
	exit 1
fi
for one in $wanted; do
	tf=${one#*:}
	echo "${one##*:}" > "$(place_of "${one%%:*}" "${tf%:*}")/.sources"
done
