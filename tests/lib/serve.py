"""`drdotnet serve` as a process of a test, and a client that can misbehave.

    with serve.Serve(folder) as s:
        s.get("/api/info").json["mode"], s.start(pid, seconds=2), s.wait(id, ("Succeeded",))
        s.raw(b"GET / HTTP/1.1\\r\\n...")        what the server sends until it closes or is silent
"""
import http.client
import json
import os
import re
import signal
import socket
import time

from tests.lib import proc
from tests.lib.local import DRDOTNET


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {k.lower(): v for k, v in headers}, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %r %r" % (self.status, self.headers, self.body[:400])


class Serve(proc.Process):
    def __init__(self, folder, *words, env=None, **popen):
        os.makedirs(folder, exist_ok=True)
        self.reports = os.path.join(folder, "reports")
        super().__init__([DRDOTNET, "serve", "--reports", self.reports, *words], log=os.path.join(folder, "serve-%d.log" % time.monotonic_ns()),
                         env=env, **popen)
        try:
            found = self.wait_log(r"^  (https?)://(\[?[^\]/]*\]?):(\d+)/(?:#token=(\w+))?", 30)
        except BaseException:
            self.stop()
            raise
        self.scheme, self.host, self.port = found.group(1), found.group(2), int(found.group(3))
        self.token = found.group(4)
        self.url = "%s://127.0.0.1:%d" % (self.scheme, self.port)
        self.exchanges = []  # for tests/system/web/openapi.py

    def connect(self, source="127.0.0.1"):
        """A connection from one of loopback's many addresses: each has limits of its own."""
        s = socket.create_connection(("127.0.0.1", self.port), 30, (source, 0))
        return s

    def ask(self, method, path, body=None, headers=None, token=True, source="127.0.0.1", timeout=60):
        """token: True for the right one, None for none, else what is sent."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=(source, 0))
        words = {"Authorization": "Bearer " + (self.token if token is True else token)} if token else {}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if method in ("POST", "PUT", "PATCH", "DELETE"):
            words["Content-Type"] = "application/json"
        try:
            sent = {**words, **(headers or {})}
            c.request(method, path, body, sent)
            r = c.getresponse()
            answer = Answer(r.status, r.getheaders(), r.read())
            self.exchanges.append((method, path, sent, body.encode() if isinstance(body, str) else body, answer))
            return answer
        finally:
            c.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body, **more):
        return self.ask("POST", path, body, **more)

    def raw(self, data, source="127.0.0.1", timeout=30, end=False):
        """All that the server sends until it closes the connection, or nothing for `timeout` seconds (then with a mark at its end)."""
        with self.connect(source) as s:
            s.settimeout(timeout)
            got = b""
            try:
                s.sendall(data)
                if end:
                    s.shutdown(socket.SHUT_WR)
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        return got
                    got += piece
            except TimeoutError:
                return got + b"<silence>"
            except (ConnectionResetError, BrokenPipeError):
                return got + b"<reset>"

    def session(self, spec, name=None, **more):
        """A new session's id."""
        answer = self.post("/api/sessions", {"namespace": "local", "spec": spec, **({"name": name} if name else {})}, **more)
        assert answer.status == 201, answer
        return answer.json["id"]

    def events(self, session, seconds=60):
        """The session's events until the stream's end: [(name, data)]."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        c.request("GET", "/api/sessions/%s/events" % session, headers={"Authorization": "Bearer " + self.token})
        r = c.getresponse()
        assert r.status == 200, (r.status, r.read())
        found, name = [], None
        for line in r:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                found.append((name, json.loads(line[6:])))
        c.close()
        return found

    def start(self, pid, seconds, name=None):
        """A CPU session of this process; its id."""
        return self.session({"profiler": "CPUHotpaths", "target": {"process": {"pid": pid}}, "durationSeconds": seconds}, name)

    def _wait(self, session, right, seconds, what):
        def look():
            s = self.get("/api/sessions/" + session).json
            return s if right(s) else None
        return proc.wait_until(look, seconds, "%s of %s" % (what, session), 0.1)

    def wait(self, session, states, seconds=90):
        """The session when it is in one of these states."""
        return self._wait(session, lambda s: s.get("state") in states, seconds, "/".join(states))

    def completed(self, session, seconds=60):
        """The session once it has completed."""
        return self._wait(session, lambda s: s.get("completedAt"), seconds, "the end")

    def sampling(self, session, seconds=60):
        """Waits until it has samples, so that its end has a report."""
        def look():
            targets = self.get("/api/sessions/" + session).json["status"]["targets"]
            return targets and re.search(r"[1-9]\d* samples", targets[0].get("message", ""))
        proc.wait_until(look, seconds, "samples of " + session, 0.1)

    def interrupt(self):
        return self.stop(signal.SIGINT, 60)
