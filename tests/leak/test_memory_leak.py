"""MemoryLeak by the local command on real applications whose growth is known."""
import collections
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from tests.leak.test_leak_report import FILES, load, wrong
from tests.lib import dotnet, local, pod, proc

MODES = {"event": ("eventHandler", "Shop.Widget", "Shop.PriceFeed.Instance"), "static": ("staticCollection", "Shop.Order", "Shop.Cache._items"),
         "timer": ("timer", "Shop.Poller", "TimerQueue"), "closure": ("closure", "Shop.Callbacks.Add.(closure)", "Shop.Callbacks.Pending"),
         "cwt": ("conditionalWeakTable", "Shop.Metadata", "Shop.Attached.Keys")}
SERIES = {"numbers": ("static Shop.Series.Numbers", "int[]"), "stream": ("static Shop.Series.Log", "byte[]"),
          "table": ("static Shop.Series.Table", "System.Collections.Generic.Dictionary<int, int>.Entry[]")}
A_SECOND = {"unmanaged": 40_000_000, "loh": 20, "torn": 20_000}
FIRST = {"numbers": 20_000, "stream": 80_000, "table": 4_000}  # twice as many after each 0.8 s: an array leaps between any two walks
OBJECTS_A_SECOND = 4000


def made_by_then(mode, seconds):
    if mode in FIRST:
        return int(FIRST[mode] * (2 ** min(seconds / 0.8, 10) - 1))
    return int(seconds * A_SECOND.get(mode, OBJECTS_A_SECOND))


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

    @contextlib.contextmanager
    def growing(self, app, modes):
        """The application makes more of each mode, as much as time has passed."""
        over, failed, began, made = threading.Event(), [], time.monotonic(), collections.Counter()

        def grow():
            try:
                while not over.wait(0.05):
                    for mode in modes:
                        more = made_by_then(mode, time.monotonic() - began) - made[mode]
                        app.ask("grow %s %d" % (mode, more))
                        made[mode] += more
            except (AssertionError, OSError) as e:
                failed.append(e)
        thread = threading.Thread(target=grow)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self.assertEqual(failed, [])

    def leak(self, app, *words, seconds=2, walks=3, all_walks=True):
        """The report of a session. A machine with much else to do may leave out walks between the first and the last."""
        out = os.path.join(self.folder, "reports-%d" % time.monotonic_ns())
        code, text, errors = local.drdotnet("run", "--profiler", "MemoryLeak", "--duration", "%ds" % seconds, "--walks", walks,
                                            "--pid", app.pid, "-o", out, "--pause-budget", 60000, *words, seconds=120)
        self.assertEqual(code, 0, text + errors)
        self.assertEqual(set(os.listdir(out)), FILES)
        report = load(out)
        self.assertEqual(wrong(report), [])
        self.assertIn(len(report["walks"]), [walks] if all_walks else range(2, walks + 1))
        return report

    def verdicts(self, report):
        """What is said of the collections of numbers, by their root."""
        return {h["root"]: (h["type"], h["verdict"]) for h in report["holders"] if h["root"].startswith("static Shop.Series.")}

    def holder(self, report, pattern, verdicts=("grows",)):
        found = [h for h in report["holders"] if h["pattern"] == pattern and h["verdict"] in verdicts]
        self.assertTrue(found, "no %s in %s" % (pattern, json.dumps(report["holders"], indent=1)))
        return found[0]


class Kinds(LeakCase):
    def each_kind(self, framework, again=False):
        """With the exact way, then without a collection in the same process."""
        app = self.start(",".join(MODES), framework)
        before = dotnet.Traces(app)
        with self.growing(app, MODES):
            report = self.leak(app)
        self.assertEqual(report["diagnosis"]["finding"], "grows", report["diagnosis"]["text"])
        self.check_holders(report, "exact", ("grows",))
        if again:
            with self.growing(app, MODES):
                report = self.leak(app, "--roots", "NoCollection", all_walks=False)
            self.check_holders(report, "noCollection", ("grows", "warmingUp"))  # by who holds it, it is not "held by no known root"
        app.assert_progress()
        dotnet.assert_nothing_left(self, app, before)

    def check_holders(self, report, roots, verdicts):
        self.assertEqual({w["roots"] for w in report["walks"]}, {roots})
        for mode, (pattern, type_name, root) in MODES.items():
            found = self.holder(report, pattern, verdicts)
            self.assertGreaterEqual(found["growthCount"], OBJECTS_A_SECOND, mode)
            self.assertEqual(found["type"], type_name)
            self.assertIn(root, found["root"])

    def test_each_kind_on_8(self):
        self.each_kind("net8.0")

    def test_each_kind_on_9(self):
        self.each_kind("net9.0", True)

    def test_each_kind_on_10(self):
        self.each_kind("net10.0", True)


class Verdicts(LeakCase):
    def test_one_leak_and_its_figures(self):
        app = self.start("static")
        with self.growing(app, ["static"]):
            report = self.leak(app, walks=5, seconds=4)
        details = app.ask("grow static 0")["details"]
        found = self.holder(report, "staticCollection")
        self.assertEqual(report["growth"]["holder"], found["path"])
        self.assertTrue(found["path"].startswith("static Shop.Cache._items -> "), found["path"])
        self.assertEqual(sorted(found["counts"]), found["counts"])
        self.assertLessEqual(found["counts"][-1], details["count"])
        self.assertGreaterEqual(found["growthBytes"], found["growthCount"] * details["each_bytes"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("static Shop.Cache._items grows by "), report["diagnosis"]["headline"])
        orders = next(t for t in report["types"] if t["type"] == "Shop.Order")
        self.assertGreaterEqual(orders["growthCount"], found["growthCount"])
        self.assertLessEqual(orders["survivorsAtMostBytes"], orders["bytes"][0])

    def test_an_event_is_named(self):
        app = self.start("event")
        with self.growing(app, ["event"]):
            report = self.leak(app)
        self.assertTrue(report["diagnosis"]["headline"].startswith("Handlers of PriceFeed.Changed pile up: + "), report["diagnosis"]["text"])
        self.assertIn(" Widget (", report["diagnosis"]["text"])
        self.assertIn(", held by handlers of the event PriceFeed.Changed.\nPath: static Shop.PriceFeed.Instance -> PriceFeed.Changed -> ",
                      report["diagnosis"]["text"])

    def test_collections_of_numbers_grow_by_leaps(self):
        app = self.start("churn," + ",".join(SERIES), objects=10_000)
        with self.growing(app, SERIES):
            report = self.leak(app, walks=5, seconds=4)
        self.assertEqual(self.verdicts(report), {root: (kind, "grows") for root, kind in SERIES.values()}, report["diagnosis"]["text"])
        self.assertEqual(report["diagnosis"]["finding"], "grows")
        self.check_capacities(app, report)
        self.check_one_leap(app)

    def check_capacities(self, app, report):
        """The collections' own words against what the last walk saw."""
        for mode, (root, _) in SERIES.items():
            found = next(h for h in report["holders"] if h["root"] == root)
            self.assertLessEqual(found["bytes"][-1], app.ask("grow %s 0" % mode)["details"]["capacity_bytes"] + 100)

    def check_one_leap(self, app):
        """One array leaps once and stands still, another one has leapt thrice at once and stands: the first may go on, the second does not."""
        failed = []

        def leap():
            try:
                proc.wait_until(lambda: dotnet.has_library(app.pid), 60, "the library is attached")
                time.sleep(1.0)
                for mode, times in (("numbers", 1), ("stream", 7)):
                    details = app.ask("grow %s 0" % mode)["details"]
                    each = 4 if mode == "numbers" else 1
                    app.ask("grow %s %d" % (mode, details["capacity_bytes"] // each * times - details["count"] + 1000))
            except (AssertionError, OSError) as e:
                failed.append(e)
        thread = threading.Thread(target=leap)
        thread.start()
        report = self.leak(app, walks=10, seconds=6, all_walks=False)
        thread.join()
        self.assertEqual(failed, [])
        said = self.verdicts(report)
        self.assertEqual(said[SERIES["numbers"][0]][1], "uncertain", report["holders"])
        self.assertIn(said[SERIES["stream"][0]][1], ("levelledOff",) if len(report["walks"]) == 10 else ("levelledOff", "uncertain"), report["holders"])
        self.assertEqual(report["diagnosis"]["finding"], "uncertain", report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["headline"], r"^May grow: static Shop\.Series\..* leapt to .* in ")
        self.assertEqual(report["growth"]["heldBytes"], 0)

    def test_types_alone_where_the_heap_is_too_large_for_the_budget(self):
        app = self.start("static", objects=3_000_000)
        with self.growing(app, ["static"]):
            for budget in (60, 60, 75, 90, 120, 150, 180, 240, 300, 360):  # a loaded machine: the first that all objects can be counted in
                out = os.path.join(self.folder, "types-%d" % time.monotonic_ns())
                code, text, errors = local.drdotnet("run", "--profiler", "MemoryLeak", "--duration", "2s", "--walks", 3, "--pid", app.pid, "-o", out,
                                                    "--pause-budget", budget, seconds=120)
                if code == 0:
                    break
                self.assertRegex(text + errors, "HeapTooLarge|PauseBudgetExceeded")
        report = load(out)
        self.assertEqual(wrong(report), [])
        self.assertIn("none", [w["roots"] for w in report["walks"]])
        self.assertEqual(report["holders"], [])
        self.assertIn("holders need pauseBudgetMilliseconds: ", report["diagnosis"]["text"])
        orders = next(t for t in report["types"] if t["type"] == "Shop.Order")
        self.assertGreater(orders["growthCount"], 0)
        self.assertGreaterEqual(orders["counts"][0], 3_000_000)
        app.assert_progress()

    def test_two_walks_of_a_process_that_has_just_started(self):
        app = self.start("static")
        with self.growing(app, ["static"]):
            report = self.leak(app, walks=2)
        self.assertEqual(report["diagnosis"]["finding"], "warmingUp", report["diagnosis"]["text"])
        self.assertEqual(report["growth"]["heldBytes"], 0)

    def test_churn_is_no_leak(self):
        app = self.start("churn")
        report = self.leak(app)
        self.assertIn(report["diagnosis"]["finding"], ("churn", "steady", "freeMemory"), report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No leak"), report["diagnosis"]["headline"])
        self.assertEqual(report["growth"]["heldBytes"], 0)
        self.assertEqual([h for h in report["holders"] if h["verdict"] == "grows"], [])

    def test_a_cache_that_fills_and_stays_is_no_leak(self):
        app = self.start("static")
        grown = threading.Timer(0.1, lambda: app.ask("grow static 100000"))
        out = threading.Thread(target=grown.run)
        first = proc.wait_until(lambda: app.progress(), 10, "progress")
        self.assertTrue(first)
        out.start()
        report = self.leak(app, walks=5, seconds=10)  # on a busy machine it is filled for some seconds
        out.join()
        self.assertIn(report["diagnosis"]["finding"], ("levelledOff", "steady"), report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No leak"), report["diagnosis"]["headline"])

    def test_unmanaged(self):
        app = self.start("unmanaged")
        with self.growing(app, ["unmanaged"]):
            report = self.leak(app)
        diagnosis = report["diagnosis"]
        self.assertEqual(diagnosis["finding"], "unmanaged", diagnosis["text"])
        self.assertTrue(diagnosis["headline"].startswith("Unmanaged memory grows by "), diagnosis["headline"])
        self.assertIn("Mappings that grew: ", diagnosis["text"])
        kinds = {k["kind"]: k["last"]["residentBytes"] - k["first"]["residentBytes"] for k in report["memory"]["kinds"]}
        native = kinds["malloc"] + kinds["anonymous"]
        self.assertGreater(native, 10_000_000)
        self.assertGreater(native, 0.8 * report["growth"]["unmanagedBytes"])
        self.assertEqual(report["growth"]["heldBytes"], 0)


class LargeAndPinned(LeakCase):
    """Objects on the large object heap, pinned ones that tear the heap, and memory that the runtime keeps."""

    def look(self, framework):
        app = self.start("loh,torn", framework, objects=10)
        self.large(app)
        self.torn(app)

    def large(self, app):
        with self.growing(app, ["loh"]):
            report = self.leak(app)
        found = self.holder(report, "staticCollection")
        details = app.ask("grow loh 0")["details"]
        self.assertEqual(found["root"], details["holder"])
        self.assertLessEqual(found["bytes"][-1], details["bytes"] + 100_000)
        self.assertGreater(found["growthBytes"], 5_000_000)
        self.assertTrue(report["diagnosis"]["headline"].startswith(details["holder"] + " grows by "),
                        report["diagnosis"]["text"])
        self.assertIn("They lie on the large object heap", report["diagnosis"]["text"])
        last = next(g for g in report["walks"][-1]["generations"] if g["generation"] == "loh")
        self.assertGreater(last["usedBytes"], 0.95 * found["bytes"][-1])

    def torn(self, app):
        with self.growing(app, ["torn"]):
            report = self.leak(app)
        details = app.ask("grow torn 0")["details"]
        diagnosis, walks = report["diagnosis"], report["walks"]
        found = next(h for h in report["holders"] if h["pattern"] == "handle")
        self.assertEqual(diagnosis["finding"], "freeMemory", diagnosis["text"])
        self.assertRegex(diagnosis["headline"], "^Pinned objects tear the heap: . .* of gaps, . .* pinned$")
        pinned, gaps = (walks[-1][k] - walks[0][k] for k in ("pinnedObjects", "freeBytes"))
        self.assertGreater(pinned, 8_000)
        self.assertLessEqual(walks[-1]["pinnedObjects"], details["count"] + 1000)
        self.assertGreater(gaps, 32 << 20)
        self.assertLess(walks[-1]["freeBytes"], details["gap_bytes"] + 60_000_000, "those, and what the application's own collections left")
        self.assertIn("held by handles.", diagnosis["text"])
        self.assertIn("GCHandle.Free", diagnosis["text"])
        self.assertEqual((found["type"], found["rootKind"]), ("byte[]", "pinnedHandle"))

    def test_on_8(self):
        self.look("net8.0")

    def test_on_9(self):
        self.look("net9.0")

    def test_on_10(self):
        self.look("net10.0")

    def test_memory_that_the_runtime_keeps(self):
        """A thread allocates and keeps nothing; the runtime is told to collect only after each 96 MB."""
        app = self.start("allocating", objects=0, env={"DOTNET_GCgen0size": "0x6000000"})
        failed = []

        def allocate():
            try:
                proc.wait_until(lambda: dotnet.has_library(app.pid), 60, "the library is attached")
                time.sleep(0.7)
                app.ask("grow allocating 1")
            except (AssertionError, OSError) as e:
                failed.append(e)
        thread = threading.Thread(target=allocate)
        thread.start()
        report = self.leak(app, walks=3, seconds=4)
        thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(report["diagnosis"]["finding"], "freeMemory", report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No leak of objects: the heap keeps "), report["diagnosis"]["headline"])
        self.assertEqual(report["growth"]["heldBytes"], 0)


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Limits(LeakCase):
    def test_the_container_s_limit(self):
        folder = next((h for h in pod.hierarchies() if any(has_limit(h + "/" + name) for name in os.listdir(h))), None)
        if not folder:
            self.skipTest("no memory controller is given to this machine's tests")
        group = folder + "/drdotnet-leak-%d-%d" % (os.getpid(), time.monotonic_ns())
        os.mkdir(group)
        self.addCleanup(lambda: proc.wait_until(lambda: remove(group), 10, "the control group is empty"))
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(group + "/" + name):
                with open(group + "/" + name, "w") as f:
                    f.write(str(1 << 30))
        app = self.start("static")
        with open(group + "/cgroup.procs", "w") as f:
            f.write(str(app.pid))
        with self.growing(app, ["static"]):
            report = self.leak(app)
        app.stop()
        growth = report["growth"]
        self.assertEqual((growth["limitKind"], growth["limitBytes"]), ("container", 1 << 30))
        self.assertIn("Reaches the container's memory limit of 1024Mi in ", report["diagnosis"]["text"])
        expected = (growth["limitBytes"] - growth["usedBytes"]) / growth["bytesPerMinute"] * 60
        self.assertAlmostEqual(growth["secondsToLimit"], expected, delta=1 + expected / 100)


def has_limit(group):
    return any(os.path.exists(group + "/" + name) for name in ("memory.limit_in_bytes", "memory.max"))


def remove(group):
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


class Faults(LeakCase):
    def session(self, app, seconds, walks):
        """A session that goes on, after its first walk."""
        out = os.path.join(self.folder, "reports-%d" % time.monotonic_ns())
        command = proc.Process([local.DRDOTNET, "run", "--profiler", "MemoryLeak", "--duration", "%ds" % seconds, "--walks", str(walks),
                                "--pid", str(app.pid), "-o", out], log=os.path.join(self.folder, "session-%d.log" % time.monotonic_ns()))
        self.addCleanup(command.stop)
        return command, out

    def attached(self, app):
        return dotnet.has_library(app.pid)

    def test_the_process_ends_between_walks(self):
        app = self.start("static")
        command, out = self.session(app, 60, 2)
        proc.wait_until(lambda: self.attached(app), 60, "the library is attached")
        time.sleep(0.3)
        app.stop()
        code = command.popen.wait(60)
        self.assertNotEqual(code, 0)
        self.assertIn("ProcessExited", command.log())
        self.assertFalse(os.path.exists(out) and os.listdir(out))

    def test_the_agent_ends_between_walks(self):
        app = self.start("static")
        before = dotnet.Traces(app)
        command, _ = self.session(app, 60, 2)
        proc.wait_until(lambda: self.attached(app), 60, "the library is attached")
        time.sleep(0.3)
        command.stop(signal.SIGKILL)
        app.assert_progress()
        proc.wait_until(lambda: not self.attached(app), 60, "the library has left")
        after = dotnet.Traces(app)
        self.assertEqual([k for k in after.left_since(before) if k != "files"], [])  # its file is the next sweep's

    def test_the_agent_ends_in_the_middle_of_walks(self):
        app = self.start("array", objects=400_000)
        command, _ = self.session(app, 2, 10)
        proc.wait_until(lambda: self.attached(app), 60, "the library is attached")
        time.sleep(0.5)
        command.stop(signal.SIGKILL)
        app.assert_progress()
        proc.wait_until(lambda: not self.attached(app), 60, "the library has left")

    def test_the_process_ends_in_the_middle_of_walks(self):
        app = self.start("array", objects=400_000)
        command, _ = self.session(app, 2, 10)
        proc.wait_until(lambda: self.attached(app), 60, "the library is attached")
        time.sleep(0.5)
        app.stop()
        command.popen.wait(60)
        self.assertRegex(command.log(), "ProcessExited|the process ended")

    def test_a_session_that_is_ended_early_compares_what_there_is(self):
        app = self.start("static")
        before = dotnet.Traces(app)
        with self.growing(app, ["static"]):
            command, out = self.session(app, 60, 2)
            proc.wait_until(lambda: self.attached(app), 60, "the library is attached")
            time.sleep(1.5)
            command.popen.send_signal(signal.SIGINT)
            command.popen.wait(60)
        report = load(out)
        self.assertEqual(len(report["walks"]), 2, command.log())
        self.assertTrue(report["time"]["endedEarly"])
        self.assertEqual(wrong(report), [])
        dotnet.assert_nothing_left(self, app, before)


if __name__ == "__main__":
    unittest.main()
