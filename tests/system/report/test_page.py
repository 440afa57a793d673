"""report.html in a real browser: from a file and from a server with the controller's own policy."""
import http.server
import os
import re
import tempfile
import threading
import unittest

from tests.lib import browser, contrast, flame, proc, report_page
from tests.system.report.test_report import load, made_up, real

TEXTS = "[...document.querySelectorAll('%s')].filter(e => e.offsetParent).map(e => e.textContent)"
HITS = "document.querySelectorAll('#flame .f.hit').length"
FRAMES = "document.querySelectorAll('#flame .f').length"


def policy():
    """REPORT_POLICY of common/report/report_policy.h."""
    with open(os.path.join(proc.ROOT, "common/report/report_policy.h"), encoding="utf-8") as f:
        macro = re.search(r"#define REPORT_POLICY_WITHIN\(ancestors\)((?:.*\\\n)+.*)", f.read()).group(1)
    return "".join(re.findall(r'"([^"]*)"', macro)) + "'none'"


def slow_requests():
    """report.json of a SlowRequests session, as far as its page needs it: two endpoints with the same bill."""
    def endpoint(name, samples):
        thread = {**dict.fromkeys(("gc", "code", "io", "task", "noCPU", "sleep", "blocked", "untold"), 0), "lock": 60000000, "code": 20000000}
        bars = [{"from": 0, "to": 120000000, "kind": "call", "call": "http shop", "place": None},
                {"from": 120000000, "to": 200000000, "kind": "lock", "call": None, "place": "Shop.Stock.Take"}]
        return {"name": name, "requests": 10, "perSecond": 1, "percent": 50, "p50Nanoseconds": 2e8, "p95Nanoseconds": 2e8, "p99Nanoseconds": 2e8,
                "longestNanoseconds": 1250000000, "failedPercent": 0, "statuses": {}, "inFlight": 0, "oldestNanoseconds": 0, "clients": 0, "stream": False,
                "streams": 0, "streamsInFlight": 0, "latencies": [200000000, 10], "slowest": [],
                "bill": {"requests": 1, "nanoseconds": 200000000, "threadNanoseconds": 80000000, "thread": thread, "places": [], "otherAwaitNanoseconds": 0,
                         "unseenNanoseconds": 0, "calls": [{"name": "http shop", "count": 1, "failed": 0, "awaitNanoseconds": 120000000,
                                                            "threadNanoseconds": 0, "longestNanoseconds": 120000000}]},
                "code": {"samples": samples, "methods": [], "tree": {"parent": [-1, 0], "method": [-1, 0], "self": [0, samples], "total": [samples] * 2}},
                "slowestRequest": {"nanoseconds": 200000000, "bars": bars}, "typicalRequest": None}
    return {"schema": "drdotnet.dev/report/slow-requests", "profiler": "SlowRequests", "diagnosis": {"text": "GET /a: p95 200 ms"}, "findings": [],
            "session": {}, "measured": {}, "time": {"durationSeconds": 10}, "endpoints": [endpoint("GET /a", 20), endpoint("GET /b", 10)],
            "methods": [{"name": "Shop.Stock.Take", "module": "Shop.dll", "layer": "application", "marks": [], "total": 30}],
            "requests": {"count": 20, "streams": 0, "perSecond": 2, "p50Nanoseconds": 2e8, "p95Nanoseconds": 2e8, "p99Nanoseconds": 2e8,
                         "longestNanoseconds": 1250000000, "failed": 0, "withStatus": 20, "inFlight": 0},
            "sampling": {**dict.fromkeys(("began", "ended", "beginningNotSeen", "notFollowed", "dropped", "malformed", "leftOut", "threadLooks", "cpuSamples",
                                          "cpuSamplesOfRequests"), 0),
                         **dict.fromkeys(("followedPercent", "countedPercent", "switchesPercent", "waitsPercent"), 100),
                         "cpuSamplePeriodNanoseconds": 10000000},
            "cost": {"maxPauseMicroseconds": 0, "maxWaitMicroseconds": 0, "blockingCollections": 0, "addedCPUMilliseconds": 1, "agentCPUMilliseconds": 1}}


def deadlocks():
    """report.json of a Deadlocks session, as far as its page needs it: a thread behind another one, which holds a lock."""
    native = [{"name": name, "layer": "runtime"} for name in ("pthread_cond_wait", "libcoreclr.so", "libcoreclr.so", "libcoreclr.so")]
    stack = [*native, {"name": "Shop.Stock.Take", "layer": "application"}, {"name": "libcoreclr.so", "layer": "runtime"}]
    def thread(tid, **more):
        return {"id": tid, "name": None, "still": True, "lasting": False, "waitsFor": None, "behind": 0, "circle": None, "peer": None, "stack": stack, **more}
    return {"schema": "drdotnet.dev/report/v1", "profiler": "Deadlocks", "diagnosis": {"text": "1 thread waits", "finding": "blocked"}, "session": {},
            "findings": [], "excluded": [], "measured": {},
            "notMeasured": [{"id": "DeadlockOfOtherLocks", "what": "a deadlock of other locks", "message": "they do not name who is waited for"}],
            "looks": {"secondsBetween": 1, "threads": 2, "monitors": 1, "waiting": 1, "lasting": 1, "otherLocks": True, "taskWaiters": 0},
            "locks": [{"kind": "monitor", "type": "Shop.Arm", "heldBy": 7, "times": 0, "waiters": 1, "seen": 1}],
            "threads": [thread(7, behind=1), thread(8, waitsFor=0, lasting=True)],
            "cost": {"maxPauseMicroseconds": 0, "maxWaitMicroseconds": 0, "blockingCollections": 0, "addedCPUMilliseconds": 1, "agentCPUMilliseconds": 1}}


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("content-security-policy", policy())
        self.send_header("x-content-type-options", "nosniff")
        super().end_headers()

    def log_message(self, *_):
        pass


@unittest.skipUnless(browser.program(), "no Chromium")
class ReportPage(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-page-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.real, cls.hostile, cls.big = real("names", folder.name), made_up("hostile", folder.name)[0], made_up("big", folder.name)[0]
        cls.browser = browser.Browser(folder.name)
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, folder, **how):
        return self.show("file://%s/report.html" % folder, **how)

    def show(self, url, **how):
        page = self.browser.open(url, **how)
        self.addCleanup(page.close)
        return page.ready()

    def serve(self, folder):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Handler(*a, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d/report.html" % server.server_port

    def assert_quiet(self, page, url):
        self.assertEqual(page.problems, [])
        self.assertEqual(page.requests, [url])

    def use_everything(self, page):
        for tab in ("methods", "callers", "threads", "about", "flame"):
            page.click("document.getElementById('tab-%s')" % tab)
            self.assertEqual(page.value(TEXTS % "[role=tabpanel]" + ".length"), 1, tab)
        page.click("document.getElementById('theme')")
        page.click("document.getElementById('search')")
        page.type("a")

    def test_from_a_file(self):
        for folder in (self.real, self.hostile, self.big):
            page = self.open(folder)
            self.use_everything(page)
            self.assert_quiet(page, "file://%s/report.html" % folder)

    def test_under_the_controller_s_policy(self):
        self.assertIn("sandbox", policy())
        url = self.serve(self.real)
        page = self.show(url)
        self.assertEqual(page.value("origin"), "null", "sandboxed")
        self.use_everything(page)
        self.assert_quiet(page, url)

    def test_names_of_others_stay_text(self):
        page = self.open(self.hostile)
        self.assertTrue(page.value("document.title").startswith("</script><script>"), page.value("document.title"))
        self.assertEqual(page.value("document.querySelectorAll('img, iframe, object, link').length"), 0)
        with open(os.path.join(self.hostile, "report.html"), encoding="utf-8") as f:
            hashes = re.search(r"script-src ([^;]*);", f.read()).group(1).split()
        self.assertEqual(page.value("document.querySelectorAll('script:not(#data)').length"), len(hashes), "our own scripts")
        page.click("document.getElementById('tab-methods')")
        shown = "\n".join(page.value(TEXTS % "#methods td.name"))
        for text in ("</script>document.title='owned'", "<img src=x onerror=document.title='owned'>", "&lt;", "${x}", "__proto__"):
            self.assertIn(text, shown)
        self.assertNotRegex(shown, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")
        self.assertIn("</script>", page.value("document.title"))

    def test_diagnosis_first(self):
        page = self.open(self.real)
        diagnosis = load(self.real)["diagnosis"]
        self.assertEqual(page.value("document.querySelector('h1').textContent"), diagnosis["headline"])
        self.assertEqual(page.value(TEXTS % ".lines li"), diagnosis["text"].split("\n")[1:])
        self.assertLess(page.value("document.querySelector('h1').getBoundingClientRect().top"), 200)

    def test_where_the_time_of_requests_went(self):
        out = os.path.join(self.folder, "requests")
        os.makedirs(out)
        report_page.write(slow_requests(), "agent/profilers/requests/request_view.js", out + "/report.html")
        page = self.open(out, width=390)
        widths = page.value("[...document.querySelector('#bills td.strip svg').querySelectorAll('rect')].map(e => +e.getAttribute('width'))")
        self.assertAlmostEqual(sum(widths), 1000, delta=2, msg="the parts add up")
        page.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.assertEqual(page.value(TEXTS % ".parts > li > b"), 2 * ["60% (120 ms)", "30% (60.0 ms)", "10% (20.0 ms)"])
        self.assertEqual(page.value(TEXTS % ".fall .what"), 2 * ["awaiting http shop", "locks in Shop.Stock.Take"])
        self.assertEqual(page.value(TEXTS % "#endpoints td[data-label=Longest]"), 2 * ["1.25 s"])
        self.assertLessEqual(page.value("document.querySelector('#bills').scrollWidth"), 390, "nothing is cut off")
        self.assertEqual(page.value("document.getElementById('thread').options.length"), 3, "both endpoints can be chosen")
        self.assertIn("300 ms", page.value("document.getElementById('detail').textContent"))
        self.assertEqual(page.value(contrast.PALE), [])

    def test_threads_that_wait_and_their_stacks(self):
        out = os.path.join(self.folder, "deadlocks")
        os.mkdir(out)
        report_page.write(deadlocks(), "agent/profilers/deadlocks/deadlock_view.js", out + "/report.html")
        page = self.open(out)
        page.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.assertEqual(page.value(TEXTS % "#threads th"), ["Thread", "Waits for", "Threads that wait for it", "Waits since the first look", "Where"])
        rows = page.value("[...document.querySelectorAll('#threads tbody tr')].map(r => [...r.cells].slice(0, 4).map(c => c.textContent))")
        self.assertEqual(rows, [["7", "", "1", ""], ["8", "Shop.Arm, held by thread 7", "0", "yes"]])
        self.assertEqual(page.value(TEXTS % "#threads tbody tr:first-child li"),
                         ["pthread_cond_wait", "libcoreclr.so (3 frames)", "Shop.Stock.Take", "libcoreclr.so"], "neighbours without a name are one line")
        self.assertEqual(page.value(TEXTS % "#findings strong"), ["a deadlock of other locks"], "words, not an id")

    def share_of(self, word):
        """Percent of the samples with a matching method anywhere on their stack, from report.json's tree."""
        report = load(self.real)
        tree, inside, found = report["tree"], [False], 0
        for node in range(1, len(tree["parent"])):
            method = report["methods"][tree["method"][node]]
            hit = word in (method["name"] + " " + method["module"]).lower()
            found += tree["total"][node] if hit and not inside[tree["parent"][node]] else 0
            inside.append(hit or inside[tree["parent"][node]])
        return 100 * found / report["sampling"]["samples"]

    def test_search(self):
        page = self.open(self.real)
        methods = [m for m in load(self.real)["methods"] if m["layer"] == "application" and 2 * m["total"] < load(self.real)["sampling"]["samples"]]
        names = [(m["total"], re.split("[(<]", m["name"])[0].split(".")[-1].lower()) for m in methods]
        word = max((total, name) for total, name in names if name)[1]
        self.assertEqual(page.value(HITS), 0)
        page.type("/")
        self.assertEqual(page.value("document.activeElement.id"), "search")
        page.type(word)
        hits = page.value("[...document.querySelectorAll('#flame .f.hit')].map(f => f.getAttribute('aria-label'))")
        self.assertGreater(len(hits), 0, word)
        self.assertTrue(all(word in h.lower() for h in hits), hits)
        matched = page.value("document.getElementById('matched').textContent")
        self.assertAlmostEqual(float(matched.split("%")[0]), self.share_of(word), delta=0.1, msg=matched)
        page.click("document.getElementById('tab-methods')")
        self.assertTrue(all(word in t.lower() for t in page.value(TEXTS % "#methods td.name button")))
        page.click("document.getElementById('search')")
        page.key("Escape")
        self.assertEqual((page.value("document.getElementById('search').value"), page.value(HITS)), ("", 0))
        page.type("no such method")
        self.assertEqual(page.value("document.getElementById('matched').textContent"), "Nothing matches")

    def test_zoom_with_the_mouse(self):
        page = self.open(self.real)
        wide = "document.querySelector('#flame .f.l0')"
        before = page.value(wide + ".getBoundingClientRect().width")
        label = page.value(wide + ".getAttribute('aria-label')")
        self.assertTrue(page.value("document.getElementById('reset').disabled"))
        narrow = "[...document.querySelectorAll('#flame .f.l0')].find(f => f.offsetWidth > 3 && f.offsetWidth < 500)"
        small = page.value(narrow + ".offsetWidth")
        name = page.value(narrow + ".getAttribute('aria-label')")
        page.click(narrow)
        zoomed = "[...document.querySelectorAll('#flame .f')].find(f => f.getAttribute('aria-label') === %r)" % name
        self.assertGreater(page.value(zoomed + ".offsetWidth"), 2 * small)
        self.assertEqual(page.value(flame.FOCUSED), name)
        page.click("document.getElementById('reset')")
        self.assertEqual(page.value(wide + ".getBoundingClientRect().width"), before)
        self.assertEqual(page.value(wide + ".getAttribute('aria-label')"), label)
        self.assertTrue(page.value("document.getElementById('reset').disabled"))

    def test_keyboard_alone(self):
        page = self.open(self.real)
        page.value("document.getElementById('tab-flame').focus()")
        page.key("ArrowRight")
        self.assertEqual(page.value("document.activeElement.id"), "tab-methods")
        page.key("ArrowLeft")
        self.assertEqual(page.value("document.activeElement.id"), "tab-flame")
        flame.zoom_by_keys(self, page)
        page.key("ArrowUp")
        self.assertEqual(page.value(flame.LEVEL), "3")
        page.key("Escape")
        page.key("ArrowDown")
        page.key("c", "c")
        self.assertEqual(page.value("document.getElementById('tab-callers').getAttribute('aria-selected')"), "true")
        self.assertGreater(page.value("getComputedStyle(document.activeElement).outlineStyle === 'none' ? 0 : 1"), 0, "focus is seen")

    def test_callers_and_callees(self):
        page = self.open(self.real)
        report = load(self.real)
        top = report["topMethods"][0]
        page.click("document.getElementById('tab-callers')")
        self.assertIn(top["name"], page.value("document.getElementById('focus').textContent"))
        for part in ("callers", "callees"):
            names = page.value("[...document.querySelectorAll('#%s .f[aria-level=\"2\"]')].map(f => f.getAttribute('aria-label'))" % part)
            for edge in [e for e in top[part] if e["name"] and e["samples"] * 50 > top["total"]]:
                self.assertTrue(any(n.startswith(edge["name"] + ",") for n in names), "%s: %s" % (edge["name"], names))

    def test_by_thread(self):
        page = self.open(self.real)
        report, before = load(self.real), page.value(FRAMES)
        choose = "(() => { const s = document.getElementById('thread'); s.value = %r; s.dispatchEvent(new Event('change')); })()"
        self.assertEqual(page.value("document.querySelectorAll('#thread option').length - 1"), sum(t["samples"] > 0 for t in report["threads"]))
        page.value(choose % "0")
        thread = report["threads"][0]
        self.assertEqual(page.value("document.querySelector('#flame .f').textContent"), thread["name"])
        self.assertAlmostEqual(float(page.value("document.getElementById('matched').textContent").split("%")[0]), thread["percent"], delta=0.1)
        page.click("document.getElementById('tab-threads')")
        self.assertEqual(page.value("document.querySelectorAll('#threads tbody tr').length"), len(report["threads"]))
        page.click("document.getElementById('tab-flame')")
        page.value(choose % "-1")
        self.assertEqual(page.value(FRAMES), before)

    def test_table(self):
        page = self.open(self.real)
        page.click("document.getElementById('tab-methods')")
        top = load(self.real)["topMethods"][0]
        self.assertIn(top["name"], page.value(TEXTS % "#methods td.name button")[0])
        totals = "[...document.querySelectorAll('#methods tbody tr')].map(r => parseFloat(r.cells[2].textContent))"
        for direction in ("descending", "ascending"):
            page.click("[...document.querySelectorAll('#methods th button')].find(b => b.textContent.startsWith('Total'))")
            values = page.value(totals)
            self.assertEqual(values, sorted(values, reverse=direction == "descending"))
            self.assertEqual(page.value("document.querySelectorAll('#methods th[aria-sort=%s]').length" % direction), 1)

    def test_dark_and_light(self):
        for dark in (False, True):
            page = self.open(self.real, dark=dark)
            background = "getComputedStyle(document.body).backgroundColor"
            first = page.value(background)
            for _ in range(2):
                pale = page.value(contrast.PALE)
                self.assertEqual(pale, [], "contrast")
                self.assertEqual(page.value("document.getElementById('theme').textContent"), "Light" if dark else "Dark")
                page.click("document.getElementById('theme')")
                dark = not dark
            page.click("document.getElementById('theme')")
            self.assertNotEqual(page.value(background), first)

    def test_roles(self):
        page = self.open(self.real)
        roles = page.roles()
        kinds = [role for role, _ in roles]
        for role, count in {"main": 1, "tablist": 1, "tab": 5, "tabpanel": 1, "tree": 1, "searchbox": 1, "combobox": 1, "heading": 2}.items():
            self.assertEqual(kinds.count(role), count, role)
        self.assertGreater(kinds.count("treeitem"), 5)
        named = ("button", "tab", "treeitem", "searchbox", "combobox", "link", "tree", "tabpanel")
        nameless = [role for role, name in roles if not name and role in named]
        self.assertEqual(nameless, [])
        self.assertEqual(page.value("document.documentElement.lang"), "en")
        ids = page.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
        self.assertEqual(len(ids), len(set(ids)))

    def test_narrow_screens(self):
        page = self.open(self.real, width=390, height=800)
        for tab in ("flame", "methods", "callers", "threads", "about"):
            page.value("document.getElementById('tab-%s').click()" % tab)
            self.assertLessEqual(page.value("document.scrollingElement.scrollWidth"), 390, tab)

    def test_without_scripts(self):
        page = self.browser.open("about:blank")
        self.addCleanup(page.close)
        page.call("Emulation.setScriptExecutionDisabled", value=True)
        page.call("Page.navigate", url="file://%s/report.html" % self.real)
        proc.wait_until(lambda: page.value("document.readyState === 'complete' && document.title !== ''"), 30, "the page")
        self.assertEqual(page.value("document.querySelector('h1').textContent"), load(self.real)["diagnosis"]["headline"])
        shown = page.value("document.querySelector('noscript .summary').innerText")
        with open(os.path.join(self.real, "summary.md"), encoding="utf-8") as f:
            self.assertEqual(shown.strip(), f.read().strip())
        self.assertIn(load(self.real)["topMethods"][0]["name"], shown)


if __name__ == "__main__":
    unittest.main()
