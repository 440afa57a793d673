"""At which awaits requests stand, on .NET 11: of methods that the runtime suspends itself, with the line, and of state machines."""
import os
import unittest

from tests.lib import proc
from tests.system.slowrequests.target import RequestsCase, Runtime, Target, by_name

ENDPOINT = "GET /awaits/{id}"
POINTS = 0.08
TOLD = 0.75    # of the time in awaits: a thread that loses its CPU as it resumes a request is not told
OTHERS = 0.02  # of it


def line_of(name):
    """Of the await that is marked so."""
    with open(os.path.join(proc.ROOT, "tests/apps/RequestApp/Awaiting.cs"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith("// " + name))


class Awaits(RequestsCase):
    def session(self, application, framework):
        self.application = application
        app = self.target(framework)
        app.get("/awaits/beside/4")
        app.get("/awaits/1")

        def work():
            app.load("--requests", 120, "--connections", 2, "/awaits/20")
            app.lines(2)  # each thread's newest awaits come about a second later
        report, truth, _, text = self.during(app, work)
        self.assertIn(ENDPOINT, by_name(report))
        return by_name(report)[ENDPOINT], truth["GET /awaits/{ms}"], text

    def check(self, application, lines):
        endpoint, truth, text = self.session(application, "net11.0")
        awaits = endpoint["awaits"]
        self.assertGreater(awaits["nanoseconds"], (0.9 - self.spare(POINTS)) * endpoint["bill"]["nanoseconds"], endpoint["bill"])
        self.assertGreater(awaits["toldNanoseconds"], TOLD * awaits["nanoseconds"], awaits)
        told = {"Longer": 0, "Shortly": 0}
        for place in awaits["places"]:
            name = place["method"].split(".")[-1]
            if name not in told:
                self.assertLess(place["nanoseconds"], OTHERS * awaits["nanoseconds"], place)
                continue
            self.assertEqual(place["method"], "Shop.Awaiting." + name)
            self.assertEqual(place["otherNanoseconds"], place["nanoseconds"], "no call is known to be under way")
            if lines:
                self.assertEqual((os.path.basename(place["file"] or ""), place["line"]), ("Awaiting.cs", line_of(name)))
            told[name] += place["nanoseconds"]
        known = truth["parts"]["longer"]["ms"] / (truth["parts"]["longer"]["ms"] + truth["parts"]["shortly"]["ms"])
        self.assertAlmostEqual(told["Longer"] / sum(told.values()), known, delta=self.spare(POINTS))
        self.assertIn("awaiting something else in Shop.Awaiting.Longer", text)

    def test_methods_that_the_runtime_suspends(self):
        self.check(Runtime, lines=True)

    def test_state_machines(self):
        self.check(Target, lines=False)

    def test_a_runtime_that_does_not_tell(self):
        endpoint, _, text = self.session(Target, "net10.0")
        self.assertEqual(endpoint["awaits"], {"nanoseconds": 0, "toldNanoseconds": 0, "places": []})
        self.assertRegex(text, r"awaiting something else\.")


if __name__ == "__main__":
    unittest.main()
