"""The web application that knows where its requests' time went, with a folder of its own, and sessions on it."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

from tests.lib import dotnet, proc
from tests.lib.local import DRDOTNET

LIBRARY_THREADS = 2  # the library's own one, and the one that starts and stops the runtime's events
HOSTING = "Microsoft.AspNetCore.Hosting"


def shape(template):
    """A name of an endpoint that is the same for its route ("GET /delay/{ms}", as the truth has it) and for what its paths look like ("GET /delay/{id}")."""
    return re.sub(r"\{[^}]*\}", "{id}", template)


def route(template):
    """The name of a route as a report has it: without what its parameters must be like."""
    return re.sub(r"\{([^}:]*):[^}]*\}", r"{\1}", template)


class Target(dotnet.RequestApp):
    def __init__(self, framework="net10.0", arguments=(), load="all", **more):
        self.folder = self.tmp = tempfile.mkdtemp(prefix="drdotnet-requests-")
        os.chmod(self.folder, 0o755)
        try:
            super().__init__(load, framework, self.folder, arguments, env={"TMPDIR": self.folder, **more.pop("env", {})}, **more)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def library_threads(self):
        return sum(name == "drdotnet" for name in dotnet.Traces(self).threads.values())

    def listened(self):
        """The event sources that somebody listens to, as the application itself sees it."""
        return json.loads(self.get("/truth")[1])["listened"]

    def told(self):
        """Of them, those that tell of requests: somebody may listen for what they count only."""
        return json.loads(self.get("/truth")[1])["told"]

    def lines(self, more):
        """Waits until the application has written so many more lines of progress: about a second each, however slow the machine is."""
        before = len(self.all_progress())
        proc.wait_until(lambda: len(self.all_progress()) >= before + more, 60, "progress of the application")


class Runtime(Target):
    """The same, whose methods the runtime itself suspends: for .NET 11."""
    NAME = "RequestRuntime"


def load(folder, name="report.json"):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return json.load(f)


def contents(folder):
    """{file: bytes} of a report, what is packed unpacked."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        found[name] = zlib.decompress(data, 31) if data.startswith(b"\x1f\x8b") else data
    return found


def share_of(report, endpoint, kind):
    """Of the time of the endpoint's slowest requests, that of such calls."""
    bill = by_name(report)[endpoint]["bill"]
    return sum(c["awaitNanoseconds"] + c["threadNanoseconds"] for c in bill["calls"] if c["name"].startswith(kind)) / bill["nanoseconds"]


def by_name(report):
    """By what paths look like: of some no response was told, and so no route."""
    return {shape(e["name"]): e for e in report["endpoints"]}


def findings(report):
    """{id: (state, endpoint)}"""
    return {f["id"]: (f["state"], shape(f["message"].split(":")[0])) for f in report["findings"]}


def read_slowly(app, mb, times, clients, rest=0.01, piece=1 << 18):
    """Clients with little room that read such responses piece by piece, and rest after each."""
    readers = [threading.Thread(target=_read_slowly, args=(app, mb, times, rest, piece)) for _ in range(clients)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


def _read_slowly(app, mb, times, rest, piece):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        s.settimeout(60)
        s.connect(("127.0.0.1", app.port))
        for _ in range(times):
            s.sendall(b"GET /big/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % mb)
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            left = (mb << 20) - len(head.split(b"\r\n\r\n", 1)[1])
            while left:
                left -= len(s.recv(min(left, piece)))
                time.sleep(rest)


def ask_from(address, app, path):
    """One request of a client at that address of loopback."""
    with socket.socket() as s:
        s.bind((address, 0))
        s.settimeout(60)
        s.connect(("127.0.0.1", app.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
        while s.recv(4096):
            pass


class RequestsCase(unittest.TestCase):
    time_limit = 400
    application = Target

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def target(self, framework="net10.0", *arguments, **how):
        app = self.application(framework, arguments, **how)
        self.addCleanup(app.stop)
        return app

    def begin(self, app, *words):
        """A long session that watches; the application has forgotten what was before."""
        out = tempfile.mkdtemp(prefix="reports-", dir=self.folder)
        session = subprocess.Popen([DRDOTNET, "run", "--slow-requests", str(app.pid), "--duration", "600s", "-o", out, *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=proc.ROOT)
        self.addCleanup(session.stdout.close)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        try:
            proc.wait_until(lambda: HOSTING in app.listened(), 60, "the session listens to the hosting's events", 0.1)
        except AssertionError:
            session.send_signal(signal.SIGINT)
            raise AssertionError(session.communicate(timeout=60)[0]) from None
        app.lines(1)
        app.forget()
        return session, out

    def hang(self, app, times):
        """So many requests that will never end."""
        for _ in range(times):
            s = socket.create_connection(("127.0.0.1", app.port), 30)
            self.addCleanup(s.close)
            s.sendall(b"GET /hang HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def end(self, session, out):
        """(report, what was printed)"""
        session.send_signal(signal.SIGINT)
        text = session.communicate(timeout=proc.patience(120))[0]
        self.assertTrue(os.path.exists(os.path.join(out, "report.json")), text)
        report = load(out)
        self.assertEqual(report["cost"]["maxPauseMicroseconds"], 0)
        return report, text

    def spare(self, points):
        """A share by which a bill may be off: on a full machine the application's own measurements have waits for a CPU in other parts than a bill has."""
        return points * (1 + 2 * self.pressure)

    def during(self, app, work, *words):
        """(report, truth, folder, text) of a session during which the work was done, and nothing else."""
        session, out = self.begin(app, *words)
        before, began = proc.waited_for_cpu(), time.monotonic()
        work()
        self.pressure = (proc.waited_for_cpu() - before) / (time.monotonic() - began)
        truth = app.truth()
        app.lines(1)
        report, text = self.end(session, out)
        return report, truth, out, text
