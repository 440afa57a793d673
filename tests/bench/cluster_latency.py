#!/usr/bin/env python3
"""How long a user waits: sessions of one second, one after the other, on a real API server with the shipped controller and agent and a
real .NET process in a pod. For each: the request that creates the session -> the controller's order -> the first sample; the end of the
sampling -> the library is out of the process; the end -> the diagnosis stands in the status. Samples carry the kernel's own time.

usage: cluster_latency.py [--sessions N] [--kubectl] [--load NAME] [--json]
  --kubectl   create each by `kubectl apply` and count kubectl's own time too
"""
import argparse
import datetime
import json
import statistics
import sys
import tempfile
import threading
import time

from tests.lib import install, kube, pod, proc

SECONDS = 1
NAMESPACE = "shop"
BOUNDS = (("apply_to_first_sample", 300), ("order_to_first_sample", 50), ("end_to_unmapped", 500))  # what the product promises, in ms


def epoch(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Watcher(threading.Thread):
    """When the library came into the process and when it went, to some milliseconds."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.ended, self.spans, self.began = pid, threading.Event(), [], None

    def run(self):
        while not self.ended.wait(0.004):
            try:
                with open("/proc/%d/maps" % self.pid) as f:
                    mapped = "libdrdotnet" in f.read()
            except OSError:
                return
            now = time.time()
            if mapped and self.began is None:
                self.began = now
            elif not mapped and self.began is not None:
                self.spans.append((self.began, now))
                self.began = None


def orders(controller):
    """{session: when its order was given}, from the controller's log."""
    found = {}
    for line in controller.log().splitlines():
        if '"msg":"ordered"' in line:
            entry = json.loads(line)
            found.setdefault(entry["session"].split("/")[1], epoch(entry["time"]))
    return found


class Bench:
    def __init__(self, folder, cluster, load, kubectl):
        self.i = install.Installation(folder + "/installation", cluster)
        self.folder, self.load, self.kubectl = folder, load, kubectl

    def __enter__(self):
        self.i.__enter__()
        try:
            self.i.cluster.namespace(NAMESPACE)
            self.i.start_agent("node-a")
            object_ = self.i.cluster.create_pod(NAMESPACE, "checkout-1", "node-a", labels={"app": "checkout"}, running=False)
            self.pod = pod.Pod(self.folder, self.load, uid=object_["metadata"]["uid"])
            self.i.cluster.set_pod_running(object_, {"app": self.pod.container_id})
            self.pod.warm()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if hasattr(self, "pod"):
            self.pod.stop()
        self.i.__exit__()

    def create(self, name):
        spec = {"profiler": "CPUHotpaths", "durationSeconds": SECONDS, "target": {"selector": {"matchLabels": {"app": "checkout"}}}}
        if not self.kubectl:
            return self.i.session(NAMESPACE, name, spec)
        return self.i.cluster.kubectl("apply", "-f", "-", text=json.dumps({
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}))

    def one(self, name):
        watcher = Watcher(self.pod.pid)
        watcher.start()
        began = time.time()
        self.create(name)
        while True:
            session = self.i.get(NAMESPACE, name)
            if self.i.condition(session, "Completed")["status"] == "True":
                break
            if time.time() - began > 60:
                raise AssertionError("no end of %s:\n%s\n%s" % (name, json.dumps(session, indent=1), self.i.logs()))
            time.sleep(0.02)
        done = time.time()
        if self.i.condition(session, "Succeeded")["status"] != "True":
            raise AssertionError("%s\n%s" % (json.dumps(session, indent=1), self.i.logs()))
        proc.wait_until(lambda: watcher.spans, 30, "the library is out of the process of %s:\n%s" % (name, json.dumps(session, indent=1)))
        watcher.ended.set()
        watcher.join()
        first = epoch(session["status"]["targets"][0]["firstSampleTime"])
        return {"name": name, "began": began, "first": first, "done": done, "unmapped": watcher.spans[-1][1]}

    def run(self, count, verbose=False):
        rows = [self.one("s-%d" % n) for n in range(count)]
        if verbose:
            for r in rows:
                print(json.dumps({k: v if k == "name" else round((v - r["began"]) * 1000) for k, v in r.items()}), file=sys.stderr)
        ordered = proc.wait_until(lambda: len(orders(self.i.controller)) >= count and orders(self.i.controller), 5, "the orders in the log")
        end = [r["first"] + SECONDS for r in rows]
        return {
            "apply_to_order": [ordered[r["name"]] - r["began"] for r in rows],
            "order_to_first_sample": [r["first"] - ordered[r["name"]] for r in rows],
            "apply_to_first_sample": [r["first"] - r["began"] for r in rows],
            "end_to_unmapped": [r["unmapped"] - e for r, e in zip(rows, end)],
            "end_to_status": [r["done"] - e for r, e in zip(rows, end)],
        }


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def summary(times):
    return {name: {"p50": round(statistics.median(v) * 1000, 1), "p99": round(percentile(v, 0.99) * 1000, 1), "max": round(max(v) * 1000, 1)}
            for name, v in times.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=100)
    options.add_argument("--load", default="hot")
    options.add_argument("--kubectl", action="store_true")
    options.add_argument("--json", action="store_true")
    options.add_argument("--verbose", action="store_true", help="each session's times in ms")
    options = options.parse_args()
    why = kube.unavailable() or pod.unavailable()
    if why:
        print(why, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, kube.Cluster(folder + "/kube") as cluster:
        with Bench(folder, cluster, options.load, options.kubectl) as bench:
            result = summary(bench.run(options.sessions, options.verbose))
    if options.json:
        print(json.dumps(result))
        return 0
    print("%d sessions of %d s, ms       p50     p99     max" % (options.sessions, SECONDS))
    for name, row in result.items():
        bound = dict(BOUNDS).get(name)
        print("  %-24s %7.1f %7.1f %7.1f%s" % (name, row["p50"], row["p99"], row["max"], "  (bound %d)" % bound if bound else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
