#!/usr/bin/env python3
"""`make check`: the style tests, and the unit tests of what has changed since a commit (HEAD unless SINCE says another): of each changed .c or .h
file tests/unit/**/test_<its name>.c where there is one, and the changed unit tests themselves. Exit code 1: something failed."""
import glob
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))


def changed(since):
    names = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", since], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    new = subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return names + new


def unit_programs(names):
    """The unit test programs of these files."""
    found = set()
    for name in names:
        base, kind = os.path.splitext(os.path.basename(name))
        if kind in (".c", ".h"):
            pattern = name if name.startswith("tests/unit/") else "tests/unit/**/test_%s.c" % base
            found.update(glob.glob(pattern, root_dir=ROOT, recursive=True))
    return sorted("build/asan/unit/" + name[len("tests/unit/"):-len(".c")] for name in found if os.path.basename(name).startswith("test_"))


def main():
    failed = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", "tests/style", "-t", "."], cwd=ROOT).returncode != 0
    programs = unit_programs(changed(os.environ.get("SINCE") or "HEAD"))
    if programs:
        failed |= subprocess.run(["make", "--no-print-directory", "-j%d" % os.cpu_count(), "FLAVOUR=asan", *programs], cwd=ROOT).returncode != 0
    for program in programs:
        print(program, flush=True)
        failed |= not os.path.exists(os.path.join(ROOT, program)) or subprocess.run([os.path.join(ROOT, program)], cwd=ROOT).returncode != 0
    print("check: %s, %d unit test programs" % ("FAILED" if failed else "passed", len(programs)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
