"""Deadlocks through the custom resource, and what was found in the status, in what kubectl shows, and in the controller's metrics."""
import json
import os
import unittest

from tests.system.e2e import test_cluster
from tests.lib import dotnet, proc
from tests.system.deadlocks.test_deadlocks import circles, wrong


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Deadlocks(test_cluster.ClusterCase):
    def test_from_the_resource_to_the_findings(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "behind", user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", "LockApp")), ["/app/LockApp", "behind"]))
        made.warm(10)  # all its threads are there
        before = {made: dotnet.Traces(made)}
        self.i.session(self.namespace, "hangs", {"profiler": "Deadlocks", "target": {"selector": {"matchLabels": {"app": "checkout"}}}, "durationSeconds": 1})
        session = self.succeeded("hangs")
        self.assert_nothing_left(before)
        status = session["status"]
        found = status["findings"]
        self.assertEqual([(f["id"], f["state"], f["score"], f["place"]) for f in found], [("Deadlock", "Found", 100, "Shop.Account.TransferTo")])
        self.assertEqual(found[0]["message"], status["headline"])
        self.assertIn("5 more wait behind them", found[0]["evidence"])
        self.assertEqual(status["targets"][0]["cost"]["maxPauseMicroseconds"], 0)
        report = json.loads(self.stored(session, next(r for r in status["targets"][0]["reports"] if r["name"] == "report.json")))
        self.assertEqual((wrong(report), circles(report)), ([], [["first", "second"]]))
        self.assertRegex(self.kubectl("describe", "psess", "hangs"), r"Findings:\n(.*\n)*? +Id: +Deadlock\n")
        proc.wait_until(lambda: self.i.metric("drdotnet_finding_score") == 100, 60, "the metric of what was found")
        made.assert_progress()


if __name__ == "__main__":
    unittest.main()
