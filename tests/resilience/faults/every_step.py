"""Every fault at every step: `make faults`. Too long for the suite, which runs a selection (test_faults.py).

usage: every_step.py [TEXT...]   only tests whose name contains one of them
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
import time
import unittest

from tests.resilience.faults import faults, ground
from tests.lib import dotnet, proc
from tests.system.slowrequests.target import HOSTING

WITH_LIBRARY = ground.STEPS[ground.STEPS.index("staged"):ground.STEPS.index("analyze")]
# An agent that is stopped before it has asked for the attach keeps a connection to the runtime, and nothing of ours is in the process.
ATTACHED = [step for step in WITH_LIBRARY if ground.at_or_after(step, "attach-asked") and not ground.at_or_after(step, "unmapped")]


class AtEveryStep(faults.Faults):
    def at_every_step(self, fault, steps=ground.STEPS):
        for step in steps:
            with self.subTest(step=step):
                self.suffer(step, fault)


class EveryStep(AtEveryStep):
    writes = True

    def test_the_process_ends(self):
        self.at_every_step("exits")

    def test_the_process_is_killed(self):
        self.at_every_step("killed")

    def test_the_process_is_stopped_for_a_while(self):
        self.at_every_step("stopped")

    def test_the_process_is_frozen(self):
        self.at_every_step("frozen")

    def test_the_agent_is_killed(self):
        self.at_every_step("agent-killed")

    def test_the_agent_is_stopped(self):
        self.at_every_step("agent-stopped")

    def test_the_agent_is_frozen(self):
        self.at_every_step("agent-frozen", ATTACHED)

    def test_the_agents_control_group_is_frozen(self):
        self.at_every_step("agent-cgroup-frozen", ATTACHED)

    def test_the_process_may_make_no_more_threads(self):
        self.at_every_step("no-more-threads", WITH_LIBRARY)

    def test_the_process_may_open_no_more_descriptors(self):
        self.at_every_step("process-emfile", WITH_LIBRARY)

    def test_the_agent_may_open_no_more_descriptors(self):
        self.at_every_step("agent-emfile", WITH_LIBRARY)

    def test_the_temporary_folder_is_full(self):
        self.at_every_step("tmp-full")

    def test_the_temporary_folder_is_read_only(self):
        self.at_every_step("tmp-read-only")

    def test_the_staged_files_are_removed(self):
        self.at_every_step("unstaged", ground.STEPS[ground.STEPS.index("staged"):])

    def test_the_session_is_canceled(self):
        self.at_every_step("canceled")


class EveryStepWithTimers(AtEveryStep):
    writes = timers = True

    def test_the_process_is_killed(self):
        self.at_every_step("killed", WITH_LIBRARY)

    def test_the_process_is_frozen(self):
        self.at_every_step("frozen", WITH_LIBRARY)

    def test_the_agent_is_killed(self):
        self.at_every_step("agent-killed", WITH_LIBRARY)

    def test_the_agent_is_frozen(self):
        self.at_every_step("agent-frozen", ATTACHED)

    def test_the_session_is_canceled(self):
        self.at_every_step("canceled", WITH_LIBRARY)


class OlderRuntime:
    """What is written of .NET 10 is true of it."""

    def test_the_process_is_killed(self):
        self.at_every_step("killed", WITH_LIBRARY)

    def test_the_process_is_stopped_for_a_while(self):
        self.at_every_step("stopped", WITH_LIBRARY)

    def test_the_process_is_frozen(self):
        self.at_every_step("frozen", WITH_LIBRARY)

    def test_the_agent_is_killed(self):
        self.at_every_step("agent-killed", WITH_LIBRARY)

    def test_the_agent_is_frozen(self):
        self.at_every_step("agent-frozen", ATTACHED)

    def test_the_staged_files_are_removed(self):
        self.at_every_step("unstaged", WITH_LIBRARY)


class EveryStepNet8(OlderRuntime, AtEveryStep):
    framework = "net8.0"


class EveryStepNet9(OlderRuntime, AtEveryStep):
    framework = "net9.0"


class OtherProfiler(AtEveryStep):
    writes = True

    def at_its_steps(self, fault, since=None, until=None):
        steps = ground.steps_of(self.profiler)
        self.at_every_step(fault, steps[steps.index(since) if since else 0:steps.index(until) if until else None])

    def test_the_process_is_killed(self):
        self.at_its_steps("killed")

    def test_the_process_is_frozen(self):
        self.at_its_steps("frozen")

    def test_the_agent_is_killed(self):
        self.at_its_steps("agent-killed")


class EveryFault:
    """Those that are of one profiler alone meet the others, too."""

    def test_the_process_ends(self):
        self.at_its_steps("exits")

    def test_the_process_is_stopped_for_a_while(self):
        self.at_its_steps("stopped")

    def test_the_agent_is_stopped(self):
        self.at_its_steps("agent-stopped")

    def test_the_agent_is_frozen(self):
        self.at_its_steps("agent-frozen", "attach-asked", "unmapped")

    def test_the_staged_files_are_removed(self):
        self.at_its_steps("unstaged", "staged")

    def test_the_session_is_canceled(self):
        self.at_its_steps("canceled")

    def test_the_temporary_folder_is_full(self):
        self.at_its_steps("tmp-full", "connected")


class EveryStepGCSurvivors(EveryFault, OtherProfiler):
    profiler = "GCSurvivors"


class EveryStepGCSurvivorsNet8(OtherProfiler):
    """A walk is a collection there. It has one attach: when the library leaves, all has been read, where .NET 10 has only been looked at."""
    profiler, framework, writes = "GCSurvivors", "net8.0", False

    def at_its_steps(self, fault, since=None, until="detach"):
        super().at_its_steps(fault, since, until)


class EveryStepAllocations(EveryFault, OtherProfiler):
    profiler, load = "Allocations", "alloc"


class EveryStepAllocationsNet8(OtherProfiler):
    """It hears of other events there."""
    profiler, load, framework, writes = "Allocations", "alloc", "net8.0", False


class EveryStepMemoryLeak(EveryFault, OtherProfiler):
    profiler = "MemoryLeak"


class EveryStepDuplicatedStrings(EveryFault, OtherProfiler):
    profiler = "DuplicatedStrings"


class EveryStepRuntimePauses(OtherProfiler):
    profiler, load = "RuntimePauses", "alloc"


class EveryStepDeadlocks(OtherProfiler):
    profiler = "Deadlocks"


class Starved:
    """What has run out while the session goes on."""

    def test_the_process_may_make_no_more_threads(self):
        self.at_its_steps("no-more-threads", "staged")

    def test_the_process_may_open_no_more_descriptors(self):
        self.at_its_steps("process-emfile", "staged")

    def test_the_agent_may_open_no_more_descriptors(self):
        self.at_its_steps("agent-emfile")


class EveryStepWaits(Starved, EveryFault, OtherProfiler):
    profiler = "Waits"


class EveryStepThreads(Starved, EveryFault, OtherProfiler):
    profiler = "Threads"


class EveryStepExceptions(Starved, EveryFault, OtherProfiler):
    profiler, load, program = "Exceptions", "parse", ("ThrowApp", "parse", "--rate", "500")
    cpu_seconds = 0.05


class EveryStepStuckTasks(Starved, EveryFault, OtherProfiler):
    profiler, load, program = "StuckTasks", "stuck", ("AsyncApp", "stuck")
    cpu_seconds = 0.02


class EveryStepSlowRequests(Starved, EveryFault, OtherProfiler):
    """Somebody asks all the time. The application tells itself who listens to its events: nobody does when the session has ended."""
    profiler, load, program = "SlowRequests", "all", ("RequestApp", "all")
    cpu_seconds = 0.02

    @classmethod
    def warm_app(cls):
        threading.Thread(target=cls.ask, args=(cls.app,), daemon=True).start()
        super().warm_app()

    @staticmethod
    def ask(app):
        client = dotnet.RequestClient(app)
        while not app.ended():
            with contextlib.suppress(OSError, http.client.HTTPException):
                client.get("/fast", seconds=2)
            time.sleep(0.05)

    def nothing_left(self):
        super().nothing_left()
        self.assertNotIn(HOSTING, json.loads(dotnet.RequestClient(self.app).get("/truth")[1])["listened"])


class EveryStepStuckTasksNet8(OtherProfiler):
    """A look is a collection there."""
    profiler, load, program, framework, writes = "StuckTasks", "stuck", ("AsyncApp", "stuck"), "net8.0", False
    cpu_seconds = 0.02


del OtherProfiler  # no test of its own


def names():
    for suite in unittest.defaultTestLoader.loadTestsFromName("tests.resilience.faults.every_step"):
        for test in suite:
            yield test.id()


def run(name):
    """Each test is a process with a pod, a link server and agents of its own. It waits most of the time."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "unittest", name], cwd=proc.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("%-7s %s %.0fs" % ("failed" if done.returncode else "passed", name, time.monotonic() - began), flush=True)
    return [] if done.returncode == 0 else [name + "\n" + done.stdout]


if __name__ == "__main__":
    wanted = [name for name in names() if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        failed = sum(pool.map(run, wanted), [])
    print("\n".join(failed))
    print("%d passed, %d failed" % (len(wanted) - len(failed), len(failed)))
    sys.exit(1 if failed else 0)
