#!/usr/bin/env python3
"""Strangers talk to an application while each profiler in turn watches it: paths and methods of requests, messages of exceptions, SQL texts, names of threads,
types and methods, of every length around the sizes of the library's tables, of any characters. The application counts its own answers: none may be lost, and
none wrong, and nothing of ours may be left in it.

usage: strangers.py [--seconds N] [--framework net10.0] [--seed N] [PROFILER...]     N seconds beside each profiler"""
import argparse
import json
import os
import random
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
import threading
import time

from tests.lib import dotnet, proc
from tests.lib.local import DRDOTNET

BUDGET = ["--pause-budget", "10000"]  # on a machine as full as the traffic makes it
# The option of each.
PROFILERS = {"SlowRequests": ["--slow-requests"], "Exceptions": ["--exceptions"], "Allocations": ["--allocations"], "CPUHotpaths": ["--cpu"],
             "Threads": ["--threads"], "Waits": ["--waits"], "Deadlocks": ["--deadlocks"], "StuckTasks": ["--stuck-tasks"],
             "RuntimePauses": ["--pauses"], "GCSurvivors": ["--memory", *BUDGET], "DuplicatedStrings": ["--strings", *BUDGET],
             "MemoryLeak": ["--leak", *BUDGET]}
ONE_LOOK = ("GCSurvivors", "DuplicatedStrings")  # whose sessions have no length of their own: as many as there is time for
PLACES = ("path", "path", "path", "path", "throw", "throw", "sql", "sql", "npgsql", "npgsql", "http", "thread", "type")
# Of the library's tables, of names that Linux and the runtime know, of a page and of a request's longest line.
SIZES = (0, 1, 2, 3, 8, 15, 16, 31, 32, 33, 40, 63, 64, 65, 96, 127, 128, 129, 150, 155, 156, 157, 158, 159, 160, 161, 162, 166, 191, 192, 193, 255, 256, 257,
         383, 384, 511, 512, 513, 1023, 1024, 1025, 2048, 4096, 16384)
SQL = ("SELECT * FROM t WHERE a = '%s'", 'INSERT INTO "%s" VALUES (1)', "UPDATE t SET a = $tag$%s$tag$", "/* %s */ DELETE FROM t", "SELECT '%s",
       "EXEC [%s]", "%s")


class Texts:
    """Strange ones, of one thread's own chance."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self):
        return max(0, self.random.choice(SIZES) + self.random.choice((-1, 0, 0, 0, 1))) if self.random.random() < 0.8 else self.random.randrange(300)

    def unit(self):
        """One of UTF-16: any, among them NUL and halves of surrogates."""
        kind = self.random.randrange(8)
        return ord(self.random.choice(string.printable)) if kind < 4 else (0, 0xd800, 0xdfff, self.random.randrange(65536))[kind - 4]

    def text(self):
        size, kind = self.size(), self.random.randrange(4)
        if kind == 0:
            return [self.unit()] * size
        if kind == 1:
            return [ord(c) for c in (self.random.choice(SQL) % ("x" * size))]
        return [self.unit() for _ in range(size)] if kind == 2 else [ord(self.random.choice("abcdefgh /.'\"`$;<>[]{}-1")) for _ in range(size)]

    def word(self):
        kind = self.random.randrange(6)
        size = self.random.choice((1, 2, 3, 5, 6, 7, 12, 18, 31, 32, 33, 64, 65))
        if kind < 4:  # as routes are named, but for a value in it
            return ("a" * (size - 1) + self.random.choice(string.ascii_lowercase[:25])) if kind else "a" * size
        return "".join(self.random.choice(string.ascii_letters + string.digits + "-_.~!$&'()*+,;=:@") for _ in range(size)) if kind == 4 else \
            "".join("%%%02X" % self.random.randrange(256) for _ in range(size))

    def path(self):
        """Often of about as many bytes as a shape may have, with values at its end: where words are folded and cut."""
        kind = self.random.randrange(8)
        if kind == 0:
            return "/" + "a" * self.size()
        if kind == 1:
            return "/" * max(1, self.size())
        if kind < 5:
            return "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" * 4 + "/" + "a" * self.random.randrange(10, 24) + "/" + "".join(
                self.random.choice(string.ascii_lowercase) for _ in range(self.random.randrange(1, 4)))
        return "".join("/" + self.word() for _ in range(self.random.randrange(1, 20)))


def known_fold():
    """What once ended a process: a word far behind in a long path that takes more than twenty values."""
    return ["/" + "/".join(["a" * 32] * 4 + ["a" * 18, "%s%s" % (a, b)]) for a in string.ascii_lowercase for b in string.ascii_lowercase]


def checksum(units):
    h = 2166136261
    for unit in units:
        h = (h ^ unit) * 16777619 & 0xffffffff
    return b"%08x" % h


class Stranger(threading.Thread):
    """One connection after the other; asks until it is told to stop."""

    def __init__(self, port, seed, over):
        super().__init__(daemon=True)
        self.port, self.texts, self.over = port, Texts(seed), over
        self.answered = self.refused = 0
        self.wrong, self.socket, self.fixed = None, None, known_fold()

    def run(self):
        try:
            while not self.over.is_set():
                self.ask()
        except (OSError, AssertionError) as e:
            self.wrong = "%s: %s" % (type(e).__name__, e)
        finally:
            if self.socket:
                self.socket.close()

    def ask(self):
        place = self.texts.random.choice(PLACES)
        path = self.fixed.pop() if self.fixed else self.texts.path()
        units = [] if place == "path" else self.texts.text()
        body = b"".join(unit.to_bytes(2, "little") for unit in units)
        method = self.texts.random.choice(("GET", "POST", "PUT", "DELETE", "PROPFIND", "A", "VERYLONGMETHOD"))
        head = "%s %s HTTP/1.1\r\nHost: localhost\r\nX-Stranger: %s\r\nContent-Length: %d\r\n" % (method, path, place, len(body))
        if self.texts.random.random() < 0.2:
            parent = "".join(self.texts.random.choice("0123456789abcdef-") for _ in range(self.texts.size()))
            head += "Content-Type: application/grpc\r\ntraceparent: %s\r\n" % parent
        status, answer = self.exchange(head.encode() + b"\r\n" + body)
        if status == 200:
            expected = checksum([*path.encode(), *units])
            assert answer == expected, "%s %.60s: %r instead of %r" % (place, path, answer, expected)
            self.answered += 1
        else:
            assert 400 <= status < 500, "status %d of %s %.200s" % (status, method, path)
            self.refused += 1

    def exchange(self, request):
        if not self.socket:
            self.socket = socket.create_connection(("127.0.0.1", self.port), 60)
        self.socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.socket.recv(65536)
            assert more, "the connection ended before an answer"
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields.get(b"content-length", 0)):
            body += self.socket.recv(65536)
        if fields.get(b"connection") == b"close":
            self.socket.close()
            self.socket = None
        return int(head.split()[1]), body


class Ground:
    """The application, and strangers who talk to it."""

    def __init__(self, framework, seed, strangers=4):
        self.framework, self.seed, self.count = framework, seed, strangers
        self.folder, self.reports = tempfile.mkdtemp(prefix="drdotnet-strangers-"), tempfile.mkdtemp(prefix="drdotnet-reports-")

    def __enter__(self):
        self.app = dotnet.RequestApp("all", self.framework, self.folder, ["--strangers"], env={"TMPDIR": self.folder})
        self.app.tmp = self.folder
        return self

    def __exit__(self, *_):
        self.app.stop()
        for folder in (self.folder, self.reports):
            shutil.rmtree(folder, ignore_errors=True)

    def counted(self):
        return int(self.app.get("/truth/strangers")[1])

    def beside(self, profiler, seconds):
        """What became of it: answered, refused, sessions. AssertionError: what was lost or wrong."""
        before, over, until, sessions = self.counted(), threading.Event(), time.monotonic() + seconds, 0
        traces = dotnet.Traces(self.app)
        strangers = [Stranger(self.app.port, "%s %s %d" % (self.seed, profiler, i), over) for i in range(self.count)]
        for s in strangers:
            s.start()
        try:
            while not sessions or (profiler in ONE_LOOK and time.monotonic() < until):
                self.session(profiler, seconds)
                sessions += 1
        finally:
            over.set()
            for s in strangers:
                s.join(proc.patience(60))
        for s in strangers:
            assert not s.wrong, "beside %s: %s" % (profiler, s.wrong)
            assert not s.is_alive(), "beside %s: no answer" % profiler
        answered = sum(s.answered for s in strangers)
        assert self.counted() - before == answered, "beside %s: %d answers were given, %d came" % (profiler, self.counted() - before, answered)
        proc.wait_until(lambda: not dotnet.has_library(self.app.pid), 60, "the library has left")
        left = dotnet.Traces(self.app).left_since(traces)
        assert not left.keys() - {"descriptors"}, "left: %s" % left  # the application has connections of its own
        return {"answered": answered, "refused": sum(s.refused for s in strangers), "sessions": sessions}

    def session(self, profiler, seconds):
        words = [DRDOTNET, "run", *PROFILERS[profiler], str(self.app.pid), "-o", os.path.join(self.reports, profiler)]
        if profiler not in ONE_LOOK:
            words += ["--duration", "%ds" % max(2, seconds)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=proc.ROOT, timeout=proc.patience(seconds + 240))
        assert done.returncode == 0, "%s: %s" % (profiler, done.stdout + done.stderr)
        with open(os.path.join(self.reports, profiler, "report.json"), encoding="utf-8") as f:
            json.load(f)


def run(seconds, framework="net10.0", seed=0, profilers=tuple(PROFILERS), tell=lambda *_: None):
    with Ground(framework, seed) as ground:
        for profiler in profilers:
            tell(profiler, ground.beside(profiler, seconds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--framework", default="net10.0", choices=dotnet.FRAMEWORKS)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("profilers", nargs="*", metavar="PROFILER")
    options = parser.parse_args()
    unknown = set(options.profilers) - PROFILERS.keys()
    if unknown:
        parser.error("%s: none of %s" % (", ".join(sorted(unknown)), ", ".join(PROFILERS)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("seed %d, %s" % (options.seed, options.framework), flush=True)
    run(options.seconds, options.framework, options.seed, options.profilers or tuple(PROFILERS),
        lambda profiler, counts: print("%-18s %s" % (profiler, ", ".join("%d %s" % (n, what) for what, n in counts.items())), flush=True))


if __name__ == "__main__":
    main()
