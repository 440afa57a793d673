"""A short piece of what `make soak` and `make soak-leaks` do for hours."""
import os
import re
import threading
import unittest

from tests.resilience.soak import flat, leaks, soak

# Those that bring the most parts together; the hour chooses from all.
ROUNDS = (("process killed", "Allocations"), ("agent killed", "GCSurvivors"), ("controller killed", "CPUHotpaths"))


class SoakTest(unittest.TestCase):
    time_limit = 480

    @unittest.skipIf(soak.UNAVAILABLE, soak.UNAVAILABLE)
    def test_sessions_and_faults(self):
        counts = soak.run(0, seed=4, rounds=ROUNDS)
        self.assertEqual({what.split(":")[0] for what in counts if not what.startswith("beside")}, {"nothing", *(fault for fault, _ in ROUNDS)})

    @unittest.skipIf(leaks.UNAVAILABLE, leaks.UNAVAILABLE)
    def test_the_agent_does_not_grow(self):
        record = leaks.agent(60)
        self.assertGreaterEqual(len(record.looks), 2 * flat.WINDOWS)
        record.check(leaks.AGENT_KB, {"mappings": leaks.MAPPINGS})


class FlatTest(unittest.TestCase):
    def record(self, values):
        made = flat.Record("made up", 0)
        made.looks = [{"anonymous_kb": v, "mappings": 100, "threads": 5, "descriptors": 9} for v in values]
        return made

    def test_growth_is_seen_and_warming_up_is_not_growth(self):
        self.record([100 * i for i in range(10)] + [1000] * 40).check(0)
        self.record([1000, 5000, 1000, 1000, 1000] * 10).check(0)
        with self.assertRaisesRegex(AssertionError, "anonymous_kb grows"):
            self.record([1000 + 10 * i for i in range(50)]).check(200)
        with self.assertRaisesRegex(AssertionError, "too few"):
            self.record([1] * 9).check(0)

    def test_a_step_is_no_steady_growth(self):
        flat_one, step = self.record([1000] * 50), self.record([1000] * 30 + [2500] * 20)
        step.check_against(flat_one, 100, 2000)
        self.record([1000 + 3 * i for i in range(50)]).check_against(self.record([500 + 3 * i for i in range(50)]), 0, 0)
        with self.assertRaisesRegex(AssertionError, "grows steadily"):
            self.record([1000 + 10 * i for i in range(50)]).check_against(flat_one, 100, 2000)
        with self.assertRaisesRegex(AssertionError, "anonymous_kb grows:"):
            step.check_against(flat_one, 100, 1000)

    def test_one_descriptor_is_growth(self):
        record = self.record([0] * 50)
        for look in record.looks[35:]:
            look["descriptors"] += 1
        with self.assertRaisesRegex(AssertionError, "descriptors grows"):
            record.check(0)

    def test_what_grows_is_named(self):
        record, begun = flat.Record("this process", os.getpid()), threading.Event()
        thread = threading.Thread(target=begun.wait, daemon=True)
        for i in range(2 * flat.WINDOWS):
            if i == flat.WINDOWS:
                self.addCleanup(os.close, os.open("/dev/zero", os.O_RDONLY))
                thread.start()
            record.look()
        begun.set()
        thread.join()
        name = next(iter(flat.thread_names(os.getpid())))
        for kind, what in (("threads", name), ("descriptors", "/dev/zero")):
            with self.assertRaisesRegex(AssertionError, "%s grows: .*; more of .*%s \\(1\\)" % (kind, re.escape(what))):
                record.check(1 << 30, {"mappings": 1 << 30, "threads": 1, "descriptors": 1, kind: 0})


if __name__ == "__main__":
    unittest.main()
