"""MemoryLeak by the local command on an application that grows between the walks and only there: the session waits before each walk until
the application has answered. So each walk sees a known amount, however busy the machine is."""
import collections
import json
import os
import signal
import tempfile
import time
import unittest

from tests.resilience.faults.ground import Steps
from tests.system.leak.test_leak_report import FILES, load, wrong
from tests.lib import dotnet, proc

DRDOTNET = os.path.join(proc.ROOT, "build/faults/drdotnet")  # the command whose sessions wait at steps (common/base/step.h)
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")


class Growth:
    """Called before each walk but the first: `first` more of each mode, then `factor` times as many as the time before: at a pace that rises, so that
    no machine is so slow that it would look as if the growth slowed down."""

    def __init__(self, app, first, factor=8):
        self.app, self.next, self.factor = app, dict(first), factor
        self.made = collections.Counter()

    def __call__(self, walk):
        for mode, more in self.next.items():
            self.app.ask("grow %s %d" % (mode, more))
            self.made[mode] += more
            self.next[mode] = more * self.factor


class Session:
    """A session that waits at a step, before each walk if nothing else is said: wait() until it does, go() lets it go on."""

    def __init__(self, folder, app, seconds, walks, *words, budget=60000, step="next-walk"):
        self.out = os.path.join(folder, "reports-%d" % time.monotonic_ns())
        self.steps, self.step, self.holds = Steps(self.out + "-steps"), step, None
        self.steps.arm(step)
        self.command = proc.Process([DRDOTNET, "run", "--profiler", "MemoryLeak", "--duration", "%ds" % seconds, "--walks", walks, "--pid", app.pid,
                                     "-o", self.out, "--pause-budget", budget, *words], log=self.out + ".log",
                                    env={"DRDOTNET_STEPS": self.steps.folder, "DRDOTNET_LIBRARY": LIBRARY})

    def log(self):
        return self.command.log()

    @property
    def code(self):
        return self.command.popen.returncode

    def _come(self):
        if self.holds is None:
            self.holds = self.steps.come(self.step)
        return self.holds is not None or self.command.ended()

    def wait(self):
        """Whether it waits at its step; else it has ended."""
        proc.wait_until(self._come, 120, "a walk, or the session's end", 0.01)
        return self.holds is not None

    def go(self, again=True):
        """`again`: it waits at the next such step, too, by another FIFO."""
        self.steps.disarm(self.step)
        if again:
            self.steps.arm(self.step)
        os.close(self.holds)
        self.holds = None

    def end(self):
        self.command.popen.wait(120)
        return self.code

    def stop(self, how=signal.SIGTERM):
        if not self.command.ended():
            self.command.popen.send_signal(how)
        if self.holds is not None:
            os.close(self.holds)
            self.holds = None
        self.command.stop(how)


class LeakCase(unittest.TestCase):
    one_process = True
    time_limit = 300

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-leak-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, modes, framework="net10.0", objects=1000, env=(), **how):
        tmp = tempfile.mkdtemp(prefix="tmp-", dir=self.folder)
        words = [word for mode in modes.split(",") for word in ("--" + mode, str(objects))]
        app = dotnet.MemoryApp(modes, framework, self.folder, words, env={"TMPDIR": tmp, **dict(env)}, **how)
        app.tmp = tmp
        self.addCleanup(app.stop)
        dotnet.seen(app.pid, tmp)  # all its threads are there
        return app

    def run_session(self, app, before, *words, seconds=1, walks=3, budget=60000):
        """A session that has ended. before(n) is called when it waits to make the walk n + 1; not before the first one."""
        session, gap = Session(self.folder, app, seconds, walks, *words, budget=budget), seconds / (walks - 1)
        self.addCleanup(session.stop)
        self.went = []  # when each walk was let go on
        while session.wait():
            if self.went:
                time.sleep(max(0, self.went[-1] + gap / 2 - time.monotonic()))  # stretches of about one length: paces can be compared
                before(len(self.went))
            self.went.append(time.monotonic())
            session.go()
        return session

    def leak(self, app, before, *words, seconds=2, walks=3, least=3):
        """Its report. On a machine on which walks take their time some between the first and the last may be left out."""
        session = self.run_session(app, before, *words, seconds=seconds, walks=walks)
        self.assertEqual(session.code, 0, session.log())
        self.assertEqual(set(os.listdir(session.out)), FILES)
        report = load(session.out)
        self.assertEqual(wrong(report), [])
        self.assertIn(len(report["walks"]), range(min(least, walks), walks + 1), session.log())
        return report

    def holder(self, report, pattern, verdict="grows"):
        found = [h for h in report["holders"] if (h["pattern"], h["verdict"]) == (pattern, verdict)]
        self.assertTrue(found, "no %s in %s" % (pattern, json.dumps(report["holders"], indent=1)))
        return found[0]
