"""Each profiler's sample (deploy/samples) on a sick application of the corpus, whose truth it must tell, in a pod of a real cluster."""
import os
import re
import time
import unittest

from tests.corpus import session, truth
from tests.lib import dotnet, proc, real_cluster
from tests.system.deploy import manifests

SAMPLES = {"cpu-hotpaths": "sort-prices", "allocations": "text-concat", "exceptions": "throw-fields", "slow-requests": "requests-sleep",
           "runtime-pauses": "collect-batches", "deadlocks": "lock-transfer", "waits": "block-mutex", "threads": "stand-native",
           "stuck-tasks": "task-lost", "duplicated-strings": "dup-customers", "gc-survivors": "held-orders", "memory-leak": "static-audit"}
CASES = {case.name: case for case in truth.SICK}
BUSY = {"sort-prices": "500m"}  # those that take what they get


def sample(name, load):
    """The sample's object, for that application and this test's patience."""
    path = os.path.join(proc.ROOT, "deploy/samples/%s.yaml" % name)
    with open(path) as f:
        made = manifests.parse(f.read().replace("app: checkout", "app: " + load))[0]
    spec, case = made["spec"], CASES[load]
    seconds = case.seconds or session.SECONDS.get(case.profiler)
    if seconds:
        spec["durationSeconds"] = seconds
    if "pauseBudgetMilliseconds" in spec or case.profiler == truth.STRINGS:
        spec["pauseBudgetMilliseconds"] = session.BUDGET_MS  # the machine is not the applications' alone
    return made


class Profilers(real_cluster.Case):
    values = {"agent": {"maxSessions": 6}}  # most of them wait more than they compute

    @classmethod
    def prepare(cls):
        cls.began = time.monotonic()
        cls.cluster.pods({load: real_cluster.container("CorpusApp", load, cpu=BUSY.get(load)) for load in SAMPLES.values()})
        cls.processes = cls.cluster.processes(SAMPLES.values())
        cls.before = {load: dotnet.Traces(process) for load, process in cls.processes.items()}

    def test_each_sample_tells_the_truth_and_leaves_nothing(self):
        made = {load: sample(name, load) for name, load in SAMPLES.items()}
        leak = made.pop("static-audit")
        self.cluster.apply(*made.values())
        self.wait_for(made)
        time.sleep(max(0.0, session.WARM[truth.LEAK] - (time.monotonic() - self.began)))
        self.cluster.apply(leak)
        self.wait_for({"static-audit": leak})
        for load in SAMPLES.values():
            with self.subTest("what is left", load=load):
                dotnet.assert_nothing_left(self, self.processes[load], self.before[load])

    def wait_for(self, made):
        for load, one in made.items():
            case = CASES[load]
            with self.subTest(case.profiler, load=load):
                done = self.cluster.finished(one["metadata"]["name"])
                self.assert_succeeded(done)
                for pattern in case.first + case.text:
                    self.assertRegex(done["status"]["diagnosis"], re.compile(pattern, re.I))


if __name__ == "__main__":
    unittest.main()
