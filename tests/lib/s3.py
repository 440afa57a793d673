"""A real S3 server on loopback: OpenStack Swift with its S3 API (Debian's python3-swift; tests/setup/install.sh test).

    with s3.Server(folder) as store:
        store.endpoint, store.region, store.bucket, store.access_key, store.secret_key
        store.get("key") -> bytes;  store.list() -> ["key", ...]

It checks signatures, so a request that is signed wrongly fails as it would anywhere. One process, random ports, everything under
`folder`.
"""
import datetime
import hashlib
import hmac
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

from tests.lib import proc

PYTHON = "/usr/bin/python3"  # Debian's, for Debian's Swift
SWIFT = "/usr/lib/python3/dist-packages/swift"
HERE = os.path.dirname(os.path.abspath(__file__))

SWIFT_CONF = """[swift-hash]
swift_hash_path_suffix = tests
[storage-policy:0]
name = only
default = yes
"""
STORAGE = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = ERROR
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
allow_versions = true
"""
PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
log_level = ERROR
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
# a busy machine is no reason to give a server up
conn_timeout = 20
node_timeout = 30
error_suppression_interval = 0
error_suppression_limit = 1000000
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
# there is none, and none is needed here
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:s3api]
use = egg:swift#s3api
location = {region}
# buckets in the host's name too: http://<bucket>.localhost:<port>/<key>
storage_domain = localhost
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{name} = {secret} .admin
"""


def unavailable():
    """Why this machine cannot run it, or None."""
    return None if os.path.isdir(SWIFT + "/common/middleware/s3api") else "python3-swift is not installed (tests/setup/install.sh test)"


class Server:
    region = "us-east-1"
    bucket = "reports"
    access_key = "shop:tester"
    secret_key = "tested+secret/key"

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.process = None

    def __enter__(self):
        os.makedirs(self.folder + "/devices/d1", exist_ok=True)
        kinds = ("account", "container", "object", "proxy")
        # listening before the server is there: connections wait until it accepts them
        listeners = {kind: socket.create_server(("127.0.0.1", 0), backlog=128) for kind in kinds}
        try:
            ports = {kind: listener.getsockname()[1] for kind, listener in listeners.items()}
            self._configure(ports)
            fds = {kind: listener.fileno() for kind, listener in listeners.items()}
            self.process = proc.Process([PYTHON, HERE + "/swift_server.py", self.folder, *("%s=%d" % f for f in fds.items())],
                                        log=self.folder + "/server.log", pass_fds=tuple(fds.values()))
        finally:
            for listener in listeners.values():
                listener.close()
        self.endpoint = "http://127.0.0.1:%d" % ports["proxy"]
        try:
            self._make_bucket()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.stop(signal.SIGKILL)

    def _configure(self, ports):
        self._write("swift.conf", SWIFT_CONF)
        for kind in ("account", "container", "object"):
            self._write(kind + ".conf", STORAGE, port=ports[kind], kind=kind)
        account, name = self.access_key.split(":")
        self._write("proxy.conf", PROXY, port=ports["proxy"], region=self.region, account=account, name=name,
                    secret=self.secret_key)

    def url(self, key="", query=None):
        path = "/" + self.bucket + ("/" + urllib.parse.quote(key) if key else "")
        return self.endpoint + path + ("?" + canonical_query(query) if query else "")

    def request(self, method, key="", query=None, body=b""):
        """A request signed in its headers; the answer's body. urllib's HTTPError otherwise."""
        url = self.url(key, query)
        request = urllib.request.Request(url, data=body if method == "PUT" else None, method=method)
        for name, value in sign(self, method, url, body).items():
            request.add_header(name, value)
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.last_headers = answer.headers
            return answer.read()

    def get(self, key):
        return self.request("GET", key)

    def headers(self, key):
        self.request("HEAD", key)
        return self.last_headers

    def list(self):
        tree = xml.etree.ElementTree.fromstring(self.request("GET", query={"list-type": "2"}))
        return [e.text for e in tree.iter() if e.tag.endswith("}Key") or e.tag == "Key"]

    def _write(self, file_name, text, **values):
        with open(os.path.join(self.folder, file_name), "w") as f:
            f.write(text.format(folder=self.folder, user=os.environ.get("USER") or "root", **values) if values else text)

    def _make_bucket(self):
        end = time.monotonic() + 60
        while True:
            try:
                self.request("PUT")
                return
            except OSError as e:
                if isinstance(e, urllib.error.HTTPError):
                    if e.code == 409:
                        return  # made by a request whose answer came too late
                    if e.code < 500:
                        raise RuntimeError("the S3 server refused: %s" % e.read().decode()) from e
                if time.monotonic() > end or self.process.ended():
                    raise RuntimeError("the S3 server did not get ready:\n" + self.process.log()[-3000:]) from e
                time.sleep(0.1)


def canonical_query(query):
    return "&".join("%s=%s" % (urllib.parse.quote(k, safe=""), urllib.parse.quote(v, safe=""))
                    for k, v in sorted(query.items()))


def sign(store, method, url, body):
    """The headers of AWS Signature Version 4 for this request (written after the AWS General Reference)."""
    parts = urllib.parse.urlsplit(url)
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest = hashlib.sha256(body).hexdigest()
    signed = "host;x-amz-content-sha256;x-amz-date"
    canonical = "\n".join([method, parts.path, parts.query, "host:" + parts.netloc, "x-amz-content-sha256:" + digest,
                           "x-amz-date:" + stamp, "", signed, digest])
    scope = "%s/%s/s3/aws4_request" % (day, store.region)
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + store.secret_key).encode()
    for part in (day, store.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {"x-amz-date": stamp, "x-amz-content-sha256": digest,
            "Authorization": "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"
                             % (store.access_key, scope, signed, signature)}


if __name__ == "__main__":  # python3 -m tests.lib.s3 FOLDER: runs until standard input ends
    with Server(sys.argv[1]) as running:
        print(running.endpoint, flush=True)
        sys.stdin.read()
