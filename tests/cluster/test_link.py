"""An agent that is there before the first controller of an installation links within seconds of it: it does not wait for the kubelet, which looks at the
ConfigMaps of a pod that runs only once in a minute or more."""
import time
import unittest

from tests.lib import proc, real_cluster

SECONDS = 10
ALONE = 20  # of the agent: the kubelet looks at a new pod some times in its first ten seconds, and then not for a minute


class Link(real_cluster.Case):
    def in_system(self, *words):
        return self.cluster.kubectl("-n", real_cluster.SYSTEM, *words)

    def wait_agent(self, how):
        self.in_system("wait", "pod", "-l", "app.kubernetes.io/name=drdotnet-agent", "--for=" + how, "--timeout=%ds" % proc.patience(60))

    def test_the_agent_comes_first(self):
        self.in_system("scale", "deployment/drdotnet-controller", "--replicas=0")
        self.in_system("wait", "pod", "-l", "app.kubernetes.io/name=drdotnet-controller", "--for=delete", "--timeout=60s")
        for kept in ("secret/drdotnet-link-tls", "configmap/drdotnet-link-ca"):
            self.in_system("patch", kept, "--type=merge", "-p", '{"data":null}')
        self.in_system("delete", "pod", "-l", "app.kubernetes.io/name=drdotnet-agent")
        self.wait_agent("jsonpath={.status.containerStatuses[0].state.running.startedAt}")
        time.sleep(ALONE)
        self.in_system("scale", "deployment/drdotnet-controller", "--replicas=1")
        proc.wait_until(lambda: self.in_system("get", "configmap", "drdotnet-link-ca", "-o", "jsonpath={.data}"), 60, "the controller publishes it", 0.2)
        published = time.monotonic()
        self.wait_agent("condition=Ready")
        took = time.monotonic() - published
        self.assertLess(took, proc.patience(SECONDS))
        self.assertIn("was read from its ConfigMap", self.in_system("logs", "daemonset/drdotnet-agent"))
        self.cluster.wait_installed()


if __name__ == "__main__":
    unittest.main()
