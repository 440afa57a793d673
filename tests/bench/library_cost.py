#!/usr/bin/env python3
"""What the profiler library costs the process that it is loaded into, from the kernel's own account (smaps): memory before, during and
after a session, the times of attach and detach, of naming, and the CPU time of its thread. One row a runtime and way of sampling; the
process sleeps, so that what it needs itself does not change. Medians over processes.

usage: library_cost.py [--processes N] [--framework NAME]... [--json]"""
import argparse
import json
import re
import statistics
import sys

from tests.lib import dotnet
from tests.system.profiler import ordeal, tools



def smaps(pid):
    """[(line of the mapping, {field: kB})]"""
    found = []
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                found.append((line, {}))
            elif line.split()[-1] == "kB":
                found[-1][1][line.split(":")[0]] = int(line.split()[1])
    return found


def private_kb(rows):
    """Clean pages of a file count with our library's alone: those of others become private when another process that has them ends."""
    return sum(fields["Private_Dirty"] + ("libdrdotnet" in line and fields["Private_Clean"]) for line, fields in rows)


def library_kb(pid):
    """Resident pages of the library's mappings: its file, and its variables behind the file's end."""
    rows, own, end = smaps(pid), [], None
    for line, fields in rows:
        low, high = line.split()[0].split("-")
        if "libdrdotnet" in line or (end == low and own and line.split()[4] == "0" and len(line.split()) == 5):
            own.append((line, fields))
            end = high
    return sum(fields["Rss"] for _, fields in own)


def session(app, driver, mode, results):
    before = private_kb(smaps(app.pid))
    results["attach_ms"].append(driver.attach("notification")["ms"])
    if mode == "timers":
        driver("sample 99 1")
        driver("names")
    else:
        driver("stack %d" % app.pid)
        results["us_per_name"].append(min(driver("bench 20000")["ms"] for _ in range(3)) / 20)
    results["library_kb"].append(library_kb(app.pid))
    during = private_kb(smaps(app.pid))
    cost = driver("detach")
    app.wait_unmapped(ordeal.WAIT)
    results["detach_ms"].append(cost["ms"])
    results["thread_cpu_ms"].append(cost["cpu_ns"] / 1e6)
    results["reserved_kb"].append(cost["memory_bytes"] / 1024)
    results["added_kb"].append(during - before)
    results["stays_kb"].append(private_kb(smaps(app.pid)) - before)


def measure(framework, mode, processes):
    first, later = ({key: [] for key in ("attach_ms", "us_per_name", "library_kb", "detach_ms", "thread_cpu_ms", "reserved_kb", "added_kb",
                                         "stays_kb")} for _ in range(2))
    for _ in range(processes):
        with tools.Names(framework, "idle") as app, tools.Driver(app) as driver:
            session(app, driver, mode, first)
            session(app, driver, mode, later)
    row = {"framework": framework, "mode": mode}
    for name, results in (("first", first), ("later", later)):
        row[name] = {key: round(statistics.median(values), 2) for key, values in results.items() if values}
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--processes", type=int, default=5)
    options.add_argument("--framework", action="append")
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    tools.build()
    for framework in options.framework or dotnet.FRAMEWORKS:
        for mode in ordeal.MODES:
            row = measure(framework, mode, options.processes)
            if options.json:
                print(json.dumps(row), flush=True)
                continue
            for which in ("first", "later"):
                print("%-8s %-8s %-6s %s" % (framework, mode, which, "  ".join("%s %g" % pair for pair in row[which].items())), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
