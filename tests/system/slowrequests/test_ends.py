"""Sessions that end, are killed or frozen wherever following requests may be: between the runtime's sessions of events, and while one is opened or closed."""
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import time
import unittest

from tests.lib import dotnet, proc
from tests.lib.local import DRDOTNET
from tests.system.slowrequests.target import HOSTING, RequestsCase

RESPONSES = "Microsoft-Diagnostics-DiagnosticSource"  # of the second session
# Whether somebody is told of requests, and of responses; and whether somebody listens for the count of requests.
BETWEEN = {"window": (True, True), "between-windows": (True, False), "rest": (False, False), "counted-rest": (False, False, True)}
# The application itself lets whoever comes wait there (tests/apps/RequestApp/Listeners.cs).
HELD = ("first-open", "second-open", "second-close", "first-close")
FEW, SOME_MORE = ("--rate", "150"), ("--rate", "1000")  # followed all the time; switches of more are told for a part of it
MANY = ("--rate", "20000", "--connections", "8", "--depth", "16")  # so that they are followed for a part of the time
DEAR = ("--rate", "6000", "--connections", "16")  # fewer, one at a time on each connection: so dear that the others are counted
LEASE_SECONDS = 15  # after which the library leaves by itself

SOME = {"window": ("killed", "ended"), "rest": ("ended", "agent_frozen"), "counted-rest": ("killed", "agent_frozen"),
        "second-open": ("killed",), "second-close": ("process_frozen",), "first-open": ("outlasted",)}
EVERY = os.environ.get("DRDOTNET_EVERY_RUNTIME")
ALL = {step: ("killed", "ended", "agent_frozen", "process_frozen", *(["outlasted"] if step in HELD else [])) for step in (*BETWEEN, *HELD)}


class EndsCase(RequestsCase):
    framework = None

    @contextlib.contextmanager
    def busy(self, app, *words):
        traffic = subprocess.Popen([dotnet.HTTP_LOAD, str(app.port), "--seconds", "600", *words, "/fast"], stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            traffic.kill()
            traffic.wait()

    def begun(self, app):
        session = subprocess.Popen([DRDOTNET, "run", "--slow-requests", str(app.pid), "--duration", "600s", "-o", os.path.join(app.folder, "report")],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=proc.ROOT)
        self.addCleanup(session.stdout.close)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        return session

    @contextlib.contextmanager
    def at_step(self, app, step):
        """A session that is there, while requests come; one that opens or closes something does so until the end of the context."""
        with self.held(app, step) if step in HELD else self.between(app, step) as session:
            yield session

    @contextlib.contextmanager
    def between(self, app, step):
        session = self.begun(app)
        proc.wait_until(lambda: HOSTING in app.listened(), 60, "the session listens", 0.1)
        with contextlib.ExitStack() as traffic:
            traffic.enter_context(self.busy(app, *{"window": FEW, "between-windows": SOME_MORE, "counted-rest": DEAR}.get(step, MANY)))
            proc.wait_until(lambda: self.listens(app)[:len(BETWEEN[step])] == BETWEEN[step], 60, step, 0.01)
            if step in ("rest", "counted-rest"):  # it has come: an agent that stands keeps it, with few requests too
                traffic.close()
                traffic.enter_context(self.busy(app, *FEW))
            yield session

    @staticmethod
    def listens(app):
        truth = json.loads(app.get("/truth")[1])
        return HOSTING in truth["told"], RESPONSES in truth["told"], HOSTING in truth["listened"]

    @contextlib.contextmanager
    def held(self, app, step):
        app.get("/truth/hold/" + step)
        session = self.begun(app)
        if step == "first-close":
            proc.wait_until(lambda: HOSTING in app.listened(), 60, "the session listens", 0.1)
            session.send_signal(signal.SIGINT)
        with self.busy(app, *(MANY if step == "second-close" else FEW)):
            proc.wait_until(lambda: app.get("/truth/held")[1] == step.encode(), 60, step)
        with self.busy(app, *FEW):
            try:
                yield session
            finally:
                app.get("/truth/hold/none")

    # what happens then: the session's process, and whether its report is due -------------------------------------------
    def killed(self, _app, session):
        session.kill()
        return False

    def ended(self, app, session):
        session.send_signal(signal.SIGINT)
        app.lines(1)  # so long the session waits for the one who is held
        return True

    def agent_frozen(self, _app, session):
        session.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + 1)
        return False

    def process_frozen(self, app, session):
        """Until the session is over."""
        os.kill(app.pid, signal.SIGSTOP)
        try:
            session.send_signal(signal.SIGINT)
            text = session.communicate(timeout=proc.patience(120))[0]
            self.assertIn("the process is stopped or frozen", text)
        finally:
            os.kill(app.pid, signal.SIGCONT)
        return False

    def outlasted(self, app, session):
        """The application lets nobody go on until the session is over, which says so."""
        session.send_signal(signal.SIGINT)
        text = session.communicate(timeout=proc.patience(120))[0]
        self.assertIn("the library is still in the process", text)
        if session.returncode == 0:
            with open(os.path.join(app.folder, "report/report.json"), encoding="utf-8") as f:
                self.assertIn("lastRequests", [limit["name"] for limit in json.load(f)["limitsReached"]], text)
        return False

    def gone(self, app, before, listened, files):
        """Nothing of the session is in the process, and nobody listens. What the killed could not remove, the next session does."""
        proc.wait_until(lambda: app.library_threads() == 0, 90, "the library has left")
        proc.wait_until(lambda: app.listened() == listened, 30, "nobody listens")
        proc.wait_until(lambda: not dotnet.Traces(app).left_since(before).keys() - ({"files"} if files else set()), 60, "nothing is left")
        self.assertEqual(app.load("--requests", 200, "--connections", 4, "/fast")["refused"], 0)

    def suffer(self, app, step, how):
        os.makedirs(os.path.join(app.folder, "report"), exist_ok=True)
        app.lines(1)
        before, listened = dotnet.Traces(app), app.listened()
        with self.at_step(app, step) as session:
            has_report = getattr(self, how)(app, session)
        if has_report:
            text = session.communicate(timeout=proc.patience(120))[0]
            self.assertEqual(session.returncode, 0, text)
            self.assertNotIn("still in the process", text)
        self.gone(app, before, listened, files=True)
        session.kill()

    def at_steps(self, cases):
        """Each step in a process of its own, all at once: they wait most of the time."""
        def one(step):
            app = self.target(self.framework, "--holding")
            for how in cases[step]:
                with self.subTest(step=step, how=how):
                    self.suffer(app, step, how)
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            list(pool.map(one, cases))


class Net10(EndsCase):
    framework = "net10.0"

    def test_at_each_step(self):
        self.at_steps(ALL if EVERY else SOME)


if EVERY:
    class Net8(Net10):
        framework = "net8.0"

    class Net9(Net10):
        framework = "net9.0"


if __name__ == "__main__":
    unittest.main()
