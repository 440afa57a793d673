"""At each step of a session: it is deleted, canceled, its deadline passes, the leader changes. Agents are played; what they do is written in
test_faults.Agent."""
import json
import signal
import time
import unittest

from tests.system.controller.fakehub import condition
from tests.system.controller.test_faults import ENDED, Agent, FaultyTest
from tests.system.controller.test_sessions import LEASE
from tests.lib import matrix, proc

STARTED = {"startTime": 1700000000000}
# what the agent says at each step; None: there is no job yet
STEPS = {"Pending": None, "Queued": {"reason": "Queued", "queuePosition": 1}, "Preparing": {}, "Profiling": STARTED, "Analyzing": STARTED,
         "Delivering": dict(ENDED, completionTime=0)}
IN_PROCESS = ("Preparing", "Profiling")


class StepTest(FaultyTest):
    time_limit = 300

    def at(self, hub, agent, step):
        """A session that has come to this step; its job's id, None while it has none."""
        name = step.lower()
        self.sessions.create(name, selector={"app": "none" if step == "Pending" else "checkout"})
        if step == "Pending":
            self.sessions.wait_condition(name, "Succeeded", "Unknown", "NoPodsMatched")
            return name, None
        job = hub.order(name, 30)[1]["jobID"]
        agent.jobs[job] = step
        hub.job(agent.node, job, step, **STEPS[step])
        self.sessions.wait_condition(name, "Succeeded", "Unknown", step)
        return name, job

    def settle(self, hub, agent, done, what):
        """The agent does what it is told until `done`."""
        def turn():
            agent.serve(hub)
            return done()
        proc.wait_until(turn, 60, "%s\n%s" % (what, hub.log()[-2000:]), 0.02)


class Ending(Agent):
    """One that obeys a cancel: it leaves the process, then says what it has."""

    def __init__(self, node, reason="Canceled"):
        super().__init__(node)
        self.reason, self.canceled, self.left = reason, [], []

    def serve(self, hub):
        super().serve(hub)
        while True:
            words = hub.poll("cancel")
            if not words:
                return
            job = json.loads(words[3])["jobID"]
            if job not in self.jobs or self.jobs[job] in ("Succeeded", "Canceled"):
                continue
            self.canceled.append(job)
            if self.jobs[job] in IN_PROCESS:
                self.left.append(job)
                hub.job(self.node, job, "Analyzing", **STARTED)
            had_reports = self.jobs[job] in IN_PROCESS + ("Analyzing", "Delivering")
            self.jobs[job] = "Canceled"
            hub.job(self.node, job, "Canceled", **(dict(ENDED, reason=self.reason) if had_reports else {"reason": self.reason}))


class Ends(StepTest):
    def test_deleted_at_each_step(self):
        self.pod("checkout-1")
        hub, agent = self.leader("n1"), Ending("n1")
        made = {step: self.at(hub, agent, step) for step in STEPS}
        for step, (name, job) in made.items():
            with self.subTest(step):
                self.sessions.delete(name)
                self.settle(hub, agent, lambda: self.sessions.get(name) is None, "%s is gone" % name)
                if step in ("Queued",) + IN_PROCESS:
                    self.settle(hub, agent, lambda: job in agent.canceled, "its job is ended")
                self.assertEqual(job in agent.left, step in IN_PROCESS, "the profiler has left the process where it was in one")
        for job in [job for job in agent.jobs if agent.jobs[job] != "Canceled"]:  # a report on its way arrives where nobody waits for it
            agent.jobs[job] = "Succeeded"
            agent.tell(hub, job)
        for job in agent.jobs:
            agent.tell(hub, job)
        self.settle(hub, agent, lambda: not agent.jobs, "the agent may forget all of them")
        for step, outcome in (("Pending", "gone at once"), ("Queued", "gone when the job is ended; it never began"),
                              ("Preparing", "gone when the profiler has left the process"), ("Profiling", "gone when the profiler has left the process"),
                              ("Analyzing", "gone at once; the job is forgotten when it has ended"),
                              ("Delivering", "gone at once; the job is forgotten when it has ended")):
            matrix.row(self, "Controller: ends", step, "the session is deleted", outcome)

    def test_deleted_when_it_has_ended(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        job = hub.order("cpu")[1]["jobID"]
        self.succeed(hub, "n1", job)
        self.sessions.wait("cpu", lambda s: condition(s, "Completed")["status"] == "True" and "finalizers" not in s["metadata"], "ended")
        self.sessions.delete("cpu")
        self.assertIsNone(self.sessions.get("cpu"), "at once")
        matrix.row(self, "Controller: ends", "ended", "the session is deleted", "gone at once")

    def test_deleted_while_no_controller_runs(self):
        """The next one lets the object go only when the agent has told of its jobs, and this one has left the process."""
        self.pod("checkout-1")
        hub, agent = self.leader("n1", name="first"), Ending("n1")
        name, job = self.at(hub, agent, "Profiling")
        hub.stop(signal.SIGKILL)
        self.sessions.delete(name)
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
        hub = self.leader(name="second")
        hub.say("link", "n1", 0)
        time.sleep(0.5)
        self.assertIsNotNone(self.sessions.get(name), "held")
        agent.tell(hub, job)
        self.settle(hub, agent, lambda: self.sessions.get(name) is None, "it is gone")
        self.assertEqual(agent.left, [job])
        matrix.row(self, "Controller: ends", "Profiling", "the session is deleted while no controller runs",
                   "the next controller ends it; gone when the profiler has left the process")

    def test_canceled_at_each_step(self):
        self.pod("checkout-1")
        hub, agent = self.leader("n1"), Ending("n1")
        for step in STEPS:
            with self.subTest(step):
                name, job = self.at(hub, agent, step)
                self.sessions.patch(name, {"spec": {"cancel": True}})
                if step in ("Analyzing", "Delivering"):
                    agent.jobs[job] = "Succeeded"  # nothing is left to end early: its report comes as it would have
                    agent.tell(hub, job)
                self.settle(hub, agent, lambda: (condition(self.sessions.get(name), "Completed") or {}).get("status") == "True"
                            and "finalizers" not in self.sessions.get(name)["metadata"], name + " has ended")
                now = self.sessions.get(name)
                late = step in ("Analyzing", "Delivering")
                self.assertEqual(condition(now, "Succeeded")["reason"], "Completed" if late else "Canceled")
                reports = [t.get("reports") for t in now["status"].get("targets", [])]
                self.assertEqual(bool(reports and reports[0]), step not in ("Pending", "Queued"), "what was collected is kept")
                matrix.row(self, "Controller: ends", step, "the session is canceled",
                           "ends as %s; %s" % (("Completed", "with its report") if late else
                                               ("Canceled", "with what was collected" if step in IN_PROCESS else "nothing was touched")))
        self.settle(hub, agent, lambda: not agent.jobs, "nothing is left at the agent")

    def test_deadline_passed_at_each_step(self):
        """By the API server's clock, which is set forwards."""
        self.pod("checkout-1")
        hub, agent = self.leader("n1"), Ending("n1", "DeadlineExceeded")
        made = {step: self.at(hub, agent, step) for step in STEPS}
        self.api.clock_ahead = 600 + 6  # past the deadline, and the time in which agents end by themselves
        for step, (name, job) in made.items():
            with self.subTest(step):
                late = step in ("Analyzing", "Delivering")
                if late:
                    agent.jobs[job] = "Succeeded"
                self.sessions.patch(name, {"metadata": {"annotations": {"look": "again"}}})
                if late:
                    agent.tell(hub, job)

                def ended():
                    if step != "Pending" and not late and agent.jobs.get(job) == "Queued" and job not in agent.canceled:
                        agent.serve(hub)
                    return ((condition(self.sessions.get(name), "Completed") or {}).get("status") == "True"
                            and "finalizers" not in self.sessions.get(name)["metadata"])
                self.settle(hub, agent, ended, name + " has ended")
                now = self.sessions.get(name)
                self.assertEqual(condition(now, "Succeeded")["reason"], "Completed" if late else "DeadlineExceeded", now["status"])
                reports = [t.get("reports") for t in now["status"].get("targets", [])]
                self.assertEqual(bool(reports and reports[0]), step not in ("Pending", "Queued"))
                matrix.row(self, "Controller: ends", step, "the deadline passes",
                           "ends as %s; %s" % (("Completed", "with its report") if late else
                                               ("DeadlineExceeded", "with what was collected" if step in IN_PROCESS else "nothing was touched")))
        self.settle(hub, agent, lambda: not agent.jobs, "nothing is left at the agent")


class LeaderLost(StepTest):
    def test_another_takes_the_lease_in_the_middle(self):
        """The Lease is another's all of a sudden, which then says nothing more: the session goes on, with the job it had."""
        self.pod("checkout-1")
        hub, agent = self.leader("n1"), Agent("n1")
        made = [self.at(hub, agent, step) for step in ("Queued", "Profiling", "Delivering")]
        lease = self.cluster.request("GET", LEASE)
        taken = {"holderIdentity": "somebody-else", "leaseTransitions": lease["spec"]["leaseTransitions"] + 1}
        self.cluster.request("PATCH", LEASE, {"spec": taken}, "application/merge-patch+json")
        self.assertEqual(hub.expect("epoch", 30)[1], "0")
        for name, job in made:
            agent.jobs[job] = "Succeeded"
            agent.tell(hub, job)
        self.sessions.create("meanwhile")
        epoch = int(hub.expect("epoch", 60, lambda w: w[1] != "0")[1])
        self.assertFalse([line for line in hub.seen if line.startswith("order")], "it gave no orders before")
        self.assertGreater(epoch, hub.epoch + 1)
        for name, job in made:
            now = self.sessions.wait_condition(name, "Succeeded", "True", "Completed", seconds=60)
            self.assertEqual(now["status"]["targets"][0]["jobID"], job)
        self.settle(hub, agent, lambda: agent.profiled, "the session that came meanwhile is ordered")
        self.settle(hub, agent, lambda: not set(job for _, job in made) & set(agent.jobs), "the agent may forget what has ended")
        self.assertEqual(len(agent.profiled), 1, "nothing was ordered twice")
        for step in ("Queued", "Profiling", "Delivering"):
            matrix.row(self, "Controller: restarts", step, "the Lease is another's of a sudden, which is then silent",
                       "gives no orders, leads again when the Lease has run out; each session has one job and its report")

    def test_both_replicas_are_killed(self):
        self.pod("checkout-1")
        first, agent = self.leader("n1", name="first"), Agent("n1")
        second = self.start("second")
        second.say("link", "n1", 0)
        made = [self.at(first, agent, step) for step in ("Queued", "Profiling", "Delivering")]
        first.stop(signal.SIGKILL)
        second.stop(signal.SIGKILL)
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
        for name, job in made:
            agent.jobs[job] = "Succeeded"
        replicas = [self.start("third"), self.start("fourth")]
        for hub in replicas:
            agent.link(hub)

        def leads():
            for hub in replicas:
                words = hub.poll("epoch")
                if words and words[1] != "0":
                    return hub
            return None
        hub = proc.wait_until(leads, 60, "one of them leads")
        for name, job in made:
            now = self.sessions.wait_condition(name, "Succeeded", "True", "Completed", seconds=60)
            self.assertEqual(now["status"]["targets"][0]["jobID"], job)
            self.assertTrue(now["status"]["targets"][0]["reports"])
        self.settle(hub, agent, lambda: not agent.jobs, "nothing is left at the agent")
        self.assertEqual(agent.profiled, [], "nothing was ordered again")
        for step in ("Queued", "Profiling", "Delivering"):
            matrix.row(self, "Controller: restarts", step, "both replicas are killed and started again",
                       "the session has one job and its report, which came with the new link")

    def test_a_leader_whose_watch_is_behind_ends_nothing_that_it_has_not_heard_of(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        proc.wait_until(self.api.running, 20, "the watch")
        self.api.muted = True
        made = self.sessions.create("cpu")
        uid = made["metadata"]["uid"]
        pod = self.cluster.request("GET", "/api/v1/namespaces/%s/pods/checkout-1" % self.namespace)
        path = self.sessions.path + "/cpu"
        self.sessions.patch("cpu", {"metadata": {"finalizers": ["drdotnet.dev/detach"]}})
        self.cluster.request("PATCH", path + "/status", {"status": {"targets": [  # as the leader before it left them
            {"podName": "checkout-1", "podUID": pod["metadata"]["uid"], "nodeName": "n1", "jobID": uid + "-0", "phase": "Pending"}]}},
            "application/merge-patch+json")
        whose = {"session": {"namespace": self.namespace, "name": "cpu"}}
        hub.job("n1", uid + "-0", "Succeeded", **ENDED, **whose)
        now = self.sessions.wait_condition("cpu", "Succeeded", "True", "Completed")
        self.assertTrue(now["status"]["targets"][0]["reports"])
        hub.expect("forget")
        self.assertIsNone(hub.poll("order"), "what the agent said was kept")
        gone = "00000000-0000-0000-0000-000000000000-0"
        hub.job("n1", gone, "Succeeded", **ENDED, **whose)
        hub.expect("forget", match=lambda words: gone in words[3])
        matrix.row(self, "Controller: restarts", "Delivering", "the new leader's watch is behind: an agent tells of a session that it has not heard of",
                   "the API server is asked; the session gets its report")


if __name__ == "__main__":
    unittest.main()
