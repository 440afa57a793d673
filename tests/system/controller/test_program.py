"""drdotnet-controller as a program: its options, its certificates, its end. On a real API server."""
import base64
import os
import re
import shutil
import signal
import ssl
import socket
import subprocess
import tempfile
import unittest

from tests.system.controller.faulty_api import FaultyApi
from tests.lib import install, kube, matrix, proc

PROGRAM = os.path.join(proc.ROOT, "build/release/drdotnet-controller")
SECRET = "/api/v1/namespaces/%s/secrets/drdotnet-link-tls" % install.SYSTEM
CONFIG_MAP = "/api/v1/namespaces/%s/configmaps/drdotnet-link-ca" % install.SYSTEM


def run(*words, **env):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=20, env={**os.environ, **env})


class Options(unittest.TestCase):
    def test_each_mistake_names_its_option(self):
        for words, text in (
                (["--port", "70000"], '--port: expected a number from 0 to 65535, found "70000"'),
                (["--api-plain-http", "--api-tls-cert", "a", "--api-tls-key", "b"], "--api-plain-http and --api-tls-cert: give one of them"),
                (["--api-tls-key", "b"], "--api-tls-cert and --api-tls-key: give both or none"),
                (["--workers=0"], '--workers: expected a number from 1 to 64, found "0"'),
                (["--prot", "1"], "unknown option: --prot; did you mean --port?"),
                (["--stores"], "this option needs a value: --stores"),
                (["--tls-cert", "x.crt"], "--tls-cert and --tls-key: give both or none"),
                (["--log-level", "loud"], '--log-level: expected debug, info, warn or error, found "loud"')):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_switches_may_come_from_the_environment(self):
        for name in ("REST_API_ENABLED", "WEB_UI_ENABLED", "API_PLAIN_HTTP", "API_BEHIND_GATEWAY"):
            done = run(**{name: "maybe"})
            self.assertEqual((done.returncode, done.stderr.strip()), (2, 'drdotnet-controller: %s: expected true or false, found "maybe" '
                                                                        "(see drdotnet-controller --help)" % name))
            self.assertEqual(run("--version", **{name: "false"}).returncode, 0)

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout, r"^drdotnet-controller \d+\.\d+\.\d+\n$")
        text = run("--help").stdout
        for option in ("--kubeconfig", "--stores", "--reports-quota", "--watch-namespaces"):
            self.assertIn(option, text)
        self.assertRegex(text, r"(?m)^  --api-port N .*\n +default: 8444\n +environment: API_PORT$")

    def test_a_kubeconfig_that_is_not_there(self):
        done = run("--kubeconfig", "/nowhere/kubeconfig")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/kubeconfig", done.stderr)


@unittest.skipIf(kube.unavailable(), kube.unavailable())
class ProgramTest(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.cluster = kube.Cluster(cls.folder + "/kube")
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.cluster.provide(*install.MANIFESTS)

    def start(self, name, *more, through=None):
        token = os.path.join(self.folder, name + ".token")
        with open(token, "w") as f:
            f.write(self.cluster.service_account_token(install.SYSTEM, "drdotnet-controller"))
        config = (through.kubeconfig if through else self.cluster.write_kubeconfig)(os.path.join(self.folder, name + ".kubeconfig"), token)
        words = [PROGRAM, "--kubeconfig", config, "--namespace", install.SYSTEM, "--bind", "127.0.0.1", "--port", "0",
                 "--health-port", "0", "--api-port", "0", "--log-format", "json", *more]
        made = proc.Process(words, log=os.path.join(self.folder, name + ".log"))
        self.addCleanup(made.stop)
        return made


class AtTheStart(ProgramTest):
    def ready(self, controller):
        """(status, text) of /readyz."""
        port = int(controller.wait_log(r'"healthPort":(\d+)', 60).group(1))
        done = subprocess.run(["curl", "-s", "-w", "\n%{http_code}", "http://127.0.0.1:%d/readyz" % port], capture_output=True, text=True)
        text, _, status = done.stdout.rpartition("\n")
        return status, text

    def test_the_api_server_is_away_and_then_the_resource_is_not_there(self):
        """One program: it waits for the API server, says that the resource is missing, and goes on when it is there."""
        api = FaultyApi(self.cluster)
        self.addCleanup(api.__exit__)
        away = [api.on(method, ".", api.answer(503), 10 ** 6) for method in ("GET", "PUT")]
        controller = self.start("away", through=api)
        controller.wait_log("the API server does not answer; will try again", 60)
        self.assertNotIn("cannot run", controller.log())
        for rule in away:
            rule.times = 0
        proc.wait_until(lambda: "apply the CustomResourceDefinition" in self.ready(controller)[1], 60, "readyz says what is missing")
        status, text = self.ready(controller)
        self.assertEqual(status, "503")
        self.assertIn("the sessions are not known yet: the API server does not know profilingsessions", text)
        controller.wait_log("does not know profilingsessions: apply the CustomResourceDefinition", 20)
        self.cluster.apply_crd()
        proc.wait_until(lambda: self.ready(controller) == ("200", "ok\n"), 90, "ready")
        controller.wait_log('"msg":"leading"', 60)
        self.assertEqual(controller.stop(), 0)
        matrix.row(self, "Controller: the API server", "start", "the API server is away (503)", "the program waits for it, and says so")
        matrix.row(self, "Controller: the API server", "start", "404: the CustomResourceDefinition is missing",
                   "not ready; the log and readyz say what to apply; ready when it is there")

    def test_asked_to_stop_while_the_api_server_is_away(self):
        api = FaultyApi(self.cluster)
        self.addCleanup(api.__exit__)
        api.on("GET", ".", api.answer(503), 10 ** 6)
        controller = self.start("stopped", through=api)
        controller.wait_log("the API server does not answer; will try again", 60)
        self.assertEqual(controller.stop(), 0)


class Certificates(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.apply_crd()

    def setUp(self):
        for path, kind in ((SECRET, "secret"), (CONFIG_MAP, "configmap")):
            held = self.cluster.request("GET", path)
            held.pop("data", None)
            self.cluster.request("PUT", path, held)

    def port(self, controller):
        return int(controller.wait_log(r'"msg":"listening","port":(\d+)').group(1))

    def served(self, port, ca_pem):
        """The certificate that this port shows to who trusts these authorities and knows the Service's name."""
        tls = ssl.create_default_context(cadata=ca_pem)

        def look():
            try:
                with socket.create_connection(("127.0.0.1", port), 10) as plain, tls.wrap_socket(plain, server_hostname=install.SERVER_NAME) as s:
                    return s.getpeercert(True)
            except (ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):  # it lets nobody in before it has listed the sessions
                return None
        return proc.wait_until(look, 30, "the port is open")

    def test_replicas_share_one_authority_and_publish_it(self):
        replicas = [self.start("a%d" % i) for i in range(3)]
        ports = [self.port(r) for r in replicas]
        bundle = proc.wait_until(lambda: self.cluster.request("GET", CONFIG_MAP).get("data", {}).get("ca.crt"), 10, "a CA")
        self.assertEqual(bundle.count("BEGIN CERTIFICATE"), 1)
        self.assertNotIn("PRIVATE", bundle)
        self.assertEqual(len({self.served(p, bundle) for p in ports}), 1, "one certificate for all")
        data = self.cluster.request("GET", SECRET)["data"]
        self.assertEqual(sorted(data), ["ca.crt", "ca.key", "tls.crt", "tls.key"])
        for replica in replicas:
            self.assertNotIn("PRIVATE", replica.log())
            self.assertEqual(replica.stop(), 0)

    def test_a_spoiled_secret_is_mended_and_the_old_authority_stays_published(self):
        first = self.start("b1")
        self.port(first)
        old = self.cluster.request("GET", CONFIG_MAP)["data"]["ca.crt"]
        first.stop()
        held = self.cluster.request("GET", SECRET)
        held["data"]["ca.crt"] = base64.b64encode(b"rubbish").decode()
        held["data"]["other"] = base64.b64encode(b"somebody's").decode()
        self.cluster.request("PUT", SECRET, held)
        second = self.start("b2")
        port = self.port(second)
        bundle = self.cluster.request("GET", CONFIG_MAP)["data"]["ca.crt"]
        self.assertIn(old.strip(), bundle)
        self.assertEqual(bundle.count("BEGIN CERTIFICATE"), 2)
        self.served(port, bundle)
        self.assertIn("other", self.cluster.request("GET", SECRET)["data"], "what others keep there stays")

    def test_without_the_objects_it_says_what_to_apply(self):
        refused = self.start("c", "--tls-secret", "elsewhere")
        self.assertEqual(refused.popen.wait(20), 1)
        self.assertRegex(refused.log(), "secrets? .*elsewhere|elsewhere.*forbidden")

    def test_files_are_served_and_looked_at_again(self):
        pki = kube.make_pki(os.path.join(self.folder, "files"))
        cert, key = os.path.join(self.folder, "served.crt"), os.path.join(self.folder, "served.key")
        shutil.copy(pki + "/server.crt", cert)
        shutil.copy(pki + "/server.key", key)
        controller = self.start("d", "--tls-cert", cert, "--tls-key", key)
        port = self.port(controller)

        def shown():
            text = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % port], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True).stdout
            found = re.search(r"-----BEGIN.*?-----END CERTIFICATE-----", text, re.S)
            return found and found.group()

        with open(cert) as f:  # a handshake that takes too long is given up
            self.assertEqual(proc.wait_until(shown, 30, "a certificate").strip(), f.read().strip())
        self.assertNotIn("data", self.cluster.request("GET", SECRET), "the Secret is not touched")
        shutil.copy(pki + "/admin.crt", cert)
        controller.wait_log("the new certificate is not usable; the old one is served", 30)
        shutil.copy(pki + "/admin.key", key)
        controller.wait_log("a new certificate is served", 30)
        with open(cert) as f:
            self.assertEqual(proc.wait_until(shown, 30, "a certificate").strip(), f.read().strip())

    def test_the_rest_api_has_a_certificate_of_its_own_or_none(self):
        pki = kube.make_pki(os.path.join(self.folder, "api-files"))
        cert, key, port = os.path.join(self.folder, "api.crt"), os.path.join(self.folder, "api.key"), proc.free_ports(1)[0]
        shutil.copy(pki + "/server.crt", cert)
        shutil.copy(pki + "/server.key", key)
        controller = self.start("api-tls", "--api-port", port, "--api-tls-cert", cert, "--api-tls-key", key)
        controller.wait_log('"serving the REST API"', 60)

        def shows():
            with open(cert) as f:
                return ssl.get_server_certificate(("127.0.0.1", port)).strip() in f.read()
        self.assertTrue(shows())
        shutil.copy(pki + "/admin.crt", cert)
        shutil.copy(pki + "/admin.key", key)
        proc.wait_until(shows, 60, "the renewed certificate is served")
        controller.stop()
        plain = self.start("api-plain", "--api-port", port, "--api-plain-http", "--no-web-ui")
        plain.wait_log('"serving the REST API"', 60)

        def status(path):
            return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:%d%s" % (port, path)],
                                  capture_output=True, text=True).stdout
        self.assertEqual([status(p) for p in ("/api/openapi.json", "/api/sessions", "/", "/viewer.html")], ["200", "401", "404", "404"])

    def test_behind_a_gateway_one_address_may_have_all_connections(self):
        for words, served in (((), False), (("--api-behind-gateway",), True)):
            port, kept = proc.free_ports(1)[0], []
            controller = self.start("api-gateway-%s" % served, "--api-port", port, *words)
            controller.wait_log('"serving the REST API"', 60)
            try:
                for _ in range(200):
                    kept.append(socket.create_connection(("127.0.0.1", port)))
                self.assertEqual(self.serves_tls(port), served)
            finally:
                for connection in kept:
                    connection.close()
                controller.stop()

    @staticmethod
    def serves_tls(port):
        try:
            return bool(ssl.get_server_certificate(("127.0.0.1", port), timeout=proc.patience(10)))
        except OSError:
            return False

    def test_metrics_are_what_prometheus_reads(self):
        controller = self.start("m")
        port = int(controller.wait_log(r'"healthPort":(\d+)').group(1))
        controller.wait_log('"msg":"leading"')
        proc.wait_until(lambda: subprocess.run(["curl", "-sf", "http://127.0.0.1:%d/readyz" % port], capture_output=True).returncode == 0, 20, "ready")
        text = proc.wait_until(lambda: (lambda t: "drdotnet_sessions" in t and t)(subprocess.run(
            ["curl", "-sf", "http://127.0.0.1:%d/metrics" % port], capture_output=True, text=True).stdout), 10, "metrics")
        self.assertIn("drdotnet_leader 1\n", text)
        kinds, current = {}, None
        for line in text.splitlines():
            comment = re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)", line)
            if comment:
                self.assertTrue(comment.group(1) == "TYPE" or comment.group(2) not in kinds, "one family, one place: " + line)
                kinds[comment.group(2)] = comment.group(3)
                current = comment.group(2)
                continue
            sample = re.fullmatch(r'([a-z_]+)(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? (-?\d+(\.\d+)?)', line)
            self.assertTrue(sample, line)
            self.assertEqual(re.sub(r"_(bucket|sum|count)$", "", sample.group(1)) if kinds[current] == "histogram" else sample.group(1), current)
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_sigterm_gives_the_lease_back(self):
        first = self.start("e1")
        first.wait_log('"msg":"leading"')
        self.assertEqual(first.stop(signal.SIGTERM), 0)
        lease = self.cluster.request("GET", "/apis/coordination.k8s.io/v1/namespaces/%s/leases/drdotnet-controller" % install.SYSTEM)
        self.assertFalse(lease["spec"].get("holderIdentity"))
        second = self.start("e2")
        second.wait_log('"msg":"leading"', 5)


if __name__ == "__main__":
    unittest.main()
