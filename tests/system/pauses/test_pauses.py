"""RuntimePauses on real runtimes, beside what the application itself counts: pauses on request, by whom and for what."""
import signal
import socket
import struct
import tempfile
import unittest

from tests.lib import dotnet, local, proc, schemas
from tests.system.pauses.pauses import SCHEMA, PauseApp, Session, counted, delta
from tests.system.profiler import tools


def valid(report):
    """What the schema has against it."""
    return ["%s: %s" % (list(e.path), e.message[:200]) for e in schemas.validator(SCHEMA).iter_errors(report)]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, framework, **how):
        app = PauseApp(framework, self.folder, **how)
        self.addCleanup(app.stop)
        app.ask("induce 2 1 2")  # so that all of it is compiled
        app.ask("stubborn 1 4")
        return app

    def session(self, app):
        session = Session(app, self.folder)
        self.addCleanup(session.stop, signal.SIGKILL)
        return session

    def check_truth(self, report, first, last):
        """Each collection is counted. The runtime's own sum has the moments before and after a pause, too, and leaves out what it stops for
        its background collector beside a collection."""
        truth, found = delta(first, last), counted(report)
        self.assertEqual([found[g] for g in ("Gen0", "Gen1", "Gen2")], [truth[g] for g in ("Gen0", "Gen1", "Gen2")])
        tolerance = 0.1 * truth["PausedMs"] + 0.05 * report["pauses"]["count"]
        beside = sum(r["totalMicroseconds"] for r in report["reasons"] if r["reason"] == "backgroundCollection") / 1000
        after = report["pauses"]["resumingMicroseconds"] / 1000
        self.assertGreater(found["PausedMs"] + after, truth["PausedMs"] - tolerance)
        self.assertLess(found["PausedMs"] - beside, truth["PausedMs"] + tolerance)

    def check_whole(self, report):
        self.assertEqual(valid(report), [])
        self.assertEqual((report["pauses"]["dropped"], report["pauses"]["abandoned"], report["limits"]), (0, 0, []))
        events, count = report["events"], report["pauses"]["count"]
        self.assertEqual({len(events[k]) for k in ("startMicroseconds", "suspendingMicroseconds", "stoppedMicroseconds", "kind")}, {count})
        self.assertEqual(events["startMicroseconds"], sorted(events["startMicroseconds"]))
        self.assertEqual((sum(report["histogram"]["pauses"]), sum(report["histogram"]["suspending"])), (count, count))
        self.assertEqual(sum(r["count"] for r in report["reasons"]), count)


class OnEachRuntime:
    framework, server = None, False

    def check_induced(self, report):
        asked = {}
        for group in report["inducers"]:
            asked.setdefault(group["method"], [0, 0, 0])
            asked[group["method"]] = [a + b for a, b in zip(asked[group["method"]], group["byGeneration"])]
            self.assertRegex(group["stack"][0], r"^System\.GC\.Collect\b", group)
            self.assertEqual([m for m in group["stack"] if m.startswith("Shop.Program")][-1], "Shop.Program.Main")
        self.assertEqual(asked.get("Shop.Cache.Trim"), [4, 0, 10])  # 4 of the stubborn ones, 10 induced
        self.assertIn("Shop.Cache.TrimLater", asked)
        self.assertEqual(sum(sum(n) for n in asked.values()), sum(g["induced"] for g in report["generations"]))

    def check_late(self, report):
        """Native code that cannot be interrupted: the collection begins while it has 30 of its 40 ms to go, on a machine that has time."""
        late = [t for t in report["lateThreads"] if t["thread"] == "stubborn"]
        self.assertGreaterEqual(sum(t["count"] for t in late), 1, report["lateThreads"])
        self.assertTrue(any((t["method"] or "").startswith("Shop.Native.S") for t in late), late)
        self.assertGreater(max(t["longestMicroseconds"] for t in late), 15000)
        places = [i for i, t in enumerate(report["lateThreads"]) if t["thread"] == "stubborn"]
        slow = [p for p in report["slowest"] if p["suspendingMicroseconds"] > 15000 and p["lateThread"] in places]
        self.assertGreaterEqual(len(slow), 1)
        self.assertTrue(all(report["kinds"][p["kind"]]["induced"] and p["inducer"] is not None for p in slow))

    def test_pauses_on_request(self):
        app = self.start(self.framework, server=self.server)
        before = dotnet.Traces(app)
        session = self.session(app)
        first = app.ask("induce 10 100 2")
        app.ask("stubborn 4 40")
        app.ask("background 1")
        app.ask("churn 10")
        last = app.ask("large 2")
        report = session.end()
        self.check_whole(report)
        self.check_truth(report, first, last)
        self.check_induced(report)
        self.check_late(report)
        causes = {c["cause"] for c in report["causes"]}
        self.assertLessEqual({"induced", "allocation", "allocationLarge"}, causes)
        self.assertTrue(any(g["background"] for g in report["generations"]), report["generations"])
        self.assertIn("backgroundCollection", {r["reason"] for r in report["reasons"]})
        self.assertRegex(report["diagnosis"]["headline"], r"^\d.*% of the time paused, longest .* m?s: ")
        self.assertIn("Shop.Cache.Trim 14 times", session.summary())
        self.assertIn("thread 'stubborn' in Shop.Native.S", session.summary())
        self.assertGreater(report["cost"]["maxWaitMicroseconds"], 0)
        self.assertEqual(report["cost"]["maxPauseMicroseconds"], 0, "a profiler that never pauses the application")
        app.ask("churn 1")
        dotnet.assert_nothing_left(self, app, before)


class OnNet8(OnEachRuntime, Case):
    framework = "net8.0"


class OnNet10(OnEachRuntime, Case):
    framework = "net10.0"


class OnNet11(OnEachRuntime, Case):
    framework = "net11.0"


class ServerCollectorOnNet8(OnEachRuntime, Case):
    framework, server = "net8.0", True


class ServerCollectorOnNet11(OnEachRuntime, Case):
    framework, server = "net11.0", True


def sample_stacks(app):
    """A session of the runtime's own sample profiler, which stops all threads each 10 ms: a connected socket. docs of CollectTracing2."""
    def text(s):
        return struct.pack("<I", len(s) + 1) + (s + "\0").encode("utf-16-le")
    payload = struct.pack("<IIBI", 16, 1, 0, 1) + struct.pack("<QI", 0, 5) + text("Microsoft-DotNETCore-SampleProfiler") + struct.pack("<I", 0)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(tools.glob.glob("%s/dotnet-diagnostic-%d-*-socket" % (app.tmp, app.pid))[0])
    s.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload)
    assert s.recv(28)[16:18] == b"\xff\x00"
    return s


class TooMany(Case):
    """More collections than are looked at: all are counted, and the report says what is an estimate."""

    def repeat(self, app, request, session, until):
        """Asks for that until the session says so."""
        answers = []

        def once():
            answers.append(app.ask(request))
            return until in session.log()
        proc.wait_until(once, 60, until, 0.01)
        return answers

    def check_sampled(self, report, session, first, last):
        self.check_truth(report, first, last)
        self.assertEqual(valid(report), [])
        self.assertEqual((report["pauses"]["dropped"], len(report["limits"])), (0, 1))
        self.assertIn("more often than 100 times a second", report["limits"][0])
        details = report["details"]
        self.assertLess(details["lookedAt"], details["collections"])
        self.assertGreaterEqual(details["lookedAt"], 500)
        self.assertIn("There were too many collections to look at each", session.summary())

    def check_estimates(self, report):
        """All are induced, of generation 0, by one method: what was looked at stands for all."""
        details, collections = report["details"], sum(g["collections"] for g in report["generations"])
        self.assertEqual(sum(g["induced"] for g in report["generations"]), collections)
        self.assertEqual([(c["cause"], c["count"], c["lookedAt"]) for c in report["causes"]], [("induced", details["collections"], details["lookedAt"])])
        self.assertEqual({i["method"] for i in report["inducers"]}, {"Shop.Cache.Trim"})
        one = 1  # may have been asked for before, and have begun after the library looked again
        self.assertAlmostEqual(sum(i["lookedAt"] for i in report["inducers"]), details["lookedAt"], delta=one)
        each = details["collections"] / details["lookedAt"]
        self.assertAlmostEqual(sum(i["count"] for i in report["inducers"]), details["collections"], delta=one * each + len(report["inducers"]))
        self.assertAlmostEqual(sum(c["totalMicroseconds"] for c in report["causes"]), report["pauses"]["length"]["totalMicroseconds"], delta=100)

    def check_on(self, framework, **how):
        app = self.start(framework, **how)
        before = dotnet.Traces(app)
        session = self.session(app)
        first = self.repeat(app, "induce 10 0 0", session, "collections come too often to look at each")[0]
        last = self.repeat(app, "induce 1 20 0", session, "collections are looked at again")[-1]
        report = session.end()
        self.check_sampled(report, session, first, last)
        self.check_estimates(report)
        dotnet.assert_nothing_left(self, app, before)

    def test_on_net8(self):
        self.check_on("net8.0")

    def test_on_net10(self):
        self.check_on("net10.0")

    def test_on_net11(self):
        self.check_on("net11.0", server=True)


class Ends(Case):
    def test_an_idle_application(self):
        """That there is no pause is a good report; then pauses of another kind: somebody looks at all stacks."""
        app = self.start("net11.0")
        session = self.session(app)
        report = session.end()
        self.check_whole(report)
        self.assertEqual((report["pauses"]["count"], report["diagnosis"]["finding"]), (0, "none"))
        self.assertRegex(report["diagnosis"]["headline"], "^No pause in .* s: the runtime never stopped the application$")
        session = self.session(app)
        with sample_stacks(app) as trace:
            for _ in range(50):
                trace.recv(65536)
                if trace.recv(65536) == b"":
                    break
                app.ask("stat")
        report = session.end()
        self.check_whole(report)
        self.assertEqual({r["reason"] for r in report["reasons"]}, {"other"})
        self.assertEqual(report["generations"], [])

    def test_the_agent_is_killed(self):
        app = self.start("net11.0")
        before = dotnet.Traces(app)
        session = self.session(app)
        app.ask("induce 3 1 0")
        session.stop(signal.SIGKILL)
        app.ask("churn 3")
        left = lambda: [k for k in dotnet.Traces(app).left_since(before) if k != "files"]
        proc.wait_until(lambda: not left(), 30, "the library leaves")
        session = self.session(app)  # and another one finds all in order, and removes the files
        first = app.ask("induce 3 1 0")
        self.check_truth(session.end(), first, first)

    def test_the_application_is_killed(self):
        app = self.start("net11.0")
        session = self.session(app)
        app.ask("induce 3 1 0")
        app.stop(signal.SIGKILL)
        self.assertIn(session.popen.wait(60), (0, 1))
        killed = {"code": 137, "signal": "SIGKILL"}
        known = session.report()["time"].get("processExit")
        self.assertIn(known, (killed, None), "a kernel before 6.15 tells only until somebody has waited for the process")
        self.assertIn("the process ended" + (" with exit code 137 (SIGKILL)." if known else "."), session.log())
        self.assertLessEqual(counted(session.report())["Gen0"], 3)

    def test_beside_another_profiler(self):
        tools.build()
        app = self.start("net11.0", env=tools.apm())
        session = self.session(app)
        first = app.ask("induce 5 1 1")
        report = session.end()
        self.check_truth(report, first, first)
        self.assertEqual(sum(g["count"] for g in report["inducers"]), 5)
