"""The demos of the Makefile, interrupted with Ctrl-C: they end in order and leave no process behind."""
import glob
import os
import signal
import sys
import tempfile
import unittest
import uuid

from tests.lib import kube, pod, proc, readers, s3

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()


class Demos(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.mark = "DEMO_OF_TEST=" + uuid.uuid4().hex  # in the environment of whatever a demo starts

    def demo(self, module, **env):
        name, _, value = self.mark.partition("=")
        made = proc.Process([sys.executable, "-u", "-m", module], log=self.folder + "/demo.log",
                            env={name: value, "PYTHONPATH": proc.ROOT, **env})
        self.addCleanup(made.stop)
        return made

    def interrupt(self, demo):
        """As a terminal does it: the whole process group gets the signal."""
        os.killpg(demo.pid, signal.SIGINT)
        proc.wait_until(demo.ended, 60, "the demo ends:\n" + demo.log())
        proc.wait_until(lambda: not self.marked(), 10, "no process is left: %s" % self.marked())
        self.assertNotIn("Traceback", demo.log())
        return demo.popen.returncode

    def marked(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    if self.mark.encode() in f.read():
                        found.append(path)
            except OSError:
                pass
        return found

    def test_local(self):
        demo = self.demo("tests.demo.local")
        found = demo.wait_log(r"-o (build/demo/\S+)$", 60)
        reports = os.path.join(proc.ROOT, found.group(1))
        proc.wait_until(lambda: os.path.isdir(reports), 30, "the session has begun")
        proc.wait_until(lambda: len(self.marked()) >= 3, 10, "demo, application and drdotnet run")
        code = self.interrupt(demo)
        self.assertIn(code, (0, 1, 130), demo.log())  # 1: before the first sample
        if code == 0:
            self.assertEqual(sorted(os.listdir(reports)), sorted(readers.MEDIA))

    @unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
    def test_cluster_of_a_kubeconfig(self):
        with kube.Cluster(self.folder + "/kube") as cluster:
            demo = self.demo("tests.demo.cluster", KUBECONFIG=cluster.kubeconfig)
            demo.wait_log(r"^\$ kubectl wait", 120)
            self.assertEqual(self.interrupt(demo), 130, demo.log())
            for path in ("/apis/drdotnet.dev/v1alpha1/profilingsessions", "/api/v1/pods"):
                self.assertEqual(cluster.request("GET", path)["items"], [])


if __name__ == "__main__":
    unittest.main()
