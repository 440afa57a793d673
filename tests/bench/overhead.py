#!/usr/bin/env python3
"""What a CPU session, or one of Waits, costs the application, beside the untouched application and dotnet-trace.

One process per load; windows of equal length, each with one way of looking at it or with none, in random order within a
round, so that noise of the machine meets all alike. A window holds the whole session: attach, sampling, detach. Per round
each way is compared with the untouched window of that round; printed are the medians of these ratios.

The application is in a control group of its own where one may be made, as a pod is: the kernel then follows its processes alone.

usage: overhead.py [--rounds N] [--seconds N] [--loads a,b] [--clients N] [--ways a,b] [--framework F] [--quick] [--json]
  ways: 99, 999 (drdotnet at so many Hz), timer (99 Hz without perf events), waits, dotnet-trace
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import dotnet, perf_group, proc  # noqa: E402

BIN = os.path.join(ROOT, "build/release")
TRACE = os.path.join(ROOT, "build/tools/dotnet-trace/dotnet-trace")
DENY_PERF = os.path.join(BIN, "tests/deny-perf")
LOADS = {"compute": ("hot", ["--threads", "2"]), "web": ("web", []), "alloc": ("alloc", [])}


def install_trace():
    """NuGet's dotnet-trace below build/; why it cannot be had, or None."""
    if os.access(TRACE, os.X_OK):
        return None
    done = subprocess.run(["dotnet", "tool", "install", "dotnet-trace", "--tool-path", os.path.dirname(TRACE)], capture_output=True,
                          text=True, timeout=300)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip().splitlines()[-1]


def run_and_watch(words, seconds):
    """Runs a command; the most memory that it had at once, in KB (VmHWM: what the child has of this process before its exec does not count)."""
    most, until = 0, time.monotonic() + seconds
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while child.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), open("/proc/%d/status" % child.pid) as f:
                most = max([most] + [int(line.split()[1]) for line in f if line.startswith("VmHWM:")])
            time.sleep(0.01)
        child.kill()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, words)
    return most


def profile(app, folder, seconds, hertz, prefix=()):
    """A session of the local command; the numbers of its report."""
    manifest = os.path.join(folder, "session.json")
    with open(manifest, "w") as f:
        json.dump({"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": "bench"}, "spec": {
            "profiler": "CPUHotpaths", "durationSeconds": seconds, "cpuHotpaths": {"frequencyHertz": hertz},
            "target": {"podName": "bench"}}}, f)
    out = os.path.join(folder, "report")
    memory = run_and_watch([*prefix, BIN + "/drdotnet", "run", "-f", manifest, "--pid", str(app.pid), "-o", out], seconds + 60)
    with open(out + "/report.json") as f:
        report = json.load(f)
    shutil.rmtree(out)
    cpu = report["cpu"]["usedNanoseconds"] / 1e9
    return {"method": report["sampling"]["method"], "samples_per_cpu_s": report["sampling"]["samples"] / cpu if cpu else 0,
            "lost": report["sampling"]["lost"] + report["sampling"]["dropped"], "agent_cpu_ms": report["cost"]["agentCPUMilliseconds"],
            "agent_memory_mb": memory / 1024}


def follow(app, folder, seconds):
    """A session of Waits."""
    out = os.path.join(folder, "report")
    memory = run_and_watch([BIN + "/drdotnet", "run", "--waits", str(app.pid), "--duration", str(seconds), "-o", out], seconds + 60)
    with open(out + "/report.json") as f:
        report = json.load(f)
    shutil.rmtree(out)
    s, length = report["sampling"], report["time"]["durationSeconds"]
    method = "one of %d, %.0f%% of the time, %d looks" % (s["period"], s["recordedPercent"], s["threadLooks"])
    return {"method": method, "samples_per_cpu_s": s["waitsWithStack"] / length, "switches_per_s": s["switches"] / length,
            "lost": s["lost"] + s["dropped"], "agent_cpu_ms": report["cost"]["agentCPUMilliseconds"], "agent_memory_mb": memory / 1024,
            "unseen_percent": report["measured"]["unseenPercent"], "cut_percent": report["measured"]["cutPercent"]}


def trace(app, folder, seconds):
    out = os.path.join(folder, "trace.nettrace")
    subprocess.run([TRACE, "collect", "-p", str(app.pid), "--duration", "00:00:%02d" % seconds, "-o", out], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds + 90)
    size = os.path.getsize(out)
    os.unlink(out)
    return {"bytes": size}


WAYS = {
    "99": lambda app, folder, seconds: profile(app, folder, seconds, 99),
    "999": lambda app, folder, seconds: profile(app, folder, seconds, 999),
    "timer": lambda app, folder, seconds: profile(app, folder, seconds, 99, [DENY_PERF]),
    "waits": follow,
    "dotnet-trace": trace,
}


def untouched(app, folder, seconds):
    time.sleep(seconds + 1)
    return {}


def next_line(app):
    count = len(app.all_progress())
    return proc.wait_until(lambda: app.all_progress()[count:], 20, "the next progress line", 0.01)[0]


def window(app, folder, seconds, way):
    """Rates of the application in the whole progress lines around what `way` does."""
    before = next_line(app)
    extra = WAYS.get(way, untouched)(app, folder, seconds)
    after = next_line(app)
    lines = [x for x in app.all_progress() if before["t_s"] < x["t_s"] <= after["t_s"]]
    ops, cpu, wall = (after[k] - before[k] for k in ("ops", "cpu_s", "t_s"))
    return {"ops_per_cpu_s": ops / cpu, "ops_per_s": ops / wall, "gap_ms": max(x["max_gap_ms"] for x in lines), **extra}



def measure(load, ways, rounds, seconds, framework, folder, clients):
    name, arguments = LOADS[load]
    results = {way: [] for way in ("untouched", *ways)}
    if load == "web" and clients:
        arguments = ["--threads", str(clients)]
    with perf_group.perf_group() as group, dotnet.App(name, framework, folder, arguments) as app:
        if group:
            with open(group, "w", encoding="utf-8") as f:
                f.write(str(app.pid))
        app.warm()
        time.sleep(min(5, seconds))
        for i in range(rounds):
            for way in random.sample(list(results), len(results)):
                results[way].append(window(app, folder, seconds, way))
            print("%s: round %d of %d" % (load, i + 1, rounds), file=sys.stderr, flush=True)
    return results


def summarize(results):
    base = results["untouched"]
    rows = {}
    for way, windows in results.items():
        row = {k: statistics.median(w[k] / b[k] for w, b in zip(windows, base)) for k in ("ops_per_cpu_s", "ops_per_s")}
        row["gap_ms"] = statistics.median(w["gap_ms"] for w in windows)
        for key in ("samples_per_cpu_s", "agent_cpu_ms", "agent_memory_mb", "bytes", "switches_per_s", "unseen_percent", "cut_percent"):
            if key in windows[0]:
                row[key] = statistics.median(w[key] for w in windows)
        if "lost" in windows[0]:
            row["lost"] = sum(w["lost"] for w in windows)
            row["method"] = windows[0]["method"]
        rows[way] = row
    return rows


def show(load, rows):
    for way, r in rows.items():
        extra = ("%.1f | %d | %d | %.0f" % (r["samples_per_cpu_s"], r["lost"], r["agent_cpu_ms"], r["agent_memory_mb"])
                 if "lost" in r else "| | |")
        extra += " | %.0f | %s" % (r.get("switches_per_s", 0), r.get("method", ""))
        print("| %s | %s | %.3f | %.3f | %.1f | %s |" % (load, way, r["ops_per_cpu_s"], r["ops_per_s"], r["gap_ms"], extra))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--seconds", type=int, default=8)
    options.add_argument("--loads", default="compute,web,alloc")
    options.add_argument("--clients", type=int, default=0, help="of the web load (4)")
    options.add_argument("--ways", default="99,999,timer,dotnet-trace")
    options.add_argument("--framework", default="net10.0")
    options.add_argument("--quick", action="store_true", help="one short round of everything that needs no download: does it run?")
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    ways = options.ways.split(",")
    if options.quick:
        options.rounds, options.seconds, options.loads, ways = 1, 2, "compute", ["99", "timer"]
    if "dotnet-trace" in ways:
        reason = install_trace()
        if reason:
            print("without dotnet-trace: " + reason, file=sys.stderr)
            ways.remove("dotnet-trace")
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        found = {load: summarize(measure(load, ways, options.rounds, options.seconds, options.framework, folder, options.clients))
                 for load in options.loads.split(",")}
    if options.json:
        print(json.dumps(found))
        return
    print("Medians of %d rounds, windows of %d s, %s.\n" % (options.rounds, options.seconds, options.framework))
    print("| load | way | operations per CPU-second | operations per second | longest stop ms | samples per CPU-second | lost | agent's CPU ms | "
          "agent's memory MB | switches a second | method |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for load, rows in found.items():
        show(load, rows)


if __name__ == "__main__":
    main()
