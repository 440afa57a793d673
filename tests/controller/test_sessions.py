"""The controller against a real API server with its RBAC authorizer, as the shipped service account with the shipped roles.
Agents are played by the test at the seam of the hub (fake_hub.c)."""
import hashlib
import json
import os
import shutil
import signal
import tempfile
import time
import unittest

from tests.controller.fakehub import FakeHub, Sessions, condition
from tests.lib import kube, proc

REPORT = {"name": "summary.md", "mediaType": "text/markdown", "sizeBytes": 12,
          "sha256": hashlib.sha256(b"hello").hexdigest(), "delivered": True}
COST = {"maxPauseMicroseconds": 0, "addedCPUMilliseconds": 4, "agentCPUMilliseconds": 30, "droppedSamples": 0, "samples": 2970}


@unittest.skipIf(kube.unavailable(), kube.unavailable() or "")
class ControllerTest(unittest.TestCase):
    namespace = "shop"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-controller-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cluster = kube.Cluster(self.folder + "/cluster")
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__)
        self.cluster.apply("crds/drdotnet.dev_profilingsessions.yaml", "deploy/manifests/00-namespace.yaml",
                           "deploy/manifests/10-rbac.yaml", "deploy/manifests/20-link.yaml")
        self.cluster.kubectl("wait", "--for=condition=Established", "crd/profilingsessions.drdotnet.dev")
        self.cluster.namespace(self.namespace)
        self.sessions = Sessions(self.cluster, self.namespace)
        token_file = self.folder + "/token"
        with open(token_file, "w") as f:
            f.write(self.cluster.service_account_token("drdotnet-system", "drdotnet-controller"))
        self.kubeconfig = self.cluster.write_kubeconfig(self.folder + "/controller.kubeconfig", token_file)

    def start(self, name="controller", **options):
        hub = FakeHub(self.kubeconfig, self.folder, name, **options)
        self.addCleanup(lambda: hub.popen.poll() is None and hub.stop())
        hub.expect("ready", 20)
        return hub

    def leader(self, *nodes, **options):
        hub = self.start(**options)
        for node in nodes:
            hub.say("link", node, 0)
        hub.epoch = hub.lead()
        return hub

    def pod(self, name, node="n1", container_ids=None):
        made = self.cluster.create_pod(self.namespace, name, node, labels={"app": "checkout"}, running=False)
        self.cluster.set_pod_running(made, container_ids or {})
        return made

    def succeed(self, hub, node, job_id, **fields):
        hub.job(node, job_id, "Succeeded", startTime=1700000000000, completionTime=1700000030000, headline="84 % of CPU in Tax.Compute",
                diagnosis="84 % of CPU in Tax.Compute\ncalled from Cart.Total", reports=[REPORT], cost=COST, **fields)


class MainPath(ControllerTest):
    def test_from_apply_to_succeeded(self):
        pod = self.pod("checkout-1", container_ids={"app": "ab" * 32})
        hub = self.leader("n1")
        made = self.sessions.create("cpu", durationSeconds=5)
        began = time.monotonic()  # not before: an API server holds the first objects of a new resource back for 2 s
        node, order = hub.order("cpu")
        taken = time.monotonic() - began
        self.assertEqual(node, "n1")
        self.assertEqual(order["epoch"], hub.epoch)
        self.assertEqual(order["pod"]["uid"], pod["metadata"]["uid"])
        self.assertEqual(order["pod"]["containers"], [{"name": "app", "id": "ab" * 32}])
        self.assertEqual(order["spec"]["durationSeconds"], 5)
        self.assertLess(taken, 1.0, "from apply to the order")
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
        hub.job("n1", job, "Delivering", startTime=1700000000000, headline="84 % of CPU in Tax.Compute",
                diagnosis="84 % of CPU in Tax.Compute\nsecond line", reports=[dict(REPORT, delivered=False)], cost=COST)
        now = self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "Delivering")
        self.assertIn("second line", now["status"]["diagnosis"])
        hub.say("upload", "n1", job)
        self.assertEqual(hub.expect("upload")[1:], ["0", "default", "shop/cpu-%s/checkout-1/" % made["metadata"]["uid"][:8]])
        hub.say("upload", "n2", job)
        self.assertEqual(hub.expect("upload")[1:3], ["-1", "Denied:"])

        self.succeed(hub, "n1", job, pid=1, container="app", runtimeVersion="10.0.1")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        self.assertEqual(hub.expect("forget")[2], "n1")
        self.assertEqual(condition(now, "Succeeded")["status"], "True")
        status = now["status"]
        self.assertEqual((status["state"], status["headline"], status["podsMatched"], status["podsSucceeded"], status["podsFailed"]),
                         ("Succeeded", "84 % of CPU in Tax.Compute", 1, 1, 0))
        self.assertEqual(status["targets"][0]["reports"][0]["sha256"], REPORT["sha256"])
        self.assertEqual(status["targets"][0]["cost"]["samples"], 2970)
        now = self.sessions.wait("cpu", lambda s: "finalizers" not in s["metadata"], "the finalizer is released")
        hub.say("upload", "n1", job)
        self.assertEqual(hub.expect("upload")[1:3], ["-1", "NotFound:"])
        reasons = proc.wait_until(lambda: {"PodChosen", "Profiling", "Completed"} <= {e["reason"] for e in self.sessions.events("cpu")}
                                  and self.sessions.events("cpu"), 5, "events")
        self.assertTrue(all(e["type"] == "Normal" for e in reasons), reasons)
        columns = self.cluster.kubectl("get", "psess", "-n", "shop", "-o", "wide")
        self.assertRegex(columns, r"cpu +CPUHotpaths +checkout-1 +Succeeded +84 % of CPU in Tax.Compute")
        # the agent comes back with a job that it should have forgotten
        self.succeed(hub, "n1", job)
        self.assertEqual(hub.expect("forget")[2], "n1")
        self.assertEqual(hub.stop(), 0)
        lease = self.cluster.request("GET", "/apis/coordination.k8s.io/v1/namespaces/drdotnet-system/leases/drdotnet-controller")
        self.assertEqual(lease["spec"].get("holderIdentity", ""), "")
        self.assertNotIn("AddressSanitizer", hub.log())

    def test_the_order_comes_within_milliseconds(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        taken = []
        for i in range(100):
            began = time.monotonic()
            self.sessions.create("s%d" % i)
            hub.order("s%d" % i)
            taken.append(time.monotonic() - began)
        taken.sort()
        print("apply -> order: median %.1f ms, p99 %.1f ms" % (taken[50] * 1000, taken[98] * 1000))
        self.assertLess(taken[98], 0.3)

    def test_several_pods_partly(self):
        for i in range(4):
            self.pod("checkout-%d" % i, "n%d" % i)
        hub = self.leader("n0", "n1", "n2", "n3")
        uid = self.cluster.request("GET", "/api/v1/namespaces/shop/pods/checkout-2")["metadata"]["uid"]
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
        self.assertIn("checkout-2: 84 %", now["status"]["diagnosis"])

    def test_a_node_speaks_only_of_its_own_jobs(self):
        self.pod("checkout-1")
        hub = self.leader("n1", "n2")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        self.succeed(hub, "n2", order["jobID"])
        time.sleep(0.5)
        self.assertEqual(self.sessions.get("cpu")["status"]["targets"][0]["phase"], "Pending")
        self.assertIn("not given", hub.log())


class Refusals(ControllerTest):
    def test_invalid_spec_without_cel(self):
        self.cluster.kubectl("delete", "crd", "profilingsessions.drdotnet.dev")
        legacy = [f for f in os.listdir(os.path.join(proc.ROOT, "crds/legacy")) if f.endswith(".yaml")]
        self.cluster.apply(*["crds/legacy/" + f for f in legacy])
        self.cluster.kubectl("wait", "--for=condition=Established", "crd/profilingsessions.drdotnet.dev")
        hub = self.leader("n1")
        self.sessions.create("bad", durationSeconds=100, activeDeadlineSeconds=20)
        now = self.sessions.wait_condition("bad", "Completed", "True", "InvalidSpec")
        self.assertEqual(condition(now, "Accepted")["status"], "False")
        self.assertIn("activeDeadlineSeconds", condition(now, "Accepted")["message"])
        self.assertEqual(condition(now, "Succeeded")["status"], "False")
        self.assertNotIn("finalizers", now["metadata"])
        hub.silent("order", 0.5)

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
        self.assertIn("PodNotFound", condition(now, "Succeeded")["message"])

    def test_node_without_agent(self):
        self.pod("checkout-1", "n1")
        hub = self.leader()
        self.sessions.create("cpu")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "NodeWithoutAgent")
        began = time.monotonic()
        hub.say("link", "n1", 0)
        hub.order("cpu")
        self.assertLess(time.monotonic() - began, 1)


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
        self.cluster.kubectl("delete", "pod", "-n", "shop", "checkout-2", "--grace-period=0", "--force")
        hub.say("link", "n2", 0)
        now = self.sessions.wait("cpu", lambda s: any(t.get("reason") == "PodGone" for t in s["status"]["targets"]), "PodGone")
        self.succeed(hub, "n1", order["jobID"])
        now = self.sessions.wait_condition("cpu", "Completed", "True", "PartiallySucceeded")
        self.assertEqual(now["status"]["podsFailed"], 1)


class Restarts(ControllerTest):
    def test_two_replicas_and_a_leader_change(self):
        self.pod("checkout-1")
        first = self.leader("n1", name="first")
        second = self.start("second")
        second.say("link", "n1", 0)
        self.sessions.create("cpu")
        _, order = first.order("cpu")
        first.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        second.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        second.silent("order", 0.5)
        first.stop(signal.SIGTERM)
        epoch = second.lead()
        self.assertGreater(epoch, first.epoch)
        self.succeed(second, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        second.silent("order", 0.2)

    def test_a_killed_leader_is_replaced_with_a_newer_epoch(self):
        first = self.leader(name="first")
        second = self.start("second")
        second.say("link", "n9", first.epoch + 41)
        began = time.monotonic()
        first.stop(signal.SIGKILL)
        epoch = int(second.expect("epoch", 20, lambda w: w[1] != "0")[1])
        self.assertLess(time.monotonic() - began, 13)
        self.assertEqual(epoch, first.epoch + 42, "newer than what any agent has seen")

    def test_restart_in_the_middle(self):
        """The session goes on with the same job; the agent's words count after the restart too."""
        self.pod("checkout-1")
        hub = self.leader("n1", name="first")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        hub.stop(signal.SIGTERM)
        hub = self.leader(name="second")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "AgentLost")
        self.succeed(hub, "n1", order["jobID"])
        hub.say("link", "n1", 1)
        self.sessions.wait_condition("cpu", "Completed", "True", "Completed")

    def test_ordered_again_when_the_agent_has_lost_the_job(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        hub.say("unlink", "n1")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "AgentLost")
        hub.say("link", "n1", 1)
        _, again = hub.order("cpu")
        self.assertEqual(again["jobID"], order["jobID"])

    def test_api_server_restart(self):
        """The watch resumes (or lists again) after the API server was away; nothing is lost or done twice."""
        if not os.environ.get("DRDOTNET_TEST_APISERVER"):
            self.skipTest("needs an API server that can be started again on its data")
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("before")
        _, order = hub.order("before")
        port = self.cluster.server.rpartition(":")[2]
        kube._end(self.cluster.outside_pid)
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        time.sleep(2)
        os.environ["PORT"] = port
        self.cluster._start_outside()
        proc.wait_until(self.cluster._ready, 60, "the API server is back")
        self.sessions.wait_condition("before", "Running", "True", seconds=60)
        self.sessions.create("after")
        hub.order("after", 60)
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("before", "Completed", "True", "Completed", seconds=60)
        hub.silent("order", 0.3)

    def test_only_the_given_namespaces(self):
        self.cluster.namespace("other")
        self.pod("checkout-1")
        self.cluster.create_pod("other", "checkout-1", "n1", labels={"app": "checkout"})
        hub = self.leader("n1", namespaces="other")
        self.sessions.create("mine")
        Sessions(self.cluster, "other").create("theirs")
        hub.order("theirs")
        hub.silent("order", 0.5)


if __name__ == "__main__":
    unittest.main()
