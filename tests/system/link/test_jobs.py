"""Jobs of the agent's program on a real .NET process: nothing is lost when controller, storage or agent go away meanwhile."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

from tests.lib import dotnet, pod, proc, readers
from tests.system.link import harness
from tests.system.link.harness import token

UNAVAILABLE = pod.unavailable()
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class JobsCase(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.pod_uid = str(uuid.uuid4())
        cls.app = pod.Pod(folder.name, "warm", uid=cls.pod_uid)
        cls.addClassCleanup(cls.app.stop)
        cls.app.warm(50)

    def setUp(self):
        self.world = harness.World()
        self.addCleanup(self.world.close)
        self.hub = self.world.hub(pod_uid=self.pod_uid)
        self.hub.say("epoch", 1)
        self.before = dotnet.Traces(self.app)

    def agent(self, **options):
        made = self.world.agent(self.hub.port, token("node-1"), library=LIBRARY, **options)
        self.hub.expect(event="node", node="node-1", linked=True)
        return made

    def order(self, job, seconds, deadline=120):
        answer = self.hub.ask("order", "node-1", job, self.app.container_id, seconds, deadline)
        self.assertTrue(answer["ok"], answer)

    def expect(self, job, phase, seconds=40, **more):
        return self.hub.expect(seconds, event="job", job=job, phase=phase, **more)

    def stored(self):
        where = self.hub.store + "/shop/session-01234567/pod-0"
        return set(os.listdir(where)) if os.path.isdir(where) else set()

    def spooled(self):
        folder = self.world.folder + "/agent-spool/jobs"
        return sorted(name for name in os.listdir(folder) if os.path.exists("%s/%s/state.json" % (folder, name)))

    def restart_hub(self):
        self.hub.stop(signal.SIGKILL)
        self.hub = self.world.hub(port=self.hub.port, pod_uid=self.pod_uid)
        self.hub.say("epoch", 2)

    def assert_nothing_left(self):
        dotnet.assert_nothing_left(self, self.app, self.before)
        self.app.assert_progress()


class Controllers(JobsCase):
    def test_the_session_goes_on_without_a_controller_and_reports_afterwards(self):
        self.agent()
        self.order("job-1", 3)
        self.expect("job-1", "Profiling")
        self.hub.stop(signal.SIGKILL)
        time.sleep(4)
        self.hub = self.world.hub(port=self.hub.port, pod_uid=self.pod_uid)
        self.hub.say("epoch", 2)
        done = self.expect("job-1", "Succeeded")
        self.assertEqual(done["reports"], len(readers.MEDIA))
        self.assertEqual(self.stored(), set(readers.MEDIA))
        self.assertEqual(self.spooled(), ["job-1"])
        self.hub.say("forget", "node-1", "job-1")
        proc.wait_until(lambda: self.spooled() == [], 20, "the job is forgotten")
        self.assert_nothing_left()

    def test_a_canceled_session_keeps_its_report(self):
        self.agent()
        self.order("job-2", 60)
        self.expect("job-2", "Profiling")
        time.sleep(1)
        self.hub.say("cancel", "node-1", "job-2")
        done = self.expect("job-2", "Canceled", 20)
        self.assertEqual(done["reports"], len(readers.MEDIA))
        self.assert_nothing_left()

    def test_forgetting_a_running_job_ends_it(self):
        self.agent()
        self.order("job-3", 60)
        self.expect("job-3", "Profiling")
        self.hub.say("forget", "node-1", "job-3")
        proc.wait_until(lambda: self.spooled() == [], 20, "the job is gone")
        self.assert_nothing_left()

    def test_a_report_waits_for_the_storage(self):
        self.agent()
        self.hub.say("uploads", 0)
        self.order("job-4", 1)
        self.hub.expect(30, event="upload", job="job-4")
        self.expect("job-4", "Delivering")
        self.hub.expect(10, event="upload", job="job-4")  # it asks again
        self.assertEqual(self.stored(), set())
        self.hub.say("uploads", 1)
        self.assertEqual(self.expect("job-4", "Succeeded")["reports"], len(readers.MEDIA))
        self.assertEqual(self.stored(), set(readers.MEDIA))

    def test_a_denied_report_ends_the_job(self):
        self.agent()
        self.order("denied-5", 1)
        self.assertEqual(self.expect("denied-5", "Failed")["reports"], len(readers.MEDIA))


class Limits(JobsCase):
    def test_one_session_a_process_the_others_wait(self):
        self.agent(max_sessions=3)
        self.order("job-1", 60)
        self.expect("job-1", "Profiling")
        self.order("job-2", 1)
        waiting = self.expect("job-2", "Queued", place=1)
        self.assertRegex(waiting["message"], r"^session .+ profiles this process until about 20\d\d-.*Z$")
        self.order("job-3", 1, deadline=1)
        self.assertEqual(self.expect("job-3", "Failed")["reason"], "DeadlineExceeded")
        self.hub.say("cancel", "node-1", "job-1")
        self.expect("job-2", "Succeeded")
        self.assert_nothing_left()

    def test_so_many_sessions_a_node_and_no_more(self):
        self.agent(max_sessions=1)
        self.order("job-1", 60)
        self.expect("job-1", "Profiling")
        for n in (2, 3):
            self.order("job-%d" % n, 1)
            self.expect("job-%d" % n, "Queued", place=n - 1)
        self.hub.say("cancel", "node-1", "job-2")
        self.expect("job-3", "Queued", place=1)
        self.expect("job-2", "Canceled")
        self.hub.say("cancel", "node-1", "job-1")
        self.expect("job-3", "Succeeded")


class Agents(JobsCase):
    def kill(self, agent):
        agent.stop(signal.SIGKILL)
        self.hub.expect(event="node", node="node-1", linked=False)

    def test_killed_during_the_session_it_starts_again(self):
        agent = self.agent()
        self.order("job-1", 3)
        self.expect("job-1", "Profiling")
        self.kill(agent)
        again = self.agent()
        self.expect("job-1", "Profiling")
        self.assertEqual(self.expect("job-1", "Succeeded")["reports"], len(readers.MEDIA))
        self.assertEqual(self.stored(), set(readers.MEDIA))
        self.assert_nothing_left()
        self.assertNotIn("torn job", again.log())

    def test_killed_during_the_session_and_started_too_late(self):
        agent = self.agent()
        self.order("job-2", 10, deadline=14)
        self.expect("job-2", "Profiling")
        self.kill(agent)
        self.agent()
        self.assertEqual(self.expect("job-2", "Failed")["reason"], "AgentLost")
        self.assert_nothing_left()

    def test_killed_while_it_delivers(self):
        agent = self.agent()
        self.hub.say("uploads", 0)
        self.order("job-3", 1)
        self.expect("job-3", "Delivering")
        self.hub.expect(30, event="upload", job="job-3")
        self.kill(agent)
        self.restart_hub()
        self.agent()
        self.assertEqual(self.expect("job-3", "Succeeded")["reports"], len(readers.MEDIA))
        self.assertEqual(self.stored(), set(readers.MEDIA))

    def test_killed_while_jobs_wait(self):
        agent = self.agent(max_sessions=1)
        self.order("job-4", 4)
        self.expect("job-4", "Profiling")
        self.order("job-5", 1)
        self.expect("job-5", "Queued", place=1)
        proc.wait_until(lambda: self.spooled() == ["job-4", "job-5"], 20, "both are kept")
        self.kill(agent)
        self.agent(max_sessions=1)
        done = {}
        while len(done) < 2:
            event = self.hub.expect(40, event="job")
            if event["phase"] in ("Succeeded", "Failed"):
                done[event["job"]] = event["phase"]
        self.assertEqual(done, {"job-4": "Succeeded", "job-5": "Succeeded"})
        self.assert_nothing_left()

    def test_stopped_during_the_session_its_report_comes_with_the_next_agent(self):
        agent = self.agent()
        self.order("job-6", 60)
        self.expect("job-6", "Profiling")
        time.sleep(1)
        self.assertEqual(agent.stop(signal.SIGTERM, 20), 0, agent.log())
        self.assert_nothing_left()
        self.agent()
        done = self.hub.expect(40, event="job", job="job-6", reports=len(readers.MEDIA))
        while done["phase"] == "Delivering":
            done = self.hub.expect(40, event="job", job="job-6")
        self.assertEqual(done["phase"], "Canceled")
        self.assertIn("because the agent was stopped", done["message"])
        self.assertEqual(self.stored(), set(readers.MEDIA))
        with open(self.hub.store + "/shop/session-01234567/pod-0/summary.md", encoding="utf-8") as f:
            summary = f.read()
        self.assertRegex(summary, r"Ended early, after [\d.]+ s: the agent was stopped\.")
        self.assertNotIn("on request", summary)

    def test_killed_again_and_again(self):
        agent = self.agent()
        self.order("job-7", 2)
        for wait in (0, 0.1, 0.8, 2.2):
            time.sleep(wait)
            agent.stop(signal.SIGKILL)
            agent = self.agent()
            if not self.spooled():
                self.order("job-7", 2)  # killed before it was kept: the controller orders again
        self.assertEqual(self.expect("job-7", "Succeeded")["reports"], len(readers.MEDIA))
        self.assertEqual(self.stored(), set(readers.MEDIA))
        self.assert_nothing_left()


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Cost(unittest.TestCase):
    def test_an_idle_agent_costs_nothing_and_a_session_little(self):
        words = [sys.executable, "tests/bench/agent_idle.py", "--seconds", "5", "--session-seconds", "3"]
        done = subprocess.run(words, cwd=proc.ROOT, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        cost = json.loads(done.stdout)
        self.assertLessEqual(cost["idle"]["rss_anon_kib"], 4 << 10)
        self.assertLessEqual(cost["idle"]["cpu_ms"], 10)
        self.assertLessEqual(cost["session"]["most_rss_kib"], 26 << 10)


if __name__ == "__main__":
    unittest.main()
