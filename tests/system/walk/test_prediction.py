"""How long a walk would stop the application, told beforehand: by the processor time of a look, whoever else wants the processor meanwhile."""
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
TOO_LONG = "the walk that shows holders would stop"
SESSION = """apiVersion: drdotnet.dev/v1alpha1
kind: ProfilingSession
metadata: {name: busy}
spec: {profiler: GCSurvivors, target: {podName: local}}
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


class Prediction(unittest.TestCase):
    alone = True  # it makes the load that it measures beside
    one_process = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.flag = os.path.join(folder.name, "slow")
        cls.app = Walked("net11.0", "list", ["--list", str(NODES)],
                         env={"LD_PRELOAD": tools.tool("slow_walk.so"), "SLOW_WALK_FLAG": cls.flag})
        cls.addClassCleanup(cls.app.stop)

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
        with open(self.flag, "w", encoding="ascii") as f:
            f.write("clock %d" % KEPT_MS)
        self.addCleanup(os.unlink, self.flag)
        self.assert_right(self.ratios(), 2 * TIMES)  # what keeps it waiting takes processor time too; by the clock it would be twenty

    def test_on_a_busy_machine(self):
        with busy_machine():
            self.assert_right(self.ratios())
            report = self.report()
        self.assertNotIn(TOO_LONG, report["walk"]["rootsWhy"])

    def report(self):
        out = tempfile.mkdtemp(dir=os.path.dirname(self.flag))
        with open(os.path.join(out, "session.yaml"), "w", encoding="utf-8") as f:
            f.write(SESSION)
        words = [local.DRDOTNET, "run", "-f", f.name, "--pid", str(self.app.pid), "-o", out, "--json"]
        proc.wait_until(lambda: json.loads(subprocess.run(words, stdout=subprocess.PIPE, timeout=120, check=False, text=True).stdout or "{}")
                        .get("reason") == "Completed", 180, "a session whose stop is within its budget")
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            return json.load(f)

    def test_with_a_limit_of_half_a_processor(self):
        with cpu_group.cpu_group(LIMIT) as group, contextlib.ExitStack() as left:
            if not group:
                self.skipTest("no control group of the processor can be made here")
            home = os.path.join(os.path.dirname(os.path.dirname(group)), "cgroup.procs")
            left.callback(self.move, home)
            self.move(group)
            # either the limit lets it run to its end, or it stands for a period first and then half of each
            facts = self.app.walk("NoCollection", 60000, "brief")["facts"]
            self.assertLess(facts["predicted_us"], TIMES * facts["walk_cpu_us"] / LIMIT + cpu_group.PERIOD_US)
            self.assertNotIn(TOO_LONG, self.report()["walk"]["rootsWhy"])

    def move(self, group):
        with open(group, "w", encoding="ascii") as f:
            f.write(str(self.app.pid))


if __name__ == "__main__":
    unittest.main()
