"""A session beside those who watch requests in the application itself, as the agents of APMs do: they see what they see without it."""
import collections
import json
import os
import signal
import unittest

from tests.lib import proc
from tests.system.profiler import tools
from tests.system.slowrequests.target import HOSTING, RequestsCase

RESPONSES = "Microsoft-Diagnostics-DiagnosticSource"
REQUESTS = 20


class Net10(RequestsCase):
    framework = "net10.0"

    def seen(self, app, first):
        """What is seen of requests that are of traces of their own: activities by name, parent, tags and events, and the events of the hosting's listener."""
        app.get("/truth/apm")  # forgets what it has seen
        app.get("/truth/spans")
        sent = {"%032x" % trace: "%016x" % (trace + 7) for trace in range(first, first + REQUESTS)}
        for trace, span in sent.items():
            self.assertEqual(app.get("/http/2", {"traceparent": "00-%s-%s-01" % (trace, span)})[0], 200)
        failing = "%032x" % (first + REQUESTS)
        self.assertEqual(app.get("/unhandled", {"traceparent": "00-%s-%016x-01" % (failing, 7)})[0], 500)
        proc.wait_until(lambda: app.truth()["GET /http/{ms}"]["inFlight"] == 0, 60, "all have ended")
        self.check_spans(json.loads(app.get("/truth/spans")[1]), {**sent, failing: "%016x" % 7})
        seen = json.loads(app.get("/truth/apm")[1])
        own = [a for a in seen["activities"] if a["trace"] in sent]
        servers = {a["span"]: a["parent"] == sent[a["trace"]] for a in own if a["name"].endswith("RequestIn")}
        self.assertTrue(all(a["ms"] > 0 for a in own))
        activities = collections.Counter((a["name"], a["tags"], a["events"], servers.get(a["span"], servers.get(a["parent"]))) for a in own)
        self.heard = seen["heard"].get("System.Net.Http.HttpRequestOut.Stop", 0)
        return activities, {name for name, count in seen["events"].items() if count >= REQUESTS}

    def check_spans(self, spans, sent):
        """What OpenTelemetry has exported: a span of each request below its caller's, one of the call below that, and the status of each."""
        own = [s for s in spans if s["trace"] in sent]
        self.assertEqual(len({s["span"] for s in own}), len(own))
        servers = {s["trace"]: s["span"] for s in own if s["kind"] == "Server"}
        kinds = collections.Counter((s["name"], s["kind"], s["status"],
                                     s["parent"] == (sent[s["trace"]] if s["kind"] == "Server" else servers[s["trace"]])) for s in own)
        self.assertEqual(kinds, {("GET /http/{ms}", "Server", "Unset", True): REQUESTS, ("GET", "Client", "Unset", True): REQUESTS,
                                 ("GET /unhandled", "Server", "Error", True): 1})

    def test_activities_are_not_disturbed(self):
        app = self.target(self.framework, "--apm", "--opentelemetry", env=tools.apm())  # which also is the process's main profiler
        without = self.seen(app, 1000)
        self.assertEqual(sorted((count, key[3]) for key, count in without[0].items()), [(REQUESTS, True)] * 2, "one of the request, one of its call")
        self.assertEqual(self.heard, REQUESTS)
        session, out = self.begin(app)
        proc.wait_until(lambda: RESPONSES in app.listened(), 60, "the responses are told, too")
        self.assertEqual(self.seen(app, 2000), without)
        self.assertEqual(self.heard, 0, "one source has a single set of filters for all (docs/profilers/slow-requests.md)")
        known = app.truth()["GET /http/{ms}"]["count"]
        report, _ = self.end(session, out)
        self.assertTrue(report["sampling"]["besideAnotherProfiler"])
        self.assertEqual({e["name"]: e["requests"] for e in report["endpoints"]}["GET /http/{ms}"], known)
        self.assertEqual(report["findings"] and [f["id"] for f in report["findings"] if f["state"] == "Found"], [])
        proc.wait_until(lambda: HOSTING not in app.listened(), 60, "nobody listens")
        self.assertEqual(self.seen(app, 3000), without)

    def test_a_session_makes_no_activities(self):
        app = self.target(self.framework)
        self.assertEqual(app.get("/activity"), (200, b"none"))
        session, _ = self.begin(app)
        proc.wait_until(lambda: RESPONSES in app.listened(), 60, "the responses are told, too")
        self.assertEqual(app.get("/activity"), (200, b"none"))
        session.send_signal(signal.SIGINT)


if os.environ.get("DRDOTNET_EVERY_RUNTIME"):
    class Net8(Net10):
        framework = "net8.0"

    class Net9(Net10):
        framework = "net9.0"


if __name__ == "__main__":
    unittest.main()
