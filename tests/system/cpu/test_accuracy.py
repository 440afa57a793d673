"""How true a CPU profile is, on .NET 8, 9 and 10 and in each way of sampling: shares against what the application measured itself, stacks
down to the thread's start, names, threads, and code that the runtime makes in different ways."""
import json
import math
import os
import time
import unittest

from tests.lib import dotnet, local, proc, readers, shares

HERTZ = 499
MOST_CUT = 0.01        # of samples
MOST_UNNAMED = 0.005   # of managed frames
CHANCE = 3             # what a handful of samples may hold beyond that
WITHOUT_PERFMON = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-perfmon,-sys_admin", "--"]
WITHOUT_PERF = [proc.ROOT + "/build/release/tests/deny-perf"]
WAYS = {"perf-cpu": [], "perf-thread": WITHOUT_PERFMON, "signal-timer": WITHOUT_PERF}
TICKS_HERTZ = 250      # the kernel's own ticks bound what timers in the process can see

# What a reader expects to see of each step of the load "names"
NAMES = {
    "generic class over values": "Checkout.Loads.Cache<int, double>.Lookup",
    "generic method over a value": "Checkout.Loads.Naming.Convert<long>",
    "overload (int)": "Checkout.Loads.Price.Round(int)",
    "overload (int, string)": "Checkout.Loads.Price.Round(int, string)",
    "nested class": "Checkout.Loads.Outer.Inner.Work",
    "explicit interface": "Checkout.Loads.Voucher.IDiscount.Apply",
    "dynamic method": "ApplyDiscountRule",
    "generic class over references": "Checkout.Loads.Cache",  # 8 and 10 tell <__Canon, __Canon> of code that all references share, 9 not
}


class Accuracy(local.LocalCase):
    def session(self, app, way, seconds=4, hertz=HERTZ):
        """(report, samples) of a session in this way; says what was not as good as it must be."""
        out = os.path.join(self.folder, "%s-%d" % (way, len(os.listdir(self.folder))))
        words = [*WAYS[way], local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "%ds" % seconds, "--frequency", hertz,
                 "--pid", app.pid, "-o", out]
        before = app.progress()
        with proc.Process([str(w) for w in words], log=out + ".log") as run:
            proc.wait_until(run.ended, seconds + 60, "drdotnet ends")
            self.assertEqual(run.popen.returncode, 0, run.log())
        app.during = before
        with open(out + "/report.json") as f:
            report = json.load(f)
        self.check_quality(report["sampling"], way)
        return report, readers.folded(out)

    def check_quality(self, sampling, way):
        self.assertEqual(sampling["method"], way)
        self.assertEqual((sampling["lost"], sampling["dropped"]), (0, 0), sampling)
        self.assertLessEqual(sampling["cutStacks"], MOST_CUT * sampling["samples"] + CHANCE, sampling)
        managed = sampling["managedFramesNamed"] + sampling["managedFramesUnnamed"]
        self.assertGreater(managed, 0, sampling)
        self.assertLessEqual(sampling["managedFramesUnnamed"], MOST_UNNAMED * managed + CHANCE, sampling)

    def check_count(self, report, way):
        """As many samples as the kernel's own account of the CPU time lets expect: but for a part, and for three standard deviations of chance,
        which is much of a few (on a busy machine, of threads that live for a moment)."""
        hertz = min(HERTZ, TICKS_HERTZ) if way == "signal-timer" else HERTZ
        expected = report["cpu"]["usedNanoseconds"] / 1e9 * hertz
        least = 0.3 if way == "signal-timer" else 0.85
        self.assertGreater(report["sampling"]["samples"], least * expected - 3 * math.sqrt(expected), report["sampling"])

    def check_threads(self, framework):
        """Threads with known parts of the CPU; the idle ones have no sample."""
        app = self.start("shares", framework)
        app.warm(200)
        for way in WAYS:
            with self.subTest(way):
                report, samples = self.session(app, way)
                shares.check(self, samples, app.shares(app.during), least=0.3)
                self.check_count(report, way)
                by_name = {t["name"]: t["samples"] for t in report["threads"]}
                self.assertGreater(by_name.get("payment", 0), 0, by_name)
                self.assertEqual(samples.share("Monitor.Wait"), 0, samples.leaves())

    def test_threads_on_net8(self):
        self.check_threads("net8.0")

    def test_threads_on_net10(self):
        self.check_threads("net10.0")

    def test_threads_on_net11(self):
        self.check_threads("net11.0")

    def check_names(self, framework, ways):
        """Generic, overloaded, nested and dynamic methods, each with about the share that the application measured."""
        app = self.start("names", framework)
        app.warm(60)
        for way in ways:
            with self.subTest(way):
                _, samples = self.session(app, way, seconds=3)
                truth = app.shares(app.during)
                known = sum(truth[name] for name in NAMES)
                shares.check(self, samples, {place: truth[name] / known for name, place in NAMES.items()}, least=0.1)

    def test_names_on_net8(self):
        self.check_names("net8.0", ["perf-cpu"])

    def test_names_on_net10(self):
        self.check_names("net10.0", ["perf-thread"])

    def test_names_on_net11(self):
        self.check_names("net11.0", ["perf-cpu", "signal-timer"])

    def test_code_that_is_compiled_again_meanwhile(self):
        """From the process's first moment: precompiled code, quick code, replaced loops and optimized code in one session."""
        for way in ("perf-cpu", "perf-thread"):
            with self.subTest(way):
                app = self.start("hot")
                report, samples = self.session(app, way, seconds=3)
                shares.check(self, samples, shares.HOT, least=0.2)
                modules = {m["module"] for m in report["methods"] if m["layer"] == "library"}
                self.assertIn("System.Private.CoreLib.dll", modules, "precompiled code is named")
                app.stop()

    def test_blocked_threads_have_no_sample(self):
        """200 threads wait; they are listed, and none has a sample."""
        app = self.start("idle", arguments=["--threads", "200"])
        report, samples = self.session_of_idle(app)
        sleepers = [t for t in report["threads"] if t["name"].startswith("sleeper-")]
        self.assertEqual(len(sleepers), 200)
        self.assertEqual(sum(t["samples"] for t in sleepers), 0, sleepers)
        self.assertEqual(samples.share("Monitor.Wait"), 0)

    def session_of_idle(self, app):
        app.progress()  # the threads have begun to wait
        proc.wait_until(lambda: all_wait(app.pid), 30, "the threads wait")
        return self.session(app, "perf-cpu", seconds=4, hertz=999)

    def test_threads_that_live_for_a_moment(self):
        app = self.start("threads")
        app.warm(40)
        for way in ("perf-cpu", "perf-thread"):
            with self.subTest(way):
                report, samples = self.session(app, way, seconds=3)
                self.assertGreater(samples.share("one-shot"), 0.6, samples.leaves())
                self.check_count(report, way)
                self.assertGreater(sum(t["name"] == "one-shot" for t in report["threads"]), 3)

    def test_async_methods_without_perf_events(self):
        app = self.start("async", "net10.0")
        app.warm(100)
        _, samples = self.session(app, "signal-timer")
        self.assertGreater(samples.share("Checkout.Loads.Awaiting.ReserveAsync"), 0.2, samples.leaves())
        self.assertEqual(sum(w for s, w in samples.stacks if any("MoveNext" in f and "Checkout" in f for f in s)), 0)

    def check_nested(self, framework, application):
        """Async methods that work after an await: in them, called by nobody but who called them; and who completes a task has no part in what awaits it."""
        app = self.start("nested", framework, application=application)
        app.warm(100)
        report, samples = self.session(app, "perf-cpu")
        shares.check(self, samples, app.shares(app.during), least=0.3)
        names = {name: "Checkout.Loads.Nested.%s" % name for name in ("InnerAsync", "MiddleAsync", "DirectAsync", "AwaitNewsAsync", "CallDirectly", "Publish")}
        for stack, _ in samples.stacks:
            nested = [f[len("Checkout.Loads.Nested."):] for f in stack if f.startswith("Checkout.Loads.Nested.")]
            self.assertFalse([f for f in stack if "IL_STUB_AsyncResume" in f or "MoveNext" in f and "Checkout" in f], stack)
            self.assertFalse({"InnerAsync", "AwaitNewsAsync"} & set(nested) and nested[-1] in ("InnerAsync", "AwaitNewsAsync") and
                             set(nested[:-1]) - {"MiddleAsync", "OuterAsync", "CallDirectly"}, nested)
            self.assertLessEqual(nested.count("DirectAsync"), 1, stack)
        methods = {m["name"]: m for m in report["methods"]}
        for name in ("InnerAsync", "MiddleAsync", "DirectAsync"):
            self.assertIn("async", methods[names[name]]["marks"], methods[names[name]])
        self.assertIn(names["InnerAsync"], report["diagnosis"]["headline"] + report["diagnosis"]["text"])
        self.assertLess(methods.get(names["Publish"], {"total": 0})["total"], 0.02 * report["sampling"]["samples"] + CHANCE, methods)

    def test_async_methods_that_await_each_other_on_net10(self):
        self.check_nested("net10.0", dotnet.App)

    def test_methods_that_the_runtime_suspends_on_net11(self):
        self.check_nested("net11.0", dotnet.CheckoutRuntime)


def switches(pid):
    """How often each thread with a sleeper's name has gone to sleep."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            fields = dict(line.split(":", 1) for line in f)
        if fields["Name"].strip().startswith("sleeper-"):
            found[tid] = int(fields["voluntary_ctxt_switches"]) + int(fields["nonvoluntary_ctxt_switches"])
    return found


def all_wait(pid):
    """200 sleepers, none of which runs: on their way to the wait they wake each other, since it is one lock that they wait for."""
    before = switches(pid)
    time.sleep(0.5)
    return len(before) == 200 and before == switches(pid)


if __name__ == "__main__":
    unittest.main()
