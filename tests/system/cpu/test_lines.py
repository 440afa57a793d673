"""Lines against a program whose own are known (tests/apps/LineApp), in pprof sample by sample: who calls a method that nobody else calls does so in the
line that the compiler noted. As a plain application, as a single file with its symbols beside it, and compiled ahead of time and trimmed with its
symbols embedded."""
import collections
import json
import os
import re
import unittest

from tests.lib import dotnet, local, readers

HERTZ = 499
LEAST = 0.98  # of the samples are right
ENOUGH = 400
PREFIX = "Lines."
SOURCES = ("Program.cs", "Statements.cs", "LineApp/Program.cs", "LineApp/Statements.cs")
JOINED = "Joined.Run"  # its statements pass a value on: the compiler makes one of them, and either line may be told


class LineApp(dotnet.App):
    """`calls`: {method: {caller: line}}; `leaves`: {method: the line that it spends its time in}."""
    NAME = "LineApp"

    def __init__(self, framework, folder, **how):
        super().__init__("all", framework, folder, **how)
        first = self._lines()[0]
        self.calls, self.leaves = first["calls"], first["leaves"]


class LineReady(LineApp):
    NAME = "LineReady"


class LineSingle(LineApp):
    NAME = "LineSingle"


def own(name):
    return re.sub("<[^>]*>", "", name[len(PREFIX):]).split("(")[0] if name.startswith(PREFIX) else ""


def judge(app, pprof, right, wrong):
    """Counts the calls, and the leaves, whose lines are known."""
    for stack, weight in pprof.places:
        for (caller, file, line), (callee, _, _) in zip(stack, stack[1:]):
            expected = app.calls.get(own(callee), {}).get(own(caller))
            if expected is None:  # an iterator that was inlined into the loop over it
                continue
            joined = JOINED if own(caller) == JOINED else own(callee)
            either = [calls[own(caller)] for name, calls in app.calls.items() if own(caller) in calls and (joined == JOINED or name == joined)]
            if line in either and file in SOURCES:
                right[own(callee)] += weight
            else:
                wrong["%s calls %s in %s:%d, not %s" % (caller, callee, file, line, expected)] += weight
        name, _, line = stack[-1]
        if own(name) == "Two.Second":
            if line == app.leaves["Two.Second"]:
                right["Two.Second"] += weight
            else:
                wrong["%s spends time in line %d" % (name, line)] += weight


class Lines(local.LocalCase):
    def check(self, application, framework):
        app = application(framework, self.folder)
        self.addCleanup(app.stop)
        app.warm(200)
        right, wrong, two = collections.Counter(), collections.Counter(), collections.Counter()
        while sum(right.values()) + sum(wrong.values()) < ENOUGH:
            out = self.run_session(app, 4, "--frequency", str(HERTZ))
            pprof = readers.Pprof(out)
            judge(app, pprof, right, wrong)
            for stack, weight in pprof.places:
                if own(stack[-1][0]) == "Two.First":
                    two[stack[-1][2] - app.leaves["Two.First"]] += weight
            self.check_report(app, out)
        known, text = sum(right.values()), "%d right, wrong: %s" % (sum(right.values()), wrong.most_common(12))
        if os.environ.get("DRDOTNET_SHOW_LINES"):
            print(application.NAME, framework, text)
        self.assertGreaterEqual(known, LEAST * (known + sum(wrong.values())), text)
        self.assertGreater(len(right), len(app.calls) / 2, "most methods are met: %s" % right)
        if sum(two.values()) >= 100:
            self.assertAlmostEqual(two[0] / sum(two.values()), 0.75, delta=0.12, msg=two)
            self.assertGreaterEqual(two[0] + two[2], LEAST * sum(two.values()), two)

    def check_report(self, app, out):
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertIn({"module": app.NAME + ".dll", "used": True, "reason": None}, report["symbols"]["modules"])
        known = {m["name"]: m["source"] for m in report["methods"] if m["name"].startswith(PREFIX) and "source" in m}
        self.assertGreater(len(known), 10)
        for name, source in known.items():
            self.assertIn(source["file"], SOURCES, name + ": and no path of the builder's")
        with open(os.path.join(out, "profile.speedscope.json"), encoding="utf-8") as f:
            frames = {frame["name"]: frame for frame in json.load(f)["shared"]["frames"]}
        for name, source in known.items():
            self.assertEqual((frames[name]["file"], frames[name]["line"]), (source["file"], source["lines"][0]["line"]))
        self.assertRegex(self.output, r"Hottest line: \w+\.cs:\d+, with \d")

    def test_plain(self):
        self.check(LineApp, "net10.0")

    def test_single_file(self):
        self.check(LineSingle, "net10.0")

    def test_ahead_of_time_trimmed_and_embedded(self):
        self.check(LineReady, "net10.0")

    def test_plain_on_net11(self):
        self.check(LineApp, "net11.0")

    @unittest.skipUnless(os.environ.get("DRDOTNET_EVERY_RUNTIME"), "make runtimes")
    def test_other_runtimes(self):
        for framework in ("net8.0", "net9.0"):
            for application in (LineApp, LineSingle, LineReady):
                with self.subTest("%s on %s" % (application.NAME, framework)):
                    self.check(application, framework)
