"""DuplicatedStrings through the custom resource: no contents in the status, events, logs or reports, and none revealed without the policy."""
import json
import os
import unittest

from tests.system.e2e import test_cluster
from tests.lib import dotnet
from tests.system.strings.test_duplicated_strings import wrong


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Strings(test_cluster.ClusterCase):
    def test_to_diagnosis_and_report_without_contents(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "strings", user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", "MemoryApp")), ["/app/MemoryApp", "strings", "--strings", "66000"]))
        made.warm(10)  # all its threads are there
        before = {made: dotnet.Traces(made)}
        spec = {"profiler": "DuplicatedStrings", "target": {"selector": {"matchLabels": {"app": "checkout"}}},
                "pauseBudgetMilliseconds": 5000}
        self.i.session(self.namespace, "strings", spec)
        session = self.succeeded("strings")
        self.assert_nothing_left(before)
        self.assertRegex(session["status"]["diagnosis"].splitlines()[0], r"^Duplicate strings waste .* most in Shop\.Document\.Title$")
        self.check_reports(session)
        said = [json.dumps(session), json.dumps(self.i.events(self.namespace, "strings")), self.i.logs()]
        for secret in ("777777", "vvvvvv", "LLLLLL", "Zoë", "Zo\\u00eb"):
            for text in said:
                self.assertNotIn(secret, text)
        self.i.session(self.namespace, "curious", {**spec, "reveal": True})
        refused = self.finished("curious")
        self.assertEqual(self.i.condition(refused, "Accepted")["reason"], "RevealNotEnforced")
        self.assertFalse(refused["status"].get("targets"))
        made.assert_progress()

    def check_reports(self, session):
        texts = {r["name"]: self.stored(session, r) for r in session["status"]["targets"][0]["reports"]}
        self.assertEqual(set(texts), {"summary.md", "report.html", "report.json"})
        report = json.loads(texts["report.json"])
        self.assertEqual(wrong(report), [])
        title = next(h for h in report["holders"] if h["name"] == "Shop.Document.Title")
        self.assertEqual(title["strings"], 66000)
        for secret in ("777777", "vvvvvv", "LLLLLL", "Zoë"):
            for text in texts.values():
                self.assertNotIn(secret.encode(), text)


if __name__ == "__main__":
    unittest.main()
