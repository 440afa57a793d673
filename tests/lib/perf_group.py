"""Control groups by which the kernel can tell whose CPU time to sample."""
import contextlib
import os
import tempfile


def hierarchy():
    """Where the hierarchy is mounted that perf events go by: the first version's if there is one, else the second's; None: not mounted here."""
    second = None
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            where, what = line.split(" - ")
            kind, options = what.split()[0], what.split()[2]
            if kind == "cgroup" and "perf_event" in options.split(","):
                return where.split()[4]
            if kind == "cgroup2":
                second = second or where.split()[4]
    return second


@contextlib.contextmanager
def perf_group():
    """The file of processes of a new control group in that hierarchy; None: none may be made here. Its processes must have ended at the end."""
    try:
        path = tempfile.mkdtemp(prefix="drdotnet-test-", dir=hierarchy() or "/nowhere")
    except OSError:
        yield None
        return
    try:
        yield os.path.join(path, "cgroup.procs")
    finally:
        os.rmdir(path)
