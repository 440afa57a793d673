"""What crds/generate.py makes of the definitions is there as it makes it."""
import os
import sys
import unittest
from unittest import mock

from tests.lib import proc

sys.path.insert(0, os.path.join(proc.ROOT, "crds"))
import generate  # noqa: E402


class Generated(unittest.TestCase):
    def test_every_file_is_up_to_date(self):
        made = generate.outputs()
        self.assertIn("legacy/drdotnet.dev_profilingtriggers.yaml", made)
        for path, lines in made.items():
            with self.subTest(path=path), open(os.path.join(proc.ROOT, "crds", path), encoding="utf-8") as f:
                self.assertEqual(f.readlines(), lines, "run: crds/generate.py")

    def test_a_new_profiler_is_in_it_by_its_row(self):
        row = {"name": "ThreadStalls", "key": "threadStalls", "seconds": 45, "budget": 200, "settings": ["WALKS"], "question": "who waits for whom?"}
        rows = generate.profilers()
        with mock.patch.object(generate, "profilers", return_value=[*rows, row]):
            made = generate.outputs()
        text = "".join(made[generate.SESSIONS])
        for part in (rows[-1]["name"] + ", ThreadStalls]", "ThreadStalls: who waits for whom?", "45 for ThreadStalls, 60 for RuntimePauses",
                     "self.profiler == 'ThreadStalls' ? 45 : ", "threadStalls is immutable", "threadStalls belongs to the profiler ThreadStalls",
                     "              threadStalls:\n                description: Settings of ThreadStalls.\n"):
            self.assertEqual(text.count(part), 1, part)
        trigger = "".join(made[generate.TRIGGERS])
        self.assertEqual((trigger.count("threadStalls:"), trigger.count("threadStalls is immutable")), (1, 0))
