"""The sample application whose exceptions are known, with a folder of its own, and sessions on it."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from tests.lib import dotnet, proc
from tests.lib.local import DRDOTNET, drdotnet

LIBRARY_THREADS = 2  # the library's own one, and the one that starts and stops the runtime's events


class Target(dotnet.ThrowApp):
    def __init__(self, modes, framework, arguments=(), **more):
        self.folder = self.tmp = tempfile.mkdtemp(prefix="drdotnet-exceptions-")
        os.chmod(self.folder, 0o755)
        try:
            super().__init__(modes, framework, self.folder, arguments, env={"TMPDIR": self.folder, **more.pop("env", {})}, **more)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def library_threads(self):
        names = []
        for tid in os.listdir("/proc/%d/task" % self.pid):
            try:
                with open("/proc/%d/task/%s/comm" % (self.pid, tid)) as f:
                    names.append(f.read().strip())
            except OSError:
                pass
        return names.count("drdotnet")

    def lines(self, more):
        """Waits until the application has written so many more lines of progress: about a second each, however slow the machine is."""
        before = len(self.all_progress())
        proc.wait_until(lambda: len(self.all_progress()) >= before + more, 60, "progress of the application")


def load(folder, name="report.json"):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return json.load(f)


class ExceptionsCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def target(self, modes, framework, *arguments, **how):
        app = Target(modes, framework, arguments, **how)
        self.addCleanup(app.stop)
        return app

    def session(self, app, seconds, *words):
        """(folder, what it printed)"""
        out = tempfile.mkdtemp(prefix="reports-", dir=self.folder)
        code, text, errors = drdotnet("run", "--exceptions", "--duration", "%ds" % seconds, "--pid", app.pid, "-o", out, *words, seconds=seconds + 60)
        self.assertEqual(code, 0, text + errors)
        return out, text

    def begin(self, app, *words):
        """A long session, when it has begun to watch."""
        out = tempfile.mkdtemp(prefix="reports-", dir=self.folder)
        session = subprocess.Popen([DRDOTNET, "run", "--exceptions", "--duration", "600s", "--pid", str(app.pid), "-o", out, *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=proc.ROOT)
        self.addCleanup(session.stdout.close)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        proc.wait_until(lambda: app.library_threads() >= LIBRARY_THREADS, 60, "the library asks for events")
        app.lines(3)
        return session, out

    def end(self, session, out):
        session.send_signal(signal.SIGINT)
        text = session.communicate(timeout=120)[0]
        self.assertTrue(os.path.exists(os.path.join(out, "report.json")), text)
        return load(out), text

    def burst(self, modes, framework, operations, *words, threads=1, rate=200):
        """(application, report, text) of a session during which each thread of each mode does so many operations and nothing else."""
        go = os.path.join(self.folder, "go-%s" % framework)
        app = self.target(modes, framework, "--burst", str(operations), "--go", go, "--threads", str(threads), "--rate", str(rate))
        session, out = self.begin(app, *words)
        with open(go, "w"):
            pass
        wanted = operations * threads * len(modes.split(","))
        proc.wait_until(lambda: app.progress()["ops"] >= wanted, 120, "%d operations" % wanted, 0.2)
        app.lines(1)
        report, text = self.end(session, out)
        os.unlink(go)
        return app, report, text, out
