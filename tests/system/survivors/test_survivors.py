"""GCSurvivors on real applications whose heap is known (tests/apps/MemoryApp): what the report says against what the application has
made, on .NET 8, 9 and 10."""
import json
import os
import re
import tempfile
import time
import unittest

from tests.lib import dotnet, local, proc
from tests.lib.memory_group import memory_group
from tests.system.survivors.test_reports import check_sums, validate

MODES = "array,list,static,event,timer,closure,cwt,generics,pinned,loh,poh,collectible,shared,roots"


def short(name):
    """Without namespaces, as the details of the application have it."""
    return re.sub(r"(?:\b[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", name)


class Case(unittest.TestCase):
    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-survivors-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        return folder.name

    def start(self, modes, framework, arguments=(), env=None):
        folder = self.folder()
        tmp = os.path.join(folder, "tmp")
        os.mkdir(tmp)
        app = dotnet.MemoryApp(modes, framework, folder, arguments, env={"TMPDIR": tmp, **(env or {})})
        app.tmp, app.folder = tmp, folder
        self.addCleanup(app.stop)
        dotnet.seen(app.pid, tmp)  # all its threads are there
        return app

    def in_budget(self, app, *words):
        """(exit code, what it says, its folder) of the first session whose stop was not longer than its small budget: on a loaded machine the library may be
        kept from running."""
        def run():
            out = os.path.join(app.folder, "report-%d" % time.monotonic_ns())
            code, text, errors = local.drdotnet("run", "--profiler", "GCSurvivors", "--pid", app.pid, "-o", out, *words, seconds=120)
            return None if code and "PauseBudgetExceeded" in text + errors else (code, text + errors, out)
        return proc.wait_until(run, 120, "a session within its budget")

    def within_budget(self, app, *words):
        """Its report."""
        code, said, out = self.in_budget(app, *words)
        self.assertEqual(code, 0, said)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        validate(report)
        check_sums(self, report)
        return report

    def session(self, app, *words, group=None):
        """The report of a session on the application, which must hold the schema and its sums."""
        out = os.path.join(app.folder, "report-%d" % time.monotonic_ns())
        code, text, errors = local.drdotnet("run", "--profiler", "GCSurvivors", "--pid", app.pid, "-o", out, *words, seconds=120, group=group)
        self.assertEqual(code, 0, text + errors)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        validate(report)
        check_sums(self, report)
        self.assertEqual(set(os.listdir(out)), {"summary.md", "report.html", "report.json"})
        return report


def holder(report, name):
    found = [h for h in report["holders"] if h["name"] == name]
    if len(found) != 1:
        raise AssertionError("%d holders are %r; there are %s" % (len(found), name, [h["name"] for h in report["holders"][:40]]))
    return found[0]


def type_of(report, name):
    found = [t for t in report["types"] if t["name"] == name]
    if len(found) != 1:
        raise AssertionError("%d types are %r" % (len(found), name))
    return found[0]


def below(report, holder_name):
    """[(name, objects, retained)] of the tree below a holder."""
    tree, names = report["tree"], report["names"]
    inside, found = set(), []
    for i, parent in enumerate(tree["parent"]):
        if i and tree["kind"][i] >= 0 and names[tree["name"][i]] == holder_name or parent in inside:
            inside.add(i)
            found.append((names[tree["name"][i]], tree["objects"][i], tree["retainedBytes"][i]))
    return found


class Truth:
    """What the application has made is what the report says, exactly."""
    FRAMEWORK = None

    def setUp(self):
        self.app = self.start(MODES, self.FRAMEWORK, ["--collectible", "10000"])
        self.traces = dotnet.Traces(self.app)
        self.made = self.app.details

    def test_exact(self):
        report = self.session(self.app, "--roots", "Exact", "--pause-budget", "60000")
        runtime = self.app.ask("now")
        self.app.assert_progress()
        dotnet.assert_nothing_left(self, self.app, self.traces)
        self.assertEqual(report["walk"]["roots"], "exact")
        self.assertAlmostEqual(report["heap"]["bytes"] / runtime["total_bytes"], 1, delta=0.01)
        self.check_collections(report)
        self.check_leaks(report)
        self.check_names(report)
        self.check_places(report, runtime)
        self.check_roots(report)
        self.check_cost(report)

    def check_collections(self, report):
        made = self.made
        orders = holder(report, made["array"]["holder"])
        self.assertEqual(orders["retainedBytes"], made["array"]["count"] * made["array"]["each_bytes"] + made["array"]["array_bytes"])
        self.assertEqual(orders["retainedObjects"], made["array"]["count"] + 1)
        self.assertEqual(report["main"]["holder"], made["array"]["holder"])
        self.assertEqual(report["main"]["type"], "Shop.Order")
        self.assertRegex(report["diagnosis"]["headline"], r"^\d+ MB of \d+ MB are held by static Shop.Orders.All: Order x 1,000,000$")
        nodes = holder(report, made["list"]["holder"])
        self.assertEqual(nodes["retainedBytes"], made["list"]["count"] * made["list"]["each_bytes"])
        self.assertEqual(below(report, made["list"]["holder"])[1:], [("Shop.Node", made["list"]["count"], nodes["retainedBytes"])])
        items = {name: objects for name, objects, _ in below(report, made["static"]["holder"])}
        self.assertEqual(items["Shop.Order"], made["static"]["count"])
        path = [p for p in report["paths"] if p["steps"][0]["name"] == made["static"]["holder"]][0]
        self.assertEqual([s["field"] for s in path["steps"]], [None, None, "_entries", "[].value"])
        blobs = [h for h in report["holders"] if h["kind"] == "several" and h["name"] == made["shared"]["type"]]
        self.assertEqual([h["retainedBytes"] for h in blobs], [made["shared"]["count"] * made["shared"]["each_bytes"]])

    def check_leaks(self, report):
        made = self.made
        for mode, kept in (("event", "Shop.Widget"), ("closure", "Func<int>"), ("cwt", None)):
            inside = {short(name): objects for name, objects, _ in below(report, made[mode]["holder"])}
            if kept:
                self.assertEqual(inside.get(short(kept)), made[mode]["count"], (mode, inside))
        for mode in ("timer", "cwt"):
            self.assertEqual(type_of(report, made[mode]["type"])["objects"], made[mode]["count"], mode)

    def check_names(self, report):
        names = {short(t["name"]): t["objects"] for t in report["types"]}
        for name, count in self.made["generics"]["types"].items():
            if name == "int*[]":  # the profiling API does not tell pointers apart
                name = "void*[]"
            self.assertGreaterEqual(names.get(name, 0), count, "%s in %s" % (name, sorted(n for n in names if n[:3] == name[:3])))
        self.assertEqual(names["Pair<Pair<Order, int>, Colour>[]"], self.made["generics"]["types"]["Pair<Pair<Order, int>, Colour>[]"])

    def check_places(self, report, runtime):
        generations = {g["generation"]: g for g in report["heap"]["generations"]}
        self.assertGreaterEqual(generations["loh"]["usedBytes"], self.made["loh"]["bytes"])
        self.assertAlmostEqual(generations["loh"]["freeBytes"] / runtime["generations"][3]["free"], 1, delta=0.02)
        self.assertGreaterEqual(generations["poh"]["usedBytes"], self.made["poh"]["bytes"])
        self.assertGreaterEqual(report["heap"]["pinnedObjects"], self.made["pinned"]["count"])
        kinds = {k["kind"]: k for k in report["rootKinds"]}
        self.assertGreaterEqual(kinds["pinnedHandle"]["roots"], self.made["pinned"]["count"])
        self.assertEqual(type_of(report, "Plugin.Gadget")["objects"], self.made["collectible"]["count"])
        # by its own static, or by who holds the assembly
        self.assertEqual(len([h for h in report["holders"] if any(n == "Plugin.Gadget" for n, _, _ in below(report, h["name"]))]), 1)

    def check_roots(self, report):
        made = self.made["roots"]
        for kind, name in (("stack", "Shop.OnStack"), ("threadStatic", "Shop.OnThread"), ("handle", "Shop.ByHandle"), ("finalizer", "Shop.Finalizable")):
            kinds = {kind, "handle", "stack"} if self.FRAMEWORK == "net8.0" else {kind}  # 8 tells thread statics from neither
            held = [h for h in report["holders"] if h["kind"] in kinds and any(n == name for n, _, _ in below(report, h["name"]))]
            self.assertTrue(held, "%s by %s: %s" % (name, kind, [h["name"] for h in report["holders"] if h["kind"] == kind]))
            self.assertEqual(type_of(report, name)["objects"], made["count"], name)
            if kind == "stack":
                self.assertIn("MemoryApp.Modes.RootsMode.Hold", held[0]["name"])

    def check_cost(self, report):
        self.assertGreater(report["cost"]["maxPauseMicroseconds"], 0)
        self.assertLessEqual(report["walk"]["stopMicroseconds"], report["cost"]["maxPauseMicroseconds"] + 1, "but for rounding")


class Net8(Truth, Case):
    time_limit, FRAMEWORK = 300, "net8.0"


class Net10(Truth, Case):
    time_limit, FRAMEWORK = 300, "net10.0"


class Net11(Truth, Case):
    time_limit, FRAMEWORK = 300, "net11.0"

    def test_without_a_collection(self):
        before = self.app.ask("now")["collections"]
        report = self.session(self.app, "--roots", "NoCollection", "--pause-budget", "60000")
        self.assertEqual(self.app.ask("now")["collections"][2], before[2], "no full collection")
        dotnet.assert_nothing_left(self, self.app, self.traces)
        self.assertEqual(report["walk"]["roots"], "noCollection")
        for mode in ("array", "list"):
            self.assertGreaterEqual(holder(report, self.made[mode]["holder"])["retainedBytes"], self.made[mode]["count"] * self.made[mode]["each_bytes"])
        self.assertEqual(report["main"]["holder"], self.made["array"]["holder"])
        self.check_names(report)
        self.assertIn("statics, handles and stacks", report["diagnosis"]["text"])


class Elsewhere(Case):
    time_limit = 300

    def test_server_gc_with_many_heaps(self):
        app = self.start("array,roots", "net11.0", ["--array", "200000"], {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2", "DOTNET_GCNoAffinitize": "1"})
        self.assertTrue(app.ask("now")["server"])
        report = self.session(app, "--pause-budget", "60000")
        made = app.details["array"]
        self.assertEqual(holder(report, made["holder"])["retainedBytes"], made["count"] * made["each_bytes"] + made["array_bytes"])
        app.assert_progress()

    def test_a_tight_memory_limit(self):
        app = self.start("array", "net11.0", ["--array", "1000000"], {"DOTNET_GCHeapHardLimit": "%x" % (64 << 20)})
        before = app.ask("now")["rss_bytes"]
        report = self.session(app, "--pause-budget", "60000")
        self.assertEqual(holder(report, "static Shop.Orders.All")["retainedObjects"], 1000001)
        self.assertLess(app.ask("now")["rss_bytes"] - before, 12 << 20, "the library's memory and the runtime's own")
        app.assert_progress()

    def test_while_threads_allocate(self):
        app = self.start("array,allocating", "net11.0", ["--array", "200000", "--allocating", "3"])
        report = self.session(app, "--pause-budget", "60000", "--roots", "NoCollection")  # no time for a collection between two stops
        self.assertEqual(holder(report, "static Shop.Orders.All")["retainedObjects"], 200001)
        app.assert_progress()

    def test_a_stop_that_does_not_fit_counts_types_or_is_refused(self):
        app = self.start("list", "net11.0", ["--list", "3000000"])
        code, said, _ = self.in_budget(app, "--pause-budget", "20", "--roots", "Exact")
        self.assertNotEqual(code, 0)
        self.assertIn("HeapTooLarge", said)
        report = self.within_budget(app, "--pause-budget", "30")
        self.assertEqual((report["walk"]["roots"], report["holders"], report["main"]["type"]), ("none", [], "Shop.Node"))
        only = report["walk"]["typesOnly"]
        self.assertGreater(only["holdersPauseBudgetMilliseconds"], 30)
        self.assertTrue(report["diagnosis"]["headline"].startswith("Types only"), report["diagnosis"])
        self.assertIn("holders need pauseBudgetMilliseconds: %d" % only["holdersPauseBudgetMilliseconds"], report["diagnosis"]["text"])
        if only["seenPercent"] == 100:
            self.assertAlmostEqual(type_of(report, "Shop.Node")["objects"], 3000000, delta=10)  # some are garbage
        else:
            self.assertLess(type_of(report, "Shop.Node")["objects"], 3000000)
            self.assertIn("% of the heap seen", report["diagnosis"]["headline"])
        app.assert_progress()


class SmallAgent(Case):
    """The graph of the heap finds no room where the command runs: it says so, and what there is, and is not killed."""
    time_limit = 300

    def types_only(self, framework):
        app = self.start("list", framework, ["--list", "3000000"])
        with memory_group(96 << 20) as group:
            if not group:
                self.skipTest("no control group of memory can be made here")
            report = self.session(app, "--pause-budget", "60000", group=group)
            self.assertEqual((report["walk"]["roots"], report["main"]["type"]), ("none", "Shop.Node"))
            only = report["walk"]["typesOnly"]
            self.assertEqual((only["seenPercent"], only["holdersPauseBudgetMilliseconds"]), (100, None))
            self.assertGreater(only["holdersAgentMemoryBytes"], 96 << 20)
            self.assertAlmostEqual(type_of(report, "Shop.Node")["objects"], 3000000, delta=10)
            self.assertRegex(report["diagnosis"]["text"], r"holders need a memory limit of \d+ Mi for the agent")
            out = os.path.join(app.folder, "refused")
            code, text, errors = local.drdotnet("run", "--profiler", "GCSurvivors", "--pid", app.pid, "-o", out, "--roots", "Exact", "--pause-budget", "60000",
                                                seconds=120, group=group)
            self.assertNotEqual(code, 0)
            self.assertIn("HeapTooLargeForAgent", text + errors)
        app.assert_progress()

    def test_known_before_the_stop(self):
        self.types_only("net11.0")

    def test_known_after_it_on_8(self):
        self.types_only("net8.0")


class Broken(Case):
    """The target or the agent ends at any moment of the walk: nothing is left, the application goes on."""
    time_limit = 300

    def begin(self, app, number):
        words = [local.DRDOTNET, "run", "--profiler", "GCSurvivors", "--pid", app.pid, "--pause-budget", "60000", "-o",
                 os.path.join(app.folder, "broken-%d" % number)]
        run = proc.Process(words, os.path.join(app.folder, "run-%d.log" % number))
        self.addCleanup(run.stop)
        return run

    def test_the_agent_is_killed(self):
        app = self.start("list", "net11.0", ["--list", "2000000"])
        traces = dotnet.Traces(app)
        for number, after in enumerate((0.1, 0.25, 0.4, 0.6)):
            run = self.begin(app, number)
            time.sleep(after)
            os.kill(run.pid, 9)
            run.popen.wait()
            app.assert_progress()

        def gone():
            left = dotnet.Traces(app).left_since(traces)
            left.pop("files", None)  # the staged copies are swept by the next session
            return not left
        proc.wait_until(gone, 60, "the library ends itself")
        for _ in range(3):  # a runtime that loads the library only now, late, keeps its copy from being swept
            report = self.session(app, "--pause-budget", "60000")
            self.assertEqual(holder(report, "static Shop.Chain.Head")["retainedObjects"], 2000000)
            proc.wait_until(gone, 60, "the library ends itself")
            if not dotnet.Traces(app).left_since(traces):
                break
        dotnet.assert_nothing_left(self, app, traces)

    def test_the_target_is_killed(self):
        for number, after in enumerate((0.1, 0.3)):
            app = self.start("list", "net11.0", ["--list", "1000000"])
            run = self.begin(app, number)
            time.sleep(after)
            app.stop()
            self.assertIsNotNone(proc.wait_until(lambda r=run: r.ended() or None, 60, "the command ends with its target"))
            self.assertRegex(run.log(), "ProcessExited|Succeeded|MB")


if __name__ == "__main__":
    unittest.main()
