#!/usr/bin/env python3
"""What a session of RuntimePauses costs an application that only allocates: objects allocated for each second of its CPU time, with and without
a session, in turns in one process (without, with, with, without, ...); beside pairs that are both without, as the null control. It collects some
hundred times a second, more than an application that does something else.

usage: runtime_pauses.py [--pairs N] [--seconds N] [--framework NAME]... [--server] [--json]"""
import argparse
import json
import statistics
import sys
import tempfile

from tests.lib import dotnet
from tests.pauses.pauses import PauseApp, Session

class Bench:
    def __init__(self, app, folder, seconds):
        self.app, self.folder, self.seconds = app, folder, seconds
        self.collections = 0

    def one(self, session):
        """Objects for each CPU second, by the threads' own clocks, which the application sums up at their end."""
        running = Session(self.app, self.folder) if session else None
        answer = self.app.ask("alloc 1 %d" % self.seconds, 120)
        self.collections += answer["after"]["Gen0"] - answer["before"]["Gen0"]
        if running:
            running.end()
        return answer["rate"]

    def pair(self, second, turn):
        """The second way's rate by the first's; every other pair the other way around."""
        order = (False, second) if turn % 2 == 0 else (second, False)
        rates = [self.one(s) for s in order]
        return rates[1] / rates[0] if turn % 2 == 0 else rates[0] / rates[1]


def measure(framework, server, pairs, seconds):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, PauseApp(framework, folder, server=server) as app:
        bench = Bench(app, folder, seconds)
        bench.one(False)
        ratios = {"session": [], "null": []}
        for turn in range(pairs):
            ratios["session"].append(bench.pair(True, turn))
            ratios["null"].append(bench.pair(False, turn))
        rate = bench.collections / (seconds * (4 * pairs + 1))
        return {"framework": framework, "server": server, "collections_per_s": round(rate),
                **{name: {"median": round(statistics.median(r), 4), "mean": round(statistics.mean(r), 4),
                          "error": round(statistics.stdev(r) / len(r) ** 0.5, 4) if len(r) > 1 else None} for name, r in ratios.items()}}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pairs", type=int, default=12)
    options.add_argument("--seconds", type=int, default=2)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options.add_argument("--server", action="store_true")
    options.add_argument("--json", action="store_true")
    args = options.parse_args()
    rows = [measure(f, args.server, args.pairs, args.seconds) for f in args.framework or ["net10.0"]]
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    for r in rows:
        print("%s%s, %d collections a second: with a session %.4f of the throughput without (mean %.4f, standard error %s); null control %.4f "
              "(mean %.4f, %s)" % (r["framework"], " Server GC" if r["server"] else "", r["collections_per_s"], r["session"]["median"],
                                   r["session"]["mean"], r["session"]["error"], r["null"]["median"], r["null"]["mean"], r["null"]["error"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
