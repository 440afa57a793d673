"""The report of RuntimePauses in a real browser."""
import re
import signal
import unittest

from tests.lib import browser, contrast
from tests.system.pauses.pauses import Session
from tests.system.pauses.test_pauses import Case

CHOSEN = "document.getElementById('chosen').textContent"
SHOWN = "[...document.querySelectorAll('[role=tabpanel]')].filter(e => e.offsetParent).map(e => e.id)"


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(Case):
    def open(self, session, **how):
        page = self.browser.open("file://%s/r/report.html" % session.out, **how)
        self.addCleanup(page.close)
        self.assertEqual(page.value("document.documentElement.dataset.page"), "ready", page.problems)
        return page

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
        for tab in ("who", "slowest", "length", "about", "why"):
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
                for tab in ("why", "who", "slowest", "length", "about"):
                    page.click("document.getElementById('tab-%s')" % tab)
                    self.assertEqual(page.value(contrast.PALE), [], "%d, %s, %s" % (width, dark, tab))
                    self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width, tab)
