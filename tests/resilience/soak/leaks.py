#!/usr/bin/env python3
"""Many sessions, and nothing that grows with them: the library in one process of each runtime, the sessions of each other profiler in one
process, the agent with a link server, the controller with a real API server. Prints the medians of five windows of each measure; fails when
one has grown: of the profilers' processes, by more than a process to which somebody else does the like (control.py). Ctrl-C ends the part
that runs and tells what there is by then.

usage: leaks.py [--sessions N] [--jobs N] [--objects N] [--framework NAME]... [--profiler NAME]... [--control KIND]...
                [library|profilers|controls|agent|controller]..."""
import argparse
import concurrent.futures
import functools
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid

from tests.system.controller import fakehub
from tests.system.controller.fakehub import FakeHub, Sessions
from tests.lib import dotnet, install, kube, pod, proc
from tests.system.link import harness
from tests.system.profiler import ordeal, tools
from tests.resilience.soak import control, flat

UNAVAILABLE = pod.unavailable()
FINAL = ("Succeeded", "Failed", "Canceled")
LIBRARY = os.path.join(proc.ROOT, "build/release/libdrdotnet.so")
PATIENCE = 120
LOOKS = 50             # over a run
REAL_EVERY = 20        # jobs; the others find no process
# What the like of each profiler's session is.
PROFILERS = {"Allocations": "an attach with events", "RuntimePauses": "an attach with events", "GCSurvivors": "an attach with a collection",
             "DuplicatedStrings": "an attach with a collection", "MemoryLeak": "an attach with a collection",
             "StuckTasks": "an attach with a collection", "Exceptions": "an attach with events", "SlowRequests": "an attach with events",
             "Waits": "an attach", "Threads": "an attach", "Deadlocks": "an attach"}
WALKERS = ("GCSurvivors", "DuplicatedStrings", "MemoryLeak", "StuckTasks")
MIX = ("CPUHotpaths", *PROFILERS)
ABREAST = 20           # sessions of the controller at a time
LIBRARY_KB, AGENT_KB, CONTROLLER_KB, PROFILED_KB = 512, 1024, 1024, 256
STEP_KB = 2048         # of a runtime's own memory, seen without us, too: 1.1 to 1.5 MB
WALKS_OF = 5           # one session that walks the heap for so many others
MAPPINGS = 8           # an allocator's
SPARE = 3              # threads and descriptors of a pool, or of an agent's link


interrupted = threading.Event()


def numbers(count):
    """0, 1, 2 and so on; fewer when the run is interrupted."""
    for i in range(count):
        if interrupted.is_set():
            return
        yield i


def every(count):
    return max(1, count // LOOKS)


def library(framework, sessions):
    """An idle process that is profiled again and again, by names for the agent and by timers in turn."""
    with ordeal.Ordeal(framework, how=("idle",)) as o:
        record = flat.Record("library, " + framework, o.app.pid)
        for i in numbers(sessions):
            o.normal(ordeal.MODES[i % 2])
            if i % every(sessions) == 0:
                o.check()
                record.look()
    return record


class AgentJobs:
    """The agent's program, a link server, and a process in a pod."""

    def __init__(self, load="hot", framework="net10.0"):
        self.load, self.framework = load, framework

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

    def job(self, number, real, profiler="CPUHotpaths"):
        """One job from order to oblivion; a real one is ended as soon as it profiles, but for those that walk the heap. Its phase and reason."""
        job = "job-%d" % number
        container, uid = (self.app.container_id, self.uid) if real else ("%064x" % number, str(uuid.UUID(int=number)))  # of no pod of the node
        answer = self.hub.ask("order", "node-1", job, container, 1, PATIENCE, uid, profiler)
        assert answer["ok"], answer
        canceled = False
        while True:
            event = self.hub.expect(PATIENCE, event="job", job=job)
            if event["phase"] in FINAL:
                break
            if event["phase"] == "Profiling" and not canceled and profiler not in WALKERS:
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
    """One process, session after session of one profiler; those that listen are ended as soon as they do."""
    with AgentJobs("doze", framework) as a:
        process, daemon = (flat.Record("%s, %s, %s" % (who, name, framework), pid) for who, pid in
                           (("process", a.app.pid), ("agent", a.agent.popen.pid)))
        control.settle(a.app)
        for i in numbers(sessions):
            end = a.job(i, True, name)
            assert end[0] != "Failed", "session %d: %s" % (i, end)
            if i % every(sessions) == 0:
                a.idle()
                control.collect(a.app)
                process.look()
                daemon.look()
        assert not a.app.ended(), a.app.log()[-2000:]
    return process, daemon


@functools.cache
def somebody_else(kind, framework, sessions):
    """The same process, and somebody else's doings in place of sessions."""
    folder = tempfile.mkdtemp(prefix="drdotnet-soak-")
    app = None
    try:
        app = pod.Pod(folder, "doze", framework=framework)
        record = flat.Record("control, %s, %s" % (kind, framework), app.pid)
        control.settle(app)
        for i in numbers(sessions):
            control.KINDS[kind](app)
            if i % every(sessions) == 0:
                control.collect(app)
                record.look()
        assert not app.ended(), app.log()[-2000:]
        return record
    finally:
        if app:
            app.stop()
        shutil.rmtree(folder, ignore_errors=True)


def agent(jobs, real_every=REAL_EVERY, profilers=("CPUHotpaths",)):
    """`profilers` take turns in the real jobs."""
    with AgentJobs() as a:
        record, ends = flat.Record("agent", a.agent.popen.pid), {}
        for i in numbers(jobs):
            real = i % real_every == 0
            end = a.job(i, real, profilers[i // real_every % len(profilers)])
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
                self.cluster.provide(self.cluster.definitions(), *install.MANIFESTS)
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
        ordered = set()
        while len(ordered) < count:
            node, order = self.hub.order(seconds=PATIENCE)
            ordered.add(order["session"]["name"])  # an order that is not answered soon comes again
            self.hub.job(node, order["jobID"], "Succeeded", reason="Completed", message="done", reports=[])
        for i in range(first, first + count):
            self.sessions.wait_condition("s%d" % i, "Completed", "True", seconds=PATIENCE)
            self.sessions.delete("s%d" % i)
        proc.wait_until(lambda: not self.cluster.request("GET", self.sessions.path)["items"], PATIENCE, "nothing holds the sessions")


def controller(objects, cluster=None):
    with Controller(cluster) as c:
        record = flat.Record("controller", c.hub.popen.pid)
        batch = min(ABREAST, max(1, objects // LOOKS))
        for i in numbers(objects // batch):
            c.batch(i * batch, batch)
            if i % max(1, objects // batch // LOOKS) == 0:
                record.look()
                del c.hub.seen[:]
    return record


def say(record, began):
    print("%s (%d looks, %d s)" % (record, len(record.looks), time.monotonic() - began), flush=True)
    return record


def run(limit_kb, part, *words):
    """`limit_kb` None: whatever it grows by."""
    began = time.monotonic()
    record = say(part(*words), began)
    if limit_kb:
        record.check(limit_kb, {"mappings": MAPPINGS})


def run_profiler(name, framework, sessions):
    """With its control beside it."""
    sessions //= WALKS_OF if name in WALKERS else 1
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        like = pool.submit(somebody_else, PROFILERS[name], framework, sessions)
        made = [say(record, began) for record in profiler(name, framework, sessions)]
        like = say(like.result(), began)
    others = {"mappings": MAPPINGS, "threads": SPARE, "descriptors": SPARE}
    made[0].check_against(like, PROFILED_KB, STEP_KB, others)
    made[1].check(AGENT_KB, others)


def parts(options):
    if "library" in options.parts:
        for framework in options.framework or dotnet.FRAMEWORKS:
            yield functools.partial(run, LIBRARY_KB, library, framework, options.sessions)
    for framework in options.framework or ("net10.0",):
        for kind in options.control or control.KINDS if "controls" in options.parts else ():
            yield functools.partial(run, None, somebody_else, kind, framework, options.sessions)
        for name in options.profiler or PROFILERS if "profilers" in options.parts else ():
            yield functools.partial(run_profiler, name, framework, options.sessions)
    if "agent" in options.parts:
        yield functools.partial(run, AGENT_KB, agent, options.jobs, REAL_EVERY, MIX)
    if "controller" in options.parts:
        yield functools.partial(run, CONTROLLER_KB, controller, options.objects)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=1000, help="of the library, in a process of each runtime")
    options.add_argument("--jobs", type=int, default=10000, help="of the agent")
    options.add_argument("--objects", type=int, default=10000, help="of the controller")
    options.add_argument("--framework", action="append", help="of the profiled processes")
    options.add_argument("--profiler", action="append", choices=PROFILERS, help="of the part `profilers`")
    options.add_argument("--control", action="append", choices=control.KINDS, help="of the part `controls`, which fails at nothing")
    options.add_argument("parts", nargs="*", default=["library", "profilers", "agent", "controller"])
    options = options.parse_args()
    tools.build()
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    for part in parts(options):
        if not interrupted.is_set():
            part()
    return 0


if __name__ == "__main__":
    sys.exit(main())
