"""The images' root file systems and the shipped manifests, run: controller and agents start with exactly the users, capabilities,
volumes and environment that the manifests give them, on a read-only root, under the shipped seccomp profiles, and a session
succeeds without a system call that was refused."""
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
import urllib.request

from tests.system.deploy import kubelet, manifests
from tests.lib import dotnet, install, kube, pod, proc

UNAVAILABLE = kube.unavailable() or pod.unavailable()
SERVICE = "drdotnet-controller.drdotnet-system.svc"
ZERO_PREPARATION = {"SYS_PTRACE": 19, "DAC_OVERRIDE": 1, "PERFMON": 38}
SECONDS = 4
PROFILERS = re.findall(r'X\([A-Z_]+, "(\w+)"', open(os.path.join(proc.ROOT, "common/api/profiler_list.h"), encoding="utf-8").read())
TIMELESS = {"GCSurvivors", "DuplicatedStrings"}  # they look once
SHORT_SECONDS = {"MemoryLeak": 3}
PROGRAMS = {"controller": ["drdotnet-controller"], "agent": ["drdotnet-agent"], "cli": ["drdotnet", "kubectl-drdotnet"]}


def mask(numbers):
    return "%016x" % sum(1 << n for n in numbers)


class RootFileSystems(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.images = {role: kubelet.image(role, cls.folder) for role in PROGRAMS}

    def test_they_hold_their_programs_and_their_libraries(self):
        for role, root in self.images.items():
            programs, data = [], []
            for folder, _, names in os.walk(root):
                for name in names:
                    path = os.path.join(folder, name)
                    mode = os.lstat(path).st_mode
                    self.assertFalse(mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH) and stat.S_ISREG(mode), path)
                    if stat.S_ISREG(mode):
                        (programs if mode & 0o111 and ".so" not in name else data).append(os.path.relpath(path, root))
            self.assertEqual(sorted(programs), ["usr/bin/" + name for name in PROGRAMS[role]])
            self.assertIn("etc/ssl/certs/ca-certificates.crt", data)
            self.assertEqual("usr/lib/drdotnet/libdrdotnet.so" in data, role != "controller")
            self.assertIn("var/lib/dpkg/status.d/libssl3", data)
            self.assertEqual("usr/share/zoneinfo/Europe/Berlin" in data, role == "controller")

    def test_they_lack_no_library(self):
        for role, root in self.images.items():
            loader = "/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else "/lib/ld-linux-aarch64.so.1"
            for name in PROGRAMS[role]:
                done = subprocess.run(["unshare", "--mount", "chroot", "--userspec=65532:65532", root, loader, "--list", "/usr/bin/" + name],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("not found", done.stdout)
                self.assertIn("libc.so.6", done.stdout)

    def test_the_programs_tell_their_version(self):
        with open(os.path.join(proc.ROOT, "VERSION")) as f:
            version = f.read().strip()
        for role, root in self.images.items():
            for name in PROGRAMS[role]:
                done = subprocess.run(["chroot", "--userspec=65532:65532", root, "/usr/bin/" + name, "--version"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, "%s %s\n" % (name, version)), done.stderr)

    def test_the_same_input_makes_the_same_image(self):
        build = tempfile.mkdtemp(dir=self.folder)
        for name in ("drdotnet-agent", "libdrdotnet.so"):
            shutil.copy2(os.path.join(proc.ROOT, "build/release", name), build)
        roots = [kubelet.image("agent", tempfile.mkdtemp(dir=self.folder), build) for _ in range(2)]
        sums = [subprocess.run("tar --sort=name -c . | sha256sum", shell=True, cwd=root, capture_output=True, check=True).stdout
                for root in roots]
        self.assertEqual(*sums)


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Deployed(unittest.TestCase):
    one_process = True
    time_limit = 480

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.images = {role: kubelet.image(role, cls.folder) for role in ("controller", "agent")}
        cls.cluster = cls.enter_class(kube.Cluster(cls.folder + "/kube"))
        cls.workloads = manifests.install(cls.cluster, cls.folder)
        cls.cluster.namespace("shop")
        cls.port, cls.health_port, api_port = proc.free_ports(3)
        cls.controller = cls.run_workload("Deployment/drdotnet-system/drdotnet-controller", "controller", "node-system",
                                          env={"LINK_PORT": str(cls.port), "HEALTH_PORT": str(cls.health_port),
                                               "API_PORT": str(api_port)})
        proc.wait_until(lambda: cls.probe(cls.controller, "readinessProbe"), 20, "the controller is ready")

    @classmethod
    def enter_class(cls, manager):
        value = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        return value

    @classmethod
    def run_workload(cls, workload, role, node, **how):
        made = kubelet.pod_of(cls.cluster, cls.workloads[workload], node)
        return cls.enter_class(kubelet.Container(cls.cluster, made, cls.images[role], cls.folder, hosts={SERVICE: "127.0.0.1"}, **how))

    def prepare(self, workload, shared):
        """What the agent's pod does before its agent runs."""
        made = kubelet.pod_of(self.cluster, self.workloads[workload], "node-prepare")
        made["spec"]["containers"] = made["spec"]["initContainers"]
        with kubelet.Container(self.cluster, made, self.images["agent"], self.folder, host_paths={"/var/lib/drdotnet-tmp": shared}) as container:
            proc.wait_until(container.ended, 20, "the init container's end")
            self.assertEqual((container.popen.returncode, container.refused_calls()), (0, []), container.log())

    @staticmethod
    def probe(container, name):
        if container.ended():
            raise AssertionError("%s ended with %s:\n%s" % (container.words[-1], container.popen.returncode, container.log()))
        return container.probe(name)

    def agent(self, workload, node, host_paths):
        proc.wait_until(lambda: self.metric("drdotnet_agents_linked") == 0, 20, "no other agent is linked")
        agent = self.run_workload(workload, "agent", node, env={"DRDOTNET_CONTROLLER": "%s:%d" % (SERVICE, self.port)},
                                  host_paths=host_paths)
        self.addCleanup(agent.stop)
        proc.wait_until(lambda: self.probe(agent, "livenessProbe"), 20, "the agent is alive")
        proc.wait_until(lambda: self.metric("drdotnet_agents_linked") == 1, 20, "the agent is linked")
        return agent

    def metric(self, name):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.health_port, timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def finished_session(self, name, node, **how):
        """Has a pod of this node profiled; (the application, its traces before, the finished session)."""
        made = self.cluster.create_pod("shop", name, node, labels={"app": "checkout"}, running=False)
        app = pod.Pod(self.folder, "warm", uid=made["metadata"]["uid"], user=10001, readonly=True, **how)
        self.addCleanup(app.stop)
        self.cluster.set_pod_running(made, {"app": app.container_id})
        app.warm()
        before = dotnet.Traces(app)
        path = install.SESSIONS % "shop"
        self.cluster.request("POST", path, {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name},
                                            "spec": {"profiler": "CPUHotpaths", "target": {"podName": name}, "durationSeconds": SECONDS}})
        return app, before, proc.wait_until(lambda: self.finished(path + "/" + name), 60, "the session's end")

    def each_profiler(self, node, refused=(), **how):
        """A short session of every profiler on one pod, one after the other: each succeeds, but the refused ones."""
        made = self.cluster.create_pod("shop", "each-" + node, node, labels={"app": "each"}, running=False)
        app = pod.Pod(self.folder, "warm", uid=made["metadata"]["uid"], user=10001, readonly=True, **how)
        self.addCleanup(app.stop)
        self.cluster.set_pod_running(made, {"app": app.container_id})
        app.progress()
        path = install.SESSIONS % "shop"
        for profiler in PROFILERS:
            spec = {"profiler": profiler, "target": {"podName": "each-" + node}, "pauseBudgetMilliseconds": 10000,
                    **({} if profiler in TIMELESS else {"durationSeconds": SHORT_SECONDS.get(profiler, 1)})}
            self.cluster.request("POST", path, {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession",
                                                "metadata": {"name": "%s-%s" % (node, profiler.lower())}, "spec": spec})
        for profiler in PROFILERS:
            session = proc.wait_until(lambda: self.finished("%s/%s-%s" % (path, node, profiler.lower())), 120, profiler + " ends")
            target = session["status"]["targets"][0]
            self.assertEqual(target["reason"], "PermissionDenied" if profiler in refused else "Completed", "%s: %s" % (profiler, target))

    def session_of(self, name, node, **how):
        """One that succeeds."""
        app, before, session = self.finished_session(name, node, **how)
        succeeded = next(c for c in session["status"]["conditions"] if c["type"] == "Succeeded")
        self.assertEqual(succeeded["status"], "True", "%s\n%s" % (json.dumps(session, indent=1), self.controller.log()[-3000:]))
        self.assertIn("Checkout.", session["status"]["diagnosis"])
        dotnet.assert_nothing_left(self, app, before)
        return session

    def finished(self, path):
        session = self.cluster.request("GET", path)
        done = [c for c in session.get("status", {}).get("conditions", []) if c["type"] == "Completed" and c["status"] == "True"]
        return session if done else None

    def assert_ends_well(self, agent):
        self.assertEqual(agent.stop(), 0, agent.log()[-2000:])
        for container in (agent, self.controller):
            self.assertEqual(container.refused_calls(), [], "deploy/seccomp: %s" % container.order["seccomp"])

    def read_report(self, session):
        """summary.md from the controller's own store, with the caller's token, as through `kubectl port-forward`."""
        report = next(r for r in session["status"]["targets"][0]["reports"] if r["name"] == "summary.md")
        self.assertTrue(report["url"].startswith("https://%s:%d/reports/" % (SERVICE, self.port)), report)
        authority = self.cluster.request("GET", "/api/v1/namespaces/drdotnet-system/configmaps/drdotnet-link-ca")["data"]["ca.crt"]
        token = self.cluster.service_account_token("drdotnet-system", "reader")
        done = subprocess.run(["curl", "-sS", "-f", "--resolve", "%s:%d:127.0.0.1" % (SERVICE, self.port), "--cacert",
                               self.save("ca.crt", authority), "-H", "Authorization: Bearer " + token, report["url"]],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def save(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_the_controller_has_no_privilege_at_all(self):
        status = self.controller.status()
        self.assertEqual(status["Uid"].split(), ["65532"] * 4)
        self.assertEqual([status[k] for k in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")], [mask([])] * 5)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertTrue(self.controller.probe(name), name)

    def test_zero_preparation(self):
        agent = self.agent("DaemonSet/drdotnet-system/drdotnet-agent", "node-a", {"/var/lib/drdotnet/spool": self.folder + "/spool"})
        status = agent.status()
        self.assertEqual(status["CapEff"], mask(ZERO_PREPARATION.values()))
        self.assertEqual(status["CapBnd"], mask(ZERO_PREPARATION.values()))
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        session = self.session_of("checkout-1", "node-a")
        self.cluster.kubectl("create", "serviceaccount", "reader", "-n", "drdotnet-system")
        self.cluster.kubectl("create", "rolebinding", "reader", "-n", "shop", "--clusterrole=drdotnet-view",
                             "--serviceaccount=drdotnet-system:reader")
        self.assertIn(session["status"]["diagnosis"].splitlines()[0], self.read_report(session))
        self.each_profiler("node-a")
        self.assert_ends_well(agent)

    def refused_session(self, workload, node, missing, host_paths, **how):
        """A session with an agent that lacks this capability ends with its name, and leaves nothing."""
        whole = self.workloads[workload]
        container = whole["spec"]["template"]["spec"]["containers"][0]
        security = container["securityContext"]
        added = [c for c in security["capabilities"]["add"] if c != missing]
        lacking = {**container, "securityContext": {**security, "capabilities": {"drop": ["ALL"], "add": added}}}
        self.workloads["lacking"] = {**whole, "metadata": {**whole["metadata"], "name": "lacks-" + missing.lower().replace("_", "-")},
                                     "spec": {"template": {**whole["spec"]["template"], "spec": {
                                         **whole["spec"]["template"]["spec"], "containers": [lacking]}}}}
        agent = self.agent("lacking", node, host_paths)
        self.assertEqual(agent.status()["CapEff"], mask(ZERO_PREPARATION[c] for c in added))
        app, before, session = self.finished_session("lacks-%s-%s" % (missing.lower().replace("_", "-"), node), node, **how)
        target = session["status"]["targets"][0]
        self.assertEqual(target["reason"], "PermissionDenied", target)
        self.assertIn(missing, target["message"])
        dotnet.assert_nothing_left(self, app, before)
        agent.stop()

    def test_each_capability_that_lacks_is_named(self):
        """PERFMON has its own test, with the kernel's answer (tests/system/e2e/test_pods.py): without it the slower way samples."""
        agent = "DaemonSet/drdotnet-system/drdotnet-agent"
        for missing in ("SYS_PTRACE", "DAC_OVERRIDE"):
            self.refused_session(agent, "node-c", missing, {"/var/lib/drdotnet/spool": self.folder + "/spool-c"})
        parent = self.folder + "/shared-c/pods"
        os.makedirs(parent, mode=0o755)
        os.chmod(parent, 0o1777)
        folder = parent + "/shop_lacks-dac-override-node-d"
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        self.refused_session(agent + "-shared-tmp", "node-d", "DAC_OVERRIDE", {"/var/lib/drdotnet-tmp": os.path.dirname(parent)}, shared_tmp=folder)

    def test_least_privilege(self):
        parent = self.folder + "/shared/pods"
        self.prepare("DaemonSet/drdotnet-system/drdotnet-agent-shared-tmp", os.path.dirname(parent))
        self.assertEqual(stat.S_IMODE(os.stat(parent).st_mode), 0o1777)
        agent = self.agent("DaemonSet/drdotnet-system/drdotnet-agent-shared-tmp", "node-b", {"/var/lib/drdotnet-tmp": os.path.dirname(parent)})
        self.assertEqual(agent.status()["CapEff"], mask([ZERO_PREPARATION["DAC_OVERRIDE"]]))
        folder = parent + "/shop_checkout-2"
        os.mkdir(folder, 0o755)  # as a kubelet
        proc.wait_until(lambda: stat.S_IMODE(os.stat(folder).st_mode) == 0o1777, 10, "the agent opens the pod's folder")
        self.session_of("checkout-2", "node-b", shared_tmp=folder)
        folder = parent + "/shop_each-node-b"
        os.mkdir(folder, 0o755)
        proc.wait_until(lambda: stat.S_IMODE(os.stat(folder).st_mode) == 0o1777, 10, "the agent opens the pod's folder")
        self.each_profiler("node-b", refused=("Deadlocks", "Threads", "Waits"), shared_tmp=folder)
        self.assert_ends_well(agent)


if __name__ == "__main__":
    unittest.main()
