"""Control groups of memory, for programs that are to live within a limit."""
import contextlib
import os
import tempfile

GROUPS = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")


@contextlib.contextmanager
def memory_group(limit_bytes):
    """The file of processes of a new control group with this much memory: version 1 or 2, whichever has the controller; None: neither may be
    made here. Its processes must have ended at the end."""
    for folder, limit in GROUPS:
        try:
            path = tempfile.mkdtemp(prefix="drdotnet-test-", dir=folder)
        except OSError:
            continue
        try:
            with open(os.path.join(path, limit), "w", encoding="ascii") as f:
                f.write(str(limit_bytes))
            yield os.path.join(path, "cgroup.procs")
            return
        except FileNotFoundError:
            pass  # of the other version
        finally:
            os.rmdir(path)
    yield None


def within(group, words):
    """The command in that group from its first instruction on."""
    return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', group, *map(str, words)] if group else [*map(str, words)]
