"""The kustomizations: base, overlays and components build with the real kubectl, and say the same as chart and manifests."""
import json
import os
import tempfile
import unittest

from tests.system.deploy import chart, manifests
from tests.system.deploy.test_chart import BUCKET, plain
from tests.lib import proc

BASES = {"base": ("deploy/manifests", "crds"), "overlays/shared-tmp": ("deploy/manifests-shared-tmp", "crds"),
         "overlays/legacy": ("deploy/manifests-legacy", "crds/legacy")}
COMPONENTS = ("deploy/kustomize/components/s3-store", "deploy/kustomize/components/kept-reports", "deploy/kustomize/components/alertmanager",
              "deploy/seccomp", "deploy/monitoring")
CONTROLLER = "Deployment/drdotnet-system/drdotnet-controller"


class Kustomize(unittest.TestCase):
    one_process = True
    maxDiff = None

    def setUp(self):
        if manifests.unavailable():
            self.skipTest(manifests.unavailable())

    def with_components(self, *components, base="base"):
        with tempfile.TemporaryDirectory() as folder:
            def relative(path):
                return os.path.relpath(os.path.join(proc.ROOT, path), os.path.realpath(folder))
            with open(folder + "/kustomization.yaml", "w") as f:
                json.dump({"resources": [relative("deploy/kustomize/" + base)], "components": [relative(c) for c in components]}, f)
            return manifests.objects(os.path.realpath(folder))

    def test_each_is_its_parts(self):
        for base, (folder, definitions) in BASES.items():
            self.assertEqual(manifests.objects("deploy/kustomize/" + base), {**manifests.objects(definitions), **manifests.objects(folder)})

    def test_all_components_go_together(self):
        all_but_one = [c for c in COMPONENTS if not c.endswith("kept-reports")]  # which is for one replica
        for base in BASES:
            self.assertGreater(len(self.with_components(*all_but_one, base=base)), 20, base)

    def same_as_chart(self, found, values, *names):
        expected = plain(chart.objects(values))
        for name in names:
            self.assertEqual(found[name], expected[name])

    def test_object_storage_is_the_charts(self):
        values = {"stores": [{**BUCKET, "credentialsSecret": "drdotnet-store-default"}]}
        found = self.with_components(COMPONENTS[0])
        stores = "ConfigMap/drdotnet-system/drdotnet-stores"
        self.assertEqual(*(manifests.parse(o[stores]["data"]["stores.yaml"]) for o in (found, chart.objects(values))))
        self.same_as_chart(found, values, "NetworkPolicy/drdotnet-system/drdotnet-agent")
        before = {stores: chart.objects()[stores]}  # the controller had its own store until now: kustomize does not know whether it had
        self.assertEqual(found[CONTROLLER], plain(chart.objects(values, live=before))[CONTROLLER])

    def test_alertmanagers_token_is_the_charts(self):
        found = self.with_components(COMPONENTS[2])
        values = {"controller": {"alertmanager": {"tokenSecret": "drdotnet-alertmanager"}}}
        expected = plain(chart.objects(values))[CONTROLLER]["spec"]["template"]["spec"]
        spec = found[CONTROLLER]["spec"]["template"]["spec"]

        def named(items):
            return sorted(items, key=lambda i: i["name"])
        self.assertEqual(named(spec["volumes"]), named(expected["volumes"]))
        self.assertEqual(named(spec["containers"][0]["env"]), named(expected["containers"][0]["env"]))
        peers = [r["from"] for r in found["NetworkPolicy/drdotnet-system/drdotnet-controller"]["spec"]["ingress"] if r["ports"][0]["port"] == "api"]
        self.assertEqual(len(peers), 1)

    def test_kept_reports_are_the_charts(self):
        found = self.with_components(COMPONENTS[1])
        values = {"controller": {"reports": {"persistence": {"enabled": True}}}}
        self.same_as_chart(found, values, "PersistentVolumeClaim/drdotnet-system/drdotnet-reports")
        self.assertEqual(found[CONTROLLER]["spec"]["strategy"], {"type": "Recreate"})
        self.assertIn({"name": "reports", "persistentVolumeClaim": {"claimName": "drdotnet-reports"}}, found[CONTROLLER]["spec"]["template"]["spec"]["volumes"])


if __name__ == "__main__":
    unittest.main()
