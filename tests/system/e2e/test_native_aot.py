"""An application that was compiled ahead of time (Native AOT; tests/apps/Native): it has no profiling interface, and what is told from outside works all the
same, with the names that the developer wrote."""
import json
import os
import re
import shutil
import signal
import tempfile
import unittest

from tests.lib import dotnet, local, proc, schemas

SECONDS = 4
LAYERS = {"application", "library", "runtime", "native", "kernel", "unknown"}


def setUpModule():
    try:
        dotnet.native_path()
    except Exception as e:  # no package, or no linker
        raise unittest.SkipTest("the Native AOT application could not be published: %s" % e) from e


class NativeCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-native-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, program=None, **env):
        tmp = tempfile.mkdtemp(dir=self.folder)
        app = proc.Process([program or dotnet.native_path(), "work"], os.path.join(tmp, "log"), env={"TMPDIR": tmp, **env})
        self.addCleanup(app.stop, signal.SIGKILL)
        app.wait_log('"tax":[1-9]|"tax":0.[1-9]')
        return app

    def truth(self, app):
        lines = [json.loads(line) for line in app.log().splitlines() if line.startswith("{") and line.endswith("}")]
        return lines[-1]

    def look(self, app, profiler, seconds=2):
        out = tempfile.mkdtemp(dir=self.folder) + "/out"
        code, text, errors = local.drdotnet("run", "--profiler", profiler, "--duration", "%ds" % seconds, "--pid", app.pid, "-o", out)
        self.assertEqual(code, 0, text + errors)
        with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
            return json.load(f)


class NativeAOT(NativeCase):
    def test_cpu_time_by_the_names_that_were_written(self):
        app = self.start()
        before = self.truth(app)
        report = self.look(app, "CPUHotpaths", SECONDS)
        after = self.truth(app)
        self.assertEqual([e.message[:200] for e in schemas.validator("report-schema.json").iter_errors(report)], [])
        used = {key: after[key] - before[key] for key in after}
        shares = {m["name"]: m for m in report["methods"]}
        names = {"tax": "Shop.Pricing.Tax", "discount": "Shop.Pricing.Discount", "lambda": "Shop.Pricing.Work.lambda"}
        for key, name in names.items():
            self.assertIn(name, shares, sorted(shares))
            self.assertEqual(shares[name]["layer"], "application")
        seen = {key: shares[name]["total"] for key, name in names.items()}
        for key in names:
            self.assertAlmostEqual(100 * seen[key] / sum(seen.values()), 100 * used[key] / sum(used.values()), delta=12, msg="%s %s" % (seen, used))
        self.assertIn("Shop.Pricing.", report["diagnosis"]["headline"])
        self.assertEqual({m["layer"] for m in report["methods"]} - LAYERS, set())
        managed = [m["name"] for m in report["methods"] if m["module"].endswith(".dll")]
        self.assertGreater(len(managed), 3)
        self.assertEqual([name for name in managed if re.search("__|S_P_CoreLib|_d_", name)], [], "no mangled name is left")
        self.assertIn("named by its symbols", {x["name"]: x["meaning"] for x in report["limitsReached"]}["names"])

    def test_waits(self):
        report = self.look(self.start(), "Waits")
        self.assertEqual([e.message[:200] for e in schemas.validator("report-schema-waits.json").iter_errors(report)], [])
        found = {x["id"]: x["place"] for x in report["findings"]}
        self.assertEqual(found.get("LockContention"), "Shop.Orders.Wait", report["diagnosis"]["text"])
        self.assertRegex(report["diagnosis"]["text"], r"at a time waits? in Shop\.Orders\.(Store|PollAsync) \(Thread\.Sleep\)", "an async method, by its name")
        self.assertLess(report["time"]["durationSeconds"], 60)

    def test_threads(self):
        report = self.look(self.start(), "Threads")
        self.assertEqual([e.message[:200] for e in schemas.validator("report-schema-threads.json").iter_errors(report)], [])
        self.assertEqual([(x["id"], x["state"], x["place"]) for x in report["findings"]], [("ZombieThreads", "Found", "Shop.Orders.Wait")],
                         report["diagnosis"]["text"])
        self.assertIn("12 threads wait for a lock in Shop.Orders.Wait", report["diagnosis"]["headline"])

    def test_without_perf_events_it_says_so(self):
        code, text, _ = local.drdotnet("run", "--json", "--profiler", "CPUHotpaths", "--duration", "1s", "--pid", self.start().pid, "-o", self.folder + "/no",
                                       under=local.WITHOUT_PERF)
        said = json.loads(text)
        self.assertEqual((code, said["reason"]), (1, "PerfEventsForbidden"))
        self.assertIn("a Native AOT application can be sampled by perf events only", said["message"])

    def test_the_others_say_why_not(self):
        app = self.start()
        for profiler in ("Deadlocks", "GCSurvivors", "StuckTasks", "Allocations"):
            words = [] if profiler == "GCSurvivors" else ["--duration", "1s"]
            code, text, _ = local.drdotnet("run", "--json", "--profiler", profiler, "--pid", app.pid, "-o", self.folder + "/no", *words)
            said = json.loads(text)
            self.assertEqual((code, said["reason"]), (1, "NativeAOT"), profiler)
            self.assertIn("a Native AOT application has no profiling interface: CPUHotpaths, Waits and Threads work", said["message"])


class WithoutHelp(NativeCase):
    def test_without_a_socket_it_is_known_by_its_file(self):
        app = self.start(DOTNET_EnableDiagnostics="0")
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        listed = {p["pid"]: p for p in json.loads(text)["processes"]}[app.pid]
        self.assertEqual((listed["reason"], listed["entrypoint"]), ("NativeAOT", "Native"))
        self.assertIn("Shop.Pricing.", self.look(app, "CPUHotpaths")["diagnosis"]["headline"])

    def test_without_symbols_the_remedy_is_said(self):
        alone = shutil.copy(dotnet.native_path(), os.path.join(tempfile.mkdtemp(dir=self.folder), "Native"))
        app = self.start(alone)
        report = self.look(app, "CPUHotpaths")
        self.assertRegex({x["name"]: x["meaning"] for x in report["limitsReached"]}["names"], "no names: .* Keep APP.dbg")
        self.assertGreater(sum(m["self"] for m in report["methods"] if m["module"] == "Native"), 5)
        self.assertEqual([m["name"] for m in report["methods"] if "Shop" in m["name"]], [])
        self.assertNotIn("RegexBacktracking", [x["id"] for x in report["excluded"]])
        report = self.look(app, "Threads")
        self.assertEqual(report["diagnosis"]["headline"], "Methods have no names: keep APP.dbg beside the executable")
        self.assertNotIn("ZombieThreads", [x["id"] for x in report["excluded"]])

    def test_symbols_of_another_build_are_not_taken(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        program = shutil.copy(dotnet.native_path(), os.path.join(folder, "Native"))
        with open(dotnet.native_path() + ".dbg", "rb") as f:
            data = bytearray(f.read())
        at = data.index(b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00") + 16
        data[at] ^= 1
        with open(program + ".dbg", "wb") as f:
            f.write(data)
        report = self.look(self.start(program), "CPUHotpaths")
        self.assertIn("Keep APP.dbg", {x["name"]: x["meaning"] for x in report["limitsReached"]}["names"])


if __name__ == "__main__":
    unittest.main()
