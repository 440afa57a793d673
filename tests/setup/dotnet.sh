# Sourced: makes sure that a .NET SDK is there that can build the sample application (.NET 10 or newer).
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_USE_MSBUILD_SERVER=0
export DOTNET_GENERATE_ASPNET_CERTIFICATE=false DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=true
dotnet_version=$(dotnet --version 2>/dev/null) || dotnet_version=none
case $dotnet_version in
[1-9][0-9].*) ;;
*)
	echo "The sample .NET application needs the .NET SDK 10 or newer on PATH; found: $dotnet_version." >&2
	echo "Install it (https://dotnet.microsoft.com/download) and try again." >&2
	exit 1
	;;
esac
