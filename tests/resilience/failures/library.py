#!/usr/bin/env python3
"""Lets every system call of the profiler library fail, one a session, in a real .NET process under load (library_calls.c). A session may be
refused or end early; the process goes on, nothing of the library stays in it, and afterwards a session works as ever.

usage: library.py [FRAMEWORK...]     each call of each place, in each way in which it can fail
"""
import errno
import mmap
import os
import struct
import sys
import time

from tests.lib import proc
from tests.system.profiler import ordeal, tools

SHIM = os.path.join(proc.ROOT, "build/release/profiler-tools/library_calls.so")
HEAD, PLACE, PLACES = struct.Struct("<QQQQ"), struct.Struct("<QQ24s"), 128
WAYS = {
    "socket": ("EMFILE",), "connect": ("ECONNREFUSED", "EAGAIN", "EINTR"), "eventfd": ("EMFILE",), "open": ("EMFILE", "ENOMEM"),
    "read": ("EIO", "EINTR"), "write": ("EIO", "EINTR"), "send": ("EPIPE", "EAGAIN", "EINTR"), "recvmsg": ("ECONNRESET", "EAGAIN", "EINTR"),
    "poll": ("EINTR", "ENOMEM"), "prctl": ("EPERM",), "madvise": ("ENOMEM",), "syscall": ("EAGAIN", "ENOSYS"),
    "pthread_create": ("EAGAIN",), "pthread_attr_init": ("ENOMEM",),
}
EVERY = 2 ** 64 - 1
LASTING = {"socket", "eventfd", "open", "prctl", "madvise", "syscall", "pthread_create"}  # a process out of something stays so


class Calls:
    """What the shim and we share."""

    def __init__(self, path):
        with open(path, "wb") as f:
            f.write(bytes(HEAD.size + PLACES * PLACE.size))
        with open(path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 0)

    def plan(self, at=0, nth=0, error=0):
        """Calls are counted from here on; one may fail."""
        self.memory[:HEAD.size] = HEAD.pack(0, 0, 0, 0)
        for i in range(PLACES):
            where = HEAD.size + i * PLACE.size
            self.memory[where + 8:where + 16] = bytes(8)
        self.memory[:HEAD.size] = HEAD.pack(at, nth, error, 0)

    def hits(self):
        return HEAD.unpack(self.memory[:HEAD.size])[3]

    def places(self):
        """[(place, calls, name)] of what was called since the plan."""
        entries = (PLACE.unpack_from(self.memory, HEAD.size + i * PLACE.size) for i in range(PLACES))
        return sorted((at, calls, name.split(b"\0")[0].decode()) for at, calls, name in entries if at and calls)


class Failing(ordeal.Ordeal):
    """An ordeal whose process has the shim."""

    def __init__(self, framework):
        self.path = os.path.join(proc.ROOT, "build", "library-calls-%d" % os.getpid())
        self.calls, names = Calls(self.path), tools.Names
        tools.Names = lambda *words: names(*words, env={"LD_PRELOAD": SHIM, "LIBRARY_CALLS": self.path})
        try:
            super().__init__(framework)
        finally:
            tools.Names = names

    def __exit__(self, *unused):
        super().__exit__(*unused)
        os.unlink(self.path)

    def failing(self, mode, what="nothing fails"):
        """A session in which something fails: each step may."""
        driver = tools.Driver(self.app)
        try:
            if driver.try_to("attach %s notification" % self.app.library)["ok"]:
                for command in ("sample 200 0.1", "names", "detach") if mode == "timers" else ("stack %d" % self.app.pid, "detach"):
                    if not driver.try_to(command)["ok"]:
                        break
        finally:
            driver.kill()
        self.sessions += 1
        try:
            self.app.wait_unmapped(ordeal.WAIT)
        except AssertionError as e:
            raise AssertionError("%s: %s" % (what, e)) from None

    def learn(self, mode):
        self.calls.plan()
        self.failing(mode)
        return self.calls.places()

    def fail(self, mode, name, place, nth, error):
        """Whether the call has come."""
        self.calls.plan(place, nth, getattr(errno, error))
        self.failing(mode, "%s of %s at %#x: %s" % ("all calls" if nth == EVERY else "call %d" % (nth + 1), name, place, error))
        assert self.app.popen.poll() is None, self.app.state()
        self.check()
        return self.calls.hits() > 0


def each(ordeal_, chosen=lambda name, error, nth: True, most=3, modes=ordeal.MODES):
    """Yields (mode, name, place, nth, error, hit): the first calls of each place, its last, and all of them."""
    for mode in modes:
        for place, calls, name in ordeal_.learn(mode):
            for nth in sorted({*range(min(calls, most)), calls - 1, *([EVERY] if name in LASTING else [])}):
                for error in WAYS[name]:
                    if chosen(name, error, nth):
                        yield mode, name, place, nth, error, ordeal_.fail(mode, name, place, nth, error)


def main():
    start, total = time.monotonic(), 0
    for framework in sys.argv[1:] or ("net8.0", "net9.0", "net10.0"):
        with Failing(framework) as failing:
            for mode, name, place, nth, error, hit in each(failing):
                total += 1
                print("%s %s: %s of %s at %#x: %s%s" % (framework, mode, "all calls" if nth == EVERY else "call %d" % (nth + 1), name, place, error,
                                                        "" if hit else " (did not come)"), flush=True)
            failing.normal("timers")
            failing.check()
    print("%d failures in %d s: the process was none the worse" % (total, time.monotonic() - start))


if __name__ == "__main__":
    sys.exit(main())
