"""The chart makes the same objects as the manifests, refuses what cannot work, and is accepted by a real API server."""
import copy
import filecmp
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from tests.deploy import chart, manifests
from tests.lib import kube, proc

UNAVAILABLE = chart.unavailable()
BUCKET = {"name": "default", "credentialsSecret": "keys", "s3": {"endpoint": "https://s3.example.com", "region": "eu-central-1",
                                                                 "bucket": "diagnoses", "prefix": "drdotnet/", "pathStyle": True}}
ARCHIVE = {"name": "archive", "credentialsSecret": "archive-keys", "s3": {"endpoint": "https://s3.example.com", "region": "x",
                                                                          "bucket": "archive"}}
EVERYTHING = {
    "image": {"registry": "registry.example.com/tools", "tag": "9.9.9", "pullPolicy": "Always", "pullSecrets": [{"name": "pull"}]},
    "stores": [BUCKET, ARCHIVE, {"name": "here", "builtin": {}}],
    "controller": {"replicas": 1, "watchNamespaces": ["shop", "bank"], "workers": 4, "logLevel": "debug",
                   "reports": {"publicURL": "https://reports.example.com", "expiryDays": 7, "persistence": {"enabled": True}},
                   "tls": {"secret": "link", "caConfigMap": "link-ca"}, "tolerations": [{"operator": "Exists"}]},
    "agent": {"maxSessions": 4, "storageCA": {"configMap": "minio-ca"}, "seLinuxOptions": {"type": "spc_t"},
              "priorityClass": {"create": False, "name": "system-node-critical"}, "logLevel": "debug"},
    "networkPolicy": {"storagePorts": [443, 9000], "reportsFrom": [{"podSelector": {}}]},
    "rbac": {"aggregate": False},
}
REFUSED = [
    ({"controller": {"replicas": 2}}, "needs object storage"),
    ({"controller": {"replicas": 2}, "stores": [BUCKET, {"name": "here", "builtin": {}}]}, "needs object storage"),
    ({"controller": {"tls": {"secret": "link"}}}, "belong together"),
    ({"agent": {"mode": "privileged"}}, "agent.mode"),
    ({"agent": {"spool": {"hostPath": "relative"}}}, "agent.spool.hostPath"),
    ({"agents": {}}, "agents"),
    ({"stores": [{"name": "default", "s3": BUCKET["s3"]}]}, "stores.0"),
    ({"stores": [{**BUCKET, "s3": {**BUCKET["s3"], "secretAccessKey": "no"}}]}, "stores.0"),
    ({"stores": [{**BUCKET, "s3": {**BUCKET["s3"], "endpoint": "s3.example.com"}}]}, "endpoint"),
    ({"controller": {"replicas": 0}}, "controller.replicas"),
    ({"networkPolicy": {"storagePorts": [0]}}, "storagePorts"),
    ({"seccomp": {"type": "Unconfined"}}, "seccomp.type"),
    ({"seccomp": {"type": "Localhost", "folder": "/etc"}}, "seccomp.folder"),
]


def plain(found):
    """Without what only a chart's objects have."""
    found = copy.deepcopy(found)
    for o in found.values():
        for label in ("app.kubernetes.io/managed-by", "helm.sh/chart"):
            del o["metadata"]["labels"][label]
        annotations = o.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
        annotations.pop("checksum/stores", None)
    return found


def environment(o):
    return {e["name"]: e.get("value") for e in o["spec"]["template"]["spec"]["containers"][0]["env"]}


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Rendered(unittest.TestCase):
    one_process = parallel = True
    maxDiff = None

    def assert_same(self, folder, values, version):
        expected = manifests.objects(folder)
        namespace = expected.pop("Namespace//drdotnet-system")  # a chart is installed into one
        self.assertEqual(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged")
        found = plain(chart.objects(values, version=version))
        self.assertEqual(sorted(found), sorted(expected))
        for name in expected:
            self.assertEqual(found[name], expected[name], name)

    def test_the_default_is_the_manifests(self):
        self.assert_same("deploy/manifests", {}, chart.NEWEST)

    def test_the_least_privilege_mode_is_the_manifests(self):
        self.assert_same("deploy/manifests-shared-tmp", {"agent": {"mode": "sharedTmp"}}, chart.NEWEST)

    def test_old_kubernetes_is_the_manifests(self):
        self.assert_same("deploy/manifests-legacy", {}, chart.OLDEST)

    def test_the_definitions_are_the_same(self):
        names = sorted(n for n in os.listdir(os.path.join(proc.ROOT, "crds")) if n.endswith(".yaml"))
        self.assertEqual(sorted(os.listdir(os.path.join(chart.CHART, "crds"))), names)
        for name in names:
            self.assertTrue(filecmp.cmp(os.path.join(proc.ROOT, "crds", name), os.path.join(chart.CHART, "crds", name), shallow=False),
                            "%s: run crds/generate.py" % name)

    def test_what_cannot_work_is_refused(self):
        for values, words in REFUSED:
            with self.assertRaisesRegex(chart.Refused, re.escape(words), msg=str(values)):
                chart.text(values)

    def test_the_shipped_seccomp_profiles_are_those_of_the_component(self):
        """By the chart's value and by the kustomize component: the same objects, and the files are there."""
        with tempfile.TemporaryDirectory() as scratch:
            for mode, folder in (("hostPID", "deploy/manifests"), ("sharedTmp", "deploy/manifests-shared-tmp")):
                expected = manifests.by_name(manifests.parse("---\n".join(manifests.built_with_seccomp(folder, scratch))))
                found = plain(chart.objects({"seccomp": {"type": "Localhost"}, "agent": {"mode": mode}}))
                profiles = []
                for name in [n for n in expected if n.startswith(("DaemonSet/", "Deployment/"))]:
                    self.assertEqual(found[name], expected[name])
                    profile = expected[name]["spec"]["template"]["spec"]["securityContext"]["seccompProfile"]
                    self.assertEqual(profile["type"], "Localhost")
                    profiles.append(profile["localhostProfile"])
                self.assertEqual(sorted(profiles), ["drdotnet/agent.json", "drdotnet/controller.json"])
        shipped = sorted(n for n in os.listdir(os.path.join(proc.ROOT, "deploy/seccomp")) if n.endswith(".json"))
        self.assertEqual(shipped, ["agent.json", "controller.json"])

    def test_two_replicas_with_object_storage(self):
        found = chart.objects({"stores": [BUCKET]})
        deployment = found["Deployment/drdotnet-system/drdotnet-controller"]
        self.assertEqual(deployment["spec"]["replicas"], 2)
        self.assertNotIn("REPORTS_FOLDER", environment(deployment), "no own store, where uploads could meet the wrong replica")
        volumes = {v["name"]: v for v in deployment["spec"]["template"]["spec"]["volumes"]}
        self.assertEqual(volumes["store-default"]["secret"], {"secretName": "keys", "defaultMode": 0o440})

    def test_namespaces_bound_the_rights(self):
        found = chart.objects({"controller": {"watchNamespaces": ["shop"]}})
        cluster_wide = found["ClusterRole//drdotnet-controller"]["rules"]
        self.assertEqual({r for rule in cluster_wide for r in rule["resources"]}, {"tokenreviews", "subjectaccessreviews"})
        everywhere = chart.objects()["ClusterRole//drdotnet-controller"]["rules"]
        self.assertEqual(found["Role/shop/drdotnet-controller-sessions"]["rules"], [r for r in everywhere if r not in cluster_wide])

    def test_settings_reach_the_objects(self):
        found = chart.objects(EVERYTHING)
        controller = found["Deployment/drdotnet-system/drdotnet-controller"]
        agent = found["DaemonSet/drdotnet-system/drdotnet-agent"]
        image = [o["spec"]["template"]["spec"]["containers"][0]["image"] for o in (controller, agent)]
        self.assertEqual(image, ["registry.example.com/tools/drdotnet-%s:9.9.9" % n for n in ("controller", "agent")])
        env = environment(controller)
        self.assertEqual((env["WATCH_NAMESPACES"], env["TLS_CERT"], env["PUBLIC_URL"], env["WORKERS"], env["REPORTS_EXPIRY_DAYS"]),
                         ("shop,bank", "/etc/drdotnet/tls/tls.crt", "https://reports.example.com", "4", "7"))
        self.assertEqual(environment(agent)["DRDOTNET_UPLOAD_CA_FILE"], "/etc/drdotnet/storage-ca/ca.crt")
        self.assertEqual(controller["spec"]["strategy"], {"type": "Recreate"})
        self.assertNotIn("Secret/drdotnet-system/drdotnet-link-tls", found, "the operator's certificate is used")
        self.assertNotIn("PriorityClass//drdotnet-agent", found)
        link = next(v for v in agent["spec"]["template"]["spec"]["volumes"] if v["name"] == "link-ca")
        self.assertEqual(link["configMap"], {"name": "link-ca"})

    def test_the_controller_understands_the_stores(self):
        tool = os.path.join(proc.ROOT, "build/release/tests/storage-tool")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("default", "archive"):
                os.makedirs(os.path.join(folder, name))
                for key in ("accessKeyId", "secretAccessKey"):
                    with open(os.path.join(folder, name, key), "w") as f:
                        f.write("x")
            text = chart.objects(EVERYTHING)["ConfigMap/drdotnet-system/drdotnet-stores"]["data"]["stores.yaml"]
            path = os.path.join(folder, "stores.yaml")
            with open(path, "w") as f:
                f.write(text.replace("/etc/drdotnet/credentials", folder))
            for name, bucket in (("default", "/diagnoses/drdotnet/"), ("archive", "archive.s3.example.com")):
                done = subprocess.run([tool, "grant", path, name, "shop/s/p/", path, "stores.yaml", "text/plain", "0"],
                                      capture_output=True, text=True)
                self.assertIn(bucket, done.stdout, done.stderr)

    def test_the_notes_name_what_is_to_be_done(self):
        self.assertIn("pod-security.kubernetes.io/enforce=privileged", chart.text(notes=True))
        self.assertNotIn("enforce=privileged", chart.text({"agent": {"mode": "sharedTmp"}}, notes=True))
        self.assertNotIn("own folder", chart.text({"stores": [BUCKET]}, notes=True))

    @unittest.skipUnless(shutil.which("helm"), "helm is not installed")
    def test_helm_itself_agrees(self):
        for values, version in (({}, chart.NEWEST), ({}, chart.OLDEST), (EVERYTHING, chart.NEWEST), ({"stores": [BUCKET]}, chart.NEWEST)):
            self.assertEqual(chart.helm_objects(values, version=version), chart.objects(values, version=version))
        for values, _ in REFUSED:
            with self.assertRaises(chart.Refused, msg=str(values)):
                chart.helm_objects(values)


@unittest.skipIf(UNAVAILABLE or kube.unavailable(), UNAVAILABLE or kube.unavailable())
class Accepted(unittest.TestCase):
    one_process = True
    time_limit = 120
    assets = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cluster = kube.Cluster(cls.folder + "/kube", cls.assets)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.version = cls.cluster.request("GET", "/version")["gitVersion"].partition("+")[0].partition("-")[0]
        manifests.install_definition(cls.cluster)
        for namespace in ("tools", "shop", "bank"):
            cls.cluster.namespace(namespace)

    def test_it_is_installed_and_upgraded(self):
        for values in ({}, EVERYTHING, {"agent": {"mode": "sharedTmp"}}):
            documents = manifests.split(chart.text(values, namespace="tools", version=self.version))
            made, unknown = manifests.apply(self.cluster, documents)
            self.assertLessEqual(set(unknown), {("networking.k8s.io/v1", "NetworkPolicy")}, values)
            self.assertEqual(len(made), sum(1 for d in documents if manifests.head(d) not in unknown))


@unittest.skipUnless(kube.built(), "tests/setup/build-apiserver.sh has not been run")
class AcceptedByOldServer(Accepted):
    assets = kube.BUILT


if __name__ == "__main__":
    unittest.main()
