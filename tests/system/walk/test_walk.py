"""Walks of real heaps on each runtime: counts, bytes, references, roots and names against what the application says of itself."""
import json
import signal
import time
import unittest

from tests.lib import dotnet, proc
from tests.system.walk.walk import Walked

MODES = "array,list,generics,roots,cwt,pinned,loh,poh,collectible,vaults,ledgers,frozen"
ORDERS, NODES = 50_000, 1_000_000
SIZES = ["--array", str(ORDERS), "--list", str(NODES)]


def count(walk, name):
    return walk["types"].get(name, [0])[0]


def held(walk, name):
    """How many of them the known roots reach."""
    return walk["types"].get(name, [0, 0, 0])[2]


class Heap:
    """One process, a walk of it each way."""
    one_process = True
    env = {}

    @classmethod
    def setUpClass(cls):
        cls.app = Walked(cls.framework, MODES, SIZES, env=cls.env)
        cls.addClassCleanup(cls.app.stop)
        cls.details = cls.app.details
        cls.walk = cls.app.walk("Exact", 60000)
        cls.heap = cls.app.ask("now")

    def test_every_object_is_counted(self):
        shapes = self.details["generics"]["types"]
        pairs = 5 * shapes["Pair<Order, string>[]"]
        self.assertEqual(count(self.walk, "Shop.Order"), ORDERS + pairs)
        self.assertEqual(count(self.walk, "Shop.Node"), NODES)
        self.assertEqual(self.walk["types"]["Shop.Node"][1], NODES * self.details["list"]["each_bytes"])
        self.assertEqual(count(self.walk, "Shop.Metadata"), self.details["cwt"]["count"])
        self.assertEqual(count(self.walk, "Plugin.Gadget"), self.details["collectible"]["count"])

    def test_bytes_are_those_of_the_runtime(self):
        total = self.heap["total_bytes"]
        self.assertAlmostEqual(self.walk["facts"]["bytes"], total, delta=total * 0.01)

    def test_references_lead_to_objects_by_named_fields(self):
        edges = self.walk["edges"]
        self.assertEqual(self.walk["dangling"], 0)
        self.assertEqual(edges["Shop.Node.Next -> Shop.Node"], NODES - 1)
        self.assertEqual(edges["Shop.Order[].[] -> Shop.Order"], ORDERS)
        self.assertEqual(edges["Shop.Pair<Order, string>[].[].First -> Shop.Order"], 50)
        self.assertEqual(edges["Shop.Pair<Order, string>[].[].Second -> string"], 50)
        self.assertEqual(edges["Shop.Metadata.bytes -> byte[]"], self.details["cwt"]["count"])

    def test_generic_and_array_types_have_their_names(self):
        shown = {}
        for name, (number, *_) in self.walk["types"].items():
            short = name.replace("Shop.", "").replace("System.Collections.Generic.", "").replace("System.Collections.Concurrent.", "")
            short = short.replace("System.", "")
            shown[short] = shown.get(short, 0) + number
        for name, number in self.details["generics"]["types"].items():
            name = name.replace("int*", "void*")  # to what it points, the runtime does not say
            self.assertGreaterEqual(shown.get(name, 0), number, name)
        self.assertEqual(shown["Pair<Pair<Order, int>, Colour>[]"], self.details["generics"]["types"]["Pair<Pair<Order, int>, Colour>[]"])

    def test_roots_hold_what_they_hold_and_have_names(self):
        roots, of = self.walk["roots"], self.details["roots"]["count"]
        self.assertEqual(roots["static Shop.Orders.All: Shop.Order[]"], 1)
        self.assertEqual(roots["static Shop.Chain.Head: Shop.Node"], 1)
        self.assertGreaterEqual(roots["handle: Shop.ByHandle"], of)
        self.assertGreaterEqual(roots["finalizer queue: Shop.Finalizable"], of - 1)  # one is being finalized
        self.assertGreaterEqual(roots["handle (pinned): byte[]"], self.details["pinned"]["count"])
        self.assertEqual(roots["dependent handle: object"], self.details["cwt"]["count"])
        stacks = [r for r in roots if r.startswith("stack of MemoryApp.Modes.RootsMode.Hold") and r.endswith(": Shop.OnStack[]")]
        self.assertEqual(len(stacks), 1, roots)
        for name in ("Shop.Order", "Shop.Node", "Shop.OnStack", "Shop.OnThread", "Shop.ByHandle", "Shop.Finalizable", "Shop.Metadata",
                     "Plugin.Gadget"):
            self.assertEqual(held(self.walk, name), count(self.walk, name), name)

    def test_statics_of_generic_and_collectible_types_have_names(self):
        self.check_statics(self.walk["roots"])

    def check_statics(self, roots):
        vaults = self.details["vaults"]
        lists = "System.Collections.Generic.List<byte[]>"
        for name in vaults["holders"]:
            self.assertEqual(roots.get("static %s: %s" % (name, lists)), 1, sorted(r for r in roots if "Vault" in r or "Plug" in r))
        self.assertEqual(len([r for r in roots if r.startswith("static Shop.Vault<string>.Drawer<long>.Lock: object")]), 1)
        plugged = roots.get("static %s: %s" % (vaults["collectible"]["holder"], lists))
        self.assertEqual(plugged, 1)
        self.assertEqual(roots.get("static Plugin.Gadget.Kept: System.Collections.Generic.List<object>"), 1)

    def test_references_within_structs_have_the_names_of_their_fields(self):
        self.assertEqual({e: self.walk["edges"].get(e) for e in self.details["ledgers"]["edges"]}, self.details["ledgers"]["edges"],
                         sorted(e for e in self.walk["edges"] if "Ledger" in e or "Entry" in e))
        blobs = [n for e, n in self.walk["edges"].items() if e.endswith("StateMachine.blob -> Shop.Blob")]
        self.assertEqual(sum(blobs), self.details["ledgers"]["blobs"], sorted(e for e in self.walk["edges"] if "Blob" in e))

    def test_frozen_objects_are_told_apart_and_stay(self):
        frozen = self.details["frozen"]
        self.assertEqual(frozen["count"], 4)
        self.assertGreaterEqual(self.walk["generations"].get("frozen", 0), frozen["bytes"], self.walk["generations"])
        self.assertGreaterEqual(self.walk["roots"]["frozen objects: string"], frozen["count"])

    def test_generations_are_told_apart(self):
        generations = self.walk["generations"]
        self.assertGreaterEqual(generations["POH"], self.details["poh"]["bytes"])
        self.assertGreaterEqual(generations["LOH"], self.details["loh"]["bytes"])
        self.assertGreater(generations["gen2"], NODES * 24)

    def test_nothing_is_left_and_the_application_goes_on(self):
        self.app.assert_progress()
        proc.wait_until(lambda: not self.app.mapped(), 15, "the library leaves the process")


class OneStop:
    """Without a collection, on the runtimes that can."""

    def test_statics_and_stacks_without_a_collection(self):
        before = self.app.ask("now")["collections"]
        walk = self.app.walk("NoCollection", 60000)
        self.assertEqual(self.app.ask("now")["collections"][2], before[2])
        self.assertEqual((walk["facts"]["way"], walk["facts"]["collection_us"], walk["dangling"]), ("no-collection", 0, 0))
        self.assertEqual(count(walk, "Shop.Node"), NODES)
        self.assertEqual(walk["roots"]["static Shop.Chain.Head: Shop.Node"], 1)
        self.assertEqual(held(walk, "Shop.Node"), NODES)
        threads = [r for r in walk["roots"] if r.startswith("thread static MemoryApp.Modes.RootsMode.onThread (thread ")]
        self.assertEqual(len(threads), 1, walk["roots"])
        self.assertIn(" holder): Shop.OnThread[]", threads[0])
        stacks = [r for r in walk["roots"] if r.startswith("stack of MemoryApp.Modes.RootsMode.Hold (thread ") and "OnStack[]" in r]
        self.assertEqual(len(stacks), 1, walk["roots"])
        self.assertEqual(held(walk, "Shop.OnStack"), count(walk, "Shop.OnStack"))
        for name in ("handle: Shop.ByHandle", "handle (pinned): byte[]", "dependent handle: object"):
            self.assertEqual(walk["roots"].get(name), self.walk["roots"].get(name), "as a collection tells it: " + name)
        for name in ("Shop.ByHandle", "Shop.Metadata"):
            self.assertEqual(held(walk, name), count(walk, name), name)
        self.assertEqual(walk["generations"].get("gen2", 0) > NODES * 24, True, walk["generations"])
        self.assertGreaterEqual(walk["generations"]["frozen"], self.walk["generations"]["frozen"])
        self.check_statics(walk["roots"])


class TypesOnly:
    """Where the graph does not fit the budget."""

    def test_objects_are_counted_by_type(self):
        # as many objects as the exact walk has met, but for what came and went since
        counted = self.app.walk("Auto", 60000, "types-only")
        self.assertEqual((counted["facts"]["way"], counted["facts"]["part"]), ("types", False))
        self.assertEqual((counted["facts"]["edges"], counted["facts"]["collection_us"]), (0, 0))
        for name in ("Shop.Order", "Shop.Node", "Shop.Metadata", "Plugin.Gadget", "Shop.Order[]"):
            self.assertEqual(counted["types"][name][:2], self.walk["types"][name][:2], name)
            self.assertEqual(counted["types"][name][3], self.walk["types"][name][3], name)
        self.assertAlmostEqual(counted["facts"]["bytes"], self.heap["total_bytes"], delta=self.heap["total_bytes"] * 0.02)
        for generations in (("gen1", "gen2"), ("LOH",), ("POH",)):  # the collection in between makes the first ones older
            now, then = (sum(w["generations"].get(g, 0) for g in generations) for w in (counted, self.walk))
            self.assertAlmostEqual(now, then, delta=then * 0.02)

    def test_a_count_that_does_not_fit_either_says_that_it_is_a_part(self):
        counted = self.app.answer("Auto", 3, "types")
        self.assertTrue(counted["ok"], counted)
        self.assertEqual((counted["facts"]["way"], counted["facts"]["part"]), ("types", True), counted["facts"])
        self.assertLess(counted["facts"]["objects"], self.walk["facts"]["objects"])
        self.assertGreater(counted["facts"]["holders_budget_ms"], 3)
        self.assertGreater(counted["facts"]["objects"], 0)
        self.app.assert_progress()


class OnNet8(Heap, unittest.TestCase):
    framework = "net8.0"

    def test_memory_of_the_process_grows_by_little_meanwhile(self):
        self.app.walk("Exact", 60000, "brief")  # what the first one leaves: tables, the runtime's own
        with open("/proc/%d/clear_refs" % self.app.pid, "w") as f:
            f.write("5")  # the peak begins anew
        before = self.app.rss_kb()
        self.app.walk("Exact", 60000, "brief")
        self.assertLess(self.app.rss_kb("VmHWM") - before, 8 * 1024)

    def test_types_cannot_be_counted_alone(self):
        answer = self.app.answer("Auto", 5, "types")
        self.assertEqual((answer["ok"], answer["reason"]), (False, "HeapTooLarge"), answer)


@unittest.skipUnless(dotnet.EVERY, "make runtimes")
class OnNet9(Heap, OneStop, TypesOnly, unittest.TestCase):
    framework = "net9.0"


class OnNet10(Heap, OneStop, TypesOnly, unittest.TestCase):
    framework = "net10.0"


class OnNet11(Heap, OneStop, TypesOnly, unittest.TestCase):
    framework = "net11.0"

    def test_memory_of_the_process_grows_by_little(self):
        before = self.app.rss_kb()
        self.app.walk("NoCollection", 60000, "brief", 3)
        self.assertLess(self.app.rss_kb() - before, 8 * 1024)


class ServerCollector(Heap, OneStop, TypesOnly, unittest.TestCase):
    framework = "net11.0"
    env = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}


class ServerCollectorOnNet8(Heap, unittest.TestCase):
    framework = "net8.0"
    env = ServerCollector.env


class OtherCollectors(unittest.TestCase):
    """The same truth, smaller, where the heap has another shape: segments instead of regions, many heaps."""
    SEGMENTS = {"DOTNET_GCName": "libclrgc.so"}
    HEAPS = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "4", "DOTNET_GCNoAffinitize": "1"}

    def check(self, framework, env):
        with Walked(framework, MODES, ["--array", "3000", "--list", "30000"], env=env) as app:
            self.assertEqual(app.ask("now")["server"], "DOTNET_gcServer" in env)
            made = app.details
            for roots in ("Exact",) if framework == "net8.0" else ("Exact", "NoCollection"):
                walk = app.walk(roots, 60000)
                self.assertEqual((walk["dangling"], count(walk, "Shop.Node"), held(walk, "Shop.Node")), (0, 30_000, 30_000))
                for edge, number in {"Shop.Order[].[] -> Shop.Order": 3000, "Shop.Pair<Order, string>[].[].Second -> string": 50,
                                     **made["ledgers"]["edges"]}.items():
                    self.assertEqual(walk["edges"].get(edge), number, (roots, edge))
                for name, number in (("Plugin.Gadget", made["collectible"]["count"]), ("Shop.OnStack", made["roots"]["count"])):
                    self.assertEqual((count(walk, name), held(walk, name)), (number, number), (roots, name))
                for generation, least in (("LOH", made["loh"]["bytes"]), ("POH", made["poh"]["bytes"]), ("frozen", made["frozen"]["bytes"])):
                    self.assertGreaterEqual(walk["generations"].get(generation, 0), least, (roots, generation))
                for name in [*made["vaults"]["holders"], made["vaults"]["collectible"]["holder"]]:
                    self.assertEqual(walk["roots"].get("static %s: System.Collections.Generic.List<byte[]>" % name), 1, (roots, name))
            app.assert_progress()

    def test_segments(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework):
                self.check(framework, self.SEGMENTS)

    def test_many_heaps(self):
        for framework in ("net8.0", "net10.0"):  # on 10: ServerCollector
            with self.subTest(framework):
                self.check(framework, self.HEAPS)

    def test_many_heaps_of_segments(self):
        self.check("net11.0", {**self.SEGMENTS, **self.HEAPS})


class Refusals(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        # hardly more memory than it needs: nothing of a walk is the heap's
        cls.app = Walked("net11.0", "list,allocating", ["--list", "400000"], env={"DOTNET_GCHeapHardLimit": "%x" % (48 << 20)})
        cls.addClassCleanup(cls.app.stop)

    def test_a_heap_that_does_not_fit_the_budget_is_refused(self):
        answer = self.app.answer("Exact", 12)
        self.assertEqual((answer["ok"], answer["reason"]), (False, "HeapTooLarge"), answer)
        self.assertRegex(answer["message"], r"pauseBudgetMilliseconds of \d+ (would|may) do")
        self.app.assert_progress()

    def test_a_walk_while_threads_allocate_is_whole_or_refused(self):
        for roots in ("Exact", "NoCollection") * 2:
            for answer in self.app.try_to_walk(roots, 60000):
                if answer["ok"]:
                    self.assertEqual(answer["dangling"], 0)
                    self.assertEqual(count(answer, "Shop.Node"), 400_000)
                else:
                    self.assertEqual(answer["reason"], "HeapWalkTorn", answer)
        self.app.assert_progress()

    def test_the_application_goes_on_when_the_agent_dies_in_the_middle(self):
        for after in (0.05, 0.2, 0.35, 0.5, 0.8):
            tool = self.app.start("Exact", 60000, "brief", 50)
            time.sleep(after)
            tool.send_signal(signal.SIGKILL)
            tool.communicate()
            self.app.assert_progress()
            proc.wait_until(lambda: not self.app.mapped(), 30, "the library leaves the process")


class Disturbed(unittest.TestCase):
    """What goes on in the process, or what ends, while it is walked."""

    def test_the_application_goes_on_when_assemblies_unload_meanwhile(self):
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework), Walked(framework, "list,reloading", ["--list", "10000"]) as app:
                whole = 0
                for roots in ("Exact", "NoCollection", "Auto"):
                    for answer in app.try_to_walk(roots, 60000, 4):
                        self.assertTrue(answer["ok"] or answer["reason"] == "HeapWalkTorn", answer)
                        if answer["ok"]:
                            whole += 1
                            self.assertEqual((answer["dangling"], held(answer, "Shop.Node")), (0, 10_000))
                self.assertGreater(whole, 0)
                app.assert_progress()

    def test_collections_in_the_background_that_begin_later_are_waited_for(self):
        """The library came when there was none: the runtime was not asked to do without them."""
        with Walked("net11.0", "array,list,collecting", ["--array", "20000", "--list", "30000", "--collecting", "0"]) as app:
            tool = app.start("NoCollection", 60000, 8)
            self.addCleanup(tool.kill)
            lines = [tool.stdout.readline()]
            app.ask("grow collecting 1")
            lines += tool.communicate(timeout=120)[0].splitlines()
            answers = [json.loads(line) for line in lines]
            self.assertGreater(len([a for a in answers if a["ok"]]), 1, answers[-1])
            for answer in answers:
                if answer["ok"]:
                    self.assertEqual((answer["dangling"], held(answer, "Shop.Node"), held(answer, "Shop.Order")), (0, 30_000, 20_000))
                else:
                    self.assertEqual(answer["reason"], "HeapWalkTorn", answer)
            app.assert_progress()

    def test_a_walk_while_a_thread_collects_all_the_time_is_whole_or_refused(self):
        """Between the roots and the walk, and in the middle of the look before it."""
        for framework in dotnet.FRAMEWORKS:
            with self.subTest(framework), Walked(framework, "array,list,collecting", ["--array", "20000", "--list", "30000"]) as app:
                collections = app.ask("now")["collections"][2]
                whole = []
                for roots in ("Exact", "NoCollection") * 2:
                    for answer in app.try_to_walk(roots, 60000, 2):
                        if not answer["ok"]:
                            self.assertEqual(answer["reason"], "HeapWalkTorn", answer)
                            self.assertRegex(answer["message"], "collection came between|refused")
                            continue
                        whole.append(roots)
                        self.assertEqual((answer["dangling"], count(answer, "Shop.Node"), count(answer, "Shop.Order")), (0, 30_000, 20_000))
                        self.assertEqual((held(answer, "Shop.Node"), held(answer, "Shop.Order")), (30_000, 20_000))
                        self.assertEqual(answer["edges"]["Shop.Node.Next -> Shop.Node"], 29_999)
                self.assertTrue(whole, "no walk came to its end")
                self.assertGreater(app.ask("now")["collections"][2], collections + 10)
                app.assert_progress()

    def test_beside_another_profiler_the_roots_are_statics_and_stacks(self):
        with Walked("net11.0", "list", ["--list", "100000"]) as app:
            before = app.ask("now")["collections"]
            walk = app.walk("Auto", 60000, "beside")
            self.assertEqual((walk["facts"]["way"], walk["dangling"], app.ask("now")["collections"]), ("no-collection", 0, before))
            self.assertIn(count(walk, "Shop.Node") - 100_000, range(3), "with those by which their size was measured")
            self.assertEqual(held(walk, "Shop.Node"), 100_000)
            answer = app.try_to_walk("Exact", 60000, "beside")[-1]
            self.assertEqual((answer["ok"], answer["reason"]), (False, "ProfilerAlreadyActive"))

    def test_the_agent_says_so_when_the_process_dies_in_the_middle(self):
        with Walked("net11.0", "list", ["--list", "100000"]) as app:
            tool = app.start("Exact", 60000, "brief", 500)
            tool.stdout.readline()
            app.popen.kill()
            out, _ = tool.communicate(timeout=60)
            self.assertIn('"ok":false', out.splitlines()[0 if '"ok":false' in out.splitlines()[0] else -2])


if __name__ == "__main__":
    unittest.main()
