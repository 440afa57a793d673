"""The documents name files and functions that exist."""
import os
import re
import subprocess
import unittest

from tests.lib import proc

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NAME = re.compile(r"`([\w./-]+\.(?:c|h|yaml|py|sh))`")
CALL = re.compile(r"`([\w./-]+\.c)`: `(\w+)\(\)`")


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


def tracked():
    return subprocess.run(["git", "ls-files"], cwd=proc.ROOT, check=True, capture_output=True, text=True).stdout.split("\n")


class Docs(unittest.TestCase):
    def test_links_lead_somewhere(self):
        broken = []
        for name in [n for n in tracked() if n.endswith(".md")]:
            for target in LINK.findall(read(name)):
                path = os.path.join(proc.ROOT, os.path.dirname(name), target)
                if "://" not in target and not os.path.exists(path):
                    broken.append("%s: %s" % (name, target))
        self.assertFalse(broken, "\n".join(broken))

    def test_the_walk_of_the_readme_is_true(self):
        walk = [line for line in read("README.md").split("\n") if line.startswith("| ")]
        files = tracked()
        wrong = []
        for line in walk:
            for name in NAME.findall(line):
                if not any(f == name or f.endswith("/" + name) for f in files):
                    wrong.append("no such file: " + name)
            for name, function in CALL.findall(line):
                places = [f for f in files if f == name or f.endswith("/" + name)]
                if not any(re.search(r"^[a-z].*\b%s\(" % function, read(f), re.M) for f in places):
                    wrong.append("%s has no %s()" % (name, function))
        self.assertGreater(len(walk), 20)
        self.assertFalse(wrong, "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
