#!/usr/bin/env python3
"""The library in real processes whose memory is checked: sessions of all profilers, which end in all ways, on applications of all kinds,
until the time is over. Checked by AddressSanitizer and UBSan (the library is a build of its own for that), or by the C library's own
checks of its heap. Fails at the first word of a checker, and when a process ends.

usage: checked.py [--seconds N] [--seed N] [--checker asan|malloc]... [--framework NAME]... [--load NAME]..."""
import argparse
import collections
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tests.lib import dotnet, local, proc
from tests.system.pauses.pauses import PauseApp
from tests.system.profiler import tools

RELEASE = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
SANITIZED = os.path.join(proc.ROOT, "build/asan/checked/libdrdotnet.so")
PROFILERS = ("CPUHotpaths", "Allocations", "Exceptions", "RuntimePauses", "GCSurvivors", "DuplicatedStrings", "MemoryLeak")
AT_ONCE = ("GCSurvivors", "DuplicatedStrings")  # they last as long as they take
BY_ROOTS = ("GCSurvivors", "MemoryLeak")
SESSIONS_PER_PROCESS = 12
WAIT = 120  # seconds, for whatever must come


def _of_gcc(name):
    """The path of a library that comes with the compiler, or None."""
    found = subprocess.run(["gcc", "-print-file-name=" + name], capture_output=True, text=True).stdout.strip() if shutil.which("gcc") else ""
    return os.path.realpath(found) if os.path.isabs(found) else None


class Checker:
    """What a process is started with, and what the checker has said. To be entered."""

    def __init__(self, name, library, preload, **env):
        self.name, self.library, self.preload, self.variables = name, library, preload, env
        self.folder, self.env = None, {}

    def missing(self):
        """Why it cannot be had here; None: it can."""
        return None if all(self.preload) else "%s: its library is not there" % self.name

    def said(self, app):
        text = "".join(open(path, errors="replace").read() for path in glob.glob(self.folder + "/said*"))
        return text + "".join(line for line in app.log().splitlines(True) if "malloc" in line or "free(): " in line or "runtime error" in line)

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-checked-")
        self.program = shutil.copy(local.DRDOTNET, self.folder)  # away from the library that it finds by itself
        self.env = {"LD_PRELOAD": " ".join(self.preload), **{k: v.replace("LOG", self.folder + "/said") for k, v in self.variables.items()}}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def asan():
    """The runtime's own signal handlers, stacks for signals, reads of null, and an array that it frees as if it were none, are its business."""
    return Checker("AddressSanitizer", SANITIZED, [_of_gcc("libasan.so"), _of_gcc("libubsan.so")],
                   ASAN_OPTIONS="log_path=LOG:exitcode=77:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
                                "handle_abort=0:use_sigaltstack=0:detect_stack_use_after_return=0:strict_string_checks=1:alloc_dealloc_mismatch=0",
                   UBSAN_OPTIONS="log_path=LOG:exitcode=77:print_stacktrace=1:halt_on_error=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
                                 "handle_sigill=0:handle_abort=0:use_sigaltstack=0")


def malloc():
    """Of the C library: each block is looked at, what is freed and what is new is filled."""
    name = "/usr/lib/%s-linux-gnu/libc_malloc_debug.so.0" % os.uname().machine
    return Checker("malloc's checks", RELEASE, [name if os.path.exists(name) else None],
                   GLIBC_TUNABLES="glibc.malloc.check=3:glibc.malloc.perturb=165")


CHECKERS = {"asan": asan, "malloc": malloc}


@contextlib.contextmanager
def tools_with(checker):
    """Inside, what tests/system/profiler starts is checked."""
    before, tools.LIBRARY = tools.LIBRARY, checker.library
    tools.ENV.update(checker.env)
    try:
        yield
    finally:
        tools.ENV.clear()
        tools.LIBRARY = before


def _names(framework, folder, env, *words):
    del folder, env  # its own; see tools_with()
    return tools.Names(framework, *words)


HEAP = "array,list,event,cwt,strings,generics,pinned,loh,poh,collectible,roots,frozen"
# By the application's kind: (framework, folder, environment) to a process.
LOADS = {
    **{load: lambda f, d, e, load=load: dotnet.App(load, f, d, env=e) for load in ("hot", "threads", "alloc", "async", "names", "web", "idle")},
    "server": lambda f, d, e: dotnet.App("alloc", f, d, env={**e, "DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "4"}),
    "sites": lambda f, d, e: dotnet.AllocApp("sites", f, d, env=e),
    "loop": lambda f, d, e: dotnet.AllocApp("loop", f, d, env=e),
    "fresh": lambda f, d, e: dotnet.AllocApp("fresh", f, d, env=e),
    "heap": lambda f, d, e: dotnet.MemoryApp(HEAP, f, d, ["--array", "100000", "--list", "100000"], env=e),
    "reloading": lambda f, d, e: dotnet.MemoryApp("reloading,allocating", f, d, env=e),
    "pauses": lambda f, d, e: PauseApp(f, d, env=e),
    "churn": lambda f, d, e: _names(f, d, e, "churn"),
    "collect": lambda f, d, e: _names(f, d, e, "collect"),
    "stumble": lambda f, d, e: _names(f, d, e, "stumble", "2"),
}


class Patient:
    """One process under a checker; sessions of the local command on it. Each way to end leaves it well."""

    def __init__(self, checker, framework, load, chance=None):
        self.checker, self.framework, self.load = checker, framework, load
        self.random = chance or random.Random(0)
        self.folder, self.out = tempfile.mkdtemp(prefix="drdotnet-test-"), 0
        with tools_with(checker):
            tmp = tempfile.mkdtemp(prefix="tmp-", dir=self.folder)
            self.app = LOADS[load](framework, self.folder, {"TMPDIR": tmp, **checker.env})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.app.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, profiler, seconds, *words, under=()):
        self.out += 1
        words = [*words, *(() if profiler in AT_ONCE else ("--duration", "%ds" % seconds))]
        out = "%s/out-%d" % (self.folder, self.out)
        return subprocess.Popen([*under, self.checker.program, "run", "-q", "--profiler", profiler, "--pid", str(self.app.pid), "-o", out,
                                 "--pause-budget", "60000", *words],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=proc.ROOT, start_new_session=True,
                                env={**os.environ, "DRDOTNET_LIBRARY": self.checker.library})

    def loaded(self):
        """The content of the library that is in the process now."""
        with open("/proc/%d/maps" % self.app.pid) as f:
            path = next((line.split(None, 5)[5].strip() for line in f if proc.is_ours(line)), None)
        try:
            with open(path or os.devnull, "rb") as f:
                return f.read()
        except FileNotFoundError:
            return b""

    def mapped(self):
        return not self.app.ended() and dotnet.has_library(self.app.pid)

    def check(self, what):
        said = self.checker.said(self.app)
        assert not said, "%s, %s, %s:\n%s" % (self.framework, self.load, what, said[:6000])
        assert not self.app.ended(), "%s, %s, %s: it ended with %s:\n%s" % (
            self.framework, self.load, what, self.app.popen.returncode, self.app.log()[-3000:])

    def session(self, profiler, seconds=1, *words, under=()):
        """One that goes to its end. The reason why there is no report; "" when there is one. `under`: a command that runs it."""
        p = self.start(profiler, seconds, *words, under=under)
        text = p.communicate(timeout=WAIT)[0]
        self.check(profiler)
        proc.wait_until(lambda: not self.mapped(), WAIT, "the library leaves the process")
        reason = re.match(r"drdotnet: (\w+): ", text)
        assert p.returncode == (1 if reason else 0) and text, "%s, %s, %s ended with %d: %s" % (
            self.framework, self.load, profiler, p.returncode, text)
        return reason.group(1) if reason else ""

    def disturbed(self, profiler, way):
        """One that is ended from outside at a moment of chance; some are over before. What it says of itself is its own tests' matter."""
        p = self.start(profiler, 2)
        time.sleep(self.random.uniform(0, 1 if profiler in AT_ONCE else 2.2))
        if way == "stopped":
            self.app.popen.send_signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 0.5))
            self.app.popen.send_signal(signal.SIGCONT)
        elif p.poll() is None:
            p.send_signal({"canceled": signal.SIGINT, "killed": signal.SIGKILL}[way])
        p.communicate(timeout=WAIT)
        self.check("%s, %s" % (profiler, way))
        proc.wait_until(lambda: not self.mapped(), WAIT, "the library leaves the process (%s)" % way)


def endure(checker, framework, load, chance, end, counts):
    with Patient(checker, framework, load, chance) as p:
        for _ in range(SESSIONS_PER_PROCESS):
            if time.monotonic() > end:
                break
            profiler, way = chance.choice(PROFILERS), chance.choice(("whole", "whole", "canceled", "killed", "stopped"))
            if way == "whole":
                without = profiler in BY_ROOTS and framework != "net8.0" and chance.random() < 0.4
                way = p.session(profiler, 1, *(("--roots", "NoCollection") if without else ())) or way
            else:
                p.disturbed(profiler, way)
            counts["%s, %s" % (profiler, way)] += 1
            counts["%s on %s" % (load, framework)] += 1


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--checker", action="append", choices=sorted(CHECKERS))
    options.add_argument("--framework", action="append")
    options.add_argument("--load", action="append", choices=sorted(LOADS))
    options = options.parse_args()
    checkers = [CHECKERS[name]() for name in options.checker or sorted(CHECKERS)]
    for c in checkers:
        assert not c.missing(), c.missing()
    print("seed %d" % options.seed, flush=True)
    chance, counts, end = random.Random(options.seed), collections.Counter(), time.monotonic() + options.seconds
    with contextlib.ExitStack() as entered:
        for c in checkers:
            entered.enter_context(c)
        while time.monotonic() < end:
            checker, framework = chance.choice(checkers), chance.choice(options.framework or dotnet.FRAMEWORKS)
            load = chance.choice(options.load or sorted(LOADS))
            endure(checker, framework, load, chance, end, counts)
            counts["under " + checker.name] += 1
    for what, count in sorted(counts.items()):
        print("%5d  %s" % (count, what), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
