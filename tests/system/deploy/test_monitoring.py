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
    time_limit = 180

    def test_what_is_always_there_is_there(self):
        folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with kube.Cluster(folder + "/kube") as cluster, install.Installation(folder + "/i", cluster) as i:
            i.controller.wait_log("leading", 60)

            def names():
                with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % i.health_port, timeout=10) as answer:
                    text = answer.read().decode()
                return ALWAYS <= set(re.findall(r"^# TYPE (\w+)", text, re.M)) and text
            text = proc.wait_until(names, 60, "the metrics that are always there")
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True) if shutil.which("promtool") else None
            if done:
                self.assertNotRegex(done.stdout + done.stderr, r"error while linting|parse error", text)


if __name__ == "__main__":
    unittest.main()
