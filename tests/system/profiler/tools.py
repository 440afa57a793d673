"""Real runtimes and the library in them: the application of the names (app/), and the driver of the agent's end of the channel."""
import ctypes
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile

from tests.lib import dotnet, platforms, proc

TOOLS = os.environ.get("PROFILER_TOOLS", os.path.join(proc.ROOT, "build/release/profiler-tools"))
LIBRARY = os.environ.get("PROFILER_LIBRARY", os.path.join(proc.ROOT, "build/release/libdrdotnet.so"))
ENV = {}  # of each application that is started here
LOCKED = ["flock", os.path.join(proc.ROOT, "tests/system/profiler/tests.mk")]  # before `make`: tests run beside each other


def build():
    """What the suite has built already, unless only this test runs."""
    if not all(os.path.exists(path) for path in (LIBRARY, tool("channel_driver"), tool("fake_runtime"))):
        subprocess.run([*LOCKED, "make", "-s", "profiler-tools"], cwd=proc.ROOT, check=True, timeout=300)


def build_sanitized():
    if not os.path.exists(os.path.join(proc.ROOT, "build/asan/checked/libdrdotnet.so")):
        subprocess.run([*LOCKED, "make", "-s", "FLAVOUR=asan", "build/asan/checked/libdrdotnet.so"], cwd=proc.ROOT, check=True, timeout=300)


def make(goal):
    """One at a time: tests run beside each other."""
    with open(os.path.join(proc.ROOT, "build/.profiler-tools.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", goal], cwd=proc.ROOT, check=True, timeout=300, stdout=subprocess.DEVNULL)


def tool(name):
    return os.path.join(TOOLS, name)


def apm(folder=None):
    """The environment of a process with which another profiler starts, as an APM does. `folder`: where the process sees the tools."""
    return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{11111111-2222-3333-4444-555555555555}",
            "CORECLR_PROFILER_PATH": os.path.join(folder, "other_profiler.so") if folder else tool("other_profiler.so")}


def notification_apm():
    """The same of one that is for notifications only, and says each collection in the process's log."""
    return {"CORECLR_ENABLE_NOTIFICATION_PROFILERS": "1",
            "CORECLR_NOTIFICATION_PROFILERS": tool("listening_profiler.so") + "={11111111-2222-3333-4444-555555555555};"}


def _end_with_parent():
    """A test that is ended at its time limit leaves no process behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Names(proc.Process):
    """The application of the names: shapes THREADS, idle, churn, collect and so on."""

    def __init__(self, framework, *words, env=None):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        os.chmod(self.folder, 0o755)
        super().__init__([dotnet.path(framework, "names"), *words],
                         log=os.path.join(self.folder, "log"), env={"TMPDIR": self.folder, **ENV, **(env or {})}, preexec_fn=_end_with_parent)
        try:
            self.wait_log("^ready", 30)
            pattern = "%s/dotnet-diagnostic-%d-*-socket" % (self.folder, self.pid)
            self.socket = proc.wait_until(lambda: glob.glob(pattern), 10, "its socket")[0]
        except BaseException:
            self.stop()
            raise
        self.library = os.path.join(self.folder, "libdrdotnet-test.so")
        shutil.copy(LIBRARY, self.library)

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def state(self):
        """What has become of it, for the message of a failed test."""
        try:
            self.popen.wait(2)
        except subprocess.TimeoutExpired:
            return "the process is there; its last words: " + self.log()[-2000:]
        return "the process ended with %s; its last words: %s" % (self.popen.returncode, self.log()[-2000:])

    def status(self, key):
        with open("/proc/%d/status" % self.pid) as f:
            for line in f:
                if line.startswith(key + ":"):
                    return line.split()[1]
        raise AssertionError("no %s in the status of process %d" % (key, self.pid))

    def mapped(self):
        """Is the library in use? musl keeps it mapped, and while it is in use it holds its file."""
        with open("/proc/%d/maps" % self.pid) as f:
            return "libdrdotnet" in f.read() and (platforms.current != "musl" or self.holds_library())

    def holds_library(self):
        for fd in os.listdir("/proc/%d/fd" % self.pid):
            try:
                if "libdrdotnet" in os.readlink("/proc/%d/fd/%s" % (self.pid, fd)):
                    return True
            except OSError:
                continue
        return False

    def wait_unmapped(self, seconds):
        proc.wait_until(lambda: not self.mapped(), seconds, "the library leaves the process", 0.005)

    def timers(self):
        with open("/proc/%d/timers" % self.pid) as f:
            return f.read().count("ID:")


class Driver:
    """One channel_driver; a call is one command, its answer a dict."""

    def __init__(self, app):
        self.popen = subprocess.Popen([tool("channel_driver"), str(app.pid), app.folder, app.socket], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1)
        self.app = app

    def send(self, command):
        self.popen.stdin.write(command + "\n")

    def answer(self):
        line = self.popen.stdout.readline()
        assert line, "the driver ended without an answer"
        return json.loads(line)

    def try_to(self, command):
        self.send(command)
        return self.answer()

    def __call__(self, command):
        answer = self.try_to(command)
        assert answer["ok"], "%s: %s\n%s" % (command, answer, self.app.state())
        return answer

    def attach(self, how=""):
        return self("attach %s %s" % (self.app.library, how))

    def kill(self):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        try:
            self.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.popen.stdout.close()
