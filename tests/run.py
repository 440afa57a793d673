#!/usr/bin/env python3
"""Runs the tests: unit programs under sanitizers, fuzzers for some seconds each, Python suites. Each test is a process of
its own with its own time limit. Prints one line a test and ends with the counts; fails when a test failed or none ran.
A Python test that fails runs once more when all others are done, with the machine for itself; if it passes then, it counts as passed
and is listed as FLAKY with what went wrong: such a test is to be mended. Where many fail, nothing is tried again.

usage: run.py [--only TEXT] [--list] [--jobs N] [--fuzz-seconds N]
  --only TEXT   only tests whose name contains it (may be given several times: any of them)
"""
import argparse
import concurrent.futures
import glob
import itertools
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
UNIT_SECONDS = 120
PYTHON_SECONDS = 180
GROUP_SECONDS = 480  # for tests that share a process
OUTPUT_LINES = 60
SLOWEST = 8
SECOND_TRIES = 6


class Result:
    def __init__(self, name, outcome, seconds=0.0, text=""):
        self.name, self.outcome, self.seconds, self.text = name, outcome, seconds, text


class Tally:
    """Prints results as they come; one line each, the output of a failed test after it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failed, self.skipped, self.slow, self.flaky = [], [], [], []
        self.doubtful = {}  # name: (test, first result)
        self.start = time.monotonic()

    def add(self, result):
        with self.lock:
            self.counts[result.outcome] += 1
            self.slow.append((result.seconds, result.name))
            note = " (%s)" % result.text if result.outcome == "skipped" else ""
            print("%-7s %s %.1fs%s" % (result.outcome, result.name, result.seconds, note), flush=True)
            if result.outcome == "failed":
                self.failed.append(result)
                self.show(result)
            elif result.outcome == "skipped":
                self.skipped.append("%s (%s)" % (result.name, result.text))

    @staticmethod
    def show(result):
        for line in result.text.splitlines()[-OUTPUT_LINES:]:
            print("        | " + line, flush=True)

    def first_try(self, tests):
        """A function that takes results of these Python tests: a failure is kept for the second try."""
        by_name = {t["name"]: t for t in tests}

        def report(result):
            if result.outcome != "failed":
                return self.add(result)
            with self.lock:
                print("%-7s %s %.1fs" % ("again?", result.name, result.seconds), flush=True)
                self.show(result)
                self.doubtful[result.name] = (by_name[result.name], result)
        return report

    def second_try(self, result):
        if result.outcome == "passed":
            self.flaky.append(self.doubtful[result.name][1])
        self.add(result)

    def finish(self):
        for seconds, name in sorted(self.slow, reverse=True)[:SLOWEST]:
            print("SLOW    %s %.1fs" % (name, seconds))
        print("all took %.0fs" % (time.monotonic() - self.start))
        for name in self.skipped:
            print("SKIPPED " + name)
        if self.skipped:
            print("%d skipped, for the reasons above" % len(self.skipped))
        for result in self.flaky:
            print("FLAKY   %s (%s)" % (result.name, reason(result.text)))
        for result in self.failed:
            print("FAILED  %s (%s)" % (result.name, reason(result.text)))
        print("%(passed)d passed, %(failed)d failed" % self.counts, flush=True)
        return 0 if self.counts["passed"] and not self.counts["failed"] else 1


def reason(text):
    """The line of a traceback that says what was wrong."""
    found = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|Expired|Exit)\b.*", text, re.M)
    return (found or text.strip().splitlines() or ["no word"])[0][:200]


MARK = "DRDOTNET_TEST_RUN"  # in the environment of all that a test starts, so that what it leaves is found
marks = itertools.count()


def marked(mark):
    """The pids of processes whose mark begins so."""
    wanted = ("%s=%s" % (MARK, mark)).encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if any(value.startswith(wanted) for value in f.read().split(b"\0")):
                    yield int(pid)
        except OSError:
            continue


def sweep(mark):
    """Ends what a test has left running, whatever session or namespace it is in."""
    for _ in range(20):
        left = [pid for pid in marked(mark) if pid != os.getpid()]
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.05)


def run(words, seconds, env=None):
    """(exit code or None at the time limit, output, seconds taken); what it started is ended with it."""
    start = time.monotonic()
    mark = "%d-%d." % (os.getpid(), next(marks))
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT,
                                 env={**os.environ, MARK: mark, **(env or {})}, start_new_session=True)
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            child.kill()
            child.wait()
        sweep(mark)
        out.seek(0)
        return code, out.read().decode(errors="replace"), time.monotonic() - start


# unit programs (criterion) --------------------------------------------------------------------------------------------
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def unit_programs(flavour):
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/unit/*/test_*.c"))):
        name = os.path.relpath(source, os.path.join(ROOT, "tests/unit"))[:-2]
        if flavour == "tsan" and not is_threaded(source):
            continue
        yield "unit/%s (%s)" % (name, flavour), os.path.join(ROOT, "build", flavour, "unit", name)


def is_threaded(source):
    with open(source) as f:
        return re.search(r"\bpthread_|tsan", f.read()) is not None


def run_unit(name, program, report):
    if not os.access(program, os.X_OK):
        return report(Result(name, "failed", text="it is not built: " + program))
    words = [program, "--tap=-", "-j1", "--timeout", str(UNIT_SECONDS // 2)]
    if program.startswith(os.path.join(ROOT, "build/tsan")):
        words = ["setarch", "-R"] + words  # ThreadSanitizer needs addresses where it expects them
    code, text, seconds = run(words, UNIT_SECONDS, SANITIZER_ENV)
    cases = parse_tap(text)
    for case, outcome, note in cases:
        report(Result("%s %s" % (name, case), outcome, seconds / max(1, len(cases)), note or text))
    if code is None:
        report(Result(name, "failed", seconds, "time limit\n" + text))
    elif not cases or (code != 0 and all(c[1] != "failed" for c in cases)):
        report(Result(name, "failed", seconds, "exit code %s\n%s" % (code, text)))


def parse_tap(text):
    """[(case, outcome, note)] of the Test Anything Protocol's lines, as criterion writes them."""
    cases = []
    for line in text.splitlines():
        found = re.match(r"(not )?ok\s+(?:\d+\s+)?-\s+(\S+)(.*)", line)
        if found:
            skip = re.search(r"#\s*SKIP\s*(.*)", found.group(3), re.I)
            cases.append((found.group(2), "failed" if found.group(1) else "skipped" if skip else "passed",
                          skip.group(1) or "said by the test" if skip else ""))
    return cases


# fuzzers --------------------------------------------------------------------------------------------------------------
def run_fuzzer(name, program, corpus, seconds, report):
    if not os.access(program, os.X_OK):
        if not shutil.which("clang") and not shutil.which("clang-14"):
            return report(Result(name, "skipped", text="no clang"))
        return report(Result(name, "failed", text="it is not built: " + program))
    with tempfile.TemporaryDirectory() as work:
        places = [work] + ([corpus] if os.path.isdir(corpus) else [])
        code, text, taken = run([program, "-max_total_time=%d" % seconds, "-timeout=10", "-rss_limit_mb=1024",
                                 "-artifact_prefix=%s/build/fuzz-" % ROOT, *places], seconds + 60)
    report(Result(name, "passed" if code == 0 else "failed", taken, text))


# Python suites --------------------------------------------------------------------------------------------------------
# A class may say: `time_limit` seconds (a method too), `one_process` when its methods share what setUpClass makes, `parallel` when it
# is quick work for the processor, `alone` when it must have the machine for itself. All others run beside each other, the longest first.
LIST = """
import json, sys, unittest
def walk(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite): yield from walk(t)
        else: yield t
loader = unittest.TestLoader()
tests = list(walk(loader.loadTestsFromName(sys.argv[1])))
def about(t):
    limit = getattr(getattr(t, t._testMethodName, None), "time_limit", getattr(t, "time_limit", None))
    return {"name": t.id(), "limit": limit, "group": t.id().rpartition(".")[0] if getattr(t, "one_process", False) else t.id(),
            "parallel": getattr(t, "parallel", False), "alone": getattr(t, "alone", False)}
print(json.dumps({"errors": loader.errors, "tests": [about(t) for t in tests]}))
"""
# Runs what is named; one JSON line a finished test goes into the file.
ONE = """
import json, sys, time, unittest
class Result(unittest.TextTestResult):
    def startTest(self, test):
        self.began, self.bad = time.monotonic(), []
        super().startTest(test)
    def say(self, test, outcome, text=""):
        with open(sys.argv[1], "a") as f:
            f.write(json.dumps({"name": test.id(), "outcome": outcome, "seconds": time.monotonic() - getattr(self, "began", time.monotonic()),
                                "text": text}) + "\\n")
    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(test, "passed")
    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "failed", self.failures[-1][1])
    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "failed", self.errors[-1][1])
    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.say(test, "failed", str(subtest) + "\\n" + (self.failures + self.errors)[-1][1])
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skipped", reason.replace("\\n", " "))
suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:])
unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Result).run(suite)
"""


def python_groups(report):
    """Lists of tests that share a process; a file that cannot be loaded is a failure."""
    groups = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/**/test_*.py"), recursive=True)):
        module = os.path.relpath(path, ROOT)[:-3].replace("/", ".")
        code, text, _ = run([sys.executable, "-c", LIST, module], 60)
        try:
            listed = json.loads(text.strip().splitlines()[-1])
            if code or listed["errors"]:
                raise ValueError("\n".join(listed["errors"]))
        except (ValueError, IndexError) as e:
            report(Result(module, "failed", text="%s\n%s" % (text, e)))
            continue
        for test in listed["tests"]:
            groups.setdefault(test["group"], []).append(test)
    return list(groups.values())


def run_python(tests, report):
    limit = max(t["limit"] or (PYTHON_SECONDS if len(tests) == 1 else GROUP_SECONDS) for t in tests)
    with tempfile.NamedTemporaryFile("r") as said:
        code, text, taken = run([sys.executable, "-c", ONE, said.name, *(t["name"] for t in tests)], limit)
        results = [json.loads(line) for line in said if line.endswith("\n")]
    told = {}
    for r in results:  # a subtest's failure comes before its test's end
        if told.get(r["name"], {}).get("outcome") != "failed":
            told[r["name"]] = r
    of_class = next((r for name, r in told.items() if name.startswith("setUpClass")), None)
    for test in tests:
        r = told.get(test["name"]) or of_class
        if r:
            report(Result(test["name"], r["outcome"], r["seconds"], r["text"] + ("\n" + text if r["outcome"] == "failed" else "")))
        else:
            report(Result(test["name"], "failed", taken, ("time limit of %d s\n" % limit if code is None else "it did not run\n") + text))


# everything -----------------------------------------------------------------------------------------------------------
def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--list", action="store_true")
    options.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1)  # most tests wait a lot
    options.add_argument("--fuzz-seconds", type=int, default=3)
    options = options.parse_args()
    tally = Tally()

    long, short, alone = [], [], []
    for flavour in ("asan", "tsan"):
        short += [(n, run_unit, (n, p, tally.add)) for n, p in unit_programs(flavour)]
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c"))):
        base = os.path.basename(source)[:-2]
        short.append(("fuzz/" + base, run_fuzzer, ("fuzz/" + base, os.path.join(ROOT, "build/fuzz/fuzz", base),
                      os.path.join(ROOT, "tests/fuzz/corpus", base[len("fuzz_"):]), options.fuzz_seconds, tally.add)))

    def wanted(name):
        return not options.only or any(text in name for text in options.only)
    short = [t for t in short if wanted(t[0])]
    programs_only = options.only and all("/" in text for text in options.only)  # no Python test has such a name
    for group in [] if programs_only else python_groups(tally.add):
        group = [t for t in group if wanted(t["name"])]
        if group:
            place = alone if group[0]["alone"] else short if group[0]["parallel"] else long
            place.append((", ".join(t["name"] for t in group), run_python, (group, tally.first_try(group))))
    long.sort(key=lambda t: -len(t[2][0]))
    if options.list:
        print("\n".join(t[0].replace(", ", "\n") for t in long + short + alone))
        return 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for done in [pool.submit(function, *arguments) for _, function, arguments in long + short]:
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            sweep("%d-" % os.getpid())  # ends what runs, so that its threads end
            raise
    for _, function, arguments in alone:
        function(*arguments)
    again = {}  # tests that share a process do so again
    for test, result in tally.doubtful.values():
        again.setdefault(test["group"], []).append((test, result))
    for group in again.values():
        if len(again) <= SECOND_TRIES:
            run_python([test for test, _ in group], tally.second_try)
        else:
            for _, result in group:
                tally.add(result)
    return tally.finish()


def stopped(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = ROOT
    signal.signal(signal.SIGTERM, stopped)
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    finally:
        sweep("%d-" % os.getpid())
    sys.exit(code)
