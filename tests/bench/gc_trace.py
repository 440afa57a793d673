"""When an API server (a Go program) collected its garbage, by its own log: GODEBUG=gctrace=1 writes a line for each collection.

    gc 7 @12.345s 3%: 0.018+1.3+0.076 ms clock, ...     begun 12.345 s after the program's start; swept, marked and ended in 0.018+1.3+0.076 ms
"""
import os
import re
import time

LINE = re.compile(r"(?m)^gc \d+ @([\d.]+)s [\d.]+%: ([\d.+]+) ms clock,")


def environment():
    """Before the server starts: what it is to inherit."""
    os.environ["GODEBUG"] = ",".join(filter(None, [os.environ.get("GODEBUG"), "gctrace=1"]))


def started_at(pid):
    """Wall clock, to a hundredth of a second."""
    with open("/proc/%d/stat" % pid) as f:
        ticks = int(f.read().rpartition(")")[2].split()[19])
    with open("/proc/stat") as f:
        boot = next(int(line.split()[1]) for line in f if line.startswith("btime "))
    with open("/proc/uptime") as f:
        up = float(f.read().split()[0])
    return max(boot, time.time() - up) + ticks / os.sysconf("SC_CLK_TCK")  # btime has whole seconds


def collections(log, start):
    """[(begin, end)] by the wall clock."""
    return [(start + float(at), start + float(at) + sum(map(float, phases.split("+"))) / 1000) for at, phases in LINE.findall(log)]


def overlaps(begin, end, spans):
    return any(a < end and begin < b for a, b in spans)
