#!/usr/bin/env python3
"""How soon an alert is a session, on a real API server with the shipped controller: the webhook's request until its answer says "Fired", which it
does when the session is in the API server. Then the same notification again, over and over: how long each takes, and that it makes no other session.

usage: alert_latency.py [--alerts N] [--duplicates N] [--json]
"""
import argparse
import json
import statistics
import sys
import tempfile
import time

from tests.system.alerts import senders
from tests.lib import install, kube, proc

NAMESPACE = "shop"
BOUND_MS = 100  # what the product promises
TOKEN = "a-token-of-the-webhook-alone"
OF_ONE_ADDRESS = 150  # then the next one: the API's port bounds each
TRIGGERS = "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingtriggers" % NAMESPACE


def percentiles(values):
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return {"p50": round(statistics.median(ordered), 1), "p99": round(high, 1), "most": round(ordered[-1], 1)}


def make_triggers(cluster, count):
    for i in range(count):
        cluster.request("POST", TRIGGERS, {
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": "t-%d" % i},
            "spec": {"source": {"alertmanager": {"matchers": [{"name": "alertname", "value": "Alert%d" % i}]}},
                     "sessionTemplate": {"spec": {"profiler": "CPUHotpaths"}}}})
    proc.wait_until(lambda: all(t.get("status", {}).get("conditions") for t in cluster.request("GET", TRIGGERS)["items"]), 120, "the triggers are known")


def send(client, number):
    """Milliseconds, and what it led to."""
    body = senders.notification(senders.alert("Alert%d" % number, NAMESPACE, pod="of-yesterday", fingerprint="f%d" % number))
    begun = time.monotonic()
    status, answer, _ = client.post(body)
    took = (time.monotonic() - begun) * 1000
    return took, (status, answer["alerts"][0]["triggers"][0]["reason"] if status == 200 else answer.get("detail"))


def measure(i, cluster, options):
    addresses = ("127.0.2.%d" % n for n in range(1, 255))
    client = senders.Client(i.api_port, i.authority_file(), TOKEN)
    fired = [send(client, n) for n in range(options.alerts)]
    assert {what for _, what in fired} == {(200, "Fired")}, fired
    repeated = []
    for n in range(options.duplicates):
        if n % OF_ONE_ADDRESS == 0:
            client.close()
            client = senders.Client(i.api_port, i.authority_file(), TOKEN, next(addresses))
        repeated.append(send(client, 0))
    assert {what for _, what in repeated} == {(200, "Duplicate")}, set(what for _, what in repeated)
    sessions = cluster.request("GET", install.SESSIONS % NAMESPACE)["items"]
    assert len(sessions) == options.alerts, len(sessions)
    return {"alert_to_session_ms": percentiles([ms for ms, _ in fired]), "repetition_ms": percentiles([ms for ms, _ in repeated]),
            "alerts": options.alerts, "repetitions": options.duplicates, "sessions": len(sessions)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alerts", type=int, default=100)
    parser.add_argument("--duplicates", type=int, default=10000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, kube.Cluster(folder + "/kube") as cluster:
        with open(folder + "/token", "w") as f:
            f.write(TOKEN)
        installation = install.Installation(folder + "/installation", cluster)
        installation.controller_words = ["--alertmanager-token-file", folder + "/token"]
        with installation as i:
            cluster.namespace(NAMESPACE)
            make_triggers(cluster, options.alerts)
            result = measure(i, cluster, options)
    if options.json:
        print(json.dumps(result))
    else:
        for name in ("alert_to_session_ms", "repetition_ms"):
            print("%-22s p50 %6.1f   p99 %6.1f   most %6.1f" % (name, *result[name].values()))
        print("%(alerts)d alerts and %(repetitions)d repetitions of one of them made %(sessions)d sessions" % result)
    return 0 if result["alert_to_session_ms"]["p99"] <= BOUND_MS else 1


if __name__ == "__main__":
    sys.exit(main())
