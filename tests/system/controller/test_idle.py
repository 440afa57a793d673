"""Without work controller and agent sleep: how often their threads wake, by the kernel's count of waits."""
import os
import tempfile
import time
import unittest

from tests.lib import install, kube, pod, proc

WINDOW_S = 10
WINDOWS = 3  # the quietest counts: what else the machine does may wake a program, but never lets it sleep longer


def waits(pid):
    """{thread's name: how often its threads have waited}"""
    found = {}
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as f:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        found[fields["Name"]] = found.get(fields["Name"], 0) + int(fields["voluntary_ctxt_switches"])
    return found


def wakes_a_minute(pid):
    before, at = waits(pid), time.monotonic()
    time.sleep(WINDOW_S)
    after, minutes = waits(pid), (time.monotonic() - at) / 60
    return {name: (count - before.get(name, 0)) / minutes for name, count in after.items()}


@unittest.skipIf(kube.unavailable() or pod.unavailable(), kube.unavailable() or pod.unavailable() or "")
class Idle(unittest.TestCase):
    time_limit = 240

    def least(self, pid, bound, names=None):
        """The quietest window's wakes a minute; ends when one is within the bound."""
        seen = []
        for _ in range(WINDOWS):
            wakes = wakes_a_minute(pid)
            seen.append(wakes)
            if sum(n for name, n in wakes.items() if names is None or names(name)) < bound:
                return
        self.fail("over %d wakes a minute in each of %d windows: %s" % (bound, WINDOWS, seen))

    def test_without_work_nobody_wakes(self):
        with tempfile.TemporaryDirectory(prefix="drdotnet-idle-") as folder, kube.Cluster(folder + "/kube") as cluster, \
                install.Installation(folder + "/installation", cluster) as i:
            agent = i.start_agent("node-a")
            proc.wait_until(lambda: i.metric("drdotnet_leader") == 1, 30, "it leads")
            with self.subTest("the controller, but for its Lease"):
                self.least(i.controller.pid, 120, lambda name: name != "leader")
            with self.subTest("the Lease: a look and a write each two seconds"):
                self.least(i.controller.pid, 240, lambda name: name == "leader")
            with self.subTest("the agent"):
                self.least(agent.agent_pid(), 60)


if __name__ == "__main__":
    unittest.main()
