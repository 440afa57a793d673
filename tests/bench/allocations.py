#!/usr/bin/env python3
"""What sampling allocations costs an application that does nothing but allocate: operations per second of its CPU time with sampling against
without, in one process, by turns; stacks included. Each turn with sampling is held against the turns before and after it.

usage: allocations.py [--framework NAME]... [--threads N] [--turns N] [--seconds N] [--json]"""
import argparse
import json
import statistics
import sys
import time

from tests.system.allocs.target import Target
from tests.bench.paired import median_interval
from tests.lib import dotnet
from tests.system.profiler import tools


def window(app, seconds):
    """(operations per CPU-second, operations per second) between two of the application's own progress lines."""
    first = app.progress()
    end = time.monotonic() + seconds + 5
    last = first
    while last["t_s"] - first["t_s"] < seconds and time.monotonic() < end:
        time.sleep(0.05)
        last = app.progress()
    ops = last["ops"] - first["ops"]
    return ops / (last["cpu_s"] - first["cpu_s"]), ops / (last["t_s"] - first["t_s"])


def next_line(app):
    before = app.progress()["t_s"]
    while app.progress()["t_s"] == before:
        time.sleep(0.02)


def measure(framework, threads, turns, seconds):
    with Target("loop", framework, ["--threads", str(threads)]) as app, tools.Driver(app) as driver:
        time.sleep(3)
        per_cpu, per_second, rates, on, off = [], [], [], None, None
        driver.attach("notification")
        for turn in range(2 * turns + 1):
            if turn % 2 == 0:
                next_line(app)
                now = window(app, seconds)
                if off:
                    per_cpu.append(on[0] * 2 / (off[0] + now[0]))
                    per_second.append(on[1] * 2 / (off[1] + now[1]))
                off = now
            else:
                driver.send("allocs 0 %d" % (seconds + 2))
                next_line(app)
                on = window(app, seconds)
                answer = driver.answer()
                assert answer["ok"], answer
                rates.append(answer["taken"] / (seconds + 2))
        cost = driver("detach")
    return {"framework": framework, "threads": threads, "of_cpu_time": [x and round(x, 3) for x in median_interval(per_cpu)],
            "of_throughput": [x and round(x, 3) for x in median_interval(per_second)], "samples_per_second": round(statistics.median(rates)),
            "callback_ns": round(cost["paused_ns"] / max(1, cost["pauses"])), "own_thread_ms": round(cost["cpu_ns"] / 1e6, 1),
            "turns": [round(x, 3) for x in per_cpu]}


def show(row):
    low, middle, high = row["of_cpu_time"]
    print("%-8s %d threads: %.3f of its operations per CPU-second (95%%: %s), %.3f per second; %d samples/s, %d ns each" % (
        row["framework"], row["threads"], middle, "too few turns" if low is None else "%.3f to %.3f" % (low, high), row["of_throughput"][1],
        row["samples_per_second"], row["callback_ns"]), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--turns", type=int, default=15)
    options.add_argument("--seconds", type=int, default=2)
    options.add_argument("--json", action="store_true")
    o = options.parse_args()
    tools.build()
    rows = []
    for framework in o.framework or dotnet.FRAMEWORKS:
        rows.append(measure(framework, o.threads, o.turns, o.seconds))
        if not o.json:
            show(rows[-1])
    if o.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    sys.exit(main())
