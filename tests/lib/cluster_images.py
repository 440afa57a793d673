"""The images of a real cluster's tests (tests/lib/real_cluster.py) as archives that its container runtime reads: agent and controller as a release
makes them, and one of the published sample applications, which is kept in build/cluster for as long as they stay the same."""
import concurrent.futures
import contextlib
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tests.lib import dotnet, proc

sys.path.insert(0, os.path.join(proc.ROOT, "deploy"))
os.environ.setdefault("RELEASE_COMPRESSION", "1")
import release  # noqa: E402

VERSION = release.read("VERSION").strip()
SAMPLE = "drdotnet-sample:" + VERSION
APPLICATIONS = ("Checkout", "CorpusApp")
FRAMEWORK = "net10.0"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


KEPT = os.path.join(proc.ROOT, "build/cluster")


def all_of(folder):
    """Paths of their archives, made in this folder."""
    os.makedirs(folder)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = [pool.submit(ours, role, folder) for role in ("agent", "controller")] + [pool.submit(kept_sample)]
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


def kept_sample():
    """The one of an earlier run, if it is of these applications; other runs may do the same now."""
    digest = hashlib.sha256()
    for place in published().values():
        for name in sorted(os.listdir(place)):
            at = os.stat(os.path.join(place, name))
            digest.update(("%s %d %d\n" % (name, at.st_size, at.st_mtime_ns)).encode())
    with open(__file__, "rb") as f:
        digest.update(f.read())
    path = os.path.join(KEPT, "sample-%s.oci.tar" % digest.hexdigest()[:16])
    if not os.path.exists(path):
        os.makedirs(KEPT, exist_ok=True)
        for name in os.listdir(KEPT):
            with contextlib.suppress(OSError):
                os.remove(os.path.join(KEPT, name))
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            os.rename(sample(folder), path)
    return path


def published():
    """{application: its folder}"""
    return {app: os.path.dirname(dotnet.path(FRAMEWORK, app)) for app in APPLICATIONS}


def copy(place, folder, others):
    """A published application into its folder of the image; what another one has as well (the runtime) as a link to that."""
    os.makedirs(folder)
    for name in os.listdir(place):
        source, other = os.path.join(place, name), next((path for path in (os.path.join(o, name) for o in others) if os.path.isfile(path)), None)
        if other and filecmp.cmp(source, other, shallow=False):
            os.link(other, os.path.join(folder, name))
        elif os.path.isdir(source):
            shutil.copytree(source, os.path.join(folder, name))
        else:
            shutil.copy2(source, os.path.join(folder, name))


def sample(folder):
    """The applications in /apps, with the libraries of this machine that they are linked with."""
    root = os.path.join(folder, "image-sample")
    for name in ("apps", "etc", "tmp", "proc", "sys", "dev", "usr/bin"):
        os.makedirs(os.path.join(root, name))
    os.chmod(root + "/tmp", 0o1777)
    places, made = published(), []
    for app, place in places.items():
        copy(place, os.path.join(root, "apps", app), made)
        made.append(os.path.join(root, "apps", app))
    with open(root + "/etc/passwd", "w") as f:
        f.write("root:x:0:0:root:/:/nonexistent\napp:x:1654:1654:app:/:/nonexistent\n")
    programs = [os.path.join(place, app) for app, place in places.items()]
    for library in libraries([*programs, *(os.path.join(place, "libcoreclr.so") for place in places.values()), "/usr/bin/timeout"]):
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
