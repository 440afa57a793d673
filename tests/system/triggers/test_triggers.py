"""What triggers do: one session per occurrence, within limits that hold over repetitions, replicas and restarts."""
import signal
import time
import unittest

from tests.system.triggers.ground import AIMED, THRESHOLD, TriggerTest, condition
from tests.lib import proc


class Firing(TriggerTest):
    def test_one_session_however_often_and_wherever_it_is_said(self):
        self.trigger(template={"durationSeconds": 20, "target": {"container": "app"}})
        first = self.leader()
        second = self.start("second")
        self.wait_ready()
        self.fire(first, "fingerprint/1", "checkout-1", times=5000, message="alert HighCPU: 95% of the limit")
        self.fire(second, "fingerprint/1", "checkout-1", times=5000, message="alert HighCPU: 95% of the limit")
        said = [hub.expect("fired", 60)[1] for hub in (first, second) for _ in range(5000)]
        self.assertLessEqual(set(said), {"FIRED/Fired", "SUPPRESSED/Duplicate"})
        self.assertIn("FIRED/Fired", said)
        status = self.wait_trigger(lambda s: s.get("activeSessions") == 1 and s["firings"][0]["phase"] == "Active", "it is active")
        made = self.made()
        self.assertEqual(len(made), 1)
        self.assertEqual((status["firedCount"], status["suppressedCount"], status["lastSession"]), (1, 0, made[0]["metadata"]["name"]))
        self.assertEqual(status["firings"][0]["podName"], "checkout-1")
        meta, spec = made[0]["metadata"], made[0]["spec"]
        self.assertEqual(meta["labels"], {"drdotnet.dev/trigger": "hot"})
        self.assertEqual(meta["annotations"], {"drdotnet.dev/fired-by": "alert HighCPU: 95% of the limit"})
        self.assertEqual(meta["ownerReferences"], [{"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "name": "hot",
                                                   "uid": self.look()["metadata"]["uid"], "controller": True}])
        self.assertEqual((spec["target"]["podName"], spec["target"]["container"], spec["durationSeconds"]), ("checkout-1", "app", 20))
        proc.wait_until(lambda: self.events_of(), 20, "an event")
        self.assertEqual([(e["reason"], e["type"], e["count"]) for e in self.events_of()], [("Fired", "Normal", 1)])
        for row in (["hot", "alertmanager"], ["1", "false"]):
            for word in row:
                self.assertIn(word, self.cluster.kubectl("get", "ptrig", "-n", self.namespace).splitlines()[1].split())

    def test_limits_hold_over_a_flood_and_say_so(self):
        self.trigger(limits={"maxActive": 2, "perHour": 3})
        hub = self.leader()
        self.wait_ready()
        self.assertEqual([self.outcome(hub, "a/%d" % i, "pod-%d" % i)[0] for i in range(3)], ["Fired", "Fired", "TooManyActive"])
        status = self.wait_trigger(lambda s: condition({"status": s}, "Limited")["reason"] == "TooManyActive", "it says so")
        self.assertIn("spec.limits.maxActive", status["message"])
        for session in self.made():
            self.end_session(session["metadata"]["name"])
        self.wait_trigger(lambda s: condition({"status": s}, "Limited")["reason"] == "WithinLimits", "it is within its limits")
        self.assertEqual(self.outcome(hub, "a/2", "pod-2")[0], "Fired")
        for i in range(500):
            self.fire(hub, "b/%d" % i, "other-%d" % i)
        self.assertLessEqual({hub.expect("fired", 30)[1] for _ in range(500)}, {"SUPPRESSED/HourlyLimit", "SUPPRESSED/TooManyActive"})
        status = self.wait_trigger(lambda s: s["suppressedCount"] == 501, "all are counted")
        self.assertEqual(condition({"status": status}, "Limited")["reason"], "HourlyLimit")
        self.assertEqual((status["firedCount"], len(self.made())), (3, 3))
        proc.wait_until(lambda: len(self.events_of()) >= 5, 20, "the events")
        told = [e["reason"] for e in self.events_of()]
        self.assertEqual((told.count("Fired"), told.count("Suppressed")), (3, 2), "a flood makes counts, not events")

    def test_cool_down_suspension_and_a_restart(self):
        self.trigger(cooldownSeconds=3600, template=AIMED)
        hub = self.leader()
        self.wait_ready()
        self.assertEqual(self.outcome(hub, "a/1", "pod-1")[0], "Fired")
        self.assertEqual(self.outcome(hub, "a/2", "pod-1")[0], "SessionRunningOnPod")
        self.assertEqual(self.outcome(hub, "a/3")[0], "Fired", "the template's own target")
        self.end_session(self.outcome(hub, "a/1", "pod-1")[1])
        self.wait_trigger(lambda s: s.get("activeSessions") == 1, "one is over")
        self.assertEqual(self.outcome(hub, "a/2", "pod-1")[0], "CoolingDown")
        hub.stop(signal.SIGKILL)
        hub = self.leader(name="next")
        self.assertEqual(self.outcome(hub, "a/1", "pod-1")[0], "Duplicate")
        self.assertEqual(self.outcome(hub, "a/2", "pod-1")[0], "CoolingDown")
        self.assertEqual(self.outcome(hub, "a/4")[0], "CoolingDown")
        self.patch_trigger({"spec": {"suspend": True, "cooldownSeconds": 0}})
        self.wait_ready(reason="Suspended")
        self.assertEqual(self.outcome(hub, "a/5", "pod-1")[0], "Suspended")
        self.patch_trigger({"spec": {"suspend": False}})
        self.wait_ready()
        self.assertEqual(self.outcome(hub, "a/5", "pod-1")[0], "Fired")
        self.assertEqual(len(self.made()), 3)

    def test_history_is_kept_within_its_limits(self):
        self.trigger(cooldownSeconds=0, limits={"maxActive": 5}, historyLimits={"successful": 5, "failed": 1})
        hub = self.leader()
        self.wait_ready()
        names = [self.outcome(hub, "a/%d" % i, "pod-%d" % i)[1] for i in range(4)]
        for name in names[:3]:
            self.end_session(name)
            time.sleep(1.1)  # the times of their ends are whole seconds
        self.sessions.wait_gone(names[0])
        self.sessions.wait_gone(names[1])
        self.assertEqual({s["metadata"]["name"] for s in self.made()}, {names[2], names[3]}, "the newest, and the one that runs")
        self.assertEqual(self.outcome(hub, "a/0", "pod-0")[0], "Duplicate", "its session is gone, the occurrence is known")
        self.sessions.delete(names[3])
        self.wait_trigger(lambda s: s["activeSessions"] == 0 and s["firings"][3]["phase"] == "Gone", "it is seen to be gone")

    def test_what_no_schema_can_check_is_said_with_its_field(self):
        self.trigger("cron", source={"schedule": {"cron": "0 25 * * *"}}, template=AIMED)
        self.trigger("zone", source={"schedule": {"cron": "0 3 * * *", "timeZone": "Mars/Base"}}, template=AIMED)
        hub = self.leader()
        for name, field in (("cron", "spec.source.schedule.cron: hour"), ("zone", "spec.source.schedule.timeZone")):
            ready = condition({"status": self.wait_ready(name, "InvalidSpec")}, "Ready")
            self.assertEqual(ready["status"], "False")
            self.assertIn(field, ready["message"])
        self.assertEqual(self.outcome(hub, "a", name="cron", source=THRESHOLD)[0], "InvalidSpec")
        self.patch_trigger({"spec": {"source": {"schedule": {"cron": "0 23 * * *"}}}}, "cron")
        status = self.wait_ready("cron")
        self.assertRegex(status["nextScheduleTime"], "T23:00:00Z$")
        self.assertEqual(status["observedGeneration"], 2)
        self.assertEqual(self.outcome(hub, "a", name="cron", source=THRESHOLD)[0], "NotFound", "it has another source")
        self.assertEqual(self.outcome(hub, "a", name="nobody")[0], "NotFound")

    def test_a_deleted_trigger_leaves_its_sessions_to_their_owner_reference(self):
        self.trigger()
        hub = self.leader()
        self.wait_ready()
        name = self.outcome(hub, "a", "pod-1")[1]
        uid = self.look()["metadata"]["uid"]
        self.cluster.request("DELETE", "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingtriggers/hot" % self.namespace)
        proc.wait_until(lambda: self.outcome(hub, "b", "pod-2")[0] == "NotFound", 20, "the watch has told of it")
        self.assertEqual(self.sessions.get(name)["metadata"]["ownerReferences"][0]["uid"], uid)
        self.trigger()  # of the same name, with a life of its own
        self.wait_ready()
        again = self.outcome(hub, "a", "pod-1")
        self.assertEqual(again[0], "Fired")
        self.assertNotEqual(again[1], name)


if __name__ == "__main__":
    unittest.main()
