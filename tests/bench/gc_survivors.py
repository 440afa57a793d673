"""GCSurvivors on heaps of 1 and 10 million objects: how long the application stands still, how soon the report is there, what the agent and
the application need for it.

usage: gc_survivors.py [--objects 1000000 10000000] [--framework net10.0] [--rounds 3] [--roots Exact NoCollection]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from tests.lib import dotnet, local, proc


def rss_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])


def session(app, folder, roots):
    """One session; what it took."""
    out = os.path.join(folder, "report-%d" % time.monotonic_ns())
    with open("/proc/%d/clear_refs" % app.pid, "w") as f:
        f.write("5")  # the peak begins anew
    before, _ = rss_kb(app.pid)
    lines = len(app.all_progress())
    start = time.monotonic()
    run = subprocess.Popen([local.DRDOTNET, "run", "--profiler", "GCSurvivors", "--pid", str(app.pid), "--roots", roots, "--pause-budget", "30000",
                            "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = run.stderr.read()
    _, status, usage = os.wait4(run.pid, 0)
    seconds = time.monotonic() - start
    assert status == 0, errors
    now = len(app.all_progress())
    proc.wait_until(lambda: len(app.all_progress()) > now, 60, "what the application saw")
    _, peak = rss_kb(app.pid)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        report = json.load(f)
    return {"total_s": seconds, "stop_ms": report["walk"]["stopMicroseconds"] / 1e3, "stops_ms": report["walk"]["totalStopMicroseconds"] / 1e3,
            "report_s": report["walk"]["analysisMilliseconds"] / 1e3, "agent_mb": usage.ru_maxrss / 1024, "target_mb": (peak - before) / 1024,
            "gap_ms": max(p["max_gap_ms"] for p in app.all_progress()[lines:]), "agent_cpu_s": usage.ru_utime + usage.ru_stime}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--objects", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--framework", default="net10.0")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--roots", nargs="+", default=["Exact", "NoCollection"])
    options = parser.parse_args()
    print("%10s %-13s %9s %9s %9s %9s %9s %9s %9s %9s" % (
        "objects", "roots", "stop ms", "stops ms", "gap ms", "report s", "total s", "agent s", "agent MB", "target MB"))
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        for objects in options.objects:
            with dotnet.MemoryApp("array", options.framework, folder, ["--array", str(objects)]) as app:
                for roots in options.roots:
                    rounds = [session(app, folder, roots) for _ in range(options.rounds)]
                    middle = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
                    print("%10d %-13s %9.1f %9.1f %9.1f %9.2f %9.2f %9.2f %9.0f %9.1f" % (
                        objects, roots, middle["stop_ms"], middle["stops_ms"], middle["gap_ms"], middle["report_s"], middle["total_s"],
                        middle["agent_cpu_s"], middle["agent_mb"], middle["target_mb"]))


if __name__ == "__main__":
    main()
