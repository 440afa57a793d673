"""The library's threads and its signal handler, in processes that make it hard for them."""
import contextlib
import ctypes
import glob
import os
import signal
import tempfile
import unittest

from tests.system.allocs.target import Target
from tests.lib import proc
from tests.system.profiler import tools

FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS)
OTHERS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGPROF)  # the runtime lets its own signal through on threads that it knows
LEFT_MAPPED = 2
PIDS = "/sys/fs/cgroup/pids"


def own_threads(pid):
    """The ids of the library's threads."""
    found = []
    for folder in glob.glob("/proc/%d/task/*" % pid):
        with contextlib.suppress(OSError), open(folder + "/comm") as f:
            if f.read() == "drdotnet\n":
                found.append(int(os.path.basename(folder)))
    return found


def blocked(pid, tid):
    with open("/proc/%d/task/%d/status" % (pid, tid)) as f:
        mask = int(next(line.split()[1] for line in f if line.startswith("SigBlk:")), 16)
    return {n for n in range(1, 65) if mask >> (n - 1) & 1}


def send_to_thread(pid, tid, signo):
    assert ctypes.CDLL(None, use_errno=True).syscall(234, pid, tid, int(signo)) == 0, ctypes.get_errno()  # tgkill


class OwnThreads(unittest.TestCase):
    one_process = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        tools.build()

    def test_faults_are_not_blocked(self):
        for framework in ("net8.0", "net11.0"):
            with Target("loop", framework, ("--threads", "1")) as app, tools.Driver(app) as driver:
                driver.attach("notification")
                driver.send("allocs 10 2")
                proc.wait_until(lambda: len(own_threads(app.pid)) == 2, 60, "the session's thread and that of its events")
                for tid in own_threads(app.pid):
                    proc.wait_until(lambda: not blocked(app.pid, tid) & set(FAULTS), 20, "the thread has begun")  # libc blocks all until then
                    self.assertEqual(set(OTHERS) - blocked(app.pid, tid), set())
                self.assertTrue(driver.answer()["ok"])
                self.assertEqual(driver("detach")["left"], 0)
                self.assertEqual(own_threads(app.pid), [])

    def test_a_fault_gives_a_crash_dump(self):
        with tempfile.TemporaryDirectory() as folder:
            dump = os.path.join(folder, "dump")
            env = {"DOTNET_DbgEnableMiniDump": "1", "DOTNET_DbgMiniDumpType": "1", "DOTNET_DbgMiniDumpName": dump}
            with tools.Names("net11.0", "idle", env=env) as app, tools.Driver(app) as driver:
                driver.attach("notification")
                send_to_thread(app.pid, proc.wait_until(lambda: own_threads(app.pid), 30, "the library's thread")[0], signal.SIGSEGV)
                app.wait_log("Dump successfully written", 120)  # a fault that was only sent does not come again: it goes on
                self.assertTrue(os.path.exists(dump))

    @contextlib.contextmanager
    def pids_group(self, app):
        try:
            group = tempfile.mkdtemp(prefix="drdotnet-test-", dir=PIDS)
        except OSError:
            self.skipTest("no control group of processes may be made here")
        try:
            with open(group + "/cgroup.procs", "w") as f:
                f.write(str(app.pid))

            def limit(most):
                with open(group + "/pids.max", "w") as out:
                    out.write(str(most))
            yield limit
            app.stop()
        finally:
            proc.wait_until(lambda: self.removed(group), 30, "the control group is empty")

    @staticmethod
    def removed(group):
        with contextlib.suppress(OSError):
            os.rmdir(group)
        return not os.path.exists(group)

    def test_no_more_threads_in_mid_session(self):
        """What ends the runtime's events is there before them; where it cannot be, they do not begin."""
        env = {"DOTNET_TieredCompilation": "0", "DOTNET_gcConcurrent": "0"}  # the runtime ends a process in which it finds no thread for them
        with Target("loop", "net11.0", ("--threads", "1"), env=env) as app, self.pids_group(app) as limit, tools.Driver(app) as driver:
            app.warm(10)
            driver.attach("notification")
            driver.send("allocs 303 3")
            proc.wait_until(lambda: len(own_threads(app.pid)) == 2, 60, "the session's thread and that of its events")
            limit(1)
            answer = driver.answer()
            self.assertTrue(answer["ok"] and answer["samples"] > 0, (answer, app.log()[-500:]))
            self.assertTrue(driver.try_to("allocs 303 1")["ok"], "the thread is still there")
            self.assertEqual(driver("detach")["left"], 0)
            limit("max")
            driver.attach("notification")
            limit(1)
            refused = driver.try_to("allocs 303 1")
            self.assertFalse(refused["ok"])
            self.assertIn("at its limit of threads", refused["message"])
            self.assertEqual(driver("detach")["left"], 0)
            app.assert_progress()

    def test_a_handler_that_goes_on_to_ours(self):
        """Somebody puts a handler before ours in mid-session, and calls what was there: the code must stay."""
        for framework in ("net8.0", "net11.0"):
            with tools.Names(framework, "loaded", "2", env={"LD_PRELOAD": tools.tool("own_handler.so")}) as app, tools.Driver(app) as driver:
                driver.attach("notification")
                driver.send("sample 99 2")
                proc.wait_until(lambda: app.timers() > 0, 60, "timers")
                os.kill(app.pid, signal.SIGUSR2)
                self.assertGreater(driver.answer()["samples"], 0)
                self.assertEqual(driver("detach")["left"], LEFT_MAPPED)
                self.assertTrue(app.mapped())
                self.assertEqual((app.timers(), own_threads(app.pid)), (0, []))
                driver.attach("notification")  # collections go on, by the runtime's signal, and so do sessions
                refused = driver.try_to("sample 99 1")
                self.assertFalse(refused["ok"])
                driver("detach")
                self.assertIsNone(app.popen.poll(), app.state())


if __name__ == "__main__":
    unittest.main()
