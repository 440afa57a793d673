"""Whether a process holds more and more: its own memory, mappings, threads and descriptors over many sessions. Single looks tell nothing
(an allocator, a collector, a thread that just ends): the medians of windows do."""
import collections
import os
import re
import statistics

WINDOWS = 5  # the first warms up; the second is compared with the last
KINDS = ("anonymous_kb", "mappings", "threads", "descriptors")


def thread_names(pid):
    return collections.Counter(filter(None, (_read("/proc/%d/task/%s/comm" % (pid, tid)) for tid in os.listdir("/proc/%d/task" % pid))))


def descriptor_targets(pid):
    """By what they lead to, whichever socket or pipe it is."""
    return collections.Counter(re.sub(r":\[\d+\]", "", _target("/proc/%d/fd/%s" % (pid, fd))) for fd in os.listdir("/proc/%d/fd" % pid))


def _read(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def _target(path):
    try:
        return os.readlink(path)
    except OSError:
        return "closed just now"


def look(pid):
    with open("/proc/%d/status" % pid) as f:
        status = dict(line.split(":", 1) for line in f if ":" in line)
    with open("/proc/%d/maps" % pid) as f:
        mappings = sum(1 for _ in f)
    names = {"threads": thread_names(pid), "descriptors": descriptor_targets(pid)}
    return {"anonymous_kb": int(status["RssAnon"].split()[0]), "mappings": mappings, "names": names,
            **{kind: sum(found.values()) for kind, found in names.items()}}


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

    def steady_growth(self, kind):
        """What each window typically adds, over as many windows. A step or a fall in one of them does not count: a runtime's own memory (its
        compiler's, its collector's) makes such steps, and what each session leaves behind does not."""
        windows = self.windows(kind)[1:]
        return statistics.median(b - a for a, b in zip(windows, windows[1:])) * (len(windows) - 1)

    def more(self, kind):
        """What there is more of in the fullest look of the last window than in the first of the second."""
        size = len(self.looks) // WINDOWS
        first, last = self.looks[size].get("names", {}), max(self.looks[-size:], key=lambda x: x[kind]).get("names", {})
        found = last.get(kind, collections.Counter()) - first.get(kind, collections.Counter())
        return "; more of " + ", ".join("%s (%d)" % one for one in sorted(found.items())) if found else ""

    def __str__(self):
        return "%s: %s" % (self.name, "; ".join("%s %s" % (kind, " ".join("%g" % w for w in self.windows(kind))) for kind in KINDS))

    def check(self, anonymous_kb, others=None):
        """Fails when it has grown by more than so much ({kind: more} for the others) from the second window to the last."""
        assert len(self.looks) >= 2 * WINDOWS, "too few looks: %d" % len(self.looks)
        limits = {"anonymous_kb": anonymous_kb, **(others or {})}
        for kind in KINDS:
            assert self.growth(kind) <= limits.get(kind, 0), "%s grows: %s%s" % (kind, self, self.more(kind))

    def check_against(self, control, anonymous_kb, step_kb, others=None):
        """The same of a process with a runtime of its own: more than a process to which somebody else did the like grows steadily by no more
        than this, and all in all by one step more."""
        kind = "anonymous_kb"
        self.check(anonymous_kb + step_kb + max(0, control.growth(kind)), others)
        assert self.steady_growth(kind) <= anonymous_kb + max(0, control.steady_growth(kind)), "%s grows steadily: %s; %s" % (kind, self, control)
