"""Stacks against a program that knows its own (tests/apps/StackApp), on .NET 8, 9 and 10: small methods without a frame, code of each tier, code that was
replaced while it ran, lambdas, LINQ, generics, async methods, filters and finally blocks, helpers of the runtime, a library. Each thread's stack must be
the beginning of a path that its code takes, frame by frame; followed from outside, and by the library's timers in the process."""
import json
import os
import unittest

from tests.system.cpu import stacks
from tests.lib import local, readers

HERTZ = 999
LEAST = 0.99     # of the samples are right
CHANCE = 2       # wrong ones that a handful of samples may hold beyond that
MISCALLED = 0.1  # of the samples in a library may have lost their caller: those whose code could not be asked for
ENOUGH = 100     # samples of the known threads
LIBRARIES = 10   # of them in a library


class Stacks(local.LocalCase):
    def judge(self, framework, env=None, under=(), application=stacks.StackApp):
        """Sessions until there are enough samples, on a busy machine too."""
        app = application(framework, self.folder, env=env)
        self.addCleanup(app.stop)
        app.warm(100)
        right = wrong = said = called = miscalled = 0
        text = []
        while right + wrong < ENOUGH or (called + miscalled < LIBRARIES and not under):
            out = self.run_session(app, 1, "--frequency", str(HERTZ), under=under)
            with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
                sampling = json.load(f)["sampling"]
            self.assertEqual(sampling["method"] == "signal-timer", bool(under), sampling)
            self.assertEqual(sampling["stacks"], "code", sampling)
            self.assertEqual(sum(sampling["incompleteByReason"].values()), sampling["incompleteStacks"])
            said += sampling["incompleteStacks"]  # such as those that a library without a processor was asked about in vain
            text += [str(sampling["incompleteByReason"])]
            libraries = stacks.judge_libraries(app, readers.folded(out))
            called += libraries.right
            miscalled += sum(libraries.wrong.values())
            for thread, found in stacks.judge(app, readers.folded(out)).items():
                right += found.right
                wrong += sum(found.wrong.values())
                text += ["%s: %d x %s" % (thread, n, names) for names, n in found.wrong.items()]
        if not under:  # in the process, libraries are followed by frame pointers
            self.assertLessEqual(miscalled, CHANCE + MISCALLED * (called + miscalled), "%s, %d right" % (libraries.wrong, called))
        self.assertGreaterEqual(right + CHANCE + said, LEAST * (right + wrong), "\n".join(text))

    def test_on_net8(self):
        self.judge("net8.0")

    def test_on_net8_optimized_at_once(self):
        self.judge("net8.0", {"DOTNET_TieredCompilation": "0"})

    def test_on_net10(self):
        self.judge("net10.0")

    def test_on_net10_without_profiles(self):
        self.judge("net10.0", {"DOTNET_TieredPGO": "0"})

    def test_on_net11(self):
        self.judge("net11.0")

    def test_on_net11_optimized_at_once(self):
        self.judge("net11.0", {"DOTNET_TieredCompilation": "0"})

    def test_on_net8_compiled_ahead(self):
        self.judge("net8.0", {"DOTNET_TieredCompilation": "0"}, application=stacks.StackReady)  # so it is not compiled again

    def test_on_net11_compiled_ahead(self):
        self.judge("net11.0", {"DOTNET_TieredCompilation": "0"}, application=stacks.StackReady)

    def test_by_timers_on_net11_compiled_ahead(self):
        self.judge("net11.0", {"DOTNET_TieredCompilation": "0"}, under=local.WITHOUT_PERF, application=stacks.StackReady)

    def test_by_timers_on_net8(self):
        self.judge("net8.0", under=local.WITHOUT_PERF)

    def test_by_timers_on_net10_without_profiles(self):
        self.judge("net10.0", {"DOTNET_TieredPGO": "0"}, under=local.WITHOUT_PERF)

    def test_by_timers_on_net11(self):
        self.judge("net11.0", under=local.WITHOUT_PERF)

    def test_by_timers_on_net11_optimized_at_once(self):
        self.judge("net11.0", {"DOTNET_TieredCompilation": "0"}, under=local.WITHOUT_PERF)


if __name__ == "__main__":
    unittest.main()
