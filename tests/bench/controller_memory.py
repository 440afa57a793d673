#!/usr/bin/env python3
"""The controller's memory: its anonymous resident pages (RssAnon: what the kernel cannot take back) when idle, with finished sessions, and
started anew on them. Finished sessions are real objects with a whole status, made at the API server.

usage: controller_memory.py [--sessions N] [--json]"""
import argparse
import json
import subprocess
import sys
import tempfile
import time

from tests.lib import install, kube, proc

BOUND_KB, BOUND_KB_SESSION = 12 * 1024, 2
NAMESPACE = "shop"
NOW = "2026-01-01T00:00:00Z"


def memory_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        fields = dict(line.split(":", 1) for line in f)
    return {name: int(fields[name].split()[0]) for name in ("RssAnon", "VmRSS")}


def finished(i, name):
    """A session as the controller leaves it."""
    made = i.session(NAMESPACE, name, {"profiler": "CPUHotpaths", "durationSeconds": 5, "target": {"podName": "checkout-1"}, "cancel": True})
    reports = [{"name": "r%d" % n, "mediaType": "text/plain", "sizeBytes": 1, "sha256": "0" * 64, "url": "https://store.example/" + "x" * 150}
               for n in range(6)]
    status = {"state": "Succeeded", "headline": "84% of CPU in Tax.Compute", "diagnosis": "84% of CPU in Tax.Compute\n" * 20,
              "completionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "conditions": [{"type": kind, "status": "True", "reason": "Completed", "message": "m" * 80, "lastTransitionTime": NOW}
                             for kind in ("Accepted", "Succeeded", "Completed")],
              "targets": [{"podName": "checkout-1", "podUID": "u", "nodeName": "n", "jobID": made["metadata"]["uid"] + "-0",
                           "phase": "Succeeded", "reports": reports}]}
    i.cluster.request("PATCH", install.SESSIONS % NAMESPACE + "/%s/status" % name, {"status": status}, "application/merge-patch+json")


def count_over(i):
    text = subprocess.run(["curl", "-sf", "http://127.0.0.1:%d/metrics" % i.health_port], capture_output=True, text=True).stdout
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith('drdotnet_sessions{state="over"}'))


def settled(controller):
    """The memory after what was due has been done."""
    time.sleep(3)
    return memory_kb(controller.pid)


def measure(folder, cluster, count):
    with install.Installation(folder + "/installation", cluster) as i:
        i.cluster.namespace(NAMESPACE)
        result = {"idle": settled(i.controller)}
        for number in range(count):
            finished(i, "s-%d" % number)
        proc.wait_until(lambda: count_over(i) == count, 120, "the controller knows them as finished")
        result["watched"] = settled(i.controller)
        i.controller.stop()
        again = i.start_controller("drdotnet-controller-1")
        proc.wait_until(lambda: count_over(i) == count, 60, "the new one knows them")
        result["listed"] = settled(again)
    for name in ("watched", "listed"):
        result[name]["KB_a_session"] = round((result[name]["RssAnon"] - result["idle"]["RssAnon"]) / count, 2)
    return result


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=1000)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    if kube.unavailable():
        print(kube.unavailable(), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, kube.Cluster(folder + "/kube") as cluster:
        result = measure(folder, cluster, options.sessions)
    if options.json:
        print(json.dumps(result))
        return 0
    print("%d finished sessions; bounds: RssAnon %d KB + %d KB a session" % (options.sessions, BOUND_KB, BOUND_KB_SESSION))
    for name, row in result.items():
        print("  %-8s RssAnon %6d KB, RSS with its files %6d KB%s" % (
            name, row["RssAnon"], row["VmRSS"], ", %.2f KB a session" % row["KB_a_session"] if "KB_a_session" in row else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
