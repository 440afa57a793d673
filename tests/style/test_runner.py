"""What runs the tests: which is next, what is said of one that fails, and that nothing of a test stays."""
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

from tests import run
from tests.lib import builds, cases, kube, old_server, proc, runs, schedule

TAP = """ok - jobs::good  (0.10s)
not ok - jobs::bad  (0.02s)
  ---
  failures:
  - tests/unit/agent/jobs/test_jobs.c:312: |+
      Assertion failed: it has two
        and not three
  - tests/unit/agent/jobs/test_jobs.c:314: |+
      Assertion failed: The expression again is false.
  ...
ok - jobs::told # SKIP no perf events
not ok - jobs::worse  (0.00s)
not ok - jobs::slow timed out (1.05s)
# 2 passed, 3 failed
"""
UNIT = r'''
#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>
static int begun;
static void begin(void) { begun = 1; }
static void end(void) { cr_expect_eq(begun, 1, "it was not begun"); }
TestSuite(jobs, .init = begin, .fini = end);
Test(jobs, good) { cr_assert_eq(begun, 1); begun = 1; }
Test(jobs, bad) { begun = 0; cr_expect_str_eq("a", "b"); cr_assert(0, "it has %s\nand not three", "two"); cr_assert(0, "never said"); }
Test(jobs, told) { cr_skip_test("no %s", "perf events"); }
Test(jobs, late) { begun = 2; }
Test(jobs, worse) { raise(SIGSEGV); }
Test(jobs, exits) { _exit(23); }
Test(jobs, slow, .timeout = 0.2) { pause(); }
Test(jobs, endless) { pause(); }
'''
RACE = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\nSUMMARY: AddressSanitizer: heap-use-after-free agent/jobs/jobs.c:191 in answer\n"


def job(key, seconds, load, work=print):
    return schedule.Job(key, work, seconds, load)


class Schedule(unittest.TestCase):
    one_process = True

    def test_the_longest_that_there_is_room_for_is_next(self):
        long, busy, idle = job("long", 60, 0.5), job("busy", 30, 1.5), job("idle", 20, 0.1)
        rows = (([long, busy, idle], [], long), ([busy, idle], [long], busy), ([busy, idle], [long, idle], idle), ([busy], [busy, long], None),
                ([job("more", 9, 7.0)], [], "more"), ([], [long], None), ([idle], [idle] * 4, None))
        for waiting, running, expected in rows:
            with self.subTest(waiting=[j.key for j in waiting], running=[j.key for j in running]):
                found = schedule.choose(waiting, running, 2.0, 4)
                self.assertEqual(found and found.key, expected if isinstance(expected, str) else expected and expected.key)

    def test_all_run_and_an_exception_is_told(self):
        done, ended = [], []
        jobs = [schedule.Job(str(n), lambda n=n: done.append(n)) for n in range(20)]
        schedule.run(jobs, 2, 4, lambda: ended.append(True))
        self.assertEqual((sorted(done), ended), (list(range(20)), []))
        with self.assertRaises(ZeroDivisionError):
            schedule.run([schedule.Job("bad", lambda: 1 // 0)], 2, 4, lambda: None)

    def test_the_machine_says_whether_it_is_busy(self):
        for text, busy in (("cpu 179 0 0 16 5 0 0 0 0 0", False), ("cpu 181 0 0 19 0 0 0 0 0 0\ncpu0", True), ("", True)):
            with tempfile.NamedTemporaryFile("w") as stat, unittest.mock.patch.object(schedule, "STAT", stat.name):
                now = [100.0]
                machine = schedule.Processors(lambda now=now: now[0])
                for line in ("cpu 100 0 0 0 0 0 0 0 0 0", text):
                    stat.seek(0)
                    stat.truncate()
                    stat.write(line)
                    stat.flush()
                    said = machine.are_busy()
                    now[0] += schedule.AGAIN / 2
                    self.assertEqual(machine.are_busy(), said, "it is not looked at again so soon")
                    now[0] += schedule.AGAIN / 2
                self.assertEqual(said, busy, text)

    def test_only_a_few_more_begin_while_the_machine_is_busy(self):
        few = schedule.at_once(schedule.AT_ONCE)
        for busy in (False, True):
            go, counts = threading.Event(), []

            def tell(_, running, go=go, counts=counts):
                """When no more have begun for some turns, of which each is as long as it takes until one more may, they may end."""
                counts.append(len(running))
                if counts[-5:] == [counts[-1]] * 5:
                    go.set()
            with unittest.mock.patch.object(schedule, "AGAIN", 0.01), \
                    unittest.mock.patch.object(schedule.Processors, "are_busy", lambda _, busy=busy: busy):
                schedule.run([job(str(n), 1, 0.1, go.wait) for n in range(4 * few)], few, few + 2, lambda: None, tell)
            self.assertEqual(max(counts), few if busy else few + 2)

    def test_what_a_test_needs_is_built_meanwhile(self):
        with tempfile.TemporaryDirectory() as folder:
            go, order, said = os.path.join(folder, "go"), [], []
            make = ["sh", "-c", "until [ -e %s ]; do sleep 0.02; done; echo \"$MAKEFLAGS$1\"; [ $1 != tsan-programs ]" % go, "make"]
            jobs = [schedule.Job("unit", lambda: order.append("unit"), needs="asan"), schedule.Job("race", lambda: order.append("race"), needs="tsan"),
                    schedule.Job("suite", lambda: (order.append("suite"), open(go, "w").close()))]
            with unittest.mock.patch.multiple(schedule, AGAIN=0.02), unittest.mock.patch.dict(os.environ, MAKEFLAGS="-j"), \
                    builds.Builds({"tsan", "asan", ""}, said.append, make) as built:
                self.assertFalse(built.has("asan"))
                schedule.run(jobs, 2, 4, lambda: None, has=built.has)
        self.assertEqual((order, built.failures()), (["suite", "unit", "race"], {"tsan": "tsan-programs\n"}))
        self.assertEqual([re.sub(r"\d+", "N", text) for text in said], ["asan programs: built after N s", "tsan programs: not built after N s"])

    def test_what_nothing_builds_is_named(self):
        with self.assertRaisesRegex(ValueError, "needs asam, which nothing builds: arm64, asan"):
            builds.Builds({"", None, "asan", "asam"}, print)

    def test_what_is_built_ends_with_the_tests(self):
        with self.assertRaises(KeyboardInterrupt), builds.Builds({"asan", "tsan"}, [].append, ["sh", "-c", "exec sleep 60"]) as built:
            raise KeyboardInterrupt
        self.assertFalse(built.has("asan") and built.has("tsan"))

    def test_how_long_it_will_take_is_told(self):
        """Three on two processors and one alone, twice as slow as they were."""
        now, said = [1000.0], []
        jobs, alone = [job(key, 300, 1.0) for key in "abc"], [job("alone", 60, 1.0)]
        progress = schedule.Progress(jobs, alone, 2.0, 4, said.append, lambda: now[0])
        self.assertEqual(said.pop(), "4 test programs and suites, about 11 min when the machine is quiet")
        progress.tell(jobs[2:], jobs[:2])
        self.assertEqual(said, [], "not before half a minute")
        now[0] += 600
        jobs[2].began = now[0]
        progress.tell([], jobs[2:])
        self.assertEqual(said.pop(), "2 of 4 done in 10 min, about 11 min to go")
        progress.tell([], jobs[2:])
        self.assertEqual(said, [])
        now[0] += 1000
        progress.tell([], jobs[2:])
        self.assertEqual(said.pop(), "2 of 4 done in 27 min, about 16 min to go", "the third one is late")
        progress.alone.clear()
        now[0] += 60
        progress.tell([], [])
        self.assertEqual(said, [], "there is nothing to go")

    def test_times_become_loads(self):
        times = schedule.Times()
        times.known = {"waits": (10.0, 0.0), "works": (10.0, 10.0), "bursts": (1.0, 9.0)}
        for key, seconds, load in (("waits", 10.0, schedule.LEAST), ("works", 10.0, 1.0), ("bursts", 1.0, schedule.MOST),
                                   ("new", 3 * schedule.UNKNOWN[0], 3 * schedule.UNKNOWN[1] / (3 * schedule.UNKNOWN[0]))):
            found = schedule.Job(key, print)
            times.estimate(found, 3)
            self.assertEqual((found.seconds, found.load), (seconds, load), key)


class OldServer(unittest.TestCase):
    one_process = True

    def test_a_short_set_runs_there_too(self):
        tests = [{"name": name, "label": name, "group": name, "env": None}
                 for name in ("tests.system.crd.test_crd.Status.test_a", "tests.system.page.test_page.Page.test_b")]
        for built, used, count in ((True, False, 1), (True, True, 0), (False, False, 0)):
            with self.subTest(built=built, used=used), unittest.mock.patch.multiple(kube, built=lambda: built, is_built_one=lambda: used):
                again = old_server.again(tests)
                self.assertEqual([t["label"] for t in again], [tests[0]["name"] + " (Kubernetes 1.20)"] * count)
                self.assertTrue(all(t["name"] == tests[0]["name"] and t["env"] == {"KUBEBUILDER_ASSETS": kube.BUILT} for t in again))


class Patience(unittest.TestCase):
    one_process = True

    def test_waits_are_longer_on_a_loaded_machine(self):
        for load, factor in ((0.0, 1.0), (2.0, 1.0), (6.0, 3.0), (400.0, proc.MOST_PATIENCE)):
            with unittest.mock.patch.multiple(os, getloadavg=lambda: (load, 0.0, 0.0), cpu_count=lambda: 2):
                self.assertEqual(proc.patience(10), 10 * factor)


class Reasons(unittest.TestCase):
    one_process = True

    def test_a_program_tells_of_each_case_what_was_wrong(self):
        for found, end in (("", "not ok - jobs::worse  (0.00s)"), (RACE, RACE.splitlines()[1])):
            cases = run.parse_tap(TAP, found)
            self.assertEqual([case[:2] for case in cases], [("jobs::good", "passed"), ("jobs::bad", "failed"), ("jobs::told", "skipped"),
                                                            ("jobs::worse", "failed"), ("jobs::slow", "failed")])
            self.assertEqual([run.reason(note + "\n" + found) for _, outcome, note in cases if outcome == "failed"],
                             ["tests/unit/agent/jobs/test_jobs.c:312: Assertion failed: it has two", end, "not ok - jobs::slow timed out (1.05s)"])
            self.assertEqual(cases[2][2], "no perf events")

    def test_a_leak_fails_a_program_whose_cases_passed(self):
        leak = "==7==ERROR: LeakSanitizer: detected memory leaks\nSUMMARY: AddressSanitizer: 7 byte(s) leaked in 1 allocation(s).\n"
        good, bad = [("jobs::good", "passed", "")], [("jobs::bad", "failed", "it is bad")]
        rows = ((0, "", good, None), (0, leak, good, leak.splitlines()[1]), (1, RACE, bad, None), (1, "", good, "exit code 1"),
                (0, "", [], "exit code 0"), (None, leak, bad, "time limit"))
        for code, text, cases, expected in rows:
            with self.subTest(code=code, text=text, cases=cases):
                self.assertEqual(run.program_failure(types.SimpleNamespace(code=code, text=text), cases), expected)

    def test_a_unit_program_tells_of_each_of_its_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            program, tap, own = folder + "/unit", folder + "/tap", ("tests/unit/plain_main.c", "tests/unit/plain_criterion.c")
            subprocess.run(["gcc", "-I.", "-D_GNU_SOURCE", "-o", program, "-x", "c", "-", *own], input=UNIT, text=True, check=True, cwd=proc.ROOT)
            done = subprocess.run([program, "--tap=" + tap, "--timeout=0.3"], capture_output=True, text=True, timeout=60)
            with open(tap) as f:
                said = f.read()
            cases = {case.partition("::")[2]: (outcome, re.sub(r"\(\d.*", "", note)) for case, outcome, note in run.parse_tap(said, "")}
            self.assertEqual(cases, {
                "good": ("passed", ""), "late": ("failed", "<stdin>:7: Assertion failed: it was not begun"), "told": ("skipped", "no perf events"),
                "bad": ("failed", "<stdin>:10: Assertion failed: The expression (as strings) (\"a\") == (\"b\") is false.\n"
                                  "<stdin>:10: Assertion failed: it has two"), "worse": ("failed", "not ok - jobs::worse  "),
                "exits": ("failed", "not ok - jobs::exits  "), "slow": ("failed", "not ok - jobs::slow timed out "),
                "endless": ("failed", "not ok - jobs::endless timed out ")})
            self.assertEqual((done.returncode, said.splitlines()[-1]), (1, "# 2 passed, 6 failed"))
            self.assertIn("ended by signal 11", said)
            one = subprocess.run([program, "jobs::good", "told"], capture_output=True, text=True, timeout=60)
            self.assertEqual((one.returncode, sorted(re.findall("^ok - (\\S+)", one.stdout, re.M))), (0, ["jobs::good", "jobs::told"]))

    def test_one_line_is_the_reason(self):
        rows = (("Traceback (most recent call last):\n  File \"x\", line 3\nAssertionError: 1 != 2 : why\n\nmore", "AssertionError: 1 != 2 : why"),
                ("INFO: Seed: 1\n#2\tINITED\n" + RACE, RACE.splitlines()[1]),
                ("agent/a.c:7:3: runtime error: shift exponent 64", "agent/a.c:7:3: runtime error: shift exponent 64"),
                ("time limit of 180 s\nKeyError: another test's", "time limit of 180 s"), ("exit code 3\nno more", "exit code 3"), ("", "no word"))
        for text, expected in rows:
            self.assertEqual(run.reason(text), expected)


class SecondTry(unittest.TestCase):
    one_process = True

    def tally(self, outcomes, again, names=("a", "b")):
        """What a tally says when `names` failed first and the others of a program did not, and the second try has these outcomes."""
        tally = run.Tally()

        def repeat(wanted, report):
            again.append(wanted)
            for name, outcome in outcomes.items():
                report(run.Result(name, outcome, text="second"))
        suite = type("Suite", (), {"tally": tally})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            take = tally.first_try(repeat)
            for name in ("a", "b", "c"):
                take(run.Result(name, "failed" if name in names else "passed", text="AssertionError: first of " + name))
            run.second_tries(suite)
            code = tally.finish()
        return code, tally.counts, said.getvalue().splitlines()[-4:]

    def test_what_passes_then_is_flaky(self):
        again = []
        code, counts, said = self.tally({"a": "passed", "b": "passed", "c": "passed"}, again)
        self.assertEqual((code, again, counts), (0, [["a", "b"]], {"passed": 3, "failed": 0, "skipped": 0}))
        self.assertEqual(said[-3:-1], ["FLAKY   a (AssertionError: first of a)", "FLAKY   b (AssertionError: first of b)"])

    def test_what_fails_again_has_failed(self):
        code, counts, said = self.tally({"a": "failed", "b": "passed", "c": "passed"}, [])
        self.assertEqual((code, counts), (1, {"passed": 2, "failed": 1, "skipped": 0}))
        self.assertEqual(said[-3:-1], ["FLAKY   b (AssertionError: first of b)", "FAILED  a (second)"])

    def test_the_end_of_a_program_is_good_when_nothing_is_said(self):
        self.assertEqual(self.tally({"b": "passed", "c": "passed"}, [], ("a",))[:2], (0, {"passed": 3, "failed": 0, "skipped": 0}))
        self.assertEqual(self.tally({"b": "passed", "c": "failed"}, [], ("a",))[0], 1)


SUITE = """
import os, random, subprocess, sys, tempfile, time, unittest
at_import = tempfile.gettempdir()
class Some(unittest.TestCase):
    def test_alone(self):
        print("said", os.environ["TMPDIR"], os.environ["MORE"], os.getsid(0) == os.getpid(), sys.stdin.read() == "")
        self.assertEqual(tempfile.gettempdir(), os.environ["TMPDIR"])
        self.assertNotIn("left", globals())
        globals()["left"] = open(tempfile.gettempdir() + "/file", "w")
        print(random.random())
        self.assertEqual(subprocess.run(["sh", "-c", "echo $TMPDIR"], capture_output=True, text=True).stdout.strip(), os.environ["TMPDIR"])
    def test_worker(self):
        self.assertGreater(len([n for n in range(10 ** 7)]), 0)
        if os.fork() == 0: time.sleep(1000)
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    def test_crash(self):
        os.abort()
    def test_hang(self):
        time.sleep(1000)
    def test_bad(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(n, 0)
    @unittest.skip("not\\nnow")
    def test_skipped(self):
        pass
"""


class Cases(unittest.TestCase):
    """Of a suite that is loaded once: each runs as if it were in a process that has only just begun."""
    one_process = True

    def setUp(self):
        self.place = self.enterContext(runs.Place())
        suites = self.enterContext(tempfile.TemporaryDirectory())
        for name, text in (("some_suite", SUITE), ("bad_suite", "import nothing_of_that_name"), ("wild_suite", "import os; os._exit(3)")):
            with open("%s/%s.py" % (suites, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.env = {"PYTHONPATH": suites + ":" + proc.ROOT, "MORE": "than that"}

    def load(self, *modules):
        loaded = cases.Loaded(modules, {**self.place.environment(), **self.env})
        self.addCleanup(loaded.close)
        return loaded

    def run_one(self, loaded, *names, seconds=60, env=None):
        with tempfile.NamedTemporaryFile("r") as told:
            words = [*cases.COMMAND, told.name, *("some_suite.Some." + name for name in names)]
            done = self.place.run(words, seconds, env, loaded.start if loaded else runs.Program)
            return done, [json.loads(line) for line in told]

    def test_what_there_is_is_listed(self):
        loaded = self.load("bad_suite", "some_suite")
        listing = loaded.listing()
        self.assertIn("nothing_of_that_name", listing["bad_suite"]["errors"][0])
        self.assertEqual([t["name"] for t in listing["some_suite"]["tests"]], ["some_suite.Some.test_" + name for name in (
            "alone", "bad", "crash", "hang", "skipped", "worker")])
        loaded = self.load("some_suite", "wild_suite", "bad_suite")
        self.assertEqual(list(loaded.listing()), ["some_suite"])
        self.assertFalse(loaded.ready)

    def test_it_is_as_in_a_process_of_its_own(self):
        loaded, numbers = self.load("some_suite"), set()
        for way in (loaded, loaded, None):
            done, told = self.run_one(way, "test_alone", env=None if way else self.env)
            self.assertEqual((done.code, [(r["name"], r["outcome"]) for r in told]), (0, [("some_suite.Some.test_alone", "passed")]), done.text)
            self.assertRegex(done.text, r"^said /\S+/%s/\d+ than that True True\n" % os.path.basename(self.place.folder))
            self.assertEqual(done.left, ["file"])
            numbers.add(done.text.splitlines()[1])
            done, told = self.run_one(way, "test_bad", "test_skipped", env=None if way else self.env)
            self.assertEqual([(r["name"].partition(" ")[0], r["outcome"], "n=1" in r["text"], r["text"] == "not now") for r in told],
                             [("some_suite.Some.test_bad", "failed", True, False), ("some_suite.Some.test_skipped", "skipped", False, True)])
            self.assertIn("FAILED (failures=1, skipped=1)", done.text)
        self.assertEqual(len(numbers), 3, "random ones are others in each")

    def test_a_crash_or_a_hang_is_its_own(self):
        loaded = self.load("some_suite")
        self.assertIsNone(self.run_one(loaded, "test_hang", seconds=0.5)[0].code)
        done, told = self.run_one(loaded, "test_crash")
        self.assertEqual((done.code, told), (-signal.SIGABRT, []))
        done, told = self.run_one(loaded, "test_worker")
        self.assertEqual((done.code, [r["outcome"] for r in told]), (0, ["passed"]))
        self.assertEqual(sorted(done.left), [runs.name_of(os.getpid()), "sleep"])
        self.assertGreater(done.cpu, 0.1)
        self.assertEqual(self.run_one(loaded, "test_alone")[0].code, 0)

    def test_without_it_there_is_a_process_of_its_own(self):
        loaded = self.load("some_suite")
        loaded.process.kill()
        loaded.process.wait()
        self.assertEqual(self.run_one(loaded, "test_alone", env=self.env)[0].code, 0)


class Place(unittest.TestCase):
    one_process = True

    def test_nothing_stays_of_a_program(self):
        with runs.Place() as place:
            words = "import os, subprocess\nopen(os.environ['TMPDIR'] + '/file', 'w').close()\n" \
                    "subprocess.Popen(['sleep', '1000'], start_new_session=True)"
            done = place.run([sys.executable, "-c", words], 60)
            self.assertEqual((done.code, done.left), (0, ["sleep", "file"]))
            self.assertEqual(list(runs.marked(place.mark)), [])
            folder = place.folder
            self.assertEqual(os.listdir(folder), [])
            self.assertLess(len(os.path.basename(folder)), 12)
        self.assertFalse(os.path.exists(folder))

    def test_a_time_limit_has_no_exit_code(self):
        with runs.Place() as place:
            self.assertIsNone(place.run(["sleep", "1000"], 0.2).code)
            self.assertEqual(place.run(["sh", "-c", "exit 3"], 60).code, 3)
            self.assertEqual(place.run(["sh", "-c", "kill -KILL $$"], 60).code, -signal.SIGKILL)

    def test_work_is_measured(self):
        with runs.Place() as place:
            done = place.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], 60)
            self.assertGreaterEqual(done.cpu, 0.3)


if __name__ == "__main__":
    unittest.main()
