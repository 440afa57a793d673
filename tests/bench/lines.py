#!/usr/bin/env python3
"""What resolving lines adds to a session: sessions on an application with its symbols and without them, in turns. Of each the time from its end to the
reports and the CPU time that drdotnet used.

usage: lines.py [--rounds N] [--seconds N]     prints one JSON object"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))
from tests.lib import dotnet, local  # noqa: E402


class Copy(dotnet.App):
    NAME = "LineApp"


def measure(app, folder, seconds):
    out = os.path.join(folder, "report")
    began = time.monotonic()
    code, text, errors = local.drdotnet("run", "--cpu", "%ds" % seconds, "--pid", app.pid, "-o", out, "--frequency", "499", seconds=seconds + 60)
    took = time.monotonic() - began
    if code:
        raise SystemExit("drdotnet run: " + text + errors)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        report = json.load(f)
    shutil.rmtree(out)
    lined = sum("source" in m for m in report["methods"])
    return {"ms": 1000 * (took - report["time"]["durationSeconds"]), "cpu_ms": report["cost"]["agentCPUMilliseconds"], "lined": lined,
            "methods": len(report["methods"])}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=3)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        app = Copy("all", "net10.0", folder)
        place = os.path.dirname(dotnet.path("net10.0", "LineApp"))
        symbols = os.path.join(place, "LineApp.pdb")
        try:
            app.warm(200)
            runs = {"with": [], "without": []}
            for _ in range(options.rounds):
                runs["with"].append(measure(app, folder, options.seconds))
                os.rename(symbols, symbols + ".away")
                try:
                    runs["without"].append(measure(app, folder, options.seconds))
                finally:
                    os.rename(symbols + ".away", symbols)
        finally:
            app.stop()
    if any(r["lined"] for r in runs["without"]) or not all(r["lined"] for r in runs["with"]):
        raise SystemExit("the symbols were not what differs")
    middle = {how: {key: statistics.median(r[key] for r in list_) for key in list_[0]} for how, list_ in runs.items()}
    print(json.dumps({**middle, "added_ms": middle["with"]["ms"] - middle["without"]["ms"],
                      "added_cpu_ms": middle["with"]["cpu_ms"] - middle["without"]["cpu_ms"]}))


if __name__ == "__main__":
    main()
