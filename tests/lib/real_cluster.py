"""A whole Kubernetes with Dr-Dotnet on it, where the environment's DRDOTNET_TEST_CLUSTER names a command that boots one (CONTRIBUTING.md has its
contract). All tests of a run share one: it is booted when the first of them wants it and ends with their process, whatever becomes of that.

    class Mine(real_cluster.Case):
        values = {"agent": {"maxSessions": 1}}      of the chart, where not its defaults
        def test_it(self):
            self.cluster.pod("checkout", real_cluster.container("CorpusApp", "sort-prices"))
            self.cluster.session("mine", {"profiler": "CPUHotpaths", "target": {"podName": "checkout"}, "durationSeconds": 3})
            self.assertIn("Cheapest", self.cluster.finished("mine")["status"]["diagnosis"])

A test that fails shows the pods, their events, the sessions, and what controller and agent said last.
"""
import atexit
import concurrent.futures
import contextlib
import fcntl
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tests.lib import dotnet, proc

COMMAND = os.environ.get("DRDOTNET_TEST_CLUSTER")
UNAVAILABLE = None if COMMAND else "no cluster: DRDOTNET_TEST_CLUSTER names no command that boots one (CONTRIBUTING.md)"
PLACE = "/var/tmp/drdotnet-test-cluster"  # other users walk through it, and the next run finds what a killed one has left there
NETWORK = "drdotnet-test"
SYSTEM, SHOP = "drdotnet-system", "shop"
HELM = shutil.which("helm") or os.path.join(proc.ROOT, "build/tools/helm")
CHART = os.path.join(proc.ROOT, "helm/drdotnet")
PLUGIN = os.path.join(proc.ROOT, "build/release/kubectl-drdotnet")
LINES = 10  # of each part of what a failed test shows
PODS = ":.metadata.name,:.status.phase,:.status.containerStatuses[*].ready,:.status.containerStatuses[*].state,:.status.initContainerStatuses[*].state"
PARTS = "profilingtrigger,profilingsession"


def container(app, *arguments, name="app", cpu=None, **more):
    """A container of a pod that runs one of the sample applications: Checkout or CorpusApp."""
    limits = {"memory": "400Mi", **({"cpu": cpu} if cpu else {})}
    return {"name": name, "image": images.SAMPLE, "imagePullPolicy": "Never", "command": ["/apps/%s/%s" % (app, app)], "args": list(arguments),
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": limits}, **more}


def pod(name, *containers, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": {
        "terminationGracePeriodSeconds": 1, "containers": list(containers), **spec}}


class Cluster:
    """`values` are those of the chart as it is installed; None: it is not."""

    def __init__(self):
        self.state, self.values = PLACE, None
        self.lock = open(PLACE + ".lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # one at a time on a machine
        end(self.state)
        # Its own environment and session, so that the end of the tests does not end it: it ends the cluster when this process is gone.
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.ender = subprocess.Popen([sys.executable, "-m", "tests.lib.real_cluster", COMMAND, self.state], stdin=subprocess.PIPE, cwd=proc.ROOT,
                                      env=environment, start_new_session=True, pass_fds=[self.lock.fileno()])
        os.makedirs(self.state)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            made = pool.submit(images.all_of, self.state + "/images")
            self._boot()
            self.run(self.state + "/import", *made.result(), seconds=300)
        self.kubectl("create", "namespace", SHOP)

    def _boot(self):
        with open(self.state + "/boot.log", "w+") as said:
            try:
                subprocess.run([COMMAND, self.state], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, timeout=proc.patience(180),
                               env={**os.environ, "NS": NETWORK}, check=True)
            except (OSError, subprocess.SubprocessError) as e:
                said.seek(0)
                raise unittest.SkipTest("no cluster: %s: %s" % (e, " ".join(said.read().split())[-300:])) from None

    def close(self):
        self.ender.stdin.close()
        self.ender.wait()
        self.lock.close()

    # commands ---------------------------------------------------------------------------------------------------------
    @staticmethod
    def run(*words, text=None, check=True, seconds=120):
        """What a command says; with check=False, what became of it."""
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=proc.patience(seconds))
        if check and done.returncode:
            raise AssertionError("%s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout if check else done

    def inside(self, *words, **how):
        """A command in the cluster's network, as its administrator."""
        return self.run("nsenter", "--net=/run/netns/" + NETWORK, "env", "KUBECONFIG=%s/admin.kubeconfig" % self.state, *words, **how)

    def kubectl(self, *words, **how):
        return self.run(self.state + "/k", *words, **how)

    def helm(self, *words, values=None):
        homes = ["HELM_%s_HOME=%s/helm" % (name, self.state) for name in ("CACHE", "CONFIG", "DATA")]
        return self.inside("env", *homes, HELM, "-n", SYSTEM, *words, *(["-f", "-"] if values is not None else []), text=json.dumps(values or {}))

    # objects ----------------------------------------------------------------------------------------------------------
    def apply(self, *objects, namespace=SHOP):
        self.kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def get(self, *words, namespace=SHOP):
        return json.loads(self.kubectl("get", "-n", namespace, "-o", "json", *words))

    def delete(self, *words, namespace=SHOP):
        self.kubectl("delete", "-n", namespace, "--ignore-not-found", *words)

    def wait(self, what, until, seconds=60, namespace=SHOP):
        """`kubectl wait` for one or more objects: "pod/checkout", "condition=Ready"."""
        self.kubectl("wait", "-n", namespace, *what.split(), "--for=" + until, "--timeout=%ds" % proc.patience(seconds), seconds=seconds + 30)

    def pod(self, name, *containers, wait=True, **spec):
        """A pod whose containers all run, and whose applications are ready; they have the label app=NAME."""
        self.apply(pod(name, *containers, **spec))
        if wait:
            self.wait_working(name)

    def pods(self, containers):
        """{name: its container}: the same at once, for one call of kubectl takes a second on a busy machine."""
        self.apply(*(pod(name, container) for name, container in containers.items()))
        self.wait_working(*containers)

    def wait_working(self, *names):
        self.wait(" ".join("pod/" + name for name in names), "condition=Ready")

        def missing():
            said = self.logs("--selector=app in (%s)" % ",".join(names), "--prefix", "--tail=-1", "--max-log-requests=%d" % len(names))
            ready = set(re.findall(r'^\[pod/([^/]+)/.*"ready":true', said, re.M))
            return [name for name in names if name not in ready]
        proc.wait_until(lambda: not missing(), 60, "the applications of %s are ready" % ", ".join(names), 0.5)

    def logs(self, name, *words, namespace=SHOP):
        return self.kubectl("logs", "-n", namespace, name, *words)

    def exec(self, name, *words, namespace=SHOP, **how):
        return self.kubectl("exec", "-n", namespace, name, "--", *words, **how)

    def process(self, name, container="app"):
        """The .NET process of a container, as this machine sees it: `pid` and `tmp`."""
        return self.process_of(self.get("pod", name), container)

    def processes(self, names):
        """{pod: that of its container `app`}"""
        found = {p["metadata"]["name"]: p for p in self.get("pods")["items"]}
        return {name: self.process_of(found[name]) for name in names}

    @staticmethod
    def process_of(found, container="app"):
        status = found["status"]
        every = [s for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses") for s in status.get(kind, [])]
        wanted = next(s["containerID"] for s in every if s["name"] == container).rpartition("/")[2]

        def look():
            for path in glob.glob("/proc/[0-9]*/cgroup"):
                with contextlib.suppress(OSError), open(path) as f:
                    folder = os.path.dirname(path)
                    if wanted in f.read() and os.readlink(folder + "/exe").startswith("/apps/"):
                        return dotnet.Seen(int(os.path.basename(folder)), os.path.join(folder, "root/tmp"))
        return proc.wait_until(look, 20, "a process of container %s of pod %s" % (container, found["metadata"]["name"]))

    def session(self, name, spec, **metadata):
        self.apply({"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name, **metadata}, "spec": spec})

    def wait_profiling(self, name):
        self.wait("psess/" + name, "jsonpath={.status.targets[0].phase}=Profiling", 20)

    def finished(self, name, seconds=90):
        """The session, when it has ended."""
        self.wait("psess/" + name, "condition=Completed", seconds)
        return self.get("psess", name)

    def condition(self, session, kind):
        return next((c for c in session.get("status", {}).get("conditions", []) if c["type"] == kind), {"status": "Unknown", "reason": "", "message": ""})

    # Dr-Dotnet --------------------------------------------------------------------------------------------------------
    def install(self, values):
        """The chart with these values, as docs/install.md says."""
        if self.values == values:
            return
        if self.values is None:
            self.namespace()
        on_node = {"agent": {"spool": {"hostPath": self.state + "/node/drdotnet/spool"}, "sharedParent": self.state + "/node/drdotnet-tmp/pods"}}
        self.helm("upgrade", "--install", "drdotnet", CHART, values=merged(on_node, values))
        self.values = values
        self.wait_installed()

    def namespace(self):
        self.kubectl("create", "namespace", SYSTEM)
        self.kubectl("label", "namespace", SYSTEM, "pod-security.kubernetes.io/enforce=privileged")

    def wait_installed(self):
        """Controller and agent run and are linked: the agent is ready then."""
        for workload in self.kubectl("get", "-n", SYSTEM, "deployment,daemonset", "-o", "name").split():
            self.kubectl("rollout", "status", "-n", SYSTEM, workload, "--timeout=%ds" % proc.patience(120), seconds=150)

    def apply_manifests(self, folder):
        """Definitions and a folder of manifests, but for where the node's folders are."""
        text = self.run("kubectl", "kustomize", os.path.join(proc.ROOT, folder))
        self.kubectl("apply", "-f", os.path.join(proc.ROOT, "crds"))
        self.kubectl("apply", "-f", "-", text=re.sub(r"^( +path: )/var/lib/", r"\g<1>%s/node/" % self.state, text, flags=re.M))
        self.wait_installed()

    def end_sessions(self):
        for kind in ("profilingtriggers", "profilingsessions"):
            self.kubectl("delete", kind, "--all", "--all-namespaces")

    def uninstall(self):
        """As docs/install.md says."""
        self.end_sessions()
        self.helm("uninstall", "drdotnet")
        self.values = None
        self.remove_definitions()

    def remove_definitions(self):
        self.kubectl("delete", "-f", os.path.join(proc.ROOT, "crds"))
        self.kubectl("delete", "namespace", SYSTEM)

    def ours(self):
        """Names of all objects that are part of Dr-Dotnet, and of the namespace's others."""
        kinds = [kind for kind in self.kubectl("api-resources", "--verbs=list", "-o", "name").split() if not kind.startswith("event")]
        return self.kubectl("get", ",".join(kinds), "-A", "-l", "app.kubernetes.io/part-of=drdotnet", "-o", "name").split()

    # what a failed test shows -----------------------------------------------------------------------------------------
    def story(self):
        """What was last of each part: the runner shows no more than 60 lines of a failed test."""
        def said(*words):
            done = self.kubectl(*words, check=False)
            return (done.stdout + done.stderr).strip()
        pods = said("get", "pods", "-A", "--no-headers", "--sort-by=.metadata.creationTimestamp", "-o", "custom-columns=" + PODS)
        events = "\n".join(said("get", "events", "-n", namespace, "--field-selector=type=Warning", "--no-headers", "--sort-by=.lastTimestamp", "-o",
                                "custom-columns=:.involvedObject.name,:.reason,:.message") for namespace in (SYSTEM, SHOP))
        parts = [("pods", pods), ("warnings", events), ("sessions", said("get", PARTS, "-A", "--no-headers", "-o", "wide"))]
        for pod in said("get", "pods", "-n", SYSTEM, "-o", "name").split():
            parts.append((pod, said("logs", "-n", SYSTEM, pod, "--all-containers", "--tail=%d" % LINES)))
        for name in re.findall(r"^(\S+) +\S+ +false\b", pods, re.M):
            parts.append((name, said("logs", "-n", SHOP, name, "--tail=2")))
        return "\n".join("== %s\n%s" % (name, "\n".join(line[:300] for line in text.splitlines()[-LINES:])) for name, text in parts if text)


def merged(one, other):
    """Values of the chart: the other's over the one's."""
    both = {key: merged(one[key], value) if isinstance(value, dict) and key in one else value for key, value in other.items()}
    return {**one, **both}


@functools.cache
def cluster():
    """The one of this process; why there is none, where this machine boots none: that says nothing of Dr-Dotnet."""
    try:
        made = Cluster()
    except unittest.SkipTest as why:
        return why
    atexit.register(made.close)
    return made


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Case(unittest.TestCase):
    one_process = "cluster" if COMMAND else "no cluster"  # what it takes is remembered by this name: not that it took nothing
    time_limit = 900
    processors = 1.0  # of the cluster, whose processes are not children of the tests'
    values = {}

    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster()
        if isinstance(cls.cluster, unittest.SkipTest):
            raise cls.cluster
        try:
            cls.cluster.install(cls.values)
            cls.prepare()
        except BaseException:
            print(cls.cluster.story(), flush=True)
            raise

    @classmethod
    def prepare(cls):
        """What the methods of a class share."""

    @classmethod
    def tearDownClass(cls):
        cls.cluster.end_sessions()
        cls.cluster.delete("deployment,daemonset,statefulset,job,cronjob,pod", "--all", "--grace-period=1")

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            print(self.cluster.story(), flush=True)

    def assert_succeeded(self, session):
        succeeded = self.cluster.condition(session, "Succeeded")
        self.assertEqual(succeeded["status"], "True", "%(reason)s: %(message)s" % succeeded)


# the end --------------------------------------------------------------------------------------------------------------
def end(state, command=COMMAND):
    """Ends a cluster and removes its folder, however much of it is still there."""
    if not os.path.exists(state):
        return
    subprocess.run([os.path.join(os.path.dirname(command), "down.sh"), state], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=180, env={**os.environ, "NS": NETWORK}, check=False)
    deadline = time.monotonic() + 20
    while _end_pods() and time.monotonic() < deadline:
        time.sleep(0.2)
    with open("/proc/self/mountinfo") as f:
        mounts = [line.split()[4] for line in f if line.split()[4].startswith(state + "/")]
    for mount in reversed(mounts):
        subprocess.run(["umount", "--lazy", mount], check=False)
    with open("/proc/self/mountinfo") as f:
        if state + "/" not in f.read():  # a folder of the machine may be mounted there
            shutil.rmtree(state, ignore_errors=True)


def _end_pods():
    """Kills what the cluster's runtime has left in the control groups of its pods; whether there was anything."""
    pids = set()
    for path in glob.glob("/sys/fs/cgroup/*/kubepods/**/cgroup.procs", recursive=True) + glob.glob("/sys/fs/cgroup/kubepods/**/cgroup.procs", recursive=True):
        with contextlib.suppress(OSError), open(path) as f:
            pids.update(map(int, f.read().split()))
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


from tests.lib import cluster_images as images  # noqa: E402

if __name__ == "__main__":
    sys.stdin.buffer.read()  # until the tests' process has gone
    end(sys.argv[2], sys.argv[1])
