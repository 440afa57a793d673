"""That the benches of the cluster run and say what they are to say; not what they measure: other tests may be running."""
import json
import subprocess
import sys
import unittest

from tests.lib import kube, pod, proc

UNAVAILABLE = kube.unavailable() or pod.unavailable()


def bench(name, *words):
    done = subprocess.run([sys.executable, "tests/bench/" + name, "--json", *words], cwd=proc.ROOT, capture_output=True, text=True, timeout=170)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return json.loads(done.stdout)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Benches(unittest.TestCase):
    def test_cluster_latency(self):
        result = bench("cluster_latency.py", "--sessions", "3")
        for step in ("apply_to_order", "order_to_first_sample", "apply_to_first_sample", "end_to_unmapped", "end_to_status"):
            self.assertEqual(sorted(result[step]), ["max", "p50", "p99"])
            self.assertLessEqual(result[step]["p50"], result[step]["max"])
        self.assertGreater(result["apply_to_order"]["p50"], 0)
        self.assertGreater(result["end_to_unmapped"]["p50"], 0)

    def test_controller_memory(self):
        """Memory does not depend on how busy the machine is: its bounds hold here, too."""
        result = bench("controller_memory.py", "--sessions", "60")
        self.assertLess(result["idle"]["RssAnon"], 12 * 1024)
        for when in ("watched", "listed"):
            self.assertLess(result[when]["RssAnon"], 12 * 1024 + 60 * 2, result)

    def test_rest_list(self):
        result = bench("rest_list.py", "--sessions", "150", "--requests", "5")
        self.assertEqual({n: r["items"] for n, r in result["lists"].items()}, {"all": 100, "one namespace": 38, "words": 100, "last page": 100})
        self.assertLess(result["index_bytes_a_session"], 500 + 100)  # few sessions share the table's and the order's first size


if __name__ == "__main__":
    unittest.main()
