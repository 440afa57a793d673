"""The whole way on a real API server, real .NET processes in pods and a real S3 server: apply -> diagnosis and report."""
import hashlib
import json
import os
import signal
import tempfile
import time
import unittest
import urllib.parse

from tests.lib import dotnet, install, kube, pod, proc, readers, s3

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()
TAX = "Checkout.Pricing.Tax.Compute"


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class ClusterCase(unittest.TestCase):
    use_s3 = True
    assets = None  # None: the API server that the tests use normally

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = self.enter(s3.Server(self.folder + "/s3")) if self.use_s3 else None
        cluster = self.enter(kube.Cluster(self.folder + "/kube", self.assets))
        self.i = self.enter(install.Installation(self.folder + "/installation", cluster, self.store))
        self.i.cluster.namespace("shop")

    def enter(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def pod(self, name, load, node="node-a", namespace="shop", labels=None, **how):
        """A pod object, and the process in a "pod" that it stands for."""
        made_object = self.i.cluster.create_pod(namespace, name, node, labels=labels or {"app": "checkout"}, running=False)
        made = pod.Pod(self.folder, load, uid=made_object["metadata"]["uid"], **how)
        self.addCleanup(made.stop)
        self.i.cluster.set_pod_running(made_object, {"app": made.container_id})
        return made

    def spec(self, seconds=4, target=None, **more):
        return {"profiler": "CPUHotpaths", "durationSeconds": seconds,
                "target": target or {"selector": {"matchLabels": {"app": "checkout"}}}, **more}

    def succeeded(self, name, seconds=60):
        session = self.i.wait_finished("shop", name, seconds)
        condition = self.i.condition(session, "Succeeded")
        self.assertEqual(condition["status"], "True", "%s\n%s" % (json.dumps(session, indent=1), self.i.logs()))
        return session

    def fetch(self, session, target=0):
        """All reports of a target into a folder, each checked against the status."""
        folder = tempfile.mkdtemp(dir=self.folder)
        reports = session["status"]["targets"][target]["reports"]
        for report in reports:
            prefix = self.store.endpoint + "/" + self.store.bucket + "/"
            self.assertTrue(report["url"].startswith(prefix), report)
            self.assertNotIn("?", report["url"], "no signature in the status")
            data = self.store.get(urllib.parse.unquote(report["url"][len(prefix):]))
            self.assertEqual(len(data), report["sizeBytes"])
            self.assertEqual(hashlib.sha256(data).hexdigest(), report["sha256"])
            with open(os.path.join(folder, report["name"]), "wb") as f:
                f.write(data)
        return folder


class MainWay(ClusterCase):
    def test_apply_to_diagnosis_and_report(self):
        self.i.start_agent("node-a")
        ill = self.pod("checkout-1", "hot", framework="net8.0", user=10001, readonly=True)
        well = self.pod("basket-1", "shares", labels={"app": "basket"}, driver="cgroupfs")
        before = {p: dotnet.Traces(p) for p in (ill, well)}
        self.i.cluster.apply("deploy/samples/cpu-hotpaths.yaml")
        self.i.cluster.kubectl("wait", "--for=condition=Succeeded", "psess/checkout-cpu", "-n", "shop", "--timeout=60s")
        session = self.i.get("shop", "checkout-cpu")
        status = session["status"]

        self.assertIn("Tax.Compute", status["diagnosis"].splitlines()[0])
        self.assertLessEqual(len(status["diagnosis"].splitlines()[0]), 80)
        self.assertIn("Checkout.Cart.Total", status["diagnosis"])
        self.assertEqual((status["podsMatched"], status["podsSucceeded"], status.get("podsFailed", 0)), (1, 1, 0))
        target = status["targets"][0]
        self.assertEqual((target["podName"], target["nodeName"], target["container"], target["pid"]),
                         ("checkout-1", "node-a", "app", 1))
        self.assertEqual(target["runtimeVersion"], ill.runtime)
        self.assertEqual(target["cost"]["maxPauseMicroseconds"], 0)

        samples = readers.folded(self.fetch(session))
        self.assertAlmostEqual(samples.self_share(TAX), ill.shares()[TAX], delta=0.03)
        self.assertEqual({r["name"] for r in target["reports"]}, set(readers.MEDIA))

        table = self.i.cluster.kubectl("get", "psess", "-n", "shop")
        self.assertRegex(table, r"NAME +PROFILER +TARGET +STATE +AGE")
        self.assertRegex(table, r"checkout-cpu +CPUHotpaths +.*checkout.* +Succeeded")
        self.assertIn("Tax.Compute", self.i.cluster.kubectl("get", "psess", "-n", "shop", "-o", "wide"))
        self.assertIn("Tax.Compute", self.i.cluster.kubectl("describe", "psess", "checkout-cpu", "-n", "shop"))
        self.assertTrue([e for e in self.i.events("shop", "checkout-cpu") if e[0] == "Normal"])
        self.assertEqual(session["metadata"].get("finalizers", []), [], "nothing holds a finished session")
        for made in (ill, well):
            made.assert_progress()
            self.assertEqual(dotnet.Traces(made).left_since(before[made]), {})

    def test_each_runtime(self):
        self.i.start_agent("node-a")
        for number, framework in enumerate(dotnet.FRAMEWORKS):
            name = "checkout-%d" % number
            self.pod(name, "hot", framework=framework)
            self.i.session("shop", name, self.spec(3, {"podName": name}))
            session = self.succeeded(name)
            self.assertIn("Tax.Compute", session["status"]["diagnosis"])

    def test_several_pods_of_two_nodes(self):
        self.i.start_agent("node-a")
        self.pod("checkout-1", "hot")
        self.pod("checkout-2", "hot", framework="net8.0")
        self.i.session("shop", "both", self.spec(3, {"selector": {"matchLabels": {"app": "checkout"}}, "maxPods": 5}))
        session = self.succeeded("both")
        self.assertEqual({t["podName"] for t in session["status"]["targets"]}, {"checkout-1", "checkout-2"})
        self.assertEqual(session["status"]["podsSucceeded"], 2)

    def test_cancel_keeps_the_report(self):
        self.i.start_agent("node-a")
        made = self.pod("checkout-1", "hot")
        before = dotnet.Traces(made)
        self.i.session("shop", "long", self.spec(120))
        self.i.wait_condition("shop", "long", "Running")
        time.sleep(2)
        self.i.cluster.kubectl("patch", "psess", "long", "-n", "shop", "--type=merge", "-p", '{"spec":{"cancel":true}}')
        session = self.i.wait_finished("shop", "long", 20)
        self.assertEqual(self.i.condition(session, "Completed")["status"], "True")
        self.assertIn("Tax.Compute", session["status"]["diagnosis"])
        self.assertGreater(readers.folded(self.fetch(session)).self_share(TAX), 0.7)
        self.assertEqual(dotnet.Traces(made).left_since(before), {})

    def test_delete_ends_it(self):
        self.i.start_agent("node-a")
        made = self.pod("checkout-1", "hot")
        before = dotnet.Traces(made)
        self.i.session("shop", "long", self.spec(120))
        self.i.wait_condition("shop", "long", "Running")
        time.sleep(1)
        self.i.cluster.kubectl("delete", "psess", "long", "-n", "shop", "--timeout=20s")
        self.assertEqual(dotnet.Traces(made).left_since(before), {})
        made.assert_progress()

    def test_a_killed_agent_leaves_nothing_and_comes_back(self):
        agent = self.i.start_agent("node-a")
        made = self.pod("checkout-1", "hot")
        before = dotnet.Traces(made)
        self.i.session("shop", "long", self.spec(30))
        self.i.wait_condition("shop", "long", "Running")
        time.sleep(2)
        agent.stop(signal.SIGKILL)
        made.assert_progress()
        again = proc.Process(agent.words, log=self.folder + "/agent-again.log")
        self.addCleanup(again.stop)
        session = self.i.wait_finished("shop", "long", 60)
        self.assertTrue(session["status"]["targets"][0]["reason"], session)
        proc.wait_until(lambda: not dotnet.Traces(made).left_since(before), 5, "the new agent cleans up")
        self.i.session("shop", "next", self.spec(3))
        self.succeeded("next")

    def test_no_pod_matches(self):
        self.i.start_agent("node-a")
        self.i.session("shop", "nobody", self.spec(3, activeDeadlineSeconds=13))
        session = self.i.wait_finished("shop", "nobody", 40)
        condition = self.i.condition(session, "Succeeded")
        self.assertEqual((condition["status"], condition["reason"]), ("False", "NoPodsMatched"))


class Rights(ClusterCase):
    def test_the_service_accounts_can_do_no_more_than_they_need(self):
        def can(account, verb, resource, namespace="shop", group="", name="", subresource=""):
            answer = self.i.cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": "system:serviceaccount:%s:%s" % (install.SYSTEM, account),
                         "groups": ["system:serviceaccounts", "system:serviceaccounts:" + install.SYSTEM, "system:authenticated"],
                         "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace, "group": group,
                                                "name": name, "subresource": subresource}}})
            return answer["status"]["allowed"]
        controller, agent = "drdotnet-controller", "drdotnet-agent"
        self.assertTrue(can(controller, "list", "profilingsessions", group="drdotnet.dev"))
        self.assertTrue(can(controller, "patch", "profilingsessions", group="drdotnet.dev", subresource="status"))
        self.assertTrue(can(controller, "update", "secrets", install.SYSTEM, name="drdotnet-link-tls"))
        for refused in (("get", "secrets", "shop"), ("list", "secrets", install.SYSTEM), ("create", "secrets", install.SYSTEM),
                        ("update", "pods", "shop"), ("create", "pods", "shop"), ("watch", "pods", "shop"),
                        ("get", "nodes", "")):
            self.assertFalse(can(controller, *refused), refused)
        for refused in (("list", "pods", "shop"), ("get", "secrets", install.SYSTEM), ("get", "configmaps", install.SYSTEM),
                        ("create", "events", "shop")):
            self.assertFalse(can(agent, *refused), refused)
        self.assertFalse(can(agent, "list", "profilingsessions", group="drdotnet.dev"))

    def test_an_agent_without_a_good_token_is_not_linked(self):
        agent = self.i.start_agent("node-a", wait=False)
        proc.wait_until(lambda: self.i.metric("drdotnet_agents_linked") == 1, 20, "a good one is linked")
        agent.stop()
        proc.wait_until(lambda: self.i.metric("drdotnet_agents_linked") == 0, 20, "it is gone")
        self.i.cluster.request("POST", "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "stranger"}})
        object_ = self.i.cluster.create_pod("shop", "stranger", "node-a", service_account="stranger")
        token = self.i.cluster.service_account_token("shop", "stranger", object_, install.AUDIENCE)
        with open(self.i.folder + "/drdotnet-agent-node-a/token", "w") as f:
            f.write(token)
        again = proc.Process(agent.words, log=self.folder + "/stranger.log")
        self.addCleanup(again.stop)
        time.sleep(4)
        self.assertEqual(self.i.metric("drdotnet_agents_linked"), 0)


class LeastPrivilege(ClusterCase):
    """The agent sees no process but its own and has DAC_OVERRIDE alone; pods share their /tmp folders with it."""

    def test_shared_folders_made_as_kubelet_makes_them(self):
        parent = os.path.join(self.folder, "pods-tmp", "parent")
        os.makedirs(parent)
        os.chmod(os.path.dirname(parent), 0o711)
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
        self.i.start_agent("node-a", mode="sharedTmp", parent=parent, prefix=alone)
        folder = os.path.join(parent, "shop_checkout-1")
        os.mkdir(folder, 0o755)  # as kubelet: root's, and not writable for the application
        time.sleep(0.5)          # the container follows much later
        made = self.pod("checkout-1", "hot", user=10001, readonly=True, shared_tmp=folder)
        self.assertTrue([n for n in os.listdir(folder) if n.startswith("dotnet-diagnostic-1-")], os.listdir(folder))
        before = dotnet.Traces(made)
        self.i.session("shop", "shared", self.spec(4))
        session = self.succeeded("shared")
        self.assertIn("Tax.Compute", session["status"]["diagnosis"])
        self.assertGreater(readers.folded(self.fetch(session)).self_share(TAX), 0.7)
        self.assertEqual(dotnet.Traces(made).left_since(before), {})
        made.assert_progress()


@unittest.skipUnless(kube.built(), "tests/setup/build-apiserver.sh has not been run")
class OldServer(ClusterCase):
    """Kubernetes 1.20: no CEL, no node's name in tokens."""
    assets = kube.BUILT

    def test_apply_to_diagnosis(self):
        self.i.start_agent("node-a")
        self.pod("checkout-1", "hot")
        self.i.session("shop", "old", self.spec(3))
        session = self.succeeded("old")
        self.assertIn("Tax.Compute", session["status"]["diagnosis"])
        self.assertGreater(readers.folded(self.fetch(session)).self_share(TAX), 0.7)

    def test_the_controller_says_what_the_schema_could_not(self):
        self.i.start_agent("node-a")
        self.i.session("shop", "wrong", self.spec(3, {"podName": "a", "selector": {"matchLabels": {"app": "checkout"}}}))
        session = self.i.wait_condition("shop", "wrong", "Accepted", ("False",), 20)
        condition = self.i.condition(session, "Accepted")
        self.assertEqual(condition["reason"], "InvalidSpec")
        self.assertIn("target", condition["message"])


class OwnStore(ClusterCase):
    use_s3 = False

    def test_without_object_storage_the_controller_keeps_the_report(self):
        self.i.start_agent("node-a")
        self.pod("checkout-1", "hot")
        self.i.session("shop", "own", self.spec(3))
        session = self.succeeded("own")
        reports = session["status"]["targets"][0]["reports"]
        self.assertEqual({r["name"] for r in reports}, set(readers.MEDIA))
        stored = [os.path.join(where, name) for where, _, names in os.walk(self.i.folder) for name in names
                  if name.endswith("stacks.folded") and "controller" in where]
        self.assertEqual(len(stored), 1, stored)
        with open(stored[0], "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        self.assertIn(digest, [r["sha256"] for r in reports])


if __name__ == "__main__":
    unittest.main()
