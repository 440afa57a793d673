"""The images of a real cluster's tests (tests/lib/real_cluster.py) as archives that its container runtime reads: agent and controller as a release
makes them, and one of the published sample applications."""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

from tests.lib import dotnet, proc

sys.path.insert(0, os.path.join(proc.ROOT, "deploy"))
os.environ.setdefault("RELEASE_COMPRESSION", "1")
import release  # noqa: E402

VERSION = release.read("VERSION").strip()
SAMPLE = "drdotnet-sample:" + VERSION
APPLICATIONS = ("Checkout", "CorpusApp")
FRAMEWORK = "net10.0"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def all_of(folder):
    """Paths of their archives, made in this folder."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = [pool.submit(ours, role, folder) for role in ("agent", "controller")] + [pool.submit(sample, folder)]
        return [one.result() for one in made]


def ours(role, folder):
    root = release.rootfs(os.path.join(folder, "image-" + role), role, os.path.join(proc.ROOT, "build/release"))
    return write(folder, role, *release.image(role, architecture(), VERSION, root))


def architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def write(folder, role, blobs, descriptor):
    path = os.path.join(folder, role + ".oci.tar")
    with open(path, "wb") as f:
        f.write(release.one_architecture(role, VERSION, blobs, descriptor))
    return path


def sample(folder):
    """The applications in /apps, with the libraries of this machine that they are linked with."""
    root = os.path.join(folder, "image-sample")
    for name in ("apps", "etc", "tmp", "proc", "sys", "dev", "usr/bin"):
        os.makedirs(os.path.join(root, name))
    os.chmod(root + "/tmp", 0o1777)
    published = {app: os.path.dirname(dotnet.path(FRAMEWORK, app)) for app in APPLICATIONS}
    for app, place in published.items():
        os.makedirs(os.path.join(root, "apps", app))
    for app, place in published.items():
        subprocess.run(["cp", "-r", place + "/.", os.path.join(root, "apps", app)], check=True)
    with open(root + "/etc/passwd", "w") as f:
        f.write("root:x:0:0:root:/:/nonexistent\napp:x:1654:1654:app:/:/nonexistent\n")
    programs = [os.path.join(place, app) for app, place in published.items()]
    for library in libraries([*programs, *(os.path.join(place, "libcoreclr.so") for place in published.values()), "/usr/bin/timeout"]):
        subprocess.run(["install", "-D", "-m", "755", os.path.realpath(library), root + library], check=True)
    subprocess.run(["install", "-m", "755", "/usr/bin/timeout", root + "/usr/bin/timeout"], check=True)
    blobs, layer = {}, release.tar_of(root, "")
    config = release.blob(blobs, release.CONFIG, json.dumps({
        "architecture": architecture(), "os": "linux", "config": {"Env": [PATH]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode())
    layer = release.blob(blobs, "application/vnd.oci.image.layer.v1.tar", layer)
    manifest = {"schemaVersion": 2, "mediaType": release.MANIFEST, "config": config, "layers": [layer]}
    return write(folder, "sample", blobs, {**release.blob(blobs, release.MANIFEST, json.dumps(manifest).encode()),
                                           "platform": {"architecture": architecture(), "os": "linux"}})


def libraries(programs):
    """Paths of what they are linked with, the loader among them."""
    said = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"(?:=> |^\s+)(/(?:usr/)?lib\S+)", said, re.M)))
