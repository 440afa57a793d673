"""Budgets: who waits for them, at which place, who comes next, and what a new leader makes of it. Agents are played."""
import signal
import unittest

from tests.system.controller.fakehub import Sessions, condition
from tests.system.controller.faulty_api import FaultyApi
from tests.system.controller.test_sessions import LEASE, ControllerTest
from tests.lib import proc


class Queue(ControllerTest):
    time_limit = 240

    def queued(self, name, sessions=None):
        return (sessions or self.sessions).wait_condition(name, "Succeeded", "Unknown", "Queued")

    def ordered(self, hub, seconds=20):
        """The next order's session, node and job."""
        node, order = hub.order(seconds=seconds)
        return order["session"]["name"], node, order["jobID"]

    def test_sessions_wait_for_the_installations_budget_by_priority_then_age(self):
        self.pod("checkout-1")
        hub = self.leader("n1", max_pods=1)
        self.sessions.create("first")
        _, node, job = self.ordered(hub)
        for name, priority in (("low", "Low"), ("normal", "Normal"), ("later", "Normal"), ("high", "High")):
            self.sessions.create(name, priority=priority)
            now = self.queued(name)
            self.assertEqual(now["status"]["state"], "Queued")
            self.assertIn("the 1 pods that may be profiled at once are in use", condition(now, "Running")["message"])
            self.assertIn(" in the queue", condition(now, "Succeeded")["message"])
            self.assertEqual(now["status"]["effective"]["priority"], priority)
            self.assertNotIn("targets", now["status"])
        self.assertIn("place 1 of 4", condition(self.sessions.get("high"), "Running")["message"])
        hub.silent("order", 0.3)
        self.sessions.patch("later", {"spec": {"cancel": True}})
        self.sessions.wait_condition("later", "Completed", "True", "Canceled")
        for expected in ("high", "normal", "low"):
            self.succeed(hub, node, job)
            name, node, job = self.ordered(hub)
            self.assertEqual(name, expected)
        self.succeed(hub, node, job)
        self.sessions.wait_condition("low", "Completed", "True", "Completed")
        self.assertEqual(len([e for e in self.sessions.events("low") if e["reason"] == "Queued"]), 1)

    def test_pods_that_another_session_profiles_come_last(self):
        """The busiest pod is taken for ten minutes: others take the free ones, and are told what was left out."""
        for i in range(3):
            self.pod("checkout-%d" % i, "n%d" % i)
        hub = self.leader("n0", "n1", "n2")
        self.sessions.create("leak", selector={"app": "checkout"}, durationSeconds=600, profiler="MemoryLeak")
        node, order = hub.order("leak")
        uid = self.cluster.request("GET", "/api/v1/namespaces/%s/pods/%s" % (self.namespace, order["pod"]["name"]))["metadata"]["uid"]
        hub.say("usage", uid, 900)
        hub.job(node, order["jobID"], "Profiling", startTime=1900000000000)
        self.sessions.wait_condition("leak", "Running", "True")
        self.sessions.create("cpu", maxPods=3)
        others = [hub.order("cpu")[1]["pod"]["name"] for _ in range(2)]
        self.assertEqual(sorted([order["pod"]["name"], *others]), ["checkout-0", "checkout-1", "checkout-2"])
        hub.silent("order", 0.3)
        said = proc.wait_until(lambda: [e["message"] for e in self.sessions.events("cpu") if e["reason"] == "PodsLeftOut"], 10, "the event")
        self.assertEqual(said, ["1 of 3 pods were left out, because other sessions profile them: pod %s by session leak until about "
                                "2030-03-17T17:56:40Z." % order["pod"]["name"]])
        self.sessions.create("third", maxPods=1)
        taken = hub.order("third")[1]["pod"]["name"]  # all are occupied: the busiest; its agent lets it wait
        self.assertEqual(taken, order["pod"]["name"])

    def test_a_standby_warns_of_nothing_while_all_is_well(self):
        """Its watch tells of a session's pods later than their agents of its jobs."""
        self.pod("checkout-1")
        hub = self.leader("n1")
        standby = self.start("standby", kubeconfig=self.late_watch())
        standby.say("link", "n1", hub.epoch)
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        for each in (hub, standby):
            each.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        self.late.muted = False
        self.late.cut()
        self.succeed(hub, "n1", order["jobID"])
        self.succeed(standby, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True")
        standby.stop()
        self.assertNotIn('"level":"warn"', standby.log())

    def late_watch(self):
        """A kubeconfig: what goes that way has watches that say nothing for a while."""
        self.late = FaultyApi(self.cluster)
        self.addCleanup(self.late.__exit__)
        self.late.muted = True
        return self.late.kubeconfig(self.folder + "/late.kubeconfig", self.token_file)

    def test_namespaces_take_turns(self):
        other = self.namespace + "-b"
        self.cluster.namespace(other)
        self.pod("checkout-1")
        here = self.namespace
        self.namespace = other
        self.pod("checkout-1")
        self.namespace = here
        hub = self.leader("n1", max_pods=1)
        self.sessions.create("a-0")
        _, node, job = self.ordered(hub)
        for name in ("a-1", "a-2", "a-3"):
            self.sessions.create(name)
            self.queued(name)
        others = Sessions(self.cluster, other)
        others.create("b-1")
        self.queued("b-1", others)
        turns = []
        for _ in range(4):
            self.succeed(hub, node, job)
            name, node, job = self.ordered(hub)
            turns.append(name)
        self.assertLess(turns.index("b-1"), 2, "it did not wait for all of the other namespace: %s" % turns)

    def test_a_full_node_holds_up_its_own_sessions_only(self):
        self.pod("checkout-1")
        self.cluster.create_pod(self.namespace, "other-1", "n2", labels={"app": "other"})
        hub = self.leader("n1", "n2", max_pods_per_node=1)
        self.sessions.create("first")
        _, node, job = self.ordered(hub)
        self.sessions.create("second")
        self.assertIn("node n1 has as many sessions as it may have at once (1)", condition(self.queued("second"), "Succeeded")["message"])
        self.sessions.create("elsewhere", selector={"app": "other"})
        self.assertEqual(self.ordered(hub)[:2], ("elsewhere", "n2"))
        hub.job("n1", job, "Analyzing", startTime=1700000000000)  # out of the process: the next one may go in
        self.assertEqual(self.ordered(hub)[:2], ("second", "n1"))

    def test_more_than_an_agent_keeps_wait_in_the_controller(self):
        self.pod("checkout-1")
        hub = self.leader("n1", max_pods_per_node=1000)
        for number in range(58):
            self.sessions.create("s-%02d" % number)
        jobs = {}
        while len(jobs) < 56:
            name, node, job = self.ordered(hub, 60)
            jobs[name] = job
            hub.job(node, job, "Queued")  # an agent that says nothing of it for ten seconds is given it again
        waiting = sorted({"s-%02d" % n for n in range(58)} - set(jobs))
        for name in waiting:
            self.queued(name)
        hub.silent("order", 0.5, jobs.values())
        self.succeed(hub, "n1", next(iter(jobs.values())))
        proc.wait_until(lambda: self.ordered(hub)[0] in waiting, 60, "one of those that waited")

    def test_a_new_leader_goes_on_with_the_same_budget_and_the_same_queue(self):
        self.pod("checkout-1")
        first = self.leader("n1", name="first", max_pods=1)
        self.sessions.create("one")
        _, node, job = self.ordered(first)
        for name, priority in (("two", "Normal"), ("three", "High")):
            self.sessions.create(name, priority=priority)
            self.queued(name)
        first.stop(signal.SIGKILL)
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
        second = self.leader("n1", name="second", max_pods=1)
        second.job("n1", job, "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("one", "Running", "True")
        self.succeed(second, node, job)
        name = self.ordered(second)[0]
        if name == "one":  # the same job once more, before its agent has spoken
            name = self.ordered(second)[0]
        self.assertEqual(name, "three")

    def test_what_cannot_begin_is_in_nobodys_way(self):
        self.pod("checkout-1")
        hub = self.leader("n1", max_pods=1)
        self.sessions.create("nothing", selector={"app": "none"})
        self.sessions.wait_condition("nothing", "Succeeded", "Unknown", "NoPodsMatched")
        self.sessions.create("cpu")
        self.assertEqual(self.ordered(hub)[0], "cpu")

    def test_a_queued_session_ends_at_its_deadline_and_says_what_it_waited_for(self):
        self.pod("checkout-1")
        hub = self.leader("n1", max_pods=1)
        self.sessions.create("first")
        self.ordered(hub)
        self.sessions.create("late", durationSeconds=1, activeDeadlineSeconds=11)
        self.queued("late")
        now = self.sessions.wait_condition("late", "Completed", "True", "DeadlineExceeded", seconds=40)
        self.assertIn("place 1 of 1 in the queue", condition(now, "Succeeded")["message"])

    def test_a_deleted_session_leaves_the_queue(self):
        self.pod("checkout-1")
        hub = self.leader("n1", max_pods=1)
        self.sessions.create("first")
        _, node, job = self.ordered(hub)
        for name in ("gone", "next"):
            self.sessions.create(name)
            self.queued(name)
        self.sessions.delete("gone")
        self.succeed(hub, node, job)
        self.assertEqual(self.ordered(hub)[0], "next")


if __name__ == "__main__":
    unittest.main()
