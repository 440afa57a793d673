"""The library under AddressSanitizer and UBSan inside real runtimes: a session of each profiler, and some that are ended from outside.
`make soak-checked` goes on for longer, with more applications."""
import unittest

from tests.profiler import checked, tools

CHECKER = checked.asan()
WORDS = {"Allocations": ("--duration", "2s"), "GCSurvivors": (), "DuplicatedStrings": ()}


@unittest.skipIf(CHECKER.missing(), CHECKER.missing())
class Checked(unittest.TestCase):
    """One process for each runtime."""
    parallel = True
    time_limit = 300

    @classmethod
    def setUpClass(cls):
        tools.build_sanitized()
        cls.enterClassContext(CHECKER)

    def look(self, framework, load):
        with checked.Patient(CHECKER, framework, load) as p:
            with open("/proc/%d/maps" % p.app.pid) as f:
                self.assertIn("libasan", f.read())
            for profiler in checked.PROFILERS:
                with self.subTest(profiler=profiler):
                    p.session(profiler, *WORDS.get(profiler, ("--duration", "1s")))
            for way in ("canceled", "killed"):
                with self.subTest(way=way):
                    p.disturbed("Allocations", way)

    def test_net8(self):
        self.look("net8.0", "alloc")

    def test_net9(self):
        self.look("net9.0", "heap")

    def test_net10(self):
        self.look("net10.0", "sites")


if __name__ == "__main__":
    unittest.main()
