"""What crds/generate.py makes of the definitions is there as it makes it."""
import os
import sys
import unittest

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
