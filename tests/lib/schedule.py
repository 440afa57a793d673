"""Which test runs when. Most tests wait more than they work: many of those run beside each other, few of the others, the longest first.

How long each took and what it used of the processors is remembered in build/test-times.json by every run; a tree that has none yet
begins with tests/times.json. A test that is in neither is taken for one that is short and works half of the time.
"""
import concurrent.futures
import dataclasses
import json
import os
import threading
import typing

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SHIPPED = os.path.join(ROOT, "tests/times.json")
REMEMBERED = os.path.join(ROOT, "build/test-times.json")
UNKNOWN = (4.0, 2.0)
LEAST = 0.1   # of a processor: that which seems to do nothing does something at its start
MOST = 1.5    # what uses more than that still has to find its turn beside others
WORTH = 2.0   # seconds: times below are not shipped
AT_ONCE = 4   # for each processor: memory has its limit too


@dataclasses.dataclass
class Job:
    """`key` is what its times are remembered by; `work` says what is to be done."""
    key: str
    work: typing.Callable
    seconds: float = UNKNOWN[0]
    load: float = 1.0


class Times:
    """{key: (seconds, seconds of CPU)}"""

    def __init__(self):
        self.known = {**_read(SHIPPED), **_read(REMEMBERED)}
        self.new = {}

    def estimate(self, job, tests=1):
        """Sets the seconds and the load of a job of so many tests."""
        job.seconds, cpu = self.known.get(job.key) or (UNKNOWN[0] * tests, UNKNOWN[1] * tests)
        job.load = min(max(LEAST, cpu / max(job.seconds, 0.01)), MOST)

    def note(self, key, seconds, cpu):
        self.new[key] = (round(seconds, 1), round(cpu, 1))

    def write(self):
        _write(REMEMBERED, {**_read(REMEMBERED), **self.new})

    def ship(self):
        """After a run of all tests: what is no more is forgotten."""
        _write(SHIPPED, {key: value for key, value in self.new.items() if value[0] >= WORTH})


def _read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return {key: tuple(value) for key, value in json.load(f).items()}
    except (OSError, ValueError):
        return {}


def _write(path, times):
    text = ",\n".join("%s: %s" % (json.dumps(key), json.dumps(value)) for key, value in sorted(times.items()))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write("{\n%s\n}\n" % text)
    os.replace(path + ".new", path)


def choose(waiting, running, processors, at_once):
    """The job that starts now, or None: the longest of those that the processors have room for beside those that run."""
    if len(running) >= at_once:
        return None
    room = processors - sum(job.load for job in running)
    fitting = [job for job in waiting if job.load <= room] if running else waiting
    return max(fitting, key=lambda job: job.seconds, default=None)


def run(jobs, processors, at_once, end):
    """Does all of them. When an exception stops that, end() has to end what is under way."""
    waiting, running, began, change = list(jobs), [], [], threading.Condition()

    def do(job):
        try:
            job.work()
        finally:
            with change:
                running.remove(job)
                change.notify()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool, change:
        try:
            while waiting:
                job = choose(waiting, running, processors, at_once)
                if job:
                    waiting.remove(job)
                    running.append(job)
                    began.append(pool.submit(do, job))
                else:
                    change.wait()
            while running:
                change.wait()
        except BaseException:
            end()
            raise
    for job in began:
        job.result()
