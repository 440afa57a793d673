"""GCSurvivors through the custom resource: apply -> diagnosis and report; and the link is cut while the heap is read."""
import json
import os
import signal
import time
import unittest

from tests.system.e2e import test_cluster
from tests.lib import dotnet, install, proc
from tests.system.survivors.test_reports import validate


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Survivors(test_cluster.ClusterCase):
    def made_pod(self):
        program = (os.path.dirname(dotnet.path("net10.0", "MemoryApp")), ["/app/MemoryApp", "array", "--array", "1000000"])
        made = self.pod("checkout-1", "array", program=program, user=10001, readonly=True)
        made.assert_progress(60)
        dotnet.seen(made.pid, made.tmp)
        return made

    def ask(self, name, **more):
        self.i.session(self.namespace, name, {"profiler": "GCSurvivors", "target": {"selector": {"matchLabels": {"app": "checkout"}}},
                                              "gcSurvivors": {"roots": "Exact"}, "pauseBudgetMilliseconds": 60000, **more})

    def check(self, session):
        headline = session["status"]["diagnosis"].splitlines()[0]
        self.assertEqual(headline, "48 MB of 48 MB are held by static Shop.Orders.All: Order x 1,000,000")
        target = session["status"]["targets"][0]
        self.assertEqual({r["name"] for r in target["reports"]}, {"summary.md", "report.html", "report.json"})
        report = json.loads(self.stored(session, next(r for r in target["reports"] if r["name"] == "report.json")))
        validate(report)
        self.assertEqual((report["target"]["pod"], report["session"]["name"]), ("checkout-1", session["metadata"]["name"]))
        self.assertGreater(target["cost"]["maxPauseMicroseconds"], 0)

    def test_apply_to_diagnosis_and_report_and_without_the_link(self):
        self.agent("node-a")
        made = self.made_pod()
        before = {made: dotnet.Traces(made)}
        self.ask("heap")
        self.check(self.succeeded("heap"))
        self.assert_nothing_left(before)
        self.cut_the_link(made)
        self.assert_nothing_left(before)
        made.assert_progress()

    def cut_the_link(self, made):
        """The controller dies when the library is in the process, and comes back later."""
        self.ask("cut")
        proc.wait_until(lambda: any(proc.is_ours(m) for m in dotnet.Traces(made).maps), 60, "the library is attached", 0.002)
        words, log = self.i.controller.words, self.i.controller.log_path
        self.i.controller.stop(signal.SIGKILL)
        made.assert_progress()
        time.sleep(1)
        self.i.controller = proc.Process(words, log)
        self.i.processes.append(self.i.controller)
        session = self.i.wait_finished(self.namespace, "cut", 90)
        self.assertEqual(self.i.condition(session, "Succeeded")["status"], "True", install.digest(session))
        self.check(session)


if __name__ == "__main__":
    unittest.main()
