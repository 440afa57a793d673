"""Everything that has to be renewed is renewed under a running session, without a restart and without a link that is lost: the link's
authority and certificate, the controller's token, the agent's token, the keys of the object storage."""
import base64
import calendar
import json
import os
import re
import ssl
import subprocess
import tempfile
import time
import unittest

from tests.lib import dotnet, install, kube, pod, proc, s3
from tests.system.link import websocket

UNAVAILABLE = kube.unavailable() or pod.unavailable() or s3.unavailable()
STAGE_SECONDS = 6
SECRET = "/api/v1/namespaces/%s/secrets/drdotnet-link-tls" % install.SYSTEM
BUNDLE = "/api/v1/namespaces/%s/configmaps/drdotnet-link-ca" % install.SYSTEM
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.S)


def make_authority(folder, days):
    """Of an installation of long ago: as the controller makes them, but near its end."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
                    "-out", "ca.crt", "-days", str(days), "-subj", "/CN=drdotnet link CA of long ago"],
                   cwd=folder, check=True, capture_output=True)
    texts = {}
    for name in ("ca.crt", "ca.key"):
        with open(os.path.join(folder, name)) as f:
            texts[name] = f.read()
    return texts


class Aged(install.Installation):
    """Its authority ends in 100 days, its own store is not used, and agents get some seconds to learn of a new authority."""

    def start_controller(self, name="drdotnet-controller-0"):
        self.authority = make_authority(self.folder, 100)
        data = {key: base64.b64encode(text.encode()).decode() for key, text in self.authority.items()}
        self.cluster.request("PATCH", SECRET, {"data": data}, content_type="application/merge-patch+json")
        os.environ["TLS_STAGE_SECONDS"] = str(STAGE_SECONDS)
        try:
            return super().start_controller(name)
        finally:
            del os.environ["TLS_STAGE_SECONDS"]


@unittest.skipIf(UNAVAILABLE, UNAVAILABLE)
class Rotation(unittest.TestCase):
    one_process = True
    time_limit = 240

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="drdotnet-test-"))
        self.folder = folder
        self.store = self.enterContext(s3.Server(folder + "/s3"))
        cluster = self.enterContext(kube.Cluster(folder + "/kube"))
        self.i = self.enterContext(Aged(folder + "/installation", cluster, self.store))
        cluster.namespace("shop")

    def serves(self, authority, port=None):
        """Whether the controller proves itself to somebody who knows this authority only."""
        path = os.path.join(self.folder, "only.crt")
        with open(path, "w") as f:
            f.write(authority)
        try:
            websocket.tls(path, install.SERVER_NAME, port or self.i.link_port, 30).close()
            return True
        except ssl.SSLCertVerificationError:
            return False

    def published(self):
        return CERTIFICATE.findall(self.i.cluster.request("GET", BUNDLE)["data"]["ca.crt"])

    def logged_at(self, message):
        """When the controller said it, in seconds."""
        line = json.loads(self.i.controller.wait_log(r"^.*%s.*$" % re.escape(message), 60).group())
        whole, _, rest = line["time"].rstrip("Z").partition(".")
        return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (rest or "0"))

    def running_session(self):
        object_ = self.i.cluster.create_pod("shop", "checkout-1", "node-a", labels={"app": "checkout"}, running=False)
        app = pod.Pod(self.folder, "warm", uid=object_["metadata"]["uid"], user=10001, readonly=True)
        self.addCleanup(app.stop)
        self.i.cluster.set_pod_running(object_, {"app": app.container_id})
        app.warm()
        self.before = dotnet.Traces(app)
        self.i.session("shop", "long", {"profiler": "CPUHotpaths", "durationSeconds": 3600, "target": {"podName": "checkout-1"}})
        self.i.wait_first_sample("shop", "long")
        return app

    def rotate_token(self):
        """The controller's pod is another one, as far as the API server knows: it no longer takes the old token."""
        path = self.i.folder + "/drdotnet-controller-0/token"
        with open(path) as f:
            old = f.read()
        made = self.i._system_pod("drdotnet-controller-1", "node-system", "drdotnet-controller")
        new = self.i.cluster.service_account_token(install.SYSTEM, "drdotnet-controller", made)
        with open(path + ".new", "w") as f:
            f.write(new)
        os.rename(path + ".new", path)
        self.i.cluster.request("DELETE", "/api/v1/namespaces/%s/pods/drdotnet-controller-0?gracePeriodSeconds=0" % install.SYSTEM)

        def refused():
            try:
                kube.Client(self.i.cluster.kubeconfig, token=old).request("GET", "/api/v1/namespaces/shop/pods")
                return False
            except kube.ApiError as e:
                return e.code == 401
        proc.wait_until(refused, 60, "the old token is refused")

    def write_keys(self, secret):
        path = self.i.folder + "/store-keys/secretAccessKey"
        with open(path + ".new", "w") as f:
            f.write(secret)
        os.rename(path + ".new", path)

    def test_all_under_a_running_session(self):
        self.write_keys("no longer good")
        agent = self.i.start_agent("node-a")
        app = self.running_session()
        # the authority: published, and only then used
        self.i.controller.wait_log("staged the next CA", 60)
        proc.wait_until(lambda: len(self.published()) == 2, 30, "both authorities are published")
        old = self.i.authority["ca.crt"]
        self.assertIn(old, self.published())
        new = next(ca for ca in self.published() if ca != old)
        self.i.authority_file()  # as a kubelet brings it to the agents
        staged, used = (self.logged_at(m) for m in ("staged the next CA", "serve the next CA"))
        self.assertGreaterEqual(used - staged, STAGE_SECONDS - 2, "agents got the time that was promised")
        proc.wait_until(lambda: self.serves(new), 30, "the new authority's certificate is served")
        proc.wait_until(lambda: self.serves(new, self.i.api_port), 30, "so it is by the REST API's port")
        self.assertFalse(self.serves(old))
        self.assertEqual(self.published(), [new, old], "who has met the old one is not lost")
        # tokens and keys
        self.rotate_token()
        pod_object = self.i.cluster.request("GET", "/api/v1/namespaces/%s/pods/drdotnet-agent-node-a" % install.SYSTEM)
        agent.write_token(self.i.cluster.service_account_token(install.SYSTEM, "drdotnet-agent", pod_object, install.AUDIENCE))
        self.write_keys(self.store.secret_key)
        self.i.cluster.kubectl("patch", "psess", "long", "-n", "shop", "--type=merge", "-p", '{"spec":{"cancel":true}}')
        session = self.i.wait_finished("shop", "long", 120)
        self.assertRegex(session["status"]["diagnosis"], r"Tax\.Compute|^No verdict: only \d+ samples", session)  # few on a full machine
        self.assertEqual(len(self.store.list()), len(session["status"]["targets"][0]["reports"]))
        self.assertNotIn("closing a link", self.i.controller.log(), "links of before last")
        dotnet.assert_nothing_left(self, app, self.before)
        # a new connection meets the new certificate
        agent.stop()
        linked = self.i.controller.log().count('"agent linked"')
        self.addCleanup(agent.again().stop)
        proc.wait_until(lambda: self.i.controller.log().count('"agent linked"') > linked, 60, "the agent links again")


if __name__ == "__main__":
    unittest.main()
