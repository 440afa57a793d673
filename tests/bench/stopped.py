#!/usr/bin/env python3
"""What a profiler that is stopped costs a web application: its throughput in the seconds from SIGSTOP on, against the untouched application's before and after,
in one process, by turns. The application is in a control group of its own, as a container's is.

usage: stopped.py [--framework NAME] [--rate N] [--turns N] [--seconds N] [--path PATH] [--profilers cpu,waits,slow-requests] [--json]
  --rate   requests a second; 0: as many as it can"""
import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.bench.slow_requests import settle, window  # noqa: E402
from tests.lib import dotnet, perf_events, proc  # noqa: E402
from tests.lib.local import DRDOTNET  # noqa: E402
from tests.lib.memory_group import within  # noqa: E402
from tests.lib.perf_group import perf_group  # noqa: E402
from tests.system.slowrequests.target import Target  # noqa: E402

WORDS = {"cpu": ["--profiler", "CPUHotpaths", "--pid"], "waits": ["--waits"], "slow-requests": ["--slow-requests"]}
GOES_ON_S = 3  # of the session, under load, before it is stopped


@contextlib.contextmanager
def session(app, profiler):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w") as log:
        child = subprocess.Popen([DRDOTNET, "run", *WORDS[profiler], str(app.pid), "--duration", "600s", "-o", os.path.join(folder, "out")],
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGINT)
            child.wait(120)
            proc.wait_until(lambda: not dotnet.has_library(app.pid), 60, "the library has left")


def stop(child):
    """In a moment in which its events are open, if there is one within a few seconds; says whether there was."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if perf_events.descriptors(child.pid):
            child.send_signal(signal.SIGSTOP)
            if perf_events.descriptors(child.pid):
                return True
            child.send_signal(signal.SIGCONT)
    child.send_signal(signal.SIGSTOP)
    return False


def stopped_beside(app, profiler, seconds, *how):
    """What the client saw from the stop on; whether events were open at the stop, and still count at the end."""
    rate, path = how
    with session(app, profiler) as child:
        proc.wait_until(lambda: dotnet.has_library(app.pid), 60, "the library is in the process")
        words = [dotnet.HTTP_LOAD, str(app.port), "--seconds", "600", "--rate", str(rate), "--connections", "16", "--depth", "16", path]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as load:
            time.sleep(GOES_ON_S)
            open_then = stop(child)
            load.kill()
        on = window(app, rate, seconds, path, False)
        before = perf_events.counted(child.pid)
        time.sleep(0.5)
        on["open"], on["counting"] = open_then, perf_events.counted(child.pid) != before
        return on


def measure(app, profilers, turns, seconds, rate, path):
    settle(app, rate, seconds, path, False)
    found, off = {p: [] for p in profilers}, window(app, rate, seconds, path, False)
    for _ in range(turns):
        for profiler in profilers:
            on, after = stopped_beside(app, profiler, seconds, rate, path), window(app, rate, seconds, path, False)
            on["of_throughput"] = on["per_s"] * 2 / (off["per_s"] + after["per_s"])
            on["of_cpu_time"] = on["per_cpu_s"] * 2 / (off["per_cpu_s"] + after["per_cpu_s"])
            found[profiler].append(on)
            off = after
    return found, off


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--framework", default="net10.0", choices=dotnet.FRAMEWORKS)
    options.add_argument("--rate", type=int, default=60000)
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--seconds", type=int, default=15)
    options.add_argument("--path", default="/items/4711")
    options.add_argument("--profilers", default="cpu,waits,slow-requests")
    options.add_argument("--json", action="store_true")
    o = options.parse_args()
    with perf_group() as group, Target(o.framework, load="bare", prefix=within(group, [])) as app:
        window(app, 0, 8, o.path, False)  # what is called often is optimized
        found, off = measure(app, o.profilers.split(","), o.turns, o.seconds, o.rate, o.path)
    if o.json:
        print(json.dumps(found))
        return
    for profiler, turns in found.items():
        print("%-8s %6d/s %-14s in the first %d s: %.3f of the untouched throughput, %.3f of its requests per CPU-second (median of %d; untouched %.0f/s); "
              "events open at the stop %d times, counting at the end %d times" % (
                  o.framework, o.rate, profiler, o.seconds, statistics.median(t["of_throughput"] for t in turns),
                  statistics.median(t["of_cpu_time"] for t in turns), len(turns), off["per_s"], sum(t["open"] for t in turns),
                  sum(t["counting"] for t in turns)), flush=True)


if __name__ == "__main__":
    main()
