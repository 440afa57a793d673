#!/usr/bin/env python3
"""What a walk of the heap costs the application: its stops, and the memory of its process, beside the way that dotnet-gcdump takes (an
EventPipe session with GCHeapDump over the diagnostics port, read and thrown away), and beside a bare walk by the collector's callbacks
(tests/bench/bare_walk.c). A process for each way, heap and round; the ways in turn. Printed are medians and minima.

usage: heap_walk.py [--rounds N] [--frameworks a,b] [--objects N,N] [--ways a,b]
  ways: none, no-collection, exact, types, gcdump, bare
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import proc  # noqa: E402
from tests.system.profiler import tools  # noqa: E402
from tests.system.walk.walk import Walked  # noqa: E402

BARE = os.path.join(ROOT, "build/release/bare_walk.so")
MAGIC = b"DOTNET_IPC_V1\0"
# dotnet-gcdump's: GC, types, a collection, the heap, names of types
KEYWORDS = 0x1980001 | 0x80000


def send(path, command_set, command, payload):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(path)
    s.sendall(MAGIC + struct.pack("<HBBH", 20 + len(payload), command_set, command, 0) + payload)
    return s


def ipc(path, command_set, command, payload):
    """A connected socket with the command sent, and the answer's payload."""
    s = send(path, command_set, command, payload)
    head = s.recv(20, socket.MSG_WAITALL)
    size, kind, code, _ = struct.unpack("<HBBH", head[14:20])
    body = s.recv(size - 20, socket.MSG_WAITALL) if size > 20 else b""
    if (kind, code) != (0xff, 0):
        raise RuntimeError("the diagnostics port refuses: %r" % body)
    return s, body


def text(s):
    return struct.pack("<I", len(s) + 1) + (s + "\0").encode("utf-16-le")


def gcdump(app):
    """Bytes of a heap dump's events, and the seconds until they stopped coming."""
    begin = time.monotonic()
    provider = struct.pack("<QI", KEYWORDS, 5) + text("Microsoft-Windows-DotNETRuntime") + struct.pack("<I", 0)
    stream, body = ipc(app.socket, 2, 2, struct.pack("<III", 1024, 1, 1) + provider)
    session, = struct.unpack("<Q", body)
    size, last = 0, time.monotonic()
    stream.settimeout(0.5)
    while time.monotonic() - last < 2:  # other events go on, in small blocks
        try:
            block = stream.recv(1 << 20)
        except socket.timeout:
            continue
        size += len(block)
        if len(block) > 16384:
            last = time.monotonic()
    stop = send(app.socket, 2, 1, struct.pack("<Q", session))  # its answer comes when all events have been read
    stream.settimeout(30)
    while block := stream.recv(1 << 20):
        size += len(block)
    stream.close()
    stop.close()
    return {"bytes": size, "ms": (last - begin) * 1e3}


def bare(app):
    library = os.path.join(app.folder, "bare.so")
    shutil.copy(BARE, library)
    with tools.Driver(app) as driver:
        driver("load " + library)
    proc.wait_until(lambda: os.path.exists(library + ".result"), 60, "the bare walk")
    with open(library + ".result") as f:
        return {"ms": float(f.read().split()[0])}


class Peak(threading.Thread):
    """The most memory that the process had while this ran."""

    def __init__(self, app):
        super().__init__(daemon=True)
        self.app, self.kb, self.over = app, 0, False
        self.start()

    def run(self):
        while not self.over:
            self.kb = max(self.kb, self.app.rss_kb())
            time.sleep(0.002)

    def end(self):
        self.over = True
        self.join()
        return self.kb


def gap(app, since):
    """The longest gap that the application saw since then, once it has told of it."""
    time.sleep(2.2)
    return max(p["max_gap_ms"] for p in app.all_progress()[since:])


def measure(framework, objects, way):
    modes, sizes = "array,list", ["--array", str(objects // 2), "--list", str(objects // 2)]
    with Walked(framework, modes, sizes) as app:
        time.sleep(1.5)
        app.progress()
        before_kb, since = app.rss_kb(), len(app.all_progress())
        out = {"stop_ms": 0}
        peak = Peak(app)
        if way == "gcdump":
            done = gcdump(app)
            out.update(ms=done["ms"])
        elif way == "bare":
            out["stop_ms"] = bare(app)["ms"]
        elif way != "none":
            words = {"exact": ["Exact", 60000], "no-collection": ["NoCollection", 60000], "types": ["Auto", 60000, "types-only"]}[way]
            tool = app.start(*words, "brief")
            answer = json.loads(tool.communicate()[0].splitlines()[-1])
            if not answer["ok"]:
                raise RuntimeError(answer)
            facts = answer["facts"]
            out.update(stop_ms=max(facts["collection_us"], facts["walk_us"]) / 1e3, ms=answer["ms"],
                       predicted_ms=facts["predicted_us"] / 1e3)
        out["gap_ms"] = gap(app, since)
        out["rss_kb"] = peak.end() - before_kb
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frameworks", default="net8.0,net9.0,net10.0")
    parser.add_argument("--objects", default="1000000,10000000")
    parser.add_argument("--ways", default="none,no-collection,exact,types,gcdump,bare")
    options = parser.parse_args()
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE", "-I", ROOT, "-o", BARE, os.path.join(ROOT, "tests/bench/bare_walk.c")],
                   check=True)
    tools.build()
    print("%-8s %9s %-14s %9s %9s %9s %9s %9s %9s" % ("runtime", "objects", "way", "stop ms", "min", "gap ms", "min", "RSS + MB", "all ms"))
    for framework in options.frameworks.split(","):
        for objects in map(int, options.objects.split(",")):
            ways = [w for w in options.ways.split(",") if not (framework == "net8.0" and w == "no-collection")]
            results = {w: [] for w in ways}
            for _ in range(options.rounds):
                for way in ways:
                    results[way].append(measure(framework, objects, way))
            for way in ways:
                rows = results[way]

                def middle(key):
                    return statistics.median(r.get(key, 0) for r in rows)
                print("%-8s %9d %-14s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f" % (
                    framework, objects, way, middle("stop_ms"), min(r["stop_ms"] for r in rows), middle("gap_ms"),
                    min(r["gap_ms"] for r in rows), middle("rss_kb") / 1024, middle("ms")), flush=True)


if __name__ == "__main__":
    main()
