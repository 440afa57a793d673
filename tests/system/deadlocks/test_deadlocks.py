"""Deadlocks on real applications whose locks are known (tests/apps/LockApp): exact circles and queues, and no alarm where there is none."""
import contextlib
import json
import os
import socket
import tempfile
import unittest

from tests.lib import dotnet, schemas
from tests.lib.local import drdotnet

FILES = {"summary.md", "report.html", "report.json"}
EVERY = os.environ.get("DRDOTNET_EVERY_RUNTIME")
SICK = {"pair", "ring", "philosophers", "two", "behind", "queue", "patient", "starved", "crowd", "remote",
        "writers", "upgrade", "locks", "mixed", "lockqueue", "lockpatient", "exhausted",
        "task", "taskbounded", "taskcancel", "taskall", "taskasync", "taskrun", "taskparallel", "taskdetour", "taskleft", "taskchain"}
# of those that block on a task with a lock in their hands: who runs it, and how it is shown
TASKS = {"task": (".NET Long Running Task", "a task"), "taskall": (".NET Long Running Task", "a task"), "taskasync": (".NET TP Worker", "an async method"),
         "taskrun": (".NET TP Worker", "a task"), "taskparallel": (".NET TP Worker", "a task")}


def wrong(report):
    """What the schema says against it."""
    return ["%s: %s" % (list(e.absolute_path), e.message[:200]) for e in schemas.validator("report-schema-deadlocks.json").iter_errors(report)][:5]


def circles(report):
    """The names of the threads of each circle, in order."""
    found = {}
    for thread in report["threads"]:
        if thread["circle"] is not None:
            found.setdefault(thread["circle"], []).append(thread["name"])
    return sorted(sorted(names) for names in found.values())


class OnEachRuntime:
    framework = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-locks-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def look(self, mode, meanwhile=contextlib.nullcontext, **env):
        tmp = os.path.join(self.folder, "tmp-" + mode + str(len(os.listdir(self.folder))))
        os.makedirs(tmp)
        app = dotnet.LockApp(mode, self.framework, self.folder, env={"TMPDIR": tmp, **env})
        app.tmp = tmp
        self.app = app
        self.addCleanup(app.stop)
        if mode != "exhausted":  # it has no worker left that would say so
            app.progress()  # its own threads have begun
        before, out = dotnet.Traces(app), os.path.join(self.folder, "report-" + os.path.basename(tmp))
        with meanwhile():
            code, _, errors = drdotnet("run", "--deadlocks", str(app.pid), "--duration", "1", "-o", out)
        self.assertEqual(code, 0, errors)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(wrong(report), [])
        named = self.framework != "net8.0" or "names" not in [x["name"] for x in report["limitsReached"]]
        self.assertEqual(set(os.listdir(out)), FILES)
        self.assertEqual(report["cost"]["maxPauseMicroseconds"], 0)
        self.assertIn("DeadlockOfOtherLocks", [x["id"] for x in report["notMeasured"]])
        if not circles(report):
            self.assertIn("\nLooked at: monitors", report["diagnosis"]["text"])
        if mode not in SICK:
            looked = " of monitors or tasks" if self.framework == "net8.0" and named else " of monitors" if self.framework == "net8.0" else ""
            self.assertEqual(report["diagnosis"]["headline"], "No deadlock%s was found" % looked, report["diagnosis"]["text"])
            self.assertEqual(report["findings"], [])
            self.assertEqual({x["id"] for x in report["excluded"]}, {"Deadlock", "LockHeldLong", "ThreadPoolStarvation"} if named else {"Deadlock"})
        if mode != "exhausted":
            app.assert_progress()
        dotnet.assert_nothing_left(self, app, before)
        app.stop()
        return report

    def deadlocked(self, mode, *expected):
        report = self.look(mode)
        self.assertEqual(circles(report), sorted(sorted(x) for x in expected))
        first = report["findings"][0]
        self.assertEqual((first["id"], first["state"], first["score"]), ("Deadlock", "Found", 100))
        self.assertRegex(first["place"], r"^Shop\.(Account\.TransferTo|OtherLocks\.)")
        self.assertTrue(report["diagnosis"]["headline"].startswith("Deadlock: "), report["diagnosis"]["headline"])
        self.assertIsNotNone(report["looks"]["provenMilliseconds"], "the session does not wait for its time")
        self.assertIn("LockHeldLong", [x["id"] for x in report["notMeasured"]])
        for thread in report["threads"]:
            names = [f["name"] for f in thread["stack"]]
            self.assertIn("Shop.Program.Start.lambda", names, "the stack is whole")
        return report

    def test_two_threads(self):
        report = self.deadlocked("pair", ["transfer-0", "transfer-1"])
        self.assertEqual(report["diagnosis"]["headline"], "Deadlock: 2 threads wait for each other, in Shop.Account.TransferTo")
        self.assertEqual([lock["waiters"] for lock in report["locks"]], [1, 1])

    def outside(self, report, reason):
        """What methods are called is read from the process's memory, too, where the runtime says how (.NET 9 and newer)."""
        self.assertEqual([x["name"] for x in report["limitsReached"]], ["names"])
        self.assertIn("(%s: " % reason, report["limitsReached"][0]["meaning"])
        said = "Methods have no names" if self.framework == "net8.0" else "Methods were named from outside"
        self.assertIn("\n%s: the library could not be attached (%s)." % (said, reason), report["diagnosis"]["text"])

    def test_a_process_that_takes_no_library(self):
        report = self.look("pair", DOTNET_EnableDiagnostics="0")
        self.outside(report, "DiagnosticsDisabled")
        self.assertEqual(circles(report), [["transfer-0", "transfer-1"]])
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Found")])
        if self.framework == "net8.0":
            self.assertEqual(report["diagnosis"]["headline"], "Deadlock: 2 threads wait for each other")
            self.assertRegex(report["diagnosis"]["text"], r'Thread \d+ "transfer-0" waits for a lock.* that thread \d+ holds\.')
            report = self.look("queue", DOTNET_EnableDiagnostics_Profiler="0")
            self.assertEqual((report["diagnosis"]["headline"], report["findings"]), ("No deadlock of monitors was found", []))
            self.assertRegex(report["diagnosis"]["text"], r'\n10 threads wait for a lock of thread \d+ "refresher", which has not run')
            self.assertRegex(next(x for x in report["notMeasured"] if x["id"] == "LockHeldLong")["message"], "^methods have no names")
            return
        self.assertEqual(report["diagnosis"]["headline"], "Deadlock: 2 threads wait for each other, in Shop.Account.TransferTo")
        self.assertEqual(report["findings"][0]["place"], "Shop.Account.TransferTo")
        for thread in report["threads"]:
            names = [f["name"] for f in thread["stack"]]
            self.assertLess(names.index("Shop.Account.TransferTo"), names.index("Shop.Program.Start.lambda"), "the stack is whole")
        report = self.look("lockqueue", DOTNET_EnableDiagnostics_Profiler="0")
        self.assertEqual([(x["id"], x["state"], x["place"]) for x in report["findings"]], [("LockHeldLong", "Found", "Shop.OtherLocks.Refill")])
        self.outside(report, "DiagnosticsDisabled")

    def test_five_threads(self):
        self.deadlocked("philosophers", ["philosopher-%d" % i for i in range(5)])

    def test_those_behind_a_circle(self):
        report = self.deadlocked("behind", ["first", "second"])
        self.assertIn("\n5 more threads wait behind them.", report["diagnosis"]["text"])

    def test_a_queue_is_no_circle(self):
        report = self.look("queue")
        self.assertEqual(circles(report), [])
        self.assertEqual(report["diagnosis"]["headline"], "10 threads wait for a lock held in Shop.Sick.Refresh")
        self.assertEqual([x["id"] for x in report["findings"]], ["LockHeldLong"])
        self.assertRegex(report["diagnosis"]["text"],
                         r'thread \d+ "refresher" in Shop.Sick.Refresh \(\w+\.cs:\d+\), which has not run between the looks either: it waits in .*WaitOne')

    def test_locks_that_are_busy(self):
        self.look("busy")
        self.look("recursive")

    def test_a_circle_that_will_open(self):
        report = self.look("patient")
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Possible")])
        self.assertTrue(report["diagnosis"]["headline"].startswith("Possible deadlock: "), report["diagnosis"]["headline"])
        self.assertIn("will give up", report["findings"][0]["evidence"])
        self.assertNotIn("Restart", report["diagnosis"]["text"])

    def test_consumers_that_wait_for_their_turn(self):
        for mode, count in (("consumers", 7), ("readers", 4)):
            report = self.look(mode)
            held = next(x for x in report["excluded"] if x["id"] == "LockHeldLong")
            self.assertRegex(held["evidence"], r"^%d wait for their turn behind thread \d+ .*, which waits for work" % count)

    def test_a_consumer_that_keeps_its_suppliers_out(self):
        report = self.look("starved")
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("LockHeldLong", "Possible")])
        self.assertEqual(report["diagnosis"]["headline"], "3 threads may wait for a lock held in Shop.Sick.Take")

    def test_locks_that_are_no_monitors(self):
        if self.framework == "net8.0":  # what these locks are cannot be told there
            self.assertFalse(self.look("scribes")["looks"]["otherLocks"])
            return
        self.deadlocked("locks", ["lock-0", "lock-1"])
        self.deadlocked("writers", ["writer-0", "writer-1"])
        self.deadlocked("upgrade", ["upgrade-0", "upgrade-1"])
        report = self.deadlocked("mixed", ["mixed-0", "mixed-1", "mixed-2"])
        self.assertEqual({(lock["kind"], lock["type"]) for lock in report["locks"]}, {
            ("monitor", "System.Object"), ("lock", "System.Threading.Lock"), ("readerWriter", "System.Threading.ReaderWriterLockSlim")})
        report = self.look("lockqueue")
        self.assertEqual([(x["id"], x["state"]) for x in report["findings"]], [("LockHeldLong", "Found")])
        self.assertEqual(report["diagnosis"]["headline"], "10 threads wait for a lock held in Shop.OtherLocks.Refill")
        report = self.look("lockpatient")
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Possible")])


class OnNewest(OnEachRuntime):
    """On the others with DRDOTNET_EVERY_RUNTIME only (make runtimes)."""

    @contextlib.contextmanager
    def port_busy(self):
        """The runtime reads the order of a peer that does not end it, and takes no other one."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(next(os.path.join(self.app.tmp, name) for name in os.listdir(self.app.tmp) if name.startswith("dotnet-diagnostic-")))
            peer.send(b"DOTNET_IPC_V1")
            yield

    def test_a_port_that_does_not_answer(self):
        report = self.look("pair", self.port_busy)
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Found")])
        self.outside(report, "AttachFailed")

    def test_workers_that_wait_for_workers(self):
        report = self.look("exhausted")
        self.assertRegex(report["diagnosis"]["text"], r"\n8 threads wait for tasks in Shop.OtherLocks.Load, 8 of them pool workers: StuckTasks ")
        if self.framework == "net8.0":
            self.assertIn("ThreadPoolStarvation", [x["id"] for x in report["notMeasured"]])
            return
        self.assertEqual([(f["id"], f["state"], f["place"]) for f in report["findings"]], [("ThreadPoolStarvation", "Found", "Shop.OtherLocks.Load")])
        self.assertRegex(report["diagnosis"]["headline"], r"^Thread pool starved: 8 of 8 workers block in .*Load; \d+ items wait$")
        self.look("workers")

    @unittest.skipUnless(EVERY, "make runtimes")
    def test_locks_that_are_given_up_without_names(self):
        for mode in ("timeout", "busy", "consumers"):
            self.look(mode, DOTNET_EnableDiagnostics="0")
        if self.framework != "net8.0":
            report = self.look("exhausted", DOTNET_EnableDiagnostics="0")
            self.assertEqual([(f["id"], f["state"], f["place"]) for f in report["findings"]], [("ThreadPoolStarvation", "Found", "Shop.OtherLocks.Load")])
            report = self.look("mixed", DOTNET_EnableDiagnostics="0")
            self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Found")])

    def over_a_task(self, mode):
        report = self.look(mode)
        runner, what = TASKS[mode]
        runner = self.kernels(runner)
        self.assertEqual(circles(report), [[runner, "asker"]])
        self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Found")])
        self.assertRegex(report["diagnosis"]["headline"], r"^Deadlock: .*(WaitFor|lambda) waits for a task that needs its lock$")
        self.assertRegex(report["diagnosis"]["text"], r'\nThread \d+ "asker" in Shop.TaskLocks.* waits for %s that thread \d+ runs\.\n' % what)
        self.assertRegex(report["diagnosis"]["text"], r'\nThread \d+ "%s" in Shop.TaskLocks.Count.* waits for a lock .*that thread \d+ holds\.\n' % runner)
        self.assertIsNotNone(report["looks"]["provenMilliseconds"], "the session does not wait for its time")

    def kernels(self, name):
        """The kernel has 15 bytes of a thread's name, and the runtime tells the others from .NET 9 on. .NET 11 has a shorter name itself."""
        return name[:15] if self.framework == "net8.0" else name.replace("Long Running", "Long") if self.framework == "net11.0" else name

    def test_circles_over_tasks(self):
        for mode in TASKS if EVERY else ("task", "taskasync"):
            self.over_a_task(mode)
        report = self.look("taskdetour")
        self.assertEqual(circles(report), [[self.kernels(".NET Long Running Task"), "asker", "third"]])
        self.assertEqual(report["diagnosis"]["headline"], "Deadlock: 3 threads and a task wait for each other, in \u2026TaskLocks.WaitFor")

    def test_circles_over_tasks_that_may_open(self):
        for mode, why in (("taskcancel", "CancellationToken"), ("taskbounded", "will give up"))[:2 if EVERY else 1]:
            report = self.look(mode)
            self.assertEqual([(f["id"], f["state"]) for f in report["findings"]], [("Deadlock", "Possible")])
            self.assertIn(why, report["findings"][0]["evidence"])
            self.assertNotIn("Restart", report["diagnosis"]["text"])

    def test_tasks_that_others_run(self):
        report = self.look("taskbegun")
        locks = "" if self.framework == "net8.0" else ", Lock, and writers of a ReaderWriterLockSlim"
        self.assertIn("\nLooked at: monitors%s; tasks, on which 2 threads block. Not seen: " % locks, report["diagnosis"]["text"])
        report = self.look("taskleft")
        self.assertEqual([x["id"] for x in report["findings"]], ["LockHeldLong"])
        self.assertIn(", for a task that no thread was seen to run: StuckTasks shows where it stands.", report["diagnosis"]["text"])
        report = self.look("taskchain")
        self.assertEqual([x["id"] for x in report["findings"]], ["LockHeldLong"])
        self.assertRegex(report["diagnosis"]["text"], r': it waits for a task, run by thread \d+ "%s" in Shop.TaskLocks.Answer.*, '
                         r"which waits .*\bfor 127\.0\.0\.1:%d\." % (self.kernels(".NET Long Running Task"), self.app.details["port"]))

    @unittest.skipUnless(EVERY, "make runtimes")
    def test_tasks_and_throttles_that_are_healthy(self):
        for mode in ("taskturns", "asyncturns", "throttle", "belt"):
            self.look(mode)

    def test_locks_that_are_given_up(self):
        self.look("timeout")

    def test_threads_that_wait_to_be_told(self):
        self.look("pulse")

    def test_two_circles_at_once(self):
        self.deadlocked("two", ["left-0", "left-1"], ["right-0", "right-1", "right-2"])

    def test_a_holder_that_waits_for_another_machine(self):
        report = self.look("remote")
        self.assertEqual([x["id"] for x in report["findings"]], ["LockHeldLong"])
        peers = [t["peer"] for t in report["threads"] if t["peer"]]
        self.assertEqual(peers, ["127.0.0.1:%d" % self.app.details["port"]])
        self.assertRegex(report["diagnosis"]["text"], r"waits in .*\bfor %s\.|it waits for %s\." % (peers[0], peers[0]))

    def test_holders_that_are_not_known(self):
        report = self.look("semaphores")
        self.assertEqual([t["name"] for t in report["threads"]], [])
        self.assertIn("\n2 threads wait for a SemaphoreSlim in Shop.OtherLocks.Exchange: it does not record its holder.", report["diagnosis"]["text"])
        if self.framework != "net8.0":
            for mode in ("shared", "upgrader") if EVERY else ("upgrader",):
                self.assertIn("\n1 thread waits for a ReaderWriterLockSlim whose holder is not known", self.look(mode)["diagnosis"]["text"])

    def test_other_locks_that_are_healthy(self):
        for mode in ("scribes",) if self.framework == "net8.0" else ("scribes", "lockbusy", "lockconsumers"):
            self.look(mode)

    def test_two_among_many(self):
        self.deadlocked("crowd", ["transfer-0", "transfer-1"])

    def test_many_locks_and_many_threads(self):
        report = self.look("many")
        self.assertGreaterEqual(report["looks"]["monitors"], 10000)
        self.look("idle")


OnOlder = OnNewest if EVERY else OnEachRuntime


class Net8(OnOlder, unittest.TestCase):
    framework = "net8.0"


class Net9(OnOlder, unittest.TestCase):
    framework = "net9.0"


class Net10(OnOlder, unittest.TestCase):
    framework = "net10.0"


class Net11(OnNewest, unittest.TestCase):
    framework = "net11.0"


if __name__ == "__main__":
    unittest.main()
