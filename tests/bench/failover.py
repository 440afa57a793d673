#!/usr/bin/env python3
"""How long nobody leads when the leader dies: two replicas of the controller, kill -9 of the one that leads, until the other one leads and has
given the order of a session that was made after the death. Agents are played, over real links, on a real API server.

usage: failover.py [--rounds N] [--json]"""
import argparse
import json
import statistics
import sys
import tempfile
import time

from tests.resilience.ha import replicas
from tests.lib import kube, proc

BOUND_S = 15


def one_round(world, namespace, number):
    """(Seconds until the other leads, seconds until an agent has the order.)"""
    leader, standby = world.settle()
    pod, name = "checkout-%d" % number, "after-%d" % number
    world.cluster.create_pod(namespace, pod, world.nodes[number % len(world.nodes)])
    began = time.monotonic()
    leader.kill()
    world.session(namespace, name, pod)
    proc.wait_until(standby.leads, 120, "the other one leads", 0.02)
    leads_s = time.monotonic() - began
    proc.wait_until(lambda: world.fleet.order_of("%s/%s" % (namespace, name)), 120, "it orders", 0.02)
    orders_s = time.monotonic() - began
    end = proc.wait_until(lambda: world.ended(namespace, name), 120, name + " has ended", 0.1)
    if end != ("True", "Completed"):
        sys.exit("%s: %s" % (name, end))
    return leads_s, orders_s


def measure(rounds):
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, kube.Cluster(folder + "/kube") as cluster:
        world = replicas.World(folder, cluster)
        try:
            cluster.namespace("shop")
            figures = [one_round(world, "shop", n) for n in range(rounds)]
        finally:
            world.stop()
    return {what: {"p50_s": statistics.median(f[i] for f in figures), "max_s": max(f[i] for f in figures), "all_s": [round(f[i], 2) for f in figures]}
            for i, what in enumerate(("leads", "orders"))}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found))
        return
    for what, f in found.items():
        print("the other one %-6s after %5.2f s (p50), %5.2f s (most of %d); bound %d s" % (what, f["p50_s"], f["max_s"], options.rounds, BOUND_S))


if __name__ == "__main__":
    sys.exit(main())
