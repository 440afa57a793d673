"""deploy/manifests/60-admission.yaml: who asked for a session is true, and contents are revealed only to those who may. By the API server's
own admission where it serves ValidatingAdmissionPolicy; and each expression by the CEL of any newer API server, as a rule of a resource that
holds what the policy would see (the authorizer's answer, too: its call is compared by its text)."""
import os
import re
import tempfile
import unittest

import yaml

from tests.lib import kube, proc

MANIFEST = "deploy/manifests/60-admission.yaml"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
AUTHORIZER = "authorizer.group('drdotnet.dev').resource('profilingsessions').namespace(request.namespace).check('reveal').allowed()"
OBJECT = {"type": "object", "properties": {
    "metadata": {"type": "object", "properties": {"annotations": {"type": "object", "maxProperties": 4, "additionalProperties": {
        "type": "string", "maxLength": 99}}}},
    "spec": {"type": "object", "properties": {"reveal": {"type": "boolean"}}}}}
TEXT = {"type": "string", "maxLength": 99}
SEEN = {"type": "object", "properties": {
    "object": OBJECT, "oldObject": OBJECT, "allowed": {"type": "boolean"}, "request": {"type": "object", "properties": {
        "operation": TEXT, "namespace": TEXT, "userInfo": {"type": "object", "properties": {"username": TEXT}}}}}}
CASES = "/apis/policy.test/v1/cases"


def policy():
    with open(os.path.join(proc.ROOT, MANIFEST), encoding="utf-8") as f:
        return next(o for o in yaml.safe_load_all(f) if o["kind"] == "ValidatingAdmissionPolicy")


def as_rule(expression, variables):
    """The same expression on a resource that holds what the policy sees."""
    for name, value in reversed(variables):
        expression = expression.replace("variables." + name, "(%s)" % value)
    expression = expression.replace(AUTHORIZER, "self.allowed")
    assert "authorizer" not in expression and "variables." not in expression, expression
    return re.sub(r"\b(object|oldObject|request)\.", r"self.\1.", expression)


def session(requester=None, reveal=None):
    return {"metadata": {"annotations": {"drdotnet.dev/requested-by": requester}} if requester is not None else {},
            "spec": {} if reveal is None else {"reveal": reveal}}


def seen(operation, new, old=None, allowed=False, user="dana"):
    return {"object": new, **({"oldObject": old} if old else {}), "allowed": allowed,
            "request": {"operation": operation, "namespace": "shop", "userInfo": {"username": user}}}


ROWS = [  # what is seen; what the refusal says, or None
    (seen("CREATE", session()), None),
    (seen("CREATE", session("dana")), None),
    (seen("CREATE", session("eve")), "must be the name of the user"),
    (seen("CREATE", session(reveal=False)), None),
    (seen("CREATE", session(reveal=True)), "needs the verb reveal"),
    (seen("CREATE", session(reveal=True), allowed=True), None),
    (seen("UPDATE", session("dana"), session("dana"), user="the controller"), None),
    (seen("UPDATE", session("eve"), session("dana"), user="eve"), "cannot be changed"),
    (seen("UPDATE", session(), session("dana")), "cannot be changed"),
    (seen("UPDATE", session("dana"), session()), "cannot be changed"),
    (seen("UPDATE", session(reveal=True), session(reveal=True), user="the controller"), None),
]


class PolicyCase(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        if kube.unavailable():
            raise unittest.SkipTest(kube.unavailable())
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-policy-")
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = cls.enterClassContext(kube.Cluster(folder.name))

    def refusal(self, path, body, client=None):
        """The API server's word, or None when it took the object."""
        try:
            (client or self.cluster).request("POST", path, body)
            return None
        except kube.ApiError as e:
            return str(e)


class Expressions(PolicyCase):
    def test_what_each_says(self):
        self.cluster.require(self, "CEL rules")
        spec = policy()["spec"]
        variables = [(v["name"], v["expression"]) for v in spec["variables"]]
        schema = {**SEEN, "x-kubernetes-validations": [{"rule": as_rule(v["expression"], variables), "message": v["message"]}
                                                       for v in spec["validations"]]}
        self.cluster.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "cases.policy.test"},
            "spec": {"group": "policy.test", "scope": "Cluster", "names": {"kind": "Case", "plural": "cases"}, "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": schema}}}}]}})
        proc.wait_until(lambda: self.refusal(CASES, {"apiVersion": "policy.test/v1", "kind": "Case", "metadata": {"name": "first"}}) is None,
                        60, "the resource is served", 0.3)
        for number, (spec, says) in enumerate(ROWS):
            with self.subTest(spec=spec):
                said = self.refusal(CASES, {"apiVersion": "policy.test/v1", "kind": "Case", "metadata": {"name": "case-%d" % number}, "spec": spec})
                if says:
                    self.assertIn(says, said or "taken")
                else:
                    self.assertIsNone(said)


class Admission(PolicyCase):
    def test_by_the_api_server_itself(self):
        names = [r["name"] for r in self.cluster.request("GET", ADMISSION).get("resources", [])]
        if "validatingadmissionpolicies" not in names:
            self.skipTest("the API server serves no ValidatingAdmissionPolicy: KUBEBUILDER_ASSETS of 1.30 or newer has")
        self.cluster.apply_crd()
        self.cluster.apply(MANIFEST)
        self.cluster.namespace("shop")
        path = "/apis/drdotnet.dev/v1alpha1/namespaces/shop/profilingsessions"
        body = {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {
            "generateName": "asked-", "annotations": {"drdotnet.dev/requested-by": "somebody-else"}},
            "spec": {"profiler": "CPUHotpaths", "target": {"podName": "checkout-1"}}}
        said = proc.wait_until(lambda: self.refusal(path, body), 60, "the policy is in force", 0.5)
        self.assertIn("must be the name of the user", said)


if __name__ == "__main__":
    unittest.main()
