"""The report of Allocations in a real browser: the flame graph that it shares with CPUHotpaths, its own tables, mouse and keys."""
import unittest

from tests.system.allocs.test_allocations import AllocationsCase, load, run
from tests.lib import browser, contrast, flame

ROWS = "[...document.querySelectorAll('#%s tbody tr')].filter(r => !r.hidden).map(r => r.cells[%d].textContent)"
SHOWN = "[...document.querySelectorAll('[role=tabpanel]')].filter(e => e.offsetParent).map(e => e.id)"


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(AllocationsCase):
    time_limit = 300

    def open(self, **how):
        page = self.browser.open("file://%s/report.html" % self.out, **how)
        self.addCleanup(page.close)
        return page.ready()

    def test_everything_by_mouse_and_keys(self):
        app = self.target("sites", "net10.0", "--pause", "3")
        app.warm(20)
        self.out, _ = run(self, app, 2)
        app.stop()
        self.browser = browser.Browser(self.folder)
        self.addCleanup(self.browser.__exit__)
        page = self.open()
        self.check_keys(page)
        self.check_tabs(page)
        self.check_tables(page)
        self.assertEqual((page.problems, page.requests), ([], ["file://%s/report.html" % self.out]))
        self.check_looks()

    def check_keys(self, page):
        """With keys alone: search, move, zoom, callers and callees."""
        report = load(self.out)
        self.assertEqual(page.value("document.querySelector('h1').textContent"), report["diagnosis"]["headline"])
        page.type("/")
        self.assertEqual(page.value("document.activeElement.id"), "search")
        page.type("buffer")
        hits = page.value("[...document.querySelectorAll('#flame .f.hit')].map(f => f.getAttribute('aria-label'))")
        self.assertTrue(hits and all("buffer" in h.lower() for h in hits) and any("Shop.Sites.Buffer" in h for h in hits), hits)
        self.assertRegex(page.value("document.getElementById('matched').textContent"), r"^[0-9.]+% matches, \d+ methods?$")
        page.key("Escape")
        flame.zoom_by_keys(self, page)
        page.key("Escape")  # one step out
        page.click("document.getElementById('reset')")
        self.assertTrue(page.value("document.getElementById('reset').disabled"))
        page.key("a", "a")  # all frames
        page.value("document.querySelector('#flame .f').focus()")
        for _ in range(3):
            page.key("ArrowDown")
        page.key("c", "c")
        self.assertEqual(page.value(SHOWN), ["view-callers"])

    def check_tabs(self, page):
        for tab in ("methods", "callers", "threads", "about", "flame"):
            page.click("document.getElementById('tab-%s')" % tab)
            self.assertEqual(page.value(SHOWN), ["view-" + tab])
        leaves = page.value("[...document.querySelectorAll('#flame .f.l6')].map(f => f.getAttribute('aria-label'))")
        self.assertTrue(leaves and all(x.startswith("new ") for x in leaves), leaves)

    def check_tables(self, page):
        report = load(self.out)
        top = report["sites"][0]
        self.assertEqual(page.value(ROWS % ("sites", 5))[0], "%s (Sites.cs:%d)" % (top["method"], top["place"]["line"]))
        page.click("document.querySelector('[data-filter=sites]')")
        page.type("label")
        shown = page.value(ROWS % ("sites", 5))
        self.assertTrue(shown and all("Label" in name for name in shown), shown)
        page.click("document.querySelector('#types th:nth-child(7) button')")
        names = page.value(ROWS % ("types", 6))
        self.assertEqual(names, page.value("%s.sort((a, b) => a.localeCompare(b))" % (ROWS % ("types", 6))))

    def check_looks(self):
        for width in (1200, 400):
            for dark in (False, True):
                page = self.open(width=width, dark=dark)
                for tab in ("flame", "methods", "threads", "about"):
                    page.click("document.getElementById('tab-%s')" % tab)
                    self.assertEqual(page.value(contrast.PALE), [], "%d, %s, %s" % (width, dark, tab))
                self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main()
