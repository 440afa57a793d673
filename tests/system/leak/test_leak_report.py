"""The report of MemoryLeak, read by a JSON Schema validator and a real browser."""
import json
import os
import re
import subprocess
import tempfile
import unittest

from tests.lib import browser, contrast, proc, schemas

TOOL = os.path.join(proc.ROOT, "build/release/tests/leak-tool")
KINDS = ("grows", "unknown", "hostile", "big")
FILES = {"summary.md", "report.html", "report.json"}
ROWS = "[...document.querySelectorAll('#%s tbody tr')].filter(r => !r.hidden).map(r => r.cells[%d].textContent)"


def wrong(report):
    """What the schema says against it."""
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in schemas.validator("report-schema-memoryleak.json").iter_errors(report)][:5]


def load(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
        return json.load(f)


def words(name):
    """"levelledOff" as people write it."""
    return re.sub("[A-Z]", lambda c: " " + c[0].lower(), name)


class MadeUp(unittest.TestCase):
    one_process = True
    time_limit = 120

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-leak-")
        cls.addClassCleanup(folder.cleanup)
        cls.folders = {}
        for kind in KINDS:
            cls.folders[kind] = os.path.join(folder.name, kind)
            os.makedirs(cls.folders[kind])
            subprocess.run([TOOL, kind, cls.folders[kind]], check=True, capture_output=True, timeout=60)


class Files(MadeUp):
    def test_all_files_and_nothing_else(self):
        for kind, folder in self.folders.items():
            self.assertEqual(set(os.listdir(folder)), FILES, kind)

    def test_schema(self):
        for kind, folder in self.folders.items():
            self.assertEqual(wrong(load(folder)), [], kind)

    def test_the_schema_refuses_what_is_none(self):
        report = load(self.folders["grows"])
        for key in ("walks", "growth", "holders", "cost"):
            self.assertTrue(wrong({k: v for k, v in report.items() if k != key}), key)
        self.assertTrue(wrong({**report, "more": 1}))

    def test_figures_agree_with_each_other(self):
        for kind, folder in self.folders.items():
            report = load(folder)
            walks = len(report["walks"])
            for entry in report["holders"] + report["types"]:
                self.assertEqual(len(entry["counts"]), walks, kind)
                self.assertEqual(len(entry["bytes"]), walks)
                self.assertEqual(entry["growthBytes"], entry["bytes"][-1] - entry["bytes"][0])
                self.assertEqual(entry["growthCount"], entry["counts"][-1] - entry["counts"][0])
            growing = [h for h in report["holders"] if h["verdict"] == "grows"]
            if len(report["holders"]) < 100:
                self.assertEqual(report["growth"]["heldBytes"], sum(h["growthBytes"] for h in growing), kind)
            self.assertEqual(report["growth"]["holder"], growing[0]["path"] if growing else None)

    def test_what_is_left_out_is_counted(self):
        grows, big = load(self.folders["grows"]), load(self.folders["big"])
        self.assertEqual(grows["leftOut"], {"holders": 0, "types": 0, "notKept": 0})
        self.assertEqual((len(big["holders"]), len(big["types"])), (100, 1000))
        self.assertGreater(min(big["leftOut"]["holders"], big["leftOut"]["types"]), 0)

    def test_what_is_not_known_is_null(self):
        report = load(self.folders["unknown"])
        self.assertIsNone(report["memory"])
        self.assertIsNone(report["growth"]["unmanagedBytes"])
        self.assertIsNone(report["growth"]["limitBytes"])
        self.assertIsNone(report["growth"]["holder"])
        self.assertEqual(report["walks"][0]["roots"], "noCollection")
        self.assertIsNone(report["walks"][0]["containerBytes"])

    def test_the_page_stays_small(self):
        self.assertLess(os.path.getsize(os.path.join(self.folders["big"], "report.html")), 2 << 20)


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(MadeUp):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-page-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.browser = browser.Browser(folder.name)
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, kind, **how):
        url = "file://%s/report.html" % self.folders[kind]
        page = self.browser.open(url, **how)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual((page.problems, page.requests), ([], [url])))
        return page.ready()

    def test_names_are_in_sight_on_a_phone_and_on_paper(self):
        seen = """[...document.querySelectorAll('#holders tbody tr')].map(tr => { const r = tr.querySelector('td.name').getBoundingClientRect();
            return [Math.round(r.left), Math.round(r.right), Math.round(tr.getBoundingClientRect().height)]; })"""
        page = self.open("grows", width=390, height=800)
        for left, right, height in page.value(seen):
            self.assertTrue(0 <= left and right <= 390 and height < 200, (left, right, height))
        self.assertIn("Growth ", page.value("getComputedStyle(document.querySelector('#holders tbody td'), '::before').content + ' '").replace('"', ""))
        page = self.open("grows", width=720, height=1000, dark=True)
        page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(page.value("['backgroundColor', 'color'].map(k => getComputedStyle(document.body)[k])"), ["rgb(255, 255, 255)", "rgb(23, 33, 45)"])
        for left, right, _ in page.value(seen):
            self.assertTrue(0 <= left and right <= 720, (left, right))

    def test_every_view(self):
        for kind in KINDS:
            page = self.open(kind)
            for tab in ("types", "memory", "walks", "about", "holders"):
                page.click("document.getElementById('tab-%s')" % tab)
                shown = page.value("[...document.querySelectorAll('[role=tabpanel]')].filter(e => e.offsetParent).map(e => e.id)")
                self.assertEqual(shown, ["view-" + tab], kind)
            page.click("document.getElementById('theme')")

    def test_keys_alone(self):
        page = self.open("grows")
        page.value("document.getElementById('tab-holders').focus()")
        for key, tab in (("ArrowRight", "types"), ("ArrowRight", "memory"), ("ArrowLeft", "types")):
            page.key(key)
            self.assertEqual(page.value("document.activeElement.id"), "tab-" + tab)
        for _ in range(6):
            page.key("Tab")
            if page.value("document.activeElement.tagName") == "INPUT":
                break
        page.type("no such type")
        self.assertRegex(page.value("document.getElementById('types-count').textContent"), "^0 of ")
        page.key("Tab")
        page.key("Enter")  # the first column's button sorts
        self.assertEqual(page.value("document.querySelector('#types th').getAttribute('aria-sort')"), "descending")
        self.assertGreater(page.value("getComputedStyle(document.activeElement).outlineStyle === 'none' ? 0 : 1"), 0, "focus is seen")

    def test_light_dark_and_narrow(self):
        for width in (1200, 400):
            for dark in (False, True):
                page = self.open("grows", width=width, dark=dark)
                for tab in ("holders", "types", "memory", "walks", "about"):
                    page.click("document.getElementById('tab-%s')" % tab)
                    self.assertEqual(page.value(contrast.PALE), [], "%d, %s, %s" % (width, dark, tab))
                    self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width, tab)

    def test_diagnosis_and_holders(self):
        page, report = self.open("grows"), load(self.folders["grows"])
        self.assertEqual(page.value("document.querySelector('h1').textContent"), report["diagnosis"]["headline"])
        self.assertEqual(page.value(ROWS % ("holders", 5))[0],
                         report["holders"][0]["path"] + words(report["holders"][0]["pattern"]))
        self.assertEqual(page.value(ROWS % ("holders", 4)), [words(h["verdict"]) for h in report["holders"]])

    def test_search_and_sort(self):
        page = self.open("big")
        page.click("document.getElementById('tab-types')")
        page.click("document.querySelector('[data-filter=types]')")
        page.type("thing77")
        shown = page.value(ROWS % ("types", 6))
        self.assertTrue(shown and all("Thing77" in name for name in shown), shown)
        page.click("document.querySelector('#types th:nth-child(7) button')")
        self.assertEqual(page.value(ROWS % ("types", 6)), sorted(shown))

    def test_names_of_others_stay_text(self):
        page = self.open("hostile", dark=True)
        for tab in ("types", "memory", "walks", "about", "holders"):
            page.click("document.getElementById('tab-%s')" % tab)
        self.assertNotEqual(page.value("document.title"), "owned")
        self.assertEqual(page.value("document.querySelectorAll('img, iframe, object, link, b').length"), 0)
        shown = page.value("document.getElementById('content').textContent")
        self.assertIn("<img src=x onerror=", shown)
        self.assertNotRegex(shown, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")


if __name__ == "__main__":
    unittest.main()
