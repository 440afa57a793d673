"""The sample .NET application (tests/apps) as a process of a test, and proof that a session left nothing behind.

    with dotnet.App("hot", "net8.0", folder) as app:
        app.pid, app.runtime; app.progress() -> the last line's numbers
"""
import collections
import http.client
import json
import os
import signal
import subprocess
import time

from tests.lib import platforms, proc

EVERY = bool(os.environ.get("DRDOTNET_EVERY_RUNTIME"))
FRAMEWORKS = ("net8.0", *(("net9.0",) if EVERY else ()), "net10.0", "net11.0")  # 9, which .NET does not maintain, only where it tells apart
HTTP_LOAD = os.path.join(proc.ROOT, "build/release/tests/http-load")


def path(framework, app="Checkout"):
    """The published application, published now when it is not there yet."""
    framework = platforms.framework(framework)
    place = {"Checkout": "build/apps", "names": "build/apps-names"}.get(app, "build/apps/" + app)
    return platforms.started(_published(os.path.join(proc.ROOT, place, framework, app), app, framework))


def native_path():
    """A program that was compiled ahead of time (NativeAOT), published now when it is not there yet."""
    return _published(os.path.join(proc.ROOT, "build/apps/native/Native"), "Native")


def _published(program, app, *framework):
    if not os.access(program, os.X_OK):
        subprocess.run([os.path.join(proc.ROOT, "tests/apps/publish.sh"), "--app", app, *framework], check=True, timeout=300)
    return program


class App(proc.Process):
    """`prefix` are words before the program's own (unshare, setpriv ...); pid is then found by the caller."""
    NAME = "Checkout"
    QUIET = 0.5  # seconds without compiling, after which its code counts as optimized
    said, read_bytes = [], 0  # of its log

    def __init__(self, load, framework, folder, arguments=(), env=None, prefix=(), cwd=proc.ROOT, **popen):
        os.makedirs(folder, exist_ok=True)
        words = [*prefix, path(framework, self.NAME), load, *arguments]
        super().__init__(words, log=os.path.join(folder, "app-%s-%s-%d.log" % (load, framework, time.monotonic_ns())),
                         env=env, cwd=cwd, **popen)
        try:
            self.wait_log(r'^\{"ready":true.*\n', 30)  # the whole line: details may be long
        except BaseException:
            self.stop()
            raise
        first = self._lines()[0]
        self.runtime, self.port, self.inner_pid = first["runtime"], first["port"], first["pid"]
        self.details = first.get("details")

    def _lines(self):
        """All that it has said so far; only what is new is read again."""
        with open(self.log_path, "rb") as f:
            f.seek(self.read_bytes)
            new = f.read()
        new = new[:new.rfind(b"\n") + 1]
        self.read_bytes += len(new)
        self.said = self.said + [json.loads(line) for line in new.splitlines() if line.startswith(b"{")]
        return self.said

    def progress(self):
        """The newest progress line: ops, cpu_s, t_s, max_gap_ms, truth."""
        return proc.wait_until(lambda: [x for x in self._lines() if "ops" in x], 60, "progress of the application")[-1]

    def warm(self, ops=300):
        """Waits until the application has done so many operations, and the runtime has optimized what these called often: its compiling thread
        had nothing to do for a while, longer than it collects what to do next."""
        proc.wait_until(lambda: self.progress()["ops"] >= ops, 120, "%d operations of the application" % ops, 0.2)
        seen = []

        def compiled():
            seen.append(_compiler_ticks(self.pid))
            return seen[-2:].count(seen[-1]) == 2
        proc.wait_until(compiled, 60, "the application's code is optimized", self.QUIET)

    def all_progress(self):
        return [x for x in self._lines() if "ops" in x]

    def shares(self, since=None):
        """{place: share of the measured CPU} between the progress line `since` and now."""
        before = since["truth"] if since else {}
        cpu = {place: s - before.get(place, 0) for place, s in self.progress()["truth"].items()}
        total = sum(cpu.values()) or 1
        return {place: s / total for place, s in cpu.items()}

    def stop(self, how=signal.SIGKILL, seconds=10):
        return super().stop(how, seconds)

    def assert_progress(self, seconds=10):
        """Fails when the application does no operation within this time."""
        before = self.progress()["ops"]
        proc.wait_until(lambda: self.progress()["ops"] > before, seconds, "the application goes on working")


class AllocApp(App):
    """The application whose allocations are known (tests/apps/AllocApp): `details` says what an operation allocates at each site."""
    NAME = "AllocApp"


class ThrowApp(App):
    """The application whose exceptions are known (tests/apps/ThrowApp): `details` says what an operation of each mode throws."""
    NAME = "ThrowApp"


class AsyncApp(App):
    """The application whose async operations are known (tests/apps/AsyncApp): `details` says how many there are."""
    NAME = "AsyncApp"


class AsyncRuntime(App):
    """AsyncApp, whose methods the runtime itself suspends: for .NET 11."""
    NAME = "AsyncRuntime"


class CheckoutRuntime(App):
    """Checkout, whose methods the runtime itself suspends: for .NET 11."""
    NAME = "CheckoutRuntime"


class LockApp(App):
    """The application whose locks are known (tests/apps/LockApp): `details` says how many threads wait in how many circles."""
    NAME = "LockApp"


class WaitApp(App):
    """The application whose threads' waits are known (tests/apps/WaitApp)."""
    NAME = "WaitApp"

    def waited(self):
        """{kind: seconds that its threads have waited so far}, as it has measured it around its own calls."""
        return proc.wait_until(lambda: [x for x in self._lines() if "waits" in x], 60, "a line of waits of the application")[-1]["waits"]

    def line_of_waits(self):
        """Waits for the next one."""
        before = len([x for x in self._lines() if "waits" in x])
        proc.wait_until(lambda: len([x for x in self._lines() if "waits" in x]) > before, 60, "the next line of waits", 0.05)
        return self.waited()


class RequestClient:
    """Asks the application at `port`, and at details["http2"] by HTTP/2."""

    def __init__(self, app):
        self.port, self.details = app.port, app.details

    def get(self, path, headers=(), seconds=60):
        """(status, body) of a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=proc.patience(seconds))
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def truth(self):
        """What the application has measured since forget(), by endpoint."""
        return json.loads(self.get("/truth")[1])["endpoints"]

    def forget(self):
        self.get("/truth/reset")

    def load(self, *words, http2=False, seconds=60):
        """What build/release/tests/http-load says of such a load: `load("--requests", 100, "/fast")`."""
        port = self.details["http2"] if http2 else self.port
        done = subprocess.run([HTTP_LOAD, str(port), *(["--http2"] if http2 else []), "--seconds", str(seconds), *map(str, words)], capture_output=True,
                              text=True, timeout=proc.patience(seconds) + 30)
        if done.returncode:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)


class RequestApp(RequestClient, App):
    """The web application whose requests' time is known (tests/apps/RequestApp).

        with dotnet.RequestApp("all", "net10.0", folder) as app:
            app.get("/delay/20"); app.truth()["GET /delay/{ms}"]["parts"]["timer"]["ms"]
    """
    NAME = "RequestApp"

    def __init__(self, *words, **more):
        App.__init__(self, *words, **more)


class ThreadApp(App):
    """The application whose threads are known (tests/apps/ThreadApp): `details` says how many of them are what."""
    NAME = "ThreadApp"


class MemoryApp(App):
    """The application whose heap is known (tests/apps/MemoryApp): `details` says what each mode has made.

        with dotnet.MemoryApp("array,event", "net10.0", folder, ["--array", "1000000"]) as app:
            app.details["array"]["count"]; app.ask("grow event 500")["details"]; app.ask("heap")["total_bytes"]
    """
    NAME = "MemoryApp"

    def __init__(self, modes, framework, folder, arguments=(), **more):
        self.asked = 0
        super().__init__(modes, framework, folder, arguments, stdin=subprocess.PIPE, **more)

    def ask(self, command, seconds=60):
        """The application's answer to one command line."""
        self.popen.stdin.write(command.encode() + b"\n")
        self.popen.stdin.flush()

        def answers():
            return [x for x in self._lines() if "answer" in x]
        answer = proc.wait_until(lambda: answers()[self.asked:], seconds, "answer to %r" % command)[0]
        self.asked += 1
        if "error" in answer:
            raise AssertionError("%r: %s" % (command, answer["error"]))
        return answer

    def stop(self, how=signal.SIGKILL, seconds=10):
        code = super().stop(how, seconds)
        self.popen.stdin.close()
        return code


Seen = collections.namedtuple("Seen", "pid tmp")


def seen(pid, tmp):
    """The application as a process that no test has started itself, when it has made all its threads."""
    proc.wait_until(lambda: "gap-watch" in [_comm(pid, t) for t in os.listdir("/proc/%d/task" % pid)], 60,
                    "the threads of process %d" % pid)
    return Seen(pid, tmp)


def has_library(pid):
    """Is a profiler of ours in the process?"""
    with open("/proc/%d/maps" % pid) as f:
        return proc.is_ours(f.read())


class Traces:
    """What a session could leave behind in a process: compare two of them."""

    def __init__(self, app):
        self.pid = app.pid
        self.maps = self._maps()
        self.threads = {t: _comm(self.pid, t) for t in os.listdir("/proc/%d/task" % self.pid)}
        self.descriptors = self._descriptors()
        self.files = _tree(app.tmp)

    def _maps(self):
        with open("/proc/%d/maps" % self.pid) as f:
            return {line.split(None, 5)[5].strip() for line in f if len(line.split(None, 5)) > 5}

    def _descriptors(self):
        found = {}
        for fd in os.listdir("/proc/%d/fd" % self.pid):
            try:
                found[fd] = os.readlink("/proc/%d/fd/%s" % (self.pid, fd))
            except OSError:
                pass
        return found

    def left_since(self, before):
        """What is there now and was not before, as {kind: [...]}; empty when nothing is left. The runtime's own worker
        threads and the files that it maps come and go, and the application starts a thread of its own after it has said that it is ready,
        so only what can be ours counts there."""
        kinds = {
            "maps": platforms.without_kept(sorted(m for m in self.maps - before.maps if proc.is_ours(m) or m.endswith("(deleted)"))),
            "threads": sorted(n for t, n in self.threads.items() if t not in before.threads and not _runtime_thread(n)),
            "descriptors": sorted(v for k, v in self.descriptors.items()
                                  if k not in before.descriptors and not v.startswith(proc.ROOT + "/build/apps/") and
                                  (proc.is_ours(v) or v.startswith(("socket:", "/dev/shm", "/tmp")))),
            "files": sorted(self.files - before.files),
        }
        return {kind: left for kind, left in kinds.items() if left}


def assert_nothing_left(test, app, before, seconds=30):
    """Nothing of `before`'s later stays. Somebody else who lists processes may be connected to this one for a moment."""
    left = {}

    def look():
        left.clear()
        left.update(Traces(app).left_since(before))
        return not left
    try:
        proc.wait_until(look, seconds, "nothing is left")
    except AssertionError:
        test.fail("left in the process: %s" % left)


def _runtime_thread(name):
    return name.startswith(".NET") or name in ("Checkout", "MemoryApp", "AllocApp", "ThrowApp", "one-shot", "gap-watch")


def _compiler_ticks(pid):
    """What the thread that optimizes has used of the processors, in 1/100 s; 0: there is none, it goes after four seconds without work."""
    ticks = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        if _comm(pid, tid).startswith(".NET Tiered"):
            try:
                with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
                    ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
            except OSError:
                continue
    return ticks


def _comm(pid, tid):
    try:
        with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
            return f.read().strip()
    except OSError:
        return ""


def _tree(folder):
    found = set()
    for where, folders, files in os.walk(folder):
        found.update(os.path.join(where, name) for name in folders + files)
    return found
