"""Two replicas of the controller's program on the tests' API server, each with what its pod would have, and a fleet of played agents that has a link
to both."""
import os
import signal
import subprocess
import time
import urllib.parse

from tests.lib import fleet, install, kube, proc
from tests.system.link.proxy import Proxy

LEASE = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % install.SYSTEM


class Replica:
    def __init__(self, world, name, through_proxy=False, steps=None):
        self.world, self.name, self.number = world, name, 0
        made = world.cluster.create_pod(install.SYSTEM, name, "node-system", service_account="drdotnet-controller", containers=("controller",))
        folder = os.path.join(world.folder, name)
        os.makedirs(folder)
        token = folder + "/token"
        with open(token, "w") as f:
            f.write(world.cluster.service_account_token(install.SYSTEM, "drdotnet-controller", made))
        self.proxy, server = None, world.cluster.server
        if through_proxy:
            self.proxy = Proxy(urllib.parse.urlsplit(server).port)
            self.proxy.__enter__()
            world.cluster.server = "https://127.0.0.1:%d" % self.proxy.port
        config = world.cluster.write_kubeconfig(folder + "/kubeconfig", token)
        world.cluster.server = server
        self.port, self.health_port = proc.free_ports(2)
        self.words = [world.program, "--kubeconfig", config, "--namespace", install.SYSTEM, "--bind", "127.0.0.1", "--port", str(self.port),
                      "--health-port", str(self.health_port), "--api-port", "0", "--reports", folder + "/reports"]
        self.env = {"POD_NAME": name, **({"DRDOTNET_STEPS": steps} if steps else {})}
        self.log_path = folder + "/log"

    def start(self):
        self.number += 1
        self.process = proc.Process(self.words, log="%s.%d" % (self.log_path, self.number), env=self.env)
        proc.wait_until(lambda: self.is_ready() or self.process.ended(), 60, "%s is ready" % self.name)
        if self.process.ended():
            raise AssertionError(self.process.log()[-3000:])
        return self

    def is_ready(self):
        return subprocess.run(["curl", "-sf", "-o", "/dev/null", "-m", "5", "http://127.0.0.1:%d/readyz" % self.health_port]).returncode == 0

    def metric(self, name):
        text = subprocess.run(["curl", "-sf", "-m", "5", "http://127.0.0.1:%d/metrics" % self.health_port], capture_output=True, text=True).stdout
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name)

    def leads(self):
        return self.metric("drdotnet_leader") == 1

    def kill(self):
        self.process.stop(signal.SIGKILL)

    def stop(self):
        if self.number and not self.process.ended():
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.stop()
        if self.proxy:
            self.proxy.__exit__(None, None, None)


class World:
    """Two replicas that stay the same over the tests of a class; who was killed comes back at the same ports."""

    def __init__(self, folder, cluster, program=install.BIN + "/drdotnet-controller", nodes=4, proxies=False, steps=None, work_ms=300):
        self.folder, self.cluster, self.program = folder, cluster, program
        cluster.apply_crd(*install.MANIFESTS)
        self.replicas = [Replica(self, "controller-%d" % n, proxies, steps and steps[n]).start() for n in range(2)]
        self.nodes = ["node-%d" % n for n in range(nodes)]

        def authority():
            data = cluster.request("GET", "/api/v1/namespaces/%s/configmaps/drdotnet-link-ca" % install.SYSTEM).get("data")
            return data and data.get("ca.crt")
        ca = folder + "/ca.crt"
        with open(ca, "w") as f:
            f.write(proc.wait_until(authority, 20, "the controllers publish their CA"))
        self.fleet = fleet.Fleet(folder + "/fleet", fleet.make_agents(cluster, self.nodes), ["127.0.0.1:%d" % r.port for r in self.replicas], ca,
                                 work_ms=work_ms)
        self.fleet.__enter__()

    def stop(self):
        self.fleet.__exit__(None, None, None)
        for r in self.replicas:
            r.stop()

    def settle(self):
        """Both run, one of them leads, all agents are linked to both. (leader, standby)"""
        for r in self.replicas:
            if r.process.ended():
                r.start()
        leader = proc.wait_until(lambda: next((r for r in self.replicas if r.leads()), None), 60, "one leads")
        proc.wait_until(lambda: all(r.metric("drdotnet_agents_linked") == len(self.nodes) for r in self.replicas), 60, "all agents are linked")
        return leader, next(r for r in self.replicas if r is not leader)

    def release_lease(self):
        """As if the time of the one that was killed had passed."""
        self.cluster.request("PATCH", LEASE, {"spec": None}, "application/merge-patch+json")

    def session(self, namespace, name, pod):
        return self.cluster.request("POST", install.SESSIONS % namespace, {
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingSession", "metadata": {"name": name},
            "spec": {"profiler": "CPUHotpaths", "durationSeconds": 1, "target": {"podName": pod}}})

    def ended(self, namespace, name):
        now = self.cluster.request("GET", install.SESSIONS % namespace + "/" + name)
        reasons = {c["type"]: (c["status"], c["reason"]) for c in now.get("status", {}).get("conditions", [])}
        done = reasons.get("Completed", ("",))[0] == "True" and "finalizers" not in now["metadata"]
        return done and reasons["Succeeded"]

    def wait_succeeded(self, test, namespace, names, seconds=120):
        """All succeed, and each had one job that began once."""
        for name in names:
            try:
                end = proc.wait_until(lambda: self.ended(namespace, name), seconds, name + " has ended", 0.1)
            except AssertionError as e:
                raise AssertionError("%s\n%s" % (e, "\n".join(r.process.log()[-2500:] for r in self.replicas))) from None
            test.assertEqual(end, ("True", "Completed"), name)
        begun = [o.session for o in self.fleet.orders()]
        for name in names:
            test.assertEqual(begun.count("%s/%s" % (namespace, name)), 1, "%s began once" % name)


def hold_at(folder, step):
    """A thread that comes to this step waits from now on; call the result to wait until one has come. See common/base/step.h."""
    path = os.path.join(folder, step)
    os.mkfifo(path)

    def wait_come():
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.02)
        raise AssertionError("nobody came to the step " + step)
    return wait_come


unavailable = kube.unavailable
