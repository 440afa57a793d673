"""Requests that are too many to be followed all the time, of an application that knows how many there were."""
import math
import os

from tests.system.slowrequests.target import RequestsCase, by_name

ESTIMATE = 2  # times too many or too few requests: what one takes differs by what is compiled meanwhile, and by what else the machine does


class OnNewest:
    framework = None

    def test_they_are_followed_for_a_part_of_the_time(self):
        """What was not followed is estimated by the CPU time that the application took meanwhile. A machine that answers fewer follows all. Nobody could know
        of so much work when the session began: context switches are recorded for a part of the time from then on. The application is compiled well by then, the
        code that tells of its requests is not: what that takes at first is none of its own."""
        app = self.target(self.framework, load="bare")
        app.load("--rate", 0, "--connections", 16, "--depth", 16, "/fast", "/items/4711", seconds=4)
        session, out = self.begin(app)
        known = app.load("--rate", 3000, "--connections", 16, "/fast", "/items/4711", seconds=2)["answered"]
        known += app.load("--rate", 0, "--connections", 16, "--depth", 16, "/fast", "/items/4711", seconds=6)["answered"]
        known += app.load("--requests", 400, "--connections", 4, "/fast")["answered"]
        app.lines(1)
        report, text = self.end(session, out)
        endpoints, part = by_name(report), report["sampling"]["followedPercent"]
        self.assertLess(report["sampling"]["waitsPercent"], 100)
        self.assertGreater(report["sampling"]["threadLooks"], 0)
        seen = {name: endpoints[name]["requests"] for name in ("GET /fast", "GET /items/{id}")}
        if part == 100:
            self.assertLessEqual(abs(sum(seen.values()) - known), report["sampling"]["dropped"])
        if report["sampling"]["ended"] >= known:  # it rested when all had ended
            return
        self.assertIn("they were followed for", text)
        self.assertLess(abs(math.log(sum(seen.values()) / known)), math.log(ESTIMATE), report["sampling"])
        self.assertAlmostEqual(seen["GET /fast"] / seen["GET /items/{id}"], 1, delta=0.1)

    def test_all_are_counted(self):
        """ASP.NET Core's own count tells how many there were while they were not followed. A machine that answers fewer follows all."""
        app = self.target(self.framework, load="bare")
        session, out = self.begin(app)
        known = app.load("--rate", 8000, "--connections", 16, "/items/4711", seconds=4)["answered"]
        self.hang(app, 7)
        known += app.load("--rate", 8000, "--connections", 16, "/items/4711", seconds=1)["answered"]
        app.lines(1)
        report, text = self.end(session, out)
        self.assertEqual(report["requests"]["inFlight"] + report["sampling"].get("inFlightNotFollowed", 0), 7, report["sampling"])
        sampling, seen = report["sampling"], by_name(report)["GET /items/{id}"]["requests"]
        self.assertEqual(sampling["countedPercent"], 100, sampling)
        self.assertLess(abs(seen - known), 0.002 * known + sampling["dropped"] + sampling["notFollowed"], sampling)
        if sampling["followedPercent"] < 99:
            self.assertIn("and counted all of it", text)


class Net11(OnNewest, RequestsCase):
    framework = "net11.0"


if os.environ.get("DRDOTNET_EVERY_RUNTIME"):
    class Net8(OnNewest, RequestsCase):
        framework = "net8.0"

    class Net9(OnNewest, RequestsCase):
        framework = "net9.0"

    class Net10(OnNewest, RequestsCase):
        framework = "net10.0"
