"""MemoryLeak through the custom resource: several walks, the container's limit, a report that says that nothing leaks."""
import json
import os
import unittest

from tests.system.e2e import test_cluster
from tests.system.leak.test_leak_report import FILES, wrong
from tests.lib import dotnet

LIMIT = 1 << 30


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Leaks(test_cluster.ClusterCase):
    def test_to_diagnosis_and_report(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "static", user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", "MemoryApp")), ["/app/MemoryApp", "static", "--static", "50000"]))
        limit = made.group_file("memory.max", "memory.limit_in_bytes")
        if limit:
            with open(limit, "w", encoding="ascii") as f:
                f.write(str(LIMIT))
        dotnet.seen(made.pid, made.tmp)  # all its threads are there
        before = {made: dotnet.Traces(made)}
        self.i.session(self.namespace, "leak", {"profiler": "MemoryLeak", "target": {"selector": {"matchLabels": {"app": "checkout"}}},
                                                "durationSeconds": 3, "pauseBudgetMilliseconds": 5000, "memoryLeak": {"walks": 3}})
        session = self.succeeded("leak")
        self.assert_nothing_left(before)
        self.assertTrue(session["status"]["diagnosis"].startswith("No leak: "), session["status"]["diagnosis"])
        cost = session["status"]["targets"][0]["cost"]
        texts = {r["name"]: self.stored(session, r) for r in session["status"]["targets"][0]["reports"]}
        self.assertEqual(set(texts), FILES)
        report = json.loads(texts["report.json"])
        self.assertEqual(wrong(report), [])
        self.assertEqual(len(report["walks"]), 3)
        self.assertGreaterEqual(cost["maxPauseMicroseconds"] + 1, max(w["stopMicroseconds"] for w in report["walks"]))
        self.assertEqual(report["growth"]["heldBytes"], 0)
        self.assertIsNotNone(report["memory"])
        if limit:
            self.assertEqual((report["growth"]["limitKind"], report["growth"]["limitBytes"]), ("container", LIMIT))
        made.assert_progress()


if __name__ == "__main__":
    unittest.main()
