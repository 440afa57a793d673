"""What a walk does not read: it is counted, said, and never taken for what is not there; and nothing that is done while the application stands goes
on without a look at the clock."""
import json
import os
import subprocess
import tempfile
import unittest

from tests.lib import local, proc
from tests.system.profiler import tools
from tests.system.walk.walk import Walked

THREADS = 1000
BUDGET_MS = 100
HANDLES = 100
UNREAD = "held by a root that was not read, or garbage"
SESSION = """apiVersion: drdotnet.dev/v1alpha1
kind: ProfilingSession
metadata: {name: unread}
spec: {profiler: GCSurvivors, target: {podName: local}, gcSurvivors: {roots: NoCollection}}
"""


def setUpModule():
    tools.build()


def held(walk, name):
    return walk["types"].get(name, [0, 0, 0])[2]


class Deep:
    """Many threads, each with an object that only the end of a deep stack holds."""
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.app = Walked(cls.framework, "depths", ["--depths", "0"])
        cls.addClassCleanup(cls.app.stop)
        cls.app.ask("grow depths %d" % THREADS, 100)  # after the collections at its start, which read all stacks

    def test_the_stop_ends_within_the_budget(self):
        def in_time():  # the library itself says when a stop was longer
            answer = self.app.answer("NoCollection", BUDGET_MS)
            if not answer["ok"]:  # on a machine so busy that a look sees next to nothing
                self.assertEqual(answer["reason"], "HeapTooLarge")
            return answer if answer["ok"] else None
        walk = proc.wait_until(in_time, 120, "a walk within its budget")
        limit, seen, meaning = walk["limits"]["stacks"]
        self.assertGreaterEqual(limit, THREADS)
        self.assertLess(seen, limit)
        self.assertRegex(meaning, r"The stacks of %d of %d threads were not read within the pause budget: .* A pauseBudgetMilliseconds of \d+ may do"
                         % (limit - seen, limit))
        self.assertEqual(walk["types"]["Shop.Deep"][0], THREADS)
        self.assertLess(held(walk, "Shop.Deep"), THREADS)
        self.assertEqual(walk["unheld"], UNREAD)

    def test_whole_stacks_are_read_where_the_budget_allows(self):
        walk = self.app.walk("NoCollection", 60000)
        self.assertEqual(walk["limits"], {})
        self.assertEqual((walk["types"]["Shop.Deep"][0], held(walk, "Shop.Deep")), (THREADS, THREADS))

    def test_a_collection_which_reads_all_stacks_is_predicted_with_them(self):
        answer = self.app.answer("Exact", BUDGET_MS)
        self.assertEqual((answer["ok"], answer["reason"]), (False, "HeapTooLarge"), answer)
        self.assertRegex(answer["message"], r"a pauseBudgetMilliseconds of \d{3,} would do")


class DeepNet10(Deep, unittest.TestCase):
    framework = "net10.0"


class DeepNet11(Deep, unittest.TestCase):
    framework = "net11.0"


class Unread(unittest.TestCase):
    """Against a walk that lacks nothing."""

    def start(self, library="libdrdotnet.so", env=None):
        name = library if os.path.isabs(library) else os.path.join(proc.ROOT, "build/release", library)
        app = Walked("net11.0", "roots,vaults,cwt", env=env, library=name)
        self.addCleanup(app.stop)
        return app

    def test_nothing_is_said_where_nothing_is_lacking(self):
        app = self.start()
        for roots in ("NoCollection", "Exact"):
            self.assertEqual(app.walk(roots, 60000)["limits"], {})

    def test_without_the_file_of_its_memory_a_process_reads_it_all_the_same(self):
        walk = self.start(env={"LD_PRELOAD": tools.tool("no_memory.so")}).walk("NoCollection", 60000)
        self.assertEqual((walk["limits"], walk["unheld"]), ({}, "held by a handle, or garbage"))
        self.assertEqual(held(walk, "Shop.ByHandle"), walk["types"]["Shop.ByHandle"][0])

    def test_a_process_that_cannot_read_its_memory(self):
        app = self.start(env={"LD_PRELOAD": tools.tool("no_memory.so"), "NO_MEMORY": "pipe"})
        walk = app.walk("NoCollection", 60000)
        self.assertEqual(set(walk["limits"]), {"ownMemory"})
        self.assertEqual(walk["unheld"], UNREAD)
        self.assertEqual(held(walk, "Shop.ByHandle"), 0)
        self.assertIn("names", app.walk("Exact", 60000)["limits"]["ownMemory"][2])

    def test_a_runtime_that_is_newer_than_those_known(self):
        app = self.start("profiler-tools/newer/libdrdotnet.so")
        walk = app.walk("NoCollection", 60000)
        self.assertEqual(walk["limits"], {"runtimeVersion": [9, 11, "Runtime 11 is newer than this version knows (9): handles and statics of generic "
                                                             "types were not read: what only they hold is held by no root that was read"]})
        self.assertEqual(walk["unheld"], UNREAD)
        self.assertGreaterEqual(held(walk, "Shop.OnStack"), app.details["roots"]["count"], "documented interfaces go on")
        self.assertEqual([r for r in walk["roots"] if r.startswith("handle")], [])
        exact = app.walk("Exact", 60000)
        self.assertEqual(held(exact, "Shop.ByHandle"), exact["types"]["Shop.ByHandle"][0])
        self.assertIn("statics of generic types have no names", exact["limits"]["runtimeVersion"][2])
        self.assertEqual(exact["unheld"], "garbage, not yet collected")

    def test_tables_that_are_full(self):
        app = self.start("profiler-tools/little/libdrdotnet.so")
        walk = app.walk("NoCollection", 60000)
        self.assertEqual(set(walk["limits"]), {"threads", "staticFields"})
        self.assertEqual((walk["limits"]["threads"][0], walk["limits"]["staticFields"][0]), (4, 8))
        self.assertGreater(walk["limits"]["threads"][1], 4)
        self.assertGreater(walk["limits"]["staticFields"][1], 100)
        self.assertEqual(walk["unheld"], UNREAD)
        exact = app.walk("Exact", 60000)
        self.assertEqual(set(exact["limits"]), {"staticFields"})
        self.assertIn("without their name", exact["limits"]["staticFields"][2])

    def test_a_process_that_cannot_make_a_thread(self):
        app = self.start(env={"LD_PRELOAD": tools.tool("no_thread.so")})
        walk = app.walk("NoCollection", 60000)
        self.assertEqual(set(walk["limits"]), {"threadForNames"})
        due, seen, meaning = walk["limits"]["threadForNames"]
        self.assertGreater(due, 0)
        self.assertEqual(seen, 0)
        self.assertIn("static fields of %d types without methods were not read" % due, meaning)
        self.assertEqual(walk["unheld"], UNREAD)
        self.assertIn("have no names", app.walk("Exact", 60000)["limits"]["threadForNames"][2])

    def test_a_report_says_it_first_and_finds_nothing_in_it(self):
        app = self.start(env={"LD_PRELOAD": tools.tool("no_memory.so"), "NO_MEMORY": "pipe"})
        with tempfile.TemporaryDirectory(prefix="drdotnet-test-") as out:
            with open(os.path.join(out, "session.yaml"), "w", encoding="utf-8") as f:
                f.write(SESSION)
            words = [local.DRDOTNET, "run", "-f", f.name, "--pid", str(app.pid), "-o", out, "--json"]

            def done():
                run = subprocess.run(words, stdout=subprocess.PIPE, timeout=120, check=False, text=True)
                return json.loads(run.stdout or "{}").get("reason") == "Completed"
            proc.wait_until(done, 180, "a session whose stop is within its budget")
            with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
                report = json.load(f)
        self.assertEqual([limit["name"] for limit in report["limitsReached"]], ["ownMemory"])
        self.assertRegex("\n".join(report["diagnosis"]["text"].splitlines()[1:3]), "(?m)^Limit reached: The process cannot read its own memory")
        self.assertNotEqual(report["diagnosis"]["finding"], "unreachable")
        self.assertNotIn("held by a handle, or garbage", json.dumps(report))


if __name__ == "__main__":
    unittest.main()
