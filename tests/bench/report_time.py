#!/usr/bin/env python3
"""How long the reports of a session take to be written, how large they are and what memory that needs: a made-up capture of 30 s on 16
threads of a web service (47,520 samples, some 7,800 different stacks of some 50 frames, 6,000 methods).

usage: report_time.py [--rounds N] [--threads N] [--json]"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from tests.lib import proc

TOOL = os.path.join(proc.ROOT, "build/release/tests/report-tool")
BOUNDS = {"ms": 300, "html_kb": 1200}  # what the product promises


def measure(rounds, threads):
    figures = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
            done = subprocess.run([TOOL, "big", folder, str(threads)], check=True, capture_output=True, text=True, timeout=300)
            figures.append(json.loads(done.stdout))
    best = min(figures, key=lambda f: f["ms"])
    return {
        "samples": best["samples"], "stacks": best["stacks"], "methods": best["methods"],
        "ms": best["ms"], "median_ms": statistics.median(f["ms"] for f in figures), "cpu_ms": min(f["cpu_ms"] for f in figures),
        "memory_kb": max(f["memory_kb"] for f in figures),
        "html_kb": best["report.html"] / 1024, "kb": {n: round(v / 1024) for n, v in best.items() if "." in n},
    }


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--threads", type=int, default=16)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    found = measure(options.rounds, options.threads)
    if options.json:
        print(json.dumps(found))
        return
    print("%(samples)d samples, %(stacks)d stacks, %(methods)d methods" % found)
    print("reports written in    %6.0f ms (best), %.0f ms (median), %.0f ms of CPU; bound %d ms" % (found["ms"], found["median_ms"], found["cpu_ms"],
                                                                                           BOUNDS["ms"]))
    print("memory added          %6d KB" % found["memory_kb"])
    for name, kb in sorted(found["kb"].items()):
        print("%-21s %6d KB%s" % (name, kb, "; bound %d KB" % BOUNDS["html_kb"] if name == "report.html" else ""))


if __name__ == "__main__":
    sys.exit(main())
