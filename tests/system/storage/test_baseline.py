"""spec.baselineSession on a real API server, with real agents, processes and S3: what changed stands in the new session's status, and what cannot be
compared is said."""
import unittest

from tests.system.e2e import test_cluster
from tests.lib import install, proc


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Baseline(test_cluster.ClusterCase):
    """One way for all: each step needs the sessions of the one before."""

    def setUp(self):
        super().setUp()
        self.agent("node-a")
        self.pod("checkout-1", "warm").warm(200)

    def ended(self, name):
        session = self.finished(name)
        return session, self.i.condition(session, "Succeeded")

    def refused(self, name, *words):
        session, condition = self.ended(name)
        self.assertEqual((condition["status"], condition["reason"]), ("False", "BaselineUnusable"), install.digest(session))
        self.assertEqual(self.i.condition(session, "Accepted")["reason"], "BaselineUnusable")
        for word in words:
            self.assertIn(word, condition["message"])
        self.assertIn("leave spec.baselineSession out", condition["message"], "the remedy")
        self.assertNotIn("targets", session["status"], "nothing was touched")

    def test_what_changed_and_why_it_cannot_be_said(self):
        self.apply("before", 2)
        before = self.succeeded("before")
        self.check_refusals()
        for store in ("default", "own"):
            self.apply("after-" + store, 2, baselineSession="before", output={"store": store})
            status = self.succeeded("after-" + store)["status"]
            self.assertRegex(status["comparison"], r"(?m)^Compared \d+ samples with \d+: differences up to ")
            self.assertRegex(status["comparison"].split("\n")[0],
                             r"^(No difference beyond noise|The session \w+ was warming up: .*|.*its spread is the same|\S.*(grew|shrank|new|vanished).*)$")
            self.assertLessEqual(len(status["comparison"].encode()), 2048)
            self.assertNotIn("baselineSession", str(status["targets"]))
            self.assertEqual(status["effective"]["baselineSession"], "before")
        self.check_a_heap()
        self.check_gone(before)

    def check_a_heap(self):
        """Another profiler, with settings of its own, on the same way."""
        spec = {"profiler": "GCSurvivors", "target": {"podName": "checkout-1"}, "pauseBudgetMilliseconds": 5000}
        self.i.session(self.namespace, "heap-before", spec)
        status = self.succeeded("heap-before")["status"]
        self.assertEqual((status["effective"]["gcSurvivors"], "durationSeconds" in status["effective"]), ({"roots": "Auto"}, False))
        self.i.session(self.namespace, "heap-again", {**spec, "gcSurvivors": {"roots": "Exact"}, "baselineSession": "heap-before"})
        self.assertRegex(self.succeeded("heap-again")["status"]["comparison"], r"(?m)^Held memory")

    def check_refusals(self):
        canceled = {"selector": {"matchLabels": {"app": "nobody"}}}
        self.apply("no-report", 2, target=canceled, cancel=True)
        self.finished("no-report")
        self.i.session(self.namespace, "other", {"profiler": "Allocations", "target": canceled, "cancel": True})
        self.finished("other")
        self.apply("waiting", 2, target=canceled)
        rows = (("nowhere", ["there is no session nowhere in namespace " + self.namespace]), ("no-report", ["session no-report has no report"]),
                ("other", ["session other is of the profiler Allocations, not of CPUHotpaths"]),
                ("waiting", ["session waiting has not finished"]), ("refused-4", ["its own baseline"]))
        for i, (baseline, words) in enumerate(rows):
            with self.subTest(baseline=baseline):
                self.apply("refused-%d" % i, 2, baselineSession=baseline)
                self.refused("refused-%d" % i, *words)

    def check_gone(self, before):
        """The baseline's report is taken from the bucket, then the baseline goes away while sessions run: they succeed and say it."""
        report = next(r for r in before["status"]["targets"][0]["reports"] if r["name"] == "report.json")
        self.apply("without-file", 3, baselineSession="before")
        self.store.request("DELETE", report["url"].split("/", 4)[4])
        self.assertRegex(self.succeeded("without-file")["status"]["comparison"],
                         r'^Not compared with before: report report\.json is not in the store "default" any more')
        self.apply("without-session", 5, baselineSession="before")
        proc.wait_until(lambda: self.i.get(self.namespace, "without-session").get("status", {}).get("targets"), 60, "a pod is chosen")
        self.kubectl("delete", "psess", "before")
        gone = "Not compared with before: there is no session of that name any more."
        self.i.session(self.namespace, "by-trigger", {
            "profiler": "CPUHotpaths", "durationSeconds": 1, "baselineSession": "before",
            "target": {"selector": {"matchLabels": {"app": "checkout"}}}}, ownerReferences=[
                {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "name": "nightly", "uid": "1", "controller": True}])
        self.assertEqual(self.succeeded("by-trigger")["status"]["comparison"], gone, "a trigger's session is done all the same")
        self.assertEqual(self.succeeded("without-session")["status"]["comparison"], gone)
