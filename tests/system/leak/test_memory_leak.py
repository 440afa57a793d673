"""MemoryLeak by the local command on real applications whose growth is known."""
import os
import signal
import time
import unittest

from tests.system.leak.driven import Growth, LeakCase, Session
from tests.system.leak.test_leak_report import load, wrong
from tests.lib import dotnet, pod, proc

MODES = {"event": ("eventHandler", "Shop.Widget", "Shop.PriceFeed.Instance"), "static": ("staticCollection", "Shop.Order", "Shop.Cache._items"),
         "timer": ("timer", "Shop.Poller", "TimerQueue"), "closure": ("closure", "Shop.Callbacks.Add.(closure)", "Shop.Callbacks.Pending"),
         "cwt": ("conditionalWeakTable", "Shop.Metadata", "Shop.Attached.Keys")}
SERIES = {"numbers": ("static Shop.Series.Numbers", "int[]"), "stream": ("static Shop.Series.Log", "byte[]"),
          "table": ("static Shop.Series.Table", "System.Collections.Generic.Dictionary<int, int>.Entry[]")}


def ran_and_waited(pid):
    """{thread: (nanoseconds on a CPU, ready and without one)}"""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as f:
                found[tid] = tuple(int(word) for word in f.read().split()[:2])
        except OSError:
            pass  # it has ended
    return found


def given_more_than(app, times):
    """A function that waits, given the seconds that something took, until the process has been given so many times as many since now: threads
    that wait for a CPU get less of the time than the clock says, and the verdict goes by both."""
    began, before = time.monotonic(), ran_and_waited(app.pid)

    def wait(seconds):
        while True:
            now = ran_and_waited(app.pid)
            ran, waited = (sum(now[tid][i] - before[tid][i] for tid in before.keys() & now.keys()) for i in (0, 1))
            part = max(ran / (ran + waited), 0.02) if waited else 1
            if (time.monotonic() - began - seconds) * part > times * seconds:
                return
            time.sleep(0.1)
    return wait


class Kinds(LeakCase):
    def each_kind(self, framework, again=False):
        """With the exact way, then without a collection in the same process."""
        app = self.start(",".join(MODES), framework)
        before = dotnet.Traces(app)
        self.check(app, "exact")
        if again:
            self.check(app, "noCollection", "--roots", "NoCollection")  # by who holds it, it is not "held by no known root"
        app.assert_progress()
        dotnet.assert_nothing_left(self, app, before)

    def check(self, app, roots, *words):
        growth = Growth(app, {mode: 1000 for mode in MODES})
        report = self.leak(app, growth, *words)
        self.assertEqual(report["diagnosis"]["finding"], "grows", report["diagnosis"]["text"])
        self.assertEqual({w["roots"] for w in report["walks"]}, {roots})
        for mode, (pattern, type_name, root) in MODES.items():
            found = self.holder(report, pattern)
            self.assertEqual(found["growthCount"], growth.made[mode], mode)
            self.assertEqual(found["type"], type_name)
            self.assertIn(root, found["root"])

    def test_each_kind_on_8(self):
        self.each_kind("net8.0")

    def test_each_kind_on_9(self):
        self.each_kind("net10.0", True)

    def test_each_kind_on_10(self):
        self.each_kind("net11.0", True)


class Verdicts(LeakCase):
    def test_one_leak_and_its_figures(self):
        app = self.start("static")
        growth = Growth(app, {"static": 1000}, 2)
        report = self.leak(app, growth, walks=5, seconds=2)
        details = app.ask("grow static 0")["details"]
        found = self.holder(report, "staticCollection")
        self.assertEqual(report["growth"]["holder"], found["path"])
        self.assertTrue(found["path"].startswith("static Shop.Cache._items -> "), found["path"])
        for i, count in enumerate(found["counts"]):  # the last one may also be on the stack of the thread that has made it
            self.assertIn(count, ((1000 << i) - 1, 1000 << i))
        self.assertEqual(len(found["counts"]), len(report["walks"]))
        self.assertAlmostEqual(found["counts"][-1], details["count"], delta=1)
        self.assertGreaterEqual(found["growthBytes"], found["growthCount"] * details["each_bytes"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("static Shop.Cache._items grows by "), report["diagnosis"]["headline"])
        orders = next(t for t in report["types"] if t["type"] == "Shop.Order")
        self.assertGreaterEqual(orders["growthCount"], found["growthCount"])
        self.assertLessEqual(orders["survivorsAtMostBytes"], orders["bytes"][0])

    def test_an_event_is_named(self):
        app = self.start("event")
        report = self.leak(app, Growth(app, {"event": 2000}))
        self.assertTrue(report["diagnosis"]["headline"].startswith("Handlers of PriceFeed.Changed pile up: + "), report["diagnosis"]["text"])
        self.assertIn(" Widget (", report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["text"], r", held by handlers of the event PriceFeed\.Changed\.\n(.*\n)*"
                                                      r"Path: static Shop\.PriceFeed\.Instance -> PriceFeed\.Changed -> ")

    def test_collections_of_numbers_grow_by_leaps(self):
        app = self.start("churn," + ",".join(SERIES), objects=100_000)
        self.assertEqual({mode: app.details[mode]["count"] for mode in SERIES}, dict.fromkeys(SERIES, 100_000))
        report = self.leak(app, Growth(app, dict.fromkeys(SERIES, 200_000), 3), walks=4, seconds=2)  # three times as much at each walk
        self.assertEqual(self.verdicts(report), {root: (kind, "grows") for root, kind in SERIES.values()}, report["diagnosis"]["text"])
        self.assertEqual(report["diagnosis"]["finding"], "grows")
        self.check_capacities(app, report)
        self.check_one_leap(app)

    def verdicts(self, report):
        """What is said of the collections of numbers, by their root."""
        return {h["root"]: (h["type"], h["verdict"]) for h in report["holders"] if h["root"].startswith("static Shop.Series.")}

    def check_capacities(self, app, report):
        """The collections' own words against what the last walk saw."""
        for mode, (root, _) in SERIES.items():
            found = next(h for h in report["holders"] if h["root"] == root)
            self.assertLessEqual(found["bytes"][-1], app.ask("grow %s 0" % mode)["details"]["capacity_bytes"] + 100)

    def check_one_leap(self, app):
        """One array leaps once and stands still, another one has leapt thrice at once and stands: the first may go on, the second does not."""
        until = []

        def leap(walk):
            if walk > 1:  # stands for longer than twice what the leap took, by the clock and by what the process was given of it
                until[0](time.monotonic() - self.went[0])
                return
            for mode, times in (("numbers", 1), ("stream", 7)):
                details = app.ask("grow %s 0" % mode)["details"]
                each = 4 if mode == "numbers" else 1
                app.ask("grow %s %d" % (mode, details["capacity_bytes"] // each * times - details["count"] + 1000))
            until.append(given_more_than(app, 2.5))
        report = self.leak(app, leap)
        said = self.verdicts(report)
        self.assertEqual(said[SERIES["numbers"][0]][1], "uncertain", report["holders"])
        self.assertEqual(said[SERIES["stream"][0]][1], "levelledOff", report["holders"])
        self.assertEqual(report["diagnosis"]["finding"], "uncertain", report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["headline"], r"^May grow: static Shop\.Series\.Numbers jumped to .* in ")
        self.assertEqual(report["growth"]["heldBytes"], 0)

    def test_types_alone_where_the_heap_is_too_large_for_the_budget(self):
        app = self.start("static", objects=3_000_000)
        for budget in (60, 60, 75, 90, 120, 150, 180, 240, 300, 360, 480, 640):  # a loaded machine: the first that all objects can be counted in
            session = self.run_session(app, Growth(app, {"static": 1000}), budget=budget)
            if session.code == 0:
                break
            self.assertRegex(session.log(), "HeapTooLarge|PauseBudgetExceeded")
        report = load(session.out)
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
        report = self.leak(app, Growth(app, {"static": 10_000}), walks=2)
        self.assertEqual(report["diagnosis"]["finding"], "warmingUp", report["diagnosis"]["text"])
        self.assertEqual(report["growth"]["heldBytes"], 0)

    def test_churn_is_no_leak(self):
        app = self.start("churn")
        report = self.leak(app, lambda walk: None)
        self.assertIn(report["diagnosis"]["finding"], ("churn", "steady", "freeMemory"), report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No leak"), report["diagnosis"]["headline"])
        self.assertEqual(report["growth"]["heldBytes"], 0)
        self.assertEqual([h for h in report["holders"] if h["verdict"] == "grows"], [])

    def test_a_cache_that_fills_and_stays_is_no_leak(self):
        app = self.start("static")
        report = self.leak(app, lambda walk: walk == 1 and app.ask("grow static 100000"), seconds=3, walks=4)  # it stands for longer than it grew
        self.assertEqual(report["diagnosis"]["finding"], "levelledOff", report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No leak"), report["diagnosis"]["headline"])

    def test_unmanaged(self):
        app = self.start("unmanaged")
        report = self.leak(app, Growth(app, {"unmanaged": 10_000_000}, 4))
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
    """Objects on the large object heap, pinned ones that fragment the heap, and memory that the runtime keeps."""

    def look(self, framework):
        app = self.start("loh,torn", framework, objects=10)
        self.large(app)
        self.torn(app)

    def large(self, app):
        report = self.leak(app, Growth(app, {"loh": 5}))
        found = self.holder(report, "staticCollection")
        details = app.ask("grow loh 0")["details"]
        self.assertEqual(found["root"], details["holder"])
        self.assertLessEqual(found["bytes"][-1], details["bytes"] + 100_000)
        self.assertGreater(found["growthBytes"], 5_000_000)
        self.assertTrue(report["diagnosis"]["headline"].startswith(details["holder"] + " grows by "),
                        report["diagnosis"]["text"])
        self.assertIn("They are on the large object heap", report["diagnosis"]["text"])
        last = next(g for g in report["walks"][-1]["generations"] if g["generation"] == "loh")
        self.assertGreater(last["usedBytes"], 0.95 * found["bytes"][-1])

    def torn(self, app):
        growth = Growth(app, {"torn": 5000}, 2)
        report = self.leak(app, growth)
        details = app.ask("grow torn 0")["details"]
        diagnosis, walks = report["diagnosis"], report["walks"]
        found = next(h for h in report["holders"] if h["pattern"] == "handle")
        self.assertEqual(diagnosis["finding"], "freeMemory", diagnosis["text"])
        self.assertRegex(diagnosis["headline"], "^Heap fragmentation from pinned objects: \\+.*, \\+.* pinned$")
        pinned, gaps = (walks[-1][k] - walks[0][k] for k in ("pinnedObjects", "freeBytes"))
        self.assertAlmostEqual(pinned, growth.made["torn"], delta=1000)
        self.assertLessEqual(walks[-1]["pinnedObjects"], details["count"] + 1000)
        self.assertGreater(gaps, 32 << 20)
        self.assertLess(walks[-1]["freeBytes"], details["gap_bytes"] + 60_000_000, "those, and what the application's own collections left")
        self.assertIn("held by handles.", diagnosis["text"])
        self.assertIn("GCHandle.Free", diagnosis["text"])
        self.assertEqual((found["type"], found["rootKind"]), ("byte[]", "pinnedHandle"))

    def test_on_8(self):
        self.look("net8.0")

    def test_on_9(self):
        self.look("net10.0")

    def test_on_10(self):
        self.look("net11.0")

    def test_memory_that_the_runtime_keeps(self):
        """A thread allocates and keeps nothing; the runtime is told to collect only after each 96 MB."""
        app = self.start("allocating", objects=0, env={"DOTNET_GCgen0size": "0x6000000"})

        def allocate(walk):
            if walk == 1:
                app.ask("grow allocating 1")
            before = app.ask("now")["collections"][0]
            proc.wait_until(lambda: app.ask("now")["collections"][0] > before + 1, 60, "96 MB and more")
        report = self.leak(app, allocate)
        self.assertEqual(report["diagnosis"]["finding"], "freeMemory", report["diagnosis"]["text"])
        self.assertTrue(report["diagnosis"]["headline"].startswith("No object leak: the heap keeps "), report["diagnosis"]["headline"])
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
        report = self.leak(app, Growth(app, {"static": 10_000}))
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
    def begin(self, app, step="collect", seconds=60, walks=2):
        """A session that waits at a step. At "collect" its first walk has been made."""
        session = Session(self.folder, app, seconds, walks, step=step)
        self.addCleanup(session.stop)
        self.assertTrue(session.wait(), session.log())
        return session

    def test_the_process_ends_between_walks(self):
        app = self.start("static")
        session = self.begin(app)
        app.stop()
        session.go(False)
        self.assertNotEqual(session.end(), 0)
        self.assertIn("ProcessExited", session.log())
        self.assertFalse(os.path.exists(session.out) and os.listdir(session.out))

    def test_the_agent_ends_between_walks(self):
        app = self.start("static")
        before = dotnet.Traces(app)
        self.begin(app).stop(signal.SIGKILL)
        app.assert_progress()
        # its file is the next sweep's
        proc.wait_until(lambda: set(dotnet.Traces(app).left_since(before)) <= {"files"}, 60, "the library has left, and whoever lists processes")

    def in_the_middle(self, end):
        """While the library walks, at some moment: the session is let go where it asks for the walk."""
        app = self.start("array", objects=400_000)
        session = self.begin(app, "walk", 2, 10)
        session.go(False)
        time.sleep(0.02)
        end(app, session)
        return app, session

    def test_the_agent_ends_in_the_middle_of_walks(self):
        app, _ = self.in_the_middle(lambda app, session: session.stop(signal.SIGKILL))
        app.assert_progress()
        proc.wait_until(lambda: not dotnet.has_library(app.pid), 60, "the library has left")

    def test_the_process_ends_in_the_middle_of_walks(self):
        _, session = self.in_the_middle(lambda app, session: app.stop())
        session.end()
        self.assertRegex(session.log(), "ProcessExited|the process ended")

    def test_a_session_that_is_ended_early_compares_what_there_is(self):
        app = self.start("static")
        before = dotnet.Traces(app)
        session = self.begin(app)
        app.ask("grow static 1000")
        session.command.popen.send_signal(signal.SIGINT)
        session.go(False)
        self.assertEqual(session.end(), 0, session.log())
        report = load(session.out)
        self.assertEqual(len(report["walks"]), 2, session.log())
        self.assertTrue(report["time"]["endedEarly"])
        self.assertEqual(wrong(report), [])
        dotnet.assert_nothing_left(self, app, before)


if __name__ == "__main__":
    unittest.main()
