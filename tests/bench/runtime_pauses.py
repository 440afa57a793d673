#!/usr/bin/env python3
"""What a session of RuntimePauses costs, as CPU time of the process for each collection: all of it is done when the runtime collects. An
application collects thousands of times one after the other, with next to nothing to collect: there what a collection costs more with a session
than without is far above what a busy machine adds by chance. First so many that all are looked at (the runtime's reasons, and the stack of who
asks: it asks for them), then many more, of which few are: what the others cost is the rest. With and without in turns in one process (without, with,
with, without, ...), and pairs that are both without as the null control. Another one that does nothing but allocate says how often such an
application collects: that often the cost is its share of the CPU time, with 100 a second looked at.

usage: runtime_pauses.py [--pairs N] [--collections N] [--framework NAME]... [--server] [--json]"""
import argparse
import json
import sys
import tempfile
import time

from tests.bench.paired import median_interval
from tests.lib import dotnet
from tests.system.pauses.pauses import PauseApp, Session

WARM_UP = 50
WARM_UP_SECONDS = 2.5 # until names have been asked for
AT_ONCE = 400   # with these all are looked at
BUDGET = 100    # a second, in the long run
ROUND = 400     # what the library keeps until it is fetched
ROUND_SECONDS = 0.25


def cpu_seconds(pid):
    """Of all its threads (clock_getcpuclockid)."""
    return time.clock_gettime(~pid << 3 | 2)


class Bench:
    def __init__(self, app, folder, collections):
        self.app, self.folder, self.collections = app, folder, collections

    def collect(self, count):
        """Microseconds of CPU time for each collection."""
        begin = cpu_seconds(self.app.pid)
        for _ in range(count // ROUND):
            self.app.ask("induce %d 0 0" % ROUND, 120)
            time.sleep(ROUND_SECONDS)
        return (cpu_seconds(self.app.pid) - begin) / count * 1e6

    def one(self, session=False):
        """For those that are all looked at, for many, and which part of the latter was looked at."""
        running = Session(self.app, self.folder) if session else None
        self.app.ask("induce %d 0 0" % WARM_UP, 120)
        time.sleep(WARM_UP_SECONDS)
        few, many, part = self.collect(AT_ONCE), self.collect(self.collections), 0
        if running:
            report = running.end()
            assert report["pauses"]["dropped"] == 0, report["pauses"]["dropped"]
            part = max(report["details"]["lookedAt"] - WARM_UP - AT_ONCE, 0) / self.collections
        return few, many, part

    def pair(self, second, turn):
        """What the second way costs more for a collection that is looked at, and for one that is not; every other pair the other way around."""
        order = (False, second) if turn % 2 == 0 else (second, False)
        windows = [self.one(s) for s in order]
        a, b = windows if turn % 2 == 0 else reversed(windows)
        few, many, part = b[0] - a[0], b[1] - a[1], b[2]
        return few, (many - part * few) / (1 - part)


def usual_rate(app):
    """Collections in a second of CPU time of an application that only allocates."""
    rates = []
    for _ in range(5):
        begin = cpu_seconds(app.pid)
        answer = app.ask("alloc 1 1", 120)
        rates.append((answer["after"]["Gen0"] - answer["before"]["Gen0"]) / (cpu_seconds(app.pid) - begin))
    return median_interval(rates)[1]


def share_percent(usual, looked_at, counted):
    """Of the CPU time of an application that collects so often."""
    return (min(usual, BUDGET) * looked_at + max(usual - BUDGET, 0) * counted) / 1e4


def intervals(pairs, usual):
    """Of what one costs that is looked at, one that is not, and of both as a share."""
    share = [share_percent(usual, *pair) for pair in pairs]
    return [median_interval(values) for values in ([p[0] for p in pairs], [p[1] for p in pairs], share)]


def measure(framework, server, pairs, collections):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, PauseApp(framework, folder, server=server) as app:
        bench = Bench(app, folder, collections)
        bench.one()
        without, added = bench.one()[1], {"session": [], "null": []}
        for turn in range(pairs):
            added["session"].append(bench.pair(True, turn))
            added["null"].append(bench.pair(False, turn))
        usual = usual_rate(app)
    row = {"framework": framework, "server": server, "pairs": pairs, "collection_us": without, "usual_collections_per_cpu_s": round(usual, 1)}
    for name, values in added.items():
        row[name + "_looked_at_us"], row[name + "_us"], row[name + "_percent"] = intervals(values, usual)
    return row


def text_of(row, key, form):
    low, middle, high = row[key]
    return (form + " (95%%: %s)") % (middle, "too few pairs" if low is None else (form + " to " + form) % (low, high))


def show(what, row, name):
    print("  %-13s %s us for a collection that is looked at, %s us for another, %s%% of the CPU time of an application that only allocates" % (
        what, text_of(row, name + "_looked_at_us", "%.1f"), text_of(row, name + "_us", "%.1f"), text_of(row, name + "_percent", "%.3f")))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--collections", type=int, default=8000)
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
