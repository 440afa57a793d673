"""The web page as the controller serves it: a real API server, a real agent, a .NET process in a pod, a ServiceAccount with few rights."""
import re
import unittest
import uuid

from tests.lib import browser, install, kube, pod, proc, s3
from tests.system.page.test_page import STATE, TEXT, PageCase, js

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable() or (None if browser.program() else "no Chromium")
RULES = {"dev": [{"apiGroups": ["drdotnet.dev"], "resources": ["profilingsessions"], "verbs": ["get", "list", "create", "patch", "delete"]},
                 {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
         "viewer": [{"apiGroups": ["drdotnet.dev"], "resources": ["profilingsessions"], "verbs": ["get", "list"]}]}


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Cluster(PageCase):
    time_limit = 400

    @classmethod
    def prepare(cls):
        store = cls.enterClassContext(s3.Server(cls.folder + "/s3"))
        cls.cluster = cls.enterClassContext(kube.Cluster(cls.folder + "/kube"))
        cls.i = cls.enterClassContext(install.Installation(cls.folder + "/installation", cls.cluster, store))
        cls.i.authority_file()
        cls.url = "https://127.0.0.1:%d" % cls.i.api_port

    def setUp(self):
        super().setUp()
        self.namespace = "shop-" + uuid.uuid4().hex[:8]
        self.cluster.namespace(self.namespace)
        self.token = self.account("dev")

    def account(self, name):
        """The token of a new ServiceAccount."""
        self.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % self.namespace, {"metadata": {"name": name}})
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s" % self.namespace
        self.cluster.request("POST", rbac + "/roles", {"metadata": {"name": name}, "rules": RULES[name]})
        self.cluster.request("POST", rbac + "/rolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}]})
        return self.cluster.service_account_token(self.namespace, name)

    def application(self):
        node = "node-a." + self.namespace
        self.addCleanup(self.i.start_agent(node).stop)
        made = self.cluster.create_pod(self.namespace, "checkout-1", node, labels={"app": "checkout"}, running=False)
        app = pod.Pod(self.folder, "warm", uid=made["metadata"]["uid"])
        self.addCleanup(app.stop)
        self.cluster.set_pod_running(made, {"app": app.container_id})
        app.warm(20)
        self.cluster.create_pod(self.namespace, "elsewhere", "node-without-agent")
        return app

    def test_from_the_pod_to_the_report(self):
        self.application()
        page = self.open()
        self.assertEqual(page.value(TEXT % "'#who'"), "dev (%s)" % self.namespace)
        self.until(page, "document.querySelector('tbody a')", "the pod's process\n" + self.i.logs())
        self.assertIn("checkout-1", page.value(TEXT % "'.group'"))
        self.assertIn(self.namespace, page.value(TEXT % "'.space h2'"))
        self.assertIn("node-without-agent", page.value(TEXT % "'.warnings'"))
        page.click("document.querySelector('tbody a')")
        self.until(page, "document.querySelector('[type=submit]')", "the form")
        page.value("document.getElementById('f-spec.durationSeconds').value = '2'")
        page.value("document.getElementById('f-spec.priority').value = 'High'")
        page.value("document.getElementById('f-spec.output.store').value = 'default'")
        page.click("document.querySelector('[type=submit]')")
        self.until(page, STATE + " === 'Succeeded'", "the end\n" + self.i.logs(), 120)
        name = page.value("decodeURIComponent(location.hash)").split(".")[1]
        session = self.i.get(self.namespace, name)
        self.assertEqual((session["spec"]["priority"], session["spec"]["output"]), ("High", {"store": "default"}))
        self.assertEqual(self.shown(page, "h1"), [session["status"]["headline"]])
        self.assertGreater(self.frame_of(page).value("document.querySelectorAll('#flame .f').length"), 3)
        page.click("document.getElementById('yaml')")
        self.until(page, "document.querySelector('dialog[open] pre')", "the file")
        self.assertIn("podName: checkout-1", page.value(TEXT % "'dialog pre'"))
        page.key("Escape")
        self.check_health(page, session)
        self.cluster.request("DELETE", install.SESSIONS % self.namespace + "/" + name)  # by somebody else
        self.go(page, "/sessions")
        self.until_text(page, ".empty", "No sessions yet")

    def check_health(self, page, session):
        """The badge at the workload names what its newest session found, and leads there."""
        self.assertEqual(session["status"]["targets"][0]["workload"], "Pod/checkout-1")
        found = [f["id"] for f in session["status"]["findings"]]
        self.assertTrue({"HotMethod", "TooFewSamples", "NodeIsFull"} & set(found), found)  # a busy machine leaves few samples
        self.go(page, "/processes?namespace=" + self.namespace)
        self.until(page, "document.querySelector('.group .health .badge')", "how the workload is")
        words = re.sub(r"(?<=[a-z])([A-Z])(?=[a-z])", lambda m: " " + m.group(1).lower(), found[0])
        self.assertTrue(page.value(TEXT % "'.group .health .badge'").startswith(words), (found, page.value(TEXT % "'.group .health .badge'")))
        page.click("document.querySelector('.group .health')")
        self.until(page, STATE + " === 'Succeeded'", "the session that found it")
        self.check_idle_comes_last(page, session, words)

    def check_idle_comes_last(self, page, session, words):
        idle = {"id": "Idle", "state": "Found", "score": 100, "message": "Idle", "evidence": "0 CPUs"}
        self.cluster.request("PATCH", install.SESSIONS % self.namespace + "/%s/status" % session["metadata"]["name"],
                             {"status": {"findings": [idle] + session["status"]["findings"][:7]}}, content_type="application/merge-patch+json")
        self.go(page, "/processes?namespace=" + self.namespace)
        self.until(page, "/ \\+\\d/.test((document.querySelector('.group .health .badge') || {}).textContent)", "more than one finding")
        self.assertTrue(page.value(TEXT % "'.group .health .badge'").startswith(words), page.value(TEXT % "'.group .health .badge'"))

    def test_rights_are_said(self):
        self.expected = ["status of 403"]
        page = self.open(token=self.account("viewer"))
        self.until(page, "document.querySelector('.empty.bad, .empty')", "why nothing is seen")
        self.go(page, "/sessions")
        self.until_text(page, ".empty", "No sessions yet")
        self.go(page, "/processes?namespace=" + self.namespace)
        self.until_text(page, ".empty.bad", "pods")
        page.value("location.hash = %s" % js("#/start?namespace=%s&pod=checkout-1" % self.namespace))
        self.until(page, "document.querySelector('[type=submit]')", "the form")
        page.click("document.querySelector('[type=submit]')")
        self.until_text(page, ".form-error", "create")


if __name__ == "__main__":
    unittest.main()
