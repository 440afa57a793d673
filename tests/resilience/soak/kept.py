#!/usr/bin/env python3
"""Sessions of the local command in one process for Alpine, each of which stages the library anew: musl keeps what it has mapped, and the one
copy that stays serves all of them. Prints the copies, what they map and have written, and the process's own memory, mappings, threads and descriptors;
fails when there is a second copy, or when anything grows. Another version of the library stands beside the first, once for all of its sessions.

usage: kept.py [--sessions N] [--framework NAME]"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tests.lib import dotnet, local, platforms, proc
from tests.resilience.soak import flat

SESSIONS = (("CPUHotpaths", "--duration", "1s"), ("GCSurvivors",), ("Exceptions", "--duration", "1s"))
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
GROWTH_KB, MAPPINGS, SPARE = 2048, 8, 3  # as of any process to which somebody attaches (leaks.py)


def copies(pid):
    """{device and inode of a library of ours: {"mapped_kb", "dirty_kb"}}; dirty is what the process has of its own."""
    found, of = {}, None
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ (\S+) (\d+)\s+(.*)", line)
            if mapping:
                low, high, device, inode, path = mapping.groups()
                of = found.setdefault((device, inode), {"mapped_kb": 0, "dirty_kb": 0}) if "libdrdotnet" in path else None
                if of:
                    of["mapped_kb"] += (int(high, 16) - int(low, 16)) // 1024
            elif of and line.startswith("Anonymous:"):
                of["dirty_kb"] += int(line.split()[1])
    return found


class Profiled:
    """A process of which a session is made again and again."""

    def __init__(self, framework):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-soak-")
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.app = dotnet.App("idle", framework, self.folder, ["--threads", "2"], env={"TMPDIR": self.tmp})
        self.record = flat.Record("kept, " + framework, self.app.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.app.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def session(self, number, program=local.DRDOTNET):
        profiler, *words = SESSIONS[number % len(SESSIONS)]
        out = os.path.join(self.folder, "out")
        done = subprocess.run([program, "run", "--profiler", profiler, *words, "--pid", str(self.app.pid), "-o", out, "--pause-budget", "60000"],
                              capture_output=True, text=True, timeout=proc.patience(60))
        shutil.rmtree(out, ignore_errors=True)
        if done.returncode or done.stderr:
            raise AssertionError("session %d, %s: %s%s" % (number, profiler, done.stdout, done.stderr))
        left = [name for name in os.listdir(self.tmp) if name.startswith(".drdotnet")]
        if left:
            raise AssertionError("session %d, %s, left %s" % (number, profiler, left))
        return done.stdout


def other_version(folder):
    """The local command with a library of another version beside it, which has another content."""
    with open(LIBRARY, "rb") as f, open(os.path.join(folder, "libdrdotnet.so"), "wb") as out:
        out.write(f.read() + b"another")
    return shutil.copy(local.DRDOTNET, folder)


def run(framework, sessions, say=lambda text: None):
    """The copies after the first session, and after the last."""
    with Profiled(framework) as p:
        began = time.monotonic()
        for i in range(sessions):
            p.session(i)
            p.record.look()
            if i == 0:
                first = copies(p.app.pid)
        last = copies(p.app.pid)
        assert len(last) == 1 and list(first) == list(last), (first, last)
        assert list(last.values())[0]["mapped_kb"] == list(first.values())[0]["mapped_kb"], (first, last)
        say("%d sessions, %d s: the library: %s after the first, %s after the last\n%s"
            % (sessions, time.monotonic() - began, *(list(of.values())[0] for of in (first, last)), p.record))
        if sessions >= 2 * flat.WINDOWS:
            p.record.check(GROWTH_KB, {"mappings": MAPPINGS, "threads": SPARE, "descriptors": SPARE})
        other = other_version(p.folder)
        for i in range(2):
            p.session(i, other)
            assert len(copies(p.app.pid)) == 2, copies(p.app.pid)
        p.session(0)
        assert len(copies(p.app.pid)) == 2, copies(p.app.pid)
        return first, last


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=200)
    options.add_argument("--framework", default="net10.0")
    options = options.parse_args()
    platforms.choose("musl")
    run(options.framework, options.sessions, lambda text: print(text, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
