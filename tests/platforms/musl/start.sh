#!/bin/sh
# Linked as FOLDER/start/PROGRAM, becomes FOLDER/PROGRAM, which was published for Alpine, on Debian (tests/lib/platforms.py).
libraries=$(readlink -f "$0")
libraries=${libraries%/tests/platforms/*}/build/release/tests/musl
folder=${0%/*}
exec env LD_LIBRARY_PATH="$libraries" LD_PRELOAD="$libraries/libshim.so${LD_PRELOAD:+:$LD_PRELOAD}" "${folder%/*}/${0##*/}" "$@"
