"""Stands between a program and the tests' API server, writes down each request as RBAC sees it, and may answer one falsely.

    with api_proxy.Proxy(cluster, folder) as proxy:
        controller's kubeconfig: proxy.write_kubeconfig(path, token_file)
        proxy.seen: {(verb, "group/resource[/subresource]", namespace, name): {status}}
        proxy.conflict_once("patch", "drdotnet.dev/profilingsessions/status")
"""
import http.client
import http.server
import json
import os
import ssl
import threading
import urllib.parse

from tests.lib import kube

KEPT = ("content-type", "retry-after", "warning", "audit-id")
CONFLICT = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "AlreadyExists", "code": 409, "message": "made by the test"})


def attributes(method, target):
    """(verb, resource, namespace, name) of a request, as the authorizer of an API server has them; None for other paths."""
    url = urllib.parse.urlsplit(target)
    parts = url.path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, parts = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, parts = parts[1], parts[3:]
    else:
        return None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    resource = "/".join([group, parts[0], *parts[2:]])
    watch = urllib.parse.parse_qs(url.query).get("watch", ["0"])[0] in ("1", "true")
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get" if name else "watch" if watch else "list"}
    return verbs[method], resource, namespace, name


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        what = attributes(self.command, self.path)
        fault = self.server.owner.take_fault(what)
        backend = self.server.owner.connect()
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding", "expect")}
            if fault != "instead":
                backend.request(self.command, self.path, body, headers)
                answer = backend.getresponse()
                self.server.owner.note(what, answer.status)
                if not fault:
                    return self.give(answer, what)
                answer.read()
            self.send(409, "application/json", CONFLICT.encode())
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True
        finally:
            backend.close()

    def give(self, answer, what):
        if not what or what[0] != "watch" or answer.status != 200:
            return self.send(answer.status, answer.getheader("Content-Type", "application/json"), answer.read(), answer)
        self.send_response(200)
        self.send_header("Content-Type", answer.getheader("Content-Type"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def send(self, status, kind, body, answer=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name in KEPT[1:]:
            if answer and answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        """A client that goes away in the middle is none."""


class Proxy:
    """Stands for the cluster where a test wants its kubeconfig; all else is the cluster's."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, os.path.realpath(folder)
        self.lock = threading.Lock()
        self.seen, self.faults = {}, {}

    def __getattr__(self, name):
        return getattr(self.cluster, name)

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        pki = kube.make_pki(self.folder)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pki + "/server.crt", pki + "/server.key")
        with open(pki + "/ca.crt", "rb") as f:
            self.ca_pem = f.read()
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.owner = self
        self.http.socket = tls.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.server = "https://127.0.0.1:%d" % self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def connect(self):
        place = urllib.parse.urlsplit(self.cluster.server)
        trusted = ssl.create_default_context(cadata=self.cluster.ca_pem.decode())  # no certificate of the test's: the caller's token counts
        return http.client.HTTPSConnection(place.hostname, place.port, context=trusted, timeout=600)

    def write_kubeconfig(self, path, token_file):
        return kube.Cluster.write_kubeconfig(self, path, token_file)

    def note(self, what, status):
        with self.lock:
            self.seen.setdefault(what, set()).add(status)

    def forget(self):
        with self.lock:
            self.seen = {}

    def conflict_once(self, verb, resource, forward=False):
        """The next such request is answered with 409; with `forward` after the API server has carried it out."""
        with self.lock:
            self.faults[verb, resource] = "after" if forward else "instead"

    def take_fault(self, what):
        with self.lock:
            return self.faults.pop(what[:2], None) if what else None
