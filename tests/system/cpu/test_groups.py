"""CPU sessions on processes in control groups of their own, as containers' are: the kernel samples the group alone (tests/unit/agent/perf/test_perf_sampler.c
counts what comes into the rings)."""
import json
import os

from tests.lib import dotnet, local, proc, readers, shares
from tests.lib.memory_group import within
from tests.lib.perf_group import hierarchy, perf_group

HERTZ = 499


class Groups(local.LocalCase):
    def setUp(self):
        super().setUp()
        group = perf_group()
        self.group = group.__enter__()
        self.addCleanup(group.__exit__, None, None, None)
        if not self.group:
            self.skipTest("no control group for perf events may be made here")

    def neighbour(self):
        spin = proc.Process(within(self.group_of_all(), ["sh", "-c", "while :; do :; done"]), log=self.folder + "/neighbour.log")
        self.addCleanup(spin.stop)

    def group_of_all(self):
        return os.path.join(hierarchy(), "cgroup.procs")

    def session(self, app, seconds, meanwhile=lambda: None):
        """(report, reports' folder, log) of a session of so many seconds."""
        out = os.path.join(self.folder, "reports")
        words = [local.DRDOTNET, "run", "--verbose", "--profiler", "CPUHotpaths", "--duration", "%ds" % seconds, "--frequency", HERTZ,
                 "--pid", app.pid, "-o", out]
        with proc.Process([str(w) for w in words], log=out + ".log") as run:
            meanwhile()
            proc.wait_until(run.ended, seconds + 60, "drdotnet ends")
            self.assertEqual(run.popen.returncode, 0, run.log())
        with open(out + "/report.json", encoding="utf-8") as f:
            return json.load(f), out, run.log()

    def test_beside_a_busy_neighbour(self):
        app = self.start("hot", prefix=within(self.group, []))
        self.neighbour()
        app.warm()
        report, out, log = self.session(app, 4)
        self.assertRegex(log, r"sampling by perf events.* filter=\"?container")
        self.assertEqual(report["sampling"]["method"], "perf-cpu")
        self.assertEqual(report["limitsReached"], [])
        shares.check_hot(self, readers.folded(out))
        shares.check_rate(self, out, HERTZ)

    def test_in_the_group_of_all(self):
        app = self.start("hot", prefix=within(self.group_of_all(), []))
        self.neighbour()
        app.warm()
        report, out, log = self.session(app, 4)
        self.assertRegex(log, r"sampling by perf events.* filter=\"?none")
        self.assertEqual(report["sampling"]["method"], "perf-cpu")
        shares.check_hot(self, readers.folded(out))
        shares.check_rate(self, out, HERTZ)

    def test_moved_out_of_its_group(self):
        """The report says that it lacks what came afterwards."""
        app = self.start("hot", prefix=within(self.group, []))
        app.warm()

        def move():
            proc.wait_until(lambda: dotnet.has_library(app.pid), 30, "the library is in the process", 0.01)
            with open(self.group_of_all(), "w", encoding="ascii") as f:
                f.write(str(app.pid))
        report, _, _ = self.session(app, 6, move)
        self.assertIn("group", [limit["name"] for limit in report["limitsReached"]])
