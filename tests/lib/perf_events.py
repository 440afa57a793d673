"""The perf events of another process, by the kernel's own account."""
import ctypes
import os
import struct

from tests.lib import proc

PIDFD_GETFD = 438
_libc = ctypes.CDLL(None, use_errno=True)


def descriptors(pid):
    """Its descriptors that are perf events."""
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (pid, fd)) == "anon_inode:[perf_event]":
                found.append(int(fd))
        except FileNotFoundError:
            pass
    return found


def counted(pid):
    """The sum of what its events have counted so far, 0 where it has none: nanoseconds of CPU time, or switches."""
    pid_fd = os.pidfd_open(pid)
    try:
        return sum(_count(pid_fd, fd) for fd in descriptors(pid))
    finally:
        os.close(pid_fd)


def _count(pid_fd, number):
    fd = _libc.syscall(PIDFD_GETFD, pid_fd, number, 0)
    if fd < 0:
        return 0  # it has closed it meanwhile
    try:
        return struct.unpack("Q", os.read(fd, 8))[0]
    except OSError:
        return 0
    finally:
        os.close(fd)


def turns(pid):
    """How often the process's threads have got a CPU so far."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as f:
                total += int(f.read().split()[2])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def wait_until_ended(agent, app, turns_least, cpu_least):
    """Until the agent's events count nothing any more, while the process gets a CPU so often and uses so much of it."""
    def nothing():
        before, ran, used = counted(agent), turns(app), cpu_seconds(app)
        proc.wait_until(lambda: turns(app) - ran >= turns_least and cpu_seconds(app) - used >= cpu_least, 60, "the application goes on")
        return counted(agent) == before
    proc.wait_until(nothing, 60, "the events count nothing")
