"""A fleet of played agents (tests/bench/scale_agents.c) with pods and bound tokens of their own at the tests' API server.

    tokens = fleet.make_agents(cluster, ["node-1", ...])
    with fleet.Fleet(folder, tokens, ["127.0.0.1:PORT"], ca_file) as f:
        f.wait_linked(); installation.session(...); f.order_of("shop/checkout-cpu")
"""
import collections
import concurrent.futures
import http.client
import json
import os
import subprocess
import threading
import time
import urllib.parse

from tests.lib import install, kube, proc

PROGRAM = os.path.join(proc.ROOT, "build/release/tests/scale-agents")
IDLE_SECONDS = 10
Said = collections.namedtuple("Said", "seconds session node job epoch")


class Requests:
    """Many requests to an API server: some connections that stay open."""

    def __init__(self, cluster, threads=8):
        self.cluster = cluster
        self.address = urllib.parse.urlsplit(cluster.server)
        self.local = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.opened = []

    def close(self):
        self.pool.shutdown()
        for connection in self.opened:
            connection.close()

    def _connection(self):
        """This thread's; a new one after a while without a request: the server hangs up on such."""
        now, last = time.monotonic(), getattr(self.local, "used", 0)
        self.local.used = now
        if not getattr(self.local, "connection", None) or now - last > IDLE_SECONDS:
            self.local.connection = http.client.HTTPSConnection(self.address.hostname, self.address.port, context=self.cluster.tls, timeout=60)
            self.opened.append(self.local.connection)
        return self.local.connection

    def one(self, method, path, body=None, content_type="application/json"):
        """The decoded answer, after as many tries as the server asks for."""
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        if self.cluster.token:
            headers["Authorization"] = "Bearer " + self.cluster.token
        while True:
            try:
                self._connection().request(method, path, json.dumps(body) if body is not None else None, headers)
                answer = self._connection().getresponse()
                data = answer.read()
            except (http.client.HTTPException, OSError):
                self.local.connection = None
                raise
            if answer.status == 429:
                time.sleep(float(answer.getheader("Retry-After") or 1))
                continue
            if answer.status >= 300:
                raise kube.ApiError(answer.status, data.decode(errors="replace"))
            return json.loads(data or b"{}")

    def all(self, work, items):
        """work(item) for each, several at a time; the results in order."""
        return list(self.pool.map(work, items))


def make_agents(cluster, nodes, requests=None):
    """[(node, token)]: a pod of the agents' DaemonSet on each node, and its bound token."""
    if not requests:
        requests = Requests(cluster)
        try:
            return make_agents(cluster, nodes, requests)
        finally:
            requests.close()
    pods = "/api/v1/namespaces/%s/pods" % install.SYSTEM

    def make(node):
        name = "played-agent-" + node
        pod = requests.one("POST", pods, {"metadata": {"name": name}, "spec": {
            "nodeName": node, "serviceAccountName": "drdotnet-agent", "containers": [{"name": "agent", "image": "example/agent"}]}})
        answer = requests.one("POST", "/api/v1/namespaces/%s/serviceaccounts/drdotnet-agent/token" % install.SYSTEM, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 7200, "audiences": [install.AUDIENCE],
                     "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": pod["metadata"]["uid"]}}})
        return node, answer["status"]["token"]
    return requests.all(make, nodes)


class Fleet:
    def __init__(self, folder, tokens, controllers, ca_file, work_ms=300, at_once=200):
        os.makedirs(folder, exist_ok=True)
        token_file = os.path.join(folder, "tokens")
        with open(token_file, "w") as f:
            f.writelines("%s %s\n" % pair for pair in tokens)
        self.of = len(tokens) * len(controllers)
        self.words = [PROGRAM, "--controllers", ",".join(controllers), "--server-name", install.SERVER_NAME, "--ca", ca_file,
                      "--tokens", token_file, "--work-ms", str(work_ms), "--at-once", str(at_once)]
        self.lock = threading.Lock()
        self.said = collections.defaultdict(list)  # "order", "again", "stale", "cancel", "forget"
        self.up = []                               # (seconds, links that are open)
        self.errors = open(os.path.join(folder, "agents.log"), "ab")

    def __enter__(self):
        self.popen = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        self.reader.join(5)
        self.popen.stdin.close()
        self.popen.stdout.close()
        self.errors.close()

    def _read(self):
        for line in self.popen.stdout:
            verb, at, *rest = line.split()
            seconds = int(at) / 1e6
            with self.lock:
                if verb == "up":
                    self.up.append((seconds, int(rest[0])))
                elif verb in ("order", "again", "stale"):
                    self.said[verb].append(Said(seconds, rest[0], rest[1], rest[2], int(rest[3])))
                elif verb in ("cancel", "forget"):
                    self.said[verb].append(Said(seconds, None, rest[0], rest[1], int(rest[2])))

    @property
    def open(self):
        with self.lock:
            return self.up[-1][1] if self.up else 0

    def wait_linked(self, share=1.0, seconds=300):
        proc.wait_until(lambda: self.open >= share * self.of, seconds, "%d links, not %d" % (share * self.of, self.open), 0.05)

    def linked_at(self, share, since):
        """When this share of the links was open, after a time at which they were not."""
        with self.lock:
            return next((at for at, count in self.up if at > since and count >= share * self.of), None)

    def orders(self, verb="order"):
        with self.lock:
            return list(self.said[verb])

    def order_of(self, session):
        return next((o for o in self.orders() if o.session == session), None)
