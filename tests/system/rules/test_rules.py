"""Rules of one's own and the catalogue's, by the commands that people use for them."""
import json
import os
import subprocess
import unittest

from tests.lib import proc
from tests.lib.local import DRDOTNET
from tests.system.exceptions.target import ExceptionsCase

RULE = """id: user/%s
profiler: Exceptions
name: parsing by exceptions
when: %s
score: near_percent
witnesses: 2
found: "Parsing throws {thrown_per_second} exceptions/s[ in {near_method:fit}]"
why: "{near_percent} are caught at once"
ruled_out: "{thrown_per_second} exceptions/s"
place: near_method
fix: use TryParse
meaning: A team's own rule.
recognized: By the rate.
"""
CAPTURE = os.path.join(proc.ROOT, "tests/captures/exceptions/sick-parse.json")


def command(*words):
    return subprocess.run([DRDOTNET, *words], capture_output=True, text=True, timeout=60, check=False)


class Rules(ExceptionsCase):
    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def report(self, profiler="Exceptions"):
        with open(CAPTURE, encoding="utf-8") as f:
            return self.write("report.json", json.dumps({"profiler": profiler, "measured": json.load(f)["measured"]}))

    def test_the_catalogue_is_listed_and_explained(self):
        listed = command("rules", "list").stdout
        self.assertRegex(listed, r"(?m)^RetryStorm +Exceptions +a failing dependency")
        explained = command("explain", "RetryStorm")
        self.assertEqual(explained.returncode, 0)
        for part in ("Meaning: ", "Recognized by: ", "Condition: retry_per_second >= 2", "Fix: check that dependency"):
            self.assertIn(part, explained.stdout)
        self.assertRegex(command("rules", "numbers", "Exceptions").stdout, r"(?m)^near_percent +percent +share caught")

    def test_what_several_profilers_find_is_explained_and_tried_for_each(self):
        explained = command("explain", "AllocationPressure").stdout
        for profiler in ("Allocations", "RuntimePauses"):
            self.assertIn("AllocationPressure (%s): " % profiler, explained)
            measured = self.write("%s.json" % profiler, json.dumps({"profiler": profiler, "measured": {}}))
            tried = command("rules", "test", "AllocationPressure", measured)
            self.assertEqual((tried.returncode, tried.stdout.split("\n")[0]), (0, "AllocationPressure: NotMeasured"), tried.stderr)

    def test_what_is_not_there_is_named(self):
        for words, message in ((("explain", "Nothing"), "Nothing: no such finding"),
                               (("rules", "numbers", "Nothing"), "Nothing: not a profiler with rules in the catalogue"),
                               (("rules", "test", "Nothing", self.report()), "Nothing: neither a finding of the catalogue nor a file"),
                               (("rules", "shuffle"), "rules shuffle: expected list, numbers PROFILER"),
                               (("rules", "test", "RetryStorm", self.report("Waits")), "is a report of Waits, and RetryStorm judges Exceptions"),
                               (("rules", "test", "RetryStorm", self.write("empty.json", "{}")), "has no 'measured'")):
            done = command(*words)
            self.assertEqual((done.returncode, message in done.stderr), (2, True), done.stderr)

    def test_a_rule_is_checked_and_tried_on_a_report(self):
        rule = self.write("parsing.yaml", RULE % ("Parsing", "near_percent >= 50"))
        self.write("wrong.yaml", RULE % ("Wrong", "nearly >= 50"))
        checked = command("rules", "check", self.folder)
        self.assertEqual((checked.returncode, checked.stdout), (2, "1 rule is sound, 1 is not\n"), checked.stderr)
        self.assertIn("wrong.yaml: when: there is no number 'nearly' of Exceptions; `drdotnet rules numbers Exceptions` lists them", checked.stderr)
        tried = command("rules", "test", rule, self.report())
        self.assertEqual(tried.returncode, 0, tried.stderr)
        self.assertRegex(tried.stdout, r"user/Parsing: Found\nscore: \d+\nmessage: Parsing throws [\d,]+ exceptions/s in ")

    def test_a_session_is_judged_by_the_rules_of_a_folder(self):
        rules = os.path.join(self.folder, "rules")
        os.mkdir(rules)
        self.write("rules/parsing.yaml", RULE % ("Parsing", "near_percent >= 50"))
        self.write("rules/slow.yaml", RULE % ("Slow", "cost_percent >= 200"))
        self.write("rules/wrong.yaml", RULE % ("Wrong", "nearly >= 50"))
        app = self.target("parse", "net10.0", "--rate", "2000")
        done = command("run", "--exceptions", str(app.pid), "3s", "--rules", rules, "-o", os.path.join(self.folder, "out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrong.yaml: when: there is no number 'nearly'", done.stderr)
        with open(os.path.join(self.folder, "out/report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertIn("user/Parsing", [x["id"] for x in report["findings"]])
        self.assertIn("user/Slow", [x["id"] for x in report["excluded"] + report["notMeasured"]])


if __name__ == "__main__":
    unittest.main()
