"""Control groups of the processor, for programs that are to live within a limit."""
import contextlib
import os
import tempfile

PERIOD_US = 100_000
GROUPS = (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "%(period)d", "cpu.cfs_quota_us": "%(quota)d"}),
          ("/sys/fs/cgroup", {"cpu.max": "%(quota)d %(period)d"}))


def _write(path, files, cpus):
    for name, value in files.items():
        with open(os.path.join(path, name), "r+", encoding="ascii") as f:
            if cpus:
                f.write(value % {"period": PERIOD_US, "quota": cpus * PERIOD_US})


def set_limit(group, cpus):
    """Limits the group that cpu_group() has made, while its processes run, as a pod is resized in place."""
    path = os.path.dirname(group)
    files = next(files for _, files in GROUPS if all(os.path.exists(os.path.join(path, name)) for name in files))
    _write(path, files, cpus)


@contextlib.contextmanager
def cpu_group(cpus=None):
    """The file of processes of a new control group with so much of a processor (None: without a limit): version 1 or 2, whichever has the controller;
    None: neither may be made here. Its processes must have ended at the end."""
    for folder, files in GROUPS:
        try:
            path = tempfile.mkdtemp(prefix="drdotnet-test-", dir=folder)
        except OSError:
            continue
        try:
            _write(path, files, cpus)
            yield os.path.join(path, "cgroup.procs")
            return
        except FileNotFoundError:
            pass  # of the other version
        finally:
            os.rmdir(path)
    yield None
