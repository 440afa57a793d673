"""What runs the tests: which is next, and that nothing of a test stays."""
import os
import signal
import sys
import unittest

from tests.lib import runs, schedule


def job(key, seconds, load):
    return schedule.Job(key, print, seconds, load)


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

    def test_times_become_loads(self):
        times = schedule.Times()
        times.known = {"waits": (10.0, 0.0), "works": (10.0, 10.0), "bursts": (1.0, 9.0)}
        for key, seconds, load in (("waits", 10.0, schedule.LEAST), ("works", 10.0, 1.0), ("bursts", 1.0, schedule.MOST),
                                   ("new", 3 * schedule.UNKNOWN[0], 0.5)):
            found = schedule.Job(key, print)
            times.estimate(found, 3)
            self.assertEqual((found.seconds, found.load), (seconds, load), key)


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
