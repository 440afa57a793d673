"""What the controller refuses or lets wait: each with a reason of its own, a remedy, and nothing touched. And how much it takes at most."""
import json
import unittest

from tests.system.controller.fakehub import condition
from tests.system.controller.test_sessions import COST, REPORT, ControllerTest, session
from tests.lib import matrix, proc

PART = "Controller: refusals"


class Refused(ControllerTest):
    time_limit = 240

    def waits(self, name, reason, *said):
        """It waits for this reason, names a remedy, and nothing has happened."""
        now = self.sessions.wait_condition(name, "Succeeded", "Unknown", reason)
        for text in said:
            self.assertIn(text, condition(now, "Succeeded")["message"])
        self.assertEqual(condition(now, "Accepted")["status"], "True")
        self.assertNotIn("finalizers", now["metadata"])
        self.assertNotIn("targets", now["status"])
        return now

    def test_an_agent_too_old(self):
        self.pod("checkout-1")
        hub = self.leader()
        hub.say("link", "n1", 0, "oldest")
        self.sessions.create("cpu")
        self.waits("cpu", "AgentTooOld", "agent 0.0.7 of node n1 does not know the profiler CPUHotpaths", "Upgrade the agent's DaemonSet")
        self.assertIsNone(hub.poll("order"))
        self.pod("checkout-2", "n2")
        hub.say("link", "n2", 0)
        node, order = hub.order("cpu")
        self.assertEqual((node, order["pod"]["name"]), ("n2", "checkout-2"), "another pod will do")
        self.sessions.create("both", maxPods=2)
        self.assertEqual(hub.order("both")[0], "n2")
        self.sessions.wait("both", lambda s: [t.get("reason") for t in s["status"]["targets"]][1:] == ["AgentTooOld"], "the other one waits")
        hub.say("unlink", "n1")
        hub.say("link", "n1", 0, "old")
        self.assertEqual(hub.order("both")[0], "n1", "upgraded")
        for kind in ("GCSurvivors", "MemoryLeak", "DuplicatedStrings", "Allocations", "RuntimePauses", "Exceptions", "Deadlocks",
                     "StuckTasks", "Waits", "Threads", "SlowRequests"):
            self.sessions.create(kind.lower(), profiler=kind, target={"podName": "checkout-1", "maxPods": 1})
            self.waits(kind.lower(), "AgentTooOld", "agent 0.0.7 of node n1 does not know the profiler " + kind, "Upgrade the agent's DaemonSet")
        matrix.row(self, PART, "choosing", "the agent of the pod's node does not know the session's profiler",
                   "waits as AgentTooOld; another pod is taken, or this one when its agent is upgraded; nothing was touched")

    def test_a_store_that_is_not_there(self):
        self.pod("checkout-1")
        bucket = "endpoint: 'https://s3.example.com', bucket: box, credentialsFolder: /nowhere"
        hub = self.leader("n1", stores="stores: [{name: default, s3: {%s}}, {name: archive, s3: {%s}}]" % (bucket, bucket))
        self.sessions.create("elsewhere", output={"store": "archives"})
        ended = self.sessions.wait_condition("elsewhere", "Succeeded", "False", "StoreNotFound")
        self.assertIn('spec.output.store: this installation has no store "archives"; known are default, archive', condition(ended, "Succeeded")["message"])
        self.assertEqual(condition(ended, "Accepted")["status"], "False")
        self.assertNotIn("targets", ended["status"])
        self.sessions.create("archived", output={"store": "archive"})
        self.assertEqual(hub.order("archived")[1]["pod"]["name"], "checkout-1", "the first order is this one")

    def test_no_agent_until_one_comes(self):
        self.pod("checkout-1")
        hub = self.leader()
        self.sessions.create("cpu")
        self.waits("cpu", "NodeWithoutAgent", "no agent is linked from node n1 of pod checkout-1", "Check that the agent's pod on this node runs and is ready")
        hub.say("link", "n1", 0)
        hub.order("cpu")
        matrix.row(self, PART, "choosing", "no agent is linked from the pod's node", "waits as NodeWithoutAgent; taken up when the agent comes")

    def test_pods_that_will_not_do(self):
        hub = self.leader("n1")
        other = self.namespace + "-other"
        self.cluster.namespace(other)
        self.cluster.create_pod(other, "theirs", "n1", labels={"app": "checkout"})
        self.pod("completed", phase="Succeeded")
        self.pod("failed", phase="Failed")
        self.sessions.create("a", pod="theirs")
        now = self.waits("a", "PodNotFound", "there is no pod theirs in namespace %s; waiting until " % self.namespace, "no such pod in this namespace")
        self.assertEqual(condition(now, "Running")["message"], condition(now, "Succeeded")["message"])
        proc.wait_until(lambda: [e["message"] for e in self.sessions.events("a")] == [condition(now, "Succeeded")["message"]], 20, "an event says it at once")
        self.sessions.create("c")
        self.waits("c", "PodNotRunning", "2 are not running", "completed pods cannot be profiled")
        self.pod("unready", conditions=[{"type": "Ready", "status": "False"}])
        self.waits("c", "PodNotReady", "2 are not running and 1 is not ready", "name it by spec.target.podName")
        self.sessions.create("d", selector={"app": "basket"})
        self.waits("d", "NoPodsMatched", "no pod of namespace %s matches app=basket" % self.namespace, "Check spec.target")
        self.assertIsNone(hub.poll("order"))
        for what, reason in (("a pod of another namespace", "PodNotFound"), ("only completed pods", "PodNotRunning"), ("no ready pod", "PodNotReady"),
                             ("no such pod", "NoPodsMatched")):
            matrix.row(self, PART, "choosing", what, "waits as %s until the deadline; nothing was touched" % reason)

    def test_a_named_pod_that_has_ended(self):
        def owned_pod(name, kind, **status):
            owner = {"apiVersion": "apps/v1", "kind": kind, "name": "checkout", "uid": "0", "controller": True}
            self.pod(name, **status)
            self.cluster.request("PATCH", "/api/v1/namespaces/%s/pods/%s" % (self.namespace, name), {"metadata": {"ownerReferences": [owner]}},
                                 "application/merge-patch+json")
        hub = self.leader("n1")
        self.pod("bare", phase="Failed")
        owned_pod("of-a-deployment", "ReplicaSet", phase="Succeeded")
        owned_pod("checkout-0", "StatefulSet", phase="Failed")
        for name in ("bare", "of-a-deployment"):
            self.sessions.create(name, pod=name)
            now = self.sessions.wait_condition(name, "Completed", "True", "PodGone")
            self.assertIn("pod %s has ended" % name, condition(now, "Succeeded")["message"])
            self.assertNotIn("waiting", condition(now, "Succeeded")["message"])
            self.assertNotIn("finalizers", now["metadata"])
        self.sessions.create("again", pod="checkout-0")
        self.waits("again", "PodNotRunning", "pod checkout-0 is not running; waiting until ")
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-0", "--grace-period=0", "--force")
        owned_pod("checkout-0", "StatefulSet")
        self.assertEqual(hub.order("again")[1]["pod"]["name"], "checkout-0")
        made = session("triggered", target={"podName": "gone", "maxPods": 1})
        made["metadata"]["ownerReferences"] = [{"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "name": "t",
                                                "uid": "0"}]
        self.cluster.request("POST", self.sessions.path, made)
        self.sessions.wait_condition("triggered", "Completed", "True", "PodNotFound")
        matrix.row(self, PART, "choosing", "the named pod has completed or is being deleted",
                   "ends at once as PodGone; the next one of a StatefulSet is waited for")
        matrix.row(self, PART, "choosing", "the pod that a trigger's source named is not there any more", "ends at once as PodNotFound; nothing was touched")

    def test_a_pod_that_goes_in_the_session(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        job = hub.order("cpu")[1]["jobID"]
        hub.job("n1", job, "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-1", "--grace-period=0", "--force")
        hub.job("n1", job, "Failed", startTime=1700000000000, reason="ProcessExited", message="the process ended during the session")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "ProcessExited")
        self.assertIn("its last logs say why", condition(now, "Succeeded")["message"])
        self.sessions.wait("cpu", lambda s: "finalizers" not in s["metadata"], "nothing holds it")
        hub.expect("forget")
        matrix.row(self, PART, "Profiling", "the pod goes", "ends as ProcessExited, as its agent says; nothing is left")

    def test_the_place_in_the_queue(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        job = hub.order("cpu")[1]["jobID"]

        def told(text):
            now = self.sessions.wait("cpu", lambda s: text in (condition(s, "Succeeded") or {}).get("message", ""), text)
            self.assertEqual(condition(now, "Succeeded")["reason"], "Queued")
        for place in (3, 2):
            hub.job("n1", job, "Queued", reason="Queued", queuePosition=place)
            told("place %d in the queue of node n1" % place)
        hub.job("n1", job, "Queued", reason="Queued", message="another session profiles this process", queuePosition=1)
        told("another session profiles this process; place 1 in the queue of node n1")
        proc.wait_until(lambda: [e["count"] for e in self.sessions.events("cpu") if e["reason"] == "Queued"] == [1], 20, "one event, whatever the place")
        hub.job("n1", job, "Failed", reason="DeadlineExceeded", message="the budget of the node or the process was in use until the deadline")
        now = self.sessions.wait_condition("cpu", "Completed", "True", "DeadlineExceeded")
        self.assertIn("was in use until the deadline", condition(now, "Succeeded")["message"])
        self.sessions.wait("cpu", lambda s: "finalizers" not in s["metadata"], "nothing holds it")
        matrix.row(self, PART, "Queued", "the budget of the node or the process is used up", "waits as Queued; the message has the place, and follows it")
        matrix.row(self, PART, "Queued", "the deadline passes", "ends as DeadlineExceeded; nothing was touched")

    def test_everything_at_its_bounds(self):
        """The longest names, the most targets, and agents that say as much as they may, in characters that need room."""
        node = "n" * 63
        pods = [("p%02d" % i).ljust(253, "x") for i in range(20)]
        for pod in pods:
            self.pod(pod, node)
        name = "s".ljust(253, "y")
        hub = self.leader(node)
        self.sessions.create(name, maxPods=20)
        jobs = [hub.order(name)[1]["jobID"] for _ in pods]
        reports = [dict(REPORT, name="%d" % i + "r" * 62) for i in range(8)]
        said = {"message": "\u202e" * 341, "headline": "\u20ac" * 80, "diagnosis": "\x1b\n" * 1024, "container": "c" * 63, "containerID": "d" * 128,
                "runtimeVersion": "9" * 128, "startTime": 1700000000000, "completionTime": 1700000030000, "reports": reports, "cost": COST}
        for job in jobs:
            hub.job(node, job, "Succeeded", **said)
        now = self.sessions.wait_condition(name, "Completed", "True", "Completed", seconds=60)
        self.assertEqual(now["status"]["podsSucceeded"], 20)
        self.assertLess(len(json.dumps(now)), 256 * 1024, "far below what etcd takes")
        self.assertNotIn("\x1b", json.dumps(now["status"], ensure_ascii=False))
        self.sessions.wait(name, lambda s: "finalizers" not in s["metadata"], "nothing holds it", 60)
        proc.wait_until(lambda: any(e["reason"] == "Completed" for e in self.sessions.events(name)), 10, "its event")
        self.assertNotIn('"kind":"Invalid"', hub.log(), "the schema takes it")
        matrix.row(self, PART, "Delivering", "20 targets with names of 253 characters, each with all texts at their bounds",
                   "taken; the object stays below 256 KiB")

if __name__ == "__main__":
    unittest.main()
