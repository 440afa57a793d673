"""The files of GCSurvivors from made-up heaps: the schema, names of others, and report.html in a real browser."""
import json
import os
import re
import subprocess
import tempfile
import unittest

from tests.lib import browser, proc, schemas

TOOL = os.path.join(proc.ROOT, "build/release/tests/survivors-tool")
FILES = {"summary.md", "report.html", "report.json"}
SHOWN = "[...document.querySelectorAll('#tree tbody tr[data-i]')].filter(e => e.offsetParent).map(e => e.cells[0].textContent)"
FOCUSED = "document.activeElement.cells ? document.activeElement.cells[0].textContent : document.activeElement.id"
SCHEMA = "report-schema-gcsurvivors.json"


def load(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
        return json.load(f)


def validate(report):
    import jsonschema
    schemas.validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(report)


def check_sums(test, report):
    """What must be true of every report, whatever is on the heap."""
    heap, tree = report["heap"], report["tree"]
    test.assertEqual(sum(g["usedBytes"] for g in heap["generations"]), heap["bytes"])
    test.assertEqual(sum(g["freeBytes"] for g in heap["generations"]), heap["freeBytes"])
    counted = report["walk"]["roots"] == "none"
    if not counted:
        test.assertEqual(heap["heldBytes"] + heap["unreachableBytes"], heap["bytes"])
    shallow = sum(t["shallowBytes"] for t in report["types"]) + report["typesLeftOut"]["shallowBytes"]
    objects = sum(t["objects"] for t in report["types"]) + report["typesLeftOut"]["objects"]
    test.assertEqual((shallow, objects), (heap["bytes"], report["walk"]["objects"]))
    for lists in ("namespaces", "assemblies"):
        if len(report[lists]) < 500:
            test.assertEqual(sum(g["shallowBytes"] for g in report[lists]), heap["bytes"], lists)
    if counted:
        test.assertEqual([t["retainedBytes"] for t in report["types"] if t["retainedBytes"] is not None] + report["rootKinds"], [])
        test.assertEqual((tree["parent"], tree["retainedBytes"], report["paths"]), ([-1], [heap["bytes"]], []))
        return
    for t in report["types"]:
        test.assertGreaterEqual(t["retainedBytes"] + t["unreachableBytes"], t["shallowBytes"], t)
    # each byte that is held is of one kind of root
    of_kinds = sum(k["retainedBytes"] for k in report["rootKinds"])
    test.assertIn(of_kinds, (heap["heldBytes"], heap["bytes"]))
    test.assertEqual(tree["retainedBytes"][0], of_kinds)
    test.assertEqual({len(tree[k]) for k in tree}, {len(tree["parent"])})
    below = [0] * len(tree["parent"])
    for i, parent in enumerate(tree["parent"]):
        test.assertLess(parent, i)
        if i:
            below[parent] += tree["retainedBytes"][i]
        test.assertLess(tree["name"][i], len(report["names"]))
    for i, bytes_below in enumerate(below):
        test.assertLessEqual(bytes_below + tree["shallowBytes"][i], tree["retainedBytes"][i], report["names"][tree["name"][i]])
    for h in report["holders"]:
        if h["node"] is not None:
            test.assertEqual(report["names"][tree["name"][h["node"]]], h["name"])
            test.assertEqual(tree["retainedBytes"][h["node"]], h["retainedBytes"])


def cells(page, table):
    """The texts of a table's rows that are shown."""
    return page.value("[...document.querySelectorAll('#%s tbody tr')].filter(e => e.offsetParent).map(e => [...e.cells].map(c => c.textContent))" % table)


def strings_of(value):
    """All texts of a document, its keys too."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in [key, *strings_of(item)]]
    if isinstance(value, list):
        return [text for item in value for text in strings_of(item)]
    return [value] if isinstance(value, str) else []


class MadeUp(unittest.TestCase):
    one_process = True
    time_limit = 240

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-survivors-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.folders, cls.took = {}, {}
        for kind in ("shop", "counted", "hostile", "many"):
            out = cls.folders[kind] = os.path.join(folder.name, kind)
            os.makedirs(out)
            cls.took[kind] = json.loads(subprocess.run([TOOL, kind, out], check=True, capture_output=True, text=True, timeout=120).stdout)
        if browser.program():
            cls.browser = browser.Browser(folder.name)
            cls.addClassCleanup(cls.browser.__exit__)

    def report(self, kind):
        return load(self.folders[kind])

    def test_files(self):
        for folder in self.folders.values():
            self.assertEqual(set(os.listdir(folder)), FILES)

    def test_schema_and_sums(self):
        for kind in self.folders:
            with self.subTest(kind):
                validate(self.report(kind))
                check_sums(self, self.report(kind))

    def test_the_schema_refuses_what_is_none(self):
        report = self.report("shop")
        validator = schemas.validator(SCHEMA)
        for wrong in ({**report, "more": 1}, {k: v for k, v in report.items() if k != "holders"}, {**report, "profiler": "MemoryLeak"},
                      {**report, "heap": {**report["heap"], "bytes": -1}}, {**report, "types": [{}]}):
            self.assertTrue(list(validator.iter_errors(wrong)))

    def test_what_the_shop_s_heap_holds(self):
        report = self.report("shop")
        holders = {h["name"]: h for h in report["holders"]}
        self.assertEqual(report["diagnosis"]["finding"], "holder")
        self.assertEqual(report["main"]["holder"], "static Shop.Cache._items", "though a stack holds it, too")
        self.assertEqual(report["main"]["type"], "Shop.Order")
        cache = 80 + 24 + 24 * 120000 + 120000 * (48 + 56)
        self.assertEqual(holders["static Shop.Cache._items"]["retainedBytes"], cache)
        self.assertEqual(holders["static Shop.Cache._items"]["retainedObjects"], 2 + 2 * 120000)
        self.assertEqual(holders["finalizer queue"]["retainedBytes"], 6000000)
        self.assertEqual(holders["handle (pinned)"]["roots"], 40)
        self.assertEqual(holders["handle (pinned)"]["kind"], "pinnedHandle")
        self.assertNotIn("stack of Shop.Cart.Total (thread 12 worker)", {n for n, h in holders.items() if h["retainedBytes"]})
        self.assertEqual(report["heap"]["unreachableBytes"], 900000 + 700000)
        self.assertEqual(report["heap"]["freeBytes"], 4000000)
        self.assertEqual(report["heap"]["pinnedObjects"], 40)
        self.assertEqual({g["generation"]: g["largestFreeBytes"] for g in report["heap"]["generations"]}["gen2"], 3000000)
        self.assertEqual(report["paths"][0]["path"], "static Shop.Cache._items -> Dictionary<int, Order>._entries -> "
                                                     "Dictionary<int, Order>.Entry[].value -> Order x 120,000")
        self.assertEqual(report["paths"][0]["steps"][3]["field"], "[].value")

    def test_no_text_has_escapes(self):
        for kind in ("shop", "counted"):
            for name in FILES - {"report.html"}:
                with open(os.path.join(self.folders[kind], name), encoding="utf-8") as f:
                    text = f.read()
                if name.endswith(".json"):  # what its strings say, not how JSON writes them
                    text = "\n".join(strings_of(json.loads(text)))
                self.assertNotIn("\\", text, (kind, name))

    def test_types_only_is_no_whole_report(self):
        report = self.report("counted")
        self.assertEqual(report["walk"]["typesOnly"], {"seenPercent": 33.0, "wholePauseBudgetMilliseconds": 800, "holdersPauseBudgetMilliseconds": 1126,
                                                       "holdersAgentMemoryBytes": None, "holdersAgentFileBytes": None})
        self.assertRegex(report["diagnosis"]["headline"], r"^Types only, 33% of the heap seen: ")
        whole = {t["name"]: (t["objects"], t["shallowBytes"]) for t in self.report("shop")["types"]}
        self.assertEqual({t["name"]: (t["objects"], t["shallowBytes"]) for t in report["types"]}, whole)
        with open(os.path.join(self.folders["counted"], "summary.md"), encoding="utf-8") as f:
            self.assertIn("| own | objects | type |", f.read())
        page = self.open("counted")
        self.assertEqual(page.value("[...document.querySelectorAll('#tree tbody tr')].map(e => e.textContent)"),
                         ["Not known: objects were only counted by type, see the diagnosis."])
        self.assertIn("pauseBudgetMilliseconds: 1126", page.value("document.querySelector('.lines').textContent"))
        page.click("document.getElementById('tab-types')")
        self.assertEqual(page.value("document.querySelector('#type-table tbody tr').cells[1].textContent"), "not known")

    def test_names_of_others_stay_text(self):
        report = self.report("hostile")
        with open(os.path.join(self.folders["hostile"], "summary.md"), encoding="utf-8") as f:
            summary = f.read()
        names = {t["name"] for t in report["types"]}
        self.assertIn("</script><script>document.title='owned'</script>", names)
        self.assertTrue(all(len(n.encode()) <= 1024 for n in names))
        for text in [*names, *report["names"], *[h["name"] for h in report["holders"]], summary.replace("\n", "")]:
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")
        for line in summary.splitlines():
            if line.startswith("| "):
                self.assertIn(len(re.findall(r"(?<!\\)\|", line)), (5,), line)

    # report.html ------------------------------------------------------------------------------------------------------

    def open(self, kind, place="", **how):
        if not browser.program():
            self.skipTest("no Chromium")
        page = self.browser.open("file://%s/report.html%s" % (self.folders[kind], place), **how)
        self.addCleanup(page.close)
        return page.ready()

    def test_pages_need_nothing_else(self):
        for kind in self.folders:
            page = self.open(kind)
            for tab in ("paths", "types", "namespaces", "assemblies", "generations", "about", "tree"):
                page.click("document.getElementById('tab-%s')" % tab)
                self.assertEqual(page.value("[...document.querySelectorAll('.view')].filter(e => e.offsetParent).map(e => e.id)"), ["view-" + tab])
            self.assertEqual(page.problems, [])
            self.assertEqual(page.requests, ["file://%s/report.html" % self.folders[kind]])
            self.assertEqual(page.value("document.querySelectorAll('img, iframe, object, link').length"), 0)

    def test_diagnosis_first(self):
        page, diagnosis = self.open("shop"), self.report("shop")["diagnosis"]
        self.assertEqual(page.value("document.querySelector('h1').textContent"), diagnosis["headline"])
        self.assertEqual(page.value("[...document.querySelectorAll('.lines li')].map(e => e.textContent)"), diagnosis["text"].split("\n")[1:])

    def test_the_tree_is_opened_by_keys_and_mouse(self):
        page = self.open("shop")
        shown = page.value(SHOWN)
        self.assertEqual(shown[0], "\u25bestatic Shop.Cache._items", "the largest holder is open")
        self.assertEqual(shown[3], "\u25beOrder")
        page.click("document.getElementById('tree-fold')")
        folded = page.value(SHOWN)
        self.assertTrue(all(line[0] in "\u25b8s" for line in folded), folded)
        page.click("document.querySelector('#tree tbody tr')")
        self.assertEqual(page.value(SHOWN)[1].lstrip("\u25b8"), "Dictionary<int, Order>")
        self.assertEqual(page.value("document.querySelectorAll('#tree tbody tr')[1].cells[0].title"),
                         "System.Collections.Generic.Dictionary<int, Shop.Order>")
        page.key("ArrowDown")
        page.key("ArrowRight")
        self.assertIn("Entry[]", page.value(SHOWN)[2])
        page.key("ArrowRight")
        self.assertIn("Entry[]", page.value(FOCUSED))
        page.key("ArrowLeft")
        page.key("ArrowLeft")
        page.key("ArrowLeft")
        self.assertIn("static Shop.Cache._items", page.value(FOCUSED))
        page.key("ArrowLeft")
        self.assertEqual(page.value(SHOWN), folded)
        self.assertIn("treegrid", [role for role, _ in page.roles()])

    def test_search(self):
        page = self.open("shop")
        page.type("/")
        self.assertEqual(page.value("document.activeElement.id"), "tree-search")
        page.type("widget")
        self.assertRegex(page.value("document.getElementById('tree-count').textContent"), r"^1 line holds 4\.2 MB \(14%\)")
        shown = page.value(SHOWN)
        self.assertIn("static Shop.PriceFeed.Instance", shown[0])
        self.assertFalse([line for line in shown if "Cache" in line])
        page.key("Escape")
        self.assertTrue([line for line in page.value(SHOWN) if "Cache" in line])
        page.click("document.getElementById('tab-types')")
        page.type("/")
        page.type("shop order")
        self.assertEqual(page.value("[...document.querySelectorAll('#type-table tbody tr')].filter(e => e.offsetParent).length"), 3)

    def test_tables_are_sorted(self):
        page = self.open("shop")
        page.click("document.getElementById('tab-types')")
        page.click("document.querySelector('#type-table th:nth-child(6) button')")
        counts = [int(row[5].replace(",", "")) for row in cells(page, "type-table")]
        self.assertEqual(counts, sorted((t["objects"] for t in self.report("shop")["types"]), reverse=True))

    def test_the_tables_are_the_report_s(self):
        page, report = self.open("shop"), self.report("shop")
        heap = report["heap"]

        def shown(tab, table, columns):
            page.click("document.getElementById('tab-%s')" % tab)
            return [[row[i] for i in columns] for row in cells(page, table)]

        def share(part):
            return page.value("Report.share(%d, %d)" % (part, heap["bytes"]))

        def size(n):
            return "not known" if n is None else page.value("Report.bytes(%d)" % n)
        self.assertEqual(shown("types", "type-table", (1, 2, 4, 5, 6, 7, 8)), [
            [size(t["retainedBytes"]), share(t["retainedBytes"]), size(t["shallowBytes"]), "{:,}".format(t["objects"]),
             size(t["generationBytes"][2] + t["generationBytes"][3]), t["namespace"], t["assembly"]] for t in report["types"]])
        self.assertEqual([row[0] for row in shown("types", "type-table", (0,))],
                         [re.sub(r"(?:System\.Collections\.Generic|System|Shop\.Ui|Shop\.Import|Shop)\.", "", t["name"]) for t in report["types"]])
        for tab, table in (("namespaces", "namespace-table"), ("assemblies", "assembly-table")):
            self.assertEqual(shown(tab, table, (1, 2, 4, 5, 0)), [
                [size(g["retainedBytes"]), share(g["retainedBytes"]), size(g["shallowBytes"]), "{:,}".format(g["objects"]), g["name"] or "(none)"]
                for g in report[tab]])
        self.assertEqual(shown("generations", "generation-table", (1, 2, 4, 5, 6, 7, 8)), [
            [size(g["usedBytes"]), share(g["usedBytes"]), "{:,}".format(g["objects"]), size(g["freeBytes"]), size(g["largestFreeBytes"]),
             str(g["pinnedObjects"]), size(g["unreachableBytes"])] for g in heap["generations"]])
        self.assertEqual(shown("generations", "kind-table", (0, 1, 2, 4)), [
            [k["title"], size(k["retainedBytes"]), share(k["retainedBytes"]), str(k["roots"])]
            for k in report["rootKinds"] if k["roots"] or k["retainedBytes"]])
        self.assertEqual(shown("paths", "path-table", (1, 2)), [[size(p["bytes"]), share(p["bytes"])] for p in report["paths"]])
        self.assertEqual(page.value("[...document.querySelectorAll('#path-table li')].slice(0, 4).map(e => e.textContent)"),
                         ["static Shop.Cache._items", "Dictionary<int, Order>", "_entries Dictionary<int, Order>.Entry[]", "[].value Order x 120,000"])

    def test_what_matters_is_bold(self):
        page, report = self.open("shop"), self.report("shop")
        page.click("document.getElementById('tab-types')")
        self.assertEqual(page.value("document.querySelectorAll('#type-table tr.strong').length"),
                         len([t for t in report["types"] if t["retainedBytes"] >= report["heap"]["bytes"] / 10]))
        page.click("document.getElementById('tab-tree')")
        strong = page.value("[...document.querySelectorAll('#tree tr.strong')].map(e => e.cells[0].title)")
        self.assertEqual(strong[0], "static Shop.Cache._items")
        self.assertIn("Shop.Order", strong)
        self.assertNotIn("handle (pinned)", strong)

    def test_the_address_keeps_the_place(self):
        report = self.report("shop")
        names = [report["names"][name] for name in report["tree"]["name"]]
        widget = names.index("Shop.Ui.Widget")
        page = self.open("shop", "#at=%d" % widget)
        self.assertEqual(page.value("document.querySelector('#tree tr[aria-selected]').cells[0].title"), "Shop.Ui.Widget")
        self.assertTrue([line for line in page.value(SHOWN) if "byte[]" in line], "what is below it is shown")
        page.click("document.querySelector('#tree tbody tr')")
        page.type("/")
        page.type("widget")
        page.click("document.getElementById('tab-types')")
        page.type("/")
        page.type("order")
        place = page.value("location.hash")
        self.assertEqual(place, "#at=1&q-tree=widget&tab=types&q-type-table=order")
        again = self.open("shop", place)
        self.assertEqual(again.value("[...document.querySelectorAll('.view')].filter(e => e.offsetParent).map(e => e.id)"), ["view-types"])
        self.assertEqual(len(cells(again, "type-table")), 3)
        again.click("document.getElementById('tab-tree')")
        self.assertRegex(again.value("document.getElementById('tree-count').textContent"), "^1 line holds")

    def test_many_children_are_shown_by_and_by(self):
        page = self.open("shop")
        page.value("""Report.kinds.tree({id: 'wide', label: 'Wide', heading: 'Name', search: 'Search', parent: [-1, ...Array(300).fill(0)],
            weight: [300, ...Array(300).fill(1)], name: i => 'n' + i, full: i => 'n' + i, strong: () => false, columns: [], found: () => ''},
            document.getElementById('content'))""")
        shown = "[...document.querySelectorAll('#wide tbody tr')].map(e => e.textContent)"
        for count, more in ((50, "Show more (250 left)"), (250, "Show more (50 left)")):
            self.assertEqual((len(page.value(shown)), page.value(shown)[-1]), (count + 1, more))
            page.click("document.querySelector('#wide tbody button')")
        self.assertEqual((len(page.value(shown)), page.value(shown)[-1]), (300, "n300"))

    def test_useful_without_script(self):
        with open(os.path.join(self.folders["shop"], "report.html"), encoding="utf-8") as f:
            static = re.sub(r"<script.*?</script>", "", f.read(), flags=re.S)
        for text in ("static Shop.Cache._items", "Shop.Order", "large object heap", "finalizer queue", "15 MB of 29 MB", "summary.md"):
            self.assertTrue(text in static, text)  # not assertIn: the page is long


if __name__ == "__main__":
    unittest.main()
