"""Sessions of every kind in one process, one after the other: the place that one leaves is the next one's (docs/decisions/profiler-library.md)."""
import json
import unittest

from tests.lib import dotnet, local

ORDER = (("GCSurvivors",), ("CPUHotpaths", "--duration", "1s"), ("MemoryLeak", "--duration", "1s"), ("RuntimePauses", "--duration", "1s"),
         ("DuplicatedStrings",), ("Allocations", "--duration", "1s"), ("GCSurvivors", "--roots", "NoCollection"), ("CPUHotpaths", "--duration", "1s"),
         ("Exceptions", "--duration", "1s"))


class OneAfterAnother(local.LocalCase):
    time_limit = 300

    def follow(self, framework):
        app = self.start("warm", framework)
        app.warm(50)
        before = dotnet.Traces(app)
        for i, (profiler, *words) in enumerate(ORDER):
            with self.subTest(profiler=profiler, number=i):
                out = "%s/%d" % (self.folder, i)
                code, text, errors = local.drdotnet("run", "--profiler", profiler, *words, "--pid", app.pid, "-o", out, "--pause-budget", 60000)
                self.assertEqual((code, errors), (0, ""), text)
                with open(out + "/report.json") as f:
                    self.assertEqual(json.load(f)["profiler"], profiler)
                self.diff(out, out, r"\ANo difference", changed=False)
        if framework != "net8.0":  # there a walk is a collection
            self.diff(self.folder + "/0", self.folder + "/6", r"(?m)^Roots were found in different ways: exact before, noCollection after: ")
        code, _, errors = local.drdotnet("diff", self.folder + "/0", self.folder + "/1")
        self.assertEqual((code, "GCSurvivors before, CPUHotpaths after" in errors), (2, True), errors)
        dotnet.assert_nothing_left(self, app, before)
        app.warm(50)

    def diff(self, before, after, words, changed=None):
        code, text, errors = local.drdotnet("diff", before, after, "--json")
        self.assertEqual((code, errors), (0, ""))
        made = json.loads(text)
        self.assertRegex(made["diagnosis"] + "\n", words)
        if changed is not None:
            self.assertEqual((made["changed"], {r["change"] for r in made["rows"]}), (changed, {"same"}), made["diagnosis"])
        self.assertEqual(local.drdotnet("diff", before, after)[0], 0)

    def test_net8(self):
        self.follow("net8.0")

    def test_net10(self):
        self.follow("net10.0")

    def test_net11(self):
        self.follow("net11.0")


if __name__ == "__main__":
    unittest.main()
