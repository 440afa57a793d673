"""The ProfilingTrigger resource as a real API server sees it: what it takes, refuses, fills in, shows and explains."""
import copy
import json

from tests.system.controller.fakehub import await_sessions
from tests.system.crd import test_crd
from tests.lib import kube, proc

TRIGGERS = "/apis/drdotnet.dev/v1alpha1/namespaces/shop/profilingtriggers"
MATCHER = {"name": "alertname", "value": "HighCPU"}
SELECTOR = {"matchLabels": {"app": "checkout"}}
ALERT = {"alertmanager": {"matchers": [MATCHER]}}
THRESHOLD = {"threshold": {"target": {"selector": SELECTOR}, "cpu": {"above": 80}}}
SCHEDULE = {"schedule": {"cron": "@daily"}}
PLAIN = {"spec": {"profiler": "CPUHotpaths"}}
AIMED = {"spec": {"profiler": "CPUHotpaths", "target": {"selector": SELECTOR}}}


def spec(source=None, template=None, **more):
    return {"source": ALERT if source is None else source, "sessionTemplate": template or PLAIN, **more}


def threshold(**more):
    return spec({"threshold": {"target": {"selector": SELECTOR}, **more}})


def session(**more):
    return spec(template={"spec": {"profiler": "CPUHotpaths", **more}})


# tests/setup/build-apiserver.sh builds Kubernetes 1.20 with a newer Go than was meant for it: there an empty text counts as null, and is refused
EMPTY_VALUE = spec({"alertmanager": {"matchers": [dict(MATCHER, value="")], "targetLabels": {"pod": "pod_name"}}})
ACCEPTED = [
    spec(), spec(THRESHOLD), spec(SCHEDULE, AIMED), spec(suspend=True, cooldownSeconds=86400), spec(limits={"maxActive": 20, "perHour": 60}),
    spec({"alertmanager": {"matchers": [dict(MATCHER, matchType=t) for t in ("Equal", "NotEqual", "Regex", "NotRegex")]}}),
    EMPTY_VALUE,
    threshold(cpu={"above": 10000, "percentOf": "Request", "forSeconds": 3600}), threshold(memory={"above": 100, "forSeconds": 5}),
    spec({"schedule": {"cron": "*/5 9-17 * * MON-FRI", "timeZone": "America/Argentina/Buenos_Aires"}}, AIMED),
    session(baselineSession="release-1.4"),
    session(target={"container": "app"}), session(target={"podName": "a"}), session(durationSeconds=10, cpuHotpaths={"frequencyHertz": 10}),
    spec(template={"spec": {"profiler": "MemoryLeak", "memoryLeak": {"walks": 3}}}), spec(template={"spec": {"profiler": "GCSurvivors"}}),
    spec(template={"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, **PLAIN}), spec(historyLimits={"successful": 0, "failed": 1000}),
]
REFUSED = [  # spec, words of the message, whether only CEL or strict fields can tell
    ({"sessionTemplate": PLAIN}, "spec.source: Required", False), ({"source": ALERT}, "spec.sessionTemplate: Required", False),
    (spec({}), "give exactly one of", True), (spec({**ALERT, **SCHEDULE}, AIMED), "give exactly one of", True),
    (spec({"webhook": {}}), "spec.source.webhook", True), (spec(SCHEDULE), "a schedule names no pod", True),
    (spec(SCHEDULE, {"spec": {"profiler": "CPUHotpaths", "target": {"container": "a"}}}), "a schedule names no pod", True),
    (spec({"alertmanager": {"matchers": []}}), "spec.source.alertmanager.matchers", False),
    (spec({"alertmanager": {"matchers": [MATCHER] * 17}}), "spec.source.alertmanager.matchers", False),
    (spec({"alertmanager": {"matchers": [dict(MATCHER, name="a-b")]}}), "matchers[0].name", False),
    (spec({"alertmanager": {"matchers": [dict(MATCHER, matchType="Like")]}}), "matchers[0].matchType", False),
    (spec({"alertmanager": {"matchers": [{"name": "a"}]}}), "matchers[0].value: Required", False),
    (threshold(), "give either cpu or memory", True), (threshold(cpu={"above": 1}, memory={"above": 1}), "give either cpu or memory", True),
    (threshold(cpu={"above": 0}), "cpu.above", False), (threshold(memory={"above": 101}), "memory.above", False),
    (threshold(memory={"above": 1, "percentOf": "Request"}), "memory.percentOf", False), (threshold(cpu={"above": 1, "forSeconds": 4}), "forSeconds", False),
    (spec({"threshold": {"target": {"selector": {}}, "cpu": {"above": 1}}}), "must not be empty", True),
    (spec({"schedule": {"cron": ""}}, AIMED), "spec.source.schedule.cron", False),
    (spec({"schedule": {"cron": "TZ=UTC @daily"}}, AIMED), "spec.source.schedule.cron", False),
    (spec({"schedule": {"cron": "@daily", "timeZone": "../etc"}}, AIMED), "spec.source.schedule.timeZone", False),
    (session(cancel=True), "spec.sessionTemplate.spec.cancel", True), (session(reveal=True), "spec.sessionTemplate.spec.reveal", True),
    (session(start="Now"), "spec.sessionTemplate.spec.start", True),
    (session(durationSeconds=0), "spec.sessionTemplate.spec.durationSeconds", False),
    (spec(template={"spec": {"profiler": "GCSurvivors", "durationSeconds": 30}}), "durationSeconds does not apply", True),
    (session(memoryLeak={}), "memoryLeak belongs to", True), (session(baselineSession="A/b"), "spec.sessionTemplate.spec.baselineSession", False),
    (session(target={"podName": "a", "selector": SELECTOR}), "not both", True),
    (session(durationSeconds=60, activeDeadlineSeconds=60), "activeDeadlineSeconds must be", True),
    (spec(template={"spec": {"profiler": "Guess"}}), "spec.sessionTemplate.spec.profiler", False),
    (spec(cooldownSeconds=86401), "spec.cooldownSeconds", False), (spec(limits={"maxActive": 21}), "spec.limits.maxActive", False),
    (spec(limits={"perHour": 61}), "spec.limits.perHour", False), (spec(historyLimits={"failed": -1}), "spec.historyLimits.failed", False),
]


class Trigger(test_crd.WithApi):
    one_process = True

    def attempt(self, body, name="t", dry=True):
        """None and the object, or why it is refused."""
        made = {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": name}, "spec": body}
        try:
            return None, self.cluster.request("POST", TRIGGERS + "?fieldValidation=Strict" + ("&dryRun=All" if dry else ""), made)
        except kube.ApiError as e:
            self.assertIn(e.code, (400, 422), e.body)
            return json.loads(e.body)["message"], None

    def setUp(self):
        await_sessions(self.cluster)
        for left in self.cluster.request("GET", TRIGGERS)["items"]:
            self.cluster.request("DELETE", TRIGGERS + "/" + left["metadata"]["name"])

    def check_refusals(self, rows):
        for body, named, _ in rows:
            with self.subTest(named=named, spec=str(body)[:160]):
                why = self.attempt(body)[0]
                self.assertIsNotNone(why, "it was accepted")
                self.assertIn(test_crd.plain(named), test_crd.plain(why))

    def test_what_it_takes_and_what_not(self):
        for body in ACCEPTED if self.modern else [body for body in ACCEPTED if body != EMPTY_VALUE]:
            with self.subTest(spec=body):
                self.assertIsNone(self.attempt(body)[0])
        self.check_refusals([row for row in REFUSED if self.modern or not row[2]])
        if self.modern:
            self.assertIsNone(self.attempt(spec(), "x" * 63)[0])
            self.assertIn("no longer than 63", self.attempt(spec(), "x" * 64)[0])

    def apply_again(self, path):
        """Until it is in effect: the server goes on with the old definition for a moment, and is away for the resource for another."""
        self.cluster.apply(path)
        rules = self.modern and path != test_crd.LEGACY.replace("sessions", "triggers")
        aimless = next(body for body, _, needs_rules in REFUSED if needs_rules)

        def in_effect():
            try:
                return (self.attempt(aimless)[0] is not None) == rules and self.attempt(spec())[0] is None
            except (AssertionError, kube.ApiError):
                return False
        proc.wait_until(lambda: all(in_effect() for _ in range(3)), 60, "the definition is in effect")

    def test_the_legacy_definition_refuses_what_needs_no_rules(self):
        self.apply_again(test_crd.LEGACY.replace("sessions", "triggers"))
        self.addCleanup(self.apply_again, (test_crd.CRD if self.modern else test_crd.LEGACY).replace("sessions", "triggers"))
        self.check_refusals([row for row in REFUSED if not row[2]])
        self.assertIsNone(self.attempt(spec())[0])

    def test_defaults_are_filled_in(self):
        made = self.attempt(spec())[1]["spec"]
        self.assertEqual(made["source"]["alertmanager"]["targetLabels"], {"pod": "pod", "container": "container"})
        self.assertEqual(made["source"]["alertmanager"]["matchers"][0]["matchType"], "Equal")
        self.assertEqual((made["limits"], made["historyLimits"], made["suspend"]),
                         ({"maxActive": 3, "perHour": 10}, {"successful": 10, "failed": 3}, False))
        self.assertNotIn("cooldownSeconds", made, "it depends on the source")
        made = self.attempt(spec(SCHEDULE, AIMED))[1]["spec"]
        self.assertEqual(made["source"]["schedule"], {"cron": "@daily", "startingDeadlineSeconds": 300})
        self.assertEqual(made["sessionTemplate"]["spec"]["target"]["maxPods"], 1, "as a session's own")
        self.assertEqual(self.attempt(spec(THRESHOLD))[1]["spec"]["source"]["threshold"]["cpu"],
                         {"above": 80, "percentOf": "Limit", "forSeconds": 60})

    def test_all_of_it_may_be_changed(self):
        made = self.attempt(spec(), dry=False)[1]
        for changed in (spec(SCHEDULE, AIMED, suspend=True), session(durationSeconds=5)):
            made = self.cluster.request("PUT", TRIGGERS + "/t", {**made, "spec": changed})
        self.assertEqual(made["metadata"]["generation"], 3)

    def test_the_status_is_bounded_and_shown(self):
        self.attempt(spec(), "hot", dry=False)
        firing = {"session": "hot-1", "time": "2026-01-01T00:00:00Z", "phase": "Active"}
        status = {"source": "alertmanager", "activeSessions": 1, "lastFiredTime": "2026-01-01T00:00:00Z", "firings": [firing] * 64}

        def write(body):
            return self.cluster.request("PATCH", TRIGGERS + "/hot/status?fieldValidation=Strict", {"status": body}, "application/merge-patch+json")
        self.assertEqual(write(status)["status"], status)
        lines = self.cluster.kubectl("get", "ptrig", "-n", "shop").splitlines()
        self.assertEqual(lines[0].replace("LAST FIRED", "FIRED").split(), ["NAME", "SOURCE", "FIRED", "ACTIVE", "SUSPENDED", "AGE"])
        self.assertEqual([lines[1].split()[i] for i in (0, 1, 3, 4)], ["hot", "alertmanager", "1", "false"])
        self.assertIn("profilingtrigger.drdotnet.dev/hot", self.cluster.kubectl("get", "drdotnet", "-n", "shop", "-o", "name"))
        for bad in ({"firings": [firing] * 65}, {"firings": [dict(firing, phase="Sleeping")]}, {"firedCount": -1}, {"message": "x" * 1025}):
            with self.assertRaises(kube.ApiError):
                write(bad)

    def test_every_field_is_explained_and_bounded(self):
        crd = self.cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/profilingtriggers.drdotnet.dev")
        root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        missing, unbounded = [], []
        for part in ("spec", "status"):
            test_crd.walk(root[part], part, missing, unbounded)
        self.assertEqual((missing, unbounded), ([], []))

    def test_a_template_is_a_sessions_spec(self):
        """Field by field, in what the server has."""
        def properties(plural):
            crd = self.cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.drdotnet.dev" % plural)
            return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        own = copy.deepcopy(properties("profilingsessions"))
        template = properties("profilingtriggers")["sessionTemplate"]["properties"]["spec"]["properties"]
        del own["cancel"], own["reveal"], own["start"]
        for spec_of in (own, template):
            spec_of["target"].pop("x-kubernetes-validations", None)
        self.assertEqual(template, own)
