"""The agent where it sees nothing of a process but its folder for temporary files: the runtime itself says what is in its environment."""
import json
import os
import tempfile
import unittest

from tests.lib import dotnet, pod, proc
from tests.system.link import harness
from tests.system.link.harness import token
from tests.system.link.test_jobs import LIBRARY, UNAVAILABLE
from tests.system.profiler import tools

FOLDER = "shop_pod-0"  # as the hub names the pod
APM_FOLDER = "/apm"
UID = "76543210-89ab-cdef-0123-456789abcdef"  # as well


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class SharedTmp(unittest.TestCase):
    one_process = True
    time_limit = 300
    jobs = 0

    @classmethod
    def setUpClass(cls):
        tools.build()
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.parent = os.path.join(cls.folder, "pods")
        os.mkdir(cls.parent)
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        cls.hub = cls.world.hub()
        cls.hub.say("epoch", 1)
        cls.world.agent(cls.hub.port, token("node-1"), library=LIBRARY, mode="sharedTmp", shared_parent=cls.parent)
        cls.hub.expect(30, event="node", node="node-1", linked=True)

    def pod(self, framework, **how):
        """The one pod of the parent's folder."""
        where = os.path.join(self.parent, FOLDER)
        os.mkdir(where)
        os.chmod(where, 0o1777)
        made = pod.Pod(self.folder, "warm", framework=framework, shared_tmp=where, binds={tools.tool(""): APM_FOLDER}, **how)
        self.addCleanup(os.rename, where, tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(made.stop)
        made.warm(5)
        return made

    def session(self, app):
        """(phase, reason, message, the report's `sampling` or None)"""
        SharedTmp.jobs += 1
        job = "job-%d" % self.jobs
        self.assertTrue(self.hub.ask("order", "node-1", job, app.container_id, 3, 60)["ok"])
        while True:
            event = self.hub.expect(90, event="job", job=job)
            if event["phase"] in ("Succeeded", "Failed", "Canceled"):
                break
        path = self.hub.store + "/shop/session-01234567/pod-0/report.json"
        sampling = None
        if event["reports"]:
            with open(path) as f:
                sampling = json.load(f)["sampling"]
            os.unlink(path)
        self.hub.say("forget", "node-1", job)
        return event["phase"], event["reason"], event["message"], sampling

    def test_beside_a_profiler_that_started_with_the_process(self):
        app = self.pod("net10.0", env=tools.apm(APM_FOLDER))
        before = None
        for _ in range(3):
            phase, reason, message, sampling = self.session(app)
            self.assertEqual((phase, reason), ("Succeeded", "Completed"), message)
            self.assertTrue(sampling["besideAnotherProfiler"])
            if before:
                dotnet.assert_nothing_left(self, app, before)
            before = dotnet.Traces(app)  # what the runtime makes at its first attach stays
        with open("/proc/%d/maps" % app.pid) as f:
            self.assertIn("other_profiler.so", f.read())
        app.assert_progress(60)

    def test_not_beside_one_that_came_after_sessions(self):
        """The runtime has lost count of its profilers then: what attaches for notifications only could not be detached."""
        for framework in ("net8.0", "net10.0"):
            with self.subTest(framework=framework):
                app = self.pod(framework)
                phase, reason, message, sampling = self.session(app)
                self.assertEqual((phase, reason, sampling["besideAnotherProfiler"]), ("Succeeded", "Completed", False), message)
                self.attach_other(app)
                phase, reason, message, _ = self.session(app)
                self.assertEqual((phase, reason), ("Failed", "ProfilerAlreadyActive"), message)
                app.assert_progress(60)
                self.assertNotIn("drdotnet", dotnet.Traces(app).threads.values())
                self.doCleanups()

    def attach_other(self, app):
        """Another tool's profiler takes the main place."""
        app.folder, app.state = "/tmp", app.log
        app.socket = "/tmp/" + next(name for name in os.listdir(app.tmp) if name.startswith("dotnet-diagnostic-"))
        with tools.Driver(app) as driver:
            driver("load %s/other_profiler.so" % APM_FOLDER)

    def test_what_each_profiler_can_do_here(self):
        """Those that read the process from outside say what they need; the others come to their report."""
        app = self.pod("net10.0")
        for profiler in ("Waits", "Threads", "Deadlocks"):
            with self.subTest(profiler):
                phase, reason, message = self.session_of(profiler, app)
                self.assertEqual(phase, "Failed", message)
                self.assertIn(": the agent needs the host's pid namespace", message)
                self.assertEqual(reason, "PermissionDenied")
        for profiler in ("StuckTasks", "Exceptions"):
            with self.subTest(profiler):
                self.assertEqual(self.session_of(profiler, app)[:2], ("Succeeded", "Completed"))
        app.assert_progress(60)

    def session_of(self, profiler, app):
        SharedTmp.jobs += 1
        job = "job-%d" % self.jobs
        self.assertTrue(self.hub.ask("order", "node-1", job, app.container_id, 2, 60, UID, profiler)["ok"])
        while True:
            event = self.hub.expect(90, event="job", job=job)
            if event["phase"] in ("Succeeded", "Failed", "Canceled"):
                self.hub.say("forget", "node-1", job)
                return event["phase"], event["reason"], event["message"]

    def test_the_setting_that_forbids_profilers_is_named(self):
        app = self.pod("net10.0", env={"DOTNET_EnableDiagnostics_Profiler": "0"})
        before = os.listdir(app.tmp)
        phase, reason, message, _ = self.session(app)
        self.assertEqual((phase, reason), ("Failed", "DiagnosticsDisabled"))
        self.assertIn("DOTNET_EnableDiagnostics_Profiler=0 switches", message)
        proc.wait_until(lambda: os.listdir(app.tmp) == before, 10, "no file of ours")
        app.assert_progress(60)


if __name__ == "__main__":
    unittest.main()
