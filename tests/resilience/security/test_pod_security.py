"""The controller's pod fits the Pod Security Standards' profile "restricted", and each check that says so is known to act: a pod that
is spoiled in one point is refused. By the rules written down (restricted.py), by those that others have written, and by Kubernetes' own
admission: PodSecurity where the tests' API server has it, else PodSecurityPolicy, its predecessor, of the API server that
tests/setup/build-apiserver.sh builds."""
import copy
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from tests.system.deploy import chart, manifests
from tests.lib import kube, proc
from tests.resilience.security import restricted

SYSTEM = "drdotnet-system"
POD_LEVEL, CONTAINER = "securityContext", "container"
# (what is spoiled, the control of restricted.py, where, how, whether PodSecurityPolicy refuses it too and does not mend it itself)
SPOILED = [
    ("the node's processes", "Host Namespaces", None, {"hostPID": True}, True),
    ("the node's network", "Host Namespaces", None, {"hostNetwork": True}, True),
    ("a folder of the node", "Volume Types", None, {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}, True),
    ("privileged", "Privileged Containers", CONTAINER, {"privileged": True}, True),
    ("a capability", "Capabilities", CONTAINER, {"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}}, True),
    ("nothing dropped", "Capabilities", CONTAINER, {"capabilities": {}}, False),
    ("privilege escalation", "Privilege Escalation", CONTAINER, {"allowPrivilegeEscalation": True}, True),
    ("uid 0", "Running as Non-root user", POD_LEVEL, {"runAsUser": 0}, True),
    ("may be root", "Running as Non-root", POD_LEVEL, {"runAsNonRoot": False}, False),
    ("no seccomp profile", "Seccomp", POD_LEVEL, {"seccompProfile": {"type": "Unconfined"}}, True),
    ("another sysctl", "Sysctls", POD_LEVEL, {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}, True),
]
# What PodSecurityPolicy calls restricted, as Kubernetes' documentation has it.
POLICY = {
    "apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy",
    "metadata": {"name": "restricted",
                 "annotations": {"seccomp.security.alpha.kubernetes.io/allowedProfileNames": "runtime/default,localhost/*"}},
    "spec": {"privileged": False, "allowPrivilegeEscalation": False, "requiredDropCapabilities": ["ALL"],
             "volumes": ["configMap", "emptyDir", "projected", "secret", "downwardAPI", "persistentVolumeClaim"],
             "hostNetwork": False, "hostIPC": False, "hostPID": False, "runAsUser": {"rule": "MustRunAsNonRoot"},
             "seLinux": {"rule": "RunAsAny"}, "supplementalGroups": {"rule": "MustRunAs", "ranges": [{"min": 1, "max": 65535}]},
             "fsGroup": {"rule": "MustRunAs", "ranges": [{"min": 1, "max": 65535}]}, "readOnlyRootFilesystem": True}}


def spec_of(objects, name):
    return objects[name]["spec"]["template"]["spec"]


def spoiled(spec, where, how):
    spec = copy.deepcopy(spec)
    place = spec if where is None else spec["securityContext"] if where == POD_LEVEL else spec["containers"][0]["securityContext"]
    if "volumes" in how:
        how = {"volumes": spec["volumes"] + how["volumes"]}
    place.update(how)
    return spec


@unittest.skipIf(manifests.unavailable(), manifests.unavailable())
class WrittenDown(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.objects = {mode: manifests.objects("deploy/" + mode) for mode in ("manifests", "manifests-shared-tmp", "manifests-legacy")}
        cls.controller = spec_of(cls.objects["manifests"], "Deployment/%s/drdotnet-controller" % SYSTEM)

    def test_the_controller_fits_restricted(self):
        for objects in self.objects.values():
            self.assertEqual(restricted.violations(spec_of(objects, "Deployment/%s/drdotnet-controller" % SYSTEM)), set())

    @unittest.skipIf(chart.unavailable(), chart.unavailable())
    def test_the_controller_of_the_chart_fits_restricted(self):
        bucket = {"name": "default", "credentialsSecret": "keys", "s3": {"endpoint": "https://s3.example.com", "region": "x", "bucket": "y"}}
        for values in ({}, {"stores": [bucket]}, {"seccomp": {"type": "Localhost"}},
                       {"controller": {"reports": {"persistence": {"enabled": True}}}}):
            found = chart.objects(values)
            self.assertEqual(restricted.violations(spec_of(found, "Deployment/%s/drdotnet-controller" % SYSTEM)), set(), values)

    def test_each_rule_acts(self):
        for name, control, where, how, _ in SPOILED:
            self.assertEqual(restricted.violations(spoiled(self.controller, where, how)), {control}, name)

    def test_the_agents_violate_what_their_manifests_say(self):
        """And nothing else: the reasons stand at the top of their files and in docs/install.md."""
        root = {"Volume Types", "Capabilities", "Running as Non-root", "Running as Non-root user"}
        host = spec_of(self.objects["manifests"], "DaemonSet/%s/drdotnet-agent" % SYSTEM)
        shared = spec_of(self.objects["manifests-shared-tmp"], "DaemonSet/%s/drdotnet-agent-shared-tmp" % SYSTEM)
        self.assertEqual(restricted.violations(host), root | {"Host Namespaces", "AppArmor"})
        self.assertEqual(restricted.violations(shared), root)

    def test_the_namespace_says_that_it_is_privileged(self):
        labels = self.objects["manifests"]["Namespace//" + SYSTEM]["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "privileged")

    def test_agents_have_one_right_and_no_secret(self):
        """In the manifests and the chart: no Secret in any volume or variable, and the one role that is bound to them reads one ConfigMap."""
        rendered = [] if chart.unavailable() else [chart.objects({"agent": {"mode": mode}}) for mode in ("hostPID", "sharedTmp")]
        for objects in [*self.objects.values(), *rendered]:
            agents = [o for name, o in objects.items() if name.startswith("DaemonSet/")]
            self.assertEqual(len(agents), 1)
            spec = agents[0]["spec"]["template"]["spec"]
            self.assertIs(spec["automountServiceAccountToken"], False)
            self.assertNotIn("secret", repr(spec["containers"][0].get("env")).lower())
            self.assertNotIn("envFrom", spec["containers"][0])
            for volume in spec["volumes"]:
                self.assertNotIn("secret", volume)
                for source in volume.get("projected", {}).get("sources", []):
                    self.assertIn(*source, ("serviceAccountToken", "configMap", "downwardAPI"))
            bound = [o["roleRef"] for name, o in objects.items() if "RoleBinding/" in name for s in o["subjects"] if s["name"] == "drdotnet-agent"]
            self.assertEqual([(role["kind"], role["name"]) for role in bound], [("Role", "drdotnet-agent")])
            rules = objects["Role/drdotnet-system/drdotnet-agent"]["rules"]
            self.assertEqual(rules, [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["drdotnet-link-ca"], "verbs": ["get"]}])


RULES = os.path.join(proc.ROOT, "build/tools/pod-rules")
# What the rules of others call the control of a row above. (They know AppArmor as an annotation only.)
RULE_OF = {"Host Namespaces": "hostNamespaces", "Volume Types": "volumeTypes", "Privileged Containers": "privilegedContainers",
           "Capabilities": "capabilitiesStrict", "Privilege Escalation": "privilegeEscalation", "Running as Non-root": "runningAsNonRoot",
           "Running as Non-root user": "runningAsNonRootUser", "Seccomp": "seccompStrict", "Sysctls": "sysctls"}


@unittest.skipUnless(os.path.isdir(RULES) and shutil.which("node"), "no rules of others: tests/setup/from_npm.sh")
@unittest.skipIf(manifests.unavailable(), manifests.unavailable())
class WrittenByOthers(unittest.TestCase):
    one_process = True

    def ask(self, specs):
        """What each violates. A container has runAsNonRoot of its pod where it says nothing; these rules look at containers only."""
        pods = []
        for spec in copy.deepcopy(specs):
            for container in spec["containers"]:
                container["securityContext"].setdefault("runAsNonRoot", spec.get("securityContext", {}).get("runAsNonRoot", False))
            pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec})
        script = os.path.join(os.path.dirname(__file__), "pod_rules.mjs")
        done = subprocess.run(["node", script, RULES], input=json.dumps(pods), capture_output=True, text=True, timeout=60, check=True)
        return [set(found) for found in json.loads(done.stdout)]

    def test_the_controller_fits_restricted_by_the_rules_of_others(self):
        folders = ("manifests", "manifests-shared-tmp", "manifests-legacy")
        objects = [manifests.objects("deploy/" + folder) for folder in folders]
        if not chart.unavailable():
            objects.append(chart.objects({}))
        specs = [spec_of(o, "Deployment/%s/drdotnet-controller" % SYSTEM) for o in objects]
        found = self.ask(specs + [spoiled(specs[0], where, how) for _, _, where, how, _ in SPOILED])
        self.assertEqual(found[:len(specs)], [set()] * len(specs))
        for row, violated in zip(SPOILED, found[len(specs):]):
            self.assertIn(RULE_OF[row[1]], violated, row[0])


class Enforced:
    """The controller's pod is accepted by an API server that enforces, spoiled ones are not."""
    one_process = True
    time_limit = 120
    mended = False  # whether the server mends what PodSecurityPolicy would

    def pod(self, spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "controller", "namespace": "guarded"},
                "spec": {**spec, "nodeName": "node-a"}}

    def create(self, spec):
        self.cluster.request("POST", "/api/v1/namespaces/guarded/pods?dryRun=All", self.pod(spec))

    def check(self):
        objects = manifests.objects(self.cluster.manifests())
        spec = spec_of(objects, "Deployment/%s/drdotnet-controller" % SYSTEM)
        self.create(spec)
        for name, _, where, how, always in SPOILED:
            if self.mended and not always:
                continue
            with self.assertRaises(kube.ApiError, msg=name) as refused:
                self.create(spoiled(spec, where, how))
            self.assertEqual(refused.exception.code, 403, name)
            self.assertRegex(refused.exception.body, "PodSecurity|pod security policy", name)
        for name in [n for n in objects if n.startswith("DaemonSet/")]:
            with self.assertRaises(kube.ApiError):
                self.create(spec_of(objects, name))


@unittest.skipUnless(os.environ.get("KUBEBUILDER_ASSETS"), "the API server has no PodSecurity admission: KUBEBUILDER_ASSETS of 1.23 or newer has")
@unittest.skipIf(manifests.unavailable(), manifests.unavailable())
class PodSecurity(Enforced, unittest.TestCase):
    def test_its_own_admission(self):
        folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        self.addCleanup(shutil.rmtree, folder)
        self.cluster = self.enterContext(kube.Cluster(folder + "/kube"))
        self.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "guarded", "labels": {
            "pod-security.kubernetes.io/enforce": "restricted"}}})
        if self.cluster.minor_version() < 23:
            self.skipTest("Kubernetes before 1.23 has no PodSecurity admission")
        self.check()


@unittest.skipUnless(kube.built(), "tests/setup/build-apiserver.sh has not been run")
@unittest.skipIf(manifests.unavailable(), manifests.unavailable())
class PodSecurityPolicy(Enforced, unittest.TestCase):
    mended = True

    def test_its_predecessor(self):
        folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        self.addCleanup(shutil.rmtree, folder)
        self.cluster = self.enterContext(kube.Cluster(folder + "/kube", kube.BUILT, ["--enable-admission-plugins=PodSecurityPolicy"]))
        self.cluster.namespace("guarded")
        self.cluster.request("POST", "/apis/policy/v1beta1/podsecuritypolicies", POLICY)
        self.check()


if __name__ == "__main__":
    unittest.main()
