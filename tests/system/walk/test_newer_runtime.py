"""A runtime that is newer than those known, as a command sees it whose newest one is .NET 9: what rests on the runtime's own tables is not measured, for that
reason, and the headline says so. What documented interfaces and the kernel tell goes on."""
import json
import os
import subprocess
import tempfile
import unittest

from tests.lib import dotnet, proc, schemas

NEWER = os.path.join(proc.ROOT, "build/release/profiler-tools/newer/drdotnet")
# what is not measured (all that may be), and what is all the same
DUE = {
    "Deadlocks": ("the locks", {"Deadlock", "LockHeldLong", "ThreadPoolStarvation", "DeadlockOfOtherLocks"}, set(), "report-schema-deadlocks.json"),
    "Threads": ("the (locks|stacks of waiting threads)", {"FinalizerBlocked", "ZombieThreads", "ThreadPoolStarvation"}, {"ThreadsMultiply"},
                "report-schema-threads.json"),
    "Waits": ("the (locks|stacks of waiting threads)", {"LockContention", "SyncOverAsync", "ThreadPoolStarvation", "SynchronousIO", "SleepInPool"},
              {"CPUQueue"}, "report-schema-waits.json"),
    "StuckTasks": ("the async operations", {"TaskNeverCompleted", "SemaphoreNotReleased", "ReplyMissing", "ConnectionNotFree"}, set(),
                   "report-schema-stuck-tasks.json"),
    "GCSurvivors": ("the (handles|statics of generic types)", {"EventHandlers", "DisposablesInContainer"}, {"HeapFragmentation"},
                    "report-schema-gcsurvivors.json"),
}


class NewerRuntime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-newer-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        tmp = os.path.join(cls.folder, "tmp")
        os.makedirs(tmp)
        cls.app = dotnet.LockApp("pair", "net10.0", cls.folder, env={"TMPDIR": tmp})
        cls.addClassCleanup(cls.app.stop)
        cls.app.progress()

    def look(self, profiler, app=None):
        what, unmeasured, measured, schema = DUE[profiler]
        pid = str((app or self.app).pid)
        out = os.path.join(self.folder, profiler + pid)
        words = ["--roots", "NoCollection"] if profiler == "GCSurvivors" else ["--duration", "2s"]
        done = subprocess.run([NEWER, "run", "--profiler", profiler, "--pid", pid, "-o", out, *words], capture_output=True, text=True,
                              timeout=proc.patience(60), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual([e.message[:200] for e in schemas.validator(schema).iter_errors(report)], [])
        lacking = {x["id"]: x["message"] for x in report["notMeasured"]}
        self.assertEqual(unmeasured - set(lacking), set(), report["diagnosis"]["text"])
        for name in unmeasured:
            self.assertRegex(lacking[name], r"^this version does not read the .* of \.NET 10 yet$")
        self.assertEqual(measured - {x["id"] for x in report["excluded"] + report["findings"]}, set())
        self.assertEqual(unmeasured & {x["id"] for x in report["findings"]}, set())
        return report["diagnosis"]["headline"], "This version does not read %s of .NET 10 yet" % what

    def test_locks(self):
        self.assertRegex(*self.look("Deadlocks"))

    def test_one_that_does_not_tell_its_version(self):
        tmp = os.path.join(self.folder, "mute")
        os.makedirs(tmp)
        app = dotnet.LockApp("pair", "net10.0", self.folder, env={"TMPDIR": tmp, "DOTNET_EnableDiagnostics": "0"})
        self.addCleanup(app.stop)
        app.progress()
        self.assertRegex(*self.look("Deadlocks", app))

    def test_threads(self):
        self.assertRegex(*self.look("Threads"))

    def test_waits(self):
        self.assertRegex(*self.look("Waits"))

    def test_async_operations(self):
        self.assertRegex(*self.look("StuckTasks"))

    def test_holders(self):
        headline, _ = self.look("GCSurvivors")
        self.assertRegex(headline, "^(The heap is small: |This version does not read the )")


if __name__ == "__main__":
    unittest.main()
