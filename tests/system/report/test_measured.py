"""What reports measured, of all that were recorded (tests/captures): no share is more than all of it, and no rate is made of one event or one look."""
import glob
import json
import os
import re
import unittest

from tests.lib import proc

RATE = re.compile(r"Per(Cpu)?(Second|Minute|Hour)$")
# how much there is of what a rate counts; of memory, how often it was looked at
COUNTS = ("samples", "counted", "waits", "walks", "requests", "looks")


def recorded():
    for name in sorted(glob.glob(os.path.join(proc.ROOT, "tests/captures/*/*.json"))):
        with open(name, encoding="utf-8") as f:
            yield os.path.relpath(name, proc.ROOT), json.load(f)["measured"]


class Measured(unittest.TestCase):
    def test_no_share_is_more_than_all_of_it(self):
        shares = [(name, key, value) for name, numbers in recorded() for key, value in numbers.items() if key.endswith("Percent") and value is not None]
        self.assertGreater(len(shares), 500, "they are read")
        self.assertEqual([x for x in shares if not 0 <= x[2] <= 100], [])

    def test_no_rate_is_made_of_one_event(self):
        rates = [(name, key, value, numbers) for name, numbers in recorded() for key, value in numbers.items() if RATE.search(key) and value]
        self.assertGreater(len(rates), 30, "they are read")
        for name, key, value, numbers in rates:
            counts = [numbers[c] for c in COUNTS if numbers.get(c) is not None]
            self.assertTrue(counts, "%s: of what %s is made is not recorded" % (name, key))
            self.assertGreaterEqual(max(counts), 2, "%s: %s" % (name, key))
            self.assertGreater(numbers["seconds"], 0, "%s: %s" % (name, key))
            if not key.startswith(("bytes", "least")):
                self.assertGreaterEqual(round(value * numbers["seconds"] / (60 if "Minute" in key else 1), 1), 2, "%s: %s" % (name, key))


if __name__ == "__main__":
    unittest.main()
