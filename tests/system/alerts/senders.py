"""Prometheus and Alertmanager (Debian's) as processes of a test, and a client of the controller's webhook in their place."""
import http.client
import json
import os
import shutil
import socket
import ssl
import urllib.request

from tests.lib import install, proc

PATH = "/api/alertmanager"


def unavailable():
    """Why this machine cannot run them, or None."""
    missing = [n for n in ("prometheus", "prometheus-alertmanager", "promtool", "amtool") if not shutil.which(n)]
    return "not installed: %s (tests/setup/install.sh test)" % " ".join(missing) if missing else None


def _write(path, value):
    with open(path, "w") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))  # JSON is YAML
    return path


def _ready(url):
    try:
        with urllib.request.urlopen(url + "/-/ready", timeout=2):
            return True
    except OSError:
        return False


class Alertmanager(proc.Process):
    """`webhook`: the controller's URL. It repeats each second or two, as often as it can be made to."""

    def __init__(self, folder, webhook, token_file, ca_file):
        os.makedirs(folder)
        port = proc.free_ports(1)[0]
        self.url = "http://127.0.0.1:%d" % port
        config = {
            "route": {"receiver": "drdotnet", "group_by": ["alertname", "namespace"], "group_wait": "1s", "group_interval": "1s", "repeat_interval": "1s"},
            "receivers": [{"name": "drdotnet", "webhook_configs": [{
                "url": webhook + PATH, "send_resolved": True, "max_alerts": 100, "http_config": {
                    "authorization": {"type": "Bearer", "credentials_file": token_file},
                    "tls_config": {"ca_file": ca_file, "server_name": install.SERVER_NAME}}}]}]}
        super().__init__(["prometheus-alertmanager", "--config.file=" + _write(folder + "/config.yaml", config), "--storage.path=" + folder + "/data",
                          "--web.listen-address=127.0.0.1:%d" % port, "--cluster.listen-address="], log=folder + "/log")
        proc.wait_until(lambda: _ready(self.url), 60, "Alertmanager is ready")


class Prometheus(proc.Process):
    """Scrapes `targets` ([(port, labels)]) each second."""

    def __init__(self, folder, targets, rules, alertmanager):
        os.makedirs(folder)
        port = proc.free_ports(1)[0]
        self.url = "http://127.0.0.1:%d" % port
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [_write(folder + "/rules.yaml", {"groups": [{"name": "tests", "rules": rules}]})],
            "scrape_configs": [{"job_name": "applications", "static_configs": [
                {"targets": ["127.0.0.1:%d" % port], "labels": labels} for port, labels in targets]}],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager.url.partition("//")[2]]}]}]}}
        super().__init__(["prometheus", "--config.file=" + _write(folder + "/config.yaml", config), "--storage.tsdb.path=" + folder + "/data",
                          "--web.listen-address=127.0.0.1:%d" % port], log=folder + "/log")
        proc.wait_until(lambda: _ready(self.url), 60, "Prometheus is ready")


def alert(name, namespace, status="firing", fingerprint="b8f6f7d8e2c1a0f3", starts="2026-11-21T10:00:00Z", **labels):
    return {"status": status, "fingerprint": fingerprint, "startsAt": starts, "endsAt": "0001-01-01T00:00:00Z", "annotations": {},
            "labels": {"alertname": name, "namespace": namespace, **labels}}


def notification(*alerts):
    return json.dumps({"version": "4", "groupKey": "{}", "status": "firing", "receiver": "drdotnet", "alerts": list(alerts)})


class Client:
    """One connection to a controller's webhook. `source` is the address that it comes from."""

    def __init__(self, port, ca_file, token, source="127.0.0.1"):
        self.port, self.token, self.source = port, token, source
        self.tls = ssl.create_default_context(cafile=ca_file)
        self.connection = None

    def _connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(self.source, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.connection.sock = self.tls.wrap_socket(plain, server_hostname=install.SERVER_NAME)

    def post(self, body, method="POST", content_type="application/json"):
        """(status, decoded answer, headers)"""
        if not self.connection:
            self._connect()
        headers = {"Content-Type": content_type}
        if self.token is not None:
            headers["Authorization"] = "Bearer " + self.token
        try:
            self.connection.request(method, PATH, body, headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close:
            self.close()
        return answer.status, json.loads(text or b"null"), answer.headers

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
