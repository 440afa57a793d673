"""Faults of the process and of the agent: a selection of what `make faults` does at every step, and cases of their own."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from tests.resilience.faults import faults, ground
from tests.lib import dotnet, matrix, pod, proc

AS_PID = os.path.join(proc.ROOT, "build/release/tests/as-pid")
DRDOTNET = os.path.join(proc.ROOT, "build/faults/drdotnet")  # beside it lies no library


class Selection(faults.Faults):
    """Where a fault meets a library on its way in or out, or a report on its way."""
    time_limit = 300

    def test_the_agent_is_killed(self):
        for step in ("staged", "tick", "detached", "uploaded"):
            with self.subTest(step=step):
                self.suffer(step, "agent-killed")

    def test_the_agent_is_stopped(self):
        for step in ("attach", "connected"):
            with self.subTest(step=step):
                self.suffer(step, "agent-stopped")

    def test_the_agent_is_frozen(self):
        self.suffer("tick", "agent-frozen")

    def test_the_agents_control_group_is_frozen(self):
        self.suffer("connected", "agent-cgroup-frozen")

    def test_limits_that_are_reached(self):
        for step, fault in (("attach-connected", "no-more-threads"), ("attach-connected", "process-emfile"), ("staged", "agent-emfile")):
            with self.subTest(step=step, fault=fault):
                self.suffer(step, fault)

    def test_the_session_is_canceled(self):
        self.suffer("attach-connected", "canceled")

    def test_the_process_is_stopped_for_a_while(self):
        self.suffer("name", "stopped")

    def test_the_temporary_folder(self):
        for step, fault in (("attach", "tmp-full"), ("attached", "tmp-read-only"), ("staged", "unstaged")):
            with self.subTest(step=step, fault=fault):
                self.suffer(step, fault)

    def test_the_process_ends(self):
        for step, fault in (("attach-connected", "killed"), ("tick", "exits")):
            with self.subTest(step=step):
                self.suffer(step, fault)


class Builds(faults.Faults):
    """Libraries of other sessions in the process, and processes in the place of others."""
    time_limit = 300

    def setUp(self):
        self.prepare("none")

    def other_build(self):
        """A library with other bytes, so another name when it is staged."""
        path = os.path.join(self.folder, "other-build.so")
        shutil.copyfile(ground.LIBRARY, path)
        with open(path, "ab") as f:
            f.write(b"other build")
        return path

    def mapped(self):
        with open("/proc/%d/maps" % self.app.pid) as f:
            return {word for line in f for word in line.split() if "libdrdotnet" in word}

    def row(self, step, fault, said):
        matrix.row(self, faults.PART, step, fault, said)

    def restart_agent_of_other_build(self):
        self.agent.stop(signal.SIGTERM, ground.PATIENCE)
        self.start_agent(library=self.other_build())

    def test_an_agent_of_another_build_follows_a_killed_one(self):
        """Its library is in the process when it dies; while the process is stopped it stays there, and goes with it going on."""
        self.restart_agent_of_other_build()
        self.steps.arm("tick")
        job = self.order(seconds=3)
        with self.steps.reached("tick"):
            os.kill(self.app.pid, signal.SIGSTOP)
            self.agent.stop(signal.SIGKILL)
        old = self.mapped()
        self.assertTrue(old)
        self.start_agent()
        self.assertEqual(self.mapped(), old, "it cannot go while the process is stopped")
        final, _ = self.end_of(job)
        self.assertEqual((final["phase"], final["reason"]), ("Failed", "ProcessStopped"))
        os.kill(self.app.pid, signal.SIGCONT)
        self.settle(job, final)
        job = self.order_and_sample()
        final, _ = self.end_of(job)
        self.settle(job, final)
        self.row("sampling", "the agent is killed, and one of another build started, while the process is stopped",
                 "ProcessStopped, as long as it is; nothing is left when it goes on; the next session: " + ground.outcome(final))

    def test_two_builds_in_one_process_at_once(self):
        """The second is not let in: two libraries of ours in one process could not both be detached (docs/decisions/profiler-library.md)."""
        run = proc.Process([DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "60s", "--pid", str(self.app.pid), "-o", self.folder + "/out"],
                           log=self.folder + "/run.log", env={"DRDOTNET_LIBRARY": self.other_build()})
        self.addCleanup(run.stop)
        proc.wait_until(lambda: self.assertFalse(run.ended(), run.log()) or self.mapped(), ground.PATIENCE, "the first library")
        job = self.order()
        final, _ = self.end_of(job)
        self.assertEqual((final["phase"], final["reason"]), ("Failed", "ProfilerAlreadyActive"), final)
        self.assertIn("another session", final["message"])
        self.assertEqual(len(self.mapped()), 1, "the first one stays")
        self.assertIn(run.stop(signal.SIGINT, ground.PATIENCE), (0, 130), run.log())
        self.assertTrue(os.path.exists(self.folder + "/out/report.json"), run.log())
        self.settle(job, final)
        self.row("before staging", "the local command of another build profiles the process",
                 ground.outcome(final) + "; the other session goes on")

    def test_another_process_has_the_number(self):
        """Between choosing it and looking at it, the process ends, and its number comes round to another .NET process."""
        for step in ("preflight", "start-perf", "attach-connected"):
            with self.subTest(step=step):
                self.prepare("killed")
                self.steps.arm(step)
                job = self.order()
                with contextlib.ExitStack() as stack:
                    with self.steps.reached(step):
                        pid = self.app.pid
                        self.app.stop(signal.SIGKILL, ground.PATIENCE)
                        other = stack.enter_context(self.process_numbered(pid))
                        before = ground.Remains(other)
                    final, _ = self.end_of(job)
                    self.assertEqual((final["phase"], final["reason"]), ("Failed", "ProcessExited"))
                    self.assertEqual(ground.Remains(other).left_since(before), {})
                    other.assert_progress(ground.PATIENCE)
                self.settle(job, final, alive=False)
                self.row(ground.MEANING[step], "the process ends, and its number becomes another's", ground.outcome(final) +
                         "; the other is not touched")

    @contextlib.contextmanager
    def process_numbered(self, pid):
        tmp = tempfile.mkdtemp(prefix="tmp-", dir=self.folder)
        proc.wait_until(lambda: not os.path.exists("/proc/%d" % pid), ground.PATIENCE, "the number is free")
        with dotnet.App("warm", "net10.0", self.folder, env={"TMPDIR": tmp}, prefix=[AS_PID, str(pid)]) as app:
            app.tmp, parent = tmp, app.pid
            self.assertEqual(pod.children(parent), [pid])
            app.pid = pid
            app.warm(1)
            yield app
            os.kill(pid, signal.SIGKILL)
            app.pid = parent

    def test_a_frozen_process_holds_up_nobody_else(self):
        if not ground.freezer():
            self.skipTest("no control groups of the freezer's first version here")
        other = pod.Pod(self.folder, "warm", framework="net10.0", uid=self.pod_uid)
        self.addCleanup(other.stop)
        other.warm(1)
        self.steps.arm("attach-connected")
        held = self.order()
        with contextlib.ExitStack() as frozen:
            with self.steps.reached("attach-connected"):
                frozen.enter_context(self.frozen(held))
            self.steps.arm("collect")
            job = self.order(app=other)
            self.sample(other)
            final, _ = self.end_of(job)
            self.assertFalse([e for e in self.hub.seen(event="job", job=held) if e["phase"] in ground.FINAL], "the other came first")
            self.assertEqual((final["phase"], final["reports"] > 0), ("Succeeded", True))
            self.forget(job)
            final, _ = self.end_of(held, ground.WHILE_STOPPED)
            self.assertEqual((final["phase"], final["reason"]), ("Failed", "ProcessStopped"))
        self.settle(held, final)


class Binaries(unittest.TestCase):
    def test_what_is_shipped_knows_no_steps(self):
        for name in ("drdotnet", "drdotnet-agent", "drdotnet-controller", "libdrdotnet.so"):
            text = subprocess.run(["strings", "-a", os.path.join(proc.ROOT, "build/release", name)], capture_output=True, text=True, check=True)
            self.assertNotRegex(text.stdout, "DRDOTNET_STEPS|step_come", name)
        text = subprocess.run(["strings", "-a", ground.AGENT], capture_output=True, text=True, check=True)
        self.assertIn("DRDOTNET_STEPS", text.stdout, "the test looks for what the other build has")


if __name__ == "__main__":
    unittest.main()
