"""`drdotnet serve` as a process of a test, and its REST API.

    with serve.Serve(folder) as s:
        s.url, s.token, s.get("sessions"), s.start(pid, seconds=2), s.wait("Succeeded", id)
"""
import json
import os
import re
import time
import urllib.request

from tests.lib import proc
from tests.lib.local import DRDOTNET

ENDS = ("Succeeded", "Failed", "Canceled", "PartiallySucceeded")


class Serve(proc.Process):
    def __init__(self, folder, *words, port=0):
        self.reports = os.path.join(folder, "reports")
        super().__init__([DRDOTNET, "serve", "--port", port, "--reports", self.reports, *words],
                         log=os.path.join(folder, "serve-%d.log" % time.monotonic_ns()))
        try:
            found = self.wait_log(r"(http://127\.0\.0\.1:(\d+))/#token=(\S+)")
        except BaseException:
            self.stop()
            raise
        self.url, self.port, self.token = found.group(1), int(found.group(2)), found.group(3)

    def ask(self, method, path, body=None):
        request = urllib.request.Request("%s/api/%s" % (self.url, path), method=method, data=json.dumps(body).encode() if body is not None else None,
                                         headers={"authorization": "Bearer " + self.token, "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def get(self, path):
        return self.ask("GET", path)

    def start(self, pid, seconds, name=None):
        """A CPU session of this process; its id."""
        spec = {"profiler": "CPUHotpaths", "target": {"process": {"pid": pid}}, "durationSeconds": seconds}
        return self.ask("POST", "sessions", {"namespace": "local", **({"name": name} if name else {}), "spec": spec})["id"]

    def wait(self, session, states=ENDS, seconds=90):
        """The session when it is in one of these states."""
        def look():
            now = self.get("sessions/" + session)
            return now if now["state"] in states else None
        return proc.wait_until(look, seconds, "session %s: %s" % (session, ", ".join(states)), 0.1)
