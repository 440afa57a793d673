"""Reports into object storage: the controller's signed URLs and the agent's upload against a real S3 server, on good days and bad."""
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from tests.lib import proc, s3
from tests.system.storage import faults, tool


@unittest.skipIf(s3.unavailable(), s3.unavailable() or "")
class S3Case(unittest.TestCase):
    one_process = True  # the server takes seconds to start and serves all of them

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClass(tempfile.TemporaryDirectory(prefix="drdotnet-test-"))
        cls.server = cls.enterClass(s3.Server(cls.folder + "/s3"))
        cls.server_port = int(cls.server.endpoint.rpartition(":")[2])

    @classmethod
    def enterClass(cls, manager):
        value = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        return value

    def setUp(self):
        self.own = tempfile.mkdtemp(dir=self.folder)

    def file(self, name="content", content=b"a report\n"):
        path = os.path.join(self.own, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def stores(self, endpoint=None, prefix="drdotnet/", bucket=None, path_style=True, access=None, secret=None, token=None):
        self.file("keys/accessKeyId", (access or self.server.access_key).encode())
        self.file("keys/secretAccessKey", (secret or self.server.secret_key).encode() + b"\n")
        if token:
            self.file("keys/sessionToken", token.encode())
        s3_part = {"endpoint": endpoint or self.server.endpoint, "region": self.server.region, "bucket": bucket or self.server.bucket,
                   "pathStyle": path_style, "prefix": prefix, "credentialsFolder": os.path.join(self.own, "keys")}
        return self.file("stores.yaml", json.dumps({"stores": [{"name": "default", "s3": s3_part}]}).encode())

    def grant(self, stores, path, name="summary.md", prefix="shop/s-1/pod/", media="text/markdown", skew_ms=0):
        return tool.run("grant", stores, "default", prefix, path, name, media, skew_ms)

    def put(self, url, path, name="summary.md", media="text/markdown", stall_ms=20000):
        return tool.run("put", url, path, name, media, stall_ms)

    def grant_and_put(self, stores, path, **how):
        grant = self.grant(stores, path, **how)
        self.assertTrue(grant["ok"], grant)
        sent = {k: v for k, v in how.items() if k in ("name", "media")}
        return grant, self.put(grant["url"], path, **sent)

    def assertStored(self, key, content, media=None):
        """By a reader of our tests' own, not by the code that wrote it."""
        self.assertIn(key, self.server.list())
        got = self.server.get(key)
        self.assertEqual((len(got), hashlib.sha256(got).hexdigest()), (len(content), hashlib.sha256(content).hexdigest()))
        if media:
            self.assertEqual(self.server.headers(key)["Content-Type"], media)

    def assertFailed(self, answer, kind, code, *texts):
        self.assertFalse(answer["ok"], answer)
        self.assertEqual((answer["kind"], answer["code"]), (kind, code), answer)
        for text in texts:
            self.assertIn(text, answer["message"])
        self.assertNotIn("X-Amz", answer["message"])


class Signed(S3Case):
    def test_path_style(self):
        content = os.urandom(70000)
        grant, answer = self.grant_and_put(self.stores(), self.file(content=content))
        self.assertTrue(answer["ok"], answer)
        self.assertStored("drdotnet/shop/s-1/pod/summary.md", content, "text/markdown")
        self.assertEqual(grant["public"], self.server.endpoint + "/reports/drdotnet/shop/s-1/pod/summary.md")
        self.assertNotIn("Signature", grant["public"])

    def test_virtual_host_style(self):
        stores = self.stores("http://localhost:%d" % self.server_port, path_style=False, prefix="")
        grant, answer = self.grant_and_put(stores, self.file(content=b"by host"), prefix="host/")
        self.assertTrue(answer["ok"], answer)
        self.assertStored("host/summary.md", b"by host")
        self.assertEqual(grant["public"], "http://reports.localhost:%d/host/summary.md" % self.server_port)

    def test_empty_and_large_files(self):
        for name, content in (("empty", b""), ("large", os.urandom(5 << 20))):
            _, answer = self.grant_and_put(self.stores(), self.file(content=content), name=name, prefix="sizes/")
            self.assertTrue(answer["ok"], answer)
            self.assertStored("drdotnet/sizes/" + name, content)

    def test_odd_characters_in_keys(self):
        stores = self.stores(prefix="teams/a b+c&d=e/ünïcode %41%2F~(1)!'*;,$@:/")
        for name in ("plain", "with space", "per%cent%20", "plus+and&", "日本.md", "q?u#e", "it's(1)!*"):
            with self.subTest(name=name):
                grant, answer = self.grant_and_put(stores, self.file(content=name.encode()), name=name, prefix="x/")
                self.assertTrue(answer["ok"], answer)
                key = "teams/a b+c&d=e/ünïcode %41%2F~(1)!'*;,$@:/x/" + name
                self.assertStored(key, name.encode())
                self.assertEqual(urllib.parse.unquote(urllib.parse.urlsplit(grant["public"]).path), "/reports/" + key)

    def test_session_token_is_signed_and_sent(self):
        path = self.file(content=b"with a token")
        grant = self.grant(self.stores(token="FwoGZXIvYXdzE+/=="), path, name="token")
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(grant["url"]).query)
        self.assertEqual(query["X-Amz-Security-Token"], ["FwoGZXIvYXdzE+/=="])
        other = grant["url"].replace("FwoGZXIvYXdz", "AwoGZXIvYXdz")
        self.assertFailed(self.put(other, path, name="token"), "Denied", 403, "SignatureDoesNotMatch")
        self.assertTrue(self.put(grant["url"], path, name="token")["ok"])

    def test_wrong_keys_are_told_plainly(self):
        path = self.file()
        for how in ({"secret": "wrong"}, {"access": "nobody"}):
            _, answer = self.grant_and_put(self.stores(**how), path, name="denied")
            self.assertFailed(answer, "Denied", 403, "the store answered 403 SignatureDoesNotMatch to report denied")
        self.assertNotIn("drdotnet/shop/s-1/pod/denied", self.server.list())

    def test_keys_are_read_anew_for_each_grant(self):
        stores, path = self.stores(secret="old"), self.file()
        self.assertFalse(self.grant_and_put(stores, path)[1]["ok"])
        self.file("keys/secretAccessKey", self.server.secret_key.encode())
        self.assertTrue(self.grant_and_put(stores, path)[1]["ok"])
        os.unlink(os.path.join(self.own, "keys/accessKeyId"))
        refused = self.grant(stores, path)
        self.assertFalse(refused["ok"])
        self.assertIn("cannot read the store's key", refused["message"])

    def test_expired_urls_and_clocks_that_disagree(self):
        path = self.file()
        for skew_ms in (-16 * 60 * 1000, -2 * 3600 * 1000, -8 * 24 * 3600 * 1000):
            _, answer = self.grant_and_put(self.stores(), path, skew_ms=skew_ms, name="late")
            self.assertFailed(answer, "Denied", 403, "the store answered 403 AccessDenied")
        self.assertTrue(self.grant_and_put(self.stores(), path, skew_ms=-10 * 60 * 1000, name="in-time")[1]["ok"])
        self.assertNotIn("drdotnet/shop/s-1/pod/late", self.server.list())

    def test_missing_bucket(self):
        _, answer = self.grant_and_put(self.stores(bucket="no-such-bucket"), self.file())
        self.assertFailed(answer, "NotFound", 404, "NoSuchBucket")

    def test_a_url_serves_exactly_its_report(self):
        path = self.file(content=b"0123456789")
        url = self.grant(self.stores(), path, name="bound")["url"]
        self.assertFailed(self.put(url, path, name="bound", media="text/html"), "Denied", 403, "SignatureDoesNotMatch")
        changed = self.file("changed", b"012345678X")
        self.assertFailed(self.put(url, changed, name="bound"), "Denied", 403, "SignatureDoesNotMatch")
        elsewhere = url.replace("/bound?", "/bound2?")
        self.assertFailed(self.put(elsewhere, path, name="bound"), "Denied", 403, "SignatureDoesNotMatch")
        longer = self.file("longer", b"0123456789X")
        self.assertFailed(self.put(url, longer, name="bound"), "Denied", 403, "SignatureDoesNotMatch")
        self.assertNotIn("drdotnet/shop/s-1/pod/bound", self.server.list())


class ProxyCase(S3Case):
    """With a proxy before the server that spoils what it is told to."""

    def setUp(self):
        super().setUp()
        self.proxy = faults.Proxy(self.server_port)
        self.addCleanup(self.proxy.__exit__)
        self.content = os.urandom(600000)
        self.path = self.file(content=self.content)
        self.name = "report-%s" % os.path.basename(self.own)
        self.key = "drdotnet/shop/s-1/pod/" + self.name
        self.endpoint = "http://127.0.0.1:%d" % self.proxy.port

    def attempt(self, stall_ms=20000):
        grant = self.grant(self.stores(self.endpoint), self.path, name=self.name)
        return self.put(grant["url"], self.path, name=self.name, stall_ms=stall_ms)

    def answer(self, status, body=b"", headers=b""):
        return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, headers, len(body), body)


class BadDays(ProxyCase):
    def test_cut_off_in_the_middle_then_sent_again(self):
        for after in (0, 100, 300000):
            self.proxy.set("cut", after, times=1)
            answer = self.attempt()
            self.assertFalse(answer["ok"], after)
            self.assertEqual(answer["kind"], "Retry", answer)
            self.assertNotIn(self.key, self.server.list(), "no half report")
        self.assertTrue(self.attempt()["ok"])
        self.assertStored(self.key, self.content)

    def test_busy_then_good(self):
        for status, body in ((b"503 Slow Down", b"<Error><Code>SlowDown</Code></Error>"), (b"500 Internal Server Error", b""),
                             (b"429 Too Many Requests", b"later"), (b"400 Bad Request", b"<Error><Code>RequestTimeout</Code></Error>")):
            self.proxy.set("answer", self.answer(status, body), times=1)
            self.assertFailed(self.attempt(), "Retry", int(status[:3]))
        self.assertTrue(self.attempt()["ok"])
        self.assertStored(self.key, self.content)

    def test_an_expired_session_token_asks_for_a_new_grant(self):
        self.proxy.set("answer", self.answer(b"400 Bad Request", b"<Error><Code>ExpiredToken</Code></Error>"))
        self.assertFailed(self.attempt(), "Denied", 400, "ExpiredToken")

    def test_a_server_that_stands_still(self):
        self.content = os.urandom(30 << 20)
        self.path = self.file(content=self.content)
        self.proxy.set("swallow")
        self.assertFailed(self.attempt(stall_ms=400), "Timeout", 0, "no byte for")

    def test_a_slow_server_that_goes_on_is_waited_for(self):
        self.proxy.set("throttle", 20000, 0.05)
        self.assertTrue(self.attempt(stall_ms=10000)["ok"])
        self.assertStored(self.key, self.content)

    def test_nobody_there(self):
        self.proxy.__exit__()
        self.endpoint = "http://127.0.0.1:%d" % proc.free_ports(1)[0]
        self.assertEqual(self.attempt()["kind"], "Retry")

    def test_redirects_are_not_followed(self):
        before = self.proxy.connections
        self.proxy.set("answer", self.answer(b"307 Temporary Redirect", headers=b"Location: %s/elsewhere\r\n" % self.endpoint.encode()))
        self.assertFailed(self.attempt(), "Protocol", 307)
        self.assertEqual(self.proxy.connections, before + 1)

    def test_answers_are_bounded_and_not_believed(self):
        self.proxy.set("answer", self.answer(b"403 Forbidden", b"<Code>" + b"A" * 300000))
        answer = self.attempt()
        self.assertFalse(answer["ok"])
        self.assertLess(len(answer["message"]), 480)
        self.proxy.set("answer", self.answer(b"403 Forbidden", b"<Code>\x1b[31mEvil\nLine</Code>"))
        self.assertFailed(self.attempt(), "Denied", 403)
        self.proxy.set("answer", b"SSH-2.0-OpenSSH\r\n")
        self.assertFalse(self.attempt()["ok"])


class Resumed(ProxyCase):
    """The agent's spool: what a killed agent had not delivered, the next one delivers."""

    def start(self, spool, prefix):
        log = open(os.path.join(self.own, "deliver.log"), "w+")
        self.addCleanup(log.close)
        popen = subprocess.Popen([tool.PROGRAM, "deliver", spool, self.stores(self.endpoint), "default", prefix], stdout=log,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(popen.wait, 10)
        self.addCleanup(popen.kill)
        return popen, log.name

    @staticmethod
    def lines(path):
        with open(path) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def test_a_killed_agent_goes_on_where_it_was(self):
        contents = {name: os.urandom(200000) for name in ("a.bin", "b.bin", "c.bin")}
        spool = os.path.join(self.own, "spool")
        for job in ("job-1", "job-2"):
            files = [self.file(name, content + job.encode()) for name, content in contents.items()]
            self.assertTrue(tool.run("seed", spool, job, *files)["ok"])
        prefix = os.path.basename(self.own) + "/"
        self.proxy.set("throttle", 16384, 0.08)  # a second for each file
        popen, log = self.start(spool, prefix)
        proc.wait_until(lambda: any(x.get("event") == "job" and x["delivered"] for x in self.lines(log)), 30, "a report is there")
        popen.send_signal(signal.SIGKILL)
        popen.wait()
        self.proxy.set()
        popen, log = self.start(spool, prefix)
        self.assertEqual(popen.wait(60), 0)
        phases = {x["job"]: (x["phase"], x["delivered"]) for x in self.lines(log) if x.get("event") == "job"}
        self.assertEqual(phases, {"job-1": ("Succeeded", 3), "job-2": ("Succeeded", 3)})
        for job in ("job-1", "job-2"):
            for name, content in contents.items():
                self.assertStored("drdotnet/%s%s/%s" % (prefix, job, name), content + job.encode())
        self.assertEqual(self.start(spool, prefix)[0].wait(30), 0, "all that is left is told, nothing is sent")

    def test_a_store_that_comes_back(self):
        spool, prefix = os.path.join(self.own, "spool"), os.path.basename(self.own) + "/"
        self.assertTrue(tool.run("seed", spool, "job-1", self.file("a.bin", b"late"))["ok"])
        self.proxy.set("answer", self.answer(b"503 Service Unavailable"))
        popen, log = self.start(spool, prefix)
        proc.wait_until(lambda: any("503" in x.get("message", "") for x in self.lines(log)), 30, "the failure is told")
        self.proxy.set()
        self.assertEqual(popen.wait(60), 0)
        self.assertEqual(self.server.get("drdotnet/" + prefix + "job-1/a.bin"), b"late")

    def test_torn_state_is_cleared_away(self):
        spool = os.path.join(self.own, "spool")
        for job in ("torn", "empty", "good"):
            self.assertTrue(tool.run("seed", spool, job, self.file("a.bin", b"kept"))["ok"])
        state = os.path.join(spool, "jobs", "torn", "state.json")
        with open(state, "r+b") as f:
            f.truncate(os.path.getsize(state) // 2)
        os.unlink(os.path.join(spool, "jobs", "empty", "state.json"))
        popen, _ = self.start(spool, os.path.basename(self.own) + "/")
        self.assertEqual(popen.wait(60), 0)
        self.assertEqual(os.listdir(os.path.join(spool, "jobs")), ["good"])



if __name__ == "__main__":
    unittest.main()
