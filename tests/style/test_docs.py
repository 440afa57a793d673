"""The documents name files, headings, functions, targets and settings that exist."""
import os
import re
import subprocess
import unittest

from tests.lib import proc

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)")
TARGET = re.compile(r"(?:`|^)make ([a-z]+(?:-[a-z]+)*)(?=`| +#| [A-Z]+=|$)", re.M)
SETTING = re.compile(r'^\t(?:\w+\(|\{\.name = )"--[a-z-]+", (?:\.env = )?"([A-Z_]+)",(.*(?:\n\t .*)?)$', re.M)  # a row of a table of options
NAME = re.compile(r"`([\w./-]+\.(?:c|h|yaml|py|sh))`")
CALL = re.compile(r"`([\w./-]+\.c)`: `(\w+)\(\)`")


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


def tracked():
    return subprocess.run(["git", "ls-files"], cwd=proc.ROOT, check=True, capture_output=True, text=True).stdout.split("\n")


def documents():
    return [n for n in tracked() if n.endswith(".md")]


def headings(name):
    """What a link into the document can name, as GitHub makes it of the headings."""
    text = re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ +(.*?) *$", text, re.M)}


class Docs(unittest.TestCase):
    def test_links_lead_somewhere(self):
        broken = []
        for name in documents():
            for target, heading in LINK.findall(read(name)):
                there = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name
                if "://" in target:
                    continue
                if not os.path.exists(os.path.join(proc.ROOT, there)) or (heading and heading not in headings(there)):
                    broken.append("%s: %s#%s" % (name, target, heading))
        self.assertFalse(broken, "\n".join(broken))

    def test_what_is_to_be_made_can_be_made(self):
        rules = "\n".join(read(n) for n in tracked() if n == "Makefile" or n.endswith(".mk"))
        known = set(re.findall(r"^([a-z][\w-]*):", rules, re.M))
        unknown = ["%s: make %s" % (name, t) for name in documents() for t in TARGET.findall(read(name)) if t not in known]
        self.assertGreater(len(known), 30)
        self.assertFalse(unknown, "\n".join(unknown))

    def test_settings_are_there_and_have_their_defaults(self):
        """The table of docs/install.md, against the programs' tables of options."""
        known = {env: words for source in ("agent/daemon/agent_options.c", "controller/daemon/controller_options.c")
                 for env, words in SETTING.findall(read(source))}
        rows = re.findall(r"^\| (`[A-Z_`, ]+`) \| [\w, ]+ \| (.*?) \|", read("docs/install.md"), re.M)
        self.assertGreater(len(rows), 10)
        for names, defaults in rows:
            names, defaults = re.findall(r"[A-Z_]+", names), defaults.split(", ")
            for name, default in zip(names, defaults if len(defaults) == len(names) else defaults * len(names)):
                self.assertIn(name, known)
                if default.isdigit():
                    self.assertRegex(known[name], r"\b%s\b" % default, name)

    def test_the_walk_through_the_files_is_true(self):
        walk = [line for line in read("docs/architecture.md").split("\n") if line.startswith("| ")]
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
