"""How long a walk would stop the application, told beforehand: by the processor time of a look, whoever else wants the processor meanwhile. And what
was not let run as predicted is tried once more before it is refused."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tests.lib import cpu_group, local, proc
from tests.system.profiler import tools
from tests.system.walk.walk import Walked

NODES = 2_000_000
KEPT_MS = 3      # each look at the clock
SPINNERS = 8
TIMES = 3        # what a prediction may be of the truth; a cold cache makes either longer
LIMIT = 0.5
LITTLE = 0.4
SESSIONS = 3
FEW, ARRAYS = 20_000, 800  # objects, and 360,000 bytes of large arrays behind each 25 of them
BUDGET_MS = 1500
TOO_LONG = "the walk that shows holders would stop"
SESSION = """apiVersion: drdotnet.dev/v1alpha1
kind: ProfilingSession
metadata: {name: busy}
spec: {profiler: %s, target: {podName: local}}
"""


def setUpModule():
    tools.build()


@contextlib.contextmanager
def busy_machine():
    """Others that want the processor all the time."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(SPINNERS)]
    try:
        yield
    finally:
        for p in spinners:
            p.kill()
            p.wait()


class Case(unittest.TestCase):
    alone = True  # it makes the load that it measures beside
    one_process = True
    modes, sizes = "list", ["--list", str(NODES)]

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.flag = os.path.join(folder.name, "slow")
        cls.app = Walked("net11.0", cls.modes, cls.sizes, env={"LD_PRELOAD": tools.tool("slow_walk.so"), "SLOW_WALK_FLAG": cls.flag})
        cls.addClassCleanup(cls.app.stop)

    def slow(self, how):
        """From now on: see slow_walk.c."""
        with open(self.flag, "w", encoding="ascii") as f:
            f.write(how)
        self.addCleanup(self.quick)

    def quick(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.flag)

    @contextlib.contextmanager
    def limited(self, cpus):
        """The application with so much of a processor."""
        with cpu_group.cpu_group(cpus) as group, contextlib.ExitStack() as left:
            if not group:
                self.skipTest("no control group of the processor can be made here")
            left.callback(self.move, os.path.join(os.path.dirname(os.path.dirname(group)), "cgroup.procs"))
            self.move(group)
            yield

    def move(self, group):
        with open(group, "w", encoding="ascii") as f:
            f.write(str(self.app.pid))

    def session(self, profiler="GCSurvivors", *words):
        """(What the command says, the reports' folder.)"""
        out = tempfile.mkdtemp(dir=os.path.dirname(self.flag))
        with open(os.path.join(out, "session.yaml"), "w", encoding="utf-8") as f:
            f.write(SESSION % profiler)
        line = [local.DRDOTNET, "run", "-f", f.name, "--pid", str(self.app.pid), "-o", out, "--json", *words]
        return json.loads(subprocess.run(line, stdout=subprocess.PIPE, timeout=120, check=False, text=True).stdout or "{}"), out

    def assert_completes(self, *words):
        """But where the machine keeps the library from running in the midst of its stop: that is no matter of what was predicted."""
        def ended():
            said, out = self.session(*words)
            return said.get("reason") not in (None, "PauseBudgetExceeded") and (said, out)
        said, out = proc.wait_until(ended, 120, "a session whose stop is within its budget")
        self.assertEqual(said["reason"], "Completed", said)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            return json.load(f)


class Prediction(Case):
    def ratios(self):
        """Of several walks: what was predicted, by the processor time that it took."""
        walks = [self.app.walk("NoCollection", 60000, "brief")["facts"] for _ in range(4)]
        return sorted(w["predicted_us"] / w["walk_cpu_us"] for w in walks)

    def assert_right(self, ratios, times=TIMES):
        middle = ratios[len(ratios) // 2]
        self.assertLess(middle, times, ratios)
        self.assertGreater(middle, 1 / times, ratios)

    def test_on_a_machine_as_it_is(self):
        self.assert_right(self.ratios())

    def test_a_look_that_is_kept_waiting(self):
        self.slow("clock %d" % KEPT_MS)
        self.assert_right(self.ratios(), 2 * TIMES)  # what keeps it waiting takes processor time too; by the clock it would be twenty

    def test_on_a_busy_machine(self):
        with busy_machine():
            self.assert_right(self.ratios())
            report = self.report()
        self.assertNotIn(TOO_LONG, report["walk"]["rootsWhy"])

    def report(self):
        return self.assert_completes()

    def test_with_a_limit_of_half_a_processor(self):
        with self.limited(LIMIT):
            # either the limit lets it run to its end, or it stands for a period first and then half of each
            facts = self.app.walk("NoCollection", 60000, "brief")["facts"]
            self.assertLess(facts["predicted_us"], TIMES * facts["walk_cpu_us"] / LIMIT + cpu_group.PERIOD_US)
            self.assertNotIn(TOO_LONG, self.report()["walk"]["rootsWhy"])

    def test_a_walk_that_was_given_up_is_tried_once_more(self):
        self.assert_second_time("each 30 55", "NoCollection")  # of some 256 blocks; 47 are as long as the walk may be

    def test_a_count_that_came_to_a_part_is_tried_once_more(self):
        self.assert_second_time("clock 3 540", "Auto", "types-only", "whole")  # of some 1,000 looks; 469 are as long as the count may be

    def assert_second_time(self, slow, roots, *words):
        def ended():
            self.slow(slow)
            said = self.app.try_to_walk(roots, BUDGET_MS, "brief", *words)[-1]
            self.quick()
            return said.get("reason") != "PauseBudgetExceeded" and said
        said = proc.wait_until(ended, 120, "a walk whose stop is within its budget")
        self.assertTrue(said["ok"], said)
        self.assertEqual((said["facts"]["tries"], said["facts"]["part"]), (2, False))
        self.assertGreater(said["facts"]["objects"], NODES)
        self.app.assert_progress()


class FewObjects(Case):
    """A heap of large arrays: by the first few thousand objects alone, which are small, it has millions of them."""
    modes, sizes = "array,loh", ["--array", str(FEW), "--loh", str(ARRAYS)]

    def test_a_look_that_is_kept_waiting(self):
        self.slow("clock %d" % KEPT_MS)
        walks = [self.app.walk("NoCollection", 500, "brief")["facts"] for _ in range(3)]
        ratios = sorted(w["predicted_us"] / w["walk_cpu_us"] for w in walks)
        self.assertLess(ratios[1], TIMES, walks)

    def test_sessions_with_a_little_of_a_processor(self):
        with self.limited(LITTLE):
            for _ in range(SESSIONS):
                self.assert_completes("DuplicatedStrings")
            self.slow("clock %d" % KEPT_MS)
            for _ in range(SESSIONS):
                self.assertEqual(self.assert_completes("GCSurvivors", "--roots", "Exact")["walk"]["roots"], "exact")


if __name__ == "__main__":
    unittest.main()
