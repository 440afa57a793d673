"""A session that must wait for a garbage collection in the background, and whether the runtime collects in the background as before when
sessions have come and gone."""
import contextlib
import os
import tempfile
import time
import unittest

from tests.resilience.faults import ground
from tests.lib import dotnet, local, matrix, proc
from tests.system.pauses.pauses import PauseApp, Session

PART = "The runtime's collections"


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


class Background:
    framework = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.app = PauseApp(self.framework, self.folder)
        self.addCleanup(self.app.stop)

    def row(self, fault, outcome):
        if self.framework == "net10.0":  # and held to it on the others
            matrix.row(self, PART, "attaching", fault, outcome)

    def run_session(self, profiler):
        duration = () if profiler in ("GCSurvivors", "DuplicatedStrings") else ("--duration", "1s")
        return local.drdotnet("run", "--profiler", profiler, *duration, "--pid", self.app.pid, "--pause-budget", 60000,
                              "-o", tempfile.mkdtemp(dir=self.folder), seconds=200)  # the agent waits for two budgets

    def collects_in_the_background(self):
        session = Session(self.app, self.folder)
        self.app.ask("background 1")
        return any(g["background"] for g in session.end()["generations"])

    def goes_on(self):
        """Whether the application does: its main thread is switched to and from. At some moments of a collection in the background it stands."""
        def switches():
            with open("/proc/%d/status" % self.app.pid) as f:
                return [line.split()[1] for line in f if "ctxt_switches" in line]
        before = switches()
        time.sleep(0.3)
        return switches() != before

    @contextlib.contextmanager
    def collection_under_way(self):
        """One in the background that does not end: its thread is frozen in the middle, and no other."""
        folder = "/proc/%d/task" % self.app.pid
        thread = next(t for t in os.listdir(folder) if dotnet._comm(self.app.pid, t) == ".NET BGC")
        where = "%s/drdotnet-test-bgc-%d" % (ground.freezer(), self.app.pid)
        os.mkdir(where)
        write(where + "/tasks", thread)

        def runs():
            with open("%s/%s/stat" % (folder, thread)) as f:
                return f.read().rpartition(")")[2].split()[0] == "R"
        try:
            self.app.popen.stdin.write(b"background 1\n")
            self.app.popen.stdin.flush()
            for _ in range(50):
                write(where + "/freezer.state", "THAWED")
                proc.wait_until(runs, ground.PATIENCE, "a collection in the background", 0.0005)
                write(where + "/freezer.state", "FROZEN")
                if self.goes_on():
                    break
            yield
        finally:
            write(where + "/freezer.state", "THAWED")
            write(os.path.dirname(where) + "/tasks", thread)
            os.rmdir(where)
        self.app.answers += 1  # to that request

    @unittest.skipUnless(ground.freezer(), "no control groups of the freezer's first version here")
    def test_one_is_under_way_and_does_not_end(self):
        self.app.ask("background 1")  # makes its thread
        with self.collection_under_way():
            code, _, errors = self.run_session("GCSurvivors")
            self.assertEqual(code, 1, errors)
            self.assertRegex(errors, "AttachFailed: .*a garbage collection (in the background did not end in time|may be under way)")
            if "in the background" in errors:  # else it has come in, and waits in the runtime for the collection's end
                self.assertFalse(dotnet.has_library(self.app.pid))
        self.app.ask("stat")
        proc.wait_until(lambda: not dotnet.has_library(self.app.pid), ground.PATIENCE, "the library leaves the process")
        self.assertTrue(self.collects_in_the_background())
        self.assertEqual(self.run_session("GCSurvivors")[0], 0)
        self.row("a collection in the background is under way and does not end; GCSurvivors",
                 "AttachFailed, says why; nothing is left; the runtime collects in the background as before; the next session: Completed")

    def test_the_runtime_collects_in_the_background_as_before(self):
        self.assertTrue(self.collects_in_the_background())
        for profiler in ("CPUHotpaths", "GCSurvivors", "MemoryLeak", "DuplicatedStrings", "Allocations"):
            with self.subTest(profiler=profiler):
                code, text, errors = self.run_session(profiler)
                self.assertIn(code, (0, 1), text)  # it does nothing: there may be nothing to report
                self.assertTrue(self.collects_in_the_background(), errors)
                self.row("a session of " + profiler, "the runtime collects in the background before it and after it")


class BackgroundNet8(Background, unittest.TestCase):
    framework = "net8.0"
    time_limit = 300


class BackgroundNet10(Background, unittest.TestCase):
    framework = "net10.0"
    time_limit = 300


if __name__ == "__main__":
    unittest.main()
