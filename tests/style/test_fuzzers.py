"""Every parser of bytes from outside has a fuzzer: tests/fuzz/parsers.txt lists them, and is held to the headers."""
import glob
import os
import re
import tempfile
import unittest

from tests.fuzz.long import fuzz, record
from tests.lib import proc


class Fuzzers(unittest.TestCase):
    one_process = True

    def test_each_parser_has_one(self):
        self.assertGreater(len(record.definitions()), 500)
        self.assertFalse(record.unlisted())

    def test_the_list_names_what_there_is(self):
        wrong, used = [], set()
        for source, names in record.parsers().items():
            used.update(names)
            if not os.path.exists(os.path.join(proc.ROOT, source)):
                wrong.append("no such file: " + source)
            wrong += ["%s: no such fuzzer: %s" % (source, n) for n in names if n not in record.fuzzers()]
        wrong += ["tests/fuzz/fuzz_%s.c feeds no parser of the list" % n for n in record.fuzzers() if n not in used]
        wrong += ["tests/fuzz/corpus/%s has no seed" % n for n in record.fuzzers() if not glob.glob(os.path.join(fuzz.SEEDS, n, "*"))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_the_document_says_how_far_each_reaches(self):
        document = record.text_of(fuzz.DOCUMENT)
        missing = [s for s, names in record.parsers().items() if names and "| `%s` |" % s not in document]
        missing += [n for n in record.fuzzers() if not re.search(r"^\| %s \|" % n, document, re.M)]
        self.assertFalse(missing, "\nnot in docs/fuzzing.md (make fuzz-coverage):\n" + "\n".join(missing))


class Record(unittest.TestCase):
    """How long each has run: what counts for a release."""
    one_process = True

    def test_time_on_the_same_sources_adds_up(self):
        past = record.added(record.added(None, "a", 100, 7, "2026-01-01"), "a", 50.26, 3, "2026-01-02")
        self.assertEqual(past, {"state": "a", "seconds": 150.3, "executions": 10, "earlier_seconds": 0, "earlier_executions": 0, "last": "2026-01-02"})

    def test_time_on_other_sources_is_kept_apart(self):
        past = record.added(record.added(None, "a", 100, 7, "2026-01-01"), "b", 1, 1, "2026-01-02")
        self.assertEqual((past["state"], past["seconds"], past["executions"], past["earlier_seconds"], past["earlier_executions"]), ("b", 1, 1, 100, 7))

    def test_a_release_needs_an_hour_of_each_on_its_sources(self):
        hour = record.added(None, "a", 3600, 7, "2026-01-01")
        rows = [({"x": hour}, {"x": "a"}, []),
                ({"x": {**hour, "seconds": 3599.9}}, {"x": "a"}, ["fuzz_x has run for 59 of 60 minutes on these sources"]),
                ({"x": hour}, {"x": "b"}, ["fuzz_x has run for 0 of 60 minutes on these sources, 60 on earlier ones"]),
                ({"x": hour}, {"x": "a", "y": "a"}, ["fuzz_y has run for 0 of 60 minutes on these sources"]),
                ({"x": hour, "gone": {}}, {"x": "a"}, [])]
        for table, states, wrong in rows:
            self.assertEqual(record.lacking(table, states, 3600), wrong)

    def test_the_record_names_fuzzers_that_there_are(self):
        self.assertLessEqual(set(record.runs()), set(record.fuzzers()))

    def test_a_parsers_change_is_another_state(self):
        listed, source = record.parsers(), "common/proto/wire.c"
        self.assertIn("wire", listed[source])
        before, real = record.state("wire"), record.text_of
        record.text_of = lambda path: real(path) + ("/* more */" if path == source else "")
        self.addCleanup(setattr, record, "text_of", real)
        self.assertNotEqual(record.state("wire"), before)

    def test_turns_go_to_the_one_that_has_run_least(self):
        with tempfile.TemporaryDirectory() as folder:
            real, record.RUNS = record.RUNS, os.path.join(folder, "runs.json")
            self.addCleanup(setattr, record, "RUNS", real)
            rounds = fuzz.Rounds({"x": "fresh", "y": "fresh"}, 300, 120)
            self.assertEqual([rounds.take(), rounds.take(), rounds.take()], [("x", 120), ("y", 120), None])
            rounds.give_back("y", 60, None)
            rounds.give_back("x", 119, None)
            self.assertEqual(rounds.take(), ("y", 120))
            rounds.give_back("y", 200, None)
            self.assertEqual(rounds.take()[0], "x")
            rounds.give_back("x", 1, "it broke")
            self.assertEqual(rounds.take(), ("y", 40))
            rounds.give_back("y", 40, None)
            self.assertEqual((rounds.take(), list(rounds.broke)), (None, ["x"]))


if __name__ == "__main__":
    unittest.main()
