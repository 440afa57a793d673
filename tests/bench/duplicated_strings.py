#!/usr/bin/env python3
"""What a DuplicatedStrings session costs: how long the application stands still, what memory is added to it, how soon the report is there. The
application's heap is some objects of which two thirds are strings, a third of them equal.

usage: duplicated_strings.py [--objects N] [--rounds N] [--frameworks net10.0 ...] [--json]"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from tests.lib import dotnet
from tests.lib.local import drdotnet

BOUNDS = {"stop_ms": 60, "added_mb": 8}  # at 1,000,000 objects


def memory_kb(pid, key):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def one_round(app, folder, number):
    out = os.path.join(folder, "%s-%d" % (app.framework, number))
    with open("/proc/%d/clear_refs" % app.pid, "w") as f:
        f.write("5")  # forgets the peak
    before_kb = memory_kb(app.pid, "VmRSS")
    began = time.monotonic()
    code, text, errors = drdotnet("run", "--profiler", "DuplicatedStrings", "--pid", app.pid, "-o", out, "--pause-budget", "5000", seconds=300)
    total_ms = (time.monotonic() - began) * 1000
    if code:
        sys.exit(text + errors)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        report = json.load(f)
    return {"objects": report["heap"]["objects"], "strings": report["strings"]["count"], "copies": report["strings"]["copies"],
            "stop_ms": report["heap"]["stopMicroseconds"] / 1000, "held_ms": report["cost"]["maxPauseMicroseconds"] / 1000,
            "added_mb": (memory_kb(app.pid, "VmHWM") - before_kb) / 1024, "total_ms": total_ms,
            "process_cpu_ms": report["cost"]["addedCPUMilliseconds"], "agent_cpu_ms": report["cost"]["agentCPUMilliseconds"]}


def measure(framework, objects, rounds, folder):
    with dotnet.MemoryApp("strings", framework, folder, ["--strings", str(objects // 3)]) as app:
        app.framework = framework
        app.ask("heap")
        time.sleep(1)
        figures = [one_round(app, folder, n) for n in range(rounds)]
    found = {key: statistics.median(f[key] for f in figures) for key in figures[0]}
    found["best_stop_ms"] = min(f["stop_ms"] for f in figures)
    found["worst_stop_ms"] = max(f["stop_ms"] for f in figures)
    found["worst_added_mb"] = max(f["added_mb"] for f in figures)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--objects", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--frameworks", nargs="+", default=list(dotnet.FRAMEWORKS))
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        found = {f: measure(f, options.objects, options.rounds, folder) for f in options.frameworks}
    if options.json:
        print(json.dumps(found))
        return
    for framework, f in found.items():
        print("%-8s %d objects, %d strings" % (framework, f["objects"], f["strings"]))
        print("  stopped for       %6.1f ms (%.1f to %.1f); bound %d ms" % (f["stop_ms"], f["best_stop_ms"], f["worst_stop_ms"], BOUNDS["stop_ms"]))
        print("  memory added      %6.1f MB (worst %.1f); bound %d MB" % (f["added_mb"], f["worst_added_mb"], BOUNDS["added_mb"]))
        print("  CPU               %6.0f ms in the process, %.0f ms in the agent" % (f["process_cpu_ms"], f["agent_cpu_ms"]))
        print("  until the report  %6.0f ms" % f["total_ms"])


if __name__ == "__main__":
    sys.exit(main())
