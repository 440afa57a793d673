"""Every reason of common/api/reason.h is explained to people, used by the code and shown by a test."""
import os
import re
import subprocess
import unittest

from tests.lib import proc

# Why a reason is not used, or no test shows it.
NOT_YET = {}


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], cwd=proc.ROOT, check=True, capture_output=True, text=True).stdout.split()


class Reasons(unittest.TestCase):
    one_process = True

    def setUp(self):
        self.remedies = dict(re.findall(r'^\tX\((\w+), "(.*)"\)', read("common/api/reason.h"), re.M))
        self.assertGreater(len(self.remedies), 40)

    def mentioned(self, prefix, *patterns):
        text = "\n".join(read(name) for name in tracked(*patterns) if os.path.exists(os.path.join(proc.ROOT, name)))
        return {r for r in self.remedies if re.search(r"\b%s%s\b" % (prefix, r), text)}

    def test_each_has_its_entry_for_people(self):
        entries = re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", read("docs/troubleshooting.md").partition("\n## Reasons\n")[2], re.M | re.S)
        self.assertEqual([name for name, _ in entries], list(self.remedies), "the entries are the reasons, in their order")
        self.assertFalse([name for name, text in entries if len(text.split()) < 4])

    def test_each_has_a_remedy(self):
        self.assertFalse([r for r, remedy in self.remedies.items() if not re.match(r"[A-Z].*\.$", remedy)])

    def test_each_is_used(self):
        used = self.mentioned("REASON_", "agent/*.c", "controller/*.c", "common/*.c")
        self.assertEqual(set(self.remedies) - used - set(NOT_YET), set())

    def test_each_is_shown_by_a_test(self):
        shown = self.mentioned("(REASON_)?", "tests/**/*.py", "tests/**/*.c", ":!tests/style/*", ":!tests/system/crd/*")
        self.assertEqual(set(self.remedies) - shown - set(NOT_YET), set())


class TriggerReasons(unittest.TestCase):
    def test_each_is_explained_used_and_shown(self):
        reasons = re.findall(r'^\tX\((\w+), "[A-Z].*\."\)', read("controller/triggers/trigger_reason.h"), re.M)
        self.assertGreater(len(reasons), 12)
        table = read("docs/triggers.md").partition("## Why it did not fire")[2]
        for reason in reasons:
            self.assertIn("`%s`" % reason, table)
        tests = ["tests/system/triggers/*.py", "tests/system/alerts/*.py", "tests/unit/controller/triggers/test_trigger_*.c"]
        for prefix, patterns in (("TRIGGER_REASON_", ["controller/*.c"]), ("", tests)):
            text = "\n".join(read(name) for name in tracked(*patterns))
            self.assertFalse([r for r in reasons if not re.search(r"(\b|_)%s%s\b" % (prefix, r), text)], patterns)


if __name__ == "__main__":
    unittest.main()
