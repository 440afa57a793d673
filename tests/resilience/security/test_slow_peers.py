"""Peers that hold on: they finish nothing, drip, stay idle, ask without reading, or come in numbers. Each is cut off in time, and
agents and probes are served meanwhile."""
import hashlib
import os
import select
import socket
import ssl
import threading
import time
import unittest
import urllib.parse
import urllib.request

from tests.lib import proc
from tests.system.link import harness, websocket
from tests.system.link.harness import token
from tests.system.link.websocket import WebSocket, hello

PATIENCE = 90  # of the tests, on a busy machine; the server's own bounds are some seconds
TIMEOUTS = {"headers_timeout_s": 3, "idle_timeout_s": 3, "request_timeout_s": 5, "handshake_ms": 3000}


class Peer(threading.Thread):
    """Sends `text` byte by byte, for ever again; how long until it was cut off is in `seconds`."""

    def __init__(self, sock, text, pause=0.2):
        super().__init__(daemon=True)
        self.sock, self.text, self.pause, self.seconds = sock, text, pause, None
        self.start()

    def run(self):
        begin = time.monotonic()
        try:
            while time.monotonic() - begin < PATIENCE:
                for number in range(len(self.text)) if self.text else [None]:
                    readable, _, _ = select.select([self.sock], [], [], self.pause)
                    if readable and not self.sock.recv(65536):
                        raise ConnectionResetError
                    if number is not None:
                        self.sock.send(self.text[number:number + 1])
        except (OSError, ValueError):
            self.seconds = time.monotonic() - begin
        self.sock.close()


class SlowPeers(unittest.TestCase):
    one_process = True
    time_limit = 240

    @classmethod
    def setUpClass(cls):
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        cls.hub = cls.world.hub(**TIMEOUTS)

    def plain(self, port=None):
        return socket.create_connection(("127.0.0.1", port or self.hub.port), PATIENCE)

    def tls(self):
        return websocket.tls(self.world.ca, port=self.hub.port, timeout=PATIENCE)

    def linked(self, node):
        ws = WebSocket(self.hub.port, self.world.ca, token(node), timeout=PATIENCE)
        self.addCleanup(ws.close)
        ws.send(hello())
        self.hub.expect(event="node", node=node, linked=True, seconds=PATIENCE)
        return ws

    def healthy(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % self.hub.health_port, timeout=PATIENCE) as answer:
            return answer.status == 200

    def memory(self):
        with open("/proc/%d/statm" % self.hub.popen.pid) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def client_hello(self):
        """The first bytes that a TLS client says."""
        out = ssl.MemoryBIO()
        half = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
        try:
            half.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return out.read()

    def upload(self, size):
        """The beginning of a PUT that was granted."""
        ws = self.linked("node-upload")
        report = {"name": "summary.md", "mediaType": "text/markdown", "sizeBytes": size, "sha256": hashlib.sha256(b"").hexdigest()}
        ws.send({"type": "uploadRequest", "jobID": "job-1", "report": report})
        url = urllib.parse.urlsplit(ws.receive()["url"])
        return ("PUT %s?%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (url.path, url.query, size)).encode()

    def half_linked(self, text):
        ws = WebSocket(self.hub.port, self.world.ca, text, timeout=PATIENCE)
        return ws.sock

    def begun(self, sock, text):
        sock.sendall(text)
        return sock

    def test_who_drips_or_waits_is_cut_off(self):
        put = self.upload(1 << 20)
        steady = self.linked("node-steady")
        request = b"GET /link HTTP/1.1\r\nHost: localhost\r\n"
        peers = {
            "TLS is never finished": Peer(self.plain(), self.client_hello()),
            "half a hand-shake, then silence": Peer(self.begun(self.plain(), self.client_hello()[:100]), b""),
            "headers drip": Peer(self.begun(self.tls(), request), b"X-Drip: %s\r\n" % (b"x" * 40)),
            "a request line drips": Peer(self.tls(), b"GET /" + b"x" * 1000),
            "a body drips": Peer(self.begun(self.tls(), put), b"x" * 100),
            "a body never comes": Peer(self.begun(self.tls(), put), b""),
            "a hello drips": Peer(self.half_linked(token("node-drip")), b"\x81\xfe\x7f\xff" + b"x" * 1000),
            "a connection stays idle": Peer(self.begun(self.tls(), b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"), b""),
            "headers drip on the plain port": Peer(self.begun(self.plain(self.hub.health_port), request), b"X-Drip: x\r\n"),
            "idle on the plain port": Peer(self.begun(self.plain(self.hub.health_port), b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), b""),
        }
        idle = [Peer(self.begun(self.tls(), b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"), b"") for _ in range(20)]
        while any(p.is_alive() for p in peers.values()):
            self.assertTrue(self.healthy())
            time.sleep(0.2)
        for name, peer in peers.items():
            with self.subTest(name):
                self.assertIsNotNone(peer.seconds, "it was never cut off")
        for peer in idle:
            peer.join(PATIENCE)
            self.assertIsNotNone(peer.seconds)
        self.hub.say("epoch", 9)
        self.assertEqual(steady.receive(), {"type": "leader", "epoch": 9}, "an agent that keeps to the rules stays")
        self.hub.say("epoch", 0)

    def test_what_is_asked_without_reading_costs_little(self):
        self.assertTrue(self.healthy())
        before = self.memory()
        for sock, path in ((self.plain(self.hub.health_port), b"/metrics"), (self.tls(), b"/none"), (self.plain(self.hub.health_port), b"/x")):
            self.addCleanup(sock.close)
            sock.settimeout(1)
            try:
                for _ in range(20):
                    sock.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 500)
            except OSError:  # it does not read on, or has hung up
                pass
        self.assertTrue(self.healthy())
        self.assertLess(self.memory() - before, 8 << 20)

    def test_requests_in_a_row_are_answered_in_a_row(self):
        for make, path, status in ((lambda: self.plain(self.hub.health_port), b"/healthz", b"200"), (self.tls, b"/none", b"404")):
            with make() as sock:
                sock.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 3)
                data = b""
                while data.count(b"HTTP/1.1 " + status) < 3:
                    more = sock.recv(65536)
                    self.assertTrue(more, data)
                    data += more

    def test_a_header_of_a_size_that_nobody_needs(self):
        for make in (self.tls, lambda: self.plain(self.hub.health_port)):
            with make() as sock:
                try:
                    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + b"x" * (1 << 20) + b"\r\n\r\n")
                    answer = sock.recv(65536)
                except (ConnectionError, ssl.SSLError):
                    continue
                self.assertNotIn(b" 200 ", answer)
        self.assertTrue(self.healthy())

    def test_a_crowd_at_the_plain_port_is_bounded_and_leaves_agents_alone(self):
        crowd = []
        for _ in range(300):
            sock = self.plain(self.hub.health_port)
            self.addCleanup(sock.close)
            crowd.append(sock)
        self.linked("node-crowd").close()

        def refused():
            return sum(1 for s in crowd if select.select([s], [], [], 0)[0])
        self.assertGreaterEqual(proc.wait_until(refused, PATIENCE, "some are refused"), 40)
        for sock in crowd:
            sock.close()
        proc.wait_until(self.answers, PATIENCE, "there is room again")
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.hub.health_port, timeout=PATIENCE) as answer:
            self.assertRegex(answer.read().decode(), r'drdotnet_link_closed_total\{reason="TooManyConnections"\} [1-9]')

    def answers(self):
        try:
            return self.healthy()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
