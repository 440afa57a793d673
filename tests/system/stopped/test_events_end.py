"""A profiler that is stopped: its perf events end in the kernel, by the kernel's account, and the report says for how long nothing was measured."""
import contextlib
import json
import os
import signal
import time

from tests.lib import dotnet, local, perf_events, proc
from tests.lib.memory_group import within
from tests.lib.perf_group import hierarchy, perf_group
from tests.system.cpu.test_accuracy import WITHOUT_PERFMON
from tests.system.slowrequests.target import Target

STOPPED_S = 3  # at least; less than the library waits for a sign of life


class Stopped(local.LocalCase):
    def setUp(self):
        super().setUp()
        group = perf_group()
        self.group = group.__enter__()
        self.addCleanup(group.__exit__, None, None, None)
        if not self.group:
            self.skipTest("no control group for perf events may be made here")

    def in_group(self):
        return within(self.group, [])

    def in_none(self):
        return within(os.path.join(hierarchy(), "cgroup.procs"), [])

    @contextlib.contextmanager
    def session(self, app, *words, under=()):
        self.out = os.path.join(self.folder, "report")
        with proc.Process([*under, local.DRDOTNET, "run", *words, str(app.pid), "--duration", "60s", "-o", self.out], log=self.out + ".log") as run:
            self.agent = run
            yield run
            proc.wait_until(run.ended, 120, "drdotnet ends")
            self.assertEqual(run.popen.returncode, 0, run.log())

    def is_counting(self):
        if not perf_events.descriptors(self.agent.pid):
            return False
        before = perf_events.counted(self.agent.pid)
        proc.wait_until(lambda: perf_events.counted(self.agent.pid) != before or not perf_events.descriptors(self.agent.pid), 30, "events that count")
        return perf_events.counted(self.agent.pid) > before

    def stop_while_counting(self, run):
        """Where there are windows, in one of them."""
        def stopped():
            if not self.is_counting():
                return False
            run.popen.send_signal(signal.SIGSTOP)
            if perf_events.descriptors(self.agent.pid):
                return True
            run.popen.send_signal(signal.SIGCONT)
            return False
        proc.wait_until(stopped, 60, "stopped while events are open", 0.001)

    def stop_and_go_on(self, app, run, turns=0, cpu=0.3):
        """The report, of a session whose profiler was stopped in between."""
        proc.wait_until(lambda: dotnet.has_library(app.pid), 60, "the library is in the process")
        began = time.monotonic()
        self.stop_while_counting(run)
        try:
            perf_events.wait_until_ended(run.pid, app.pid, turns, cpu)
            proc.wait_until(lambda: time.monotonic() > began + STOPPED_S, 60, "a stop to be told of")
        finally:
            run.popen.send_signal(signal.SIGCONT)
        proc.wait_until(self.is_counting, 60, "the events go on")
        run.popen.send_signal(signal.SIGINT)

    def stalled(self):
        """Seconds, as the report has them."""
        with open(os.path.join(self.out, "report.json"), encoding="utf-8") as f:
            self.report = json.load(f)
        found = [limit for limit in self.report["limitsReached"] if limit["name"] == "stalled"]
        self.assertEqual(len(found), 1, self.report["limitsReached"])
        self.assertIn("did not run", found[0]["meaning"])
        return found[0]["seen"] / 1e9

    def cpu(self, prefix, method, under=()):
        app = self.start("hot", prefix=prefix)
        app.warm()
        traces = dotnet.Traces(app)
        with self.session(app, "--profiler", "CPUHotpaths", "--pid", under=under) as run:
            self.stop_and_go_on(app, run)
        self.assertGreater(self.stalled(), 1)
        self.assertEqual(self.report["sampling"]["method"], method)
        self.assertGreater(self.report["sampling"]["samples"], 0)
        self.assert_nothing_left(app, traces)

    def test_cpu_of_a_container(self):
        self.cpu(self.in_group(), "perf-cpu")

    def test_cpu_of_all_processes(self):
        self.cpu(self.in_none(), "perf-cpu")

    def test_cpu_by_threads(self):
        self.cpu(self.in_group(), "perf-thread", WITHOUT_PERFMON)

    def waits(self, mode, prefix):
        app = dotnet.WaitApp(mode, "net10.0", self.folder, env={"TMPDIR": self.folder}, prefix=prefix)
        self.addCleanup(app.stop)
        app.progress()
        with self.session(app, "--waits") as run:
            self.stop_and_go_on(app, run, 2000, 0)
        return self.stalled()

    def test_waits_of_a_container(self):
        stalled = self.waits("monitor", self.in_group())
        self.assertGreater(stalled, 1)
        self.assertLess(sum(k["threads"] for k in self.report["kinds"] if k["kind"] == "lock"), 6.5, "the gap is in no wait")

    def test_waits_by_threads(self):
        self.assertGreater(self.waits("monitor", self.in_none()), 1)

    def test_slow_requests(self):
        with Target(load="bare", prefix=self.in_group()) as app:
            load = proc.Process([dotnet.HTTP_LOAD, str(app.port), "--seconds", "240", "--rate", "4000", "--connections", "8", "/items/4711"],
                                log=self.folder + "/load.log")
            with load, self.session(app, "--slow-requests") as run:
                self.stop_and_go_on(app, run)
            self.assertGreater(self.stalled(), 1)
