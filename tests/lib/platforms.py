"""Where sample applications run: on this machine as it is, or as on another platform. DRDOTNET_PLATFORM names one for all tests of a run (make
platforms), and a class says so for its own:

    class Musl(platforms.On, Truth, Case):
        platform = "musl"

musl: applications that are published for Alpine, with musl's loader, Debian's libstdc++, and the shim of tests/platforms/musl between the two.
"""
import contextlib
import os
import re
import subprocess
import sys
import unittest

from tests.lib import proc

KEPT = re.compile(r"/\.drdotnet-[0-9a-f]{16}/libdrdotnet-[0-9a-f]{16}\.so \(deleted\)$")
MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
MUSL_SHIM = os.path.join(proc.ROOT, "build/release/tests/musl/libshim.so")
FRAMEWORKS = {"musl": ("net10.0", "net11.0")}
NOT_SERVED = os.path.join(proc.ROOT, "build/apps/.not-served-%s")
NO_PACKAGE = re.compile(r"error NU110[12]")
# What is tested there: what each profiler tells, and how the library comes and goes.
SUITE = {"musl": {"net10.0": ("Checkout", "AllocApp", "ThrowApp", "MemoryApp", "LockApp", "ThreadApp", "AsyncApp"),
                  "net11.0": ("StackApp", "PauseApp", "WaitApp", "names")}}  # of the default suite
APPLICATIONS = ("Checkout", "MemoryApp", "PauseApp", "AllocApp", "ThrowApp", "LockApp", "AsyncApp", "WaitApp", "ThreadApp", "StackApp", "names")
TESTS = tuple("tests.system." + name for name in (
    "allocs.test_allocations.", "exceptions.test_exceptions.", "pauses.test_pauses.", "survivors.test_survivors.", "strings.test_duplicated_strings.",
    "leak.test_memory_leak.", "walk.test_walk.", "waits.", "deadlocks.test_deadlocks.", "threads.test_threads.",
    "stucktasks.test_stuck_tasks.", "cpu.test_accuracy.", "cpu.test_stacks.", "profiler.test_library.", "profiler.test_leftovers.",
    "profiler.test_lease.", "profiler.test_one_after_another."))
SKIPPED = {"musl": {  # a part of a name: why
    "Net8": "no .NET 8 is tested on musl", "Net9": "no .NET 9 is tested on musl", "compiled_ahead": "no sample is compiled ahead for musl",
    "Runtime11": "no sample of runtime-async is published for musl",
    "stopped_in_a_heap_walk": "what slows the walk down is linked with glibc", "stranger_before": "the stranger is linked with glibc",
}}
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


def publish(platform, wanted, seconds=900):
    """{framework: applications}, those that are not there yet; why they cannot be, or None. Where no package source has the platform's runtime, that is
    asked once."""
    for name, applications in wanted.items():
        words = [word for app in applications for word in ("--app", app)]
        done = subprocess.run([os.path.join(proc.ROOT, "tests/apps/publish.sh"), *words, "%s-%s" % (name, platform)], capture_output=True, text=True,
                              timeout=proc.patience(seconds))
        if done.returncode and NO_PACKAGE.search(done.stdout + done.stderr):
            with open(NOT_SERVED % platform, "w"):
                pass
            return why_not(platform)
        if done.returncode:
            return done.stderr[-2000:] or "the applications for %s could not be published" % platform
    return None


def why_not(platform, needed=(MUSL_LOADER, MUSL_SHIM)):
    """Why nothing can be tested there; None: it can. The shim is built beside the publishing of applications, which needs the loader alone."""
    if platform == "musl" and not all(map(os.path.exists, needed)):
        return "no musl-tools (Debian)"
    return "no package source has .NET for %s" % platform if os.path.exists(NOT_SERVED % platform) else None


def choose(platform):
    """For all that is started from now on."""
    global current
    current = platform


def only(*names):
    """Of a class of tests, these alone."""
    def choice(cls):
        for name in dir(cls):
            if name.startswith("test_") and name not in names:
                setattr(cls, name, None)
        return cls
    return choice


class On:
    """Of a class of tests, before all others."""
    platform = ""

    @classmethod
    def setUpClass(cls):
        reason = why_not(cls.platform) or publish(cls.platform, SUITE[cls.platform])
        if reason:
            raise unittest.SkipTest(reason)
        cls.addClassCleanup(choose, current)
        choose(cls.platform)
        super().setUpClass()


if __name__ == "__main__":
    for one in sys.argv[1:]:
        why = why_not(one, (MUSL_LOADER,)) or publish(one, SUITE[one])
        if why:
            print("no applications for %s: %s" % (one, why))
