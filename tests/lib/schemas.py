"""The schemas of report.json (docs/report-schema*.json), which refer to what they have in common."""
import functools
import json
import os
import warnings

from tests.lib import proc

COMMON = "report-schema-common.json"


def load(name):
    with open(os.path.join(proc.ROOT, "docs", name), encoding="utf-8") as f:
        return json.load(f)


@functools.lru_cache(None)
def validator(name, **how):
    """Of docs/NAME (that it is a schema, tests/style/test_schemas.py sees); Debian's jsonschema knows RefResolver alone, newer ones call it deprecated."""
    import jsonschema
    schema, common = load(name), load(COMMON)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        resolver = jsonschema.RefResolver(schema["$id"], schema, store={common["$id"]: common})
        return jsonschema.Draft202012Validator(schema, resolver=resolver, **how)


def members(name):
    """{member of the report: its schema}, references followed."""
    shared = load(COMMON)["$defs"]
    return {key: shared[value["$ref"].rpartition("/")[2]] if "$ref" in value else value for key, value in load(name)["properties"].items()}
