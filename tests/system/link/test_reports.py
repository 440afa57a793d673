"""Reports over the link's port: an agent puts one by a signed URL, a person gets one with a token of the cluster."""
import contextlib
import hashlib
import http.client
import os
import ssl
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

from tests.lib import kube, proc
from tests.system.link import harness, websocket
from tests.system.link.harness import token
from tests.system.link.websocket import WebSocket, hello

KEY = "shop/session-01234567/pod-0/"
CONTENT = b"# 84% of CPU in Tax.Compute\n"


class ReportsCase(unittest.TestCase):
    one_process = True

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body); the path goes out as it is."""
        connection = http.client.HTTPSConnection("localhost", self.hub.port, timeout=20,
                                                 context=ssl.create_default_context(cafile=self.world.ca))
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in {**({"Content-Length": str(len(body))} if body is not None else {}), **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, text=None):
        return self.request("GET", path, headers={"Authorization": "Bearer " + text} if text else None)

    def grant(self, ws, content, name="summary.md", kind="text/markdown", size=None, job="job-1"):
        """Path and query of a signed URL for this content."""
        ws.send({"type": "uploadRequest", "jobID": job, "report": {
            "name": name, "mediaType": kind, "sizeBytes": len(content) if size is None else size,
            "sha256": hashlib.sha256(content).hexdigest()}})
        while (message := ws.receive())["type"] != "uploadGrant":
            self.assertNotEqual(message["type"], "uploadDenied", message)
        url = urllib.parse.urlsplit(message["url"])
        self.assertEqual(url.port, self.hub.port)
        return url.path + "?" + url.query

    def stored(self):
        return sorted(os.path.relpath(os.path.join(where, name), self.hub.store) for where, _, names in os.walk(self.hub.store)
                      for name in names if name != ".upload-key")


class Reports(ReportsCase):
    @classmethod
    def setUpClass(cls):
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        cls.hub = cls.world.hub()
        cls.agent = WebSocket(cls.hub.port, cls.world.ca, token("node-1"))
        cls.addClassCleanup(cls.agent.close)
        cls.agent.send(hello())
        cls.person = token(account="kim", audience="https://kubernetes.default.svc")
        cls.world.api.allowed.add(("kim", "shop", "session"))

    def put(self, path, body, headers=None):
        return self.request("PUT", path, body, headers)[0]

    def test_put_and_get(self):
        for name, kind, served, inline, size in (("report.html", "text/html", "text/html; charset=utf-8", "inline", 300000),
                                                 ("profile.pb.gz", "application/gzip", "application/gzip", "attachment", 300000),
                                                 ("stacks.folded", "text/plain", "text/plain; charset=utf-8", "attachment", 0)):
            with self.subTest(name):
                content = os.urandom(size)
                self.assertEqual(self.put(self.grant(self.agent, content, name, kind), content), 200)
                status, headers, body = self.get("/reports/" + KEY + name, self.person)
                self.assertEqual((status, body == content), (200, True))
                self.assertEqual((headers["content-type"], headers["content-disposition"]), (served, inline))
                self.assertIn("sandbox", headers["content-security-policy"])
                self.assertEqual((headers["x-content-type-options"], headers["cache-control"]), ("nosniff", "no-store"))

    def test_what_is_not_as_signed_is_not_stored(self):
        before = self.stored()
        path = self.grant(self.agent, CONTENT, "refused.md")
        other = bytes(reversed(CONTENT))
        cases = {
            "another file": (path.replace("refused.md", "other.md"), CONTENT, (403,)),
            "another session": (path.replace("session-01234567", "session-76543210"), CONTENT, (403,)),
            "another signature": (path[:-4] + ("0000" if path[-4:] != "0000" else "1111"), CONTENT, (403,)),
            "no signature": (path.split("?")[0], CONTENT, (400, 403)),
            "another content": (path, other, (400,)),
            "shorter": (path, CONTENT[:-1], (400,)),
            "longer": (path, CONTENT + b"x", (400,)),
            "a larger size in the query": (path.replace("size=%d" % len(CONTENT), "size=%d" % (len(CONTENT) + 1)), CONTENT + b"x", (403,)),
        }
        for name, (where, body, wanted) in cases.items():
            with self.subTest(name):
                self.assertIn(self.put(where, body), wanted)
        self.assertEqual(self.stored(), before)
        self.assertEqual(self.put(path, CONTENT), 200)

    def test_without_a_length_nothing_is_taken(self):
        path = self.grant(self.agent, CONTENT, "chunked.md")
        self.assertEqual(self.request("PUT", path, None, {"Transfer-Encoding": "chunked"})[0], 400)

    def test_more_than_the_store_holds_is_refused(self):
        """No URL is signed for it: nothing is sent in vain."""
        self.agent.send({"type": "uploadRequest", "jobID": "job-1", "report": {
            "name": "huge.gz", "mediaType": "application/gzip", "sizeBytes": 17 * 1024 * 1024, "sha256": "0" * 64}})
        while (message := self.agent.receive())["type"] not in ("uploadGrant", "uploadDenied"):
            pass
        self.assertEqual((message["type"], message.get("retry")), ("uploadDenied", False), message)
        self.assertIn("takes 16777216 at most", message["message"])

    def test_a_torn_upload_leaves_nothing(self):
        before = self.stored()
        path = self.grant(self.agent, CONTENT * 1000, "torn.md")
        with websocket.tls(self.world.ca, port=self.hub.port) as s:
            s.sendall(("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, len(CONTENT) * 1000)).encode())
            s.sendall(CONTENT)
        self.assertEqual(self.put(self.grant(self.agent, CONTENT, "after.md"), CONTENT), 200)
        proc.wait_until(lambda: self.stored() == sorted(set(before) | {KEY + "after.md"}), 20, "nothing is left of it")

    def test_who_may_read(self):
        self.assertEqual(self.put(self.grant(self.agent, CONTENT, "mine.md"), CONTENT), 200)
        where = "/reports/" + KEY + "mine.md"
        status, headers, _ = self.get(where)
        self.assertEqual((status, headers["www-authenticate"]), (401, "Bearer"))
        cases = {"unknown": ("nonsense", 401), "expired": (token(expires_in=-5, account="kim"), 401),
                 "not allowed": (token(account="other"), 403), "allowed": (self.person, 200)}
        for name, (text, wanted) in cases.items():
            with self.subTest(name):
                status, _, body = self.get(where, text)
                self.assertEqual((status, body == CONTENT), (wanted, wanted == 200))
        self.assertEqual(self.get("/reports/" + KEY + "absent.md", self.person)[0], 404)
        self.assertEqual(self.get("/reports/other/session-01234567/pod-0/mine.md", self.person)[0], 403)

    def test_no_path_leads_out(self):
        self.assertEqual(self.put(self.grant(self.agent, CONTENT, "inside.md"), CONTENT), 200)
        with open(os.path.join(self.hub.store, ".upload-key"), "rb") as f:
            key = f.read()
        for path in ("../.upload-key", ".upload-key", "%2e%2e/.upload-key", "shop/session-01234567/pod-0/..%2f..%2f..%2f.upload-key",
                     "shop/session-01234567/../../.upload-key", "shop/session-01234567/pod-0/../../../.upload-key",
                     "shop/session-01234567/pod-0/inside.md%00", "shop/session-01234567/pod-0",
                     "shop/session-01234567/pod-0/inside.md/", "/etc/passwd", "shop/session/pod-0/inside.md", "a" * 3000):
            with self.subTest(path):
                try:
                    status, _, body = self.get("/reports/" + path, self.person)
                except http.client.RemoteDisconnected:  # a NUL byte ends the connection
                    continue
                self.assertGreaterEqual(status, 400)
                self.assertNotIn(key, body)
                self.assertNotIn(CONTENT, body)

    def test_when_the_api_server_does_not_answer(self):
        self.assertEqual(self.put(self.grant(self.agent, CONTENT, "away.md"), CONTENT), 200)
        self.world.api.status = 500
        try:
            self.assertEqual(self.get("/reports/" + KEY + "away.md", self.person)[0], 503)
        finally:
            self.world.api.status = None
        self.assertEqual(self.get("/reports/" + KEY + "away.md", self.person)[0], 200)

    def test_other_methods_and_paths(self):
        for method, path in (("GET", "/"), ("POST", "/reports/" + KEY + "x"), ("DELETE", "/store/x"), ("GET", "/metrics"), ("GET", "/healthz")):
            with self.subTest(path):
                self.assertIn(self.request(method, path, b"" if method == "POST" else None)[0], (403, 404, 405))


class Disk(ReportsCase):
    """The store's disk hangs, at each of its calls: who reads or writes reports waits for it, and nobody else does."""

    @classmethod
    def setUpClass(cls):
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)

    def setUp(self):
        self.hub = self.world.hub(name="hub-" + self._testMethodName, max_store_calls=3)
        self.addCleanup(self.hub.stop)
        self.agent = self.linked("node-1")
        self.person = token(account="kim", audience="https://kubernetes.default.svc")
        self.world.api.allowed.add(("kim", "shop", "session"))
        self.epoch = 0

    def linked(self, node):
        ws = WebSocket(self.hub.port, self.world.ca, token(node))
        self.addCleanup(ws.close)
        ws.send(hello())
        self.hub.expect(event="node", node=node, linked=True)
        return ws

    def disk(self, well):
        self.assertEqual(self.hub.ask("disk", int(well), event="disk")["well"], well)

    def later(self, method, *words):
        """What the request gets, when it is asked for."""
        box = []
        def run():
            with contextlib.suppress(OSError, http.client.HTTPException):
                box.append(method(*words))
        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def wait():
            thread.join(60)
            self.assertTrue(box, "no answer")
            return box[0]
        wait.waiting = thread.is_alive
        return wait

    def links_are_alive(self):
        """The leader's word reaches a link, a new one is made, and probes are answered."""
        self.epoch += 1
        self.hub.say("epoch", self.epoch)
        self.assertEqual(self.agent.receive(), {"type": "leader", "epoch": self.epoch})
        self.linked("node-new").close()
        with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % self.hub.health_port, timeout=20) as answer:
            self.assertEqual(answer.status, 200)

    def test_while_a_report_comes(self):
        content = os.urandom(300000)
        for call in ("openat", "write", "fsync"):
            with self.subTest(call):
                path = self.grant(self.agent, content, call + ".bin")
                self.hub.say("hang", call)
                answer = self.later(self.request, "PUT", path, content)
                self.hub.expect(event="hangs", call=call)
                self.links_are_alive()
                self.disk(True)
                self.assertEqual(answer()[0], 200)
                self.assertEqual(self.get("/reports/" + KEY + call + ".bin", self.person)[2], content)

    def test_while_a_report_is_read(self):
        content = os.urandom(300000)
        self.assertEqual(self.request("PUT", self.grant(self.agent, content, "report.html", "text/html"), content)[0], 200)
        self.hub.say("hang", "read")
        answer = self.later(self.get, "/reports/" + KEY + "report.html", self.person)
        self.hub.expect(event="hangs", call="read")
        self.links_are_alive()
        self.disk(True)
        status, _, body = answer()
        self.assertEqual((status, body == content), (200, True))

    def test_no_more_wait_for_it_than_may(self):
        paths = [self.grant(self.agent, CONTENT, "%d.md" % i) for i in range(4)]
        self.disk(False)
        answers = [self.later(self.request, "PUT", path, CONTENT) for path in paths]
        done = proc.wait_until(lambda: [a for a in answers if not a.waiting()], 30, "one is refused")
        status, _, body = done[0]()
        self.assertEqual((len(done), status), (1, 503))
        self.assertIn(b"try again later", body)
        self.links_are_alive()
        self.disk(True)
        self.assertEqual(sorted(answer()[0] for answer in answers), [200, 200, 200, 503])
        self.assertEqual(self.request("PUT", self.grant(self.agent, CONTENT, "again.md"), CONTENT)[0], 200, "all are out of the way")

    def test_who_waits_may_go_and_so_may_the_server(self):
        path = self.grant(self.agent, CONTENT, "gone.md")
        self.disk(False)
        with websocket.tls(self.world.ca, port=self.hub.port) as s:
            s.sendall(("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, len(CONTENT))).encode() + CONTENT)
            self.hub.expect(event="hangs", call="openat")
        self.links_are_alive()
        self.later(self.request, "PUT", self.grant(self.agent, CONTENT, "kept.md"), CONTENT)
        self.hub.expect(event="hangs", call="openat")
        self.hub.say("disk", 1)
        self.assertEqual(self.hub.quit(), 0)
        self.assertEqual([name for name in self.stored() if ".upload-t" in name], [])


UNAVAILABLE = kube.unavailable()


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class WithRealReviews(ReportsCase):
    """Tokens of a real API server, reviewed by it."""

    @classmethod
    def setUpClass(cls):
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = kube.Cluster(folder.name).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.hub = harness.Hub(cls.world.folder, cls.cluster.kubeconfig, cls.world.cert, cls.world.key)
        cls.world.programs.append(cls.hub)
        for namespace in ("drdotnet-system", "shop"):
            cls.cluster.namespace(namespace)
        for namespace, name in (("drdotnet-system", "drdotnet-agent"), ("shop", "reader"), ("shop", "other")):
            cls.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % namespace, {"metadata": {"name": name}})
        cls.pod = cls.cluster.create_pod("drdotnet-system", "agent-abc", "node-real", service_account="drdotnet-agent")

    def agent_token(self, **how):
        return self.cluster.service_account_token("drdotnet-system", "drdotnet-agent", **{"pod": self.pod, "audience": harness.AUDIENCE, **how})

    def test_an_agents_token(self):
        with WebSocket(self.hub.port, self.world.ca, self.agent_token()) as ws:
            ws.send(hello())
            self.hub.expect(event="node", node="node-real", linked=True)

    def test_tokens_that_are_not_an_agents(self):
        pod = self.cluster.create_pod("shop", "some-pod", "node-other", service_account="reader")
        cases = {"the API server's own audience": self.agent_token(audience=None), "bound to no pod": self.agent_token(pod=None),
                 "another account": self.cluster.service_account_token("shop", "reader", pod=pod, audience=harness.AUDIENCE)}
        for name, text in cases.items():
            with self.subTest(name), WebSocket(self.hub.port, self.world.ca, text) as ws:
                ws.send(hello())
                self.assertEqual(ws.closed(), (1008, "TokenRefused"))

    def test_the_token_of_a_pod_that_is_deleted(self):
        pod = self.cluster.create_pod("drdotnet-system", "agent-gone", "node-gone", service_account="drdotnet-agent")
        text = self.agent_token(pod=pod)
        self.cluster.request("DELETE", "/api/v1/namespaces/drdotnet-system/pods/agent-gone?gracePeriodSeconds=0")
        with WebSocket(self.hub.port, self.world.ca, text) as ws:
            ws.send(hello())
            self.assertEqual(ws.closed(), (1008, "TokenRefused"))

    def test_who_may_read_a_report(self):
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/"
        self.cluster.request("POST", rbac + "roles", {"metadata": {"name": "read"}, "rules": [
            {"apiGroups": ["drdotnet.dev"], "resources": ["profilingsessions"], "verbs": ["get"], "resourceNames": ["session"]}]})
        self.cluster.request("POST", rbac + "rolebindings", {
            "metadata": {"name": "read"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "shop"}]})
        with WebSocket(self.hub.port, self.world.ca, self.agent_token()) as ws:
            ws.send(hello())
            path = self.grant(ws, CONTENT)
        self.assertEqual(self.request("PUT", path, CONTENT)[0], 200)
        may, may_not = (self.cluster.service_account_token("shop", name) for name in ("reader", "other"))
        where = "/reports/" + KEY + "summary.md"
        status, _, body = self.get(where, may)
        self.assertEqual((status, body), (200, CONTENT))
        self.assertEqual(self.get(where, may_not)[0], 403)
        self.assertEqual(self.get("/reports/shop/another-01234567/pod-0/summary.md", may)[0], 403)
        self.assertEqual(self.get(where, self.agent_token())[0], 401, "a token for another audience")


if __name__ == "__main__":
    unittest.main()
