"""The shipped manifests as objects, and applied to the tests' API server, as far as that server knows their kinds."""
import http.client
import json
import os
import re
import subprocess
import tempfile
import urllib.parse

from tests.lib import install as installation, kube, proc

PYTHON = "/usr/bin/python3"  # Debian's, which has python3-yaml
TO_JSON = "import json, sys, yaml; " + \
          "print(json.dumps([d for d in yaml.load_all(sys.stdin, getattr(yaml, 'CSafeLoader', yaml.SafeLoader)) if d]))"


def unavailable():
    """Why YAML cannot be read here, or None."""
    done = subprocess.run([PYTHON, "-c", "import yaml"], capture_output=True)
    return "no python3-yaml: tests/setup/install.sh test" if done.returncode else None


def parse(text):
    """The objects of a YAML stream."""
    return json.loads(subprocess.run([PYTHON, "-c", TO_JSON], input=text, capture_output=True, text=True, check=True).stdout)


def by_name(objects):
    """{"Kind/namespace/name": object}"""
    return {"/".join([o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]]): o for o in objects}


def objects(folder):
    return by_name(parse("---\n".join(built(folder))))


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


def built_with_seccomp(folder, scratch):
    """The same with the shipped seccomp profiles, as docs/install.md says; `scratch` is a folder for the kustomization."""
    path = tempfile.mkdtemp(prefix="kustomization-", dir=os.path.realpath(scratch))
    with open(os.path.join(path, "kustomization.yaml"), "w") as f:
        json.dump({"resources": [os.path.relpath(os.path.join(proc.ROOT, folder), path)],
                   "components": [os.path.relpath(os.path.join(proc.ROOT, "deploy/seccomp"), path)]}, f)
    return built(path)


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
    cluster.apply_crd()
    proc.wait_until(lambda: _served(cluster), 30, "the definition is served")  # a little later than it is established


def _served(cluster):
    try:
        return cluster.request("GET", "/apis/drdotnet.dev/v1alpha1/profilingsessions")
    except kube.ApiError as e:
        if e.code not in (404, 429, 503):
            raise
        return None


def apply(cluster, documents):
    """({"Kind/namespace/name": object as the server keeps it}, [(apiVersion, kind)] that the server does not know)."""
    known = served_kinds(cluster)
    unknown = sorted({kind for kind in map(head, documents) if kind not in known})
    text = "---\n".join(d for d in documents if head(d) in known)
    items = json.loads(cluster.kubectl("apply", "-f", "-", "-o", "json", text=text))["items"]
    return by_name(items), unknown


class DryRun:
    """Asks one API server over one connection whether it would take objects, with strict validation of their fields."""

    def __init__(self, cluster):
        self.cluster = cluster
        place = urllib.parse.urlsplit(cluster.server)
        self.connection = http.client.HTTPSConnection(place.hostname, place.port, context=cluster.tls, timeout=60)
        self.resources = {}
        versions = ["v1"] + [v["groupVersion"] for g in cluster.request("GET", "/apis")["groups"] for v in g["versions"]]
        for version in versions:
            root = ("/api/" if version == "v1" else "/apis/") + version
            for r in cluster.request("GET", root)["resources"]:
                if "/" not in r["name"]:
                    self.resources[version, r["kind"]] = (root, r["name"], r["namespaced"])

    def serves(self, o):
        return (o["apiVersion"], o["kind"]) in self.resources

    def create(self, o):
        """None, or what the server says against it."""
        root, plural, namespaced = self.resources[o["apiVersion"], o["kind"]]
        middle = "/namespaces/" + o["metadata"]["namespace"] if namespaced else ""
        path = "%s%s/%s?dryRun=All&fieldValidation=Strict" % (root, middle, plural)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.cluster.token:
            headers["Authorization"] = "Bearer " + self.cluster.token
        self.connection.request("POST", path, json.dumps(o), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode(errors="replace")
        # what is there already is valid as well: that is found out last
        return None if answer.status in (200, 201, 409) else "%s/%s: %s" % (o["kind"], o["metadata"]["name"], text[:1000])


def for_server(cluster, documents):
    """The manifests of the shared /tmp with what docs/install.md says to leave out for an older server."""
    if cluster.knows("recursiveReadOnly"):
        return documents
    return [re.sub(r"\n *(- )?recursiveReadOnly: IfPossible", "", d) for d in documents]


def install(cluster, scratch):
    """Definition and manifests with the agents of both modes and the shipped seccomp profiles; the objects."""
    install_definition(cluster)
    objects = apply(cluster, for_server(cluster, built_with_seccomp("deploy/manifests-shared-tmp", scratch)))[0]
    return {**objects, **apply(cluster, built_with_seccomp(cluster.manifests(), scratch))[0]}
