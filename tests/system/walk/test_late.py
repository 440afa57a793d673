"""Walks of the heap that take longer than anybody could have predicted: the application stands for no longer than the session allows, or,
where nothing could see to that, the session says for how long it stood, and makes no second stop."""
import json
import os
import subprocess
import tempfile
import time
import unittest

from tests.lib import dotnet, local, matrix, proc
from tests.system.profiler import tools

PART = "The pause budget"
NODES = 2_000_000       # some 16 MB of stream: 256 blocks
BUDGET_MS = 1500
BLOCK_MS = 30           # all of them: 7.7 s
STALL_MS = 2500
LATER_MS = 3500         # on a busy machine
SESSION = """apiVersion: drdotnet.dev/v1alpha1
kind: ProfilingSession
metadata: {name: late}
spec: {profiler: %s, target: {podName: local}, %spauseBudgetMilliseconds: %d}
"""


def setUpModule():
    tools.build()


class Late:
    framework = None
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.flag, tmp = folder.name, os.path.join(folder.name, "slow"), os.path.join(folder.name, "tmp")
        os.mkdir(tmp)
        env = {"TMPDIR": tmp, "LD_PRELOAD": tools.tool("slow_walk.so"), "SLOW_WALK_FLAG": cls.flag}
        cls.app = dotnet.MemoryApp("list", cls.framework, cls.folder, ["--list", str(NODES)], env=env)
        cls.app.tmp = tmp
        cls.addClassCleanup(cls.app.stop)
        dotnet.seen(cls.app.pid, tmp)
        cls.session(cls, "GCSurvivors", lambda: None)  # what is made at the first attach is made
        cls.before = dotnet.Traces(cls.app)

    def slow(self, how):
        """From now on each walk, or the next one, takes so long: see slow_walk.c."""
        with open(self.flag + ".new", "w") as f:
            f.write(how)
        os.rename(self.flag + ".new", self.flag)

    def session(self, profiler, meanwhile, seconds=0):
        """(what the command says, its report or None, the longest gap of the application's own clock in ms)"""
        out = tempfile.mkdtemp(dir=self.folder)
        with open(os.path.join(out, "session.yaml"), "w") as f:
            f.write(SESSION % (profiler, "durationSeconds: %d, " % seconds if seconds else "", BUDGET_MS))
        lines = len(self.app.all_progress())
        words = [local.DRDOTNET, "run", "-f", f.name, "--pid", str(self.app.pid), "-o", out, "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
            meanwhile()
            text, errors = command.communicate(timeout=120)
        if os.path.exists(self.flag):
            os.unlink(self.flag)
        self.app.assert_progress(60)
        ended = len(self.app.all_progress())  # the line after may be written before its clock has run again
        proc.wait_until(lambda: len(self.app.all_progress()) > ended + 1, 60, "what the application's clock says")
        gap_ms = max(line["max_gap_ms"] for line in self.app.all_progress()[lines:])
        path = os.path.join(out, "report.json")
        answer = json.loads(text or '{"phase":null}')
        assert answer["phase"], errors
        if not os.path.exists(path):
            return answer, None, gap_ms
        with open(path, encoding="utf-8") as f:
            return answer, json.load(f), gap_ms

    def given_up(self):
        """A session whose walk is given up in time. A machine may keep the library from running at the very end of its stop."""
        for _ in range(4):
            self.slow("each %d" % BLOCK_MS)
            answer, report, gap_ms = self.session("GCSurvivors", lambda: None)
            self.assertGreater(gap_ms, BUDGET_MS / 2)
            self.assertLess(gap_ms, BUDGET_MS + LATER_MS)
            dotnet.assert_nothing_left(self, self.app, self.before)
            if answer["reason"] != "PauseBudgetExceeded":
                return answer, report
            self.assertIsNone(report)
        return self.fail("each time: %s" % answer)

    def stalled(self, profiler, seconds=0, wait_seconds=0):
        """A session whose walk is held up in its stop: nothing in the process can end that."""
        def stall():
            time.sleep(wait_seconds)
            self.slow("once %d" % STALL_MS)
        answer, report, gap_ms = self.session(profiler, stall, seconds)
        self.assertEqual((answer["phase"], answer["reason"]), ("Failed", "PauseBudgetExceeded"), answer)
        self.assertRegex(answer["message"], r"paused for \d{4,}\.\d ms for a walk of the heap, over the limit of 1500\.0 ms: the profiler detached; nothing")
        self.assertIn("--pause-budget", answer["remedy"])
        self.assertGreaterEqual(answer["cost"]["maxPauseMicroseconds"], STALL_MS * 1000)
        self.assertIsNone(report, "a walk that was given up is no report")
        self.assertGreater(gap_ms, STALL_MS * 0.9)
        self.assertLess(gap_ms, STALL_MS + LATER_MS)
        dotnet.assert_nothing_left(self, self.app, self.before)
        matrix.row(self, PART, "profiling", "the stop of a walk lasts for longer than it was predicted to; " + profiler,
                   "fails with PauseBudgetExceeded, measured and allowed time; no report, no second stop; nothing is left")

    def test_a_walk_that_stalls(self):
        self.stalled("GCSurvivors")


class LateNet8(Late, unittest.TestCase):
    framework = "net8.0"

    def test_a_walk_that_takes_longer_than_predicted(self):
        answer, report = self.given_up()
        self.assertEqual((answer["phase"], answer["reason"], report), ("Failed", "HeapTooLarge", None), answer)
        self.assertIn("given up before its stop passed the pause budget of %d ms" % BUDGET_MS, answer["message"])
        matrix.row(self, PART, "profiling", "a walk takes longer than it was predicted to; GCSurvivors",
                   "given up within the budget: HeapTooLarge with the budget that may do; nothing is left")


class LateNet11(Late, unittest.TestCase):
    framework = "net11.0"

    def test_a_walk_that_takes_longer_than_predicted(self):
        answer, report = self.given_up()
        self.assertEqual((answer["phase"], answer["reason"]), ("Succeeded", "Completed"), answer)
        self.assertEqual(report["walk"]["roots"], "none")
        self.assertIn("took longer than predicted", report["walk"]["rootsWhy"])
        matrix.row(self, PART, "profiling", "a walk takes longer than it was predicted to; GCSurvivors",
                   "given up within the budget, each way of it; Succeeded, its report counts types and says why; nothing is left")

    def test_other_profilers_walks_that_stall(self):
        for profiler, seconds, wait_seconds in (("DuplicatedStrings", 0, 0), ("MemoryLeak", 4, 2)):  # the last one's second walk
            with self.subTest(profiler=profiler):
                self.stalled(profiler, seconds, wait_seconds)


if __name__ == "__main__":
    unittest.main()
