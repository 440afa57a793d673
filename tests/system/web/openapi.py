"""The OpenAPI document under an independent validator (kin-openapi, built with Debian's packages), and exchanges held against it."""
import base64
import json
import os
import subprocess

from tests.lib import go, proc

DOCUMENT = os.path.join(proc.ROOT, "common/rest/openapi.json")
SOURCE = "tests/system/web/openapi_check"
LIBRARY = "github.com/getkin/kin-openapi"


def unavailable():
    return go.unavailable(LIBRARY)


def wrong(exchanges=(), document=DOCUMENT):
    """What the validator finds, "" for nothing. An exchange: (method, path, request headers, request body, Answer)."""
    rows = [{"method": method, "url": path, "requestHeaders": sent, "requestBody": base64.b64encode(body or b"").decode(), "status": answer.status,
             "headers": answer.headers, "body": base64.b64encode(answer.body).decode()} for method, path, sent, body, answer in exchanges]
    done = subprocess.run([go.program(SOURCE), document], input=json.dumps(rows), capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr if done.returncode else ""
