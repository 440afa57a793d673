#!/usr/bin/env python3
"""What a StuckTasks session costs: how long each of its two looks stops an application with many waiting operations, and the agent's memory beside
that of a session on one with hardly any.

usage: stuck_tasks.py [--operations N] [--rounds N] [--frameworks net10.0 ...] [--json]"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from tests.lib import dotnet, proc

BOUNDS = {"stop_ms": 150, "agent_mb": 40}  # at 1,000,000 operations
SECONDS = 2


def peak_anonymous_mb(process):
    """Of a process until it ends: the most private memory that it had."""
    most = 0
    while process.poll() is None:
        try:
            with open("/proc/%d/status" % process.pid, encoding="utf-8") as f:
                most = max([most] + [int(line.split()[1]) for line in f if line.startswith("RssAnon:")])
        except OSError:
            pass
        time.sleep(0.005)
    return most / 1024


def one_round(app, folder, number):
    out = os.path.join(folder, "%s-%d" % (app.pid, number))
    run = subprocess.Popen([os.path.join(proc.ROOT, "build/release/drdotnet"), "run", "--stuck-tasks", str(app.pid), "--duration", str(SECONDS),
                            "--pause-budget", "10000", "-o", out], stdout=subprocess.DEVNULL)
    agent_mb = peak_anonymous_mb(run)
    if run.returncode:
        sys.exit("drdotnet run failed")
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        report = json.load(f)
    return {"operations": report["looks"]["operations"], "objects": report["looks"]["objects"], "stop_ms": report["looks"]["stopMicroseconds"] / 1000,
            "walk_cpu_ms": report["looks"]["walkCpuMicroseconds"] / 1000, "longest_ms": report["cost"]["maxPauseMicroseconds"] / 1000,
            "agent_mb": agent_mb, "agent_cpu_ms": report["cost"]["agentCPUMilliseconds"]}


def measure(framework, operations, rounds, folder):
    with dotnet.AsyncApp("many", framework, folder, ["--count", str(operations)]) as app:
        figures = [one_round(app, folder, n) for n in range(rounds)]
    found = {key: statistics.median(f[key] for f in figures) for key in figures[0]}
    found["worst_stop_ms"] = max(f["longest_ms"] for f in figures)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--operations", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--frameworks", nargs="+", default=list(dotnet.FRAMEWORKS))
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        for framework in options.frameworks:
            found[framework] = measure(framework, options.operations, options.rounds, folder)
            found[framework]["agent_mb"] -= measure(framework, 1, 1, folder)["agent_mb"]
    if options.json:
        print(json.dumps(found))
        return
    for framework, f in found.items():
        print("%-8s %d operations, %d objects" % (framework, f["operations"], f["objects"]))
        print("  stopped for       %6.1f ms a look (worst %.1f), of which the walk's CPU %.1f; bound %d ms" %
              (f["stop_ms"], f["worst_stop_ms"], f["walk_cpu_ms"], BOUNDS["stop_ms"]))
        print("  the agent's       %6.1f MB, %.0f ms of CPU; bound %d MB" % (f["agent_mb"], f["agent_cpu_ms"], BOUNDS["agent_mb"]))


if __name__ == "__main__":
    sys.exit(main())
