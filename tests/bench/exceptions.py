#!/usr/bin/env python3
"""What a session of Exceptions costs an application that throws: operations per second, and per second of its CPU time, with a session against
without, in one process, by turns. Each turn with a session is held against the turns before and after it.

usage: exceptions.py [--framework NAME]... [--rate N]... [--threads N] [--turns N] [--seconds N] [--json]     --rate 0: as many as it can"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from tests.bench.paired import median_interval
from tests.lib import dotnet
from tests.lib.local import DRDOTNET
from tests.system.exceptions.target import Target, load


def window(app, seconds):
    """(operations per CPU-second, operations per second) between two of the application's own progress lines."""
    first = last = app.progress()
    while last["t_s"] - first["t_s"] < seconds:
        time.sleep(0.05)
        last = app.progress()
    ops = last["ops"] - first["ops"]
    return ops / (last["cpu_s"] - first["cpu_s"]), ops / (last["t_s"] - first["t_s"])


def with_session(app, seconds):
    """The same while a session runs, and its report."""
    with tempfile.TemporaryDirectory() as out:
        session = subprocess.Popen([DRDOTNET, "run", "--exceptions", "--duration", "%ds" % (seconds + 3), "--pid", str(app.pid), "-o", out],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while app.library_threads() < 2 and session.poll() is None:
            time.sleep(0.02)
        app.lines(1)
        measured = window(app, seconds)
        assert session.wait(60) == 0 and os.path.exists(os.path.join(out, "report.json")), "the session failed"
        return measured, load(out)


def measure(framework, rate, threads, turns, seconds):
    with Target("plain", framework, ["--threads", str(threads), "--rate", str(rate)]) as app:
        app.warm(1000)
        per_cpu, per_second, off, report = [], [], None, None
        for _ in range(turns + 1):
            app.lines(1)
            now = window(app, seconds)
            if off:
                per_cpu.append(on[0] * 2 / (off[0] + now[0]))
                per_second.append(on[1] * 2 / (off[1] + now[1]))
            off = now
            if len(per_cpu) < turns:
                on, report = with_session(app, seconds)
    return {"framework": framework, "rate": rate, "threads": threads, "of_throughput": [x and round(x, 3) for x in median_interval(per_second)],
            "of_cpu_time": [x and round(x, 3) for x in median_interval(per_cpu)], "ops_per_second": round(off[1]),
            "reported_per_second": round(report["thrown"]["perSecond"]), "sampled_percent": report["sampling"]["sampledPercent"],
            "max_wait_us": report["cost"]["maxWaitMicroseconds"], "turns": [round(x, 3) for x in per_second]}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options.add_argument("--rate", action="append", type=int)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--turns", type=int, default=7)
    options.add_argument("--seconds", type=int, default=4)
    options.add_argument("--json", action="store_true")
    o = options.parse_args()
    rows = []
    for framework in o.framework or dotnet.FRAMEWORKS:
        for rate in o.rate or (10000, 0):
            rows.append(measure(framework, rate, o.threads, o.turns, o.seconds))
            r = rows[-1]
            if not o.json:
                print("%-8s rate %6d: %.3f of its operations per second, %.3f per CPU-second; throws %d/s, reported %d/s, %.0f%% of the time watched" % (
                    framework, rate, r["of_throughput"][1], r["of_cpu_time"][1], r["ops_per_second"], r["reported_per_second"], r["sampled_percent"]),
                      flush=True)
    if o.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    sys.exit(main())
