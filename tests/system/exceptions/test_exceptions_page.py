"""The report of Exceptions in a real browser: its facts and tables, and the flame graph that it shares with the others."""
import unittest

from tests.lib import browser
from tests.system.exceptions.target import ExceptionsCase, load

CELLS = "[...document.querySelectorAll('#%s tbody tr')].filter(r => !r.hidden).map(r => r.cells[%d].textContent)"


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(ExceptionsCase):
    time_limit = 300

    def test_what_is_shown(self):
        app = self.target("parse,async,hostile", "net10.0", "--rate", "100")
        app.warm(20)
        out, _ = self.session(app, 2)
        app.stop()
        report = load(out)
        chromium = browser.Browser(self.folder)
        self.addCleanup(chromium.__exit__)
        page = chromium.open("file://%s/report.html" % out)
        self.addCleanup(page.close)
        page.ready()
        self.assertEqual(page.value("document.querySelector('h1').textContent"), report["diagnosis"]["headline"])
        self.assertEqual(page.value("document.querySelectorAll('script').length > 0 && document.title.length > 0"), True)
        types = page.value(CELLS % ("types", 3))
        self.assertEqual(sorted(types), sorted(t["type"] for t in report["types"]))
        self.assertRegex("\n".join(page.value(CELLS % ("sites", 4))), r"(?m)^Shop\.Parse\.Number \(Modes\.cs:\d+\)$")
        self.assertTrue(any("again, by await" in t for t in page.value(CELLS % ("sites", 3))))
        self.assertIn("The input string * was not in a correct format", page.value(CELLS % ("sites", 6)))
        labels = page.value("[...document.querySelectorAll('#flame .f')].map(f => f.getAttribute('aria-label'))")
        self.assertTrue(any("throw System.FormatException" in label for label in labels), labels[:20])
        self.assertIn(" exceptions", page.value("document.getElementById('detail').textContent"), "the graph counts exceptions, not time")
        self.assertIn("Thrown type", page.value("document.querySelector('.legend').textContent"))
        self.assertGreater(page.value("document.getElementById('thread').options.length"), 1, "a thread can be chosen")
        self.assertEqual((page.problems, page.requests), ([], ["file://%s/report.html" % out]))


if __name__ == "__main__":
    unittest.main()
