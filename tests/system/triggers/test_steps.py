"""Triggers when something ends or goes wrong at each of their steps: no occurrence is lost, none has two sessions."""
import calendar
import time
import unittest

from tests.system.controller import test_sessions
from tests.system.controller.faulty_api import FaultyApi
from tests.lib import proc
from tests.system.triggers.ground import AIMED, TriggerTest, condition

STATUS, SESSIONS = r"profilingtriggers/\w+/status", r"profilingsessions(\?|$)"


class Steps(TriggerTest):
    def setUp(self):
        super().setUp()
        self.api = FaultyApi(self.cluster)
        self.addCleanup(self.api.__exit__)
        self.through = self.api.kubeconfig(self.folder + "/through.kubeconfig", self.token_file)

    def kill(self, hub):
        return lambda: (hub.popen.kill(), hub.popen.wait())

    def fall(self, hub):
        """It is dead; its Lease is taken from it before it runs out."""
        hub.popen.wait(30)
        self.cluster.request("PATCH", test_sessions.LEASE, {"spec": None}, "application/merge-patch+json")

    def begin(self, **spec):
        self.trigger(**spec)
        hub = self.leader(kubeconfig=self.through)
        self.wait_ready()
        return hub

    def test_the_leader_ends_before_its_decision_is_written(self):
        hub = self.begin()
        self.api.on("PATCH", STATUS, self.api.never_arrives(self.kill(hub)))
        self.fire(hub, "a", "pod-1")
        self.fall(hub)
        self.assertEqual(self.made(), [])
        second = self.start("second")  # nobody has said that it was taken: the source says it again, here to a replica that does not lead yet
        self.assertEqual(self.outcome(second, "a", "pod-1")[0], "Fired")
        second.lead()
        self.wait_trigger(lambda s: s["firings"][0]["phase"] == "Active" and s["firedCount"] == 1, "it is active")
        self.assertEqual(len(self.made()), 1)

    def test_the_leader_ends_between_its_decision_and_the_session(self):
        for step, place, how in (("hot", SESSIONS, self.api.never_arrives), ("hat", STATUS, self.api.lost_answer),
                                 ("hit", SESSIONS, self.api.lost_answer)):
            with self.subTest(step=step):
                self.trigger(step)
                hub = self.leader(kubeconfig=self.through, name=step)
                self.wait_ready(step)
                self.api.on("POST" if place == SESSIONS else "PATCH", place, how(self.kill(hub)))
                self.fire(hub, "a", "pod-1", name=step)
                self.fall(hub)
                second = self.leader(name=step + "-2")  # it finds the record, and makes the session
                status = self.wait_trigger(lambda s: s["firings"][0]["phase"] == "Active", "it is active", step)
                self.assertEqual((status["firedCount"], len(status["firings"])), (1, 1))
                self.assertEqual([s["metadata"]["name"] for s in self.made() if s["metadata"]["labels"]["drdotnet.dev/trigger"] == step],
                                 [status["lastSession"]])
                self.assertEqual(self.outcome(second, "a", "pod-1", name=step)[0], "Duplicate")
                second.stop()

    def test_somebody_else_writes_meanwhile(self):
        hub = self.begin(limits={"maxActive": 1})
        edit = lambda: self.patch_trigger({"metadata": {"annotations": {"at": str(time.monotonic())}}})  # noqa: E731
        self.api.on("PATCH", STATUS, self.api.before(edit), times=3)
        self.assertEqual(self.outcome(hub, "a", "pod-1")[0], "Fired")
        self.assertEqual(self.wait_trigger(lambda s: s["activeSessions"] == 1, "it is active")["firedCount"], 1)

    def test_two_replicas_share_one_limit(self):
        hub = self.begin(limits={"maxActive": 1})
        second = self.start("second")
        taken = []
        self.api.on("PATCH", STATUS, self.api.before(lambda: taken.append(self.outcome(second, "b", "pod-2"))))
        self.assertEqual(self.outcome(hub, "a", "pod-1")[0], "TooManyActive", "the other was faster")
        self.assertEqual(taken[0][0], "Fired")
        self.assertEqual([s["metadata"]["name"] for s in self.made()], [taken[0][1]])

    def test_the_api_server_is_away(self):
        hub = self.begin()
        away = self.api.on("PATCH", STATUS, self.api.answer(503), times=1000)
        self.fire(hub, "a", "pod-1")
        self.assertEqual(hub.expect("fired", 40)[1], "TRY_AGAIN/Unreachable")
        self.assertEqual(self.made(), [])
        away.times = 0
        self.assertEqual(self.outcome(hub, "a", "pod-1")[0], "Fired")
        away = self.api.on("POST", SESSIONS, self.api.answer(503), times=1000)
        self.fire(hub, "b", "pod-2")
        self.assertEqual(hub.expect("fired", 40)[1], "TRY_AGAIN/Unreachable")
        away.times = 0  # it was written down: nobody needs to say it again
        self.wait_trigger(lambda s: s["activeSessions"] == 2 and all(f["phase"] == "Active" for f in s["firings"]), "both are active")
        self.assertEqual(len(self.made()), 2)

    def test_a_session_that_is_not_allowed(self):
        hub = self.begin()
        quota = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
                 "message": "exceeded quota: profiling, requested: count/profilingsessions.drdotnet.dev=1"}
        self.api.on("POST", SESSIONS, self.api.answer(403, body=quota))
        self.fire(hub, "a", "pod-1")
        self.assertEqual(hub.expect("fired", 30)[1], "REFUSED/SessionRejected")
        ready = condition({"status": self.wait_ready(reason="SessionRejected")}, "Ready")
        self.assertIn("exceeded quota", ready["message"])
        self.assertEqual(self.outcome(hub, "b", "pod-2")[0], "SessionRejected", "not at once again")
        self.patch_trigger({"spec": {"sessionTemplate": {"spec": {"durationSeconds": 5}}}})
        self.wait_ready()
        self.assertEqual(self.outcome(hub, "a", "pod-1")[0], "Fired", "another template: another try")
        self.assertEqual([e["type"] for e in self.events_of() if e["reason"] == "SessionRejected"], ["Warning"])

    def test_a_schedule_on_two_replicas_over_an_outage(self):
        """Every hour. The API server's clock is what counts; it is set forward by ten hours each time."""
        hour = 3600 * (int(time.time()) // 3600)
        source = {"schedule": {"cron": "0 * * * *", "startingDeadlineSeconds": 86400}}
        self.trigger(source=source, template=AIMED, limits={"maxActive": 20, "perHour": 60}, historyLimits={"failed": 100})
        first = self.leader(kubeconfig=self.through)
        second = self.start("second", kubeconfig=self.through)
        self.wait_ready()

        def set_forward(times):
            due = hour + 36000 * times
            self.api.clock_ahead = due + 60 - time.time()
            status = self.wait_trigger(lambda s: s["firedCount"] == times, "it fired")
            self.assertEqual([calendar.timegm(time.strptime(status[key + "ScheduleTime"], "%Y-%m-%dT%H:%M:%SZ")) for key in ("last", "next")],
                             [due, due + 3600], "of ten missed times, the last")
        set_forward(1)
        set_forward(2)
        first.stop()  # another leader takes over within the hour
        second.lead()
        set_forward(3)
        second.stop()
        third = self.leader(name="third", kubeconfig=self.through)
        set_forward(4)
        # What is due is written down before its session is made.
        proc.wait_until(lambda: len(self.made()) == 4, 30, "four sessions")
        third.stop()


if __name__ == "__main__":
    unittest.main()
