"""An agent that sees nothing of a process but its folder for temporary files, and the library that a killed agent has left in the process."""
import contextlib
import os
import signal
import tempfile
import time
import unittest

from tests.resilience.faults import ground
from tests.lib import dotnet, local, matrix, pod, proc
from tests.system.link import harness
from tests.system.link.harness import token
from tests.system.profiler import tools

PART = "Faults of the process and of the agent; shared folder"
FOLDER = "shop_pod-0"  # as the hub names the pod


@unittest.skipIf(ground.UNAVAILABLE, ground.UNAVAILABLE)
class SharedFolder(unittest.TestCase):
    """Two agents with one folder of pods' folders."""
    time_limit = 300

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder, self.parent = folder.name, os.path.join(folder.name, "pods")
        os.mkdir(self.parent)
        self.world = harness.World()
        self.addCleanup(self.world.close)
        self.hub = self.world.hub()
        self.hub.say("epoch", 1)
        self.steps, self.agents = {}, {}
        self.start_agent("node-1")
        self.start_agent("node-2")
        self.app = self.pod()

    def start_agent(self, node):
        if node not in self.steps:
            self.steps[node] = ground.Steps(os.path.join(self.folder, "steps-" + node))
        kept, harness.AGENT = harness.AGENT, ground.AGENT
        try:
            self.agents[node] = self.world.agent(self.hub.port, token(node), name=node, library=ground.LIBRARY, mode="sharedTmp",
                                                 shared_parent=self.parent, prefix=["env", "DRDOTNET_STEPS=" + self.steps[node].folder])
        finally:
            harness.AGENT = kept
        self.hub.expect(ground.PATIENCE, event="node", node=node, linked=True)

    def pod(self):
        where = os.path.join(self.parent, FOLDER)
        os.mkdir(where)
        os.chmod(where, 0o1777)
        made = pod.Pod(self.folder, "warm", framework="net10.0", shared_tmp=where)
        self.addCleanup(made.stop)
        made.warm(5)
        return made

    def order(self, node, job, seconds):
        answer = self.hub.ask("order", node, job, self.app.container_id, seconds, ground.DEADLINE)
        self.assertTrue(answer["ok"], answer)

    def end_of(self, job):
        while True:
            event = self.hub.expect(ground.PATIENCE, event="job", job=job)
            if event["phase"] in ground.FINAL:
                return event

    def mapped(self):
        return dotnet.has_library(self.app.pid)

    def sample(self, node):
        """Holds this agent's session, whose step "collect" is armed, until there are samples."""
        with self.steps[node].reached("collect"):
            ground.Ground.burn(self.app)

    @contextlib.contextmanager
    def in_the_middle(self, node, job):
        """A session of this agent that waits while it samples."""
        self.steps[node].arm("tick")
        self.order(node, job, 60)
        with self.steps[node].reached("tick"):
            self.assertTrue(self.mapped())
            ground.Ground.burn(self.app)
            yield

    def test_the_library_of_a_killed_agent_is_waited_for(self):
        self.steps["node-1"].arm("collect")
        self.order("node-1", "job-0", 1)  # what the runtime makes at its first attach stays
        self.sample("node-1")
        self.assertEqual(self.end_of("job-0")["phase"], "Succeeded")
        before = dotnet.Traces(self.app)
        with self.in_the_middle("node-1", "job-1"):
            self.steps["node-2"].arm("attach")
            self.order("node-2", "job-2", 1)
            with self.steps["node-2"].reached("attach"):
                os.kill(self.app.pid, signal.SIGSTOP)
                self.agents["node-1"].stop(signal.SIGKILL)
                self.assertTrue(self.mapped(), "it cannot leave while the process is stopped")
                self.steps["node-2"].arm("collect")
            time.sleep(0.3)  # so long it is there for sure
            os.kill(self.app.pid, signal.SIGCONT)
        self.sample("node-2")
        final = self.end_of("job-2")
        self.assertEqual((final["phase"], final["reason"], final["reports"] > 0), ("Succeeded", "Completed", True), final)
        self.start_agent("node-1")  # takes away what the killed one has left there, and would begin its session anew
        self.hub.say("cancel", "node-1", "job-1")
        self.assertEqual(self.end_of("job-1")["phase"], "Canceled")
        dotnet.assert_nothing_left(self, self.app, before, ground.PATIENCE)
        self.app.assert_progress(ground.PATIENCE)
        matrix.row(self, PART, "sampling", "the agent is killed, and another session follows while its library still leaves",
                   "it is waited for; the next session: " + ground.outcome(final))

    def test_a_session_under_way_is_not_joined(self):
        with self.in_the_middle("node-1", "job-1"):
            self.order("node-2", "job-2", 1)
            final = self.end_of("job-2")
        self.assertEqual((final["phase"], final["reason"]), ("Failed", "ProfilerAlreadyActive"), final)
        self.assertIn("another session", final["message"])
        self.hub.say("cancel", "node-1", "job-1")
        first = self.end_of("job-1")
        self.assertEqual((first["phase"], first["reports"] > 0), ("Canceled", True), first)
        proc.wait_until(lambda: not self.mapped(), ground.PATIENCE, "the library leaves")
        self.app.assert_progress(ground.PATIENCE)
        matrix.row(self, PART, "before staging", "another agent's session is under way", ground.outcome(final) + "; the other session goes on")


class SharedByProcesses(local.LocalCase):
    """Several processes, as in one container, with one folder."""

    def test_a_session_in_one_process_does_not_hold_up_another_ones(self):
        first = self.start("warm")
        second = self.start("warm", env={"TMPDIR": first.tmp})
        run = proc.Process([local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "60s", "--pid", str(first.pid),
                            "-o", self.folder + "/first"], log=self.folder + "/first.log")
        self.addCleanup(run.stop)
        proc.wait_until(lambda: dotnet.has_library(first.pid), ground.PATIENCE, "the first session is attached")
        self.run_session(second, 1)
        self.assertFalse(run.ended(), run.log())
        self.assertEqual(run.stop(signal.SIGINT, ground.PATIENCE), 0, run.log())

    def test_a_thread_of_the_applications_has_the_librarys_name(self):
        app = self.start("warm", env={"LD_PRELOAD": tools.tool("forking.so"), "FORK_FLAG": self.folder + "/never", "FORK_THREAD": "drdotnet"})
        self.assertIn("drdotnet", dotnet.Traces(app).threads.values())
        self.run_session(app, 1)
        self.run_session(app, 1)


if __name__ == "__main__":
    unittest.main()
