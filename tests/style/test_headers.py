"""Who looks for a function's contract finds it in the header of the function's own file."""
import collections
import os
import re
import unittest

from tests.style.test_style import C_PARTS, functions, lines_of, tracked

EXCEPTIONS = "tests/style/headers.txt"
DECLARED = re.compile(r"\b(\w+)\(")


def read_exceptions():
    """{file.c: the header that declares its functions, "-": none}"""
    rows = [line.split(":", 1) for line in lines_of(EXCEPTIONS) if line and not line.startswith("#")]
    return {name: rest.split()[0] for name, rest in rows}


def head_of(lines, brace):
    """What stands before a function's brace, comments and directives left out."""
    head, at = [], brace - 2
    while at >= 0 and lines[at] and lines[at][0] not in "}/#*" and not lines[at].endswith((";", "*/")):
        head.insert(0, lines[at])
        at -= 1
    return " ".join(head)


def public_functions(name):
    lines = lines_of(name)
    for _, brace, _ in functions(lines):
        head = head_of(lines, brace)
        found = re.match(r"(?!static\b|enum \w+ $|struct \w+ $)[A-Za-z].*?\b(\w+)\(", head)
        if found and found.group(1) not in ("main", "Test"):
            yield found.group(1)


def declarations():
    """{function: the headers that declare it}"""
    out = collections.defaultdict(set)
    for name in tracked(".h"):
        if name.split("/")[0] in C_PARTS:
            for line in lines_of(name):
                if re.match(r"[A-Za-z]", line) and not line.startswith(("static", "typedef")):
                    by_type = re.match(r"\w+_fn (.*);", line)  # "report_diff_fn report_diff_cpu, report_diff_leak;"
                    for function in re.findall(r"\w+", by_type.group(1)) if by_type else DECLARED.findall(line)[:1]:
                        out[function].add(name)
    return out


class Headers(unittest.TestCase):
    one_process = True

    def test_functions_are_declared_in_their_own_header(self):
        declared, exceptions, used, complaints = declarations(), read_exceptions(), set(), []
        for name in tracked(".c"):
            if name.split("/")[0] not in C_PARTS:
                continue
            for function in public_functions(name):
                headers = declared.get(function, set())
                room = os.path.dirname(name)
                if any(h == name[:-2] + ".h" or (h.endswith("_private.h") and os.path.dirname(h) == room) for h in headers):
                    continue
                if exceptions.get(name) in headers | {"-"}:
                    used.add(name)
                    continue
                complaints.append("%s: %s() is declared in %s" % (name, function, ", ".join(sorted(headers)) or "no header: make it static"))
        complaints += ["%s: %s needs no exception any more" % (EXCEPTIONS, name) for name in sorted(set(exceptions) - used)]
        self.assertFalse(complaints, "\n" + "\n".join(complaints))


if __name__ == "__main__":
    unittest.main()
