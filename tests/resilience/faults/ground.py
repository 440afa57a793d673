"""The ground on which sessions meet faults: a pod, a link server, and the agent of the FAULTS flavour, whose sessions wait at the
steps that a test names (common/base/step.h). What must hold however a session ends is asserted here, in Ground.settle()."""
import collections
import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

from tests.lib import dotnet, pod, proc
from tests.system.link import harness
from tests.system.link.harness import token

AGENT = os.path.join(proc.ROOT, "build/faults/drdotnet-agent")
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
DENY_PERF = os.path.join(proc.ROOT, "build/release/tests/deny-perf")
NODE = "node-1"
SECONDS = 1             # a session's length
PATIENCE = 60           # seconds; for what must come, on a busy machine
DEADLINE = 120          # seconds; of a session
WHILE_STOPPED = 40      # seconds; a session must end in this time though its process cannot run
FINAL = ("Succeeded", "Failed", "Canceled")

# In the order in which a session of CPUHotpaths comes by. From TICK on samples have names, from REPORT on there are reports, from KEPT on they
# are in the spool.
STEPS = ("chosen", "preflight", "open-process", "start-perf", "start-collecting", "attach", "staged", "attach-connected", "attach-asked",
         "attached", "connected", "start-timers", "collect", "tick", "name", "stop", "detach", "detached", "unmapped", "unstaged", "analyze",
         "report", "upload-asked", "upload", "uploaded", "delivered", "forget")
# What the sessions of other profilers do while the library is in the process.
IN_AND_OUT = ("staged", "attach-connected", "attach-asked", "attached", "connected", "start", "{}", "stop", "detach", "detached", "unmapped", "unstaged")
OWN_STEPS = {"GCSurvivors": ("walk", "walked", "collect"), "DuplicatedStrings": ("walk", "walked", "collect"),
             "MemoryLeak": ("walk", "walked", "collect", "tick"), "Allocations": ("collect", "tick", "name"), "RuntimePauses": ("collect", "tick"),
             "Exceptions": ("collect", "tick", "name"), "Deadlocks": ("collect", "tick"), "StuckTasks": ("first-look", "walk", "walked", "collect", "tick"),
             "Threads": ("collect", "tick"), "SlowRequests": ("collect", "tick"),
             "Waits": ("first-look", "collect", "tick", "name")}
BEFORE = {"Threads": ("first-look", "start-perf"), "Waits": ("start-perf",)}  # what is looked at from outside, before the library comes
# What is collected when the time is over.
AFTER_STOP = {"Deadlocks": ("second-look",), "StuckTasks": ("second-look",), "Threads": ("second-look",), "Waits": ("last-look",)}
ORDER = (*STEPS[:STEPS.index("start-timers")], "start", "start-timers", "first-look", "walk", "walked", *STEPS[STEPS.index("collect"):STEPS.index("detach")],
         "second-look", "last-look", *STEPS[STEPS.index("detach"):])
WALKS = ("GCSurvivors", "DuplicatedStrings", "MemoryLeak", "StuckTasks")
LEAVING = ("detach", "detached", "unmapped", "unstaged")
MEANING = {
    "first-look": "before the first look", "second-look": "before the second look", "last-look": "before the last look",
    "start": "before the library is told what to do", "walk": "before a heap walk", "walked": "a heap walk is over",
    "chosen": "the process is chosen", "preflight": "before the preflight", "open-process": "before the process is opened",
    "start-perf": "before perf events are opened", "start-collecting": "perf events are open", "attach": "before staging",
    "staged": "the library is staged", "attach-connected": "connected to the runtime", "attach-asked": "the attach is asked for",
    "attached": "the library is loaded", "connected": "the library has said hello", "start-timers": "before timers",
    "collect": "before the sampling", "tick": "sampling", "name": "before names are asked for", "stop": "the time is over",
    "detach": "before the detach is asked for", "detached": "the library has said goodbye", "unmapped": "the library is unmapped",
    "unstaged": "the staging folder is gone", "analyze": "before the analysis", "report": "the report is written",
    "upload-asked": "asked where to put a report", "upload": "before the upload", "uploaded": "a report is uploaded",
    "delivered": "all is delivered", "forget": "before the job is forgotten",
}


def at_or_after(step, other):
    return ORDER.index(step) >= ORDER.index(other)


def is_late(profiler, step):
    """Whether the session has collected by then. Walks of the heap come with an attach of their own, and leave when they are over."""
    return at_or_after(step, "stop") and not (profiler in WALKS and step in LEAVING)


def steps_of(profiler):
    """The steps of another profiler's session: its first looks from outside, and while the library is in the process."""
    at, stop = IN_AND_OUT.index("{}"), IN_AND_OUT.index("stop")
    return (*BEFORE.get(profiler, ()), *IN_AND_OUT[:at], *OWN_STEPS[profiler],
            *IN_AND_OUT[at + 1:stop + 1], *AFTER_STOP.get(profiler, ()), *IN_AND_OUT[stop + 1:])


class Steps:
    """Where a session shall wait. One FIFO a step: see common/base/step.h."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)

    def arm(self, step):
        with contextlib.suppress(FileExistsError):  # left by a test that has failed
            os.mkfifo(os.path.join(self.folder, step))

    def disarm(self, step):
        os.unlink(os.path.join(self.folder, step))

    def clear(self):
        """No session waits anywhere any more."""
        for step in os.listdir(self.folder):
            path = os.path.join(self.folder, step)
            both = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # one that waits for the other end has it
            os.unlink(path)
            os.close(both)

    def come(self, step):
        """A descriptor that holds a session at the step until it is closed; None: no session has come there."""
        try:
            return os.open(os.path.join(self.folder, step), os.O_WRONLY | os.O_NONBLOCK)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            return None

    @contextlib.contextmanager
    def reached(self, step, seconds=PATIENCE):
        """Within it the session waits at the step; afterwards it goes on and waits there no more."""
        held = []
        proc.wait_until(lambda: held.append(self.come(step)) or held[-1] is not None, seconds, "a session at the step " + step, 0.005)
        self.disarm(step)
        try:
            yield
        finally:
            os.close(held[-1])


class Remains(dotnet.Traces):
    """Beside what Traces sees: timers and signal handlers."""

    def __init__(self, app):
        super().__init__(app)
        with open("/proc/%d/timers" % app.pid) as f:
            self.timers = f.read().count("ID:")
        with open("/proc/%d/status" % app.pid) as f:
            self.signals = {line.split(":")[0]: line.split()[1] for line in f if line.startswith(("SigCgt", "SigIgn"))}

    def left_since(self, before):
        left = super().left_since(before)
        if self.timers > before.timers:
            left["timers"] = self.timers - before.timers
        if self.signals != before.signals:
            left["signals"] = self.signals
        return left


def holdings(pid):
    """What the agent holds: its threads by name, its descriptors by kind."""
    def kind(fd):
        try:
            return os.readlink("/proc/%d/fd/%s" % (pid, fd)).split(":[")[0]
        except OSError:
            return None
    held = collections.Counter("fd " + k for k in map(kind, os.listdir("/proc/%d/fd" % pid)) if k)
    held.update("thread " + dotnet._comm(pid, t) for t in os.listdir("/proc/%d/task" % pid))
    return held


PIDS = "/sys/fs/cgroup/pids"  # where threads are counted


def freezer():
    """Where control groups are frozen, or None."""
    where = "/sys/fs/cgroup/freezer"
    return where if os.access(where + "/cgroup.procs", os.W_OK) and os.path.exists(where + "/tasks") else None


REMOUNT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/proc/%s/ns/mnt" % sys.argv[1], os.O_RDONLY)
if libc.setns(fd, 0) or libc.mount(b"none", b"/tmp", None, 32 | 4096 | 6 | int(sys.argv[2]), None):
    sys.exit(os.strerror(ctypes.get_errno()))
"""


def remount_tmp(pid, read_only):
    """The process's /tmp, in its own mount namespace."""
    subprocess.run([sys.executable, "-c", REMOUNT, str(pid), "1" if read_only else "0"], check=True, timeout=30)


UNAVAILABLE = pod.unavailable() or (None if os.access(AGENT, os.X_OK) else "make FLAVOUR=faults build/faults/drdotnet-agent has not been run")


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Ground(unittest.TestCase):
    """One pod (another when a test has ended it), one link server, one agent for all tests of a class."""
    framework = "net10.0"
    profiler, load = "CPUHotpaths", "warm"
    program = None      # an application in the place of Checkout, and its words
    cpu_seconds = 0.15  # of the application in a session, so that there is something to report
    timers = False      # without perf events: the library samples
    jobs = 0

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.pod_uid, cls.app = folder.name, str(uuid.uuid4()), None
        cls.world = harness.World()
        cls.addClassCleanup(cls.world.close)
        cls.steps = Steps(os.path.join(cls.folder, "steps"))
        cls.hub = cls.world.hub(pod_uid=cls.pod_uid)
        cls.hub.say("epoch", 1)
        cls.addClassCleanup(lambda: cls.app and cls.app.stop())
        cls.start_app()
        cls.start_agent()
        job = cls.order_and_sample()
        final, _ = cls.end_of(job)
        cls.media = cls.stored()
        assert final["phase"] == "Succeeded" and len(cls.media) == final["reports"] > 0, final
        cls.forget(job)
        cls.agent_holds = proc.wait_until(lambda: cls._idle_holdings(), PATIENCE, "an idle agent")
        cls.look_before()

    # what there is -----------------------------------------------------------------------------------------------------
    @classmethod
    def start_app(cls):
        program = None
        if cls.program:
            name, *words = cls.program
            program = (os.path.dirname(dotnet.path(cls.framework, name)), ["/app/" + name, *words])
        cls.app = pod.Pod(cls.folder, cls.load, framework=cls.framework, uid=cls.pod_uid, program=program)
        cls.warm_app()
        cls.fresh = True

    @classmethod
    def warm_app(cls):
        cls.app.warm(20)

    @classmethod
    def look_before(cls):
        """What is in the process before a session. What the runtime makes at its first attach stays: so one has been there."""
        cls.before, cls.fresh = Remains(cls.app), False

    @classmethod
    def start_agent(cls, agent=AGENT, **options):
        prefix = [DENY_PERF] if cls.timers else []
        words = ["env", "DRDOTNET_STEPS=" + cls.steps.folder, *prefix]
        harness_agent, harness.AGENT = harness.AGENT, agent
        try:
            cls.agent = cls.world.agent(cls.hub.port, token(NODE), library=options.pop("library", LIBRARY), prefix=words, **options)
        finally:
            harness.AGENT = harness_agent
        cls.hub.expect(PATIENCE, event="node", node=NODE, linked=True)

    @classmethod
    def end_agent(cls, how):
        if how != signal.SIGKILL:
            cls.agent.popen.send_signal(how)
            return
        cls.agent.stop(how)

    @classmethod
    def _idle_holdings(cls):
        held = holdings(cls.agent.popen.pid)
        return held if not held["thread job"] else None

    # a session -----------------------------------------------------------------------------------------------------------
    @classmethod
    def new_job(cls):
        cls.jobs += 1
        return "job-%d" % cls.jobs

    @classmethod
    def order(cls, job=None, seconds=SECONDS, app=None):
        job = job or cls.new_job()
        answer = cls.hub.ask("order", NODE, job, (app or cls.app).container_id, seconds, DEADLINE, cls.pod_uid, cls.profiler)
        assert answer["ok"], answer
        return job

    @classmethod
    def end_of(cls, job, seconds=PATIENCE):
        """The job's last state, and the phases on the way."""
        phases = []
        while True:
            event = cls.hub.expect(seconds, event="job", job=job)
            phases.append(event["phase"])
            if event["phase"] in FINAL:
                return event, phases

    @classmethod
    def spooled(cls):
        folder = cls.world.folder + "/agent-spool/jobs"
        return [name for name in os.listdir(folder) if os.path.exists("%s/%s/state.json" % (folder, name))] if os.path.isdir(folder) else []

    @classmethod
    def forget(cls, job):
        cls.hub.say("forget", NODE, job)
        proc.wait_until(lambda: job not in cls.spooled(), PATIENCE, "the job is forgotten")
        where = cls.hub.store + "/shop/session-01234567/pod-0"
        for name in os.listdir(where) if os.path.isdir(where) else ():
            os.unlink(os.path.join(where, name))

    @classmethod
    def stored(cls):
        where = cls.hub.store + "/shop/session-01234567/pod-0"
        return set(os.listdir(where)) if os.path.isdir(where) else set()

    @classmethod
    def burn(cls, app=None):
        """Waits until the application has used so much CPU time: there are samples of it, when sampling goes on."""
        def used():
            with open("/proc/%d/stat" % (app or cls.app).pid) as f:
                fields = f.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        begin = used()
        proc.wait_until(lambda: used() >= begin + cls.cpu_seconds, PATIENCE, "CPU time of the application", 0.01)

    @classmethod
    def sample(cls, app=None):
        """Holds the session, whose step "collect" is armed, until there are samples: a busy machine may give the application no time."""
        with cls.steps.reached("collect"):
            cls.burn(app)

    @classmethod
    def order_and_sample(cls):
        cls.steps.arm("collect")
        job = cls.order()
        cls.sample()
        return job

    # what must hold ------------------------------------------------------------------------------------------------------
    def settle(self, job, final, alive=True):
        """However it ended: the application works, nothing of ours is in it, the agent holds what it held before, and a report that was
        promised is there. Then the job is forgotten."""
        if final["reports"]:
            self.assertEqual(final["reports"], len(self.media), final)
            self.assertEqual(self.stored(), self.media, final)
        else:
            self.assertEqual(self.stored(), set(), final)
        if alive:
            self.assertFalse(self.app.ended(), "the application has ended")
            self.app.assert_progress(PATIENCE)
            self.nothing_left()
        self.order(job)  # the controller may say it again: it is the same job
        again = self.hub.expect(PATIENCE, event="job", job=job)
        self.assertEqual((again["phase"], again["reason"]), (final["phase"], final["reason"]), "the same order once more")
        self.forget(job)
        self.agent_is_idle()

    def nothing_left(self):
        left = {}

        def look():
            left.clear()
            left.update(Remains(self.app).left_since(self.before))
            return not left
        try:
            proc.wait_until(look, PATIENCE, "nothing is left")
        except AssertionError:
            self.fail("left in the process: %s\n%s" % (left, self.agent.log()[-2000:]))

    def agent_is_idle(self):
        more = {}

        def look():
            held = self._idle_holdings()
            more.clear()
            more.update(held - self.agent_holds if held else {"job": 1})
            return not more
        try:
            proc.wait_until(look, PATIENCE, "the agent holds no more than before")
        except AssertionError:
            self.fail("the agent holds more than before: %s" % more)


def outcome(final, again=False):
    """The short words for the matrix."""
    words = final["reason"] if final["phase"] != "Succeeded" else "Completed"
    report = "report delivered" if final["reports"] else "no report"
    return "%s%s; %s" % ("starts again: " if again else "", words, report)
