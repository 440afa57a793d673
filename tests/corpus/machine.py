"""Whether an application lacked CPU during its session: the harness's own witness, which asks the kernel and not the product. On a machine that is too
full, "The node is full" is the truth about whatever runs there."""
import glob
import os
import time

TICKS = os.sysconf("SC_CLK_TCK")
LEAST_WAITED_SECONDS = 0.5
WAITED_PART = 0.15  # of the time that its threads were ready to run
OTHERS_PART = 0.25  # of the node's CPUs, used by others: a process that fills the node alone waits for itself


def _threads(pid):
    """{tid: (nanoseconds that it ran, nanoseconds that it was ready and waited)}"""
    result = {}
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        try:
            with open(path, encoding="ascii") as f:
                ran, waited = f.read().split()[:2]
        except (OSError, ValueError):
            continue  # it has ended
        result[path] = int(ran), int(waited)
    return result


def _node_busy():
    """Seconds of CPU that all together have used."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _idle, _iowait, irq, softirq, *_ = (int(n) for n in f.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICKS


class Witness:
    def __init__(self, pid):
        self.pid, self.threads, self.busy, self.began = pid, _threads(pid), _node_busy(), time.monotonic()

    def says(self):
        """{"seconds", "ran", "waited", "others", "cpus"}: seconds of CPU of its threads, and of the node's other work."""
        ran = waited = 0
        for path, (now_ran, now_waited) in _threads(self.pid).items():
            then_ran, then_waited = self.threads.get(path, (0, 0))
            ran += now_ran - then_ran if now_ran >= then_ran else now_ran
            waited += now_waited - then_waited if now_waited >= then_waited else now_waited
        busy = _node_busy() - self.busy
        return {"seconds": time.monotonic() - self.began, "ran": ran / 1e9, "waited": waited / 1e9, "others": max(0.0, busy - ran / 1e9),
                "cpus": os.cpu_count() or 1}


def lacked_cpu(says):
    """Whether it did; None: it was not measured."""
    if not says:
        return None
    waited = says["waited"] >= LEAST_WAITED_SECONDS and says["waited"] >= WAITED_PART * (says["waited"] + says["ran"])
    return waited and says["others"] >= OTHERS_PART * says["seconds"] * says["cpus"]
