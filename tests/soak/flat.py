"""Whether a process holds more and more: its own memory, mappings, threads and descriptors over many sessions. Single looks tell nothing
(an allocator, a collector, a thread that just ends): the medians of windows do."""
import os
import statistics

WINDOWS = 5  # the first warms up; the second is compared with the last
KINDS = ("anonymous_kb", "mappings", "threads", "descriptors")


def look(pid):
    with open("/proc/%d/status" % pid) as f:
        status = dict(line.split(":", 1) for line in f if ":" in line)
    with open("/proc/%d/maps" % pid) as f:
        mappings = sum(1 for _ in f)
    return {"anonymous_kb": int(status["RssAnon"].split()[0]), "mappings": mappings, "threads": int(status["Threads"]),
            "descriptors": len(os.listdir("/proc/%d/fd" % pid))}


class Record:
    """Looks at one process, at moments that are alike."""

    def __init__(self, name, pid):
        self.name, self.pid, self.looks = name, pid, []

    def look(self):
        self.looks.append(look(self.pid))

    def windows(self, kind):
        size = max(1, len(self.looks) // WINDOWS)
        return [statistics.median(x[kind] for x in self.looks[i * size:(i + 1) * size]) for i in range(WINDOWS)]

    def growth(self, kind):
        windows = self.windows(kind)
        return windows[-1] - windows[1]

    def __str__(self):
        return "%s: %s" % (self.name, "; ".join("%s %s" % (kind, " ".join("%g" % w for w in self.windows(kind))) for kind in KINDS))

    def check(self, anonymous_kb, others=None):
        """Fails when it has grown by more than so much ({kind: more} for the others) from the second window to the last."""
        assert len(self.looks) >= 2 * WINDOWS, "too few looks: %d" % len(self.looks)
        limits = {"anonymous_kb": anonymous_kb, **(others or {})}
        for kind in KINDS:
            assert self.growth(kind) <= limits.get(kind, 0), "%s grows: %s" % (kind, self)
