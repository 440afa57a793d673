#!/bin/bash
# Makes sure that the tests have a Kubernetes API server (see tests/lib/kube.py): builds one from Debian's source package
# when neither KUBEBUILDER_ASSETS nor DRDOTNET_TEST_APISERVER names one. Without one the cluster tests are skipped.
# One that an earlier run has built is used beside the one that is named (tests/lib/old_server.py); --both builds it for that.
set -euo pipefail
cd "$(dirname "$0")"
cached=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/apiserver
[ -x "$cached/kube-apiserver" ] && exec ./build-apiserver.sh
[ -x ../../build/tools/apiserver/kube-apiserver ] && exit 0
named=${KUBEBUILDER_ASSETS:-}${DRDOTNET_TEST_APISERVER:-}
[ -n "$named" ] && [ "${1:-}" != --both ] && exit 0
./build-apiserver.sh && exit 0
if [ -n "$named" ]; then
	echo "Kubernetes 1.20 could not be built: the tests run on the API server that is named, and none a second time" >&2
else
	echo "no API server could be built: the cluster tests will be skipped" >&2
fi
