"""The ProfilingSession resource as a real API server sees it: what it takes, refuses, fills in, shows and explains.
An API server before 1.25 knows neither CEL rules nor strict fields: there the legacy resource is tested."""
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests.system.controller.fakehub import await_sessions
from tests.lib import kube, proc

CRD = "crds/drdotnet.dev_profilingsessions.yaml"
LEGACY = "crds/legacy/drdotnet.dev_profilingsessions.yaml"
SESSIONS = "/apis/drdotnet.dev/v1alpha1/namespaces/shop/profilingsessions"
DIGEST = "0" * 64
DELETE = object()

SPEC = {"profiler": "CPUHotpaths", "target": {"selector": {"matchLabels": {"app": "checkout"}}}}
FULL = {"profiler": "CPUHotpaths",
        "target": {"podName": "checkout-1", "container": "app", "process": {"entrypoint": "Checkout"}, "maxPods": 2},
        "durationSeconds": 60, "cpuHotpaths": {"frequencyHertz": 199}, "pauseBudgetMilliseconds": 50, "output": {"store": "archive"},
        "activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 3600, "priority": "High", "reveal": True, "baselineSession": "checkout-1"}
LEAK = {"profiler": "MemoryLeak", "target": {"podName": "checkout-1"}, "memoryLeak": {"roots": "Exact", "walks": 3}}
ALLOCATIONS = {"profiler": "Allocations", "target": {"podName": "checkout-1"}, "allocations": {}}
SURVIVORS = {"profiler": "GCSurvivors", "target": {"podName": "checkout-1"}, "gcSurvivors": {"roots": "NoCollection"}}
LABELS = ("target", "selector", "matchLabels")
EXPRESSIONS = ("target", "selector", "matchExpressions")


def plain(text):
    """Without the indices of paths, which old API servers leave out."""
    return re.sub(r"\[\d+\]", "", text)


def changed(spec, path, value):
    """A copy of the spec with one field set, or without it for DELETE."""
    spec = copy.deepcopy(spec)
    at = spec
    for word in path[:-1]:
        at = at.setdefault(word, {})
    if value is DELETE:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = value
    return spec


ACCEPTED = [
    ((), {}, "nothing but what is required"),
    (("durationSeconds",), 1, ""), (("durationSeconds",), 3600, ""),
    (("cpuHotpaths",), {"frequencyHertz": 1}, ""), (("cpuHotpaths",), {"frequencyHertz": 999}, ""), (("cpuHotpaths",), {}, ""),
    (("pauseBudgetMilliseconds",), 1, ""), (("pauseBudgetMilliseconds",), 60000, ""),
    (("activeDeadlineSeconds",), 40, "the default duration and ten seconds"), (("activeDeadlineSeconds",), 86400, ""),
    (("ttlSecondsAfterFinished",), 0, ""), (("ttlSecondsAfterFinished",), 31536000, ""),
    (("target", "maxPods"), 20, ""), (("target", "container"), "a" * 63, ""), (("target", "process"), {"pid": 1}, ""),
    (("target",), {"podName": "a.b-c"}, ""),
    (LABELS, {"example.com/part": "x"}, ""), (LABELS, {"app": "A_b.c-9"}, ""),
    (EXPRESSIONS, [{"key": "example.com/tier", "operator": "In", "values": ["a", "b"]}, {"key": "legacy", "operator": "DoesNotExist"}], ""),
    (("priority",), "Low", ""), (("priority",), "High", ""), (("reveal",), True, ""), (("reveal",), False, ""),
    (("cancel",), True, "canceled before it began"), (("baselineSession",), "checkout-cpu.1", ""),
]
# whole settings of the other profilers: what is added to {profiler, target}
ACCEPTED_OF = [
    ("GCSurvivors", {}), ("GCSurvivors", {"gcSurvivors": {}}), ("GCSurvivors", {"gcSurvivors": {"roots": "Auto"}, "activeDeadlineSeconds": 10}),
    ("GCSurvivors", {"gcSurvivors": {"roots": "Exact"}}), ("GCSurvivors", {"gcSurvivors": {"roots": "NoCollection"}}),
    ("MemoryLeak", {}), ("MemoryLeak", {"memoryLeak": {"roots": "NoCollection", "walks": 2}, "durationSeconds": 600, "activeDeadlineSeconds": 610}),
    ("MemoryLeak", {"memoryLeak": {"walks": 10}, "activeDeadlineSeconds": 130}),
    ("DuplicatedStrings", {"reveal": True, "activeDeadlineSeconds": 10}), ("Allocations", {"durationSeconds": 5, "activeDeadlineSeconds": 15}),
    ("DuplicatedStrings", {"duplicatedStrings": {}}), ("Allocations", {"allocations": {}}), ("RuntimePauses", {"runtimePauses": {}}),
    ("Deadlocks", {"deadlocks": {}}), ("Deadlocks", {"activeDeadlineSeconds": 15}), ("Exceptions", {"exceptions": {}}), ("Exceptions", {"reveal": True}),
    ("StuckTasks", {"stuckTasks": {}}), ("Waits", {"waits": {}}),
    ("Threads", {"threads": {}}), ("Threads", {"activeDeadlineSeconds": 15}),
    ("SlowRequests", {"slowRequests": {}}), ("SlowRequests", {"activeDeadlineSeconds": 40}),
    ("Allocations", {"activeDeadlineSeconds": 40}), ("RuntimePauses", {"activeDeadlineSeconds": 70}), ("RuntimePauses", {"durationSeconds": 3600}),
]
REFUSED_OF = [  # profiler, what is added, what the refusal names
    ("GCSurvivors", {"durationSeconds": 30}, ["spec", "durationSeconds does not apply"]),
    ("DuplicatedStrings", {"durationSeconds": 1}, ["spec", "durationSeconds does not apply"]),
    ("GCSurvivors", {"gcSurvivors": {"roots": "exact"}}, ["spec.gcSurvivors.roots", "NoCollection"]),
    ("GCSurvivors", {"gcSurvivors": {"walks": 2}}, ["spec.gcSurvivors.walks", "unknown field"]),
    ("GCSurvivors", {"memoryLeak": {}}, ["spec", "memoryLeak belongs to the profiler MemoryLeak"]),
    ("GCSurvivors", {"cpuHotpaths": {}}, ["spec", "cpuHotpaths belongs to the profiler CPUHotpaths"]),
    ("GCSurvivors", {"activeDeadlineSeconds": 9}, ["spec", "activeDeadlineSeconds must be at least durationSeconds + 10"]),
    ("MemoryLeak", {"memoryLeak": {"walks": 1}}, ["spec.memoryLeak.walks", "2"]),
    ("MemoryLeak", {"memoryLeak": {"walks": 11}}, ["spec.memoryLeak.walks", "10"]),
    ("MemoryLeak", {"memoryLeak": {"roots": "All"}}, ["spec.memoryLeak.roots", "Auto"]),
    ("MemoryLeak", {"gcSurvivors": {}}, ["spec", "gcSurvivors belongs to the profiler GCSurvivors"]),
    ("MemoryLeak", {"activeDeadlineSeconds": 129}, ["spec", "activeDeadlineSeconds must be at least durationSeconds + 10"]),
    ("Allocations", {"activeDeadlineSeconds": 39}, ["spec", "activeDeadlineSeconds must be at least durationSeconds + 10"]),
    ("RuntimePauses", {"activeDeadlineSeconds": 69}, ["spec", "activeDeadlineSeconds must be at least durationSeconds + 10"]),
    ("RuntimePauses", {"memoryLeak": {"walks": 2}}, ["spec", "memoryLeak belongs to the profiler MemoryLeak"]),
    ("Allocations", {"allocations": {"rate": 1}}, ["spec.allocations.rate", "unknown field"]),
    ("RuntimePauses", {"runtimePauses": {"walks": 2}}, ["spec.runtimePauses.walks", "unknown field"]),
    ("DuplicatedStrings", {"duplicatedStrings": {"roots": "Exact"}}, ["spec.duplicatedStrings.roots", "unknown field"]),
    ("DuplicatedStrings", {"duplicatedStrings": []}, ["spec.duplicatedStrings", "object"]),
    ("Allocations", {"runtimePauses": {}}, ["spec", "runtimePauses belongs to the profiler RuntimePauses"]),
    ("RuntimePauses", {"duplicatedStrings": {}}, ["spec", "duplicatedStrings belongs to the profiler DuplicatedStrings"]),
    ("MemoryLeak", {"allocations": {}}, ["spec", "allocations belongs to the profiler Allocations"]),
]

# path, value, what the refusal must name
REFUSED = [
    (("profiler",), "Hotpaths", ["spec.profiler", "CPUHotpaths"]),
    (("profiler",), DELETE, ["spec.profiler", "Required"]),
    (("target",), DELETE, ["spec.target", "Required"]),
    (("target",), {}, ["spec.target", "either selector or podName"]),
    (("target", "podName"), "checkout-1", ["spec.target", "either selector or podName"]),
    (("target",), {"podName": "Not_A_Pod"}, ["spec.target.podName", "should match"]),
    (("target",), {"podName": "a" * 254}, ["spec.target.podName", "253"]),
    (("target", "selector"), {}, ["spec.target.selector", "must not be empty"]),
    (LABELS, {}, ["spec.target.selector", "must not be empty"]),
    (LABELS, {"app": "not a value"}, ["spec.target.selector.matchLabels.app", "should match"]),
    (LABELS, {"app": "a" * 64}, ["spec.target.selector.matchLabels.app", "63"]),
    (LABELS, {"k%d" % i: "v" for i in range(17)}, ["spec.target.selector.matchLabels", "16"]),
    (EXPRESSIONS, [{"key": "a b", "operator": "Exists"}], ["spec.target.selector.matchExpressions[0].key", "should match"]),
    (EXPRESSIONS, [{"key": "a", "operator": "Gt"}], ["spec.target.selector.matchExpressions[0].operator", "DoesNotExist"]),
    (EXPRESSIONS, [{"key": "a", "operator": "In"}], ["spec.target.selector.matchExpressions[0]", "need values"]),
    (EXPRESSIONS, [{"key": "a", "operator": "Exists", "values": ["b"]}], ["spec.target.selector.matchExpressions[0]", "take none"]),
    (EXPRESSIONS, [{"operator": "Exists"}], ["spec.target.selector.matchExpressions[0].key", "Required"]),
    (("target", "container"), "App", ["spec.target.container", "should match"]),
    (("target", "container"), "a" * 64, ["spec.target.container", "63"]),
    (("target", "process"), {}, ["spec.target.process", "at least 1"]),
    (("target", "process"), {"pid": 0}, ["spec.target.process.pid", "greater than or equal to 1"]),
    (("target", "process"), {"pid": 4194305}, ["spec.target.process.pid", "4194304"]),
    (("target", "process"), {"entrypoint": ""}, ["spec.target.process.entrypoint", "at least 1"]),
    (("target", "maxPods"), 0, ["spec.target.maxPods", "1"]),
    (("target", "maxPods"), 21, ["spec.target.maxPods", "20"]),
    (("target", "namespace"), "other", ["spec.target.namespace", "unknown field"]),
    (("durationSeconds",), 0, ["spec.durationSeconds", "1"]),
    (("durationSeconds",), 3601, ["spec.durationSeconds", "3600"]),
    (("durationSeconds",), "30s", ["spec.durationSeconds", "integer"]),
    (("cpuHotpaths",), {"frequencyHertz": 0}, ["spec.cpuHotpaths.frequencyHertz", "1"]),
    (("cpuHotpaths",), {"frequencyHertz": 1000}, ["spec.cpuHotpaths.frequencyHertz", "999"]),
    (("cpuHotpaths",), {"frequency": 99}, ["spec.cpuHotpaths.frequency", "unknown field"]),
    (("pauseBudgetMilliseconds",), 0, ["spec.pauseBudgetMilliseconds", "1"]),
    (("pauseBudgetMilliseconds",), 60001, ["spec.pauseBudgetMilliseconds", "60000"]),
    (("output",), {"store": "Not A Store"}, ["spec.output.store", "should match"]),
    (("output",), {"url": "s3://x"}, ["spec.output.url", "unknown field"]),
    (("activeDeadlineSeconds",), 39, ["spec", "activeDeadlineSeconds must be at least durationSeconds + 10"]),
    (("activeDeadlineSeconds",), 86401, ["spec.activeDeadlineSeconds", "86400"]),
    (("ttlSecondsAfterFinished",), -1, ["spec.ttlSecondsAfterFinished", "0"]),
    (("ttlSecondsAfterFinished",), 31536001, ["spec.ttlSecondsAfterFinished", "31536000"]),
    (("priority",), "Urgent", ["spec.priority", "supported values"]), (("priority",), 5, ["spec.priority", "string"]),
    (("reveal",), "yes", ["spec.reveal", "boolean"]),
    (("baselineSession",), "other/checkout", ["spec.baselineSession", "should match"]), (("baselineSession",), "", ["spec.baselineSession", "1"]),
    (("baselineSession",), "a" * 254, ["spec.baselineSession", "253"]), (("gcSurvivors",), {}, ["spec", "gcSurvivors belongs to"]),
    (("cancel",), "yes", ["spec.cancel", "boolean"]),
    (("durration",), 30, ["spec.durration", "unknown field"]),
]
CEL_ONLY = ("either selector or podName", "must not be empty", "need values", "take none",
            "activeDeadlineSeconds must be at least durationSeconds + 10", "durationSeconds does not apply", "gcSurvivors belongs to",
            "gcSurvivors belongs to the profiler GCSurvivors", "memoryLeak belongs to the profiler MemoryLeak",
            "cpuHotpaths belongs to the profiler CPUHotpaths", "duplicatedStrings belongs to the profiler DuplicatedStrings",
            "allocations belongs to the profiler Allocations", "runtimePauses belongs to the profiler RuntimePauses",
            "deadlocks belongs to the profiler Deadlocks", "exceptions belongs to the profiler Exceptions",
            "stuckTasks belongs to the profiler StuckTasks", "waits belongs to the profiler Waits", "threads belongs to the profiler Threads",
            "slowRequests belongs to the profiler SlowRequests")

# what an update may not do: path, the new value, the field that the message names
MUTATIONS = [
    (("target",), {"podName": "other"}, "target"),
    (("target", "container"), "other", "target"), (("target", "container"), DELETE, "target"),
    (("target", "process"), DELETE, "target"), (("target", "process"), {"pid": 7}, "target"),
    (("target", "maxPods"), 3, "target"), (("target", "maxPods"), DELETE, "target"),
    (("durationSeconds",), 61, "durationSeconds"), (("durationSeconds",), DELETE, "durationSeconds"),
    (("cpuHotpaths", "frequencyHertz"), 99, "cpuHotpaths"), (("cpuHotpaths",), DELETE, "cpuHotpaths"),
    (("pauseBudgetMilliseconds",), 51, "pauseBudgetMilliseconds"), (("pauseBudgetMilliseconds",), DELETE, "pauseBudgetMilliseconds"),
    (("output", "store"), "other", "output"), (("output",), DELETE, "output"),
    (("activeDeadlineSeconds",), 901, "activeDeadlineSeconds"), (("activeDeadlineSeconds",), DELETE, "activeDeadlineSeconds"),
    (("ttlSecondsAfterFinished",), 1, "ttlSecondsAfterFinished"), (("ttlSecondsAfterFinished",), DELETE, "ttlSecondsAfterFinished"),
    (("priority",), "Low", "priority"), (("priority",), DELETE, "priority"), (("reveal",), False, "reveal"), (("reveal",), DELETE, "reveal"),
    (("baselineSession",), "checkout-2", "baselineSession"), (("baselineSession",), DELETE, "baselineSession"),
]
MUTATIONS_OF = [
    (LEAK, ("memoryLeak", "walks"), 4, "memoryLeak"), (LEAK, ("memoryLeak", "roots"), DELETE, "memoryLeak"), (LEAK, ("memoryLeak",), DELETE, "memoryLeak"),
    (ALLOCATIONS, ("allocations",), DELETE, "allocations"),
    (SURVIVORS, ("gcSurvivors", "roots"), "Auto", "gcSurvivors"), (SURVIVORS, ("gcSurvivors",), DELETE, "gcSurvivors"),
]
# fields without a default: adding them to a session that was made without them
ADDITIONS = [("durationSeconds", 31), ("cpuHotpaths", {"frequencyHertz": 99}), ("activeDeadlineSeconds", 600), ("reveal", True),
             ("pauseBudgetMilliseconds", 200), ("baselineSession", "checkout-1")]

STATUS = {
    "observedGeneration": 1, "state": "Completed", "targetSummary": "app=checkout", "headline": "84% of CPU in Tax.Compute",
    "diagnosis": "84% of CPU in Tax.Compute\ncalled from Cart.Total", "comparison": "Tax.Compute grew: 12% to 84% of CPU",
    "podsMatched": 1, "podsSucceeded": 1, "podsFailed": 0,
    "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:30Z", "effective": FULL,
    "conditions": [{"type": t, "status": "True", "reason": "Completed", "message": "All is well.", "lastTransitionTime": "2026-01-01T00:00:30Z"}
                   for t in ("Accepted", "Succeeded", "Completed")],
    "targets": [{"podName": "checkout-1", "podUID": "u", "nodeName": "n", "jobID": "j", "container": "app", "containerID": "c" * 64,
                 "pid": 1, "runtimeVersion": "10.0.1", "phase": "Succeeded", "reason": "Completed", "message": "All is well.", "summary": "s",
                 "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:30Z",
                 "cost": {"maxPauseMicroseconds": 0, "addedCPUMilliseconds": 1, "droppedSamples": 0},
                 "reports": [{"name": "summary.md", "mediaType": "text/markdown", "sizeBytes": 5, "sha256": DIGEST,
                              "url": "https://s3.example/reports/summary.md"}]}],
}


def start_api():
    """An API server for the classes of a module that run in this process."""
    folder = tempfile.mkdtemp(prefix="drdotnet-crd-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    cluster = kube.Cluster(folder)
    cluster.__enter__()
    unittest.addModuleCleanup(end_api)
    return cluster


def end_api():
    WithApi.cluster.__exit__()
    WithApi.cluster = None


class WithApi(unittest.TestCase):
    crd = CRD

    one_process = __name__  # classes that leave the resource as it is share an API server
    cluster = None
    number = 0

    @classmethod
    def setUpClass(cls):
        if kube.unavailable():
            raise unittest.SkipTest(kube.unavailable())
        if not WithApi.cluster:
            WithApi.cluster = start_api()
            WithApi.cluster.namespace("shop")
        cls.modern = cls.cluster.knows("CEL rules")
        cls.apply_crd()

    @classmethod
    def apply_crd(cls):
        crd = cls.crd if cls.modern else LEGACY
        cls.cluster.apply(crd, crd.replace("sessions", "triggers"))
        await_sessions(cls.cluster)

    def setUp(self):
        for left in self.cluster.request("GET", SESSIONS)["items"]:
            self.cluster.request("DELETE", SESSIONS + "/" + left["metadata"]["name"])

    def need_cel(self):
        self.cluster.require(self, "CEL rules")

    def refused_rows(self):
        """The rows of REFUSED that this API server and resource can refuse by themselves."""
        return self.refusable(REFUSED)

    def refusable(self, rows):
        beyond = set() if self.modern else {"unknown field"}
        beyond |= set() if self.modern and self.crd == CRD else set(CEL_ONLY)
        return [row for row in rows if not set(row[2]) & beyond]

    def create(self, spec, name=None, dry=False):
        WithApi.number += 1
        body = {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession",
                "metadata": {"name": name or "s-%d" % self.number}, "spec": spec}
        return self.cluster.request("POST", SESSIONS + "?fieldValidation=Strict" + ("&dryRun=All" if dry else ""), body)

    def refusal(self, *words, **options):
        try:
            self.create(*words, **options)
        except kube.ApiError as e:
            self.assertIn(e.code, (400, 422), e.body)
            return json.loads(e.body)["message"]
        return None

    def replace(self, made, spec):
        """None, or why the API server refuses the update."""
        body = copy.deepcopy(made)
        body["spec"] = spec
        try:
            self.cluster.request("PUT", SESSIONS + "/" + made["metadata"]["name"] + "?dryRun=All", body)
            return None
        except kube.ApiError as e:
            self.assertEqual(e.code, 422, e.body)
            return json.loads(e.body)["message"]


class Validation(WithApi):
    def test_good_specs_are_accepted(self):
        for path, value, why in ACCEPTED:
            with self.subTest(path=path, value=value, why=why):
                self.create(changed(SPEC, path, value) if path else SPEC, dry=True)
        self.create(FULL, dry=True)
        for profiler, more in ACCEPTED_OF:
            with self.subTest(profiler=profiler, more=more):
                self.create({**SPEC, "profiler": profiler, **more}, dry=True)

    def test_bad_specs_are_refused_with_the_fields_name(self):
        for path, value, named in self.refused_rows():
            with self.subTest(path=path, value=str(value)[:60]):
                self.check_refusal(changed(SPEC, path, value), named)
        for profiler, more, named in self.refusable(REFUSED_OF):
            with self.subTest(profiler=profiler, more=more):
                self.check_refusal({**SPEC, "profiler": profiler, **more}, named)

    def check_refusal(self, spec, named):
        message = self.refusal(spec, dry=True)
        self.assertIsNotNone(message, "it was accepted")
        for text in named:
            self.assertIn(plain(text), plain(message))

    def test_defaults_are_filled_in(self):
        spec = self.create(SPEC)["spec"]
        self.assertEqual((spec["target"]["maxPods"], spec["output"], spec["ttlSecondsAfterFinished"], spec["priority"]),
                         (1, {"store": "default"}, 604800, "Normal"))
        self.assertEqual(self.create({**LEAK, "memoryLeak": {}})["spec"]["memoryLeak"], {"roots": "Auto", "walks": 3})
        self.assertEqual(self.create({**SURVIVORS, "gcSurvivors": {}})["spec"]["gcSurvivors"], {"roots": "Auto"})
        self.assertEqual({"durationSeconds", "pauseBudgetMilliseconds", "cpuHotpaths", "activeDeadlineSeconds", "reveal", "cancel"} & set(spec), set(),
                         "these depend on the profiler: status.effective has them")


class Immutability(WithApi):
    def test_no_field_can_be_changed_removed_or_added(self):
        self.need_cel()
        full, small = self.create(FULL), self.create(SPEC)
        self.assertIsNone(self.replace(full, FULL), "the same again is no change")
        for path, value, field in MUTATIONS:
            with self.subTest(path=path, value=str(value)):
                message = self.replace(full, changed(FULL, path, value))
                self.assertIsNotNone(message, "it was accepted")
                self.assertIn(field + " is immutable", message)
        made = {spec["profiler"]: self.create(spec) for spec in (LEAK, SURVIVORS, ALLOCATIONS)}
        for spec, path, value, field in MUTATIONS_OF:
            with self.subTest(profiler=spec["profiler"], path=path, value=str(value)):
                self.assertIn(field + " is immutable", str(self.replace(made[spec["profiler"]], changed(spec, path, value))))
        for field, value in ADDITIONS:
            with self.subTest(added=field):
                self.assertIn(field + " is immutable", str(self.replace(small, changed(SPEC, (field,), value))))
        self.assertIn("profiler is immutable", str(self.replace(small, changed(SPEC, ("profiler",), "Allocations"))))

    def test_a_field_cannot_be_removed_and_come_back_otherwise(self):
        """The trap of rules on the field itself: they do not run when it is absent before or after."""
        self.need_cel()
        made = self.create(FULL)
        for field in sorted(set(FULL) - {"profiler", "target"}):
            with self.subTest(field=field):
                patch = json.dumps({"spec": {field: None}})
                done = self.cluster.kubectl("patch", "psess", "-n", "shop", made["metadata"]["name"], "--type=merge", "-p", patch, check=False)
                self.assertNotEqual(done.returncode, 0, "removed: " + done.stdout)
                self.assertIn(field + " is immutable", done.stderr)
        self.assertEqual(self.cluster.request("GET", SESSIONS + "/" + made["metadata"]["name"])["spec"], FULL)

    def test_cancel_only_goes_from_false_to_true(self):
        self.need_cel()
        rows = [(DELETE, DELETE, True), (DELETE, False, True), (DELETE, True, True), (False, True, True), (False, DELETE, True),
                (True, True, True), (True, False, False), (True, DELETE, False)]
        for before, after, allowed in rows:
            with self.subTest(before=str(before), after=str(after)):
                message = self.replace(self.create(changed(SPEC, ("cancel",), before)), changed(SPEC, ("cancel",), after))
                if allowed:
                    self.assertIsNone(message)
                else:
                    self.assertIn("cancel cannot be taken back", str(message))


class Status(WithApi):
    def patch_status(self, name, status):
        return self.cluster.request("PATCH", SESSIONS + "/%s/status?fieldValidation=Strict" % name, {"status": status},
                                    content_type="application/merge-patch+json")

    def explain(self, path):
        """Discovery lags behind a new resource a little, and kubectl keeps what it saw."""
        with tempfile.TemporaryDirectory() as cache:
            return self.cluster.kubectl("explain", path, "--cache-dir", cache, check=False).stdout

    def test_a_full_status_is_kept_and_the_columns_show_it(self):
        self.create(SPEC, name="cpu")
        self.assertEqual(self.patch_status("cpu", STATUS)["status"], STATUS)
        lines = self.cluster.kubectl("get", "psess", "-n", "shop").splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "PROFILER", "TARGET", "STATE", "AGE"])
        self.assertEqual(lines[1].split()[:4], ["cpu", "CPUHotpaths", "app=checkout", "Completed"])
        wide = self.cluster.kubectl("get", "profilingsessions", "-n", "shop", "-o", "wide").splitlines()
        self.assertEqual(wide[0].split(), ["NAME", "PROFILER", "TARGET", "STATE", "DIAGNOSIS", "AGE"])
        self.assertIn("84% of CPU in Tax.Compute", wide[1])
        self.assertIn("profilingsession.drdotnet.dev/cpu", self.cluster.kubectl("get", "drdotnet", "-n", "shop", "-o", "name"))
        self.cluster.kubectl("wait", "--for=condition=Completed", "--timeout=5s", "psess/cpu", "-n", "shop")
        described = self.cluster.kubectl("describe", "psess", "cpu", "-n", "shop")
        self.assertIn("called from Cart.Total", described)

    def test_spec_and_status_are_written_apart(self):
        made = self.create(SPEC, name="cpu")
        made["status"] = STATUS
        self.assertNotIn("status", self.cluster.request("PUT", SESSIONS + "/cpu", made))
        answer = self.cluster.request("PATCH", SESSIONS + "/cpu/status", {"spec": {"cancel": True}, "status": {"state": "Running"}},
                                      content_type="application/merge-patch+json")
        self.assertNotIn("cancel", answer["spec"])
        self.assertEqual(answer["status"], {"state": "Running"})

    def test_the_status_is_bounded(self):
        self.create(SPEC, name="cpu")
        target, report = STATUS["targets"][0], STATUS["targets"][0]["reports"][0]
        rows = [({"diagnosis": "x" * 2049}, "status.diagnosis"), ({"comparison": "x" * 2049}, "status.comparison"),
                ({"targets": [dict(target, podName="p-%d" % i) for i in range(21)]}, "status.targets"),
                ({"targets": [target, target]}, "Duplicate"),
                ({"targets": [dict(target, reports=[dict(report, name="r%d" % i) for i in range(9)])]}, "status.targets[0].reports"),
                ({"targets": [dict(target, reports=[dict(report, sha256="x")])]}, "sha256"),
                ({"targets": [dict(target, phase="Sleeping")]}, "status.targets[0].phase"),
                ({"conditions": [STATUS["conditions"][0]] * 2}, "Duplicate"),
                ({"conditions": [dict(STATUS["conditions"][0], status="Maybe")]}, "status.conditions[0].status"),
                ({"secret": "x"}, "unknown field")]
        for status, named in rows:
            if not self.modern and named in ("Duplicate", "unknown field"):
                continue
            with self.subTest(named=named):
                with self.assertRaises(kube.ApiError) as caught:
                    self.patch_status("cpu", status)
                self.assertIn(plain(named), plain(caught.exception.body))

    def test_every_field_is_explained(self):
        proc.wait_until(lambda: "Which pods of this namespace" in self.explain("profilingsession.spec.target"), 20, "kubectl explain")
        schema = self.cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/profilingsessions.drdotnet.dev")
        root = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        missing, unbounded = [], []
        for part in ("spec", "status"):
            walk(root[part], part, missing, unbounded)
        self.assertEqual(missing, [], "fields without a description")
        self.assertEqual(unbounded, [], "fields without a bound")


def walk(schema, path, missing, unbounded):
    """Collects fields that kubectl explain would leave without a word, and those that could grow without limit."""
    kind = schema.get("type")
    if "description" not in schema and not path.endswith(("[]", "{}")):
        missing.append(path)
    bounds = {"string": ("maxLength", "enum", "format"), "array": ("maxItems",), "integer": ("minimum",)}.get(kind, ())
    if bounds and not any(b in schema for b in bounds):
        unbounded.append(path)
    if "additionalProperties" in schema:
        if "maxProperties" not in schema:
            unbounded.append(path)
        walk(schema["additionalProperties"], path + "{}", missing, unbounded)
    for name, child in schema.get("properties", {}).items():
        walk(child, path + "." + name, missing, unbounded)
    if "items" in schema:
        walk(schema["items"], path + "[]", missing, unbounded)


class Samples(WithApi):
    def test_every_sample_is_accepted_strictly(self):
        folder = os.path.join(proc.ROOT, "deploy/samples")
        samples = sorted(n for n in os.listdir(folder) if n.endswith(".yaml"))
        self.assertLessEqual({"cpu-hotpaths.yaml", "gc-survivors.yaml", "memory-leak.yaml", "duplicated-strings.yaml",
                              "allocations.yaml", "runtime-pauses.yaml", "trigger-alert.yaml", "trigger-schedule.yaml", "trigger-threshold.yaml"}, set(samples))
        for name in samples:
            with self.subTest(sample=name):
                done = self.cluster.kubectl("apply", "--server-side", "--validate=true", "-f", os.path.join(folder, name), check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


class Legacy(WithApi):
    one_process = True
    crd = LEGACY

    def test_it_is_what_the_script_makes(self):
        made = subprocess.run([sys.executable, "crds/strip_cel.py", CRD], cwd=proc.ROOT, check=True, capture_output=True, text=True).stdout
        with open(os.path.join(proc.ROOT, LEGACY)) as f:
            self.assertEqual(f.read(), made, "run: crds/strip_cel.py %s > %s" % (CRD, LEGACY))

    def test_it_is_the_same_but_for_cel(self):
        self.need_cel()
        url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/profilingsessions.drdotnet.dev"
        legacy = self.cluster.request("GET", url)["spec"]
        self.cluster.apply(CRD)
        self.addCleanup(self.apply_crd)
        full = self.cluster.request("GET", url)["spec"]
        self.assertNotEqual(legacy, full)
        self.assertEqual(legacy, without(full, "x-kubernetes-validations"))

    def test_what_needs_no_cel_is_refused_there_too(self):
        for path, value, named in self.refused_rows():
            with self.subTest(path=path, value=str(value)[:60]):
                message = self.refusal(changed(SPEC, path, value), dry=True)
                self.assertIsNotNone(message, "it was accepted")
                self.assertIn(plain(named[0]), plain(message))


def without(value, key):
    if isinstance(value, dict):
        return {k: without(v, key) for k, v in value.items() if k != key}
    return [without(v, key) for v in value] if isinstance(value, list) else value


if __name__ == "__main__":
    unittest.main()
