"""A taken-over agent, with a good token of its own node, against the real controller: it can lie about the sessions of its own node,
and do nothing to those of another."""
import hashlib
import json
import os
import ssl
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from tests.lib import install, kube, proc
from tests.system.link import websocket
from tests.system.link.websocket import WebSocket, hello

UNAVAILABLE = kube.unavailable()
POLICY, BAD_DATA, TOO_LARGE = 1008, 1007, 1009
EVIL = "the attacker's word"
MOST = 2**63 - 1
# States of a job that are well-formed messages, and that no API server takes as they are.
ODD = {
    "a reason that is none": dict(reason="no reason at all", message="\x1b[2J\u202e\r\n" + "x" * 900),
    "a long reason": dict(reason="X" * 64, message="\U0001f525" * 250),
    "numbers": dict(pid=MOST, queuePosition=MOST, cost={key: MOST for key in (
        "maxPauseMicroseconds", "maxWaitMicroseconds", "addedCPUMilliseconds", "agentCPUMilliseconds", "droppedSamples", "samples", "blockingCollections",
        "blockingCollectionMicroseconds")}),
    "times": dict(startTime=MOST, completionTime=1, firstSampleTime=2**53),
    "names": dict(container="../../x\n<script>", containerID="x" * 128, runtimeVersion="\u202e" * 40),
    "texts": dict(headline="\U0001f525" * 80, diagnosis="\u00e9\x07" * 680),
    "reports": dict(reports=[{"name": "same", "mediaType": "x" * 63, "sizeBytes": MOST, "sha256": "0" * 64, "delivered": True}] * 8),
}
FOREIGN = 'drdotnet_job_reports_dropped_total{reason="foreign"}'
ORPHAN = 'drdotnet_job_reports_dropped_total{reason="orphan"}'
REFUSED = 'drdotnet_starts_refused_total{reason="%s"}'
AWAITED = 'drdotnet_starts_awaited{of="pods"}'
LEASE = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % install.SYSTEM


def report(name="summary.md", data=b"words", **changed):
    return {"name": name, "mediaType": "text/markdown", "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **changed}


class Node:
    """An agent made by hand: `node` is what its token says."""

    def __init__(self, test, node):
        i = test.i
        made = i._system_pod("agent-%s-%s" % (node, os.urandom(3).hex()), node, "drdotnet-agent")
        self.token = i.cluster.service_account_token(install.SYSTEM, "drdotnet-agent", made, install.AUDIENCE)
        self.socket = WebSocket(i.link_port, test.ca, self.token, timeout=60, name=install.SERVER_NAME)
        test.addCleanup(self.socket.close)
        self.socket.send(hello())
        self.epoch = self.receive("leader")["epoch"]

    def receive(self, kind):
        """The next message of this kind; others do not prolong the wait for it."""
        until = time.monotonic() + proc.patience(40)
        while time.monotonic() < until:
            message = self.socket.receive()
            if message["type"] == kind:
                return message
        raise AssertionError("no %r came" % kind)

    def job(self, job_id, phase, **more):
        self.socket.send({"type": "job", "jobID": job_id, "phase": phase, **more})

    def ask(self, job_id, what):
        """Where may this report go? The grant, or the denial."""
        self.socket.send({"type": "uploadRequest", "jobID": job_id, "report": what})
        while True:
            message = self.socket.receive()
            if message["type"] in ("uploadGrant", "uploadDenied"):
                return message


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class TakenOver(unittest.TestCase):
    one_process = True
    time_limit = 180

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.i = install.Installation(folder.name + "/installation", cluster)
        cls.i.controller_words = ["--reports-quota", "1"]
        cls.enterClassContext(cls.i)
        cls.ca = cls.i.authority_file()
        cls.tls = ssl.create_default_context(cafile=cls.ca)
        cls.tls.check_hostname = False  # the URL's name leads nowhere here

    def setUp(self):
        self.namespace = self._testMethodName.replace("_", "-")[5:45].strip("-")
        self.i.cluster.namespace(self.namespace)
        self.good_node, self.evil_node = self.namespace + "-a", self.namespace + "-b"
        for name, node in (("good", self.good_node), ("evil", self.evil_node)):
            self.i.cluster.create_pod(self.namespace, name, node, labels={"app": "shop"})
        self.good, self.evil = Node(self, self.good_node), Node(self, self.evil_node)

    def session(self, name, namespace=None, seconds=30, **target):
        self.i.session(namespace or self.namespace, name, {"profiler": "CPUHotpaths", "durationSeconds": seconds, "target": target})

    def profiling(self, node, pod):
        """A session of one pod that its agent is working at; the job's id."""
        self.session("of-" + pod, podName=pod)
        job_id = node.receive("order")["jobID"]
        node.job(job_id, "Profiling")
        self.wait_phase("of-" + pod, "Profiling")
        return job_id

    def wait_phase(self, name, phase):
        def look():
            targets = self.status(name).get("targets", [])
            return targets and all(t.get("phase") == phase for t in targets)
        proc.wait_until(look, 30, "%s is %s" % (name, phase))

    def status(self, name):
        return self.i.get(self.namespace, name).get("status", {})

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.i.health_port, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def wait_count(self, name, count):
        proc.wait_until(lambda: self.metrics().get(name, 0) >= count, 30, "%s is %d" % (name, count))
        self.assertEqual(self.metrics()[name], count)

    def put(self, url, data, **headers):
        """The status of a PUT, wherever the URL's name leads."""
        place = urllib.parse.urlsplit(url)
        here = place._replace(netloc="127.0.0.1:%d" % self.i.link_port).geturl()
        return self.http(urllib.request.Request(here, data=data, method="PUT", headers={"Content-Type": "text/markdown", **headers}))

    def http(self, request):
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            return e.code
        except (ConnectionError, ssl.SSLError, urllib.error.URLError):
            return None

    def finish(self, node, job_id, name):
        """The honest end: a report, the diagnosis."""
        data = b"# the truth\n"
        grant = node.ask(job_id, report(data=data))
        self.assertEqual((grant["type"], self.put(grant["url"], data)), ("uploadGrant", 200))
        node.job(job_id, "Succeeded", headline="the truth", diagnosis="the truth", reports=[report(data=data, delivered=True)])
        session = self.i.wait_finished(self.namespace, name)
        self.assertIn("the truth", session["status"]["diagnosis"])
        self.assertNotIn(EVIL, json.dumps(session))

    def lie(self, job_id):
        """One report of each kind of lie about a job."""
        lies = [dict(phase="Succeeded", headline=EVIL, diagnosis=EVIL, reports=[report(delivered=True)]),
                dict(phase="Failed", reason="ProcessExited", message=EVIL), dict(phase="Canceled"),
                dict(phase="Profiling", pid=1, container=EVIL)]
        for words in lies:
            self.evil.job(job_id, **words)
        return len(lies)

    def test_it_speaks_for_no_other_node(self):
        """Jobs of another node, of another pod of the same session, of no session, made-up ids: counted, named, and without effect."""
        self.session("both", selector={"matchLabels": {"app": "shop"}}, maxPods=2)
        both = {node: node.receive("order")["jobID"] for node in (self.good, self.evil)}
        for node, own in both.items():
            node.job(own, "Profiling")
        self.wait_phase("both", "Profiling")
        job_id = self.profiling(self.good, "good")
        before = {name: self.status(name) for name in ("of-good", "both")}
        counted = self.metrics()
        lies = self.lie(job_id) + self.lie(both[self.good])
        uid = self.i.get(self.namespace, "of-good")["metadata"]["uid"]
        for made_up in (uid + "-1", uid + "-19"):
            self.evil.job(made_up, "Succeeded", diagnosis=EVIL)
            lies += 1
        self.wait_count(FOREIGN, counted.get(FOREIGN, 0) + lies)
        for unknown in ("no-job", "00000000-0000-0000-0000-000000000000-0", uid):
            self.evil.job(unknown, "Succeeded", diagnosis=EVIL)
        self.wait_count(ORPHAN, counted.get(ORPHAN, 0) + 3)
        # the same at the beginning of a link
        again = Node(self, self.evil_node)
        again.socket.send(hello(jobs=[{"jobID": job_id, "phase": "Succeeded", "diagnosis": EVIL}]))
        self.wait_count(FOREIGN, counted.get(FOREIGN, 0) + lies + 1)
        log = self.i.controller.log()
        self.assertEqual(log.count('"node":"%s","job":"%s"' % (self.evil_node, job_id)), 5, "one line for each")
        self.assertEqual({name: self.status(name) for name in before}, before)
        self.finish(self.good, job_id, "of-good")

    def test_it_gets_no_way_to_the_reports_of_others(self):
        job_id, own = self.profiling(self.good, "good"), self.profiling(self.evil, "evil")
        for foreign in (job_id, "00000000-0000-0000-0000-000000000000-0", "no-job"):
            denied = self.evil.ask(foreign, report())
            self.assertEqual((denied["type"], denied["jobID"]), ("uploadDenied", foreign))
            self.assertNotIn("url", denied)
            self.assertFalse(foreign == job_id and denied["retry"], "of a session that is not known it may ask again")
        data = b"# lies\n"
        url = self.evil.ask(own, report(data=data))["url"]
        other = self.good.ask(job_id, report(data=data))["url"]
        mine, theirs = (u.partition("/store/")[2].partition("?")[0] for u in (url, other))
        self.assertTrue(mine.startswith(self.namespace + "/of-evil-") and theirs.startswith(self.namespace + "/of-good-"))
        for forged in (url.replace(mine, theirs), url.replace(mine, mine + "x"), url.replace(mine, "../" + mine),
                       url.replace("size=%d" % len(data), "size=%d" % (len(data) + 1)), url.replace("expires=", "expires=9"),
                       url.replace(hashlib.sha256(data).hexdigest(), "0" * 64)):
            self.assertNotEqual(forged, url)
            self.assertIn(self.put(forged, data), (400, 403, 404), forged)
        for wrong in (data + b"x", data[:-1], b"x" * len(data)):
            self.assertIn(self.put(url, wrong), (400, 403, None), wrong)
        self.assertEqual(self.stored(), [])
        self.assertEqual(self.put(url, data), 200)
        self.assertEqual(self.stored(), [mine])
        # reading needs rights that an agent does not have: its token is none for the API server
        path = "https://127.0.0.1:%d/reports/%s" % (self.i.link_port, mine)
        self.assertEqual(self.http(urllib.request.Request(path, headers={"Authorization": "Bearer " + self.evil.token})), 401)
        with self.assertRaises(kube.ApiError) as refused:
            kube.Client(self.i.cluster.kubeconfig, token=self.evil.token).request("GET", "/api/v1/namespaces/%s/pods" % self.namespace)
        self.assertEqual(refused.exception.code, 401)

    def stored(self):
        root = self.i.folder + "/drdotnet-controller-0/reports"
        found = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]
        return [path.partition("/")[2] if not path.startswith(self.namespace) else path for path in found if self.namespace in path]

    def arm(self, name="next", **more):
        """A session that waits for the next container of the pod "good", both agents told so: the pods that each was told of."""
        for node in (self.good, self.evil):
            node.socket.send(hello(containerStarts=True, podStarts=True))
        self.i.session(self.namespace, name, {"profiler": "CPUHotpaths", "durationSeconds": 30, "target": {"podName": "good"}, "start": "NextContainerStart",
                                              "cpuHotpaths": {"frequencyHertz": 999}, **more})
        while not self.good_told():
            pass

    def good_told(self):
        return self.good.receive("awaitStarts").get("pods", True)

    def uid(self, pod):
        return self.i.cluster.request("GET", "/api/v1/namespaces/%s/pods/%s" % (self.namespace, pod))["metadata"]["uid"]

    def started(self, node, pod):
        node.socket.send({"type": "started", "podUID": self.uid(pod), "containerID": "c"})

    def test_it_takes_no_start_of_another_node_s_pod(self):
        """Who waits for the container of a pod gets the word of its own node's agent, whatever others say before, and however often."""
        self.arm()
        counted = self.metrics()
        self.started(self.evil, "good")
        for _ in range(300):
            self.started(self.evil, "evil")
        self.evil.ask("no-job", report())  # answered when all of that has been read
        self.started(self.good, "good")
        targets = proc.wait_until(lambda: self.status("next").get("targets"), 30, "it has its pod")
        self.assertEqual([t["nodeName"] for t in targets], [self.good_node])
        job_id = self.good.receive("order")["jobID"]
        for reason, count in (("unasked", 300), ("foreign", 1)):
            self.wait_count(REFUSED % reason, counted.get(REFUSED % reason, 0) + count)
        self.assertIn('"node":"%s","pod":"%s"' % (self.evil_node, self.uid("good")), self.i.controller.log())
        self.finish(self.good, job_id, "next")

    def test_who_waits_for_a_start_arms_its_own_pods_only(self):
        """One editor at 999 Hz: no other pod of the namespace, of its node or of another one is sampled, and the log says who asked for it."""
        self.other_tenant()
        self.i.cluster.create_pod(self.namespace, "sibling", self.good_node, labels={"app": "shop"})
        armed = self.metrics().get(AWAITED, 0)
        for node in (self.good, self.evil):
            node.socket.send(hello(containerStarts=True, podStarts=True))
        self.arm()
        self.good.socket.send(hello(containerStarts=True, podStarts=True))  # told anew, all that there is
        self.assertEqual(self.good_told(), [{"uid": self.uid("good"), "namespace": self.namespace, "frequencyHertz": 999}])
        self.assertEqual(self.evil.receive("awaitStarts")["pods"], [])
        self.wait_count(AWAITED, armed + 1)
        self.assertRegex(self.i.controller.log(), '"session":"%s/next","requested_by":"[^"]*","hertz":999' % self.namespace)
        self.i.cluster.request("PATCH", install.SESSIONS % self.namespace + "/next", {"spec": {"cancel": True}}, "application/merge-patch+json")
        self.i.wait_finished(self.namespace, "next")

    def test_it_cannot_fill_the_store(self):
        own = self.profiling(self.evil, "evil")
        for number in range(8):
            self.assertEqual(self.evil.ask(own, report("report-%d" % number))["type"], "uploadGrant")
        self.assertEqual(self.evil.ask(own, report("report-7"))["type"], "uploadGrant", "asked for again")
        for much in (report("report-8"), report("report-0", sizeBytes=(256 << 20) + 1), report("report-0", sizeBytes=2**62)):
            denied = self.evil.ask(own, much)
            self.assertEqual((denied["type"], denied["retry"]), ("uploadDenied", False), denied)

    def other_tenant(self):
        other = self.namespace + "-other"
        self.i.cluster.namespace(other)
        self.i.cluster.create_pod(other, "neighbour", self.good_node, labels={"app": "shop"})
        return other

    def deliver(self, namespace, name, pod, data):
        self.session(name, namespace, podName=pod)
        job_id = self.good.receive("order")["jobID"]
        self.good.job(job_id, "Profiling")
        grant = self.good.ask(job_id, report(data=data))
        self.assertEqual((grant["type"], self.put(grant["url"], data)), ("uploadGrant", 200))
        self.good.job(job_id, "Succeeded", headline="h", diagnosis="d", reports=[report(data=data, delivered=True)])
        self.i.wait_finished(namespace, name)

    def test_a_tenant_with_many_sessions_pushes_out_no_other_s_reports(self):
        """The own store has 1 MiB: the oldest report of all stays, because its namespace has no other."""
        other = self.other_tenant()
        self.deliver(other, "evidence", "neighbour", b"e" * 100_000)
        for number in range(14):
            self.deliver(self.namespace, "many-%d" % number, "good", b"%d" % (number % 10) * 100_000)
        stored = self.stored()
        self.assertEqual(len([path for path in stored if path.startswith(other + "/evidence-")]), 1, stored)
        self.assertTrue([path for path in stored if "/many-13-" in path], stored)
        self.assertFalse([path for path in stored if "/many-0-" in path], stored)

    def test_sessions_of_an_hour_leave_a_place_of_the_node_to_others(self):
        other = self.other_tenant()
        for number in range(4):
            self.i.cluster.create_pod(self.namespace, "long-%d" % number, self.good_node)
            self.session("long-%d" % number, seconds=3600, podName="long-%d" % number)
        for job_id in [self.good.receive("order")["jobID"] for _ in range(3)]:
            self.good.job(job_id, "Profiling")
        self.session("moment", other, podName="neighbour")
        order = self.good.receive("order")
        self.assertEqual((order["session"]["namespace"], order["session"]["name"]), (other, "moment"))
        waits = [self.i.condition(self.i.get(self.namespace, "long-%d" % n), "Running") for n in range(4)]
        self.assertRegex("".join(c["message"] for c in waits if c["reason"] == "Queued"), r"as many sessions of more than 120 s as it may have at once \(3\)")

    def test_what_is_out_of_bounds_ends_its_link(self):
        job_id = self.profiling(self.good, "good")
        before = self.status("of-good")
        cases = [
            ({"type": "job", "jobID": "j", "phase": "Succeeded", "reports": [report("r%d" % n) for n in range(9)]}, BAD_DATA, "BadMessage"),
            ({"type": "job", "jobID": "j", "phase": "Succeeded", "diagnosis": "x" * 2049}, BAD_DATA, "BadMessage"),
            ({"type": "job", "jobID": "../" + job_id, "phase": "Failed"}, BAD_DATA, "BadMessage"),
            ({"type": "uploadRequest", "jobID": "j", "report": report(sizeBytes=-1)}, BAD_DATA, "BadMessage"),
            ({"type": "uploadRequest", "jobID": "j", "report": report("../summary.md")}, BAD_DATA, "BadMessage"),
            ({"type": "uploadRequest", "jobID": "j", "report": report(mediaType="text/html\r\nX: y")}, BAD_DATA, "BadMessage"),
            ({"type": "pad", "pad": "x" * (256 << 10)}, TOO_LARGE, "MessageTooLarge"),
            ({"type": "cancel", "epoch": self.evil.epoch + 1, "jobID": job_id}, POLICY, "UnexpectedMessage"),
            ({"type": "leader", "epoch": self.evil.epoch + 1}, POLICY, "UnexpectedMessage"),
        ]
        for message, code, reason in cases:
            evil = Node(self, self.evil_node)
            name = 'drdotnet_link_closed_total{reason="%s"}' % reason
            count = self.metrics().get(name, 0)
            evil.socket.send(message)
            self.assertEqual(evil.socket.closed(), (code, reason), message)
            self.wait_count(name, count + 1)
        self.assertEqual(self.status("of-good"), before)
        self.finish(self.good, job_id, "of-good")

    def test_a_flood_ends_its_link_and_holds_up_nobody(self):
        job_id = self.profiling(self.good, "good")
        before = self.status("of-good")
        memory = self.resident()
        try:
            for number in range(6000):
                self.evil.job("flood-%d" % number, "Succeeded")
        except OSError:  # the controller has hung up in the middle of it
            pass
        self.wait_count('drdotnet_link_closed_total{reason="TooManyMessages"}', 1)
        self.assertIn("uploadGrant", self.good.ask(job_id, report())["type"])
        self.assertLess(self.resident() - memory, 8 << 20)
        self.assertEqual(self.status("of-good"), before)
        self.finish(self.good, job_id, "of-good")

    def test_its_odd_words_do_not_hold_up_the_results_of_others(self):
        """In a session of both nodes' pods: the status is written all the same, with what the good agent says."""
        for number, (name, words) in enumerate(ODD.items()):
            session = "both-%d" % number
            self.session(session, selector={"matchLabels": {"app": "shop"}}, maxPods=2)
            jobs = {node: node.receive("order")["jobID"] for node in (self.good, self.evil)}
            self.evil.job(jobs[self.evil], "Profiling", **words)
            self.evil.job(jobs[self.evil], "Failed", **{"reason": "ProcessExited", **words})
            self.good.job(jobs[self.good], "Succeeded", headline="the truth", diagnosis="the truth", reports=[])
            try:
                done = self.i.wait_finished(self.namespace, session, 60)
            except AssertionError as e:
                raise AssertionError("%s: %s" % (name, e)) from None
            targets = {t["podName"]: t for t in done["status"]["targets"]}
            self.assertEqual((targets["good"]["phase"], targets["evil"]["phase"]), ("Succeeded", "Failed"), name)
            self.assertIn("the truth", done["status"]["diagnosis"], name)
            self.assertNotRegex(json.dumps(done["status"], ensure_ascii=False), "[\x00-\x09\x0b-\x1f\x7f\u202e]", name)

    def resident(self):
        with open("/proc/%d/statm" % self.i.controller.pid) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def lease(self):
        return self.i.cluster.request("GET", LEASE)["spec"]

    def wait_renewed(self, times=2):
        for _ in range(times):
            before = self.lease()["renewTime"]
            proc.wait_until(lambda: self.lease()["renewTime"] != before, 30, "the lease is renewed")

    def test_it_can_neither_exhaust_nor_take_the_leadership(self):
        job_id = self.profiling(self.good, "good")
        epoch = self.lease()["leaseTransitions"]
        for claimed in (1, 2**31 - 1, 2**63 - 1, epoch + 10**6):
            Node(self, "%s-%d" % (self.evil_node, claimed)).socket.send(hello(epoch=claimed))
        self.wait_renewed()
        self.assertEqual(self.lease()["leaseTransitions"], epoch, "what is beyond belief is not believed")
        self.good.socket.send(hello(epoch=epoch + 5))  # as after a Lease that was deleted and made anew
        self.assertEqual(self.good.receive("leader")["epoch"], epoch + 6, "who lies does not hide it")
        self.finish(self.good, job_id, "of-good")


if __name__ == "__main__":
    unittest.main()
