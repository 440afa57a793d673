"""The chart makes the same objects as the manifests, refuses what cannot work, and is accepted by a real API server."""
import copy
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from tests.system.deploy import chart, manifests
from tests.lib import kube, proc

UNAVAILABLE = chart.unavailable()
BUCKET = {"name": "default", "credentialsSecret": "keys", "s3": {"endpoint": "https://s3.example.com", "region": "eu-central-1",
                                                                 "bucket": "diagnoses", "prefix": "drdotnet/", "pathStyle": True}}
ARCHIVE = {"name": "archive", "credentialsSecret": "archive-keys", "s3": {"endpoint": "https://s3.example.com", "region": "x",
                                                                          "bucket": "archive"}}
STORE, API_SERVER = [{"ipBlock": {"cidr": "10.9.0.0/16"}}], [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
EVERYTHING = {
    "image": {"registry": "registry.example.com/tools", "tag": "9.9.9", "pullPolicy": "Always", "pullSecrets": [{"name": "pull"}]},
    "stores": [BUCKET, ARCHIVE, {"name": "here", "builtin": {}}],
    "controller": {"replicas": 1, "watchNamespaces": ["shop", "bank"], "workers": 4, "logLevel": "debug",
                   "reports": {"publicURL": "https://reports.example.com", "expiryDays": 7, "persistence": {"enabled": True}},
                   "tls": {"secret": "link", "caConfigMap": "link-ca"}, "tolerations": [{"operator": "Exists"}]},
    "agent": {"maxSessions": 4, "storageCA": {"configMap": "minio-ca"}, "rules": {"configMap": "our-rules"}, "seLinuxOptions": {"type": "spc_t"},
              "priorityClass": {"create": False, "name": "system-node-critical"}, "logLevel": "debug"},
    "networkPolicy": {"storagePorts": [443, 9000], "storageTo": STORE, "apiServerTo": API_SERVER, "reportsFrom": [{"podSelector": {}}]},
    "rbac": {"aggregate": False, "pluginUsers": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "developers"}]},
}
PEER = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateway"}}}]
GATEWAY = {
    "image": {"controllerDigest": "sha256:" + "0" * 64, "agentDigest": "sha256:" + "1" * 64},
    "namespace": {"create": True, "labels": {"team": "tools"}},
    "stores": [BUCKET],
    "controller": {
        "replicas": 3, "api": {"plainHTTP": True}, "alertmanager": {"tokenSecret": "alertmanager", "tokenKey": "bearer"},
        "serviceAccount": {"annotations": {"example.com/role": "tools"}}, "podAnnotations": {"example.com/a": "b"}, "podLabels": {"team": "t"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["tools"]}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        "priorityClassName": "system-cluster-critical", "extraEnv": [{"name": "LOG_FORMAT", "value": "json"}]},
    "agent": {"podAnnotations": {"example.com/a": "b"}, "podLabels": {"team": "t"}, "extraEnv": [{"name": "DRDOTNET_LOG_FORMAT", "value": "json"}],
              "serviceAccount": {"annotations": {"example.com/role": "none"}}, "maxUnavailable": 3,
              "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
    "ingress": {"enabled": True, "className": "nginx", "host": "drdotnet.example.com", "tlsSecret": "web", "annotations": {"example.com/x": "y"}},
    "networkPolicy": {"apiFrom": PEER},
    "monitoring": {"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "serviceMonitor": {"enabled": True, "interval": "1m"},
                   "rules": {"enabled": True}, "dashboard": {"enabled": True, "annotations": {"folder": "tools"}}},
}
CLOSED = {"crds": {"install": False}, "controller": {"api": {"rest": False}, "podDisruptionBudget": False, "containerStarts": False},
          "agent": {"mode": "sharedTmp", "cgroups": False},
          "networkPolicy": {"enabled": False}, "seccomp": {"type": "Localhost"}}
OWN_NAME = {"controller": {"api": {"tlsSecret": "web", "web": False, "port": 9444}}, "networkPolicy": {"metricsFrom": [], "apiFrom": PEER}}
MONITORING = {"PodMonitor", "ServiceMonitor", "PrometheusRule"}
NOT_EVERYWHERE = MONITORING | {"NetworkPolicy", "Ingress", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
MATRIX = {"the default": {}, "everything": EVERYTHING, "a gateway": GATEWAY, "closed": CLOSED, "a name of its own": OWN_NAME,
          "least privilege": {"agent": {"mode": "sharedTmp"}}, "object storage": {"stores": [BUCKET]}}
REFUSED = [
    ({"controller": {"replicas": 2}}, "needs object storage"),
    ({"controller": {"replicas": 2}, "stores": [BUCKET, {"name": "here", "builtin": {}}]}, "needs object storage"),
    ({"controller": {"tls": {"secret": "link"}}}, "belong together"),
    ({"agent": {"mode": "privileged"}}, "agent.mode"),
    ({"agent": {"spool": {"hostPath": "relative"}}}, "agent.spool.hostPath"),
    ({"agents": {}}, "agents"),
    ({"stores": [{"name": "default", "s3": BUCKET["s3"]}]}, "stores[0] (default): s3 needs credentialsSecret"),
    ({"stores": [BUCKET, {"name": "here"}]}, "stores[1] (here): give either s3 with credentialsSecret, or builtin"),
    ({"stores": [{**BUCKET, "builtin": {}}]}, "stores[0] (default): give either"),
    ({"stores": [BUCKET, BUCKET]}, "stores[1] (default): the name stands twice"),
    ({"stores": [{**BUCKET, "s3": {**BUCKET["s3"], "secretAccessKey": "no"}}]}, "stores.0"),
    ({"stores": [{**BUCKET, "s3": {**BUCKET["s3"], "endpoint": "s3.example.com"}}]}, "endpoint"),
    ({"controller": {"replicas": 0}}, "controller.replicas"),
    ({"networkPolicy": {"storagePorts": [0]}}, "storagePorts"),
    ({"seccomp": {"type": "Unconfined"}}, "seccomp.type"),
    ({"ingress": {"enabled": True}}, "ingress.host"),
    ({"ingress": {"enabled": True, "host": "a.example.com"}, "controller": {"api": {"port": 0}}}, "serves nothing"),
    ({"controller": {"api": {"port": 70000}}}, "controller.api.port"),
    ({"controller": {"extraEnv": [{"value": "x"}]}}, "extraEnv"),
    ({"image": {"agentDigest": "latest"}}, "agentDigest"),
    ({"monitoring": {"podMonitor": {"interval": "often"}}}, "interval"),
    ({"seccomp": {"type": "Localhost", "folder": "/etc"}}, "seccomp.folder"),
]


def definitions(found):
    return {name: o for name, o in found.items() if o["kind"] == "CustomResourceDefinition"}


def plain(found):
    """Without what only a chart's objects have, and without the definitions."""
    found = {name: copy.deepcopy(o) for name, o in found.items() if o["kind"] != "CustomResourceDefinition"}
    for o in found.values():
        for label in ("app.kubernetes.io/managed-by", "helm.sh/chart"):
            del o["metadata"]["labels"][label]
        annotations = o.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
        annotations.pop("checksum/stores", None)
    return found


def leaves(schema, path=()):
    """The paths of the schema's values that are no objects of their own."""
    for name, value in schema.get("properties", {}).items():
        if value.get("properties"):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def environment(o):
    return {e["name"]: e.get("value") for e in o["spec"]["template"]["spec"]["containers"][0]["env"]}


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Rendered(unittest.TestCase):
    one_process = True
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

    def test_the_definitions_are_those_of_the_cluster(self):
        for version, folder in ((chart.NEWEST, "crds"), ("v1.25.0", "crds"), ("v1.24.9", "crds/legacy"), (chart.OLDEST, "crds/legacy")):
            found = definitions(chart.objects(version=version))
            for o in found.values():
                self.assertEqual(o["metadata"].pop("annotations"), {"helm.sh/resource-policy": "keep"}, "they outlive the chart")
            self.assertEqual(found, manifests.objects(folder), version)
        self.assertEqual(definitions(chart.objects(CLOSED)), {})

    def test_its_files_are_the_originals(self):
        """Links, and all of them: helm follows them, so that a packaged chart has real files."""
        found = {os.path.relpath(os.path.join(folder, n), chart.CHART + "/files"): os.path.join(folder, n)
                 for folder, _, names in os.walk(chart.CHART + "/files") for n in names}
        wanted = {"admission.yaml": "deploy/manifests/60-admission.yaml", "rules.yaml": "deploy/monitoring/rules.yaml",
                  "dashboard.json": "deploy/monitoring/dashboard.json"}
        for original, linked in (("crds", "crds"), ("crds/legacy", "crds-legacy")):
            wanted.update({linked + "/" + n: original + "/" + n for n in os.listdir(os.path.join(proc.ROOT, original)) if n.endswith(".yaml")})
        self.assertEqual({name: os.path.relpath(os.path.realpath(path), proc.ROOT) for name, path in found.items()}, wanted)
        self.assertTrue(all(os.path.islink(path) for path in found.values()))

    def test_a_copy_without_its_links_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(chart.CHART, folder + "/drdotnet", ignore=shutil.ignore_patterns("files"))
            with self.assertRaisesRegex(chart.Refused, "symbolic links"):
                chart.text(path=folder + "/drdotnet")

    @unittest.skipIf(chart.NO_HELM, chart.NO_HELM)
    def test_a_packaged_chart_has_real_files(self):
        with tempfile.TemporaryDirectory() as folder:
            chart.helm("package", "-d", folder, chart.CHART)
            with tarfile.open(os.path.join(folder, os.listdir(folder)[0])) as archive:
                members = {m.name: m for m in archive.getmembers()}
                definition = archive.extractfile("drdotnet/files/crds/drdotnet.dev_profilingsessions.yaml").read()
            self.assertTrue(all(m.isfile() for m in members.values()))
            with open(os.path.join(proc.ROOT, "crds/drdotnet.dev_profilingsessions.yaml"), "rb") as f:
                self.assertEqual(definition, f.read())
            self.assertIn("kind: DaemonSet", chart.helm("template", "drdotnet", os.path.join(folder, os.listdir(folder)[0])))

    def test_each_value_is_in_the_schema_and_has_an_effect_on_some_object(self):
        """The schema refuses unknown values; a value that no template reads would be refused by nobody."""
        with open(os.path.join(chart.CHART, "values.schema.json")) as f:
            schema = json.load(f)
        defaults = manifests.parse(open(os.path.join(chart.CHART, "values.yaml")).read())[0]
        templates = "".join(open(os.path.join(chart.CHART, "templates", n)).read() for n in os.listdir(chart.CHART + "/templates"))
        for path in leaves(schema):
            if path[0] in ("global", "stores") or path[-1] in ("requests", "limits", "claims"):
                continue
            value = defaults
            for key in path:
                self.assertIn(key, value, "values.yaml says nothing of " + ".".join(path))
                value = value[key]
            self.assertRegex(templates, r"\.%s\b" % path[-1], ".".join(path))

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

    def test_an_agents_link_is_seen_within_a_second(self):
        """A roll-out takes so long on each node; the kubelet asks for readiness as soon as the container has started."""
        for values in ({}, {"agent": {"mode": "sharedTmp"}}):
            agent = next(o for o in chart.objects(values).values() if o["kind"] == "DaemonSet")["spec"]["template"]["spec"]["containers"][0]
            startup, ready = agent["startupProbe"], agent["readinessProbe"]
            self.assertEqual(startup["exec"], ready["exec"])
            self.assertEqual((startup.get("initialDelaySeconds", 0), startup["periodSeconds"], ready.get("initialDelaySeconds", 0)), (0, 1, 0))
            self.assertGreaterEqual(startup["failureThreshold"], 300, "the controller may come later")

    def test_a_controller_with_its_own_store_is_never_doubled(self):
        """Not by a roll-out either, that scales the old replicas up while the new ones do not start."""
        for values in ({}, {"stores": [BUCKET, {"name": "here", "builtin": {}}]}):
            self.assertEqual(chart.objects(values)["Deployment/drdotnet-system/drdotnet-controller"]["spec"]["strategy"], {"type": "Recreate"})
        before = {"ConfigMap/drdotnet-system/drdotnet-stores": chart.objects()["ConfigMap/drdotnet-system/drdotnet-stores"]}
        spec = chart.objects({"stores": [BUCKET]}, live=before)["Deployment/drdotnet-system/drdotnet-controller"]["spec"]
        self.assertEqual(spec["strategy"], {"type": "Recreate"}, "the upgrade that takes it away")
        self.assertNotIn("strategy", chart.objects({"stores": [BUCKET]})["Deployment/drdotnet-system/drdotnet-controller"]["spec"])

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
        self.assertEqual({r for rule in cluster_wide for r in rule["resources"]},
                         {"tokenreviews", "subjectaccessreviews", "validatingadmissionpolicies", "validatingadmissionpolicybindings"})
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
        self.assertNotIn("Role/drdotnet-system/drdotnet-agent", found, "its authority is there before the agents")
        self.assertNotIn("DRDOTNET_CA_CONFIG_MAP", environment(agent))
        self.assertFalse([v for v in agent["spec"]["template"]["spec"]["volumes"] if v["name"] == "api"])
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
        self.assertIn("mount their /tmp", chart.text({"agent": {"mode": "sharedTmp"}}, notes=True))
        self.assertNotIn("enforce=privileged", chart.text(GATEWAY, notes=True))
        self.assertIn("https://drdotnet.example.com/", chart.text(GATEWAY, notes=True))
        self.assertIn("http://drdotnet-controller.drdotnet-system.svc:8444/api/alertmanager", chart.text(GATEWAY, notes=True))
        self.assertIn("https://127.0.0.1:8444/", chart.text(notes=True))
        self.assertNotIn("port-forward", chart.text(CLOSED, notes=True))
        self.assertNotIn("own folder", chart.text({"stores": [BUCKET]}, notes=True))

    def test_rest_and_the_web_page(self):
        default = chart.objects()
        ports = {p["name"]: p for p in default["Service/drdotnet-system/drdotnet-controller"]["spec"]["ports"]}
        self.assertEqual(ports["api"]["port"], 8444)
        env = environment(default["Deployment/drdotnet-system/drdotnet-controller"])
        self.assertFalse({"API_PORT", "API_PLAIN_HTTP", "API_TLS_CERT", "WEB_UI_ENABLED", "ALERTMANAGER_TOKEN_FILE"} & set(env))
        closed = chart.objects(CLOSED)
        self.assertEqual(environment(closed["Deployment/drdotnet-system/drdotnet-controller"])["API_PORT"], "0")
        self.assertNotIn("api", {p["name"] for p in closed["Service/drdotnet-system/drdotnet-controller"]["spec"]["ports"]})
        own = environment(chart.objects(OWN_NAME)["Deployment/drdotnet-system/drdotnet-controller"])
        self.assertEqual((own["API_PORT"], own["API_TLS_CERT"], own["API_TLS_KEY"], own["WEB_UI_ENABLED"]),
                         ("9444", "/etc/drdotnet/api-tls/tls.crt", "/etc/drdotnet/api-tls/tls.key", "false"))
        gateway = chart.objects(GATEWAY)
        env = environment(gateway["Deployment/drdotnet-system/drdotnet-controller"])
        self.assertEqual((env["API_PLAIN_HTTP"], env["ALERTMANAGER_TOKEN_FILE"]), ("true", "/etc/drdotnet/alertmanager/bearer"))
        encrypted = environment(chart.objects({"ingress": GATEWAY["ingress"]})["Deployment/drdotnet-system/drdotnet-controller"])
        self.assertEqual(["true", None], [encrypted["API_BEHIND_GATEWAY"], env.get("API_BEHIND_GATEWAY")])
        policy = gateway["NetworkPolicy/drdotnet-system/drdotnet-controller"]
        peers = {rule["ports"][0]["port"]: rule["from"] for rule in policy["spec"]["ingress"]}
        self.assertEqual(peers["api"], PEER + peers["metrics"], "the gateway, and where Alertmanager is")
        backend = gateway["Ingress/drdotnet-system/drdotnet"]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
        service = gateway["Service/drdotnet-system/" + backend["name"]]
        self.assertEqual(service["spec"]["ports"][0]["port"], backend["port"]["number"])
        self.assertNotIn("publishNotReadyAddresses", service["spec"])

    def test_the_controller_reaches_object_storage(self):
        """It reads reports there for the REST API."""
        found = chart.objects(EVERYTHING)
        ports = {p["port"] for rule in found["NetworkPolicy/drdotnet-system/drdotnet-controller"]["spec"]["egress"] for p in rule["ports"]}
        self.assertEqual(ports, {443, 6443, 9000, 53})
        pod = found["Deployment/drdotnet-system/drdotnet-controller"]["spec"]["template"]["spec"]
        self.assertIn({"name": "storage-ca", "configMap": {"name": "minio-ca"}}, pod["volumes"])
        stores = manifests.parse(found["ConfigMap/drdotnet-system/drdotnet-stores"]["data"]["stores.yaml"])[0]["stores"]
        self.assertEqual(stores[0]["s3"]["caFile"], "/etc/drdotnet/storage-ca/ca.crt")

    def test_a_way_out_only_to_where_the_store_is(self):
        """And to the API server, for the authority of the controller's certificate, where that is not the operator's."""
        def ways(name, *values):
            rules = chart.objects(*values)["NetworkPolicy/drdotnet-system/drdotnet-" + name]["spec"]["egress"]
            return [(sorted(p["port"] for p in rule["ports"]), rule.get("to")) for rule in rules if rule["ports"][0]["port"] != 53]
        link = (["link"], [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "drdotnet-controller"}}}])
        private = [{"ipBlock": {"cidr": c}} for c in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")]
        server = ([443, 6443], private)
        self.assertEqual(ways("agent"), [link, server])
        self.assertEqual(ways("agent", {"stores": [{"name": "default", "builtin": {}}]}), [link, server])
        self.assertEqual(ways("agent", {"stores": [BUCKET]}), [link, ([443], None), server])
        self.assertEqual(ways("agent", {"networkPolicy": {"apiServerTo": API_SERVER}}), [link, ([443, 6443], API_SERVER)])
        self.assertEqual(ways("agent", EVERYTHING), [link, ([443, 9000], STORE)])
        self.assertEqual(ways("controller"), [([443, 6443], None)])
        self.assertEqual(ways("controller", EVERYTHING), [([443, 6443], API_SERVER), ([443, 9000], STORE)])

    def test_starts_of_containers_can_be_left_alone(self):
        name = "Deployment/drdotnet-system/drdotnet-controller"
        self.assertEqual(environment(chart.objects(CLOSED)[name])["CONTAINER_STARTS_ENABLED"], "false")
        self.assertNotIn("CONTAINER_STARTS_ENABLED", environment(chart.objects()[name]))

    def test_who_asks_is_recorded_where_the_cluster_can(self):
        kinds = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

        def policies(*given, **how):
            return {o["kind"] for o in chart.objects(*given, **how).values()} & kinds
        self.assertEqual(policies(), kinds)
        self.assertEqual(policies(version="v1.29.4"), set())
        self.assertEqual(policies({"admissionPolicy": {"enabled": False}}), set())

    def test_placement(self):
        gateway = chart.objects(GATEWAY)
        pod = gateway["Deployment/drdotnet-system/drdotnet-controller"]["spec"]["template"]["spec"]
        self.assertEqual(list(pod["affinity"]), ["nodeAffinity"])
        self.assertEqual(pod["topologySpreadConstraints"][0]["labelSelector"], {"matchLabels": {"app.kubernetes.io/name": "drdotnet-controller"}})
        self.assertEqual(pod["priorityClassName"], "system-cluster-critical")
        self.assertEqual(gateway["DaemonSet/drdotnet-system/drdotnet-agent"]["spec"]["updateStrategy"]["rollingUpdate"], {"maxUnavailable": 3})
        self.assertEqual(gateway["Namespace//drdotnet-system"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged")

    @unittest.skipIf(chart.NO_HELM, chart.NO_HELM)
    def test_helm_itself_agrees(self):
        for name, values in MATRIX.items():
            for version in (chart.NEWEST, chart.OLDEST) if name == "the default" else (chart.NEWEST,):
                values = {"crds": {"install": name == "the default"}, **values}  # large; once a version is enough
                self.assertEqual(chart.helm_objects(values, version=version), chart.objects(values, version=version), name)
        for values, _ in REFUSED[::3]:
            with self.assertRaises(chart.Refused, msg=str(values)):
                chart.helm_objects(values)
        chart.helm("lint", "--strict", chart.CHART)


@unittest.skipIf(UNAVAILABLE or kube.unavailable(), UNAVAILABLE or kube.unavailable())
class Accepted(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cluster = kube.Cluster(cls.folder + "/kube")
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.version = cls.cluster.request("GET", "/version")["gitVersion"].partition("+")[0].partition("-")[0]
        for namespace in ("tools", "shop", "bank"):
            cls.cluster.namespace(namespace)

    def test_each_way_is_accepted(self):
        """With strict validation of fields. Kinds that this server does not serve are named here; NetworkPolicy and Ingress are served by the
        older one, those of the Prometheus operator when DRDOTNET_TEST_CRDS is a folder with its definitions."""
        folder = os.environ.get("DRDOTNET_TEST_CRDS")
        if folder and self.cluster.knows("CEL rules"):
            self.cluster.kubectl("apply", "--server-side", "-f", folder)
            proc.wait_until(lambda: {k for _, k in manifests.served_kinds(self.cluster)} >= MONITORING, 30, "they are served")
        server = manifests.DryRun(self.cluster)
        for name, values in MATRIX.items():
            objects = chart.objects(values, namespace="tools", version=self.version).values()
            known = [o for o in objects if server.serves(o)]
            self.assertEqual([why for why in map(server.create, known) if why], [], name)
            unknown = {o["kind"] for o in objects if not server.serves(o)}
            self.assertLessEqual(unknown, NOT_EVERYWHERE, name)
            self.assertFalse(folder and self.cluster.knows("CEL rules") and MONITORING & unknown)

    def test_what_is_wrong_is_refused(self):
        """That the test above can fail."""
        self.cluster.require(self, "validation of fields at the server")
        server = manifests.DryRun(self.cluster)
        deployment = chart.objects(namespace="tools", version=self.version)["Deployment/tools/drdotnet-controller"]
        deployment["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
        self.assertIn("livenesProbe", server.create(deployment) or "")

    def ours(self):
        """Names of all that is part of Dr-Dotnet."""
        kinds = self.cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        found = self.cluster.kubectl("get", ",".join(kinds), "-A", "-l", "app.kubernetes.io/part-of=drdotnet", "-o", "name").split()
        return {name for name in found if not name.startswith("event")}

    @unittest.skipIf(chart.NO_HELM, chart.NO_HELM)
    def test_a_life_with_helm(self):
        def helm(*words, **values):
            values = {"networkPolicy": {"enabled": "NetworkPolicy" in served}, **values,
                      "admissionPolicy": {"enabled": "ValidatingAdmissionPolicy" in served}}
            return chart.helm(*words, "--kubeconfig", self.cluster.kubeconfig, "-n", "helm", *(["-f", "-"] if words[0] != "uninstall" else []),
                              text=json.dumps(values), env={"HELM_CACHE_HOME": self.folder, "HELM_CONFIG_HOME": self.folder, "HELM_DATA_HOME": self.folder})
        served = {kind for _, kind in manifests.served_kinds(self.cluster)}
        self.cluster.namespace("helm")
        self.assertIn("is in the namespace helm", helm("install", "drdotnet", chart.CHART))
        made = self.ours()
        self.assertGreater(len(made), 15)
        definition = "crd/profilingsessions.drdotnet.dev"
        self.cluster.kubectl("patch", definition, "--type=json", "-p", '[{"op": "remove", "path": "/spec/names/shortNames"}]')
        authority = "/api/v1/namespaces/helm/configmaps/drdotnet-link-ca"
        self.cluster.request("PATCH", authority, {"data": {"ca.crt": "authority"}}, content_type="application/merge-patch+json")
        helm("upgrade", "drdotnet", chart.CHART, stores=[BUCKET], agent={"mode": "sharedTmp"})
        self.assertEqual(self.cluster.kubectl("get", definition, "-o", "jsonpath={.spec.names.shortNames[0]}"), "psess", "it is upgraded too")
        self.assertEqual(self.cluster.request("GET", authority)["data"], {"ca.crt": "authority"}, "what the controller wrote is kept")
        self.assertEqual([n for n in self.ours() if n.startswith("daemonset")], ["daemonset.apps/drdotnet-agent-shared-tmp"], "the other mode's is gone")
        helm("uninstall", "drdotnet")
        proc.wait_until(lambda: all(n.startswith("customresourcedefinition") for n in self.ours()), 30, "nothing but the definitions is left")
        self.assertIn("customresourcedefinition.apiextensions.k8s.io/profilingsessions.drdotnet.dev", self.ours())
        helm("install", "drdotnet", chart.CHART)  # takes up the definitions that stayed
        self.assertEqual(self.ours(), made)
        helm("uninstall", "drdotnet")


if __name__ == "__main__":
    unittest.main()
