"""A minute of what `make soak-strangers` does for ten minutes beside each profiler."""
import unittest

from tests.resilience.soak import strangers


class StrangersTest(unittest.TestCase):
    time_limit = 480

    def test_no_answer_is_lost_or_wrong_beside_any_profiler(self):
        told = {}
        strangers.run(3, seed=7, tell=told.__setitem__)
        self.assertEqual(told.keys(), strangers.PROFILERS.keys())
        for profiler, counts in told.items():
            self.assertGreater(counts["answered"], 100, profiler)


if __name__ == "__main__":
    unittest.main()
