"""The report of RuntimePauses: of made-up sessions against its schema, and in a real browser."""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from tests.lib import browser, contrast, proc, schemas
from tests.system.pauses.pauses import SCHEMA, Session
from tests.system.pauses.test_pauses import Case

TOOL = os.path.join(proc.ROOT, "build/release/tests/pause-tool")
KINDS = ("none", "mixed", "unknown", "hostile", "many")
TABS = ("who", "slowest", "length", "about", "why")

CHOSEN = "document.getElementById('chosen').textContent"
SHOWN = "[...document.querySelectorAll('[role=tabpanel]')].filter(e => e.offsetParent).map(e => e.id)"


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(Case):
    def open(self, session, **how):
        page = self.browser.open("file://%s/r/report.html" % session.out, **how)
        self.addCleanup(page.close)
        return page.ready()

    def check_timeline(self, page, report):
        """With keys alone: choose, zoom, the longest, back."""
        page.value("document.getElementById('canvas').focus()")
        self.assertTrue(page.value("document.getElementById('reset').disabled"))
        page.key("ArrowRight")
        first = page.value(CHOSEN)
        self.assertRegex(first, r"^gen \d collection, induced at .* s: .* until all threads had stopped$")
        page.key("ArrowRight")
        self.assertNotEqual(page.value(CHOSEN), first)
        page.key("l")
        longest = re.search(r" at (\d+\.\d+) s: \d+(\.\d+)? .?s, of it \d+(\.\d+)? .?s until", page.value(CHOSEN))
        self.assertAlmostEqual(float(longest[1]), report["slowest"][0]["startSeconds"], delta=0.002)
        page.key("+", "+")
        self.assertFalse(page.value("document.getElementById('reset').disabled"))
        page.key("Escape")
        self.assertTrue(page.value("document.getElementById('reset').disabled"))
        page.click("document.getElementById('canvas')")

    def check_tabs(self, page):
        for tab in TABS:
            page.click("document.getElementById('tab-%s')" % tab)
            self.assertEqual(page.value(SHOWN), ["view-" + tab])
        page.click("document.getElementById('tab-who')")
        self.assertIn("Shop.Cache.Trim", page.value("document.getElementById('view-who').textContent"))
        page.click("document.getElementById('tab-slowest')")
        page.click("document.querySelector('input[data-filter=slowest]')")
        page.type("no such pause")
        self.assertRegex(page.value("document.getElementById('slowest-count').textContent"), "^0 of ")

    def test_everything_by_mouse_and_keys(self):
        self.browser = browser.Browser(self.folder)
        self.addCleanup(self.browser.__exit__)
        app = self.start("net10.0")
        session = Session(app, self.folder)
        self.addCleanup(session.stop, signal.SIGKILL)
        app.ask("induce 3 1 2")
        app.ask("stubborn 1 40")
        report = session.end()
        page = self.open(session)
        self.assertEqual(page.value("document.querySelector('h1').textContent"), report["diagnosis"]["headline"])
        self.check_timeline(page, report)
        self.check_tabs(page)
        page.click("document.getElementById('theme')")
        self.assertEqual(page.problems, [])
        self.assertEqual(page.requests, ["file://%s/r/report.html" % session.out])
        for width in (1200, 400):
            for dark in (False, True):
                page = self.open(session, width=width, height=800, dark=dark)
                for tab in TABS:
                    page.click("document.getElementById('tab-%s')" % tab)
                    self.assertEqual(page.value(contrast.PALE), [], "%d, %s, %s" % (width, dark, tab))
                    self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width, tab)


def load(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
        return json.load(f)


class MadeUp(unittest.TestCase):
    one_process = True
    time_limit = 120

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-pauses-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.folders = folder.name, {}
        for kind in KINDS:
            cls.folders[kind] = os.path.join(folder.name, kind)
            os.makedirs(cls.folders[kind])
            subprocess.run([TOOL, kind, cls.folders[kind]], check=True, capture_output=True, timeout=60)


class Files(MadeUp):
    def test_schema(self):
        validator = schemas.validator(SCHEMA)
        for kind, folder in self.folders.items():
            self.assertEqual(["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in validator.iter_errors(load(folder))][:5], [], kind)

    def test_figures_agree_with_each_other(self):
        for kind, folder in self.folders.items():
            report = load(folder)
            events, count = report["events"], report["pauses"]["count"]
            self.assertEqual({len(column) for column in events.values() if isinstance(column, list)}, {count - events["omitted"]}, kind)
            self.assertEqual(sum(report["histogram"]["pauses"]), count)
            self.assertEqual(sum(r["count"] for r in report["reasons"]), count)
            self.assertEqual(sum(g["pauses"] for g in report["generations"]), report["details"]["collections"])
            self.assertEqual(report["details"]["causesKnown"], kind not in ("unknown", "hostile"), kind)
            self.assertLessEqual(report["details"]["incompleteStacks"], report["details"]["stacks"])

    def test_the_longest_are_listed(self):
        report = load(self.folders["many"])
        self.assertGreater(report["events"]["omitted"], 0)
        self.assertLess(os.path.getsize(os.path.join(self.folders["many"], "report.html")), 1 << 20)


@unittest.skipUnless(browser.program(), "no Chromium")
class MadeUpPage(MadeUp):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser(cls.folder)
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, kind, place="", **how):
        url = "file://%s/report.html" % self.folders[kind]
        page = self.browser.open(url + place, **how)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual((page.problems, len(page.requests)), ([], 1)))
        return page.ready()

    def test_every_view(self):
        for kind in KINDS:
            page = self.open(kind)
            for tab in TABS:
                page.click("document.getElementById('tab-%s')" % tab)
                self.assertEqual(page.value(SHOWN), ["view-" + tab], kind)
            self.assertEqual(page.value("document.getElementById('canvas') !== null"), kind != "none")

    def test_names_of_others_stay_text(self):
        page = self.open("hostile", dark=True)
        for tab in TABS:
            page.click("document.getElementById('tab-%s')" % tab)
        self.assertNotEqual(page.value("document.title"), "owned")
        self.assertEqual(page.value("document.querySelectorAll('img, iframe, object, link, b').length"), 0)
        shown = page.value("document.getElementById('content').textContent")
        self.assertIn("<img src=x onerror=", shown)
        self.assertNotRegex(shown, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")

    def test_only_the_longest_are_drawn_and_it_is_said(self):
        self.assertRegex(self.open("many").value(CHOSEN), r"^The [\d,]+ longest pauses$")

    def test_a_part_is_chosen_with_the_mouse(self):
        page = self.open("mixed")
        box = page.value("(() => { const r = document.getElementById('canvas').getBoundingClientRect(); return [r.x, r.y, r.width]; })()")
        for kind, part in (("mousePressed", 0.3), ("mouseMoved", 0.4), ("mouseReleased", 0.5)):
            page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + part * box[2], y=box[1] + 50, button="left", buttons=1, clickCount=1)
        zoom = proc.wait_until(lambda: re.search("zoom=([0-9.]+)-([0-9.]+)", page.value("location.hash")), 60, "the part stands in the address")
        self.assertAlmostEqual(float(zoom[1]), 0.27 * 30, delta=0.5)
        self.assertAlmostEqual(float(zoom[2]), 0.47 * 30, delta=0.5)

    def test_a_place_can_be_sent(self):
        page = self.open("mixed")
        page.click("document.getElementById('tab-slowest')")
        page.value("document.getElementById('canvas').focus()")
        page.key("l")
        page.key("+", "+")
        place = proc.wait_until(lambda: (h := page.value("location.hash")) and "zoom=" in h and "bar=" in h and h, 60, "the place stands in the address")
        other = self.open("mixed", place)
        self.assertEqual(other.value(CHOSEN), page.value(CHOSEN))
        self.assertEqual(other.value(SHOWN), ["view-slowest"])
        self.assertFalse(other.value("document.getElementById('reset').disabled"))
        other.click("document.getElementById('reset')")
        proc.wait_until(lambda: "zoom" not in other.value("location.hash"), 60, "the whole session is the place")
