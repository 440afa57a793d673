#!/usr/bin/env python3
"""Sessions without end in real processes of each runtime: ways to end and ways to sample by chance, until the time is over; then 50
sessions in a row, whose memory is counted. Fails at the first thing that is left behind.

usage: soak.py [--seconds N] [--seed N] [--framework NAME]..."""
import argparse
import collections
import random
import signal
import sys
import time

from tests.lib import dotnet
from tests.system.profiler import ordeal, tools

SESSIONS_PER_PROCESS = 40
GROWTH_SESSIONS = 50
GROWTH_MAX_KB = 1024


def endure(framework, chance, end, counts):
    """One process until it has had its sessions."""
    with ordeal.Ordeal(framework, seed=chance.random()) as o:
        while o.sessions < SESSIONS_PER_PROCESS and time.monotonic() < end:
            way, mode = chance.choice(o.WAYS), chance.choice(ordeal.MODES)
            o.suffer(way, mode)
            counts["%s, %s" % (way, mode)] += 1


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--framework", action="append")
    options = options.parse_args()
    tools.build()
    print("seed %d" % options.seed, flush=True)
    chance, counts, end = random.Random(options.seed), collections.Counter(), time.monotonic() + options.seconds
    frameworks = options.framework or dotnet.FRAMEWORKS
    while time.monotonic() < end:
        framework = chance.choice(frameworks)
        endure(framework, chance, end, counts)
        how = chance.choice(("itself", signal.SIGTERM, signal.SIGKILL))
        code = ordeal.end_of_the_process(framework, chance.choice(ordeal.MODES), how)
        assert how != "itself" or code == 0, "the process ended with %s" % code
        assert how == "itself" or code in (143, -how), "the process ended with %s" % code
        counts["the process ends (%s)" % how] += 1
    for what, count in sorted(counts.items()):
        print("%5d  %s" % (count, what), flush=True)
    for framework in frameworks:
        for mode in ordeal.MODES:
            grown = ordeal.growth_kb(framework, GROWTH_SESSIONS, mode)
            print("%s, %s: %d sessions in a row added %d KB" % (framework, mode, GROWTH_SESSIONS, grown), flush=True)
            assert grown <= GROWTH_MAX_KB, "it grows"
    return 0


if __name__ == "__main__":
    sys.exit(main())
