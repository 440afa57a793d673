#!/bin/bash
# Prints a man page of a program, made of its own --help: the words are those of its version.
# usage: man.sh PROGRAM
set -euo pipefail
program=${1:?program} name=${1##*/}
version=$("$program" --version)
help=$("$program" --help)
quoted() { sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'; }
cat << END
.TH ${name^^} 1 "" "$version" "Dr-Dotnet"
.SH NAME
$(echo "$name" | quoted) \- diagnoses running .NET processes
.SH USAGE
.nf
$(echo "$help" | quoted)
.fi
.SH SEE ALSO
/usr/share/doc/drdotnet, and the documentation in the sources: docs/.
END
