"""The controller when the API server, the network or the controller itself goes wrong: through a proxy that does so on purpose."""
import contextlib
import json
import signal
import time
import unittest

from tests.system.controller.fakehub import condition
from tests.system.controller.faulty_api import FaultyApi
from tests.system.controller.test_sessions import COST, LEASE, REPORT, ControllerTest
from tests.lib import kube, matrix, proc

ENDED = {"startTime": 1700000000000, "completionTime": 1700000030000, "headline": "busy", "diagnosis": "busy", "reports": [REPORT],
         "cost": COST}


class FaultyTest(ControllerTest):
    def setUp(self):
        super().setUp()
        self.api = FaultyApi(self.cluster)
        self.addCleanup(self.api.__exit__)
        self.kubeconfig = self.api.kubeconfig(self.folder + "/faulty.kubeconfig", self.token_file)


class Agent:
    """What an agent does with orders: it profiles once a job, whatever it is told again, and keeps the report until it may forget it."""

    def __init__(self, node):
        self.node, self.jobs, self.profiled = node, {}, []

    def link(self, hub):
        hub.say("link", self.node, 1)
        for job in self.jobs:
            self.tell(hub, job)

    def tell(self, hub, job):
        phase = self.jobs[job]
        if hub.popen.poll() is not None:
            return
        with contextlib.suppress(BrokenPipeError):  # it has just been killed
            hub.job(self.node, job, phase, **(ENDED if phase == "Succeeded" else {"startTime": 1700000000000}))

    def take(self, hub, verb, words):
        job = json.loads(words[3])["jobID"]
        if verb == "forget":
            self.jobs.pop(job, None)
        elif verb == "order":
            if job not in self.jobs:
                self.jobs[job] = "Profiling"
                self.profiled.append(job)
            self.tell(hub, job)

    def serve(self, hub):
        """Takes what the controller has said so far."""
        for verb in ("order", "forget"):
            while True:
                words = hub.poll(verb)
                if not words:
                    break
                self.take(hub, verb, words)

    def finish(self, hub):
        for job in self.jobs:
            self.jobs[job] = "Succeeded"
            self.tell(hub, job)


class Killed(FaultyTest):
    """The controller is killed at each of its writes, before the API server has it or after, and at what it says to the agent or hears;
    the next one goes on from there."""
    time_limit = 240
    SESSION = r"/profilingsessions/%s\?"
    STATUS = r"/profilingsessions/%s/status\?"
    # method, path, which of them: the session's way through a controller's life
    STEPS = [("choosing", "GET", r"/pods\?", 0), ("holding", "PATCH", SESSION, 0), ("assigning", "PATCH", STATUS, 0),
             ("Profiling", "PATCH", STATUS, 1), ("ending", "PATCH", STATUS, 2), ("letting go", "PATCH", SESSION, 1)]

    def test_at_each_write(self):
        self.pod("checkout-1")
        for number, (step, method, pattern, nth) in enumerate(self.STEPS):
            for how, fault in ((FaultyApi.never_arrives, "before the API server has its request"), (FaultyApi.lost_answer, "after it, before the answer")):
                name = "s%d-%s" % (number, how.__name__.replace("_", "-"))
                with self.subTest(name):
                    self.one(name, method, pattern.replace("%s", name), nth, how)
                    self.row(step, fault)

    def row(self, step, fault):
        matrix.row(self, "Controller: restarts", step, "the controller is killed " + fault,
                   "the next one goes on: one job, its report, nothing left behind")

    def test_between_writes(self):
        """When the order has gone out, and when the agent's last word has come in."""
        self.pod("checkout-1")
        for name, phase in (("ordered", None), ("told", "Succeeded")):
            with self.subTest(name):
                hub, agent = self.start(name + "-1"), Agent("n1")
                agent.link(hub)
                hub.lead()
                self.sessions.create(name)
                words = hub.expect("order", 30)
                if phase:
                    agent.take(hub, "order", words)
                    self.sessions.wait_condition(name, "Running", "True")
                    agent.finish(hub)
                hub.stop(signal.SIGKILL)
                agent.jobs.setdefault(json.loads(words[3])["jobID"], "Profiling")
                agent.profiled = agent.profiled or [json.loads(words[3])["jobID"]]
                self.goes_on(name, agent)
                self.row("Pending" if name == "ordered" else "Delivering",
                         "when the order has gone out" if name == "ordered" else "when the agent's last word has come")

    def one(self, name, method, pattern, nth, how):
        hub, agent = self.start(name + "-1"), Agent("n1")
        killed = []

        def kill():
            hub.popen.send_signal(signal.SIGKILL)
            hub.popen.wait()
            killed.append(True)
        if nth:
            self.api.on(method, pattern, lambda request, forward: forward(), nth)
        self.api.on(method, pattern, how(kill))
        agent.link(hub)
        hub.lead()
        self.sessions.create(name)
        try:
            self.drive(name, agent, hub, lambda: killed)
        finally:
            hub.stop(signal.SIGKILL)
        self.goes_on(name, agent)

    def goes_on(self, name, agent):
        """With the next controller."""
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
        hub = self.start(name + "-2")
        try:
            agent.link(hub)
            hub.lead()
            self.drive(name, agent, hub, lambda: self.over(name) and not agent.jobs)
        finally:
            self.assertEqual(hub.stop(), 0)
        now = self.sessions.get(name)
        self.assertEqual(condition(now, "Succeeded")["status"], "True", now["status"])
        self.assertEqual(len(agent.profiled), 1, "profiled once")
        self.assertEqual(now["status"]["targets"][0]["jobID"], agent.profiled[0])
        self.assertEqual([r["name"] for r in now["status"]["targets"][0]["reports"]], ["summary.md"])

    def over(self, name):
        now = self.sessions.get(name)
        return (condition(now, "Completed") or {}).get("status") == "True" and "finalizers" not in now["metadata"]

    def drive(self, name, agent, hub, done):
        """The agent works until `done`: it profiles when told to, and has finished when the status says that it profiles."""
        def turn():
            agent.serve(hub)
            if agent.jobs and (condition(self.sessions.get(name), "Running") or {}).get("status") == "True":
                agent.finish(hub)
            return done()
        proc.wait_until(turn, 30, "%s\n%s" % (name, hub.log()[-2000:]), 0.02)


class Watching(FaultyTest):
    def line(self, kind, obj):
        return json.dumps({"type": kind, "object": obj}).encode() + b"\n"

    def missed(self):
        """A session that the watch has not told of."""
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.api.muted = True
        self.sessions.create("missed")
        hub.silent("order", 0.7)
        return hub

    def lists(self):
        return len([r for r in self.api.seen("GET", "profilingsessions") if not r.is_watch])

    def test_gone_said_within_the_watch(self):
        hub = self.missed()
        before = self.lists()
        self.api.inject(self.line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}))
        hub.order("missed")
        self.assertEqual(self.lists(), before + 1, "what was missed is learnt by a new list")

    def test_gone_as_an_answer(self):
        hub = self.missed()
        self.api.on("GET", r"profilingsessions.*watch=true", self.api.answer(410))
        self.api.cut()
        hub.order("missed")

    def test_gone_between_two_pages(self):
        for number in range(3):
            self.sessions.create("s%d" % number, selector={"app": "late"})

        def small_pages(request, forward):
            request.path = request.path.replace("limit=100", "limit=1")
            return forward()
        self.api.on("GET", r"profilingsessions.*limit=100$", small_pages, 10)
        gone = self.api.on("GET", r"profilingsessions.*continue=",
                           self.api.answer(410, body={"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}))
        self.api.on("GET", r"profilingsessions.*limit=100&continue=", small_pages, 10)
        self.cluster.create_pod(self.namespace, "late-1", "n1", labels={"app": "late"})
        hub = self.leader("n1")
        for number in range(3):
            hub.order("s%d" % number, 30)
        self.assertEqual(gone.times, 0, "it has happened")
        self.assertGreaterEqual(self.lists(), 5)

    def test_a_bookmark_is_where_the_next_watch_begins(self):
        self.leader("n1")
        proc.wait_until(self.api.running, 10, "the watch")
        version = self.cluster.request("GET", self.sessions.path)["metadata"]["resourceVersion"]
        self.api.inject(self.line("BOOKMARK", {"kind": "ProfilingSession", "metadata": {"resourceVersion": version}}))
        before = len(self.api.watched())
        self.api.cut()
        proc.wait_until(lambda: len(self.api.watched()) > before, 20, "the next watch")
        self.assertEqual(self.api.watched()[before].query["resourceVersion"], version)
        self.assertEqual(self.api.watched()[before].query["allowWatchBookmarks"], "true")

    def test_rubbish_in_the_watch(self):
        """A line past all bounds, and one that is no event: what they may have hidden is learnt by a new list."""
        for rubbish in (b"x" * (3 << 20) + b"\n", b'{"type":"MODIFIED","object":[]}\n', b"\xff\xfe\n"):
            with self.subTest(rubbish[:20]):
                self.clear()
                hub = self.missed_with(rubbish)
                hub.stop()

    def missed_with(self, rubbish):
        name = "rubbish-%d" % len(rubbish)
        if not self.api.seen("GET", "/pods"):
            self.pod("checkout-1")
        self.api.muted = False
        hub = self.leader("n1", name=name)
        proc.wait_until(self.api.running, 10, "the watch")
        self.api.muted = True
        self.sessions.create(name)
        hub.silent("order", 0.7)
        before = self.lists()
        self.api.inject(rubbish)
        hub.order(name, 30)
        self.assertGreater(self.lists(), before)
        self.api.muted = False
        return hub

    def many(self, count=4):
        """So many sessions that the watch begins with them."""
        self.pod("checkout-1")
        names = ["many-%d" % n for n in range(count)]
        for name in names:
            self.sessions.create(name)
        return names

    def streams(self):
        return [r for r in self.api.watched() if "sendInitialEvents" in r.query]

    def ordered(self, hub, names):
        """These and no others, each once; or again, when so long passes that the controller asks after its order."""
        jobs = {}
        while len(jobs) < len(names):
            order = hub.order()[1]
            jobs[order["jobID"]] = order["session"]["name"]
        self.assertEqual(sorted(jobs.values()), names)
        hub.silent("order", 0.3, jobs)

    def test_many_sessions_come_as_the_beginning_of_the_watch(self):
        self.cluster.require(self, "streaming lists")
        names = self.many()
        hub = self.leader("n1", stream=True)
        self.ordered(hub, names)
        self.sessions.create("later")
        hub.order("later")
        self.assertEqual([(len(self.streams()), len(self.api.watched()))], [(1, 1)], "the same watch goes on")
        self.assertEqual([r.query["limit"] for r in self.api.seen("GET", r"profilingsessions\?limit")], ["1"])
        proc.wait_until(self.api.running, 10, "the watch")
        self.api.muted = True
        self.sessions.delete(names[0])
        self.api.cut()
        self.api.muted = False
        proc.wait_until(lambda: len(self.api.watched()) > 1, 20, "the next watch")
        self.assertNotIn("sendInitialEvents", self.api.watched()[1].query)
        self.assertRegex(self.api.watched()[1].query["resourceVersion"], r"^\d+$", "from where it was")
        hub.expect("cancel")

    def test_a_server_that_cannot_begin_a_watch_so(self):
        """It refuses; or its watch ends before the word that all objects were told of, even with all of them."""
        names = self.many()

        def ends_early(request, forward):
            items = self.cluster.request("GET", self.sessions.path)["items"]
            return 200, {}, b"".join(self.line("ADDED", i) for i in items[:2])
        for how, act in (("refused", self.api.answer(422)), ("ends early", ends_early)):
            with self.subTest(how):
                rule = self.api.on("GET", "sendInitialEvents", act)
                hub = self.leader("n1", name=how.replace(" ", "-"), stream=True)
                self.ordered(hub, names)
                self.assertEqual(rule.times, 0)
                self.assertEqual(len(self.streams()), 1, "it is not asked again")
                hub.stop()
                self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")
                self.api.requests.clear()

    def test_the_server_goes_away_and_comes_back(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("before")
        _, order = hub.order("before")
        rules = [self.api.on(method, ".", lambda request, forward: None, 10 ** 6) for method in ("GET", "PATCH", "PUT", "POST")]
        self.api.cut()
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.sessions.create("meanwhile")
        time.sleep(2)
        self.assertNotEqual((condition(self.sessions.get("before"), "Running") or {}).get("status"), "True")
        for rule in rules:
            rule.times = 0
        self.sessions.wait_condition("before", "Running", "True", seconds=60)
        hub.order("meanwhile", 60)
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("before", "Completed", "True", "Completed", seconds=60)
        hub.silent("order", 0.3)


class Answers(FaultyTest):
    def test_too_many_requests(self):
        """The server's Retry-After is obeyed."""
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.api.on("GET", "/pods", self.api.answer(429, {"Retry-After": "1"}))
        self.sessions.create("cpu")
        hub.order("cpu")
        first, second = self.api.seen("GET", "/pods")[:2]
        self.assertGreaterEqual(second.time - first.time, 1)

    def test_somebody_else_writes_first(self):
        self.pod("checkout-1")
        hub = self.leader("n1")

        def touch():
            self.sessions.patch("cpu", {"metadata": {"annotations": {"touched": str(time.monotonic())}}})
        self.api.on("PATCH", r"/profilingsessions/cpu\?", self.api.before(touch))
        self.api.on("PATCH", r"/profilingsessions/cpu/status", self.api.before(touch))
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        self.assertEqual([r.status for r in self.api.seen("PATCH", r"/profilingsessions/cpu\?")][:2], [409, 200])
        self.assertEqual([r.status for r in self.api.seen("PATCH", r"/profilingsessions/cpu/status")][:2], [409, 200])
        hub.silent("order", 0.3)
        self.succeed(hub, "n1", order["jobID"])
        now = self.sessions.wait_condition("cpu", "Completed", "True", "Completed")
        self.assertIn("touched", now["metadata"]["annotations"])

    def test_errors_of_the_server_pass(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        for path in (r"/profilingsessions/cpu\?", r"/profilingsessions/cpu/status"):
            self.api.on("PATCH", path, self.api.answer(500), 3)
        self.api.on("GET", "/pods", lambda request, forward: (200, {}, b"<html>not Kubernetes</html>"), 2)
        self.sessions.create("cpu")
        hub.order("cpu", 30)
        hub.silent("order", 0.3)

    def test_a_token_that_ends_is_read_again(self):
        with open(self.token_file) as f:
            old = f.read()
        self.pod("checkout-1")
        hub = self.leader("n1")
        proc.wait_until(lambda: self.write_token() != old, 10, "another token", 0.3)  # they carry a time in seconds

        def refuse_old(request, forward):
            return self.api.answer(401)(request, forward) if request.headers["Authorization"] == "Bearer " + old else forward()
        for method in ("GET", "PATCH", "PUT", "POST"):
            self.api.on(method, ".", refuse_old, 10 ** 6)
        self.sessions.create("cpu")
        hub.order("cpu")
        refused = proc.wait_until(lambda: [r for r in self.api.seen("GET", "/leases/") if r.status == 401], 20, "the old token was tried")
        proc.wait_until(lambda: [r for r in self.api.seen("PUT", "/leases/") if r.status == 200 and r.time > refused[0].time], 20,
                        "the Lease is renewed with the new token")

    def test_an_outage_is_no_reason_to_wait_once_the_server_answers(self):
        """It is away for a while, then the place in the history is gone: a list follows at once. The log says the outage of the Lease once."""
        self.pod("checkout-1")
        hub = self.leader("n1")
        proc.wait_until(self.api.running, 10, "the watch")
        away = [self.api.on("GET", "leases", lambda request, forward: None, 10 ** 6)]
        gone = self.api.on("GET", r"profilingsessions.*watch=true", lambda request, forward: None, 4)
        self.api.on("GET", r"profilingsessions.*watch=true", self.api.answer(410))
        self.api.cut()
        self.sessions.create("meanwhile")
        proc.wait_until(lambda: gone.times == 0, 60, "the outage is over")
        before = len(self.api.seen("GET", "/leases/"))
        proc.wait_until(lambda: len(self.api.seen("GET", "/leases/")) > before + 4, 30, "the Lease is asked for again and again")
        away[0].times = 0
        hub.order("meanwhile", 60)
        pauses = [line for line in hub.log().splitlines() if "will try again" in line and "profilingsessions" in line]
        self.assertEqual(len(pauses), 4, "one for each that was not answered, none for what is gone:\n" + "\n".join(pauses))
        self.assertFalse([line for line in pauses if "410" in json.loads(line)["error"]])
        unread = [line for line in hub.log().splitlines() if "lease not re" in line]
        self.assertLess(len(unread), 4, "\n".join(unread))
        proc.wait_until(lambda: "lease renewed again" in hub.log() or "lease read again" in hub.log(), 30, "the log says its end")

    def test_a_leader_that_cannot_renew_gives_up_before_another_leads(self):
        first = self.leader("n1", name="first")
        for method in ("GET", "PUT"):
            self.api.on(method, "/leases/", self.api.answer(503), 10 ** 6)
        self.kubeconfig = self.cluster.write_kubeconfig(self.folder + "/straight.kubeconfig", self.token_file)
        second = self.start("second")
        second.say("link", "n1", first.epoch)
        self.assertEqual(first.expect("epoch", 30)[1], "0")
        self.assertIsNone(second.poll("epoch"), "not yet")
        self.assertGreater(int(second.expect("epoch", 30)[1]), first.epoch)
        self.pod("checkout-1")
        self.sessions.create("cpu")
        second.order("cpu")
        self.assertIsNone(first.poll("order"), "it gives no orders any more")

    def test_repeated_events_are_counted(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("cpu")
        _, order = hub.order("cpu")
        for _ in range(3):
            hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
            self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "Profiling")
            hub.say("unlink", "n1")
            self.sessions.wait_condition("cpu", "Succeeded", "Unknown", "AgentLost")
            hub.say("link", "n1", 1)

        def counts():
            return {e["reason"]: (e["type"], e["count"]) for e in self.sessions.events("cpu")}
        # the first of them, and one each time that the link is there again
        proc.wait_until(lambda: counts().get("Profiling", ("", 0))[1] == 4, 10, "four of a kind in one Event")
        self.assertEqual(counts()["Profiling"], ("Normal", 4))
        self.assertEqual(counts()["AgentLost"], ("Warning", 3))
        self.assertEqual(counts()["PodChosen"], ("Normal", 1))


@unittest.skipUnless(kube.built(), "tests/setup/build-apiserver.sh has not been run")
class Restarted(ControllerTest):
    """The API server itself is started again on its data."""
    assets = kube.BUILT

    def test_nothing_is_lost_or_done_twice(self):
        self.pod("checkout-1")
        hub = self.leader("n1")
        self.sessions.create("before")
        _, order = hub.order("before")
        server = self.cluster.processes.pop()
        server.stop()
        hub.job("n1", order["jobID"], "Profiling", startTime=1700000000000)
        self.cluster.processes.append(proc.Process(server.words, log=server.log_path))
        proc.wait_until(self.cluster._ready, 90, "the API server is back")
        self.sessions.wait_condition("before", "Running", "True", seconds=90)
        self.sessions.create("after")
        hub.order("after", 90)
        self.succeed(hub, "n1", order["jobID"])
        self.sessions.wait_condition("before", "Completed", "True", "Completed", seconds=60)
        hub.silent("order", 0.3)


if __name__ == "__main__":
    unittest.main()
