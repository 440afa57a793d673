"""What the controller asks of the API server between a session's beginning and its order. Each call is a moment more until the first sample, and on a
busy API server a long one."""
import unittest

from tests.system.controller.fakehub import condition, session
from tests.system.controller.test_faults import FaultyTest
from tests.lib import proc

FINALIZER = "drdotnet.dev/detach"


class CallsTest(FaultyTest):
    def make(self, name, held, **words):
        """`held`: by its finalizer from the beginning, as those that triggers and the REST API make."""
        body = session(name, pod=words.pop("pod", "checkout-1"), **words)
        if held:
            body["metadata"]["finalizers"] = [FINALIZER]
        return self.cluster.request("POST", self.sessions.path, body)

    def leader(self, *nodes, **options):
        hub = super().leader(*nodes, kubeconfig=self.kubeconfig, **options)
        proc.wait_until(self.api.running, 20, "the watch")
        return hub


class Calls(CallsTest):
    def until_its_order(self, hub, name, held):
        """(method, what) of each call from the session's beginning on, in their order."""
        with self.api.lock:
            before = len(self.api.requests)
        self.make(name, held)
        node, order = hub.order(name)
        with self.api.lock:
            calls = [r for r in self.api.requests[before:] if not r.is_watch and any(part in r.path for part in ("/pods", "/profilingsessions/"))]
        now = self.sessions.get(name)
        self.assertEqual(now["metadata"]["finalizers"], [FINALIZER])
        self.assertEqual(now["status"]["targets"][0]["jobID"], order["jobID"])
        self.assertEqual(node, "n1")
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait(name, lambda s: "finalizers" not in s["metadata"], "the finalizer is released")
        return [(r.method, "pod" if "/pods" in r.path else "status" if "/status" in r.path else "session") for r in calls]

    def test_a_session_that_is_made_with_its_finalizer_is_ordered_after_one_write(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.assertEqual(self.until_its_order(hub, "plain", False), [("GET", "pod"), ("PATCH", "session"), ("PATCH", "status")])
        self.assertEqual(self.until_its_order(hub, "held", True), [("GET", "pod"), ("PATCH", "status")])

    def test_one_that_is_deleted_while_it_waits_goes_at_once(self):
        self.leader("n1")
        self.make("waits", True, pod="nobody")
        self.sessions.wait_condition("waits", "Succeeded", "Unknown", "PodNotFound")
        self.sessions.delete("waits")
        self.sessions.wait_gone("waits")


class WithoutCel(CallsTest):
    """As on an API server that ignores the resource's rules: what they would refuse, the controller does."""
    crd = "crds/legacy"

    def test_one_that_ends_without_a_pod_is_not_held_any_longer(self):
        self.leader("n1")
        self.make("invalid", True, activeDeadlineSeconds=10)
        self.make("late", True, pod="nobody")
        self.sessions.wait_condition("late", "Succeeded", "Unknown", "PodNotFound")
        self.sessions.patch("late", {"spec": {"cancel": True}})
        for name, reason in (("invalid", "InvalidSpec"), ("late", "Canceled")):
            now = self.sessions.wait(name, lambda s: "finalizers" not in s["metadata"], "nothing holds it")
            self.assertEqual(condition(now, "Completed")["reason"], reason)


if __name__ == "__main__":
    unittest.main()
