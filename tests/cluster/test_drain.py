"""A node is drained: the controller goes with the pods that are profiled, and what an agent has made of them meanwhile is delivered to the next one."""
import unittest

from tests.lib import proc, real_cluster


class Drain(real_cluster.Case):
    def test_a_session_whose_pod_and_controller_are_evicted_is_delivered(self):
        node = self.cluster.kubectl("get", "node", "-o", "name").strip()
        self.cluster.pod("hot", real_cluster.container("Checkout", "hot", "--threads", "1", cpu="300m"))
        self.cluster.session("drained", {"profiler": "CPUHotpaths", "target": {"podName": "hot"}, "durationSeconds": 120})
        self.cluster.wait_profiling("drained")
        try:
            self.cluster.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=%ds" % proc.patience(60))
            self.assertEqual(self.cluster.get("pod", "-l", "app=hot")["items"], [])
        finally:
            self.cluster.kubectl("uncordon", node)
        session = self.cluster.finished("drained")
        self.assert_succeeded(session)
        self.assertEqual([pod["phase"] for pod in session["status"]["targets"]], ["Succeeded"])
        self.assertIn("Checkout.Pricing.Tax", session["status"]["diagnosis"])
        self.assertIn("the process ended", session["status"]["diagnosis"])


if __name__ == "__main__":
    unittest.main()
