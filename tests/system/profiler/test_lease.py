"""An agent that is stopped, and stays so: the library leaves the process by itself. When the agent goes on it says what has happened."""
import json
import os
import signal
import tempfile
import unittest

from tests.resilience.faults import ground
from tests.lib import dotnet, local, proc
from tests.system.profiler import tools

PATIENCE = 120  # seconds; for what must come, on a busy machine
IN_THE_MIDDLE = ("CPUHotpaths", "Allocations", "Exceptions", "RuntimePauses")  # they have the library in the process all the time
NODES = 2_000_000   # some 16 MB of stream: 256 blocks
BUDGET_MS = 60000   # so long the application would stand


class Leases:
    framework = None

    def setUp(self):
        super().setUp()
        tools.build()

    def session(self, app, profiler, *words):
        """A session of the local command."""
        out = tempfile.mkdtemp(prefix="reports-", dir=self.folder)
        run = proc.Process([local.DRDOTNET, "run", "--profiler", profiler, "--pid", app.pid, "-o", out, "--json", *words], log=out + ".log")
        self.addCleanup(run.stop, signal.SIGKILL)
        run.out = out
        return run

    def left_beyond(self, app, files):
        """What a session has left in a process; the staged files are the agent's to remove."""
        left = ground.Remains(app).left_since(app.before)
        if not files:
            left.pop("files", None)
        return left

    def await_nothing(self, app, files=False):
        proc.wait_until(lambda: not self.left_beyond(app, files), PATIENCE,
                        "nothing of the session is in process %d: %s" % (app.pid, self.left_beyond(app, files)), 0.5)

    def test_an_agent_that_is_stopped_in_the_middle(self):
        """A session each in a process of its own, all at once: they wait most of the time."""
        sessions = []
        for profiler in IN_THE_MIDDLE:
            app = self.start("trickle", self.framework)
            app.warm(20)
            self.run_session(app, 1)  # what the runtime makes at its first attach stays
            app.before = ground.Remains(app)
            sessions.append((profiler, app, self.session(app, profiler, "--duration", "600s")))
        for profiler, app, run in sessions:
            proc.wait_until(lambda app=app: dotnet.has_library(app.pid), PATIENCE, "the library is attached for " + profiler)
            app.warm(app.progress()["ops"] + 20)
            run.popen.send_signal(signal.SIGSTOP)
        for profiler, app, run in sessions:
            with self.subTest(profiler=profiler):
                self.assertFalse(run.ended(), run.log())
                self.await_nothing(app)
                app.assert_progress(PATIENCE)
        for profiler, app, run in sessions:
            with self.subTest(profiler=profiler):
                run.popen.send_signal(signal.SIGCONT)
                self.says_what_has_happened(run)
                self.await_nothing(app, True)  # the runtime closes its end of the last connection when it comes to it
                self.run_session(app, 4)

    @staticmethod
    def answer(run):
        """What the command says in the end, among the lines of its log."""
        run.popen.wait(PATIENCE)
        return next(line for line in map(json.loads, run.log().splitlines()) if "phase" in line)

    def says_what_has_happened(self, run):
        answer = self.answer(run)
        self.assertIn("drdotnet could not run for some time", answer["message"], answer)
        self.assertEqual((answer["phase"], answer["reason"]), ("Succeeded", "Completed"), answer)
        with open(run.out + "/report.json") as f:
            self.assertTrue(json.load(f)["time"]["endedEarly"])

    def test_an_agent_that_is_stopped_in_a_heap_walk(self):
        """The application stands: nothing takes what the library writes."""
        flag = os.path.join(self.folder, "slow")
        tmp = os.path.join(self.folder, "tmp")
        os.mkdir(tmp)
        app = dotnet.MemoryApp("list", self.framework, self.folder, ["--list", str(NODES)],
                               env={"TMPDIR": tmp, "LD_PRELOAD": tools.tool("slow_walk.so"), "SLOW_WALK_FLAG": flag})
        app.tmp = tmp
        self.addCleanup(app.stop)
        self.assertEqual(self.session(app, "GCSurvivors", "--pause-budget", BUDGET_MS).popen.wait(PATIENCE), 0)
        app.before = ground.Remains(app)
        with open(flag, "w") as f:
            f.write("until 0")
        lines = len(app.all_progress())
        run = self.session(app, "GCSurvivors", "--pause-budget", BUDGET_MS)
        proc.wait_until(lambda: os.path.exists(flag + ".met"), PATIENCE, "a walk")
        run.popen.send_signal(signal.SIGSTOP)
        os.unlink(flag)
        app.assert_progress(PATIENCE)
        self.await_nothing(app)
        gap_ms = max(line["max_gap_ms"] for line in app.all_progress()[lines:])
        self.assertLess(gap_ms, BUDGET_MS / 2)
        run.popen.send_signal(signal.SIGCONT)
        answer = self.answer(run)
        self.assertEqual((answer["phase"], answer["reason"]), ("Failed", "AgentStalled"), answer)
        self.await_nothing(app, True)
        self.assertEqual(self.session(app, "GCSurvivors", "--pause-budget", BUDGET_MS).popen.wait(PATIENCE), 0)


class LeasesNet8(Leases, local.LocalCase):
    framework = "net8.0"
    time_limit = 600


class LeasesNet10(Leases, local.LocalCase):
    framework = "net10.0"
    time_limit = 600


class LeasesNet11(Leases, local.LocalCase):
    framework = "net11.0"
    time_limit = 600


if __name__ == "__main__":
    unittest.main()
