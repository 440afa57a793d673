#!/usr/bin/env python3
"""The list of the REST API: how soon the first byte of a page of 100 comes, and what the index of all sessions costs the controller in
memory. Sessions are real objects with a whole status, made at a real API server; the caller is a ServiceAccount, over TLS, on an open connection.

usage: rest_list.py [--sessions N] [--requests N] [--json]"""
import argparse
import http.client
import json
import sys
import tempfile
import threading
import time

from tests.bench import controller_memory
from tests.lib import install, kube, proc
from tests.system.rest.cluster_api import Api

BOUND_MS = 50
THREADS = 4
NAMESPACES = ("shop", "bank", "mail", "search")
LISTS = {"all": {}, "one namespace": {"namespace": "bank"}, "words": {"q": "tax.compute"}, "last page": {"continue": None}}


class Maker(threading.Thread):
    """Makes a part of the sessions on one connection."""

    def __init__(self, cluster, numbers):
        super().__init__()
        self.cluster, self.numbers, self.failed = cluster, numbers, None
        self.connection = http.client.HTTPSConnection(cluster.server.split("//")[1], context=cluster.tls, timeout=60)

    def send(self, method, path, body, media="application/json"):
        headers = {"Content-Type": media, **({"Authorization": "Bearer " + self.cluster.token} if self.cluster.token else {})}
        self.connection.request(method, path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise AssertionError("%d %s" % (answer.status, text[:500]))
        return json.loads(text)

    def make(self, number):
        path = install.SESSIONS % NAMESPACES[number % len(NAMESPACES)]
        name = "checkout-cpu-%d" % number
        made = self.send("POST", path, {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {
            "name": name, "annotations": {"drdotnet.dev/requested-by": "system:serviceaccount:shop:web"}}, "spec": {
            "profiler": "CPUHotpaths", "durationSeconds": 5, "target": {"podName": "checkout-7d8f9c6b5-%d" % number}, "cancel": True}})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.send("PATCH", "%s/%s/status" % (path, name), {"status": {
            "state": "Succeeded", "targetSummary": "checkout-7d8f9c6b5-%d" % number, "completionTime": now,
            "headline": "84% of CPU in Checkout.Pricing.Tax.Compute, called from Checkout.Cart.Total",
            "diagnosis": "84% of CPU in Checkout.Pricing.Tax.Compute\n" * 8,
            "conditions": [{"type": kind, "status": "True", "reason": "Completed", "message": "m" * 80, "lastTransitionTime": now}
                           for kind in ("Accepted", "Succeeded", "Completed")],
            "targets": [{"podName": "checkout-7d8f9c6b5-%d" % number, "podUID": made["metadata"]["uid"], "nodeName": "n",
                         "jobID": made["metadata"]["uid"] + "-0", "phase": "Succeeded"}]}}, "application/merge-patch+json")

    def run(self):
        try:
            for number in self.numbers:
                self.make(number)
        except Exception as e:  # told of by the main thread
            self.failed = e


def make_sessions(cluster, count):
    makers = [Maker(cluster, range(n, count, THREADS)) for n in range(THREADS)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
        if maker.failed:
            raise maker.failed


def caller(i, cluster):
    """A ServiceAccount that may list the sessions of all namespaces."""
    cluster.request("POST", "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "web"}})
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    cluster.request("POST", rbac + "/clusterroles", {"metadata": {"name": "bench-web"}, "rules": [
        {"apiGroups": ["drdotnet.dev"], "resources": ["profilingsessions"], "verbs": ["get", "list"]}]})
    cluster.request("POST", rbac + "/clusterrolebindings", {
        "metadata": {"name": "bench-web"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bench-web"},
        "subjects": [{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}]})
    return Api(i.api_port, i.authority_file(), cluster.service_account_token("shop", "web"))


def timed(api, connection, path):
    """(ms to the first byte, ms to the last, bytes, the answer)"""
    began = time.monotonic()
    answer = api.send(connection, "GET", path)
    first = time.monotonic()
    body = answer.read()
    if answer.status != 200:
        raise AssertionError("%d %s" % (answer.status, body[:500]))
    return (first - began) * 1000, (time.monotonic() - began) * 1000, len(body), json.loads(body)


def spread(values):
    values = sorted(values)
    return {"p50": round(values[len(values) // 2], 2), "p99": round(values[int(len(values) * 0.99)], 2), "max": round(values[-1], 2)}


def measure_lists(api, requests):
    result, last_page = {}, api.get("/api/sessions", limit=1).json()["continue"]
    for name, query in LISTS.items():
        connection = api.connect()
        path = "/api/sessions?limit=100" + "".join("&%s=%s" % (k, v or last_page) for k, v in query.items())
        timed(api, connection, path)  # the review of the caller is believed from now on
        rows = []
        for _ in range(requests):
            rows.append(timed(api, connection, path))
            time.sleep(0.03)  # below the API's own bound of requests a second
        connection.close()
        result[name] = {"first_byte": spread(r[0] for r in rows), "bytes": rows[0][2], "items": len(rows[0][3]["items"])}
    return result


def measure(folder, cluster, count, requests):
    with install.Installation(folder + "/installation", cluster) as i:
        for namespace in NAMESPACES:
            cluster.namespace(namespace)
        idle = controller_memory.settled(i.controller)
        make_sessions(cluster, count)
        api = caller(i, cluster)
        proc.wait_until(lambda: api.get("/api/sessions", limit=1).json().get("total") == count, 120, "all sessions are in the index", 0.2)
        proc.wait_until(lambda: controller_memory.count_over(i) == count, 240, "the controller knows them as finished", 0.2)
        result = {"sessions": count, "lists": measure_lists(api, requests)}
        full = controller_memory.settled(i.controller)
        result["index_bytes_a_session"] = round(i.metric("drdotnet_session_index_bytes") / count)
        result["idle_KB"], result["full_KB"] = idle["RssAnon"], full["RssAnon"]
        result["KB_a_session"] = round((full["RssAnon"] - idle["RssAnon"]) / count, 2)
    return result


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=10000)
    options.add_argument("--requests", type=int, default=200)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    if kube.unavailable():
        print(kube.unavailable(), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder, kube.Cluster(folder + "/kube") as cluster:
        result = measure(folder, cluster, options.sessions, options.requests)
    if options.json:
        print(json.dumps(result))
        return 0
    print("%d sessions, pages of 100; bound: first byte %d ms" % (result["sessions"], BOUND_MS))
    for name, row in result["lists"].items():
        first = row["first_byte"]
        print("  %-14s first byte p50 %6.2f ms, p99 %6.2f ms, max %6.2f ms; %d items, %d bytes" % (
            name, first["p50"], first["p99"], first["max"], row["items"], row["bytes"]))
    print("  the index: %(index_bytes_a_session)d bytes a session; RssAnon %(idle_KB)d KB idle, %(full_KB)d KB with them: "
          "%(KB_a_session).2f KB a session in all" % result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
