"""A link server (hub_tool.c) with a made-up API server behind it, and the agent's program as its peer."""
import base64
import http.server
import json
import os
import queue
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time

from tests.lib import proc

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
HUB_TOOL = os.environ.get("DRDOTNET_HUB_TOOL") or os.path.join(ROOT, "build/release/tests/hub-tool")
AGENT = os.environ.get("DRDOTNET_AGENT") or os.path.join(ROOT, "build/release/drdotnet-agent")
AUDIENCE = "drdotnet-controller"
ACCOUNT = "system:serviceaccount:drdotnet-system:drdotnet-agent"
EXTRA = "authentication.kubernetes.io/"


def token(node="node-1", expires_in=3600, **claims):
    """A token that says of itself what the made-up API server will say of it. `node` None: the pod must be asked."""
    claims = {"node": node, "pod": "agent-" + str(node), "podUID": "uid-" + str(node), "account": ACCOUNT, "audience": AUDIENCE,
              "exp": int(time.time() + expires_in), "nonce": os.urandom(4).hex(), **claims}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return "e30.%s.c2ln" % body


def claims_of(text):
    try:
        body = text.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, ValueError):
        return None


class FakeApi:
    """TokenReview, SubjectAccessReview and pods over HTTPS, with faults on request."""

    def __init__(self, folder, cert, key):
        self.pods = {}          # name -> (uid, node)
        self.config_maps = {}   # name -> data
        self.asked = []         # (path, Authorization) of what was read
        self.allowed = set()    # (user, namespace, name)
        self.reviews = 0
        self.delay = 0.0
        self.status = None      # answered instead, when set
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, code, body):
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                *_, namespace, kind, name = self.path.split("/")
                api.asked.append((self.path, self.headers["Authorization"]))
                if kind == "configmaps" and name in api.config_maps:
                    return self.answer(200, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **api.config_maps[name]})
                uid, node = api.pods.get(name, (None, None))
                if uid is None:
                    return self.answer(404, {"kind": "Status", "message": "not found", "code": 404})
                return self.answer(200, {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": node},
                                         "metadata": {"namespace": namespace, "name": name, "uid": uid}})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(api.delay)
                if api.status:
                    return self.answer(api.status, {"kind": "Status", "message": "told to fail", "code": api.status})
                if self.path.endswith("/tokenreviews"):
                    api.reviews += 1
                    return self.answer(201, {"kind": "TokenReview", "status": api.review(body["spec"])})
                spec = body["spec"]
                at = spec["resourceAttributes"]
                ok = (spec.get("user"), at["namespace"], at["name"]) in api.allowed and at["verb"] == "get" \
                    and at["resource"] == "profilingsessions" and at["group"] == "drdotnet.dev"
                return self.answer(201, {"kind": "SubjectAccessReview", "status": {"allowed": ok}})

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        with open(self.kubeconfig, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "t",
                       "clusters": [{"name": "t", "cluster": {"server": "https://localhost:%d" % self.server.server_address[1],
                                                              "certificate-authority": os.path.join(folder, "ca.crt")}}],
                       "users": [{"name": "t", "user": {"token": "controller"}}],
                       "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}]}, f)

    def review(self, spec):
        claims = claims_of(spec["token"])
        if not claims or claims["exp"] < time.time():
            return {"authenticated": False, "error": "unknown token"}
        if spec.get("audiences") and claims["audience"] not in spec["audiences"]:
            return {"authenticated": False, "error": "token audiences do not match"}
        extra = {EXTRA + "pod-name": [claims["pod"]], EXTRA + "pod-uid": [claims["podUID"]]}
        if claims["node"]:
            extra[EXTRA + "node-name"] = [claims["node"]]
        if claims.get("unbound"):
            extra = {}
        return {"authenticated": True, "audiences": [claims["audience"]], "user": {"username": claims["account"], "extra": extra}}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def make_certificates(folder, name="server", ca="ca"):
    """A CA (once) and a certificate of it for localhost."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    if not os.path.exists(os.path.join(folder, ca + ".crt")):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", ca + ".key", "-out", ca + ".crt",
                "-days", "2", "-subj", "/CN=" + ca)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key", "-out", name + ".csr",
            "-subj", "/CN=" + name)
    with open(os.path.join(folder, name + ".ext"), "w") as f:
        f.write("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.2\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".crt", "-CAkey", ca + ".key", "-CAcreateserial", "-out", name + ".crt",
            "-days", "2", "-extfile", name + ".ext")
    return os.path.join(folder, name + ".crt"), os.path.join(folder, name + ".key")


def free_port():
    return proc.free_ports(1)[0]


class Program:
    """A child whose JSON lines on stdout are events; ended by its pid."""

    def __init__(self, words, log_path, env=None):
        self.log_path = log_path
        self.log_file = open(log_path, "ab")
        self.popen = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log_file, text=True,
                                      env={**os.environ, **(env or {})})
        self.events, self.kept = queue.Queue(), []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.popen.stdout:
            self.events.put(json.loads(line))

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def say(self, *words):
        self.popen.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.popen.stdin.flush()

    def expect(self, seconds=20, **wanted):
        """The next event with these values; others before it are dropped."""
        return self._take(seconds, wanted)[0]

    def _take(self, seconds, wanted):
        """The event, and those before it."""
        seen, until = [], time.monotonic() + seconds
        while True:
            try:
                event = self.kept.pop(0) if self.kept else self.events.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError("no event %s; seen %s\n%s" % (wanted, seen, self.log()[-3000:])) from None
            if all(event.get(k) == v for k, v in wanted.items()):
                return event, seen
            seen.append(event)

    def seen(self, **wanted):
        """The events with these values that have come and can still be expected."""
        while not self.events.empty():
            self.kept.append(self.events.get())
        return [event for event in self.kept if all(event.get(k) == v for k, v in wanted.items())]

    def ask(self, *words, event="answer", **wanted):
        """The answer to a command; what happened meanwhile can still be expected."""
        self.say(*words)
        answer, seen = self._take(20, {"event": event, **wanted})
        self.kept = seen + self.kept
        return answer

    def stop(self, how=signal.SIGTERM, seconds=15):
        if self.popen.poll() is None:
            self.popen.send_signal(how)
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError("did not stop\n" + self.log()[-3000:]) from None
        finally:
            self.thread.join(5)
            self.popen.stdin.close()
            self.popen.stdout.close()
            self.log_file.close()
        return code


class Hub(Program):
    """`settings` become HUB_... of its environment."""

    def __init__(self, folder, kubeconfig, cert, key, name="hub", port=None, prefix=(), **settings):
        store = os.path.join(folder, name + "-store")
        port = port or free_port()
        env = {"HUB_PORT": str(port), "HUB_UPLOAD_BASE": "https://127.0.0.1:%d" % port}
        env.update({"HUB_" + k.upper(): str(v) for k, v in settings.items()})
        super().__init__([*prefix, HUB_TOOL, kubeconfig, cert, key, store], os.path.join(folder, name + ".log"), env)
        self.store = store
        listening = self.expect(event="listening")
        self.port, self.health_port = listening["port"], listening["health"]

    def quit(self):
        self.say("quit")
        try:
            code = self.popen.wait(15)
        except subprocess.TimeoutExpired:
            code = None
        self.stop()
        return code


class World:
    """Folder, certificates, API server; what is started here is stopped here."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-link-")
        self.cert, self.key = make_certificates(self.folder)
        self.ca = os.path.join(self.folder, "ca.crt")
        self.api = FakeApi(self.folder, self.cert, self.key)
        self.programs = []

    def hub(self, **options):
        hub = Hub(self.folder, self.api.kubeconfig, self.cert, self.key, **options)
        self.programs.append(hub)
        return hub

    def agent(self, port, text, name="agent", prefix=(), env=None, **options):
        token_file = os.path.join(self.folder, name + ".token")
        self.write_token(text, name)
        settings = {"controller": "127.0.0.1:%d" % port, "ca-file": self.ca, "token-file": token_file, "spool": os.path.join(self.folder, name + "-spool"),
                    "health-socket": os.path.join(self.folder, name + ".sock"), "log-level": "debug", "library": "/nonexistent", **options}
        words = [*prefix, AGENT] + ["--%s=%s" % (k.replace("_", "-"), v) for k, v in settings.items()]
        agent = Program(words, os.path.join(self.folder, name + ".log"), env)
        agent.health = settings["health-socket"]
        self.programs.append(agent)
        return agent

    def write_token(self, text, name="agent"):
        path = os.path.join(self.folder, name + ".token")
        with open(path + ".new", "w") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def close(self):
        for p in self.programs:
            if p.popen.returncode is None:
                p.stop(signal.SIGKILL)
        self.api.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
