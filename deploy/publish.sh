#!/bin/bash
# Pushes a release's images, and their signatures where there are some, with skopeo. Digests stay: the registry names what the release says.
# usage: publish.sh FOLDER REGISTRY [OPTION OF skopeo copy]...     FOLDER: of the release; REGISTRY: as in `make release REGISTRY=...`
# With SIGN_KEYLESS=1 cosign signs them there, with the identity that the forge gives the job.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
folder=$1 registry=$2
shift 2
list=("$folder"/drdotnet-*.images)
[ -f "${list[0]}" ] && [ ${#list[@]} = 1 ] || { echo "publish.sh: $folder: not one drdotnet-VERSION.images: is it a release?" >&2; exit 1; }
version=${list[0]##*/drdotnet-} version=${version%.images}
while read -r name arch digest; do
	if [ "$arch" = all ]; then
		skopeo copy --quiet --all --preserve-digests "$@" "oci-archive:$folder/$name-$version.oci.tar:$version" "docker://$registry/$name:$version"
	fi
	tag=${digest/:/-}.sig
	if [ -f "$folder/$name-$version.sig.oci.tar" ]; then
		skopeo copy --quiet --preserve-digests "$@" "oci-archive:$folder/$name-$version.sig.oci.tar:$tag" "docker://$registry/$name:$tag"
	elif [ "${SIGN_KEYLESS:-0}" != 0 ]; then
		cosign sign --yes "$registry/$name@$digest"
	fi
	echo "$registry/$name@$digest $arch"
done < "${list[0]}"
