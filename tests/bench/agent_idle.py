#!/usr/bin/env python3
"""What the agent costs its node: memory and CPU while it is linked and idle, while it waits for containers to start, and the most memory of a session.

usage: agent_idle.py [--seconds N] [--session-seconds N] [--load NAME]     prints one JSON object; as root, for the process that is profiled
"""
import argparse
import json
import os
import sys
import tempfile
import time
import uuid

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import pod  # noqa: E402
from tests.system.link import harness  # noqa: E402
from tests.system.link.harness import token  # noqa: E402

POD_UID = str(uuid.uuid4())
TICK = os.sysconf("SC_CLK_TCK")


def memory(pid):
    """KiB by kind."""
    with open("/proc/%d/status" % pid) as f:
        fields = dict(line.split(":", 1) for line in f)
    return {key: int(fields[key].split()[0]) for key in ("VmRSS", "RssAnon", "VmHWM")}


def cpu_ms(pid):
    with open("/proc/%d/stat" % pid) as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 1000 // TICK


def wakes(pid):
    """How often its threads have been given a CPU."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
            total += int(f.read().split()[2])
    return total


def linked(world):
    hub = world.hub(pod_uid=POD_UID)
    hub.say("epoch", 1)
    agent = world.agent(hub.port, token("node-1"), library=os.path.join(ROOT, "build/release/libdrdotnet.so"), log_level="info")
    hub.expect(event="node", linked=True)
    return hub, agent.popen.pid


def idle(pid, seconds):
    time.sleep(6)  # its last sweep at the start
    before, woken = cpu_ms(pid), wakes(pid)
    time.sleep(seconds)
    kib = memory(pid)
    return {"seconds": seconds, "rss_kib": kib["VmRSS"], "rss_anon_kib": kib["RssAnon"], "cpu_ms": cpu_ms(pid) - before,
            "wakes_per_minute": round((wakes(pid) - woken) * 60 / seconds, 1)}


def armed(hub, pid, seconds):
    """The same while a session waits for a container to start, and none does."""
    files = len(os.listdir("/proc/%d/fd" % pid))
    hub.say("await", int(seconds) + 60)
    hub.expect(event="await", agents=1)
    found = idle(pid, seconds)
    return {**found, "more_descriptors": len(os.listdir("/proc/%d/fd" % pid)) - files}


def session(hub, pid, container, seconds):
    hub.ask("order", "node-1", "job", container, seconds)
    hub.expect(60, event="job", phase="Profiling")
    before, most = cpu_ms(pid), 0
    while not any(e.get("phase") == "Succeeded" for e in list(hub.events.queue)):
        most = max(most, memory(pid)["VmRSS"])
        time.sleep(0.02)
        if hub.popen.poll() is not None:
            raise SystemExit("the controller's side has ended")
    kib = memory(pid)
    return {"seconds": seconds, "most_rss_kib": max(most, kib["VmHWM"]), "rss_afterwards_kib": kib["VmRSS"], "cpu_ms": cpu_ms(pid) - before}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--session-seconds", type=int, default=30)
    options.add_argument("--load", default="shares", help="of the sample application, for the session")
    options = options.parse_args()
    world = harness.World()
    try:
        hub, pid = linked(world)
        result = {"idle": idle(pid, options.seconds), "armed": armed(hub, pid, options.seconds)}
        if options.session_seconds and not pod.unavailable():
            with tempfile.TemporaryDirectory() as folder:
                app = pod.Pod(folder, options.load, uid=POD_UID)
                try:
                    result["session"] = session(hub, pid, app.container_id, options.session_seconds)
                finally:
                    app.stop()
        print(json.dumps(result))
    finally:
        world.close()


if __name__ == "__main__":
    main()
