#!/usr/bin/env python3
"""What a session of SlowRequests leaves behind: two processes of a web application that are asked all the time, and two that are asked nothing, one of
each with a session and the other without. After a while: requests per second of CPU time of the one against the other's, by turns, before and after; the
memory of both, and how many activities the runtime's tracker keeps alive (objects of the heap).

usage: after_slow_requests.py [--framework NAME] [--wait SECONDS] [--turns N] [--seconds N] [--json]
  --wait   between the session and what is measured after it: 600"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.bench.slow_requests import settle, window  # noqa: E402
from tests.lib import dotnet  # noqa: E402
from tests.lib.local import DRDOTNET  # noqa: E402
from tests.system.slowrequests.target import Target  # noqa: E402

SESSION_S = 30
PATH = "/items/4711"


def drdotnet(*words):
    subprocess.run([DRDOTNET, "run", *words], check=True, stdout=subprocess.DEVNULL)


def session(app, folder):
    drdotnet("--slow-requests", str(app.pid), "--duration", "%ds" % SESSION_S, "-o", os.path.join(folder, "slow-%d" % app.pid))
    with open(os.path.join(folder, "slow-%d" % app.pid, "report.json"), encoding="utf-8") as f:
        return json.load(f)["cost"]["left"]


def kept(app, folder):
    """Activities of the tracker on the heap."""
    out = os.path.join(folder, "heap-%d" % app.pid)
    drdotnet("--memory", str(app.pid), "-o", out)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        types = json.load(f)["types"]
    return sum(t["objects"] for t in types if "ActivityInfo" in t["name"])


def rss_kb(app):
    with open("/proc/%d/statm" % app.pid) as f:
        return int(f.read().split()[1]) * 4


def ratio(one, other, turns, seconds):
    """Requests per CPU-second of the one against the other, by turns."""
    found = []
    for i in range(turns):
        pair = [window(app, 0, seconds, PATH, False)["per_cpu_s"] for app in ((one, other) if i % 2 else (other, one))]
        found.append(pair[0] / pair[1] if i % 2 else pair[1] / pair[0])
    return found


@contextlib.contextmanager
def asked(apps):
    """All the time, a little: what most services do."""
    loads = [subprocess.Popen([dotnet.HTTP_LOAD, str(app.port), "--seconds", "86400", "--rate", "50", "--connections", "4", PATH], stdout=subprocess.DEVNULL)
             for app in apps]
    try:
        yield
    finally:
        for load in loads:
            load.kill()
            load.wait()


def measure(framework, wait, turns, seconds):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        busy, twin, idle, idle_twin = apps = [stack.enter_context(Target(framework, load="bare")) for _ in range(4)]
        for app in (busy, twin):
            settle(app, 0, seconds, PATH, False)
        for app in (idle, idle_twin):
            app.load("--requests", 200, PATH)
        before = ratio(busy, twin, turns, seconds)
        with asked((busy, twin)):
            left = session(busy, folder)
            session(idle, folder)
            time.sleep(wait)
        after = ratio(busy, twin, turns, seconds)
        return {"left": left, "before": before, "after": after, "before_median": statistics.median(before), "after_median": statistics.median(after),
                "rss_kb": {name: rss_kb(app) for name, app in zip(("busy", "busy twin", "idle", "idle twin"), apps)},
                "activities": {name: kept(app, folder) for name, app in zip(("busy", "busy twin", "idle", "idle twin"), apps)}}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--framework", default="net10.0", choices=dotnet.FRAMEWORKS)
    options.add_argument("--wait", type=int, default=600)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--seconds", type=int, default=8)
    options.add_argument("--json", action="store_true")
    o = options.parse_args()
    r = measure(o.framework, o.wait, o.turns, o.seconds)
    if o.json:
        print(json.dumps(r, indent=1))
        return
    print("requests per CPU-second against the twin: %.3f before, %.3f %d s after the session; left: %s" %
          (r["before_median"], r["after_median"], o.wait, ", ".join(r["left"])))
    for name, kb in r["rss_kb"].items():
        print("%-10s %7d KB, %d activities on the heap" % (name, kb, r["activities"][name]))


if __name__ == "__main__":
    main()
