"""An installation of Dr-Dotnet on the tests' API server: the shipped CRD and manifests applied, controller and agents as
processes that have no more than their pods would have: their ServiceAccounts' tokens, RBAC, the agent's capabilities.

    with install.Installation(folder, cluster, store=s3_server_or_None) as i:
        agent = i.start_agent("node-a")
        i.session("shop", "checkout-cpu", {...spec...}); i.wait_finished("shop", "checkout-cpu")
"""
import json
import os
import re
import signal
import subprocess
import time

from tests.lib import kube, pod, proc

SYSTEM = "drdotnet-system"
AUDIENCE = "drdotnet-controller"
SERVER_NAME = "drdotnet-controller.%s.svc" % SYSTEM
MANIFESTS = ("deploy/manifests/00-namespace.yaml", "deploy/manifests/10-rbac.yaml", "deploy/manifests/20-link.yaml")
BIN = os.path.join(proc.ROOT, "build/release")
HOST_PID_CAPABILITIES = "+sys_ptrace,+dac_override,+perfmon"
SHARED_TMP_CAPABILITIES = "+dac_override"
SESSIONS = "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingsessions"


def with_capabilities(names):
    """The words that run a program as uid 0 with these capabilities and no way to more."""
    return ["setpriv", "--bounding-set=-all," + names, "--inh-caps=-all", "--no-new-privs", "--"]


def digest(session):
    """What a failed test has to say of a session, in a few lines."""
    status = session.get("status", {})
    lines = ["%(type)s=%(status)s %(reason)s: %(message)s" % c for c in status.get("conditions", [])]
    lines += ["%s %s: %s %s" % (t.get("podName"), t.get("phase"), t.get("reason"), t.get("message")) for t in status.get("targets", [])]
    return "\n".join(["session " + session["metadata"]["name"], *lines, status.get("diagnosis", "")])


# Each agent resolves the Service's name, as the cluster's DNS would, by a /etc/hosts of its own.
OWN_MOUNTS = ["unshare", "--mount"]
OWN_PROCESSES = ["--pid", "--fork", "--kill-child", "--mount-proc"]
WITH_HOSTS = ["--", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']


class Agent(proc.Process):
    """With processes of its own namespace it is the only child of unshare, which ignores signals."""

    def __init__(self, words, log, nested=False):
        super().__init__(words, log)
        self.nested, self.log_number = nested, 0
        self.token_file = self.words[self.words.index("--token-file") + 1]

    def agent_pid(self):
        if not self.nested:
            return self.pid
        return proc.wait_until(lambda: pod.children(self.pid), 10, "the agent's process")[0]

    def stop(self, how=signal.SIGTERM, seconds=20):
        if self.nested and not self.ended():
            for child in pod.children(self.pid):
                os.kill(child, how)
        return super().stop(how, seconds)

    def write_token(self, token):
        with open(self.token_file, "w") as f:
            f.write(token)

    def again(self):
        """A new process like this one, as a kubelet starts it after a crash."""
        self.log_number += 1
        return Agent(self.words, "%s.%d" % (self.log_path, self.log_number), self.nested)


class Installation:
    def __init__(self, folder, cluster, store=None, programs=BIN):
        self.folder = os.path.realpath(folder)
        self.cluster = cluster
        self.store = store
        self.programs = programs  # the folder of controller and agent
        self.processes = []
        self.controller_words = []  # more options of the controller

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        try:
            self.cluster.apply_crd(*MANIFESTS)
            self.controller = self.start_controller()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()

    def _file(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def _system_pod(self, name, node, account):
        return self.cluster.create_pod(SYSTEM, name, node, service_account=account, containers=(account,))

    def store_configuration(self):
        """The controller's file of stores: the S3 server with its keys in files, as from a mounted Secret."""
        keys = os.path.join(self.folder, "store-keys")
        self._file("store-keys/accessKeyId", self.store.access_key)
        self._file("store-keys/secretAccessKey", self.store.secret_key)
        stores = {"stores": [{"name": "default", "s3": {
            "endpoint": self.store.endpoint, "region": self.store.region, "bucket": self.store.bucket, "prefix": "drdotnet/",
            "pathStyle": True, "credentialsFolder": keys}}, {"name": "own", "builtin": {}}]}
        return self._file("stores.yaml", json.dumps(stores))

    def start_controller(self, name="drdotnet-controller-0"):
        made = self._system_pod(name, "node-system", "drdotnet-controller")
        token = self._file(name + "/token", self.cluster.service_account_token(SYSTEM, "drdotnet-controller", made))
        config = self.cluster.write_kubeconfig(self.folder + "/" + name + "/kubeconfig", token)
        self.link_port, self.health_port, self.api_port = proc.free_ports(3)
        words = [self.programs + "/drdotnet-controller", "--kubeconfig", config, "--namespace", SYSTEM, "--bind", "127.0.0.1",
                 "--port", str(self.link_port), "--health-port", str(self.health_port), "--api-port", str(self.api_port),
                 "--reports", self.folder + "/" + name + "/reports"]
        if self.store:
            words += ["--stores", self.store_configuration()]
        words += self.controller_words
        controller = proc.Process(words, log=self.folder + "/" + name + ".log")
        self.processes.append(controller)
        proc.wait_until(lambda: self._ready(controller), 20, "the controller is ready")
        return controller

    def _ready(self, controller):
        if controller.ended():
            raise AssertionError("the controller ended:\n" + controller.log()[-3000:])
        return subprocess.run(["curl", "-sf", "-o", "/dev/null", "http://127.0.0.1:%d/readyz" % self.health_port]).returncode == 0

    def authority_file(self):
        """The link's certificate authority, as agents have it mounted from the ConfigMap."""
        def look():
            data = self.cluster.request("GET", "/api/v1/namespaces/%s/configmaps/drdotnet-link-ca" % SYSTEM).get("data")
            return data and data.get("ca.crt")
        return self._file("link-ca/ca.crt", proc.wait_until(look, 10, "the controller publishes its CA"), 0o644)

    def start_agent(self, node, mode="hostPID", parent=None, wait=True):
        """An agent as its DaemonSet runs it; in the shared tmp mode it sees no process but its own."""
        name = "drdotnet-agent-" + node
        made = self._system_pod(name, node, "drdotnet-agent")
        token = self._file(name + "/token", self.cluster.service_account_token(SYSTEM, "drdotnet-agent", made, AUDIENCE))
        words = [self.programs + "/drdotnet-agent", "--controller", "%s:%d" % (SERVER_NAME, self.link_port),
                 "--ca-file", self.authority_file(), "--token-file", token, "--mode", mode,
                 "--spool", self.folder + "/" + name + "/spool", "--library", BIN + "/libdrdotnet.so", "--node-name", node,
                 "--health-socket", self.folder + "/" + name + "/health.sock"]
        if parent:
            words += ["--shared-parent", parent]
        hosts = self._file("hosts", "127.0.0.1 localhost %s\n" % SERVER_NAME, 0o644)
        nested = mode == "sharedTmp"
        agent = Agent([*OWN_MOUNTS, *(OWN_PROCESSES if nested else []), *WITH_HOSTS, hosts,
                       *with_capabilities(SHARED_TMP_CAPABILITIES if nested else HOST_PID_CAPABILITIES), *words],
                      self.folder + "/" + name + ".log", nested)
        self.processes.append(agent)
        if wait:
            self._wait_linked(node)
        return agent

    def _wait_linked(self, node):
        try:
            self.controller.wait_log('"agent linked","node":"%s"' % re.escape(node), 60)
        except AssertionError as e:
            raise AssertionError("%s\n%s" % (self.logs(), e)) from None

    def metric(self, name):
        """The sum of a metric of the controller over its labels."""
        text = subprocess.run(["curl", "-sf", "http://127.0.0.1:%d/metrics" % self.health_port], capture_output=True,
                              text=True).stdout
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
                   if line.split("{")[0].split(" ")[0] == name)

    # sessions ---------------------------------------------------------------------------------------------------------
    def session(self, namespace, name, spec, **metadata):
        return self.cluster.request("POST", SESSIONS % namespace, {
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name, **metadata}, "spec": spec})

    def get(self, namespace, name):
        return self.cluster.request("GET", SESSIONS % namespace + "/" + name)

    def condition(self, session, kind):
        for condition in session.get("status", {}).get("conditions", []):
            if condition["type"] == kind:
                return condition
        return {"status": "Unknown", "reason": "", "message": ""}

    def wait_condition(self, namespace, name, kind, statuses=("True",), seconds=60):
        began = time.monotonic()
        while True:
            session = self.get(namespace, name)
            if self.condition(session, kind)["status"] in statuses:
                return session
            if time.monotonic() > began + proc.patience(seconds) or self.controller.ended():
                raise AssertionError("%s\n%s is not %s:\n%s" % (self.logs(), kind, statuses, digest(session)))
            time.sleep(0.1)

    def wait_first_sample(self, namespace, name, seconds=60):
        def look():
            targets = self.get(namespace, name).get("status", {}).get("targets", [])
            return targets and targets[0].get("firstSampleTime")
        try:
            proc.wait_until(look, seconds, "the first sample")
        except AssertionError as e:
            raise AssertionError("%s\n%s\n%s" % (self.logs(), e, digest(self.get(namespace, name)))) from None

    def wait_finished(self, namespace, name, seconds=90):
        return self.wait_condition(namespace, name, "Completed", seconds=seconds)

    def events(self, namespace, name):
        """[(type, reason, message)] of a session's events."""
        items = self.cluster.request("GET", "/api/v1/namespaces/%s/events" % namespace)["items"]
        return [(e.get("type"), e.get("reason"), e.get("message", e.get("note", ""))) for e in items
                if e["involvedObject"].get("name") == name]

    def logs(self):
        """What controller and agents said last, those that have ended left out."""
        return "\n".join("== %s\n%s" % (os.path.basename(p.log_path), p.log()[-2000:]) for p in self.processes
                         if not p.ended() or p is self.controller)
