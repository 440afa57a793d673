#!/usr/bin/env python3
"""Writes docs/report-schema*.json anew: a member of the report that two or more of them define alike is defined once, in
report-schema-common.json, and referred to; what fits into a line stands on one. Edit any of them, then run this; running it again changes
nothing. Where a member of one report shall differ from the others, write it out there in place of the reference."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
from tests.lib import json_text  # noqa: E402
FOLDER = os.path.join(ROOT, "docs")
COMMON = "report-schema-common.json"
REFERENCE = COMMON + "#/$defs/"
HEAD = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://drdotnet.dev/schemas/" + COMMON,
        "title": "Dr-Dotnet report, what reports have in common, version 1",
        "description": "Members that several reports define alike. Their schemas refer to it by its name: they need this file."}


def written_out(schema, shared):
    members = schema["properties"]
    for name, value in members.items():
        if value.get("$ref", "").startswith(REFERENCE):
            members[name] = shared[value["$ref"][len(REFERENCE):]]
    return schema


def share(schemas):
    """The definitions of what is alike in at least two; references in their place."""
    shared = {}
    for name in sorted({name for schema in schemas for name in schema["properties"]}):
        written = [json.dumps(s["properties"][name]) for s in schemas if name in s["properties"]]
        most = max(written, key=written.count)
        if written.count(most) > 1:
            shared[name] = json.loads(most)
    for schema in schemas:
        for name, value in schema["properties"].items():
            if shared.get(name) == value:
                schema["properties"][name] = {"$ref": REFERENCE + name}
    return shared


def files(folder=FOLDER):
    """{name: text} as they should be."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("report-schema") and name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                found[name] = json.load(f)
    old = found.pop(COMMON, {"$defs": {}})["$defs"]
    schemas = {name: written_out(schema, old) for name, schema in found.items()}
    shared = share(list(schemas.values()))
    return {name: json_text.text(value) + "\n" for name, value in {**schemas, COMMON: {**HEAD, "$defs": shared}}.items()}


if __name__ == "__main__":
    for name, content in files().items():
        with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as f:
            f.write(content)
