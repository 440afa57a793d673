"""Which container of a pod is profiled: a native sidecar beside the application, an init container that still runs, and the one that a start waits for
on a node whose places are taken."""
import re
import unittest

from tests.lib import dotnet, proc, real_cluster

HOT = ("Checkout", "hot", "--threads", "1")
TRUTH = r"Checkout\.Pricing\.Tax"
HELD = 100  # seconds for which the node's places are taken


class Containers(real_cluster.Case):
    @classmethod
    def prepare(cls):
        idle = real_cluster.container("Checkout", "idle")
        cls.cluster.pod("pair", idle, wait=False, initContainers=[real_cluster.container(*HOT, name="sidecar", cpu="500m", restartPolicy="Always")])
        cls.cluster.pod("migrating", idle, wait=False, initContainers=[real_cluster.container(*HOT, name="migrate", cpu="500m")])
        for name in ("first", "second"):
            cls.cluster.pod(name, real_cluster.container(*HOT, cpu="200m"), wait=False)
        for name in ("first", "second"):
            cls.cluster.wait_working(name)

    def start(self, name, pod, seconds=8, **more):
        target = {key: more.pop(key) for key in ("container",) if key in more}
        self.cluster.session(name, {"profiler": "CPUHotpaths", "target": {"podName": pod, **target}, "durationSeconds": seconds, **more})

    def test_1_init_containers_and_sidecars(self):
        self.cluster.wait_working("pair")
        sidecar = self.cluster.process("pair", "sidecar")
        before = dotnet.Traces(sidecar)
        self.start("of-the-pod", "pair")
        self.start("of-the-sidecar", "pair", container="sidecar")
        self.cluster.wait("pod/migrating", "jsonpath={.status.initContainerStatuses[0].state.running.startedAt}")
        self.start("of-the-migration", "migrating", container="migrate")
        for name in ("of-the-sidecar", "of-the-migration"):
            with self.subTest(name):
                session = self.cluster.finished(name)
                self.assert_succeeded(session)
                self.assertRegex(session["status"]["diagnosis"], TRUTH)
        refused = self.cluster.condition(self.cluster.finished("of-the-pod"), "Succeeded")
        self.assertEqual((refused["status"], refused["reason"]), ("False", "AmbiguousProcess"), refused)
        self.assertRegex(refused["message"], r"sidecar.*app|app.*sidecar")
        dotnet.assert_nothing_left(self, sidecar, before)

    def test_2_a_start_on_a_full_node(self):
        """What happens at a start does not happen again: it is attached to at once, or the container's next start is."""
        for name in ("first", "second"):
            self.start("holds-" + name, name, seconds=HELD)
        for name in ("first", "second"):
            self.cluster.wait_profiling("holds-" + name)
        self.cluster.session("start", {"profiler": "CPUHotpaths", "target": {"selector": {"matchLabels": {"app": "spins"}}}, "durationSeconds": 20,
                                       "start": "NextContainerStart", "activeDeadlineSeconds": 600})
        self.cluster.wait("psess/start", "jsonpath={.status.conditions[?(@.type=='Completed')].reason}=WaitingForContainerStart")
        self.cluster.pod("spins", real_cluster.container(*HOT, "--seconds", "4", cpu="500m"), wait=False)
        session = self.cluster.finished("start")
        if session["status"]["targets"][0]["jobID"].endswith("-0"):  # it has missed none
            held = self.cluster.get("psess", "holds-first")["status"]
            self.assertEqual(self.cluster.condition({"status": held}, "Completed")["status"], "False", "the places were taken for as long")
        self.assert_succeeded(session)
        text = session["status"]["diagnosis"]
        self.assertRegex(text, TRUTH + "|No verdict: only")  # on a machine that gave it little
        self.assertNotIn("[unnamed code]", text)
        ended = re.search(r"Ended early, after ([\d.]+) s: the process ended", text)
        self.assertTrue(ended, text)
        self.assertTrue(4 <= float(ended.group(1)) < proc.patience(15), text)


if __name__ == "__main__":
    unittest.main()
