"""An agent on a node with hostile pods: each session on one of them ends with its reason, in bounded time, memory and descriptors;
nothing outside those pods is touched; and the session of another pod's application is as good as ever."""
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from tests.resilience.hostile import trap
from tests.lib import dotnet, matrix, pod, proc, readers
from tests.system.link import harness

PART = "hostile pod"
FINAL = ("Failed", "Succeeded", "Canceled")
AGENT_LIMIT_MIB = 192  # of the shipped manifests
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
WITHOUT_PERF = proc.ROOT + "/build/release/tests/deny-perf"  # a fake library then says what is sampled
# processes, threads, socket files, mappings
CROWD = "60,200,2000,3000"
STALL = "the session ends as ProcessUnresponsive, another pod's session goes on, the pod is not touched again until it answers"
PROBES_MISSED = 2  # of the shipped manifests: a third one in a row restarts the agent
# Sessions that run beside others on two cores: the longest wait within any of them is the 30 s for a sign of life.
SECONDS = 150


class Probes:
    """The kubelet's probe whether an agent answers and has its link, again and again until it is closed."""

    def __init__(self, agent):
        self.words = [harness.AGENT, "ready", "--health-socket", agent.health]
        self.answered = self.missed = self.most_missed = 0  # missed: in a row
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.25):
            done = subprocess.run(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.answered += done.returncode == 0
            self.missed = 0 if done.returncode == 0 else self.missed + 1
            self.most_missed = max(self.most_missed, self.missed)

    def close(self):
        self.over.set()
        self.thread.join()


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Agent(unittest.TestCase):
    time_limit = 600

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.canary = trap.Canary(self.folder)
        self.addCleanup(self.canary.close)
        self.victim = self.started(pod.Pod(self.folder, "warm", user=10001, readonly=True))
        self.world = harness.World()
        self.addCleanup(self.world.close)
        self.hub = self.world.hub()
        self.hub.say("epoch", 1)

    def started(self, made):
        self.addCleanup(made.stop)
        return made

    def trap(self, kind, argument="", **how):
        return self.started(trap.Trap(self.folder, kind, argument, binds={self.canary.folder: "/canary"}, **how))

    def agent(self):
        made = self.world.agent(self.hub.port, harness.token("node-1"), library=LIBRARY, prefix=[WITHOUT_PERF], log_level="info")
        self.hub.expect(40, event="node", node="node-1", linked=True)
        return made

    def order(self, job, made, seconds=1):
        answer = self.hub.ask("order", "node-1", job, made.container_id, seconds, 600, made.uid)
        self.assertTrue(answer["ok"], answer)

    def ended(self, job, phase="Failed"):
        return self.hub.expect(SECONDS, event="job", job=job, phase=phase)

    def final(self, job):
        while True:
            event = self.hub.expect(SECONDS, event="job", job=job)
            if event["phase"] in FINAL:
                return event

    def assert_served(self, job):
        """The other pod's application is profiled, whatever goes on."""
        self.order(job, self.victim, 2)
        self.assertEqual(self.ended(job, "Succeeded")["reports"], len(readers.MEDIA))

    def assert_untouched(self, agent, log):
        self.assertEqual(self.canary.seen(), [])
        self.assertEqual(dotnet.Traces(self.victim).left_since(self.before).get("files", []), [])
        self.assertLess(trap.memory_mib(agent.popen.pid), AGENT_LIMIT_MIB)
        self.assertEqual(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", log), [])

    def test_file_systems_that_never_answer(self):
        symbols = self.trap("library", "stalled-symbols")
        self.before = dotnet.Traces(self.victim)
        self.canary.arm()
        agent = self.agent()
        at_first = trap.descriptors(agent.popen.pid)
        self.order("symbols", symbols, 3)
        self.hub.expect(SECONDS, event="job", job="symbols", phase="Profiling")
        stalled = self.trap("stalled-tmp")  # for a moment: who looks at all processes of this machine meets it, too
        self.order("stalled", stalled)
        self.assertEqual(self.ended("stalled")["reason"], "ProcessUnresponsive")
        stalled.stop()
        self.assert_served("beside-1")
        self.assertEqual(self.ended("symbols")["reason"], "ProcessUnresponsive")
        self.order("again", symbols)
        self.assertEqual(self.ended("again")["reason"], "ProcessUnresponsive")
        self.assert_served("beside-2")
        symbols.stop()
        proc.wait_until(lambda: agent.log().count("has returned") >= 2, 60, "the calls that hung return")
        proc.wait_until(lambda: trap.descriptors(agent.popen.pid) <= at_first + 2, 30, "all descriptors are closed")
        self.assert_untouched(agent, agent.log())
        self.victim.assert_progress(30)
        self.assertEqual(agent.stop(signal.SIGTERM, 60), 0)
        matrix.row(self, PART, "find the process", "its temporary folder is a FUSE mount that never answers", STALL)
        matrix.row(self, PART, "profile", "a library that it maps lies on a FUSE mount that never answers", STALL)

    # a process that looks into all pods cannot end while a file system there does not answer
    test_file_systems_that_never_answer.alone = True

    def test_symbols_that_would_be_read_for_hours(self):
        traps = [self.trap("library", "endless-lines") for _ in range(3)]
        self.before = dotnet.Traces(self.victim)
        self.canary.arm()
        agent = self.agent()
        probes = Probes(agent)
        self.addCleanup(probes.close)
        jobs = {"lines-%d" % n: made for n, made in enumerate(traps)}
        for job, made in {**jobs, "beside": self.victim}.items():
            self.order(job, made, 2)
        ended = {}
        while len(ended) < len(jobs) + 1:
            event = self.hub.expect(SECONDS, event="job")
            if event["phase"] in FINAL:
                ended[event["job"]] = event["phase"]
        probes.close()
        self.assertEqual(ended, {job: "Succeeded" for job in (*jobs, "beside")})
        self.assertGreater(probes.answered, 0)
        self.assertLessEqual(probes.most_missed, PROBES_MISSED)
        self.assert_untouched(agent, agent.log())
        self.assertEqual(agent.stop(signal.SIGTERM, 60), 0)
        matrix.row(self, PART, "profile", "libraries of three pods at once have symbols whose lines would be read for hours",
                   "Completed; another pod's session, the probe and the link go on")

    def test_files_that_lead_elsewhere(self):
        traps = {kind: self.trap(kind, argument) for kind, argument in (("links", ""), ("racing", ""), ("crowd", CROWD))}
        words = self.trap("words", env={"TMPDIR": "/tmp/\x1b]0;x\x07\u202e\n", "DOTNET_EnableDiagnostics": "1" * 60000})
        self.before = dotnet.Traces(self.victim)
        self.canary.arm()
        agent = self.agent()
        at_first = trap.descriptors(agent.popen.pid)
        for kind, made in {**traps, "words": words}.items():
            self.order(kind, made)
            self.assertIn(self.final(kind)["reason"], REASONS[kind], kind)
        self.assert_served("beside")
        proc.wait_until(lambda: trap.descriptors(agent.popen.pid) <= at_first + 2, 30, "all descriptors are closed")
        self.assert_untouched(agent, agent.log())
        self.assertEqual(agent.stop(signal.SIGTERM, 60), 0)
        safe = "; nothing outside the pod is opened, written or removed"
        matrix.row(self, PART, "find the process", "links, FIFOs, devices and folders in the places of sockets and session folders",
                   "NoDotnetProcess" + safe)
        matrix.row(self, PART, "stage", "a thread that puts links in the place of the session's folder", "the attach fails, or not" + safe)
        matrix.row(self, PART, "find the process", "many processes that never answer, threads, mappings and socket files",
                   "AmbiguousProcess in bounded time" + safe)
        matrix.row(self, PART, "find the process", "escape sequences in names, environment and TMPDIR", "a reason whose message shows them escaped")


REASONS = {
    "links": ("NoDotnetProcess", "AttachFailed"),
    "racing": ("AttachFailed", "NoStagingPlace", "NoSamples", "Completed"),  # as the race goes
    "crowd": ("AmbiguousProcess",),
    "words": ("NoDotnetProcess", "NoStagingPlace"),
}


if __name__ == "__main__":
    unittest.main()
