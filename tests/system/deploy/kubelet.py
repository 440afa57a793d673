"""Runs the container of a pod of the tests' API server as a kubelet would: the image is a root file system (deploy/rootfs.sh),
everything else is the pod's own word: users, capabilities, read-only root, volumes, tokens, environment, probes.

    image = kubelet.image("agent", folder)
    with kubelet.Container(cluster, pod_object, image, folder, hosts={...}, env={...}) as c:
        c.probe("livenessProbe"), c.status()["CapEff"], c.stop()

A seccomp profile of type Localhost is one of deploy/seccomp; what it refuses is recorded: c.refused_calls().
Not done: RuntimeDefault and AppArmor profiles, a network of its own (so `env` gives ports that are free here), limits of resources.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from tests.lib import kube, proc

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "container_init.py")
UNDER_SECCOMP = os.path.join(proc.ROOT, "build/release/tests/under-seccomp")
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def image(role, folder, build=os.path.join(proc.ROOT, "build/release")):
    root = os.path.join(os.path.realpath(folder), "image-" + role)
    subprocess.run([os.path.join(proc.ROOT, "deploy/rootfs.sh"), role, root, build], check=True, capture_output=True)
    return root


def pod_of(cluster, workload, node):
    """The pod that a Deployment's or DaemonSet's controller and the scheduler would make."""
    template = workload["spec"]["template"]
    name = "%s-%s" % (workload["metadata"]["name"], node)
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **template["metadata"]},
            "spec": {**template["spec"], "nodeName": node}}
    namespace = workload["metadata"]["namespace"]
    made = cluster.request("POST", "/api/v1/namespaces/%s/pods" % namespace, body)
    cluster.set_pod_running(made, {})
    return made


class Container(proc.Process):
    def __init__(self, cluster, pod, image_root, folder, hosts=None, env=None, host_paths=None):
        self.cluster, self.pod = cluster, pod
        self.spec = pod["spec"]
        self.container = self.spec["containers"][0]
        self.folder = tempfile.mkdtemp(prefix=pod["metadata"]["name"] + "-", dir=os.path.realpath(folder))
        os.chmod(self.folder, 0o755)
        self.host_paths = host_paths or {}
        self.order = {"join": 0, "root": image_root, "mounts": self._mounts(hosts or {}), "env": self._environment(env or {}),
                      "words": self._entrypoint(image_root), **self._security()}
        namespaces = ["--mount"] if self.spec.get("hostPID") else ["--mount", "--pid", "--fork", "--kill-child"]
        super().__init__(["unshare", *namespaces, "--", sys.executable, INIT, json.dumps(self.order)],
                         log=self.folder + "/log")

    def _entrypoint(self, image_root):
        name = next(n for n in os.listdir(image_root + "/usr/bin") if n.startswith("drdotnet-"))
        return self.container.get("command", ["/usr/bin/" + name]) + self.container.get("args", [])

    def _security(self):
        both = {**self.spec.get("securityContext", {}), **self.container.get("securityContext", {})}
        user = both.get("runAsUser", 0)
        if both.get("runAsNonRoot") and user == 0:
            raise AssertionError("container has runAsNonRoot and image will run as root")
        capabilities = both.get("capabilities", {})
        if capabilities.get("drop") != ["ALL"]:
            raise AssertionError("this kubelet knows only containers that drop ALL")
        self.fs_group = both.get("fsGroup")
        return {"user": user, "group": both.get("runAsGroup", 0), "groups": [self.fs_group] if self.fs_group else [],
                "capabilities": capabilities.get("add", []), "readonly": both.get("readOnlyRootFilesystem", False),
                "no_new_privs": not both.get("allowPrivilegeEscalation", True), "seccomp": self._seccomp(both["seccompProfile"])}

    def _seccomp(self, profile):
        if profile["type"] != "Localhost":
            return None
        part, _, name = profile["localhostProfile"].partition("/")
        if part != "drdotnet":
            raise AssertionError("not as docs/install.md says: " + profile["localhostProfile"])
        return [UNDER_SECCOMP, os.environ.get("DRDOTNET_SECCOMP", "record"), os.path.join(proc.ROOT, "deploy/seccomp", name),
                self.folder + "/seccomp.log"]

    def refused_calls(self):
        """System calls that the seccomp profile has refused to processes of this container."""
        with open(self.order["seccomp"][3]) as f:
            return sorted(set(f.read().split()))

    # environment ------------------------------------------------------------------------------------------------------
    def _environment(self, replaced):
        server = urllib.parse.urlsplit(self.cluster.server)
        env = {"PATH": "/usr/bin:/bin", "KUBERNETES_SERVICE_HOST": server.hostname, "KUBERNETES_SERVICE_PORT": str(server.port)}
        for item in self.container.get("env", []):
            env[item["name"]] = item.get("value") or self._field(item["valueFrom"]["fieldRef"]["fieldPath"])
        return {**env, **replaced}

    def _field(self, path):
        value = self.pod
        for key in path.split("."):
            value = value[key]
        return value

    # volumes ----------------------------------------------------------------------------------------------------------
    def _mounts(self, hosts):
        security = self.spec.get("securityContext", {})
        self.fs_group = security.get("fsGroup")
        folders = {v["name"]: self._volume(v) for v in self.spec.get("volumes", [])}
        mounts = [[folders[m["name"]], m["mountPath"], m.get("readOnly", False)] for m in self.container.get("volumeMounts", [])]
        if self.spec.get("automountServiceAccountToken"):
            mounts.append([self._api_access(), SERVICE_ACCOUNT, True])
        names = self._file("hosts", "127.0.0.1 localhost\n" + "".join("%s %s\n" % (a, n) for n, a in hosts.items()), 0o644)
        return mounts + [[names, "/etc/hosts", True]]

    def _volume(self, volume):
        if "hostPath" in volume:
            path = self.host_paths.get(volume["hostPath"]["path"], volume["hostPath"]["path"])
            if volume["hostPath"].get("type") == "DirectoryOrCreate":
                os.makedirs(path, mode=0o755, exist_ok=True)
            return path
        folder = os.path.join(self.folder, "volumes", volume["name"])
        os.makedirs(folder)
        os.chmod(folder, 0o777 if "emptyDir" in volume else 0o755)
        if "configMap" in volume:
            self._object_files(folder, "configmaps", volume["configMap"]["name"], volume["configMap"])
        elif "secret" in volume:
            self._object_files(folder, "secrets", volume["secret"]["secretName"], volume["secret"])
        elif "projected" in volume:
            for source in volume["projected"]["sources"]:
                for name, text in self._projected(source):
                    self._file("volumes/%s/%s" % (volume["name"], name), text, 0o600)
        elif "emptyDir" not in volume:
            raise AssertionError("an unknown kind of volume: %s" % volume)
        if self.fs_group and "emptyDir" in volume:
            os.chown(folder, 0, self.fs_group)
            os.chmod(folder, 0o2777)
        return folder

    def _projected(self, source):
        """(name, text) of the files of a source."""
        if "serviceAccountToken" in source:
            token = source["serviceAccountToken"]
            yield token["path"], self._token(token.get("audience"))
        elif source.get("configMap", {}).get("name") == "kube-root-ca.crt":  # which a cluster's controllers make in each namespace
            yield "ca.crt", self.cluster.ca_pem.decode()
        else:
            for item in source["downwardAPI"]["items"]:
                yield item["path"], self._field(item["fieldRef"]["fieldPath"])

    def _object_files(self, folder, plural, name, how):
        try:
            found = self.cluster.request("GET", "/api/v1/namespaces/%s/%s/%s" % (self.pod["metadata"]["namespace"], plural, name))
        except kube.ApiError as e:
            if e.code == 404 and how.get("optional"):
                return
            raise
        for key, value in (found.get("data") or {}).items():
            text = base64.b64decode(value).decode() if plural == "secrets" else value
            self._file(os.path.join(folder, key), text, how.get("defaultMode", 0o644))

    def _api_access(self):
        values = {"token": self._token(None), "ca.crt": self.cluster.ca_pem.decode(), "namespace": self.pod["metadata"]["namespace"]}
        for key, text in values.items():
            self._file("api-access/" + key, text, 0o644)
        return self.folder + "/api-access"

    def _token(self, audience):
        return self.cluster.service_account_token(self.pod["metadata"]["namespace"], self.spec["serviceAccountName"], self.pod, audience)

    def _file(self, name, text, mode):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w") as f:
            f.write(text)
        os.chmod(path + ".new", mode)
        if self.fs_group:
            os.chown(path + ".new", 0, self.fs_group)
        os.rename(path + ".new", path)
        return path

    # life -------------------------------------------------------------------------------------------------------------
    def inner_pid(self):
        """The container's first process as seen from here."""
        if self.spec.get("hostPID"):
            return self.pid
        return int(proc.wait_until(self._children, 10, "the container's first process").split()[0])

    def _children(self):
        with open("/proc/%d/task/%d/children" % (self.pid, self.pid)) as f:
            return f.read()

    def status(self):
        """The lines of /proc/PID/status."""
        with open("/proc/%d/status" % self.inner_pid()) as f:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in f)}

    def probe(self, name):
        """Whether one try of this probe succeeds."""
        how = self.container[name]
        if "exec" in how:
            return self.exec(how["exec"]["command"]).returncode == 0
        port = self._port(how["httpGet"]["port"])
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, how["httpGet"]["path"]), timeout=5) as answer:
                return 200 <= answer.status < 400
        except OSError:
            return False

    def _port(self, name):
        """Of a named port; another one where the environment says so."""
        variable = {"link": "LINK_PORT", "metrics": "HEALTH_PORT"}[name]
        declared = next(p["containerPort"] for p in self.container["ports"] if p["name"] == name)
        return int(self.order["env"].get(variable, declared))

    def exec(self, words):
        order = {**self.order, "join": self.inner_pid(), "words": words}
        return subprocess.run(["unshare", "--mount", sys.executable, INIT, json.dumps(order)], capture_output=True, text=True, timeout=30)

    def stop(self, *how):
        if not self.spec.get("hostPID") and not self.ended():
            try:
                os.kill(self.inner_pid(), how[0] if how else signal.SIGTERM)  # unshare waits for it and ignores the signal itself
            except ProcessLookupError:
                pass
        return super().stop(*how)
