#!/usr/bin/env python3
"""What a Deadlocks session takes to find a deadlock that is there, alone and among 100 threads and 10,000 monitors: each look, the time until it is certain,
the whole command, CPU time in the agent and in the process. Medians over sessions. With --healthy N: N sessions on applications whose locks are busy and not
deadlocked, and how often something was found all the same.

usage: deadlocks.py [--sessions N] [--framework NAME] [--json] [--healthy N [--jobs N]]"""
import argparse
import collections
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile
import time

from tests.lib import dotnet
from tests.lib.local import drdotnet

MODES = ("pair", "crowd")
BUSY = ("busy", "recursive", "pulse", "timeout", "many", "consumers", "readers", "scribes", "lockbusy", "lockconsumers",
        "taskbegun", "taskturns", "asyncturns", "throttle", "belt", "taskleft")
QUEUES = {"taskleft": "LockHeldLong"}  # not deadlocked: this is true of it


def session(app, out, seconds):
    began = time.monotonic()
    code, _, errors = drdotnet("run", "--deadlocks", str(app.pid), "--duration", str(seconds), "-o", out)
    if code:
        sys.exit(errors)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        return json.load(f), 1000 * (time.monotonic() - began)


def row(report, whole_ms):
    looks, cost = report["looks"], report["cost"]
    return {"first_look_ms": looks["firstMilliseconds"], "second_look_ms": looks["secondMilliseconds"], "certain_ms": looks["provenMilliseconds"] or -1,
            "command_ms": whole_ms, "agent_cpu_ms": cost["agentCPUMilliseconds"], "added_cpu_ms": cost["addedCPUMilliseconds"],
            "pause_us": cost["maxPauseMicroseconds"], "threads": looks["threads"], "monitors": looks["monitors"]}


def measure(framework, mode, sessions):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        app = dotnet.LockApp(mode, framework, folder)
        try:
            rows = [row(*session(app, os.path.join(folder, "report-%d" % i), 5)) for i in range(sessions)]
        finally:
            app.stop()
    return {"framework": framework, "mode": mode, **{key: round(statistics.median(r[key] for r in rows), 1) for key in rows[0]}}


def judge(framework, mode, sessions):
    """(runs, what was found) of one healthy application."""
    found = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        app = dotnet.LockApp(mode, framework, folder)
        try:
            for i in range(sessions):
                report, _ = session(app, os.path.join(folder, "report-%d" % i), 1)
                found.update("%s %s: %s" % (f["id"], f["state"], f["evidence"]) for f in report["findings"] if f["id"] != QUEUES.get(mode))
        finally:
            app.stop()
    return {"framework": framework, "mode": mode, "sessions": sessions, "found": dict(found)}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=5)
    options.add_argument("--framework", default="net10.0")
    options.add_argument("--healthy", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    if options.healthy:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for found in pool.map(lambda mode: judge(options.framework, mode, options.healthy // len(BUSY)), BUSY):
                print(json.dumps(found), flush=True)
        return
    for mode in MODES:
        found = measure(options.framework, mode, options.sessions)
        print(json.dumps(found) if options.json else "\n".join("%-20s %s" % item for item in found.items()) + "\n", flush=True)


if __name__ == "__main__":
    main()
