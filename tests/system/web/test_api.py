"""`drdotnet serve`: sessions of a real .NET application by REST, from the list of processes to the zip of the reports."""
import hashlib
import http.client
import io
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import unittest
import zipfile

from tests.lib import dotnet, local, proc, serve
from tests.system.web import openapi

FILES = ["profile.pb.gz", "profile.speedscope.json", "report.html", "report.json", "stacks.folded", "summary.md"]


class Api(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-serve-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.app = dotnet.App("warm", "net10.0", folder.name)
        cls.addClassCleanup(cls.app.stop)
        cls.server = serve.Serve(folder.name)
        cls.addClassCleanup(cls.server.stop)
        cls.first = cls.server.completed(cls.server.session(cls.spec(2), "first"))

    @classmethod
    def spec(cls, seconds, **more):
        return {"profiler": "CPUHotpaths", "durationSeconds": seconds, "target": {"process": {"pid": cls.app.pid}}, **more}

    def conforms(self, since):
        if not openapi.unavailable():
            self.assertEqual(openapi.wrong(self.server.exchanges[since:]), "")

    def test_the_document_is_valid(self):
        if openapi.unavailable():
            self.skipTest(openapi.unavailable())
        self.assertEqual(openapi.wrong(), "")
        answer = self.server.get("/api/openapi.json", token=None)
        with open(openapi.DOCUMENT, "rb") as f:
            self.assertEqual((answer.status, answer.body), (200, f.read()))
        broken = os.path.join(self.folder, "broken.json")
        with open(broken, "w", encoding="utf-8") as f:
            f.write(answer.body.decode().replace('"Problem": {', '"Trouble": {'))
        self.assertIn("Problem", openapi.wrong(document=broken))

    def test_answers_are_what_the_document_says(self):
        s, since = self.server, len(self.server.exchanges)
        one = "/api/sessions/" + self.first["id"]
        for path in ("/api/info", "/api/profilers", "/api/namespaces", "/api/processes?refresh=true", "/api/sessions?limit=1", one, one + "/download",
                     one + "/reports/%s/report.html" % self.pod(), "/api/diff?baseline=%s&session=%s" % (self.first["id"], self.first["id"])):
            answer = s.get(path)
            self.assertEqual(answer.status, 200, (path, answer))
        for path, status in (("/api/sessions/local.none", 404), ("/api/sessions/none", 404), ("/api/sessions?limit=0", 400), ("/api/sessions?x=1", 400),
                             ("/api/sessions?continue=x", 400), ("/api/diff?baseline=x&session=y", 400), ("/api/processes?namespace=shop", 404)):
            answer = s.get(path)
            self.assertEqual((answer.status, answer.json["status"], answer.headers["content-type"]), (status, status, "application/problem+json"), path)
        self.assertEqual(s.get("/api/info", token=None).status, 401)
        self.assertEqual(s.get("/api/info", token="x" * 48).headers["www-authenticate"], "Bearer")
        self.assertEqual(s.post("/api/sessions", {"namespace": "local", "spec": {"profiler": "None"}}).status, 422)
        self.conforms(since)
        if not openapi.unavailable():  # and the check finds what is not so
            method, path, sent, body, answer = s.exchanges[since]
            lie = serve.Answer(200, answer.headers.items(), answer.body.replace(b'"mode"', b'"node"'))
            self.assertIn("mode", openapi.wrong([(method, path, sent, body, lie)]))

    def pod(self):
        return self.first["status"]["targets"][0]["podName"]

    def test_what_there_is(self):
        info = self.server.get("/api/info").json
        self.assertEqual((info["mode"], info["user"], info["readOnly"]), ("local", "local", False))
        self.assertEqual(self.server.get("/api/namespaces").json, {"items": ["local"]})
        profiler = next(p for p in self.server.get("/api/profilers").json["items"] if p["name"] == "CPUHotpaths")
        self.assertEqual((profiler["settingsField"], profiler["defaultDurationSeconds"], profiler["available"]), ("cpuHotpaths", 30, True))
        self.assertIn("CPU is high", profiler["symptoms"])
        profilers = {p["name"]: p for p in self.server.get("/api/profilers").json["items"]}
        self.assertEqual({name: (p["settingsField"], p["defaultDurationSeconds"], p["defaultPauseBudgetMilliseconds"], sorted(p["settings"]["properties"]))
                          for name, p in profilers.items()},
                         {"CPUHotpaths": ("cpuHotpaths", 30, 200, ["frequencyHertz"]), "GCSurvivors": ("gcSurvivors", 0, 500, ["roots"]),
                          "MemoryLeak": ("memoryLeak", 120, 500, ["roots", "walks"]), "DuplicatedStrings": ("duplicatedStrings", 0, 500, []),
                          "Allocations": ("allocations", 30, 200, []), "RuntimePauses": ("runtimePauses", 60, 200, []),
                          "Exceptions": ("exceptions", 30, 200, []), "Deadlocks": ("deadlocks", 5, 200, []),
                          "StuckTasks": ("stuckTasks", 10, 500, []), "Waits": ("waits", 10, 200, []),
                          "Threads": ("threads", 5, 200, []),
                          "SlowRequests": ("slowRequests", 30, 200, [])})
        for name, field, spec in (("GCSurvivors", "spec.durationSeconds", {"durationSeconds": 5}),
                                  ("MemoryLeak", "spec.memoryLeak.walks", {"memoryLeak": {"walks": 11}}),
                                  ("DuplicatedStrings", "spec.memoryLeak", {"memoryLeak": {}}), ("Allocations", "spec.allocations", {"allocations": {"x": 1}})):
            answer = self.server.post("/api/sessions", {"namespace": "local", "spec": {"profiler": name, **spec}})
            self.assertEqual((answer.status, answer.json["field"][:len(field)]), (422, field), answer.body)
        mine = [p for p in self.server.get("/api/processes?refresh=true").json["items"] if p["pid"] == self.app.pid]
        self.assertEqual([(p["entrypoint"], p["canProfile"], p["namespace"]) for p in mine], [("Checkout", True, "local")])
        self.assertGreater(mine[0]["memoryBytes"], 10 << 20)

    def test_a_session_by_its_events(self):
        s, since = self.server, len(self.server.exchanges)
        answer = s.post("/api/sessions", {"namespace": "local", "spec": self.spec(2, cpuHotpaths={"frequencyHertz": 199})})
        self.assertEqual((answer.status, answer.headers["location"]), (201, "/api/sessions/" + answer.json["id"]))
        self.assertRegex(answer.json["name"], r"^cpuhotpaths-\d{8}-\d{6}-[0-9a-f]{4}$")
        events = s.events(answer.json["id"])
        self.assertEqual([name for name, _ in events], ["session"] * (len(events) - 1) + ["end"])
        self.assertEqual(events[-1][1], {"reason": "Completed"})
        states = [data["state"] for name, data in events if name == "session"]
        self.assertIn("Profiling", states)
        last = events[-2][1]
        self.assertEqual((last["state"], last["status"]["effective"]["cpuHotpaths"]["frequencyHertz"]), ("Succeeded", 199), last)
        self.assertIn("Tax.Compute", last["headline"])
        self.assertEqual(last["headline"], last["status"]["diagnosis"].split("\n")[0])
        self.assertEqual({c["type"]: c["status"] for c in last["status"]["conditions"]},
                         {"Accepted": "True", "Running": "False", "Succeeded": "True", "Completed": "True"})
        self.assertEqual(s.get("/api/sessions/" + answer.json["id"]).json, last)
        self.assertEqual(s.events(answer.json["id"]), [("session", last), ("end", {"reason": "Completed"})])
        self.conforms(since)

    def test_a_baseline(self):
        s, since = self.server, len(self.server.exchanges)
        done = s.completed(s.session(self.spec(1, baselineSession="first"), "second"))
        self.assertRegex(done["status"]["comparison"], r"(?m)^Compared \d+ samples with \d+: ")
        running = s.session(self.spec(60), "running")
        leak = {"profiler": "MemoryLeak", "target": {"process": {"pid": self.app.pid}}, "baselineSession": "first"}
        for spec, words in ((self.spec(1, baselineSession="nowhere"), "there is no session nowhere"), (leak, "session first is of the profiler CPUHotpaths"),
                            (self.spec(1, baselineSession="running"), "session running has not finished"),
                            (self.spec(1, baselineSession="../first"), "not a valid name")):
            answer = s.post("/api/sessions", {"namespace": "local", "spec": spec})
            self.assertEqual((answer.status, answer.json["field"]), (422, "spec.baselineSession"), answer.body)
            self.assertIn(words, answer.json["detail"])
        s.post("/api/sessions/%s/cancel" % running, {})
        self.conforms(since)

    def test_reports(self):
        s, target = self.server, self.first["status"]["targets"][0]
        self.assertEqual(sorted(r["name"] for r in target["reports"]), FILES)
        for r in target["reports"]:
            answer = s.get("/api/sessions/local.first/reports/%s/%s" % (target["podName"], r["name"]))
            self.assertEqual((answer.status, len(answer.body), hashlib.sha256(answer.body).hexdigest(), answer.headers["content-type"]),
                             (200, r["sizeBytes"], r["sha256"], r["mediaType"]))
            self.assertRegex(answer.headers["content-security-policy"], r"^sandbox allow-scripts; default-src 'none';")
            shown = answer.headers["content-disposition"].split(";")[0]
            self.assertEqual(shown, "inline" if r["name"] == "report.html" else "attachment")
            again = s.get("/api/sessions/local.first/reports/%s/%s" % (target["podName"], r["name"]), headers={"If-None-Match": answer.headers["etag"]})
            self.assertEqual((again.status, again.body), (304, b""))
        for wrong in ("session.json", "..", "%2e%2e%2fsession.json", "report.html%00", ".hidden", "report.html/x", "nothing.txt"):
            answer = s.raw(b"GET /api/sessions/local.first/reports/%s/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
                           % (target["podName"].encode(), wrong.encode(), s.token.encode()))
            self.assertNotIn(b"200 OK", answer, wrong)
        self.assertEqual(s.get("/api/sessions/local.first/reports/other-pod/report.html").status, 404)

    def test_the_zip(self):
        answer = self.server.get("/api/sessions/local.first/download")
        self.assertEqual((answer.headers["content-type"], answer.headers["content-disposition"]), ("application/zip", 'attachment; filename="local.first.zip"'))
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertIsNone(z.testzip())
            self.assertEqual(sorted(z.namelist()), ["first/%s/%s" % (self.pod(), f) for f in FILES])
            for r in self.first["status"]["targets"][0]["reports"]:
                self.assertEqual(hashlib.sha256(z.read("first/%s/%s" % (self.pod(), r["name"]))).hexdigest(), r["sha256"])

    def test_a_report_that_is_gone_is_named_in_the_zip(self):
        s = self.server
        session = s.completed(s.session(self.spec(1), "holed"))
        os.unlink(os.path.join(s.reports, "holed", "stacks.folded"))
        with zipfile.ZipFile(io.BytesIO(s.get("/api/sessions/local.holed/download").body)) as z:
            pod = session["status"]["targets"][0]["podName"]
            self.assertIn("stacks.folded", z.read("holed/%s/stacks.folded.error.txt" % pod).decode())
            self.assertEqual(len(z.namelist()), len(FILES))

    def test_lists(self):
        s = self.server
        for name in ("page-a", "page-b", "page-c"):
            answer = s.post("/api/sessions", {"namespace": "local", "name": name, "spec": self.spec(1, target={"process": {"pid": 1 << 22}})})
            self.assertEqual(answer.status, 201, answer)
            end = s.completed("local." + name)
            self.assertEqual((end["state"], end["status"]["conditions"][-1]["reason"]), ("Failed", "ProcessNotFound"))
        found, cursor = [], ""
        for _ in range(3):
            answer = s.get("/api/sessions?state=Failed&q=PAGE-&limit=1" + cursor).json
            self.assertEqual(answer["total"], 3)
            found += [x["name"] for x in answer["items"]]
            cursor = "&continue=" + answer.get("continue", "")
        self.assertEqual((sorted(found), cursor), (["page-a", "page-b", "page-c"], "&continue="))
        first = s.get("/api/sessions?q=local.first").json
        self.assertEqual([x["id"] for x in first["items"]], ["local.first"])
        self.assertNotIn("status", first["items"][0])
        for nothing in ("namespace=shop", "profiler=MemoryLeak", "state=None", "q=nothing%20has%20this"):
            self.assertEqual(s.get("/api/sessions?" + nothing).json, {"items": [], "total": 0})

    def test_etags(self):
        for path in ("/api/sessions/local.first", "/api/info", "/api/profilers", "/api/openapi.json", "/", "/assets/app.js", "/viewer.html"):
            answer = self.server.get(path)
            again = self.server.get(path, headers={"If-None-Match": '"x", ' + answer.headers["etag"]})
            self.assertEqual((answer.status, again.status, again.body, again.headers["etag"]), (200, 304, b"", answer.headers["etag"]), path)
            self.assertEqual(self.server.get(path, headers={"If-None-Match": '"x"'}).status, 200)

    def test_cancel_keeps_the_report(self):
        s = self.server
        session = s.session(self.spec(120), "long")
        s.sampling(session)
        self.assertEqual(s.post("/api/sessions", {"namespace": "local", "name": "long", "spec": self.spec(1)}).status, 409)
        answer = s.post("/api/sessions/%s/cancel" % session, {})
        self.assertEqual((answer.status, answer.json["spec"]["cancel"]), (202, True))
        end = s.completed(session)
        self.assertEqual(end["state"], "Canceled", end)
        self.assertEqual(len(end["status"]["targets"][0]["reports"]), len(FILES))
        self.assertEqual(s.post("/api/sessions/%s/cancel" % session, {}).json["state"], "Canceled")

    def test_delete(self):
        s = self.server
        session = s.completed(s.session(self.spec(1), "short-lived"))["id"]
        self.assertEqual(s.ask("DELETE", "/api/sessions/" + session).status, 202)
        self.assertEqual(s.get("/api/sessions/" + session).status, 404)
        self.assertEqual(s.ask("DELETE", "/api/sessions/" + session).status, 404)
        self.assertFalse(os.path.exists(os.path.join(s.reports, "short-lived")))
        session = s.session(self.spec(120), "cut-off")
        found = []
        follower = threading.Thread(target=lambda: found.extend(s.events(session)))
        follower.start()
        s.sampling(session)
        self.assertEqual(s.ask("DELETE", "/api/sessions/" + session).status, 202)
        follower.join(30)
        self.assertEqual(found[-1], ("end", {"reason": "Deleted"}))
        proc.wait_until(lambda: not os.path.exists(os.path.join(s.reports, "cut-off")), 30, "the folder's end")

    def test_wrong_specs_name_their_field(self):
        rows = (({"profiler": "CPUHotpaths", "durationSeconds": 0}, "spec.durationSeconds"), ({"profiler": "x"}, "spec.profiler"), ({}, "spec.profiler"),
                ({"profiler": "CPUHotpaths", "cpuHotpaths": {"frequencyHertz": 1000}}, "spec.cpuHotpaths.frequencyHertz"),
                ({"profiler": "CPUHotpaths", "extra": 1}, "spec.extra"),
                ({"profiler": "CPUHotpaths", "target": {"process": {"pid": "x"}}}, "spec.target.process.pid"))
        for spec, field in rows:
            answer = self.server.post("/api/sessions", {"namespace": "local", "spec": spec})
            self.assertEqual((answer.status, answer.json.get("field"), answer.json.get("reason")), (422, field, "InvalidSpec"), answer)
        for body, status in (("", 400), ("[]", 400), ("{", 400), ('{"namespace":"local"}', 422), ('{"namespace":"local","spec":{},"x":1}', 422),
                             ('{"namespace":"shop","spec":{"profiler":"CPUHotpaths"}}', 422), ('{"namespace":"local","name":"A b","spec":{}}', 422),
                             ('{"namespace":"local","name":"../x","spec":{"profiler":"CPUHotpaths"}}', 422), ('{"a":' * 100 + "1" + "}" * 100, 400)):
            self.assertEqual(self.server.post("/api/sessions", body).status, status, body[:80])

    def test_two_sessions_of_one_process_come_one_after_the_other(self):
        s = self.server
        sessions = [s.session(self.spec(1)) for _ in range(4)]
        ends = [s.completed(x) for x in sessions]
        self.assertEqual([x["state"] for x in ends], ["Succeeded"] * 4, [x["status"]["conditions"] for x in ends])
        times = sorted((x["status"]["startTime"], x["completedAt"]) for x in ends)
        self.assertEqual([a for a, (_, end) in enumerate(times[:-1]) if end > times[a + 1][0]], [])


class Restart(unittest.TestCase):
    time_limit = 200

    def test_history_stays_and_signals_end_sessions(self):
        made = tempfile.TemporaryDirectory(prefix="drdotnet-serve-", ignore_cleanup_errors=True)
        os.mkdir(made.name + "/tmp")
        with made as folder, \
                dotnet.App("warm", "net10.0", folder, env={"TMPDIR": folder + "/tmp"}) as app:
            app.tmp = folder + "/tmp"
            app.warm()
            spec = {"profiler": "CPUHotpaths", "durationSeconds": 120, "target": {"process": {"pid": app.pid}}}
            token, before = os.path.join(folder, "token"), dotnet.Traces(app)
            with serve.Serve(folder, "--token-file", token) as s:
                s.session(spec, "cut")
                s.sampling("local.cut")
                self.assertEqual(s.interrupt(), 0, s.log())
            self.assertEqual(os.stat(token).st_mode & 0o777, 0o600)
            dotnet.assert_nothing_left(self, app, before)
            with serve.Serve(folder, "--token-file", token) as s:
                with open(token, encoding="utf-8") as f:
                    self.assertEqual(s.token, f.read())
                cut = s.get("/api/sessions/local.cut").json
                self.assertEqual((cut["state"], len(cut["status"]["targets"][0]["reports"])), ("Canceled", len(FILES)))
                s.session(spec, "killed")
                s.sampling("local.killed")
                s.popen.kill()
                s.popen.wait()
            for name, text in (("junk", "{"), ("other", '{"id":"local.x","name":"x"}'), ("big", " " * 300000)):
                os.mkdir(os.path.join(s.reports, name))
                with open(os.path.join(s.reports, name, "session.json"), "w", encoding="utf-8") as f:
                    f.write(text)
            os.symlink(os.path.join(s.reports, "cut"), os.path.join(s.reports, "link"))
            with serve.Serve(folder, "--token-file", token) as s:
                killed = s.get("/api/sessions/local.killed").json
                self.assertEqual((killed["state"], killed["status"]["conditions"][-1]["reason"]), ("Failed", "InternalError"))
                self.assertIn("ended before the session", killed["status"]["conditions"][-1]["message"])
                self.assertEqual({x["name"] for x in s.get("/api/sessions").json["items"]}, {"cut", "killed"})
                again = s.completed(s.session({**spec, "durationSeconds": 1}))
                self.assertEqual(again["state"], "Succeeded", again["status"]["conditions"])


class Flags(unittest.TestCase):
    time_limit = 60

    def test_parts_can_be_left_out(self):
        with tempfile.TemporaryDirectory(prefix="drdotnet-serve-") as folder:
            for how in ({"words": ["--no-web-ui"]}, {"env": {"WEB_UI_ENABLED": "false"}}):
                with serve.Serve(folder, *how.get("words", ()), env=how.get("env")) as s:
                    token = re.search(r"Bearer (\w+)", s.log()).group(1)
                    self.assertEqual([s.get(p, token=token).status for p in ("/", "/viewer.html", "/assets/app.js", "/api/info")], [404, 404, 404, 200])
            for how in ({"words": ["--no-rest-api"]}, {"env": {"REST_API_ENABLED": "0"}}):
                with serve.Serve(folder, *how.get("words", ()), env=how.get("env")) as s:
                    self.assertEqual([s.get(p).status for p in ("/", "/api/info", "/api/openapi.json")], [200, 404, 404])

    def test_tls(self):
        with tempfile.TemporaryDirectory(prefix="drdotnet-serve-") as folder:
            cert, key = folder + "/cert.pem", folder + "/key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert,
                            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
            with serve.Serve(folder, "--tls-cert", cert, "--tls-key", key) as s:
                self.assertEqual(s.scheme, "https")
                c = http.client.HTTPSConnection("127.0.0.1", s.port, timeout=30, context=ssl.create_default_context(cafile=cert))
                for _ in range(2):
                    c.request("GET", "/api/info", headers={"Authorization": "Bearer " + s.token})
                    self.assertEqual(json.loads(c.getresponse().read())["mode"], "local")
                c.close()
                self.assertNotIn(b"200", s.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            done = subprocess.run([local.DRDOTNET, "serve", "--reports", folder + "/r", "--tls-cert", cert, "--tls-key", cert], capture_output=True, text=True,
                                  timeout=30)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("certificate", done.stderr)


if __name__ == "__main__":
    unittest.main()
