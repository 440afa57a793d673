"""What users read is idiomatic English: phrases that were found in it and are not, and what to write instead."""
import re
import unittest

from tests.style import words
from tests.style.test_style import lines_of, tracked

BANNED = {
    r"tears? the heap": "fragments the heap",
    r"lets? go of": "releases, or: the last reference to it is gone",
    r"(was|were|is|are) not to be had": "was unavailable",
    r"could be had\b": "is available",
    r"worth a word": "notable",
    r"is no \.NET process": "is not a .NET process",
    r"seen from here": "visible to this user",
    r"waits? for its collection": "not yet collected",
    r"none makes dense": "not compacted by default",
    r"the library left\b": "the profiler detached",
    r"(starts?|started|stops?|stopped) and do not end": "never exit",
    r"finds? no room": "does not fit",
    r"[Nn]obody\.\"": "None",
    r"[Ww]ho holds (it|them)\b": "what retains it",
    r"strongest way": "the main path",
    r"leapt": "jumped",
}
WORDS = re.compile(r'"(?:[^"\\]|\\.)*"')


def shown(name):
    """(line, text) of what users may read in this file: texts of C and JavaScript, whole lines of pages, manifests and documents."""
    code = name.endswith((".c", ".h", ".js"))
    for number, line in enumerate(lines_of(name), 1):
        if code and not re.match(r"\s*(#include|\*|/\*|//)", line):
            yield from ((number, text) for text in WORDS.findall(line.split("/*")[0]) if " " in text)
        elif not code:
            yield number, line


class Words(unittest.TestCase):
    one_process = True

    def test_no_phrase_is_banned(self):
        parts = ("agent/", "common/", "controller/", "crds/", "deploy/", "docs/", "README.md")
        names = [n for n in tracked(".c", ".h", ".js", ".html", ".yaml", ".md") if n.startswith(parts) and not n.startswith("docs/decisions/")]
        found = ["%s:%d: %s -> %s" % (name, number, re.search(phrase, text).group(), better) for name in names for number, text in shown(name)
                 for phrase, better in BANNED.items() if re.search(phrase, text)]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_no_more_words_of_our_own_than_before(self):
        """The style guide's words (words.py): the counts may only fall."""
        allowed, now = words.allowed(), words.counted()
        more = ["%s, %s: %d, at most %d (python3 tests/style/words.py %s %s lists them)" % (part, kind, n, allowed[part][kind], part, kind)
                for part, of in now.items() for kind, n in of.items() if n > allowed[part][kind]]
        self.assertFalse(more, "\n" + "\n".join(more))


if __name__ == "__main__":
    unittest.main()
