"""The shipped manifests: accepted by a real API server, enforced by its RBAC, and no more than what the programs use."""
import base64
import glob
import http.client
import json
import os
import re
import shutil
import tempfile
import unittest
import urllib.parse

from tests.system.deploy import manifests
from tests.lib import kube, proc

SYSTEM = "drdotnet-system"
UNAVAILABLE = manifests.unavailable() or kube.unavailable()
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
SESSIONS, TRIGGERS = "drdotnet.dev/profilingsessions", "drdotnet.dev/profilingtriggers"

# Every call of the controller to the API server: (file, function of kube_client.h, verb, resource). None: it is not allowed, and why.
CALLS = [
    ("comparisons.c", "get", "get", SESSIONS),
    ("events.c", "create", "create", "/events"),
    ("events.c", "patch", "patch", "/events"),
    ("kube_watch.c", "list", "list", SESSIONS),
    ("kube_watch.c", "watch_once", "watch", SESSIONS),
    ("leader.c", "get", "get", "coordination.k8s.io/leases"),
    ("leader.c", "update", "update", "coordination.k8s.io/leases"),
    ("leader.c", "create", None, "coordination.k8s.io/leases"),  # only where nobody has made the Lease: the manifests do
    ("link_certs.c", "get", "get", "/secrets"),  # and /configmaps
    ("link_certs.c", "update", "update", "/secrets"),
    ("link_certs.c", "update", "update", "/configmaps"),
    ("pods.c", "list", "list", "/pods"),
    ("pods.c", "list", "list", "/pods"),  # of a pod that a session names by its uid
    ("pods.c", "get", "get", "/pods"),
    ("pods.c", "get", "get", "/pods"),
    ("pods.c", "get", "get", "/pods"),
    ("reconcile.c", "delete", "delete", SESSIONS),
    ("reconcile_baseline.c", "get", "get", SESSIONS),
    ("reconcile.c", "patch", "patch", SESSIONS),
    ("reconcile.c", "patch", "patch", SESSIONS + "/status"),
    ("reconcile.c", "get", "get", SESSIONS),  # again after a conflict
    ("reconcile.c", "get", "get", SESSIONS),  # that an agent names
    ("rest_access.c", "create", "create", "authentication.k8s.io/tokenreviews"),
    ("rest_access.c", "create", "create", "authorization.k8s.io/subjectaccessreviews"),
    ("reveal_policy.c", "get", "get", "admissionregistration.k8s.io/validatingadmissionpolicies"),  # and their bindings
    ("token_review.c", "create", "create", "authentication.k8s.io/tokenreviews"),
    ("token_review.c", "get", "get", "/pods"),
    ("token_review.c", "create", "create", "authorization.k8s.io/subjectaccessreviews"),
    ("trigger_observe.c", "list", "list", "/pods"),
    ("trigger_reconcile.c", "create", "create", SESSIONS),
    ("trigger_reconcile.c", "delete", "delete", SESSIONS),
    ("trigger_reconcile.c", "get", "get", TRIGGERS),
    ("trigger_reconcile.c", "patch", "patch", TRIGGERS + "/status"),
]
# the same calls for other resources
ALSO = [("kube_watch.c", "list", "list", TRIGGERS), ("kube_watch.c", "watch_once", "watch", TRIGGERS), ("kube_watch.c", "watch_once", "watch", "/pods")]
OURS = {SESSIONS, SESSIONS + "/status", TRIGGERS, TRIGGERS + "/status"}
SENSITIVE = {"/secrets", "/configmaps", "/pods", "/pods/exec", "/serviceaccounts/token", "coordination.k8s.io/leases", SESSIONS,
             SESSIONS + "/status", "apps/daemonsets", "rbac.authorization.k8s.io/clusterrolebindings"}
BY_NAME = {"/secrets": "drdotnet-link-tls", "/configmaps": "drdotnet-link-ca", "coordination.k8s.io/leases": "drdotnet-controller",
           "admissionregistration.k8s.io/validatingadmissionpolicies": "sessions.drdotnet.dev"}


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


class Reviews:
    """SubjectAccessReviews over one connection."""

    def __init__(self, cluster):
        self.cluster = cluster
        place = urllib.parse.urlsplit(cluster.server)
        self.connection = http.client.HTTPSConnection(place.hostname, place.port, context=cluster.tls, timeout=30)

    def allowed(self, user, groups, verb, resource, namespace=None, name=None):
        group, _, rest = resource.partition("/")
        plural, _, subresource = rest.partition("/")
        spec = {"user": user, "groups": groups, "resourceAttributes": {"verb": verb, "group": group, "resource": plural}}
        for key, value in (("subresource", subresource), ("namespace", namespace), ("name", name)):
            if value:
                spec["resourceAttributes"][key] = value
        headers = {"Content-Type": "application/json"}
        if self.cluster.token:
            headers["Authorization"] = "Bearer " + self.cluster.token
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        self.connection.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json.dumps(body), headers)
        answer = json.loads(self.connection.getresponse().read())
        return answer["status"]["allowed"]

    def account(self, namespace, name):
        return ("system:serviceaccount:%s:%s" % (namespace, name),
                ["system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"])

    def rights(self, user, resources, namespace, name=None):
        """{(verb, resource)} of all that may be asked for."""
        return {(v, r) for r in resources for v in VERBS if self.allowed(*user, v, r, namespace, name)}


def served_resources(cluster):
    """"group/plural[/subresource]" of all that the API server has, with and without a namespace; and what all clusters have."""
    found = {"/" + r["name"] for r in cluster.request("GET", "/api/v1")["resources"]}
    for group in cluster.request("GET", "/apis")["groups"]:
        path = "/apis/" + group["preferredVersion"]["groupVersion"]
        found |= {group["name"] + "/" + r["name"] for r in cluster.request("GET", path)["resources"]}
    return found | {"/pods/exec", "/pods/attach", "/pods/portforward", "/pods/eviction", "/pods/ephemeralcontainers", "/nodes/proxy",
                    "/serviceaccounts/token", "batch/jobs", "networking.k8s.io/networkpolicies"}


class Written(unittest.TestCase):
    """What can be said of the manifests without an API server."""
    one_process = True

    @classmethod
    def setUpClass(cls):
        if manifests.unavailable():
            raise unittest.SkipTest(manifests.unavailable())
        cls.objects = manifests.objects("deploy/manifests")
        cls.shared = manifests.objects("deploy/manifests-shared-tmp")
        cls.controller = cls.objects["Deployment/drdotnet-system/drdotnet-controller"]
        cls.agents = {"hostPID": cls.objects["DaemonSet/drdotnet-system/drdotnet-agent"],
                      "sharedTmp": cls.shared["DaemonSet/drdotnet-system/drdotnet-agent-shared-tmp"]}
        cls.workloads = [cls.controller, *cls.agents.values()]

    def test_one_agent_is_applied(self):
        for objects in (self.objects, self.shared, manifests.objects("deploy/manifests-legacy")):
            self.assertEqual(len([n for n in objects if n.startswith("DaemonSet/")]), 1)

    def test_a_folder_can_be_applied_with_and_without_kustomize(self):
        """`kubectl apply -f` takes all files with its endings: those, and no others, are the manifests."""
        folder = os.path.join(proc.ROOT, "deploy/manifests")
        files = sorted(n for n in os.listdir(folder) if n.endswith((".yaml", ".yml", ".json")))
        alone = manifests.by_name(manifests.parse("\n---\n".join(read("deploy/manifests/" + n) for n in files)))
        self.assertEqual(alone, self.objects)

    def test_the_controller_fits_restricted(self):
        """The rules of the Pod Security Standards' profile "restricted"."""
        pod = self.controller["spec"]["template"]["spec"]
        self.assertFalse({"hostPID", "hostNetwork", "hostIPC"} & set(pod))
        self.assertLessEqual({kind for v in pod["volumes"] for kind in v if kind != "name"},
                             {"configMap", "emptyDir", "projected", "secret", "persistentVolumeClaim"})
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in pod["containers"]:
            self.assertEqual(container["securityContext"], {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                            "capabilities": {"drop": ["ALL"]}})
            self.assertFalse([p for p in container["ports"] if "hostPort" in p])

    def test_the_agents_have_what_their_mode_needs(self):
        expected = {"hostPID": (["SYS_PTRACE", "DAC_OVERRIDE", "PERFMON"], {"/sys/fs/cgroup", "/var/lib/drdotnet/spool"}),
                    "sharedTmp": (["DAC_OVERRIDE"], {"/sys/fs/cgroup", "/var/lib/drdotnet-tmp"})}
        for mode, agent in self.agents.items():
            pod = agent["spec"]["template"]["spec"]
            security = pod["containers"][0]["securityContext"]
            self.assertEqual(pod.get("hostPID", False), mode == "hostPID")
            self.assertFalse({"hostNetwork", "hostIPC"} & set(pod))
            self.assertIs(pod["automountServiceAccountToken"], False)
            self.assertEqual(security["capabilities"], {"drop": ["ALL"], "add": expected[mode][0]})
            self.assertEqual((security["privileged"], security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]),
                             (False, False, True))
            self.assertEqual("appArmorProfile" in security, mode == "hostPID")
            self.assertEqual(pod["securityContext"], {"seccompProfile": {"type": "RuntimeDefault"}})
            self.assertEqual({v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}, expected[mode][1])
            self.assertFalse([v for v in pod["volumes"] if "secret" in v])
            self.assertNotIn("ports", pod["containers"][0])

    def test_workloads_are_bounded_probed_and_named(self):
        version = read("VERSION").strip()
        for workload in self.workloads:
            container = workload["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual({kind: sorted(container["resources"][kind]) for kind in ("requests", "limits")},
                             {"requests": ["cpu", "memory"], "limits": ["cpu", "memory"]})
            self.assertIn("livenessProbe", container)
            self.assertRegex(container["image"], "^drdotnet-(agent|controller):%s$" % re.escape(version))
            selector, labels = workload["spec"]["selector"]["matchLabels"], workload["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(selector.items(), labels.items())

    def test_the_environment_is_known_to_the_programs(self):
        for workload, source in [(self.controller, "controller/daemon/controller_options.c")] + [
                (agent, "agent/daemon/agent_options.c") for agent in self.agents.values()]:
            known = set(re.findall(r'"--[a-z-]+", (?:\.env = )?"([A-Z_]+)"', read(source)))
            names = {e["name"] for e in workload["spec"]["template"]["spec"]["containers"][0]["env"]}
            self.assertGreater(len(known), 10)
            self.assertLessEqual(names, known, source)
        for mode, agent in self.agents.items():
            env = {e["name"]: e.get("value") for e in agent["spec"]["template"]["spec"]["containers"][0]["env"]}
            self.assertEqual(env["DRDOTNET_MODE"], mode)

    def test_the_token_is_for_the_link_only(self):
        audience = re.search(r'LINK_TOKEN_AUDIENCE "([^"]+)"', read("common/link/link_msg.h")).group(1)
        for agent in self.agents.values():
            token = next(v for v in agent["spec"]["template"]["spec"]["volumes"] if v["name"] == "token")
            self.assertEqual([s["serviceAccountToken"]["audience"] for s in token["projected"]["sources"]], [audience])

    def test_network_policies_select_the_pods(self):
        policies = [o for n, o in self.objects.items() if n.startswith("NetworkPolicy/")]
        selected = [p["spec"]["podSelector"]["matchLabels"] for p in policies]
        self.assertEqual(len(policies), 2)
        for workload in self.workloads:
            labels = workload["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(len([s for s in selected if s.items() <= labels.items()]), 1)
        agent = next(p for p in policies if p["metadata"]["name"] == "drdotnet-agent")
        self.assertEqual(agent["spec"]["ingress"], [])

    def test_the_calls_of_the_controller_are_listed(self):
        found = []
        for path in sorted(glob.glob("controller/*/*.c", root_dir=proc.ROOT)):
            # rest_cluster*.c act with the caller's own token, the plugin with its user's
            name = os.path.basename(path)
            if name != "kube_client.c" and not name.startswith("rest_cluster") and "/kubectl/" not in path:
                calls = re.findall(r"\bkube_(get|create|update|patch|delete|list|watch_once)(?:_few)?\(", read(path))
                found += [(name, call) for call in calls]
        self.assertEqual(sorted(found), sorted((name, call) for name, call, _, _ in CALLS),
                         "CALLS in this test, and the rights in 10-rbac.yaml, follow from the controller's calls")


class OnServer(unittest.TestCase):
    """Each class of tests has an API server to itself, with the manifests applied."""
    one_process = True
    time_limit = 120

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cluster = kube.Cluster(cls.folder + "/kube")
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        manifests.install_definition(cls.cluster)
        cls.documents = manifests.built(cls.cluster.manifests())
        cls.objects, cls.unknown = manifests.apply(cls.cluster, cls.documents)
        cls.cluster.namespace("shop")

    def client(self, account, namespace=SYSTEM):
        return kube.Client(self.cluster.kubeconfig, token=self.cluster.service_account_token(namespace, account))


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Applied(OnServer):
    def test_all_that_it_serves_is_accepted(self):
        policies = {("admissionregistration.k8s.io/v1", kind) for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")}
        self.assertLessEqual(set(self.unknown), {("networking.k8s.io/v1", "NetworkPolicy")} | policies)
        self.assertEqual(len(self.objects), sum(1 for d in self.documents if manifests.head(d) not in self.unknown))
        self.cluster.kubectl("apply", "--dry-run=server", "-f", os.path.join(proc.ROOT, "deploy/samples"))

    def test_network_policies_are_accepted(self):
        if ("networking.k8s.io/v1", "NetworkPolicy") in self.unknown:
            self.skipTest("this API server serves no NetworkPolicy")
        for name in ("controller", "agent"):
            kept = self.objects["NetworkPolicy/drdotnet-system/drdotnet-" + name]
            written = manifests.objects("deploy/manifests")["NetworkPolicy/drdotnet-system/drdotnet-" + name]
            self.assertEqual(len(kept["spec"]["egress"]), len(written["spec"]["egress"]))
            self.assertEqual(kept["spec"]["policyTypes"], ["Ingress", "Egress"])

    def test_the_other_agent_is_accepted(self):
        documents = [d for d in manifests.built("deploy/manifests-shared-tmp") if manifests.head(d)[1] == "DaemonSet"]
        text = "---\n".join(manifests.for_server(self.cluster, documents))
        self.cluster.kubectl("apply", "--dry-run=server", "-f", "-", text=text)
        self.assertEqual(len(documents), 1)

    def test_what_it_does_not_know_is_not_dropped(self):
        """A field that the server prunes would be a privilege that is lost, or a protection."""
        for name, written in manifests.objects(self.cluster.manifests()).items():
            if name in self.objects:
                self.assert_kept(written, self.objects[name], name)

    def assert_kept(self, written, kept, path):
        if isinstance(written, dict):
            for key, value in written.items():
                if value not in ({}, None, [], False):
                    self.assertIn(key, kept, path)
                    self.assert_kept(value, kept[key], path + "." + key)
        elif isinstance(written, list):
            self.assertEqual(len(written), len(kept), path)
            for number, value in enumerate(written):
                self.assert_kept(value, kept[number], "%s[%d]" % (path, number))
        elif not re.search(r"\.(cpu|memory|sizeLimit)$", path):  # quantities are written in another way
            self.assertEqual(written, kept, path)

    def test_applying_again_keeps_what_the_controller_has_written(self):
        controller = self.client("drdotnet-controller")
        paths = {"secrets/drdotnet-link-tls": {"data": {"state": base64.b64encode(b"key").decode()}},
                 "configmaps/drdotnet-link-ca": {"data": {"ca.crt": "authority"}}}
        for path, content in paths.items():
            path = "/api/v1/namespaces/%s/%s" % (SYSTEM, path)
            controller.request("PUT", path, {**controller.request("GET", path), **content})
        lease = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % SYSTEM
        controller.request("PUT", lease, {**controller.request("GET", lease), "spec": {"holderIdentity": "one", "leaseTransitions": 7}})
        manifests.apply(self.cluster, self.documents)
        for path, content in paths.items():
            self.assertEqual(controller.request("GET", "/api/v1/namespaces/%s/%s" % (SYSTEM, path))["data"], content["data"])
        self.assertEqual(controller.request("GET", lease)["spec"]["leaseTransitions"], 7)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Rights(OnServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reviews = Reviews(cls.cluster)
        cls.resources = served_resources(cls.cluster)
        # no RoleBinding is for everybody: what everybody may do is the same in each namespace
        cls.everybody = cls.reviews.rights(cls.reviews.account("default", "nobody"), cls.resources, SYSTEM)

    def refused(self, client, method, path, body=None):
        with self.assertRaises(kube.ApiError) as raised:
            client.request(method, path, body)
        self.assertEqual(raised.exception.code, 403, raised.exception)

    def rights(self, account, namespace, name=None, resources=SENSITIVE):
        """Beyond what every account has."""
        return self.reviews.rights(self.reviews.account(SYSTEM, account), resources, namespace, name) - self.everybody

    def test_the_controller_may_do_what_it_does(self):
        user = self.reviews.account(SYSTEM, "drdotnet-controller")
        for file, call, verb, resource in CALLS + ALSO:
            name = BY_NAME.get(resource)
            namespace = SYSTEM if name else "shop"
            allowed = self.reviews.allowed(*user, verb or call, resource, namespace, name)
            self.assertEqual(allowed, verb is not None, "%s of %s" % (call, file))

    def test_the_controller_may_do_nothing_else(self):
        used = {(verb, resource) for _, _, verb, resource in CALLS + ALSO if verb and resource not in BY_NAME}
        self.assertEqual(self.rights("drdotnet-controller", "shop", resources=self.resources), used)
        few = {(verb, resource) for verb, resource in used if resource in SENSITIVE}
        for namespace, name in (("shop", "drdotnet-link-tls"), (SYSTEM, None), (SYSTEM, "drdotnet-store-default"), (None, None)):
            self.assertEqual(self.rights("drdotnet-controller", namespace, name), few, (namespace, name))
        for resource, name in BY_NAME.items():
            reads = resource.startswith("admissionregistration")
            self.assertEqual(self.rights("drdotnet-controller", SYSTEM, name, SENSITIVE | set(BY_NAME)) - few,
                             {("get", resource)} if reads else {("get", resource), ("update", resource)})

    def test_the_agent_may_only_read_whom_to_believe(self):
        self.assertEqual(self.rights("drdotnet-agent", SYSTEM, resources=self.resources), set())
        for namespace, name in (("shop", None), (None, None), *((SYSTEM, name) for name in BY_NAME.values()), ("shop", "drdotnet-link-ca")):
            own = {("get", "/configmaps")} if (namespace, name) == (SYSTEM, "drdotnet-link-ca") else set()
            self.assertEqual(self.rights("drdotnet-agent", namespace, name), own, (namespace, name))

    def test_rights_are_enforced(self):
        controller, agent = self.client("drdotnet-controller"), self.client("drdotnet-agent")
        self.assertEqual(controller.request("GET", "/apis/drdotnet.dev/v1alpha1/profilingsessions")["items"], [])
        self.assertEqual(controller.request("GET", "/api/v1/namespaces/shop/pods")["items"], [])
        self.refused(controller, "GET", "/api/v1/namespaces/shop/secrets")
        self.refused(controller, "GET", "/api/v1/namespaces/%s/secrets" % SYSTEM)
        self.refused(controller, "GET", "/api/v1/namespaces/%s/secrets/drdotnet-store-default" % SYSTEM)
        self.refused(controller, "POST", "/api/v1/namespaces/shop/pods", {"metadata": {"name": "x"}})
        self.refused(controller, "POST", "/apis/drdotnet.dev/v1alpha1/namespaces/shop/profilingtriggers",
                     {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": "x"}})
        self.refused(agent, "GET", "/api/v1/namespaces/shop/pods")
        self.refused(agent, "GET", "/apis/drdotnet.dev/v1alpha1/profilingsessions")
        self.assertEqual(agent.request("GET", "/api/v1/namespaces/%s/configmaps/drdotnet-link-ca" % SYSTEM)["kind"], "ConfigMap")
        self.refused(agent, "GET", "/api/v1/namespaces/%s/configmaps/drdotnet-stores" % SYSTEM)
        self.refused(agent, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                     {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}})

    def test_people(self):
        """Aggregation is done by a cluster's controllers; here the roles are bound by their names."""
        for user, role in (("alice", "drdotnet-edit"), ("bob", "drdotnet-view")):
            self.cluster.kubectl("create", "rolebinding", user, "-n", "shop", "--clusterrole=" + role, "--user=" + user)
        rights = {user: self.reviews.rights((user, []), {*OURS, "/pods", "/secrets"}, "shop") for user in ("alice", "bob")}
        self.assertEqual(rights["alice"], {(verb, kind) for verb in VERBS for kind in (SESSIONS, TRIGGERS)}, "the status is the controller's")
        self.assertEqual(rights["bob"], {(verb, kind) for verb in ("get", "list", "watch") for kind in (SESSIONS, TRIGGERS)})
        self.assertEqual(self.reviews.rights(("alice", []), {SESSIONS}, "bank"), set())
        self.cluster.kubectl("create", "rolebinding", "carol", "-n", SYSTEM, "--role=drdotnet-plugin", "--user=carol")
        carol = self.reviews.rights(("carol", []), {*OURS, *SENSITIVE, "/pods/portforward", "/pods/log", "apps/deployments"}, SYSTEM)
        self.assertEqual(carol, {("get", "/pods"), ("list", "/pods"), ("get", "/pods/portforward"), ("create", "/pods/portforward")})
        self.assertTrue(self.reviews.allowed("carol", [], "get", "/configmaps", SYSTEM, "drdotnet-link-ca"))
        self.assertTrue(self.reviews.allowed("carol", [], "get", "apps/deployments", SYSTEM, "drdotnet-controller"))
        self.assertEqual(self.reviews.rights(("carol", []), {*OURS, "/pods", "/pods/portforward"}, "shop"), set())
        for role, into in (("edit", ("edit", "admin")), ("view", ("view",))):
            labels = self.objects["ClusterRole//drdotnet-" + role]["metadata"]["labels"]
            aggregated = {k.rpartition("-")[2] for k, v in labels.items() if "aggregate-to-" in k and v == "true"}
            self.assertEqual(aggregated, set(into))


if __name__ == "__main__":
    unittest.main()
