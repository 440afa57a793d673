"""`make demo-cluster`: the sample session through controller and agent. The API server is that of KUBECONFIG when it is set,
else the tests' one; a process in a "pod" made with unshare stands for a pod; the object storage is the tests' S3 server."""
import contextlib
import os
import subprocess
import sys
import urllib.parse

from tests.lib import install, kube, pod, proc, s3

OUT = os.path.join(proc.ROOT, "build/demo-cluster")
SESSION = "deploy/samples/cpu-hotpaths.yaml"


class Outside(kube.Client):
    """The API server of KUBECONFIG."""
    kubectl, apply, create_pod = kube.Cluster.kubectl, kube.Cluster.apply, kube.Cluster.create_pod
    set_pod_running, write_kubeconfig = kube.Cluster.set_pod_running, kube.Cluster.write_kubeconfig
    service_account_token = kube.Cluster.service_account_token

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig
        super().__init__(kubeconfig)


def show(cluster, *words):
    print("\n$ kubectl " + " ".join(words), flush=True)
    done = subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig, *words], cwd=proc.ROOT)
    if done.returncode:
        raise SystemExit("kubectl failed")


def run(folder):
    outside = os.environ.get("KUBECONFIG")
    with contextlib.ExitStack() as stack:
        cluster = Outside(outside) if outside else stack.enter_context(kube.Cluster(folder + "/kube"))
        store = stack.enter_context(s3.Server(folder + "/s3"))
        i = stack.enter_context(install.Installation(folder, cluster, store))
        print("API server %s, object storage %s" % (cluster.server, store.endpoint))
        cluster.kubectl("apply", "-f", "-", text='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}')
        i.start_agent("demo-node")
        made_object = cluster.create_pod("shop", "checkout-1", "demo-node", labels={"app": "checkout"}, running=False)
        with pod.Pod(folder, "hot", user=10001, readonly=True, uid=made_object["metadata"]["uid"]) as made:
            cluster.set_pod_running(made_object, {"app": made.container_id})
            try:
                show(cluster, "apply", "-f", SESSION)
                show(cluster, "wait", "--for=condition=Succeeded", "psess/checkout-cpu", "-n", "shop", "--timeout=90s")
                show(cluster, "get", "psess", "-n", "shop")
                show(cluster, "describe", "psess", "checkout-cpu", "-n", "shop")
                fetch(i, store)
            finally:
                if outside:
                    cluster.kubectl("delete", "-f", SESSION, "--ignore-not-found", "--timeout=30s", check=False)
                    cluster.kubectl("delete", "pod", "checkout-1", "-n", "shop", "--force", "--grace-period=0", check=False)


def fetch(i, store):
    reports = OUT + "/reports"
    os.makedirs(reports, exist_ok=True)
    print("\nThe reports from object storage:")
    for report in i.get("shop", "checkout-cpu")["status"]["targets"][0]["reports"]:
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
    os.makedirs(OUT, exist_ok=True)
    subprocess.run(["rm", "-rf", OUT + "/run"], check=True)
    run(OUT + "/run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
