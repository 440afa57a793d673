"""The report files, read by programs that are not ours: a JSON Schema validator, Go's pprof, the formats' own rules."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from tests.lib import dotnet, proc, readers, schemas
from tests.lib.local import drdotnet

TOOL = os.path.join(proc.ROOT, "build/release/tests/report-tool")
FILES = {"summary.md", "report.html", "report.json", "profile.pb.gz", "stacks.folded", "profile.speedscope.json"}


def made_up(kind, folder):
    """A report of a capture that the tool makes up; what the tool says of it."""
    out = os.path.join(folder, kind)
    os.makedirs(out)
    return out, json.loads(subprocess.run([TOOL, kind, out], check=True, capture_output=True, text=True, timeout=120).stdout)


def real(load, folder, seconds=3):
    """A report of a real application."""
    out = os.path.join(folder, load)
    with dotnet.App(load, "net10.0", folder) as app:
        app.warm(10)
        code, text, errors = drdotnet("run", "--profiler", "CPUHotpaths", "--duration", "%ds" % seconds, "--pid", app.pid, "-o", out)
    assert code == 0, text + errors
    return out


def load(folder, name="report.json"):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return json.load(f)


def document(name):
    with open(os.path.join(proc.ROOT, "docs", name), encoding="utf-8") as f:
        return f.read()


class Reports(unittest.TestCase):
    one_process = True
    time_limit = 240

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-report-")
        cls.addClassCleanup(folder.cleanup)
        cls.hostile, _ = made_up("hostile", folder.name)
        cls.big, cls.big_figures = made_up("big", folder.name)
        cls.names, cls.alloc = real("names", folder.name), real("alloc", folder.name)
        cls.folders = {"hostile": cls.hostile, "big": cls.big, "names": cls.names, "alloc": cls.alloc}

    def each(self):
        return self.folders.values()

    def test_all_files_and_nothing_else(self):
        for folder in self.each():
            self.assertEqual(set(os.listdir(folder)), FILES)
            for name in FILES:
                status = os.stat(os.path.join(folder, name))
                self.assertEqual(status.st_mode & 0o777, 0o644, name)
                self.assertGreater(status.st_size, 0, name)

    # report.json ------------------------------------------------------------------------------------------------------

    def test_schema(self):
        validator = schemas.validator("report-schema.json")
        for folder in self.each():
            report = load(folder)
            report["methods"] = report["methods"][:500]  # the validator is slow; the rest is more of the same
            for name in ("tree", "leaves", "leavesOverTime"):
                report[name] = {key: column[:500] for key, column in report[name].items()}
            wrong = ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in validator.iter_errors(report)]
            self.assertEqual(wrong[:5], [])

    def test_the_schema_refuses_what_is_none(self):
        validator = schemas.validator("report-schema.json")

        def without(key):
            report = load(self.names)
            del report[key]
            return report
        wrong = [without("tree"), without("cost"), {**load(self.names), "schema": "drdotnet.dev/report/v2"}, {**load(self.names), "more": 1},
                 {**load(self.names), "threads": [{"tid": "7"}]}, {**load(self.names), "cost": {}}, {**load(self.names), "session": {"kind": "Pod"}}]
        for report in wrong:
            self.assertFalse(validator.is_valid(report))

    def test_the_page_names_every_field(self):
        page, names = document("report-schema.md"), []

        def walk(members, prefix):
            for key, value in members.items():
                names.append(prefix + key)
                walk(value.get("properties", {}), prefix + key + ".")
                walk(value.get("items", {}).get("properties", {}), prefix + key + "[].")
        walk(schemas.members("report-schema.json"), "")
        self.assertGreater(len(names), 90)
        self.assertEqual([n for n in names if "\n| `%s` |" % n not in page], [])

    def test_numbers_agree_with_each_other(self):
        for folder in self.each():
            report = load(folder)
            samples, tree, methods = report["sampling"]["samples"], report["tree"], report["methods"]
            self.assertEqual(sum(c["samples"] for c in report["categories"]), samples)
            self.assertEqual(sum(t["samples"] for t in report["threads"]), samples)
            self.assertEqual(sum(report["timeline"]["samples"]), samples)
            self.assertEqual(sum(tree["self"]), samples)
            self.assertEqual(tree["total"][0], samples)
            self.assertEqual(len({len(column) for column in tree.values()}), 1)
            total, self_of = list(tree["self"]), [0] * len(methods)
            for node in range(len(tree["parent"]) - 1, 0, -1):
                self.assertLess(tree["parent"][node], node, "a parent stands before its children")
                total[tree["parent"][node]] += total[node]
                self_of[tree["method"][node]] += tree["self"][node]
            self.assertEqual(total, tree["total"])
            self.assertEqual(self_of, [m["self"] for m in methods])
            self.assertTrue(all(m["self"] <= m["total"] <= samples for m in methods))
            self.check_leaves(report)
            for top in report["topMethods"]:
                self.assertEqual((top["name"], top["self"]), (methods[top["method"]]["name"], methods[top["method"]]["self"]))
                self.assertEqual(sum(c["samples"] for c in top["callers"]) <= top["total"], True)

    def check_leaves(self, report):
        """What ends in a node is what each thread, and what each part of the time, left there."""
        for name, part, whole in (("leaves", "thread", [t["samples"] for t in report["threads"]]), ("leavesOverTime", "bucket", report["timeline"]["samples"])):
            at_node, of_part = [0] * len(report["tree"]["parent"]), [0] * len(whole)
            columns = report[name]
            self.assertEqual(len({len(column) for column in columns.values()}), 1)
            places = list(zip(columns["node"], columns[part]))
            self.assertEqual(places, sorted(set(places)))
            for (node, place), weight in zip(places, columns["weight"]):
                at_node[node] += weight
                of_part[place] += weight
            self.assertEqual((at_node, of_part), (report["tree"]["self"], whole), name)

    def test_collections_are_named(self):
        report = load(self.alloc)
        self.assertGreater(report["collections"]["count"], 0)
        self.assertGreater(next(c["samples"] for c in report["categories"] if c["category"] == "gc"), 0)
        self.assertTrue(any(m["name"] == "[garbage collection]" for m in report["methods"]))

    # the ecosystem's formats ------------------------------------------------------------------------------------------

    def test_all_formats_tell_the_same(self):
        for folder in self.each():
            report = load(folder)
            kinds = {"folded": readers.folded(folder), "pprof": readers.Pprof(folder), "speedscope": readers.speedscope(folder)}
            period = report["sampling"]["periodNanoseconds"]
            for name, samples in kinds.items():
                unit = period if name == "speedscope" else 1
                self.assertEqual(samples.total, report["sampling"]["samples"] * unit, name)
                leaves = samples.leaves() if folder != self.hostile else {}
                own = {}
                for method in report["methods"]:
                    own[method["name"]] = own.get(method["name"], 0) + method["self"] * unit
                for leaf, weight in list(leaves.items())[:50]:
                    if leaf in own:
                        self.assertEqual(weight, own[leaf], "%s: %s" % (name, leaf))

    def pprof(self, folder, *words):
        done = subprocess.run(["go", "tool", "pprof", *words, os.path.join(folder, "profile.pb.gz")], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PPROF_TMPDIR": self.names, "HOME": self.names, "GOFLAGS": "", "GOTOOLCHAIN": "local"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipUnless(shutil.which("go"), "no go: its pprof is the reader")
    def test_pprof_reads_it(self):
        for folder in self.each():
            report = load(folder)
            raw = self.pprof(folder, "-raw").splitlines()
            self.assertIn("PeriodType: cpu nanoseconds", raw)
            self.assertIn("Period: %d" % report["sampling"]["periodNanoseconds"], raw)
            self.assertIn("samples/count cpu/nanoseconds[dflt]", raw)
            counted = re.findall(r"^ +(\d+) +(\d+): [\d ]*$", "\n".join(raw), re.M)
            self.assertEqual(sum(int(count) for count, _ in counted), report["sampling"]["samples"])
            self.assertEqual(sum(int(ns) for _, ns in counted), report["sampling"]["samples"] * report["sampling"]["periodNanoseconds"])
        top = self.pprof(self.names, "-top", "-sample_index=samples", "-nodecount=500")
        rows = {name: int(flat) for flat, name in re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +(.+)$", top, re.M)}
        report = load(self.names)
        self.assertIn("Type: samples", top)
        for method in report["topMethods"][:5]:
            self.assertEqual(rows.get(method["name"]), method["self"], top)
        tags = self.pprof(self.names, "-tags")
        self.assertIn("namer", tags)

    def test_speedscope_s_rules(self):
        for folder in self.each():
            self.check_speedscope(load(folder, "profile.speedscope.json"))

    def check_speedscope(self, file):
        """What speedscope's file-format-spec.ts says of a sampled profile."""
        self.assertEqual(set(file) - {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}, set())
        self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
        frames = file["shared"]["frames"]
        for frame in frames:
            self.assertIsInstance(frame["name"], str)
            self.assertEqual(set(frame) - {"name", "file", "line", "col"}, set())
        self.assertGreater(len(file["profiles"]), 0)
        self.assertLess(file["activeProfileIndex"], len(file["profiles"]))
        for profile in file["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
            self.assertEqual((profile["type"], profile["unit"]), ("sampled", "nanoseconds"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertTrue(all(isinstance(w, int) and w > 0 for w in profile["weights"]))
            self.assertEqual(sum(profile["weights"]), profile["endValue"] - profile["startValue"])
            self.assertTrue(all(0 <= f < len(frames) for stack in profile["samples"] for f in stack))

    def test_folded_lines(self):
        for folder in self.each():
            with open(os.path.join(folder, "stacks.folded"), encoding="utf-8", newline="\n") as f:
                lines = f.read().split("\n")
            self.assertEqual(lines.pop(), "", "the last line ends")
            stacks = [line.rpartition(" ")[0] for line in lines]
            self.assertTrue(all(re.fullmatch(r"[^\x00-\x1f\x7f]+ \d+", line) for line in lines))
            self.assertEqual(len(set(stacks)), len(stacks), "a stack is one line")

    # summary.md -------------------------------------------------------------------------------------------------------

    def test_the_summary_is_a_screen(self):
        for folder in self.each():
            with open(os.path.join(folder, "summary.md"), encoding="utf-8") as f:
                lines = f.read().split("\n")
            self.assertTrue(lines[0].startswith("# "))
            self.assertLessEqual(len(lines[0]), 2 * 80 + 2, "escapes included")
            self.assertLessEqual(len(lines), 40)
            self.assertFalse(any("<" in re.sub(r"`[^`]*`|\\<", "", line) for line in lines), "no markup of others")
            self.assertNotIn("stop 0", "\n".join(lines))
        with open(os.path.join(self.names, "summary.md"), encoding="utf-8") as f:
            self.assertIn("Cost: the application was never paused;", f.read())

    def test_the_bench_runs(self):
        words = ["python3", "tests/bench/report_time.py", "--rounds", "1", "--json"]
        done = subprocess.run(words, cwd=proc.ROOT, env={**os.environ, "PYTHONPATH": "."}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)
        self.assertEqual(figures["samples"], self.big_figures["samples"])
        self.assertTrue(0 < figures["cpu_ms"] and 0 < figures["ms"] and figures["html_kb"] < 1200, figures)

    def test_sizes(self):
        self.assertEqual(self.big_figures["samples"], 47520)
        self.assertGreater(self.big_figures["stacks"], 7000)
        for folder in self.each():
            self.assertLessEqual(os.path.getsize(os.path.join(folder, "report.html")), 1200 * 1024)


if __name__ == "__main__":
    unittest.main()
