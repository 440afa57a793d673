#!/usr/bin/env python3
"""What a big installation costs its controller: the genuine API server with finished sessions, and a fleet of played agents over real links
(tests/bench/scale_agents.c). Measures the memory that links and finished sessions take, the CPU that an idle controller uses, the time from the
request that creates a session to its order at the agent, and how soon a restarted controller is at work again with all its links. Orders that overlap a
garbage collection of the API server stand apart ("in_collections", by the server's own log); the bound counts the others.

usage: scale.py [--agents N[,N...]] [--sessions N] [--rate R] [--seconds S] [--idle S] [--json]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from tests.bench import gc_trace
from tests.lib import fleet, install, kube, proc

NAMESPACES = ["team-%d" % n for n in range(10)]
NOW = "2026-01-01T00:00:00Z"
TARGETS_PER_NAMESPACE = 20
BOUND_MS = 250  # for the 99th percentile of the orders that no collection of the API server overlaps


def memory_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        fields = dict(line.split(":", 1) for line in f)
    return {name: int(fields[name].split()[0]) for name in ("RssAnon", "VmRSS")}


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metrics(i):
    text = subprocess.run(["curl", "-sf", "http://127.0.0.1:%d/metrics" % i.health_port], capture_output=True, text=True).stdout
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line and line[0] != "#"}


def spread(waits):
    """Of waits in seconds; None: there are none."""
    ms = sorted(w * 1000 for w in waits)
    return ms and {"sessions": len(ms), "p50_ms": round(ms[len(ms) // 2], 1), "p99_ms": round(ms[int(len(ms) * 0.99)], 1), "max_ms": round(ms[-1], 1)} or None


def finished_status(uid):
    """A status as the controller leaves it."""
    reports = [{"name": "r%d" % n, "mediaType": "text/plain", "sizeBytes": 1, "sha256": "0" * 64, "url": "https://store.example/" + "x" * 150}
               for n in range(6)]
    return {"state": "Succeeded", "headline": "84% of CPU in Tax.Compute", "diagnosis": "84% of CPU in Tax.Compute\n" * 20,
            "completionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "conditions": [{"type": kind, "status": "True", "reason": "Completed", "message": "m" * 80, "lastTransitionTime": NOW}
                           for kind in ("Accepted", "Succeeded", "Completed")],
            "targets": [{"podName": "checkout-1", "podUID": "u", "nodeName": "n", "jobID": uid + "-0", "phase": "Succeeded", "reports": reports}]}


class Bench:
    def __init__(self, folder, cluster, options):
        self.folder, self.cluster, self.options = folder, cluster, options
        self.requests = fleet.Requests(cluster)
        self.i = install.Installation(folder + "/installation", cluster)
        self.result = {}

    # what is there before ------------------------------------------------------------------------------------------------
    def seed_sessions(self, count):
        spec = {"profiler": "CPUHotpaths", "durationSeconds": 5, "target": {"podName": "checkout-1"}, "cancel": True}

        def make(number):
            path = install.SESSIONS % NAMESPACES[number % len(NAMESPACES)]
            name = "old-%05d" % number
            made = self.requests.one("POST", path, {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession",
                                                    "metadata": {"name": name}, "spec": spec})
            self.requests.one("PATCH", path + "/%s/status" % name, {"status": finished_status(made["metadata"]["uid"])},
                              "application/merge-patch+json")
        self.requests.all(make, range(count))

    def seed_targets(self, nodes):
        """Pods to profile, spread over the nodes. [(namespace, pod)]"""
        def make(number):
            namespace, name = NAMESPACES[number % len(NAMESPACES)], "target-%d" % number
            node = nodes[number * len(nodes) // (TARGETS_PER_NAMESPACE * len(NAMESPACES))]
            self.cluster.create_pod(namespace, name, node, labels={"app": name})
            return namespace, name
        return [make(number) for number in range(TARGETS_PER_NAMESPACE * len(NAMESPACES))]

    def over(self):
        return metrics(self.i).get('drdotnet_sessions{state="over"}', 0)

    # what is measured ------------------------------------------------------------------------------------------------------
    def idle(self):
        pid, seconds = self.i.controller.pid, self.options.idle
        time.sleep(3)
        began, at = cpu_seconds(pid), time.monotonic()
        time.sleep(seconds)
        return {"cpu_percent": round((cpu_seconds(pid) - began) / (time.monotonic() - at) * 100, 2), **memory_kb(pid)}

    def apply(self, targets, agents):
        """{session: when its request went out}"""
        began = {}
        end = time.monotonic() + self.options.seconds

        def one(number):
            namespace, pod = targets[number % len(targets)]
            name = "new-%d-%05d" % (agents, number)
            began["%s/%s" % (namespace, name)] = time.time()
            self.requests.one("POST", install.SESSIONS % namespace, {
                "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name},
                "spec": {"profiler": "CPUHotpaths", "durationSeconds": 1, "target": {"podName": pod}}})
        number, next_at = 0, time.monotonic()
        pending = []
        while time.monotonic() < end:
            pending.append(self.requests.pool.submit(one, number))
            number += 1
            next_at += 1 / self.options.rate
            time.sleep(max(0, next_at - time.monotonic()))
        for p in pending:
            p.result()
        return began

    def latency(self, f, targets, agents):
        before = cpu_seconds(self.i.controller.pid)
        began = self.apply(targets, agents)
        proc.wait_until(lambda: len({o.session for o in f.orders()} & set(began)) == len(began), 60, "all orders")
        used = cpu_seconds(self.i.controller.pid) - before
        first = {}
        for o in f.orders():
            first.setdefault(o.session, o.seconds)
        spans = self.collections()
        inside = {s for s, at in began.items() if gc_trace.overlaps(at, first[s], spans)}
        doubled = len([o for o in f.orders() if o.session in began]) - len(began)

        def done():
            return metrics(self.i).get('drdotnet_sessions{state="active"}', 1) == 0
        proc.wait_until(done, 120, "all sessions have ended")
        others = spread(first[s] - at for s, at in began.items() if s not in inside)
        return {**spread(first[s] - at for s, at in began.items()), "in_collections": spread(first[s] - began[s] for s in inside),
                "others": others, "bound_ms": BOUND_MS, "within_bound": others is None or others["p99_ms"] <= BOUND_MS, "collections": len(spans),
                "doubled": doubled, "controller_cpu_ms_a_session": round(used * 1000 / len(began), 2)}

    def collections(self):
        """The API server's garbage collections until now; [] where its process or log is not known."""
        folder = self.cluster.folder
        if not self.cluster.outside_pid or not os.path.exists(folder + "/apiserver.log"):
            return []
        with open(folder + "/apiserver.log", errors="replace") as f:
            return gc_trace.collections(f.read(), gc_trace.started_at(self.cluster.outside_pid))

    def restart(self, f):
        """The controller is killed and started again on its port."""
        self.i.controller.stop()
        gone = time.time()
        proc.wait_until(lambda: f.open == 0, 60, "the links are gone", 0.02)
        began = time.time()
        with open(self.i.controller.log_path) as log:
            log.seek(0, os.SEEK_END)
            self.i.controller = proc.Process(self.i.controller.words, log=self.i.controller.log_path)
            self.i.processes.append(self.i.controller)
            text = ""

            def leads():
                nonlocal text
                text += log.read()
                return '"leading"' in text or '"msg":"this replica leads' in text
            proc.wait_until(lambda: self.i._ready(self.i.controller), 60, "ready", 0.02)
            ready = time.time()
            proc.wait_until(leads, 60, "leads", 0.02)
            leading = time.time()
        f.wait_linked(0.95, 120)
        share = f.linked_at(0.95, gone)
        f.wait_linked(1.0, 120)
        return {"ready_s": round(ready - began, 2), "leading_s": round(leading - began, 2), "links_95_s": round(share - began, 2),
                "links_all_s": round(f.linked_at(1.0, gone) - began, 2)}

    def run_with(self, nodes, tokens, targets):
        f = fleet.Fleet(self.folder + "/fleet-%d" % len(nodes), tokens[:len(nodes)], ["127.0.0.1:%d" % self.i.link_port],
                        self.i.authority_file())
        at = time.time()
        with f:
            f.wait_linked()
            linked = f.linked_at(1.0, at) - at
            row = {"agents": len(nodes), "linked_s": round(linked, 1), "idle": self.idle()}
            row["latency"] = self.latency(f, targets, len(nodes))
            row["after_load"] = memory_kb(self.i.controller.pid)
            row["restart"] = self.restart(f)
            row["again_idle"] = self.idle()
        return row

    def run(self):
        counts = self.options.agents
        with self.i:
            for name in NAMESPACES:
                self.cluster.namespace(name)
            self.result["empty"] = self.idle()
            self.seed_sessions(self.options.sessions)
            proc.wait_until(lambda: self.over() >= self.options.sessions, 120, "the controller knows them as finished")
            nodes = ["node-%04d" % n for n in range(max(counts))]
            targets = self.seed_targets(nodes[:min(counts)])
            tokens = fleet.make_agents(self.cluster, nodes, self.requests)
            self.result["sessions"] = {"count": self.options.sessions, **self.idle()}
            self.result["rows"] = []
            for count in counts:
                self.result["rows"].append(self.run_with(nodes[:count], tokens, targets))
                proc.wait_until(lambda: metrics(self.i).get("drdotnet_agents_linked", 1) == 0, 60, "the controller has no links")
                print(json.dumps(self.result["rows"][-1]), file=sys.stderr)
        self.requests.close()
        return self.result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=lambda text: [int(n) for n in text.split(",")], default=[1000, 2500, 5000])
    parser.add_argument("--sessions", type=int, default=10000)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--idle", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if kube.unavailable():
        print(kube.unavailable(), file=sys.stderr)
        return 1
    gc_trace.environment()
    with tempfile.TemporaryDirectory(prefix="drdotnet-scale-") as folder, kube.Cluster(folder + "/kube") as cluster:
        result = Bench(folder, cluster, options).run()
    print(json.dumps(result, indent=None if options.json else 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
