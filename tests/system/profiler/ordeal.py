"""Ways in which a session can end, each in a real process under load, and what must not be left in it afterwards."""
import collections
import os
import random
import signal
import subprocess
import time

from tests.lib import proc
from tests.system.profiler import tools

MODES = ("outside", "timers")  # samples come from perf events and the library names them; or it samples itself
WAIT = 20  # seconds; the runtime's slowest way out takes 5


class Remains:
    """All in a process that could be ours."""

    def __init__(self, app):
        with open("/proc/%d/maps" % app.pid) as f:
            self.maps = [line for line in f if proc.is_ours(line)] if app.mapped() else []
        self.threads = [name for name in (comm(app.pid, tid) for tid in os.listdir("/proc/%d/task" % app.pid)) if name == "drdotnet"]
        self.descriptors = collections.Counter(filter(None, (_kind(app.pid, fd) for fd in os.listdir("/proc/%d/fd" % app.pid))))
        self.timers = app.timers()
        self.signals = {key: app.status(key) for key in ("SigCgt", "SigIgn")}
        self.files = sorted(name for name in os.listdir(app.folder) if name.startswith(".drdotnet"))

    def beyond(self, before):
        """{kind: what}; empty when nothing is left."""
        left = {"maps": self.maps, "threads": self.threads, "descriptors": dict(self.descriptors - before.descriptors),
                "timers": self.timers, "files": self.files, "signals": {k: v for k, v in self.signals.items() if v != before.signals[k]}}
        return {kind: what for kind, what in left.items() if what}


def comm(pid, tid):
    """A thread's name; "" when it has ended."""
    try:
        with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
            return f.read().strip()
    except OSError:
        return ""


def _kind(pid, fd):
    """Descriptors that we use: sockets, eventfds, files under /proc, the library itself. The runtime opens other files as it likes."""
    try:
        target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
    except OSError:
        return None
    return "drdotnet" if proc.is_ours(target) else next((kind for kind in ("socket:", "[eventfd]", "/proc/") if kind in target), None)


class Ordeal:
    """One process that is profiled again and again. Each method is a way to end; afterwards nothing may be left."""

    def __init__(self, framework, seed=0, how=("loaded", "1")):
        self.app, self.random, self.sessions = tools.Names(framework, *how), random.Random(seed), 0
        try:
            self.normal("outside")  # what the runtime itself makes at its first attach stays
            self.normal("timers")
            self.before = Remains(self.app)
        except BaseException:
            self.app.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.app.stop()

    def check(self):
        """Fails with what is left. The runtime unloads the library some ms after it said goodbye."""
        left = {}
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            left = Remains(self.app).beyond(self.before)
            if not left:
                return
            time.sleep(0.01)
        raise AssertionError("left in the process after %d sessions: %s" % (self.sessions, left))

    def attach(self, driver):
        """The runtime serves its port in order: after this whatever was asked before has happened. A library that is on its way
        out, or one whose agent has just been killed, may hold the place for a moment."""
        proc.wait_until(lambda: driver.try_to("attach %s notification" % self.app.library)["ok"], WAIT, "an attach", 0.02)
        self.sessions += 1

    def work(self, driver, mode):
        if mode == "timers":
            driver("sample 200 0.2")
            driver("names")
        else:
            # A thread that runs just now has no stack that can be read.
            proc.wait_until(lambda: driver.try_to("stack %d" % self.app.pid)["ok"], WAIT, "names of the main thread's stack", 0.01)

    def normal(self, mode):
        with tools.Driver(self.app) as driver:
            self.attach(driver)
            self.work(driver, mode)
            driver("detach")
        self.app.wait_unmapped(WAIT)

    def killed(self, mode):
        """The agent is killed while it samples, or while the library names a lot for it."""
        driver = tools.Driver(self.app)
        self.attach(driver)
        if mode == "timers":
            driver.send("sample 500 30")
            proc.wait_until(self.app.timers, WAIT, "timers of the sampling", 0.005)
        else:
            driver.send("bench 2000000")
        time.sleep(self.random.uniform(0, 0.05))
        driver.kill()
        self.app.wait_unmapped(WAIT)

    def dropped(self, mode):
        """The agent closes the channel without a word."""
        with tools.Driver(self.app) as driver:
            self.attach(driver)
            self.work(driver, mode)
            driver("drop")
            self.app.wait_unmapped(WAIT)

    def early(self, _mode):
        """Killed in the first 50 ms, wherever that is."""
        driver = tools.Driver(self.app)
        driver.send("attach %s notification" % self.app.library)
        time.sleep(self.random.uniform(0, 0.05))
        driver.kill()
        self.normal("outside")

    def cancelled(self, mode):
        """Asked to leave as soon as it is there, or some ms later."""
        with tools.Driver(self.app) as driver:
            self.attach(driver)
            if mode == "timers":
                driver("sample 500 %g" % self.random.uniform(0, 0.02))
            driver("detach")
        self.app.wait_unmapped(WAIT)

    def refused(self, mode):
        """A second session is refused, by name, and takes nothing away from the first."""
        with tools.Driver(self.app) as first, tools.Driver(self.app) as second:
            self.attach(first)
            answer = second.try_to("attach %s notification" % self.app.library)
            assert not answer["ok"] and answer["code"] & 0xffffffff == 0x8013136a, answer
            self.work(first, mode)
            first("detach")
        self.app.wait_unmapped(WAIT)

    def stopped(self, mode):
        """The process is stopped while the library samples, or names a lot; when it goes on the agent is dead."""
        driver = tools.Driver(self.app)
        self.attach(driver)
        driver.send("sample 500 30" if mode == "timers" else "bench 2000000")
        time.sleep(self.random.uniform(0, 0.05))
        self.app.popen.send_signal(signal.SIGSTOP)
        driver.kill()
        time.sleep(self.random.uniform(0, 0.1))
        self.app.popen.send_signal(signal.SIGCONT)
        self.app.wait_unmapped(WAIT)

    def silent(self, mode):
        """The agent is stopped while it samples, or while the library names a lot for it, and stays so."""
        driver = tools.Driver(self.app)
        driver("lease 700")
        self.attach(driver)
        driver.send("sample 500 30" if mode == "timers" else "bench 2000000")
        time.sleep(self.random.uniform(0, 0.05))
        driver.popen.send_signal(signal.SIGSTOP)
        try:
            self.app.wait_unmapped(WAIT)
        finally:
            driver.kill()

    WAYS = ("normal", "killed", "dropped", "early", "cancelled", "refused", "stopped", "silent")

    def suffer(self, way, mode):
        getattr(self, way)(mode)
        self.check()
        assert not self.app.ended(), "the process ended with %s" % self.app.popen.returncode


def end_of_the_process(framework, mode, how):
    """The process ends in the middle of a session: by itself, by SIGTERM (the runtime's orderly way) or SIGKILL. Returns its exit code."""
    with tools.Names(framework, "loaded", "1", *(["5"] if how == "itself" else [])) as app, tools.Driver(app) as driver:
        driver.attach("notification")
        driver.send("sample 500 30" if mode == "timers" else "sample 1 30")
        proc.wait_until(app.timers, WAIT, "timers of the sampling", 0.005)
        if how == "itself":
            app.popen.wait(WAIT)
        else:
            app.stop(how, WAIT)
        answer = driver.answer()  # the agent sees it at once, and not at its deadline
        assert not answer["ok"] and answer["kind"] == "Gone", answer
        return app.popen.returncode


def anonymous_kb(pid):
    """Memory of its own: pages of files are shared with whoever runs the same program, and come and go with them."""
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Anonymous:"))


def growth_kb(framework, sessions, mode):
    """What `sessions` more sessions add to a process that sleeps, after five."""
    with Ordeal(framework, how=("idle",)) as o:
        for _ in range(3):
            o.normal(mode)
        first = anonymous_kb(o.app.pid)
        for _ in range(sessions):
            o.normal(mode)
        o.check()
        return anonymous_kb(o.app.pid) - first


def drdotnet(app, *words):
    """A session of the local command on this process, as a child that the caller ends."""
    return subprocess.Popen([os.path.join(proc.ROOT, "build/release/drdotnet"), "run", "--pid", str(app.pid), "--duration", "30s", "-q",
                             "-o", os.path.join(app.folder, "out"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

