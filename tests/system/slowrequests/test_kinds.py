"""Requests of other kinds: calls of gRPC and of SignalR, some of which are streams, and a database in the process. Each is told for what it is."""
import http.client
import json
import os
import socket
import subprocess
import threading
import unittest

from tests.lib import proc
from tests.system.slowrequests.target import RequestsCase, by_name, findings

CALLS = 12
SLOW_MS = 60
POINTS = 0.05
WHOLE = 98
KINDS = {"Watch": "grpcServerStreaming", "Sum": "grpcClientStreaming", "Talk": "grpcDuplex", "Get": None}


class OnNewest:
    framework = None

    def client(self, app, *words, **how):
        program = os.path.join(proc.ROOT, "build/apps/RequestApp", self.framework, "RequestApp")
        return subprocess.Popen([program, "call", str(app.details["http2"]), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)

    def call(self, app, *words):
        client = self.client(app, *words)
        client.communicate(timeout=proc.patience(60))
        self.assertEqual(client.returncode, 0, words)

    def test_a_database_in_the_process(self):
        """Its commands work on the thread that asks: what takes long is told with the method of the application, and of the client; a wait for the database's
        lock, in which the client sleeps and tries again, as such."""
        app = self.target(self.framework)
        for path in ("/sqlite/3", "/sqlite/report/10", "/sqlite/sell/1"):
            self.assertEqual(app.get(path)[0], 200, path)  # what is made once

        def work():
            app.load("--requests", 40, "--connections", 1, "/sqlite/3")
            app.load("--requests", 30, "--connections", 1, "/sqlite/report/150")
            app.load("--requests", 6, "--connections", 1, "/sqlite/sell/700")
        report, truth, out, text = self.during(app, work)
        if report["sampling"]["switchesPercent"] < WHOLE or not report["sampling"]["cpuSamplePeriodNanoseconds"]:
            self.skipTest("switches were told for a part of the time only, or CPU time may not be sampled here")
        seen = by_name(report)
        sell, slow, many = seen["GET /sqlite/sell/{id}"]["bill"], seen["GET /sqlite/report/{id}"]["bill"], seen["GET /sqlite/{id}"]["bill"]
        locked = truth["GET /sqlite/sell/{ms}"]
        due = locked["parts"]["locked"]["ms"] / locked["sumMs"]
        told, vague = (sum(sell["thread"][part] for part in parts) / sell["nanoseconds"] for parts in (("lock",), ("untold", "io", "noCPU")))
        self.assertLess(told, due + POINTS)
        self.assertGreater(told + vague, due - POINTS, sell)
        self.assertEqual(sell["thread"]["sleep"], 0, "it sleeps for the lock")
        self.assertIn(("lock", "Shop.Sqlite.Execute", "a SQLite database's lock"), {(p["kind"], p["method"], p["waitsFor"]) for p in sell["places"]})
        for bill, template, part in ((slow, "GET /sqlite/report/{thousands}", "code"), (many, "GET /sqlite/{id}", "sqlite")):
            due = truth[template]["parts"][part]["cpuMs"] / truth[template]["sumMs"]
            code, vague = (sum(bill["thread"][part] for part in parts) / bill["nanoseconds"] for parts in (("code",), ("untold", "io", "noCPU")))
            self.assertGreater(code + vague, due - POINTS, template)
            self.assertEqual((bill["calls"], bill["thread"]["sleep"]), ([], 0))
            self.assertLess(bill["thread"]["lock"], POINTS * bill["nanoseconds"], "the runtime's own at most")
        code = seen["GET /sqlite/report/{id}"]["code"]
        self.assertEqual((code["methods"][0]["name"], code["called"]), ("Shop.Sqlite.Sum", "Microsoft.Data.Sqlite.SqliteCommand.ExecuteScalar"))
        self.assertGreater(code["calledSamples"], 0.9 * code["methods"][0]["innermost"])
        if slow["thread"]["code"] > 0.2 * slow["nanoseconds"]:  # else it waited for a CPU
            self.assertIn("SqliteCommand.ExecuteScalar called by Shop.Sqlite.Sum", text)
        lock = next(f for f in report["findings"] if f["id"] == "RequestWaitsForLock")
        self.assertIn("waiting for SQLite's lock in Sqlite.Execute", lock["message"])
        self.assertEqual(lock["state"], "Found", report["measured"])

    def chat(self, app, method, token=None, body=None, accept=None):
        """(status, body) of a request of SignalR; of one that is a stream, its socket, once it has begun."""
        s = socket.create_connection(("127.0.0.1", app.port), 60)
        self.addCleanup(s.close)
        lines = ["%s /chat%s HTTP/1.1" % (method, "?id=" + token if token else "/negotiate?negotiateVersion=1" if method == "POST" else ""),
                 "Host: localhost", "Content-Length: %d" % len(body or ""), *(["Accept: " + accept] if accept else []),
                 *([] if token or method == "POST" else ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                                                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])]
        s.sendall(("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode())
        if accept or not (token or method == "POST"):
            self.assertIn(b"HTTP/1.1 ", s.recv(12))
            return s
        answer = http.client.HTTPResponse(s)
        answer.begin()
        return answer.status, answer.read()

    def negotiated(self, app):
        return json.loads(self.chat(app, "POST", body="")[1])["connectionToken"]

    def talk_by_signalr(self, app):
        """A web socket, server-sent events, and long polls: of each one connection, for a second or so."""
        hello = '{"protocol":"json","version":1}\x1e'
        streams = [self.chat(app, "GET"), self.chat(app, "GET", self.negotiated(app), accept="text/event-stream")]
        token = self.negotiated(app)
        self.assertEqual(self.chat(app, "GET", token)[0], 200)  # the first poll is answered at once
        poll = threading.Thread(target=self.chat, args=(app, "GET", token))
        poll.start()
        app.lines(1)
        self.assertEqual(self.chat(app, "POST", token, hello)[0], 200)  # which its answer is to
        poll.join()
        self.chat(app, "DELETE", token)
        for s in streams:
            s.close()

    def test_calls_of_grpc_and_of_signalr(self):
        """Unary calls are requests; the others are streams from their beginning on, also those that do not end, and those of which nothing was told before.
        Of SignalR the transports that stream are streams."""
        app = self.target(self.framework)
        held = []

        def work():
            held.append(self.client(app, "hold"))
            self.assertEqual(held[0].stdout.readline(), "open\n")
            self.call(app, "get", CALLS, SLOW_MS)
            for what in ("watch", "sum", "talk"):
                self.call(app, what, 2, SLOW_MS)
            self.talk_by_signalr(app)
            proc.wait_until(lambda: app.truth()["GET /chat"]["inFlight"] == 0, 60, "the chats have ended")
            app.lines(5)  # those that are held are old by now
        try:
            report, truth, out, text = self.during(app, work)
        finally:
            held[0].communicate(timeout=proc.patience(60))
        seen = by_name(report)
        for method, kind in KINDS.items():
            is_ = seen["POST /shop.Prices/" + method]
            known = truth["POST /shop.Prices/" + method]
            self.assertEqual((is_["requests"], is_["grpc"]), (known["count"], known["count"]), method)
            self.assertEqual((is_["stream"], is_["streamKind"]), (kind is not None, kind), method)
            self.assertEqual((is_["streams"], is_["inFlight"]), (known["count"] if kind else 0, 0), method)
            self.assertEqual(is_["streamsInFlight"], known["inFlight"], method)
        self.assertEqual((seen["POST /shop.Prices/Watch"]["streamsInFlight"], seen["POST /shop.Prices/Talk"]["streamsInFlight"]), (1, 1))
        slow = next(e for e in report["endpoints"] if e["name"] == "POST /shop.Prices/Get")
        self.assertGreater(slow["p50Nanoseconds"], SLOW_MS * 0.95e6)
        self.assertGreater(slow["percent"], 1)
        self.assertEqual(report["requests"]["inFlight"], 0)
        self.assertNotIn("RequestsNeverEnd", findings(report))
        self.assertIn("8 ended, 2 open", text)
        self.assertEqual((seen["GET /chat"]["streams"], seen["GET /chat"]["requests"]), (2, truth["GET /chat"]["count"]))
        self.assertLess(abs(seen["POST /chat"]["requests"] + seen["POST /chat/negotiate"]["requests"] - 3), 1)


class Net11(OnNewest, RequestsCase):
    framework = "net11.0"


if os.environ.get("DRDOTNET_EVERY_RUNTIME"):
    class Net8(OnNewest, RequestsCase):
        framework = "net8.0"

    class Net9(OnNewest, RequestsCase):
        framework = "net9.0"

    class Net10(OnNewest, RequestsCase):
        framework = "net10.0"


if __name__ == "__main__":
    unittest.main()
