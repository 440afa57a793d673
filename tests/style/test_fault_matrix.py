"""The fault matrix names tests that exist, and its document is made of its rows. (That the rows are true is asserted by those tests.)"""
import os
import re
import unittest

from tests.lib import matrix


class FaultMatrix(unittest.TestCase):
    def test_each_row_has_a_test(self):
        self.assertGreater(len(matrix.tests()), 100)
        for name in matrix.tests():
            module, cls, method = name.rsplit(".", 2)
            path = os.path.join(matrix.ROOT, module.replace(".", "/") + ".py")
            self.assertTrue(os.path.exists(path), name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertRegex(text, r"class %s\b" % re.escape(cls), name)
            self.assertIn("def %s(" % method, text, name)

    def test_the_document_is_made_of_the_rows(self):
        with open(matrix.DOCUMENT, encoding="utf-8") as f:
            told = matrix.between(f.read(), matrix.BEGIN + "\n", matrix.END)
        self.assertEqual(told, matrix.document(matrix.read()), "tests/lib/matrix.py writes it anew")

    def test_rows_are_read_as_they_were_written(self):
        with open(matrix.ROWS, encoding="utf-8") as f:
            self.assertEqual(f.read(), matrix.rows_text(matrix.read()))
        order = ["a", "b", "c", "d"]
        for steps in (["a"], ["a", "b", "c", "d"], ["b", "c", "a"], ["d", "c"], ["a", "c", "d"]):
            spans = matrix.spans_of(steps, order)
            self.assertEqual([s for span in spans for s in matrix.steps_of(span, order)], steps)
        self.assertEqual(matrix.spans_of(["a", "b", "d"], order), ["a ... b", "d"])

    def test_a_grid_tells_each_row(self):
        rows = [("one", "x", "Completed; report delivered", "t"), ("two", "x", "Completed; report delivered", "t"), ("three", "x", "Gone; no report", "t"),
                ("three", "y", "Canceled; report delivered", "t"), ("three", "y", "Gone; no report", "t")]
        grid = matrix.grid(rows, {"x": "A", "y": "B"})
        self.assertEqual(grid.split("\n")[2:], ["| one ... two | ✓ |  |", "| three | Gone | ✓ Canceled / Gone |", ""])


if __name__ == "__main__":
    unittest.main()
