"""The Exceptions profiler on real .NET 8, 9 and 10, held against what the application knows that it throws."""
import os
import signal
import unittest

from tests.lib import dotnet, proc, readers, schemas
from tests.system.exceptions.target import ExceptionsCase, load

OPERATIONS = 100
MODES = ("plain", "same", "filter", "nested", "rethrow", "throwex", "async", "generic", "dynamic", "constructor", "static", "cancel", "parse")
CAUGHT = {  # mode: by whom, and how far that is
    "plain": ("Shop.Plain.Run", "far"), "same": ("Shop.Same.Run", "sameMethod"), "filter": ("Shop.Filter.Run", "far"),
    "nested": ("Shop.Nested.Outer", "caller"),
    "rethrow": ("Shop.Rethrow.Again", "caller"), "generic": ("Shop.Generic.Run", "caller"), "constructor": ("Shop.Constructor.Run", "caller"),
    "static": ("Shop.Static.Run", "sameMethod"), "parse": ("Shop.Parse.Number", "sameMethod"), "async": ("Shop.Async.Level5", "task"),
}
SHAPES = {"plain": "Order # of customer * was not found", "same": "not there", "filter": "filtered #", "cancel": "The operation was canceled"}


def of_mode(report, mode, way=None):
    """The sites whose stack has the mode's class on it."""
    part = "Shop.%s." % {"throwex": "rethrow", "static": "static"}.get(mode, mode).capitalize()
    return [s for s in report["sites"] if any(part in f for f in s["stack"]) and way in (None, s["way"])]


class Counts:
    framework = None
    time_limit = 400

    def test_each_is_counted_once(self):
        app, report, _, out = self.burst(",".join(MODES), self.framework, OPERATIONS)
        schemas.validator("report-schema-exceptions.json").validate(report)
        self.assertTrue(report["sampling"]["exact"], report["sampling"])
        self.assertEqual(report["sampling"]["withoutStack"], 0)
        new = {m: app.details[m]["new"] * OPERATIONS for m in MODES}
        self.assertEqual(report["thrown"]["count"], sum(new.values()), report["sites"])
        self.assertEqual(report["thrown"]["awaited"], sum(app.details[m]["awaits"] for m in MODES) * OPERATIONS)
        rethrown = sum(app.details[m]["rethrown"] for m in MODES) * OPERATIONS
        self.assertEqual(report["thrown"]["rethrown"], rethrown)
        self.assertGreaterEqual(report["thrown"]["withInner"], 2 * OPERATIONS, "nested, and the type that could not be initialized")
        for mode in MODES:
            self.check_mode(app.details[mode], mode, report)
        self.check_formats(report, out)

    def check_mode(self, truth, mode, report):
        sites = [s for s in of_mode(report, mode, "new") if s["type"] == truth["type"] and s["method"] == truth["method"]]
        if mode in ("rethrow", "throwex"):  # both throw in one method, and differ in who catches
            again = "Shop.Rethrow.Again" + ("Ex" if mode == "throwex" else "")
            sites = [s for s in sites if s["catcher"] == again]
        self.assertEqual(sum(s["count"] for s in sites), OPERATIONS, (mode, of_mode(report, mode)))
        if mode in CAUGHT:
            self.assertEqual({(s["catcher"], s["caught"]) for s in sites}, {CAUGHT[mode]}, mode)
            self.assertEqual(sum(s["caughtThere"] for s in sites), OPERATIONS, mode)
        if mode in SHAPES:
            self.assertEqual({s["shape"] for s in sites}, {SHAPES[mode]})
        for s in sites:
            self.assertIsNone(s["message"])
            self.assertRegex(s["place"]["file"], r"Modes\.cs$")
            self.assertGreater(s["place"]["line"], 1)
            self.assertFalse([f for f in s["stack"] if f.startswith("System.Runtime.EH") or "libcoreclr" in f.split("!")[0] and f == s["stack"][0]], s["stack"])

    def check_formats(self, report, out):
        total = report["tree"]["total"][0]
        pprof, folded, scope = readers.Pprof(out), readers.folded(out), readers.speedscope(out)
        self.assertEqual(pprof.types, [("samples", "count"), ("exceptions", "count")])
        self.assertEqual((total, folded.total, scope.total), (report["thrown"]["count"],) * 3)
        self.assertTrue(all(s[-1].startswith("throw ") for s, _ in folded.stacks))
        with open(os.path.join(out, "report.html"), encoding="utf-8") as f:
            self.assertIn("What is thrown, and from where", f.read())
        with open(os.path.join(out, "summary.md"), encoding="utf-8") as f:
            self.assertIn("Shop.OrderException", f.read())


class CountsNet8(Counts, ExceptionsCase):
    framework = "net8.0"


class CountsNet10(Counts, ExceptionsCase):
    framework = "net10.0"


class CountsNet11(Counts, ExceptionsCase):
    framework = "net11.0"


class Shapes(ExceptionsCase):
    time_limit = 300

    def test_hostile_messages_tell_nothing(self):
        """65,536 characters, halves of surrogates, control characters, markup, secrets: counted, and none of it is anywhere."""
        app, report, text, out = self.burst("hostile", "net11.0", 100)
        self.assertEqual((report["thrown"]["count"], report["sampling"]["malformed"]), (100, 0))
        del app
        for name in os.listdir(out):
            with open(os.path.join(out, name), "rb") as f:
                data = f.read()
            for secret in (b"hunter", b"s3cr3t", b"xxxxxxxx", b"<script>alert", "\u65e5\u65e5".encode(), b"gnirts", b"Bearer"):
                self.assertNotIn(secret, data, name)
        self.assertNotIn("hunter", text)

    def test_revealed_messages_are_shown_as_text(self):
        _, report, text, _ = self.burst("hostile", "net8.0", 100, "--reveal")
        self.assertTrue(report["sampling"]["revealed"])
        messages = [s["message"] or "" for s in report["sites"]]
        self.assertTrue(any("hunter2" in m for m in messages), messages)
        self.assertFalse([m for m in messages if any(ord(c) < 32 or c == "\u202e" for c in m)], messages)
        self.assertNotIn("hunter", report["diagnosis"]["text"])

    def test_many_types_and_messages(self):
        """A hundred types, and messages that are all different: each type by itself, the messages as one shape."""
        _, report, _, _ = self.burst("types,messages", "net10.0", 300)
        self.assertTrue(report["sampling"]["exact"])
        self.assertEqual(report["thrown"]["count"], 600)
        pairs = [t for t in report["types"] if t["type"].startswith("Pair<")]
        self.assertEqual((len(pairs), {t["count"] for t in pairs}), (100, {3}))
        messages = [s for s in report["sites"] if s["method"] == "Shop.Messages.Throw"]
        self.assertEqual([(s["shape"], s["count"]) for s in messages], [("customer * is not known", 300)])

    def test_threads(self):
        _, report, _, _ = self.burst("plain", "net11.0", 50, threads=32, rate=800)
        self.assertTrue(report["sampling"]["exact"])
        self.assertEqual(report["thrown"]["count"], 1600)
        self.assertEqual([(s["method"], s["count"], s["caughtThere"]) for s in report["sites"]], [("Shop.Plain.Check", 1600, 1600)])
        self.assertEqual([t["count"] for t in report["threads"] if t["count"]], [50] * 32)


class Verdicts(ExceptionsCase):
    time_limit = 300

    def diagnosis(self, framework, modes, *arguments, seconds=3):
        app = self.target(modes, framework, *arguments)
        app.warm(1)
        before = dotnet.Traces(app)
        out, text = self.session(app, seconds)
        report = load(out)
        self.assertIn(report["diagnosis"]["headline"], text)
        dotnet.assert_nothing_left(self, app, before)
        app.stop()
        return report

    def found(self, report):
        return [f["id"] for f in report["findings"]]

    def test_parsing_by_exceptions(self):
        for framework in dotnet.FRAMEWORKS:
            report = self.diagnosis(framework, "parse", "--rate", "20000")
            self.assertEqual(self.found(report)[0], "ExceptionsAsControlFlow", report["diagnosis"])
            self.assertEqual(report["findings"][0]["place"], "Shop.Parse.Number")
            self.assertIn("TryParse", report["diagnosis"]["text"])
            self.assertGreater(report["throwing"]["unwindingSamples"], 0.1 * report["throwing"]["cpuSamples"], report["throwing"])

    def test_a_storm_from_one_place(self):
        report = self.diagnosis("net11.0", "plain", "--threads", "4")
        self.assertEqual(self.found(report)[0], "OneExceptionDominates", report["diagnosis"])
        self.assertIn("ExceptionStorm", self.found(report))
        self.assertRegex(report["diagnosis"]["headline"], r"^(At least )?[0-9,]+ exceptions/s, most in Shop\.Plain\.Check$")
        throwing = report["throwing"]
        self.assertGreater(throwing["cpuSamples"], 10)
        self.assertGreater(throwing["unwindingSamples"], 0.2 * throwing["cpuSamples"], "it does nothing else")
        if throwing["cpuSamples"] >= 50:  # with fewer, as on a full machine, nothing is said of them
            self.assertRegex(report["diagnosis"]["text"], r"\d% of the CPU samples are in the runtime's handling of exceptions\.")
        self.assertNotIn("\nAlso: ", report["diagnosis"]["text"], "the storm of that place has been told")

    def test_retries(self):
        report = self.diagnosis("net11.0", "retry", "--rate", "10", seconds=4)
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("RetryStorm", "Possible")])
        self.assertTrue(report["diagnosis"]["headline"].startswith("Possible: a dependency fails"), report["diagnosis"])

    def test_healthy_ones(self):
        """One each 300 ms, cancellations now and then, and a few that are caught where they are thrown: listed, no finding."""
        for framework, modes in (("net8.0", "plain"), ("net10.0", "cancel"), ("net11.0", "same"), ("net11.0", "async")):
            report = self.diagnosis(framework, modes, "--rate", "3")
            self.assertEqual(report["findings"], [], report["diagnosis"])
            self.assertEqual(report["diagnosis"]["finding"], "none")
            self.assertGreaterEqual(report["thrown"]["count"], 1)

    def test_none_is_thrown(self):
        report = self.diagnosis("net8.0", "none", seconds=2)
        self.assertEqual(report["diagnosis"]["headline"], "No exception was thrown in 2 s")
        self.assertEqual((report["findings"], report["sites"], report["thrown"]["count"]), ([], [], 0))


class Endings(ExceptionsCase):
    time_limit = 300

    def test_the_agent_is_killed(self):
        app = self.target("plain", "net8.0", "--rate", "1000")
        app.warm(100)
        session, _ = self.begin(app)
        session.send_signal(signal.SIGKILL)
        session.wait(60)
        proc.wait_until(lambda: app.library_threads() == 0, 60, "the library has left")
        app.assert_progress()
        out, _ = self.session(app, 1)
        self.assertGreater(load(out)["sampling"]["counted"], 10, "no session of EventPipe's was in the way")

    def test_the_process_is_killed(self):
        app = self.target("plain", "net11.0", "--rate", "100")
        app.warm(10)
        session, out = self.begin(app)
        os.kill(app.pid, signal.SIGKILL)
        text = session.communicate(timeout=120)[0]
        self.assertIn("ended", text)
        if os.path.exists(os.path.join(out, "report.json")):
            self.assertTrue(load(out)["time"]["endedEarly"])


if __name__ == "__main__":
    unittest.main()
