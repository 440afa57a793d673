"""The last of the cluster's tests: Dr-Dotnet goes, as docs/install.md says, and comes again by its manifests."""
import os
import unittest

from tests.lib import dotnet, proc, real_cluster


class Uninstall(real_cluster.Case):
    def assert_gone(self):
        self.assertEqual(self.cluster.ours(), [])
        names = self.cluster.kubectl("get", "namespace,clusterrole,clusterrolebinding,crd,priorityclass,validatingadmissionpolicy", "-o", "name").split()
        self.assertEqual([name for name in names if "drdotnet" in name], [])
        spool = self.cluster.state + "/node/drdotnet/spool"
        self.assertEqual([name for _, _, names in os.walk(spool) for name in names], ["epoch"], "all was delivered")

    def test_nothing_stays_of_the_chart_and_of_the_manifests(self):
        self.cluster.pod("hot", real_cluster.container("Checkout", "hot", "--threads", "1", cpu="500m"))
        process = self.cluster.process("hot")
        before = dotnet.Traces(process)
        self.session_runs("of-the-chart")
        self.cluster.uninstall()
        dotnet.assert_nothing_left(self, process, before)
        self.assert_gone()
        self.cluster.apply_manifests("deploy/manifests")
        self.session_runs("of-the-manifests")
        self.cluster.end_sessions()
        self.cluster.kubectl("delete", "-k", os.path.join(proc.ROOT, "deploy/manifests"), "--ignore-not-found")
        self.cluster.kubectl("delete", "-f", os.path.join(proc.ROOT, "crds"))
        dotnet.assert_nothing_left(self, process, before)
        self.assert_gone()

    def session_runs(self, name):
        self.cluster.session(name, {"profiler": "CPUHotpaths", "target": {"podName": "hot"}, "durationSeconds": 3})
        session = self.cluster.finished(name)
        self.assert_succeeded(session)
        self.assertIn("Checkout.Pricing.Tax", session["status"]["diagnosis"])

    @classmethod
    def tearDownClass(cls):
        cls.cluster.delete("pod", "--all", "--grace-period=1")


if __name__ == "__main__":
    unittest.main()
