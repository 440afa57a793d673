#!/usr/bin/env python3
"""Many sessions, and nothing that grows with them: the library in one process of each runtime, the sessions of each other profiler in one
process, the agent with a link server, the controller with a real API server. Prints the medians of five windows of each measure; fails when
one has grown.

usage: leaks.py [--sessions N] [--jobs N] [--objects N] [--profiler NAME]... [library|profilers|agent|controller]..."""
import argparse
import os
import shutil
import sys
import tempfile
import time
import uuid

from tests.controller import fakehub
from tests.controller.fakehub import FakeHub, Sessions
from tests.lib import dotnet, install, kube, pod, proc
from tests.link import harness
from tests.profiler import ordeal, tools
from tests.soak import flat

UNAVAILABLE = pod.unavailable()
FINAL = ("Succeeded", "Failed", "Canceled")
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
PATIENCE = 120
LOOKS = 50             # over a run
REAL_EVERY = 20        # jobs; the others find no process
WALKERS = ("GCSurvivors", "DuplicatedStrings", "MemoryLeak")
ABREAST = 20           # sessions of the controller at a time
LIBRARY_KB, AGENT_KB, CONTROLLER_KB = 512, 1024, 1024
PROFILED_KB = 1024     # of a process with a heap of its own, whose collector breathes
PROFILERS = ("Allocations", "RuntimePauses", "GCSurvivors", "DuplicatedStrings", "MemoryLeak")
WALKS_OF = 5           # one session that walks the heap for so many others
MAPPINGS = 8           # an allocator's
SPARE = 3              # threads and descriptors of a pool, or of an agent's link


def every(count):
    return max(1, count // LOOKS)


def library(framework, sessions):
    """An idle process that is profiled again and again, by names for the agent and by timers in turn."""
    with ordeal.Ordeal(framework, how=("idle",)) as o:
        record = flat.Record("library, " + framework, o.app.pid)
        for i in range(sessions):
            o.normal(ordeal.MODES[i % 2])
            if i % every(sessions) == 0:
                o.check()
                record.look()
    return record


class AgentJobs:
    """The agent's program, a link server, and a process in a pod."""

    def __init__(self, profiler="CPUHotpaths", load="hot", framework="net10.0"):
        self.profiler, self.load, self.framework = profiler, load, framework

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-soak-")
        self.world, self.app = harness.World(), None
        try:
            uid = str(uuid.uuid4())
            self.app = pod.Pod(self.folder, self.load, framework=self.framework, uid=uid)
            self.hub, self.uid = self.world.hub(pod_uid=uid), uid
            self.hub.say("epoch", 1)
            self.agent = self.world.agent(self.hub.port, harness.token("node-1"), library=LIBRARY, log_level="error")
            self.hub.expect(PATIENCE, event="node", node="node-1", linked=True)
            self.before = dotnet.Traces(self.app)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.world.close()
        if self.app:
            self.app.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def job(self, number, real):
        """One job from order to oblivion; a real one is ended as soon as it profiles. Its phase and reason."""
        job = "job-%d" % number
        answer = self.hub.ask("order", "node-1", job, self.app.container_id if real else "%064x" % number, 1, PATIENCE, self.uid,
                              self.profiler)
        assert answer["ok"], answer
        canceled = False
        while True:
            event = self.hub.expect(PATIENCE, event="job", job=job)
            if event["phase"] in FINAL:
                break
            if event["phase"] == "Profiling" and not canceled and self.profiler not in WALKERS:
                self.hub.say("cancel", "node-1", job)
                canceled = True
        self.hub.say("forget", "node-1", job)
        return event["phase"], event["reason"]

    def idle(self):
        spool = self.world.folder + "/agent-spool/jobs"
        proc.wait_until(lambda: not os.path.isdir(spool) or not os.listdir(spool), PATIENCE, "all jobs are forgotten")
        # The agent looks into all processes of the machine, those of other tests too: a call into one that does not answer is left
        # alone, and returns when that process ends.
        proc.wait_until(lambda: not {"job", "apart"} & set(flat.thread_names(self.agent.popen.pid)), PATIENCE, "an idle agent")


def profiler(name, framework, sessions):
    """One idle process, session after session of one profiler; those that listen are ended as soon as they do."""
    with AgentJobs(name, "idle", framework) as a:
        process, daemon = (flat.Record("%s, %s, %s" % (who, name, framework), pid) for who, pid in
                           (("process", a.app.pid), ("agent", a.agent.popen.pid)))
        for i in range(sessions):
            end = a.job(i, True)
            assert end[0] != "Failed", "session %d: %s" % (i, end)
            if i % every(sessions) == 0:
                a.idle()
                process.look()
                daemon.look()
        assert not a.app.ended(), a.app.log()[-2000:]
    return process, daemon


def agent(jobs, real_every=REAL_EVERY):
    with AgentJobs() as a:
        record, ends = flat.Record("agent", a.agent.popen.pid), {}
        for i in range(jobs):
            real = i % real_every == 0
            end = a.job(i, real)
            ends[end] = ends.get(end, 0) + 1
            assert real == (end[0] != "Failed"), "job %d: %s" % (i, end)
            if i % every(jobs) == 0:
                a.idle()
                record.look()
        assert not dotnet.Traces(a.app).left_since(a.before), dotnet.Traces(a.app).left_since(a.before)
        a.app.assert_progress(PATIENCE)
    print("agent: %s" % ", ".join("%d %s %s" % (n, *end) for end, n in sorted(ends.items())), flush=True)
    return record


class Controller:
    """The controller (with agents played at the hub's seam) and a real API server, or a part of one that is there."""

    def __init__(self, cluster=None):
        self.cluster, self.own = cluster, not cluster

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-soak-")
        self.hub = None
        try:
            if self.own:
                self.cluster = kube.Cluster(self.folder + "/cluster")
                self.cluster.__enter__()
                self.cluster.apply(install.CRD if self.cluster.minor_version() >= 25 else install.LEGACY_CRD, *install.MANIFESTS)
                fakehub.await_sessions(self.cluster)
            self.namespace = "soak-" + uuid.uuid4().hex[:8]
            self.cluster.namespace(self.namespace)
            self.sessions = Sessions(self.cluster, self.namespace)
            with open(self.folder + "/token", "w") as f:
                f.write(self.cluster.service_account_token(install.SYSTEM, "drdotnet-controller"))
            config = self.cluster.write_kubeconfig(self.folder + "/controller.kubeconfig", self.folder + "/token")
            self.cluster.set_pod_running(self.cluster.create_pod(self.namespace, "checkout-1", "n1", labels={"app": "checkout"}, running=False), {})
            self.hub = FakeHub(config, self.folder)
            self.hub.expect("ready", PATIENCE)
            self.hub.say("link", "n1", 0)
            self.hub.lead()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.hub:
            self.hub.stop()
        if self.own and self.cluster:
            self.cluster.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    def batch(self, first, count):
        """So many sessions from their creation to their deletion."""
        for i in range(first, first + count):
            self.sessions.create("s%d" % i)
        for _ in range(count):
            node, order = self.hub.order(seconds=PATIENCE)
            self.hub.job(node, order["jobID"], "Succeeded", reason="Completed", message="done", reports=[])
        for i in range(first, first + count):
            self.sessions.wait_condition("s%d" % i, "Completed", "True", seconds=PATIENCE)
            self.sessions.delete("s%d" % i)
        proc.wait_until(lambda: not self.cluster.request("GET", self.sessions.path)["items"], PATIENCE, "nothing holds the sessions")


def controller(objects, cluster=None):
    with Controller(cluster) as c:
        record = flat.Record("controller", c.hub.popen.pid)
        batch = min(ABREAST, max(1, objects // LOOKS))
        for done in range(0, objects, batch):
            c.batch(done, batch)
            if done // batch % max(1, objects // batch // LOOKS) == 0:
                record.look()
                del c.hub.seen[:]
    return record


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=1000, help="of the library, in a process of each runtime")
    options.add_argument("--jobs", type=int, default=10000, help="of the agent")
    options.add_argument("--objects", type=int, default=10000, help="of the controller")
    options.add_argument("--framework", action="append", help="of the profiled processes")
    options.add_argument("--profiler", action="append", help="of the part `profilers`")
    options.add_argument("parts", nargs="*", choices=("library", "profilers", "agent", "controller", []), default=[])
    options = options.parse_args()
    tools.build()
    runs = []
    if not options.parts or "library" in options.parts:
        runs += [(lambda f=f: library(f, options.sessions), LIBRARY_KB) for f in options.framework or dotnet.FRAMEWORKS]
    if not options.parts or "profilers" in options.parts:
        runs += [(lambda p=p, f=f: profiler(p, f, options.sessions // (WALKS_OF if p in WALKERS else 1)), PROFILED_KB)
                 for p in options.profiler or PROFILERS for f in options.framework or ("net10.0",)]
    if not options.parts or "agent" in options.parts:
        runs.append((lambda: agent(options.jobs), AGENT_KB))
    if not options.parts or "controller" in options.parts:
        runs.append((lambda: controller(options.objects), CONTROLLER_KB))
    for run, limit_kb in runs:
        began = time.monotonic()
        made = run()
        for record in made if isinstance(made, tuple) else (made,):
            print("%s (%d s)" % (record, time.monotonic() - began), flush=True)
            record.check(limit_kb, {"mappings": MAPPINGS, **({"threads": SPARE, "descriptors": SPARE} if isinstance(made, tuple) else {})})
    return 0


if __name__ == "__main__":
    sys.exit(main())
