"""What the API server may answer, late or wrongly, and what the controller makes of it: nothing is lost, done twice, or asked for in a loop."""
import calendar
import json
import os
import threading
import time
import unittest

from tests.system.controller.faulty_api import FaultyApi
from tests.system.controller.test_faults import FaultyTest
from tests.system.controller.test_sessions import LEASE
from tests.lib import matrix, proc

ILL_MACHINE = os.path.join(proc.ROOT, "build/release/tests/ill_machine.so")
BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
PART = "Controller: the API server"
KEPT = "the session goes on and succeeds; one order; nothing is left"


class SessionTest(FaultyTest):
    def ordered(self, hub, name="cpu"):
        self.sessions.create(name)
        return hub.order(name, 60)[1]["jobID"]

    def ends_well(self, hub, job, name="cpu"):
        """One order, one report, and the object is let go."""
        self.succeed(hub, "n1", job)
        self.sessions.wait_condition(name, "Succeeded", "True", "Completed", seconds=90)
        self.sessions.wait(name, lambda s: "finalizers" not in s["metadata"], "the finalizer goes", 60)
        again = hub.poll("order")
        self.assertIsNone(again, "no second order")


class WrongAnswers(SessionTest):
    """Answers of the wrong kind, cut, too large or denied. And a clock that does not go with theirs."""
    time_limit = 300

    def lists(self):
        return len([r for r in self.api.seen("GET", "profilingsessions") if not r.is_watch])

    def relist(self):
        """The watch ends as one does whose history is compacted."""
        proc.wait_until(self.api.running, 60, "the watch")
        before = self.lists()
        self.api.on("GET", r"profilingsessions.*watch=true", self.api.answer(410))
        self.api.cut()
        proc.wait_until(lambda: self.lists() > before, 30, "a new list")

    def test_a_list_that_is_none_empties_nothing(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        job = self.ordered(hub)
        hub.job("n1", job, "Profiling", startTime=1700000000000)
        self.sessions.wait_condition("cpu", "Running", "True")
        for body in (b'{"kind":"Status","apiVersion":"v1","status":"Success"}', b'{"kind":"ProfilingSessionList","items":[]}'):
            wrong = self.api.on("GET", r"profilingsessions\?limit", lambda request, forward, body=body: (200, {}, body))
            self.relist()
            proc.wait_until(lambda: wrong.times == 0, 30, "the wrong answer was given")
            hub.job("n1", job, "Profiling", startTime=1700000000000, pid=7)
            before = len(self.api.watched())
            proc.wait_until(lambda: len(self.api.watched()) > before, 60, "the next watch, after a good list")
        self.assertIsNone(hub.poll("cancel"), "nothing was taken for deleted")
        self.ends_well(hub, job)
        matrix.row(self, PART, "Profiling", "a list is answered with another kind, or as empty and without a version", KEPT)

    def test_objects_that_are_others_or_cut(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        other = self.cluster.create_pod(self.namespace, "other", "n1")
        wrong = [lambda request, forward: (200, {}, json.dumps(other).encode()), lambda request, forward: (200, {}, b"{}"),
                 self.api.cut_in_the_body, self.api.half_of_the_text, lambda request, forward: (200, {}, b"[" * 100000)]
        for number, act in enumerate(wrong):
            name = "s%d" % number
            with self.subTest(name):
                for method, path in (("GET", r"/pods"), ("PATCH", r"/profilingsessions/%s\?" % name), ("PATCH", r"/profilingsessions/%s/status" % name),
                                     ("GET", "/leases/"), ("PATCH", r"/profilingsessions/%s/status" % name)):
                    self.api.on(method, path, act)
                self.sessions.create(name, pod="checkout-1")
                job = hub.order(name, 60)[1]["jobID"]
                self.ends_well(hub, job, name)
        matrix.row(self, PART, "choosing, assigning, reporting", "an answer is another object, nothing, cut, half of itself or nested without end", KEPT)

    def test_a_page_that_is_too_large_is_asked_for_in_parts(self):
        for number in range(3):
            self.sessions.create("s%d" % number, selector={"app": "late"})

        def too_large(request, forward):
            return (200, {}, b" " * (9 << 20)) if int(request.query["limit"]) > 3 else forward()
        self.api.on("GET", r"profilingsessions\?limit", too_large, 10 ** 6)
        self.cluster.create_pod(self.namespace, "late-1", "n1", labels={"app": "late"})
        self.cluster.set_pod_running(self.cluster.request("GET", "/api/v1/namespaces/%s/pods/late-1" % self.namespace), {})
        hub = self.leader("n1")
        for number in range(3):
            hub.order("s%d" % number, 30)
        self.assertEqual([r.query["limit"] for r in self.api.seen("GET", r"profilingsessions\?limit")][:5], ["100", "50", "25", "12", "6"])
        with open("/proc/%d/status" % hub.popen.pid) as f:
            peak = int(f.read().partition("VmHWM:")[2].split()[0])
        self.assertLess(peak, 64 * 1024, "KiB")
        matrix.row(self, PART, "start", "objects so large that a page of them passes 8 MiB", "smaller pages are asked for; memory stays below 64 MiB")

    def test_rights_taken_and_given_back(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        job = self.ordered(hub)
        bindings = [b for b in self.cluster.request("GET", BINDING)["items"]
                    if any(s.get("name") == "drdotnet-controller" for s in b.get("subjects") or [])]
        self.assertTrue(bindings)
        for binding in bindings:
            self.cluster.request("DELETE", BINDING + "/" + binding["metadata"]["name"])
        try:
            proc.wait_until(self.api.running, 60, "the watch")
            self.api.cut()
            self.sessions.create("meanwhile")
            hub.job("n1", job, "Profiling", startTime=1700000000000)
            proc.wait_until(lambda: "forbidden" in hub.log() and "cannot" in hub.log(), 30, "it says what it may not")
            self.assertIsNone(hub.poll("cancel"))
        finally:
            for binding in bindings:
                self.cluster.request("POST", BINDING, {k: binding[k] for k in ("roleRef", "subjects")} | {"metadata": {"name": binding["metadata"]["name"]}})
        self.sessions.wait_condition("cpu", "Running", "True", seconds=90)
        self.ends_well(hub, hub.order("meanwhile", 90)[1]["jobID"], "meanwhile")
        self.ends_well(hub, job)
        matrix.row(self, PART, "Profiling", "403: the controller's rights are taken and given back", KEPT + "; the log names the right")

    # the clock of the controller's node is wrong, and set under way ----------------------------------------------------
    def skewed(self, name, seconds, **options):
        path = os.path.join(self.folder, name + ".clock")
        self.set_clock(path, seconds)
        hub = self.start(name, env={"LD_PRELOAD": ILL_MACHINE, "ILL_CLOCK_FILE": path}, **options)
        return hub, path

    def set_clock(self, path, seconds):
        with open(path, "w") as f:
            f.write(str(seconds))

    def test_sessions_do_not_notice(self):
        self.pod("checkout-1")
        for name, seconds, then in (("ahead", 7200, -7200), ("behind", -7200, 7200)):
            with self.subTest(name):
                hub, path = self.skewed(name, seconds)
                hub.say("link", "n1", 0)
                hub.lead()
                self.sessions.create(name)
                job = hub.order(name, 30)[1]["jobID"]
                self.set_clock(path, then)
                hub.job("n1", job, "Profiling", startTime=1700000000000)
                self.sessions.wait_condition(name, "Running", "True", "Profiling")
                self.ends_well(hub, job, name)
                ended = self.sessions.get(name)["status"]["completionTime"]
                self.assertLess(abs(seconds_of(ended) - time.time()), 120, "times are the API server's")
                self.assertIn("sessions go by the API server's", hub.log())
                self.assertEqual(hub.stop(), 0)
                self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
        matrix.row(self, PART, "Profiling", "the controller's clock is two hours ahead or behind, and set by four hours", KEPT)

    def test_a_standby_whose_clock_is_ahead_takes_no_lease_that_is_held(self):
        first = self.leader("n1", name="first")
        own = FaultyApi(self.cluster)
        self.addCleanup(own.__exit__)
        self.skewed("second", 7200, kubeconfig=own.kubeconfig(self.folder + "/own.kubeconfig", self.token_file))
        proc.wait_until(lambda: len([r for r in own.seen("GET", "/leases/") if r.status == 200]) >= 3, 60, "it has looked at the Lease")
        taken = own.seen("PUT", "/leases/")
        self.assertTrue(not taken or first.poll("epoch"), "taken only from one that has resigned, too slow to renew it")
        matrix.row(self, PART, "leading", "the standby's clock is two hours ahead", "it leaves the Lease to its holder")


class Patience(SessionTest):
    time_limit = 300

    def test_retry_after_is_no_loop_and_is_kept(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.api.on("GET", "/pods", self.api.answer(429, {"Retry-After": "0"}), 5)
        job = self.ordered(hub)
        times = [r.time for r in self.api.seen("GET", "/pods")]
        self.assertGreaterEqual(len(times), 6)
        self.assertGreaterEqual(min(b - a for a, b in zip(times, times[1:])), 0.19)
        # longer than a call of the election may last: it waits all the same, without a request
        asked = self.api.on("GET", "/leases/", self.api.answer(429, {"Retry-After": "3"}))
        proc.wait_until(lambda: asked.times == 0, 30, "the election was asked to wait")
        refused = [r for r in self.api.seen("GET", "/leases/") if r.status == 429][-1]
        after = proc.wait_until(lambda: [r for r in self.api.seen("GET", "/leases/") if r.time > refused.time], 30, "it comes again")
        self.assertGreaterEqual(after[0].time - refused.time, 2.9)
        self.ends_well(hub, job)
        matrix.row(self, PART, "choosing, leading", "429 with Retry-After 0, and 429 with one longer than a call may last",
                   "five questions a second at most; no question before the time; " + KEPT)

    def test_one_call_that_is_never_answered_holds_up_nobody(self):
        """The first session's call hangs for as long as a call may; the second one's and the Lease's go on."""
        self.pod("checkout-1")
        hub = self.leader("n1")
        hangs = self.api.on("GET", "/pods", self.api.never_answers)
        self.sessions.create("first")
        proc.wait_until(lambda: hangs.times == 0, 20, "the call")
        self.api.on("GET", "/leases/", self.api.never_answers)
        job = self.ordered(hub, "second")
        self.ends_well(hub, job, "second")
        _, order = hub.order("first", 60)
        self.ends_well(hub, order["jobID"], "first")
        matrix.row(self, PART, "choosing, leading", "half-open: a request is taken and never answered",
                   "the call ends after 15 s, of the election after 1.5 s; other sessions go on meanwhile; " + KEPT)

    def stalled(self, drip):
        self.pod("checkout-1")
        hub = self.leader("n1", stall=1500)
        proc.wait_until(self.api.running, 20, "the watch")
        self.api.muted = True
        over = threading.Event()

        def drop():
            while drip and not over.wait(0.1):
                self.api.inject(b" ")
        thread = threading.Thread(target=drop)
        thread.start()
        try:
            self.sessions.create("cpu")
            before = len(self.api.watched())
            proc.wait_until(lambda: len(self.api.watched()) > before, 30, "the watch is given up")
            self.api.muted = False
            job = hub.order("cpu", 60)[1]["jobID"]
        finally:
            over.set()
            thread.join()
        self.ends_well(hub, job)

    def test_a_silent_watch_is_given_up(self):
        self.stalled(False)
        matrix.row(self, PART, "waiting for sessions", "half-open: the watch is silent, without even a bookmark", "it is resumed where it was; " + KEPT)

    def test_a_dripping_watch_is_given_up(self):
        self.stalled(True)
        matrix.row(self, PART, "waiting for sessions", "slow: the watch drips bytes that never become an event", "it is resumed where it was; " + KEPT)

    def test_a_watch_that_ends_at_once_is_asked_for_ever_less_often(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        line = json.dumps({"type": "BOOKMARK", "object": {"kind": "ProfilingSession", "metadata": {"resourceVersion": "%s"}}})

        def at_once(request, forward):
            return 200, {}, (line % request.query["resourceVersion"]).encode() + b"\n"
        proc.wait_until(self.api.running, 60, "the watch")
        rule = self.api.on("GET", r"profilingsessions.*watch=true", at_once, 10 ** 6)
        self.api.cut()
        proc.wait_until(lambda: 10 ** 6 - rule.times >= 4, 60, "four watches")
        times = [r.time for r in self.api.watched()][-4:]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertGreaterEqual(min(gaps), 0.19, gaps)
        self.assertGreaterEqual(sum(gaps), 1.3, gaps)
        rule.times = 0
        job = self.ordered(hub)
        self.ends_well(hub, job)
        matrix.row(self, PART, "waiting for sessions", "each watch ends at once, again and again, after a bookmark",
                   "asked for after pauses that double up to 30 s; " + KEPT)


def seconds_of(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


if __name__ == "__main__":
    unittest.main()
