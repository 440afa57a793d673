#!/usr/bin/env python3
"""What a session of SlowRequests costs a web application: requests per second of its CPU time with a session, and with dotnet-trace taking the same events,
against the untouched application, in one process, by turns. Each turn is held against the untouched ones before and after it. A session follows many requests
for a second of every few: a turn takes twice --seconds, and is of the whole session.

usage: slow_requests.py [--framework NAME] [--rate N]... [--turns N] [--seconds N] [--path PATH] [--http2] [--ways session,dotnet-trace] [--json]
  --rate   requests a second: 1000, 10000 and 60000; 0: as many as it can"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.bench.overhead import TRACE, install_trace  # noqa: E402
from tests.bench.paired import median_interval  # noqa: E402
from tests.lib import dotnet, proc  # noqa: E402
from tests.lib.local import DRDOTNET  # noqa: E402
from tests.system.slowrequests.target import HOSTING, Target  # noqa: E402

PROVIDERS = "System.Threading.Tasks.TplEventSource:0x40080:5,Microsoft.AspNetCore.Hosting:0xffffffffffffffff:4"
SETTLE_S, SETTLE_TRIES, SETTLED_MS = 3, 12, 30
DEEP = 20000  # from this rate on a connection carries several requests at once: the client is to leave the application a processor


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def window(app, rate, seconds, path, http2):
    """What the client saw, and what the application used meanwhile."""
    before = cpu_seconds(app.pid)
    many = rate == 0 or rate >= DEEP
    seen = app.load("--rate", rate, "--connections", 2 if http2 else 16, "--depth", 64 if http2 else 16 if many else 1, path, seconds=seconds, http2=http2)
    used = cpu_seconds(app.pid) - before
    return {"answered": seen["answered"], "cpu_s": used, "per_cpu_s": seen["answered"] / used, "per_s": seen["per_second"], "p99_us": seen["p99_us"],
            "refused": seen["refused"] + seen["broken"]}


def jit_ms(app):
    return json.loads(app.get("/truth")[1])["jitMs"]


def settle(app, *how):
    """Until the runtime compiles nothing more of what is called: else the first turn pays for the application's own start."""
    rate, _, path, http2 = how
    for _ in range(SETTLE_TRIES):
        before = jit_ms(app)
        window(app, rate, SETTLE_S, path, http2)
        if jit_ms(app) - before < SETTLED_MS:
            return


def beside(app, words, *how):
    """The first seconds, in which code is compiled and a burst is followed, and as many after them, while the command listens to the application."""
    with watched(app, words):
        return window(app, *how), window(app, *how)


@contextlib.contextmanager
def watched(app, words):
    """While the command listens to the application's requests."""
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w") as log:
        child = subprocess.Popen([*words, os.path.join(folder, "out")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            proc.wait_until(lambda: HOSTING in app.listened(), 60, "somebody listens")
            yield
        finally:
            child.send_signal(2)
            child.wait(120)
            proc.wait_until(lambda: HOSTING not in app.listened(), 60, "nobody listens")


def with_session(app, *how):
    return beside(app, [DRDOTNET, "run", "--slow-requests", str(app.pid), "--duration", "600s", "-o"], *how)


def with_trace(app, *how):
    return beside(app, [TRACE, "collect", "-p", str(app.pid), "--providers", PROVIDERS, "-o"], *how)


WAYS = {"session": with_session, "dotnet-trace": with_trace}


def measure(app, ways, turns, *how):
    settle(app, *how)
    off, starts, ratios = window(app, *how), {way: [] for way in ways}, {way: [] for way in ways}
    rates, p99 = {way: [] for way in ("untouched", *ways)}, {way: [] for way in ("untouched", *ways)}
    for _ in range(turns):
        for way in ways:
            (start, on), after = WAYS[way](app, *how), window(app, *how)
            starts[way].append(start["cpu_s"] - start["answered"] / on["per_cpu_s"])
            both = (start["answered"] + on["answered"]) / (start["cpu_s"] + on["cpu_s"])
            ratios[way].append(both * 2 / (off["per_cpu_s"] + after["per_cpu_s"]))
            p99[way].append(on["p99_us"])
            p99["untouched"].append(after["p99_us"])
            rates[way].append(on["per_s"])
            rates["untouched"].append(after["per_s"])
            off = after
    return {"ratios": ratios, "of_cpu_time": {way: median_interval(r) for way, r in ratios.items()}, "per_cpu_s_untouched": off["per_cpu_s"],
            "start_cpu_s": {way: statistics.median(v) for way, v in starts.items()},
            "per_s": {way: statistics.median(v) for way, v in rates.items()}, "p99_us": {way: statistics.median(v) for way, v in p99.items()}}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--framework", default="net10.0", choices=dotnet.FRAMEWORKS)
    options.add_argument("--rate", action="append", type=int)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--seconds", type=int, default=15)
    options.add_argument("--path", default="/items/4711")
    options.add_argument("--http2", action="store_true")
    options.add_argument("--ways", default="session,dotnet-trace")
    options.add_argument("--json", action="store_true")
    o = options.parse_args()
    ways, rows = o.ways.split(","), []
    if "dotnet-trace" in ways and install_trace():
        print("without dotnet-trace: " + install_trace(), file=sys.stderr)
        ways.remove("dotnet-trace")
    with Target(o.framework, load="bare") as app:
        window(app, 0, 8, o.path, o.http2)  # what is called often is optimized
        for rate in o.rate or (1000, 10000, 60000):
            row = {"framework": o.framework, "rate": rate, **measure(app, ways, o.turns, rate, o.seconds, o.path, o.http2)}
            rows.append(row)
            if not o.json:
                for way in ways:
                    low, middle, high = row["of_cpu_time"][way]
                    print("%-8s %6d/s %-12s %.3f of its requests per CPU-second (%s to %s); answered %.0f/s with, %.0f/s without; p99 %d us, %d us "
                          "untouched; its start took %.2f s more CPU time" % (
                        o.framework, rate, way, middle, low and round(low, 3), high and round(high, 3), row["per_s"][way], row["per_s"]["untouched"],
                        row["p99_us"][way], row["p99_us"]["untouched"], row["start_cpu_s"][way]), flush=True)
    if o.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    sys.exit(main())
