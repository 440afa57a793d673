#!/usr/bin/env python3
"""Makes the files of a release of what `make release` has installed into FOLDER/stage/drdotnet-VERSION-linux-ARCH, one folder an architecture:
archives of the programs, the images as OCI archives, the chart, the manifests, bills of materials, checksums. The same build makes the same
bytes: names are sorted, owners 0, times SOURCE_DATE_EPOCH.

usage: release.py FOLDER ARCH=BUILD...     FOLDER: where stage/ is; BUILD: the folder of that architecture's programs

With REGISTRY in the environment ("registry.example.com/tools", without a slash at its end) chart and manifests name the images there, by their
digests. What is signed, and by what: sign.py.
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

import sign

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or "0")
FASTER = int(os.environ.get("RELEASE_COMPRESSION") or "9")  # less than 9, for tests: larger archives, much sooner
GNU = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
IMAGES = ("agent", "controller", "cli")
DEPLOYMENT = ("crds", "deploy/manifests", "deploy/manifests-legacy", "deploy/manifests-shared-tmp", "deploy/kustomize", "deploy/monitoring",
              "deploy/policy", "deploy/samples", "deploy/seccomp", "docs", "LICENSE", "README.md")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
SIGNED = "application/vnd.dev.cosign.simplesigning.v1+json"
REGISTRY = os.environ.get("REGISTRY") or ""
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


def tar_of(folder, inside):
    """All of a folder, sorted, as `inside`/..."""
    def add(archive):
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


def blob(blobs, kind, data):
    """Puts it among the blobs; its descriptor."""
    digest = hashlib.sha256(data).hexdigest()
    blobs["blobs/sha256/" + digest] = data
    return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}


def path_of(descriptor):
    return "blobs/sha256/" + descriptor["digest"].partition(":")[2]


def image(role, arch, version, root):
    """(blobs, the descriptor of its manifest)"""
    blobs = {}
    layer = tar_of(root, "")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    config = {"created": stamp, "architecture": arch, "os": "linux", "config": image_config(role, version),
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
              "history": [{"created": stamp, "created_by": "deploy/rootfs.sh " + role}]}
    config = blob(blobs, CONFIG, json.dumps(config, sort_keys=True).encode())
    layer = blob(blobs, "application/vnd.oci.image.layer.v1.tar+gzip", zipped(layer, 6))  # 9 takes much longer for little
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}
    return blobs, {**blob(blobs, MANIFEST, json.dumps(manifest, sort_keys=True).encode()), "platform": {"architecture": arch, "os": "linux"}}


def layout(blobs, manifests, more=()):
    """An OCI image layout as an archive."""
    files = {"oci-layout": {"imageLayoutVersion": "1.0.0"}, "index.json": {"schemaVersion": 2, "manifests": manifests}, **dict(more)}
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


def tagged(descriptor, tag):
    return {**descriptor, "annotations": {"org.opencontainers.image.ref.name": tag}}


def one_architecture(role, version, blobs, descriptor):
    """What a node or a machine loads, with the file that lets older versions of Docker do so, too."""
    name, manifest = "drdotnet-%s:%s" % (role, version), json.loads(blobs[path_of(descriptor)])
    entry = tagged(descriptor, version)
    entry["annotations"]["io.containerd.image.name"] = "docker.io/library/" + name
    old = [{"Config": path_of(manifest["config"]), "RepoTags": [name], "Layers": [path_of(layer) for layer in manifest["layers"]]}]
    return layout(blobs, [entry], {"manifest.json": old})


def signatures(name, digests, key):
    """An archive with a manifest for each digest, under the tag where cosign looks for it."""
    blobs, manifests = {}, []
    for digest in digests:
        payload, signature = key.image(name, digest)
        layer = {**blob(blobs, SIGNED, payload), "annotations": {"dev.cosignproject.cosign/signature": signature}}
        config = blob(blobs, CONFIG, json.dumps({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}},
                                                sort_keys=True).encode())
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}
        manifests.append(tagged(blob(blobs, MANIFEST, json.dumps(manifest, sort_keys=True).encode()), sign.signature_tag(digest)))
    return layout(blobs, manifests)


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


def rootfs(root, role, build):
    subprocess.run([os.path.join(ROOT, "deploy/rootfs.sh"), role, root, build], check=True)
    return root


def images(folder, version, builds, key):
    """Of each role an archive an architecture, and one of all for a registry. Writes drdotnet-VERSION.images; {name: digest of all}."""
    listed, pins = [], {}
    for role in IMAGES:
        name, all_blobs, descriptors = "drdotnet-" + role, {}, []
        for arch, build in builds.items():
            blobs, descriptor = image(role, arch, version, rootfs(os.path.join(folder, "stage", "rootfs-%s-%s" % (role, arch)), role, build))
            write(folder, "%s-%s-linux-%s.oci.tar" % (name, version, arch), one_architecture(role, version, blobs, descriptor))
            all_blobs.update(blobs)
            descriptors.append(descriptor)
        index = blob(all_blobs, INDEX, json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors}, sort_keys=True).encode())
        write(folder, "%s-%s.oci.tar" % (name, version), layout(all_blobs, [tagged(index, version)]))
        pins[name] = index["digest"]
        listed += ["%s all %s" % (name, index["digest"])] + ["%s %s %s" % (name, d["platform"]["architecture"], d["digest"]) for d in descriptors]
        if key:
            digests = [index["digest"], *(d["digest"] for d in descriptors)]
            write(folder, "%s-%s.sig.oci.tar" % (name, version), signatures(in_registry(name), digests, key))
    write(folder, "drdotnet-%s.images" % version, "\n".join(listed) + "\n")
    return pins


def in_registry(name):
    return REGISTRY + "/" + name if REGISTRY else name


def pinned(text, version, pins):
    """Manifests, with the images by digest where it is known where they are."""
    if REGISTRY:
        for name, digest in pins.items():
            text = text.replace("image: %s:%s" % (name, version), "image: %s@%s" % (in_registry(name), digest))
    return text


def pinned_values(text, pins):
    """The chart's values, the same."""
    for key, value in (("registry", REGISTRY), ("controllerDigest", pins["drdotnet-controller"]), ("agentDigest", pins["drdotnet-agent"])) if REGISTRY else ():
        text, count = re.subn(r'^(  %s: )""' % key, r'\1"%s"' % value, text, count=1, flags=re.M)
        if not count:
            sys.exit("release: helm/drdotnet/values.yaml has no empty image.%s" % key)
    return text


def pin_files(folder, pin):
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".yaml"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                write(place, name, pin(text))


def deployment(folder, version, pins):
    """Manifests, chart, and the folders that kustomizations are made of."""
    texts = [pinned(read(os.path.join(place, name)).strip("\n"), version, pins) for place in ("crds", "deploy/manifests")
             for name in sorted(os.listdir(os.path.join(ROOT, place))) if name.endswith(".yaml")]
    write(folder, "drdotnet-%s.yaml" % version, "\n---\n".join(texts) + "\n")
    stage = os.path.join(folder, "stage", "chart")
    shutil.copytree(os.path.join(ROOT, "helm/drdotnet"), stage)
    write(stage, "values.yaml", pinned_values(read("helm/drdotnet/values.yaml"), pins))
    write(folder, "drdotnet-chart-%s.tgz" % version, zipped(tar_of(stage, "drdotnet")))
    inside = "drdotnet-%s-deploy" % version
    stage = os.path.join(folder, "stage", inside)
    for name in DEPLOYMENT:
        source, target = os.path.join(ROOT, name), os.path.join(stage, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    pin_files(os.path.join(stage, "deploy"), lambda text: pinned(text, version, pins))
    write(folder, inside + ".tar.gz", zipped(tar_of(stage, inside)))


# what was made, and how -------------------------------------------------------------------------------------------

def sums(folder):
    """{file: SHA-256}"""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = hashlib.sha256(f.read()).hexdigest()
    return found


def builder(env):
    """Who says so: the job, as its forge names it."""
    if env.get("BUILDER_ID"):
        return env["BUILDER_ID"]
    if env.get("GITHUB_WORKFLOW_REF"):
        return "%s/%s" % (env.get("GITHUB_SERVER_URL", "https://github.com"), env["GITHUB_WORKFLOW_REF"])
    if env.get("CI_PROJECT_URL"):
        return env["CI_PROJECT_URL"] + "/-/runners/" + env.get("CI_RUNNER_ID", "0")
    return "https://drdotnet.dev/builders/unnamed"


def provenance(subjects, version, builds, env):
    """SLSA provenance (version 1) as an in-toto statement: which files, of which commit, made how and by whom. Nothing in it changes from one
    run of the same job on the same commit to the next."""
    commit = {"uri": "git+" + (env.get("SOURCE_URL") or "https://drdotnet.dev/source"), "digest": {"gitCommit": env.get("REVISION") or "unknown"}}
    return {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())],
            "predicate": {"buildDefinition": {"buildType": "https://drdotnet.dev/builds/make-release/v1", "resolvedDependencies": [commit],
                                              "externalParameters": {"version": version, "architectures": sorted(builds), "registry": REGISTRY},
                                              "internalParameters": {"SOURCE_DATE_EPOCH": EPOCH}},
                          "runDetails": {"builder": {"id": builder(env)}}}}


def main():
    folder, builds, version = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:]), read("VERSION").strip()
    try:
        signer = sign.Signer()
        for arch in builds:
            programs(folder, arch, version)
        pins = images(folder, version, builds, signer.key)
        deployment(folder, version, pins)
        shutil.rmtree(folder + "/stage")
        statement, unsigned = "drdotnet-%s.provenance.json" % version, {n: s for n, s in sums(folder).items() if not n.endswith(".sig.oci.tar")}
        subjects = {**unsigned, **{in_registry(name): digest.partition(":")[2] for name, digest in pins.items()}}
        write(folder, statement, sign.canonical(provenance(subjects, version, builds, os.environ)))
        unsigned[statement] = sums(folder)[statement]
        text = "".join("%s  %s\n" % (unsigned[name], name) for name in sorted(unsigned))
        write(folder, "SHA256SUMS", text)
        signer.files(folder, ["drdotnet-chart-%s.tgz" % version, "SHA256SUMS"], statement)
    except sign.CannotSign as error:
        sys.exit("release: " + str(error))
    print(text + "release: " + signer.told())


if __name__ == "__main__":
    main()
