"""docs/diseases.md and the rules (agent/profilers/*/*_rules.c and the catalogue) name the same findings, profiler by profiler."""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

import jsonschema
import yaml

from tests.lib import proc

FOLDERS = {"cpu": "CPUHotpaths", "leak": "MemoryLeak", "survivors": "GCSurvivors", "strings": "DuplicatedStrings", "allocs": "Allocations",
           "pauses": "RuntimePauses", "deadlocks": "Deadlocks", "exceptions": "Exceptions", "stucktasks": "StuckTasks",
           "waits": "Waits", "threads": "Threads", "requests": "SlowRequests"}
ROW = re.compile(r'^\t\{\s*"([A-Z]\w+)",', re.M)
PARTS = (r"What it means", r"How it is recogni[sz]ed", r"What to do", r"Confused with")


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


def rules():
    """{profiler: ids}"""
    found = {}
    for path in glob.glob(os.path.join(proc.ROOT, "agent/profilers/*/*_rules*.c")):
        folder = os.path.basename(os.path.dirname(path))
        found.setdefault(FOLDERS.get(folder, folder), set()).update(ROW.findall(read(os.path.relpath(path, proc.ROOT))))
    for path in glob.glob(os.path.join(proc.ROOT, "catalogue/*/*.yaml")):
        text = read(os.path.relpath(path, proc.ROOT))
        if not path.endswith("/group.yaml"):
            found.setdefault(re.search(r"^profiler: (\w+)$", text, re.M)[1], set()).add(re.search(r"^id: (\w+)$", text, re.M)[1])
    return found


def sections():
    """{profiler: {id: text}}"""
    parts = re.split(r"^## (\w+)$", read("docs/diseases.md"), flags=re.M)[1:]
    found = {}
    for profiler, text in zip(parts[::2], parts[1::2]):
        ids = re.split(r"^### (\w+)$", text, flags=re.M)[1:]
        found[profiler] = dict(zip(ids[::2], ids[1::2]))
    return found


class Diseases(unittest.TestCase):
    one_process = True

    def test_each_rule_has_its_section_and_each_section_its_rule(self):
        page = sections()
        for profiler, ids in rules().items():
            self.assertEqual(ids, set(page.get(profiler, {})), profiler)

    def test_each_section_tells_all(self):
        """A disease that an earlier profiler's section explains may refer to it."""
        for profiler, ids in sections().items():
            for name, text in ids.items():
                if "[" + name + "](#" in text:
                    continue
                for part in PARTS:
                    self.assertRegex(text, r"\*\*%s:\*\*" % part, "%s of %s" % (name, profiler))

    def test_the_page_is_made_of_the_catalogue(self):
        done = subprocess.run([sys.executable, "catalogue/generate.py", "--check"], cwd=proc.ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Catalogue(unittest.TestCase):
    """Each file of the catalogue as its schema has it, and its tests exist."""
    one_process = True

    def each(self):
        for path in sorted(glob.glob(os.path.join(proc.ROOT, "catalogue/*/*.yaml"))):
            if not path.endswith("/group.yaml"):
                with open(path, encoding="utf-8") as f:
                    yield os.path.relpath(path, proc.ROOT), yaml.safe_load(f)

    def test_each_file_is_as_the_schema_says(self):
        schema = json.loads(read("catalogue/schema.json"))
        for name, rule in self.each():
            jsonschema.Draft202012Validator(schema).validate(rule)
            self.assertEqual(os.path.basename(name), rule["id"] + ".yaml")

    def test_each_has_a_recorded_capture(self):
        folders = {profiler: folder for folder, profiler in FOLDERS.items()}
        for name, rule in self.each():
            for test in rule["tests"]:
                self.assertTrue(os.path.exists(os.path.join(proc.ROOT, "tests/captures", folders[rule["profiler"]], test + ".json")), "%s: %s" % (name, test))


if __name__ == "__main__":
    unittest.main()
