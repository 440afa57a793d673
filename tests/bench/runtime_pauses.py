#!/usr/bin/env python3
"""What a session of RuntimePauses costs, as CPU time of the process for each collection: all of it is done when the runtime collects. An
application collects thousands of times one after the other, with next to nothing to collect: there what a collection costs more with a session
than without is far above what a busy machine adds by chance. It asks for them, so that a session takes the stack of who asks as well, which
it does not for the runtime's own. With and without in turns in one process (without, with, with, without, ...), and pairs that are both without
as the null control. Another one that does nothing but allocate says how often such an application collects: that often the cost is its
share of the CPU time.

usage: runtime_pauses.py [--pairs N] [--collections N] [--framework NAME]... [--server] [--json]"""
import argparse
import json
import sys
import tempfile
import time

from tests.bench.paired import median_interval
from tests.lib import dotnet
from tests.pauses.pauses import PauseApp, Session

def cpu_seconds(pid):
    """Of all its threads (clock_getcpuclockid)."""
    return time.clock_gettime(~pid << 3 | 2)


class Bench:
    def __init__(self, app, folder, collections):
        self.app, self.folder, self.collections = app, folder, collections

    def one(self, session=False):
        """Microseconds of CPU time for each collection."""
        running = Session(self.app, self.folder) if session else None
        begin = cpu_seconds(self.app.pid)
        self.app.ask("induce %d 0 0" % self.collections, 120)
        took = cpu_seconds(self.app.pid) - begin
        if running:
            running.end()
        return took / self.collections * 1e6

    def pair(self, second, turn):
        """The second way's less the first's; every other pair the other way around."""
        order = (False, second) if turn % 2 == 0 else (second, False)
        windows = [self.one(s) for s in order]
        return windows[1] - windows[0] if turn % 2 == 0 else windows[0] - windows[1]


def usual_rate(app):
    """Collections in a second of CPU time of an application that only allocates."""
    rates = []
    for _ in range(5):
        begin = cpu_seconds(app.pid)
        answer = app.ask("alloc 1 1", 120)
        rates.append((answer["after"]["Gen0"] - answer["before"]["Gen0"]) / (cpu_seconds(app.pid) - begin))
    return median_interval(rates)[1]


def measure(framework, server, pairs, collections):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, PauseApp(framework, folder, server=server) as app:
        bench = Bench(app, folder, collections)
        bench.one()
        without, added = bench.one(), {"session": [], "null": []}
        for turn in range(pairs):
            added["session"].append(bench.pair(True, turn))
            added["null"].append(bench.pair(False, turn))
        usual = usual_rate(app)
    row = {"framework": framework, "server": server, "pairs": pairs, "collection_us": without, "usual_collections_per_cpu_s": round(usual, 1)}
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
    options.add_argument("--collections", type=int, default=3000)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options.add_argument("--server", action="store_true")
    options.add_argument("--json", action="store_true")
    args = options.parse_args()
    rows = [measure(f, args.server, args.pairs, args.collections) for f in args.framework or ["net10.0"]]
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    for r in rows:
        print("%s%s, %.0f us of CPU time for a collection without a session; %.0f of them in a second of CPU time where one only allocates; %d pairs" % (
            r["framework"], " Server GC" if r["server"] else "", r["collection_us"], r["usual_collections_per_cpu_s"], r["pairs"]))
        show("a session", r, "session")
        show("null control", r, "null")
    return 0


if __name__ == "__main__":
    sys.exit(main())
