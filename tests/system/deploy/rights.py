"""What the controller uses its rights for: a scenario in steps, each something that people notice, run by test_rbac.py with all rights
and by `make rbac` without each of them in turn, which writes the table of docs/rbac.md.

usage: python3 -m tests.system.deploy.rights      (as root; KUBEBUILDER_ASSETS or DRDOTNET_TEST_APISERVER as for the tests)
"""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tests.system.deploy import api_proxy, manifests
from tests.lib import install, kube, proc

DOCUMENT = os.path.join(proc.ROOT, "docs/rbac.md")
BEGIN, END = "<!-- made by `make rbac` -->\n", "<!-- end -->\n"
SYSTEM, SESSIONS, TRIGGERS = install.SYSTEM, "drdotnet.dev/profilingsessions", "drdotnet.dev/profilingtriggers"
TRIGGERS_PATH = install.SESSIONS.replace("profilingsessions", "profilingtriggers")
LONG_AGO = "2026-01-01T00:00:00Z"
ROLES = ("ClusterRole//drdotnet-controller", "Role/%s/drdotnet-controller" % SYSTEM)
NODE = "node-a"
# Of kinds that the tests' API servers do not serve: tests/system/controller/test_reveal.py
ELSEWHERE = {"admissionregistration.k8s.io/validatingadmissionpolicies", "admissionregistration.k8s.io/validatingadmissionpolicybindings"}


def shipped():
    """The controller's roles as the manifests have them."""
    found = manifests.objects("deploy/manifests")
    return [found[name] for name in ROLES]


def expand(role):
    """[(verb, resource, name or None)] of a role."""
    return [(verb, group + "/" + resource, name) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
            for name in rule.get("resourceNames", [None]) for verb in rule["verbs"]]


def rights():
    return [right for role in shipped() for right in expand(role) if right[1] not in ELSEWHERE]


def without(role, right):
    """The role without one right; rules are taken apart for that."""
    rules = []
    for verb, resource, name in expand(role):
        if (verb, resource, name) != right:
            group, _, plural = resource.partition("/")
            rules.append({"apiGroups": [group], "resources": [plural], "verbs": [verb], **({"resourceNames": [name]} if name else {})})
    return {**role, "rules": rules}


class Scenario:
    """One controller with one agent, and a namespace of its own."""
    numbers = itertools.count()

    def __init__(self, proxy, folder, seconds):
        self.proxy, self.seconds = proxy, seconds
        self.number = next(self.numbers)
        self.namespace = "shop-%d" % self.number
        self.folder = "%s/run-%d" % (folder, self.number)
        self.node = "%s-%d" % (NODE, self.number)

    def steps(self):
        """(what people notice when it does not work, the function that sees to it)"""
        return [("the controller does not get ready", self.ready), ("agents are refused", self.link), ("sessions are not taken up", self.taken_up),
                ("a session with a selector does not end", self.by_selector), ("a session with a pod's name does not end", self.by_name),
                ("no events", self.event), ("events are not counted", self.counted),
                ("a session that somebody else has written to meanwhile goes on late", self.conflict),
                ("sessions are not deleted after their time to live", self.expires), ("nobody can read a report of the own store", self.report),
                ("triggers are not taken up", self.trigger), ("triggers start no session", self.fires),
                ("a trigger that somebody else has written to meanwhile goes on late", self.trigger_conflict),
                ("agents are not told of a new pod whose start is waited for", self.new_pod)]

    def run(self):
        """What did not work, in order; nothing of what follows is tried where a step says that it cannot."""
        failed = []
        self.proxy.namespace(self.namespace)
        self.make_pods()
        try:
            for what, step in self.steps():
                try:
                    step()
                except AssertionError:
                    failed.append(what)
                    if step in (self.ready, self.taken_up):
                        break
        finally:
            self.stop()
        return failed

    def make_pods(self):
        self.proxy.cluster.create_pod(self.namespace, "app", self.node, labels={"app": "shop"})

    def until(self, check, what):
        return proc.wait_until(check, self.seconds, what)

    def ready(self):
        os.makedirs(self.folder)
        for kind, name in (("secrets", "drdotnet-link-tls"), ("configmaps", "drdotnet-link-ca")):  # as at a first installation
            path = "/api/v1/namespaces/%s/%s/%s" % (SYSTEM, kind, name)
            self.proxy.request("PATCH", path, {"data": None}, content_type="application/merge-patch+json")
        self.installation = Quick(self.folder, self.proxy, self.seconds)
        self.installation.controller = self.installation.start_controller("controller-%d" % self.number)

    def link(self):
        self.installation.start_agent(self.node, wait=False)
        self.until(lambda: self.installation.metric("drdotnet_agents_linked") == 1, "the agent's link")

    def session(self, name, **spec):
        self.installation.session(self.namespace, name, {"profiler": "CPUHotpaths", "durationSeconds": 1, **spec})

    def state(self, name, kind="Completed"):
        return self.installation.condition(self.installation.get(self.namespace, name), kind)

    def ends(self, name):
        self.until(lambda: self.state(name)["status"] == "True", name + " ends")

    def taken_up(self):
        self.session("by-selector", target={"selector": {"matchLabels": {"app": "shop"}}})
        self.until(lambda: self.state("by-selector", "Accepted")["status"] == "True", "it is accepted")

    def by_selector(self):
        self.ends("by-selector")

    def by_name(self):
        self.session("by-name", target={"podName": "app"})
        self.ends("by-name")

    def event(self):
        self.until(lambda: self.installation.events(self.namespace, "by-selector") or self.installation.events(self.namespace, "by-name"), "an event")

    def counted(self):
        self.proxy.conflict_once("create", "/events", forward=True)
        self.session("counted", target={"podName": "app"})
        path = "/api/v1/namespaces/%s/events" % self.namespace
        self.until(lambda: any(e.get("count", 1) > 1 for e in self.proxy.request("GET", path)["items"]), "a count of 2")

    def conflict(self):
        self.proxy.conflict_once("patch", SESSIONS + "/status")
        self.session("conflict", target={"podName": "app"})
        self.until(lambda: any(k[:2] == ("get", SESSIONS) and 200 in v for k, v in list(self.proxy.seen.items())), "it is read again")
        self.ends("conflict")

    def expires(self):
        self.session("expires", target={"podName": "app"}, ttlSecondsAfterFinished=0)

        def gone():
            try:
                self.installation.get(self.namespace, "expires")
            except kube.ApiError as e:
                return e.code == 404
        self.until(gone, "it is deleted")

    def report(self):
        """Refused for want of the report, not of the right to it."""
        token = self.proxy.service_account_token(SYSTEM, "drdotnet-agent")
        url = "https://127.0.0.1:%d/reports/%s/by-name-00000000/app/summary.md" % (self.installation.link_port, self.namespace)
        self.until(lambda: subprocess.run(["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer " + token, url],
                                          capture_output=True, text=True).stdout in ("403", "404"), "an answer about the report")
        self.until(lambda: any(k[:2] == ("create", "authorization.k8s.io/subjectaccessreviews") and 201 in v
                               for k, v in list(self.proxy.seen.items())), "the reader's rights are asked for")

    def trigger(self):
        self.proxy.request("POST", TRIGGERS_PATH % self.namespace, {
            "apiVersion": "drdotnet.dev/v1alpha1", "kind": "ProfilingTrigger", "metadata": {"name": "minutely"}, "spec": {
                "source": {"schedule": {"cron": "* * * * *", "startingDeadlineSeconds": 3600}},
                "sessionTemplate": {"spec": {"profiler": "CPUHotpaths", "durationSeconds": 1, "target": {"podName": "app"}}}}})
        self.until(lambda: self.trigger_status().get("conditions"), "its status")

    def trigger_status(self):
        return self.proxy.request("GET", TRIGGERS_PATH % self.namespace + "/minutely").get("status", {})

    def fires(self):
        """As if the controller had been away when it was due."""
        conditions = [{**c, "lastTransitionTime": LONG_AGO} for c in self.trigger_status().get("conditions", [])]
        self.proxy.request("PATCH", TRIGGERS_PATH % self.namespace + "/minutely/status",
                           {"status": {"conditions": conditions, "lastScheduleTime": LONG_AGO}}, content_type="application/merge-patch+json")
        path = install.SESSIONS % self.namespace
        self.until(lambda: any(s["metadata"]["name"].startswith("minutely") for s in self.proxy.request("GET", path)["items"]), "its session")

    def trigger_conflict(self):
        self.proxy.conflict_once("patch", TRIGGERS + "/status")
        self.proxy.request("PATCH", TRIGGERS_PATH % self.namespace + "/minutely", {"spec": {"suspend": True}}, content_type="application/merge-patch+json")
        self.until(lambda: any(k[:2] == ("get", TRIGGERS) and 200 in v for k, v in list(self.proxy.seen.items())), "it is read again")

    def new_pod(self):
        self.session("next", target={"selector": {"matchLabels": {"app": "shop"}}}, start="NextContainerStart")
        awaited = "drdotnet_starts_awaited"  # sessions and pods
        self.until(lambda: self.installation.metric(awaited) == 2, "the pod that is there")
        self.proxy.cluster.create_pod(self.namespace, "new", self.node, labels={"app": "shop"})
        self.until(lambda: self.installation.metric(awaited) == 3, "the new pod")

    def stop(self):
        if hasattr(self, "installation"):
            self.installation.__exit__()
        for pod in ("drdotnet-agent-" + self.node, "controller-%d" % self.number):
            self.proxy.kubectl("delete", "pod", pod, "-n", SYSTEM, "--ignore-not-found", "--force", "--grace-period=0")


class Quick(install.Installation):
    """That waits no longer than the scenario."""

    def __init__(self, folder, cluster, seconds):
        super().__init__(folder, cluster)
        self.seconds = seconds

    def _ready(self, controller):
        if not hasattr(self, "late"):
            self.late = 0
        self.late += 1
        if self.late > self.seconds * 20:
            raise AssertionError("not ready")
        return super()._ready(controller)


def set_up(cluster, scratch):
    manifests.install_definition(cluster)
    manifests.apply(cluster, manifests.built_with_seccomp(cluster.manifests(), scratch))


def judge(seen):
    """({right: was it used}, [(verb, resource, namespace, name) that was refused])"""
    used = {right: False for right in rights()}
    refused = []
    for what, statuses in seen.items():
        if what is None:
            continue
        verb, resource, _, name = what
        if 403 in statuses:
            refused.append(what)
        for right in used:
            if right[:2] == (verb, resource) and right[2] in (None, name) and statuses - {401, 403}:
                used[right] = True
    return used, refused


# the table -------------------------------------------------------------------------------------------------------------
def shown(right):
    verb, resource, name = right
    group, _, plural = resource.partition("/")
    return "| %s%s%s | %s |" % (plural, " (%s)" % group if group else "", " `%s`" % name if name else "", verb)


def table(rows):
    lines = ["| resource | verb | without it |", "|---|---|---|"]
    return "\n".join(lines + [shown(right) + " %s |" % text for right, text in rows]) + "\n"


def documented():
    """{"| resource | verb |": what is said of it}"""
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read().partition(BEGIN)[2].partition(END)[0]
    return dict(re.findall(r"^(\| [^|]+ \| [a-z]+ \|) (.+) \|$", text.partition("|---|---|---|")[2], re.M))


def write(rows):
    with open(DOCUMENT, encoding="utf-8") as f:
        before, _, rest = f.read().partition(BEGIN)
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + table(rows) + END + rest.partition(END)[2])


def main():
    folder = tempfile.mkdtemp(prefix="drdotnet-rbac-")
    rows, superfluous = [], []
    try:
        with kube.Cluster(folder + "/kube") as cluster, api_proxy.Proxy(cluster, folder + "/proxy") as proxy:
            set_up(cluster, folder)
            failed = Scenario(proxy, folder, 30).run()
            if failed:
                sys.exit("with all rights: " + "; ".join(failed))
            for role in shipped():
                for right in [r for r in expand(role) if r in rights()]:
                    apply(cluster, without(role, right))
                    proxy.forget()
                    failed = Scenario(proxy, folder, 15).run()
                    print(shown(right), "; ".join(failed) or "NOTHING BREAKS", flush=True)
                    superfluous += [right] if not failed else []
                    rows.append((right, "; ".join(failed)))
                apply(cluster, role)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if superfluous:
        sys.exit("superfluous: %s" % superfluous)
    write(rows)


def apply(cluster, role):
    path = "/apis/rbac.authorization.k8s.io/v1/%s%s/%s" % (
        "" if role["kind"] == "ClusterRole" else "namespaces/%s/" % role["metadata"]["namespace"], role["kind"].lower() + "s", role["metadata"]["name"])
    cluster.request("PATCH", path, {"rules": role["rules"]}, content_type="application/merge-patch+json")


if __name__ == "__main__":
    main()
