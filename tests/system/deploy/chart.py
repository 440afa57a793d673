"""Renders the chart with chart_render (what helm is built of) and, where it is to be had, with helm itself."""
import json
import os
import shutil
import subprocess

from tests.system.deploy import manifests
from tests.lib import go, proc

CHART = os.path.join(proc.ROOT, "helm/drdotnet")
SOURCE = "tests/system/deploy/chart_render"
LIBRARY = "github.com/Masterminds/sprig"
NEWEST, OLDEST = "v1.36.0", "v1.20.0"
HELM = shutil.which("helm") or os.path.join(proc.ROOT, "build/tools/helm")
NO_HELM = None if os.path.isfile(HELM) and os.access(HELM, os.X_OK) else "no helm: tests/setup/from_npm.sh"


class Refused(Exception):
    pass


def unavailable():
    """Why the chart cannot be rendered here, or None."""
    return go.unavailable(LIBRARY) or manifests.unavailable()


def text(values=None, namespace="drdotnet-system", version=NEWEST, notes=False, apis=(), path=CHART, live=None):
    """`live`: {"Kind/namespace/name": object} of the cluster, for lookup."""
    order = {"values": values or {}, "namespace": namespace, "kubeVersion": version, "apiVersions": list(apis), "live": live or {}}
    done = subprocess.run([go.program(SOURCE), path, *(["--notes"] if notes else [])], input=json.dumps(order), capture_output=True, text=True)
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
