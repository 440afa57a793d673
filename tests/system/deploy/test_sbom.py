"""The bills of materials name every library of every program, in the versions that are installed, and are valid CycloneDX."""
import json
import os
import re
import subprocess
import tempfile
import unittest

from tests.lib import proc

PYTHON = "/usr/bin/python3"  # Debian's, which has python3-jsonschema
SCHEMAS = os.path.join(proc.ROOT, "build/tools/cyclonedx-schema")
BUILD = os.path.join(proc.ROOT, "build/release")
VALIDATE = """
import glob, json, sys
from jsonschema import Draft7Validator, FormatChecker, RefResolver, _validators
_validators.extras_msg = lambda extras: (", ".join(map(repr, extras)), "were")  # its own cannot sort objects
folder, *paths = sys.argv[1:]
main, store = None, {}
for path in glob.glob(folder + "/*.json"):
    schema = json.load(open(path))
    store["http://cyclonedx.org/schema/" + path.rpartition("/")[2]] = schema
    main = schema if path.endswith("/bom-1.5.SNAPSHOT.schema.json") else main
for path in paths:
    checker = Draft7Validator(main, resolver=RefResolver(main["$id"], main, store=store), format_checker=FormatChecker())
    for error in checker.iter_errors(json.load(open(path))):
        print(path.rpartition("/")[2], list(error.path), error.message[:300])
"""


def libraries(path):
    """{soname: file} by the loader itself."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.M))
    return {**found, **{os.path.basename(p): p for p in re.findall(r"^\s*(/\S+)", text, re.M)}}


class Bills(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.make(cls.folder)
        cls.bills = {name[:-len(".cdx.json")]: json.load(open(os.path.join(cls.folder, name))) for name in os.listdir(cls.folder)}

    @staticmethod
    def make(folder):
        subprocess.run([os.path.join(proc.ROOT, "deploy/sbom.py"), BUILD, folder], check=True)

    def test_there_is_one_for_each_program(self):
        self.assertLessEqual({"drdotnet", "drdotnet-agent", "drdotnet-controller", "libdrdotnet.so"}, set(self.bills))
        built = {n for n in os.listdir(BUILD) if os.access(os.path.join(BUILD, n), os.X_OK) and os.path.isfile(os.path.join(BUILD, n))}
        self.assertEqual(set(self.bills), built)

    def test_every_library_is_in_it(self):
        for name, bill in self.bills.items():
            path = os.path.join(BUILD, name)
            files = {c["name"]: c for p in bill["components"] for c in p.get("components", [])}
            expected = libraries(path) if not name.endswith(".so") else {}
            self.assertEqual(set(expected) - {"linux-vdso.so.1"}, set(files), name)
            for soname, file in expected.items():
                digest = subprocess.run(["sha256sum", os.path.realpath(file)], capture_output=True, text=True, check=True).stdout.split()[0]
                self.assertEqual(files[soname]["hashes"][0]["content"], digest)

    def test_versions_are_those_of_dpkg(self):
        for bill in self.bills.values():
            for component in bill["components"]:
                version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", component["name"]], capture_output=True, text=True).stdout
                self.assertIn(component["version"], version.split(), component["name"])
                self.assertTrue(component["purl"].startswith("pkg:deb/debian/%s@" % component["name"]))

    def test_what_depends_on_what(self):
        bill = self.bills["drdotnet-controller"]
        graph = {d["ref"]: d["dependsOn"] for d in bill["dependencies"]}
        refs = {c["bom-ref"]: c["name"] for c in bill["components"]}
        direct = {refs[r] for r in graph[bill["metadata"]["component"]["bom-ref"]]}
        self.assertLessEqual({"libc6", "libcurl4", "libssl3", "libwebsockets17", "libjansson4", "libyaml-0-2", "uthash-dev"}, direct)
        self.assertNotIn("libkrb5-3", direct)
        reached, todo = set(), [bill["metadata"]["component"]["bom-ref"]]
        while todo:
            ref = todo.pop()
            if ref not in reached:
                reached.add(ref)
                todo += graph.get(ref, [])
        self.assertEqual(set(refs) - reached, set(), "everything is there for a reason")

    def test_the_same_build_makes_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            self.make(again)
            for name in os.listdir(again):
                with open(os.path.join(again, name)) as a, open(os.path.join(self.folder, name)) as b:
                    self.assertEqual(a.read(), b.read())

    @unittest.skipUnless(os.path.isdir(SCHEMAS), "no schemas of CycloneDX: tests/setup/from_npm.sh")
    def test_they_are_valid(self):
        paths = [os.path.join(self.folder, n) for n in os.listdir(self.folder)]
        done = subprocess.run([PYTHON, "-c", VALIDATE, SCHEMAS, *paths], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr[-2000:])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:  # that it can fail
            json.dump({**self.bills["drdotnet"], "specVersion": "9", "components": [{"type": "thing"}]}, f)
            f.flush()
            done = subprocess.run([PYTHON, "-c", VALIDATE, SCHEMAS, f.name], capture_output=True, text=True)
        self.assertIn("'thing' is not one of", done.stdout)


if __name__ == "__main__":
    unittest.main()
