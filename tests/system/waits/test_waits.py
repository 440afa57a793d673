"""Waits on real applications whose waits are known (tests/apps/WaitApp): kinds and places, shares, and no alarm where nothing blocks."""
import json
import os
import re
import tempfile
import unittest

from tests.lib import browser, dotnet, schemas
from tests.lib.local import WITHOUT_PERF, drdotnet

FILES = {"summary.md", "report.html", "report.json", "profile.pb.gz", "stacks.folded", "profile.speedscope.json"}
POINTS = 8  # what a share may be off: of looks at random moments in 6 s, on a machine that may be full (5 where it is not)
EVERY = os.environ.get("DRDOTNET_EVERY_RUNTIME")
MACHINE = {"CPUQueue"}  # what the machine that runs the test may add


def wrong(report):
    """What the schema says against it."""
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in schemas.validator("report-schema-waits.json").iter_errors(report)][:5]


def found(report):
    return [f["id"] for f in report["findings"] if f["id"] not in MACHINE]


def threads(report, kind):
    return next(k["threads"] for k in report["kinds"] if k["kind"] == kind)


class OnEachRuntime:
    framework = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-waits-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def follow(self, mode, seconds=3, under=()):
        """The report, and {kind: seconds} that the application measured meanwhile."""
        tmp = os.path.join(self.folder, "tmp-" + mode)
        os.makedirs(tmp)
        app = dotnet.WaitApp(mode, self.framework, self.folder, env={"TMPDIR": tmp})
        app.tmp = tmp
        self.addCleanup(app.stop)
        app.progress()  # its own threads have begun
        traces, out = dotnet.Traces(app), os.path.join(self.folder, "report-" + mode)
        before = app.line_of_waits()
        code, _, errors = drdotnet("run", "--waits", str(app.pid), "--duration", str(seconds), "-o", out, under=under)
        after = app.line_of_waits()
        self.assertEqual(code, 0, errors)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(wrong(report), [])
        self.assertEqual(set(os.listdir(out)), FILES)
        with open(os.path.join(out, "summary.md"), encoding="utf-8") as f:
            self.assertLessEqual(max(float(share) for share in re.findall(r"([\d.]+)%", f.read())), 100)
        self.assertEqual(report["cost"]["maxPauseMicroseconds"], 0)
        if mode != "starved":  # its own progress waits for a worker, too
            app.assert_progress()
        dotnet.assert_nothing_left(self, app, traces)
        app.stop()
        return report, {kind: s - before.get(kind, 0) for kind, s in after.items()}

    def locked(self, mode, place, what):
        report, _ = self.follow(mode)
        self.assertEqual(found(report), ["LockContention"], report["diagnosis"]["text"])
        top = report["places"][0]
        self.assertEqual((top["kind"], top["what"], top["method"]), ("lock", what, place))
        self.assertIn(top["threads"], (5, 6))  # who has it may take it again each time
        self.assertGreater(threads(report, "lock"), 4, report["diagnosis"]["text"])
        self.assertLess(threads(report, "lock"), 5.5)
        return top

    def assert_held_by_refresh(self, place):
        held = place["heldBy"]
        self.assertEqual((held["method"], held["waitsFor"]), ("Shop.Cache.Refresh", "Thread.Sleep"))
        self.assertGreaterEqual(held["looks"], held["waiting"] + held["running"])

    def test_a_monitor_and_who_holds_it(self):
        top = self.locked("monitor", "Shop.Cache.ByMonitor", "Monitor")
        self.assert_held_by_refresh(top)
        names = [f["name"] for f in top["stack"]]
        self.assertIn("Shop.Program.Start.lambda", names, "the stack is whole")

    def test_a_starved_pool(self):
        report, _ = self.follow("starved", 5)
        self.assertIn("SyncOverAsync", found(report), report["diagnosis"]["text"])
        self.assertEqual((report["places"][0]["kind"], report["places"][0]["method"]), ("task", "Shop.Orders.Get"))
        if report["pool"]["workersNew"] >= 2:
            self.assertEqual(found(report)[0], "ThreadPoolStarvation", report["diagnosis"]["text"])
            items = "" if self.framework == "net8.0" else r"; [\d,]+ items? waits?"
            self.assertRegex(report["diagnosis"]["headline"], r"^Thread pool starved: \d+ of \d+ workers block in (Shop\.|\u2026)Orders.Get%s$" % items)
        self.assertEqual(report["pool"]["queue"] is None, self.framework == "net8.0")

    def test_workers_that_never_wake(self):
        report, _ = self.follow("standstill")
        self.assertEqual(found(report), ["SyncOverAsync"])
        self.assertEqual((report["places"][0]["method"], report["places"][0]["throughout"]), ("Shop.Sick.WaitFor", 10))
        self.assertGreater(threads(report, "task"), 9.9)
        parts = report["timeline"]["parts"]
        blocked = [t for t in report["threads"] if t["poolWorker"] and t["kinds"].get("task")]
        self.assertEqual([t["states"] for t in blocked], ["T" * parts] * 10)
        self.assertLess(max(t["cpuNanoseconds"] for t in blocked), 1e9)


class OnNewest(OnEachRuntime):
    """On the others with DRDOTNET_EVERY_RUNTIME only (make runtimes)."""

    def test_other_locks(self):
        top = self.locked("semaphore", "Shop.Cache.BySemaphore", "SemaphoreSlim")
        self.assertIsNone(top["heldBy"], "it does not say")
        top = self.locked("rwlock", "Shop.Cache.ByReaderWriter", "ReaderWriterLockSlim")
        if self.framework != "net8.0":
            self.assert_held_by_refresh(top)

    def test_looks_alone_where_perf_events_are_refused(self):
        report, _ = self.follow("pool-socket", under=WITHOUT_PERF)
        self.assertEqual(found(report)[:1], ["SynchronousIO"], report["diagnosis"]["text"])
        self.assertEqual(report["places"][0]["method"], "Shop.Database.Query")
        self.assertAlmostEqual(threads(report, "socket"), 6, delta=0.6)
        self.assertEqual(report["sampling"]["recordedPercent"], 0)
        self.assertGreater(report["sampling"]["threadLooks"], 5)
        self.assertIn("switches", [x["name"] for x in report["limitsReached"]])

    def test_shares_of_a_mix(self):
        report, truth = self.follow("mixed", 6)
        kinds = ("task", "socket", "sleep", "lock")
        due, is_ = sum(truth[k] for k in kinds), sum(threads(report, k) for k in kinds)
        for kind in kinds:
            self.assertAlmostEqual(100 * threads(report, kind) / is_, 100 * truth[kind] / due, delta=POINTS, msg="%s of %s" % (kind, truth))
        self.assertIn("SyncOverAsync", found(report), report["diagnosis"]["text"])
        with browser.Browser(self.folder) as b:
            page = b.open("file://" + os.path.join(self.folder, "report-mixed/report.html")).ready()
            shown = page.value("['#states tbody tr', '#states td.strip svg', '#locks tbody tr', '.flame .f.kind.k-task'].map("
                               "what => document.querySelectorAll(what).length)")
            self.assertEqual(page.problems, [])
        self.assertGreaterEqual(shown[0], 5)
        self.assertEqual(shown[1], 2 * shown[0])
        self.assertGreaterEqual(shown[2], 1)
        self.assertGreaterEqual(shown[3], 3)

    def test_synchronous_io_sleep_and_console(self):
        for mode, kind, place, finding in (("pool-socket", "socket", "Shop.Database.Query", "SynchronousIO"),
                                           ("sleep", "sleep", "Shop.Sick.Retry", "SleepInPool"),
                                           ("console", "console", "Shop.Sick.Log", "ConsoleWrites")):
            with self.subTest(mode):
                report, _ = self.follow(mode)
                self.assertEqual(found(report)[:1], [finding], report["diagnosis"]["text"])
                top = next(p for p in report["places"] if p["kind"] == kind)
                self.assertEqual(top["method"], place)

    def test_workers_behind_a_lock_whose_holder_waits(self):
        report, _ = self.follow("starved-lock", 4)
        self.assertIn("LockContention", found(report), report["diagnosis"]["text"])
        top = report["places"][0]
        self.assertEqual((top["kind"], top["method"]), ("lock", "Shop.Sick.ReadTable"))
        self.assertEqual((top["heldBy"]["method"], top["heldBy"]["waitsFor"]), ("Shop.Database.Query", "a socket"))

    def test_a_burst_and_a_convoy(self):
        report, _ = self.follow("burst", 4)
        self.assertIn("SyncOverAsync", found(report), report["diagnosis"]["text"])
        self.assertEqual((report["places"][0]["kind"], report["places"][0]["method"]), ("task", "Shop.Orders.Get"))
        if self.framework != "net8.0":
            self.assertGreater(report["pool"]["queue"]["most"], 5)
        report, _ = self.follow("convoy", 2)
        self.assertEqual(found(report)[:1], ["LockContention"], report["diagnosis"]["text"])
        self.assertEqual(report["places"][0]["method"], "Shop.Sick.Append")

    @unittest.skipUnless(EVERY, "make runtimes")
    def test_a_pipe_that_is_read_slowly(self):
        report, _ = self.follow("pipe")
        self.assertEqual(sorted(p["kind"] for p in report["places"][:2]), ["file", "lock"], report["diagnosis"]["text"])
        self.assertEqual(next(p["method"] for p in report["places"] if p["kind"] == "file"), "Shop.Sick.WriteLine")

    @unittest.skipUnless(EVERY, "make runtimes")
    def test_a_mutex_looks_like_an_event(self):
        report, _ = self.follow("mutex")
        self.assertEqual(found(report), [], report["diagnosis"]["text"])
        self.assertIn("threads of the application that wait to be told", [p["what"] for p in report["idle"]])

    def test_what_only_idles(self):
        for mode in ("idle", "consumers", "own-threads", "server", "timers", "long-polls", "uncontended", "async-io", "short-lock"):
            with self.subTest(mode):
                report, _ = self.follow(mode, 2)
                if MACHINE & {f["id"] for f in report["findings"]}:
                    continue  # without a CPU its code is still compiled, and others wait for that
                self.assertEqual(found(report), [], report["diagnosis"]["text"])
                blocked = sum(p["threadsWaiting"] for p in report["places"] if p["kind"] not in ("cpu", "fault"))
                self.assertLess(blocked, 0.3, report["diagnosis"]["text"])


OnOlder = OnNewest if EVERY else OnEachRuntime


class Net8(OnOlder, unittest.TestCase):
    framework = "net8.0"


class Net9(OnOlder, unittest.TestCase):
    framework = "net9.0"

    def test_the_new_lock(self):
        self.assert_held_by_refresh(self.locked("lock", "Shop.Cache.ByNewLock", "Lock"))


class Net10(OnOlder, unittest.TestCase):
    framework = "net10.0"


class Net11(OnNewest, unittest.TestCase):
    framework = "net11.0"

    def test_the_new_lock(self):
        self.assert_held_by_refresh(self.locked("lock", "Shop.Cache.ByNewLock", "Lock"))


if __name__ == "__main__":
    unittest.main()
