#!/usr/bin/env python3
"""What a Threads session takes with 500 idle threads, and with 2,000: the time of each look and of the whole end, CPU time in the agent and in the process,
and how late the application's threads were (a thread that wakes each millisecond) during sessions and beside them. Medians over sessions.

usage: threads.py [--sessions N] [--framework NAME] [--json]"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from tests.lib import dotnet
from tests.lib.local import drdotnet

MODES = ("pulse", "thousands")
SECONDS = 2


def late(app, seconds):
    """The longest lateness of each second, milliseconds."""
    since = app.progress()["t_s"]
    found = []
    while not found or found[-1]["t_s"] < since + seconds:
        line = app.progress()
        if not found or line["t_s"] > found[-1]["t_s"]:
            found.append(line)
        time.sleep(0.2)
    return [line["max_gap_ms"] for line in found]


def session(app, out):
    began = time.monotonic()
    code, _, errors = drdotnet("run", "--threads", str(app.pid), "--duration", str(SECONDS), "-o", out)
    if code:
        sys.exit(errors)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        report = json.load(f)
    return {"first_look_ms": report["looks"]["firstMilliseconds"], "second_look_ms": report["looks"]["secondMilliseconds"],
            "beyond_duration_ms": 1000 * (time.monotonic() - began - SECONDS), "agent_cpu_ms": report["cost"]["agentCPUMilliseconds"],
            "added_cpu_ms": report["cost"]["addedCPUMilliseconds"], "pause_us": report["cost"]["maxPauseMicroseconds"],
            "report_kb": os.path.getsize(os.path.join(out, "report.json")) / 1000, "threads": report["looks"]["threads"],
            "stacks_unknown": report["looks"]["stacksUnknown"]}


def measure(framework, mode, sessions):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        app = dotnet.ThreadApp(mode, framework, folder)
        try:
            quiet, during, rows = [], [], []
            for i in range(sessions):
                quiet += late(app, 2)
                rows.append(session(app, os.path.join(folder, "report-%d" % i)))
                during += late(app, 1)  # the second that has just been, and the session's end in it
        finally:
            app.stop()
    found = {key: round(statistics.median(row[key] for row in rows), 1) for key in rows[0]}
    return {"framework": framework, "mode": mode, **found,
            "late_quiet_ms": round(statistics.median(quiet), 1), "late_session_ms": round(statistics.median(during), 1)}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=5)
    options.add_argument("--framework", default="net10.0")
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    for mode in MODES:
        row = measure(options.framework, mode, options.sessions)
        print(json.dumps(row) if options.json else "\n".join("%-20s %s" % item for item in row.items()) + "\n", flush=True)


if __name__ == "__main__":
    main()
