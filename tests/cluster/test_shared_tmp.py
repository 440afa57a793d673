"""The least-privilege mode on a node: pods may come before the agent, and one that came too early is told to be restarted."""
import os
import unittest

from tests.lib import dotnet, proc, real_cluster

MODE = {"agent": {"mode": "sharedTmp"}}
NOWHERE = {"agent": {"mode": "sharedTmp", "nodeSelector": {"kubernetes.io/os": "none"}}}
FIELDS = {"POD_NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name"}


class SharedTmp(real_cluster.Case):
    values = NOWHERE

    def pod(self, name):
        """As docs/install.md says."""
        container = real_cluster.container(
            "Checkout", "hot", "--threads", "1", cpu="300m", securityContext={"runAsUser": 1654},
            env=[{"name": n, "valueFrom": {"fieldRef": {"fieldPath": path}}} for n, path in FIELDS.items()],
            volumeMounts=[{"name": "drdotnet-tmp", "mountPath": "/tmp", "subPathExpr": "$(POD_NAMESPACE)_$(POD_NAME)"}])
        self.cluster.pod(name, container, wait=False,
                         volumes=[{"name": "drdotnet-tmp", "hostPath": {"path": self.folder(), "type": "Directory"}}])

    def folder(self, *names):
        return os.path.join(self.cluster.state, "node/drdotnet-tmp/pods", *names)

    def session(self, name):
        self.cluster.session(name, {"profiler": "CPUHotpaths", "target": {"podName": name}, "durationSeconds": 3})
        return self.cluster.finished(name)

    def test_1_a_pod_waits_for_the_agent(self):
        self.pod("early")
        proc.wait_until(lambda: "FailedMount" in self.cluster.kubectl("get", "events", "-n", "shop"), 60, "the pod waits", 1)
        self.assertFalse(os.path.exists(self.folder()))
        self.cluster.install(MODE)
        self.cluster.wait_working("early")
        process = self.cluster.process("early")
        self.assertTrue([name for name in os.listdir(self.folder("shop_early")) if name.startswith("dotnet-diagnostic-")])
        before = dotnet.Traces(process)
        session = self.session("early")
        self.assert_succeeded(session)
        self.assertIn("Checkout.", session["status"]["diagnosis"])
        dotnet.assert_nothing_left(self, process, before)

    def test_2_a_pod_that_could_not_write_there_is_to_be_restarted(self):
        self.cluster.install(MODE)
        self.cluster.install(NOWHERE)
        self.cluster.kubectl("wait", "-n", real_cluster.SYSTEM, "pod", "-l", "app.kubernetes.io/name=drdotnet-agent", "--for=delete", "--timeout=60s")
        os.mkdir(self.folder("shop_blind"), 0o755)
        self.pod("blind")
        self.cluster.wait_working("blind")
        self.cluster.install(MODE)
        failed = self.cluster.condition(self.session("blind"), "Succeeded")
        self.assertEqual((failed["status"], failed["reason"]), ("False", "NoDotnetProcess"), failed)
        self.assertRegex(failed["message"], r"could not be written before 20\S+Z, .*restart the pod")


if __name__ == "__main__":
    unittest.main()
