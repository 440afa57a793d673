"""DuplicatedStrings on real applications whose strings are known: exact counts and bytes, who holds them, and no contents unless revealed."""
import glob
import json
import os
import subprocess
import tempfile
import unittest

from tests.lib import browser, dotnet, proc, schemas
from tests.lib.local import drdotnet

FILES = {"summary.md", "report.html", "report.json"}
COPIES = 666


def text_of(units):
    return b"".join(u.to_bytes(2, "little") for u in units).decode("utf-16-le", "surrogatepass")


def shown(units):
    """As reports show it: lone surrogates and control characters as escapes."""
    out = []
    for c in text_of(units):
        out.append("\\u{%04X}" % ord(c) if 0xd800 <= ord(c) < 0xe000 else "\\x%02x" % ord(c) if ord(c) < 32 else c)
    return "".join(out)


def load(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
        return json.load(f)


def wrong(report):
    """What the schema says against it."""
    found = schemas.validator("report-schema-duplicatedstrings.json").iter_errors(report)
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in found][:5]


class Case(unittest.TestCase):
    one_process = True
    time_limit = 300
    framework = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-strings-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        tmp = os.path.join(cls.folder, "tmp")
        os.makedirs(tmp)
        cls.app = cls.enterClassContext(dotnet.MemoryApp("strings", cls.framework, cls.folder, ["--strings", str(COPIES)],
                                                         env={"TMPDIR": tmp}))
        cls.app.tmp = tmp
        cls.truth = cls.app.details["strings"]
        cls.app.ask("heap")  # collects: what the details have made is gone
        cls.before = dotnet.Traces(cls.app)
        cls.redacted, cls.said = cls.session("redacted", "-v")
        cls.revealed, _ = cls.session("revealed", "--reveal")

    @classmethod
    def session(cls, name, *words):
        """(The reports' folder, all that the command said.)"""
        out = os.path.join(cls.folder, name)
        code, text, errors = drdotnet("run", "--profiler", "DuplicatedStrings", "--pid", cls.app.pid, "-o", out, "-v",
                                      "--pause-budget", "60000", *words, seconds=120)
        assert code == 0, text + errors
        return out, text + errors

    def value(self, report, group):
        """The value of the report that this group of the application is, by what is shown of it."""
        found = [v for v in report["values"] if v["characters"] == group["chars"] and v["sizeBytes"] == group["each_bytes"]
                 and any(h["holder"].endswith(group["holder"]) and h["count"] == group["copies"] for h in v["holders"])]
        self.assertEqual(len(found), 1, "%s\n%s" % (group, [v for v in report["values"] if v["characters"] == group["chars"]]))
        return found[0]


class OnReal:
    def test_counts_and_bytes_are_exact(self):
        report = load(self.redacted)
        self.assertEqual(len([g for g in self.truth["groups"] if g["chars"] == 6 and g["copies"] == COPIES]), 1)
        for group in self.truth["groups"]:
            value = self.value(report, group)
            # the literal that the copies were made of, and nothing else
            self.assertIn(value["count"] - group["copies"], (0, 1), group)
            self.assertEqual(value["wastedBytes"], (value["count"] - 1) * group["each_bytes"])
            self.assertGreaterEqual(value["oldCount"], group["copies"])

    def test_sums_agree(self):
        report = load(self.redacted)
        wasted = report["strings"]["wastedBytes"]
        self.assertEqual(sum(v["wastedBytes"] for v in report["values"]) + report["valuesNotListed"]["wastedBytes"], wasted)
        self.assertEqual(sum(g["wastedBytes"] for g in report["strings"]["generations"]), wasted)
        self.assertEqual(sum(g["bytes"] for g in report["strings"]["generations"]), report["strings"]["bytes"])
        self.assertEqual(sum(h["wastedBytes"] for h in report["holders"]) + report["holdersNotListed"]["wastedBytes"]
                         + report["unheld"]["wastedBytes"], wasted)
        self.assertEqual(report["strings"]["values"] + report["strings"]["copies"], report["strings"]["count"])
        self.assertGreater(report["strings"]["bytes"], 2 * self.truth["big_chars"])
        self.assertGreater(report["heap"]["bytes"], report["strings"]["bytes"])

    def test_who_holds_them_and_what_would_help(self):
        report = load(self.redacted)
        holders = {h["name"]: h for h in report["holders"]}
        title = holders["Shop.Document.Title"]
        self.assertEqual((title["strings"], title["values"], title["remedy"]), (COPIES, 1, "number"))
        self.assertEqual((title["type"], title["field"], title["heldBy"]), ("Shop.Document", "Title", None))
        words = holders["string[]"]
        self.assertGreaterEqual(words["strings"], 300 + 200 + 40 + 50 + 30 + 3 + 25)
        self.assertIn("Shop.Library.Tags", words["heldBy"])
        values = [h for name, h in holders.items() if name.endswith("Dictionary<string, string>.Entry[].value")]
        self.assertEqual(len(values), 1, list(holders))
        self.assertGreaterEqual(values[0]["strings"], 1000)
        self.assertIn("Shop.Library.Names", values[0]["heldBy"])

    def test_no_contents_anywhere(self):
        """Not in a file, not in what the command says, not in its log."""
        secrets = [text_of(g["units"]) for g in self.truth["groups"] if g["units"] and 2 < len(g["units"])]
        self.assertIn("777777", secrets)
        texts = {"output": self.said.encode()}
        for path in glob.glob(self.redacted + "/*"):
            with open(path, "rb") as f:
                texts[path] = f.read()
        self.assertEqual({os.path.basename(p) for p in texts} - {"output"}, FILES)
        for secret in secrets + ["vvvvvv", "LLLLLL", "BBBBBB", "Zoë", "unique 1", "name 99"]:
            for where, data in texts.items():
                for code in ("utf-8", "utf-16-le"):
                    self.assertNotIn(secret.encode(code, "surrogatepass"), data, (secret, where))
        self.assertFalse(load(self.redacted)["contents"]["revealed"])

    def test_revealed_values_are_told(self):
        report = load(self.revealed)
        self.assertTrue(report["contents"]["revealed"])
        for group in self.truth["groups"]:
            start = self.value(report, group)["start"]
            if group["units"] is not None:
                self.assertEqual(start, shown(group["units"]), group)
            else:
                self.assertEqual(start, start[0] * 32)
        for name in ("summary.md", "report.html"):
            with open(os.path.join(self.revealed, name), encoding="utf-8") as f:
                self.assertIn("vvvvvvvv", f.read())
        for text in (report["diagnosis"]["text"], report["diagnosis"]["headline"]):
            self.assertNotIn("777777", text)
            self.assertNotIn("vvvvvv", text)

    def test_names_of_values_are_those_of_one_session(self):
        first, second = ({v["id"] for v in load(f)["values"]} for f in (self.redacted, self.revealed))
        self.assertGreater(len(first), 5)
        self.assertLess(len(first & second), 2)

    def test_the_report_is_by_its_schema(self):
        for folder in (self.redacted, self.revealed):
            self.assertEqual(wrong(load(folder)), [])
            diagnosis = load(folder)["diagnosis"]
            self.assertLessEqual(len(diagnosis["headline"]), 80)
            self.assertEqual(diagnosis["text"].splitlines()[0], diagnosis["headline"])

    def test_nothing_is_left(self):
        dotnet.assert_nothing_left(self, self.app, self.before)
        self.app.assert_progress()


class Net8(OnReal, Case):
    framework = "net8.0"


class Net10(OnReal, Case):
    framework = "net10.0"


class Net11(OnReal, Case):
    framework = "net11.0"

    @unittest.skipUnless(browser.program(), "no Chromium")
    def test_the_page_in_a_browser(self):
        with browser.Browser(self.folder) as b:
            page = b.open("file://%s/report.html" % self.revealed)
            page.ready()
            self.assertEqual(page.value("document.querySelector('h1').textContent"), load(self.revealed)["diagnosis"]["headline"])
            for tab in ("values", "generations", "about", "holders"):
                page.click("document.getElementById('tab-%s')" % tab)
                self.assertTrue(page.value("document.getElementById('view-%s').offsetParent !== null" % tab), tab)
            page.click("document.querySelector('[data-filter=holders]')")
            page.type("title")
            rows = page.value("[...document.querySelectorAll('#holders tbody tr')].filter(r => !r.hidden).map(r => r.cells[4].textContent)")
            self.assertEqual(rows, ["Shop.Document.Title"])
            self.assertEqual(page.problems, [])


del Case
