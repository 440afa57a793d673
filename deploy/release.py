#!/usr/bin/env python3
"""Makes the files of a release of what `make release` has installed into FOLDER/stage/drdotnet-VERSION-linux-ARCH, one folder an architecture:
archives of the programs, the images as OCI archives, the chart, the manifests, bills of materials, checksums. The same build makes the same
bytes: names are sorted, owners 0, times SOURCE_DATE_EPOCH.

usage: release.py FOLDER ARCH=BUILD...     FOLDER: where stage/ is; BUILD: the folder of that architecture's programs
"""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or "0")
FASTER = int(os.environ.get("RELEASE_COMPRESSION") or "9")  # less than 9, for tests: larger archives, much sooner
GNU = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
IMAGES = ("agent", "controller", "cli")
DEPLOYMENT = ("crds", "deploy/manifests", "deploy/manifests-legacy", "deploy/manifests-shared-tmp", "deploy/kustomize", "deploy/monitoring",
              "deploy/samples", "deploy/seccomp", "docs", "LICENSE", "README.md")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INSTALL = """Dr-Dotnet %(version)s for Linux %(arch)s: no compiler is needed.

1. On Debian 12, as root, the libraries that the programs are linked with (other systems: the same libraries, or the images):
   apt-get install --no-install-recommends %(packages)s
2. As root:  cp -r bin lib share /usr/local/
3. drdotnet                     lists this machine's .NET processes and what to do next
   kubectl drdotnet doctor      checks an installation on a cluster

sbom/ says what each program is made of. The cluster's part: drdotnet-%(version)s.yaml or the chart, beside this archive.
"""


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def out(*words, **how):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **how).stdout


def plain(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = EPOCH
    return member


def tar(add):
    """The archive that add(tarfile) fills."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add(archive)
    return data.getvalue()


def tar_of(folder, inside, follow=False):
    """All of a folder, sorted, as `inside`/...; with `follow` files in the place of links to them."""
    def add(archive):
        archive.dereference = follow
        if inside:
            archive.add(folder, inside, recursive=False, filter=plain)
        for place, folders, names in os.walk(folder):
            folders.sort()
            links = [n for n in folders if os.path.islink(os.path.join(place, n))]
            for name in sorted(links + [n for n in folders if n not in links] + names):
                path = os.path.join(place, name)
                archive.add(path, os.path.join(inside, os.path.relpath(path, folder)), recursive=False, filter=plain)
    return tar(add)


def zipped(data, level=9):
    return gzip.compress(data, min(level, FASTER), mtime=0)


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


# images -----------------------------------------------------------------------------------------------------------

def image_config(role, version):
    """What deploy/docker/Dockerfile says of that image."""
    stage = re.search(r"^FROM scratch AS %s\n(.*?)(?=^FROM |\Z)" % role, read("deploy/docker/Dockerfile"), re.M | re.S).group(1)
    stage = re.sub(r"^#.*\n", "", stage, flags=re.M).replace("\\\n", "")
    values = {"VERSION": version, "REVISION": os.environ.get("REVISION") or "unknown"}
    labels = {k: values.get(v.lstrip("$"), v) if v.startswith("$") else v for k, v in re.findall(r'(org\.\S+?)="([^"]*)"', stage)}
    config = {"User": re.search(r"^USER (\S+)", stage, re.M).group(1), "Entrypoint": json.loads(re.search(r"^ENTRYPOINT (.*)", stage, re.M).group(1)),
              "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Labels": labels}
    health = re.search(r"^HEALTHCHECK (.*?)CMD (.*)", stage, re.M)
    if health:  # Docker's own: an image of OCI has none, and its other readers skip it
        times = {k: int(v) * 10**9 for k, v in re.findall(r"--([a-z-]+)=(\d+)s", health.group(1))}
        config["Healthcheck"] = {"Test": ["CMD", *json.loads(health.group(2))], "Interval": times["interval"], "Timeout": times["timeout"],
                                 "StartPeriod": times["start-period"]}
    return config


def image(role, arch, version, root):
    """An OCI image layout, with the file that lets older versions of Docker load it, too."""
    blobs = {}

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs["blobs/sha256/" + digest] = data
        return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}
    layer = tar_of(root, "")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    name = "drdotnet-%s:%s" % (role, version)
    config = {"created": stamp, "architecture": arch, "os": "linux", "config": image_config(role, version),
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
              "history": [{"created": stamp, "created_by": "deploy/rootfs.sh " + role}]}
    config = blob("application/vnd.oci.image.config.v1+json", json.dumps(config, sort_keys=True).encode())
    layer = blob("application/vnd.oci.image.layer.v1.tar+gzip", zipped(layer, 6))  # 9 takes much longer for little
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}
    manifest = blob(MANIFEST, json.dumps(manifest, sort_keys=True).encode())
    manifest.update(platform={"architecture": arch, "os": "linux"},
                    annotations={"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/" + name})

    def path(of):
        return "blobs/sha256/" + of["digest"].partition(":")[2]
    files = {"oci-layout": {"imageLayoutVersion": "1.0.0"}, "index.json": {"schemaVersion": 2, "manifests": [manifest]},
             "manifest.json": [{"Config": path(config), "RepoTags": [name], "Layers": [path(layer)]}]}
    files = {**{k: json.dumps(v, sort_keys=True).encode() for k, v in files.items()}, **blobs}

    def add(archive):
        for name in ("blobs", "blobs/sha256"):
            member = plain(tarfile.TarInfo(name))
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        for name, data in sorted(files.items()):
            member = plain(tarfile.TarInfo(name))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return tar(add)


# the rest ---------------------------------------------------------------------------------------------------------

def programs(folder, arch, version):
    """Finishes the installed folder: debug information off, the bills of materials, how to install."""
    inside = "drdotnet-%s-linux-%s" % (version, arch)
    stage = os.path.join(folder, "stage", inside)
    strip = GNU[arch] + "-strip" if shutil.which(GNU[arch] + "-strip") else "strip"
    for name in sorted(os.listdir(stage + "/bin")):
        if open(os.path.join(stage, "bin", name), "rb").read(4) == b"\x7fELF":
            subprocess.run([strip, "--strip-debug", os.path.join(stage, "bin", name)], check=True)
    subprocess.run([os.path.join(ROOT, "deploy/sbom.py"), stage, stage + "/sbom"], check=True)
    bills = [os.path.join(stage, "sbom", n) for n in sorted(os.listdir(stage + "/sbom"))]
    spdx = out(os.path.join(ROOT, "deploy/spdx.py"), inside, *bills)
    write(folder, inside + ".spdx.json", spdx)
    write(stage, "sbom/%s.spdx.json" % inside, spdx)
    direct = set()
    for path in bills:
        with open(path, encoding="utf-8") as f:
            bill = json.load(f)
        names = {c["bom-ref"]: c["name"] for c in bill["components"] if not c["name"].endswith("-dev")}
        needed = next(d["dependsOn"] for d in bill["dependencies"] if d["ref"] == bill["metadata"]["component"]["bom-ref"])
        direct |= {names[ref] for ref in needed if ref in names}
    packages = sorted(direct | {"libwebsockets-evlib-ev"})
    write(stage, "INSTALL.txt", INSTALL % {"version": version, "arch": arch, "packages": " ".join(packages)})
    for name in ("LICENSE", "README.md"):
        shutil.copyfile(os.path.join(ROOT, name), os.path.join(stage, name))
    write(folder, inside + ".tar.gz", zipped(tar_of(stage, inside)))


def images(folder, arch, version, build):
    for role in IMAGES:
        root = os.path.join(folder, "stage", "rootfs-%s-%s" % (role, arch))
        subprocess.run([os.path.join(ROOT, "deploy/rootfs.sh"), role, root, build], check=True)
        write(folder, "drdotnet-%s-%s-linux-%s.oci.tar" % (role, version, arch), image(role, arch, version, root))


def deployment(folder, version):
    """Manifests, chart, and the folders that kustomizations are made of."""
    texts = [read(os.path.join(place, name)).strip("\n") for place in ("crds", "deploy/manifests")
             for name in sorted(os.listdir(os.path.join(ROOT, place))) if name.endswith(".yaml")]
    write(folder, "drdotnet-%s.yaml" % version, "\n---\n".join(texts) + "\n")
    write(folder, "drdotnet-chart-%s.tgz" % version, zipped(tar_of(os.path.join(ROOT, "helm/drdotnet"), "drdotnet", follow=True)))
    inside = "drdotnet-%s-deploy" % version
    stage = os.path.join(folder, "stage", inside)
    for name in DEPLOYMENT:
        source, target = os.path.join(ROOT, name), os.path.join(stage, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    write(folder, inside + ".tar.gz", zipped(tar_of(stage, inside)))


def main():
    folder, builds, version = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:]), read("VERSION").strip()
    for arch, build in builds.items():
        programs(folder, arch, version)
        images(folder, arch, version, build)
    deployment(folder, version)
    shutil.rmtree(folder + "/stage")
    sums = ""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            sums += "%s  %s\n" % (hashlib.sha256(f.read()).hexdigest(), name)
    write(folder, "SHA256SUMS", sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
