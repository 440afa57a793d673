"""Alert rules and dashboard: promtool accepts them, rules fire when they should, and they ask only for what the controller exports."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from tests.system.deploy import chart, manifests
from tests.lib import install, kube, proc

FOLDER = os.path.join(proc.ROOT, "deploy/monitoring")
RULES, DASHBOARD = FOLDER + "/rules.yaml", FOLDER + "/dashboard.json"
FOREIGN = {"kube_daemonset_status_desired_number_scheduled"}  # of kube-state-metrics
ALWAYS = {"drdotnet_leader", "drdotnet_leader_epoch", "drdotnet_agents_linked", "drdotnet_sessions",
          "drdotnet_work_queue_depth"}  # from the start; others come with what they count
NAME = re.compile(r"\b(?:drdotnet|kube)_\w+")
OF_THE_TARGET = {"namespace", "pod"}  # labels that Prometheus adds
SELECTOR, MATCHER = re.compile(r"(\w+)\{([^}]*)\}"), re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
LABEL = re.compile(r'(\w+)="([^"]*)"')
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def exported():
    """Every metric that the controller has."""
    return set(re.findall(r'"(drdotnet_\w+)"', read(proc.ROOT + "/controller/base/metric_table.h")))


def rules():
    return [r for g in manifests.parse(read(RULES))[0]["groups"] for r in g["rules"]]


def asked(expressions):
    return {SUFFIX.sub("", name) if SUFFIX.sub("", name) in exported() else name for e in expressions for name in NAME.findall(e)}


class Written(unittest.TestCase):
    one_process = True

    def setUp(self):
        if manifests.unavailable():
            self.skipTest(manifests.unavailable())

    def panels(self):
        return json.loads(read(DASHBOARD))["panels"]

    def test_they_ask_for_what_is_exported(self):
        self.assertEqual(asked(r["expr"] for r in rules()) - exported() - FOREIGN, set())
        self.assertEqual(asked(t["expr"] for p in self.panels() for t in p["targets"]) - exported(), set())

    def test_each_metric_of_the_controller_is_shown(self):
        shown = asked([t["expr"] for p in self.panels() for t in p["targets"]] + [r["expr"] for r in rules()])
        self.assertEqual({name for name in ALWAYS if name not in shown}, set())

    def test_panels_do_not_overlap(self):
        places = [p["gridPos"] for p in self.panels()]
        self.assertEqual(len({p["id"] for p in self.panels()}), len(places))
        for n, a in enumerate(places):
            self.assertLessEqual(a["x"] + a["w"], 24)
            for b in places[:n]:
                apart = a["x"] >= b["x"] + b["w"] or b["x"] >= a["x"] + a["w"] or a["y"] >= b["y"] + b["h"] or b["y"] >= a["y"] + a["h"]
                self.assertTrue(apart, (a, b))

    def test_each_alert_says_what_to_do(self):
        for rule in rules():
            self.assertTrue(rule["alert"].startswith("DrDotnet"))
            self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
            self.assertGreater(len(rule["annotations"]["description"]), 40, rule["alert"])

    def test_what_is_made_of_them_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([FOLDER + "/make.py", folder], check=True)
            for name in os.listdir(folder):
                self.assertEqual(read(os.path.join(folder, name)), read(os.path.join(FOLDER, name)), "make crds: " + name)

    def test_the_operator_gets_the_same(self):
        built = manifests.by_name(manifests.parse(read(FOLDER + "/prometheus-rule.yaml") + "---\n" + read(FOLDER + "/pod-monitor.yaml")))
        found = chart.objects({"monitoring": {k: {"enabled": True} for k in ("podMonitor", "rules", "dashboard")}})
        for name, o in built.items():
            self.assertEqual(found[name]["spec"], o["spec"])
        self.assertEqual(json.loads(found["ConfigMap/drdotnet-system/drdotnet-dashboard"]["data"]["drdotnet.json"]), json.loads(read(DASHBOARD)))

    def test_a_metrics_own_namespace_is_kept(self):
        """Else Prometheus puts the controller's in the place of the workload's."""
        table = re.findall(r'"drdotnet_\w+", "([\w,]+)"', read(proc.ROOT + "/controller/base/metric_table.h"))
        self.assertTrue([labels for labels in table if "namespace" in labels.split(",")])
        found = chart.objects({"monitoring": {k: {"enabled": True} for k in ("podMonitor", "serviceMonitor")}})
        monitors = [o for o in [*found.values(), *manifests.parse(read(FOLDER + "/pod-monitor.yaml"))] if o["kind"].endswith("Monitor")]
        self.assertEqual(sorted(o["kind"] for o in monitors), ["PodMonitor", "PodMonitor", "ServiceMonitor"])
        for o in monitors:
            for endpoint in o["spec"].get("podMetricsEndpoints") or o["spec"]["endpoints"]:
                self.assertIs(endpoint.get("honorLabels"), True, o["kind"])


@unittest.skipUnless(shutil.which("promtool"), "no promtool: tests/setup/install.sh test")
class Promtool(unittest.TestCase):
    one_process = True

    def promtool(self, *words):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, cwd=proc.ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_rules_are_rules(self):
        self.assertIn("%d rules found" % len(rules()), self.promtool("check", "rules", RULES))

    def test_they_fire_when_they_should(self):
        self.promtool("test", "rules", "tests/system/deploy/rules_test.yaml")
        tested = set(re.findall(r"alertname: (\w+)", read(proc.ROOT + "/tests/system/deploy/rules_test.yaml")))
        self.assertEqual(tested, {r["alert"] for r in rules()})

    def test_queries_of_the_dashboard_are_queries(self):
        """As recording rules, with Grafana's variables filled in."""
        queries = [t["expr"] for p in json.loads(read(DASHBOARD))["panels"] for t in p["targets"]]
        groups = {"groups": [{"name": "dashboard", "rules": [
            {"record": "q%d" % n, "expr": q.replace("$__rate_interval", "5m").replace("$namespace", ".*")} for n, q in enumerate(queries)]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            json.dump(groups, f)
            f.flush()
            self.assertIn("%d rules found" % len(queries), self.promtool("check", "rules", f.name))


@unittest.skipIf(kube.unavailable(), kube.unavailable())
class Scraped(unittest.TestCase):
    """Of a controller that runs: what rules and dashboard ask for is what it says, to the values of labels."""
    time_limit = 180

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cluster = cls.enterClassContext(kube.Cluster(folder + "/kube"))
        cluster.namespace("shop")
        i = cls.enterClassContext(install.Installation(folder + "/i", cluster))
        i.controller.wait_log("leading", 60)
        cluster.create_pod("shop", "ended", "node-a")
        cluster.request("PATCH", "/api/v1/namespaces/shop/pods/ended/status", {"status": {"phase": "Failed"}}, content_type="application/merge-patch+json")
        i.session("shop", "mistaken", {"profiler": "CPUHotpaths", "target": {"podName": "ended"}, "durationSeconds": 5})
        i.wait_finished("shop", "mistaken")

        def scrape():
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % i.health_port, timeout=10) as answer:
                text = answer.read().decode()
            return ALWAYS <= set(re.findall(r"^# TYPE (\w+)", text, re.M)) and text
        cls.text = proc.wait_until(scrape, 60, "the metrics that are always there")
        cls.series = [(name, dict(LABEL.findall(labels))) for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", cls.text, re.M)]

    def values(self, name, label):
        return {labels.get(label) for n, labels in self.series if n == name}

    def check_selector(self, name, label, operator, wanted):
        """A selector that can never match, or that always does, is a mistake."""
        said = self.values(name, label) - {None}
        self.assertTrue(said, "%s has no label %s" % (name, label))
        for word in wanted.split("|") if "~" in operator else [wanted]:
            self.assertIn(word, said, "%s: %s" % (name, label))

    def test_each_selector_names_what_the_controller_says(self):
        expressions = [r["expr"] for r in rules()] + [t["expr"] for p in json.loads(read(DASHBOARD))["panels"] for t in p["targets"]]
        checked = set()
        for name, labels in {s for e in expressions for s in SELECTOR.findall(e)}:
            for label, operator, wanted in MATCHER.findall(labels):
                if name not in FOREIGN and label not in OF_THE_TARGET:
                    self.check_selector(name, label, operator, wanted)
                    checked.add(name)
        self.assertEqual(checked, {"drdotnet_sessions", "drdotnet_sessions_total", "drdotnet_reconcile_errors_total",
                                   "drdotnet_link_dropped_messages_total"})

    def test_each_grouping_is_by_labels_of_its_metric(self):
        table = dict(re.findall(r'"(drdotnet_\w+)", "([\w,]+)"', read(proc.ROOT + "/controller/base/metric_table.h")))
        expressions = [(t["expr"], t["legendFormat"]) for p in json.loads(read(DASHBOARD))["panels"] for t in p["targets"]]
        for expression, legend in expressions:
            labels = set(re.findall(r"\{\{(\w+)\}\}", legend)).union(*(g.split(", ") for g in re.findall(r"by \(([^)]*)\)", expression)))
            own = table.get(*asked([expression]), "").split(",") + ["le"] * ("_bucket" in expression)
            self.assertEqual(labels - set(own) - OF_THE_TARGET, set(), expression)

    def test_what_the_rules_are_tested_with_is_what_it_says(self):
        text = read(proc.ROOT + "/tests/system/deploy/rules_test.yaml")
        for name, labels in set(re.findall(r"series: '(drdotnet_\w+)(?:\{(.*)\})?'", text)):
            labels = {k: v for k, v in LABEL.findall(labels) if k not in OF_THE_TARGET}
            if labels.get("fault") != "other":  # those are counted from the first one on
                self.assertIn((name, labels), self.series)

    def test_a_users_mistake_is_no_fault_of_the_installation(self):
        self.assertIn('drdotnet_sessions_total{reason="PodGone",fault="other"} 1\n', self.text)
        self.assertIn('drdotnet_sessions_total{reason="Completed",fault="none"} 0\n', self.text)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool: tests/setup/install.sh test")
    def test_promtool_reads_it(self):
        done = subprocess.run(["promtool", "check", "metrics"], input=self.text, capture_output=True, text=True)
        self.assertNotRegex(done.stdout + done.stderr, r"error while linting|parse error", self.text)


if __name__ == "__main__":
    unittest.main()
