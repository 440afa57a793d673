"""SlowRequests through the custom resource, and what it saw in the stored report and in the status."""
import json
import os
import time
import unittest

from tests.lib import dotnet, proc
from tests.system.e2e import test_cluster
from tests.system.slowrequests.target import HOSTING


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class SlowRequests(test_cluster.ClusterCase):
    time_limit = 400

    def listened(self, client):
        return json.loads(client.get("/truth")[1])["listened"]

    def test_from_the_resource_to_the_report(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "all", user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", "RequestApp")), ["/app/RequestApp", "all"]))
        client = dotnet.RequestClient(made)
        client.load("--requests", 300, "/delay/20")
        made.progress()  # its own threads have begun
        before = {made: dotnet.Traces(made)}
        self.i.session(self.namespace, "slow", {"profiler": "SlowRequests", "target": {"selector": {"matchLabels": {"app": "checkout"}}},
                                                "durationSeconds": 12})
        proc.wait_until(lambda: HOSTING in self.listened(client), 60, "the session listens to the hosting's events")
        client.forget()
        client.load("--requests", 60, "--connections", 4, "/delay/150")
        client.load("--requests", 100, "--connections", 1, "/items/4711?key=hunter-query")
        truth = client.truth()
        time.sleep(0.5)
        session = self.succeeded("slow")
        self.assert_nothing_left(before)
        self.assertNotIn(HOSTING, self.listened(client))
        target = session["status"]["targets"][0]
        report = json.loads(self.stored(session, next(r for r in target["reports"] if r["name"] == "report.json")))
        seen = {e["name"]: e["requests"] for e in report["endpoints"]}
        self.assertEqual((seen["GET /delay/{ms}"], seen["GET /items/{id}"]), (truth["GET /delay/{ms}"]["count"], truth["GET /items/{id}"]["count"]))
        self.assertRegex(session["status"]["headline"], r"/delay/\{ms\}|waiting for a CPU")  # what a full machine does to the others is worse
        self.assertNotIn("hunter", json.dumps(report) + json.dumps(session["status"]))
        self.assertEqual(client.get("/fast")[0], 200)


if __name__ == "__main__":
    unittest.main()
