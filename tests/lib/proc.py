"""Processes of tests: started with a log of their own, ended by their pid, never by a name."""
import os
import random
import re
import signal
import socket
import subprocess
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
if os.path.isdir(os.path.join(ROOT, "build/tools/bin")):  # the kubectl that tests/setup/kubectl.sh has brought, where the machine's own is too old
    os.environ["PATH"] = os.path.join(ROOT, "build/tools/bin") + os.pathsep + os.environ["PATH"]


FIRST_PORT = 16384
MOST_PATIENCE = 8.0


def is_ours(text):
    """Whether it names something of ours; that the tree itself lies in a folder of that name says nothing."""
    return "drdotnet" in text.replace(ROOT, "")


def _is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def free_ports(count):
    """Ports that were free a moment ago, all different, and below those that the kernel gives to connections and to whoever asks for any:
    of tests that run beside each other, none takes another one's before it is used."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        end = int(f.read().split()[0])
    ports = set()
    while len(ports) < count:
        port = random.randrange(FIRST_PORT, max(end, FIRST_PORT + 1024))
        if port not in ports and _is_free(port):
            ports.add(port)
    return list(ports)


def patience(seconds):
    """How long to wait for what takes less than this on a quiet machine: as much longer as this one has more to do than it can."""
    return seconds * min(MOST_PATIENCE, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def wait_until(check, seconds, what, interval=0.05):
    """The first true value of check(), else AssertionError; on a loaded machine after proportionally more time."""
    began = time.monotonic()
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > began + patience(seconds):
            raise AssertionError("not within %g s: %s" % (time.monotonic() - began, what))
        time.sleep(interval)


class Process:
    """A child in a process group of its own; standard output and error go to `log`."""

    def __init__(self, words, log, env=None, cwd=ROOT, **popen):
        self.log_path = log
        self.words = [str(w) for w in words]
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(self.words, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})},
                                          cwd=cwd, start_new_session=True, **{"stdin": subprocess.DEVNULL, **popen})
        self.pid = self.popen.pid

    def ended(self):
        return self.popen.poll() is not None

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait_log(self, pattern, seconds=20):
        """The match of the first line of the log that matches; an early end of the process is an error."""
        def look():
            found = re.search(pattern, self.log(), re.M)
            if not found and self.ended():
                raise AssertionError("%s ended with %s before %r:\n%s"
                                     % (self.words[0], self.popen.returncode, pattern, self.log()[-3000:]))
            return found
        return wait_until(look, seconds, "%r in the log of %s" % (pattern, self.words[0]))

    def stop(self, how=signal.SIGTERM, seconds=10):
        """Ends it; the exit code. SIGKILL to its group when it does not end in time."""
        if not self.ended():
            self.popen.send_signal(how)
            try:
                self.popen.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(self.popen.pid, signal.SIGKILL)
                self.popen.wait()
        return self.popen.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def waited_for_cpu():
    """Seconds in which some task of the machine waited for a CPU; 0 where the kernel does not tell."""
    try:
        with open("/proc/pressure/cpu") as f:
            return int(re.search(r"^some .*total=(\d+)", f.read(), re.M).group(1)) / 1e6
    except OSError:
        return 0
