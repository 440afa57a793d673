"""A real Kubernetes API server on loopback for tests, and a small client of it.

Where it comes from, in this order:
  KUBEBUILDER_ASSETS        a folder with kube-apiserver and etcd (the ecosystem's convention)
  DRDOTNET_TEST_APISERVER   a command: `$COMMAND DIR` starts one, prints its kubeconfig's path and leaves DIR/apiserver.pid
  build/tools/apiserver     what tests/setup/build-apiserver.sh has built

    with kube.Cluster(folder) as cluster:
        cluster.kubeconfig, cluster.kubectl("get", "pods"), cluster.request("GET", "/api/v1/pods")
"""
import base64
import json
import os
import re
import shutil
import signal
import ssl
import time
import subprocess
import urllib.error
import urllib.request

from tests.lib import proc

# The minor version of Kubernetes that brought what tests use beyond 1.20. What is installed for which is chosen here (docs/install.md says the same),
# and a test of something newer than its API server is skipped with its name.
SINCE = {"CEL rules": 25, "validation of fields at the server": 25, "SelfSubjectReview": 28, "recursiveReadOnly": 30, "streaming lists": 32}
INITIALIZING_SECONDS = 30
BUILT = os.path.join(proc.ROOT, "build/tools/apiserver")


def unavailable():
    """Why there is no API server for tests here, or None."""
    if _assets() or os.environ.get("DRDOTNET_TEST_APISERVER"):
        return None
    return "no API server: set KUBEBUILDER_ASSETS or run tests/setup/build-apiserver.sh"


def built():
    """Whether tests/setup/build-apiserver.sh has left one here."""
    return os.access(BUILT + "/kube-apiserver", os.X_OK)


def is_built_one():
    """Whether that is the API server which the tests use normally."""
    return _assets() == BUILT


def _assets():
    """The folder with kube-apiserver and etcd, unless the API server comes from elsewhere."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder and not os.environ.get("DRDOTNET_TEST_APISERVER"):
        folder = BUILT
    return folder if folder and os.access(os.path.join(folder, "kube-apiserver"), os.X_OK) else None


class ApiError(Exception):
    def __init__(self, code, body):
        super().__init__("%d: %s" % (code, body[:1000]))
        self.code, self.body = code, body


class Client:
    """HTTPS to one API server as one user: with a client certificate, or a bearer token in its place."""

    def __init__(self, kubeconfig, token=None):
        text = subprocess.run(["kubectl", "config", "view", "--raw", "--minify", "-o", "json", "--kubeconfig", kubeconfig],
                              check=True, capture_output=True).stdout
        config = json.loads(text)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0].get("user", {})
        self.server = cluster["server"]
        self.ca_pem = _file_or_data(cluster, "certificate-authority", kubeconfig)
        self.token = token or user.get("token")
        self.tls = ssl.create_default_context(cadata=self.ca_pem.decode())
        if not self.token:
            self._load_certificate(user, kubeconfig)

    def _load_certificate(self, user, kubeconfig):
        folder = os.path.dirname(kubeconfig)
        paths = []
        for name in ("client-certificate", "client-key"):
            paths.append(os.path.join(folder, ".tests-" + name))
            with open(paths[-1], "wb") as f:
                f.write(_file_or_data(user, name, kubeconfig))
        self.tls.load_cert_chain(*paths)

    def request(self, *words, **options):
        """The decoded JSON answer; ApiError for what the server refuses. One that is not ready for a resource yet is asked again."""
        for _ in range(INITIALIZING_SECONDS):
            try:
                return self._request(*words, **options)
            except ApiError as e:
                if e.code != 429 or "initializing" not in str(e):
                    raise
                time.sleep(1)
        return self._request(*words, **options)

    def _request(self, method, path, body=None, content_type="application/json", timeout=30):
        request = urllib.request.Request(self.server + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        request.add_header("Accept", "application/json")
        if body is not None:
            request.add_header("Content-Type", content_type)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=timeout) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as e:
            raise ApiError(e.code, e.read().decode(errors="replace")) from None

    def minor_version(self):
        return int(re.match(r"\d+", self.request("GET", "/version")["minor"]).group())

    def knows(self, feature):
        return self.minor_version() >= SINCE[feature]

    def require(self, test, feature):
        """Skips a test of what came later than this API server."""
        if not self.knows(feature):
            test.skipTest("Kubernetes 1.%d has no %s: 1.%d and newer have" % (self.minor_version(), feature, SINCE[feature]))

    def definitions(self):
        """The folder of the CustomResourceDefinitions that this server understands."""
        return "crds" if self.knows("CEL rules") else "crds/legacy"

    def manifests(self):
        return "deploy/manifests" if self.knows("recursiveReadOnly") else "deploy/manifests-legacy"


def _file_or_data(section, name, kubeconfig):
    if name + "-data" in section:
        return base64.b64decode(section[name + "-data"])
    with open(os.path.join(os.path.dirname(kubeconfig), section[name]), "rb") as f:
        return f.read()


class Cluster(Client):
    kubectl_cache = ()

    def __init__(self, folder, assets=None, flags=()):
        """`flags`: more of kube-apiserver's, with `assets` only."""
        self.folder = os.path.realpath(folder)
        self.flags = flags
        self.assets = assets or _assets()
        self.processes = []
        self.outside_pid = 0
        self.kubectl_cache = ("--cache-dir", self.folder + "/kubectl-cache")  # of this server alone

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        try:
            self.kubeconfig = self._start(self.assets) if self.assets else self._start_outside()
            Client.__init__(self, self.kubeconfig)
            proc.wait_until(self._ready, 120, "the API server answers")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()
        if self.outside_pid:
            _end(self.outside_pid)

    def _ready(self):
        """Its namespaces are there, and it has read its resource definitions (until then their objects answer 503)."""
        try:
            self.request("GET", "/api/v1/namespaces/default")
            return self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0
        except (OSError, ApiError):
            return False

    def _start_outside(self):
        """More than once: another process may take its port between choosing it and using it."""
        pid_file = os.path.join(self.folder, "apiserver.pid")
        make_pki(self.folder)  # a command that finds one makes none, which takes longer
        for _ in range(3):
            try:
                done = subprocess.run([os.environ["DRDOTNET_TEST_APISERVER"], self.folder], capture_output=True, text=True, timeout=proc.patience(120))
            finally:  # interrupted, too, it may run already
                if os.path.exists(pid_file):
                    with open(pid_file) as f:
                        self.outside_pid = int(f.read() or 0)
            if done.returncode == 0:
                return done.stdout.strip().splitlines()[-1]
            if self.outside_pid:
                _end(self.outside_pid)
        raise RuntimeError("%s: %s" % (os.environ["DRDOTNET_TEST_APISERVER"], done.stderr))

    def _start(self, assets):
        etcd_port, etcd_peer, port = proc.free_ports(3)
        etcd = "http://127.0.0.1:%d" % etcd_port
        peer = "http://127.0.0.1:%d" % etcd_peer
        pki = make_pki(self.folder)
        self.processes.append(proc.Process(
            [assets + "/etcd", "--data-dir", self.folder + "/etcd", "--listen-client-urls", etcd,
             "--advertise-client-urls", etcd, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", "default=" + peer, "--unsafe-no-fsync"], log=self.folder + "/etcd.log"))
        self.processes.append(proc.Process(
            [assets + "/kube-apiserver", "--etcd-servers=" + etcd, "--secure-port=%d" % port, "--bind-address=127.0.0.1",
             "--advertise-address=127.0.0.1", "--tls-cert-file=" + pki + "/server.crt",
             "--tls-private-key-file=" + pki + "/server.key", "--client-ca-file=" + pki + "/ca.crt",
             "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
             "--service-account-key-file=" + pki + "/server.crt",
             "--service-account-signing-key-file=" + pki + "/server.key",
             "--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount", *self.flags],
            log=self.folder + "/apiserver.log"))
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": "https://127.0.0.1:%d" % port,
                                                            "certificate-authority": pki + "/ca.crt"}}],
                  "users": [{"name": "admin", "user": {"client-certificate": pki + "/admin.crt",
                                                       "client-key": pki + "/admin.key"}}],
                  "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}]}
        path = self.folder + "/kubeconfig"
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    def kubectl(self, *words, text=None, check=True):
        """kubectl's standard output. A failure says what kubectl said."""
        done = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *self.kubectl_cache, *words], input=text, capture_output=True,
                              text=True, timeout=proc.patience(120))
        if check and done.returncode:
            raise AssertionError("kubectl %s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout if check else done

    def apply(self, *paths):
        for path in paths:
            self.kubectl("apply", "-f", os.path.join(proc.ROOT, path))

    def provide(self, *paths):
        """What a test needs and does not try, in one run of kubectl that trusts the files: it does not ask the server to describe all types."""
        self.kubectl("apply", "--validate=false", *(word for path in paths for word in ("-f", os.path.join(proc.ROOT, path))))

    def apply_crd(self, *more):
        """The CustomResourceDefinitions that this server understands, established, and what else a test needs."""
        self.provide(self.definitions(), *more)
        self.wait_crd()

    def wait_crd(self):
        """Until those of our resources that were applied are served; `kubectl wait` fails when it asks before there is any condition."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

        def established(definition):
            conditions = definition.get("status", {}).get("conditions") or []
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        def look():
            ours = [d for d in self.request("GET", path)["items"] if d["spec"]["group"] == "drdotnet.dev"]
            return ours and all(map(established, ours))
        proc.wait_until(look, 60, "the resources are established")
        for cache in self.kubectl_cache[1:]:
            shutil.rmtree(cache, ignore_errors=True)  # an old kubectl does not look again when it meets a short name that is new

    def namespace(self, name):
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def service_account_token(self, namespace, name, pod=None, audience=None):
        """A bound token, as a kubelet gets it for a projected volume; `pod` is the pod object it is bound to."""
        spec = {"expirationSeconds": 43200}  # longer than any run: nobody renews it as a kubelet does
        if audience:
            spec["audiences"] = [audience]
        if pod:
            spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"],
                                      "uid": pod["metadata"]["uid"]}
        answer = self.request("POST", "/api/v1/namespaces/%s/serviceaccounts/%s/token" % (namespace, name),
                              {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        return answer["status"]["token"]

    def write_kubeconfig(self, path, token_file):
        """A kubeconfig for a program that uses this token file."""
        ca = path + ".ca.crt"
        with open(ca, "wb") as f:
            f.write(self.ca_pem)
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": self.server, "certificate-authority": ca}}],
                  "users": [{"name": "sa", "user": {"tokenFile": token_file}}],
                  "contexts": [{"name": "test", "context": {"cluster": "test", "user": "sa"}}]}
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    def create_pod(self, namespace, name, node, labels=None, containers=("app",), service_account=None, running=True, init=()):
        """A pod object as the scheduler leaves it and, when `running`, a kubelet. Returns the object."""
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": name, "labels": labels or {}},
               "spec": {"nodeName": node, "containers": [{"name": c, "image": "example/" + c} for c in containers]}}
        if init:  # [(name, fields of the container)]
            pod["spec"]["initContainers"] = [{"name": n, "image": "example/" + n, **more} for n, more in init]
        if service_account:
            pod["spec"]["serviceAccountName"] = service_account
        made = self.request("POST", "/api/v1/namespaces/%s/pods" % namespace, pod)
        if running:
            self.set_pod_running(made, {})
        return made

    def set_pod_running(self, pod, container_ids, ip="127.0.0.1", **other):
        """Ready and running from one moment to the next, but for the `other` fields of its status."""
        names = [c["name"] for c in pod["spec"]["containers"]]
        now = "2026-01-01T00:00:00Z"
        status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "hostIP": ip, "startTime": now,
                  "conditions": [{"type": t, "status": "True", "lastTransitionTime": now}
                                 for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")],
                  "containerStatuses": [running_status(n, container_ids.get(n, "0" * 64)) for n in names]}
        self.request("PATCH", "/api/v1/namespaces/%s/pods/%s/status" % (pod["metadata"]["namespace"], pod["metadata"]["name"]),
                     {"status": {**status, **other}}, content_type="application/merge-patch+json")


def running_status(name, container_id):
    """Of a container of any kind, for a pod's status."""
    return {"name": name, "ready": True, "started": True, "restartCount": 0, "image": "example/" + name, "imageID": "",
            "containerID": "containerd://" + container_id, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}


def make_pki(folder):
    """A CA, a server's and an administrator's certificate. Returns their folder."""
    pki = folder + "/pki"
    if os.path.exists(pki + "/admin.crt"):
        return pki
    os.makedirs(pki, exist_ok=True)

    def openssl(*words, text=None):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=pki, input=text)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout")  # made at once, which one of RSA is not
    openssl("req", "-x509", *key, "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=test-ca")
    for name, subject, names in (("server", "/CN=apiserver", "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"),
                                 ("admin", "/O=system:masters/CN=admin", "DNS:admin")):
        openssl("req", *key, name + ".key", "-out", name + ".csr", "-subj", subject)
        with open(pki + "/" + name + ".ext", "w") as f:
            f.write("subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n" % names)
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                name + ".crt", "-days", "30", "-extfile", name + ".ext")
    return pki


def _end(pid):
    """Ends a process that is not our child and waits for it."""
    def gone():
        try:
            os.kill(pid, 0)
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, how)
            proc.wait_until(gone, 10, "the API server's end")
            return
        except ProcessLookupError:
            return
        except AssertionError:
            continue
