#!/usr/bin/env python3
"""How long a walk of the heap was predicted to stop the application, by how long it stopped it: heaps of several shapes, in a container's group with
several CPU limits, alone, beside programs that want the same processors, and while the application uses up its limit itself. Stops that follow
each other at once are one here as there: the look, a forced collection, the walk. A walk that is refused for the pause budget is made again with any
budget allowed, to know what it would have taken. Printed are ratios: the median, the farthest ones either way, and how many walks were refused,
refused that would have fit (`falsely`), or given up.

usage: heap_prediction.py [--rounds N] [--limits 0.1,0.4] [--loads alone,beside,busy] [--shapes a,b] [--roots NoCollection,Exact] [--budget MS] [--raw FILE]
  shapes: objects, arrays, strings, list, closures, dictionary, mixed
"""
import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import cpu_group  # noqa: E402
from tests.lib.memory_group import within  # noqa: E402
from tests.system.profiler import tools  # noqa: E402
from tests.system.walk.walk import Walked  # noqa: E402

SHAPES = {
    "objects": {"array": 1_000_000},
    "arrays": {"loh": 800},
    "strings": {"strings": 200_000},
    "list": {"list": 1_000_000},
    "closures": {"closure": 200_000},
    "dictionary": {"static": 500_000},
    "mixed": {"shared": 200_000, "loh": 300, "array": 100_000},  # large arrays behind small objects
}
LOADS = ("alone", "beside", "busy")  # in this order: an application that is busy stays so
SPINNERS, BUSY_THREADS = 4, 3
ANY_MS = 60_000
REFUSED = re.compile(r"would stop the application for about (\d+) ms")


@contextlib.contextmanager
def load(app, name):
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(SPINNERS if name == "beside" else 0)]
    try:
        if name == "busy" and not app.busy:
            app.ask("grow allocating %d" % BUSY_THREADS)
            app.busy = True
        yield
    finally:
        for p in spinners:
            p.kill()
            p.wait()


def walk(app, roots, budget_ms):
    """{predicted_ms, taken_ms, fate} of one walk; None where something else came between."""
    said = app.try_to_walk(roots, budget_ms, "brief")[-1]
    if said["ok"]:
        facts = said["facts"]
        return {"predicted_ms": facts["predicted_us"] / 1e3, "taken_ms": facts["paused_us"] / 1e3, "cpu_ms": facts["walk_cpu_us"] / 1e3,
                "objects": facts["objects"], "fate": "walked"}
    refused = REFUSED.search(said["message"])
    if said["reason"] != "HeapTooLarge" or budget_ms == ANY_MS:
        print("# %s: %s" % (said["reason"], said["message"]), file=sys.stderr)
        return None
    done = walk(app, roots, ANY_MS)
    if not done:
        return None
    return {**done, "predicted_ms": float(refused[1]) if refused else done["predicted_ms"], "fate": "refused" if refused else "given up"}


def measure(app, shape, options):
    for name in (n for n in LOADS if n in options.loads):
        for cpus in options.limits:
            cpu_group.set_limit(app.group, cpus)
            with load(app, name):
                for roots in options.roots:
                    for _ in range(options.rounds):
                        row = walk(app, roots, options.budget)
                        if row:
                            yield {"shape": shape, "load": name, "cpus": cpus, "roots": roots, **row}


def measured(options):
    for shape in options.shapes:
        sizes = SHAPES[shape]
        words = [w for mode, count in sizes.items() for w in ("--" + mode, str(count))] + ["--allocating", "0"]
        with cpu_group.cpu_group() as group:
            if not group:
                sys.exit("no control group of the processor can be made here")
            with Walked("net10.0", ",".join([*sizes, "allocating"]), words, prefix=within(group, [])) as app:
                app.group, app.busy = group, False
                yield from measure(app, shape, options)


def ratio(row):
    return row["predicted_ms"] / max(row["taken_ms"], 0.001)


def falsely(row, options):
    return row["fate"] == "refused" and row["taken_ms"] <= options.budget


def line(title, rows, options):
    ratios = sorted(map(ratio, rows))
    return "%-34s %4d %8.2f %8.2f %8.2f %9d %9d %9d" % (
        title, len(rows), statistics.median(ratios), ratios[0], ratios[-1], sum(r["fate"] == "refused" for r in rows),
        sum(falsely(r, options) for r in rows), sum(r["fate"] == "given up" for r in rows))


def table(rows, options):
    yield "%-34s %4s %8s %8s %8s %9s %9s %9s" % ("", "n", "median", "least", "most", "refused", "falsely", "given up")
    for roots in options.roots:
        of = [r for r in rows if r["roots"] == roots]
        for key in ("cpus", "load", "shape"):
            for value in dict.fromkeys(r[key] for r in of):
                yield line("%s, %s %s" % (roots, key, value), [r for r in of if r[key] == value], options)
        if of:
            yield line(roots, of, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limits", type=lambda s: [float(x) for x in s.split(",")], default=[0.1, 0.25, 0.4, 1.0, 2.0])
    parser.add_argument("--loads", type=lambda s: s.split(","), default=list(LOADS))
    parser.add_argument("--shapes", type=lambda s: s.split(","), default=list(SHAPES))
    parser.add_argument("--roots", type=lambda s: s.split(","), default=["NoCollection", "Exact"])
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--raw", type=argparse.FileType("w"))
    options = parser.parse_args()
    tools.build()
    rows = []
    for row in measured(options):
        rows.append(row)
        if options.raw:
            print(json.dumps(row), file=options.raw, flush=True)
    print("\n".join(table(rows, options)))


if __name__ == "__main__":
    main()
