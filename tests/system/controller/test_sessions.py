"""The controller against a real API server with its RBAC authorizer, as the shipped service account with the shipped roles.
Agents are played by the test at the seam of the hub (fake_hub.c)."""
import base64
import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
import time
import unittest

from tests.system.controller.fakehub import FakeHub, Sessions, await_sessions, condition, session
from tests.lib import install, kube, proc

REPORT = {"name": "summary.md", "mediaType": "text/markdown", "sizeBytes": 12, "sha256": hashlib.sha256(b"hello").hexdigest(), "delivered": True}
COST = dict(maxPauseMicroseconds=0, maxWaitMicroseconds=310, addedCPUMilliseconds=4, agentCPUMilliseconds=30, droppedSamples=0, samples=2970,
            blockingCollections=2, blockingCollectionMicroseconds=31500)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % install.SYSTEM


@unittest.skipIf(kube.unavailable(), kube.unavailable() or "")
class ControllerTest(unittest.TestCase):
    """The tests of a class share an API server; each has a namespace and controllers of its own."""
    one_process = True
    crd = assets = None  # the definitions that the server understands, and the server that tests use normally

    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="drdotnet-controller-")
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        cls.cluster = kube.Cluster(cls.base + "/cluster", cls.assets)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.cluster.provide(cls.crd or cls.cluster.definitions(), *install.MANIFESTS)
        await_sessions(cls.cluster)
        cls.number = 0

    def setUp(self):
        type(self).number += 1
        self.namespace = "shop-%d" % self.number
        self.folder = os.path.join(self.base, self.namespace)
        os.mkdir(self.folder)
        self.cluster.namespace(self.namespace)
        self.sessions = Sessions(self.cluster, self.namespace)
        self.token_file = self.folder + "/token"
        self.write_token()
        self.kubeconfig = self.cluster.write_kubeconfig(self.folder + "/controller.kubeconfig", self.token_file)
        self.addCleanup(self.clear)

    def write_token(self):
        token = self.cluster.service_account_token(install.SYSTEM, "drdotnet-controller")
        with open(self.token_file, "w") as f:
            f.write(token)
        return token

    def clear(self):
        """Nothing of this test is left for the next one's controller."""
        for made in self.cluster.request("GET", "/apis/drdotnet.dev/v1alpha1/profilingsessions")["items"]:
            name, sessions = made["metadata"]["name"], Sessions(self.cluster, made["metadata"]["namespace"])
            sessions.patch(name, {"metadata": {"finalizers": None}})
            if sessions.get(name):
                sessions.delete(name)
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")

    def start(self, name="controller", kubeconfig=None, **options):
        hub = FakeHub(kubeconfig or self.kubeconfig, self.folder, name, **options)
        self.addCleanup(lambda: hub.popen.poll() is None and hub.stop())
        hub.expect("ready", 20)
        return hub

    def leader(self, *nodes, **options):
        hub = self.start(**options)
        for node in nodes:
            hub.say("link", node, 0)
        hub.epoch = hub.lead()
        return hub

    def pod(self, name, node="n1", container_ids=None, **status):
        made = self.cluster.create_pod(self.namespace, name, node, labels={"app": "checkout"}, running=False)
        self.cluster.set_pod_running(made, container_ids or {}, **status)
        return made

    def set_pod(self, name, **status):
        self.cluster.request("PATCH", "/api/v1/namespaces/%s/pods/%s/status" % (self.namespace, name), {"status": status},
                             "application/merge-patch+json")

    def succeed(self, hub, node, job_id, **fields):
        hub.job(node, job_id, "Succeeded", startTime=1700000000000, completionTime=1700000030000, headline="84% of CPU in Tax.Compute",
                diagnosis="84% of CPU in Tax.Compute\ncalled from Cart.Total", reports=[REPORT], cost=COST, **fields)


class MainPath(ControllerTest):
    def test_from_apply_to_succeeded(self):
        pod = self.pod("checkout-1", container_ids={"app": "ab" * 32})
        hub = self.leader("n1")
        made = self.sessions.create("cpu", durationSeconds=5)
        node, order = hub.order("cpu")
        self.assertEqual(node, "n1")
        self.assertEqual(order["epoch"], hub.epoch)
        self.assertEqual(order["pod"]["uid"], pod["metadata"]["uid"])
        self.assertEqual(order["pod"]["containers"], [{"name": "app", "id": "ab" * 32}])
        self.assertEqual(order["spec"]["durationSeconds"], 5)
        # assigned in the status before the order, and held by the finalizer
        now = self.sessions.get("cpu")
        target = now["status"]["targets"][0]
        self.assertEqual((target["podName"], target["podUID"], target["nodeName"], target["jobID"], target["phase"]),
                         ("checkout-1", pod["metadata"]["uid"], "n1", order["jobID"], "Pending"))
        self.assertEqual(now["metadata"]["finalizers"], ["drdotnet.dev/detach"])
        self.assertTrue(order["jobID"].startswith(made["metadata"]["uid"]))
        self.assertEqual(now["status"]["effective"]["cpuHotpaths"]["frequencyHertz"], 99)

        job = order["jobID"]
        hub.job("n1", job, "Preparing")
        hub.job("n1", job, "Profiling", startTime=1700000000000, firstSampleTime=1700000000123, pid=1, container="app",
                runtimeVersion="10.0.1")
        now = self.sessions.wait_condition("cpu", "Running", "True", "Profiling")
        self.assertEqual(now["status"]["state"], "Profiling")
        self.assertEqual(condition(now, "Succeeded")["status"], "Unknown")
        self.assertEqual(now["status"]["targets"][0]["firstSampleTime"], "2023-11-14T22:13:20.123000Z")
        hub.job("n1", job, "Delivering", startTime=1700000000000, headline="84% of CPU in Tax.Compute",
                diagnosis="84% of CPU in Tax.Compute\nsecond line", reports=[dict(REPORT, delivered=False)], cost=COST)
        now = self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "Delivering")
        self.assertIn("second line", now["status"]["diagnosis"])
        hub.say("upload", "n1", job)
        self.assertEqual(hub.expect("upload")[1:], ["0", "default", "%s/cpu-%s/checkout-1/" % (self.namespace, made["metadata"]["uid"][:8])])
        hub.say("upload", "n2", job)
        self.assertEqual(hub.expect("upload")[1:3], ["-1", "Denied:"])

        self.succeed(hub, "n1", job, pid=1, container="app", runtimeVersion="10.0.1")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        self.assertEqual(hub.expect("forget")[2], "n1")
        self.assertEqual(condition(now, "Succeeded")["status"], "True")
        status = now["status"]
        self.assertEqual((status["state"], status["headline"], status["podsMatched"], status["podsSucceeded"], status["podsFailed"]),
                         ("Succeeded", "84% of CPU in Tax.Compute", 1, 1, 0))
        self.assertEqual(status["targets"][0]["reports"][0]["sha256"], REPORT["sha256"])
        self.assertEqual(status["targets"][0]["cost"], COST)
        now = self.sessions.wait("cpu", lambda s: "finalizers" not in s["metadata"], "the finalizer is released")
        hub.say("upload", "n1", job)
        self.assertEqual(hub.expect("upload")[1:3], ["-1", "NotFound:"])
        reasons = proc.wait_until(lambda: {"PodChosen", "Profiling", "Completed"} <= {e["reason"] for e in self.sessions.events("cpu")}
                                  and self.sessions.events("cpu"), 5, "events")
        self.assertTrue(all(e["type"] == "Normal" for e in reasons), reasons)
        columns = self.cluster.kubectl("get", "psess", "-n", self.namespace, "-o", "wide")
        self.assertRegex(columns, r"cpu +CPUHotpaths +checkout-1 +Succeeded +84% of CPU in Tax.Compute")
        # the agent comes back with a job that it should have forgotten
        self.succeed(hub, "n1", job)
        self.assertEqual(hub.expect("forget")[2], "n1")
        self.assertEqual(hub.stop(), 0)
        lease = self.cluster.request("GET", LEASE)
        self.assertEqual(lease["spec"].get("holderIdentity", ""), "")
        self.assertNotIn("AddressSanitizer", hub.log())

    def test_several_pods_partly(self):
        for i in range(4):
            self.pod("checkout-%d" % i, "n%d" % i)
        hub = self.leader("n0", "n1", "n2", "n3")
        uid = self.cluster.request("GET", "/api/v1/namespaces/%s/pods/checkout-2" % self.namespace)["metadata"]["uid"]
        hub.say("usage", uid, 900)
        self.sessions.create("cpu", maxPods=2)
        orders = [hub.order("cpu") for _ in range(2)]
        by_pod = {o["pod"]["name"]: (node, o["jobID"]) for node, o in orders}
        self.assertIn("checkout-2", by_pod, "the busiest pod is chosen")
        hot = by_pod.pop("checkout-2")
        other_pod, other = by_pod.popitem()
        self.succeed(hub, *hot)
        hub.job(other[0], other[1], "Failed", reason="NoDotnetProcess", message="no .NET process answers")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "PartiallySucceeded")
        self.assertEqual(condition(now, "Succeeded")["status"], "False")
        self.assertEqual((now["status"]["podsMatched"], now["status"]["podsSucceeded"], now["status"]["podsFailed"]), (4, 1, 1))
        self.assertIn(other_pod, condition(now, "Succeeded")["message"])
        self.assertIn("checkout-2: 84%", now["status"]["diagnosis"])

    def test_a_node_speaks_only_of_its_own_jobs(self):
        self.pod("checkout-1")
        hub = self.leader("n1", "n2")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        self.succeed(hub, "n2", order["jobID"])
        time.sleep(0.5)
        self.assertEqual(self.sessions.get("cpu")["status"]["targets"][0]["phase"], "Pending")
        self.assertIn("not given", hub.log())


class WithoutCel(ControllerTest):
    """As on an API server that ignores the resource's rules: what they would refuse, the controller does."""
    crd = "crds/legacy"

    def test_invalid_spec(self):
        hub = self.leader("n1")
        self.sessions.create("bad", durationSeconds=100, activeDeadlineSeconds=20)
        now = self.sessions.wait_condition("bad", "Completed", "True", "InvalidSpec")
        self.assertEqual(condition(now, "Accepted")["status"], "False")
        self.assertIn("activeDeadlineSeconds", condition(now, "Accepted")["message"])
        self.assertEqual(condition(now, "Succeeded")["status"], "False")
        self.assertNotIn("finalizers", now["metadata"])
        hub.silent("order", 0.5)


class Refusals(ControllerTest):
    def test_waits_for_pods_then_takes_them(self):
        hub = self.leader("n1")
        self.sessions.create("cpu")
        now = self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "NoPodsMatched")
        self.assertEqual(condition(now, "Accepted")["status"], "True")
        self.assertIn("app", condition(now, "Succeeded")["message"])
        self.pod("checkout-1")
        hub.order("cpu")
        proc.wait_until(lambda: any(e["reason"] == "NoPodsMatched" and e["type"] == "Warning" for e in self.sessions.events("cpu")),
                        5, "a warning event")

    def test_no_pod_until_the_deadline(self):
        self.leader("n1")
        self.sessions.create("cpu", pod="nobody", durationSeconds=1, activeDeadlineSeconds=11)
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "PodNotFound")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "DeadlineExceeded", seconds=20)
        self.assertIn("PodNotFound: there is no pod nobody in namespace %s. Check spec.target.podName" % self.namespace, condition(now, "Succeeded")["message"])
        running = condition(now, "Running")
        self.assertEqual((running["status"], running["reason"]), ("False", "PodNotFound"), "whose fault it is")

    def test_node_without_agent(self):
        self.pod("checkout-1", "n1")
        hub = self.leader()
        self.sessions.create("cpu")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "NodeWithoutAgent")
        hub.say("link", "n1", 0)
        hub.order("cpu")


class Ends(ControllerTest):
    def test_cancel(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        self.sessions.patch("cpu", {"spec": {"cancel": True}})
        self.assertIn(order["jobID"], hub.expect("cancel")[3])
        hub.job("n1", order["jobID"], "Canceled", startTime=1700000000000, headline="busy", diagnosis="busy", reports=[REPORT])
        now = self.sessions.wait_condition("cpu", "Completed", "True", "Canceled")
        self.assertEqual(now["status"]["state"], "Canceled")
        self.assertEqual(len(now["status"]["targets"][0]["reports"]), 1)
        hub.expect("forget")

    def test_cancel_before_pods(self):
        self.leader("n1")
        self.sessions.create("cpu")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "NoPodsMatched")
        self.sessions.patch("cpu", {"spec": {"cancel": True}})
        self.sessions.wait_condition("cpu", "Completed", "True", "Canceled")

    def test_delete_while_running(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        self.sessions.delete("cpu")
        hub.expect("cancel")
        time.sleep(0.5)
        self.assertIsNotNone(self.sessions.get("cpu"), "held until the profiler has left the process")
        hub.job("n1", order["jobID"], "Analyzing", startTime=1700000000000)
        self.sessions.wait_gone("cpu", 5)
        hub.expect("forget")  # whatever the agent has said until now: nobody answers it any more
        hub.job("n1", order["jobID"], "Canceled", startTime=1700000000000)
        hub.expect("forget")

    def test_delete_of_one_whose_node_is_gone_and_ttl(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu", ttlSecondsAfterFinished=2)
        _, order = hub.order("cpu")
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True")
        self.sessions.wait_gone("cpu", 10)
        self.sessions.create("now", ttlSecondsAfterFinished=0)
        _, order = hub.order("now")
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_gone("now", 5)

    def test_pod_goes_before_its_order(self):
        """Two pods, one node without agent: the pod there is replaced before its agent links."""
        self.pod("checkout-1", "n1")
        self.pod("checkout-2", "n2")
        hub = self.leader("n1")
        self.sessions.create("cpu", maxPods=2)
        _, order = hub.order("cpu")
        self.assertEqual(order["pod"]["name"], "checkout-1")
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-2", "--grace-period=0", "--force")
        hub.say("link", "n2", 0)
        now = self.sessions.wait("cpu", lambda s: any(t.get("reason") == "PodGone" for t in s["status"]["targets"]), "PodGone")
        self.succeed(hub, "n1", order["jobID"])
        now = self.sessions.wait_condition("cpu", "Completed", "True", "PartiallySucceeded")
        self.assertEqual(now["status"]["podsFailed"], 1)

    def test_pod_goes_while_its_job_waits_for_its_turn(self):
        """Its agent finds no process, and cannot tell why; of a pod that is there it is right."""
        self.pod("checkout-1", container_ids={"app": "ab" * 32})
        hub = self.leader("n1")
        for name, reason in (("there", "NoDotnetProcess"), ("crashed", "PodNotRunning"), ("gone", "PodGone")):
            self.sessions.create(name)
            _, order = hub.order(name)
            hub.job("n1", order["jobID"], "Queued", queuePosition=1)
            if reason == "PodNotRunning":
                self.set_pod("checkout-1", containerStatuses=[{"name": "app", "ready": False, "image": "", "imageID": "", "restartCount": 1,
                                                               "state": {"waiting": {"reason": "CrashLoopBackOff"}}}])
            if reason == "PodGone":
                self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-1", "--grace-period=0", "--force")
            hub.job("n1", order["jobID"], "Failed", reason="NoDotnetProcess", message="none of the processes of pod checkout-1 is a .NET process")
            self.sessions.wait_condition(name, "Completed", "True", reason)


class Choice(ControllerTest):
    """Which pods a session takes."""

    def chosen(self, hub, name):
        """The pods of the orders of a session, by their order."""
        count = len(self.sessions.wait(name, lambda s: s.get("status", {}).get("targets"), "targets")["status"]["targets"])
        return [hub.order(name)[1]["pod"]["name"] for _ in range(count)]

    def test_newest_first_of_those_that_are_ready_and_run(self):
        self.pod("checkout-old")
        not_ready = [{"type": "Ready", "status": "False"}]
        time.sleep(1.1)  # creation times have a second's grain
        self.pod("checkout-new")
        time.sleep(1.1)
        self.pod("checkout-unready", conditions=not_ready)
        self.pod("checkout-pending", phase="Pending")
        self.pod("checkout-done", phase="Succeeded")
        self.pod("checkout-leaving")
        self.cluster.request("DELETE", "/api/v1/namespaces/%s/pods/checkout-leaving" % self.namespace, {"gracePeriodSeconds": 600})
        self.cluster.create_pod(self.namespace, "basket-1", "n1", labels={"app": "basket"})
        hub = self.leader("n1")
        self.sessions.create("one")
        node, order = hub.order("one")
        self.assertEqual(order["pod"]["name"], "checkout-new")
        self.succeed(hub, node, order["jobID"])  # while it lasts, others take the other pod
        self.sessions.wait_condition("one", "Completed", "True")
        self.sessions.create("many", maxPods=20)
        self.assertEqual(self.chosen(hub, "many"), ["checkout-new", "checkout-old"])
        self.assertEqual(self.sessions.get("many")["status"]["podsMatched"], 6)
        self.sessions.create("named", pod="checkout-unready")
        self.assertEqual(self.chosen(hub, "named"), ["checkout-unready"], "who names a pod may have it unready")

    def test_none_that_will_do(self):
        self.leader("n1")
        self.pod("checkout-1", conditions=[{"type": "Ready", "status": "False"}])
        self.pod("checkout-2", phase="Failed")
        self.sessions.create("cpu")
        now = self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "PodNotReady")
        self.assertIn("2 pods match", condition(now, "Succeeded")["message"])
        self.assertIn("1 is not running and 1 is not ready", condition(now, "Succeeded")["message"])
        self.sessions.create("named", pod="checkout-2")
        self.sessions.wait_condition("named", "Completed", "True", "PodGone")

    def test_expressions_are_asked_of_the_api_server(self):
        for name, tier in (("checkout-1", "web"), ("checkout-2", "batch"), ("checkout-3", "test")):
            self.pod(name)
            self.cluster.request("PATCH", "/api/v1/namespaces/%s/pods/%s" % (self.namespace, name), {"metadata": {"labels": {"tier": tier}}},
                                 "application/merge-patch+json")
        hub = self.leader("n1")
        made = session("cpu", maxPods=5)
        made["spec"]["target"]["selector"] = {"matchLabels": {"app": "checkout"}, "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["web", "batch"]}, {"key": "tier", "operator": "NotIn", "values": ["batch"]},
            {"key": "legacy", "operator": "DoesNotExist"}]}
        self.cluster.request("POST", self.sessions.path, made)
        self.assertEqual(self.chosen(hub, "cpu"), ["checkout-1"])


class Access(ControllerTest):
    """What the controller needs to be let in."""

    def test_a_role_in_its_namespaces_is_enough(self):
        rules = self.cluster.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/drdotnet-controller")["rules"]
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/"
        subject = {"kind": "ServiceAccount", "name": "limited", "namespace": self.namespace}
        self.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % self.namespace, {"metadata": {"name": "limited"}})
        self.cluster.request("POST", rbac % self.namespace + "roles", {"metadata": {"name": "limited"}, "rules": [
            r for r in rules if not {"tokenreviews", "subjectaccessreviews"} & set(r["resources"])]})
        self.cluster.request("POST", rbac % install.SYSTEM + "roles", {"metadata": {"name": self.namespace}, "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"]}]})
        for place, role in ((self.namespace, "limited"), (install.SYSTEM, self.namespace)):
            self.cluster.request("POST", rbac % place + "rolebindings", {
                "metadata": {"name": self.namespace}, "subjects": [subject],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}})
        with open(self.token_file, "w") as f:
            f.write(self.cluster.service_account_token(self.namespace, "limited"))
        self.pod("checkout-1")
        hub = self.leader("n1", namespaces=self.namespace)
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        proc.wait_until(lambda: self.sessions.events("cpu"), 5, "events")
        hub.stop()
        everywhere = FakeHub(self.kubeconfig, self.folder, "everywhere")
        self.addCleanup(everywhere.stop)
        proc.wait_until(lambda: re.search(r"profilingsessions.*cannot list resource", everywhere.log()), 20, "it says what it lacks")
        everywhere.silent("ready", 0.3)

    def test_each_way_of_a_kubeconfig(self):
        with open(self.token_file) as f:
            token = f.read()
        admin = json.loads(self.cluster.kubectl("config", "view", "--raw", "-o", "json"))["users"][0]["user"]
        data = {}
        for name in ("client-certificate", "client-key"):
            with open(admin[name], "rb") as f:
                data[name + "-data"] = base64.b64encode(f.read()).decode()
        authority = {"certificate-authority-data": base64.b64encode(self.cluster.ca_pem).decode()}
        ways = {"token": {"token": token}, "certificate-files": admin, "certificate-data": data}
        for name, user in ways.items():
            with self.subTest(name):
                hub = self.start(name, kubeconfig=self.write_config(name, authority, user), namespaces=self.namespace)
                self.assertEqual(hub.stop(), 0)
        for name, user, said in (("exec", {"exec": {"command": "x"}}, "users.user.exec: not supported"),
                                 ("password", {"username": "a", "password": "b"}, "users.user.username: not supported")):
            with self.subTest(name):
                hub = FakeHub(self.write_config(name, authority, user), self.folder, name)
                self.assertEqual(hub.popen.wait(20), 1)
                hub.stop()
                self.assertIn(said, hub.log())

    def test_a_server_that_is_not_the_one_meant_is_refused(self):
        other = kube.make_pki(self.folder)
        with open(other + "/ca.crt", "rb") as f:
            authority = {"certificate-authority-data": base64.b64encode(f.read()).decode()}
        with open(self.token_file) as f:
            user = {"token": f.read()}
        hub = FakeHub(self.write_config("other", authority, user), self.folder, "other")
        self.addCleanup(hub.stop)
        proc.wait_until(lambda: "certificate" in hub.log(), 20, "the refusal")
        hub.silent("ready", 0.3)

    def write_config(self, name, cluster, user):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": user}],
                  "clusters": [{"name": "k", "cluster": {"server": self.cluster.server, **cluster}}],
                  "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}
        path = os.path.join(self.folder, name + ".yaml")
        with open(path, "w") as f:
            json.dump(config, f)
        return path


if __name__ == "__main__":
    unittest.main()
