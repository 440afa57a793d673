#!/usr/bin/env python3
"""Runs the tests: unit programs under sanitizers, fuzzers for some seconds each, Python suites. Each test is a process of
its own with its own time limit. Prints one line a test and ends with the counts; fails when a test failed or none ran.
A test that fails (a fuzzer aside) runs once more when all others are done, with the machine for itself; if it passes then, it counts as
passed and is listed as FLAKY with what went wrong: such a test is to be mended. Where many fail, nothing is tried again.
All that tests write lies in one folder, which goes at the end; LEFT names the tests that had not ended or removed what they made.

usage: run.py [--only TEXT] [--list] [--jobs N] [--fuzz-seconds N]
  --only TEXT    only tests whose name contains it (may be given several times: any of them)
"""
import argparse
import functools
import glob
import json
import os
import re
import signal
import shutil
import sys
import tempfile
import threading
import time
import zlib

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, ROOT)
from tests.lib import builds, cases, old_server, runs, schedule  # noqa: E402
UNIT_SECONDS = 240
PYTHON_SECONDS = 180
GROUP_SECONDS = 480  # for tests that share a process
FOR_A_TEST = 40      # seconds of a time limit
FUZZED = 4000        # inputs in a second, if there is as much time
PROGRAM = 0.25       # a unit program or a fuzzer, as a part of a Python test
OUTPUT_LINES = 60
SLOWEST = 8
SECOND_TRIES = 10


class Result:
    def __init__(self, name, outcome, seconds=0.0, text=""):
        self.name, self.outcome, self.seconds, self.text = name, outcome, seconds, text


class Tally:
    """Prints results as they come; one line each, the output of a failed test after it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failed, self.skipped, self.slow, self.flaky, self.left = [], [], [], [], []
        self.doubtful = {}  # name: (how it is tried again, first result)
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

    def say(self, text):
        """A word on the run itself."""
        with self.lock:
            print("...     " + text, flush=True)

    @staticmethod
    def show(result):
        for line in result.text.splitlines()[-OUTPUT_LINES:]:
            print("        | " + line, flush=True)

    def first_try(self, again):
        """A function that takes results: a failure is kept for the second try, again(names, function that takes results)."""
        def report(result):
            if result.outcome != "failed":
                return self.add(result)
            with self.lock:
                print("%-7s %s %.1fs" % ("again?", result.name, result.seconds), flush=True)
                self.show(result)
                self.doubtful[result.name] = (again, result)
        return report

    def second_try(self, again, names):
        told = {}
        again(names, lambda result: told.update({result.name: result}))
        failed = [result for result in told.values() if result.outcome == "failed"]
        for name in names:
            first = self.doubtful[name][1]
            result = told.get(name) or (first if failed else Result(name, "passed"))  # a program's end has no name when it is good
            if result.outcome == "passed":
                self.flaky.append(first)
            self.add(result)
        for result in failed:
            if result.name not in names:
                self.add(result)

    def finish(self):
        for seconds, name in sorted(self.slow, reverse=True)[:SLOWEST]:
            print("SLOW    %s %.1fs" % (name, seconds))
        print("all took %.0fs" % (time.monotonic() - self.start))
        for name in self.skipped:
            print("SKIPPED " + name)
        if self.skipped:
            print("%d skipped of %d, %.1f%%, for the reasons above" % (len(self.skipped), len(self.slow), 100 * len(self.skipped) / len(self.slow)))
        for name, left in self.left:
            print("LEFT    %s: %s" % (name, ", ".join(left)[:200]))
        for result in self.flaky:
            print("FLAKY   %s (%s)" % (result.name, reason(result.text)))
        for result in self.failed:
            print("FAILED  %s (%s)" % (result.name, reason(result.text)))
        print("%(passed)d passed, %(failed)d failed" % self.counts, flush=True)
        return 0 if self.counts["passed"] and not self.counts["failed"] else 1


FOUND = r"^SUMMARY: .*|^\S+: runtime error: .*"  # by a sanitizer
WRONG = r"^\S+:\d+:\d+: (?:fatal )?error: .*|^\S+:\d+: Assertion failed.*|^not ok .*|^time limit.*|^(?:\w+\.)*\w*(?:Error|Exception|Expired|Exit)\b.*|" + FOUND


def reason(text):
    """The line that says what was wrong: a compiler's, criterion's, a sanitizer's, or a traceback's."""
    found = re.search(WRONG, text, re.M)
    return ((found.group() if found else text).strip().splitlines() or ["no word"])[0][:200]


class Suite:
    """What the tests of one run share."""

    def __init__(self, place, fuzz_seconds):
        self.place, self.fuzz_seconds = place, fuzz_seconds
        self.tally, self.times, self.loaded = Tally(), schedule.Times(), None

    def load(self, modules):
        """Loads Python suites, once for all that run them; {module: what it has}."""
        self.loaded = cases.Loaded(modules, self.place.environment())
        return self.loaded.listing()

    def run(self, key, words, seconds, env=None, start=runs.Program):
        """Runs a program and keeps in mind what it took and left; Done."""
        done = self.place.run(words, seconds, env, start)
        if key not in self.times.new:  # else it is a second try, maybe of a part
            self.times.note(key, done.seconds, done.cpu)
        if done.left:
            self.tally.left.append((key, done.left))
        return done

    def job(self, key, tests, needs, function, *arguments):
        job = schedule.Job(key, functools.partial(function, self, *arguments), needs=needs)
        self.times.estimate(job, tests)
        return job


# unit programs (tests/unit/plain_main.c) ----------------------------------------------------------------------------------
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def unit_programs(flavour):
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/unit/**/test_*.c"), recursive=True)):
        name = os.path.relpath(source, os.path.join(ROOT, "tests/unit"))[:-2]
        if flavour == "tsan" and not is_threaded(source):
            continue
        yield "unit/%s (%s)" % (name, flavour), os.path.join(ROOT, "build", flavour, "unit", name)


def is_threaded(source):
    with open(source) as f:
        return re.search(r"\bpthread_|tsan", f.read()) is not None


def run_unit(suite, name, program, report=None):
    report = report or suite.tally.first_try(lambda names, again: run_unit(suite, name, program, again))
    if not os.access(program, os.X_OK):
        return suite.tally.add(Result(name, "failed", text="it is not built: " + program))
    with tempfile.NamedTemporaryFile("r", dir=suite.place.folder) as tap:
        words = [program, "--tap=" + tap.name, "--timeout=%d" % (UNIT_SECONDS // 2)]
        if program.startswith(os.path.join(ROOT, "build/tsan")):
            words = ["setarch", "-R"] + words  # ThreadSanitizer needs addresses where it expects them
        done = suite.run(name, words, UNIT_SECONDS, SANITIZER_ENV)
        with open(tap.name, errors="replace") as again:
            cases = parse_tap(again.read(), done.text)
    for case, outcome, note in cases:
        text = note if outcome == "skipped" else note + "\n" + done.text
        report(Result("%s %s" % (name, case), outcome, done.seconds / max(1, len(cases)), text))
    wrong = program_failure(done, cases)
    if wrong:
        report(Result(name, "failed", done.seconds, wrong + "\n" + done.text))


def program_failure(done, cases):
    """What is wrong with a program, beside its cases that failed; None: nothing."""
    if done.code is None:
        return "time limit"
    if any(outcome == "failed" for _, outcome, _ in cases):
        return None
    found = re.search(FOUND, done.text, re.M)
    return found.group() if found else "exit code %s" % done.code if done.code or not cases else None


def parse_tap(tap, text):
    """[(case, outcome, note)] of what a program writes in the Test Anything Protocol, and of what it has said besides. The note on a failed
    one is what failed: its assertions; where it has none (it crashed), what a sanitizer has found; else how it ended."""
    cases = []
    for no, case, more, block in re.findall(r"^(not )?ok\s+(?:\d+\s+)?-\s+(\S+)(.*)((?:\n  .*)*)", tap, re.M):
        skip = re.search(r"#\s*SKIP\s*(.*)", more, re.I)
        if skip:
            cases.append((case, "skipped", skip.group(1) or "said by the test"))
        elif no:
            said = ["%s: %s" % one for one in re.findall(r"^  - (\S+:\d+): \|\+\n\s+(.*)", block, re.M)]
            found = [] if "timed out" in more else re.findall(FOUND, text, re.M)[:1]
            cases.append((case, "failed", "\n".join(said or found or ["not ok - " + case + more])))
        else:
            cases.append((case, "passed", ""))
    return cases


# fuzzers --------------------------------------------------------------------------------------------------------------
def run_fuzzer(suite, name, program, corpus):
    report = suite.tally.add
    if not os.access(program, os.X_OK):
        if not shutil.which("clang") and not shutil.which("clang-14"):
            return report(Result(name, "skipped", text="no clang"))
        return report(Result(name, "failed", text="it is not built: " + program))
    seeds = len(os.listdir(corpus)) if os.path.isdir(corpus) else 0
    words = [program, "-max_total_time=%d" % suite.fuzz_seconds, "-runs=%d" % (seeds + suite.fuzz_seconds * FUZZED), "-timeout=10",
             "-rss_limit_mb=1024", "-print_funcs=0", "-artifact_prefix=%s/build/fuzz-" % ROOT]
    with tempfile.TemporaryDirectory(dir=suite.place.folder) as work:
        done = suite.run(name, [*words, work, *([corpus] if os.path.isdir(corpus) else [])], suite.fuzz_seconds + 60)
    report(Result(name, "passed" if done.code == 0 else "failed", done.seconds, done.text))


# Python suites --------------------------------------------------------------------------------------------------------
def python_groups(suite):
    """Lists of tests that share a process; a file that cannot be loaded is a failure."""
    paths = sorted(glob.glob(os.path.join(ROOT, "tests/**/test_*.py"), recursive=True))
    modules = [os.path.relpath(path, ROOT)[:-3].replace("/", ".") for path in paths]
    listed, groups = suite.load(modules), {}
    for module in modules:
        told = listed.get(module)
        if not told or told["errors"]:
            suite.tally.add(Result(module, "failed", text="\n".join(told["errors"]) if told else suite.loaded.text()))
            continue
        for test in told["tests"] + old_server.again(told["tests"]):
            groups.setdefault(test["group"], []).append(test)
    return list(groups.values())


def run_python(suite, tests, report=None):
    report = report or suite.tally.first_try(lambda names, again: run_python(suite, [t for t in tests if t["label"] in names], again))
    limit = max(t["limit"] or (PYTHON_SECONDS if len(tests) == 1 else GROUP_SECONDS) for t in tests)
    with tempfile.NamedTemporaryFile("r", dir=suite.place.folder) as said:
        env = tests[0]["env"]  # modules may have looked at the environment
        done = suite.run(tests[0]["group"], [*cases.COMMAND, said.name, *(t["name"] for t in tests)], limit, env,
                         runs.Program if env else suite.loaded.start)
        results = [json.loads(line) for line in said if line.endswith("\n")]
    told = {}
    for r in results:  # a subtest's failure comes before its test's end
        if told.get(r["name"], {}).get("outcome") != "failed":
            told[r["name"]] = r
    of_class = next((r for name, r in told.items() if name.startswith("setUpClass")), None)
    for test in tests:
        r = told.get(test["name"]) or of_class
        if r:
            report(Result(test["label"], r["outcome"], r["seconds"], r["text"] + ("\n" + done.text if r["outcome"] == "failed" else "")))
        else:
            why = "time limit of %d s\n" % limit if done.code is None else "it did not run\n"
            report(Result(test["label"], "failed", done.seconds, why + done.text))


# everything -----------------------------------------------------------------------------------------------------------
def parse_options():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--list", action="store_true")
    options.add_argument("--jobs", type=int, default=schedule.at_once())
    options.add_argument("--fuzz-seconds", type=int, default=1)
    return options.parse_args()


def size_of(group):
    """As of so many tests that nothing is known of: what asks for much time takes a part of it, however few they are."""
    return max(len(group), *((t["limit"] or 0) / FOR_A_TEST for t in group))


def program_jobs(suite):
    for flavour in ("asan", "tsan"):
        for name, program in unit_programs(flavour):
            yield suite.job(name, PROGRAM, flavour, run_unit, name, program)
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c"))):
        base = os.path.basename(source)[:-2]
        corpus = os.path.join(ROOT, "tests/fuzz/corpus", base[len("fuzz_"):])
        yield suite.job("fuzz/" + base, PROGRAM, "smoke", run_fuzzer, "fuzz/" + base, os.path.join(ROOT, "build/smoke/fuzz", base), corpus)


def second_tries(suite):
    tries = {}  # what shares a process does so again
    for name, (again, _) in suite.tally.doubtful.items():
        tries.setdefault(again, []).append(name)
    for again, names in tries.items():
        if len(tries) <= SECOND_TRIES:
            suite.tally.second_try(again, names)
        else:
            for name in names:
                suite.tally.add(suite.tally.doubtful[name][1])


def run_all(options, suite):
    def wanted(name):
        return not options.only or any(text in name for text in options.only)
    beside, alone = [job for job in program_jobs(suite) if wanted(job.key)], []
    names = [job.key for job in beside]
    programs_only = options.only and all("/" in text for text in options.only)  # no Python test has such a name
    for group in [] if programs_only else python_groups(suite):
        group = [t for t in group if wanted(t["label"])]
        if group:
            job = suite.job(group[0]["group"], size_of(group), group[0]["needs"], run_python, group)
            job.load = max(job.load, group[0]["processors"] or 0)
            (alone if group[0]["alone"] else beside).append(job)
            names += [t["label"] for t in group]
    if options.list:
        print("\n".join(names))
        return 0
    beside.sort(key=lambda job: zlib.crc32(job.key.encode()))  # those of a suite work or wait alike: where all are taken for equal, they are mixed
    processors = (os.cpu_count() or 1) + 0.5  # what a test takes is not spread evenly over its time
    progress = schedule.Progress(beside, alone, processors, options.jobs, suite.tally.say)
    try:
        with builds.Builds({job.needs for job in beside + alone}, suite.tally.say) as built:
            progress.work_alone(beside)  # first, while others would have to wait for what is built
            schedule.run(beside, processors, options.jobs, suite.place.end, progress.tell, built.has)
        for name, text in built.failures().items():
            suite.tally.add(Result("build/" + name, "failed", text=text))
        second_tries(suite)
    finally:
        suite.times.write()
    return suite.tally.finish()


def stopped(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = ROOT
    os.environ.setdefault("GOGC", "400")  # API servers, kubectl, helm, Prometheus: they need some memory more, and a quarter less of the processors
    signal.signal(signal.SIGTERM, stopped)
    given = parse_options()
    try:
        with runs.Place() as everything:
            code = run_all(given, Suite(everything, given.fuzz_seconds))
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
