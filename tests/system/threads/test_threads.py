"""Threads on real applications whose threads are known (tests/apps/ThreadApp): what stands, what multiplies, and no alarm where neither does."""
import contextlib
import itertools
import json
import os
import socket
import tempfile
import time
import unittest

from tests.lib import dotnet, schemas
from tests.lib.local import drdotnet

FILES = {"summary.md", "report.html", "report.json"}
NOTHING = r"^Nothing found(: \d+ threads were looked at|: \d+ of \d+ threads wait .*|, but \d+ threads wait in the runtime: run Deadlocks)$"


def wrong(report):
    """What the schema says against it."""
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in schemas.validator("report-schema-threads.json").iter_errors(report)][:5]


def kinds(report):
    return {k["kind"]: k["threads"] for k in report["kinds"]}


def named(report, name):
    """{(kind, wait, place)} of the threads whose name begins so, as the kernel keeps it."""
    found = set()
    for thread in report["threads"]:
        if (thread["name"] or "").startswith(name[:15]):
            group = report["groups"][thread["group"]]
            found.add((group["kind"], group["wait"], group["place"] is not None and report["methods"][group["place"]]["name"]))
    return found


class OnEachRuntime:
    framework = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-threads-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def look(self, mode):
        tmp = os.path.join(self.folder, "tmp-" + mode)
        os.makedirs(tmp)
        app = dotnet.ThreadApp(mode, self.framework, self.folder, env={"TMPDIR": tmp})
        app.tmp = tmp
        self.addCleanup(app.stop)
        if mode != "starved":  # it has no worker left that would say so
            app.progress()  # its own threads have begun
        if mode == "multiply":
            time.sleep(5)  # when they began says something from 11 s on
        before, out = dotnet.Traces(app), os.path.join(self.folder, "report-" + mode)
        code, _, errors = drdotnet("run", "--threads", str(app.pid), "--duration", "2", "-o", out)
        self.assertEqual(code, 0, errors)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(wrong(report), [])
        self.assertEqual(set(os.listdir(out)), FILES)
        self.assertEqual(report["cost"]["maxPauseMicroseconds"], 0)
        self.assertEqual(sum(k["threads"] for k in report["kinds"]), len(report["threads"]))
        self.assertEqual(sum(g["threads"] for g in report["groups"]), len(report["threads"]))
        self.assertEqual(kinds(report).get("main"), 1)
        self.assertEqual(kinds(report).get("finalizer"), 1)
        if mode != "starved":
            app.assert_progress()
        if mode not in ("multiply", "multiply-slowly", "churn"):  # they have new threads of their own
            dotnet.assert_nothing_left(self, app, before)
        app.stop()
        return report

    def sick(self, mode, finding, state, headline):
        report = self.look(mode)
        lead = report["findings"][0] if report["findings"] else {}
        self.assertEqual((lead.get("id"), lead.get("state")), (finding, state), report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["headline"], headline)
        self.assertLessEqual(len(report["diagnosis"]["headline"]), 80)
        return report

    def healthy(self, *modes):
        for mode in modes:
            with self.subTest(mode):
                report = self.look(mode)
                self.assertEqual(report["findings"], [], report["diagnosis"]["text"])
                self.assertRegex(report["diagnosis"]["headline"], NOTHING)
        return report

    def test_threads_that_wait_for_a_lock(self):
        report = self.sick("locked", "ZombieThreads", "Found", "^6 threads wait for a lock in Shop.Sick.Read$")
        self.assertEqual(named(report, "reader-"), {("application", "lock", "Shop.Sick.Read")})

    def stacks(self, app, name, busy=False):
        """Of the threads that stand, by name; and the report. With `busy` the port is taken, so that the library cannot get in."""
        out = os.path.join(self.folder, name)
        with contextlib.ExitStack() as held:
            if busy:
                peer = held.enter_context(socket.socket(socket.AF_UNIX))
                peer.connect(next(os.path.join(app.tmp, x) for x in os.listdir(app.tmp) if x.startswith("dotnet-diagnostic-")))
                peer.send(b"DOTNET_IPC_V1")
            code, _, errors = drdotnet("run", "--threads", str(app.pid), "--duration", "1", "-o", out)
        if code:
            return errors, None
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(wrong(report), [])
        return {t["id"]: [report["methods"][i]["name"] for i in t["stack"]] for t in report["threads"] if t["still"]}, report

    def test_names_from_outside_are_those_of_the_library(self):
        tmp = os.path.join(self.folder, "tmp")
        os.makedirs(tmp)
        app = dotnet.ThreadApp("tasks", self.framework, self.folder, env={"TMPDIR": tmp})
        app.tmp = tmp
        self.addCleanup(app.stop)
        app.progress()
        before = dotnet.Traces(app)
        outside, report = self.stacks(app, "outside", busy=True)
        if self.framework == "net8.0":  # the runtime does not say how its methods are found
            self.assertIn("AttachFailed", outside)
            return
        self.assertEqual([(x["name"], "(AttachFailed: " in x["meaning"]) for x in report["limitsReached"]], [("names", True)])
        self.assertEqual([(f["id"], f["place"]) for f in report["findings"]], [("ZombieThreads", "Shop.Sick.Fetch")])
        inside, report = self.stacks(app, "inside")
        self.assertEqual(report["limitsReached"], [])
        both = [(inside[i], outside[i]) for i in inside if i in outside and "Shop.Sick.Fetch" in inside[i]]
        self.assertEqual(len(both), 24)
        self.assertEqual([x for x in both if x[0] != x[1]], [])
        frames = [(a, b) for i in inside if i in outside for a, b in itertools.zip_longest(inside[i], outside[i])]
        self.assertGreater(len(frames), 300)
        self.assertLessEqual(sum(a != b for a, b in frames), len(frames) / 100, [x for x in frames if x[0] != x[1]])
        app.assert_progress()
        dotnet.assert_nothing_left(self, app, before)

    def test_threads_in_native_calls(self):
        self.sick("native", "ZombieThreads", "Possible", "24 threads are in native calls in Shop.Sick.Listen$")

    def test_finalizers_that_do_not_return(self):
        report = self.sick("finalizer-lock", "FinalizerBlocked", "Found", "^Finalizer blocked: it waits (for a lock|in the runtime) in Shop.Sick.Read$")
        self.assertEqual(report["measured"]["finalizerWaiters"], 1)
        self.sick("finalizer-sleep", "FinalizerBlocked", "Found", "^Finalizer blocked: it sleeps in ")
        self.sick("finalizer-native", "FinalizerBlocked", "Found", "^Finalizer blocked: it is in a native call in Shop.Sick.Listen$")

    def test_a_pool_whose_workers_all_block(self):
        read = self.framework != "net8.0"  # the pool's queue
        report = self.sick("starved", "ThreadPoolStarvation", "Found" if read else "Possible",
                           "^%s: all 12 workers wait for a task in Shop.Sick.Fetch$" % ("Thread pool starved" if read else "The pool may be starved"))
        if read:
            for look in ("queueFirst", "queueSecond"):
                self.assertIn(report["measured"][look], range(28, 32))  # the application's own timer may wait, too
        self.assertEqual(kinds(report)["poolWorker"], 12)

    def test_names_that_are_not_what_they_say(self):
        report = self.healthy("names")
        names = [t["name"] for t in report["threads"]]
        self.assertFalse([n for n in names if any(c < " " or c in "\u202e\x7f" for c in n)])
        self.assertIn("<b>bold</b>", names)
        self.assertEqual(names.count(".NET Finalizer"), 2)
        with open(os.path.join(self.folder, "report-names", "summary.md"), encoding="utf-8") as f:
            self.assertNotIn("<b>", f.read())


class OnNewest(OnEachRuntime):
    """On the others with DRDOTNET_EVERY_RUNTIME only (make runtimes)."""

    def test_threads_that_never_sleep(self):
        report = self.healthy("spinners")
        spinners = [t for t in report["threads"] if t["name"].startswith("spinner-")]
        self.assertEqual({(t["state"], t["witness"]) for t in spinners}, {("R", "sampled")})
        self.assertEqual(named(report, "spinner-"), {("application", "runs", "Shop.Healthy.Spin")})

    def test_threads_that_wait_for_what_does_not_come(self):
        report = self.sick("zombies", "ZombieThreads", "Possible", "^Possible zombies: 24 threads wait for an event in Shop.Sick.Reserve$")
        self.assertEqual(named(report, "request-"), {("application", "event", "Shop.Sick.Reserve")})
        self.assertTrue(all(t["still"] and t["witness"] == "asleep" for t in report["threads"] if t["name"].startswith("request-")))
        self.assertFalse(any(t["still"] for t in report["threads"] if t["name"].startswith("busy")))

    def test_threads_that_wait_for_others(self):
        self.sick("joined", "ZombieThreads", "Possible", "24 threads wait for a thread to end in ")
        self.sick("tasks", "ZombieThreads", "Possible", "24 threads wait for a task in Shop.Sick.Fetch$")

    def test_threads_that_multiply(self):
        report = self.sick("multiply", "ThreadsMultiply", "Found", r"^Threads multiply: \d+ more in ")
        self.assertGreater(report["looks"]["threads"], report["looks"]["threadsFirst"])
        found = self.look("multiply-slowly")["findings"]  # whether one began lately enough is a matter of moments
        self.assertIn((found[0]["id"], found[0]["state"]), {("ThreadsMultiply", "Possible"), ("ZombieThreads", "Possible")})

    def test_two_thousand_threads_fit_a_screen(self):
        report = self.sick("thousands", "ZombieThreads", "Possible", "1000 threads wait for ")
        self.assertEqual(sum(g["threads"] for g in report["groups"][:2]), 2000)
        self.assertLess(len(report["groups"]), 25)
        self.assertEqual(report["tree"]["total"][0], len(report["threads"]) - report["looks"]["stacksUnknown"])
        self.sick("crowd", "ZombieThreads", "Possible", "120 threads wait for an event in Shop.Sick.Reserve$")

    def test_queues_in_which_nothing_is(self):
        report = self.healthy("consumers")
        self.assertEqual(named(report, "consumer-"), {("application", "queue", "Shop.Healthy.Consumers.lambda")})
        self.healthy("channels", "pulse", "signals")

    def test_what_comes_from_outside(self):
        report = self.healthy("receive")
        self.assertLessEqual({(kind, wait) for kind, wait, _ in named(report, "connection-")}, {("application", "io"), ("unknown", "other")},
                             "below a native function callers may be missing")
        self.healthy("accept", "watcher")

    def test_time_that_passes(self):
        self.healthy("idle", "timers", "scheduler", "waiters")

    def test_threads_that_come_and_go(self):
        self.healthy("churn", "burst", "finalizers")


OnOlder = OnNewest if os.environ.get("DRDOTNET_EVERY_RUNTIME") else OnEachRuntime


class Net8(OnOlder, unittest.TestCase):
    framework = "net8.0"


class Net9(OnOlder, unittest.TestCase):
    framework = "net9.0"


class Net10(OnOlder, unittest.TestCase):
    framework = "net10.0"


class Net11(OnNewest, unittest.TestCase):
    framework = "net11.0"


if __name__ == "__main__":
    unittest.main()
