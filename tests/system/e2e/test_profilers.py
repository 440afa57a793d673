"""Waits, StuckTasks and Exceptions by kubectl apply, all three at once on one node, and what was found in the status of each."""
import json
import os
import unittest

from tests.system.e2e import test_cluster
from tests.lib import dotnet

# profiler: application, its words, what must be found, and where
SICK = {
    "Waits": ("WaitApp", ("pool-socket",), ("SynchronousIO", "ThreadPoolStarvation"), r"Shop\.Database\.Query"),
    "StuckTasks": ("AsyncApp", ("stuck",), ("TaskNeverCompleted",), r"Shop\.Orders\.LoadAsync"),
    "Exceptions": ("ThrowApp", ("parse", "--rate", "5000"), ("ExceptionsAsControlFlow",), r"Shop\."),
}


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Profilers(test_cluster.ClusterCase):
    def session(self, profiler):
        return {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession",
                "metadata": {"name": profiler.lower(), "namespace": self.namespace},
                "spec": {"profiler": profiler, "durationSeconds": 3, "target": {"selector": {"matchLabels": {"app": profiler.lower()}}}}}

    def started(self, profiler):
        application, words = SICK[profiler][:2]
        made = self.pod(profiler.lower(), words[0], app=profiler.lower(), user=10001, readonly=True,
                        program=(os.path.dirname(dotnet.path("net10.0", application)), ["/app/" + application, *words]))
        made.warm(10)
        return made

    def test_from_kubectl_apply_to_the_findings(self):
        self.agent("node-a")
        made = {profiler: self.started(profiler) for profiler in SICK}
        before = {process: dotnet.Traces(process) for process in made.values()}
        path = os.path.join(self.folder, "sessions.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "List", "items": [self.session(profiler) for profiler in SICK]}, f)
        self.i.cluster.apply(path)
        for profiler, (_, _, ids, place) in SICK.items():
            with self.subTest(profiler):
                session = self.succeeded(profiler.lower())
                lead = session["status"]["findings"][0]
                self.assertIn(lead["id"], ids)
                self.assertEqual((lead["state"], lead["message"]), ("Found", session["status"]["headline"]))
                self.assertRegex(lead["place"], place)
                target = session["status"]["targets"][0]
                self.assertEqual(target["phase"], "Succeeded")
                report = json.loads(self.stored(session, next(r for r in target["reports"] if r["name"] == "report.json")))
                self.assertEqual(report["findings"][0]["message"], lead["message"])
                self.assertRegex(self.kubectl("describe", "psess", profiler.lower()), r"Findings:\n(.*\n)*? +Id: +%s\n" % lead["id"])
        self.assert_nothing_left(before)
        for process in made.values():
            process.assert_progress()


if __name__ == "__main__":
    unittest.main()
