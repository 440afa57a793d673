"""The suites that `make test` runs a second time, on Kubernetes 1.20, when tests/setup/build-apiserver.sh has built that and the tests use another API
server: what is shipped for old clusters is then known to work on one, and so are the tests of those who have no other server."""
from tests.lib import kube

NAME = " (Kubernetes 1.20)"
SUITES = (
    "tests.system.crd.test_crd.",
    "tests.system.crd.test_trigger_crd.",
    "tests.system.deploy.test_chart.Accepted.",
    "tests.system.deploy.test_manifests.Applied.",
    "tests.system.e2e.test_cluster.Cluster.test_the_sample_to_diagnosis_and_report",
    "tests.system.kubectl.test_doctor.",
)


def again(tests):
    """Those of some tests that run there too, each with the name that it has there and the environment that it needs."""
    if not kube.built() or kube.is_built_one():
        return []
    return [{**test, "label": test["name"] + NAME, "group": test["group"] + NAME, "env": {"KUBEBUILDER_ASSETS": kube.BUILT}}
            for test in tests if test["name"].startswith(SUITES)]
