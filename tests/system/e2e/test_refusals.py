"""What cannot be profiled is refused with a reason of its own and a remedy, and nothing of it is touched: real processes, each ill in its
own way. (More refusals: test_pods.py, for what the agent may not do; test_cluster.py, as the status has them.)"""
import concurrent.futures
import ctypes
import json
import os
import resource
import shutil
import signal
import unittest

from tests.lib import dotnet, local, pod, proc
from tests.system.profiler import tools

PTRACE_DETACH, PTRACE_SEIZE = 17, 0x4206
TOO_LONG_TMPDIR = "/tmp/" + "long/" * 20 + "folders"
ROOM = 2 << 20  # bytes under the memory limit: less than a session wants to have
APM = tools.apm()


class Footprint:
    """What a session would change in a process. The folder's time tells files that came and went."""

    def __init__(self, app):
        self.app = app
        self.traces = dotnet.Traces(app)
        self.changed = self._changed()

    def _changed(self):
        try:
            return os.stat(self.app.tmp).st_mtime_ns
        except FileNotFoundError:
            return None

    def assert_untouched(self, test):
        test.assertEqual(self._changed(), self.changed, "a file came or went in %s" % self.app.tmp)

        def look():
            test.left = dotnet.Traces(self.app).left_since(self.traces)  # a connection of ours may be closing
            return not test.left
        try:
            proc.wait_until(look, 10, "nothing is new in the process")
        except AssertionError:
            test.fail("new in the process: %s" % test.left)


def at_once(calls):
    """The results of functions that wait a lot, in their order."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [made.result() for made in [pool.submit(call) for call in calls]]


def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[0]


class RefusalCase(local.LocalCase):
    one_process = True
    time_limit = 300

    def assert_refused(self, app, reason, message, remedy, profiler="CPUHotpaths"):
        """`drdotnet run` says so, and leaves the process as it was."""
        before = Footprint(app)
        code, text, errors = local.drdotnet("run", "--json", "--profiler", profiler, "--duration", "2s", "--pid", app.pid,
                                            "-o", self.folder + "/refused")
        said = json.loads(text)
        self.assertEqual((code, said["phase"], said["reason"]), (1, "Failed", reason), text + errors)
        self.assertRegex(said["message"], message)
        self.assertIn("pid %d" % getattr(app, "inner_pid", app.pid), said["message"], "it names the process")
        self.assertIn(remedy, said["remedy"])
        self.assertEqual(said["reports"], [])
        self.assertFalse(os.path.exists(self.folder + "/refused"), "no folder for reports that do not come")
        before.assert_untouched(self)

    def listed(self, app):
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        return {p["pid"]: p for p in json.loads(text)["processes"]}[app.pid]

    def apps(self, *wanted):
        """Idle applications, started at once: (framework, environment) of each."""
        made = at_once([lambda f=framework, e=env: self.start("idle", f, env=e) for framework, env in wanted])
        at_once([app.progress for app in made])  # all their threads are there
        return made

    def pod(self, how):
        made = pod.Pod(self.folder, "idle", **how)
        self.addCleanup(made.stop)
        return made

    def pods(self, *wanted):
        made = at_once([lambda how=how: self.pod(how) for how in wanted])
        at_once([one.progress for one in made])
        return made

    def assert_all_progress(self, apps):
        lines = [len(app.all_progress()) for app in apps]
        for app, before in zip(apps, lines):
            proc.wait_until(lambda a=app, n=before: len(a.all_progress()) > n, 30, "the application goes on")


class Settings(RefusalCase):
    """What the application's own settings forbid."""

    def test_diagnostics_switched_off(self):
        names = (("net8.0", "DOTNET_EnableDiagnostics", "0"), ("net10.0", "COMPlus_EnableDiagnostics_IPC", "0"),
                 ("net11.0", "DOTNET_EnableDiagnostics_Profiler", "0x0"), ("net8.0", "COMPlus_EnableDiagnostics_Profiler", "0"))
        apps = self.apps(*((framework, {name: value}) for framework, name, value in names))
        for app, (framework, name, _) in zip(apps, names):
            with self.subTest(framework=framework, name=name):
                self.assert_refused(app, "DiagnosticsDisabled", "%s=0 switches" % name, "Remove DOTNET_EnableDiagnostics=0")
        listed = self.listed(apps[0])
        self.assertEqual((listed["profilable"], listed["reason"]), (False, "DiagnosticsDisabled"))
        self.assertIn("Remove DOTNET_EnableDiagnostics=0", listed["remedy"])
        self.assert_all_progress(apps)

    def test_waiting_at_its_start(self):
        """The application's own code has not run yet: the runtime waits for a tool, by its own port or at one that it calls."""
        for framework, name, value in (("net8.0", "DOTNET_DefaultDiagnosticPortSuspend", "1"),
                                       ("net11.0", "DOTNET_DiagnosticPorts", self.folder + "/nobody.sock")):
            with self.subTest(framework=framework, name=name):
                tmp = os.path.join(self.folder, framework)
                os.mkdir(tmp)
                app = proc.Process([dotnet.path(framework), "idle"], self.folder + "/log", env={"TMPDIR": tmp, name: value})
                self.addCleanup(app.stop, signal.SIGKILL)
                app.tmp = tmp
                proc.wait_until(lambda: [n for n in os.listdir(tmp) if n.startswith("dotnet-diagnostic-")], 30, "its socket")
                self.assert_refused(app, "ProcessSuspended", "waits at its start.*%s" % name, "resume it first")
                self.assertEqual(app.log(), "", "it still waits")

    def test_another_profiler_is_there(self):
        """It stays what it is; the session attaches beside it and says so."""
        app = self.start("warm", env=APM)
        out = self.run_session(app, 3, "--frequency", "499")
        with open(out + "/report.json") as f:
            self.assertTrue(json.load(f)["sampling"]["besideAnotherProfiler"])
        with open(out + "/report.html") as f:
            self.assertIn("another profiler", f.read().lower())
        with open("/proc/%d/maps" % app.pid) as f:
            self.assertIn("other_profiler.so", f.read())
        self.assert_all_progress([app])

    def test_another_profiler_hears_of_everything_afterwards(self):
        """One for notifications only, which a session in the main place would make deaf by leaving. The environment that tells of it is large
        and not all of it is UTF-8."""
        odd = {"ODD": "\udcff\udcc3 \u20ac", "LARGE": "x" * 100000, **tools.notification_apm()}
        apps = at_once([lambda f=framework: self.start("alloc", f, env=odd) for framework in dotnet.FRAMEWORKS])

        def collections(app):
            return app.log().count("other profiler: collection")

        def profile(app):
            for _ in range(2):
                with open(self.run_session(app, 1) + "/report.json") as f:
                    self.assertTrue(json.load(f)["sampling"]["besideAnotherProfiler"])
                before = collections(app)
                proc.wait_until(lambda: collections(app) > before, 60, "the other profiler hears of a collection")
        at_once([lambda a=app: profile(a) for app in apps])
        self.assert_all_progress(apps)


class Others(RefusalCase):
    """Programs that no profiler of a .NET runtime can serve."""

    def test_native_aot(self):
        tmp = os.path.join(self.folder, "tmp")
        os.mkdir(tmp)
        app = proc.Process([dotnet.native_path()], self.folder + "/log", env={"TMPDIR": tmp})
        self.addCleanup(app.stop, signal.SIGKILL)
        app.tmp = tmp
        app.wait_log("tick 1")
        self.assertTrue(os.listdir(tmp), "it has a diagnostics socket, too")
        self.assert_refused(app, "NativeAOT", "no profiling interface: CPUHotpaths, Waits and Threads work", "without Native AOT", "Allocations")
        ticks = app.log().count("tick")
        proc.wait_until(lambda: app.log().count("tick") > ticks, 10, "it goes on")

    def fake(self, program, version, arch, prefix=()):
        folder = os.path.join(self.folder, version + arch)
        os.mkdir(folder)
        shutil.copy(os.path.join(proc.ROOT, "build/release", program), folder + "/libcoreclr.so")
        fake = proc.Process([*prefix, folder + "/libcoreclr.so", version, arch], folder + "/log", env={"TMPDIR": folder})
        self.addCleanup(fake.stop, signal.SIGKILL)
        fake.wait_log("ready")
        fake.tmp = folder
        return fake

    def test_runtimes_before_net8(self):
        for version, words in (("6.0.36", r"runs \.NET 6\.0\.36; \.NET 8 is the oldest"), ("7.0.20", r"7\.0\.20"),
                               ("5.0.17", r"before \.NET 6")):
            with self.subTest(version):
                app = self.fake("tests/fake-diagnostics", version, "x64")
                self.assert_refused(app, "RuntimeTooOld", words, "Profiling needs .NET 8 or newer")

    @unittest.skipUnless(shutil.which("qemu-aarch64"), "needs qemu-aarch64")
    def test_another_architecture(self):
        app = self.fake("arm64/fake_diagnostics", "10.0.1", "arm64", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"])
        self.assert_refused(app, "ArchitectureMismatch", "the runtime is for arm64, drdotnet for x64", "emulated")


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Places(RefusalCase):
    """Containers without a place where the library could be."""

    def test_no_place_for_the_library(self):
        rows = (({"readonly": True, "tmp_mount": "none"}, "NoStagingPlace", "/tmp is read-only", "Make the process's /tmp writable"),
                ({"tmp_mount": "noexec"}, "NoStagingPlace", "/tmp is mounted noexec", "Make the process's /tmp writable"),
                ({"tmp_mount": "small", "user": 10001, "framework": "net8.0"}, "NoStagingPlace", "/tmp is full", "1 MiB free"),
                ({"tmpdir": TOO_LONG_TMPDIR}, "PathTooLong", "path has 112 bytes", "Shorten the target's temporary folder"))
        pods = self.pods(*(how for how, *_ in rows))
        for made, (how, reason, message, remedy) in zip(pods, rows):
            with self.subTest(how):
                self.assert_refused(made, reason, message, remedy)
        self.assert_all_progress(pods)


@unittest.skipIf(pod.unavailable(), pod.unavailable())
class Held(RefusalCase):
    """One container, in conditions that pass: afterwards it can be profiled."""

    def setUp(self):
        super().setUp()
        self.app, = self.pods({"user": 10001, "readonly": True})

    def test_conditions_that_pass(self):
        for condition in (self.traced, self.stopped, self.frozen, self.short_of_memory, self.short_of_threads):
            with self.subTest(condition.__name__):
                condition()
            self.assert_all_progress([self.app])
        self.assertTrue(self.listed(self.app)["profilable"])

    def traced(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, self.app.pid, None, None), 0, os.strerror(ctypes.get_errno()))
        try:
            self.assert_refused(self.app, "BeingDebugged", r"traced by python\S* \(process %d\)" % os.getpid(), "try again afterwards")
        finally:
            # only a stopped one can be let go
            os.kill(self.app.pid, signal.SIGSTOP)
            os.waitpid(self.app.pid, os.WUNTRACED | 0x40000000)
            libc.ptrace(PTRACE_DETACH, self.app.pid, None, None)
            os.kill(self.app.pid, signal.SIGCONT)

    def stopped(self):
        os.kill(self.app.pid, signal.SIGSTOP)
        proc.wait_until(lambda: state(self.app.pid) == "T", 60, "it has stopped")
        try:
            self.assert_refused(self.app, "ProcessStopped", "stopped .state T", "let it run")
        finally:
            os.kill(self.app.pid, signal.SIGCONT)

    def frozen(self):
        switch = self.app.group_file("freezer.state", "cgroup.freeze")
        if not switch:
            self.skipTest("this machine has no freezer")
        words = ("FROZEN", "THAWED") if switch.endswith("state") else ("1", "0")
        with open(switch, "w") as f:
            f.write(words[0])
        proc.wait_until(self.is_frozen, 60, "it is frozen")
        try:
            self.assert_refused(self.app, "ProcessStopped", "control group is frozen", "let it run")
        finally:
            with open(switch, "w") as f:
                f.write(words[1])

    def is_frozen(self):
        for name, word in (("freezer.state", "FROZEN"), ("cgroup.events", "frozen 1")):
            path = self.app.group_file(name)
            if path:
                with open(path) as f:
                    return word in f.read()
        return False

    def short_of_memory(self):
        limit = self.app.group_file("memory.limit_in_bytes", "memory.max")
        if not limit:
            self.skipTest("this machine has no memory controller")
        used = self.app.group_file("memory.usage_in_bytes", "memory.current")
        with open(used) as f:
            bound = int(f.read()) + ROOM
        with open(limit, "w") as f:
            f.write(str(bound))
        try:
            self.assert_refused(self.app, "NotEnoughMemory", r"\d+ KiB are left under the container's limit of \d+ MiB; 4 MiB are needed",
                                "raise it a little")
        finally:
            with open(limit, "w") as f:
                f.write("-1" if limit.endswith("bytes") else "max")

    def short_of_threads(self):
        most, now = self.app.group_file("pids.max"), self.app.group_file("pids.current")
        if not most or not now:
            self.skipTest("this machine has no pids controller")
        with open(now) as f:
            bound = int(f.read()) + 1
        with open(most, "w") as f:
            f.write(str(bound))
        try:
            self.assert_refused(self.app, "ProcessLimitReached", r"\d more threads are allowed by the container's pids.max; 4 are needed", "Raise the limit")
        finally:
            with open(most, "w") as f:
                f.write("max")

    def test_no_descriptors_left(self):
        self.app.stop()
        self.app, = self.pods({})  # the limits of another user's process need a right more
        before = resource.prlimit(self.app.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.app.pid, resource.RLIMIT_NOFILE, (len(os.listdir("/proc/%d/fd" % self.app.pid)) + 3, before[1]))
        try:
            self.assert_refused(self.app, "ProcessLimitReached", r"\d more descriptors are allowed by the process's RLIMIT_NOFILE; 8 are needed",
                                "Raise the limit")
        finally:
            resource.prlimit(self.app.pid, resource.RLIMIT_NOFILE, before)


class Choice(RefusalCase):
    def test_several_and_none_named(self):
        apps = self.apps(("net8.0", {}), ("net11.0", {}))
        before = [Footprint(app) for app in apps]
        code, text, _ = local.drdotnet("run", "--json", "--profiler", "CPUHotpaths", "--name", "Checkout", "-o", self.folder + "/out")
        said = json.loads(text)
        self.assertEqual((code, said["reason"]), (1, "AmbiguousProcess"), text)
        self.assertRegex(said["message"], r"^\d+ \.NET processes match: .*Checkout \(pid \d+")
        self.assertIn("name one", said["remedy"])
        for footprint in before:
            footprint.assert_untouched(self)

    def test_none(self):
        code, text, _ = local.drdotnet("run", "--json", "--profiler", "CPUHotpaths", "--name", "NoSuchApplication", "-o", self.folder + "/out")
        said = json.loads(text)
        self.assertEqual(code, 1)
        self.assertIn(said["reason"], ("ProcessNotFound", "NoDotnetProcess"))  # other .NET processes may run here, or none
        self.assertIn("check", said["remedy"].lower())


if __name__ == "__main__":
    unittest.main()
