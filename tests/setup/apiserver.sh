#!/bin/bash
# Makes sure that the tests have a Kubernetes API server (see tests/lib/kube.py): builds one from Debian's source package
# when neither KUBEBUILDER_ASSETS nor DRDOTNET_TEST_APISERVER names one. Without one the cluster tests are skipped.
set -euo pipefail
cd "$(dirname "$0")"
# an old one that an earlier run built is used beside the one that is named
cached=${XDG_CACHE_HOME:-$HOME/.cache}/drdotnet/apiserver
[ -x "$cached/kube-apiserver" ] && exec ./build-apiserver.sh
[ -n "${KUBEBUILDER_ASSETS:-}${DRDOTNET_TEST_APISERVER:-}" ] && exit 0
[ -x ../../build/tools/apiserver/kube-apiserver ] && exit 0
./build-apiserver.sh || echo "no API server could be built: the cluster tests will be skipped" >&2
