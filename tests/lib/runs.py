"""Programs that tests/run.py starts, each with a temporary folder of its own; nothing of them stays, and what they left is told.

    with runs.Place() as place:
        done = place.run(["program", "word"], 60)
        done.code (None at the time limit), done.text, done.seconds, done.cpu, done.left
"""
import collections
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from tests.lib import proc

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
MARK = "DRDOTNET_TEST_RUN"  # in the environment of all that a test starts, so that what it leaves is found

# What programs of others leave in the temporary folder when a test kills them; it goes with the folder.
OTHERS = re.compile(r"clr-debug-pipe-|dotnet-diagnostic-|org\.chromium\.|testapi-etcd-|\.dotnet$|NuGetScratch|MSBuildTemp")

Done = collections.namedtuple("Done", "code text seconds cpu left")


class Program:
    """A process in a session of its own."""

    def __init__(self, words, output, env):
        self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env={**os.environ, **env},
                                      start_new_session=True)
        self.pid = self.child.pid

    def kill(self):
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)  # what send_signal() would do but for a look that takes the exit code away

    def wait(self):
        """(exit code, seconds of CPU that it and what it waited for used)"""
        _, status, used = os.wait4(self.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        return self.child.returncode, used.ru_utime + used.ru_stime


def _session(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


def marked(mark, session=None):
    """The pids of processes whose mark begins so, or that are in that session."""
    wanted = ("%s=%s" % (MARK, mark)).encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if any(value.startswith(wanted) for value in f.read().split(b"\0")) or session and _session(int(pid)) == session:
                    yield int(pid)
        except OSError:
            continue


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


def sweep(mark, session=None):
    """Ends what a test has left running, whatever namespace it is in; the names of that. What it has forked itself may have no mark, but is in
    its session."""
    found = {}
    for _ in range(20):
        left = [pid for pid in marked(mark, session) if pid != os.getpid()]
        if not left:
            break
        for pid in left:
            found.setdefault(pid, name_of(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.05)
    return sorted(filter(None, found.values()))


class Place:
    """A folder for all that a run of tests writes. Its path is short: it is part of the paths of sockets, which have 107 bytes."""

    def __init__(self):
        self.mark = "%d-" % os.getpid()
        self.numbers = itertools.count(1)
        self.folder = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="dr-")
        os.chmod(self.folder, 0o755)  # applications run as other users
        return self

    def __exit__(self, *_):
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self):
        """Ends all that runs."""
        sweep(self.mark)

    def environment(self):
        """Of what serves several runs, and ends with the last one."""
        return {**os.environ, MARK: self.mark, "TMPDIR": self.folder}

    def run(self, words, seconds, env=None, start=Program):
        """What became of the program; all that it started is ended with it."""
        number = next(self.numbers)
        mark, tmp = "%s%d." % (self.mark, number), os.path.join(self.folder, str(number))
        os.mkdir(tmp)
        os.chmod(tmp, 0o1777)
        with tempfile.TemporaryFile(dir=self.folder) as out:
            began = time.monotonic()
            child = start(words, out, {MARK: mark, "TMPDIR": tmp, **(env or {})})
            code, used = _wait(child, seconds)
            taken = time.monotonic() - began
            left = sweep(mark, child.pid) + sorted(name for name in os.listdir(tmp) if not OTHERS.match(name))
            shutil.rmtree(tmp, ignore_errors=True)
            out.seek(0)
            return Done(code, out.read().decode(errors="replace"), taken, used, left)


def _wait(child, seconds):
    """(exit code or None at the time limit, seconds of CPU that it and what it waited for used). The limit is later on a loaded machine."""
    late, began = threading.Event(), time.monotonic()

    def end():
        nonlocal timer
        left = began + proc.patience(seconds) - time.monotonic()
        if left > 0:
            timer = threading.Timer(left, end)
            return timer.start()
        late.set()
        child.kill()
    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        code, used = child.wait()
    finally:
        timer.cancel()
    return None if late.is_set() else code, used
