"""However a session ends, nothing of it stays in the process: a short selection of what `make soak-profiler` repeats for long."""
import signal
import unittest

from tests.bench import library_cost
from tests.lib import proc
from tests.system.profiler import ordeal, tools


class Leftovers:
    framework = None

    def setUp(self):
        tools.build()

    def test_however_the_agent_ends(self):
        with ordeal.Ordeal(self.framework, seed=self.framework) as o:
            for way in o.WAYS:
                for mode in ordeal.MODES:
                    with self.subTest(way=way, mode=mode):
                        o.suffer(way, mode)

    def test_beside_another_profiler(self):
        with ordeal.Ordeal(self.framework, how=("shapes", "1")) as o:
            with tools.Driver(o.app) as driver:
                driver("load " + tools.tool("other_profiler.so"))
            o.before = ordeal.Remains(o.app)
            for way, mode in (("normal", "timers"), ("killed", "timers"), ("dropped", "outside"), ("refused", "outside")):
                with self.subTest(way=way):
                    o.suffer(way, mode)
            with open("/proc/%d/maps" % o.app.pid) as f:
                self.assertIn("other_profiler.so", f.read())

    def test_a_session_under_way_is_seen(self):
        with ordeal.Ordeal(self.framework) as o, tools.Driver(o.app) as driver:
            self.assertEqual(ordeal.Remains(o.app).beyond(o.before), {})
            o.attach(driver)
            session = {"descriptors", "maps", "threads"}
            proc.wait_until(lambda: set(ordeal.Remains(o.app).beyond(o.before)) == session, 10, "traces of the session")
            driver.send("sample 99 1")
            session |= {"timers"}
            proc.wait_until(lambda: set(ordeal.Remains(o.app).beyond(o.before)) == session, 10, "traces of the sampling")
            self.assertTrue(driver.answer()["ok"])
            driver("detach")
            o.check()


class LeftoversNet8(Leftovers, unittest.TestCase):
    framework = "net8.0"

    def test_the_process_is_asked_to_end_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "timers", signal.SIGTERM), 143)


class LeftoversNet10(Leftovers, unittest.TestCase):
    framework = "net10.0"

    def test_the_process_is_killed_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "outside", signal.SIGKILL), -signal.SIGKILL)


class LeftoversNet11(Leftovers, unittest.TestCase):
    framework = "net11.0"

    def test_fifty_sessions_in_a_row_do_not_add_up(self):
        self.assertLessEqual(ordeal.growth_kb(self.framework, 50, "outside"), 1024)

    def test_the_process_ends_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "timers", "itself"), 0)

    def test_it_adds_less_than_a_megabyte(self):
        row = library_cost.measure(self.framework, "timers", 1)
        self.assertGreater(row["later"]["library_kb"], 100)
        for which in ("first", "later"):
            self.assertLess(row[which]["added_kb"], 1024)
