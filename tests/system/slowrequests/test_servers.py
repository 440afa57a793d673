"""Servers whose clients tell nobody of their calls, by a real Redis and StackExchange.Redis (tests/apps/RequestApp/Redis.cs)."""
import os
import unittest

from tests.lib import redis
from tests.system.slowrequests.target import RequestsCase, findings


class Net10(RequestsCase):
    framework = "net10.0"

    @unittest.skipIf(redis.missing(), redis.missing())
    def test_redis(self):
        """Its client tells of no commands: what the kernel knows of the connection does."""
        with redis.Server() as server:
            app = self.target(self.framework, "--redis", server.place)
            report, truth, _, text = self.during(app, lambda: app.load("--requests", 16, "--connections", 1, "/redis/cart/150"))
            found = findings(report)
            self.assertEqual(found.get("WaitsForServer"), ("Found", "GET /redis/cart/{id}"), report["measured"])
            self.assertIn("awaiting Redis (%s)" % server.place, text)
            cart, measured = truth["GET /redis/cart/{ms}"], report["measured"]
            self.assertLess(abs(measured["peerPercent"] - 100 * cart["parts"]["redis"]["ms"] / cart["sumMs"]), 25, measured)
            report, _, _, text = self.during(app, lambda: app.load("--requests", 40, "--connections", 1, "/redis/lines"))
            self.assertIn(findings(report).get("RoundTripsInALoop", (None,))[0], ("Found", "Possible"), report["measured"])
            self.assertRegex(text, r"(79\d|80\d) round trips a request to Redis")
            report, _, _, text = self.during(app, lambda: app.load("--requests", 20, "--connections", 2, "/delay/60"))
            self.assertNotIn("WaitsForServer", {k for k, (state, _) in findings(report).items() if state in ("Found", "Possible")})
            self.assertNotIn("owed an answer", text)
            app.get("/redis/consume/true")  # what it waits for is none of the requests' answers, and an answer is nearly always due
            report, _, _, text = self.during(app, lambda: app.load("--requests", 24, "--connections", 3, "/redis/beside/150"))
            app.get("/redis/consume/false")
            self.assertNotIn("WaitsForServer", {k for k, (state, _) in findings(report).items() if state in ("Found", "Possible")}, report["measured"])
            self.assertNotIn("owed an answer", text)


if os.environ.get("DRDOTNET_EVERY_RUNTIME"):
    class Net8(Net10):
        framework = "net8.0"

    class Net9(Net10):
        framework = "net9.0"
