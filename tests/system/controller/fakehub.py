"""The controller with agents played by a test: see fake_hub.c."""
import contextlib
import json
import os
import queue
import signal
import subprocess
import threading

from tests.lib import kube, proc

PROGRAM = os.environ.get("DRDOTNET_FAKE_HUB") or os.path.join(proc.ROOT, "build/release/tests/fake-hub")
SESSIONS = "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingsessions"


class FakeHub:
    def __init__(self, kubeconfig, folder, name="controller", namespaces=None, workers=2, stall=None, stream=False, env=None, max_pods=None,
                 max_pods_per_node=None, stores=None, no_starts=None):
        words = [PROGRAM, "--kubeconfig", kubeconfig, "--lease-namespace", "drdotnet-system", "--workers", str(workers)]
        for option, value in (("--max-pods", max_pods), ("--max-pods-per-node", max_pods_per_node), ("--stores", stores),
                              ("--no-starts", no_starts)):
            words += [option, str(value)] if value else []
        words += ["--stream-above", "1"] if stream else []
        if stall:
            words += ["--watch-stall", str(stall)]
        if namespaces:
            words += ["--namespaces", namespaces]
        self.log_path = os.path.join(folder, name + ".log")
        self.log_file = open(self.log_path, "ab")
        self.popen = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log_file, text=True,
                                      start_new_session=True, env={**os.environ, **(env or {})})
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def stop(self, how=signal.SIGTERM):
        """Its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(how)
        try:
            code = self.popen.wait(20)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            code = self.popen.wait()
        self.reader.join(5)
        with contextlib.suppress(BrokenPipeError):  # of what was said when it had just been killed
            self.popen.stdin.close()
        self.popen.stdout.close()
        self.log_file.close()
        return code

    def say(self, *words):
        self.popen.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.popen.stdin.flush()

    def expect(self, verb, seconds=15, match=lambda words: True):
        """The next line of this verb that matches, as its words (at most 4); others before it are kept for later."""
        return self._next(verb, proc.patience(seconds), match)

    def _next(self, verb, seconds, match):
        for i, line in enumerate(self.seen):
            words = line.split(" ", 3)
            if words[0] == verb and match(words):
                del self.seen[i]
                return words
        try:
            while True:
                line = self.lines.get(timeout=seconds)
                if line is None:
                    break
                words = line.split(" ", 3)
                if words[0] == verb and match(words):
                    return words
                self.seen.append(line)
        except queue.Empty:
            pass
        raise AssertionError("no %r within %g s; seen: %s\n%s" % (verb, seconds, self.seen, self.log()[-3000:]))

    def poll(self, verb):
        """The next line of this verb if there is one already, as its words."""
        try:
            while True:
                line = self.lines.get_nowait()
                if line is None:
                    break
                self.seen.append(line)
        except queue.Empty:
            pass
        for i, line in enumerate(self.seen):
            if line.split(" ", 1)[0] == verb:
                del self.seen[i]
                return line.split(" ", 3)
        return None

    def silent(self, verb, seconds, known=()):
        """Nothing of this verb comes within this time, but what is said again of known jobs."""
        try:
            words = self._next(verb, seconds, lambda w: not any('"jobID":"%s"' % job in w[3] for job in known))
        except AssertionError:
            return
        raise AssertionError("unexpected: %s" % words)

    def lead(self):
        """Waits for leadership; the epoch."""
        return int(self.expect("epoch", match=lambda w: w[1] != "0")[1])

    def order(self, session=None, seconds=15):
        """The next order (of this session), as (node, message)."""
        words = self.expect("order", seconds, lambda w: session is None or json.loads(w[3])["session"]["name"] == session)
        return words[2], json.loads(words[3])

    def knows(self, node, job_id):
        """Whether it has seen that this job was given to this node."""
        self.say("upload", node, job_id)
        return self.expect("upload")[1] == "0"

    def job(self, node, job_id, phase, **fields):
        self.say("job", node, json.dumps({"type": "job", "jobID": job_id, "phase": phase, **fields}))


def await_sessions(cluster):
    """An API server answers 429 for a new resource at first, and holds its first object back for 2 s."""
    def made():
        try:
            cluster.request("GET", "/apis/drdotnet.dev/v1alpha1/profilingtriggers?limit=1")
            return cluster.request("POST", SESSIONS % "default" + "?dryRun=All", session("first"))
        except kube.ApiError as e:
            if e.code not in (404, 429, 500):  # one that is defined anew cannot be resolved for a moment
                raise
            return None
    cluster.wait_crd()
    proc.wait_until(made, 30, "the new resources")


def session(name, selector=None, pod=None, **spec):
    target = {"podName": pod} if pod else {"selector": {"matchLabels": selector or {"app": "checkout"}}}
    target["maxPods"] = spec.pop("maxPods", 1)
    return {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name},
            "spec": {"profiler": "CPUHotpaths", "target": target, **spec}}


class Sessions:
    """The sessions of one namespace."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace, self.path = cluster, namespace, SESSIONS % namespace

    def create(self, *words, **spec):
        return self.cluster.request("POST", self.path, session(*words, **spec))

    def get(self, name):
        try:
            return self.cluster.request("GET", self.path + "/" + name)
        except kube.ApiError as e:
            if e.code == 404:
                return None
            raise

    def delete(self, name):
        self.cluster.request("DELETE", self.path + "/" + name)

    def patch(self, name, body):
        return self.cluster.request("PATCH", self.path + "/" + name, body, "application/merge-patch+json")

    def wait(self, name, check, what, seconds=20):
        """The session as soon as check(session) holds."""
        last = {}

        def look():
            last["now"] = self.get(name)
            return last["now"] is not None and check(last["now"]) and last["now"]
        try:
            return proc.wait_until(look, seconds, what, 0.02)
        except AssertionError as e:
            raise AssertionError("%s; it is %s" % (e, json.dumps((last["now"] or {}).get("status"), indent=1))) from None

    def wait_condition(self, name, kind, status, reason=None, seconds=20):
        def holds(s):
            c = condition(s, kind)
            return c and c["status"] == status and (reason is None or c["reason"] == reason)
        return self.wait(name, holds, "%s=%s %s" % (kind, status, reason or ""), seconds)

    def wait_gone(self, name, seconds=20):
        proc.wait_until(lambda: self.get(name) is None, seconds, "%s is gone" % name)

    def events(self, name):
        items = self.cluster.request("GET", "/api/v1/namespaces/%s/events" % self.namespace)["items"]
        return [e for e in items if e["involvedObject"]["name"] == name]


def condition(s, kind):
    for c in s.get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return None
