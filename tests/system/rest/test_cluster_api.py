"""The controller's REST API on a real API server, with a real agent, real .NET processes and a real S3 server: what a caller with few
rights can do, and what not."""
import hashlib
import http.client
import io
import os
import tempfile
import unittest
import urllib.parse
import uuid
import zipfile

from tests.system.controller.faulty_api import FaultyApi
from tests.lib import install, kube, pod, proc, s3
from tests.system.rest.cluster_api import Api

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()
GROUP = "drdotnet.dev"


class RestCase(unittest.TestCase):
    one_process = True
    time_limit = 400

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.store = cls.enterClassContext(s3.Server(folder.name + "/s3"))
        cls.cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.i = cls.enterClassContext(install.Installation(folder.name + "/installation", cls.cluster, cls.store))
        cls.ca = cls.i.authority_file()

    def setUp(self):
        self.namespace = "shop-" + uuid.uuid4().hex[:8]
        self.cluster.namespace(self.namespace)

    def account(self, name, *rules, namespace=None):
        """The token of a new ServiceAccount that may do this in its namespace: rules are (resource, verbs)."""
        namespace = namespace or self.namespace
        self.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % namespace, {"metadata": {"name": name}})
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s" % namespace
        self.cluster.request("POST", rbac + "/roles", {"metadata": {"name": name}, "rules": [
            {"apiGroups": [GROUP if resource.startswith("profiling") else ""], "resources": [resource], "verbs": verbs}
            for resource, verbs in rules]})
        self.cluster.request("POST", rbac + "/rolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
        proc.wait_until(lambda: all(self.may(namespace, name, resource, verbs[0]) for resource, verbs in rules), 30, "the rights are in force")
        return self.cluster.service_account_token(namespace, name)

    def may(self, namespace, name, resource, verb):
        review = self.cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": "system:serviceaccount:%s:%s" % (namespace, name), "resourceAttributes": {
                    "namespace": namespace, "group": GROUP if resource.startswith("profiling") else "", "resource": resource, "verb": verb}}})
        return review["status"]["allowed"]

    def api(self, *rules, name="dev", port=None):
        return Api(port or self.i.api_port, self.ca, self.account(name, *rules))

    def editor(self, **how):
        return self.api(("profilingsessions", ["get", "list", "create", "patch", "delete"]), ("pods", ["list"]), **how)

    def new(self, api, name=None, namespace=None, **spec):
        body = {"namespace": namespace or self.namespace,
                "spec": {"profiler": "CPUHotpaths", "durationSeconds": 3, "cpuHotpaths": {"frequencyHertz": 199},
                         "target": {"podName": "checkout-1"}, **spec}}
        return api.call("POST", "/api/sessions", {**body, **({"name": name} if name else {})})

    def listed(self, api, **query):
        answer = api.get("/api/sessions", **query)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def wait_listed(self, api, count, **query):
        proc.wait_until(lambda: self.listed(api, **query)["total"] == count, 30, "%d sessions are listed" % count)
        return self.listed(api, **query)["items"]

    def check_problem(self, answer, status, *words):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"].split(";")[0], "application/problem+json")
        for word in words:
            self.assertIn(word, answer.json()["detail"])
        return answer.json()

    def session_id(self, name, namespace=None):
        return "%s.%s" % (namespace or self.namespace, name)


class Working:
    def application(self):
        node = "node-a." + self.namespace
        self.addCleanup(self.i.start_agent(node).stop)
        made = self.cluster.create_pod(self.namespace, "checkout-1", node, labels={"app": "checkout", "pod-template-hash": "7d8f"}, running=False)
        app = pod.Pod(self.folder, "warm", uid=made["metadata"]["uid"])
        self.addCleanup(app.stop)
        self.cluster.set_pod_running(made, {"app": app.container_id})
        app.warm()
        return app

    def test_from_the_process_to_the_report(self):
        app = self.application()
        api = self.editor()
        self.check_processes(api, app)
        self.check_a_session(api, "in-s3", {"store": "default"})
        self.check_a_session(api, "in-own-store", {"store": "own"})
        self.check_a_changed_report(api, "in-own-store")
        self.check_cancel_and_delete(api)

    def check_processes(self, api, app):
        self.cluster.create_pod(self.namespace, "elsewhere", "node-without-agent")
        # Of a small part of a second: on a busy machine it may have had no turn in it.
        found = proc.wait_until(lambda: self.with_the_process(api, least=11, namespace=self.namespace), 60, "an answer with the process at work")
        self.assertEqual(len(found["items"]), 1, found)
        process = found["items"][0]
        self.assertEqual({k: process[k] for k in ("namespace", "pod", "container", "pid", "runtimeVersion", "canProfile")},
                         {"namespace": self.namespace, "pod": "checkout-1", "container": "app", "pid": 1, "runtimeVersion": app.runtime,
                          "canProfile": True})
        self.assertEqual(process["workload"], {"kind": "Pod", "name": "checkout-1"})
        self.assertGreater(process["memoryBytes"], 1 << 20)
        self.assertEqual([(w["node"], w["reason"]) for w in found["warnings"]], [("node-without-agent", "NodeWithoutAgent")])
        everywhere = proc.wait_until(lambda: self.with_the_process(api), 60, "an answer with the process")
        self.assertEqual([p["pod"] for p in everywhere["items"]], ["checkout-1"], "of the namespaces that the caller sees")

    def with_the_process(self, api, least=0, **query):
        """An agent that had no time to look or to answer, on a busy machine, leaves a warning in the place of its processes: None. `least`:
        millicores that the processes use."""
        found = api.get("/api/processes", **query).json()
        if found["items"]:
            return found if all(process["cpuMillicores"] >= least for process in found["items"]) else None
        self.assertIn("node-a." + self.namespace, [w.get("node") for w in found["warnings"]], "%s\n%s" % (found, self.i.logs()))
        return None

    def check_a_session(self, api, name, output):
        made = self.new(api, name, output=output)
        self.assertEqual(made.status, 201, made.body)
        self.assertEqual(made.headers["Location"], "/api/sessions/" + self.session_id(name))
        self.assertEqual(made.json()["requestedBy"], "system:serviceaccount:%s:dev" % self.namespace)
        events = api.events(self.session_id(name))
        self.assertEqual((events.status, events.media_type.split(";")[0]), (200, "text/event-stream"))
        events.join(90)
        self.assertFalse(events.is_alive(), "the events end with the session\n" + self.i.logs())
        self.assertEqual(events.seen[-1][0], "end", events.seen[-1])
        states = [data["state"] for kind, data in events.seen if kind == "session"]
        self.assertGreater(len(states), 1)
        session = api.get("/api/sessions/" + self.session_id(name)).json()
        self.assertEqual((session["state"], states[-1]), ("Succeeded", "Succeeded"), session)
        self.assertRegex(session["headline"], r"Tax\.Compute|The node is full")
        self.check_reports(api, session)

    def check_reports(self, api, session):
        reports = session["status"]["targets"][0]["reports"]
        base = "/api/sessions/" + session["id"]
        for report in reports:
            answer = api.get("%s/reports/checkout-1/%s" % (base, report["name"]))
            self.assertEqual((answer.status, len(answer.body)), (200, report["sizeBytes"]), report)
            self.assertEqual(hashlib.sha256(answer.body).hexdigest(), report["sha256"])
            self.assertEqual(answer.headers["Content-Type"], report["mediaType"])
            self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
            again = api.call("GET", "%s/reports/checkout-1/%s" % (base, report["name"]), headers={"If-None-Match": answer.headers["ETag"]})
            self.assertEqual((again.status, again.body), (304, b""))
        whole = api.get(base + "/download")
        self.assertEqual(whole.status, 200)
        with zipfile.ZipFile(io.BytesIO(whole.body)) as z:
            self.assertIsNone(z.testzip())
            self.assertEqual(sorted(i.file_size for i in z.infolist()), sorted(r["sizeBytes"] for r in reports))
        for path in ("checkout-1/none.md", "other/report.html", "checkout-1/..%2Freport.html", "..%2F..%2Fetc/passwd"):
            self.assertIn(api.get("%s/reports/%s" % (base, path)).status, (400, 404), path)

    def check_a_changed_report(self, api, name):
        """What is not what was delivered does not look whole; what has expired is said to."""
        report = self.i.get(self.namespace, name)["status"]["targets"][0]["reports"][0]
        path = self.i.folder + "/drdotnet-controller-0" + urllib.parse.urlsplit(report["url"]).path
        place = "/api/sessions/%s/reports/checkout-1/%s" % (self.session_id(name), report["name"])
        with open(path, "r+b") as f:
            first = f.read(1)
            f.seek(0)
            f.write(bytes([first[0] ^ 1]))
        with self.assertRaises((http.client.HTTPException, OSError)):
            api.get(place)
        os.remove(path)
        self.check_problem(api.get(place), 404, "expired")

    def check_cancel_and_delete(self, api):
        self.assertEqual(self.new(api, "waits", target={"podName": "nobody"}).status, 201)
        self.assertEqual(self.i.get(self.namespace, "waits")["metadata"]["finalizers"], ["drdotnet.dev/detach"], "it need not be written before the order")
        waits = "/api/sessions/" + self.session_id("waits")
        self.assertEqual(api.call("DELETE", waits).status, 202)
        proc.wait_until(lambda: api.get(waits).status == 404, 20, "nothing holds it")
        self.assertEqual(self.new(api, "long", durationSeconds=300).status, 201)
        self.i.wait_first_sample(self.namespace, "long")
        answer = api.call("POST", "/api/sessions/%s/cancel" % self.session_id("long"))
        self.assertEqual((answer.status, answer.json()["spec"]["cancel"]), (202, True), answer.body)
        session = self.i.wait_finished(self.namespace, "long")
        self.assertTrue(session["status"]["diagnosis"])
        self.assertEqual(api.call("POST", "/api/sessions/%s/cancel" % self.session_id("long")).status, 202, "it has ended: nothing happens")
        proc.wait_until(lambda: not self.i.get(self.namespace, "long")["metadata"].get("finalizers"), 20, "nothing holds it")
        self.assertEqual(api.call("DELETE", "/api/sessions/" + self.session_id("long")).status, 202)
        self.check_problem(api.get("/api/sessions/" + self.session_id("long")), 404, "long")
        self.assertEqual(len(self.wait_listed(api, 2)), 2)


class Rights:
    def test_each_caller_sees_and_does_what_the_api_server_allows(self):
        other = "bank-" + uuid.uuid4().hex[:8]
        self.cluster.namespace(other)
        self.i.session(other, "secret", {"profiler": "CPUHotpaths", "target": {"podName": "vault"}})
        editor = self.editor()
        viewer = Api(self.i.api_port, self.ca, self.account("viewer", ("profilingsessions", ["get", "list"])))
        nobody = Api(self.i.api_port, self.ca, self.account("nobody"))
        self.assertEqual(self.new(editor, "mine").status, 201)
        self.wait_listed(editor, 1)

        for api in (editor, viewer):
            self.assertEqual([s["id"] for s in self.listed(api)["items"]], [self.session_id("mine")], "other namespaces' sessions are not there")
            self.assertEqual(api.get("/api/namespaces").json()["items"], [self.namespace])
            self.check_problem(api.get("/api/sessions", namespace=other), 403, "list", "profilingsessions", other)
            self.check_problem(api.get("/api/sessions/" + self.session_id("secret", other)), 403, "get", "profilingsessions", other)
            self.check_problem(api.get("/api/sessions/%s/events" % self.session_id("secret", other)), 403, other)
            self.check_problem(api.get("/api/sessions/%s/reports/vault/report.html" % self.session_id("secret", other)), 403, other)
            self.check_problem(api.call("DELETE", "/api/sessions/" + self.session_id("secret", other)), 403, "delete", other)
            self.check_problem(api.call("POST", "/api/sessions/%s/cancel" % self.session_id("secret", other)), 403, other)
            self.check_problem(self.new(api, "x", other), 403, "create", "profilingsessions", other)
            self.check_problem(api.get("/api/processes", namespace=other), 403, "list", "pods", other)
        self.check_problem(self.new(viewer, "x"), 403, "create", self.namespace)
        self.check_problem(viewer.call("DELETE", "/api/sessions/" + self.session_id("mine")), 403, "delete")
        self.check_problem(viewer.get("/api/processes", namespace=self.namespace), 403, "list", "pods", self.namespace)
        self.check_problem(nobody.get("/api/sessions"), 403, "list", "profilingsessions", "all namespaces")
        self.check_problem(nobody.get("/api/sessions", namespace=self.namespace), 403, self.namespace)
        self.assertIsNotNone(self.i.get(other, "secret"))
        self.check_tokens(editor)

    def check_tokens(self, good):
        for token in (None, "", "x", "a.b.c", "\u00e9" * 3, good.token[:-2], good.token + "x", "y" * 4000):
            api = Api(self.i.api_port, self.ca, token.encode("latin-1").decode("latin-1") if token else None)
            answer = api.get("/api/sessions")
            self.assertIn(answer.status, (401, 400), (token or "")[:20])
        foreign = Api(self.i.api_port, self.ca, self.cluster.service_account_token(self.namespace, "dev", audience="drdotnet-controller"))
        self.check_problem(foreign.get("/api/sessions"), 401)
        self.cluster.request("DELETE", "/api/v1/namespaces/%s/serviceaccounts/dev" % self.namespace)
        proc.wait_until(lambda: good.get("/api/sessions").status == 401, 40, "a token that is good no more")
        self.assertNotIn(good.token[-30:], self.i.controller.log())

    def test_what_the_server_refuses_names_the_field(self):
        api = self.editor()
        for spec, field in (({"durationSeconds": 0}, "spec.durationSeconds"), ({"profiler": "Nothing"}, "spec.profiler"),
                            ({"cpuHotpaths": {"frequencyHertz": "x"}}, "spec.cpuHotpaths.frequencyHertz"), ({"nonsense": 1}, "spec.nonsense"),
                            ({"target": {}}, "spec.target")):
            problem = self.check_problem(self.new(api, **spec), 422)
            self.assertTrue(problem.get("field", "").startswith(field), problem)
        made = self.new(api)
        self.assertEqual(made.status, 201)
        self.assertRegex(made.json()["name"], "^cpuhotpaths-[a-z0-9]+$")
        self.check_problem(self.new(api, made.json()["name"]), 409, "already exists")
        self.check_problem(self.new(api, "x", "there-is-no-such"), 403)

    def test_filters_pages_and_etag(self):
        api = self.editor()
        for n in range(5):
            self.assertEqual(self.new(api, "s-%d" % n, target={"podName": "pod-%d" % (n % 2)}).status, 201)
        self.wait_listed(api, 5, namespace=self.namespace)
        seen, more = [], None
        while True:
            page = self.listed(api, namespace=self.namespace, limit=2, **({"continue_": more} if more else {}))
            seen += [s["name"] for s in page["items"]]
            more = page.get("continue")
            if not more:
                break
        self.assertEqual(sorted(seen), ["s-%d" % n for n in range(5)])
        self.assertEqual(len(seen), 5)
        created = [self.i.get(self.namespace, n)["metadata"]["creationTimestamp"] for n in seen]
        self.assertEqual(created, sorted(created, reverse=True), "newest first")
        self.assertEqual(self.listed(api, q="S-3")["total"], 1)
        self.assertEqual(self.listed(api, profiler="CPUHotpaths", q="pod-1")["total"], 2)
        self.assertEqual(self.listed(api, state="Succeeded")["total"], 0)
        self.check_problem(api.get("/api/sessions", continue_="rubbish"), 400)
        proc.wait_until(lambda: self.unchanged(api), 30, "nothing has changed")

    def unchanged(self, api):
        first = api.get("/api/sessions", namespace=self.namespace)
        again = api.call("GET", "/api/sessions?namespace=" + self.namespace, headers={"If-None-Match": first.headers["ETag"]})
        return again.status == 304 and not again.body


class Faults:
    def second_controller(self, through, *more):
        """Another replica, whose way to the API server a test may disturb."""
        token = self.i._file("second/token", self.cluster.service_account_token(install.SYSTEM, "drdotnet-controller"))
        health, api = proc.free_ports(2)
        controller = proc.Process([install.BIN + "/drdotnet-controller", "--kubeconfig", through.kubeconfig(self.folder + "/second.kubeconfig", token),
                                   "--namespace", install.SYSTEM, "--bind", "127.0.0.1", "--port", "0", "--health-port", str(health),
                                   "--api-port", str(api), "--stores", self.i.store_configuration(), "--log-format", "json", *more],
                                  log=self.folder + "/second.log")
        self.addCleanup(controller.stop)
        controller.wait_log('"serving the REST API"', 60)
        return api

    def test_two_replicas_an_api_server_that_goes_away_and_a_watch_that_expires(self):
        faulty = FaultyApi(self.cluster)
        self.addCleanup(faulty.__exit__)
        first = self.editor()
        second = Api(self.second_controller(faulty), self.ca, first.token)
        proc.wait_until(lambda: second.get("/api/sessions").status == 200, 60, "the second replica knows the sessions")
        asked = len(faulty.seen("POST", "tokenreviews|subjectaccessreviews"))
        for _ in range(20):
            self.assertEqual(second.get("/api/sessions", namespace=self.namespace).status, 200)
        self.assertLess(len(faulty.seen("POST", "tokenreviews|subjectaccessreviews")) - asked, 12, "an answer is believed a while")
        self.assertEqual(self.new(second, "made-there").status, 201)
        self.assertEqual([s["name"] for s in self.wait_listed(first, 1)], ["made-there"])
        self.wait_listed(second, 1)

        away = [faulty.on(method, ".", faulty.answer(503), 10 ** 6) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")]
        self.check_problem(self.new(second, "never"), 503)
        self.check_problem(second.get("/api/sessions/" + self.session_id("made-there")), 503)
        # the review is believed a while, then nobody can say who calls
        proc.wait_until(lambda: second.get("/api/sessions").status == 503, 40, "honest about it")
        for rule in away:
            rule.times = 0
        proc.wait_until(lambda: second.get("/api/sessions").status == 200, 60, "it is back")

        # what happens while a watch is cut and may not go on from where it was
        faulty.on("GET", "profilingsessions.*watch=true", faulty.answer(410), 1)
        faulty.cut()
        self.cluster.request("DELETE", install.SESSIONS % self.namespace + "/made-there")
        self.assertEqual(self.new(first, "made-meanwhile").status, 201)
        proc.wait_until(lambda: [s["name"] for s in self.listed(second)["items"]] == ["made-meanwhile"], 90, "the list is right again")


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class ClusterApi(Working, Rights, Faults, RestCase):
    """One installation for all of them; each test has a namespace of its own."""


if __name__ == "__main__":
    unittest.main()
