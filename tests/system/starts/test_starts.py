"""spec.start: NextContainerStart on a real API server: the next container of the target is profiled from its first instruction on."""
import json
import os
import signal
import time
import unittest

from tests.lib import dotnet, kube, perf_events, pod, proc
from tests.system.e2e import test_cluster

OTHERS = dotnet.FRAMEWORKS[:-1] if os.environ.get("DRDOTNET_EVERY_RUNTIME") else ()
WAITING = "WaitingForContainerStart"


@unittest.skipIf(test_cluster.UNAVAILABLE, test_cluster.UNAVAILABLE)
class Starts(test_cluster.ClusterCase):
    def arm(self, name, seconds=4, **more):
        self.apply(name, seconds, start="NextContainerStart", **{"cpuHotpaths": {"frequencyHertz": 999}, **more})
        self.armed(name)

    def armed(self, name):
        def look():
            return self.i.condition(self.i.get(self.namespace, name), "Running")["reason"] == WAITING
        proc.wait_until(look, 30, "session %s waits for a container" % name)

    def crash(self, object_):
        """One start of a container that ends before its runtime answers: its exit code and its id."""
        words = ["env", "DOTNET_EnableDiagnostics=0", dotnet.path("net10.0"), "nonsense"]  # so that it surely does not
        made = pod.Stranger(self.folder, words, uid=object_["metadata"]["uid"])
        code = made.popen.wait(60)
        made.stop()
        return code, made.container_id

    def has_ordered(self, name):
        """Within two seconds."""
        for _ in range(20):
            time.sleep(0.1)
            if self.i.condition(self.i.get(self.namespace, name), "Running")["reason"] != WAITING:
                return True
        return False

    def set_ended(self, object_, container_id, code, message):
        """As a kubelet does it that starts the container again."""
        ended = {"containerID": "containerd://" + container_id, "exitCode": code, "reason": "Error", "message": message}
        again = {**kube.running_status("app", "0" * 64), "ready": False, "restartCount": 1, "lastState": {"terminated": ended}}
        self.i.cluster.set_pod_running(object_, {}, containerStatuses=[again])

    def report(self, session):
        with open(os.path.join(self.fetch(session), "report.json"), encoding="utf-8") as f:
            return json.load(f)

    def check_from_the_first_instruction(self, framework):
        """Until it is ready to serve, and no longer: the session is ended then."""
        self.agent("node-a")
        self.arm("first", 60)
        app = self.container(self.pod_object("checkout-1"), "web", framework=framework)
        self.i.wait_first_sample(self.namespace, "first")
        self.kubectl("patch", "psess/first", "--type=merge", "-p", '{"spec":{"cancel":true}}')
        session = self.finished("first")
        self.assertEqual([t["podName"] for t in session["status"]["targets"]], ["checkout-1"])
        report = self.report(session)
        used, sampled = report["cpu"]["usedNanoseconds"], report["sampling"]["samples"] * report["sampling"]["periodNanoseconds"]
        outside = app.cpu_outside * 1e9
        self.assertGreaterEqual(sampled, 0.95 * (used - outside), "of %.3f s, %.3f s of them outside" % (used / 1e9, outside / 1e9))
        self.assertIn("Checkout.Program", json.dumps(report["methods"]), "what ran once, at the beginning")
        start = report["start"]
        self.assertEqual(start["port"], app.port)
        self.assertLess(start["runtimeNanoseconds"], start["listensNanoseconds"])
        self.assertGreater(start["attachedNanoseconds"], 0)
        path = start["path"]
        self.assertLess(start["attachedNanoseconds"], path["toNanoseconds"])
        self.assertGreater(path["computingNanoseconds"], 0)
        self.assertLessEqual(path["computingNanoseconds"] + path["waitingNanoseconds"], 1.1 * path["toNanoseconds"], path)
        dotnet.assert_nothing_left(self, app, dotnet.Traces(app))

    def test_a_new_pod_on_net10(self):
        self.check_from_the_first_instruction("net10.0")

    def test_new_pods_on_older_runtimes(self):
        for framework in OTHERS:
            with self.subTest(framework):
                self.i.cluster.namespace(self.namespace + framework[3])
                self.namespace += framework[3]
                self.check_from_the_first_instruction(framework)

    @unittest.skipUnless(os.environ.get("DRDOTNET_EVERY_RUNTIME"), "make runtimes")
    def test_single_files_and_trimmed_ahead_of_time_publishes(self):
        self.agent("node-a")
        for name in ("LineSingle", "LineReady"):
            with self.subTest(name):
                self.arm(name.lower(), 4)
                folder = os.path.dirname(dotnet.path("net10.0", name))
                app = self.container(self.pod_object("checkout-" + name.lower()), "all", program=(folder, ["/app/" + name, "all"]))
                report = self.report(self.succeeded(name.lower()))
                self.assertIn("Lines.Program.Main", json.dumps(report["methods"]), "what ran once, at the beginning")
                app.stop()

    def check_what_is_left_of_a_crash(self, session):
        """It ended before its runtime answered: native code has names, managed code has none."""
        report = self.report(session)
        self.assertGreater(report["sampling"]["samples"], 0)
        self.assertIn("libcoreclr", json.dumps(report["methods"]))
        self.assertEqual(report["sampling"]["managedFramesNamed"], 0)
        self.assertIn("the process ended", json.dumps(report))
        self.assertIsNone(report["start"]["attachedNanoseconds"])

    def test_a_node_whose_places_are_taken_attaches_at_once(self):
        self.agent("node-a")
        for name in ("busy-1", "busy-2"):
            self.pod(name, "trickle", app="busy")
            self.apply(name, 90, target={"podName": name})
            self.i.wait_first_sample(self.namespace, name)
        self.arm("first", 3)
        self.container(self.pod_object("checkout-1"), "warm")
        report = self.report(self.succeeded("first"))
        for name in ("busy-1", "busy-2"):
            self.assertEqual(self.i.condition(self.i.get(self.namespace, name), "Completed")["status"], "False", "it runs beside")
        self.assertGreater(report["start"]["attachedNanoseconds"], 0)
        self.assertGreater(report["sampling"]["managedFramesNamed"], 0)

    def test_an_agent_that_hears_late_says_what_is_missing(self):
        """Here of a pod that gets the label of the target when its container runs."""
        self.agent("node-a")
        self.arm("first", 2)
        object_ = self.pod_object("late-1", app="other")
        self.container(object_, "idle")
        self.kubectl("label", "pod", "late-1", "app=checkout", "--overwrite")
        report = self.report(self.succeeded("first"))
        self.assertIn("start", [limit["name"] for limit in report["limitsReached"]], report["limitsReached"])

    def test_a_crash_loop_of_ten_starts(self):
        self.agent("node-a")
        object_ = self.pod_object("checkout-1")
        self.arm("first")
        for start in range(10):
            if start == 5:
                self.check_what_is_left_of_a_crash(self.succeeded("first"))
                self.arm("second")
            self.assertEqual(self.crash(object_)[0], 2)
        self.check_what_is_left_of_a_crash(self.succeeded("second"))

    def test_a_crash_is_told_with_its_exit_code(self):
        """By the report, where the kernel tells; by the status, once the kubelet has told of this very container."""
        self.agent("node-a")
        object_ = self.pod_object("checkout-1")
        for name, same in (("first", True), ("second", False)):
            with self.subTest(name):
                self.arm(name)
                code, container = self.crash(object_)
                while not self.has_ordered(name):  # it was gone before it was seen to be .NET
                    code, container = self.crash(object_)
                self.set_ended(object_, container if same else "f" * 64, code,
                               "Unhandled exception. System.IO.IOException: secret\n   at Shop.Program.Main(String[] args)\n")
                session = self.succeeded(name)
                says = "Container app ended: exit code 2; unhandled System.IO.IOException, thrown in Shop.Program.Main"
                message = self.i.condition(session, "Succeeded")["message"]
                self.assertEqual(says + "." in message, same, message)
                self.assertEqual(session["status"]["targets"][0].get("message"), says if same else None)
                self.assertNotIn("secret", json.dumps(session["status"]))
                report = self.report(session)
                known = report["time"].get("processExit")
                self.assertEqual("the process ended with exit code 2." in report["diagnosis"]["text"], known is not None)
                if tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15):
                    self.assertEqual(known, {"code": 2})

    def test_an_agent_that_is_stopped_after_the_start(self):
        """What it samples ends in the kernel, and the report says for how long there was nothing."""
        agent = self.agent("node-a")
        self.arm("first", 10)
        app = self.container(self.pod_object("checkout-1"), "hot")
        proc.wait_until(lambda: perf_events.counted(agent.pid), 30, "the container is sampled", 0.01)
        agent.popen.send_signal(signal.SIGSTOP)
        try:
            perf_events.wait_until_ended(agent.pid, app.pid, 0, 0.3)
            time.sleep(2)  # an application that gets no CPU looks as if they had ended
        finally:
            agent.popen.send_signal(signal.SIGCONT)
        report = self.report(self.succeeded("first"))
        self.assertIn("stalled", [limit["name"] for limit in report["limitsReached"]])
        self.assertGreater(report["sampling"]["samples"], 0)

    def test_a_rollout_of_three_pods(self):
        self.agent("node-a")
        names = ("one", "two", "three")
        for name in names:
            self.arm(name, 2)
        for i in range(3):
            self.container(self.pod_object("checkout-%d" % i), "idle")
        pods = {self.succeeded(name)["status"]["targets"][0]["podName"] for name in names}
        self.assertEqual(pods, {"checkout-0", "checkout-1", "checkout-2"}, "each has one of its own")

    def test_agent_and_controller_are_restarted_while_it_waits(self):
        agent = self.agent("node-a")
        self.arm("first", 2)
        agent.stop()
        self.addCleanup(agent.again().stop)
        self.i.controller.stop()
        self.i.controller = proc.Process(self.i.controller.words, log=self.i.folder + "/again.log")
        self.i.processes.append(self.i.controller)
        self.i._wait_linked(self.node("node-a"))
        self.armed("first")
        agents = "the agent of one node watches"
        proc.wait_until(lambda: agents in self.i.condition(self.i.get(self.namespace, "first"), "Running")["message"], 30, "the agent watches")
        self.container(self.pod_object("checkout-1"), "idle")
        self.assertEqual(len(self.succeeded("first")["status"]["targets"]), 1)

    def test_nothing_starts_until_the_deadline(self):
        """Neither the pod that runs and is deleted, nor another one's container, which is not even sampled."""
        agent = self.agent("node-a")
        pod_ = self.pod("checkout-1", "idle")
        self.arm("first", 1, activeDeadlineSeconds=11)
        self.kubectl("delete", "pod", "checkout-1", "--force", "--grace-period=0")
        pod_.stop()
        basket = self.pod_object("basket-1", app="basket")
        self.container(basket, "idle")
        session = self.finished("first")
        self.assertNotIn(basket["metadata"]["uid"], agent.log())
        condition = self.i.condition(session, "Succeeded")
        self.assertEqual((condition["status"], condition["reason"]), ("False", "NoContainerStarted"), condition)
        self.assertNotIn("targets", session["status"])

    def test_what_cannot_be_profiled_from_its_start_is_refused(self):
        for more, says in (({"profiler": "Waits", "cpuHotpaths": None}, "CPUHotpaths"), ({"target": {"podName": "a", "maxPods": 2}}, "maxPods"),
                           ({"target": {"podName": "a", "process": {"pid": 7}}}, "target.process")):
            with self.subTest(says):
                name = "refused-" + says.lower()
                spec = {"profiler": "CPUHotpaths", "durationSeconds": 2, "target": {"podName": "a"}, "start": "NextContainerStart", **more}
                spec = {k: v for k, v in spec.items() if v is not None}
                if self.i.cluster.knows("CEL rules"):
                    with self.assertRaises(kube.ApiError) as refused:
                        self.i.session(self.namespace, name, spec)
                    self.assertIn(says, str(refused.exception))
                else:
                    self.i.session(self.namespace, name, spec)
                    condition = self.i.condition(self.finished(name), "Accepted")
                    self.assertEqual((condition["status"], condition["reason"]), ("False", "InvalidSpec"), condition)
                    self.assertIn(says, condition["message"])
