#!/usr/bin/env python3
"""Random sessions and random faults on busy applications, with the controller, an agent, a real API server and a real S3 server, until
the time is over. What must hold is looked at all the time: the applications work; every session ends with a condition and a reason, or is gone when
it was deleted; then nothing of ours is in a process, no finalizer holds anything, the spool is empty; and nobody's memory, threads or
descriptors grow. The choices of a round depend on the seed and the round's number alone.

usage: soak.py [--seconds N] [--seed N] [--first ROUND]"""
import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

from tests.resilience.faults import ground
from tests.lib import install, kube, pod, proc, s3
from tests.resilience.soak import flat

PATIENCE = 240         # seconds; for what must come, on a machine that does other things too
STALL = 90             # seconds without progress of an application that nobody holds
NODE = "node-a"
NAMESPACE = "soak"
FRAMEWORKS = ("net8.0", "net9.0", "net10.0")
GROWTH_KB = 1536       # of one life of the agent or the controller, from its second fifth to its last
MAPPINGS = 16
SPARE = 4              # threads and descriptors in use just then
LOADS = ("hot", "alloc")
# What each profiler's session has beside its target; half of the sessions are of the first.
PROFILERS = {"CPUHotpaths": {"cpuHotpaths": {"frequencyHertz": 199}}, "Allocations": {}, "RuntimePauses": {}, "MemoryLeak": {"memoryLeak": {"walks": 2}},
             "GCSurvivors": {}, "DuplicatedStrings": {}, "StuckTasks": {}, "Exceptions": {}, "Waits": {}, "Threads": {}, "Deadlocks": {}}
ONE_LOOK = ("GCSurvivors", "DuplicatedStrings")
UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()


def spooled(folder):
    """What lies in the agent's spool, with the states of its jobs."""
    for where, _, files in os.walk(folder):
        for name in files:
            yield os.path.join(where, name)
            if name == "state.json":
                with open(os.path.join(where, name)) as f:
                    yield f.read()


class Application:
    """A pod object and the process that it stands for; another one under the same name when it was killed."""

    def __init__(self, soak, name, framework, load):
        self.soak, self.name, self.framework, self.load, self.held, self.process = soak, name, framework, load, False, None
        self.start()

    def start(self):
        cluster = self.soak.i.cluster
        made = cluster.create_pod(NAMESPACE, self.name, NODE, labels={"app": self.name}, running=False)
        process = pod.Pod(self.soak.folder, self.load, framework=self.framework, uid=made["metadata"]["uid"])
        cluster.set_pod_running(made, {"app": process.container_id})
        process.warm(10)
        self.ops, self.moved = 0, time.monotonic()
        self.process, self.held = process, False
        self.before = None  # what the runtime makes at its first attach stays: known after a session

    def replace(self):
        self.held = True
        self.process.stop()
        self.soak.i.cluster.request("DELETE", "/api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=0" % (NAMESPACE, self.name))
        self.start()

    def works(self):
        """Called again and again. What is wrong, or None."""
        if self.held:
            self.moved = time.monotonic()
            return None
        if self.process.ended():
            return "%s has ended with %s" % (self.name, self.process.popen.returncode)
        ops = self.process.progress()["ops"]
        if ops > self.ops:
            self.ops, self.moved = ops, time.monotonic()
        return "%s makes no progress" % self.name if time.monotonic() - self.moved > STALL else None

    def settle(self):
        """Nothing of ours is in it."""
        if self.before is None:
            self.before = ground.Remains(self.process)
        left = {}

        def look():
            left.clear()
            left.update(ground.Remains(self.process).left_since(self.before))
            return not left
        try:
            proc.wait_until(look, PATIENCE, "nothing is left")
        except AssertionError:
            raise AssertionError("left in %s: %s" % (self.name, left)) from None
        self.process.assert_progress(STALL)


class Soak:
    def __init__(self, seed, applications=2):
        self.seed, self.count, self.counts, self.profiled = seed, applications, collections.Counter(), collections.Counter()
        self.wrong, self.over, self.number = None, threading.Event(), 0
        self.stack, self.records = [], []

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-soak-")
        try:
            self.store = self._enter(s3.Server(self.folder + "/s3"))
            cluster = self._enter(kube.Cluster(self.folder + "/kube"))
            self.i = self._enter(install.Installation(self.folder + "/installation", cluster, self.store))
            cluster.namespace(NAMESPACE)
            self.agent = self.i.start_agent(NODE)
            self.applications = []
            for k in range(self.count):
                self.applications.append(Application(self, "checkout-%d" % k, FRAMEWORKS[(self.seed + k) % len(FRAMEWORKS)], LOADS[k % len(LOADS)]))
            self._begin_life("controller", self.i.controller.pid)
            self._begin_life("agent", self.agent.agent_pid())
            threading.Thread(target=self._watch, daemon=True).start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.over.set()
        for application in getattr(self, "applications", ()):
            application.held = True
            application.process.stop()
        for context in reversed(self.stack):
            context.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _enter(self, context):
        entered = context.__enter__()
        self.stack.append(context)
        return entered

    def _watch(self):
        while not self.over.wait(1):
            for application in self.applications:
                try:
                    self.wrong = self.wrong or application.works()
                except (AssertionError, OSError) as e:
                    if not application.held:
                        self.wrong = self.wrong or str(e)

    # lives of agent and controller ----------------------------------------------------------------------------------------
    def _begin_life(self, name, pid):
        self.records = [r for r in self.records if r.name != name] + [flat.Record(name, pid)]

    def end_life(self, name):
        """Before it is ended on purpose: it has not grown."""
        record = next(r for r in self.records if r.name == name)
        if len(record.looks) >= 4 * flat.WINDOWS:
            record.check(GROWTH_KB, {"mappings": MAPPINGS, "threads": SPARE, "descriptors": SPARE})
            print(record, flush=True)

    def restart_agent(self, how):
        self.end_life("agent")
        self.agent.stop(how)
        self.agent = self.agent.again()
        self.i.processes.append(self.agent)
        self._begin_life("agent", self.agent.agent_pid())

    def restart_controller(self, how):
        self.end_life("controller")
        old = self.i.controller
        old.stop(how)
        self.i.controller = proc.Process(old.words, log="%s.%d" % (self.i.folder + "/controller", self.number))
        self.i.processes.append(self.i.controller)
        proc.wait_until(lambda: self.i._ready(self.i.controller), PATIENCE, "the controller is ready")
        self._begin_life("controller", self.i.controller.pid)

    # faults -----------------------------------------------------------------------------------------------------------
    def stopped(self, pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def hold(self, application, seconds, frozen):
        application.held = True
        folder = application.process.group_file("freezer.state") if frozen else None
        if folder:
            for word, wait in (("FROZEN", seconds), ("THAWED", 0)):
                with open(folder, "w") as f:
                    f.write(word)
                time.sleep(wait)
        else:
            self.stopped(application.process.pid, seconds)
        application.held = False

    def cancel(self, name):
        self.i.cluster.request("PATCH", install.SESSIONS % NAMESPACE + "/" + name, {"spec": {"cancel": True}}, "application/merge-patch+json")

    def delete(self, name):
        self.i.cluster.request("DELETE", install.SESSIONS % NAMESPACE + "/" + name)

    def faults(self, application, name, seconds):
        return {
            "nothing": lambda: None,
            "session canceled": lambda: self.cancel(name),
            "session deleted": lambda: self.delete(name),
            "process killed": application.replace,
            "process stopped": lambda: self.hold(application, seconds, False),
            "process frozen": lambda: self.hold(application, seconds, True),
            "agent killed": lambda: self.restart_agent(signal.SIGKILL),
            "agent restarted": lambda: self.restart_agent(signal.SIGTERM),
            "agent stopped": lambda: self.stopped(self.agent.agent_pid(), seconds),
            "controller killed": lambda: self.restart_controller(signal.SIGKILL),
            "controller restarted": lambda: self.restart_controller(signal.SIGTERM),
            "controller stopped": lambda: self.stopped(self.i.controller.pid, seconds),
            "storage away": lambda: self.stopped(self.store.process.pid, seconds),
        }

    # rounds -------------------------------------------------------------------------------------------------------------
    def begin(self, name, application, profiler, seconds):
        duration = {} if profiler in ONE_LOOK else {"durationSeconds": seconds}
        try:
            self.i.session(NAMESPACE, name, {"profiler": profiler, **duration, **PROFILERS[profiler], "activeDeadlineSeconds": 120,
                                             "target": {"podName": application.name}})
        except kube.ApiError as e:
            raise AssertionError("the session %s was refused: %s" % (name, e)) from None

    def end(self, name, deleted):
        """The reason that it ended with; it is removed then."""
        last = {}

        def look():
            try:
                last["now"] = self.i.get(NAMESPACE, name)
            except kube.ApiError as e:
                if e.code == 404 and deleted:
                    return "gone"
                raise
            return self.wrong or self.i.condition(last["now"], "Completed")["status"] == "True" and "ended"
        try:
            how = proc.wait_until(look, PATIENCE, "the end of " + name, 0.2)
        except AssertionError as e:
            raise AssertionError("%s\n%s\n%s" % (e, install.digest(last["now"]) if last else "", self.i.logs())) from None
        assert not self.wrong, self.wrong
        if how == "gone":
            return "Deleted"
        condition = self.i.condition(last["now"], "Succeeded")
        assert condition["status"] in ("True", "False") and condition["reason"], install.digest(last["now"])
        if condition["status"] == "True":
            assert last["now"]["status"]["targets"][0]["reports"], install.digest(last["now"])
        if not deleted:
            self.delete(name)
        return condition["reason"]

    def gone(self, names):
        def look():
            there = {s["metadata"]["name"] for s in self.i.cluster.request("GET", install.SESSIONS % NAMESPACE)["items"]}
            return not there.intersection(names)
        proc.wait_until(look, PATIENCE, "nothing holds the sessions", 0.2)
        jobs = "%s/drdotnet-agent-%s/spool/jobs" % (self.i.folder, NODE)
        try:
            proc.wait_until(lambda: not os.path.isdir(jobs) or not os.listdir(jobs), PATIENCE, "the agent keeps no job", 0.2)
        except AssertionError as e:
            raise AssertionError("%s\n%s" % (e, "\n".join(spooled(jobs)))) from None

    def round(self, number, fault=None, profiler=None):
        """One session for each application, or for one of them, and a fault in the middle of it."""
        chance = random.Random("%d/%d" % (self.seed, number))
        self.number = number
        chosen = [a for a in self.applications if chance.random() < 0.7] or [chance.choice(self.applications)]
        names = ["r%d-%d" % (number, k) for k in range(len(chosen))]
        victim, delay, seconds = chance.randrange(len(chosen)), chance.uniform(0, 3), chance.uniform(0.2, 5)
        faults = self.faults(chosen[victim], names[victim], seconds)
        fault = fault or chance.choice(sorted(faults))
        profilers = [profiler or chance.choice(list(PROFILERS)[:1] * (len(PROFILERS) - 1) + list(PROFILERS)[1:]) for _ in chosen]
        for name, application, kind in zip(names, chosen, profilers):
            self.begin(name, application, kind, chance.randint(1, 3))
        time.sleep(delay)
        faults[fault]()
        ends = [self.end(name, fault == "session deleted" and k == victim) for k, name in enumerate(names)]
        self.gone(names)
        for application in chosen:
            application.settle()
        assert not self.wrong, self.wrong
        for record in self.records:
            record.look()
        for k, end in enumerate(ends):
            self.counts["%s: %s" % (fault if k == victim else "beside " + fault, end)] += 1
            self.profiled[profilers[k]] += 1
        print("round %d: %s after %.1f s at %s: %s" % (number, fault, delay, ", ".join("%s of %s" % (p, a.name) for p, a in zip(profilers, chosen)),
                                                       ", ".join(ends)), flush=True)

    def finish(self):
        for name in ("agent", "controller"):
            self.end_life(name)
        print("%d sessions: %s" % (sum(self.counts.values()), ", ".join("%d of %s" % (n, p) for p, n in sorted(self.profiled.items()))))
        for what, count in sorted(self.counts.items()):
            print("%5d  %s" % (count, what), flush=True)


def run(seconds, seed, first=0, rounds=None):
    """`rounds`: the fault and the profiler of so many rounds instead of chosen ones and instead of a time."""
    print("seed %d" % seed, flush=True)
    with Soak(seed) as soak:
        soak.round(-1, "nothing", "CPUHotpaths")  # each application has had a session: what the runtime makes then is there
        end, number = time.monotonic() + seconds, first
        while number - first < len(rounds) if rounds else time.monotonic() < end:
            try:
                soak.round(number, *(rounds[number - first] if rounds else ()))
            except BaseException as e:
                if isinstance(e, Exception):
                    print("round %d of seed %d failed; again: --seed %d --first %d" % (number, seed, seed, number), file=sys.stderr)
                    print(soak.i.logs(), file=sys.stderr)
                raise
            number += 1
        soak.finish()
        return soak.counts


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=3600)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--first", type=int, default=0, help="the round to begin with")
    options = options.parse_args()
    if UNAVAILABLE:
        print(UNAVAILABLE, file=sys.stderr)
        return 1
    run(options.seconds, options.seed, options.first)
    return 0


if __name__ == "__main__":
    sys.exit(main())
