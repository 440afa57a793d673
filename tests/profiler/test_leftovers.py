"""However a session ends, nothing of it stays in the process: a short selection of what `make soak-profiler` repeats for long."""
import signal
import unittest

from tests.lib import proc
from tests.profiler import ordeal, tools


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

    def test_a_session_under_way_is_seen(self):
        with ordeal.Ordeal(self.framework) as o, tools.Driver(o.app) as driver:
            self.assertEqual(ordeal.Remains(o.app).beyond(o.before), {})
            o.attach(driver)
            seen = proc.wait_until(lambda: self.seen(o, 3), 5, "map, thread and descriptors of the session")
            self.assertEqual(sorted(seen), ["descriptors", "maps", "threads"])
            self.assertEqual(seen["descriptors"], {"socket:": 1, "[eventfd]": 1})
            driver.send("sample 99 1")
            seen = proc.wait_until(lambda: self.seen(o, 5), 5, "timers and the handler of the sampling")
            self.assertEqual(sorted(seen), ["descriptors", "maps", "signals", "threads", "timers"])
            self.assertTrue(driver.answer()["ok"])
            driver("detach")
            o.check()

    def seen(self, o, kinds):
        found = ordeal.Remains(o.app).beyond(o.before)
        return found if len(found) >= kinds else None


class LeftoversNet8(Leftovers, unittest.TestCase):
    framework = "net8.0"

    def test_the_process_is_asked_to_end_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "timers", signal.SIGTERM), 143)


class LeftoversNet9(Leftovers, unittest.TestCase):
    framework = "net9.0"

    def test_the_process_is_killed_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "outside", signal.SIGKILL), -signal.SIGKILL)


class LeftoversNet10(Leftovers, unittest.TestCase):
    framework = "net10.0"

    def test_the_process_ends_in_the_middle(self):
        self.assertEqual(ordeal.end_of_the_process(self.framework, "timers", "itself"), 0)
