"""Where sample applications run: on this machine as it is, or as on another platform. DRDOTNET_PLATFORM names one for all tests of a run (make
platforms), and a class says so for its own:

    class Musl(platforms.On, Truth, Case):
        platform = "musl"

musl: applications that are published for Alpine, with musl's loader, Debian's libstdc++, and the shim of tests/platforms/musl between the two.
"""
import contextlib
import os
import re
import unittest

from tests.lib import proc

KEPT = re.compile(r"/\.drdotnet-[0-9a-f]{16}/libdrdotnet-[0-9a-f]{16}\.so \(deleted\)$")
MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
MUSL_SHIM = os.path.join(proc.ROOT, "build/release/tests/musl/libshim.so")
FRAMEWORKS = {"musl": ("net10.0", "net11.0")}
current = os.environ.get("DRDOTNET_PLATFORM", "")


def framework(name):
    """That one as publish.sh calls it."""
    if not current:
        return name
    if name not in FRAMEWORKS[current]:
        raise unittest.SkipTest("%s is not tested on %s" % (name, current))
    return "%s-%s" % (name, current)


def started(program):
    """What starts the program that was published for the platform, and becomes it."""
    if not current:
        return program
    folder, name = os.path.split(program)
    starter = os.path.join(folder, "start", name)
    os.makedirs(os.path.dirname(starter), exist_ok=True)
    if not os.path.islink(starter):
        with contextlib.suppress(FileExistsError):  # tests run beside each other
            os.symlink(os.path.join(proc.ROOT, "tests/platforms", current, "start.sh"), starter)
    return starter


def without_kept(maps):
    """Without the one library that musl keeps mapped, as it keeps all."""
    kept = [path for path in maps if KEPT.search(path)] if current == "musl" else []
    return [path for path in maps if path not in kept[:1]]


def why_not(platform):
    """Why nothing can be tested there; None: it can."""
    if platform == "musl" and not (os.path.exists(MUSL_LOADER) and os.path.exists(MUSL_SHIM)):
        return "no musl-tools (Debian)"
    marks = [os.path.join(proc.ROOT, "build/apps/.not-served-%s-%s" % (framework, platform)) for framework in FRAMEWORKS[platform]]
    return "no package source has .NET for %s" % platform if any(map(os.path.exists, marks)) else None


def choose(platform):
    """For all that is started from now on."""
    global current
    current = platform


class On:
    """Of a class of tests, before all others."""
    platform = ""

    @classmethod
    def setUpClass(cls):
        reason = why_not(cls.platform)
        if reason:
            raise unittest.SkipTest(reason)
        cls.addClassCleanup(choose, current)
        choose(cls.platform)
        super().setUpClass()
