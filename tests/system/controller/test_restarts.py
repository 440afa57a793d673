"""What a session becomes when controllers, pods and links come and go. Agents are played."""
import signal
import unittest

from tests.system.controller.fakehub import Sessions
from tests.system.controller.test_faults import FaultyTest
from tests.system.controller.test_sessions import ControllerTest
from tests.lib import matrix, proc


class Restarts(ControllerTest):
    def test_two_replicas_and_a_leader_change(self):
        self.pod("checkout-1")
        first = self.leader("n1", name="first", namespaces=self.namespace)
        second = self.start("second", namespaces=self.namespace)
        second.say("link", "n1", 0)
        self.sessions.create("cpu")
        _, order = first.order("cpu")
        proc.wait_until(lambda: second.knows("n1", order["jobID"]), 20, "the other replica's watch")
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
        first.stop(signal.SIGKILL)
        epoch = int(second.expect("epoch", 30, lambda w: w[1] != "0")[1])
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

    def test_a_report_outlives_its_pod_and_the_leader(self):
        """As when a node is drained: the status knows of less than the agent has, and the pod is gone when the next leader comes."""
        self.pod("checkout-1")
        hub = self.leader("n1", name="first")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        hub.stop(signal.SIGKILL)
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-1", "--grace-period=0", "--force")
        hub = self.leader(name="second")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "AgentLost")
        hub.say("link", "n1", 1)
        hub.silent("order", 0.5)
        hub.job("n1", order["jobID"], "Delivering", startTime=1700000000000)
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True", "Completed")

    def test_nothing_is_decided_before_the_agent_has_told_of_all_its_jobs(self):
        """However long that takes: the pod is gone, and the status knows of less than the agent has."""
        self.pod("checkout-1")
        hub = self.leader("n1", name="first")
        for name in ("kept", "lost"):
            self.sessions.create(name)
        jobs = {name: hub.order(name)[1]["jobID"] for name in ("kept", "lost")}
        for job in jobs.values():
            hub.job("n1", job, "Profiling", startTime=1700000000000)
        for name in jobs:
            self.sessions.wait_condition(name, "Running", "True")
        hub.stop(signal.SIGKILL)
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-1", "--grace-period=0", "--force")
        hub = self.leader(name="second")
        hub.say("link", "n1", hub.epoch, "completes")
        hub.say("complete", "n1", hub.epoch - 1)  # of the leader before, and late
        self.sessions.patch("kept", {"spec": {"cancel": True}})
        hub.silent("order", 8)
        self.assertIsNone(hub.poll("cancel"), "nothing is given up")
        for name in jobs:
            self.assertIsNone(self.sessions.get(name)["status"].get("completionTime"))
        hub.job("n1", jobs["kept"], "Delivering", startTime=1700000000000)
        hub.say("complete", "n1", hub.epoch)
        now = self.sessions.wait_condition("lost", "Completed", "True", "PodGone")
        self.assertIn("no longer has the session's job", now["status"]["targets"][0]["message"])
        self.succeed(hub, "n1", jobs["kept"])
        self.sessions.wait_condition("kept", "Completed", "True", "Completed")
        matrix.row(self, "Controller: restarts", "Profiling", "the leader is killed, the pod ends, the session is canceled; "
                   "the agent is slow to tell of its jobs", "nothing is decided before it has told of all; the session gets its report")

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

    def test_only_the_given_namespaces(self):
        other = self.namespace + "-other"
        self.cluster.namespace(other)
        self.pod("checkout-1")
        self.cluster.create_pod(other, "checkout-1", "n1", labels={"app": "checkout"})
        hub = self.leader("n1", namespaces=other)
        self.sessions.create("mine")
        Sessions(self.cluster, other).create("theirs")
        hub.order("theirs")
        hub.silent("order", 0.5)


class BlindStandby(FaultyTest):
    """A replica whose watch of the sessions is behind when it becomes the leader, after the pod has gone."""
    time_limit = 180

    def replicas(self):
        """The leader, and a standby whose watch can be muted."""
        first = self.leader("n1", name="first", kubeconfig=self.cluster.write_kubeconfig(self.folder + "/first.kubeconfig", self.token_file))
        second = self.start("second")
        second.say("link", "n1", first.epoch)
        proc.wait_until(self.api.running, 30, "the standby's watch")
        return first, second

    def report_is_kept(self, first, second, unheard):
        """The agent tells the standby what it has, once; what the leader knew of it dies with the leader."""
        _, order = first.order("cpu")
        first.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        session = {"namespace": self.namespace, "name": "cpu"}
        second.job("n1", order["jobID"], "Delivering", startTime=1700000000000, session=session)
        self.assertFalse(second.knows("n1", order["jobID"]), "its watch is behind")
        first.stop(signal.SIGKILL)
        self.cluster.kubectl("delete", "pod", "-n", self.namespace, "checkout-1", "--grace-period=0", "--force")
        second.lead()
        self.sessions.wait("cpu", lambda s: s["status"]["targets"][0]["phase"] == "Delivering", "the agent's word")
        second.silent("order", 0.5)
        self.assertTrue(second.knows("n1", order["jobID"]), "the report may be put into the store")
        self.succeed(second, "n1", order["jobID"])
        self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        self.assertIsNone(second.poll("cancel"))
        matrix.row(self, "Controller: restarts", "Delivering", "the leader is killed and the pod ends; the next leader's watch is behind: it has not heard of "
                   + unheard, "what the agent told is kept; the session gets its report")

    def test_a_report_told_before_the_watch_knows_its_session(self):
        self.pod("checkout-1")
        first, second = self.replicas()
        self.api.muted = True
        self.sessions.create("cpu")
        self.report_is_kept(first, second, "the session")

    def test_a_report_told_before_the_watch_knows_its_pods(self):
        first, second = self.replicas()
        self.sessions.create("cpu", pod="checkout-1")
        self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "PodNotFound")
        self.api.muted = True
        self.pod("checkout-1")
        self.report_is_kept(first, second, "the session's pods")


if __name__ == "__main__":
    unittest.main()
