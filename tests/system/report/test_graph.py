"""What the flame graph's page does beyond drawing: folding, places in the address, links into it, comparing, a part of the time."""
import json
import os
import re
import tempfile
import unittest

from tests.lib import browser, proc
from tests.system.report.test_report import load, made_up, real

OF_METHOD = "[...document.querySelectorAll('#flame .f')].filter(f => f.getAttribute('aria-label').startsWith(%r))"
LEVELS = OF_METHOD + ".map(f => +f.getAttribute('aria-level'))"
TEXT = "document.getElementById('%s').textContent"
OWN_HANDLER = "Checkout.Loads.Web.TotalAsync"
CHOOSE = "document.getElementById('compare-file')"

# A web request's stack, async machinery below it, and a library that the application calls.
TREE = """(() => {
	const names = ['libc.so.6', 'System.Threading.Thread.StartCallback', 'Microsoft.AspNetCore.Server.Kestrel.Loop',
		'Shop.Cart.Total', 'System.Runtime.CompilerServices.AsyncMethodBuilderCore.Start', 'System.Threading.ExecutionContext.Run', 'Shop.Tax.Compute',
		'System.Text.Json.Write',
		'Microsoft.AspNetCore.Http.Results.Ok', '[garbage collection]', 'memcpy', 'Shop.Job.Run'];
	const layers = {0: 'native', 3: 'application', 6: 'application', 9: 'runtime', 10: 'native', 11: 'application'};
	const of = m => ({name: names[m], layer: layers[m] || 'library'});
	const parent = [-1, 0, 1, 2, 3, 4, 5, 6, 4, 4, 9, 4, 0, 12], method = [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 0, 11];
	const t = Report.stacks.weigh(Report.stacks.makeTree(parent, method), parent.map(() => 1));
	const folded = Report.stacks.foldTree(t, m => of(m).layer, (m, above, below) => Report.stacks.isPlumbing(of(m), above, below));
	const path = n => n ? [...path(folded.parent[n]), folded.method[n] < 0 ? folded.folds.get(n).frames + ' frames' : names[folded.method[n]]] : [];
	return Array.from(folded.parent, (_, n) => path(n).join(' > ') + ' ' + folded.self[n] + ' ' + folded.total[n]);
})()"""


@unittest.skipUnless(browser.program(), "no Chromium")
class Graph(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-graph-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.web, cls.big = real("web", folder.name), made_up("big", folder.name)[0]
        cls.browser = browser.Browser(folder.name)
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, folder, place="", **how):
        page = self.browser.open("file://%s/report.html%s" % (folder, place), **how)
        self.addCleanup(page.close)
        return page.ready()

    def test_runs_of_plumbing_are_one_row(self):
        page = self.open(self.big)
        self.assertEqual(page.value(TREE), [
            " 1 14",
            "3 frames 3 11",
            "3 frames > Shop.Cart.Total 1 8",
            "3 frames > Shop.Cart.Total > 2 frames 2 3",
            "3 frames > Shop.Cart.Total > 2 frames > Shop.Tax.Compute 1 1",
            "3 frames > Shop.Cart.Total > Microsoft.AspNetCore.Http.Results.Ok 1 2",
            "3 frames > Shop.Cart.Total > Microsoft.AspNetCore.Http.Results.Ok > Microsoft.AspNetCore.Http.Results.Ok 1 1",
            "3 frames > Shop.Cart.Total > System.Text.Json.Write 1 1",
            "3 frames > Shop.Cart.Total > [garbage collection] 1 1",
            "libc.so.6 1 2",
            "libc.so.6 > Shop.Job.Run 1 1",
        ])

    def test_everything_is_in_the_page(self):
        page = self.open(self.big)
        held = page.value("Report.unpack(document.getElementById('data').textContent).then(r => JSON.stringify(r))")
        self.assertEqual(json.loads(held), load(self.big))
        self.assertLessEqual(page.value("document.querySelectorAll('#flame .f').length"), 2500, "what is narrow is painted")
        self.assertEqual(page.value("document.querySelectorAll('.left-out').length"), 0)

    def test_own_code_is_near_the_root(self):
        page = self.open(self.web)
        self.assertIn("ASP.NET Core and the runtime", page.value(TEXT % "flame"))
        self.assertLessEqual(min(page.value(LEVELS % OWN_HANDLER)), 3, "all threads and one row above it")
        page.key("a", "a")
        self.assertGreater(min(page.value(LEVELS % OWN_HANDLER)), 4)
        self.assertEqual(page.value("document.getElementById('frames').getAttribute('aria-pressed')"), "true")
        self.assertEqual(page.value("document.querySelectorAll('#flame .folded').length"), 0)
        page.click("document.getElementById('frames')")
        self.assertLessEqual(min(page.value(LEVELS % OWN_HANDLER)), 3)
        page.value("document.querySelector('#flame .folded').focus()")
        page.key("c", "c")
        self.assertEqual(page.value("document.querySelectorAll('#flame .folded').length"), 0, "C on the row unfolds it")

    def test_no_name_of_the_compiler_is_shown(self):
        names = [m["name"] for m in load(self.web)["methods"]]
        self.assertEqual([n for n in names if re.search(r"__Canon|d__\d|>d\b", n)], [])

    def test_a_place_can_be_sent(self):
        page = self.open(self.web)
        page.click("[...document.querySelectorAll('#flame .f.l0')][0]")
        page.key("a", "a")
        page.click("document.getElementById('search')")
        page.type("Tax")
        page.click("document.getElementById('tab-methods')")
        address = page.value("location.hash")
        looks = ("document.getElementById('search').value", "document.getElementById('frames').getAttribute('aria-pressed')",
                 "document.querySelector('[role=tab][aria-selected=true]').id", "document.getElementById('reset').disabled")
        self.assertEqual([page.value(x) for x in looks], ["Tax", "true", "tab-methods", False])
        other = self.open(self.web, address)
        self.assertEqual([other.value(x) for x in looks], ["Tax", "true", "tab-methods", False])
        for shown in (page, other):
            shown.click("document.getElementById('tab-flame')")
        zoomed = "[...document.querySelectorAll('#flame .f')].map(f => f.getAttribute('aria-label') + f.className)"
        self.assertEqual(other.value(zoomed), page.value(zoomed))
        self.assertGreater(other.value("document.querySelectorAll('#flame .f.above').length"), 0)
        thread = load(self.web)["threads"][0]
        other = self.open(self.web, "#thread=0&zoom=999999&method=-4&time=7-1")
        self.assertEqual(other.value("document.querySelector('#flame .f').textContent"), thread["name"])
        self.assertEqual(other.problems, [])

    def test_methods_of_the_diagnosis_lead_into_the_graph(self):
        page = self.open(self.web)
        diagnosis = load(self.web)["diagnosis"]
        names = page.value("[...document.querySelectorAll('#headline a.method, .lines a.method')].map(a => a.textContent)")
        self.assertIn(diagnosis["method"], names)
        self.assertEqual(page.value("document.querySelector('h1').textContent"), diagnosis["headline"])
        page.click("document.getElementById('tab-about')")
        page.click("[...document.querySelectorAll('a.method')].find(a => a.textContent === %r)" % diagnosis["method"])
        self.assertEqual(page.value("document.getElementById('search').value"), diagnosis["method"])
        self.assertTrue(page.value("document.activeElement.getAttribute('aria-label')").startswith(diagnosis["method"] + ","))
        self.assertFalse(page.value("document.getElementById('reset').disabled"), "zoomed")
        self.assertFalse(page.value("document.getElementById('view-flame').hidden"))

    def test_the_table_is_beside_the_graph_and_follows_it(self):
        page = self.open(self.web)
        places = "(() => { const r = s => document.querySelector(s).getBoundingClientRect(), a = r('#methods-here'), f = r('#flame');" \
                 " return [a.left >= f.right, a.top >= f.bottom]; })()"
        self.assertEqual(page.value(places), [True, False])
        self.assertEqual(self.open(self.web, width=1000).value(places), [False, True])
        names = "[...document.querySelectorAll('#methods-here tbody tr')].map(r => r.cells[2].title)"
        before = page.value(names)
        page.click(OF_METHOD % load(self.web)["diagnosis"]["method"] + "[0]")
        proc.wait_until(lambda: page.value(names) != before, 30, "the table follows")
        self.assertLess(len(page.value(names)), len(before))
        self.assertEqual(page.value(names)[0], load(self.web)["diagnosis"]["method"])

    def choose(self, page, path):
        found = page.call("Runtime.evaluate", expression=CHOOSE)["result"]["objectId"]
        page.value("document.getElementById('compared').textContent = ''")
        page.call("DOM.setFileInputFiles", files=[path], objectId=found)
        return proc.wait_until(lambda: page.value(TEXT % "compared"), 60, "an answer")

    def changed_report(self, name, **changes):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**load(self.web), **changes}, f)
        return path

    def test_two_reports(self):
        page, report = self.open(self.web), load(self.web)
        coloured = "[...document.querySelectorAll('#flame .f')].filter(f => /(more|less)\\d/.test(f.className)).length"
        self.assertIn("Red frames", self.choose(page, os.path.join(self.web, "report.html")))
        self.assertEqual(page.value(coloured), 0, "the same report")
        self.assertIn("same", page.value("document.querySelectorAll('#flame .f')[1].className"))
        page.click("document.getElementById('compare')")
        tree, top = report["tree"], next(i for i, m in enumerate(report["methods"]) if m["name"] == report["diagnosis"]["method"])
        own = [0 if m == top else n for m, n in zip(tree["method"], tree["self"])]
        methods = [{**m, "name": "Shop.Old.Work" if m["name"] == OWN_HANDLER else m["name"]} for m in report["methods"]]
        self.choose(page, self.changed_report("then.json", tree={**tree, "self": own}, methods=methods))
        self.assertGreater(page.value(coloured), 0)
        self.assertIn("more4", page.value(OF_METHOD % OWN_HANDLER + "[0].className"))
        page.value(OF_METHOD % OWN_HANDLER + "[0].focus()")
        self.assertRegex(page.value(TEXT % "detail"), r"0\.0% before, \+ \d+\.\d points")
        self.assertIn("Shop.Old.Work", page.value(TEXT % "gone"))
        page.click("document.getElementById('compare')")
        self.assertEqual((page.value(coloured), page.value("document.getElementById('gone').hidden")), (0, True))

    def test_what_cannot_be_compared_is_refused(self):
        page = self.open(self.web)
        text = os.path.join(self.folder, "notes.txt")
        with open(text, "w", encoding="utf-8") as f:
            f.write("{\"schema\": 7")
        refused = "is not a report: choose the report.json or report.html of a CPUHotpaths session."
        self.assertEqual(self.choose(page, text), "notes.txt " + refused)
        self.assertIn("report of MemoryLeak, and this is one of CPUHotpaths", self.choose(page, self.changed_report("leak.json", profiler="MemoryLeak")))
        tree = load(self.web)["tree"]
        for wrong in ({**tree, "parent": tree["parent"][:-1]}, {**tree, "parent": [-1] + [5] * (len(tree["parent"]) - 1)}, {}, None):
            self.assertEqual(self.choose(page, self.changed_report("wrong.json", tree=wrong)), "wrong.json " + refused)
        self.assertEqual(page.problems, [])

    def test_a_part_of_the_time(self):
        page, report = self.open(self.big), load(self.big)
        values = report["timeline"]["samples"]
        page.value("document.getElementById('range').focus()")
        page.key("ArrowRight")
        for _ in range(2):
            page.call("Input.dispatchKeyEvent", type="rawKeyDown", key="ArrowRight", windowsVirtualKeyCode=39, modifiers=8)
        share = float(page.value(TEXT % "matched").split("%")[0])
        self.assertAlmostEqual(share, 100 * sum(values[:3]) / sum(values), delta=0.1)
        self.assertIn("time=0-2", page.value("location.hash"))
        page.key("Escape")
        self.assertEqual(page.value(TEXT % "matched"), "")

    def test_on_a_phone(self):
        for folder in (self.web, self.big):
            page = self.open(folder, width=360, height=800)
            for tab in ("flame", "methods", "callers", "threads", "about"):
                page.value("document.getElementById('tab-%s').click()" % tab)
                self.assertLessEqual(page.value("document.scrollingElement.scrollWidth"), 360, tab)
                self.assertNotRegex(page.value("document.getElementById('view-%s').innerText" % tab), r"NaN|undefined|null|Infinity|\[object")
            numbers = page.value("[...document.querySelectorAll('td.n')].filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.textContent)")
            self.assertEqual(numbers, [])
            self.assertEqual(page.problems, [])


if __name__ == "__main__":
    unittest.main()
