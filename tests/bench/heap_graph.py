#!/usr/bin/env python3
"""How long the analysis of a heap takes, and in how much memory: made-up heaps of a shop (tests/bench/heap_graph.c) from their stream to
dominators, retained sizes, sums, the largest holders and the strongest paths.

usage: heap_graph.py [--rounds N] [--big] [--json]
  --big   also 100 M objects, in a control group of 2 GB (needs root): minutes, and 5 GB of disk"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

from tests.lib import proc

TOOL = os.path.join(proc.ROOT, "build/release/tests/heap-graph")
BOUNDS = {1_000_000: {"seconds": 0.8}, 10_000_000: {"seconds": 4, "peakMB": 600}}  # what the product promises
LIMIT = 2 << 30
GROUPS = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")


@contextlib.contextmanager
def control_group(limit_bytes):
    """The file of processes of a new control group with this much memory."""
    for folder, limit in GROUPS:
        path = os.path.join(folder, "drdotnet-bench-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(os.path.join(path, limit), "w", encoding="ascii") as f:
                f.write(str(limit_bytes))
            yield os.path.join(path, "cgroup.procs")
            return
        except OSError:
            pass
        finally:
            os.rmdir(path)
    raise SystemExit("--big: no control group of memory can be made here")


def run(objects, group=None):
    def enter():
        if group:
            with open(group, "w", encoding="ascii") as f:
                f.write(str(os.getpid()))

    done = subprocess.run([TOOL, str(objects), "0"], check=True, capture_output=True, text=True, timeout=3600, preexec_fn=enter)
    figures = json.loads(done.stdout)
    figures["seconds"] = sum(figures[k] for k in ("graphSeconds", "totalsSeconds", "holdersSeconds", "pathsSeconds"))
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
        with control_group(LIMIT) as group:
            best.append(run(100_000_000, group))
    for figures in best:
        print(json.dumps(figures)) if options.json else show(figures)
    for line in missed:
        print("missed: " + line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
