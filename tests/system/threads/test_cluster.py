"""Threads through the custom resource, and what was found in the status."""
import json
import os
import unittest

from tests.system.e2e import test_cluster
from tests.lib import dotnet
from tests.system.threads.test_threads import wrong


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Threads(test_cluster.ClusterCase):
    def test_from_the_resource_to_the_findings(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "locked", user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", "ThreadApp")), ["/app/ThreadApp", "locked"]))
        made.warm(10)  # all its threads are there
        before = {made: dotnet.Traces(made)}
        self.i.session(self.namespace, "stands", {"profiler": "Threads", "target": {"selector": {"matchLabels": {"app": "checkout"}}}, "durationSeconds": 1})
        session = self.succeeded("stands")
        self.assert_nothing_left(before)
        status = session["status"]
        self.assertEqual([(f["id"], f["state"], f["place"]) for f in status["findings"]], [("ZombieThreads", "Found", "Shop.Sick.Read")])
        self.assertEqual(status["findings"][0]["message"], status["headline"])
        self.assertEqual(status["targets"][0]["cost"]["maxPauseMicroseconds"], 0)
        report = json.loads(self.stored(session, next(r for r in status["targets"][0]["reports"] if r["name"] == "report.json")))
        self.assertEqual(wrong(report), [])
        stand = next(g for g in report["groups"] if g["wait"] == "lock")
        self.assertRegex("%(file)s:%(line)d" % stand["source"], r"Sick\.cs:\d\d")
        made.assert_progress()


if __name__ == "__main__":
    unittest.main()
