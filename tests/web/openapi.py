"""The OpenAPI document under an independent validator (kin-openapi, built with Debian's packages), and exchanges held against it."""
import base64
import json
import os
import shutil
import subprocess

from tests.lib import proc

DOCUMENT = os.path.join(proc.ROOT, "common/rest/openapi.json")
PROGRAM = os.path.join(proc.ROOT, "build/tools/openapi_check")
SOURCE = os.path.join(proc.ROOT, "tests/web/openapi_check/main.go")
LIBRARIES = "/usr/share/gocode"


def unavailable():
    if not shutil.which("go") or not os.path.isdir(LIBRARIES + "/src/github.com/getkin/kin-openapi"):
        return "no Go with kin-openapi: tests/setup/install.sh test"
    return None


def _program():
    if not os.path.exists(PROGRAM) or os.path.getmtime(PROGRAM) < os.path.getmtime(SOURCE):
        os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": LIBRARIES, "GOFLAGS": ""}
        new = "%s.%d" % (PROGRAM, os.getpid())
        subprocess.run(["go", "build", "-o", new, "./tests/web/openapi_check"], check=True, cwd=proc.ROOT, env=env)
        os.rename(new, PROGRAM)
    return PROGRAM


def wrong(exchanges=(), document=DOCUMENT):
    """What the validator finds, "" for nothing. An exchange: (method, path, request headers, request body, Answer)."""
    rows = [{"method": method, "url": path, "requestHeaders": sent, "requestBody": base64.b64encode(body or b"").decode(), "status": answer.status,
             "headers": answer.headers, "body": base64.b64encode(answer.body).decode()} for method, path, sent, body, answer in exchanges]
    done = subprocess.run([_program(), document], input=json.dumps(rows), capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr if done.returncode else ""
