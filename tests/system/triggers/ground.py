"""Triggers against a real API server, with the controller's own program but for its agents (tests/system/controller/fake_hub.c)."""
import glob
import json

from tests.system.controller import test_sessions
from tests.system.controller.fakehub import condition
from tests.lib import kube, proc

TRIGGERS = "/apis/drdotnet.dev/v1alpha1/namespaces/%s/profilingtriggers"
ALERT = {"alertmanager": {"matchers": [{"name": "alertname", "value": "HighCPU"}]}}
AIMED = {"target": {"selector": {"matchLabels": {"app": "checkout"}}}}
ALERTMANAGER, THRESHOLD, SCHEDULE = range(3)


class TriggerTest(test_sessions.ControllerTest):
    def clear(self):
        for made in self.cluster.request("GET", "/apis/drdotnet.dev/v1alpha1/profilingtriggers")["items"]:
            self.cluster.request("DELETE", TRIGGERS % made["metadata"]["namespace"] + "/" + made["metadata"]["name"])
        super().clear()

    def start(self, *words, **options):
        """A replica that knows the triggers: before, it asks every source to come again."""
        hub = super().start(*words, **options)
        proc.wait_until(lambda: self.outcome(hub, "?", name="nobody")[0] == "NotFound", 60, "the triggers are known")
        return hub

    def trigger(self, name="hot", source=None, template=None, **spec):
        """Made, and not yet known to anybody."""
        body = {"apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": name},
                "spec": {"source": source or ALERT, "sessionTemplate": {"spec": {"profiler": "CPUHotpaths", **(template or {})}}, **spec}}
        return self.cluster.request("POST", TRIGGERS % self.namespace, body)

    def look(self, name="hot"):
        return self.cluster.request("GET", TRIGGERS % self.namespace + "/" + name)

    def patch_trigger(self, body, name="hot"):
        return self.cluster.request("PATCH", TRIGGERS % self.namespace + "/" + name, body, "application/merge-patch+json")

    def logs(self):
        said = []
        for path in sorted(glob.glob(self.folder + "/*.log")):
            with open(path, errors="replace") as f:
                lines = [line for line in f if '"reconcile"' not in line]
            said.append(path + "\n" + "".join(lines[-25:]))
        return "\n".join(said)

    def wait_trigger(self, check, what, name="hot", seconds=60):
        last = {}

        def holds():
            last["now"] = self.look(name)
            return check(last["now"].get("status") or {}) and last["now"]
        try:
            return proc.wait_until(holds, seconds, what, 0.05)["status"]
        except AssertionError as e:
            raise AssertionError("%s; it is %s\n%s" % (e, json.dumps(last["now"].get("status"), indent=1), self.logs())) from None

    def wait_ready(self, name="hot", reason="Ready"):
        return self.wait_trigger(lambda s: (condition({"status": s}, "Ready") or {}).get("reason") == reason, "Ready: " + reason, name)

    def setUp(self):
        super().setUp()
        self.pods = set()

    def fire(self, hub, dedup, pod=None, name="hot", **fields):
        if pod and pod not in self.pods:  # else its session would be over at once; so it waits for an agent
            self.pods.add(pod)
            self.pod(pod, "node-without-agent")
        hub.say("fire", self.namespace, name, json.dumps({"dedup": dedup, **({"pod": pod} if pod else {}), **fields}))

    def outcome(self, hub, *words, **fields):
        """What a firing led to, and the session."""
        self.fire(hub, *words, **fields)
        said = hub.expect("fired", 30)
        return said[1].partition("/")[2], said[2]

    def made(self):
        """The sessions of this test's namespace, oldest first."""
        items = self.cluster.request("GET", self.sessions.path)["items"]
        return sorted(items, key=lambda s: (s["metadata"]["creationTimestamp"], int(s["metadata"]["resourceVersion"])))

    def end_session(self, name):
        """It waits for an agent that is not there: cancelled, it is over at once."""
        self.sessions.patch(name, {"spec": {"cancel": True}})
        self.sessions.wait_condition(name, "Completed", "True")

    def events_of(self, name="hot", kind="ProfilingTrigger"):
        return [e for e in self.sessions.events(name) if e["involvedObject"]["kind"] == kind]


__all__ = ["TriggerTest", "condition", "kube", "ALERT", "AIMED", "TRIGGERS", "ALERTMANAGER", "THRESHOLD", "SCHEDULE"]
