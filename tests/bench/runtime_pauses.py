#!/usr/bin/env python3
"""What a session of RuntimePauses costs, as CPU time for each collection: all of it is done when the runtime collects. An application that only
allocates is given so little room for young objects (DOTNET_GCgen0size) that it collects thousands of times a second: what a collection costs more
with a session than without is then far above what a busy machine adds by chance. With and without in turns in one process (without, with, with,
without, ...), and pairs that are both without as the null control. The same application with the runtime's own choice of room says how often one
collects that does nothing but allocate: that often the cost, by its CPU time, is its share.

usage: runtime_pauses.py [--pairs N] [--seconds N] [--framework NAME]... [--server] [--json]"""
import argparse
import json
import sys
import tempfile

from tests.bench.paired import median_interval
from tests.lib import dotnet
from tests.pauses.pauses import PauseApp, Session

LITTLE_ROOM = {"DOTNET_GCgen0size": "40000"}  # hexadecimal: 256 KB


class Bench:
    def __init__(self, app, folder, seconds):
        self.app, self.folder, self.seconds = app, folder, seconds
        self.allocated = 0

    def one(self, session=False):
        """CPU seconds and collections for each object, by the threads' own clocks, which the application sums up at their end."""
        running = Session(self.app, self.folder) if session else None
        answer = self.app.ask("alloc 1 %d" % self.seconds, 120)
        if running:
            running.end()
        objects, self.allocated = answer["allocated"] - self.allocated, answer["allocated"]
        return 1 / answer["rate"], (answer["after"]["Gen0"] - answer["before"]["Gen0"]) / objects

    def pair(self, second, turn):
        """Microseconds of CPU time for each collection, the second way's less the first's; every other pair the other way around."""
        order = (False, second) if turn % 2 == 0 else (second, False)
        windows = [self.one(s) for s in order]
        if turn % 2:
            windows.reverse()
        return (windows[1][0] - windows[0][0]) / ((windows[0][1] + windows[1][1]) / 2) * 1e6


def collections_per_cpu_second(framework, folder, server, seconds):
    with PauseApp(framework, folder, server=server) as app:
        bench = Bench(app, folder, seconds)
        bench.one()
        windows = [bench.one() for _ in range(5)]
        return median_interval([collections / cpu for cpu, collections in windows])[1]


def measure(framework, server, pairs, seconds):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        usual = collections_per_cpu_second(framework, folder, server, seconds)
        with PauseApp(framework, folder, server=server, env=LITTLE_ROOM) as app:
            bench = Bench(app, folder, seconds)
            bench.one()
            cpu, collections = bench.one()
            added = {"session": [], "null": []}
            for turn in range(pairs):
                added["session"].append(bench.pair(True, turn))
                added["null"].append(bench.pair(False, turn))
    row = {"framework": framework, "server": server, "pairs": pairs, "collections_per_cpu_s": round(collections / cpu),
           "usual_collections_per_cpu_s": round(usual, 1)}
    for name, values in added.items():
        row[name + "_us"] = median_interval(values)
        row[name + "_percent"] = [x if x is None else x * usual / 1e4 for x in row[name + "_us"]]
    return row


def show(what, row, name):
    low, middle, high = row[name + "_us"]
    print("  %-13s %6.1f us for a collection (95 %%: %s), %.3f %% of the CPU time of an application that only allocates (at most %s)" % (
        what, middle, "too few pairs" if low is None else "%.1f to %.1f" % (low, high), row[name + "_percent"][1],
        "?" if high is None else "%.3f %%" % row[name + "_percent"][2]))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--seconds", type=int, default=1)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options.add_argument("--server", action="store_true")
    options.add_argument("--json", action="store_true")
    args = options.parse_args()
    rows = [measure(f, args.server, args.pairs, args.seconds) for f in args.framework or ["net10.0"]]
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    for r in rows:
        print("%s%s, %d collections in a second of CPU time (%.1f as the runtime would have it), %d pairs" % (
            r["framework"], " Server GC" if r["server"] else "", r["collections_per_cpu_s"], r["usual_collections_per_cpu_s"], r["pairs"]))
        show("a session", r, "session")
        show("null control", r, "null")
    return 0


if __name__ == "__main__":
    sys.exit(main())
