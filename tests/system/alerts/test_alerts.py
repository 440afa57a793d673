"""From an alert, or a threshold that an agent sees, to one session and its report: real Prometheus, Alertmanager, API server, .NET and S3."""
import os
import subprocess
import tempfile
import threading
import unittest
import uuid

from tests.system.alerts import senders
from tests.lib import install, kube, pod, proc, readers, s3

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable() or senders.unavailable()
TRIGGERS = "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingtriggers"
TOKEN = "a-token-of-the-webhook-alone"


class Files(unittest.TestCase):
    @unittest.skipIf(senders.unavailable(), senders.unavailable())
    def test_shipped_files_are_valid(self):
        for words in (["promtool", "check", "rules", "deploy/alerting/prometheus-rules.yaml"],
                      ["amtool", "check-config", "deploy/alerting/alertmanager.yaml"]):
            done = subprocess.run(words, cwd=proc.ROOT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Alerts(unittest.TestCase):
    one_process = True
    time_limit = 600

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.top = folder.name
        cls.store = cls.enterClassContext(s3.Server(folder.name + "/s3"))
        cls.cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.token_file = folder.name + "/webhook-token"
        with open(cls.token_file, "w") as f:
            f.write(TOKEN + "\n")
        installation = install.Installation(folder.name + "/installation", cls.cluster, cls.store)
        installation.controller_words = ["--alertmanager-token-file", cls.token_file]
        cls.i = cls.enterClassContext(installation)
        cls.port, cls.ca_file = cls.i.api_port, cls.i.authority_file()
        proc.wait_until(lambda: cls.post(senders.notification())[0] == 200, 60, "the webhook takes notifications")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.namespace = "shop-" + uuid.uuid4().hex[:8]
        self.node = "node." + self.namespace
        self.cluster.namespace(self.namespace)

    @classmethod
    def post(cls, body, token=TOKEN, port=None, **how):
        client = senders.Client(port or cls.port, cls.ca_file, token)
        try:
            return client.post(body, **how)
        finally:
            client.close()

    def trigger(self, name, source, target=None, seconds=2, **more):
        """A trigger that the controller has seen."""
        spec = {"profiler": "CPUHotpaths", "durationSeconds": seconds, "cpuHotpaths": {"frequencyHertz": 499}, "output": {"store": "default"}}
        if target:
            spec["target"] = target
        self.cluster.request("POST", TRIGGERS % self.namespace, {
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": name},
            "spec": {"source": source, "sessionTemplate": {"spec": spec}, **more}})
        self.addCleanup(self.cluster.request, "DELETE", TRIGGERS % self.namespace + "/" + name)
        proc.wait_until(lambda: self.cluster.request("GET", TRIGGERS % self.namespace + "/" + name).get("status", {}).get("conditions"), 60,
                        "the controller has seen the trigger")

    def sessions(self):
        return self.cluster.request("GET", install.SESSIONS % self.namespace)["items"]

    def one_session(self, seconds=120):
        """The one session that was made, finished."""
        try:
            proc.wait_until(self.sessions, seconds, "a session")
        except AssertionError as e:
            raise AssertionError("%s\n%s" % (e, self.i.logs())) from None
        session, *others = self.sessions()
        self.assertEqual(others, [])
        return self.i.wait_finished(self.namespace, session["metadata"]["name"])

    def start_pod(self, name, load, resources=None, **how):
        """A pod object with the resources of its container, and the process that it stands for."""
        made = self.cluster.request("POST", "/api/v1/namespaces/%s/pods" % self.namespace, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "checkout"}},
            "spec": {"nodeName": self.node, "containers": [{"name": "app", "image": "example/app", "resources": resources or {}}]}})
        process = pod.Pod(self.folder, load, uid=made["metadata"]["uid"], **how)
        self.addCleanup(process.stop)
        self.cluster.set_pod_running(made, {"app": process.container_id})
        return process

    def start_agent(self, **how):
        agent = self.i.start_agent(self.node, **how)
        self.addCleanup(agent.stop)
        return agent

    def results(self, answer):
        """[(result, reason)] of the triggers, of all alerts."""
        return [(r.get("result"), r.get("reason")) for a in answer["alerts"] for r in a["triggers"]]

    # alerts -----------------------------------------------------------------------------------------------------------
    def test_a_real_alert_makes_one_report(self):
        self.start_agent()
        app = self.start_pod("checkout-1", "web", arguments=["--threads", "1"])
        self.trigger("busy", {"alertmanager": {"matchers": [{"name": "alertname", "value": "Checkout(Busy|Full)", "matchType": "Regex"}]}})
        before = self.i.metric("drdotnet_alerts_total")
        alertmanager = senders.Alertmanager(self.folder + "/alertmanager", "https://127.0.0.1:%d" % self.port, self.token_file, self.ca_file)
        self.addCleanup(alertmanager.stop)
        prometheus = senders.Prometheus(
            self.folder + "/prometheus", [(app.port, {"namespace": self.namespace, "pod": "checkout-1", "container": "app"})],
            [{"alert": "CheckoutBusy", "expr": "rate(process_cpu_seconds_total[10s]) > 0.02", "for": "1s", "labels": {"severity": "page"}}], alertmanager)
        self.addCleanup(prometheus.stop)
        session = self.one_session()
        self.assertEqual(self.i.condition(session, "Succeeded")["status"], "True", install.digest(session) + self.i.logs())
        self.assertEqual(session["metadata"]["labels"]["drdotnet.dev/trigger"], "busy")
        self.assertIn("alert CheckoutBusy, severity page", session["metadata"]["annotations"]["drdotnet.dev/fired-by"])
        target = session["status"]["targets"][0]
        self.assertEqual((target["podName"], target["container"], target["pid"]), ("checkout-1", "app", 1))
        self.assertEqual({r["name"] for r in target["reports"]}, set(readers.MEDIA))
        stored = [key for key in self.store.list() if "/%s/" % self.namespace in "/" + key]
        self.assertEqual(len(stored), len(target["reports"]))
        proc.wait_until(lambda: self.i.metric("drdotnet_alerts_total") >= before + 3, 60, "Alertmanager repeats it")
        self.assertEqual(len(self.sessions()), 1, "however often")

    def test_what_is_refused(self):
        good = senders.notification(senders.alert("CheckoutBusy", self.namespace, pod="checkout-1"))
        for token, words in ((None, "no bearer token"), ("", "bearer token"), (TOKEN[:-1], "wrong bearer token"), (self.i.cluster.token or "x" * 900, "wrong")):
            status, problem, headers = self.post(good, token)
            self.assertEqual(status, 401, problem)
            self.assertIn(words, problem["detail"])
            self.assertIn("Bearer", headers["WWW-Authenticate"])
        for body, status, words in (("nonsense", 400, "notification"), ('{"version":"3","alerts":[]}', 400, "version"),
                                    ('{"version":"4","alerts":[%s]}' % ",".join(["1"] * 1001), 400, "max_alerts"),
                                    ("x" * 300000, 413, "")):
            answer = self.post(body)
            self.assertEqual(answer[0], status, answer)
            self.assertIn(words, answer[1]["detail"])
        self.assertEqual(self.post(None, method="GET")[0], 405)
        self.assertEqual(self.post(good, content_type="text/plain")[0], 415)
        os.rename(self.token_file, self.token_file + ".away")
        try:
            status, problem, headers = self.post(good)
        finally:
            os.rename(self.token_file + ".away", self.token_file)
        self.assertEqual((status, headers["Retry-After"] is not None), (503, True), problem)
        self.assertEqual(self.sessions(), [])

    def test_labels_decide_what_is_profiled(self):
        self.trigger("busy", {"alertmanager": {"matchers": [{"name": "alertname", "value": "CheckoutBusy"}]}})
        foreign = senders.alert("CheckoutBusy", "elsewhere", pod="checkout-1")
        nowhere = senders.alert("CheckoutBusy", "", pod="checkout-1")
        other = senders.alert("CheckoutIdle", self.namespace, pod="checkout-1")
        resolved = senders.alert("CheckoutBusy", self.namespace, status="resolved", pod="checkout-1")
        status, answer, _ = self.post(senders.notification(foreign, nowhere, other, resolved))
        self.assertEqual((status, self.results(answer)), (200, []))
        status, answer, _ = self.post(senders.notification(senders.alert("CheckoutBusy", self.namespace),
                                                           senders.alert("CheckoutBusy", self.namespace, pod="../checkout")))
        self.assertEqual((status, self.results(answer)), (200, [("Suppressed", "NoTarget"), ("Refused", "InvalidLabel")]))
        self.assertEqual(self.sessions(), [])
        status, answer, _ = self.post(senders.notification(senders.alert("CheckoutBusy", self.namespace, pod="of-yesterday")))
        self.assertEqual((status, self.results(answer)), (200, [("Fired", "Fired")]), answer)
        proc.wait_until(lambda: self.i.condition(self.sessions()[0], "Succeeded")["reason"] == "PodNotFound", 60, "the session says that there is no such pod")
        self.assertEqual(len(self.sessions()), 1)

    def test_duplicates_over_two_replicas_make_one_session(self):
        self.trigger("busy", {"alertmanager": {"matchers": [{"name": "alertname", "value": "CheckoutBusy"}]}}, cooldownSeconds=0)
        ports, of_first = [self.port], (self.i.link_port, self.i.health_port, self.i.api_port)
        second = self.i.start_controller("drdotnet-controller-1")
        self.addCleanup(second.stop)
        ports.append(self.i.api_port)
        self.i.link_port, self.i.health_port, self.i.api_port = of_first
        body = senders.notification(senders.alert("CheckoutBusy", self.namespace, pod="of-yesterday"))
        proc.wait_until(lambda: self.post(senders.notification(), port=ports[1])[0] == 200, 60, "the second one knows the triggers")
        statuses, lock = [], threading.Lock()

        def flood(number):
            client = senders.Client(ports[number % 2], self.ca_file, TOKEN, source="127.0.1.%d" % (number + 1))
            for _ in range(100):
                status, answer, _ = client.post(body)
                with lock:
                    statuses.append((status, *self.results(answer)) if status == 200 else (status,))
            client.close()
        threads = [threading.Thread(target=flood, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), 1000)
        self.assertEqual({s[0] for s in statuses} - {503}, {200}, set(statuses))
        self.assertLessEqual({s[1] for s in statuses if s[0] == 200}, {("Fired", "Fired"), ("Suppressed", "Duplicate")})
        self.assertEqual(len(self.sessions()), 1)

    def test_the_shipped_triggers_are_accepted(self):
        for name in ("trigger.yaml", "trigger-slow-requests.yaml"):
            with open(os.path.join(proc.ROOT, "deploy/alerting", name), encoding="utf-8") as f:
                text = f.read().replace("namespace: shop", "namespace: " + self.namespace)
            self.cluster.kubectl("apply", "--dry-run=server", "--validate=true", "-f", "-", text=text)

    # thresholds -------------------------------------------------------------------------------------------------------
    def observing(self, agent):
        """Whether the agent has a thread for it."""
        names = []
        for task in os.listdir("/proc/%d/task" % agent.agent_pid()):
            try:
                with open("/proc/%d/task/%s/comm" % (agent.agent_pid(), task)) as f:
                    names.append(f.read().strip())
            except OSError:
                pass
        return "observe" in names

    def test_a_busy_container_fires_once(self):
        agent = self.start_agent()
        busy = self.start_pod("busy", "warm", {"limits": {"cpu": "500m"}}, cpu_limit=0.5)
        self.start_pod("idle", "idle", {"limits": {"cpu": "500m"}}, cpu_limit=0.5)
        busy.progress()
        self.assertFalse(self.observing(agent), "no trigger asks: nothing is polled")
        self.trigger("cpu", {"threshold": {"target": {"selector": {"matchLabels": {"app": "checkout"}}}, "cpu": {"above": 10, "forSeconds": 5}}})
        session = self.one_session()
        self.assertEqual(self.i.condition(session, "Succeeded")["status"], "True", install.digest(session) + self.i.logs())
        self.assertEqual([t["podName"] for t in session["status"]["targets"]], ["busy"])
        self.assertRegex(session["metadata"]["annotations"]["drdotnet.dev/fired-by"],
                         r"container app of pod busy uses \d+% of its CPU limit: above 10% for 5 s")
        self.assertTrue(self.observing(agent))
        self.assertEqual(self.i.metric("drdotnet_observed_containers"), 2)
        self.cluster.request("PATCH", TRIGGERS % self.namespace + "/cpu", {"spec": {"suspend": True}}, content_type="application/merge-patch+json")
        proc.wait_until(lambda: not self.observing(agent), 60, "nobody asks any more")
        self.assertEqual(len(self.sessions()), 1)

    def test_memory_near_its_limit_fires_and_no_limit_is_said(self):
        """With an agent that sees no processes, only the control groups and the folders that pods share with it."""
        parent = os.path.join(self.folder, "pods-tmp")
        os.makedirs(parent + "/%s_full" % self.namespace)
        os.chmod(parent + "/%s_full" % self.namespace, 0o1777)
        self.start_agent(mode="sharedTmp", parent=parent)
        self.start_pod("full", "idle", {"limits": {"memory": "24Mi"}}, shared_tmp=parent + "/%s_full" % self.namespace)
        self.start_pod("free", "idle", {"limits": {"memory": "8Gi"}})
        self.start_pod("boundless", "idle")
        ghost = self.cluster.create_pod(self.namespace, "ghost", self.node, labels={"app": "checkout"}, running=False)
        self.cluster.set_pod_running(ghost, {"app": "f" * 64})
        self.trigger("memory", {"threshold": {"target": {"selector": {"matchLabels": {"app": "checkout"}}}, "memory": {"above": 80, "forSeconds": 5}}})
        session = self.one_session()
        self.assertEqual(session["spec"]["target"]["podName"], "full")
        self.assertNotIn(self.i.condition(session, "Succeeded")["reason"], ("NoDotnetProcess", "PodNotFound"), install.digest(session))
        self.assertIn("of its memory limit: above 80% for 5 s", session["metadata"]["annotations"]["drdotnet.dev/fired-by"])
        events = proc.wait_until(lambda: [e for e in self.i.events(self.namespace, "memory") if e[1] == "NoLimit"], 60, "the event NoLimit")
        self.assertEqual([e[2] for e in events], ["container app of pod boundless has no limit to take per cent of"])
        events = proc.wait_until(lambda: [e for e in self.i.events(self.namespace, "memory") if e[1] == "NotSeen"], 60, "the event NotSeen")
        self.assertIn("finds no control group of container app of pod ghost", events[0][2])


if __name__ == "__main__":
    unittest.main()
