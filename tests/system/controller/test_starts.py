"""Sessions that wait for the next container of their target to start. Agents are played."""
from tests.lib import proc
from tests.system.controller.fakehub import condition
from tests.system.controller.test_sessions import ControllerTest


class Starts(ControllerTest):
    def arm(self, hub, name, pods=(), hertz=99, **spec):
        """Until the agents have been told of these pods: (name, node)."""
        wanted = {"%s@%s:%d" % (self.uid(pod), node, hertz) for pod, node in pods}
        self.sessions.create(name, start="NextContainerStart", **spec)
        self.sessions.wait_condition(name, "Running", "False", "WaitingForContainerStart")
        hub.expect("await", match=lambda words: words[2] != "0" and wanted == set(words[3].split(" ", 1)[1].split(",")) - {""})

    def uid(self, name):
        return self.cluster.request("GET", "/api/v1/namespaces/%s/pods/%s" % (self.namespace, name))["metadata"]["uid"]

    def test_it_waits_without_a_place_and_takes_the_pod_that_starts(self):
        for name in ("checkout-1", "checkout-2"):
            self.pod(name)
        self.cluster.create_pod(self.namespace, "basket", "n1", labels={"app": "basket"}, running=False)
        hub = self.leader("n1", max_pods=1)
        pods = [("checkout-1", "n1"), ("checkout-2", "n1")]
        self.arm(hub, "first", pods)
        self.arm(hub, "second", pods)
        self.assertIn("app=checkout", condition(self.sessions.get("first"), "Running")["message"])
        self.sessions.create("now")
        node, order = hub.order("now")
        hub.job(node, order["jobID"], "Succeeded")
        self.sessions.wait_condition("now", "Completed", "True")
        hub.say("started", "n1", self.uid("basket"))
        hub.silent("order", 0.5)
        hub.say("started", "n1", self.uid("checkout-2"))
        node, order = hub.order()
        self.assertEqual((node, order["pod"]["name"], order["spec"]["start"]), ("n1", "checkout-2", "NextContainerStart"))
        taken, other = sorted(("first", "second"), key=lambda name: name != order["session"]["name"])
        hub.silent("order", 0.5)
        self.sessions.wait_condition(other, "Running", "False", "WaitingForContainerStart")
        self.cluster.set_pod_running(self.cluster.request("GET", "/api/v1/namespaces/%s/pods/checkout-2" % self.namespace), {}, conditions=[
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:14Z"}])
        hub.job(node, order["jobID"], "Succeeded")
        self.sessions.wait_condition(taken, "Completed", "True")
        told = condition(self.sessions.get(taken), "Succeeded")["message"]
        self.assertTrue(told.endswith(". The pod became ready 14 s after its container started."), told)
        self.sessions.delete(other)
        hub.expect("await", match=lambda words: words[2] == "0")

    def test_after_a_missed_start_it_waits_for_the_next_one(self):
        for name in ("checkout-1", "checkout-2", "checkout-3"):
            self.pod(name)
        hub = self.leader("n1")
        pods = [("checkout-1", "n1"), ("checkout-2", "n1"), ("checkout-3", "n1")]
        self.arm(hub, "first", pods)
        jobs = []
        for name in ("checkout-1", "checkout-2", "checkout-3"):
            hub.say("started", "n1", self.uid(name))
            node, order = hub.order()
            self.assertEqual(order["pod"]["name"], name)
            jobs.append(order["jobID"])
            if len(jobs) == 3:
                break
            hub.job(node, order["jobID"], "Failed", reason="StartMissed", message="the node was full")
            hub.expect("forget", match=lambda words, job=jobs[-1]: '"%s"' % job in words[3])
            waits = self.sessions.wait_condition("first", "Running", "False", "WaitingForContainerStart")
            self.assertIn("the start in pod %s was missed: the node was full; the next container" % name, condition(waits, "Running")["message"])
            self.assertEqual(waits["status"]["targets"][0]["reason"], "StartMissed")
            hub.expect("await", match=lambda words: words[2] != "0" and words[3].count("@") == 3)
        self.assertEqual(jobs[1:], [jobs[0] + ".1", jobs[0] + ".2"])
        hub.job("n1", jobs[0], "Failed", reason="StartMissed")  # its forget was lost
        hub.expect("forget", match=lambda words: '"%s"' % jobs[0] in words[3])
        hub.job("n1", jobs[2], "Succeeded")
        done = self.sessions.wait_condition("first", "Completed", "True")
        self.assertEqual((done["status"]["state"], done["status"]["targets"][0]["podName"]), ("Succeeded", "checkout-3"))

    def test_a_start_that_was_missed_until_the_deadline(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.arm(hub, "first", [("checkout-1", "n1")], durationSeconds=1, activeDeadlineSeconds=11)
        hub.say("started", "n1", self.uid("checkout-1"))
        node, order = hub.order()
        hub.job(node, order["jobID"], "Failed", reason="StartMissed", message="the node was full")
        ended = self.sessions.wait_condition("first", "Completed", "True", seconds=30)
        self.assertEqual(condition(ended, "Succeeded")["reason"], "StartMissed")
        proc.wait_until(lambda: not self.sessions.get("first")["metadata"].get("finalizers"), 20, "its finalizer is released")

    def test_the_next_leader_asks_the_agents_again(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.arm(hub, "first", [("checkout-1", "n1")], 199, cpuHotpaths={"frequencyHertz": 199})
        hub.stop()
        after = self.leader("n1", name="after")
        told = after.expect("await", match=lambda words: "@" in words[3])
        self.assertEqual(told[1:], [str(after.epoch), "120", "* %s@n1:199" % self.uid("checkout-1")])
        after.say("started", "n1", self.uid("checkout-1"))
        self.assertEqual(after.order()[1]["pod"]["name"], "checkout-1")

    def test_what_ends_the_waiting(self):
        hub = self.leader("n1")
        for name, spec, reason in (("late", {"durationSeconds": 1, "activeDeadlineSeconds": 11}, "NoContainerStarted"), ("canceled", {}, "Canceled")):
            self.arm(hub, name, **spec)
            if reason == "Canceled":
                self.sessions.patch(name, {"spec": {"cancel": True}})
        for name, reason in (("canceled", "Canceled"), ("late", "NoContainerStarted")):
            self.sessions.wait_condition(name, "Completed", "True", reason, seconds=30)
        hub.expect("await", match=lambda words: words[2] == "0")

    def test_a_pod_is_told_of_before_its_container_starts_and_no_other_pod_is(self):
        """As soon as it is bound to a node, to that node's agent."""
        hub = self.leader("n1", "n2")
        self.arm(hub, "first")
        self.cluster.create_pod(self.namespace, "basket", "n2", labels={"app": "basket"}, running=False)
        self.cluster.create_pod(self.namespace, "checkout-1", "n2", labels={"app": "checkout"}, running=False)
        told = hub.expect("await", match=lambda words: words[3].startswith("n2"))
        self.assertEqual(told[3], "n2 %s@n2:99" % self.uid("checkout-1"))
        self.cluster.request("DELETE", "/api/v1/namespaces/%s/pods/checkout-1?gracePeriodSeconds=0" % self.namespace)
        self.arm(hub, "second")

    def test_one_namespace_arms_eight_sessions_at_most(self):
        hub = self.leader("n1")
        for number in range(8):
            self.arm(hub, "next-%d" % number)
        self.sessions.create("more", start="NextContainerStart")
        waits = self.sessions.wait_condition("more", "Running", "False", "Queued")
        self.assertIn("8 of a namespace", condition(waits, "Running")["message"])
        self.sessions.patch("next-3", {"spec": {"cancel": True}})
        self.sessions.wait_condition("more", "Running", "False", "WaitingForContainerStart", seconds=30)

    def test_an_installation_may_leave_starts_alone(self):
        hub = self.leader("n1", no_starts="yes")
        self.sessions.create("next", start="NextContainerStart")
        ended = self.sessions.wait_condition("next", "Completed", "True")
        self.assertEqual(condition(ended, "Succeeded")["reason"], "StartsNotEnabled")
        hub.silent("await", 0.5)
