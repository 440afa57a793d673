#!/usr/bin/env python3
"""How long the analysis of a heap takes, and in how much memory: made-up heaps of a shop (tests/bench/heap_graph.c) from their stream to
dominators, retained sizes, sums, the largest holders and the strongest paths.

usage: heap_graph.py [--rounds N] [--big] [--json]
  --big   also 100 M objects, in a control group of 2 GB (needs root): minutes, and 5 GB of disk"""
import argparse
import json
import os
import subprocess
import sys

from tests.lib import proc
from tests.lib.memory_group import memory_group, within

TOOL = os.path.join(proc.ROOT, "build/release/tests/heap-graph")
BOUNDS = {1_000_000: {"seconds": 0.8}, 10_000_000: {"seconds": 4, "peakMB": 600}}  # what the product promises
LIMIT = 2 << 30


def run(objects, group=None):
    done = subprocess.run(within(group, [TOOL, objects, 0]), check=True, capture_output=True, text=True, timeout=3600)
    figures = json.loads(done.stdout)
    figures["seconds"] = sum(figures[k] for k in ("graphSeconds", "totalsSeconds", "pathsSeconds"))
    return figures


def show(figures):
    print("%11s objects: %6.2f s (%.2f s of CPU), at most %d MB with a stream of %d MB, %d MB in a file" % (
        "{:,}".format(figures["objects"]), figures["seconds"], figures["cpuSeconds"], figures["peakMB"], figures["streamMB"],
        figures["spilledMB"]))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--big", action="store_true")
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    best, missed = [], []
    for objects, bounds in BOUNDS.items():
        figures = min((run(objects) for _ in range(options.rounds)), key=lambda f: f["seconds"])
        missed += ["%d objects: %s is %s" % (objects, k, figures[k]) for k, v in bounds.items() if figures[k] > v]
        best.append(figures)
    if options.big:
        with memory_group(LIMIT) as group:
            if not group:
                raise SystemExit("--big: no control group of memory can be made here")
            best.append(run(100_000_000, group))
    for figures in best:
        print(json.dumps(figures)) if options.json else show(figures)
    for line in missed:
        print("missed: " + line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
