"""The faults of the target and of the agent, and what a session at a certain step makes of them.

    class Mine(faults.Faults):
        def test_the_process_is_killed(self):
            self.suffer("tick", "killed")
"""
import contextlib
import os
import resource
import signal
import time

from tests.resilience.faults import ground
from tests.lib import matrix, proc

FAULTS = {
    "exits": "the process ends in order (SIGTERM)",
    "killed": "the process is killed",
    "stopped": "the process is stopped for two seconds",
    "frozen": "the process's control group is frozen, and thawed when the session has ended",
    "agent-killed": "the agent is killed, and started again",
    "agent-stopped": "the agent is stopped in order (SIGTERM), and started again",
    "agent-frozen": "the agent is stopped (SIGSTOP) until the library has left by itself",
    "agent-cgroup-frozen": "the agent's control group is frozen until the library has left by itself",
    "no-more-threads": "the process may make no more threads (pids.max) until the session has ended",
    "process-emfile": "the process may open no more descriptors until the session has ended",
    "agent-emfile": "the agent may open no more descriptors until the session has ended",
    "tmp-full": "the process's /tmp is full",
    "tmp-read-only": "the process's /tmp is read-only until the session has ended",
    "unstaged": "the process removes the staged files",
    "canceled": "the session is canceled",
}
DEADLY = ("exits", "killed")
# A runtime that gets no thread or no descriptor may end itself, with these words; it does so without a session, too.
STARVING = ("no-more-threads", "process-emfile")
LAST_WORDS = ("Out of memory.", "PAL_SEHException")
STARVED_TRIES = 8
FULL_LOOKS = 6  # at a process whose descriptors are all in use: none of them was free
AGENT_ENDS = ("agent-killed", "agent-stopped")
PART = "Faults of the process and of the agent"


class Faults(ground.Ground):
    one_process = True
    writes = False      # the rows of the matrix; otherwise the session is held to the rows that others have written

    # the faults: each is a context; what it undoes is undone when the session has ended -------------------------------------
    @contextlib.contextmanager
    def exits(self, _job):
        self.app.stop(signal.SIGTERM, ground.PATIENCE)
        yield

    @contextlib.contextmanager
    def killed(self, _job):
        self.app.stop(signal.SIGKILL, ground.PATIENCE)
        yield

    @contextlib.contextmanager
    def stopped(self, _job):
        os.kill(self.app.pid, signal.SIGSTOP)
        folder = "/proc/%d/task" % self.app.pid
        proc.wait_until(lambda: all("State:\tT" in self.read("%s/%s/status" % (folder, t)) for t in os.listdir(folder)), ground.PATIENCE,
                        "all threads are stopped")
        yield
        os.kill(self.app.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self, _job):
        where = self.frozen_group(self.app.pid)
        self.write(where + "/freezer.state", "FROZEN")
        proc.wait_until(lambda: self.read(where + "/freezer.state") == "FROZEN", ground.PATIENCE, "the frozen group")
        try:
            yield
        finally:
            self.write(where + "/freezer.state", "THAWED")

    def frozen_group(self, pid):
        """A process's own control group of the freezer hierarchy."""
        where = "%s/drdotnet-test-%d" % (ground.freezer(), pid)
        if not os.path.isdir(where):
            os.makedirs(where)
            self.addCleanup(self.remove_group, where, pid)
            self.write(where + "/cgroup.procs", str(pid))
        return where

    def remove_group(self, where, pid):
        with contextlib.suppress(ProcessLookupError):
            self.write(os.path.dirname(where) + "/cgroup.procs", str(pid))

        def remove():
            try:
                os.rmdir(where)
            except FileNotFoundError:
                pass
            except OSError:
                return False
            return True
        proc.wait_until(remove, ground.PATIENCE, "an empty control group")

    @contextlib.contextmanager
    def agent_frozen(self, _job):
        """It goes on before the step does."""
        os.kill(self.agent.popen.pid, signal.SIGSTOP)
        try:
            self.library_leaves_by_itself()
        finally:
            os.kill(self.agent.popen.pid, signal.SIGCONT)
        yield

    @contextlib.contextmanager
    def agent_cgroup_frozen(self, _job):
        where = self.frozen_group(self.agent.popen.pid)
        self.write(where + "/freezer.state", "FROZEN")
        try:
            self.library_leaves_by_itself()
        finally:
            self.write(where + "/freezer.state", "THAWED")
        yield

    def library_leaves_by_itself(self):
        """Nothing of the session stays in the process but the staged files: they are the agent's to remove."""
        left = {}

        def look():
            left.clear()
            left.update(ground.Remains(self.app).left_since(self.before))
            left.pop("files", None)
            return not left
        try:
            proc.wait_until(look, ground.PATIENCE, "nothing of the session is in the process")
        except AssertionError as e:
            raise AssertionError("%s: %s" % (e, left)) from e
        self.app.assert_progress(ground.PATIENCE)

    @contextlib.contextmanager
    def no_more_threads(self, _job):
        where = "%s/drdotnet-test-%d" % (ground.PIDS, self.app.pid)
        os.makedirs(where, exist_ok=True)
        self.write(where + "/cgroup.procs", str(self.app.pid))
        self.write(where + "/pids.max", "0")
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                self.write(ground.PIDS + "/cgroup.procs", str(self.app.pid))
            os.rmdir(where)

    @contextlib.contextmanager
    def process_emfile(self, _job):
        with self.no_more_descriptors(self.app.pid):
            yield

    @contextlib.contextmanager
    def agent_emfile(self, _job):
        with self.no_more_descriptors(self.agent.popen.pid):
            yield

    @staticmethod
    @contextlib.contextmanager
    def no_more_descriptors(pid):
        """Below the limit none is free, and none becomes free: what was open for a moment only, such as the connection of a client, is closed again."""
        before, limits = resource.prlimit(pid, resource.RLIMIT_NOFILE), []

        def is_lowest():
            used = {int(fd) for fd in os.listdir("/proc/%d/fd" % pid)}
            limits.append(next(fd for fd in range(len(used) + 1) if fd not in used))
            if limits[-1] < min(limits[:-1], default=before[0]):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (limits[-1], before[1]))
            return len(limits) > FULL_LOOKS and min(limits[-FULL_LOOKS:]) >= limits[-FULL_LOOKS - 1]
        try:
            proc.wait_until(is_lowest, ground.PATIENCE, "no descriptor is free any more", 0.05)
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    @contextlib.contextmanager
    def tmp_full(self, _job):
        path = self.app.tmp + "/filler"
        with open(path, "wb", buffering=0) as f:
            with contextlib.suppress(OSError):
                while True:
                    f.write(bytes(1 << 20))
            with contextlib.suppress(OSError):
                while True:
                    f.write(bytes(1 << 10))
        yield
        os.unlink(path)

    @contextlib.contextmanager
    def tmp_read_only(self, _job):
        ground.remount_tmp(self.app.pid, True)
        try:
            yield
        finally:
            ground.remount_tmp(self.app.pid, False)

    @contextlib.contextmanager
    def unstaged(self, _job):
        for name in os.listdir(self.app.tmp):
            if name.startswith(".drdotnet-"):
                folder = os.path.join(self.app.tmp, name)
                for file in os.listdir(folder):
                    os.unlink(os.path.join(folder, file))
                os.rmdir(folder)
        yield

    @contextlib.contextmanager
    def canceled(self, job):
        self.hub.say("cancel", ground.NODE, job)
        self.hub.ask("usage", ground.NODE, self.pod_uid, event="usage")  # messages are taken in order: so the cancel has been
        yield

    @contextlib.contextmanager
    def agent_killed(self, _job):
        self.agent.stop(signal.SIGKILL)
        yield

    @contextlib.contextmanager
    def agent_stopped(self, _job):
        self.agent.popen.send_signal(signal.SIGTERM)
        proc.wait_until(lambda: "stopping: sessions end early" in self.agent.log(), ground.PATIENCE, "the agent stops")
        if self.step != "forget":
            proc.wait_until(self.agent_ends_its_sessions, ground.PATIENCE, "the agent's sessions are told to end")
        yield

    def agent_ends_its_sessions(self):
        """The descriptor that tells a session to end is readable and stays so."""
        folder = "/proc/%d/fdinfo" % self.agent.popen.pid

        def readable():
            return {fd for fd in os.listdir(folder) if "eventfd-count:" in (text := self.read("%s/%s" % (folder, fd))) and
                    int(text.partition("eventfd-count:")[2].split()[0], 16)}
        first = readable()
        time.sleep(0.02)
        return first & readable()

    @staticmethod
    def read(path):
        try:
            with open(path) as f:
                return f.read().strip()
        except OSError:
            return ""

    @staticmethod
    def write(path, text):
        with open(path, "w") as f:
            f.write(text)

    # one case ------------------------------------------------------------------------------------------------------------
    def suffer(self, step, fault):
        """One session that meets the fault at the step; what came of it goes into the matrix."""
        if fault == "frozen" and not ground.freezer():
            self.skipTest("no control groups of the freezer's first version here")
        if fault == "no-more-threads" and not os.access(ground.PIDS + "/cgroup.procs", os.W_OK):
            self.skipTest("no control groups of the first version's pids here")
        self.step = step
        for _ in range(STARVED_TRIES if fault in STARVING else 1):
            self.prepare(fault)
            try:
                said = self.forget_with(fault) if step == "forget" else self.profile_with(step, fault)
                break
            except (AssertionError, OSError):
                if fault not in STARVING or not self.runtime_ended_itself():
                    raise
                self.abandon()
        else:
            self.skipTest("the runtime ended itself each time")
        if self.writes:
            matrix.row(self, self.part(), ground.MEANING[step], FAULTS[fault], said)
        else:
            of_step = (ground.MEANING[step], FAULTS[fault])
            written = [outcome for *where, outcome, _ in matrix.read().get(self.part(), []) if tuple(where) == of_step]
            self.assertIn(said, written, "%s: %s" % of_step)

    def runtime_ended_itself(self):
        with contextlib.suppress(AssertionError):
            proc.wait_until(self.app.ended, 5, "the end of the process")
        return self.app.ended() and any(words in self.app.log()[-300:] for words in LAST_WORDS)

    def abandon(self):
        """The session of a process that is no more ends as any other, and is forgotten."""
        self.steps.clear()
        job = "job-%d" % self.jobs
        self.order(job)
        self.end_of(job)
        self.forget(job)
        self.agent_is_idle()

    def part(self):
        if self.profiler != "CPUHotpaths":
            return PART + "; " + self.profiler
        return PART + ("; sampled by timers in the process" if self.timers else "")

    def prepare(self, fault):
        if self.app.ended():
            type(self).app.stop()
            self.start_app()
        if self.fresh and fault not in DEADLY:
            job = self.order_and_sample()
            self.assertEqual(self.end_of(job)[0]["phase"], "Succeeded")
            self.forget(job)
            self.look_before()

    def profile_with(self, step, fault):
        self.steps.arm(step)
        late, leaving = ground.is_late(self.profiler, step), step in ground.LEAVING
        early = not late and (leaving or not ground.at_or_after(step, "collect"))
        goes_on = fault == "stopped" and ground.at_or_after(step, "open-process") and early
        if late or goes_on:
            self.steps.arm("collect")
        job = self.order(seconds=self.seconds(step, fault))
        if late:
            self.sample()
        undo = contextlib.ExitStack()
        with undo:
            with self.steps.reached(step):
                perf = self.profiler == "CPUHotpaths" and not self.timers
                if ground.at_or_after(step, "start-collecting" if perf else "collect") and not late:
                    self.burn()
                if step == "attach-asked":
                    proc.wait_until(self.loaded, ground.PATIENCE, "the library is loaded", 0.01)
                undo.enter_context(getattr(self, fault.replace("-", "_"))(job))
            if fault == "stopped":
                time.sleep(2)
                undo.close()
            if goes_on:
                self.sample()
            again = fault in AGENT_ENDS and self.restart_agent(job, fault)
            final, _ = self.end_of(job, ground.WHILE_STOPPED + (self.seconds(step, fault) if again else 0))
        self.settle(job, final, alive=fault not in DEADLY)
        return ground.outcome(final, again)

    def loaded(self):
        """The library starts its thread when it has said hello."""
        folder = "/proc/%d/task" % self.app.pid
        return "drdotnet" in [self.read("%s/%s/comm" % (folder, t)) for t in os.listdir(folder)]

    def seconds(self, step, fault):
        """How long the session would be. One that is told to end must not have come to its end meanwhile."""
        if fault in ("canceled", "agent-stopped") and ground.at_or_after(step, "staged") and not ground.is_late(self.profiler, step):
            return 60
        if fault == "stopped" and not ground.is_late(self.profiler, step):
            return 4  # it goes on before the end
        return 3 if step in ("tick", "name") else 1

    def restart_agent(self, job, fault):
        """Starts the agent again, and says whether the session starts again with it: once, or not at all."""
        if fault == "agent-stopped":
            self.assertEqual(self.agent.stop(signal.SIGTERM, ground.PATIENCE), 0, self.agent.log()[-2000:])
        self.steps.arm("chosen")
        self.start_agent()
        self.order(job)
        held = []

        def came_or_ended():
            held.append(self.steps.come("chosen"))
            return held[-1] is not None or any(e["phase"] in ground.FINAL for e in self.hub.seen(event="job", job=job))
        proc.wait_until(came_or_ended, ground.PATIENCE, "the session starts again, or its end", 0.005)
        self.steps.disarm("chosen")
        if held[-1] is None:
            return False
        self.steps.arm("collect")
        os.close(held[-1])
        self.sample()
        return True

    def forget_with(self, fault):
        """The link's thread waits there: the session is over, and nothing but the agent's record of it is left."""
        job = self.order_and_sample()
        final, _ = self.end_of(job)
        self.steps.arm("forget")
        undo = contextlib.ExitStack()
        with undo:
            self.hub.say("forget", ground.NODE, job)
            with self.steps.reached("forget"):
                undo.enter_context(getattr(self, fault.replace("-", "_"))(job))
            if fault in AGENT_ENDS:
                self.agent.stop(signal.SIGTERM, ground.PATIENCE)
                self.start_agent()
        if fault == "agent-killed":
            self.settle(job, final)
            return "kept, and forgotten when asked again"
        self.forget(job)
        if fault not in DEADLY:
            self.nothing_left()
        self.agent_is_idle()
        return "forgotten"
