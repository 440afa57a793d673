"""`drdotnet serve` against clients that are hostile, wrong, slow or many."""
import re
import socket
import tempfile
import threading
import time
import unittest

from tests.lib import proc, serve

JSON = b"Content-Type: application/json\r\n"


class Http(unittest.TestCase):
    one_process = True
    time_limit = 200

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-http-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.server = serve.Serve(folder.name)
        cls.addClassCleanup(cls.server.stop)
        cls.head = b"Host: localhost:1\r\nAuthorization: Bearer %s\r\n" % cls.server.token.encode()

    def tearDown(self):
        self.assertEqual(self.server.get("/api/info", source="127.0.0.9").status, 200)  # it serves others all the same

    def raw(self, first, headers=b"", body=b"", head=None, **how):
        return self.server.raw(first + b" HTTP/1.1\r\n" + (self.head if head is None else head) + headers + b"\r\n" + body, **how)

    def statuses(self, answer):
        return [int(x) for x in re.findall(rb"HTTP/1\.[01] (\d+)", answer)]

    def test_tokens(self):
        s = self.server
        paths = ("/api/info", "/api/profilers", "/api/namespaces", "/api/processes", "/api/sessions", "/api/sessions/local.x", "/api/sessions/local.x/events",
                 "/api/sessions/local.x/download", "/api/sessions/local.x/reports/a/b", "/api/diff?baseline=local.x&session=local.x")
        for i, path in enumerate(paths):
            for token in (None, "", "x", s.token[:-1], s.token + "0", s.token.upper()):
                answer = s.get(path, token=token, source="127.0.2.%d" % (i + 1))
                self.assertEqual((answer.status, answer.json["status"]), (401, 401), (path, token))
        for method, path in (("POST", "/api/sessions"), ("POST", "/api/sessions/local.x/cancel"), ("DELETE", "/api/sessions/local.x")):
            self.assertEqual(s.ask(method, path, "{}" if method == "POST" else None, token="x", source="127.0.0.2").status, 401)
        self.assertEqual(s.ask("DELETE", "/api/sessions/local.x", "{}").status, 400)
        self.assertEqual(self.raw(b"GET /api/info?token=" + s.token.encode(), b"Connection: close\r\n", head=b"Host: localhost\r\n")[9:12], b"401")
        self.assertNotIn(s.token.encode(), s.get("/", token=None).body)

    def test_every_answer_has_its_headers(self):
        s = self.server
        for path, status in (("/", 200), ("/viewer.html", 200), ("/api/info", 200), ("/none", 404),
                             ("/api/sessions/local.none", 404), ("/api/openapi.json", 200)):
            h = s.get(path).headers
            self.assertEqual((h["x-content-type-options"], h["referrer-policy"], h["cross-origin-resource-policy"]),
                             ("nosniff", "no-referrer", "same-origin"), path)
            self.assertRegex(h["content-security-policy"], r"default-src 'none'.*frame-ancestors '(none|self)'")
            self.assertEqual(h["cache-control"], "no-cache" if path in ("/", "/viewer.html", "/api/openapi.json") else "no-store")
            self.assertNotIn("access-control-allow-origin", h)
        self.assertRegex(s.get("/").headers["content-security-policy"], r"^default-src 'none'; script-src 'self'; style-src 'self';.* frame-ancestors 'none'$")
        self.assertRegex(s.get("/viewer.html").headers["content-security-policy"], r"^sandbox allow-scripts; default-src 'none';.* frame-ancestors 'self'$")
        packed = s.get("/assets/app.js", headers={"Accept-Encoding": "br, gzip"})
        self.assertEqual((packed.headers["content-encoding"], packed.headers["content-type"]), ("gzip", "text/javascript; charset=utf-8"))
        self.assertLess(len(packed.body), len(s.get("/assets/app.js").body))

    def test_hosts(self):
        for host, status in (("127.0.0.1", 200), ("127.0.0.1:99", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:80", 200), ("10.1.2.3", 200),
                             ("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost:80:80", 421),
                             ("127.0.0.1@evil.example", 421), ("", 400), ("localhost,evil.example", 421)):
            answer = self.raw(b"GET /api/info", b"Connection: close\r\n", head=self.head.replace(b"localhost:1", host.encode()))
            self.assertEqual(self.statuses(answer), [status], host)
        self.assertEqual(self.statuses(self.raw(b"GET /", head=b"Host: localhost\r\nHost: evil.example\r\nConnection: close\r\n")), [421])
        self.assertEqual(self.statuses(self.raw(b"GET /", head=b"")), [400])

    def test_methods(self):
        for method, path, allow in (("PUT", "/api/sessions", "GET, HEAD, POST"), ("PATCH", "/api/sessions/local.x", "GET, HEAD, DELETE"),
                                    ("POST", "/", "GET, HEAD"),
                                    ("DELETE", "/api/info", "GET, HEAD"), ("GET", "/api/sessions/local.x/cancel", "POST")):
            answer = self.server.ask(method, path)
            self.assertEqual((answer.status, ", ".join(sorted(answer.headers["allow"].split(", ")))), (405, ", ".join(sorted(allow.split(", ")))), path)
        head, get = self.server.ask("HEAD", "/api/info"), self.server.get("/api/info")
        self.assertEqual((head.status, head.body, head.headers["etag"], head.headers["content-length"]),
                         (200, b"", get.headers["etag"], str(len(get.body))))
        for method in (b"OPTIONS", b"TRACE", b"FOO", b"PRI"):
            answer = self.raw(method + b" /api/info", b"Connection: close\r\n")
            self.assertIn(self.statuses(answer), ([405], [403]), method)

    def test_writes_are_json(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""):
            self.assertEqual(self.server.post("/api/sessions", "{}", headers={"Content-Type": kind}).status, 415, kind)
        self.assertEqual(self.server.ask("DELETE", "/api/sessions/local.x", headers={"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(self.server.post("/api/sessions", "{}", headers={"Content-Type": "application/json; charset=utf-8"}).status, 422)

    def test_bodies(self):
        s = self.server
        self.assertEqual(s.post("/api/sessions", b" " * (256 << 10)).status, 400)
        answer = s.post("/api/sessions", b" " * ((256 << 10) + 1))
        self.assertEqual((answer.status, answer.headers["content-type"]), (413, "application/problem+json"))
        self.assertEqual(self.statuses(self.raw(b"POST /api/sessions", JSON + b"Content-Length: 9999999999\r\n")), [413])
        for words in (b"Content-Length: -1\r\n", b"Content-Length: 1x\r\n", b"Content-Length: 2\r\nContent-Length: 5\r\n",
                      b"Content-Length: 99999999999999999999\r\n"):
            self.assertEqual(self.statuses(self.raw(b"POST /api/sessions", JSON + words, b"{}abc")), [400], words)
        # One request is one request: what comes behind is not taken for a second one.
        second = b"GET /api/info HTTP/1.1\r\n" + self.head + b"\r\n"
        for words, body in ((b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
                            (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"2\r\n{}\r\n0\r\n\r\n")):
            self.assertEqual(self.statuses(self.raw(b"POST /api/sessions", JSON + words, body + second)), [411], words)
        self.assertEqual(self.statuses(self.raw(b"GET /api/info", b"Content-Length: %d\r\n" % len(second), second)), [400])
        self.assertEqual(self.statuses(self.raw(b"POST /api/sessions", JSON, second)), [400])
        # But two that are well-formed are both answered on one connection.
        got = self.raw(b"POST /api/sessions", JSON + b"Content-Length: 2\r\n", b"{}" + second.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(self.statuses(got), [422, 200])

    def test_paths(self):
        for path in (b"/../../etc/passwd", b"/assets/../../../etc/passwd", b"/assets/%2e%2e/%2e%2e/etc/passwd", b"/assets/..%2f..%2fetc%2fpasswd", b"/assets/",
                     b"/assets", b"/index.html", b"/api", b"/api/", b"/api/info/", b"/assets/app.js/x", b"/common/web_ui/app.js",
                     b"/api/sessions/..%2f..%2fx",
                     b"/api/sessions/%2e%2e", b"/api/sessions/local", b"/api/sessions/.x", b"/api/sessions/local.x%20", b"/%5c..%5c"):
            answer = self.raw(b"GET " + path, b"Connection: close\r\n", source="127.0.0.3")
            self.assertIn(self.statuses(answer), ([404], [400]), (path, answer))
            self.assertNotIn(b"root:", answer)
        for path in (b"/api/info%00x", b"/%ff%fe", b"/%zz", b"*", b"http://localhost/api/info", b"/" + b"a" * 9000):
            self.assertNotIn(200, self.statuses(self.raw(b"GET " + path, b"Connection: close\r\n", source="127.0.0.3")), path)
        for query in (b"q=%ff", b"q=" + b"a" * 254, b"limit=1e3", b"limit=%2B1", b"namespace=A", b"&".join(b"a%d=" % i for i in range(40))):
            self.assertEqual(self.statuses(self.raw(b"GET /api/sessions?" + query, b"Connection: close\r\n", source="127.0.0.3")),
                             [200] if query == b"q=%ff" else [400], query)

    def test_headers_have_a_bound(self):
        for headers in (b"Cookie: " + b"a" * 16000 + b"\r\n", b"Cookie: " + b"a" * 28000 + b"\r\n"):
            answer = self.raw(b"GET /", headers + b"Connection: close\r\n", source="127.0.0.12")
            self.assertEqual(self.statuses(answer), [200], "a gateway's sign-in adds as much")
        for headers in (b"X: " + b"a" * 40000 + b"\r\n", b"".join(b"X%d: a\r\n" % i for i in range(3000))):
            self.assertNotIn(200, self.statuses(self.raw(b"GET /api/info", headers)))

    def test_upgrades(self):
        wish = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        with self.server.connect() as c:
            c.sendall(b"GET /api/info HTTP/1.1\r\n" + self.head + wish + b"\r\n")
            self.assertEqual(self.statuses(c.recv(65536)), [200])
        wish = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        self.assertNotIn(101, self.statuses(self.raw(b"GET /", wish)))
        self.assertNotIn(b"\x00\x00", self.server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"))

    def test_slow_clients_are_given_up(self):
        """All at once; the longest limit is the one between two requests, with what it takes to see it."""
        half, whole = b"GET /api/info HTTP/1.1\r\n", b"GET /api/info HTTP/1.1\r\n" + self.head + b"\r\n"
        body = b"POST /api/sessions HTTP/1.1\r\n" + self.head + JSON + b"Content-Length: 5000\r\n\r\n"
        rows = {"nothing": (b"", b""), "half headers": (half, b""), "drips headers": (half + b"X: ", b"a"), "half body": (body, b""),
                "drips body": (body, b" "),
                "connect": (b"CONNECT localhost:22 HTTP/1.1\r\n" + self.head + b"\r\n", b""), "idle": (whole, b""), "half of a second one": (whole + half, b"")}
        ended = {}

        def be(name, first, drip):
            began = time.monotonic()
            with self.server.connect("127.0.0.4") as c:
                c.settimeout(0.5)
                try:
                    c.sendall(first)
                    while time.monotonic() < began + 100:
                        try:
                            if not c.recv(65536):
                                break
                        except TimeoutError:
                            c.sendall(drip)
                except OSError:
                    pass
            ended[name] = time.monotonic() - began

        threads = [threading.Thread(target=be, args=(name, *row)) for name, row in rows.items()]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual({name: t for name, t in ended.items() if t > 80}, {})
        self.assertGreater(ended["idle"], 20)

    def until_limited(self, request, most, source):
        """The statuses of many requests on one connection, as fast as it goes."""
        got, asked = b"", 0
        with self.server.connect(source) as c:
            c.settimeout(30)
            while asked < most and b" 429 " not in got:
                c.sendall(request * 100)
                asked += 100
                while got.count(b"HTTP/1.1 ") < asked or not got.endswith(b"}\n"):
                    piece = c.recv(65536)
                    self.assertTrue(piece, asked)
                    got += piece
        return self.statuses(got), got

    def test_rate(self):
        statuses, got = self.until_limited(b"GET /none HTTP/1.1\r\n" + self.head + b"\r\n", 20000, "127.0.0.5")
        self.assertEqual(set(statuses), {404, 429})
        self.assertGreater(statuses.count(404), 150)
        self.assertRegex(got, rb"retry-after: [12]\r\n")
        self.assertEqual(self.server.get("/none", source="127.0.0.15").status, 404)  # others have a rate of their own

    def test_wrong_tokens_cost_more(self):
        statuses, _ = self.until_limited(b"GET /api/info HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n\r\n", 1000, "127.0.0.6")
        self.assertEqual(set(statuses), {401, 429})
        self.assertLess(statuses.index(429), 400)

    def test_connections_of_one_address_are_bounded(self):
        s, kept = self.server, []
        try:
            for _ in range(200):
                kept.append(s.connect("127.0.0.7"))
            self.assertEqual(s.get("/api/info", source="127.0.0.8").status, 200)
            with self.assertRaises(OSError):
                s.get("/api/info", source="127.0.0.7", timeout=5)
        finally:
            for c in kept:
                c.close()
        proc.wait_until(lambda: self.serves("127.0.0.7"), 30, "a place for a new connection")

    def serves(self, source):
        try:
            return self.server.get("/api/info", source=source).status == 200
        except OSError:
            return False


class Subscribers(unittest.TestCase):
    time_limit = 120

    def test_many_follow_one_session(self):
        """Many more than there are workers: none of them holds one."""
        with tempfile.TemporaryDirectory(prefix="drdotnet-http-", ignore_cleanup_errors=True) as folder, serve.Serve(folder, "--sessions", "1") as s:
            waiting = {"profiler": "CPUHotpaths", "target": {"process": {"pid": 1 << 22}}}
            answer = s.post("/api/sessions", {"namespace": "local", "name": "one", "spec": waiting})
            self.assertEqual(answer.status, 201)
            s.completed("local.one")
            kept = []
            for i in range(200):
                c = socket.create_connection(("127.0.0.1", s.port), 30, ("127.0.1.%d" % (1 + i // 100), 0))
                c.sendall(b"GET /api/sessions/local.one/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % s.token.encode())
                kept.append(c)
            ends = 0
            for c in kept:
                c.settimeout(30)
                got = b""
                while piece := c.recv(65536):
                    got += piece
                ends += got.endswith(b"0\r\n\r\n") and b"event: end" in got
                c.close()
            self.assertEqual(ends, 200)
            self.assertEqual(s.get("/api/info").status, 200)


if __name__ == "__main__":
    unittest.main()
