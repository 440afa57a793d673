"""docs/fault-matrix.md names tests that exist. (That its rows are true is asserted by those tests.)"""
import os
import re
import unittest

from tests.lib import matrix


class FaultMatrix(unittest.TestCase):
    def test_each_row_has_a_test(self):
        for name in matrix.tests():
            module, cls, method = name.rsplit(".", 2)
            path = os.path.join(matrix.ROOT, module.replace(".", "/") + ".py")
            self.assertTrue(os.path.exists(path), name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertRegex(text, r"class %s\b" % re.escape(cls), name)
            self.assertIn("def %s(" % method, text, name)

    def test_the_grid_is_made_of_the_rows(self):
        with open(matrix.DOCUMENT, encoding="utf-8") as f:
            grid = matrix.between(f.read(), matrix.GRID_BEGIN, matrix.GRID_END)
        self.assertEqual(grid.strip(), matrix.grid(matrix.read()[matrix.GRID_PART]).strip(), "tests/lib/matrix.py writes it anew")


if __name__ == "__main__":
    unittest.main()
