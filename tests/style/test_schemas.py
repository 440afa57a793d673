"""The schemas of reports: what they have in common is written once, and they are as tests/helpers/report_schemas.py writes them."""
import copy
import json
import os
import unittest

from tests.helpers import report_schemas
from tests.lib import json_text, proc, schemas

NAMES = sorted(n for n in os.listdir(os.path.join(proc.ROOT, "docs")) if n.startswith("report-schema") and n.endswith(".json"))


class Schemas(unittest.TestCase):
    def test_each_is_a_schema(self):
        import jsonschema
        for name in NAMES:
            jsonschema.Draft202012Validator.check_schema(schemas.load(name))

    def test_they_are_as_they_are_written(self):
        for name, content in report_schemas.files().items():
            with open(os.path.join(proc.ROOT, "docs", name), encoding="utf-8") as f:
                self.assertEqual(f.read(), content, "run tests/helpers/report_schemas.py")

    def test_each_reference_leads_to_a_definition_and_each_definition_is_used(self):
        defined = set(schemas.load(schemas.COMMON)["$defs"])
        used = set()
        for name in set(NAMES) - {schemas.COMMON}:
            used |= {v["$ref"] for v in schemas.load(name)["properties"].values() if "$ref" in v}
        self.assertEqual(used, {report_schemas.REFERENCE + name for name in defined})
        self.assertLessEqual({"schema", "session", "target", "time", "limitsReached", "cost"}, defined)

    def test_a_reference_resolves_by_the_names_that_are_published(self):
        common = schemas.load(schemas.COMMON)
        for name in set(NAMES) - {schemas.COMMON}:
            base = schemas.load(name)["$id"].rpartition("/")[0]
            self.assertEqual(common["$id"], base + "/" + schemas.COMMON, "the same folder, as here")

    def test_what_differs_stays_where_it_is(self):
        cost, other = {"type": "object", "description": "One."}, {"type": "object", "description": "Another."}
        given = [{"properties": {"cost": copy.deepcopy(c)}} for c in (cost, cost, other)]
        self.assertEqual(report_schemas.share(given), {"cost": cost})
        self.assertEqual([g["properties"]["cost"] for g in given], [{"$ref": report_schemas.REFERENCE + "cost"}] * 2 + [other])
        for schema in given:
            report_schemas.written_out(schema, {"cost": cost})
        self.assertEqual([g["properties"]["cost"] for g in given], [cost, cost, other])

    def test_text_is_the_same_json(self):
        value = {"a": ["word %d" % i for i in range(60)], "b": {"c": "d" * 200, "e": [{"f": 1}, {"g": []}]}, "h": "ä"}
        written = json_text.text(value)
        self.assertEqual(json.loads(written), value)
        self.assertEqual([line for line in written.split("\n") if len(line) > json_text.WIDTH and "ddd" not in line], [])


if __name__ == "__main__":
    unittest.main()
