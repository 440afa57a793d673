"""libdrdotnet.so in real runtimes: each slot of the profiling API that it uses gives what it should on .NET 8, 9 and 10, names are
right, and a session leaves nothing behind however it ends."""
import shutil
import time
import unittest

from tests.lib import proc
from tests.system.profiler import ordeal, tools

CART, LIST = "Shop.Cart", "System.Collections.Generic.List`1"
SIGPROF_BIT = 1 << 26

# (type, type args, method, method args, params, overloaded); None: any
EXPECTED = [
    (CART, "", "Plain", "", "", False),
    (CART, "", "Total", "", "System.Int32", True),
    (CART, "", "Total", "", "System.String,System.Int64&,System.Int32[,]", True),
    (CART, "", "Pointers", "", "System.Byte*,System.IntPtr,System.Object,System.DateTime", False),
    (CART, "", "Generic", "System.Int32,System.DateTime",
     "System.Int32,System.DateTime,System.Collections.Generic.Dictionary`2<System.Int32,System.DateTime>", False),
    (CART, "", "Generic", "System.__Canon,System.Int32",
     "System.__Canon,System.Int32,System.Collections.Generic.Dictionary`2<System.__Canon,System.Int32>", False),
    (CART, "", "Modified", "", "System.Int32&,Shop.Outer`1+Inner<System.Int32>", False),
    ("Shop.Outer`1+Inner", "System.Int32", "InGenericNested", "", "System.Int32", False),
    ("Shop.Outer`1+Inner", None, "InGenericNested", "", None, False),
    ("Shop.Outer`1+Pair`1", "System.Int32,System.DateTime", "InPair", "", "System.Int32,System.DateTime,%s<System.DateTime[]>" % LIST, False),
    ("Shop.Cart+<Compute>d__6", "", "MoveNext", "", "", False),
    ("Shop.Cart+<>c", "", "<Lambda>b__7_0", "", "", False),
    (CART, "", "<Local>g__LocalWork|8_0", "", "", False),
    ("Shop.Program", "", "Shapes", "", "", False),
    ("", "", "EarlyDynamic", "", None, False),
]


def matches(wanted, found):
    kind = (found.get("type", ""), found.get("type_args", ""), found["method"], found.get("method_args", ""),
            found.get("params", ""), found["overloaded"])
    return all(w is None or w == f for w, f in zip(wanted, kind))


class Library:
    framework = None
    time_limit = 420

    def setUp(self):
        tools.build()

    def missing(self, functions):
        return [w for w in EXPECTED if not any(matches(w, f) for f in functions)]

    def check_names(self, how):
        with tools.Names(self.framework, "shapes", "2") as app, tools.Driver(app) as driver:
            answer = driver.attach(how)
            self.assertEqual(answer["notification"], how == "notification")
            seen, samples, end = {}, 0, time.monotonic() + 60
            while self.missing(seen.values()) and time.monotonic() < end:
                taken = driver("sample 500 3")
                samples += taken["samples"]
                self.assertLessEqual(taken["truncated"], taken["samples"] // 20)
                for f in driver("names")["functions"]:
                    seen[f["id"]] = f
            self.assertFalse(self.missing(seen.values()), "not met: among %s" % sorted(
                (f.get("type", ""), f["method"], f.get("params")) for f in seen.values() if f.get("module") == "names.dll"))
            self.assertGreater(samples, 50)
            for f in seen.values():
                if f.get("type", "").startswith("Shop."):
                    self.assertEqual(f["module"], "names.dll")
            self.assertIn("System.Private.CoreLib.dll", {f.get("module") for f in seen.values()})
            self.assertTrue(next(f for f in seen.values() if f["method"] == "EarlyDynamic")["dynamic"])
            cost = driver("detach")
            app.wait_unmapped(1)
            self.assertGreater(cost["resolved"], 0)
        self.assertLess(cost["memory_bytes"], 20 << 20)  # reserved: tables of counts by type and of requests; what is touched is far less

    def test_names_for_notifications_only(self):
        self.check_names("notification")

    def test_names_as_main_profiler(self):
        self.check_names("main")

    def test_runtimes_that_have_lost_count_of_their_profilers(self):
        """A main profiler has come and gone: one for notifications only is not found by the runtime any more, which would end the process when
        asked to detach it. It stays, without a thread or a descriptor; main ones come and go as before."""
        with tools.Names(self.framework, "shapes", "2") as app:
            with tools.Driver(app) as driver:
                driver.attach("main")
                driver("detach")
                app.wait_unmapped(1)
                before = ordeal.Remains(app)
                driver.attach("notification")
            proc.wait_until(lambda: set(ordeal.Remains(app).beyond(before)) == {"maps"}, 30, "only its mapping is left")
            with tools.Driver(app) as second:
                second("attach %s main" % shutil.copy(app.library, app.library.replace("-test.so", "-again.so")))  # as staged for another session
                self.assertGreater(second("sample 500 1")["samples"], 0)
                second("detach")
            proc.wait_until(lambda: set(ordeal.Remains(app).beyond(before)) == {"maps"}, 30, "nothing more is left")
            self.assertIsNone(app.popen.poll())

    def test_resolving_is_fast(self):
        with tools.Names(self.framework, "shapes", "1") as app, tools.Driver(app) as driver:
            driver.attach()
            driver("sample 200 2")
            driver("names")
            # A few ms on an idle machine; the bound is for one that does other things too.
            self.assertLess(min(driver("bench 5000")["ms"] for _ in range(5)), 20)
            self.assertLess(driver("detach")["ms"], 3000)

    def test_the_main_place_is_taken(self):
        with tools.Names(self.framework, "idle") as app, tools.Driver(app) as driver:
            driver("load " + tools.tool("other_profiler.so"))
            refused = driver.try_to("attach %s main" % app.library)
            self.assertFalse(refused["ok"])
            self.assertEqual(refused["code"] & 0xffffffff, 0x8013136a)

    def test_own_handlers_of_the_application_stay(self):
        with tools.Names(self.framework, "shapes", "1", env={"LD_PRELOAD": tools.tool("own_handler.so")}) as app, \
                tools.Driver(app) as driver:
            driver.attach()
            self.assertGreater(driver("sample 99 1")["samples"], 0)
            driver("detach")
            app.wait_unmapped(2)
            self.assertTrue(int(app.status("SigCgt"), 16) & SIGPROF_BIT)

    def test_a_stranger_before_the_runtime_s_handler_of_faults(self):
        """Who knows how much of the alternate stack it needs: no signal of ours may come while it runs."""
        with tools.Names(self.framework, "shapes", "1", env={"LD_PRELOAD": tools.tool("own_handler.so"), "OWN_FAULT_HANDLER": "1"}) as app, \
                tools.Driver(app) as driver:
            driver.attach()
            refused = driver.try_to("sample 99 1")
            self.assertEqual((refused["ok"], refused["kind"]), (False, "Conflict"), refused)
            self.assertIn("memory faults", refused["message"])
            self.assertTrue(any(driver("stack %d" % app.pid)["functions"]))
            driver("detach")
            app.wait_unmapped(2)

    def test_exceptions_that_begin_as_signals(self):
        """A sample must not come while the runtime turns a fault into an exception on its small alternate stack."""
        with tools.Names(self.framework, "stumble", "2") as app, tools.Driver(app) as driver:
            driver.attach()
            self.assertGreater(driver("sample 1000 3")["samples"], 30)  # fewer where others want the CPUs, too
            functions = {f["method"] for f in driver("names")["functions"]}
            self.assertLessEqual({"Stumble"}, functions)
            driver("detach")
            app.wait_unmapped(2)
            self.assertFalse(app.ended())

    def test_dynamic_methods_come_and_go(self):
        with tools.Names(self.framework, "churn") as app, tools.Driver(app) as driver:
            driver.attach()
            dynamic, end = [], time.monotonic() + 40
            while len(dynamic) < 3 and time.monotonic() < end:
                driver("sample 1000 2")
                dynamic += [f for f in driver("names")["functions"] if f["dynamic"]]
            self.assertGreaterEqual(len(dynamic), 3)
            for f in dynamic:
                self.assertRegex(f["method"], r"^Dyn\d+$")
            # At most the one that ran at the attach was compiled before it.
            self.assertLessEqual(len({f["method"] for f in dynamic if f["start"] == 0}), 1)
            # Each is compiled once: a later start has a later name.
            ordered = sorted(dynamic, key=lambda f: f["start"])
            numbers = [int(f["method"][3:]) for f in ordered]
            self.assertEqual(numbers, sorted(numbers))
            driver("detach")
            app.wait_unmapped(2)
            self.assertFalse(app.ended())

    def test_assemblies_that_unload_meanwhile(self):
        with tools.Names(self.framework, "collect") as app, tools.Driver(app) as driver:
            driver.attach()
            for _ in range(40):  # new functions to describe in each round, of assemblies that are on their way out
                driver("sample 1000 0.1")
                driver("names")
            cost = driver("detach")
            app.wait_unmapped(3)
            self.assertLess(cost["max_wait_ns"], 50_000_000)
            self.assertFalse(app.ended())


class LibraryNet8(Library, unittest.TestCase):
    framework = "net8.0"


class LibraryNet10(Library, unittest.TestCase):
    framework = "net10.0"


class LibraryNet11(Library, unittest.TestCase):
    framework = "net11.0"

