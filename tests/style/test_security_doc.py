"""The threat model of docs/security.md names tests that exist, for each of those who might attack."""
import glob
import os
import re
import unittest

from tests.lib import proc

WHO = ("profiled pod", "another pod", "user with few rights", "network", "reads the object storage", "agent that was taken over",
       "controller that was taken over", "supply chain")
NAME = re.compile(r"`(\w+)(?:\.(\w+))?`")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def exists(file, test):
    """Python's `test_file.test_name`, criterion's `test_file.name` (of Test(file, name)), a fuzzer's `fuzz_name`."""
    found = glob.glob(os.path.join(proc.ROOT, "tests/**/%s.*" % file), recursive=True)
    sources = [path for path in found if path.endswith((".py", ".c"))]
    if test is None:
        return bool(sources)
    pattern = r"def %s\(|^Test\(\w+, %s\b" % (test, test)
    return any(re.search(pattern, read(path), re.M) for path in sources)


class ThreatModel(unittest.TestCase):
    def rows(self):
        text = read(os.path.join(proc.ROOT, "docs/security.md")).partition("## The threat model")[2].partition("\n## ")[0]
        return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")][1:]

    def test_each_row_has_tests_that_exist(self):
        rows = self.rows()
        self.assertGreater(len(rows), 12)
        missing = []
        for row in rows:
            self.assertEqual(len(row), 5, row)
            names = NAME.findall(row[4])
            self.assertTrue(names, row)
            missing += [".".join(filter(None, name)) for name in names if not exists(name[0], name[1] or None)]
        self.assertEqual(missing, [])

    def test_everybody_is_in_it(self):
        people = " ".join(row[0] for row in self.rows())
        self.assertEqual([who for who in WHO if who not in people], [])

    def test_a_name_that_does_not_exist_is_found(self):
        self.assertTrue(exists("test_security_doc", "test_everybody_is_in_it"))
        self.assertFalse(exists("test_security_doc", "test_nothing_like_it"))
        self.assertFalse(exists("fuzz_nothing", None))


if __name__ == "__main__":
    unittest.main()
