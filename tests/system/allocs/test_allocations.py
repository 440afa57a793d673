"""The Allocations profiler on real .NET 8, 9 and 10: ten sites of known weight are found in their order, types are named, and nothing stays
in the process however a session ends."""
import json
import math
import os
import signal
import subprocess
import tempfile
import time
import unittest

from tests.system.allocs.target import Target
from tests.lib import dotnet, proc, readers, schemas
from tests.lib.local import DRDOTNET, drdotnet
from tests.system.profiler import tools

SESSION_SECONDS = 3
# Intervals of 95%, two standard deviations to each side, are left by one in twenty. All ten sites of three runtimes must lie in wider ones,
# of five, which are left once in a million.
WIDER = 5 / 1.96
BIAS = {True: 0.10, False: 0.01}  # of a share: AllocationTick's samples come at a fixed distance


def load(folder, name="report.json"):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return json.load(f)


def half_width(of):
    """Of an interval, by its middle."""
    return (of["bytesHigh"] - of["bytesLow"]) / 2 / of["bytes"]


def run(case, app, seconds=SESSION_SECONDS, *words):
    out = tempfile.mkdtemp(prefix="reports-", dir=case.folder)
    code, text, errors = drdotnet("run", "--profiler", "Allocations", "--duration", "%ds" % seconds, "--pid", app.pid, "-o", out, *words,
                                  seconds=seconds + 60)
    case.assertEqual(code, 0, text + errors)
    return out, text


def line_of(words):
    with open(os.path.join(proc.ROOT, "tests/apps/AllocApp/Sites.cs"), encoding="utf-8") as f:
        return next(number for number, line in enumerate(f, 1) if words in line)


class AllocationsCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def target(self, mode, framework, *arguments, **how):
        app = Target(mode, framework, arguments, **how)
        self.addCleanup(app.stop)
        return app


class Sites:
    framework = None
    event = None
    time_limit = 300

    def test_sessions(self):
        """Two, one after the other, in one process: each right, neither leaves anything."""
        app = self.target("sites", self.framework, "--pause", "3")
        app.warm(20)
        before = dotnet.Traces(app)
        out, text = run(self, app)
        self.check_report(app, load(out), text)
        self.check_formats(out)
        again, _ = run(self, app, 1)
        self.assertEqual(load(again)["sites"][0]["type"], "byte[]")
        dotnet.assert_nothing_left(self, app, before)
        app.assert_progress()

    def check_report(self, app, report, text):
        schemas.validator("report-schema-allocations.json").validate(report)
        self.assertEqual(report["sampling"]["event"], self.event)
        self.assertEqual(report["sampling"]["biased"], self.event == "AllocationTick")
        self.assertEqual(report["sampling"]["dropped"], 0)
        self.assertLessEqual(report["sampling"]["withoutStack"], report["sampling"]["samples"] // 100)
        self.assertIn(report["diagnosis"]["headline"], text)
        self.check_sites(app.details, report)
        self.check_types(report)
        self.check_rate(app, report)

    def check_sites(self, truth, report):
        """Shares of all that the sites allocate, each within its interval, in their order as far as samples can tell."""
        found = {}
        for site in report["sites"]:
            name = (site["method"] or "").replace("Shop.Sites.", "")
            if name in truth and site["type"] == truth[name]["type"]:
                self.assertNotIn(name, found)
                found[name] = site
        self.assertEqual(set(found), set(truth), report["sites"][:12])
        all_bytes, known = sum(t["bytes"] for t in truth.values()), sum(s["bytes"] for s in found.values())
        self.assertGreater(known / report["allocated"]["bytes"], 0.97, "hardly anything else allocates")
        shares, common = {}, half_width(report["allocated"])  # that of the time which was not sampled is in the intervals of all

        def error(site):
            return site["bytes"] / known * math.sqrt(max(0, half_width(site) ** 2 - common ** 2))
        for name, site in found.items():
            expected = truth[name]["bytes"] / all_bytes
            shares[name] = site["bytes"] / known
            tolerance = WIDER * error(site) + expected * BIAS[report["sampling"]["biased"]]
            self.assertAlmostEqual(shares[name], expected, delta=tolerance, msg="%s: %s" % (name, site))
            self.assertLessEqual(site["bytesLow"], site["bytes"])
            self.assertLessEqual(site["bytes"], site["bytesHigh"])
            each = truth[name]["bytes"] / truth[name]["objects"]
            self.assertAlmostEqual(site["bytes"] / site["objects"], each, delta=0.02 * each)
            self.assertEqual(site["large"], name == "Large")
            self.assertIn("Shop.Sites." + name, site["stack"][:3])
            self.assertRegex(site["place"]["file"], r"Sites\.cs$")
            line = line_of("kept = new long" if name == "Fetch" else "static void %s()" % name)
            self.assertIn(site["place"]["line"], (line - 1, line) if name == "Fetch" else (line,), "%s, whose loop is one statement of the code" % name)
        order = sorted(truth, key=lambda n: -truth[n]["bytes"])
        for more, less in zip(order, order[1:]):
            a, b = found[more], found[less]
            if (truth[more]["bytes"] - truth[less]["bytes"]) / all_bytes > WIDER * math.hypot(error(a), error(b)):
                self.assertGreater(a["bytes"], b["bytes"], "%s before %s" % (more, less))

    def check_types(self, report):
        types = {t["name"]: t for t in report["types"]}
        self.assertLessEqual({"byte[]", "string", "Shop.Pair<int, string>", "long[]", "Shop.Order.Line", "int[,]", "int[][]", "Shop.Price",
                              "System.Action"}, set(types))
        self.assertGreater(types["byte[]"]["largeBytes"], 0)
        self.assertEqual(types["string"]["method"], "Shop.Sites.Label")
        self.assertGreater(report["allocated"]["largeBytes"], 0)
        fetch = next(m for m in report["methods"] if m["name"] == "Shop.Sites.Fetch")
        self.assertIn("async", fetch["marks"], "behind an await")

    def check_rate(self, app, report):
        """Against what the application has counted meanwhile; its lines come once a second."""
        lines = app.all_progress()[-int(report["time"]["durationSeconds"]) - 2:]
        each = sum(t["bytes"] for t in app.details.values())
        rates = [(b["ops"] - a["ops"]) / (b["t_s"] - a["t_s"]) * each for a, b in zip(lines, lines[1:])]
        self.assertGreater(report["allocated"]["bytesPerSecond"], 0.6 * min(rates))
        self.assertLess(report["allocated"]["bytesPerSecond"], 2 * max(rates))

    def check_formats(self, out):
        pprof, folded, scope, report = readers.Pprof(out), readers.folded(out), readers.speedscope(out), load(out)
        self.assertEqual(pprof.types, [("alloc_objects", "count"), ("alloc_space", "bytes")])
        total = report["tree"]["total"][0]
        self.assertEqual(folded.total, total)
        self.assertEqual(scope.total, total)
        self.assertAlmostEqual(pprof.total, report["allocated"]["objects"], delta=len(report["tree"]["parent"]) * 40)
        for samples in (folded, scope):
            self.assertAlmostEqual(samples.self_share("new string"), report["types"][1]["percent"] / 100, delta=0.001)
            self.assertTrue(all(s[-1].startswith("new ") for s, _ in samples.stacks))
        with open(os.path.join(out, "report.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn("Who allocates what", page)
        self.assertIn("Shop.Sites.Buffer", page)
        with open(os.path.join(out, "summary.md"), encoding="utf-8") as f:
            self.assertIn("`Shop.Sites.Buffer`", f.read())


class SitesNet8(Sites, AllocationsCase):
    framework, event = "net8.0", "AllocationTick"


class SitesNet10(Sites, AllocationsCase):
    framework, event = "net10.0", "AllocationSampled"


class SitesNet11(Sites, AllocationsCase):
    framework, event = "net11.0", "AllocationSampled"


class Endings(AllocationsCase):
    """However a session ends."""
    time_limit = 300

    def begin(self, app, seconds):
        out = tempfile.mkdtemp(prefix="reports-", dir=self.folder)
        session = subprocess.Popen([DRDOTNET, "run", "--profiler", "Allocations", "--duration", "%ds" % seconds, "--pid", str(app.pid), "-o", out],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=proc.ROOT)
        self.addCleanup(session.stdout.close)
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        proc.wait_until(lambda: self.mapped(app), 30, "the library is in the process")
        return session, out

    def mapped(self, app):
        try:
            with open("/proc/%d/maps" % app.pid) as f:
                return proc.is_ours(f.read())
        except OSError:
            return False

    def test_the_agent_is_killed(self):
        for framework in ("net8.0", "net11.0"):
            app = self.target("loop", framework)
            app.warm(10)
            before = dotnet.Traces(app)
            session, _ = self.begin(app, 60)
            time.sleep(0.3)  # anywhere in it
            session.send_signal(signal.SIGKILL)
            session.wait(30)
            proc.wait_until(lambda: not self.mapped(app), 30, "the library has left")
            left = dotnet.Traces(app).left_since(before)
            self.assertFalse(set(left) - {"files"}, left)  # a sweep takes the folder
            app.assert_progress()
            out, _ = run(self, app, 1)
            self.assertGreater(load(out)["sampling"]["samples"], 10, "no session of EventPipe's was in the way")
            app.stop()

    def test_the_process_is_killed(self):
        app = self.target("sites", "net11.0", "--pause", "3")
        app.warm(10)
        session, out = self.begin(app, 60)
        time.sleep(2)
        os.kill(app.pid, signal.SIGKILL)
        text = session.communicate(timeout=60)[0]
        self.assertNotIn("nothing could be", text)
        self.assertIn("ended", text)
        if os.path.exists(os.path.join(out, "report.json")):
            self.assertTrue(load(out)["time"]["endedEarly"])

    def test_an_early_end_keeps_what_there_is(self):
        app = self.target("sites", "net11.0", "--pause", "3")
        app.warm(10)
        before = dotnet.Traces(app)
        session, out = self.begin(app, 60)
        time.sleep(2)
        session.send_signal(signal.SIGINT)
        session.communicate(timeout=60)
        report = load(out)
        self.assertTrue(report["time"]["endedEarly"])
        self.assertEqual(report["sites"][0]["method"], "Shop.Sites.Buffer")
        dotnet.assert_nothing_left(self, app, before)

    def test_hardly_anything_is_allocated(self):
        app = self.target("idle", "net11.0")
        out, text = run(self, app, 2)
        self.assertEqual(load(out)["diagnosis"]["finding"], "none")
        self.assertIn("Hardly anything is allocated", text)

    def check_callers(self, framework):
        """Methods that keep no frame pointer: each caller stands above what it calls, and the blame goes to the one who asks."""
        app = self.target("callers", framework)
        app.warm(50)
        found = readers.folded(run(self, app, 3)[0])
        paths = {"Cart": 0, "Invoice": 0, None: 0}
        for stack, weight in found.stacks:
            names = [f[len("Shop.Callers."):] for f in stack if f.startswith("Shop.Callers.")]
            if names:
                asks = names[1] if len(names) == 4 and names[1] in paths and names == ["Work", names[1], "Shared", "Make"] else None
                paths[asks] += weight
        total = sum(paths.values())
        self.assertGreater(total, 0.9 * found.total)
        self.assertGreaterEqual(paths["Cart"] + paths["Invoice"], 0.99 * total, found.leaves())
        self.assertAlmostEqual(paths["Cart"] / total, 0.75, delta=0.05)

    def test_callers_of_small_methods_on_net8(self):
        self.check_callers("net8.0")

    def test_callers_of_small_methods_on_net11(self):
        self.check_callers("net11.0")

    def test_threads_that_come_and_go(self):
        """A new thread's stack is not known yet: its first allocations are found all the same."""
        app = self.target("fresh", "net11.0")
        app.warm(50)
        report = load(run(self, app, 3)[0])
        once = next(m for m in report["methods"] if m["name"] == "AllocApp.Loops.Once")
        self.assertGreater(once["total"] / report["allocated"]["bytes"], 0.8)
        self.assertLessEqual(report["sampling"]["withoutStack"], report["sampling"]["samples"] // 10)

    def test_beside_another_profiler(self):
        tools.build()
        app = self.target("sites", "net11.0", "--pause", "3", env=tools.apm())
        app.warm(10)
        report = load(run(self, app, 1)[0])
        self.assertTrue(report["sampling"]["besideAnotherProfiler"])
        self.assertEqual(report["sites"][0]["method"], "Shop.Sites.Buffer")
        app.assert_progress()

    def test_the_library_refuses_what_it_does_not_know(self):
        tools.build()
        app = self.target("idle", "net8.0")
        with tools.Driver(app) as driver:
            driver.attach("notification")
            for event in (303, 4):  # not of .NET 8, and of none
                refused = driver.try_to("allocs %d 1" % event)
                self.assertFalse(refused["ok"])
                self.assertIn("no event of that number", refused["message"])
            self.assertEqual(driver("allocs 10 0")["event"], 10)
            driver("detach")


if __name__ == "__main__":
    unittest.main()
