"""The shipped manifests as objects, and applied to the tests' API server, as far as that server knows their kinds."""
import json
import os
import subprocess

from tests.lib import install as installation, proc

CRD, LEGACY_CRD = installation.CRD, installation.LEGACY_CRD


def split(text):
    """The documents of a YAML stream, as text."""
    documents, lines = [], []
    for line in text.splitlines() + ["---"]:
        if line == "---":
            if any(x.strip() and not x.startswith("#") for x in lines):
                documents.append("\n".join(lines) + "\n")
            lines = []
        else:
            lines.append(line)
    return documents


def built(folder):
    """What `kubectl kustomize` makes of a folder: [YAML document]."""
    done = subprocess.run(["kubectl", "kustomize", os.path.join(proc.ROOT, folder)], check=True, capture_output=True, text=True)
    return split(done.stdout)


def served_kinds(cluster):
    """{(apiVersion, kind)} that the API server knows."""
    kinds = {("v1", r["kind"]) for r in cluster.request("GET", "/api/v1")["resources"]}
    for group in cluster.request("GET", "/apis")["groups"]:
        for version in group["versions"]:
            name = version["groupVersion"]
            kinds |= {(name, r["kind"]) for r in cluster.request("GET", "/apis/" + name)["resources"]}
    return kinds


def head(document):
    """(apiVersion, kind) of a YAML document."""
    lines = document.splitlines()
    return tuple(next(line.partition(":")[2].strip() for line in lines if line.startswith(key + ":")) for key in ("apiVersion", "kind"))


def install_definition(cluster):
    cluster.apply(CRD if cluster.minor_version() >= 25 else LEGACY_CRD)
    cluster.kubectl("wait", "--for=condition=Established", "crd/profilingsessions.drdotnet.dev", "--timeout=30s")


def apply(cluster, documents):
    """({"Kind/name": object as the server keeps it}, kinds that the server does not know)."""
    known = served_kinds(cluster)
    unknown = sorted({kind for kind in map(head, documents) if kind not in known})
    text = "---\n".join(d for d in documents if head(d) in known)
    items = json.loads(cluster.kubectl("apply", "-f", "-", "-o", "json", text=text))["items"]
    return {"%s/%s" % (o["kind"], o["metadata"]["name"]): o for o in items}, unknown


def default_folder(cluster):
    return "deploy/manifests" if cluster.minor_version() >= 30 else "deploy/manifests-legacy"


def install(cluster):
    """Definition and manifests with the agents of both modes; the objects."""
    install_definition(cluster)
    objects = apply(cluster, built("deploy/manifests-shared-tmp"))[0]
    return {**objects, **apply(cluster, built(default_folder(cluster)))[0]}
