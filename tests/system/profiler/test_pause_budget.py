"""The library holds no thread of the application for longer than the session allows: it measures each callback and each signal, and
leaves by itself, whether its agent listens or not."""
import json
import os
import signal
import subprocess
import time
import unittest

from tests.lib import matrix, proc
from tests.system.profiler import ordeal, tools

PART = "The pause budget"
LONG_MS = 600
SESSION = """apiVersion: drdotnet.dev/v1alpha1
kind: ProfilingSession
metadata: {name: budget}
spec: {profiler: %s, target: {podName: local}, durationSeconds: 600, pauseBudgetMilliseconds: 200}
"""


def setUpModule():
    tools.build()


class Slow(tools.Names):
    """A loaded application in which a callback can be made to last."""

    def __init__(self, framework):
        self.flag = "/tmp/drdotnet-slow-%d" % os.getpid()
        super().__init__(framework, "loaded", "1", env={"LD_PRELOAD": tools.tool("slow_lock.so"), "SLOW_LOCK_FLAG": self.flag,
                                                        "SLOW_LOCK_MS": str(LONG_MS)})

    def hold(self):
        open(self.flag, "w").close()

    def hold_until(self, ended):
        """Again and again: a callback that tells moments of a stop may take it, and what such a one lasts ends no session."""
        try:
            proc.wait_until(lambda: self.hold() or ended(), 60, "the session's end", 0.02)
        finally:
            self.let_go()

    def let_go(self):
        if os.path.exists(self.flag):
            os.unlink(self.flag)

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            self.let_go()

    def works_on(self):
        """It gets CPU: its threads are not stuck."""
        first = self.cpu_ticks()
        proc.wait_until(lambda: self.cpu_ticks() > first + 5, 30, "the application's progress")

    def cpu_ticks(self):
        with open("/proc/%d/stat" % self.pid) as f:
            return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))


class PauseBudget:
    framework = None
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.app = Slow(cls.framework)
        cls.addClassCleanup(cls.app.stop)
        with tools.Driver(cls.app) as driver:
            driver.attach("main")
            driver("detach")
        cls.app.wait_unmapped(ordeal.WAIT)
        cls.before = ordeal.Remains(cls.app)

    def nothing_left(self):
        self.app.wait_unmapped(ordeal.WAIT)
        proc.wait_until(lambda: not ordeal.Remains(self.app).beyond(self.before), ordeal.WAIT, "nothing of ours is left")
        self.assertFalse(self.app.ended())
        self.app.works_on()

    def attach(self, driver, budget_us):
        driver("budget %d" % budget_us)
        proc.wait_until(lambda: driver.try_to("attach %s main" % self.app.library)["ok"], ordeal.WAIT, "an attach", 0.02)

    def test_a_session_within_its_budget(self):
        """Every callback and signal is counted; the default budget holds on a machine as loaded as this one."""
        with tools.Driver(self.app) as driver:
            self.attach(driver, 200_000)
            samples = driver("sample 500 1")["samples"]
            cost = driver("detach")
        self.assertGreater(samples, 0)
        self.assertGreaterEqual(cost["pauses"], samples)
        self.assertGreater(cost["max_wait_ns"], 0)
        self.assertLessEqual(cost["max_wait_ns"], cost["paused_ns"])
        self.assertLess(cost["max_wait_ns"], 200_000_000)
        self.nothing_left()

    def test_a_callback_that_lasts(self):
        with tools.Driver(self.app) as driver:
            self.attach(driver, 200_000)
            self.app.hold()
            pause = driver("pause")
        self.assertEqual((pause["kind"], pause["budget_ns"]), (1, 200_000_000))
        self.assertGreaterEqual(pause["duration_ns"], LONG_MS * 1_000_000)
        self.assertGreaterEqual(pause["max_wait_ns"], pause["duration_ns"])
        self.nothing_left()

    def test_a_callback_that_lasts_and_an_agent_that_does_not_listen(self):
        """Nobody reads what the library says, and nobody closes the channel."""
        with tools.Driver(self.app) as driver:
            self.attach(driver, 200_000)
            driver.popen.send_signal(signal.SIGSTOP)
            try:
                self.app.hold()
                self.nothing_left()
            finally:
                driver.popen.send_signal(signal.SIGCONT)
        matrix.row(self, PART, "profiling", "a stop longer than the budget, while the agent is frozen",
                   "the library leaves by itself; nothing is left in the process")

    def test_a_signal_that_lasts(self):
        """No handler takes less than this budget's microsecond for long."""
        with tools.Driver(self.app) as driver:
            self.attach(driver, 1)
            driver.send("sample 1000 30")
            answer = driver.answer()
            self.assertFalse(answer["ok"])
            pause = driver("pause")
        self.assertGreater(pause["duration_ns"], 1000)
        self.nothing_left()

    def whole_session(self, profiler):
        """What the command says of a session in whose middle the application is held, and whether there is a report."""
        with open(os.path.join(self.app.folder, "session.yaml"), "w") as f:
            f.write(SESSION % profiler)
        out = os.path.join(self.app.folder, "out-" + profiler)
        words = [os.path.join(proc.ROOT, "build/release/drdotnet"), "run", "-f", f.name, "--pid", str(self.app.pid), "-o", out, "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
            proc.wait_until(self.app.mapped, 30, "the session")
            first = self.app.cpu_ticks()
            proc.wait_until(lambda: command.poll() is not None or self.app.cpu_ticks() > first + 30, 30, "some samples")
            try:
                self.app.hold_until(lambda: command.poll() is not None)
            except BaseException:
                command.kill()
                raise
            stdout, stderr = command.communicate()
        answer = json.loads(stdout)
        self.assertEqual((answer["phase"], answer["reason"]), ("Failed", "PauseBudgetExceeded"), (answer, stderr))
        self.assertRegex(answer["message"], r"waited for \d+\.\d ms in a callback, over the limit of 200\.0 ms")
        self.assertGreaterEqual(answer["cost"]["maxWaitMicroseconds"], LONG_MS * 1000)
        self.nothing_left()
        return answer, os.path.exists(os.path.join(out, "report.html"))

    def test_a_whole_session(self):
        answer, reported = self.whole_session("CPUHotpaths")
        self.assertGreater(answer["cost"]["samples"], 0)
        self.assertTrue(reported, answer["reports"])
        matrix.row(self, PART, "profiling", "a stop longer than the budget",
                   "fails with PauseBudgetExceeded, measured and allowed time; the report of what was collected is there; nothing is left")


class OtherProfilers:
    """But those that take one look: its stop is predicted and ended in time, or refused as HeapTooLarge (tests/system/walk, tests/system/survivors)."""

    def test_sessions_that_listen_keep_what_they_have_heard(self):
        for profiler in ("Allocations", "RuntimePauses"):
            with self.subTest(profiler=profiler):
                answer, reported = self.whole_session(profiler)
                self.assertTrue(reported, answer["reports"])
                matrix.row(self, PART, "profiling", "a stop longer than the budget; " + profiler,
                           "fails with PauseBudgetExceeded, measured and allowed time; the report of what was collected is there; nothing is left")


class Suspensions:
    """A thread that only computes leaves its CPU of its own accord when the runtime suspends it, and for nothing else."""
    framework = None

    def test_neither_attach_nor_names_nor_detach_suspend_the_runtime(self):
        with tools.Names(self.framework, "spin", "2") as app, tools.Driver(app) as driver:
            self.threads = [tid for tid in os.listdir("/proc/%d/task" % app.pid) if ordeal.comm(app.pid, tid).startswith("spin")]
            self.assertEqual(len(self.threads), 2)
            driver.attach("notification")  # what is made at the first attach is made
            driver("detach")
            app.wait_unmapped(ordeal.WAIT)
            before = self.settled_switches(app)
            for _ in range(5):
                proc.wait_until(lambda: driver.try_to("attach %s notification" % app.library)["ok"], ordeal.WAIT, "an attach", 0.02)
                self.assertTrue(any(driver("stack %d" % app.pid)["functions"]))
                driver("detach")
                app.wait_unmapped(ordeal.WAIT)
            self.assertEqual(self.switches(app), before)

    def switches(self, app):
        counts = []
        for tid in self.threads:
            with open("/proc/%d/task/%s/status" % (app.pid, tid)) as f:
                counts.append(next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches")))
        return counts

    def settled_switches(self, app):
        """When the JIT compiler has made the final code."""
        last, since = self.switches(app), time.monotonic()
        while time.monotonic() < since + 3:
            time.sleep(0.1)
            now = self.switches(app)
            if now != last:
                last, since = now, time.monotonic()
        return last


class SuspensionsNet8(Suspensions, unittest.TestCase):
    framework = "net8.0"


class SuspensionsNet11(Suspensions, unittest.TestCase):
    framework = "net11.0"


class PauseBudgetNet8(PauseBudget, unittest.TestCase):
    framework = "net8.0"


class PauseBudgetNet11(PauseBudget, OtherProfilers, unittest.TestCase):
    framework = "net11.0"


if __name__ == "__main__":
    unittest.main()
