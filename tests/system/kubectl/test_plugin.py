"""The plugin on a real API server with real controller, agent and .NET processes: what a person sees from `profile deploy/checkout` on."""
import json
import os
import re
import signal
import stat
import subprocess
import tempfile
import unittest

from tests.system.kubectl import plugin
from tests.lib import dotnet, install, kube, pod, proc, readers, s3

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()
NAMESPACE = "shop"


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Plugin(unittest.TestCase):
    one_process = True
    time_limit = 600

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="drdotnet-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.store = cls.enterClassContext(s3.Server(folder.name + "/s3"))
        cls.cluster = cls.enterClassContext(kube.Cluster(folder.name + "/kube"))
        cls.i = cls.enterClassContext(install.Installation(folder.name + "/installation", cls.cluster, cls.store))
        cls.cluster.namespace(NAMESPACE)
        cls.i.start_agent("node-a")
        cls.person = plugin.Person(folder.name + "/person", cls.cluster, (NAMESPACE, "dev"), api_port=cls.i.api_port)
        cls.allow_authority()
        cls.apps = {"checkout": cls.workload("checkout", "warm"), "basket": cls.workload("basket", "bursts", "--threads", "1")}
        cls.apps["checkout"].warm(1000)
        cls.apps["basket"].warm(10)

    @classmethod
    def allow_authority(cls):
        """The shipped role for people in the installation's namespace."""
        cls.cluster.kubectl("create", "rolebinding", "people", "--role", "drdotnet-plugin", "--serviceaccount", NAMESPACE + ":dev", "-n", install.SYSTEM)

    @classmethod
    def workload(cls, name, load, *arguments):
        labels = {"app": name}
        cls.cluster.request("POST", "/apis/apps/v1/namespaces/%s/deployments" % NAMESPACE, {
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "example/app"}]}}}})
        object_ = cls.cluster.create_pod(NAMESPACE, name + "-1", "node-a", labels=labels, running=False)
        made = cls.enterClassContext(pod.Pod(cls.folder, load, arguments=arguments, uid=object_["metadata"]["uid"],
                                          env={"DOTNET_TieredCompilation": "0"}))  # it never warms up
        cls.cluster.set_pod_running(object_, {"app": made.container_id})
        return made

    def plugin(self, *words, code=0, **how):
        """Standard output of a command that ends with this code."""
        got, text, errors = self.person.run(*words, "-n", NAMESPACE, **how)
        self.assertEqual(got, code, "%s: %s%s\n%s" % (words, text, errors, self.i.logs() if got != code else ""))
        self.errors = errors
        return text

    def profile(self, target, name, *words, **how):
        return self.plugin("profile", target, "--cpu", "3s", "--frequency", "499", "--name", name, *words, **how)

    def test_from_a_deployment_to_what_changed(self):
        """One after the other: each step is what a person does with the results of the one before."""
        text = self.profile("deploy/checkout", "before")
        self.assertRegex(text.splitlines()[0], r"^\d+% of CPU in .*Tax\.Compute")
        self.assertRegex(text, r"pod checkout-1 on node-a: Succeeded\n  reports in http\S+/\n.*report\.html")
        self.assertRegex(self.errors, r"(?m)^before: Profiling$")
        self.assertEqual(self.i.get(NAMESPACE, "before")["spec"]["target"]["selector"], {"matchLabels": {"app": "checkout"}})
        asked = self.i.get(NAMESPACE, "before")["metadata"].get("annotations", {}).get("drdotnet.dev/requested-by")
        knows = self.cluster.knows("SelfSubjectReview")
        self.assertEqual(asked, "system:serviceaccount:%s:dev" % NAMESPACE if knows else None, "who asks is known to those whom the server tells")
        self.check_lists()
        reports = self.check_reports()
        code, same = self.person.json("profile", "-l", "app in (checkout)", "3s", "--name", "again", "--frequency", "499", "--json", "-q",
                                      "--output", self.folder + "/again", "-n", NAMESPACE)
        self.assertEqual((code, same["metadata"]["name"]), (0, "again"))
        self.assertEqual(sorted(os.listdir(self.folder + "/again")), sorted(readers.MEDIA))
        self.profile("basket-1", "moved")
        self.check_diff(reports)
        self.check_ps()
        self.check_ways_to_the_reports()

    def check_lists(self):
        self.assertRegex(self.plugin("ls"), r"NAME +PROFILER +TARGET +STATE +AGE\nbefore +CPUHotpaths +checkout-1 +Succeeded +\S+\n")
        self.assertIn("Tax.Compute", self.plugin("ls", "--wide"))
        code, _, errors = self.person.run("ls", "-A")
        self.assertEqual(code, 1, "a right in one namespace is none in all")
        self.assertIn("forbidden", errors)
        self.plugin("triggers")
        self.assertIn("No profilingtriggers found", self.errors)

    def check_reports(self):
        folder = self.folder + "/reports"
        self.assertIn(folder, self.plugin("report", "before", "-o", folder))
        self.assertEqual(sorted(os.listdir(folder)), sorted(readers.MEDIA))
        self.assertGreater(readers.folded(folder).share("Tax.Compute"), 0.5)
        self.assertEqual(self.plugin("report", "before", "-o", folder, "--open"), folder + "/report.html\n")
        self.plugin("report", "nothing", code=1)
        self.assertIn('"nothing" not found', self.errors)
        return folder

    def check_diff(self, reports):
        moved = self.plugin("diff", "before", "moved")
        self.assertRegex(moved.splitlines()[0], r"^CPU moved from \S*Tax\.Compute to ")
        self.assertRegex(moved, r"(?m)^ +[\d.]+ +0\.0 +-[\d.]+ % +vanished +Checkout\.Pricing\.Tax\.Compute$")
        code, same = self.person.json("diff", "before", "again", "--json", "-n", NAMESPACE)
        self.assertEqual(code, 0)
        compiling = [r for r in same["rows"] if r["name"] == "JIT compilation" and r["change"] != "same"]
        if not compiling:  # else the application still warmed up in the first session, as it may on a loaded machine
            self.assertEqual([r for r in same["rows"] if r["kind"] == "method" and r["change"] != "same"], [], same["diagnosis"])
            self.assertRegex(same["headline"], "^No difference beyond noise$|its spread is the same$")
        self.assertEqual(json.loads(self.plugin("diff", reports + "/", self.folder + "/again/report.json", "--json"))["rows"], same["rows"])
        self.plugin("diff", "before", "./x", code=1)

    def check_ps(self):
        text = self.plugin("ps")
        self.assertRegex(text, r"(?m)^POD +CONTAINER +PID +ENTRYPOINT +RUNTIME +CPU +MEMORY +PROFILE$")
        self.assertRegex(text, r"(?m)^checkout-1 +app +1 +Checkout +10\.\S+ .*yes$")

    def test_ctrl_c_ends_it_early_and_keeps_the_report(self):
        process = self.person.start("profile", "deploy/checkout", "120s", "--name", "long", "-n", NAMESPACE)
        self.addCleanup(process.stop, signal.SIGKILL)
        process.wait_log(r"(?m)^long: Profiling", 60)
        self.i.wait_first_sample(NAMESPACE, "long")
        app = self.apps["checkout"]
        app.warm(app.progress()["ops"] + 200)
        process.popen.send_signal(signal.SIGINT)
        process.wait_log(r"(?m)^ending long; what was collected is kept", 60)
        self.assertEqual(process.popen.wait(90), 0, process.log())
        self.assertIn("Tax.Compute", process.log())
        self.assertTrue(self.i.get(NAMESPACE, "long")["spec"]["cancel"])

    def test_what_fails_says_why_in_a_line(self):
        self.profile("checkout-1", "wrong", "--pid", "77", "-q", code=1)
        self.assertRegex(self.errors, r"^kubectl drdotnet: wrong: ProcessNotFound: pod checkout-1: .*\n$")
        for words, code, message in (
                (("profile", "deploy/nothing"), 1, 'deployments.apps "nothing" not found'),
                (("profile", "nothing"), 1, 'pods "nothing" not found'),
                (("profile", "node/x"), 2, "node/x: unknown type; known are deploy"),
                (("profile", "-l", "a in"), 2, "-l: expected labels such as"),
                (("profile", "checkout-1", "2h"), 2, "expected a time of 1s to 1h"),
                (("profile", "checkout-1", "1s", "--store", "nowhere", "-q", "--name", "nowhere"), 1,
                 'nowhere: StoreNotFound: spec.output.store: this installation has no store "nowhere"; known are default'),
                (("cancel", "nothing"), 1, '"nothing" not found'), (("walk",), 2, "unknown command: walk"),
                (("ls", "--context", "other"), 1, "none is named other")):
            with self.subTest(words):
                self.plugin(*words, code=code)
                self.assertIn(message, self.errors)
                self.assertEqual(len(self.errors.splitlines()), 1, self.errors)
        self.assertFalse(self.i.get(NAMESPACE, "nowhere")["status"].get("targets"), "nobody is profiled for a report that no store takes")

    def test_who_has_no_way_to_the_controller_is_told_which_role_it_takes(self):
        stranger = plugin.Person(self.folder + "/stranger", self.cluster, (NAMESPACE, "stranger"), api_port=self.i.api_port)
        code, _, errors = stranger.run("ps", "-n", NAMESPACE)
        self.assertEqual(code, 1)
        self.assertIn("have the Role drdotnet-plugin of namespace drdotnet-system bound to you, or give --server URL", errors)
        self.cluster.kubectl("create", "rolebinding", "stranger", "--role", "drdotnet-plugin", "--serviceaccount", NAMESPACE + ":stranger", "-n",
                             install.SYSTEM)
        code, text, errors = stranger.run("ps", "-n", NAMESPACE)
        self.assertEqual(code, 0, errors)
        self.assertIn("checkout-1", text)

    def test_watch_cancel_and_delete(self):
        watch = self.person.start("ls", "--watch", "-n", NAMESPACE)
        self.addCleanup(watch.stop, signal.SIGKILL)
        watch.wait_log(r"(?m)^NAME +PROFILER", 30)
        self.assertEqual(self.profile("sts/none", "x", code=1), "")
        name = self.plugin("profile", "pod/basket-1", "60s", "--no-wait", "--name", "waited").strip()
        watch.wait_log(r"(?m)^waited +CPUHotpaths +basket-1 +Profiling", 60)
        self.assertEqual(self.plugin("cancel", name), "waited canceled\n")
        watch.wait_log(r"(?m)^waited +CPUHotpaths +basket-1 +Canceled", 60)
        self.assertEqual(self.plugin("delete", name), "waited deleted\n")
        watch.popen.send_signal(signal.SIGINT)
        self.assertEqual(watch.popen.wait(30), 0, watch.log())

    def test_the_doctor_sees_the_real_leader_and_the_shell_its_words(self):
        admin = plugin.Person(self.folder + "/doctor", self.cluster)
        _, answer = admin.json("doctor", "--json")
        found = {f["check"]: f for f in answer["findings"]}
        for check in ("sessions' resource", "triggers' resource", "your rights", "leader"):
            self.assertEqual(found[check]["state"], "OK", found[check])
        for words, expected in (([""], "profile"), (["profile", "--freq"], "--frequency"), (["profile", "--profiler", ""], "CPUHotpaths"),
                                (["doctor", "--name"], "--namespace"), (["doctor", "-n", "kube-sys"], "kube-system")):
            done = subprocess.run([os.path.join(proc.ROOT, "deploy/completion/kubectl_complete-drdotnet"), *words], env={**os.environ, **admin.env},
                                  capture_output=True, text=True, timeout=60)
            self.assertIn(expected, done.stdout.splitlines(), words)
            self.assertEqual(done.stdout.splitlines()[-1], ":4")

    def test_manifest_is_what_kubectl_takes(self):
        text = self.plugin("profile", "deploy/checkout", "20s", "--dry-run=client", "--max-pods", "2", "-c", "app", "--entrypoint", "Checkout.dll")
        self.assertIn("created (server dry run)", self.cluster.kubectl("apply", "--dry-run=server", "-f", "-", text=text))
        self.assertRegex(text, r"(?m)^  name: checkout-cpu-\w{5}$")
        self.assertIn("      entrypoint: Checkout.dll\n", text)
        for words in (("--memory", "--roots", "Exact"), ("--leak", "5m", "--walks", "3", "--baseline", "before"), ("--strings",),
                      ("--allocations", "10s", "--pause-budget", "50"), ("--pauses",)):
            text = self.plugin("profile", "deploy/checkout", *words, "--dry-run=client")
            self.assertIn("created (server dry run)", self.cluster.kubectl("apply", "--dry-run=server", "-f", "-", text=text), words)
            self.assertRegex(text, r"(?m)^  name: checkout-%s-\w{5}$" % words[0][2:])

    def test_credential_plugins_and_several_kubeconfigs(self):
        """As a managed cluster has it: the cluster in one file, the user with a program in another."""
        folder = self.person.folder
        helper = folder + "/helper"
        with open(helper, "w") as f:
            f.write('#!/bin/sh\necho "$KUBERNETES_EXEC_INFO $1 $COLOUR" > %s/asked\n'
                    'echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",'
                    '\\"status\\":{\\"token\\":\\"$(cat %s)\\"}}"\n' % (folder, self.person.token_file))
        os.chmod(helper, stat.S_IRWXU)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./helper", "args": ["login"],
                         "env": [{"name": "COLOUR", "value": "blue"}], "interactiveMode": "Never", "provideClusterInfo": True}}
        with open(self.person.kubeconfig) as f:
            first = json.load(f)
        second = {"users": [{"name": "me", "user": user}], "contexts": [{"name": "managed", "context": {
            "cluster": "test", "user": "me", "namespace": NAMESPACE}}]}
        paths = {"first": first, "second": second}
        for name, config in paths.items():
            with open("%s/%s" % (folder, name), "w") as f:
                json.dump(config, f)
        both = {"KUBECONFIG": "%s/first:%s/second:%s/not-there" % (folder, folder, folder)}
        code, _, errors = self.person.run("ls", "--context", "managed", env=both)
        self.assertEqual(code, 0, errors)
        with open(folder + "/asked") as f:
            info, word, colour = re.match(r"(.*) (\S+) (\S+)$", f.read()).groups()
        self.assertEqual((word, colour), ("login", "blue"))
        self.assertEqual(json.loads(info)["spec"]["cluster"]["server"], self.cluster.server)
        user["exec"]["command"] = "no-such-helper"
        user["exec"]["installHint"] = "Install the helper."
        with open(folder + "/second", "w") as f:
            json.dump(second, f)
        code, _, errors = self.person.run("ls", "--context", "managed", env=both)
        self.assertEqual(code, 1)
        self.assertRegex(errors, r"the credential plugin failed: starting no-such-helper: No such file or directory\. Install the helper\.")

    def check_ways_to_the_reports(self):
        """Without a token, or without the REST API, there is still what the status has."""
        admin = plugin.Person(self.folder + "/admin", self.cluster, api_port=self.i.api_port)
        code, _, errors = admin.run("report", "before", "-n", NAMESPACE)
        self.assertEqual(code, 1)
        self.assertIn("has no token", errors)
        folder = self.folder + "/by-url"
        text = self.plugin("report", "before", "-o", folder, "--server", "https://localhost:%d/" % self.i.api_port, code=1)
        self.assertIn("Tax.Compute", text, "what the status has")
        self.assertIn("certificate", self.errors.lower())
        self.plugin("report", "before", "--server", "http://shop.example", code=1)
        self.assertIn("expected an https URL", self.errors)


if __name__ == "__main__":
    unittest.main()
