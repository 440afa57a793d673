"""`drdotnet ps` and `drdotnet run` on real .NET 8, 9 and 10 processes: the truth is what the application measures itself."""
import json
import os
import signal
import subprocess
import time
import unittest

from tests.lib import dotnet, local, proc, readers, shares

class Ps(local.LocalCase):
    def test_lists_processes_of_each_runtime(self):
        apps = {framework: self.start("idle", framework, arguments=["--threads", "5"]) for framework in dotnet.FRAMEWORKS}
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        found = {p["pid"]: p for p in json.loads(text)["processes"]}
        for framework, app in apps.items():
            self.assertIn(app.pid, found, text)
            process = found[app.pid]
            self.assertEqual(process["runtimeVersion"], app.runtime)
            self.assertEqual(process["entrypoint"], "Checkout")
            self.assertEqual(process["uid"], os.getuid())
            self.assertEqual(process["innerPid"], app.pid)
            self.assertTrue(process["profilable"], process)
        code, text, _ = local.drdotnet("ps")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"(?m)^%d\s.*Checkout.*yes" % apps["net11.0"].pid)

    def test_says_why_a_process_cannot_be_profiled(self):
        app = self.start("idle", env={"DOTNET_EnableDiagnostics": "0"})
        code, text, errors = local.drdotnet("ps", "--json")
        self.assertEqual(code, 0, errors)
        process = {p["pid"]: p for p in json.loads(text)["processes"]}[app.pid]
        self.assertFalse(process["profilable"])
        self.assertEqual(process["reason"], "DiagnosticsDisabled")


class Run(local.LocalCase):
    def check_hot(self, framework):
        app = self.start("hot", framework)
        app.warm()
        before = dotnet.Traces(app)
        out = self.run_session(app, 3, "--frequency", "499")
        self.assertEqual(sorted(os.listdir(out)), sorted(readers.MEDIA))
        samples = readers.folded(out)
        shares.check(self, samples, app.shares(app.during))
        self.assertEqual(samples.share("Monitor.Wait"), 0, "blocked threads cost nothing: %s" % samples.leaves())
        with open(out + "/summary.md") as f:
            summary = f.read()
        self.assertIn("Checkout.Pricing.Tax.Compute", summary)
        self.assertIn("Checkout.Cart.Total", summary)
        self.assertIn("Checkout.Pricing.Tax.Compute", self.output)
        app.assert_progress()
        self.assert_nothing_left(app, before)
        return out, samples

    def test_hot_method_on_net8(self):
        self.check_hot("net8.0")

    def test_hot_method_on_net10(self):
        self.check_hot("net10.0")

    def test_hot_method_on_net11_in_all_formats(self):
        out, folded = self.check_hot("net11.0")
        shares.check_rate(self, out, 499)
        pprof, speedscope = readers.Pprof(out), readers.speedscope(out)
        for text in shares.HOT:
            self.assertAlmostEqual(pprof.self_share(text), folded.self_share(text), delta=0.005)
            self.assertAlmostEqual(speedscope.self_share(text), folded.self_share(text), delta=0.005)
            self.assertAlmostEqual(pprof.share(text), folded.share(text), delta=0.005)
        self.assertIn("nanoseconds", [unit for _, unit in pprof.types])
        with open(out + "/report.json") as f:
            self.assertEqual(json.load(f)["schema"], "drdotnet.dev/report/v1")
        with open(out + "/report.html") as f:
            html = f.read()
        self.assertNotRegex(html, r"(?i)(src|href)\s*=\s*[\"']?https?:", "the report asks for nothing outside")
        self.assertLess(len(html), 400 * 1024)

    def check_shares(self, load, ops, seconds=3, least=0.7, **how):
        app = self.start(load, **how)
        app.warm(ops)
        out = self.run_session(app, seconds, "--frequency", "499")
        samples = readers.folded(out)
        shares.check(self, samples, app.shares(app.during), least)
        return app, out, samples

    def test_shares_of_several_threads(self):
        self.check_shares("shares", ops=400)

    def test_shares_of_short_bursts(self):
        self.check_shares("bursts", ops=2000, least=0.3)

    def test_shares_of_async_methods(self):
        _, out, samples = self.check_shares("async", ops=200, least=0.5)
        self.assertFalse([leaf for leaf in samples.leaves() if "MoveNext" in leaf and "Checkout" in leaf])
        with open(out + "/report.json") as f:
            self.assertIn("ReserveAsync", f.read())

    def test_threads_that_appear_meanwhile(self):
        app = self.start("threads")
        app.warm(60)
        out = self.run_session(app, 4)
        samples = readers.folded(out)
        self.assertGreater(samples.share("one-shot"), 0.7, samples.leaves())
        shares.check_rate(self, out, 99)

    def test_web_application(self):
        app, out, samples = self.check_shares("web", ops=2000, least=0.1, arguments=["--threads", "4"])
        self.assertGreater(samples.share("Checkout"), 0.2, samples.leaves())
        shares.check_rate(self, out, 499)
        app.assert_progress()

    def test_a_manifest_and_a_name_choose_the_session_and_the_process(self):
        app = self.start("warm")
        manifest = os.path.join(self.folder, "session.yaml")
        with open(manifest, "w") as f:
            f.write("apiVersion: drdotnet.dev/v1alpha1\nkind: ProfilingSession\nmetadata: {name: checkout-cpu}\n"
                    "spec:\n  profiler: CPUHotpaths\n  durationSeconds: 3\n  cpuHotpaths: {frequencyHertz: 499}\n"
                    "  target: {selector: {matchLabels: {app: checkout}}}\n")
        out = self.folder + "/out"
        code, text, errors = local.drdotnet("run", "-f", manifest, "--pid", app.pid, "-o", out, "--json")
        self.assertEqual(code, 0, errors)
        json.loads(text)
        shares.check_rate(self, out, 499)

    def test_a_second_session_in_the_same_process(self):
        app = self.start("hot")
        app.warm()
        before = dotnet.Traces(app)
        for _ in range(3):
            shares.check_hot(self, readers.folded(self.run_session(app, 2, "--frequency", "499")))
        self.assert_nothing_left(app, before)

    def test_ctrl_c_ends_it_and_keeps_what_there_is(self):
        app = self.start("hot")
        app.warm()
        before = dotnet.Traces(app)
        out = self.folder + "/out"
        run = proc.Process([local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "60s", "--frequency", "499",
                            "--pid", str(app.pid), "-o", out], log=self.folder + "/run.log")
        self.addCleanup(run.stop)
        time.sleep(3)
        code = run.stop(signal.SIGINT, seconds=30)
        self.assertIn(code, (0, 130), run.log())
        shares.check_hot(self, readers.folded(out))
        self.assert_nothing_left(app, before)

    def test_the_end_of_the_process_is_told(self):
        app = self.start("warm")
        run = proc.Process([local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "30s", "--pid", str(app.pid),
                            "-o", self.folder + "/out"], log=self.folder + "/run.log")
        self.addCleanup(run.stop)
        time.sleep(2)
        app.stop(signal.SIGKILL)
        proc.wait_until(run.ended, 10, "drdotnet notices the end")
        self.assertRegex(run.log(), r"ended|exited|ProcessExited")

    def test_killed_in_the_middle_it_leaves_nothing(self):
        app = self.start("warm")
        app.warm()
        before = dotnet.Traces(app)
        run = proc.Process([local.DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "30s", "--pid", str(app.pid),
                            "-o", self.folder + "/out"], log=self.folder + "/run.log")
        self.addCleanup(run.stop)
        time.sleep(3)
        run.stop(signal.SIGKILL)
        app.assert_progress()

        def gone():
            left = dotnet.Traces(app).left_since(before)
            left.pop("files", None)  # the staged copy is swept by the next session
            return not left
        proc.wait_until(gone, 10, "the library ended itself: %s" % dotnet.Traces(app).left_since(before))
        self.run_session(app, 2)
        self.assert_nothing_left(app, before)


class Refusals(local.LocalCase):
    def refused(self, *words, what):
        code, text, errors = local.drdotnet(*words)
        self.assertNotEqual(code, 0, text)
        self.assertRegex(errors, what)
        self.assertLessEqual(len(errors.strip().splitlines()), 3, errors)

    def test_no_such_process(self):
        self.refused("run", "--profiler", "CPUHotpaths", "--pid", "4194303", "-o", self.folder + "/o", what="4194303")

    def test_a_process_that_is_not_dotnet(self):
        with subprocess.Popen(["sleep", "60"]) as other:
            try:
                self.refused("run", "--profiler", "CPUHotpaths", "--pid", other.pid, "-o", self.folder + "/o", what=r"\.NET")
            finally:
                other.kill()

    def test_wrong_manifests(self):
        for text, what in (("kind: Pod\napiVersion: drdotnet.dev/v1alpha1\n", "ProfilingSession"), ("{", "session.yaml"),
                           ("apiVersion: drdotnet.dev/v1alpha1\nkind: ProfilingSession\nmetadata: {name: a}\n"
                            "spec: {profiler: CPUHotpaths, durationSeconds: 0}\n", "durationSeconds")):
            with self.subTest(text):
                manifest = os.path.join(self.folder, "session.yaml")
                with open(manifest, "w") as f:
                    f.write(text)
                self.refused("run", "-f", manifest, "--pid", os.getpid(), "-o", self.folder + "/o", what=what)

    def test_help_and_version(self):
        with open(os.path.join(proc.ROOT, "VERSION")) as f:
            version = f.read().strip()
        code, text, _ = local.drdotnet("--version")
        self.assertEqual((code, version in text), (0, True))
        code, text, _ = local.drdotnet("--help")
        self.assertEqual(code, 0)
        for word in ("ps", "run", "--version"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
