"""The library under AddressSanitizer and UBSan inside real runtimes: a session of each profiler, and some that are ended from outside.
`make soak-checked` goes on for longer, with more applications."""
import signal
import unittest

from tests.lib import local, proc
from tests.system.profiler import checked, tools

CHECKER = checked.asan()


@unittest.skipIf(CHECKER.missing(), CHECKER.missing())
class Checked(unittest.TestCase):
    """One process for each runtime."""
    time_limit, needs = 300, "asan"

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
                    self.assertIn(p.session(profiler), ("", "HeapWalkTorn"))  # the application collects garbage all the time
            with self.subTest(profiler="CPUHotpaths by timers"):
                self.assertEqual(p.session("CPUHotpaths", 2, "--frequency", "999", under=local.WITHOUT_PERF), "")
            self.check_which(p)
            for way in ("canceled", "killed"):
                with self.subTest(way=way):
                    p.disturbed("Allocations", way)

    def check_which(self, patient):
        with open(checked.SANITIZED, "rb") as f:
            wanted = f.read()
        session = patient.start("Allocations", 60)
        try:
            self.assertEqual(len(proc.wait_until(patient.loaded, 60, "the library in the process")), len(wanted))
        finally:
            session.send_signal(signal.SIGINT)
            session.communicate(timeout=checked.WAIT)

    def test_net8(self):
        self.look("net8.0", "alloc")

    def test_net10(self):
        self.look("net10.0", "heap")

    def test_net11(self):
        self.look("net11.0", "sites")


if __name__ == "__main__":
    unittest.main()
