"""An agent delivers through every bad day of a real S3 server: what the session's status says meanwhile, and that nothing is lost."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from tests.lib import matrix, proc, s3
from tests.system.storage import faults, tool
from tests.system.storage.test_upload import S3Case

PART = "Object storage"
LATE = "Delivering with %s in the status; Succeeded when %s"


def answer(status, code="", headers=""):
    body = "<Error><Code>%s</Code><Message>secret words</Message></Error>" % code if code else ""
    return ("HTTP/1.1 %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, headers, len(body), body)).encode()


class Delivering(S3Case):
    def setUp(self):
        super().setUp()
        self.proxy = faults.Proxy(self.server_port)
        self.addCleanup(self.proxy.__exit__)
        self.endpoint = "http://127.0.0.1:%d" % self.proxy.port
        self.spool = os.path.join(self.own, "spool")
        self.prefix = os.path.basename(self.own) + "/"
        self.contents = {"a.bin": os.urandom(1000), "b.bin": os.urandom(300000), "c.bin": os.urandom(2000)}
        files = [self.file(name, content) for name, content in self.contents.items()]
        self.assertTrue(tool.run("seed", self.spool, "job-1", *files)["ok"])
        self.popen = self.log = None

    def start(self, *bound, **stores):
        self.configured = self.stores(**{"endpoint": self.endpoint, **stores})
        self.log = os.path.join(self.own, "deliver-%d.log" % time.monotonic_ns())
        with open(self.log, "w") as out, open(os.path.join(self.own, "stderr"), "a") as err:
            self.popen = subprocess.Popen([tool.PROGRAM, "deliver", self.spool, self.configured, "default", self.prefix, *map(str, bound)],
                                          stdout=out, stderr=err)
        popen = self.popen
        self.addCleanup(lambda: (popen.poll() is None and popen.kill(), popen.wait()))

    def jobs(self):
        with open(self.log) as f:
            return [e for e in map(json.loads, (line for line in f if line.endswith("\n"))) if e.get("event") == "job"]

    def says(self, text, seconds=60):
        """Waits until the status says this while the job is being delivered."""
        def look():
            return [e for e in self.jobs() if e["phase"] == "Delivering" and e["reason"] == "Delivering" and re.search(text, e["message"])]
        try:
            return proc.wait_until(look, seconds, text)[0]["message"]
        except AssertionError:
            self.fail("no %r in %s" % (text, self.jobs()))

    def ended(self, phase="Succeeded", reason="Completed", without=()):
        self.assertEqual(self.popen.wait(120), 0)
        last = self.jobs()[-1]
        self.assertEqual((last["phase"], last["reason"], last["delivered"]), (phase, reason, 3 - len(without)), self.jobs())
        for event in self.jobs():
            self.assertNotRegex(event["message"], "X-Amz|Signature=|secret words")
            self.assertLess(len(event["message"]), 300)
        listed = self.server.list()
        for name, content in self.contents.items():
            key = "drdotnet/%sjob-1/%s" % (self.prefix, name)
            self.assertEqual(key in listed, name not in without, listed)
            if name not in without:
                self.assertEqual(self.server.get(key), content)
        return last

    def late(self, fault, said, mended, text):
        self.says(text)
        mended[1]()
        self.ended()
        matrix.row(self, PART, "delivering", fault, LATE % (said, mended[0]))

    def test_refused_with_403(self):
        self.start(secret="wrong")
        self.late("it refuses: a wrong secret key", "403 SignatureDoesNotMatch and what to correct",
                  ("the Secret is corrected", lambda: self.file("keys/secretAccessKey", self.server.secret_key.encode())),
                  "403 SignatureDoesNotMatch to report .*: correct the store's secret key")

    def test_no_keys(self):
        self.start()
        os.rename(self.own + "/keys/accessKeyId", self.own + "/kept")
        self.proxy.set("answer", answer("403 Forbidden", "AccessDenied"))
        self.late("the Secret is gone", "the file that cannot be read",
                  ("the Secret is back", lambda: (self.proxy.set(), os.rename(self.own + "/kept", self.own + "/keys/accessKeyId"))),
                  "cannot read the store's key")

    def test_missing_bucket(self):
        bucket = "later-" + os.path.basename(self.own).replace("_", "-").lower()
        self.start(bucket=bucket)
        self.says("404 NoSuchBucket to report .*: create the bucket")
        kept, self.server.bucket = self.server.bucket, bucket
        try:
            self.server.request("PUT")
            self.ended()
        finally:
            self.server.bucket = kept
        matrix.row(self, PART, "delivering", "the bucket is missing", LATE % ("404 NoSuchBucket and what to do", "it has been made"))

    def test_busy_and_asks_for_time(self):
        self.proxy.set("answer", answer("503 Slow Down", "SlowDown", "Retry-After: 4\r\n"), times=1)
        self.start()
        self.says("503 SlowDown")
        began = time.monotonic()
        proc.wait_until(lambda: self.proxy.connections > 1, 60, "it comes again")
        self.assertGreater(time.monotonic() - began, 3, "no sooner than asked")
        self.ended()
        matrix.row(self, PART, "delivering", "503 with Retry-After", LATE % ("503 SlowDown", "it is asked again, no sooner than it said"))

    def test_away_and_back(self):
        self.proxy.set("gone")
        self.start()
        self.says("cannot upload report .*(reset|closed|Recv|Send|Empty)")
        seen = self.proxy.connections
        proc.wait_until(lambda: self.proxy.connections >= seen + 3, 60, "it is asked again and again")
        self.proxy.set()
        self.ended()
        matrix.row(self, PART, "delivering", "it resets each connection", LATE % ("what the network said", "it is back"))

    def test_nobody_listens(self):
        self.start(endpoint="http://127.0.0.1:%d" % proc.free_ports(1)[0])
        self.says("cannot upload report .*(refused|connect)")
        self.stores(endpoint=self.endpoint)
        self.ended()
        matrix.row(self, PART, "delivering", "it refuses connections", LATE % ("what the network said", "it is back"))

    def test_its_name_is_gone(self):
        self.start(endpoint="http://store.invalid")
        self.says("cannot upload report .*resolve")
        self.stores(endpoint=self.endpoint)
        self.ended()
        matrix.row(self, PART, "delivering", "its name has no address", LATE % ("the name that is not resolved", "the name is back"))

    def test_away_for_longer_than_the_bound(self):
        self.proxy.set("answer", answer("503 Service Unavailable"))
        self.start(2500)
        last = self.ended("Failed", "DeliveryExpired", without=self.contents)
        self.assertIn("the store answered 503 to report", last["message"])
        matrix.row(self, PART, "delivering", "it is away for longer than the delivery's bound (24 h)",
                   "Failed, DeliveryExpired with its last answer; the diagnosis is in the status")

    def test_the_controllers_clock_is_behind(self):
        self.file("stores.yaml.skew", b"-3600000")
        self.start()
        self.late("the controller's clock is an hour behind the store's", "403 and that the clocks may differ",
                  ("they agree", lambda: self.file("stores.yaml.skew", b"0")), "403 AccessDenied to report .*clock")

    def test_the_controllers_clock_is_ahead(self):
        """Swift takes URLs of the future; others do not."""
        self.proxy.set("answer", answer("403 Forbidden", "RequestTimeTooSkewed"))
        self.start()
        self.late("it finds the controller's clock too far off", "403 RequestTimeTooSkewed and that the clocks differ",
                  ("they agree", self.proxy.set), "403 RequestTimeTooSkewed to report .*clocks")

    def test_one_report_is_too_large_for_it(self):
        self.proxy.set("answer to", "/b.bin", answer("413 Content Too Large", "EntityTooLarge"))
        self.start()
        last = self.ended("Failed", "UploadFailed", without=["b.bin"])
        self.assertIn("413 EntityTooLarge to report b.bin", last["message"])
        matrix.row(self, PART, "delivering", "one report is larger than it takes",
                   "Failed, UploadFailed names it; the others are delivered; the diagnosis is in the status")

    def test_one_report_does_not_keep_the_others_back(self):
        self.proxy.set("answer to", "/a.bin", answer("500 Internal Error", "InternalError"))
        self.start()
        self.says("500 InternalError to report a.bin")
        proc.wait_until(lambda: self.jobs()[-1]["delivered"] == 2, 60, "the others are delivered")
        self.proxy.set()
        self.ended()
        matrix.row(self, PART, "delivering", "it fails for one report only", "the others are delivered first; Succeeded when it takes that one too")

    def test_killed_between_two_reports(self):
        self.proxy.set("answer to", "/b.bin", answer("503 Service Unavailable"))
        self.start()
        proc.wait_until(lambda: self.jobs() and self.jobs()[-1]["delivered"] == 2, 60, "two are delivered")
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()
        self.proxy.settle()
        self.proxy.set()
        self.start()
        self.ended()
        sent = [path.rpartition("/")[2] for path in self.proxy.puts]
        self.assertEqual(sorted(sent), ["a.bin", "b.bin", "c.bin"], "each was sent once")
        matrix.row(self, PART, "delivering", "the agent is killed between two reports", "the next agent sends what is left, nothing twice; Succeeded")

    def test_slow_beyond_the_urls_life(self):
        """The signature is checked when the request comes: a slow upload outlives its URL."""
        self.file("stores.yaml.skew", str(-(900 - 6) * 1000).encode())  # six seconds are left of each URL
        self.proxy.set("throttle", 8192, 0.25)  # nine seconds for the large one
        self.start()
        self.ended()
        matrix.row(self, PART, "delivering", "it is so slow that the URL expires in an upload", "the upload goes on to its end; Succeeded")


if __name__ == "__main__":
    unittest.main()
