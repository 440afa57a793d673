"""The cases of Python suites: lists them, and runs some in a process of their own. That is forked from one that has loaded all suites:
to start an interpreter and to import what a suite needs takes longer than many cases do.

    python3 -m tests.lib.cases FILE NAME...     runs these; one JSON line a finished test goes into FILE

    loaded = Loaded(["tests.system.cpu.test_command"], env)      what tests/run.py uses
    loaded.listing()                    {module: {"errors": [text], "tests": [...]}}
    loaded.start(words, output, env)    of the command above; what becomes of it, as runs.Program tells
"""
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from tests.lib import proc, runs

COMMAND = [sys.executable, "-m", "tests.lib.cases"]
LOADING = 120  # seconds
ORDER_MAX = 1 << 20


# A class may say: `time_limit` seconds (a method too), `one_process` when its methods share what setUpClass makes (a name: with
# all classes that say the same), `needs` what is built beside the first tests (tests/lib/builds.py), `processors` how many it uses at least, where
# its work is done by others than its children, `alone` (a method too) when it must have the machine for itself. All others run beside each other
# (tests/lib/schedule.py).
def _each(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from _each(t)
        else:
            yield t


def _about(t):
    def said(name):
        return getattr(getattr(t, t._testMethodName, None), name, getattr(t, name, None))
    shared = getattr(t, "one_process", False)
    group = shared if isinstance(shared, str) else t.id().rpartition(".")[0] if shared else t.id()
    return {"name": t.id(), "label": t.id(), "env": None, "limit": said("time_limit"), "group": group, "alone": bool(said("alone")),
            "needs": said("needs"), "processors": said("processors")}


def _print_listing(modules):
    for module in modules:
        loader = unittest.TestLoader()
        tests = list(_each(loader.loadTestsFromName(module)))
        print("\n" + json.dumps({"module": module, "errors": loader.errors, "tests": [_about(t) for t in tests]}), flush=True)


class Result(unittest.TextTestResult):
    told = None

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def say(self, test, outcome, text=""):
        with open(self.told, "a", encoding="utf-8") as f:
            f.write(json.dumps({"name": test.id(), "outcome": outcome, "seconds": time.monotonic() - getattr(self, "began", time.monotonic()),
                                "text": text}) + "\n")

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
            self.say(test, "failed", str(subtest) + "\n" + (self.failures + self.errors)[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skipped", reason.replace("\n", " "))


def run(told, *names):
    Result.told = told
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Result).run(suite)


# the process that has loaded all ---------------------------------------------------------------------------------------
def _serve(control):
    """Lists what there is, then forks for each order; returns the arguments of run() in such a fork, and None at the end of all."""
    _print_listing(json.loads(control.recv(ORDER_MAX) or "[]"))
    if threading.active_count() > 1:
        return None  # a fork would be without them: a module that starts some is not to be loaded so
    gc.collect()
    gc.freeze()  # so that forks share what there is
    control.send(b"ready")
    while True:
        order, files, _, _ = socket.recv_fds(control, ORDER_MAX, 2)
        if not order:
            return None
        if os.fork() == 0:
            control.close()
            return _watch(json.loads(order), *files)
        for fd in files:
            os.close(fd)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _watch(order, answers, output):
    """Forks the process of the tests, returns the arguments of run() there, and tells what becomes of it."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(answers)
        for fd in (1, 2):
            os.dup2(output, fd)
        os.close(output)
        os.environ.update(order["env"])
        tempfile.tempdir = None  # as of an environment that is no more
        return order["arguments"]
    os.close(output)
    os.write(answers, b"%d\n" % pid)
    _, status, used = os.wait4(pid, 0)
    os.write(answers, b"%d %f\n" % (os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))
    os._exit(0)


class _Fork:
    """The process of some tests."""

    def __init__(self, answers):
        with answers:
            self.answers = answers.makefile("r")
        self.pid, self.pidfd = int(self.answers.readline() or 0), -1
        with contextlib.suppress(OSError):  # it has ended
            self.pidfd = os.pidfd_open(self.pid)

    def kill(self):
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def wait(self):
        """(exit code, seconds of CPU)"""
        with self.answers:
            code, used = (self.answers.readline() or "%d 0" % -signal.SIGKILL).split()  # nobody tells of it any more
        if self.pidfd >= 0:
            os.close(self.pidfd)
        return int(code), float(used)


class Loaded:
    """Owns the process that has loaded all modules. Any thread may start tests."""

    def __init__(self, modules, env):
        self.output = tempfile.TemporaryFile()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([*COMMAND, "--serve", str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd=proc.ROOT, env=env,
                                            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        self.control.settimeout(proc.patience(LOADING))
        try:
            self.control.send(json.dumps(modules).encode())
            self.ready = self.control.recv(ORDER_MAX) == b"ready"
        except OSError:
            self.ready = False
        self.control.settimeout(None)

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def listing(self):
        told = [json.loads(line) for line in self.text().splitlines() if line.startswith('{"module": ')]
        return {one["module"]: one for one in told}

    def start(self, words, output, env):
        """Of COMMAND and its arguments, in an environment that differs from that of the modules in this. A process of its own where none is forked."""
        answers, theirs = socket.socketpair()
        with theirs:
            try:
                order = json.dumps({"arguments": words[len(COMMAND):], "env": env}).encode()
                if self.ready:
                    socket.send_fds(self.control, [order], [theirs.fileno(), output.fileno()])
            except OSError:
                self.ready = False
        fork = _Fork(answers)
        return fork if fork.pid else runs.Program(words, output, env)

    def close(self):
        self.control.close()
        self.process.kill()
        self.process.wait()
        self.output.close()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        with socket.socket(fileno=int(sys.argv[2])) as orders:
            given = _serve(orders)
    else:
        given = sys.argv[1:]
    if given:
        run(*given)
