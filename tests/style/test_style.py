"""Rules of the source that a program can check."""
import itertools
import os
import re
import subprocess
import unittest

from tests.lib import proc

FUNCTION_LINES = 60
FILE_LINES = 500
LINE_COLUMNS = 160
C_PARTS = ("common", "agent", "controller", "profiler")
TABLE_ROW = re.compile(r"\t\{.*\},$")
SECRETIVE = re.compile(r"(?<!\w)/" + "(?:work|root|home/[a-z]+)/|" + r"\.\./" + "shared")
HOSTS = re.compile("|".join(["registry" + r"\.npmjs", "api" + r"\.nuget\.org", "deb" + r"\.debian\.org", "pypi" + r"\.org",
                             "proxy" + r"\.golang\.org", "packages" + r"\.microsoft\.com"]))


def tracked(*endings):
    names = subprocess.run(["git", "ls-files"], cwd=proc.ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return [n for n in names if n and n.endswith(endings or ("",)) and os.path.isfile(os.path.join(proc.ROOT, n))]


def lines_of(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read().split("\n")


def functions(lines):
    """(name, first line, count of lines) of each function: its brace stands alone in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            head = " ".join(lines[max(0, start - 6):start - 1])
            found = re.findall(r"([A-Za-z_0-9]+)\s*\(", head)
            yield (found[-1] if found else "?"), start, number - start - 1
            start = None


class Style(unittest.TestCase):
    one_process = True

    def complain(self, complaints):
        self.assertFalse(complaints, "\n" + "\n".join(complaints))

    def test_functions_are_short(self):
        self.complain(["%s:%d: %d lines (at most %d)" % (name, at, count, FUNCTION_LINES)
                       for name in tracked(".c") for _, at, count in functions(lines_of(name)) if count > FUNCTION_LINES])

    def test_files_are_short(self):
        self.complain(["%s: %d lines (at most %d)" % (name, len(lines_of(name)), FILE_LINES)
                       for name in tracked(".c", ".h", ".py", ".cs") if len(lines_of(name)) > FILE_LINES])

    def test_lines_are_short_and_clean(self):
        complaints = []
        for name in tracked(".c", ".h", ".py", ".sh", ".mk", ".cs", "Makefile"):
            for number, line in enumerate(lines_of(name), 1):
                if len(line.expandtabs(8)) > LINE_COLUMNS and not TABLE_ROW.match(line):
                    complaints.append("%s:%d: %d columns" % (name, number, len(line.expandtabs(8))))
                if line != line.rstrip():
                    complaints.append("%s:%d: white space at the end" % (name, number))
        self.complain(complaints)

    def test_lines_of_scripts_are_short(self):
        """A tab counts as one: they nest more deeply than C does."""
        self.complain(["%s:%d: %d characters" % (name, number, len(line)) for name in tracked(".js")
                       for number, line in enumerate(lines_of(name), 1) if len(line) > LINE_COLUMNS])

    def test_no_buffer_ends_before_it_has_begun(self):
        """AUTO_BUF frees what is in the variable at any way out: nothing may return before something has been put into it."""
        complaints = []
        for name in tracked(".c", ".h"):
            lines = lines_of(name)
            for at, line in enumerate(lines):
                found = re.match(r"\s+AUTO_BUF struct buf ([^;=]+);", line)
                for buffer in found.group(1).split(", ") if found else ():
                    rest = itertools.takewhile(lambda text: text != "}", lines[at + 1:])
                    first = next((text for text in rest if re.search(r"&%s\b|\breturn\b" % buffer, text)), "")
                    if "&" + buffer not in first:
                        complaints.append("%s:%d: %s: %s" % (name, at + 1, buffer, first.strip()))
        self.complain(complaints)

    def test_threads_are_started_in_one_place(self):
        """thread_start() names them and keeps signals from them. The library in other people's processes has a way of its own."""
        known = ("common/base/thread.c", "profiler/base/own_thread.c", "agent/profilers/survivors/survivors.c")
        self.complain(["%s:%d: use thread_start()" % (name, number) for name in tracked(".c") if name.startswith(C_PARTS) and name not in known
                       for number, line in enumerate(lines_of(name), 1) if "pthread_create(" in line])

    def test_c_is_indented_with_tabs(self):
        self.complain(["%s:%d: indented with spaces" % (name, number) for name in tracked(".c", ".h")
                       for number, line in enumerate(lines_of(name), 1) if re.match(r" {4,}[^ *]", line)])

    def test_no_name_of_a_library_is_ours(self):
        own = re.compile(r"^(?!static)(?:inline |const |unsigned |struct \w+ \*?|\w+ \*?)+((?:json|curl|lws|yaml)_\w+)\(")
        self.complain(["%s:%d: %s" % (name, number, own.match(line).group(1)) for name in tracked(".c", ".h")
                       for number, line in enumerate(lines_of(name), 1) if own.match(line) and not line.endswith(";")])

    def test_structs_are_not_hidden_behind_typedefs(self):
        self.complain(["%s:%d: typedef struct" % (name, number) for name in tracked(".c", ".h")
                       for number, line in enumerate(lines_of(name), 1) if re.match(r"typedef (struct|enum|union)\b", line)])

    def test_every_header_says_what_it_is(self):
        self.complain(["%s does not begin with what it is" % name for name in tracked(".h") if not lines_of(name)[0].startswith("/*")])

    def test_nothing_names_this_machine_or_a_registry(self):
        complaints = []
        for name in tracked():
            if name.endswith((".png", ".gz", ".bin")) or "/corpus/" in name:
                continue
            try:
                lines = lines_of(name)
            except UnicodeDecodeError:
                continue
            complaints += ["%s:%d: %s" % (name, number, line.strip()[:100]) for number, line in enumerate(lines, 1)
                           if HOSTS.search(line) or (SECRETIVE.search(line) and name != ".ci/run")]
        self.complain(complaints)


if __name__ == "__main__":
    unittest.main()
