"""The SlowRequests profiler on a real web application, held against what the application measured itself (tests/apps/RequestApp)."""
import glob
import os
import signal
import socket
import subprocess
import unittest

from tests.lib import dotnet, postgres, proc
from tests.lib.cpu_group import cpu_group, set_limit
from tests.lib.memory_group import within
from tests.lib.slow_names import SlowNames
from tests.system.slowrequests.target import (HOSTING, RequestsCase, Runtime, ask_from, by_name, contents, findings, load, read_slowly, route,
                                               shape, share_of)

LATENCY_PERCENT, LATENCY_MS = 5, 1  # the events are a little further out than the application's own middleware: a single request may lose its processor there
MOST_ENDPOINTS = 1001
RIGHT = 0.99  # of the samples of CPU time are given to the request that they are of
PARTS = ("gc", "code", "lock", "io", "task", "noCPU", "sleep", "blocked", "untold")
POINTS = 0.05  # what a share of a bill may be off: what the runtime itself does between the application's own measurements is in the bill alone
NUMBER = 470811114711  # of an item
SECRETS = ("hunter",)  # what queries, headers, cookies, bodies, commands' literals, messages of exceptions and outgoing queries of the application begin with


HANDSHAKE_MS = NAME_MS = 40
WHOLE = 98  # percent of the time in which switches are told: they begin a little after the session
CPU_LIMIT, MANY_CPUS = 0.25, 64
REQUEST_ENDS = 0.3  # of a request of 100 ms and more: looks are some 15 ms apart
COMMANDS = {
    "/ef": "SELECT i.name FROM items AS i WHERE i.id = @wanted AND i.name <> ? LIMIT ?",
    "/sqlserver": "UPDATE items SET name = ? WHERE id = ? AND PAUSE ?",
    "/postgres/orders": "SELECT name FROM items WHERE id = $?",
    "/postgres/sync": "SELECT name FROM items WHERE id = $?",
    "/postgres/ef": "SELECT i.name FROM items AS i WHERE i.id = @wanted LIMIT ?",
    "/postgres/report": "SELECT ? FROM pg_sleep($?)",
    "/postgres/literal": "SELECT count(*) FROM items, pg_sleep(?) WHERE id = ? AND name = ?",
}


class OnEachRuntime:
    framework = None

    def check(self, report, truth, names=None):
        """Each endpoint's count, and its latencies, as the application has measured them."""
        seen = by_name(report)
        for template, known in truth.items():
            name = shape(template)
            if "(no route)" in name or not known["count"] or (names and name not in names):
                continue
            self.assertIn(name, seen)
            said = seen[name]
            unmatched = report["sampling"]["beginningNotSeen"]  # rare ones; what is not said as such is not missing
            self.assertLessEqual(abs(said["requests"] - known["count"]), min(unmatched, known["count"] // 1000), "%s: %s" % (name, report["sampling"]))
            spare = {key: LATENCY_MS + known[key] * LATENCY_PERCENT / 100 for key in ("p50Ms", "p95Ms", "maxMs")}
            self.assertGreater(said["p50Nanoseconds"] / 1e6, known["p50Ms"] - spare["p50Ms"], name)
            self.assertLess(said["p50Nanoseconds"] / 1e6, known["p50Ms"] + proc.patience(2 * spare["p50Ms"]), name)  # a thread waits for a CPU on its way there
            self.assertGreater(said["p95Nanoseconds"] / 1e6, known["p95Ms"] - spare["p95Ms"], name)
            self.assertGreater(said["longestNanoseconds"] / 1e6, known["maxMs"] - spare["maxMs"], name)

    def test_counts_and_latencies(self):
        app = self.target(self.framework)

        def work():
            app.load("--requests", 60, "--connections", 4, "/delay/20", "/api/products/3/reviews", "/configure/20")
            app.load("--requests", 3000, "--connections", 8, "/fast")
            app.load("--requests", 1000, "--connections", 4, "--depth", 8, "/items/1", "/items/22", "/items/333")
            app.load("--requests", 900, "--connections", 2, "--depth", 50, "/items/7", "/api/products/7", "/fast", http2=True)
            app.load("--requests", 100, "/throws", "/unhandled")
            app.load("--requests", 50, "/early/bird", "/missing/page")
        app.progress()  # its own threads have begun
        before = dotnet.Traces(app)
        report, truth, _, _ = self.during(app, work)
        self.check(report, truth)
        endpoints = by_name(report)
        statuses = {name: {k for k, v in e["statuses"].items() if v} - {"notTold"} for name, e in endpoints.items()}  # told for a part of the time
        for name, status in (("GET /fast", "successful"), ("GET /throws", "serverError"), ("GET /early/bird", "clientError"),
                             ("GET /missing/page", "clientError")):
            self.assertLessEqual(statuses[name], {status}, name)
            self.assertEqual(sum(endpoints[name]["statuses"].values()), endpoints[name]["requests"])
        self.assertEqual((report["sampling"]["dropped"], report["sampling"]["malformed"]), (0, 0))
        self.assertLessEqual(report["sampling"]["notFollowed"], 1, "the one that asked whether somebody listens")
        told = {e["name"] for e in report["endpoints"] if e["statuses"]["notTold"] < e["requests"]}
        routes = {route(template) for template, t in truth.items() if t["count"] and shape(template) in {shape(name) for name in told}}
        self.assertLessEqual(routes, told, "endpoints have the names of their routes")
        self.assertLessEqual({"GET /delay/{ms}", "GET /api/products/{id}/reviews", "GET /configure/{ms}"}, routes)
        dotnet.assert_nothing_left(self, app, before)
        self.assertNotIn(HOSTING, app.listened())


class OnNewest(OnEachRuntime):
    """On the others with DRDOTNET_EVERY_RUNTIME only (make runtimes)."""

    def test_hostile_paths(self):
        app = self.target(self.framework)

        def raw(line):
            with socket.create_connection(("127.0.0.1", app.port), 30) as s:
                s.sendall(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while s.recv(65536):
                    pass

        def work():
            app.load("--requests", 5000, "--distinct", "/any/", "/any/name-of-", "/any/%D0%9F", "/any/customer/")
            app.load("--requests", 200, "--distinct", *["/any/" + animal for animal in "ant bee cow dog elk fox gnu hen ibis jay koi lynx".split()])
            app.load("--requests", 20, "/any/" + "a" * 16000, "/any" + "/b" * 8000, "/any/%FF%FE%00", "/any/%ED%A0%80", "/any//../..//x")
            raw(b"GET /any/\xff\xfe\x80 HTTP/1.1")
            raw(b"GET /any/<script>alert(1)</script> HTTP/1.1")
            raw(b"QUITE-A-LONG-METHOD-NAME-THAT-NOBODY-HAS /fast HTTP/1.1")
            app.load("--requests", 500, "/fast")
        report, truth, out, _ = self.during(app, work)
        self.check(report, truth, {"GET /fast"})
        self.assertLessEqual(len(report["endpoints"]), MOST_ENDPOINTS)
        known = sum(t["count"] for t in truth.values())
        self.assertEqual(sum(e["requests"] for e in report["endpoints"] if not e["name"].startswith("GET /truth")), known)
        for endpoint in report["endpoints"]:
            self.assertLessEqual(len(endpoint["name"]), 200)
            self.assertTrue(endpoint["name"].isascii() and endpoint["name"].isprintable(), endpoint["name"])
            self.assertNotIn("<script", endpoint["name"])
        self.assertLess(max(len(data) for data in contents(out).values()), 4 << 20)

    def test_what_nobody_is_told(self):
        app = self.target(self.framework)
        headers = {"X-Api-Key": "hunter-header", "Cookie": "id=hunter-cookie", "Authorization": "Bearer hunter-token", "User-Agent": "hunter-agent",
                   "Referer": "http://hunter-referer/"}

        def work():
            for path in ("/fast?password=hunter-query", "/http/5?a=hunter-query", "/sqlite/3?hunter-query", "/unhandled?hunter-query",
                         "/items/%d?hunter=1" % NUMBER):
                for _ in range(5):
                    app.get(path, headers)
        report, truth, out, text = self.during(app, work)
        self.check(report, truth, {"GET /items/{id}"})
        for name, data in contents(out).items():
            for secret in SECRETS:
                self.assertNotIn(secret.encode(), data, name)
            self.assertNotIn(b"%d" % NUMBER, data)
        self.assertNotIn("hunter", text)

    def test_the_bill(self):
        """What of the slowest requests was on a thread, in calls and in other awaits: as the application has measured it, of requests that are all alike."""
        on_a_thread = ("/sleep/40", "/io/40", "/blocked/40", "/cpu/20")
        awaited = ("/delay/40", "/configure/40")
        names = SlowNames(NAME_MS)
        self.addCleanup(names.stop)
        app = self.target(self.framework, prefix=names.asked_by(self.folder))

        def work():
            for path in (*on_a_thread, *awaited, "/http/40", "/mixed/one", "/dns/shop.test"):
                app.load("--requests", 60, "--connections", 1, path)
            app.load("--requests", 40, "--connections", 1, "/tls")
            app.load("--requests", 40, "--connections", 3, "/semaphore/20")
            read_slowly(app, 16, 3, 4)
            for host in range(2, 8):
                ask_from("127.0.0.%d" % host, app, "/delay/40")
        report, truth, _, _ = self.during(app, work)
        self.check(report, truth)
        if report["sampling"]["switchesPercent"] < WHOLE:
            self.skipTest("the machine has too much to do: switches were told for a part of the time only")
        bills, late = {}, {}  # late: had the thread that it needed, which waited for a CPU
        for endpoint in report["endpoints"]:
            bill = endpoint["bill"]
            if bill["requests"]:
                sums = {"thread": bill["threadNanoseconds"], "await": bill["otherAwaitNanoseconds"], "calls": sum(c["awaitNanoseconds"] for c in bill["calls"])}
                self.assertEqual(sum(sums.values()) + bill["unseenNanoseconds"], bill["nanoseconds"], endpoint["name"])
                bills[shape(endpoint["name"])] = {part: ns / bill["nanoseconds"] for part, ns in sums.items()}
                late[shape(endpoint["name"])] = bill["thread"]["noCPU"] / bill["nanoseconds"]
        due = {shape(template): {part: t["parts"][part]["ms"] / t["sumMs"] for part in t["parts"]} for template, t in truth.items() if t["count"]}
        for path, part in (("/sleep", "sleep"), ("/io", "io"), ("/blocked", "blocked"), ("/cpu", "code")):
            name = "GET %s/{id}" % path
            self.assertAlmostEqual(bills[name]["thread"], due[name][part], delta=self.spare(POINTS), msg=name)
        for path in ("/delay", "/configure"):
            name = "GET %s/{id}" % path
            self.assertLess(bills[name]["await"], due[name]["timer"] + POINTS, name)
            self.assertGreater(bills[name]["await"] + late[name], due[name]["timer"] - POINTS, name)
        self.assertLess(bills["GET /http/{id}"]["calls"], due["GET /http/{id}"]["http"] + POINTS)
        self.assertGreater(bills["GET /http/{id}"]["calls"] + late["GET /http/{id}"], due["GET /http/{id}"]["http"] - POINTS)
        gate = due["GET /semaphore/{id}"]
        self.assertAlmostEqual(bills["GET /semaphore/{id}"]["await"] + late["GET /semaphore/{id}"], gate["semaphore"] + gate["timer"], delta=POINTS)
        self.assertAlmostEqual(bills["GET /tls"]["calls"] + bills["GET /tls"]["thread"], due["GET /tls"]["http"], delta=POINTS)
        self.assertGreater(share_of(report, "GET /tls", "tls "), HANDSHAKE_MS * truth["GET /tls"]["count"] / truth["GET /tls"]["sumMs"] - POINTS)
        looked_up = share_of(report, "GET /dns/{id}", "dns ")
        known = truth["GET /dns/{host}"]
        self.assertGreater(looked_up + late["GET /dns/{id}"], NAME_MS * known["count"] / known["sumMs"] - self.spare(2 * POINTS))
        self.assertLess(looked_up, known["parts"]["http"]["ms"] / known["sumMs"] + POINTS)
        body = due["GET /big/{id}"]["body"]
        self.assertAlmostEqual(bills["GET /big/{id}"]["calls"] + bills["GET /big/{id}"]["await"] + bills["GET /big/{id}"]["thread"], body, delta=POINTS)
        self.assertGreater(share_of(report, "GET /big/{id}", "the client"), body / 2)  # between the looks at the beginning and the end nothing is known
        delay = by_name(report)["GET /delay/{id}"]
        self.assertEqual((delay["clients"], delay["withClient"], delay["mostOfOneClient"]), (7, 66, 60))
        found = findings(report)
        self.assertEqual(found.get("ResponsesWaitForClient"), ("Found", "GET /big/{id}"), report["measured"])
        if report["measured"]["oneShare"] >= 5:  # of the time of all: on a full machine the others take longer
            self.assertEqual(found.get("OneClientAsksMost"), ("Possible", "GET /delay/{id}"), report["measured"])
        mixed, parts = bills["GET /mixed/one"], due["GET /mixed/one"]
        for is_, what in ((mixed["thread"], "code"), (mixed["calls"], "http"), (mixed["await"], "timer")):
            self.assertAlmostEqual(is_, parts[what], delta=self.spare(2 * POINTS), msg="mixed %s: %s, %s" % (what, mixed, parts))

    def with_databases(self):
        """(application, paths that ask a database): those that there are here."""
        words, paths = [], ["/ef/3"]
        if glob.glob("/usr/lib/*/libicuuc.so.*"):  # which the client of SQL Server wants
            words.append("--sqlserver")
            paths.append("/sqlserver/40")
        if not postgres.missing():
            server = postgres.Server()
            self.addCleanup(server.stop)
            words += ["--postgres", server.connection]
            paths += ["/postgres/orders/3", "/postgres/sync/3", "/postgres/ef/3", "/postgres/report/40", "/postgres/literal/3"]
        return self.target(self.framework, *words), paths

    def test_databases(self):
        """Each command is told once, by its shape, of whichever client; and takes as long as the application has measured."""
        app, paths = self.with_databases()
        for path in paths:
            self.assertEqual(app.get(path)[0], 200, path)  # what is made once

        def work():
            app.load("--requests", 12 * len(paths), "--connections", 1, *paths)
            if "/postgres/report/40" in paths:
                app.load("--requests", 120, "--connections", 8, "/postgres/narrow/40")
        report, truth, out, _ = self.during(app, work)
        self.assertNotIn(b"hunter", b"".join(contents(out).values()))
        if report["sampling"]["switchesPercent"] < WHOLE:
            self.skipTest("the machine has too much to do: switches were told for a part of the time only")
        endpoints = by_name(report)
        for path in paths:
            template = path[:path.rindex("/")]
            calls = [c for c in endpoints["GET %s/{id}" % template]["bill"]["calls"] if c["name"].startswith("sql ")]
            part = "sqlite" if template == "/ef" else "database"
            known = next(t for key, t in truth.items() if key.startswith("GET %s/{" % template))
            due = COMMANDS[template]
            if self.framework not in ("net10.0", "net11.0"):
                due = due.replace("@wanted", "@__wanted_0")  # as Entity Framework names it
            self.assertEqual([c["name"] for c in calls], ["sql " + due], template)
            self.assertEqual((calls[0]["count"], calls[0]["failed"]), (known["parts"][part]["count"], 0), template)
            if template in ("/sqlserver", "/postgres/report"):
                self.assertAlmostEqual(share_of(report, "GET %s/{id}" % template, "sql "), known["parts"][part]["ms"] / known["sumMs"],
                                       delta=self.spare(POINTS))
        if "/postgres/report/40" in paths:  # a pool of two connections
            found = findings(report)
            self.assertEqual(found.get("DatabaseConnectionsExhausted"), ("Possible", "GET /postgres/narrow/{id}"), report["measured"])
            self.assertEqual(report["measured"]["gateWidth"], 2)

    def test_pools(self):
        """Calls that wait for connections of a pool, connections that each call makes anew, and a burst above the pool's threads: each for what it is."""
        app = self.target(self.framework)
        for path in ("/narrow/1", "/tls", "/burst/1"):
            app.get(path)

        def work():
            app.load("--requests", 200, "--connections", 10, "/narrow/30")
            app.load("--requests", 400, "--connections", 16, "/tls")
            app.load("--requests", 240, "--connections", 40, "/burst/100")
        report, truth, _, _ = self.during(app, work)
        self.check(report, truth)
        narrow = truth["GET /narrow/{ms}"]
        waiting = share_of(report, "GET /narrow/{id}", "http connection ")
        self.assertGreater(waiting, 0.4)  # the rest is the service, which answers after 30 ms, or later on a machine that has much to do
        self.assertLess(waiting, 1 - 30 * narrow["count"] / narrow["sumMs"] + POINTS)
        if report["sampling"]["switchesPercent"] < WHOLE or not report["sampling"]["cpuSamplePeriodNanoseconds"]:
            self.skipTest("switches were told for a part of the time only, or CPU time may not be sampled here")
        burst = by_name(report)["GET /burst/{id}"]["bill"]
        self.assertAlmostEqual(burst["otherAwaitNanoseconds"] / burst["nanoseconds"], 1 - 100e6 * burst["requests"] / burst["nanoseconds"], delta=POINTS)
        found = {f["id"]: shape(f["message"].split(":")[0]) for f in report["findings"] if f["state"] == "Found"}
        due = {"ConnectionPoolExhausted": "GET /narrow/{id}", "ConnectionsMadeAnew": "GET /tls", "RequestsWaitForPool": "GET /burst/{id}"}
        if self.framework == "net8.0" or report["measured"]["queueMet"] < 3:  # on a full machine the agent may look at the pool at other times only
            del due["RequestsWaitForPool"]
        self.assertEqual({id: found.get(id) for id in due}, due, report["measured"])
        if "RequestsWaitForPool" in due:
            self.assertIn("Shop.Sick.Burst", report["measured"]["blockerPlace"])

    def test_a_limit_of_cpu(self):
        """What a thread lost to its container's limit is told as such, and is as much as the application has measured."""
        with cpu_group() as group:
            if not group:
                self.skipTest("no control group of the processor may be made here")
            app = self.target(self.framework, prefix=within(group, []))
            try:
                def work():
                    set_limit(group, CPU_LIMIT)
                    app.load("--requests", 30, "--connections", 1, "/cpu/20")
                    set_limit(group, MANY_CPUS)
                report, truth, _, _ = self.during(app, work)
            finally:
                app.stop(signal.SIGKILL)
        if report["sampling"]["switchesPercent"] < WHOLE or not report["sampling"]["cpuSamplePeriodNanoseconds"]:
            self.skipTest("switches were told for a part of the time only, or CPU time may not be sampled here")
        code = truth["GET /cpu/{ms}"]["parts"]["code"]
        bill = by_name(report)["GET /cpu/{id}"]["bill"]
        due = (code["ms"] - code["cpuMs"]) / truth["GET /cpu/{ms}"]["sumMs"]
        told, untold = (bill["thread"][part] / bill["nanoseconds"] for part in ("noCPU", "untold"))
        self.assertLess(told, due + POINTS)
        self.assertGreater(told + untold, due - POINTS)
        # Where switches are not recorded the scheduler's figures tell, but for the ends of each request between two looks.
        self.assertLess(untold, POINTS + REQUEST_ENDS * (1 - report["sampling"]["waitsPercent"] / 100), report["sampling"])
        states = [f["state"] for f in report["findings"] if f["id"] == "RequestsWithoutCPU"]
        self.assertIn(states, (["Found"], ["Possible"]), report["measured"])  # possible where others take the CPUs, too

    def work_of(self, report):
        """{endpoint: {part: of the time of its slowest requests}} of what threads did, and that the parts add up."""
        found = {}
        for endpoint in report["endpoints"]:
            bill = endpoint["bill"]
            if not bill["requests"]:
                continue
            self.assertEqual(sum(bill["thread"][part] for part in PARTS), bill["threadNanoseconds"], endpoint["name"])
            self.assertLessEqual(sum(p["nanoseconds"] for p in bill["places"]), bill["threadNanoseconds"], endpoint["name"])
            found[shape(endpoint["name"])] = {part: bill["thread"][part] / bill["nanoseconds"] for part in PARTS}
        return found

    def test_what_threads_did(self):
        """Each cause alone, and three mixed: what is told is what the application has measured, but for what is not told, or waited for a CPU meanwhile."""
        app = self.target(self.framework)

        def work():
            for path in ("/sleep/40", "/io/40", "/blocked/40", "/cpu/20", "/delay/40", "/mixed/one", "/mixed/three"):
                app.load("--requests", 40, "--connections", 1, path)
            for path in ("/lock/20", "/mixed/two", "/cpu/21"):
                app.load("--requests", 40, "--connections", 3, path)
            app.load("--requests", 5, "--connections", 1, "/gc/60")
        report, truth, out, _ = self.during(app, work)
        if report["sampling"]["switchesPercent"] < WHOLE or not report["sampling"]["cpuSamplePeriodNanoseconds"]:
            self.skipTest("switches were told for a part of the time only, or CPU time may not be sampled here")
        works = self.work_of(report)
        for template, due in (("/sleep", {"sleep": "sleep"}), ("/io", {"io": "io"}), ("/blocked", {"task": "blocked"}), ("/cpu", {"code": "code"}),
                              ("/lock", {"lock": "lock", "sleep": "sleep"}), ("/delay", {}), ("/mixed/one", {"code": "code"}),
                              ("/mixed/two", {"code": "code", "lock": "lock", "sleep": "sleep"}),
                              ("/mixed/three", {"io": "io", "task": "blocked", "code": "sqlite"}), ("/gc", {"gc": "gc", "code": "code"})):
            name = "GET " + template + ("" if "mixed" in template else "/{id}")
            known = next(t for key, t in truth.items() if shape(key) == name)
            is_, vague = works[name], works[name]["noCPU"] + works[name]["untold"] + works[name]["blocked"]
            shares = {part: known["parts"][what]["ms"] / known["sumMs"] for part, what in due.items()}
            vague += max(0, is_["code"] - shares.get("code", 0))
            for part in ("gc", "code", "lock", "io", "task", "sleep"):
                share = shares.get(part, 0)
                # what the request does around it runs, too: much of it on a machine that has to load its pages again
                self.assertLess(is_[part], share + self.spare(2 * POINTS if part == "code" else POINTS), "%s %s: %s, %s" % (name, part, is_, known["parts"]))
                if (name, part) != ("GET /gc/{id}", "code"):  # the application's own measure of that has the pauses in it
                    self.assertGreater(is_[part] + vague, share - self.spare(POINTS), "%s %s: %s, %s" % (name, part, is_, known["parts"]))
        places = {shape(e["name"]): {(p["kind"], p["method"]) for p in e["bill"]["places"]} for e in report["endpoints"]}
        self.assertIn(("lock", "Shop.Warehouse.Reserve"), places["GET /lock/{id}"])
        self.assertIn(("task", "Shop.Prices.Get"), places["GET /blocked/{id}"])
        self.assertIn(("io", "Shop.Terminal.Ask"), places["GET /io/{id}"])
        self.check_samples(report)
        first = report["endpoints"][0]
        for request in (first["slowestRequest"], first["typicalRequest"]):
            self.assertEqual((request["bars"][0]["from"], request["bars"][-1]["to"]), (0, request["nanoseconds"]))
            self.assertTrue(all(a["to"] == b["from"] for a, b in zip(request["bars"], request["bars"][1:])))
        for heading in (b"Requests over time", b"CPU time of requests"):
            self.assertIn(heading, contents(out)["report.html"])

    def check_samples(self, report):
        """A sample in a method that only some endpoints run is theirs."""
        for method, whose in (("Shop.Pricing.Compute", ("/cpu", "/mixed/one", "/mixed/two")), ("Shop.Exports.Render", ("/gc",))):
            self.check_samples_of(method, report, whose)

    def check_samples_of(self, method, report, whose):
        totals = {m["name"]: m["total"] for m in report["methods"]}
        of = {e["name"]: sum(m["total"] for m in e["code"]["methods"] if m["name"] == method) for e in report["endpoints"]}
        right = sum(n for name, n in of.items() if name.startswith(tuple("GET " + path for path in whose)))
        self.assertGreater(right, 0, method)
        self.assertGreaterEqual(right, RIGHT * sum(of.values()), of)
        self.assertGreaterEqual(right, RIGHT * totals[method] - 1, "%s: %s" % (method, of))

    def test_work_beside_a_request(self):
        """Parallel awaits, work on other threads of the pool, work that outlives its request, requests whose client has gone, over HTTP/1.1 and HTTP/2."""
        app = self.target(self.framework)

        def work():
            for how in ({}, {"http2": True}):
                app.load("--requests", 20, "--connections", 2, "/fanout", "/parallel", **how)
            app.load("--requests", 10, "--connections", 1, "/background")
            for _ in range(5):
                with socket.create_connection(("127.0.0.1", app.port), 30) as s:
                    s.sendall(b"GET /cancel HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    proc.wait_until(lambda: app.truth().get("GET /cancel", {}).get("inFlight"), 60, "the request is in flight")
            streams = subprocess.Popen([dotnet.HTTP_LOAD, str(app.details["http2"]), "--http2", "--connections", "1", "--depth", "5", "--requests", "5",
                                        "--seconds", "600", "/cancel"], stdout=subprocess.DEVNULL)
            self.addCleanup(streams.wait)
            self.addCleanup(streams.kill)
            proc.wait_until(lambda: app.truth()["GET /cancel"]["inFlight"] == 5, 60, "the streams are in flight")
            streams.kill()
            proc.wait_until(lambda: app.truth()["GET /cancel"]["canceled"] == 10, 60, "they were canceled")
            app.lines(1)
        report, truth, _, _ = self.during(app, work)
        for path, count in (("/fanout", 20), ("/parallel", 20), ("/background", 10), ("/cancel", 10)):
            self.assertEqual(by_name(report)["GET " + path]["requests"], truth["GET " + path]["count"], path)
            self.assertGreaterEqual(truth["GET " + path]["count"], count, path)
        if report["sampling"]["switchesPercent"] < WHOLE or not report["sampling"]["cpuSamplePeriodNanoseconds"]:
            self.skipTest("switches were told for a part of the time only, or CPU time may not be sampled here")
        works = self.work_of(report)
        of = {e["name"]: sum(m["total"] for m in e["code"]["methods"] if m["name"] == "Shop.Pricing.Compute") for e in report["endpoints"]}
        self.assertGreater(of["GET /fanout"], 0)
        self.assertGreaterEqual(of["GET /fanout"], RIGHT * sum(of.values()), of)  # what outlives its request is nobody's
        endpoints = by_name(report)
        self.assertLess(works["GET /parallel"]["code"], 0.5)
        self.assertLess(endpoints["GET /background"]["bill"]["nanoseconds"] / 10, 100e6)

    def test_what_is_in_flight(self):
        """Long polls, and requests that never end: they are not among those that ended, and how old they are is told."""
        app = self.target(self.framework)
        polls = subprocess.Popen([dotnet.HTTP_LOAD, str(app.port), "--connections", "2000", "--requests", "2000", "--seconds", "600", "/poll"],
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(polls.wait)
        self.addCleanup(polls.kill)
        proc.wait_until(lambda: app.truth().get("GET /poll", {}).get("inFlight") == 2000, 60, "the polls that were there before")

        def work():
            self.hang(app, 7)
            late = subprocess.Popen([dotnet.HTTP_LOAD, str(app.port), "--connections", "10000", "--requests", "10000", "--seconds", "600", "/poll"],
                                    stdout=subprocess.DEVNULL)
            self.addCleanup(late.wait)
            self.addCleanup(late.kill)
            proc.wait_until(lambda: app.truth()["GET /poll"]["inFlight"] == 12000, 60, "the polls that came later")
            app.load("--requests", 200, "/fast")
            app.lines(2)
        report, truth, _, _ = self.during(app, work)
        self.check(report, truth, {"GET /fast"})
        endpoints = by_name(report)
        self.assertEqual((endpoints["GET /hang"]["inFlight"], endpoints["GET /hang"]["requests"]), (7, 0))
        self.assertGreater(endpoints["GET /hang"]["oldestNanoseconds"], 2e9)
        unfollowed = report["sampling"]["notFollowed"]  # those whose bucket is full, by chance
        self.assertLess(unfollowed, 5)
        self.assertAlmostEqual(endpoints["GET /poll"]["inFlight"], 10000 - unfollowed, delta=unfollowed)  # some may be of other endpoints
        self.assertEqual(endpoints["GET /poll"]["requests"], 0)
        self.assertEqual(report["measured"]["unansweredCount"], 2000)  # those that were there before; the others are known by the events

    def test_streams_are_no_slow_requests(self):
        app = self.target(self.framework)
        report, truth, _, _ = self.during(app, lambda: (app.load("--requests", 4, "--connections", 4, "/sse/5"), app.load("--requests", 300, "/fast")))
        self.check(report, truth, {"GET /fast"})
        stream = by_name(report)["GET /sse/{id}"]
        self.assertEqual((stream["requests"], stream["stream"]), (4, True))
        self.assertFalse([f for f in report["findings"] if "/sse" in f["message"]], report["findings"])

    def test_the_application_is_killed(self):
        app = self.target(self.framework)
        session, out = self.begin(app)
        app.load("--requests", 200, "/fast")
        app.lines(1)
        os.kill(app.pid, signal.SIGKILL)
        text = session.communicate(timeout=proc.patience(120))[0]
        self.assertIn("ended", text)
        if os.path.exists(os.path.join(out, "report.json")):
            self.assertTrue(load(out)["time"]["endedEarly"])


OnOlder = OnNewest if os.environ.get("DRDOTNET_EVERY_RUNTIME") else OnEachRuntime


class Net8(OnOlder, RequestsCase):
    framework = "net8.0"


class Net9(OnOlder, RequestsCase):
    framework = "net9.0"


class Net10(OnOlder, RequestsCase):
    framework = "net10.0"


class Net11(OnNewest, RequestsCase):
    framework = "net11.0"


class Net11Runtime(OnOlder, RequestsCase):
    framework, application = "net11.0", Runtime


if __name__ == "__main__":
    unittest.main()
