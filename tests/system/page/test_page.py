"""The web page as `drdotnet serve` serves it, in a real browser, on a real .NET process."""
import json
import re
import tempfile
import unittest
import urllib.parse

from tests.lib import browser, dotnet, proc, serve
from tests.lib.contrast import LUMINANCE

TRANSFER_BYTES = 150 << 10
TEXT = "(document.querySelector(%s)?.textContent || '')"
TEXTS = "[...document.querySelectorAll(%s)].filter(e => e.offsetParent).map(e => e.textContent)"
STATE = "(document.querySelector('.sub .badge')?.textContent || '')"
PALE = """(() => {
""" + LUMINANCE + """
	const own = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
	return [...document.querySelectorAll('body *')].filter(e => own(e) && e.offsetParent && !e.closest('.sr, .skip, :disabled, .off') && contrast(e) < 4.5)
		.map(e => e.textContent.slice(0, 40) + ' ' + contrast(e).toFixed(2));
})()"""
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><b>bold</b></script>\u202etxt.exe"
# The answers of the server as a test wants them: what a real process can hardly be called.
PRETEND = """(() => {
	const real = window.fetch, answers = %s;
	window.fetch = (url, how) => {
		const path = Object.keys(answers).find(p => String(url).split('?')[0] === 'api/' + p && (!how?.method || how.method === 'GET'));
		return path ? Promise.resolve(new Response(JSON.stringify(answers[path]), {headers: {'content-type': 'application/json'}})) : real(url, how);
	};
})()"""

# The first stream of events ends after its first message, as when a proxy in between closes it.
CUT = """(() => {
	const real = window.fetch;
	window.streams = 0;
	window.fetch = async (url, how) => {
		const answer = await real(url, how);
		if (!String(url).endsWith('/events') || window.streams++ > 0) return answer;
		const {value} = await answer.body.getReader().read();
		return new Response(value);
	};
})()"""


def js(text):
    return json.dumps(text)


class PageCase(unittest.TestCase):
    """A class says in prepare() whose page it is: cls.url, cls.token."""
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-page-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.prepare()
        cls.browser = browser.Browser(folder.name)
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.expected = []  # of the browser's console: answers that a test asks for

    def open(self, address="/processes", script=None, token=None, **how):
        """The page, signed in, at an address; `script` runs before its own."""
        page = self.browser.open("about:blank", **how)
        self.addCleanup(page.close)
        self.addCleanup(self.assert_quiet, page)
        if script:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.call("Security.setIgnoreCertificateErrors", ignore=True)  # in a cluster they are of its own authority
        page.call("Page.navigate", url="%s/#token=%s" % (self.url, urllib.parse.quote(token or self.token)))
        self.until(page, "document.querySelector('main h1')", "the page")
        if address != "/processes":
            self.go(page, address)
        return page

    def go(self, page, address):
        page.value("document.querySelector('main').replaceChildren(); if (location.hash === %s) dispatchEvent(new Event('hashchange'));"
                   " else location.hash = %s" % ((js("#" + address),) * 2))
        self.until(page, "document.querySelector('main h1')", address)

    def until(self, page, expression, what="", seconds=60):
        return proc.wait_until(lambda: page.value("Boolean(%s)" % expression), seconds, what or expression)

    def until_text(self, page, selector, text, seconds=60):
        self.until(page, "%s.includes(%s)" % (TEXT % js(selector), js(text)), "%s: %s" % (selector, text), seconds)

    @staticmethod
    def shown(page, selector):
        return [text.replace("\u00a0", " ") for text in page.value(TEXTS % js(selector))]

    def assert_quiet(self, page):
        """Nothing on the console, no violation of the policy, and no request to anybody else."""
        unexpected = [p for p in page.problems if not any(re.search(e, p) for e in self.expected)]
        self.assertEqual(unexpected, [])
        outside = [r for r in page.requests if not r.startswith((self.url + "/", "blob:" + self.url, "about:"))]
        self.assertEqual(outside, [])

    def frame_of(self, page, ready="page === 'ready'"):
        """The report's frame: it is sandboxed, so the browser runs it apart. `ready`: what the report's own script has said by then."""
        page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

        def look():
            page.value("1")
            found = [e for e in self.browser.events if e["method"] == "Target.attachedToTarget" and e.get("sessionId") == page.session]
            return found and browser.Page(self.browser, found[-1]["params"]["sessionId"], found[-1]["params"]["targetInfo"]["targetId"])
        frame = proc.wait_until(look, 60, "the report's frame")
        self.until(frame, "document.documentElement?.dataset." + ready, "the report")
        return frame


class LocalCase(PageCase):
    @classmethod
    def prepare(cls):
        cls.app = dotnet.App("warm", "net10.0", cls.folder)
        cls.addClassCleanup(cls.app.stop)
        cls.server = serve.Serve(cls.folder)
        cls.addClassCleanup(cls.server.stop)
        cls.url, cls.token = cls.server.url, cls.server.token


class PastCase(LocalCase):
    """Two sessions have ended."""

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.app.warm(20)
        cls.old = [cls.server.start(cls.app.pid, 1, name=name) for name in ("old-first", "old-second")]
        for session in cls.old:
            cls.server.wait(session, ("Succeeded",))


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(PastCase):
    # signing in -------------------------------------------------------------------------------------------------------

    def test_sign_in_and_out(self):
        self.expected = ["status of 401"]
        page = self.browser.open(self.server.url + "/")
        self.addCleanup(page.close)
        self.addCleanup(self.assert_quiet, page)
        self.until(page, "document.activeElement.id === 'token'", "the field of the token")
        self.assertIn("kubectl create token", page.value(TEXT % "'main'"))
        self.assertEqual([r for r in page.requests if "/api/" in r], [], "nothing is asked without a token")
        page.type("wrong")
        page.key("Enter")
        self.until(page, TEXT % "'#token-error'", "the refusal")
        page.value("document.getElementById('token').focus()")
        page.type(self.server.token)
        page.key("Enter")
        self.until_text(page, "h1", "processes")
        page.click("document.getElementById('sign-out')")
        self.until(page, "document.getElementById('token')", "signed out")
        self.assertEqual(page.value("sessionStorage.length"), 0)
        self.assertTrue(page.value("document.getElementById('nav').hidden"))

    def test_token_leaves_the_address(self):
        page = self.open()
        self.assertNotIn(self.server.token, page.value("location.href"))
        self.assertNotIn(self.server.token, page.value("JSON.stringify(localStorage) + document.cookie"), "it is kept for this tab only")

    # a session from start to end --------------------------------------------------------------------------------------

    def seen_states(self, page):
        page.value("window.seen = []; new MutationObserver(() => { const s = %s; if (s && seen.at(-1) !== s) seen.push(s); })"
                   ".observe(document.querySelector('main'), {childList: true, subtree: true, characterData: true})" % STATE)

    def test_start_watch_and_read(self):
        page = self.open()
        page.type("/")
        self.assertEqual(page.value("document.activeElement.id"), "filter")
        page.type(str(self.app.pid))
        self.until(page, "document.querySelectorAll('tbody tr').length === 1", "the filter")
        self.assertIn("Checkout", page.value(TEXT % "'tbody tr'"))
        self.assertIn(".NET " + self.app.runtime, page.value(TEXT % "'tbody tr'"))
        page.click("document.querySelector('tbody a')")
        self.until(page, "document.querySelector('form [type=submit]')", "the form")
        self.assertEqual(page.value("document.querySelector('[name=symptom]:checked').value"), "CPU is high")
        self.assertEqual(page.value("document.getElementById('f-spec.durationSeconds').value"), "30", "the default")
        self.assertFalse(page.value("document.querySelector('[name=symptom]:disabled')"), "each symptom has a profiler that answers it")
        page.value("document.getElementById('f-spec.durationSeconds').value = '2'")
        self.seen_states(page)
        page.click("document.querySelector('[type=submit]')")
        self.until(page, "document.querySelector('progress')", "progress")
        self.assertIn("left", page.value(TEXT % "'.clock'") + "left" * (page.value(STATE) != "Profiling"))
        self.until(page, STATE + " === 'Succeeded'", "the end", 120)
        seen = page.value("window.seen")
        self.assertIn("Profiling", seen)
        session = self.server.get("/api/sessions/" + page.value("decodeURIComponent(location.hash.split('/')[2])")).json
        self.assertEqual(self.shown(page, "h1"), [session["headline"]])
        self.assertEqual(self.shown(page, ".lines li"), session["status"]["diagnosis"].strip().split("\n")[1:])
        frame = self.frame_of(page)
        self.assertEqual(frame.value("origin"), "null", "the report is in a sandbox")
        self.assertGreater(frame.value("document.querySelectorAll('#flame .f').length"), 3)
        self.assertEqual(page.value("document.querySelector('iframe').sandbox.value"), "allow-scripts")
        self.until(page, "document.querySelector('iframe').offsetHeight > 320", "its own height")
        self.until(frame, "document.documentElement.scrollHeight - innerHeight <= 1", "no second scroll bar")
        files = page.value(TEXTS % "'.files bdi'")
        self.assertIn("profile.pb.gz", files)
        page.value("window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download); }")
        page.click("document.querySelector('[data-key=zip]')")
        self.until(page, "saved.length === 1", "the zip")
        self.assertRegex(page.value("saved[0]"), r"\.zip$")

    def test_a_place_in_a_report_can_be_sent(self):
        session = self.server.start(self.app.pid, 1, name="place")
        page = self.open("/sessions/" + session)
        self.until(page, STATE + " === 'Succeeded'", "the end", 120)
        frame = self.frame_of(page)
        frame.value("document.getElementById('frames').click(); document.getElementById('tab-methods').click()")
        self.until(page, "location.hash.includes('at=')", "the place is in the address")
        address = page.value("location.hash")
        self.assertTrue(address.startswith("#/sessions/"), address)
        other = self.open(address[1:])
        frame = self.frame_of(other)
        self.assertEqual(frame.value("document.getElementById('frames').getAttribute('aria-pressed')"), "true")
        self.assertEqual(frame.value("document.querySelector('[role=tab][aria-selected=true]').id"), "tab-methods")
        self.assertEqual(other.value("location.hash"), address)
        self.assert_quiet(other)

    def test_end_early_then_delete(self):
        session = self.server.start(self.app.pid, 300, name="long")
        page = self.open("/sessions/" + session, script=CUT)
        self.until(page, STATE + " === 'Profiling'", "profiling")
        self.until(page, "window.streams > 1", "another connection after the first was cut")
        page.click("document.getElementById('cancel')")
        self.until(page, STATE + " === 'Canceled'", "the early end")
        self.assertGreater(self.frame_of(page).value("document.querySelectorAll('#flame .f').length"), 0, "the report is kept")
        page.click("document.getElementById('delete')")
        self.until(page, "document.querySelector('dialog[open]')", "the question")
        page.key("Escape")
        self.until(page, "!document.querySelector('dialog')", "no")
        self.assertEqual(page.value("document.activeElement.id"), "delete")
        self.assertEqual(self.server.get("/api/sessions/" + session).json["state"], "Canceled")
        page.key("Enter")
        self.until(page, "document.querySelector('dialog[open]')", "the question")
        page.click("document.querySelector('dialog [data-confirm]')")
        self.until(page, "location.hash === '#/sessions' && document.querySelector('tbody tr')", "the list")
        self.assertFalse([t for t in page.value(TEXTS % "'tbody .place'") if " long" in t])
        self.assertEqual(self.server.get("/api/sessions/" + session).status, 404)
        self.expected = ["status of 404"]
        page.value("location.hash = '#/sessions/%s'" % session)
        self.until_text(page, ".empty", "no such session")

    def test_errors_stand_at_their_field(self):
        self.expected = ["status of 422"]
        page = self.open("/start?namespace=local&pid=%d" % self.app.pid)
        for field, value in (("spec.durationSeconds", "99999"), ("spec.cpuHotpaths.frequencyHertz", "5000")):
            element = "document.getElementById(%s)" % js("f-" + field)
            before = page.value(element + ".value")
            page.value("%s.value = %s" % (element, js(value)))
            page.click("document.querySelector('[type=submit]')")
            self.until(page, element + ".getAttribute('aria-invalid') === 'true'", field)
            self.assertEqual(page.value("document.activeElement.id"), "f-" + field)
            self.assertTrue(page.value(element + ".offsetParent !== null"), "it can be seen")
            self.assertTrue(page.value("document.getElementById(%s).textContent" % js("f-%s-error" % field)))
            page.value("%s.value = %s" % (element, js(before)))
        self.assertIn("#/start", page.value("location.hash"))

    # many sessions ----------------------------------------------------------------------------------------------------

    def test_history_and_compare(self):
        page = self.open("/sessions")
        self.until(page, "document.querySelectorAll('tbody tr').length >= 2", "the list")
        whens = page.value("[...document.querySelectorAll('tbody time')].map(t => t.dateTime)")
        self.assertEqual(whens, sorted(whens, reverse=True), "newest first")
        page.type("/")
        page.type("old-first")
        self.until(page, "document.querySelectorAll('tbody tr').length === 1", "the filter")
        self.assertIn("q=old-first", page.value("location.hash"), "it can be shared")
        page.key("Escape")
        self.until(page, "document.querySelectorAll('tbody tr').length >= 2", "no filter")
        page.value("(() => { const s = document.querySelector('[aria-label=State]'); s.value = 'Failed'; s.dispatchEvent(new Event('change')); })()")
        self.until_text(page, ".empty", "Nothing matches")
        page.value("(() => { const s = document.querySelector('[aria-label=State]'); s.value = ''; s.dispatchEvent(new Event('change')); })()")
        self.until(page, "document.querySelectorAll('tbody tr').length >= 2", "all")
        for name in ("old-second", "old-first"):
            page.click("document.querySelector('[aria-label=\"Compare %s\"]')" % name)
        page.click("document.querySelector('.tray #compare')")
        self.until(page, "document.querySelector('table.diff tbody tr')", "the comparison")
        diff = self.server.get("/api/diff?baseline=%s&session=%s" % tuple(self.old)).json
        self.assertEqual(self.shown(page, "h1"), [diff["headline"]])
        self.assertEqual(page.value("document.querySelectorAll('table.diff tbody tr').length"), min(200, len(diff["rows"])))
        self.assertIn("old-first", page.value(TEXTS % "'.side'")[0], "the older one is the baseline")
        page.click("document.getElementById('swap')")
        self.until(page, "%s[0]?.includes('old-second')" % (TEXTS % "'.side'"), "the other way round")

    # for everybody ----------------------------------------------------------------------------------------------------

    def tab_to(self, page, expression, most=40):
        for _ in range(most):
            page.key("Tab")
            if page.value("Boolean(%s)" % expression):
                return
        self.fail("the keyboard does not reach %s" % expression)

    def test_keyboard_alone(self):
        page = self.open()
        self.until(page, "document.querySelector('tbody a')", "the list")
        page.key("Tab")
        self.assertEqual(page.value("document.activeElement.className"), "skip")
        page.key("Enter")
        self.assertEqual(page.value("document.activeElement.id"), "main")
        page.type("/")
        page.type(str(self.app.pid))
        self.until(page, "document.querySelectorAll('tbody tr').length === 1", "the filter")
        self.tab_to(page, "document.activeElement.matches('tbody a')")
        self.assertNotEqual(page.value("getComputedStyle(document.activeElement).outlineStyle"), "none", "focus is seen")
        page.key("Enter")
        self.until(page, "document.activeElement.tagName === 'H1' && document.querySelector('form')", "the form, from its heading on")
        self.tab_to(page, "document.activeElement.name === 'symptom'")
        self.tab_to(page, "document.activeElement.id === 'f-spec.durationSeconds'")
        page.value("document.activeElement.select()")
        page.type("1")
        page.key("Enter")
        self.until(page, STATE + " === 'Succeeded'", "the end", 120)
        self.tab_to(page, "document.activeElement.id === 'yaml'")
        page.key("Enter")
        self.until(page, "document.querySelector('dialog[open]')", "the file")
        self.assertIn("durationSeconds: 1\n", page.value(TEXT % "'dialog pre'"))
        page.key("Escape")
        self.until(page, "!document.querySelector('dialog') && document.activeElement.id === 'yaml'", "back where it was")

    def addresses(self):
        return ("/processes", "/start?namespace=local&pid=%d" % self.app.pid, "/sessions", "/sessions/" + self.old[0],
                "/compare?baseline=%s&session=%s" % tuple(self.old))

    def settled(self, page):
        self.until(page, "!document.querySelector('.skeleton')", "what was asked for")

    def test_narrow_screens(self):
        page = self.open(width=360, height=740)
        for address in self.addresses():
            self.go(page, address)
            self.settled(page)
            self.assertLessEqual(page.value("document.scrollingElement.scrollWidth"), 360, address)
            wide = page.value("[...document.querySelectorAll('main button, main a, main input, main select')].filter(e => e.offsetParent && "
                              "!e.closest('.scroll, .sr') && e.getBoundingClientRect().right > 360.5).map(e => e.textContent)")
            self.assertEqual(wide, [], address)

    def test_light_and_dark(self):
        for dark in (False, True):
            page = self.open(dark=dark)
            colours = []
            for address in self.addresses():
                self.go(page, address)
                self.settled(page)
                for _ in range(2):
                    self.assertEqual(page.value(PALE), [], "%s: contrast" % address)
                    self.assertNotEqual(page.value("document.body.style.setProperty('--dim', '#777'); " + PALE), [], "pale text is found")
                    page.value("document.body.style.removeProperty('--dim')")
                    colours.append(page.value("getComputedStyle(document.body).backgroundColor"))
                    page.click("document.getElementById('theme')")
            self.assertEqual(len(set(colours)), 2)
            page.click("document.getElementById('theme')")
            page.call("Page.reload")
            self.until(page, "document.querySelector('main h1')", "the page")
            self.assertNotEqual(page.value("getComputedStyle(document.body).backgroundColor"), colours[0], "the choice is kept")
            page.value("localStorage.clear()")

    def test_names_for_screen_readers(self):
        page = self.open()
        for address in self.addresses():
            self.go(page, address)
            self.settled(page)
            roles = page.roles()
            kinds = [role for role, _ in roles]
            for role, count in {"main": 1, "navigation": 1, "banner": 1}.items():
                self.assertEqual(kinds.count(role), count, "%s: %s" % (address, role))
            named = ("button", "link", "searchbox", "combobox", "checkbox", "radio", "textbox", "spinbutton", "Iframe", "progressbar", "heading")
            self.assertEqual([role for role, name in roles if role in named and not name.strip()], [], address)
            self.assertEqual(page.value("document.querySelectorAll('h1').length"), 1, address)
            ids = page.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
            self.assertEqual(len(ids), len(set(ids)), address)
            self.assertIn("Dr-Dotnet", page.value("document.title"))

    # who may not be trusted -------------------------------------------------------------------------------------------

    def test_names_of_others_stay_text(self):
        process = {"namespace": HOSTILE, "workload": {"kind": HOSTILE, "name": HOSTILE}, "pod": HOSTILE, "podUID": "1", "node": HOSTILE,
                   "container": HOSTILE, "pid": 1, "entrypoint": HOSTILE, "runtimeVersion": HOSTILE, "user": HOSTILE, "canProfile": True}
        refused = {**process, "pid": 2, "canProfile": False, "reason": HOSTILE, "message": HOSTILE}
        summary = {"id": "local.x", "namespace": "local", "name": HOSTILE, "uid": "1", "profiler": HOSTILE, "target": HOSTILE, "state": HOSTILE,
                   "headline": HOSTILE, "createdAt": "2026-01-02T03:04:05Z", "completedAt": "2026-01-02T03:04:05Z", "requestedBy": HOSTILE}
        condition = {"type": "Succeeded", "status": "False", "reason": HOSTILE, "message": HOSTILE, "lastTransitionTime": HOSTILE}
        target = {"podName": HOSTILE, "nodeName": HOSTILE, "container": HOSTILE, "phase": HOSTILE, "message": HOSTILE, "reports": [
            {"name": HOSTILE, "mediaType": "text/plain", "sizeBytes": 1}]}
        status = {"diagnosis": HOSTILE + "\n" + HOSTILE, "conditions": [condition], "targets": [target, {**target, "podName": "b"}]}
        pretend = {"info": {"version": "1", "mode": "cluster", "user": HOSTILE, "readOnly": False, "features": []},
                   "processes": {"items": [process, refused], "warnings": [{"node": HOSTILE, "reason": HOSTILE, "message": HOSTILE}]},
                   "namespaces": {"items": [HOSTILE]}, "sessions": {"items": [summary], "total": 1},
                   "sessions/local.x": {**summary, "spec": {"profiler": HOSTILE, "target": {HOSTILE: HOSTILE}}, "status": status},
                   "diff": {"headline": HOSTILE, "diagnosis": HOSTILE, "rows": [{"name": HOSTILE, "before": 1, "after": 2, "delta": 1, "unit": HOSTILE}]}}
        page = self.open(script=PRETEND % json.dumps(pretend))
        spoiled = "&".join("%s=%s" % (k, urllib.parse.quote(HOSTILE)) for k in ("namespace", "pod", "container", "entrypoint", "pid"))
        for address in ("/processes", "/sessions", "/sessions/local.x", "/compare?baseline=local.x&session=local.x", "/start?" + spoiled,
                        "/processes?q=%s&namespace=%s" % ((urllib.parse.quote(HOSTILE),) * 2)):
            self.go(page, address)
            self.settled(page)
            self.assertIn("<img src=x", page.value("document.querySelector('main').innerText"), address)
            made = "[...document.querySelectorAll('img, object, main script, main b')].filter(e => e.tagName !== 'B' || e.textContent === 'bold').length"
            self.assertEqual(page.value(made), 0, address)
            self.assertNotRegex(page.value("document.body.innerText"), "[\u202a-\u202e\u2066-\u2069]", address)
            self.assertNotEqual(page.value("document.title"), "owned")

    # much, and without much -----------------------------------------------------------------------------------------------------

    def test_small(self):
        page = self.open()
        self.settled(page)
        page.call("Network.setCacheDisabled", cacheDisabled=True)
        page.call("Page.reload")
        self.until(page, "document.querySelector('tbody tr')", "the list")
        sizes = page.value("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
                           ".filter(r => !r.name.includes('/api/')).map(r => [r.name, r.transferSize])")
        self.assertTrue(all(size > 0 for _, size in sizes), sizes)
        self.assertGreater(len(sizes), 5)
        self.assertLess(sum(size for _, size in sizes), TRANSFER_BYTES)
        shifts = page.value("(() => { const o = new PerformanceObserver(() => {}); o.observe({type: 'layout-shift', buffered: true});"
                            " return o.takeRecords().reduce((sum, e) => sum + e.value, 0); })()")
        self.assertLess(shifts, 0.1, "nothing jumps while it loads")

    def test_thousands_of_processes(self):
        process = {"namespace": "shop", "workload": {"kind": "Deployment", "name": "web"}, "podUID": "1", "node": "a", "container": "app", "pid": 1,
                   "entrypoint": "Web", "runtimeVersion": "10.0.1", "user": "app", "canProfile": True}
        items = [{**process, "pod": "web-%d" % n, "cpuMillicores": 3000 - n} for n in range(3000)]
        page = self.open(script=PRETEND % json.dumps({"processes": {"items": items, "warnings": []}}))
        rows = "document.querySelectorAll('tbody tr').length"
        self.until(page, rows, "the list")
        first = page.value(rows)
        self.assertLess(first, 500)
        self.assertIn("3000", page.value(TEXT % "'.tools output'"))
        page.click("document.querySelector('.centre button')")
        self.until(page, "%s > %d" % (rows, first), "more of them")
        page.type("/")
        page.type("web-2999")
        self.until(page, rows + " === 1", "the last of them")
        self.assertTrue(page.value("document.querySelector('.centre button').hidden"))


if __name__ == "__main__":
    unittest.main()
