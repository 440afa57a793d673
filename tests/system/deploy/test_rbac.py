"""The controller's rights are enough and none is superfluous: it is run under exactly the shipped roles, through a proxy that writes down
what it asks of the API server. `make rbac` takes each right away in turn and sees what breaks: docs/rbac.md."""
import shutil
import tempfile
import unittest

from tests.system.deploy import api_proxy, manifests, rights
from tests.lib import kube, pod

UNAVAILABLE = manifests.unavailable() or kube.unavailable() or pod.unavailable()


class Attributes(unittest.TestCase):
    def test_requests_are_seen_as_an_authorizer_sees_them(self):
        self.assertEqual(api_proxy.attributes("GET", "/api/v1/namespaces/a/pods?limit=5"), ("list", "/pods", "a", ""))
        self.assertEqual(api_proxy.attributes("GET", "/apis/g/v1/things?watch=1"), ("watch", "g/things", "", ""))
        self.assertEqual(api_proxy.attributes("PATCH", "/apis/g/v1/namespaces/a/things/b/status?x=y"), ("patch", "g/things/status", "a", "b"))
        self.assertEqual(api_proxy.attributes("DELETE", "/api/v1/namespaces/a/pods/b"), ("delete", "/pods", "a", "b"))
        self.assertEqual(api_proxy.attributes("GET", "/api/v1/namespaces/a"), ("get", "/namespaces", "", "a"))
        self.assertIsNone(api_proxy.attributes("GET", "/version"))

    def test_a_role_without_a_right_has_all_others(self):
        for role in rights.shipped():
            whole = rights.expand(role)
            self.assertEqual(len(whole), len(set(whole)), "a right that is given twice")
            for right in whole:
                self.assertEqual(rights.expand(rights.without(role, right)), [r for r in whole if r != right])

    def test_the_document_says_what_each_right_is_for(self):
        said = rights.documented()
        self.assertEqual(sorted(said), sorted(rights.shown(r) for r in rights.rights()), "make rbac")
        self.assertFalse([right for right, text in said.items() if len(text) < 5])


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Minimal(unittest.TestCase):
    one_process = True
    time_limit = 300

    def test_each_right_is_used_and_no_other_is_missed(self):
        folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with kube.Cluster(folder + "/kube") as cluster, api_proxy.Proxy(cluster, folder + "/proxy") as proxy:
            rights.set_up(cluster, folder)
            scenario = rights.Scenario(proxy, folder, 60)
            self.assertEqual(scenario.run(), [], scenario.installation.logs())
            used, refused = rights.judge(proxy.seen)
        self.assertEqual(refused, [], "rights that are missing")
        self.assertEqual([right for right, is_used in used.items() if not is_used], [], "rights that are superfluous")


if __name__ == "__main__":
    unittest.main()
