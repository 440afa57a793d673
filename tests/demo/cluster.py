"""`make demo-cluster`: the sample session through controller and agent. The API server is that of KUBECONFIG when it is set,
else the tests' one; a process in a "pod" made with unshare stands for a pod; the object storage is the tests' S3 server."""
import contextlib
import os
import subprocess
import sys
import time
import urllib.parse

from tests.demo import ending
from tests.lib import install, kube, pod, proc, s3

OUT = os.path.join(proc.ROOT, "build/demo-cluster")
SESSION = "deploy/samples/cpu-hotpaths.yaml"
NAMESPACE, POD, NODE = "shop", "checkout-1", "demo-node"


class Outside(kube.Cluster):
    """The API server of KUBECONFIG; what the demo makes there and no longer needs is removed again."""

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig
        kube.Client.__init__(self, kubeconfig)

    def __enter__(self):
        self._remove()
        return self

    def __exit__(self, *_):
        self._remove()

    def _remove(self):
        for namespace, kind, *names in ((NAMESPACE, "profilingsession", "checkout-cpu"), (NAMESPACE, "pod", POD),
                                        (install.SYSTEM, "pod", "drdotnet-controller-0", "drdotnet-agent-" + NODE)):
            words = ["--force", "--grace-period=0"] if kind == "pod" else ["--timeout=30s"]
            self.kubectl("delete", kind, *names, "-n", namespace, "--ignore-not-found", *words, check=False)


class Sessions(contextlib.AbstractContextManager):
    """The demo's session is deleted while controller and agent still run: they end it in order."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __exit__(self, *_):
        self.cluster.kubectl("delete", "-f", SESSION, "--ignore-not-found", "--timeout=30s", check=False)


def show(cluster, *words):
    print("\n$ kubectl " + " ".join(words), flush=True)
    done = subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig, *words], cwd=proc.ROOT)
    if done.returncode:
        raise SystemExit("kubectl failed")


def create_pod(cluster):
    """In a new namespace a cluster's own controllers first have to make its service account."""
    end = time.monotonic() + 20
    while True:
        try:
            return cluster.create_pod(NAMESPACE, POD, NODE, labels={"app": "checkout"}, running=False)
        except kube.ApiError as e:
            if e.code != 403 or time.monotonic() > end:
                raise
            time.sleep(0.5)


def run(folder):
    outside = os.environ.get("KUBECONFIG")
    with contextlib.ExitStack() as stack:
        print("Starting an API server, object storage, the controller and an agent" if not outside else
              "Starting object storage, the controller and an agent for the API server of " + outside, flush=True)
        cluster = stack.enter_context(Outside(outside) if outside else kube.Cluster(folder + "/kube"))
        store = stack.enter_context(s3.Server(folder + "/s3"))
        i = stack.enter_context(install.Installation(folder, cluster, store))
        print("API server %s, object storage %s" % (cluster.server, store.endpoint), flush=True)
        cluster.kubectl("apply", "-f", "-", text='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}' % NAMESPACE)
        i.start_agent(NODE)
        made_object = create_pod(cluster)
        made = stack.enter_context(pod.Pod(folder, "hot", user=10001, readonly=True, uid=made_object["metadata"]["uid"]))
        cluster.set_pod_running(made_object, {"app": made.container_id})
        made.warm()
        stack.enter_context(Sessions(cluster))
        show(cluster, "apply", "-f", SESSION)
        show(cluster, "wait", "--for=condition=Succeeded", "psess/checkout-cpu", "-n", NAMESPACE, "--timeout=90s")
        show(cluster, "get", "psess", "-n", NAMESPACE)
        show(cluster, "describe", "psess", "checkout-cpu", "-n", NAMESPACE)
        fetch(i, store)


def fetch(i, store):
    reports = OUT + "/reports"
    os.makedirs(reports, exist_ok=True)
    print("\nThe reports from object storage:")
    for report in i.get(NAMESPACE, "checkout-cpu")["status"]["targets"][0]["reports"]:
        key = urllib.parse.unquote(urllib.parse.urlsplit(report["url"]).path.split("/", 2)[2])
        path = os.path.join(reports, report["name"])
        with open(path, "wb") as f:
            f.write(store.get(key))
        print("  %8d bytes  %s" % (report["sizeBytes"], path))


def main():
    for reason in (pod.unavailable(), s3.unavailable(), None if os.environ.get("KUBECONFIG") else kube.unavailable()):
        if reason:
            print("make demo-cluster cannot run here: " + reason, file=sys.stderr)
            return 1
    ending.end_in_order()
    os.makedirs(OUT, exist_ok=True)
    subprocess.run(["rm", "-rf", OUT + "/run"], check=True)
    run(OUT + "/run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
