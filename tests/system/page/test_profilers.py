"""The web page and the profilers: which one answers what, with which settings, against which session, and each one's report in place."""
import json
import unittest

from tests.lib import browser
from tests.system.page.test_page import PRETEND, STATE, TEXT, PastCase, js


@unittest.skipUnless(browser.program(), "no Chromium")
class Profilers(PastCase):
    COMPLAINTS = (("memory is high", ["GCSurvivors", "DuplicatedStrings"], ["gcSurvivors.roots"], "500"),
                  ("memory grows", ["MemoryLeak"], ["memoryLeak.roots", "memoryLeak.walks"], "500"), ("it allocates a lot", ["Allocations"], [], "200"),
                  ("it hangs", ["Deadlocks", "StuckTasks", "Threads"], [], "200"), ("it throws a lot", ["Exceptions"], [], "200"),
                  ("it is slow and uses little CPU", ["Waits", "SlowRequests"], [], "200"),
                  ("requests are slow", ["SlowRequests"], [], "200"), ("too many threads", ["Threads"], [], "200"),
                  ("slow once in a while", ["RuntimePauses", "CPUHotpaths"], [], "200"),
                  ("CPU is high", ["CPUHotpaths"], ["cpuHotpaths.frequencyHertz"], "200"))

    def test_each_complaint_has_its_profilers_and_they_their_settings(self):
        page = self.open("/start?namespace=local&pid=%d" % self.app.pid)
        for complaint, profilers, settings, budget in self.COMPLAINTS:
            page.value("document.querySelector('[name=symptom][value=%s]').click()" % js(complaint))
            self.assertEqual(page.value("[...document.querySelectorAll('[name=profiler]')].map(e => e.value)"), profilers, complaint)
            self.assertEqual(page.value("document.querySelector('[name=profiler]:checked').value"), profilers[0], "the first that answers it")
            self.assertEqual(page.value("[...document.querySelectorAll('#more [id^=f-spec]:not(small, p)')].map(e => e.id.slice(7))"),
                             [*settings, "pauseBudgetMilliseconds", "reveal", "baselineSession"], complaint)
            self.assertEqual(page.value("document.getElementById('f-spec.pauseBudgetMilliseconds').value"), budget)
            looks_once = profilers[0] == "GCSurvivors"
            self.assertEqual(page.value("!document.getElementById('f-spec.durationSeconds')"), looks_once, complaint)
            self.assertIn("Pauses the application: ", page.value(TEXT % "'#about'"))
        page.value("document.querySelector('[name=symptom][value=\"memory is high\"]').click()")
        page.value("window.sent = null; { const real = fetch; window.fetch = (url, how) => how?.method === 'POST' ? (sent = JSON.parse(how.body), "
                   "Promise.resolve(new Response('{}', {status: 422}))) : real(url, how); }")
        for field, value in (("gcSurvivors.roots", "Exact"), ("pauseBudgetMilliseconds", "900"), ("baselineSession", "old")):
            page.value("document.getElementById('f-spec.%s').value = %s" % (field, js(value)))
        page.value("document.getElementById('f-spec.reveal').checked = true")
        page.click("document.querySelector('[type=submit]')")
        self.until(page, "window.sent", "what is sent")
        self.assertEqual(page.value("sent.spec"), {"profiler": "GCSurvivors", "target": {"process": {"pid": self.app.pid}}, "gcSurvivors": {"roots": "Exact"},
                                                   "pauseBudgetMilliseconds": 900, "reveal": True, "baselineSession": "old"})

    def test_baselines_are_offered_and_what_changed_is_shown(self):
        page = self.open("/start?namespace=local&pid=%d" % self.app.pid)
        self.until(page, "[...document.querySelectorAll('#baselines option')].some(o => o.value === 'old-first')", "the offers")
        session = self.server.get("/api/sessions/" + self.old[1]).json
        session["spec"]["baselineSession"] = "old-first"
        session["status"]["comparison"] = "It grew.\nBy 12%."
        page = self.open("/sessions/" + self.old[1], script=PRETEND % json.dumps({"sessions/" + self.old[1]: session}))
        self.until(page, "document.getElementById('compared')", "the comparison")
        self.assertEqual(self.shown(page, "#compared ~ .lines li"), ["It grew.", "By 12%."])
        page.click("document.querySelector('#compared a')")
        self.until(page, "document.querySelector('table.diff tbody tr')", "all of it")
        self.assertIn("baseline=local.old-first", page.value("location.hash"))

    def test_the_report_of_each_profiler_is_shown_in_place(self):
        sessions = [self.server.session({
            "profiler": profiler, "target": {"process": {"pid": self.app.pid}}, "pauseBudgetMilliseconds": 5000,
            **({"durationSeconds": 1} if lasts else {})})
            for profiler, lasts in (("GCSurvivors", False), ("MemoryLeak", True), ("DuplicatedStrings", False), ("Allocations", True), ("RuntimePauses", True))]
        for session in sessions:
            with self.subTest(session=session):
                made = self.server.wait(session, ("Succeeded",))
                page = self.open("/sessions/" + session)
                self.until(page, STATE + " === 'Succeeded'", "the end")
                self.assertEqual(self.shown(page, "h1"), [made["headline"]])
                frame = self.frame_of(page, "page === 'ready'")
                self.assertEqual(frame.value("origin"), "null", "the report is in a sandbox")
                self.assertGreater(len(frame.value("document.body.innerText")), 100)
                high = frame.value("Math.ceil(document.documentElement.getBoundingClientRect().height)")
                self.until(page, "document.querySelector('iframe').offsetHeight === %d" % max(320, high), "its own height")


if __name__ == "__main__":
    unittest.main()
