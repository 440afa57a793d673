"""The link server against peers made by hand: whom it lets in, and what it bears from whom."""
import json
import socket
import ssl
import time
import unittest
import urllib.error
import urllib.request

from tests.system.link import harness, websocket
from tests.system.link.harness import token
from tests.system.link.websocket import Closed, Refused, WebSocket, hello
from tests.lib import proc

POLICY, TRY_AGAIN, UNSUPPORTED, BAD_DATA, TOO_LARGE, NORMAL = 1008, 1013, 1003, 1007, 1009, 1000


class ServerCase(unittest.TestCase):
    one_process = True
    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        cls.hub = cls.world.hub(**cls.settings)
        cls.api = cls.world.api

    def socket(self, text):
        ws = WebSocket(self.hub.port, self.world.ca, text)
        self.addCleanup(ws.close)
        return ws

    def linked(self, node, **claims):
        ws = self.socket(token(node, **claims))
        ws.send(hello())
        self.hub.expect(event="node", node=node, linked=True)
        return ws

    def count(self):
        return self.hub.ask("count", event="count")["agents"]

    def health(self, path):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.hub.health_port, path), timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()


class Authentication(ServerCase):
    def test_the_node_is_the_tokens_not_what_the_agent_says(self):
        ws = self.socket(token("node-7"))
        ws.send({**hello(epoch=3), "node": "node-8", "nodeName": "node-8"})
        self.hub.expect(event="node", node="node-7", linked=True, epoch=3)
        self.assertFalse(self.hub.ask("cancel", "node-8", "j")["ok"])

    def test_the_node_of_the_pod_where_the_token_does_not_name_it(self):
        self.api.pods["agent-x"] = ("uid-x", "node-of-pod")
        ws = self.socket(token(None, pod="agent-x", podUID="uid-x"))
        ws.send(hello())
        self.hub.expect(event="node", node="node-of-pod", linked=True)

    def test_tokens_that_are_refused(self):
        self.api.pods["agent-y"] = ("another-uid", "node-y")
        refused = {
            "expired": token(expires_in=-10),
            "another audience": token(audience="https://kubernetes.default.svc"),
            "another account": token(account="system:serviceaccount:shop:agent"),
            "a user with the account's name": token(account="drdotnet-system:drdotnet-agent"),
            "not bound to a pod": token(unbound=True),
            "its pod is gone": token(None, pod="agent-gone"),
            "its pod has been replaced": token(None, pod="agent-y", podUID="uid-y"),
            "no token at all": "nonsense",
        }
        for name, text in refused.items():
            with self.subTest(name):
                ws = self.socket(text)
                ws.send(hello())
                self.assertEqual(ws.closed(), (POLICY, "TokenRefused"))
        for name in refused:
            self.assertFalse(self.hub.ask("cancel", "node-1", "j")["ok"], name)

    def test_without_a_token_there_is_no_link(self):
        with self.assertRaises(Refused) as refused:
            self.socket(None)
        self.assertEqual(refused.exception.status, 401)

    def test_no_link_without_the_subprotocol(self):
        with self.assertRaises(Refused) as refused:
            WebSocket(self.hub.port, self.world.ca, token(), subprotocol=None)
        self.assertNotEqual(refused.exception.status, 101)

    def test_an_api_server_that_fails_is_no_refusal(self):
        self.api.status = 500
        try:
            ws = self.socket(token("node-5"))
            ws.send(hello())
            self.assertEqual(ws.closed(), (TRY_AGAIN, "ReviewFailed"))
        finally:
            self.api.status = None
        self.linked("node-5")

    def test_an_api_server_that_is_slow(self):
        self.api.delay = 4
        try:
            ws = self.socket(token("node-slow"))
            ws.send(hello())
            self.assertEqual(ws.closed(), (TRY_AGAIN, "ReviewTimeout"))
        finally:
            self.api.delay = 0
        self.linked("node-6")

    def test_a_good_review_is_believed_for_a_while(self):
        text = token("node-9")
        for _ in range(3):
            with WebSocket(self.hub.port, self.world.ca, text) as ws:
                ws.send(hello())
                self.hub.expect(event="node", node="node-9", linked=True)
                before = self.api.reviews
        self.assertEqual(self.api.reviews, before)

    def test_a_fresh_token_in_band_keeps_the_link_and_an_old_one_ends_it(self):
        kept, ended = self.linked("node-10", expires_in=3), self.linked("node-11", expires_in=4)
        kept.send({"type": "token", "token": token("node-10")})
        self.assertEqual(ended.closed(), (POLICY, "TokenExpired"))
        self.hub.say("epoch", 5)
        self.assertEqual(kept.receive(), {"type": "leader", "epoch": 5})
        self.hub.say("epoch", 0)

    def test_a_fresh_token_of_another_node_or_pod_ends_the_link(self):
        for claims in ({"node": "node-13", "podUID": "uid-node-12"}, {"node": "node-12", "podUID": "another"}):
            ws = self.linked("node-12")
            ws.send({"type": "token", "token": token(**claims)})
            self.assertEqual(ws.closed(), (POLICY, "TokenOfAnother"))
            self.hub.expect(event="node", node="node-12", linked=False)

    def test_a_bad_token_in_band_ends_the_link(self):
        ws = self.linked("node-14")
        ws.send({"type": "token", "token": token("node-14", audience="other")})
        self.assertEqual(ws.closed(), (POLICY, "TokenRefused"))

    def test_a_newer_link_of_the_node_takes_over(self):
        older = self.linked("node-15")
        newer = self.linked("node-15")
        self.assertEqual(older.closed(), (NORMAL, "Replaced"))
        self.hub.say("epoch", 6)
        self.assertEqual(newer.receive(), {"type": "leader", "epoch": 6})
        self.hub.say("epoch", 0)


class Messages(ServerCase):
    def test_what_ends_a_link(self):
        cases = [
            ("no JSON", "{", BAD_DATA, "BadMessage"),
            ("no object", "[]", BAD_DATA, "BadMessage"),
            ("a known field of the wrong type", {"type": "hello", "epoch": "1"}, BAD_DATA, "BadMessage"),
            ("too many jobs", hello(jobs=[{"jobID": "j%d" % i, "phase": "Queued"} for i in range(65)]), BAD_DATA, "BadMessage"),
            ("a message before hello", {"type": "job", "jobID": "j", "phase": "Queued"}, POLICY, "UnexpectedMessage"),
        ]
        for name, message, code, reason in cases:
            with self.subTest(name):
                ws = self.socket(token("node-1"))
                ws.send(message)
                self.assertEqual(ws.closed(), (code, reason))

    def test_an_agent_gives_no_orders(self):
        for message in ({"type": "leader", "epoch": 9}, {"type": "cancel", "epoch": 9, "jobID": "j"}):
            ws = self.linked("node-2")
            ws.send(message)
            self.assertEqual(ws.closed(), (POLICY, "UnexpectedMessage"))

    def test_binary_messages_end_a_link(self):
        ws = self.linked("node-3")
        ws.frame(websocket.BINARY, b"{}")
        self.assertEqual(ws.closed(), (UNSUPPORTED, "BinaryMessage"))

    def test_the_largest_message_passes_and_one_byte_more_does_not(self):
        ws = self.linked("node-4")
        head, tail = '{"type":"of the future","pad":"', '"}'
        ws.send(head + "x" * (256 * 1024 - len(head + tail)) + tail)
        ws.send({"type": "job", "jobID": "after", "phase": "Queued"})
        self.hub.expect(event="job", job="after")
        ws.send(head + "x" * (256 * 1024 + 1 - len(head + tail)) + tail)
        self.assertEqual(ws.closed(), (TOO_LARGE, "MessageTooLarge"))

    def test_a_message_in_many_fragments(self):
        ws = self.linked("node-5")
        data = json.dumps({"type": "job", "jobID": "fragments", "phase": "Profiling"}).encode()
        for i in range(len(data)):
            ws.frame(websocket.TEXT if i == 0 else 0, data[i:i + 1], final=i == len(data) - 1)
        self.assertEqual(self.hub.expect(event="job", job="fragments")["phase"], "Profiling")

    def test_what_is_not_known_is_passed_over(self):
        ws = self.linked("node-6")
        ws.send({"type": "of the future", "jobID": 7})
        ws.send({"type": "job", "jobID": "known", "phase": "Analyzing", "ofTheFuture": [1, 2]})
        self.assertEqual(self.hub.expect(event="job", job="known")["phase"], "Analyzing")

    def test_the_leader_is_announced_and_others_give_no_orders(self):
        ws = self.linked("node-7")
        self.assertEqual(self.hub.ask("order", "node-7", "j")["kind"], "Conflict")
        self.hub.say("epoch", 7)
        self.assertEqual(ws.receive(), {"type": "leader", "epoch": 7})
        self.assertTrue(self.hub.ask("order", "node-7", "j")["ok"])
        order = ws.receive()
        self.assertEqual((order["type"], order["epoch"], order["jobID"], order["pod"]["name"]), ("order", 7, "j", "pod-0"))
        self.assertEqual(self.hub.ask("order", "node-unknown", "j")["kind"], "NotFound")
        late = self.linked("node-8")
        self.assertEqual(late.receive(), {"type": "leader", "epoch": 7})
        self.hub.say("epoch", 0)

    def test_a_usage_answer_counts_for_the_nodes_own_pods_only(self):
        ws = self.linked("node-9")
        self.hub.say("usage", "node-9", "pod-a", "pod-b")
        query = ws.receive()
        self.assertEqual((query["type"], sorted(query["podUIDs"])), ("usageQuery", ["pod-a", "pod-b"]))
        liar = self.linked("node-10")
        liar.send({"type": "usage", "requestID": query["requestID"],
                   "pods": [{"uid": "pod-b", "cpuMillicores": 666, "memoryBytes": 666}]})
        ws.send({"type": "usage", "requestID": query["requestID"],
                 "pods": [{"uid": "pod-a", "cpuMillicores": 250, "memoryBytes": 1000}]})
        answers = [self.hub.expect(event="usage") for _ in range(2)]
        self.assertEqual({a["uid"]: a["cpu"] for a in answers}, {"pod-a": 250, "pod-b": -1})

    def test_upload_grant_and_denial(self):
        ws = self.linked("node-11")
        report = {"name": "summary.md", "mediaType": "text/markdown", "sizeBytes": 5, "sha256": "0" * 64}
        ws.send({"type": "uploadRequest", "jobID": "job-1", "report": report})
        grant = ws.receive()
        self.assertEqual((grant["type"], grant["jobID"], grant["name"], grant["contentType"]),
                         ("uploadGrant", "job-1", "summary.md", "text/markdown"))
        self.assertIn("/store/shop/session-01234567/pod-0/summary.md?", grant["url"])
        self.assertGreater(grant["expirationTime"], time.time() * 1000)
        ws.send({"type": "uploadRequest", "jobID": "denied-1", "report": report})
        denied = ws.receive()
        self.assertEqual((denied["type"], denied["jobID"], denied["retry"]), ("uploadDenied", "denied-1", False))


class Limits(ServerCase):
    settings = {"max_connections": 40}

    def test_who_says_no_hello_is_cut_off(self):
        self.assertEqual(self.socket(token("node-1")).closed(), (POLICY, "HelloTimeout"))

    def test_silent_and_dripping_peers_are_cut_off(self):
        def plain():
            return socket.create_connection(("127.0.0.1", self.hub.port), 30)

        def half_a_request():
            s = websocket.tls(self.world.ca, port=self.hub.port, timeout=30)
            s.sendall(b"GET /link HTTP/1.1\r\nHost: localhost\r\n")
            return s
        peers = {"never speaks TLS": plain(), "never asks": websocket.tls(self.world.ca, port=self.hub.port, timeout=30),
                 "asks by half": half_a_request()}
        for name, s in peers.items():
            with self.subTest(name):
                try:
                    self.assertEqual(s.recv(1), b"")
                except (ConnectionResetError, ssl.SSLError):
                    pass
                finally:
                    s.close()
        self.assertEqual(self.health("/healthz"), (200, "ok\n"))

    def test_endless_headers_are_cut_off(self):
        s = websocket.tls(self.world.ca, port=self.hub.port, timeout=20)
        self.addCleanup(s.close)
        try:
            s.sendall(b"GET /link HTTP/1.1\r\nHost: localhost\r\n")
            for i in range(64):
                s.sendall(b"X-Pad-%d: %s\r\n" % (i, b"x" * 1024))
            self.assertNotIn(b"101", s.recv(4096))
        except (ConnectionError, ssl.SSLError):
            pass

    def test_an_agent_that_does_not_read_holds_up_nobody(self):
        slow, quick = self.linked("node-slow"), self.linked("node-quick")
        self.hub.say("epoch", 3)
        quick.receive()
        flooded = self.hub.ask("flood", "node-slow", 20000, event="flooded")
        self.assertGreater(flooded["full"], 0)
        self.assertEqual(flooded["sent"] + flooded["full"], 20000)
        self.assertTrue(self.hub.ask("cancel", "node-quick", "j")["ok"])
        self.assertEqual(quick.receive()["type"], "cancel")
        self.assertEqual(self.health("/healthz")[0], 200)
        slow.close()
        self.hub.say("epoch", 0)

    def test_connections_beyond_the_bound_are_refused_until_there_is_room(self):
        sockets = []
        try:
            for i in range(60):
                try:
                    ws = WebSocket(self.hub.port, self.world.ca, token("crowd-%d" % i))
                    ws.send(hello())
                    sockets.append(ws)
                except (Refused, ConnectionError, ssl.SSLError, TimeoutError):
                    break
            self.assertLessEqual(len(sockets), 40)
            self.assertGreaterEqual(len(sockets), 30)
            self.assertRegex(self.health("/metrics")[1], r'drdotnet_link_closed_total\{reason="TooManyConnections"\} [1-9]')
            self.assertEqual(self.health("/healthz")[0], 200)
        finally:
            for ws in sockets:
                ws.close()

        def fits():
            try:
                self.linked("node-later")
                return True
            except (Refused, ConnectionError, ssl.SSLError):
                return False
        proc.wait_until(fits, 20, "there is room again")


class Health(ServerCase):
    def test_health_ready_metrics(self):
        self.assertEqual(self.health("/healthz"), (200, "ok\n"))
        self.assertEqual(self.health("/readyz"), (200, "ok\n"))
        self.hub.say("ready", 0)
        proc.wait_until(lambda: self.health("/readyz") == (503, "told not to be\n"), 5, "not ready")
        self.assertEqual(self.health("/healthz")[0], 200)
        self.socket(token(expires_in=-5)).closed()
        status, text = self.health("/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(text, r'drdotnet_link_closed_total\{reason="TokenRefused"\} [1-9]')
        self.assertEqual(self.health("/other")[0], 404)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d/healthz" % self.hub.health_port, b"x"), timeout=10)
        self.assertEqual(refused.exception.code, 405)

    def test_no_port_goes_on_in_http_2(self):
        wish = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.hub.health_port), 10) as plain:
            plain.sendall(wish)
            self.assertTrue(plain.recv(65536).startswith(b"HTTP/1.1 200"))
        with websocket.tls(self.world.ca, port=self.hub.port) as tls:
            tls.sendall(wish)
            self.assertTrue(tls.recv(65536).startswith(b"HTTP/1.1 404"))

    def test_a_new_certificate_is_for_new_connections(self):
        other = self.world.hub(name="rotating")
        old = WebSocket(other.port, self.world.ca, token("node-1"))
        self.addCleanup(old.close)
        old.send(hello())
        other.expect(event="node", linked=True)
        folder = self.world.folder
        cert, key = harness.make_certificates(folder, "server2", "ca2")
        self.assertFalse(other.ask("cert", cert, self.world.key)["ok"], "key and certificate do not belong together")
        self.assertTrue(other.ask("cert", cert, key)["ok"])

        def new():
            try:
                WebSocket(other.port, folder + "/ca2.crt", token("node-2")).close()
                return True
            except ssl.SSLCertVerificationError:
                return False
        proc.wait_until(new, 5, "the new certificate")
        with self.assertRaises(ssl.SSLCertVerificationError):
            WebSocket(other.port, self.world.ca, token("node-3"))
        other.say("epoch", 4)
        self.assertEqual(old.receive()["epoch"], 4)

    def test_only_the_address_that_was_asked_for_listens(self):
        bound = self.world.hub(name="bound", bind="127.0.0.2")
        for port in (bound.port, bound.health_port):
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), 5)
            socket.create_connection(("127.0.0.2", port), 5).close()

    def test_sigterm_like_end_closes_links(self):
        other = self.world.hub(name="ending")
        ws = WebSocket(other.port, self.world.ca, token("node-1"))
        self.addCleanup(ws.close)
        ws.send(hello())
        other.expect(event="node", linked=True)
        self.assertEqual(other.quit(), 0)
        self.assertIn(ws.closed()[0], (None, 1001))


if __name__ == "__main__":
    unittest.main()
