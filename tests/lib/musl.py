"""Applications for Alpine on Debian, with musl's loader and the shim of tests/platforms/musl: frameworks whose names end in "-musl".

    class Alpine(Truth, Case):
        framework, setUpClass = "net10.0-musl", musl.or_skip
"""
import os
import re
import shutil
import unittest

from tests.lib import proc

LIBRARIES = os.path.join(proc.ROOT, "build/release/tests/musl")
LOADER = "/lib/ld-musl-x86_64.so.1"
LIBRARY = re.compile(r"/\.drdotnet-[0-9a-f]{16}/libdrdotnet-[0-9a-f]{16}\.so \(deleted\)$")  # what a session leaves mapped there
FRAMEWORKS = ("net10.0-musl", "net11.0-musl")


def is_musl(framework):
    return framework.endswith("-musl")


def environment():
    """What a process needs to find what musl's loader shall load of Debian's."""
    return {"LD_LIBRARY_PATH": LIBRARIES, "LD_PRELOAD": LIBRARIES + "/libshim.so"}
