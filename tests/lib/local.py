"""The local command on a sample application, as a person would use it."""
import os
import subprocess
import tempfile
import time
import unittest

from tests.lib import dotnet, proc
from tests.lib.memory_group import within

DRDOTNET = os.path.join(proc.ROOT, "build/release/drdotnet")
WITHOUT_PERF = [os.path.join(proc.ROOT, "build/release/tests/deny-perf")]


def drdotnet(*words, seconds=60, env=None, group=None, under=()):
    """(exit code, standard output, standard error) of build/release/drdotnet. `group`: a memory_group(); `under`: a command that runs it."""
    done = subprocess.run(within(group, [*under, DRDOTNET, *words]), capture_output=True, text=True, timeout=seconds, cwd=proc.ROOT,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class LocalCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, load, framework="net10.0", env=None, application=dotnet.App, **how):
        """The application with a temporary folder of its own, so that whatever is left there is seen."""
        tmp = tempfile.mkdtemp(prefix="tmp-", dir=self.folder)
        app = application(load, framework, self.folder, env={"TMPDIR": tmp, **(env or {})}, **how)
        app.tmp = tmp
        self.addCleanup(app.stop)
        return app

    def run_session(self, app, seconds, *words, under=()):
        """A CPU session of some seconds on `app`; asserts that it ended well. Returns the reports' folder; what the
        application did meanwhile is in app.during (its progress lines before and after)."""
        out = os.path.join(self.folder, "reports-%d" % time.monotonic_ns())
        before = app.progress()
        code, text, errors = drdotnet("run", "--profiler", "CPUHotpaths", "--duration", "%ds" % seconds, "--pid", app.pid,
                                      "-o", out, *words, seconds=seconds + 30, under=under)
        self.assertEqual(code, 0, "drdotnet run: %s%s" % (text, errors))
        app.during = before
        self.output = text
        return out

    def assert_nothing_left(self, app, before):
        dotnet.assert_nothing_left(self, app, before)
