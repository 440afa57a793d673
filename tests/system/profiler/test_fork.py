"""The application forks in the middle of a session. The child has copies of all descriptors, and nothing of the session shall last as
long as the child does."""
import glob
import os
import signal
import time
import unittest

from tests.lib import dotnet, local, matrix, proc
from tests.system.profiler import tools

PATIENCE = 60  # seconds; for what must come, on a busy machine
PART = "Faults of the process and of the agent; local command"


class Forks:
    framework = None

    def setUp(self):
        super().setUp()
        tools.build()
        self.flag = os.path.join(self.folder, "fork")
        self.app = self.start("warm", self.framework, env={"LD_PRELOAD": tools.tool("forking.so"), "FORK_FLAG": self.flag})
        self.app.warm(20)
        self.run_session(self.app, 1)  # what the runtime makes at its first attach stays
        self.before = dotnet.Traces(self.app)

    def fork(self):
        with open(self.flag, "w"):
            pass

        def child():
            with open(self.flag) as f:
                return f.read()
        child = int(proc.wait_until(child, PATIENCE, "a child of the application"))
        self.assertIn("libdrdotnet", "".join(dotnet.Traces(dotnet.Seen(child, self.app.tmp)).descriptors.values()), "it has all descriptors")
        return child

    def session(self, profiler, *words):
        """A session in the middle of it."""
        run = proc.Process([local.DRDOTNET, "run", "--profiler", profiler, "--pid", self.app.pid, "-o", self.folder + "/first", *words],
                           log=self.folder + "/first.log")
        self.addCleanup(run.stop)
        proc.wait_until(lambda: "libdrdotnet" in "".join(dotnet.Traces(self.app).descriptors.values()), PATIENCE, "the library is attached")
        return run

    def row(self, fault, outcome):
        if self.framework == "net11.0":  # and held to it on the others
            matrix.row(self, PART, "sampling", fault, outcome)

    def test_the_agent_is_killed(self):
        run = self.session("CPUHotpaths", "--duration", "60s")
        child = self.fork()
        run.stop(signal.SIGKILL)
        def old(folder):
            try:
                return time.time() - os.stat(folder).st_mtime > 3
            except FileNotFoundError:  # a session has removed it meanwhile
                return True
        folders = glob.glob(self.app.tmp + "/.drdotnet-*")
        proc.wait_until(lambda: all(map(old, folders)), PATIENCE, "a folder that is a killed session's")
        self.run_session(self.app, 1)
        self.assertTrue(os.path.exists("/proc/%d" % child), "the child is still there")
        dotnet.assert_nothing_left(self, self.app, self.before)
        self.row("the process forks; then the agent is killed",
                 "nothing is left in the process, whose child goes on; the next session: Completed; report delivered")

    def test_the_session_goes_on(self):
        run = self.session("CPUHotpaths", "--duration", "60s")
        self.fork()
        self.app.warm(self.app.progress()["ops"] + 100)  # so that there is something to report
        self.assertEqual(run.stop(signal.SIGINT, PATIENCE), 0, run.log())
        self.run_session(self.app, 1)
        dotnet.assert_nothing_left(self, self.app, self.before)
        self.row("the process forks", "Completed; report delivered; the next session: Completed; report delivered")


class ForksNet8(Forks, local.LocalCase):
    framework = "net8.0"


class ForksNet10(Forks, local.LocalCase):
    framework = "net10.0"


class ForksNet11(Forks, local.LocalCase):
    framework = "net11.0"


if __name__ == "__main__":
    unittest.main()
