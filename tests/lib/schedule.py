"""Which test runs when. Most tests wait more than they work: many of those run beside each other, few of the others, the longest first.

How long each took and what it used of the processors is remembered by every run in the user's cache (~/.cache/drdotnet/test-times.json), for all
checkouts. A test that is not in it is taken for one that is short and works a fifth of the time; a group of tests for as many of them. The machine
itself says whether more of them than a few find a processor when they want one.
"""
import concurrent.futures
import contextlib
import dataclasses
import heapq
import itertools
import json
import os
import threading
import time
import typing

REMEMBERED = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "drdotnet/test-times.json")
UNKNOWN = (8.0, 1.6)
LEAST = 0.1   # of a processor: that which seems to do nothing does something at its start
MOST = 1.5    # what uses more than that still has to find its turn beside others
AT_ONCE = 4   # for each processor, however busy it is
MOST_AT_ONCE = 6  # for each processor, while it is not: more of them fill it at times, and what is measured then is another program's load
IDLE = 0.2    # of the processors' time: less than that is a busy machine. What waits for one is no measure: programs at a limit of their own do
STAT = "/proc/stat"
MEMORY = 1 << 30  # what a test may take where it takes much
AGAIN = 2     # seconds until the machine is asked again whether it is busy: the last one that began works by then
TELL = 30     # seconds between two words on how far it is
SLOWER = 1.2
LATE = 0.2    # of the time that a test has taken, when that is more than it ever took
BELIEVED = 60.0  # seconds of this run that count as much as what earlier ones took


@dataclasses.dataclass
class Job:
    """`key` is what its times are remembered by; `work` says what is to be done, which may have to wait for what it `needs`."""
    key: str
    work: typing.Callable
    seconds: float = UNKNOWN[0]
    load: float = 1.0
    began: float = 0.0
    needs: str = ""  # that is built meanwhile


class Times:
    """{key: (seconds, seconds of CPU)}"""

    def __init__(self):
        self.known = _read(REMEMBERED)
        self.new = {}

    def estimate(self, job, tests=1):
        """Sets the seconds and the load of a job of so many tests."""
        job.seconds, cpu = self.known.get(job.key) or (UNKNOWN[0] * tests, UNKNOWN[1] * tests)
        job.load = min(max(LEAST, cpu / max(job.seconds, 0.01)), MOST)

    def note(self, key, seconds, cpu):
        """Tests take longer beside others: how long one took before tells more of it, until it has taken longer several times."""
        before = self.known.get(key, (seconds, cpu))[0]
        self.new[key] = (round(min(seconds, before * SLOWER), 1), round(cpu, 1))

    def write(self):
        with contextlib.suppress(OSError):  # a home that cannot be written to
            _write(REMEMBERED, {**_read(REMEMBERED), **self.new})


def _read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return {key: tuple(value) for key, value in json.load(f).items()}
    except (OSError, ValueError):
        return {}


def _write(path, times):
    text = ",\n".join("%s: %s" % (json.dumps(key), json.dumps(value)) for key, value in sorted(times.items()))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = "%s.%d" % (path, os.getpid())  # other checkouts may do the same now
    with open(new, "w", encoding="utf-8") as f:
        f.write("{\n%s\n}\n" % text)
    os.replace(new, path)


def at_once(each=MOST_AT_ONCE):
    """How many tests run beside each other at most, with so many for each processor: most of them wait. Memory has its limit too."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(each * (os.cpu_count() or 1), memory // MEMORY))


class Processors:
    """Whether what runs fills them: of the time since a look at least AGAIN seconds ago; where the kernel does not tell, it is taken for that."""

    def __init__(self, clock=time.monotonic):
        self.at, self.before, self.busy, self.clock = 0.0, None, True, clock

    def are_busy(self):
        now = self.clock()
        if now - self.at >= AGAIN:
            times = _times()
            if times and self.before:
                self.busy = times[0] - self.before[0] < IDLE * (times[1] - self.before[1])
            self.at, self.before = now, times
        return self.busy


def _times():
    """(idle, or used by what runs when nothing else does; all) so far, in the kernel's ticks; None."""
    try:
        with open(STAT, encoding="ascii") as f:
            ticks = list(map(int, f.readline().split()[1:9]))
        return ticks[1] + ticks[3] + ticks[4], sum(ticks)
    except (OSError, ValueError, IndexError):
        return None


def choose(waiting, running, processors, at_once):
    """The job that starts now, or None: the longest of those that the processors have room for beside those that run."""
    if len(running) >= at_once:
        return None
    room = processors - sum(job.load for job in running)
    fitting = [job for job in waiting if job.load <= room] if running else waiting
    return max(fitting, key=lambda job: job.seconds, default=None)


def forecast(waiting, running, processors, at_once):
    """Seconds until all is done if each job takes what it is expected to; `running`: [(job, seconds that it still takes)]."""
    waiting, number, now = list(waiting), itertools.count(), 0.0
    ends = [(left, next(number), job) for job, left in running]
    heapq.heapify(ends)
    while waiting or ends:
        job = choose(waiting, [e[2] for e in ends], processors, at_once)
        if job:
            waiting.remove(job)
            heapq.heappush(ends, (now + job.seconds, next(number), job))
        else:
            now = heapq.heappop(ends)[0]
    return now


class Progress:
    """Says now and then how far a run is, and how long it will take: what earlier runs took, as much longer as this one is slower."""

    def __init__(self, jobs, alone, processors, at_once, say, clock=time.monotonic):
        self.alone, self.processors, self.at_once, self.say, self.clock = list(alone), processors, at_once, say, clock
        self.count, self.began = len(jobs) + len(alone), clock()
        self.next = self.began + TELL
        self.expected = self._left(jobs, [])
        say("%d test programs and suites, about %s when the machine is quiet" % (self.count, minutes(self.expected)))

    def _left(self, waiting, running):
        """What is late takes a while longer, for all one knows."""
        taken = [(job, self.clock() - job.began) for job in running]
        still = [(job, max(job.seconds - seconds, seconds * LATE)) for job, seconds in taken]
        return forecast(waiting, still, self.processors, self.at_once) + sum(job.seconds for job in self.alone)

    def tell(self, waiting, running):
        now = self.clock()
        if now < self.next or not (waiting or running or self.alone):
            return
        self.next, left = now + TELL, self._left(waiting, running)
        pace = (now - self.began + BELIEVED) / (max(0.0, self.expected - left) + BELIEVED)
        done = self.count - len(waiting) - len(running) - len(self.alone)
        self.say("%d of %d done in %s, about %s to go" % (done, self.count, minutes(now - self.began), minutes(left * pace)))

    def work_alone(self, waiting):
        """Does those that must have the machine for themselves, one after the other; the others wait."""
        while self.alone:
            self.tell(waiting, [])
            self.alone[0].work()
            self.alone.pop(0)


def minutes(seconds):
    return "%d s" % seconds if seconds < 60 else "%d min" % round(seconds / 60)


def run(jobs, processors, most, end, tell=lambda waiting, running: None, has=lambda need: True):
    """Does all of them, `most` at once while the machine is not busy. When an exception stops that, end() has to end what is under way. tell() is
    called with those that wait and those that run; has() says whether what a job needs is there."""
    waiting, running, began, change = list(jobs), [], [], threading.Condition()
    more = 0.0  # when one more than a few may begin
    machine = Processors()
    few = min(most, at_once(AT_ONCE))

    def do(job):
        try:
            job.work()
        finally:
            with change:
                running.remove(job)
                change.notify()
    with concurrent.futures.ThreadPoolExecutor(most) as pool, change:
        try:
            while waiting:
                many = len(running) >= few
                ready = [job for job in waiting if has(job.needs)]
                job = choose(ready, running, processors, few if many and (time.monotonic() < more or machine.are_busy()) else most)
                if job:
                    waiting.remove(job)
                    running.append(job)
                    job.began = time.monotonic()
                    more = job.began + AGAIN
                    began.append(pool.submit(do, job))
                else:
                    change.wait(AGAIN)
                tell(waiting, running)
            while running:
                change.wait(TELL)
                tell([], running)
        except BaseException:
            end()
            raise
    for job in began:
        job.result()
