"""The whole way on a real API server, real .NET processes in pods and a real S3 server: apply -> diagnosis and report."""
import hashlib
import json
import os
import signal
import stat
import tempfile
import unittest
import urllib.parse
import uuid

from tests.lib import dotnet, install, kube, pod, proc, readers, s3, shares

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()


class ClusterCase(unittest.TestCase):
    """One installation for all tests of a class; each has a namespace and agents of its own."""
    one_process = True
    time_limit = 600

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.store = cls.enterClassContext(s3.Server(folder.name + "/s3"))
        cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.i = cls.enterClassContext(cls.installation(folder.name + "/installation", cluster))

    @classmethod
    def installation(cls, folder, cluster):
        return install.Installation(folder, cluster, cls.store)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # the sample session names its namespace
        self.namespace = "shop" if "sample" in self._testMethodName else "shop-" + uuid.uuid4().hex[:8]
        self.i.cluster.namespace(self.namespace)

    def agent(self, node, **how):
        """An agent until the end of the test; nodes of other tests are other ones."""
        agent = self.i.start_agent(self.node(node), **how)
        self.addCleanup(agent.stop)
        return agent

    def node(self, name):
        return "%s.%s" % (name, self.namespace)

    def pod_object(self, name, node="node-a", app="checkout", containers=("app",)):
        return self.i.cluster.create_pod(self.namespace, name, self.node(node), labels={"app": app}, containers=containers,
                                         running=False)

    def container(self, object_, load, **how):
        """The process of a container of this pod."""
        made = pod.Pod(self.folder, load, uid=object_["metadata"]["uid"], **how)
        self.addCleanup(made.stop)
        return made

    def pod(self, name, load, node="node-a", app="checkout", **how):
        """A pod object, and the process in a "pod" that it stands for."""
        object_ = self.pod_object(name, node, app)
        made = self.container(object_, load, **how)
        self.i.cluster.set_pod_running(object_, {"app": made.container_id})
        return made

    def apply(self, name, seconds, target=None, **more):
        self.i.session(self.namespace, name, {
            "profiler": "CPUHotpaths", "durationSeconds": seconds, "cpuHotpaths": {"frequencyHertz": 499},
            "target": target or {"selector": {"matchLabels": {"app": "checkout"}}}, **more})

    def kubectl(self, *words):
        return self.i.cluster.kubectl(*words, "-n", self.namespace)

    def finished(self, name):
        return self.i.wait_finished(self.namespace, name)

    def succeeded(self, name):
        session = self.finished(name)
        condition = self.i.condition(session, "Succeeded")
        self.assertEqual(condition["status"], "True", "%s\n%s" % (self.i.logs(), install.digest(session)))
        return session

    def stored(self, session, report):
        """The bytes behind a report's URL: in the bucket, or in the controller's folder."""
        self.assertNotIn("?", report["url"], "no signature in the status")
        path = urllib.parse.unquote(urllib.parse.urlsplit(report["url"]).path)
        if session["spec"]["output"]["store"] == "default":
            self.assertTrue(report["url"].startswith(self.store.endpoint + "/" + self.store.bucket + "/"), report)
            return self.store.get(path.split("/", 2)[2])
        self.assertTrue(path.startswith("/reports/"), report)
        with open(self.i.folder + "/drdotnet-controller-0" + path, "rb") as f:
            return f.read()

    def fetch(self, session, target=0):
        """All reports of a target into a folder, each checked against the status."""
        folder = tempfile.mkdtemp(dir=self.folder)
        reports = session["status"]["targets"][target]["reports"]
        self.assertEqual({r["name"] for r in reports}, set(readers.MEDIA))
        for report in reports:
            data = self.stored(session, report)
            self.assertEqual(len(data), report["sizeBytes"])
            self.assertEqual(hashlib.sha256(data).hexdigest(), report["sha256"])
            with open(os.path.join(folder, report["name"]), "wb") as f:
                f.write(data)
        return folder

    def samples(self, session, target=0):
        return readers.folded(self.fetch(session, target))

    def assert_nothing_left(self, before):
        """`before`: {process: its traces}."""
        for process, traces in before.items():
            dotnet.assert_nothing_left(self, process, traces)


class MainWay:
    def test_the_sample_to_diagnosis_and_report(self):
        self.agent("node-a")
        ill = self.pod("checkout-1", "warm", framework="net8.0", user=10001, readonly=True)
        well = self.pod("basket-1", "bursts", app="basket", driver="cgroupfs", arguments=["--threads", "1"])
        ill.warm()
        well.warm(10)
        before = {p: dotnet.Traces(p) for p in (ill, well)}
        self.i.cluster.apply("deploy/samples/cpu-hotpaths.yaml")
        self.kubectl("wait", "--for=condition=Succeeded", "psess/checkout-cpu", "--timeout=90s")
        session = self.i.get(self.namespace, "checkout-cpu")
        self.assert_nothing_left(before)
        self.check_status(session["status"], ill)
        shares.check(self, self.samples(session), shares.HOT)
        self.check_what_kubectl_shows()
        self.assertTrue([e for e in self.i.events(self.namespace, "checkout-cpu") if e[0] == "Normal"])
        proc.wait_until(lambda: not self.i.get(self.namespace, "checkout-cpu")["metadata"].get("finalizers"), 20,
                        "nothing holds a finished session")
        for made in (ill, well):
            made.assert_progress()

    def test_allocations(self):
        self.agent("node-a")
        app = self.pod("checkout-1", "trickle")
        app.warm(10)
        before = {app: dotnet.Traces(app)}
        self.i.session(self.namespace, "alloc", {"profiler": "Allocations", "durationSeconds": 3,
                                                 "target": {"selector": {"matchLabels": {"app": "checkout"}}}})
        session = self.succeeded("alloc")
        self.assert_nothing_left(before)
        self.assertIn("B/s", session["status"]["diagnosis"].splitlines()[0])
        folder = self.fetch(session)
        with open(folder + "/report.json", encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(report["profiler"], "Allocations")
        self.assertGreater(report["sampling"]["samples"], 10)
        self.assertEqual(readers.folded(folder).total, report["tree"]["total"][0])
        app.assert_progress()

    def check_status(self, status, ill):
        self.assertRegex(status["diagnosis"].splitlines()[0], r"Tax\.Compute|^The node is full")  # by other tests
        self.assertIn("Tax.Compute", status["diagnosis"])
        self.assertLessEqual(len(status["diagnosis"].splitlines()[0]), 80)
        self.assertIn("Checkout.Cart.Total", status["diagnosis"])
        self.assertEqual((status["podsMatched"], status["podsSucceeded"], status.get("podsFailed", 0)), (1, 1, 0))
        target = status["targets"][0]
        self.assertEqual((target["podName"], target["nodeName"], target["container"], target["pid"]),
                         ("checkout-1", self.node("node-a"), "app", 1))
        self.assertEqual(target["runtimeVersion"], ill.runtime)
        self.assertLess(target["cost"]["maxPauseMicroseconds"], 200_000)

    def check_what_kubectl_shows(self):
        table = self.kubectl("get", "psess")
        self.assertRegex(table, r"NAME +PROFILER +TARGET +STATE +AGE")
        self.assertRegex(table, r"checkout-cpu +CPUHotpaths +.*checkout.* +Succeeded")
        self.assertIn("Tax.Compute", self.kubectl("get", "psess", "-o", "wide"))
        self.assertIn("Tax.Compute", self.kubectl("describe", "psess", "checkout-cpu"))

    def test_each_runtime_on_two_nodes(self):
        self.agent("node-a")
        self.agent("node-b")
        made = {"checkout-%d" % n: self.pod("checkout-%d" % n, "warm", node, framework=framework)
                for n, (framework, node) in enumerate(zip(dotnet.FRAMEWORKS, ("node-a", "node-b", "node-a")))}
        for one in made.values():
            one.warm()
        self.apply("all", 3, {"selector": {"matchLabels": {"app": "checkout"}}, "maxPods": 5})
        session = self.succeeded("all")
        targets = session["status"]["targets"]
        self.assertEqual({t["podName"]: t["runtimeVersion"] for t in targets}, {n: m.runtime for n, m in made.items()})
        self.assertEqual([t["nodeName"] for t in sorted(targets, key=lambda t: t["podName"])],
                         [self.node(n) for n in ("node-a", "node-b", "node-a")])
        self.assertEqual(session["status"]["podsSucceeded"], 3)
        for number in range(3):
            shares.check_hot(self, self.samples(session, number))

    def test_the_pauses_of_the_runtime(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "alloc", user=10001, readonly=True)
        made.warm(100)
        before = {made: dotnet.Traces(made)}
        self.i.session(self.namespace, "pauses", {"profiler": "RuntimePauses", "durationSeconds": 120,
                                                  "target": {"selector": {"matchLabels": {"app": "checkout"}}}})
        proc.wait_until(lambda: [t["phase"] for t in self.i.get(self.namespace, "pauses").get("status", {}).get("targets", [])] == ["Profiling"], 60,
                        "the session")
        made.warm(made.progress()["ops"] + 500)  # however little of a CPU it gets
        self.kubectl("patch", "psess", "pauses", "--type=merge", "-p", '{"spec":{"cancel":true}}')
        session = self.finished("pauses")
        self.assert_nothing_left(before)
        target = session["status"]["targets"][0]
        report = json.loads(self.stored(session, [r for r in target["reports"] if r["name"] == "report.json"][0]))
        self.assertEqual({r["name"] for r in target["reports"]}, {"summary.md", "report.html", "report.json"})
        self.assertEqual(session["status"]["diagnosis"].splitlines()[0], report["diagnosis"]["headline"])
        self.assertGreater(report["pauses"]["count"], 3)
        self.assertEqual({r["reason"] for r in report["reasons"]} & {"collection"}, {"collection"})
        limits = [limit for limit in report["limits"] if "more often than 100 times a second" not in limit]  # where the machine is quick
        self.assertEqual((report["session"]["name"], report["target"]["pod"], limits), ("pauses", "checkout-1", []))
        made.assert_progress()

    def test_cancel_keeps_the_report_and_delete_ends_it(self):
        self.agent("node-a")
        made = self.pod("checkout-1", "warm")
        made.warm()
        before = {made: dotnet.Traces(made)}
        self.apply("canceled", 120)
        self.i.wait_first_sample(self.namespace, "canceled")
        made.warm(made.progress()["ops"] + 500)
        self.kubectl("patch", "psess", "canceled", "--type=merge", "-p", '{"spec":{"cancel":true}}')
        session = self.finished("canceled")
        self.assertTrue(session["status"]["diagnosis"], session)
        shares.check_hot(self, self.samples(session))
        self.assert_nothing_left(before)
        self.apply("deleted", 120)
        self.i.wait_first_sample(self.namespace, "deleted")
        self.kubectl("delete", "psess", "deleted", "--timeout=60s")
        self.assert_nothing_left(before)
        made.assert_progress()

    def test_a_killed_agent_leaves_nothing_and_comes_back(self):
        agent = self.agent("node-a")
        made = self.pod("checkout-1", "warm")
        made.warm()
        before = {made: dotnet.Traces(made)}
        self.apply("long", 12)
        self.i.wait_first_sample(self.namespace, "long")
        agent.stop(signal.SIGKILL)
        made.assert_progress()
        self.addCleanup(agent.again().stop)
        session = self.finished("long")
        self.assertTrue(session["status"]["targets"][0]["reason"], session)
        self.assert_nothing_left(before)
        self.apply("next", 3)
        shares.check_hot(self, self.samples(self.succeeded("next")))


class TheProcessMeant:
    def test_container_and_pid_choose(self):
        """In a pod of two containers, one of them with two processes."""
        self.agent("node-a")
        object_ = self.pod_object("checkout-1", containers=("app", "sidecar"))
        app = self.container(object_, "warm", user=10001, readonly=True, beside=["trickle"])
        sidecar = self.container(object_, "warm", framework="net10.0")
        self.i.cluster.set_pod_running(object_, {"app": app.container_id, "sidecar": sidecar.container_id})
        app.warm()
        sidecar.warm()
        second = dotnet.seen(app.beside[0], app.tmp)
        before = {process: dotnet.Traces(process) for process in (app, sidecar, second)}
        inner = _inner_pid(second.pid)

        self.apply("unclear", 3, {"podName": "checkout-1"})
        target = self.finished("unclear")["status"]["targets"][0]
        self.assertEqual(target["reason"], "AmbiguousProcess", target)
        self.assertIn("pid %d" % inner, target["message"])
        self.apply("sidecar", 3, {"podName": "checkout-1", "container": "sidecar"})
        self.apply("second", 3, {"podName": "checkout-1", "container": "app", "process": {"pid": inner}})

        session = self.succeeded("sidecar")
        target = session["status"]["targets"][0]
        self.assertEqual((target["container"], target["pid"], target["runtimeVersion"]), ("sidecar", 1, sidecar.runtime))
        shares.check_hot(self, self.samples(session))
        session = self.succeeded("second")
        target = session["status"]["targets"][0]
        self.assertEqual((target["container"], target["pid"], target["runtimeVersion"]), ("app", inner, app.runtime))
        self.assertEqual(self.samples(session).share(shares.TAX), 0)
        self.assert_nothing_left(before)


    def test_init_containers_and_sidecars_are_targets(self):
        """A native sidecar beside the application, and the container that initialises a pod."""
        self.agent("node-a")
        side = {"restartPolicy": "Always"}
        object_ = self.i.cluster.create_pod(self.namespace, "checkout-1", self.node("node-a"), running=False, init=[("sidecar", side)])
        app, sidecar = self.container(object_, "idle"), self.container(object_, "warm")
        self.i.cluster.set_pod_running(object_, {"app": app.container_id}, initContainerStatuses=[kube.running_status("sidecar", sidecar.container_id)])
        migrated = self.i.cluster.create_pod(self.namespace, "checkout-2", self.node("node-a"), running=False, init=[("migrate", {})])
        migrate = self.container(migrated, "warm")
        self.i.cluster.set_pod_running(migrated, {}, phase="Pending", containerStatuses=[], conditions=[],
                                       initContainerStatuses=[{**kube.running_status("migrate", migrate.container_id), "ready": False}])
        sidecar.warm()
        migrate.warm()
        self.apply("unclear", 2, {"podName": "checkout-1"})
        target = self.finished("unclear")["status"]["targets"][0]
        self.assertEqual(target["reason"], "AmbiguousProcess", target)
        self.assertIn("sidecar", target["message"])
        self.apply("sidecar", 2, {"podName": "checkout-1", "container": "sidecar"})
        self.apply("migrate", 2, {"podName": "checkout-2"})
        for name in ("sidecar", "migrate"):
            session = self.succeeded(name)
            self.assertEqual(session["status"]["targets"][0]["container"], name)
            shares.check_hot(self, self.samples(session))


def _inner_pid(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith("NSpid:")).split()[-1])


class Refused:
    def test_each_refusal_stands_in_the_status(self):
        """One session for pods that are ill each in its own way: each says why and what to do, and is left as it is."""
        self.agent("node-a")
        off, noexec = (self.pod("off", "idle", env={"DOTNET_EnableDiagnostics": "0"}),
                       self.pod("noexec", "idle", framework="net8.0", user=10001, readonly=True, tmp_mount="noexec"))
        well = self.pod("well", "warm")
        self.stranger("plain", "sleep", "sleep 600")
        self.stranger("sandboxed", "runsc-sandbox", "sleep 600", own_container=False)
        well.warm()
        for process in (off, noexec):
            process.progress()  # all its threads are there
        before = {process: dotnet.Traces(process) for process in (off, noexec, well)}
        self.apply("all", 2, {"selector": {"matchLabels": {"app": "checkout"}}, "maxPods": 5})
        session = self.finished("all")
        condition = self.i.condition(session, "Succeeded")
        self.assertEqual((condition["status"], condition["reason"]), ("False", "PartiallySucceeded"), install.digest(session))
        self.assertEqual((session["status"]["podsSucceeded"], session["status"]["podsFailed"]), (1, 4))
        targets = {t["podName"]: t for t in session["status"]["targets"]}
        self.assertEqual({name: t["reason"] for name, t in targets.items()},
                         {"well": "Completed", "off": "DiagnosticsDisabled", "noexec": "NoStagingPlace", "plain": "NoDotnetProcess",
                          "sandboxed": "UnsupportedRuntime"})
        for name, words in {"off": r"\(pid 1, container app\): DOTNET_EnableDiagnostics=0 switches .*\. Remove DOTNET_EnableDiagnostics=0",
                            "noexec": r"Checkout \(pid 1, container app\): .* /tmp is mounted noexec\. Mount an emptyDir",
                            "plain": r"of pod plain is a \.NET process\. .*check that",
                            "sandboxed": r"runs in gVisor.*\. Mono and sandboxes .*runtimeClassName"}.items():
            self.assertRegex(targets[name]["message"], words)
        self.assert_nothing_left(before)

    def stranger(self, name, argument0, words, own_container=True):
        """A pod with a program that is not .NET; a sandbox runs beside the containers that the API server knows."""
        object_ = self.pod_object(name)
        made = pod.Stranger(self.folder, ["bash", "-c", "exec -a %s %s" % (argument0, words)], object_["metadata"]["uid"])
        self.addCleanup(made.stop)
        self.i.cluster.set_pod_running(object_, {"app": made.container_id if own_container else uuid.uuid4().hex * 2})


class Compiled:
    def test_an_application_compiled_ahead_of_time(self):
        """It has nothing that could be attached to: what works from outside names its methods, and the rest says why not."""
        self.agent("node-a")
        object_ = self.pod_object("native")
        made = pod.Stranger(self.folder, [dotnet.native_path(), "work"], object_["metadata"]["uid"])
        self.addCleanup(made.stop)
        self.i.cluster.set_pod_running(object_, {"app": made.container_id})
        made.wait_log('"tax":(0.[1-9]|[1-9])')
        self.apply("cpu", 2, {"podName": "native"})
        self.i.session(self.namespace, "heap", {"profiler": "GCSurvivors", "target": {"podName": "native"}})
        status = self.succeeded("cpu")["status"]
        self.assertIn("Shop.Pricing.", status["headline"])
        refused = self.finished("heap")["status"]["targets"][0]
        self.assertEqual((refused["reason"], refused["phase"]), ("NativeAOT", "Failed"))
        self.assertIn("a Native AOT application has no profiling interface: CPUHotpaths, Waits and Threads work", refused["message"])


class Rights:
    """The API server enforces the shipped roles; the sessions of the other tests run with no more than these."""

    def can(self, account, verb, resource, namespace="shop", group="", name="", subresource=""):
        answer = self.i.cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": "system:serviceaccount:%s:%s" % (install.SYSTEM, account),
                     "groups": ["system:serviceaccounts", "system:serviceaccounts:" + install.SYSTEM, "system:authenticated"],
                     "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace, "group": group,
                                            "name": name, "subresource": subresource}}})
        return answer["status"]["allowed"]

    def test_accounts_have_no_more_than_they_need(self):
        controller, agent = "drdotnet-controller", "drdotnet-agent"
        self.assertTrue(self.can(controller, "list", "profilingsessions", group="drdotnet.dev"))
        self.assertTrue(self.can(controller, "patch", "profilingsessions", group="drdotnet.dev", subresource="status"))
        self.assertTrue(self.can(controller, "update", "secrets", install.SYSTEM, name="drdotnet-link-tls"))
        for refused in (("get", "secrets", "shop"), ("list", "secrets", install.SYSTEM), ("create", "secrets", install.SYSTEM),
                        ("update", "pods", "shop"), ("create", "pods", "shop"), ("get", "nodes", "")):
            self.assertFalse(self.can(controller, *refused), refused)
        for refused in (("list", "pods", "shop"), ("watch", "pods", "shop"), ("get", "secrets", install.SYSTEM), ("get", "configmaps", install.SYSTEM),
                        ("create", "events", "shop")):
            self.assertFalse(self.can(agent, *refused), refused)
        self.assertFalse(self.can(agent, "list", "profilingsessions", group="drdotnet.dev"))
        with open(self.i.folder + "/drdotnet-controller-0/token") as f:
            client = kube.Client(self.i.cluster.kubeconfig, token=f.read())
        with self.assertRaises(kube.ApiError) as refusal:
            client.request("GET", "/api/v1/namespaces/%s/secrets" % install.SYSTEM)
        self.assertEqual(refusal.exception.code, 403, "the controller's own token is refused")

    def test_an_agent_without_a_good_token_is_not_linked(self):
        agent = self.agent("node-a")
        agent.stop()
        proc.wait_until(lambda: self.i.metric("drdotnet_agents_linked") == 0, 30, "it is gone")  # no other test has one now
        self.i.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % self.namespace, {"metadata": {"name": "stranger"}})
        object_ = self.i.cluster.create_pod(self.namespace, "stranger", self.node("node-a"), service_account="stranger")
        agent.write_token(self.i.cluster.service_account_token(self.namespace, "stranger", object_, install.AUDIENCE))
        self.addCleanup(agent.again().stop)
        self.i.controller.wait_log(self.namespace + ":stranger' is not the agents' service account", 30)
        self.assertEqual(self.i.metric("drdotnet_agents_linked"), 0)


class LeastPrivilege:
    """The agent sees no process but its own and has DAC_OVERRIDE alone; pods share their /tmp folders with it."""

    def make_folder(self, *names):
        """As kubelet makes them: root's, and not writable for the application. Its container follows much later."""
        path = self.parent
        for name in names:
            path = os.path.join(path, name)
            if not os.path.exists(path):
                os.mkdir(path, 0o755)
        proc.wait_until(lambda: stat.S_IMODE(os.stat(path).st_mode) == 0o1777, 20, "the agent opens " + path)
        return path

    def test_shared_folders_made_as_kubelet_makes_them(self):
        self.parent = os.path.join(self.folder, "pods-tmp", "parent")
        os.makedirs(self.parent)
        os.chmod(os.path.dirname(self.parent), 0o711)
        agent = self.agent("node-a", mode="sharedTmp", parent=self.parent)
        self.check_what_the_agent_can(agent)
        # a folder named by the pod's name, and one named by its uid with a folder for each container
        made = self.pod("checkout-1", "hot", user=10001, readonly=True, shared_tmp=self.make_folder(self.namespace + "_checkout-1"))
        object_ = self.pod_object("basket-1", app="basket", containers=("app", "sidecar"))
        uid = object_["metadata"]["uid"]
        app = self.container(object_, "trickle", user=10002, shared_tmp=self.make_folder(uid, "app"))
        sidecar = self.container(object_, "hot", framework="net8.0", user=10003, shared_tmp=self.make_folder(uid, "sidecar"))
        self.i.cluster.set_pod_running(object_, {"app": app.container_id, "sidecar": sidecar.container_id})
        for process, ops in ((made, 300), (sidecar, 300), (app, 10)):
            process.warm(ops)
        before = {process: dotnet.Traces(process) for process in (made, app, sidecar)}

        self.apply("by-name", 4, output={"store": "own"})
        self.apply("by-uid", 4, {"podName": "basket-1", "container": "sidecar"})
        for name, process, container in (("by-name", made, "app"), ("by-uid", sidecar, "sidecar")):
            session = self.succeeded(name)
            target = session["status"]["targets"][0]
            self.assertEqual((target["pid"], target["runtimeVersion"]), (1, process.runtime))
            self.assertEqual((target["container"], target["containerID"]), (container, process.container_id))
            reports = self.fetch(session)
            shares.check_hot(self, readers.folded(reports))
            with open(reports + "/report.json") as f:
                report = json.load(f)
            sampling = report["sampling"]
            self.assertEqual(report["cpu"]["limitMillicores"], 0, "known, and there is none")
            self.assertEqual((sampling["method"], sampling["fallbackReason"]), ("signal-timer", "PerfEventsForbidden"))
            process.assert_progress()
        self.assert_nothing_left(before)

    def check_what_the_agent_can(self, agent):
        pid = agent.agent_pid()
        with open("/proc/%d/status" % pid) as f:
            self.assertIn("CapEff:\t0000000000000002\n", f.read())  # CAP_DAC_OVERRIDE
        own, ours = (os.readlink("/proc/%s/ns/pid" % p) for p in (pid, "self"))
        self.assertNotEqual(own, ours)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Cluster(MainWay, TheProcessMeant, Refused, Compiled, Rights, LeastPrivilege, ClusterCase):
    """On the API server that the tests use normally."""


if __name__ == "__main__":
    unittest.main()
