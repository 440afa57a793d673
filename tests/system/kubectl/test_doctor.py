"""`kubectl drdotnet doctor` on a real API server: an installation that is well, and what is said of ill ones. The objects are those of the shipped
manifests, with the status that a cluster's own controllers and kubelets would give them."""
import copy
import datetime
import json
import subprocess
import tempfile
import unittest

from tests.system.deploy import manifests
from tests.system.kubectl import plugin
from tests.lib import install, kube, proc

SYSTEM = install.SYSTEM
AGENT = {"app.kubernetes.io/name": "drdotnet-agent"}
SERVED = {"Namespace", "ServiceAccount", "ConfigMap", "Secret", "Service", "Lease", "Deployment", "DaemonSet", "ClusterRole", "ClusterRoleBinding",
          "Role", "RoleBinding"}
MERGE = "application/merge-patch+json"


@unittest.skipIf(kube.unavailable(), kube.unavailable())
class Doctor(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.cluster.apply_crd()
        cls.apply_manifests()
        cls.admin = plugin.Person(folder.name + "/admin", cls.cluster)

    @classmethod
    def apply_manifests(cls):
        """The kinds that this server serves."""
        kept = [o for o in manifests.objects(cls.cluster.manifests()).values() if o["kind"] in SERVED]
        cls.cluster.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": kept}))

    def setUp(self):
        self.path = "/apis/apps/v1/namespaces/%s" % SYSTEM
        self.status(self.path + "/deployments/drdotnet-controller", {"replicas": 1, "availableReplicas": 1, "readyReplicas": 1, "updatedReplicas": 1,
                                                                         "observedGeneration": 99})
        self.status(self.path + "/daemonsets/drdotnet-agent", self.daemon_status(1, 1))
        self.renew(0)

    def daemon_status(self, wanted, ready):
        return {"desiredNumberScheduled": wanted, "numberReady": ready, "updatedNumberScheduled": wanted, "currentNumberScheduled": wanted,
                "numberMisscheduled": 0}

    def status(self, path, status):
        self.cluster.request("PATCH", path + "/status", {"status": status}, content_type=MERGE)

    def renew(self, seconds_ago):
        when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds_ago)
        self.cluster.request("PATCH", "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % SYSTEM, {"spec": {
            "holderIdentity": "drdotnet-controller-0", "leaseDurationSeconds": 8, "leaseTransitions": 3,
            "renewTime": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}, content_type=MERGE)

    def doctor(self, *words, person=None):
        """(exit code, {check: (state, found, remedy)})"""
        code, answer = (person or self.admin).json("doctor", "--json", *words)
        self.assertEqual(code, 0 if answer["ok"] else 1)
        return code, {f["check"]: (f["state"], f["found"], f["remedy"]) for f in answer["findings"]}

    def check(self, found, check, state, words):
        self.assertEqual(found[check][0], state, found[check])
        self.assertRegex(found[check][1], words)
        self.assertEqual(found[check][2] is None, state == "OK", found[check])

    def test_an_installation_that_is_well(self):
        self.cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "node-a", "labels": {"kubernetes.io/os": "linux"}}})
        self.addCleanup(self.cluster.request, "DELETE", "/api/v1/nodes/node-a")
        self.cluster.create_pod(SYSTEM, "drdotnet-agent-a", "node-a", labels=AGENT)
        code, found = self.doctor("-v")
        self.assertEqual(code, 0, found)
        old = not self.cluster.knows("CEL rules")
        self.check(found, "API server", "WARN" if old else "OK", "has no validation rules" if old else r"^v1\.")
        for check, words in {"sessions' resource": "as in version", "triggers' resource": "as in version",
                             "your rights": "namespace default", "report, ps and diff": "port-forward", "controller": "1 of 1",
                             "leader": "drdotnet-controller-0, epoch 3, renewed",
                             "agents": "drdotnet-agent: 1 of 1 ready", "nodes": "each of 1 Linux", "storage": "default .the controller's own folder",
                             "versions": "controller 0", "pod security": "lets the agents run", "recent sessions": "none failed"}.items():
            self.check(found, check, "OK", words)
        _, text, _ = self.admin.run("doctor")
        self.assertRegex(text, r"(?m)^STATE +CHECK +FOUND$")
        self.assertRegex(text, r"(?m)^OK +leader +drdotnet-controller-0, epoch 3, renewed \d+ s ago$")
        self.assertRegex(text, r"(?m)^what to do:$", "for what this API server cannot have")
        self.check_nodes_without_agent()

    def check_nodes_without_agent(self):
        self.cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "node-b"}})
        self.addCleanup(self.cluster.request, "DELETE", "/api/v1/nodes/node-b")
        code, found = self.doctor()
        self.assertEqual(code, 0)
        self.check(found, "nodes", "WARN", r"1 of 2 Linux nodes have no ready agent: node-b")

    def test_parts_that_do_not_run(self):
        self.status(self.path + "/deployments/drdotnet-controller", {"replicas": 1, "availableReplicas": None, "readyReplicas": None})
        self.status(self.path + "/daemonsets/drdotnet-agent", self.daemon_status(3, 0))
        self.renew(400)
        code, found = self.doctor()
        self.assertEqual(code, 1)
        self.check(found, "controller", "FAIL", "0 of 1 replicas")
        self.check(found, "agents", "FAIL", "0 of 3 ready")
        self.check(found, "leader", "FAIL", r"drdotnet-controller-0 has not renewed the Lease for 4\d\d s")
        self.status(self.path + "/daemonsets/drdotnet-agent", self.daemon_status(3, 2))
        self.check(self.doctor()[1], "agents", "WARN", "2 of 3 ready")

    def test_nothing_is_installed(self):
        code, found = self.doctor("--system-namespace", "elsewhere")
        self.assertEqual(code, 1)
        for check in ("controller", "leader", "storage", "pod security"):
            self.check(found, check, "FAIL", "missing: ")
        self.check(found, "agents", "FAIL", "no DaemonSet")

    def test_somebody_without_rights(self):
        self.cluster.namespace("poor")
        nobody = plugin.Person(self.folder + "/nobody", self.cluster, ("poor", "nobody"), role="")
        code, found = self.doctor(person=nobody)
        self.assertEqual(code, 1)
        self.check(found, "your rights", "FAIL", "namespace default you may not create, get, list, watch, patch, delete")
        left_out = ["sessions' resource", "triggers' resource", "controller", "leader", "agents", "nodes", "storage", "network policy", "pod security",
                    "admission policy", "recent sessions"]
        self.check(found, "not checked", "WARN", "^you have no right to look at: %s$" % ", ".join(left_out))
        self.assertFalse(set(left_out) & set(found))
        self.assertIn("--clusterrole=drdotnet-doctor", found["not checked"][2])
        self.assertIn("-n drdotnet-system create rolebinding drdotnet-doctor-NAME --role=drdotnet-doctor", found["not checked"][2])
        self.check(found, "report, ps and diff", "WARN", "in namespace drdotnet-system you may not create pods/portforward, "
                   "get deployments/drdotnet-controller, get configmaps/drdotnet-link-ca")
        self.assertIn("drdotnet-plugin", found["report, ps and diff"][2])

    def test_the_roles_of_the_doctor_are_enough_for_all_checks(self):
        """An editor of a namespace is well there, and told of the one role that other commands need."""
        self.cluster.namespace("clinic")
        editor = plugin.Person(self.folder + "/clinician", self.cluster, ("clinic", "clinician"))
        code, found = self.doctor("-n", "clinic", person=editor)
        self.assertEqual(code, 0, found)
        self.check(found, "your rights", "OK", "all that profiling in namespace clinic needs")
        self.assertNotIn("recent sessions", found["not checked"][1])
        who = "--serviceaccount=clinic:clinician"
        self.cluster.kubectl("create", "clusterrolebinding", "clinician", "--clusterrole=drdotnet-doctor", who)
        self.addCleanup(self.cluster.kubectl, "delete", "clusterrolebinding", "clinician")
        self.cluster.kubectl("create", "rolebinding", "clinician", "--role=drdotnet-doctor", who, "-n", SYSTEM)
        self.addCleanup(self.cluster.kubectl, "delete", "rolebinding", "clinician", "-n", SYSTEM)
        code, found = self.doctor("-n", "clinic", person=editor)
        self.assertEqual(code, 0, found)
        self.assertNotIn("not checked", found)
        self.assertEqual(set(self.doctor("-n", "clinic")[1]), set(found), "what an administrator gets")

    def test_rights_are_those_in_the_namespace_that_is_named(self):
        self.cluster.namespace("mine")
        editor = plugin.Person(self.folder + "/mine", self.cluster, ("mine", "editor"))
        self.check(self.doctor("-n", "default", person=editor)[1], "your rights", "FAIL", "on sessions in namespace default you may not create")
        self.check(self.doctor("--namespace=mine", person=editor)[1], "your rights", "OK", "in namespace mine")

    def test_an_editor_is_told_of_the_role_that_reports_need(self):
        self.cluster.namespace("shop")
        editor = plugin.Person(self.folder + "/editor", self.cluster, ("shop", "editor"))
        _, found = self.doctor(person=editor)
        self.check(found, "report, ps and diff", "WARN", "create pods/portforward")
        self.cluster.kubectl("create", "rolebinding", "editor", "--role=drdotnet-plugin", "--serviceaccount=shop:editor", "-n", SYSTEM)
        _, found = self.doctor(person=editor)
        self.check(found, "report, ps and diff", "OK", "port-forward")

    def test_without_an_api_server(self):
        config = json.loads(subprocess.run(["kubectl", "config", "view", "--raw", "--flatten", "-o", "json", "--kubeconfig",
                                            self.cluster.kubeconfig], check=True, capture_output=True).stdout)
        config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:%d" % proc.free_ports(1)[0]
        path = self.folder + "/gone"
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        code, text, _ = self.admin.run("doctor", "--kubeconfig", path)
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^FAIL +API server +https://127\.0\.0\.1")

    def test_wrong_settings(self):
        config = "/api/v1/namespaces/%s/configmaps/drdotnet-stores" % SYSTEM
        before = self.cluster.request("GET", config)["data"]
        self.addCleanup(self.cluster.request, "PATCH", config, {"data": before}, MERGE)
        self.cluster.request("PATCH", config, {"data": {"stores.yaml": "stores: [{name: default, s3: {}}]"}}, MERGE)
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.cluster.request("PATCH", "/api/v1/namespaces/" + SYSTEM, {"metadata": {"labels": labels}}, MERGE)
        self.addCleanup(self.cluster.request, "PATCH", "/api/v1/namespaces/" + SYSTEM, {"metadata": {"labels": {
            "pod-security.kubernetes.io/enforce": "privileged"}}}, MERGE)
        image = {"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "example.com:5000/drdotnet-agent:0.0.9"}]}}}}
        self.cluster.request("PATCH", self.path + "/daemonsets/drdotnet-agent", image, "application/strategic-merge-patch+json")
        code, found = self.doctor()
        self.assertEqual(code, 1)
        self.check(found, "storage", "FAIL", r"stores\[0\]\.s3\.")
        self.check(found, "pod security", "FAIL", "enforces restricted")
        self.check(found, "versions", "WARN", r"agents 0\.0\.9")

    def test_sessions_that_failed(self):
        path = "/apis/drdotnet.dev/v1alpha1/namespaces/default/profilingsessions"
        self.cluster.request("POST", path, {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": "ill"},
                                            "spec": {"profiler": "CPUHotpaths", "target": {"podName": "a"}}})
        self.addCleanup(self.cluster.request, "DELETE", path + "/ill")
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [{"type": t, "status": s, "reason": "UploadFailed", "message": "the bucket is gone", "lastTransitionTime": now}
                      for t, s in (("Succeeded", "False"), ("Completed", "True"))]
        self.status(path + "/ill", {"completionTime": now, "conditions": conditions})
        _, found = self.doctor()
        self.check(found, "recent sessions", "WARN", "1 of 1: UploadFailed, such as ill: the bucket is gone")
        self.assertIn("object storage", found["recent sessions"][2])

    def test_definitions(self):
        """Another version's; then none."""
        name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/profilingsessions.drdotnet.dev"
        definition = self.cluster.request("GET", name)
        other = copy.deepcopy(definition)
        schema = other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"]["durationSeconds"]["maximum"] = 77
        try:
            self.cluster.request("PUT", name, other)
            self.check(self.doctor()[1], "sessions' resource", "WARN", "is not that of version")
            self.cluster.request("DELETE", name)

            def gone():
                return self.doctor()[1]["sessions' resource"][1].startswith("missing")
            proc.wait_until(gone, 60, "the definition is gone", 0.5)
            code, found = self.doctor()
            self.assertEqual(code, 1)
            self.check(found, "sessions' resource", "FAIL", "missing: .*not found")
            code, _, errors = self.admin.run("ls")
            self.assertEqual(code, 1)
            self.assertIn("Install Dr-Dotnet's CustomResourceDefinitions", errors)
        finally:
            self.cluster.apply_crd()


if __name__ == "__main__":
    unittest.main()
