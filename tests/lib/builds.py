"""Programs that are built while tests run which do not need them, by what no test wants of the processors.

    with builds.Builds(["arm64", "asan"], say) as b:      goals of make: arm64-programs, asan-programs
        b.has("asan")              it is over
        b.failures()               {name: what make said}, of those that are over
A class of tests says what it `needs` (tests/lib/cases.py); unit programs and fuzzers need those of their flavour.
"""
import os
import subprocess
import tempfile
import threading
import time

from tests.lib import proc

ORDER = ("arm64", "asan", "tsan", "smoke")  # tests that wait most come first
AWAY = ["nice", "-n", "19", "chrt", "--idle", "0"]  # the scheduler gives them what is left; the first makes /proc/stat tell it from the tests' part


class Builds:
    """Any thread may ask; one of its own builds, in ORDER."""

    def __init__(self, names, say, command=("make", "--no-print-directory", "--keep-going", "-j%d" % (os.cpu_count() or 1))):
        unknown = sorted(filter(None, set(names) - set(ORDER)))
        if unknown:  # who needs it would wait for ever
            raise ValueError("a test needs %s, which nothing builds: %s" % (unknown[0], ", ".join(ORDER)))
        self.waiting = [name for name in ORDER if name in names]
        self.command, self.say, self.over, self.failed, self.child = command, say, set(), {}, None
        self.lock, self.stopped = threading.Lock(), False
        self.thread = threading.Thread(target=self._build_all)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        """All is built then, unless an exception has stopped the tests."""
        with self.lock:
            self.stopped = kind is not None
            if self.stopped and self.child:
                self.child.terminate()  # make ends what it has started, and removes what is half made
        self.thread.join()

    def has(self, name):
        return not name or name in self.over

    def failures(self):
        return dict(self.failed)

    def _build_all(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}  # its jobs are not ours
        for name in self.waiting:
            began = time.monotonic()
            with tempfile.TemporaryFile("w+") as said:
                with self.lock:
                    if self.stopped:
                        return
                    self.child = subprocess.Popen([*AWAY, *self.command, name + "-programs"], cwd=proc.ROOT, env=environment, stdin=subprocess.DEVNULL,
                                                  stdout=said, stderr=subprocess.STDOUT)
                code = self.child.wait()
                said.seek(0)
                if code:
                    self.failed[name] = said.read()
            self.over.add(name)
            self.say("%s programs: %s after %d s" % (name, "built" if code == 0 else "not built", time.monotonic() - began))
