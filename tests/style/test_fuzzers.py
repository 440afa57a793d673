"""Every parser of bytes from outside has a fuzzer: tests/fuzz/parsers.txt lists them, and is held to the headers."""
import glob
import os
import re
import unittest

from tests.fuzz import fuzz
from tests.lib import proc

PARSES = re.compile(r"^[a-z][\w \*]*?\b(\w+_(?:parse|decode|from_json|from_hex|inspect|read|load|unescape)(?:_\w+)?)\(", re.M)


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def definitions():
    """{function: file} of all that is not static."""
    found = {}
    for path in glob.glob(os.path.join(proc.ROOT, "*/**/*.c"), recursive=True):
        name = os.path.relpath(path, proc.ROOT)
        if name.split("/")[0] in ("common", "agent", "controller", "profiler"):
            for function in re.findall(r"^(?!static)[a-z][\w \*]*?\b(\w+)\([^;{]*\)\n\{", text_of(path), re.M):
                found[function] = name
    return found


class Fuzzers(unittest.TestCase):
    one_process = True

    def test_each_parser_has_one(self):
        where, listed, missing = definitions(), fuzz.parsers(), []
        for header in glob.glob(os.path.join(proc.ROOT, "*/**/*.h"), recursive=True):
            if os.path.relpath(header, proc.ROOT).split("/")[0] not in ("common", "agent", "controller", "profiler"):
                continue
            for function in PARSES.findall(text_of(header)):
                if function in where and where[function] not in listed:
                    missing.append("%s: %s() is in no line of tests/fuzz/parsers.txt" % (where[function], function))
        self.assertGreater(len(where), 500)
        self.assertFalse(missing, "\n" + "\n".join(missing))

    def test_the_list_names_what_there_is(self):
        wrong, used = [], set()
        for source, names in fuzz.parsers().items():
            used.update(names)
            if not os.path.exists(os.path.join(proc.ROOT, source)):
                wrong.append("no such file: " + source)
            wrong += ["%s: no such fuzzer: %s" % (source, n) for n in names if n not in fuzz.fuzzers()]
        wrong += ["tests/fuzz/fuzz_%s.c feeds no parser of the list" % n for n in fuzz.fuzzers() if n not in used]
        wrong += ["tests/fuzz/corpus/%s has no seed" % n for n in fuzz.fuzzers() if not glob.glob(os.path.join(fuzz.SEEDS, n, "*"))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_the_document_says_how_far_each_reaches(self):
        document = text_of(fuzz.DOCUMENT)
        missing = [s for s, names in fuzz.parsers().items() if names and "| `%s` |" % s not in document]
        missing += [n for n in fuzz.fuzzers() if not re.search(r"^\| %s \|" % n, document, re.M)]
        self.assertFalse(missing, "\nnot in docs/fuzzing.md (make fuzz-coverage):\n" + "\n".join(missing))


if __name__ == "__main__":
    unittest.main()
