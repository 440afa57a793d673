#!/usr/bin/env python3
"""How far a session's shares are from what the application measured itself, in points: sessions of 30 s at 99 Hz by default.

usage: accuracy.py [--seconds N] [--hertz N] [--loads a,b] [--framework F] [--json]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import dotnet, local, readers, shares  # noqa: E402

LOADS = {"one thread": "hot", "several threads": "shares", "short bursts": "bursts", "async": "async"}


def measure(load, options, folder):
    with dotnet.App(load, options.framework, folder) as app:
        app.warm()
        before = app.progress()
        out = os.path.join(folder, load)
        subprocess.run([local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "%ds" % options.seconds, "--frequency",
                        str(options.hertz), "--pid", str(app.pid), "-o", out], check=True, capture_output=True, timeout=options.seconds + 60)
        truth = shares.HOT if load == "hot" else app.shares(before)
    samples = readers.folded(out)
    counts = shares.counted(samples, truth)
    known = sum(counts.values())
    with open(out + "/report.json") as f:
        report = json.load(f)
    sampling = report["sampling"]
    frames = sampling["managedFramesNamed"] + sampling["managedFramesUnnamed"]
    return {"samples": samples.total, "in known places": known / samples.total, "most points off": 100 * max(
        abs(counts[p] / known - share) for p, share in truth.items()), "samples per CPU-second": samples.total / (
        report["cpu"]["usedNanoseconds"] / 1e9), "cut stacks": sampling["cutStacks"] / samples.total,
        "managed frames named": sampling["managedFramesNamed"] / frames if frames else 0}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=30)
    options.add_argument("--hertz", type=int, default=99)
    options.add_argument("--loads", default=",".join(LOADS.values()))
    options.add_argument("--framework", default="net10.0")
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    chosen = {title: load for title, load in LOADS.items() if load in options.loads.split(",")}
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        found = {title: measure(load, options, folder) for title, load in chosen.items()}
    if options.json:
        print(json.dumps(found))
        return
    print("| load | samples | samples per CPU-second | most points off | whole stacks | managed frames named |")
    print("|---|---:|---:|---:|---:|---:|")
    for title, r in found.items():
        print("| %s | %d | %.1f | %.1f | %.2f%% | %.2f%% |" % (title, r["samples"], r["samples per CPU-second"], r["most points off"],
                                                             100 * (1 - r["cut stacks"]), 100 * r["managed frames named"]))


if __name__ == "__main__":
    main()
