"""That the benches of the cluster run and say what they are to say; not what they measure: other tests may be running."""
import json
import os
import subprocess
import sys
import time
import unittest

from tests.bench import gc_trace
from tests.lib import kube, pod, proc

UNAVAILABLE = kube.unavailable() or pod.unavailable()


def bench(name, *words):
    done = subprocess.run([sys.executable, "tests/bench/" + name, "--json", *words], cwd=proc.ROOT, capture_output=True, text=True, timeout=170)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return json.loads(done.stdout)


class Collections(unittest.TestCase):
    def test_of_a_servers_log(self):
        log = ("I1122 something else\ngc 1 @0.010s 3%: 0.018+1.3+0.076 ms clock, 0.14+0.35/1.2/3.0+0.61 ms cpu, 4->4->2 MB, 5 MB goal, 8 P\n"
               "gc 12 @100.500s 0%: 0.05+1500+0.45 ms clock, 0.1+2/3/4+0.9 ms cpu, 400->410->200 MB, 420 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)\n"
               "gc garbage @x\n")
        spans = gc_trace.collections(log, 1000)
        self.assertEqual([(round(a, 3), round(b, 4)) for a, b in spans], [(1000.01, 1000.0114), (1100.5, 1102.0005)])
        for begin, end, hit in ((1100, 1100.4, False), (1100, 1100.6, True), (1101, 1101.1, True), (1102, 1103, True), (1102.1, 1103, False)):
            self.assertEqual(gc_trace.overlaps(begin, end, spans), hit, (begin, end))

    def test_when_a_process_began(self):
        self.assertLess(gc_trace.started_at(os.getpid()), time.time() + 1)
        self.assertGreater(gc_trace.started_at(os.getpid()), time.time() - 24 * 3600)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Benches(unittest.TestCase):
    def test_cluster_latency(self):
        result = bench("cluster_latency.py", "--sessions", "3")
        for step in ("apply_to_order", "order_to_first_sample", "apply_to_first_sample", "end_to_unmapped", "end_to_status"):
            self.assertEqual(sorted(result[step]), ["max", "p50", "p99"])
            self.assertLessEqual(result[step]["p50"], result[step]["max"])
        self.assertGreater(result["apply_to_order"]["p50"], 0)
        self.assertGreater(result["end_to_unmapped"]["p50"], 0)

    def test_orders_in_collections_of_the_api_server_stand_apart(self):
        result = bench("scale.py", "--agents", "3", "--sessions", "4", "--rate", "4", "--seconds", "3", "--idle", "1")
        row = result["rows"][0]["latency"]
        counts = [part["sessions"] for part in (row["in_collections"], row["others"]) if part]
        self.assertEqual(sum(counts), row["sessions"])
        self.assertEqual(row["within_bound"], not row["others"] or row["others"]["p99_ms"] <= row["bound_ms"])
        self.assertEqual(row["doubled"], 0)

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
